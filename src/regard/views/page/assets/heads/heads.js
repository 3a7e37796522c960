// @ts-check
/** Layers × heads as a grid: coloured by a reading, or small pictures; a click chooses heads. */

import { legend, onScheme, Scale } from "../drawing/colours.js";
import { el } from "../drawing/dom.js";
import { HeadGrid } from "./headgrid.js";
import { many } from "../data/numbers.js";
import { READINGS, readings, readingShown, readingsLacking, resting } from "./readings.js";
import { differs } from "../data/state.js";
import { check, radios } from "../frame/switches.js";
import { drawThumb } from "../matrix/thumbs.js";
import { characterOf, inQuotes } from "../drawing/wording.js";

/** @typedef {import("../data/types.js").App} App */
/** @typedef {import("../data/book.js").Book} Book */
/** @typedef {import("../data/types.js").State} State */
/** @typedef {import("../drawing/colours.js").LegendMark} LegendMark */

/** Heads named one by one. */
const MOST_NAMED = 6;
/** Below this part of the strongest colour a number would only be noise. */
const LEAST_SHOWN = 0.005;

const NO_ROWS = "its rows are not in this file";

/** What colours the grid. */
const COLOURING = /** @type {(keyof State)[]} */ ([
  "direction", "pointed", "locked", "target", "reading", "without", "log",
]);

export function mountHeads(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  const view = new HeadsView(root, app);
  app.store.subscribe((state, before) => view.follow(state, before));
  onScheme(() => view.colour());
}

class HeadsView {
  constructor(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
    this.app = app;
    this.waiting = false;
    this.grid = new HeadGrid((button, event) => this.click(button, event));
    this.title = el("p", { class: "quiet" });
    this.key = el("div");
    this.reading = radios("reading", "Colours:", READINGS, (reading) => app.store.set({ reading }));
    this.several = el("input", { type: "checkbox", name: "several" });
    this.pictures = el("input", { type: "checkbox", name: "pictures", onchange: () => this.build() });
    this.chosen = el("p", { "data-chosen-heads": "" });
    this.habits = el("p", { class: "quiet" });
    root.append(
      el(
        "div",
        { class: "switches heads-switches" },
        this.reading,
        el("label", {}, this.pictures, "pictures"),
        el("label", {}, this.several, "choose several"),
        el("button", { type: "button", onclick: () => this.choose(this.held()) }, "all heads"),
      ),
      this.title,
      el("div", { class: "heads-room" }, this.grid.root),
      this.key,
      this.chosen,
      this.habits,
    );
    this.build();
  }

  follow(/** @type {State} */ state, /** @type {State} */ before) {
    if (differs(state, before, "book", "level")) this.build();
    else if (differs(state, before, ...COLOURING)) this.colourSoon();
    if (differs(state, before, "heads")) this.mark();
  }

  /** The grid anew: another book, or pictures instead of colours. */
  build() {
    const book = this.app.book();
    const rest = this.reading.querySelector('label:has([value="apart"]) span');
    if (rest) rest.textContent = `on ${resting(book)}`;
    this.pictures.disabled = !book.thumb(0);
    this.grid.build(book, this.drawn());
    this.habits.textContent = routinesSaid(book);
    this.colour();
    this.mark();
  }

  drawn() {
    return this.pictures.checked && !this.pictures.disabled;
  }

