// @ts-check
/** The weights of the chosen head, every word with every word: rows read, columns are read. */

import { Cells } from "./cells.js";
import { legend, onScheme } from "../drawing/colours.js";
import { el } from "../drawing/dom.js";
import { listenForGestures } from "./gestures.js";
import { Heatmap } from "./heatmap.js";
import { CellTable } from "./matrixtable.js";
import { fraction } from "../data/numbers.js";
import { differs, shown } from "../data/state.js";
import { blockSaid, smallMatrix } from "./thumbs.js";
import { Viewport } from "./viewport.js";
import { headsNamed, measureNamed, inQuotes } from "../drawing/wording.js";

/** @typedef {import("../data/types.js").App} App */
/** @typedef {import("../data/types.js").State} State */
/** @typedef {import("../drawing/colours.js").LegendMark} LegendMark */
/** @typedef {{row: number, column: number}} Cell */

/** Cells in sight that are painted one by one; of more, the picture in small is shown. */
const MOST_CELLS = 400_000;
/** Cells smaller than this show a matrix in small, if most of its cells are not in the file. */
const SMALL = 4;
/** Room for names of columns that stand upright. */
const UPRIGHT = 24;
const ZOOM_STEP = 1.5;
const HINT = "Point at a cell, or move over the cells with the arrow keys.";

export function mountMatrix(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  const view = new MatrixView(root, app);
  app.store.subscribe((state, before) => view.follow(state, before));
  onScheme(() => view.renew());
  new ResizeObserver(() => view.resize()).observe(view.wrapper);
  new IntersectionObserver(([entry]) => view.sight(entry.isIntersecting)).observe(view.wrapper);
  window.addEventListener("beforeprint", () => view.paint());
}

class MatrixView {
  constructor(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
    this.app = app;
    this.view = new Viewport();
    /** @type {Cell | null} */
    this.cell = null;
    this.waiting = false;
    this.anew = true;
    /** Whether any of it is on the screen: marks that nobody sees wait until it is. */
    this.inSight = true;
    this.stale = false;
    /** @type {import("./thumbs.js").Small | null} */
    this.small = null;
    this.title = el("p", { class: "quiet" });
    this.tools = this.buttons();
    this.readout = el("p", { "data-readout": "", "aria-live": "polite" }, HINT);
    this.key = el("div");
    this.canvas = el("canvas");
    this.wrapper = el("div", { class: "matrix-cells", tabindex: 0, role: "application" }, this.canvas);
    this.table = new CellTable();
    root.append(this.title, this.tools, this.wrapper, this.readout, this.key, this.table.details);
    this.heatmap = new Heatmap(this.canvas);
    this.cells = this.read();
    this.listen();
    this.renew();
  }

  buttons() {
    const button = (/** @type {string} */ text, /** @type {string} */ name, /** @type {() => void} */ act) =>
      el("button", { type: "button", "aria-label": name, title: name, onclick: act }, text);
    return el(
      "div",
      { class: "matrix-buttons" },
      button("+", "larger cells", () => this.zoom(ZOOM_STEP)),
      button("−", "smaller cells", () => this.zoom(1 / ZOOM_STEP)),
      button("whole matrix", "whole matrix", () => this.zoom(0)),
      el("span", { class: "quiet" }, "Drag to move; Ctrl and wheel, or two fingers, to zoom."),
    );
  }

  listen() {
    listenForGestures(this.canvas, {
      hover: (x, y) => this.look(this.view.cellAt(x, y)),
      leave: () => this.look(null),
      tap: (x, y) => this.hold(this.view.cellAt(x, y)),
      pan: (dx, dy) => {
        this.view.pan(dx, dy);
        this.draw();
      },
      zoom: (factor, x, y) => {
        this.view.zoom(factor, x, y);
        this.draw();
      },
    });
    this.wrapper.addEventListener("keydown", (event) => this.press(event));
    this.wrapper.addEventListener("focus", () => {
      if (this.wrapper.matches(":focus-visible")) this.goTo(this.start());
    });
    this.wrapper.addEventListener("blur", () => this.look(null));
  }

