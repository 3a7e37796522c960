// @ts-check
/** Finding words, and going from one place to the next. */

import { el } from "../drawing/dom.js";
import { ownSide } from "./partners.js";
import { pointAt } from "./pointing.js";
import { differs } from "../data/state.js";

/**
 * @typedef {import("../data/types.js").App} App
 * @typedef {import("../data/types.js").Side} Side
 * @typedef {import("./partners.js").SideName} SideName
 */

/** Whether white space stands before a unit in its text. */
export function hasGapBefore(/** @type {Side} */ side, /** @type {number} */ unit) {
  if (unit === 0) return false;
  const [start, before] = [side.starts.data[unit], side.stops.data[unit - 1]];
  // special tokens and labels have no place in a text: they stand apart
  return isPlaced(side, unit) && isPlaced(side, unit - 1) ? start > before : true;
}

/** The units that the search finds, in the columns where it looks. */
export function matchesOf(/** @type {App} */ app) {
  const state = app.store.get();
  const level = app.book().level(state.level);
  return {
    readers: unitsFound(level.readers, state.search),
    keys: unitsFound(level.keys, state.search),
  };
}

/** A field, a count, and two buttons. */
export function mountSearch(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  const { store } = app;
  const field = el("input", {
    type: "search",
    name: "search",
    placeholder: "Find a word",
    "aria-label": "Find a word",
    autocomplete: "off",
    spellcheck: "false",
  });
  const count = el("span", { class: "quiet number", role: "status", "data-count": "" });
  const back = el("button", { type: "button", "aria-label": "Previous match" }, "‹");
  const on = el("button", { type: "button", "aria-label": "Next match" }, "›");
  root.append(el("span", { class: "search", role: "search" }, field, back, on, count));
  let at = -1;

  const step = (/** @type {number} */ by) => {
    const found = placesFound(app);
    if (!found.length) return;
    at = at < 0 && by < 0 ? found.length - 1 : (at + by + found.length) % found.length;
    show();
    const { side, unit } = found[at];
    pointAt(app, side, unit);
    app.scroll.unit?.(side, unit);
  };
  const show = () => {
    const { search } = store.get();
    const total = placesFound(app).length;
    const all = total === 0 ? "not found" : total === 1 ? "1 match" : `${total} matches`;
    count.textContent = search.trim() === "" ? "" : at < 0 ? all : `${at + 1} of ${total}`;
    back.disabled = on.disabled = total === 0;
  };
  field.addEventListener("input", () => {
    at = -1;
    store.set({ search: field.value });
    show();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  });
  back.addEventListener("click", () => step(-1));
  on.addEventListener("click", () => step(1));
  store.subscribe((state, before) => {
    if (!differs(state, before, "book", "level", "direction", "search")) return;
    if (state.search !== field.value) field.value = state.search;
    if (differs(state, before, "book", "level", "direction")) at = -1;
    show();
  });
  show();
}

/** Where a match begins, each once: in the shared text, or in the one that is pointed at. */
function placesFound(/** @type {App} */ app) {
  const state = app.store.get();
  const level = app.book().level(state.level);
  const side = level.same ? ownSide(state) : "readers";
  const found = /** @type {{side: SideName, unit: number}[]} */ ([]);
  for (const name of /** @type {SideName[]} */ (level.same ? [side] : ["readers", "keys"])) {
    let before = -2;
    for (const [unit, begins] of unitsFound(level[name], state.search)) {
      if (begins || unit !== before + 1) found.push({ side: name, unit });
      before = unit;
    }
  }
  return found;
}

/** @typedef {{query: string, found: Map<number, boolean>}} Search */

/** @type {WeakMap<Side, Search & {text: string, owner: Int32Array}>} */
const SEARCHED = new WeakMap();

/** The units that a query touches, in order, with whether a match begins there. */
function unitsFound(/** @type {Side} */ side, /** @type {string} */ query) {
  const wanted = folded(query).trim();
  let known = SEARCHED.get(side);
  if (known?.query === wanted) return known.found;
  /** @type {Map<number, boolean>} */
  const found = new Map();
  if (!known) SEARCHED.set(side, (known = { ...searchable(side), query: "", found }));
  const { text, owner } = known;
  for (let at = text.indexOf(wanted); wanted && at >= 0; at = text.indexOf(wanted, at + 1)) {
    for (let unit = owner[at]; unit <= owner[at + wanted.length - 1]; unit++) {
      found.set(unit, found.get(unit) || unit === owner[at]);
    }
  }
  known.query = wanted;
  known.found = found;
  return found;
}

/** The whole text in small letters, and which unit each of its characters belongs to. */
function searchable(/** @type {Side} */ side) {
  const texts = side.texts.map(
    (text, unit) => (hasGapBefore(side, unit) ? " " : "") + folded(text),
  );
  const owner = new Int32Array(texts.reduce((sum, text) => sum + text.length, 0));
  let at = 0;
  texts.forEach((text, unit) => owner.fill(unit, at, (at += text.length)));
  return { text: texts.join(""), owner };
}

function folded(/** @type {string} */ text) {
  return text.normalize("NFC").toLowerCase();
}

function isPlaced(/** @type {Side} */ side, /** @type {number} */ unit) {
  return side.stops.data[unit] > side.starts.data[unit];
}
