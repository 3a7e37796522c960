// @ts-check
/** The table of keys that every step has: a line a word, the rest of a long text in one. */

import { el, word } from "../drawing/dom.js";
import { many } from "../data/numbers.js";
import { MOST_KEYS, part } from "./steprow.js";
import { valueBar } from "./vectors.js";

/** @typedef {import("./steprow.js").StepRow} StepRow */
/** @typedef {import("./steprow.js").KeyNumber} KeyNumber */

/**
 * What is chosen within the steps of a row.
 * @typedef {object} Choice
 * @property {number} key place of the key that is spelled out
 * @property {number} dim the number of the result that is spelled out
 * @property {boolean} allKeys
 * @property {boolean} allTerms
 * @property {(patch: {key?: number, dim?: number, allKeys?: boolean, allTerms?: boolean}) => void} set
 */

/** @typedef {import("../drawing/dom.js").Child} Child */
/** @typedef {{title: string, look?: "barred" | "strip-cell", cell: (place: number) => Child | Child[]}} Column */

/** One number of one key, marked as what it is. */
export function keyNumber(
  /** @type {StepRow} */ row,
  /** @type {KeyNumber} */ name,
  /** @type {number} */ place,
) {
  if (name === "masked" && row.hidden[place]) {
    return el("span", marks(row, name, place), "−inf: not seen");
  }
  return el("span", marks(row, name, place), row.text(name, place));
}

/** A number that belongs to the row and not to one key. */
export function rowNumber(
  /** @type {string} */ name,
  /** @type {number} */ value,
  /** @type {string} */ text,
) {
  return el("span", { class: "number", "data-number": name, "data-value": value }, text);
}

/** A column of one number of each key. */
export function numberColumn(
  /** @type {StepRow} */ row,
  /** @type {KeyNumber} */ name,
  /** @type {string} */ title,
) {
  return {
    title,
    cell: (/** @type {number} */ place) => keyNumber(row, name, place),
  };
}

/** A column of one number of each key behind a bar of its size, from `low` to `high`. */
export function barColumn(
  /** @type {StepRow} */ row,
  /** @type {KeyNumber} */ name,
  /** @type {string} */ title,
  /** @type {number} */ low,
  /** @type {number} */ high,
) {
  return {
    title,
    look: /** @type {const} */ ("barred"),
    cell: (/** @type {number} */ place) => [
      valueBar(row.number(name, place), low, high),
      keyNumber(row, name, place),
    ],
  };
}

/** The keys, a line each; below them what is not listed, and the lines of `last`. */
export function keyTable(
  /** @type {StepRow} */ row,
  /** @type {Choice} */ choice,
  /** @type {Column[]} */ columns,
  /** @type {{caption: string, choose?: boolean, look?: string, places?: number[], last?: Child[]}} */ more,
) {
  const places = more.places ?? row.listed(choice.allKeys);
  return el(
    "div",
    { class: "wide" },
    el(
      "table",
      { class: `keys ${more.look ?? ""}` },
      el("caption", { class: "unseen-text" }, more.caption),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, row.unit),
          columns.map((column) => el("th", heading(column), column.title)),
        ),
      ),
      el(
        "tbody",
        {},
        places.map((place) => keyLine(row, choice, columns, place, more.choose ?? false)),
        more.last ?? [],
      ),
    ),
    unlisted(row, choice, places),
  );
}

function heading(/** @type {Column} */ column) {
  return { scope: "col", class: column.look ?? "figure" };
}

function keyLine(
  /** @type {StepRow} */ row,
  /** @type {Choice} */ choice,
  /** @type {Column[]} */ columns,
  /** @type {number} */ place,
  /** @type {boolean} */ choose,
) {
  const chosen = choose && place === choice.key;
  const name = word(row.names[place], 18);
  const label = choose
    ? el(
        "button",
        {
          type: "button",
          class: "key",
          "aria-pressed": String(chosen),
          "data-control": `key-${row.units[place]}`,
          onclick: () => choice.set({ key: place }),
        },
        name,
      )
    : name;
  return el(
    "tr",
    { class: row.hidden[place] ? "hidden-key" : null, "data-chosen": chosen },
    el("th", { scope: "row" }, label),
    columns.map((column) =>
      el(
        "td",
        { class: column.look ?? "figure", "data-title": column.title },
        column.cell(place),
      ),
    ),
  );
}

/** What the table leaves out, with the weight that it has together, and how to see it. */
function unlisted(
  /** @type {StepRow} */ row,
  /** @type {Choice} */ choice,
  /** @type {number[]} */ places,
) {
  const left = row.seen.length - places.filter((place) => !row.hidden[place]).length;
  const unseen = row.unseen.length - places.filter((place) => row.hidden[place]).length;
  const lines = [];
  if (left > 0) {
    const listed = new Set(places);
    const weight = row.seen.reduce(
      (sum, place) => sum + (listed.has(place) ? 0 : row.number("weight", place)),
      0,
    );
    lines.push(`and ${many(left, `more ${row.unit}`)}, ${part(weight)} of the weight together. `);
  }
  if (unseen > 0) lines.push(`${many(unseen, row.unit)} may not be seen. `);
  const most = Math.min(row.seen.length, MOST_KEYS);
  const folds = choice.allKeys || (left > 0 && most > places.length);
  if (!lines.length && !folds) return null;
  return el("p", { class: "quiet" }, lines, folds && folding(row, choice, most));
}

function folding(
  /** @type {StepRow} */ row,
  /** @type {Choice} */ choice,
  /** @type {number} */ most,
) {
  const more = most < row.seen.length ? `Show ${most}` : "Show all";
  return el(
    "button",
    {
      type: "button",
      "data-control": "all-keys",
      onclick: () => choice.set({ allKeys: !choice.allKeys }),
    },
    choice.allKeys ? "Only the heaviest" : more,
  );
}

function marks(
  /** @type {StepRow} */ row,
  /** @type {KeyNumber} */ name,
  /** @type {number} */ place,
) {
  return {
    class: "number",
    "data-number": name,
    "data-key": row.units[place],
    "data-value": row.number(name, place),
  };
}
