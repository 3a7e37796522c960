// @ts-check
/** Whom a unit reads, or who reads it, in the chosen heads and by the chosen measure. */

import { measured } from "../data/level.js";

/**
 * @typedef {import("../data/types.js").App} App
 * @typedef {import("../data/types.js").Row} Row
 * @typedef {import("../data/types.js").State} State
 * @typedef {import("../data/level.js").LevelView} LevelView
 */

/** @typedef {"readers" | "keys"} SideName */

/**
 * @typedef {object} Partner one unit at the other end of a line
 * @property {number} unit
 * @property {number} value by the chosen measure, as it is drawn
 * @property {number} weight
 */

/**
 * @typedef {object} Partners
 * @property {number} unit whose they are
 * @property {Row | null} row of a reader, where the file has it
 * @property {Float64Array} value of every unit of the other side; NaN: not known, or left out
 * @property {Partner[]} strongest largest first, whatever the sign; at most MOST_PARTNERS
 * @property {boolean} exact nothing of it is missing from the file
 * @property {boolean} bound the numbers are lower bounds
 */

/** Lines of one unit that are ever drawn. */
const MOST_PARTNERS = 64;
/** Below this a line says nothing: its number would be .00. */
export const LEAST_VALUE = 0.005;

/** Which side the units stand on whose rows are shown, and which their partners. */
export function ownSide(/** @type {State} */ state) {
  return /** @type {SideName} */ (state.direction === "reads" ? "readers" : "keys");
}

export function otherSide(/** @type {State} */ state) {
  return /** @type {SideName} */ (state.direction === "reads" ? "keys" : "readers");
}

/** The partners of one unit; null where the file holds nothing of its row. */
export function partnersOf(
  /** @type {App} */ app,
  /** @type {number} */ unit,
  /** @type {State} */ state = app.store.get(),
) {
  const level = app.books[state.book].level(state.level);
  const name = [unit, state.direction, state.measure, state.without, state.heads.join()].join(":");
  let known = REMEMBERED.get(level);
  if (!known) REMEMBERED.set(level, (known = new Map()));
  let found = known.get(name);
  if (found === undefined) {
    found =
      state.direction === "reads" ? readingOf(level, state, unit) : readersOf(level, state, unit);
    if (known.size > 24) known.clear();
    known.set(name, found);
  }
  return found;
}

/** Whether `reader` may see `key` in any of the chosen heads. */
function maySee(
  /** @type {LevelView} */ level,
  /** @type {State} */ state,
  /** @type {number} */ reader,
  /** @type {number} */ key,
) {
  return state.heads.some((head) => level.seen(head, reader, key));
}

/** Whether a unit of the other side is seen by one of some units, or sees it. */
export function isWithinSight(
  /** @type {LevelView} */ level,
  /** @type {State} */ state,
  /** @type {number[]} */ units,
  /** @type {number} */ other,
) {
  return units.some((own) =>
    state.direction === "reads"
      ? maySee(level, state, own, other)
      : maySee(level, state, other, own),
  );
}

/** Whether the file holds anything of a reader's row in the chosen heads. */
export function isHeld(
  /** @type {LevelView} */ level,
  /** @type {State} */ state,
  /** @type {number} */ reader,
) {
  return state.heads.every((head) => level.has(head, reader) !== "nothing");
}

/** The places of the largest numbers, whatever their sign, largest first; NaN is none. */
function largest(/** @type {Float64Array} */ values, /** @type {number} */ most) {
  /** @type {number[]} */
  const found = [];
  let least = -Infinity;
  for (let at = 0; at < values.length; at++) {
    const measure = Math.abs(values[at]);
    if (Number.isNaN(measure) || (found.length === most && measure <= least)) continue;
    let place = found.length;
    while (place > 0 && Math.abs(values[found[place - 1]]) < measure) place--;
    found.splice(place, 0, at);
    if (found.length > most) found.pop();
    least = Math.abs(values[found[found.length - 1]]);
  }
  return found;
}

/** @type {WeakMap<LevelView, Map<string, Partners | null>>} */
const REMEMBERED = new WeakMap();

/** @returns {Partners | null} */
function readingOf(
  /** @type {LevelView} */ level,
  /** @type {State} */ state,
  /** @type {number} */ reader,
) {
  const row = level.row(state.heads, reader);
  if (!row) return null;
  const { value, bound } = measured(level, row, state);
  for (let key = 0; key < value.length; key++) {
    if (!maySee(level, state, reader, key)) value[key] = NaN;
  }
  const strongest = largest(value, MOST_PARTNERS).map((key) => ({
    unit: key,
    value: value[key],
    weight: row.weight[key],
  }));
  return { unit: reader, row, value, strongest, exact: row.exact, bound };
}

/** @returns {Partners} */
function readersOf(
  /** @type {LevelView} */ level,
  /** @type {State} */ state,
  /** @type {number} */ key,
) {
  const readers = level.readers.names.length;
  const value = new Float64Array(readers).fill(NaN);
  const weight = new Float64Array(readers);
  const leftOut = state.without && level.keys.apart.data[key] !== 0;
  for (const one of leftOut ? [] : level.column(state.heads, key)) {
    weight[one.reader] = one.weight;
    value[one.reader] = ofReader(level, state, one.reader, key, one.weight);
  }
  let exact = true;
  for (let reader = 0; exact && reader < readers; reader++) {
    exact = state.heads.every((head) => level.has(head, reader) === "whole");
  }
  const strongest = largest(value, MOST_PARTNERS).map((unit) => ({
    unit,
    value: value[unit],
    weight: weight[unit],
  }));
  // a head that does not hold a link counts as 0 in the mean
  const bound = !exact && (state.heads.length > 1 || level.data.links?.bound === true);
  return { unit: key, row: null, value, strongest, exact, bound };
}

/** By the chosen measure, what one reader gives a key; NaN where it is not known. */
function ofReader(
  /** @type {LevelView} */ level,
  /** @type {State} */ state,
  /** @type {number} */ reader,
  /** @type {number} */ key,
  /** @type {number} */ weight,
) {
  const { heads } = state;
  if (state.measure === "share") return heads.length > 1 ? NaN : level.share(heads[0], reader, key);
  if (state.measure === "lift") {
    const habit = heads.reduce((sum, head) => sum + level.habit(head, reader, key), 0);
    return weight - habit / heads.length;
  }
  if (!state.without) return weight;
  let left = 0;
  for (const head of heads) left += level.sum(head, reader) - (level.apart(head, reader) ?? NaN);
  return left > 0 ? (weight * heads.length) / left : NaN;
}
