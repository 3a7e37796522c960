// @ts-check
/** Step 4: the result as the weighted sum of value vectors, strips of colour adding up. */

import { el, word } from "../drawing/dom.js";
import { barColumn, keyTable, numberColumn, rowNumber } from "./keytable.js";
import { many } from "../data/numbers.js";
import { part } from "./steprow.js";
import { cellAt, largestSize, vectorStrip } from "./vectors.js";

/** @typedef {import("./steprow.js").StepRow} StepRow */
/** @typedef {import("./keytable.js").Choice} Choice */

const FEW_NUMBERS = 5;

/** Weight and share of each key, its value, what it adds, and the sum. */
export function sumPanel(/** @type {StepRow} */ row, /** @type {Choice} */ choice) {
  const z = row.view.output;
  if (!z) {
    return [
      el(
        "p",
        {},
        "Step 4, × V, needs the value vectors, which were not given: there is no result to show.",
      ),
    ];
  }
  if (!row.seen.length) {
    return [el("p", {}, word(row.reader), " may see nothing: there is nothing to add up, z is 0.")];
  }
  const places = row.listed(choice.allKeys).filter((place) => !row.hidden[place]);
  const adding = [...places].sort((a, b) => row.order(b) - row.order(a) || a - b);
  return [
    el(
      "p",
      {},
      "z(",
      word(row.reader, 18),
      ") adds up weight × value, the heaviest first. Weight is not part: ",
      el("b", {}, "part of z"),
      " is how much of the result comes from a word, and can be negative.",
    ),
    sums(row, choice, adding, z),
    oneNumber(row, choice, adding, z),
  ];
}

function sums(
  /** @type {StepRow} */ row,
  /** @type {Choice} */ choice,
  /** @type {number[]} */ places,
  /** @type {ArrayLike<number>} */ z,
) {
  const contributions = places.map((place) => contribution(row, place));
  const mostValue = largestSize(...places.map((place) => row.view.value(place)));
  const mostSum = largestSize(z, ...contributions, ...runningSums(contributions, z.length));
  const so = runningSums(contributions, z.length);
  const at = (/** @type {number} */ place) => places.indexOf(place);
  const marked = z.length > FEW_NUMBERS ? choice.dim : null;
  const shares = row.steps.share !== null;
  const columns = [
    barColumn(row, "weight", "weight", 0, 1),
    ...(shares ? [numberColumn(row, "share", "part of z")] : []),
    stripColumn("v", (place) =>
      vectorStrip(row.view.value(place) ?? [], mostValue, `value of ${row.names[place]}`, marked),
    ),
    stripColumn("weight × v", (place) =>
      vectorStrip(contributions[at(place)], mostSum, `what ${row.names[place]} adds`, marked),
    ),
    stripColumn("so far", (place) =>
      vectorStrip(so[at(place)], mostSum, `sum up to ${row.names[place]}`, marked),
    ),
  ];
  const table = keyTable(row, choice, columns, {
    caption: `The result of ${row.reader} as a sum`,
    look: "sum",
    places,
    last: [total(row, z, mostSum, shares, marked)],
  });
  table.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell !== null) choice.set({ dim: cell });
  });
  return table;
}

function stripColumn(
  /** @type {string} */ title,
  /** @type {(place: number) => SVGSVGElement} */ cell,
) {
  return { title, look: /** @type {const} */ ("strip-cell"), cell };
}

function total(
  /** @type {StepRow} */ row,
  /** @type {ArrayLike<number>} */ z,
  /** @type {number} */ most,
  /** @type {boolean} */ shares,
  /** @type {number | null} */ marked,
) {
  const weight = row.seen.reduce((sum, place) => sum + row.number("weight", place), 0);
  const share = row.seen.reduce((sum, place) => sum + row.number("share", place), 0);
  return el(
    "tr",
    { class: "total" },
    el("th", { scope: "row" }, "z"),
    el("td", { class: "figure" }, rowNumber("weight-sum", weight, part(weight))),
    shares && el("td", { class: "figure" }, rowNumber("share-sum", share, part(share))),
    el("td", { class: "strip-cell empty" }),
    el("td", { class: "strip-cell empty" }),
    el("td", { class: "strip-cell" }, vectorStrip(z, most, `result of ${row.reader}`, marked)),
  );
}

