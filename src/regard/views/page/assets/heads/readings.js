// @ts-check
/** One number for every head: what colours the grid of heads. */

import { Scale } from "../drawing/colours.js";
import { shown } from "../data/state.js";
import { inQuotes } from "../drawing/wording.js";

/**
 * @typedef {import("../data/book.js").Book} Book
 * @typedef {import("../data/level.js").LevelView} LevelView
 * @typedef {import("../data/types.js").State} State
 * @typedef {{value: number, to: number | null, bound: boolean}} Reading `to`: the word it is about,
 *   where each head has its own
 * @typedef {{title: string, name: string, scale: Scale, of: (head: number) => Reading}} Readings
 */

/** The readings to choose from: `state.reading`, and what it is called. */
export const READINGS = /** @type {[string, string][]} */ ([
  ["lift", "beyond habit"],
  ["weight", "weight"],
  ["entropy", "entropy"],
  ["apart", "on special tokens"],
]);

/** Why a reading cannot be shown now, by its name. */
export function readingsLacking(/** @type {Book} */ book, /** @type {State} */ state) {
  const { habits, data } = book.level(state.level);
  /** @type {Map<string, string>} */
  const reasons = new Map();
  if (!habits) reasons.set("lift", "habits are not known here");
  if (!data.entropy && !data.means.entropy) reasons.set("entropy", "not in this file");
  if (!data.apart && !data.means.apart) reasons.set("apart", "not in this file");
  return reasons;
}

/** The chosen reading, or the weight where there is none such. */
export function readingShown(/** @type {Book} */ book, /** @type {State} */ state) {
  return readingsLacking(book, state).has(state.reading) ? "weight" : state.reading;
}

const NO_WEIGHTS = new Float32Array(0);
const NO_READING = { value: NaN, to: null, bound: false };

/** What the chosen reading says of each head. @returns {Readings} */
export function readings(/** @type {Book} */ book, /** @type {State} */ state) {
  const level = book.level(state.level);
  const unit = shown(state)[0] ?? null;
  const reading = readingShown(book, state);
  if (reading === "entropy" || reading === "apart") {
    return rowReading(book, level, reading, state.direction === "reads" ? unit : null);
  }
  const lift = reading === "lift";
  return state.direction === "reads"
    ? fromReader(level, state, unit, lift)
    : ontoKey(level, state, unit, lift);
}

/** Where words at rest give their weight, in this kind of attention. */
export function resting(/** @type {Book} */ book) {
  return book.data.kind === "decoder" ? "the first token" : "special tokens";
}

/** Entropy, or the weight on special tokens: of one row, or the mean over all. */
function rowReading(
  /** @type {Book} */ book,
  /** @type {LevelView} */ level,
  /** @type {"entropy" | "apart"} */ name,
  /** @type {number | null} */ reader,
) {
  const whose = reader === null ? "mean over all words" : inQuotes(level.readers.names[reader]);
  const nats = name === "entropy";
  const most = Math.max(Math.log(level.keys.names.length), 0.1);
  return {
    title: nats
      ? `Entropy in nats, ${whose}: 0 is one word alone, ${most.toFixed(1)} all words alike`
      : `Weight on ${resting(book)}, ${whose}`,
    name: nats ? "nats" : "weight",
    scale: new Scale(nats ? { top: most, nats } : {}),
    of: (/** @type {number} */ head) => ({
      ...NO_READING,
      value: level.reading(name, head, reader),
    }),
  };
}

/** Weight, or weight beyond habit, from a word to the other one, or to its strongest partner. */
function fromReader(
  /** @type {LevelView} */ level,
  /** @type {State} */ state,
  /** @type {number | null} */ reader,
  /** @type {boolean} */ lift,
) {
  const scale = new Scale({ signed: lift, log: state.log });
  const name = lift ? "beyond habit" : "weight";
  if (reader === null) {
    return { title: "Choose a word: heads are then coloured by it", name, scale, of: () => NO_READING };
  }
  const { target } = state;
  const to = target === null ? "the word it reads most, head by head" : inQuotes(level.keys.names[target]);
  return {
    title: `${linkTitle(state, lift)} from ${inQuotes(level.readers.names[reader])} to ${to}`,
    name,
    scale,
    of: (/** @type {number} */ head) =>
      target === null
        ? strongestReading(level, head, reader, lift, state.without)
        : linkReading(level, head, reader, target, lift, state.without),
  };
}

