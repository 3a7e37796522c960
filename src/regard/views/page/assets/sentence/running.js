// @ts-check
/** The text as running text: every word a button, the partners of the chosen one shaded. */

import { el, word } from "../drawing/dom.js";
import { fraction } from "../data/numbers.js";
import { LEAST_VALUE, isWithinSight, otherSide, ownSide, partnersOf } from "./partners.js";
import { hold, pointable, unitAt } from "./pointing.js";
import { hasGapBefore, matchesOf } from "./search.js";
import { shown } from "../data/state.js";

/**
 * @typedef {import("../data/types.js").App} App
 * @typedef {import("../data/types.js").State} State
 * @typedef {import("./partners.js").Partners} Partners
 * @typedef {import("./partners.js").SideName} SideName
 */

/** Units of a text that is still shown as running text. */
export const RUNNING_MOST = 2000;
/** Partners whose number stands above them. */
const MOST_NUMBERED = 8;
/** Characters that a number takes. */
const NUMBER_WIDTH = 4;
/** Values that are numbered. */
const NUMBER_FROM = 0.03;

/** One text as a paragraph. Where readers and keys differ there are two. */
export class RunningText {
  constructor(/** @type {App} */ app, /** @type {SideName | "both"} */ shows) {
    this.app = app;
    this.shows = shows;
    /** @type {HTMLElement[]} */
    this.buttons = [];
    /** @type {string[]} */
    this.looks = [];
    this.stop = 0;
    this.root = el("div", { class: "running", role: "group" });
    pointable(
      this.root,
      app,
      "data-word",
      () => this.side(),
      (unit) => this.setStop(unit),
    );
    this.root.addEventListener("keydown", (event) => this.key(event));
  }

  /** The side that a word here stands on when it is pointed at. */
  side() {
    return this.shows === "both" ? ownSide(this.app.store.get()) : this.shows;
  }

  /** Another text, or other units. */
  rebuild() {
    const state = this.app.store.get();
    const book = this.app.book();
    const level = book.level(state.level);
    const of = level[this.shows === "keys" ? "keys" : "readers"];
    const written = book.data.written;
    const first = written && (level === book.words ? written.unit : written.piece);
    this.root.setAttribute("aria-label", RUNNING_LABELS[this.shows]);
    this.buttons = of.texts.map((text, unit) => {
      const button = el(
        "button",
        { type: "button", "data-word": unit, tabindex: -1, title: of.names[unit].slice(0, 200) },
        word(text, 40),
      );
      if (of.special.data[unit]) button.classList.add("special");
      if (first !== null && unit >= first) button.classList.add("written");
      return button;
    });
    this.looks = this.buttons.map(() => "");
    this.stop = Math.min(shown(state)[0] ?? 0, this.buttons.length - 1);
    this.buttons[this.stop]?.setAttribute("tabindex", "0");
    /** @type {(string | HTMLElement)[]} */
    const parts = [];
    this.buttons.forEach((button, unit) => {
      const before = parts[parts.length - 1];
      if (clings(of, unit) && before instanceof HTMLElement) {
        parts[parts.length - 1] = el("span", { class: "unbroken" }, before, button);
      } else {
        parts.push(hasGapBefore(of, unit) ? " " : "", button);
      }
    });
    const title = this.shows === "both" ? null : TITLES[this.shows];
    this.root.replaceChildren(
      ...(title ? [el("div", { class: "quiet" }, title)] : []),
      el("p", { dir: "auto" }, parts),
    );
    this.paint();
  }

  /** Shades what is to be shaded, and touches no word whose look stays. */
  paint() {
    const state = this.app.store.get();
    const level = this.app.book().level(state.level);
    const units = shown(state);
    const all = units.map((unit) => partnersOf(this.app, unit, state));
    const here = this.shows === "both" ? null : this.shows;
    const partners = here === null || here === otherSide(state);
    const own = here === null || here === ownSide(state);
    const found = matchesOf(this.app)[here ?? "readers"];
    const bound = all.some((of) => of?.bound);
    const numbered = partners ? this.numbered(all) : new Set();
    this.buttons.forEach((button, unit) => {
      const place = own ? units.indexOf(unit) : -1;
      const value = partners ? strongestOf(all, unit) : NaN;
      const look = [
        place,
        own && state.locked.includes(unit) ? "held" : "",
        Math.abs(value) >= LEAST_VALUE ? value.toFixed(3) : "",
        numbered.has(unit) ? fraction(value, bound) : "",
        partners && all.length > 0 && !isWithinSight(level, state, units, unit) ? "unseen" : "",
        partners && state.target === unit ? "target" : "",
        found.has(unit) ? "found" : "",
      ].join();
      if (look !== this.looks[unit]) this.dress(button, look);
      this.looks[unit] = look;
    });
    if (own && units.length) this.setStop(units[0]);
  }

