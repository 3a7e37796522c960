// @ts-check
/** Pointing at a word, holding it, letting it go: the same in every view. */

import { clipped } from "../drawing/dom.js";
import { fraction } from "../data/numbers.js";
import { ownSide, partnersOf } from "./partners.js";
import { shown } from "../data/state.js";

/**
 * @typedef {import("../data/types.js").App} App
 * @typedef {import("../data/types.js").State} State
 * @typedef {import("./partners.js").SideName} SideName
 */

/** Words that can be held at once, each with lines of its own colour. */
const MOST_HELD = 4;

/** Shows a word's row, unless others are held. */
export function pointAt(
  /** @type {App} */ app,
  /** @type {SideName} */ side,
  /** @type {number} */ unit,
) {
  const state = app.store.get();
  if (state.locked.length || (state.pointed === unit && ownSide(state) === side)) return;
  app.store.set({ direction: directionOf(side), pointed: unit, target: null });
}

/** Holds a word: alone, or with the others. One that is held is let go. */
export function hold(
  /** @type {App} */ app,
  /** @type {SideName} */ side,
  /** @type {number} */ unit,
  /** @type {boolean} */ more,
) {
  const state = app.store.get();
  const held = ownSide(state) === side ? state.locked : [];
  let locked = [unit];
  if (held.includes(unit) && (more || held.length === 1)) {
    locked = held.filter((one) => one !== unit);
  } else if (more) {
    locked = [...held, unit].slice(-MOST_HELD);
  }
  app.store.set({ direction: directionOf(side), locked, pointed: unit, target: null });
}

/**
 * Lets the words inside an element be pointed at, held, and reached with the keyboard.
 * @param {HTMLElement} root
 * @param {App} app
 * @param {string} attribute that holds the unit of a word
 * @param {() => SideName} side on which these words stand
 * @param {(unit: number) => void} focused called first when a word gets the focus
 */
export function pointable(root, app, attribute, side, focused) {
  let rest = "";
  root.addEventListener("pointerover", (event) => {
    const unit = unitAt(event.target, attribute);
    const pointer = `${event.clientX},${event.clientY}`;
    // words that scroll past a pointer at rest are not pointed at
    if (pointer === rest || unit === null) return;
    rest = pointer;
    pointAt(app, side(), unit);
  });
  root.addEventListener("focusin", (event) => {
    const unit = unitAt(event.target, attribute);
    if (unit === null) return;
    focused(unit);
    pointAt(app, side(), unit);
  });
  root.addEventListener("click", (event) => {
    const unit = unitAt(event.target, attribute);
    if (unit !== null) hold(app, side(), unit, event.shiftKey);
  });
}

/** The unit of the word that an event is about, or null. */
export function unitAt(/** @type {EventTarget | null} */ target, /** @type {string} */ attribute) {
  const found = target instanceof Element ? target.closest(`[${attribute}]`) : null;
  return found ? Number(found.getAttribute(attribute)) : null;
}

/** Lets every word go. */
export function letGo(/** @type {App} */ app) {
  app.store.set({ locked: [], pointed: null, target: null });
}

/** Holds what is shown, so that scrolling or searching does not lose it. */
export function holdShown(/** @type {App} */ app) {
  const state = app.store.get();
  if (!state.locked.length) app.store.set({ locked: shown(state) });
}

/** Goes on to the next strongest partner of what is shown, and from the last to the first. */
export function nextPartner(/** @type {App} */ app) {
  const state = app.store.get();
  const [unit] = shown(state);
  const strongest = unit === undefined ? null : partnersOf(app, unit)?.strongest;
  if (!strongest?.length) return;
  const at = strongest.findIndex((partner) => partner.unit === state.target);
  const next = strongest[(at + 1) % strongest.length];
  holdShown(app);
  app.store.set({ target: next.unit });
  app.scroll.unit?.(ownSide(state) === "readers" ? "keys" : "readers", next.unit);
  const level = app.book().level(state.level);
  const names = (state.direction === "reads" ? level.keys : level.readers).names;
  app.say(`${clipped(names[next.unit], 40)}, ${fraction(next.value)}`);
}

/** Goes to the head before or after the (first) chosen one. */
export function stepHead(/** @type {App} */ app, /** @type {number} */ by) {
  const state = app.store.get();
  const { heads } = app.book();
  const next = (state.heads[0] + by + heads.length) % heads.length;
  app.store.set({ heads: [next] });
  app.say(heads[next].label);
}

function directionOf(/** @type {SideName} */ side) {
  return /** @type {State["direction"]} */ (side === "readers" ? "reads" : "readBy");
}
