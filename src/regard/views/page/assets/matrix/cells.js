// @ts-check
/** The numbers of a matrix as they are asked for, row by row, each with the colours it is drawn in. */

import { measured } from "../data/level.js";
import { palette, Scale } from "../drawing/colours.js";

/** @typedef {import("../data/types.js").State} State */
/** @typedef {import("../data/level.js").LevelView} LevelView */
/** @typedef {{value: Float64Array, bound: boolean}} CellRow */
/** @typedef {"unseen" | "left out" | "unknown" | "known"} CellKind */

/** Numbers that are kept, and the fewest rows: those whose numbers are printed at once. */
const NUMBERS_KEPT = 2 ** 18;
const ROWS_KEPT = 64;
/** Colours that are kept, and the fewest rows: those that are in sight at once. */
const COLOURS_KEPT = 2 ** 20;
const PAINTED_KEPT = 400;

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
    /** @type {Map<number, Uint32Array>} */
    this.painted = new Map();
  }

  /** One row; null where the file does not hold it. */
  row(/** @type {number} */ reader) {
    const kept = this.rows.get(reader);
    if (kept !== undefined) return kept;
    const row = this.level.row(this.state.heads, reader);
    const found = row && measured(this.level, row, this.state);
    makeRoom(this.rows, Math.max(ROWS_KEPT, NUMBERS_KEPT / this.keys));
    this.rows.set(reader, found);
    return found;
  }

  /** The colours of a row, one number a cell. */
  colours(/** @type {number} */ reader) {
    let painted = this.painted.get(reader);
    if (painted) return painted;
    const row = this.row(reader);
    painted = row ? this.paint(reader, row.value) : new Uint32Array(this.keys).fill(palette().unknown);
    makeRoom(this.painted, Math.max(PAINTED_KEPT, COLOURS_KEPT / this.keys));
    this.painted.set(reader, painted);
    return painted;
  }

  /** The same, if they are at hand. */
  coloursKept(/** @type {number} */ reader) {
    return this.painted.get(reader);
  }

  /** What stands in a cell. */
  kind(/** @type {number} */ reader, /** @type {number} */ key) {
    if (!this.seen(reader, key)) return "unseen";
    if (this.leftOut(key)) return "left out";
    const value = this.row(reader)?.value[key] ?? NaN;
    return Number.isNaN(value) ? "unknown" : "known";
  }

  /** Why cells of a row are unknown. */
  lacking(/** @type {number} */ reader) {
    const { measure } = this.state;
    if (measure === "weight" || !this.row(reader)) return "not in this file";
    return measure === "lift" ? "habit not known" : "part of the result not known";
  }

  seen(/** @type {number} */ reader, /** @type {number} */ key) {
    return this.state.heads.some((head) => this.level.seen(head, reader, key));
  }

  leftOut(/** @type {number} */ key) {
    return this.state.without && this.level.keys.apart.data[key] !== 0;
  }

  paint(/** @type {number} */ reader, /** @type {Float64Array} */ value) {
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

/** The oldest half of what is kept goes, once there is too much. */
function makeRoom(/** @type {Map<number, unknown>} */ kept, /** @type {number} */ most) {
  if (kept.size < most) return;
  for (const reader of [...kept.keys()].slice(0, Math.ceil(kept.size / 2))) kept.delete(reader);
}