/** Weight that a word gets from the other one, or from all words on average. */
function ontoKey(
  /** @type {LevelView} */ level,
  /** @type {State} */ state,
  /** @type {number | null} */ key,
  /** @type {boolean} */ lift,
) {
  if (state.target !== null && key !== null) {
    return fromReader(level, { ...state, target: key }, state.target, lift);
  }
  const scale = new Scale({ log: state.log });
  const name = "weight";
  const received = level.data.received;
  if (key === null || !received) {
    return { title: "Choose a word: heads are then coloured by it", name, scale, of: () => NO_READING };
  }
  const keys = level.keys.names.length;
  return {
    title: `Weight that ${inQuotes(level.keys.names[key])} gets, mean over the words that may read it`,
    name,
    scale,
    of: (/** @type {number} */ head) => ({ ...NO_READING, value: received.data[head * keys + key] }),
  };
}

function linkTitle(/** @type {State} */ state, /** @type {boolean} */ lift) {
  if (lift) return "Weight beyond habit";
  return `Weight${state.without ? ", renormalised," : ""}`;
}

/** One weight of a row, as it stands or beyond habit. @returns {Reading} */
function linkReading(
  /** @type {LevelView} */ level,
  /** @type {number} */ head,
  /** @type {number} */ reader,
  /** @type {number} */ key,
  /** @type {boolean} */ lift,
  /** @type {boolean} */ without,
) {
  const weight = level.weight(head, reader, key);
  const value = lift ? weight - level.habit(head, reader, key) : weight / leftWithout(level, head, reader, without);
  return { value, to: null, bound: isLowerBound(level, head, reader) };
}

/** The largest of a row, over words. @returns {Reading} */
function strongestReading(
  /** @type {LevelView} */ level,
  /** @type {number} */ head,
  /** @type {number} */ reader,
  /** @type {boolean} */ lift,
  /** @type {boolean} */ without,
) {
  let most = -Infinity;
  let to = null;
  const { keys, weights } = rowHeld(level, head, reader);
  const count = level.keys.names.length;
  for (let at = 0; at < weights.length; at++) {
    const key = keys ? keys[at] : at;
    if (key >= count) break;
    // nothing but rest is found there, and habit knows it well
    if ((lift || without) && level.keys.apart.data[key]) continue;
    const value = lift ? weights[at] - level.habit(head, reader, key) : weights[at];
    if (value > most) [most, to] = [value, key];
  }
  if (to === null) return NO_READING;
  const value = lift ? most : most / leftWithout(level, head, reader, without);
  return { value, to, bound: isLowerBound(level, head, reader) };
}

/** Weights of a row that are in the file, and whose they are; keys null: of every key in turn. */
function rowHeld(
  /** @type {LevelView} */ level,
  /** @type {number} */ head,
  /** @type {number} */ reader,
) {
  const { full, links } = level.data;
  const row = level.fullPlace(head, reader);
  if (full && row >= 0) {
    return { keys: null, weights: full.weight.data.subarray(row, row + level.keys.names.length) };
  }
  const at = level.linkPlace(head, reader);
  if (!links || at < 0) return { keys: null, weights: NO_WEIGHTS };
  const end = at + links.key.shape[2];
  return { keys: links.key.data.subarray(at, end), weights: links.weight.data.subarray(at, end) };
}

/** What a row holds besides its special tokens, if those are left out. */
function leftWithout(
  /** @type {LevelView} */ level,
  /** @type {number} */ head,
  /** @type {number} */ reader,
  /** @type {boolean} */ without,
) {
  return without ? level.sum(head, reader) - (level.apart(head, reader) ?? 0) : 1;
}

function isLowerBound(
  /** @type {LevelView} */ level,
  /** @type {number} */ head,
  /** @type {number} */ reader,
) {
  return Boolean(level.data.links?.bound) && level.has(head, reader) === "largest";
}
