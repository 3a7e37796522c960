// @ts-check
/**
 * Two columns of words, who reads and who is read, with lines between them. Only the words in view
 * are in the document; both columns scroll as one.
 */

import { el, svg, word } from "../drawing/dom.js";
import { edgesOf, stripOf } from "./edges.js";
import { drawLines } from "./lines.js";
import { ownSide, partnersOf } from "./partners.js";
import { hold, pointable, unitAt } from "./pointing.js";
import { matchesOf } from "./search.js";
import { shown } from "../data/state.js";
import { dressWord } from "./wordlook.js";

/**
 * @typedef {import("../data/types.js").App} App
 * @typedef {import("./partners.js").SideName} SideName
 */

/** @typedef {{first: number, last: number}} Span rows in the document */

const BOTH_SIDES = /** @type {const} */ (["readers", "keys"]);
/** Rows that are kept above and below what is seen. */
const SPARE_ROWS = 6;

export class Columns {
  constructor(/** @type {App} */ app) {
    this.app = app;
    this.rowHeight = 26;
    this.span = { first: 0, last: -1 };
    /** The word of each column that Tab goes to. */
    this.stops = { readers: 0, keys: 0 };
    /** @type {Record<SideName, Map<number, HTMLElement>>} */
    this.options = { readers: new Map(), keys: new Map() };
    this.lists = { readers: this.list("readers"), keys: this.list("keys") };
    this.lines = svg("svg", { class: "lines", "aria-hidden": "true" });
    this.sizer = el("div", { class: "sizer" }, this.lists.readers, this.lines, this.lists.keys);
    this.scroller = el("div", { class: "scroller", onscroll: () => this.scrolled() }, this.sizer);
    this.above = el("div", { class: "edge" });
    this.below = el("div", { class: "edge" });
    this.strip = el("div", { class: "where", "aria-hidden": "true" });
    this.strip.addEventListener("click", (event) => this.jump(event));
    this.root = el(
      "div",
      { class: "columns" },
      el(
        "div",
        { class: "column-names quiet", "aria-hidden": "true" },
        el("span", {}, "who reads"),
        el("span", {}, "who is read"),
      ),
      this.above,
      el("div", { class: "frame" }, this.scroller, this.strip),
      this.below,
    );
    this.waiting = false;
    new ResizeObserver(() => this.measure()).observe(this.scroller);
  }

  level() {
    const state = this.app.store.get();
    return this.app.book().level(state.level);
  }

  /** Another text, or other units: everything anew. */
  rebuild() {
    for (const side of BOTH_SIDES) {
      this.options[side].clear();
      this.lists[side].replaceChildren();
      const [unit] = shown(this.app.store.get());
      this.stops[side] = Math.min(unit ?? 0, this.count(side) - 1);
    }
    this.measure();
  }

  /** Everything that depends on what is chosen. */
  paint() {
    const state = this.app.store.get();
    const all = shown(state).map((unit) => partnersOf(this.app, unit, state));
    for (const unit of shown(state).slice(0, 1)) this.setStop(ownSide(state), unit);
    const matches = matchesOf(this.app);
    for (const side of BOTH_SIDES) {
      for (const [unit, option] of this.options[side]) {
        dressWord(option, side, unit, this.level(), state, all, matches[side].has(unit));
      }
    }
    drawLines(this.lines, this.app, all, this.span, this.rowHeight);
    const jump = (/** @type {SideName} */ side, /** @type {number} */ unit) =>
      this.focus(side, unit);
    edgesOf(this.app, all, this.seen(), this.above, this.below, jump);
    stripOf(this.strip, all, this.seen(), this.length());
  }

  /** Scrolls so that a unit is in the middle, unless it is in sight. */
  show(/** @type {SideName} */ side, /** @type {number} */ unit) {
    const { first, last } = this.seen();
    this.setStop(side, unit);
    if (unit > first && unit < last) return;
    const middle = (unit + 0.5) * this.rowHeight - this.scroller.clientHeight / 2;
    this.scroller.scrollTop = middle;
    this.refresh();
  }

  /** The rows that are seen whole. */
  seen() {
    const top = this.scroller.scrollTop / this.rowHeight;
    const rows = this.scroller.clientHeight / this.rowHeight;
    return { first: Math.ceil(top - 0.1), last: Math.floor(top + rows - 0.9) };
  }

  length() {
    return Math.max(this.count("readers"), this.count("keys"));
  }

  count(/** @type {SideName} */ side) {
    return this.level()[side].names.length;
  }

