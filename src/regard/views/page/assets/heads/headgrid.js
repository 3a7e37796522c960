// @ts-check
/** The grid of heads as buttons, a row a layer, among which the arrow keys move. */

import { el } from "../drawing/dom.js";

/** @typedef {import("../data/book.js").Book} Book */

/** Columns of a grid whose cells have room for a number. */
const ROOMY = 12;

const GRID_STEPS = /** @type {Record<string, [number, number]>} */ ({
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-5, 0],
  PageDown: [5, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
});

export class HeadGrid {
  /** @param {(button: HTMLButtonElement, event: MouseEvent) => void} chosen when one is clicked */
  constructor(chosen) {
    /** @type {HTMLButtonElement[]} by head */
    this.cells = [];
    this.root = el("div", { class: "heads-grid", role: "group", "aria-label": "heads" });
    this.root.addEventListener("click", (event) => {
      const button = buttonOf(event);
      if (!button) return;
      this.reach(button);
      chosen(button, event);
    });
    this.root.addEventListener("keydown", (event) => this.move(event));
  }

  /** The heads of a book; `pictures`: with a canvas each. */
  build(/** @type {Book} */ book, /** @type {boolean} */ pictures) {
    const columns = Math.max(...book.heads.map((head) => head.number + 1));
    this.root.style.setProperty("--columns", String(columns));
    this.root.classList.toggle("roomy", columns <= ROOMY);
    this.root.classList.toggle("pictures", pictures);
    this.cells = book.heads.map(({ number, does }, head) => {
      const style = does ? "head positional-head" : "head";
      const cell = el("button", { type: "button", "data-head": head, tabindex: -1, class: style });
      cell.style.setProperty("grid-column", String(number + 2));
      if (pictures) cell.append(el("canvas"));
      return cell;
    });
    const rows = book.layers.map((_, layer) => this.row(book, layer));
    this.root.replaceChildren(columnNames(columns), ...rows);
  }

  row(/** @type {Book} */ book, /** @type {number} */ layer) {
    const { number, name } = book.layers[layer];
    const all = el(
      "button",
      {
        type: "button",
        "data-layer": layer,
        tabindex: -1,
        title: `All heads of L${number} (${name}), as their mean`,
        "aria-label": `all heads of L${number}`,
      },
      `L${number}`,
    );
    const heads = this.cells.filter((_, head) => book.heads[head].layer === layer);
    return el("div", { class: "heads-row" }, all, ...heads);
  }

  /** Marks the chosen ones. */
  press(/** @type {number[]} */ heads) {
    const chosen = new Set(heads);
    this.cells.forEach((cell, head) => {
      cell.setAttribute("aria-pressed", String(chosen.has(head)));
    });
    this.reach(this.root.querySelector(":focus") ?? this.cells[heads[0]]);
  }

  /** The one button of the grid that Tab reaches. */
  reach(/** @type {Element | undefined} */ button) {
    this.root.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    button?.setAttribute("tabindex", "0");
  }

  /** Arrow keys, Home and End go from button to button. */
  move(/** @type {KeyboardEvent} */ event) {
    const step = GRID_STEPS[event.key];
    const from = buttonOf(event);
    if (!step || !from || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const rows = [...this.root.querySelectorAll(".heads-row:not(.heads-names)")].map((row) => [
      ...row.querySelectorAll("button"),
    ]);
    const row = rows.findIndex((buttons) => buttons.includes(from));
    const next = rows[Math.min(Math.max(row + step[0], 0), rows.length - 1)];
    const column = Math.min(Math.max(rows[row].indexOf(from) + step[1], 0), next.length - 1);
    this.reach(next[column]);
    next[column].focus();
  }
}

function buttonOf(/** @type {Event} */ event) {
  return event.target instanceof Element ? event.target.closest("button") : null;
}

function columnNames(/** @type {number} */ columns) {
  const names = Array.from({ length: columns }, (_, column) => {
    const name = el("span", { class: column % 4 ? "between" : "" }, `H${column}`);
    name.style.setProperty("grid-column", String(column + 2));
    return name;
  });
  return el("div", { class: "heads-row heads-names", "aria-hidden": "true" }, ...names);
}
