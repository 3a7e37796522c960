// @ts-check
/** Step 0, where it is known: the query, key and value of a word as x times a weight matrix. */

import { el, word } from "../drawing/dom.js";
import { rowNumber } from "./keytable.js";
import { decimalsOf, many, numeral } from "../data/numbers.js";

/** @typedef {import("./steprow.js").StepRow} StepRow */
/** @typedef {import("../data/types.js").Arr} Arr */

const SPELLED_COLUMNS = 12;
const SPELLED_TERMS = 8;

/** x·W for the row's own word: its query, key and value, number by number. */
export function projectionPanel(/** @type {StepRow} */ row) {
  const given = row.steps.projection;
  if (!given) return [];
  const x = rowOf(given.x, row.piece);
  const made = /** @type {const} */ ([
    ["q", "W_Q", given.w_query],
    ["k", "W_K", given.w_key],
    ["v", "W_V", given.w_value],
  ]);
  return [
    el(
      "p",
      {},
      "x(",
      word(row.reader, 18),
      `) = ${bracketed(x)}, ${many(x.length, "number")}. Each number of q, k and v is x times one ` +
        "column of a weight matrix, added up.",
    ),
    el(
      "div",
      { class: "three" },
      made.map(([letter, name, matrix]) => multiplied(row, x, letter, name, matrix)),
    ),
  ];
}

function multiplied(
  /** @type {StepRow} */ row,
  /** @type {number[]} */ x,
  /** @type {string} */ letter,
  /** @type {string} */ name,
  /** @type {Arr} */ matrix,
) {
  const [rows, columns] = matrix.shape;
  const few = Math.min(columns, SPELLED_COLUMNS);
  const lines = [];
  for (let column = 0; column < few; column++) {
    const weights = x.map((_, at) => matrix.data[at * columns + column]);
    const sum = weights.reduce((total, weight, at) => total + weight * x[at], 0);
    lines.push(
      el(
        "tr",
        {},
        el("th", { scope: "row", class: "figure" }, String(column)),
        el("td", {}, `${sumOf(x, weights)} =`),
        el("td", { class: "figure" }, rowNumber(`${letter}-${column}`, sum, short(sum))),
      ),
    );
  }
  return el(
    "div",
    { class: "wide" },
    el("h3", {}, `${letter}(`, word(row.reader, 18), `) = x · ${name}`),
    rows <= SPELLED_TERMS && columns <= SPELLED_TERMS && grid(name, matrix),
    el("table", { class: "terms" }, el("tbody", {}, lines)),
    few < columns && el("p", { class: "quiet" }, `and ${many(columns - few, "more number")}`),
  );
}

/** "1·2 + 0·1", or its first terms where there are many. */
function sumOf(/** @type {number[]} */ x, /** @type {number[]} */ weights) {
  const terms = x.slice(0, SPELLED_TERMS).map((one, at) => `${factor(one)}·${factor(weights[at])}`);
  const left = x.length - terms.length;
  return terms.join(" + ") + (left ? ` + ${left} more` : "");
}

function grid(/** @type {string} */ name, /** @type {Arr} */ matrix) {
  const [rows] = matrix.shape;
  return el(
    "table",
    { class: "grid" },
    el("caption", {}, name),
    el(
      "tbody",
      {},
      Array.from({ length: rows }, (_, at) =>
        el(
          "tr",
          {},
          rowOf(matrix, at).map((value) => el("td", { class: "figure" }, short(value))),
        ),
      ),
    ),
  );
}

function rowOf(/** @type {Arr} */ matrix, /** @type {number} */ at) {
  const wide = matrix.shape[1];
  return Array.from(matrix.data.subarray(at * wide, (at + 1) * wide));
}

function bracketed(/** @type {number[]} */ numbers) {
  const first = numbers.slice(0, SPELLED_COLUMNS).map(short).join(" ");
  return `[${first}${numbers.length > SPELLED_COLUMNS ? " …" : ""}]`;
}

function factor(/** @type {number} */ value) {
  return value < 0 ? `(${short(value)})` : short(value);
}

function short(/** @type {number} */ value) {
  return numeral(value, decimalsOf([value]));
}