  measure() {
    const root = getComputedStyle(document.documentElement);
    this.rowHeight = Math.round(1.625 * parseFloat(root.fontSize)) || 26;
    this.root.style.setProperty("--row", `${this.rowHeight}px`);
    this.sizer.style.setProperty("height", `${this.length() * this.rowHeight}px`);
    const long = this.scroller.scrollHeight > this.scroller.clientHeight + 1;
    this.root.classList.toggle("long", long);
    this.refresh();
  }

  scrolled() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.refresh();
    });
  }

  /** The words that are in view now, as they are now. */
  refresh() {
    const { first, last } = this.seen();
    this.span = {
      first: Math.max(first - SPARE_ROWS, 0),
      last: Math.min(last + SPARE_ROWS, this.length() - 1),
    };
    for (const side of BOTH_SIDES) this.fill(side);
    this.paint();
  }

  /** Puts the words in view into a column, and takes the others out. */
  fill(/** @type {SideName} */ side) {
    const options = this.options[side];
    const wanted = new Set([this.stops[side]]);
    const last = Math.min(this.span.last, this.count(side) - 1);
    for (let unit = this.span.first; unit <= last; unit++) wanted.add(unit);
    for (const [unit, option] of options) {
      if (option === document.activeElement) wanted.add(unit);
      if (wanted.has(unit)) continue;
      option.remove();
      options.delete(unit);
    }
    // in the order of the text, for those who have it read to them
    let next = this.lists[side].firstChild;
    for (const unit of [...wanted].sort((a, b) => a - b)) {
      const known = options.get(unit);
      if (known) {
        next = known.nextSibling;
        continue;
      }
      const option = this.option(side, unit);
      options.set(unit, option);
      this.lists[side].insertBefore(option, next);
    }
  }

  option(/** @type {SideName} */ side, /** @type {number} */ unit) {
    const of = this.level()[side];
    const option = el(
      "button",
      {
        type: "button",
        role: "option",
        "data-side": side,
        "data-unit": unit,
        "aria-setsize": of.names.length,
        "aria-posinset": unit + 1,
        tabindex: this.stops[side] === unit ? 0 : -1,
      },
      word(of.texts[unit], 40),
      el("span", { class: "numbers number" }),
    );
    option.style.setProperty("top", `${unit * this.rowHeight}px`);
    return option;
  }

  setStop(/** @type {SideName} */ side, /** @type {number} */ unit) {
    const before = this.stops[side];
    if (before === unit) return;
    this.stops[side] = unit;
    this.fill(side);
    this.options[side].get(before)?.setAttribute("tabindex", "-1");
    this.options[side].get(unit)?.setAttribute("tabindex", "0");
  }

  list(/** @type {SideName} */ side) {
    const list = el("div", {
      role: "listbox",
      class: "column",
      "data-column": side,
      "aria-multiselectable": "true",
      "aria-label": side === "readers" ? "Who reads" : "Who is read",
    });
    pointable(
      list,
      this.app,
      "data-unit",
      () => side,
      (unit) => this.setStop(side, unit),
    );
    list.addEventListener("keydown", (event) => this.key(event, side));
    return list;
  }

  /** Arrow keys move between words and columns. */
  key(/** @type {KeyboardEvent} */ event, /** @type {SideName} */ side) {
    const unit = unitAt(event.target, "data-unit");
    if (unit === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(this.seen().last - this.seen().first, 1);
    /** @type {Record<string, number>} */
    const moves = {
      ArrowDown: unit + 1,
      ArrowUp: unit - 1,
      PageDown: unit + page,
      PageUp: unit - page,
      Home: 0,
      End: Infinity,
    };
    if (event.key in moves) this.focus(side, moves[event.key]);
    else if (event.key === "ArrowLeft") this.focus("readers", unit);
    else if (event.key === "ArrowRight") this.focus("keys", unit);
    else if (event.key === "Enter" && event.shiftKey) hold(this.app, side, unit, true);
    else return;
    event.preventDefault();
  }

  focus(/** @type {SideName} */ side, /** @type {number} */ wanted) {
    const unit = Math.min(Math.max(wanted, 0), this.count(side) - 1);
    this.show(side, unit);
    this.options[side].get(unit)?.focus({ preventScroll: true });
  }

  /** A click on the strip goes to that place of the text. */
  jump(/** @type {MouseEvent} */ event) {
    const box = this.strip.getBoundingClientRect();
    const part = (event.clientY - box.top) / box.height;
    this.scroller.scrollTop = part * this.scroller.scrollHeight - this.scroller.clientHeight / 2;
  }
}