  follow(/** @type {State} */ state, /** @type {State} */ before) {
    if (differs(state, before, "book", "level", "heads", "measure", "without", "log")) {
      const other = differs(state, before, "book", "level");
      if (other) this.cell = null;
      this.renew(other);
    } else if (differs(state, before, "pointed", "locked", "target", "direction")) {
      this.draw(false);
    }
  }

  /** Everything anew: other numbers or other colours. */
  renew(/** @type {boolean} */ refit = true) {
    const state = this.app.store.get();
    const book = this.app.book();
    this.cells = this.read();
    this.small = this.smaller();
    this.view.least = this.small || this.cells.readers * this.cells.keys <= MOST_CELLS ? 0 : 1;
    const heads = headsNamed(book, state.heads);
    const what = measureNamed(state.measure);
    const rest = state.without && state.measure === "weight" ? ", special tokens left out, the rest scaled to 1" : "";
    this.title.textContent = `Rows read, columns are read: ${what} in ${heads}${rest}.`;
    this.wrapper.setAttribute(
      "aria-label",
      `Matrix of ${heads}: rows read, columns are read. Arrow keys move from cell to cell, Enter chooses, plus and minus zoom.`,
    );
    this.key.replaceChildren(legend(this.cells.scale, what, this.marksNamed()));
    this.table.show(this.cells);
    if (refit) this.resize();
    else this.draw();
    this.tell();
  }

  read() {
    const state = this.app.store.get();
    return new Cells(this.app.book().level(state.level), state);
  }

  /** The matrix in small, where it cannot be shown cell by cell. */
  smaller() {
    const { readers, keys } = this.cells;
    if (readers * keys <= MOST_CELLS && this.cells.whole()) return null;
    const { level, heads } = this.app.store.get();
    return smallMatrix(this.app.book(), level, heads);
  }

  marksNamed() {
    const { state } = this.cells;
    /** @type {LegendMark[]} */
    const marks = [];
    if (this.cells.level.data.seen) marks.push(["unseen", "may not be seen"]);
    if (!this.cells.whole()) marks.push(["unknown", "not in this file"]);
    else if (state.measure !== "weight") marks.push(["unknown", this.cells.lacking(0)]);
    return marks;
  }

  resize() {
    const { view, heatmap } = this;
    const width = this.wrapper.clientWidth;
    if (!width) return;
    const fitted = view.whole();
    const { readers, keys } = this.cells.level;
    view.rows = this.cells.readers;
    view.columns = this.cells.keys;
    view.left = heatmap.names.room(heatmap.screen, readers, Math.min(140, 0.28 * width));
    view.top = heatmap.names.room(heatmap.screen, keys, Math.min(120, 0.28 * width));
    view.width = width - view.left - 3;
    view.height = Math.min(view.width, Math.max(240, 0.7 * window.innerHeight));
    view.upright = heatmap.names.room(heatmap.screen, keys, width) <= view.fitting();
    if (view.upright) view.top = UPRIGHT;
    const size = view.fitting();
    this.tools.hidden = view.comfortable();
    view.width = Math.min(view.width, view.columns * size);
    view.height = Math.min(view.height, view.rows * size);
    if (fitted || view.size === 1) view.fit();
    heatmap.resize(view.left + view.width + 3, view.top + view.height + 3);
    view.hold();
    this.draw();
  }

