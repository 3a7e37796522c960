// @ts-check
/** What lies out of view: named at the edges of the columns, and marked on a strip beside them. */

import { el, svg, word } from "../drawing/dom.js";
import { fraction, many } from "../data/numbers.js";
import { LEAST_VALUE, otherSide, ownSide } from "./partners.js";
import { holdShown } from "./pointing.js";

/**
 * @typedef {import("../data/types.js").App} App
 * @typedef {import("./partners.js").Partners} Partners
 * @typedef {import("./partners.js").SideName} SideName
 */

/**
 * @typedef {object} Away a unit that is out of view
 * @property {SideName} side
 * @property {number} unit
 * @property {number | null} value null: it is one of those shown itself
 * @property {boolean} bound
 * @property {number} place which of those shown it is, or is a partner of
 */

/** Partners that are named at one edge. */
const NAMED_AWAY = 3;
/** Parts that the strip is divided into. */
const STRIP_PARTS = 150;

/**
 * Names the strongest partners above and below what is seen, and the words shown themselves.
 * @param {App} app
 * @param {(Partners | null)[]} all
 * @param {{first: number, last: number}} seen
 * @param {HTMLElement} above
 * @param {HTMLElement} below
 * @param {(side: SideName, unit: number) => void} jump
 */
export function edgesOf(app, all, seen, above, below, jump) {
  const away = outOfView(app, all, seen);
  above.replaceChildren(
    ...away.above.map((one) => awayButton(app, one, seen.first - one.unit, "up", jump)),
  );
  below.replaceChildren(
    ...away.below.map((one) => awayButton(app, one, one.unit - seen.last, "down", jump)),
  );
}

/**
 * Marks on a strip, the whole text from top to bottom: the partners, what is shown, what is seen.
 * @param {HTMLElement} strip
 * @param {(Partners | null)[]} all
 * @param {{first: number, last: number}} seen
 * @param {number} length units of the text
 */
export function stripOf(strip, all, seen, length) {
  const parts = Math.min(STRIP_PARTS, length);
  const marks = new Float64Array(parts);
  const part = (/** @type {number} */ unit) => Math.floor((unit * parts) / length);
  for (const of of all) {
    for (const { unit, value } of of?.strongest ?? []) {
      const size = Math.abs(value);
      if (size >= LEAST_VALUE) marks[part(unit)] = Math.max(marks[part(unit)], size);
    }
  }
  const drawn = svg("svg", { viewBox: `0 0 10 ${parts}`, preserveAspectRatio: "none" });
  marks.forEach((size, at) => {
    if (!size) return;
    const mark = svg("rect", { class: "mark", x: 2, y: at, width: 8, height: 1 });
    mark.style.setProperty("opacity", Math.min(0.3 + size, 1).toFixed(2));
    drawn.append(mark);
  });
  for (const of of all) {
    if (!of) continue;
    drawn.append(svg("rect", { class: "own", x: 0, y: part(of.unit), width: 3, height: 1.5 }));
  }
  const high = Math.max(((seen.last - seen.first + 1) * parts) / length, 1);
  const top = (seen.first * parts) / length;
  drawn.append(svg("rect", { class: "view", x: 0, y: top, width: 10, height: high }));
  strip.replaceChildren(drawn);
}

/** The units to name above and below, strongest first. */
function outOfView(
  /** @type {App} */ app,
  /** @type {(Partners | null)[]} */ all,
  /** @type {{first: number, last: number}} */ seen,
) {
  const state = app.store.get();
  /** @type {Away[]} */
  const own = [];
  /** @type {Away[]} */
  const others = [];
  all.forEach((of, place) => {
    if (!of) return;
    const { unit, bound } = of;
    own.push({ side: ownSide(state), unit, value: null, bound, place });
    for (const { unit: other, value } of of.strongest) {
      if (Math.abs(value) < LEAST_VALUE) continue;
      others.push({ side: otherSide(state), unit: other, value, bound, place });
    }
  });
  others.sort((a, b) => Math.abs(b.value ?? 0) - Math.abs(a.value ?? 0));
  const isAbove = (/** @type {Away} */ one) => one.unit < seen.first;
  const isBelow = (/** @type {Away} */ one) => one.unit > seen.last;
  return {
    above: [...own.filter(isAbove), ...others.filter(isAbove).slice(0, NAMED_AWAY)],
    below: [...own.filter(isBelow), ...others.filter(isBelow).slice(0, NAMED_AWAY)],
  };
}

/** ↑ dog .60, 812 words up */
function awayButton(
  /** @type {App} */ app,
  /** @type {Away} */ away,
  /** @type {number} */ distance,
  /** @type {"up" | "down"} */ way,
  /** @type {(side: SideName, unit: number) => void} */ jump,
) {
  const state = app.store.get();
  const { side, unit, value, place } = away;
  const what = state.level === "pieces" && app.book().pieces ? "piece" : "word";
  const made = el(
    "button",
    { type: "button", class: `away ink-${place + 1}`, "data-away": side },
    way === "up" ? "↑ " : "↓ ",
    word(app.book().level(state.level)[side].texts[unit], 16),
    value === null ? "" : el("b", { class: "number" }, ` ${fraction(value, away.bound)}`),
    `, ${many(distance, what)} ${way}`,
  );
  made.addEventListener("click", () => {
    holdShown(app);
    if (value !== null) app.store.set({ target: unit });
    jump(side, unit);
  });
  return made;
}
