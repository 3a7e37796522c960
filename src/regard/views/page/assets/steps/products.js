// @ts-check
/** Step 1: q·k, term by term. */

import { el, word } from "../drawing/dom.js";
import { barColumn, keyTable, rowNumber } from "./keytable.js";
import { many } from "../data/numbers.js";
import { cellAt, largestSize, vectorStrip } from "./vectors.js";

/** @typedef {import("./steprow.js").StepRow} StepRow */
/** @typedef {import("./keytable.js").Choice} Choice */
/** @typedef {ReturnType<import("../data/stepsview.js").StepsView["terms"]>[number]} Term */

const FIRST_TERMS = 8;

/** q·k for every key, and all products of the chosen one. */
export function productPanel(/** @type {StepRow} */ row, /** @type {Choice} */ choice) {
  const listed = row.listed(choice.allKeys);
  const scores = listed.map((place) => row.number("score", place)).filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...scores), Math.max(0, ...scores)];
  const given =
    choice.key < row.units.length && row.view.query !== null && row.view.key(choice.key) !== null;
  return [
    el(
      "p",
      {},
      given
        ? `The query of the word is compared with the key of each word: ${many(row.steps.dim, "product")}, added up.`
        : "The scores Q·Kᵀ, as given.",
    ),
    el(
      "div",
      { class: given ? "two" : null },
      keyTable(
        row,
        choice,
        [barColumn(row, "score", "q·k", low, high)],
        { caption: `Scores of the query of ${row.reader}`, choose: given },
      ),
      given ? termsOf(row, choice) : notRedone(),
    ),
  ];
}

function notRedone() {
  return el(
    "p",
    { class: "quiet" },
    "Only the scores are known here, not Q and K, so step 1 cannot be redone term by term. Where " +
      "every product is known: ",
    el("code", {}, "regard steps --pencil"),
    ", or any text that a model read with its queries, keys and values kept: ",
    el("code", {}, 'regard show "…"'),
    ".",
  );
}

function termsOf(/** @type {StepRow} */ row, /** @type {Choice} */ choice) {
  const place = choice.key;
  const terms = row.view.terms(place);
  const folds = terms.length > FIRST_TERMS + 1;
  const shown = folds && !choice.allTerms ? terms.slice(0, FIRST_TERMS) : terms;
  const key = word(row.names[place], 18);
  return el(
    "div",
    {},
    el("h3", {}, "q(", word(row.reader, 18), ") · k(", key, ") = ", row.text("score", place)),
    row.hidden[place] === 1 &&
      el("p", { class: "quiet" }, "This word may not be seen: step 2 leaves its score out."),
    strips(row, place, terms),
    el(
      "div",
      { class: "wide" },
      el(
        "table",
        { class: "terms" },
        el("caption", { class: "unseen-text" }, `Products of ${row.names[place]}, largest first`),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["dimension", "q", "× k", "= product", "so far"].map((title) =>
              el("th", { scope: "col", class: "figure" }, title),
            ),
          ),
        ),
        el("tbody", {}, termLines(row, place, shown, terms.length)),
      ),
    ),
    folds &&
      el(
        "button",
        {
          type: "button",
          "data-control": "all-terms",
          onclick: () => choice.set({ allTerms: !choice.allTerms }),
        },
        choice.allTerms ? "Only the largest" : `Show all ${terms.length} products`,
      ),
  );
}

/** The products with their running sum, the rest as one line, and the score that they add up to. */
function termLines(
  /** @type {StepRow} */ row,
  /** @type {number} */ place,
  /** @type {Term[]} */ shown,
  /** @type {number} */ count,
) {
  let sum = 0;
  const lines = shown.map((term) => {
    sum += term.product;
    return el(
      "tr",
      {},
      el("th", { scope: "row", class: "figure" }, String(term.dim)),
      el("td", { class: "figure" }, row.plain("query", term.query)),
      el("td", { class: "figure" }, `× ${row.plain("key", term.key)}`),
      el("td", { class: "figure" }, "= ", termNumber(row, "product", place, term)),
      el("td", { class: "figure quiet" }, row.product(sum)),
    );
  });
  const score = row.number("score", place);
  const left = count - shown.length;
  if (left) {
    const rest = rowNumber("rest", score - sum, row.product(score - sum));
    lines.push(
      el(
        "tr",
        {},
        el("th", { scope: "row", colspan: 3 }, `and ${left} more that add up to`),
        el("td", { class: "figure" }, rest),
        el("td", { class: "figure quiet" }, row.product(score)),
      ),
    );
  }
  lines.push(
    el(
      "tr",
      { class: "total" },
      el("th", { scope: "row", colspan: 3 }, "together: the score q·k"),
      el("td", { class: "figure" }, rowNumber("terms-sum", score, row.text("score", place))),
      el("td", {}),
    ),
  );
  return lines;
}

function termNumber(
  /** @type {StepRow} */ row,
  /** @type {"product"} */ name,
  /** @type {number} */ place,
  /** @type {Term} */ term,
) {
  const marks = {
    class: "number",
    "data-number": name,
    "data-key": row.units[place],
    "data-dim": term.dim,
    "data-value": term.product,
  };
  return el("span", marks, row.product(term.product));
}

/** q, k and, below them, what each pair of numbers adds to the score. */
function strips(
  /** @type {StepRow} */ row,
  /** @type {number} */ place,
  /** @type {Term[]} */ terms,
) {
  const [query, key] = [row.view.query, row.view.key(place)];
  if (!query || !key) return null;
  const products = new Float64Array(terms.length);
  for (const term of terms) products[term.dim] = term.product;
  const most = largestSize(query, key);
  const of = (/** @type {string} */ what) => `${what}: ${many(terms.length, "number")} as colours`;
  const readout = el("dd", { class: "quiet" }, "point at a cell for its numbers");
  const tell = (/** @type {Event} */ event) => {
    const dim = cellAt(/** @type {MouseEvent} */ (event));
    const term = terms.find((each) => each.dim === dim);
    if (!term) return;
    const [one, other] = [row.plain("query", term.query), row.plain("key", term.key)];
    readout.textContent = `dimension ${dim}: ${one} × ${other} = ${row.product(term.product)}`;
  };
  return el(
    "dl",
    { class: "strips", onpointermove: tell },
    el("dt", {}, "q"),
    el("dd", {}, vectorStrip(query, most, of(`query of ${row.reader}`))),
    el("dt", {}, "k"),
    el("dd", {}, vectorStrip(key, most, of(`key of ${row.names[place]}`))),
    el("dt", {}, "q × k"),
    el("dd", {}, vectorStrip(products, largestSize(products), of("their products"))),
    el("dt", {}),
    readout,
  );
}