/** One number of the result, spelled out; all of them where there are few. */
function oneNumber(
  /** @type {StepRow} */ row,
  /** @type {Choice} */ choice,
  /** @type {number[]} */ places,
  /** @type {ArrayLike<number>} */ z,
) {
  const few = z.length <= FEW_NUMBERS;
  const dims = few ? Array.from(z, (_, dim) => dim) : [choice.dim];
  return el(
    "div",
    { class: "wide" },
    el("h3", {}, few ? "In numbers" : "One number of it"),
    !few && chooser(choice, z.length),
    el(
      "table",
      { class: "terms" },
      el("caption", { class: "unseen-text" }, "Weight times value, added up"),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, row.unit),
          el("th", { scope: "col", class: "figure" }, "weight"),
          dims.map((dim) => el("th", { scope: "col", class: "figure" }, `× ${columnName(row, dim)}`)),
          !few && el("th", { scope: "col", class: "figure" }, "="),
        ),
      ),
      el("tbody", {}, numberLines(row, places, dims, !few), resultLines(row, places, dims, z, few)),
    ),
    row.steps.columns &&
      el("p", { class: "quiet" }, "The source prints only these columns of V."),
  );
}

function chooser(/** @type {Choice} */ choice, /** @type {number} */ count) {
  return el(
    "p",
    {},
    el(
      "label",
      {},
      "Number ",
      el("input", {
        type: "number",
        name: "dimension",
        "data-control": "dimension",
        min: 0,
        max: count - 1,
        value: choice.dim,
        onchange: (event) => {
          const asked = Number(/** @type {HTMLInputElement} */ (event.target).value);
          const dim = Math.trunc(asked) || 0;
          choice.set({ dim: Math.max(0, Math.min(count - 1, dim)) });
        },
      }),
      ` of 0 to ${count - 1}`,
    ),
    el("span", { class: "quiet" }, " or click in a strip"),
  );
}

function numberLines(
  /** @type {StepRow} */ row,
  /** @type {number[]} */ places,
  /** @type {number[]} */ dims,
  /** @type {boolean} */ products,
) {
  return places.map((place) => {
    const value = row.view.value(place) ?? [];
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, word(row.names[place], 18)),
      el("td", { class: "figure" }, row.text("weight", place)),
      dims.map((dim) =>
        el("td", { class: "figure" }, `× ${row.plain("value", value[dim])}`),
      ),
      products &&
        el(
          "td",
          { class: "figure" },
          row.plain("output", row.number("weight", place) * value[dims[0]]),
        ),
    );
  });
}

/** What is not listed, and z itself. */
function resultLines(
  /** @type {StepRow} */ row,
  /** @type {number[]} */ places,
  /** @type {number[]} */ dims,
  /** @type {ArrayLike<number>} */ z,
  /** @type {boolean} */ few,
) {
  const left = row.seen.length - places.length;
  const before = few ? 2 : 3;
  return [
    left > 0 &&
      el(
        "tr",
        {},
        el("th", { scope: "row", colspan: before }, `and ${many(left, `more ${row.unit}`)}`),
        dims.map((dim) =>
          el("td", { class: "figure" }, row.plain("output", z[dim] - addedUp(row, places, dim))),
        ),
      ),
    el(
      "tr",
      { class: "total" },
      el("th", { scope: "row", colspan: before }, few ? "z = their sum" : "together: z"),
      dims.map((dim) => el("td", { class: "figure" }, outputNumber(row, dim, z[dim]))),
    ),
  ];
}

function outputNumber(
  /** @type {StepRow} */ row,
  /** @type {number} */ dim,
  /** @type {number} */ value,
) {
  const marks = { class: "number", "data-number": "output", "data-dim": dim, "data-value": value };
  return el("span", marks, row.plain("output", value));
}

/** One number of what some keys add to the result. */
function addedUp(
  /** @type {StepRow} */ row,
  /** @type {number[]} */ places,
  /** @type {number} */ dim,
) {
  return places.reduce((sum, place) => sum + contribution(row, place)[dim], 0);
}

function columnName(/** @type {StepRow} */ row, /** @type {number} */ dim) {
  return `v[${row.steps.columns ? row.steps.columns[dim] : dim}]`;
}

function contribution(/** @type {StepRow} */ row, /** @type {number} */ place) {
  const weight = row.number("weight", place);
  return Float64Array.from(row.view.value(place) ?? [], (value) => weight * value);
}

function runningSums(/** @type {Float64Array[]} */ vectors, /** @type {number} */ count) {
  const sum = new Float64Array(count);
  return vectors.map((vector) => {
    for (let at = 0; at < count; at++) sum[at] += vector[at];
    return sum.slice();
  });
}
