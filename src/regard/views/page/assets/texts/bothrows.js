// @ts-check
/** What one word reads in two texts, in the same heads: bars side by side, word by word. */

import { el, word } from "../drawing/dom.js";
import { fraction, many } from "../data/numbers.js";
import { headsNamed, inQuotes } from "../drawing/wording.js";

/** @typedef {import("../data/types.js").App} App */
/** @typedef {import("../data/types.js").Row} Row */
/** @typedef {import("../data/types.js").VersusData} VersusData */
/** @typedef {import("./alignment.js").Pair} Pair */

/** Words of a text that are all listed; of a longer one, those read most. */
const MOST_LISTED = 20;

export class BothRows {
  constructor(
    /** @type {App} */ app,
    /** @type {VersusData} */ versus,
    /** @type {Pair[]} */ pairs,
  ) {
    this.a = app.books[versus.a];
    this.b = app.books[versus.b];
    this.versus = versus;
    this.pairs = pairs;
    this.root = el("div", { "data-both": "" });
  }

  /** What the word reads in these heads, in A and in B. */
  show(/** @type {number[]} */ heads) {
    const { versus } = this;
    const title = `What ${inQuotes(this.a.words.readers.names[versus.a_unit])} reads in both texts, in ${headsNamed(this.a, heads)}`;
    const a = this.a.words.row(heads, versus.a_unit);
    const b = this.b.words.row(heads, versus.b_unit);
    this.root.replaceChildren(
      el("h3", {}, title),
      ...(a && b ? this.table(a, b) : [el("p", {}, "These rows are not in this file.")]),
    );
  }

  table(/** @type {Row} */ a, /** @type {Row} */ b) {
    // the compared words come before any weight
    const size = (/** @type {Pair} */ [i, j]) =>
      Number(this.compared(i)) + Math.max(heldWeight(a, i), heldWeight(b, j));
    const ranked = [...this.pairs].sort((one, other) => size(other) - size(one));
    const chosen = new Set(ranked.slice(0, MOST_LISTED));
    const listed = this.pairs.filter((pair) => chosen.has(pair));
    const left = this.pairs.length - listed.length;
    const top = ["word", "in A", "in B"].map((text) => el("th", { scope: "col" }, text));
    return [
      el(
        "table",
        { class: "versus-rows" },
        el("thead", {}, el("tr", {}, ...top)),
        el("tbody", {}, ...listed.map((pair) => this.line(pair, a, b))),
      ),
      left > 0 && el("p", { class: "quiet" }, `and ${many(left, "word")} that it reads less`),
    ].filter((part) => part !== false);
  }

  line(/** @type {Pair} */ [i, j], /** @type {Row} */ a, /** @type {Row} */ b) {
    const names = [
      ...(i === null ? [] : [this.a.words.keys.names[i]]),
      ...(j === null ? [] : [this.b.words.keys.names[j]]),
    ];
    const both = names.length === 2 && names[0] !== names[1];
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, this.marked(i, names[0]), ...(both ? [" / ", word(names[1], 16)] : [])),
      weightCell(i, a),
      weightCell(j, b),
    );
  }

  /** Whether a word of A is one of the compared. */
  compared(/** @type {number | null} */ unit) {
    const { a_first, a_second } = this.versus;
    return unit !== null && (unit === a_first || unit === a_second);
  }

  /** A word, marked if it is one of the compared. */
  marked(/** @type {number | null} */ unit, /** @type {string} */ name) {
    if (!this.compared(unit)) return word(name, 16);
    const mark = unit === this.versus.a_first ? "versus-first" : "versus-second";
    return el("mark", { class: mark }, word(name, 16));
  }
}

/** A weight and a bar; a dash where the text has no such word. */
function weightCell(/** @type {number | null} */ unit, /** @type {Row} */ row) {
  const bar = el("span", { class: "versus-bar" });
  bar.style.setProperty("width", `${100 * heldWeight(row, unit)}%`);
  const number = unit === null ? "–" : fraction(row.weight[unit], row.bound);
  return el("td", {}, el("span", { class: "versus-weight" }, el("span", { class: "number" }, number), el("span", {}, bar)));
}

/** A weight, 0 where it is not in the file or the text has no such word. */
function heldWeight(/** @type {Row} */ row, /** @type {number | null} */ unit) {
  const weight = unit === null ? 0 : row.weight[unit];
  return Number.isNaN(weight) ? 0 : weight;
}
