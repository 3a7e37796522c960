// @ts-check
/** Which row the four steps are of: lists to choose from, and what to do where it is not there. */

import { clipped, el, word } from "../drawing/dom.js";

/** @typedef {import("../data/types.js").App} App */

/** Rows beyond which a list to choose from would be too long. */
const CHOICES = 300;
const MOST_JUMPS = 12;
const OPTION_LETTERS = 40;

/** Whose row: a list of all readers of a short text, else the name. */
export class RowChooser {
  constructor(/** @type {(unit: number) => void} */ choose) {
    this.choose = choose;
    this.root = el("span");
    /** @type {string[]} */
    this.names = [];
  }

  show(/** @type {string[]} */ names, /** @type {number} */ unit) {
    if (names.length > CHOICES) {
      this.root.replaceChildren(el("b", {}, word(names[unit])));
    } else if (names !== this.names) {
      this.root.replaceChildren(options("row", names, unit, this.choose, "Whose row"));
    }
    this.names = names;
    const list = this.root.querySelector("select");
    if (list) list.value = String(unit);
  }
}

/** Which piece of a word, as each has a row. */
export function choiceOfPiece(
  /** @type {string[]} */ names,
  /** @type {number} */ at,
  /** @type {(at: number) => void} */ choose,
) {
  return el(
    "label",
    {},
    `, which is ${names.length} pieces and has a row for each; piece `,
    options("piece", names, at, choose),
  );
}

function options(
  /** @type {string} */ name,
  /** @type {string[]} */ texts,
  /** @type {number} */ chosen,
  /** @type {(at: number) => void} */ choose,
  /** @type {string | null} */ label = null,
) {
  return el(
    "select",
    {
      name,
      "aria-label": label,
      onchange: (event) =>
        choose(Number(/** @type {HTMLSelectElement} */ (event.target).value)),
    },
    texts.map((text, at) =>
      el("option", { value: at, selected: at === chosen }, clipped(text, OPTION_LETTERS)),
    ),
  );
}

/** That a row is not in the file, which ones are, and what to type to have it. */
export function missingRow(/** @type {App} */ app) {
  const left = app.page.plan.left.filter(({ what }) => what.includes("four steps"));
  return el(
    "div",
    { "data-missing": "" },
    el("p", {}, "The numbers of this row in this head are not in this file."),
    heldRows(app),
    left.length > 0 && el("p", {}, "To have them, write the page with:"),
    el(
      "ul",
      {},
      left.map(({ what, command }) => el("li", {}, `${what}: `, el("code", {}, command))),
    ),
  );
}

/** Buttons for what is in the file: words of this head, else heads. */
function heldRows(/** @type {App} */ app) {
  const book = app.book();
  const state = app.store.get();
  const here = book.stepPlaces.get(state.heads[0]);
  if (!here) {
    const heads = [...book.stepPlaces.keys()];
    const label = (/** @type {number} */ head) => book.heads[head].label;
    return jumps("It has rows of ", heads, label, (head) => app.store.set({ heads: [head] }));
  }
  const { names } = book.level(state.level).readers;
  const owner = state.level === "words" ? book.pieces?.readers.word : null;
  const pieces = Array.from(here[0].readers.data);
  const units = [...new Set(pieces.map((piece) => owner?.data[piece] ?? piece))];
  return jumps("In this head it has the rows of ", units, (unit) => names[unit], (unit) =>
    app.store.set({ locked: [unit], direction: "reads" }),
  );
}

/** Buttons that lead to what is there, the first few. */
function jumps(
  /** @type {string} */ title,
  /** @type {number[]} */ places,
  /** @type {(place: number) => string} */ name,
  /** @type {(place: number) => void} */ go,
) {
  if (!places.length) return null;
  const more = places.length - MOST_JUMPS;
  const buttons = places
    .slice(0, MOST_JUMPS)
    .map((place) =>
      el("button", { type: "button", onclick: () => go(place) }, word(name(place), 18)),
    );
  return el("p", { class: "jumps" }, title, buttons, more > 0 && `and ${more} more`);
}