  /** Paints at the next frame, once; `anew`: not only what is chosen has changed. */
  draw(/** @type {boolean} */ anew = true) {
    this.anew ||= anew;
    this.stale = true;
    if (this.waiting || !(this.inSight || this.anew)) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  sight(/** @type {boolean} */ inSight) {
    this.inSight = inSight;
    if (inSight && this.stale) this.draw(false);
  }

  paint() {
    const { view, cells, anew } = this;
    const state = this.app.store.get();
    const reads = state.direction === "reads";
    const marks = {
      cell: this.cell,
      rows: reads ? shown(state) : state.target === null ? [] : [state.target],
      column: reads ? state.target : (shown(state)[0] ?? null),
    };
    this.canvas.style.setProperty("touch-action", view.whole() ? "pan-y" : "none");
    this.anew = false;
    this.stale = false;
    if (!this.heatmap.paint(view, cells, this.smallNow(), marks, anew)) this.draw();
  }

  smallNow() {
    return this.view.size < SMALL ? this.small : null;
  }

  zoom(/** @type {number} */ factor) {
    const { view } = this;
    const { row, column } = this.cell ?? this.start();
    const inSight = view.shows(row, column);
    const x = inSight ? view.columnAt(column + 0.5) : view.left + view.width / 2;
    const y = inSight ? view.rowAt(row + 0.5) : view.top + view.height / 2;
    if (factor) view.zoom(factor, x, y);
    else view.fit();
    this.draw();
  }

  /** The cell that is looked at, and what it says. */
  look(/** @type {Cell | null} */ cell) {
    if (cell?.row === this.cell?.row && cell?.column === this.cell?.column) return;
    this.cell = cell;
    this.draw(false);
    this.tell();
  }

  goTo(/** @type {Cell} */ cell) {
    this.view.reveal(cell.row, cell.column);
    this.draw();
    this.look(cell);
  }

  /** Where the keyboard begins: at what is chosen. */
  start() {
    const state = this.app.store.get();
    const unit = shown(state)[0] ?? 0;
    const other = state.target ?? (this.cells.level.same ? unit : 0);
    return state.direction === "reads" ? { row: unit, column: other } : { row: other, column: unit };
  }

  /** A click: this reader, and the word it reads. */
  hold(/** @type {Cell | null} */ cell) {
    if (!cell) return;
    this.look(cell);
    this.app.store.set({ direction: "reads", locked: [cell.row], pointed: cell.row, target: cell.column });
  }

  press(/** @type {KeyboardEvent} */ event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const cell = this.cell ?? this.start();
    const [last, end] = [this.cells.readers - 1, this.cells.keys - 1];
    const step = CELL_STEPS[event.key];
    if (step) {
      this.goTo({
        row: Math.min(Math.max(cell.row + step[0], 0), last),
        column: Math.min(Math.max(cell.column + step[1], 0), end),
      });
    } else if (event.key === "Enter" || event.key === " ") this.hold(cell);
    else if (event.key === "+" || event.key === "=") this.zoom(ZOOM_STEP);
    else if (event.key === "-") this.zoom(1 / ZOOM_STEP);
    else if (event.key === "0") this.zoom(0);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  tell() {
    this.readout.textContent = this.cell ? this.says(this.cell) : HINT;
  }

  says(/** @type {Cell} */ { row, column }) {
    const { level, state } = this.cells;
    const [reader, key] = [inQuotes(level.readers.names[row]), inQuotes(level.keys.names[column])];
    const heads = headsNamed(this.app.book(), state.heads);
    const small = this.smallNow();
    if (small) return `${blockSaid(small, level, row, column)} in ${heads}. Zoom in for words.`;
    const kind = this.cells.kind(row, column);
    if (kind === "unseen") return `${reader} may not see ${key}`;
    if (kind === "left out") return `${key} is left out`;
    if (kind === "unknown") return `${reader} reads ${key}: ${this.cells.lacking(row)}, in ${heads}`;
    const found = this.cells.row(row);
    const number = fraction(found?.value[column], found?.bound);
    return `${reader} reads ${key}: ${number}${UNITS[state.measure]} in ${heads}`;
  }
}

const UNITS = { weight: "", share: " of the result", lift: " beyond habit" };

const CELL_STEPS = /** @type {Record<string, [number, number]>} */ ({
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
});
