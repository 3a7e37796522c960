// @ts-check
/** The matrix of a short text as a table of numbers, made when it is opened. */

import { el, word } from "../drawing/dom.js";
import { fraction } from "../data/numbers.js";

/** @typedef {import("./cells.js").Cells} Cells */

/** Words of a text that still make a table. */
const MOST_WORDS = 24;

export class CellTable {
  constructor() {
    this.room = el("div", { class: "matrix-table", tabindex: 0, role: "region", "aria-label": "the matrix as a table" });
    this.details = el(
      "details",
      { ontoggle: () => this.fill() },
      el("summary", {}, "as a table"),
      this.room,
    );
    /** @type {Cells | null} */
    this.cells = null;
  }

  show(/** @type {Cells} */ cells) {
    this.cells = cells;
    this.details.hidden = Math.max(cells.readers, cells.keys) > MOST_WORDS;
    this.fill();
  }

  fill() {
    const { cells } = this;
    if (!cells || !this.details.open || this.details.hidden) return;
    const { readers, keys } = cells.level;
    const heading = (/** @type {string} */ text, /** @type {string} */ scope) =>
      el("th", { scope }, word(text, 16));
    const top = el("tr", {}, el("td", {}, "reads"), ...keys.names.map((text) => heading(text, "col")));
    const rows = readers.names.map((text, reader) =>
      el("tr", {}, heading(text, "row"), ...keys.names.map((_, key) => tableCell(cells, reader, key))),
    );
    this.room.replaceChildren(el("table", {}, el("thead", {}, top), el("tbody", {}, ...rows)));
  }
}

/** What stands in a cell without a number; its title says why. */
const CELL_SIGNS = { known: "", unseen: "unseen", "left out": "–", unknown: "?" };

function tableCell(/** @type {Cells} */ cells, /** @type {number} */ reader, /** @type {number} */ key) {
  const kind = cells.kind(reader, key);
  const row = cells.row(reader);
  if (kind === "known" && row) {
    return el("td", { class: "number" }, fraction(row.value[key], row.bound));
  }
  const said = kind === "unknown" ? cells.lacking(reader) : kind;
  return el("td", { class: "quiet", title: said }, CELL_SIGNS[kind]);
}