  /** The units with a number above: the strongest, but none that would cover another's. */
  numbered(/** @type {(Partners | null)[]} */ all) {
    const level = this.app.book().level(this.app.store.get().level);
    const { starts, stops } = level[this.shows === "keys" ? "keys" : "readers"];
    const middle = (/** @type {number} */ unit) => (starts.data[unit] + stops.data[unit]) / 2;
    /** @type {Set<number>} */
    const chosen = new Set();
    const strongest = all.flatMap((of) => of?.strongest.slice(0, MOST_NUMBERED) ?? []);
    strongest.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    for (const { unit, value } of strongest) {
      if (Math.abs(value) < NUMBER_FROM) break;
      const placed = stops.data[unit] > 0;
      const covers =
        placed && [...chosen].some((one) => Math.abs(middle(one) - middle(unit)) < NUMBER_WIDTH);
      if (!covers) chosen.add(unit);
    }
    return chosen;
  }

  dress(/** @type {HTMLElement} */ button, /** @type {string} */ look) {
    const [place, held, value, number, unseen, target, found] = look.split(",");
    const classes = {
      shown: Number(place) >= 0,
      held,
      unseen,
      target,
      found,
      negative: Number(value) < 0,
    };
    for (const [name, on] of Object.entries(classes)) button.classList.toggle(name, Boolean(on));
    button.setAttribute("aria-pressed", String(held !== ""));
    // roots, since a quarter of the ink is still seen where a quarter of a quarter is not
    const ink = value ? Math.round(45 * Math.sqrt(Math.min(Math.abs(Number(value)), 1))) : 0;
    button.style.setProperty("--ink-part", `${ink}%`);
    button.style.setProperty(
      "--line",
      Number(place) >= 0 ? `var(--line-${Number(place) + 1})` : "",
    );
    if (number) button.setAttribute("data-above", number);
    else button.removeAttribute("data-above");
  }

  /** Scrolls this text, and nothing else, so that a unit is in sight. */
  show(/** @type {SideName} */ side, /** @type {number} */ unit) {
    const button = this.buttons[unit];
    if (!button || (this.shows !== "both" && this.shows !== side)) return;
    const [box, frame] = [button.getBoundingClientRect(), this.root.getBoundingClientRect()];
    if (box.top >= frame.top && box.bottom <= frame.bottom) return;
    this.root.scrollTop += box.top - frame.top - (frame.height - box.height) / 2;
  }

  setStop(/** @type {number} */ unit) {
    if (unit >= this.buttons.length) return;
    this.buttons[this.stop]?.setAttribute("tabindex", "-1");
    this.stop = unit;
    this.buttons[unit].setAttribute("tabindex", "0");
  }

  focus(/** @type {number} */ unit) {
    this.buttons[unit]?.focus();
  }

  key(/** @type {KeyboardEvent} */ event) {
    const unit = unitAt(event.target, "data-word");
    if (unit === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const forward = getComputedStyle(this.root.lastElementChild ?? this.root).direction !== "rtl";
    /** @type {Record<string, number>} */
    const moves = {
      ArrowRight: unit + (forward ? 1 : -1),
      ArrowLeft: unit + (forward ? -1 : 1),
      ArrowDown: unit + 1,
      ArrowUp: unit - 1,
      Home: 0,
      End: this.buttons.length - 1,
    };
    if (event.key in moves) this.focus(moves[event.key]);
    else if (event.key === "Enter" && event.shiftKey) hold(this.app, this.side(), unit, true);
    else return;
    event.preventDefault();
  }
}

const TITLES = { readers: "who reads", keys: "who is read" };
const RUNNING_LABELS = {
  both: "The text, word by word",
  readers: "The text that reads, word by word",
  keys: "The text that is read, word by word",
};

/** Whether a unit is a mark that stays on the line of the word before it. */
function clings(/** @type {import("../data/types.js").Side} */ side, /** @type {number} */ unit) {
  return !hasGapBefore(side, unit) && /^[\p{Pe}\p{Pf}\p{Po}]/u.test(side.texts[unit]);
}

/** The largest of what several words shown give a unit, whatever the sign; NaN for none. */
function strongestOf(/** @type {(Partners | null)[]} */ all, /** @type {number} */ unit) {
  let most = NaN;
  for (const of of all) {
    const value = of?.value[unit] ?? NaN;
    if (!(Math.abs(value) <= Math.abs(most))) most = Number.isNaN(value) ? most : value;
  }
  return most;
}
