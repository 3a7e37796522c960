// @ts-check
/** The numbers of a matrix as they are asked for, row by row, each with the colours it is drawn in. */

import { measured } from "./book.js";
import { palette, Scale } from "./colours.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./book.js").LevelView} LevelView */
/** @typedef {{value: Float64Array, pixels: Uint32Array, bound: boolean}} CellRow */
/** @typedef {"unseen" | "left out" | "unknown" | "known"} CellKind */

/** Numbers that are kept: a text of a thousand words has as many. */
const MOST_KEPT = 2 ** 20;

/** One head's matrix, or the mean of several, by the measure of a state. */
export class Cells {
  constructor(/** @type {LevelView} */ level, /** @type {State} */ state) {
    this.level = level;
    this.state = state;
    this.readers = level.readers.names.length;
    this.keys = level.keys.names.length;
    this.scale = new Scale({ signed: state.measure !== "weight", log: state.log });
    /** @type {Map<number, CellRow | null>} null: not in the file */
    this.rows = new Map();
  }

  /** The row if it has been asked for before; undefined if it has not. */
  ready(/** @type {number} */ reader) {
    return this.rows.get(reader);
  }

  /** One row; null where the file does not hold it. */
  row(/** @type {number} */ reader) {
    const kept = this.rows.get(reader);
    if (kept !== undefined) return kept;
    const row = this.level.row(this.state.heads, reader);
    const made = row && measured(this.level, row, this.state);
    const found = made && { ...made, pixels: this.pixels(reader, made.value) };
    if ((this.rows.size + 1) * this.keys > MOST_KEPT) this.forget();
    this.rows.set(reader, found);
    return found;
  }

  /** The oldest half of what is kept makes room. */
  forget() {
    const names = [...this.rows.keys()];
    for (const reader of names.slice(0, Math.ceil(names.length / 2))) this.rows.delete(reader);
  }

  /** What stands in a cell. */
  kind(/** @type {number} */ reader, /** @type {number} */ key) {
    if (!this.seen(reader, key)) return "unseen";
    if (this.leftOut(key)) return "left out";
    const value = this.row(reader)?.value[key] ?? NaN;
    return Number.isNaN(value) ? "unknown" : "known";
  }

  seen(/** @type {number} */ reader, /** @type {number} */ key) {
    return this.state.heads.some((head) => this.level.seen(head, reader, key));
  }

  leftOut(/** @type {number} */ key) {
    return this.state.without && this.level.keys.apart.data[key] !== 0;
  }

  /** The colours of a row, one number a cell. */
  pixels(/** @type {number} */ reader, /** @type {Float64Array} */ value) {
    const { unseen, unknown, above } = palette();
    const pixels = new Uint32Array(value.length);
    for (let key = 0; key < value.length; key++) {
      if (!this.seen(reader, key)) pixels[key] = unseen;
      else if (this.leftOut(key)) pixels[key] = above.packed[0];
      else pixels[key] = Number.isNaN(value[key]) ? unknown : this.scale.packed(value[key]);
    }
    return pixels;
  }

  /** Whether nothing of the matrix is missing from the file. */
  whole() {
    const { level, state } = this;
    if (!level.data.full) return false;
    for (let reader = 0; reader < this.readers; reader++) {
      if (!state.heads.every((head) => level.has(head, reader) === "whole")) return false;
    }
    return true;
  }
}