  /** In the frame after this one: the lines of a word come first. */
  colourSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.colour();
    });
  }

  /** Colours and numbers of every head, by the chosen reading. */
  colour() {
    const [book, state] = [this.app.book(), this.app.store.get()];
    check(this.reading, readingShown(book, state), readingsLacking(book, state));
    if (this.drawn()) this.paint();
    else this.fill();
  }

  fill() {
    const book = this.app.book();
    const state = this.app.store.get();
    const { names } = book.level(state.level).keys;
    const found = readings(book, state);
    const held = new Set(this.held());
    this.title.textContent = `${found.title}.`;
    this.grid.cells.forEach((cell, head) => {
      const { value, to, bound } = found.of(head);
      const known = !Number.isNaN(value);
      const text = known ? found.scale.text(value, bound) : "";
      cell.classList.toggle("unknown", !known);
      cell.style.setProperty("background-color", known ? found.scale.colour(value) : "");
      cell.style.setProperty("color", known ? found.scale.ink(value) : "");
      cell.textContent = Math.abs(value) >= LEAST_SHOWN * found.scale.top ? text : "";
      const whom = to === null ? "" : ` to ${inQuotes(names[to])}`;
      this.describe(cell, head, known ? text + whom : "not in this file", held);
    });
    this.key.replaceChildren(legend(found.scale, found.name, this.marks(held)));
  }

  /** A picture of each head's weights, rows read, columns are read. */
  paint() {
    const book = this.app.book();
    const scale = new Scale({ log: this.app.store.get().log });
    const held = new Set(this.held());
    this.title.textContent =
      "Each head's weights in small: rows read, columns are read. In a long text a cell is many words.";
    this.grid.cells.forEach((cell, head) => {
      const canvas = cell.querySelector("canvas");
      if (canvas) drawThumb(canvas, book, head, scale);
      this.describe(cell, head, "", held);
    });
    this.key.replaceChildren(legend(scale, "weight", this.marks(held)));
  }

  /** Heads of which the file holds rows. */
  held() {
    const level = this.app.book().level(this.app.store.get().level);
    const holds = (/** @type {number} */ head) =>
      (level.fullHead?.[head] ?? -1) >= 0 || (level.linkHead?.[head] ?? -1) >= 0;
    return this.app.book().heads.flatMap((_, head) => (holds(head) ? [head] : []));
  }

  marks(/** @type {Set<number>} */ held) {
    const { heads } = this.app.book();
    /** @type {LegendMark[]} */
    const marks = [];
    if (this.grid.cells.some((cell) => cell.classList.contains("unknown"))) {
      marks.push(["unknown", "not in this file"]);
    }
    if (held.size < heads.length) marks.push(["absent", NO_ROWS]);
    if (heads.some((head) => head.does)) marks.push(["positional", "reads by position"]);
    return marks;
  }

  /** What a head is, for the pointer and for a screen reader: its number, and what it does. */
  describe(
    /** @type {HTMLElement} */ cell,
    /** @type {number} */ head,
    /** @type {string} */ number,
    /** @type {Set<number>} */ held,
  ) {
    const book = this.app.book();
    const { label } = book.heads[head];
    const parts = [number ? `${label}: ${number}` : label, characterOf(book, [head])];
    if (!held.has(head)) parts.push(NO_ROWS);
    const name = parts.filter(Boolean).join(". ");
    cell.classList.toggle("absent", !held.has(head));
    cell.title = name;
    cell.setAttribute("aria-label", name);
  }

  /** Which heads are chosen, and that several are a mean. */
  mark() {
    const book = this.app.book();
    const { heads } = this.app.store.get();
    this.grid.press(heads);
    const names = heads.slice(0, MOST_NAMED).map((head) => book.heads[head].label);
    const held = new Set(this.held());
    const lacking = heads.filter((head) => !held.has(head)).length;
    if (heads.length === 1) {
      const said = characterOf(book, heads) || `${names[0]} is shown.`;
      this.chosen.replaceChildren(said, lacking ? ` But ${NO_ROWS}.` : "");
      return;
    }
    if (heads.length > MOST_NAMED) names.push(`${heads.length - MOST_NAMED} more`);
    const alone = () => this.choose([heads[0]]);
    this.chosen.replaceChildren(
      el("strong", {}, `Mean of ${many(heads.length, "head")}`),
      `: ${names.join(", ")}. ${characterOf(book, heads)} `,
      lacking ? `The rows of ${lacking} of them are not in this file. ` : "",
      el("button", { type: "button", onclick: alone }, `back to ${names[0]} alone`),
    );
  }

  choose(/** @type {number[]} */ heads) {
    if (!heads.length) return;
    this.app.store.set({ heads });
    const [first] = heads;
    const { label } = this.app.book().heads[first];
    this.app.say(heads.length === 1 ? label : `Mean of ${many(heads.length, "head")}`);
  }

  click(/** @type {HTMLButtonElement} */ button, /** @type {MouseEvent} */ event) {
    const { layer, head } = button.dataset;
    if (layer !== undefined) {
      this.choose(this.held().filter((one) => this.app.book().heads[one].layer === Number(layer)));
      return;
    }
    const one = Number(head);
    const { heads } = this.app.store.get();
    const more = this.several.checked || event.shiftKey || event.ctrlKey || event.metaKey;
    const rest = heads.filter((other) => other !== one);
    if (!more) this.choose([one]);
    else this.choose(rest.length === heads.length ? [...heads, one] : rest);
  }
}

/** The positional heads by name. */
function routinesSaid(/** @type {Book} */ book) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const { label, does } of book.heads) {
    if (!does) continue;
    const name = `${does.always ? "always" : "mostly"} ${does.reads}`;
    found.set(name, [...(found.get(name) ?? []), label]);
  }
  const said = [...found].map(([name, labels]) => `${labels.join(", ")} ${name}`);
  return said.length ? `By position: ${said.join("; ")}.` : "";
}
