// @ts-check
/** The sentences that several views say in the same words. */

import { clipped } from "./dom.js";
import { many, percent } from "../data/numbers.js";

/**
 * @typedef {import("../data/book.js").Book} Book
 * @typedef {import("../data/types.js").Measure} Measure
 * @typedef {import("../data/types.js").Side} Side
 */

export const NOT_WHY = "Weight is where a head looks, not why the model decides.";

/** What a head does in this text, by the kind that the record's overview gives it. */
const KINDS = new Map([
  ["special", "gives most of its weight to"],
  ["before", "reads the word before"],
  ["after", "reads the word after"],
  ["itself", "reads the word itself"],
  ["same", "reads the same word elsewhere"],
  ["selective", "picks one word out"],
  ["broad", "spreads over half of the words or more"],
]);

/** L5H11, or the mean of several heads, said as such. */
export function headsNamed(/** @type {Book} */ book, /** @type {number[]} */ heads) {
  const labels = heads.map((head) => book.heads[head].label);
  if (labels.length === 1) return labels[0];
  if (labels.length === book.heads.length) return `the mean of all ${labels.length} heads`;
  const named = labels.slice(0, 4).join(", ");
  const more = labels.length > 4 ? ` and ${labels.length - 4} more` : "";
  return `the mean of ${labels.length} heads (${named}${more})`;
}

export function measureNamed(/** @type {Measure} */ measure) {
  return { weight: "weight", share: "part of the result", lift: "weight beyond habit" }[measure];
}

/** A word from outside in quotation marks, isolated and not long. */
export function inQuotes(/** @type {string} */ name, /** @type {number} */ room = 24) {
  return `“\u2068${clipped(name, room)}\u2069”`;
}

/** A name as part of a list: in quotation marks if it is nothing but marks. */
export function plainly(/** @type {string} */ name) {
  return /[\p{L}\p{N}]/u.test(name) ? `\u2068${clipped(name, 24)}\u2069` : inQuotes(name);
}

/** "a", "a and b", "a, b and 3 more". */
export function listed(/** @type {string[]} */ names, /** @type {number} */ most = 3) {
  const left = names.length - most;
  if (left > 1) return `${names.slice(0, most).join(", ")} and ${left} more`;
  const last = names[names.length - 1];
  return names.length < 2 ? (last ?? "") : `${names.slice(0, -1).join(", ")} and ${last}`;
}

/** The names of the units where heads rest whatever the text says. */
export function apartNames(/** @type {Side} */ side) {
  /** @type {string[]} */
  const names = [];
  for (let unit = 0; unit < side.names.length && names.length < 4; unit++) {
    if (side.apart.data[unit]) names.push(clipped(side.names[unit], 16));
  }
  return names;
}

/** How much of a row goes where heads rest. */
export function apartSaid(
  /** @type {Book} */ book,
  /** @type {Side} */ keys,
  /** @type {number | null} */ mass,
  /** @type {string} */ whose,
) {
  const names = apartNames(keys);
  if (mass === null || !names.length) return "";
  const several = names.length > 1;
  if (book.data.kind === "decoder") {
    const takes = several ? "come first, take" : "comes first, takes";
    const sink = "decoders rest there, whatever the word (a sink)";
    return `${listed(names)}, which ${takes} ${percent(mass)} of ${whose}: ${sink}.`;
  }
  const takes = several ? "are not words, take" : "is not a word, takes";
  return `${listed(names)}, which ${takes} ${percent(mass)} of ${whose}.`;
}

/** What one head does in this text, and by habit; "" where nothing is known. */
export function characterOf(/** @type {Book} */ book, /** @type {number[]} */ heads) {
  if (heads.length > 1) return "A mean: no single head need look like it.";
  const head = book.heads[heads[0]];
  const kind = head.kind === null ? undefined : KINDS.get(head.kind);
  const to =
    head.kind === "special"
      ? ` ${listed(apartNames(book.words.keys)).replace(" and ", " or ")}`
      : "";
  const said = kind ? `${head.label} ${kind}${to} here. ` : "";
  if (!head.does) return said.trim();
  const how = head.does.always ? "always" : "mostly";
  const who = said ? "it" : head.label;
  return `${said}By habit ${who} ${how} reads ${head.does.reads}, whatever the words.`;
}

/** How many pieces a word is, and what that makes of its weights. */
export function piecesSaid(/** @type {Book} */ book, /** @type {number} */ unit) {
  const pieces = book.piecesOf("readers", unit);
  if (pieces.length < 2) return "";
  const texts = pieces.slice(0, 8).map((piece) => book.pieces?.readers.texts[piece] ?? "");
  const more = pieces.length > 8 ? " …" : "";
  const all = many(pieces.length, "piece");
  return `Its weights are the mean over its ${all}: ${clipped(texts.join(" "), 80)}${more}`;
}
