// @ts-check
/** The shown rows as a table for spreadsheets: RFC 4180, UTF-8. */

import { chosenUnits } from "./picture.js";
import { headsNamed } from "../drawing/wording.js";

/** @typedef {import("../data/types.js").App} App */
/** @typedef {import("../data/level.js").LevelView} LevelView */
/** @typedef {import("../data/types.js").Row} Row */

const HEADER = ["head", "from", "to", "weight", "habit", "share", "note"];
/** What a spreadsheet takes for the start of a formula, also written full width. */
const FORMULA = /^[=+\-@\t\r＝＋－＠]/u;
const ALTERED = /"'[=+\-@\t\r＝＋－＠]/u;
/** Weights are stored to about as many decimals. */
const DECIMALS = 5;

/**
 * A line a pair that the file holds, of the words that are shown or of all; of how many words the
 * row is not in the file, and whether any word was altered.
 */
export function sheetOf(/** @type {App} */ app) {
  const state = app.store.get();
  const level = app.book().level(state.level);
  const head = headsNamed(app.book(), state.heads);
  const lines = [HEADER.join()];
  let missing = 0;
  for (const [reader, keys] of pairs(app, level)) {
    const row = level.row(state.heads, reader);
    if (!row) {
      missing++;
      continue;
    }
    for (const key of keys) {
      if (!level.seen(state.heads[0], reader, key) || Number.isNaN(row.weight[key])) continue;
      lines.push(sheetLine(level, row, head, reader, key));
    }
  }
  const text = `${lines.join("\r\n")}\r\n`;
  return { text, rows: lines.length - 1, missing, altered: ALTERED.test(text) };
}

/** The readers of the sheet, each with its keys. */
function pairs(/** @type {App} */ app, /** @type {LevelView} */ level) {
  const { direction, locked, pointed } = app.store.get();
  const units = chosenUnits(app);
  const every = (/** @type {{names: string[]}} */ side) => side.names.map((_, unit) => unit);
  const free = !locked.length && pointed === null;
  /** @type {[number, number[]][]} */
  const found =
    direction === "reads" || free
      ? (free ? every(level.readers) : units).map((reader) => [reader, every(level.keys)])
      : every(level.readers).map((reader) => [reader, units]);
  return found;
}

function sheetLine(
  /** @type {LevelView} */ level,
  /** @type {Row} */ row,
  /** @type {string} */ head,
  /** @type {number} */ reader,
  /** @type {number} */ key,
) {
  return [
    quotedField(head),
    quotedField(level.readers.names[reader]),
    quotedField(level.keys.names[key]),
    decimal(row.weight[key]),
    decimal(row.habit ? row.habit[key] : NaN),
    decimal(row.share ? row.share[key] : NaN),
    row.bound ? "at least" : "",
  ].join();
}

/** Text in quotation marks; what would be read as a formula has an apostrophe before it. */
function quotedField(/** @type {string} */ text) {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

/** A number, or nothing where there is none. */
function decimal(/** @type {number} */ value) {
  return Number.isFinite(value) ? String(Number(value.toFixed(DECIMALS))) : "";
}
