// @ts-check
/** What a word of the columns looks like: shown, held, read, unseen, not in the file, found. */

import { el } from "../drawing/dom.js";
import { fraction } from "../data/numbers.js";
import { LEAST_VALUE, isHeld, isWithinSight, ownSide } from "./partners.js";
import { shown } from "../data/state.js";

/**
 * @typedef {import("../data/types.js").State} State
 * @typedef {import("../data/level.js").LevelView} LevelView
 * @typedef {import("./partners.js").Partners} Partners
 * @typedef {import("./partners.js").SideName} SideName
 */

/** From here on a word that is read stands out. */
const STANDS_OUT = 0.1;

/**
 * @param {HTMLElement} option ends in the element for its numbers
 * @param {SideName} side
 * @param {number} unit
 * @param {LevelView} level
 * @param {State} state
 * @param {(Partners | null)[]} all of the words shown
 * @param {boolean} found by the search
 */
export function dressWord(option, side, unit, level, state, all, found) {
  const own = side === ownSide(state);
  const units = shown(state);
  const held = own && state.locked.includes(unit);
  const place = own ? units.indexOf(unit) : -1;
  const classes = {
    special: level[side].special.data[unit] !== 0,
    shown: place >= 0,
    held,
    strong: !own && all.some((of) => Math.abs(of?.value[unit] ?? 0) >= STANDS_OUT),
    found,
    target: !own && state.target === unit,
    unseen: !own && units.length > 0 && !isWithinSight(level, state, units, unit),
    absent: side === "readers" && !isHeld(level, state, unit),
  };
  numbersInto(/** @type {HTMLElement} */ (option.lastChild), own ? [] : all, unit);
  // what stays as it is is not touched: most words do, and each touch costs
  const look = `${place} ${Object.values(classes).map(Number).join("")}`;
  if (option.dataset.look === look) return;
  option.dataset.look = look;
  for (const [name, on] of Object.entries(classes)) option.classList.toggle(name, on);
  option.setAttribute("aria-selected", String(held));
  option.style.setProperty("--line", place >= 0 ? `var(--line-${place + 1})` : "transparent");
}

/** The number of a word for each of those shown, in the colour of its lines. */
function numbersInto(
  /** @type {HTMLElement} */ at,
  /** @type {(Partners | null)[]} */ all,
  /** @type {number} */ unit,
) {
  // of several words at once only the large numbers, so that there is room for the word
  const least = all.length > 1 ? STANDS_OUT : LEAST_VALUE;
  const numbers = all.map((of) => {
    const value = of?.value[unit] ?? NaN;
    return Math.abs(value) >= least ? fraction(value, of?.bound) : "";
  });
  const text = numbers.join("|");
  if (at.dataset.text === text) return;
  at.dataset.text = text;
  at.replaceChildren(
    ...numbers.flatMap((number, place) =>
      number ? el("span", { class: inkOf(number, place) }, number) : [],
    ),
  );
}

function inkOf(/** @type {string} */ number, /** @type {number} */ place) {
  return number.startsWith("−") ? "minus" : `ink-${place + 1}`;
}
