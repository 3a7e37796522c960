// @ts-check
/** Layers × heads as a grid: coloured by a reading, or small pictures; a click chooses heads. */

import { legend, onScheme, Scale } from "./colours.js";
import { el } from "./dom.js";
import { many } from "./numbers.js";
import { READINGS, readings, resting } from "./readings.js";
import { differs } from "./state.js";
import { check, radios } from "./switches.js";
import { characterOf, inQuotes } from "./wording.js";

/** @typedef {import("./types.js").App} App */
/** @typedef {import("./book.js").Book} Book */
/** @typedef {import("./types.js").State} State */

/** Columns of a grid whose cells have room for a number. */
const ROOMY = 12;
/** Heads named one by one. */
const NAMED_HEADS = 6;

export function mountHeads(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  const view = new HeadsView(root, app);
  app.store.subscribe((state, before) => view.follow(state, before));
  onScheme(() => view.colour());
}

class HeadsView {
  constructor(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
    this.app = app;
    /** @type {HTMLButtonElement[]} by head */
    this.cells = [];
    this.title = el("p", { class: "quiet" });
    this.grid = el("div", { class: "heads-grid", role: "group", "aria-label": "heads" });
    this.key = el("div");
    this.reading = radios("reading", "Colours:", READINGS, (reading) => app.store.set({ reading }));
    this.several = el("input", { type: "checkbox", name: "several" });
    this.pictures = el("input", { type: "checkbox", name: "pictures", onchange: () => this.build() });
    this.chosen = el("p", { "data-chosen-heads": "" });
    this.habits = el("p", { class: "quiet" });
    this.grid.addEventListener("click", (event) => this.click(event));
    this.grid.addEventListener("keydown", (event) => this.move(event));
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
      el("div", { class: "heads-room" }, this.grid),
      this.key,
      this.chosen,
      this.habits,
    );
    this.build();
  }

  follow(/** @type {State} */ state, /** @type {State} */ before) {
    if (differs(state, before, "book", "level")) this.build();
    else if (differs(state, before, ...COLOURING)) this.colour();
    else if (differs(state, before, "heads")) this.mark();
  }

  /** The grid anew: another book, or pictures instead of colours. */
  build() {
    const book = this.app.book();
    const rest = this.reading.querySelector('label:has([value="apart"]) span');
    if (rest) rest.textContent = `on ${resting(book)}`;
    const columns = Math.max(...book.heads.map((head) => head.number + 1));
    this.pictures.disabled = !book.thumb(0);
    this.grid.style.setProperty("--columns", String(columns));
    this.grid.classList.toggle("roomy", columns <= ROOMY);
    this.grid.classList.toggle("pictures", this.drawn());
    this.cells = book.heads.map((_, head) => this.cell(head));
    const rows = book.layers.map((_, layer) => this.row(layer));
    this.grid.replaceChildren(columnNames(columns), ...rows);
    this.habits.replaceChildren(...routines(book));
    this.colour();
    this.mark();
  }

  drawn() {
    return this.pictures.checked && !this.pictures.disabled;
  }

  row(/** @type {number} */ layer) {
    const { layers, heads } = this.app.book();
    const name = `L${layers[layer].number}`;
    const all = el(
      "button",
      {
        type: "button",
        "data-layer": layer,
        tabindex: -1,
        title: `All heads of ${name} (${layers[layer].name}), as their mean`,
        "aria-label": `all heads of ${name}`,
      },
      name,
    );
    const row = el("div", { class: "heads-row" }, all);
    heads.forEach((head, at) => {
      if (head.layer !== layer) return;
      this.cells[at].style.setProperty("grid-column", String(head.number + 2));
      row.append(this.cells[at]);
    });
    return row;
  }

  cell(/** @type {number} */ head) {
    const held = this.app.book().heads[head];
    const positional = held.does !== null;
    const button = el("button", {
      type: "button",
      "data-head": head,
      tabindex: -1,
      class: positional ? "head positional-head" : "head",
    });
    if (this.drawn()) button.append(el("canvas"));
    return button;
  }

  /** Colours and numbers of every head, by the chosen reading. */
  colour() {
    const book = this.app.book();
    const state = this.app.store.get();
    const level = book.level(state.level);
    if (this.drawn()) {
      this.paint();
      return;
    }
    check(this.reading, state.reading);
    const found = readings(book, state);
    this.title.textContent = `${found.title}.`;
    this.cells.forEach((cell, head) => {
      const { value, to, bound } = found.of(head);
      const known = !Number.isNaN(value);
      const text = known ? found.scale.text(value, bound) : "";
      cell.classList.toggle("unknown", !known);
      cell.style.setProperty("background-color", known ? found.scale.colour(value) : "");
      cell.style.setProperty("color", known ? found.scale.ink(value) : "");
      cell.textContent = Math.abs(value) >= 0.005 * found.scale.top ? text : "";
      const whom = to === null ? "" : ` to ${inQuotes(level.keys.names[to])}`;
      describe(cell, `${book.heads[head].label}: ${known ? text + whom : this.lacking(head)}`, book, head);
    });
    this.key.replaceChildren(legend(found.scale, found.name, this.marks()));
  }

  /** A picture of each head's weights, rows read, columns are read. */
  paint() {
    const book = this.app.book();
    const scale = new Scale({ log: this.app.store.get().log });
    this.title.textContent =
      "Each head's weights in small: rows read, columns are read. In a long text a cell is many words.";
    this.cells.forEach((cell, head) => {
      const canvas = cell.querySelector("canvas");
      if (canvas) drawThumb(canvas, book, [head], scale);
      describe(cell, book.heads[head].label, book, head);
    });
    this.key.replaceChildren(legend(scale, "weight", this.marks()));
  }

  /** Why a head has no number. */
  lacking(/** @type {number} */ head) {
    if (!this.held().includes(head)) return "its rows are not in this file";
    return "not known, or no word is chosen";
  }

  /** Heads of which the file holds rows. */
  held() {
    const { level } = this.app.store.get();
    const view = this.app.book().level(level);
    const held = (/** @type {number} */ head) =>
      (view.fullHead?.[head] ?? -1) >= 0 || (view.linkHead?.[head] ?? -1) >= 0;
    return this.app.book().heads.flatMap((_, head) => (held(head) ? [head] : []));
  }

  /** @returns {[mark: "unknown" | "positional", text: string][]} */
  marks() {
    const book = this.app.book();
    /** @type {[mark: "unknown" | "positional", text: string][]} */
    const marks = [];
    if (this.held().length < book.heads.length) marks.push(["unknown", "its rows are not in this file"]);
    else if (this.cells.some((cell) => cell.classList.contains("unknown"))) marks.push(["unknown", "not known"]);
    if (book.heads.some((head) => head.does)) marks.push(["positional", "reads by position"]);
    return marks;
  }

  /** Which heads are chosen, and that several are a mean. */
  mark() {
    const book = this.app.book();
    const { heads } = this.app.store.get();
    const chosen = new Set(heads);
    this.cells.forEach((cell, head) => cell.setAttribute("aria-pressed", String(chosen.has(head))));
    this.reach(this.grid.querySelector(":focus") ?? this.cells[heads[0]]);
    const names = heads.slice(0, NAMED_HEADS).map((head) => book.heads[head].label);
    if (heads.length > NAMED_HEADS) names.push(`${heads.length - NAMED_HEADS} more`);
    if (heads.length === 1) {
      this.chosen.replaceChildren(el("strong", {}, names[0]), ` ${characterOf(book, heads)}`);
      return;
    }
    const back = el(
      "button",
      { type: "button", onclick: () => this.choose([heads[0]]) },
      `back to ${names[0]} alone`,
    );
    this.chosen.replaceChildren(
      el("strong", {}, `Mean of ${many(heads.length, "head")}`),
      `: ${names.join(", ")}. ${characterOf(book, heads)} `,
      back,
    );
  }

  choose(/** @type {number[]} */ heads) {
    if (!heads.length) return;
    this.app.store.set({ heads });
    const labels = this.app.book().heads;
    this.app.say(heads.length === 1 ? labels[heads[0]].label : `Mean of ${many(heads.length, "head")}`);
  }

  click(/** @type {MouseEvent} */ event) {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (!button) return;
    this.reach(button);
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

  /** The one button of the grid that Tab reaches. */
  reach(/** @type {Element | undefined} */ button) {
    this.grid.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    button?.setAttribute("tabindex", "0");
  }

  /** Arrow keys, Home and End go from button to button. */
  move(/** @type {KeyboardEvent} */ event) {
    const step = STEPS_OF_KEYS[event.key];
    const from = event.target instanceof Element ? event.target.closest("button") : null;
    if (!step || !from || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const rows = [...this.grid.querySelectorAll(".heads-row")].map((row) => [
      ...row.querySelectorAll("button"),
    ]);
    const row = rows.findIndex((buttons) => buttons.includes(from));
    const next = rows[Math.min(Math.max(row + step[0], 0), rows.length - 1)];
    const column = Math.min(Math.max(rows[row].indexOf(from) + step[1], 0), next.length - 1);
    this.reach(next[column]);
    next[column].focus();
  }
}

/** What colours the grid. */
const COLOURING = /** @type {(keyof State)[]} */ ([
  "direction", "pointed", "locked", "target", "reading", "without", "log",
]);

const STEPS_OF_KEYS = /** @type {Record<string, [number, number]>} */ ({
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-5, 0],
  PageDown: [5, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
});

/** The mean of some heads' pictures, a pixel a cell. */
export function drawThumb(
  /** @type {HTMLCanvasElement} */ canvas,
  /** @type {Book} */ book,
  /** @type {number[]} */ heads,
  /** @type {Scale} */ scale,
) {
  const thumbs = heads.flatMap((head) => book.thumb(head) ?? []);
  if (!thumbs.length) return;
  const { grid } = thumbs[0];
  canvas.width = canvas.height = grid;
  const context = canvas.getContext("2d");
  if (!context) return;
  const image = context.createImageData(grid, grid);
  const pixels = new Uint32Array(image.data.buffer);
  for (let cell = 0; cell < pixels.length; cell++) {
    let sum = 0;
    for (const { cells, top } of thumbs) sum += (cells[cell] / 255) * top;
    pixels[cell] = scale.packed(sum / thumbs.length);
  }
  context.putImageData(image, 0, 0);
}

function columnNames(/** @type {number} */ columns) {
  const names = Array.from({ length: columns }, (_, column) => {
    const name = el("span", { class: column % 4 ? "between" : "" }, `H${column}`);
    name.style.setProperty("grid-column", String(column + 2));
    return name;
  });
  return el("div", { class: "heads-row heads-names", "aria-hidden": "true" }, ...names);
}

/** The positional heads by name. */
function routines(/** @type {Book} */ book) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const { label, does } of book.heads) {
    if (!does) continue;
    const name = `${does.always ? "always" : "mostly"} ${does.reads}`;
    found.set(name, [...(found.get(name) ?? []), label]);
  }
  if (!found.size) return [];
  const said = [...found].map(([name, labels]) => `${labels.join(", ")} ${name}`);
  return [`By position: ${said.join("; ")}.`];
}

function describe(
  /** @type {HTMLElement} */ cell,
  /** @type {string} */ text,
  /** @type {Book} */ book,
  /** @type {number} */ head,
) {
  const says = characterOf(book, [head]);
  const whole = says ? `${text}. ${says}` : text;
  cell.title = whole;
  cell.setAttribute("aria-label", whole);
}
