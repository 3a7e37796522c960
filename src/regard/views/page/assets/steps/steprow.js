// @ts-check
/** One row of one head: the names of what it reads, and its numbers as they are printed. */

import { decimalsOf, fixed, fraction, numeral } from "../data/numbers.js";

/** @typedef {import("../data/book.js").Book} Book */
/** @typedef {import("../data/stepsview.js").StepsView} StepsView */
/** @typedef {import("../data/types.js").StepsOfLayer} StepsOfLayer */
/** @typedef {"score" | "scaled" | "masked" | "exponential" | "weight" | "share"} KeyNumber */
/** @typedef {"score" | "scaled" | "masked" | "query" | "key" | "value" | "output"} Plain */

/** Keys beyond which only the heaviest are listed, and how many are if more are asked for. */
export const LISTED_KEYS = 12;
export const MOST_KEYS = 200;

const FRACTIONS = new Set(["exponential", "weight", "share"]);

/** @type {WeakMap<StepsOfLayer, Map<Plain, number | null>>} */
const decimalsKnown = new WeakMap();

export class StepRow {
  constructor(
    /** @type {Book} */ book,
    /** @type {number} */ head,
    /** @type {number} */ piece,
    /** @type {StepsView} */ view,
  ) {
    const level = book.tokens();
    this.view = view;
    this.steps = view.steps;
    this.piece = piece;
    this.head = book.heads[head].label;
    this.reader = level.readers.names[piece];
    this.units = Array.from(view.keys);
    this.names = this.units.map((unit) => level.keys.names[unit]);
    /** Place of the reader itself among the keys, -1 where they are another text. */
    this.self = level.same ? this.units.indexOf(piece) : -1;
    /** What its keys are called. */
    this.unit = book.pieces ? "piece" : "word";
    /** A record's numbers have two decimals; an example's as many as they need. */
    this.example = book.data.kind === "steps";
    const places = this.units.map((_, place) => place);
    this.hidden = Uint8Array.from(places, (place) =>
      Number(
        !level.seen(head, piece, this.units[place]) || view.number("masked", place) === -Infinity,
      ),
    );
    /** Places of the keys that the row may see, and of those that it may not. */
    this.seen = places.filter((place) => !this.hidden[place]);
    this.unseen = places.filter((place) => this.hidden[place]);
    /** Seen keys, heaviest first. */
    this.byWeight = [...this.seen].sort((a, b) => this.order(b) - this.order(a) || a - b);
    this.usual = Math.abs(this.steps.scale * Math.sqrt(this.steps.dim) - 1) < 1e-6;
    /** Whether softcap, bias or mask make something else of a scaled score. */
    this.changed =
      this.unseen.length > 0 ||
      this.seen.some((place) => this.number("masked", place) !== this.number("scaled", place));
    this.biased = this.seen.some((place) => this.afterBias(place));
  }

  /** A number of one key. `masked` is what softmax gets: -inf for what is not seen. */
  number(/** @type {KeyNumber} */ name, /** @type {number} */ place) {
    if (name !== "masked") return this.view.number(name, place);
    if (this.hidden[place]) return -Infinity;
    return this.view.number(this.steps.masked ? "masked" : "scaled", place);
  }

  text(/** @type {KeyNumber} */ name, /** @type {number} */ place) {
    const value = this.number(name, place);
    return FRACTIONS.has(name) ? part(value) : this.plain(/** @type {Plain} */ (name), value);
  }

  /** A number of a kind, with the decimals of that kind. */
  plain(/** @type {Plain} */ name, /** @type {number} */ value) {
    return numeral(value, this.example ? this.decimals(name) : 2);
  }

  /** A product or sum of products, which an example's whole numbers leave whole. */
  product(/** @type {number} */ value) {
    if (!this.example) return fixed(value, 2);
    const of = [this.decimals("query"), this.decimals("key"), this.decimals("score")];
    return numeral(value, of.includes(null) ? null : Math.max(...of.map(Number)));
  }

  /** The keys to be listed: all of them in order if few, else the heaviest that are seen. */
  listed(/** @type {boolean} */ all) {
    if (this.units.length <= LISTED_KEYS) return this.units.map((_, place) => place);
    return this.byWeight.slice(0, all ? MOST_KEYS : LISTED_KEYS);
  }

  /** √d_k as it is printed: 8, or 5.657. */
  root() {
    const root = Math.sqrt(this.steps.dim);
    return fixed(root, Number.isInteger(root) ? 0 : 3);
  }

  scaling() {
    if (this.usual) return `÷ √${this.steps.dim} = ${this.root()}`;
    return `× ${Number(this.steps.scale.toPrecision(6))}`;
  }

  decimals(/** @type {Plain} */ name) {
    let known = decimalsKnown.get(this.steps);
    if (!known) decimalsKnown.set(this.steps, (known = new Map()));
    const found = known.get(name);
    if (found !== undefined) return found;
    const numbers = this.steps[name]?.data ?? (name === "masked" ? this.steps.scaled.data : []);
    const decimals = decimalsOf(numbers);
    known.set(name, decimals);
    return decimals;
  }

  order(/** @type {number} */ place) {
    const weight = this.number("weight", place);
    return Number.isNaN(weight) ? 2 : weight;
  }

  /** Whether something beside the softcap changed the score of a seen key. */
  afterBias(/** @type {number} */ place) {
    const [scaled, masked] = [this.number("scaled", place), this.number("masked", place)];
    const cap = this.steps.softcap;
    const before = cap === null ? scaled : cap * Math.tanh(scaled / cap);
    return Math.abs(masked - before) > 1e-6 * Math.max(1, Math.abs(before));
  }
}

/** A weight, share or exponential: .904, 1.000; nan where it is not a number. */
export function part(/** @type {number} */ value) {
  return Number.isFinite(value) ? fraction(value, false, 3) : fixed(value, 3);
}

/** 'dog', in quotation marks and kept from turning the sentence round it. */
export function quoted(/** @type {string} */ name) {
  return `'\u2068${name}\u2069'`;
}
