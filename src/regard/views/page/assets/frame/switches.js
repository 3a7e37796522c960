// @ts-check
/** How it is shown: direction, units, measure, special tokens left out, colours. */

import { el } from "../drawing/dom.js";
import { fraction } from "../data/numbers.js";
import { partnersOf } from "../sentence/partners.js";
import { differs, shown } from "../data/state.js";
import { apartNames, listed } from "../drawing/wording.js";

/**
 * @typedef {import("../data/types.js").App} App
 * @typedef {import("../data/types.js").State} State
 * @typedef {import("../data/types.js").Measure} Measure
 * @typedef {import("../data/types.js").LevelName} LevelName
 * @typedef {import("../data/book.js").Book} Book
 */

/** @typedef {[value: string, label: string]} Choice */

const DIRECTIONS = /** @type {Choice[]} */ ([
  ["reads", "whom it reads"],
  ["readBy", "who reads it"],
]);
const LEVELS = /** @type {Choice[]} */ ([
  ["words", "words"],
  ["pieces", "pieces"],
]);
const MEASURES = /** @type {Choice[]} */ ([
  ["weight", "weight"],
  ["share", "part of result"],
  ["lift", "beyond habit"],
]);

export function mountSwitches(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  const { store } = app;
  const set = (/** @type {Partial<State>} */ patch) => store.set(patch);
  const direction = radios("direction", "A word:", DIRECTIONS, (value) =>
    changeDirection(app, /** @type {State["direction"]} */ (value)),
  );
  const level = radios("level", "Units:", LEVELS, (value) =>
    changeLevel(app, /** @type {LevelName} */ (value)),
  );
  const measure = radios("measure", "Thickness:", MEASURES, (value) =>
    set({ measure: /** @type {Measure} */ (value) }),
  );
  const without = checkSwitch("without", (on) => set({ without: on }));
  const log = checkSwitch("log", (on) => set({ log: on }));
  const note = el("p", { class: "quiet", role: "status", "data-note": "" });
  root.append(
    el("div", { class: "switches" }, direction, level, measure, without.root, log.root),
    note,
  );

  const follow = () => {
    const state = store.get();
    const book = app.book();
    const reasons = unavailable(book, state);
    if (reasons.get(state.measure)) set({ measure: "weight" });
    level.hidden = book.pieces === null;
    check(direction, state.direction);
    check(level, state.level);
    check(measure, state.measure, reasons);
    without.box.checked = state.without;
    without.text.textContent = withoutLabel(book, state);
    without.root.hidden = apartNames(book.level(state.level).keys).length === 0;
    log.box.checked = state.log;
    log.text.textContent = "logarithmic colours";
    note.textContent = notesOf(app, state, reasons).join(" ");
  };
  store.subscribe((state, before) => {
    if (differs(state, before, ...SWITCHED_PARTS)) follow();
  });
  follow();
}

const SWITCHED_PARTS = /** @type {(keyof State)[]} */ ([
  "book",
  "level",
  "heads",
  "direction",
  "pointed",
  "locked",
  "measure",
  "without",
  "log",
]);

/** Why a measure cannot be shown now, by its name. */
function unavailable(/** @type {Book} */ book, /** @type {State} */ state) {
  const { full, links } = book.level(state.level).data;
  /** @type {Map<string, string>} */
  const reasons = new Map();
  if (state.heads.length > 1) {
    reasons.set(
      "share",
      "Part of the result: of one head only, since a mean of heads has no result of its own.",
    );
  } else if (!full?.share && !links?.share) {
    reasons.set("share", "Part of the result: not in this file; it takes kept values.");
  }
  if (!book.data.habit) {
    reasons.set("lift", "Beyond habit: this model's habits are not known.");
  } else if (state.level === "pieces" && book.pieces) {
    reasons.set("lift", "Beyond habit: habits are of words, not of pieces.");
  }
  return reasons;
}

/** The same word from the other side; between two texts the word at the other end of the line. */
function changeDirection(/** @type {App} */ app, /** @type {State["direction"]} */ direction) {
  const { level, target } = app.store.get();
  const other = target === null ? [] : [target];
  const turned = app.book().level(level).same ? {} : { locked: other, pointed: target };
  app.store.set({ direction, target: null, ...turned });
}

/** Words become their first pieces, pieces their words. */
function changeLevel(/** @type {App} */ app, /** @type {LevelName} */ level) {
  const state = app.store.get();
  const book = app.book();
  const pieces = book.pieces;
  if (!pieces || level === state.level) return;
  const turned = (/** @type {number} */ unit, /** @type {"readers" | "keys"} */ side) =>
    level === "pieces"
      ? (book.piecesOf(side, unit)[0] ?? null)
      : (pieces[side].word?.data[unit] ?? null);
  const [own, other] = state.direction === "reads" ? OWN_FIRST : OTHER_FIRST;
  const locked = state.locked.map((unit) => turned(unit, own)).filter((unit) => unit !== null);
  app.store.set({
    level,
    locked: [...new Set(locked)],
    pointed: state.pointed === null ? null : turned(state.pointed, own),
    target: state.target === null ? null : turned(state.target, other),
  });
}

const OWN_FIRST = /** @type {const} */ (["readers", "keys"]);
const OTHER_FIRST = /** @type {const} */ (["keys", "readers"]);

/** What has to be said of what is shown now. */
function notesOf(
  /** @type {App} */ app,
  /** @type {State} */ state,
  /** @type {Map<string, string>} */ reasons,
) {
  const book = app.book();
  const said = [];
  if (state.heads.length > 1) said.push("Several heads are chosen: what is shown is their mean.");
  if (state.without) said.push(withoutSaid(app, state));
  said.push(...reasons.values());
  if (book.data.kind === "decoder")
    said.push("A decoder: each word sees itself and what stands before it, nothing after.");
  return said;
}

/** What leaving out special tokens does to the numbers. */
function withoutSaid(/** @type {App} */ app, /** @type {State} */ state) {
  const names = listed(apartNames(app.book().level(state.level).keys));
  if (state.measure === "share") return `Left out: ${names}. Parts are still of the whole result.`;
  if (state.measure === "lift")
    return `Left out: ${names}. Weights beyond habit are not divided by what is left.`;
  const [unit] = shown(state);
  const row =
    unit === undefined || state.direction === "readBy" ? null : partnersOf(app, unit)?.row;
  const left = row && row.apart !== null ? ` (${fraction(row.sum - row.apart)})` : "";
  const divided = `divided by what is left of their row${left}, so that they sum to 1`;
  return `Left out: ${names}. The other weights are ${divided}.`;
}

function withoutLabel(/** @type {Book} */ book, /** @type {State} */ state) {
  const { keys } = book.level(state.level);
  const names = listed(apartNames(keys), 2);
  if (book.data.kind === "decoder") return `without the first token (${names})`;
  return `without special tokens (${names})`;
}

/** A group of radio buttons. */
export function radios(
  /** @type {string} */ name,
  /** @type {string} */ title,
  /** @type {Choice[]} */ choices,
  /** @type {(value: string) => void} */ chosen,
) {
  const made = el(
    "fieldset",
    {},
    el("legend", {}, title),
    ...choices.map(([value, label]) =>
      el("label", {}, el("input", { type: "radio", name, value }), el("span", {}, label)),
    ),
  );
  made.addEventListener("change", (event) => {
    if (event.target instanceof HTMLInputElement) chosen(event.target.value);
  });
  return made;
}

/** Checks the button with that value, and disables those for which there is a reason. */
export function check(
  /** @type {HTMLFieldSetElement} */ group,
  /** @type {string} */ value,
  /** @type {Map<string, string>} */ reasons = new Map(),
) {
  for (const input of group.querySelectorAll("input")) {
    input.checked = input.value === value;
    input.disabled = reasons.has(input.value);
    input.title = reasons.get(input.value) ?? "";
  }
}

function checkSwitch(/** @type {string} */ name, /** @type {(on: boolean) => void} */ changed) {
  const box = el("input", { type: "checkbox", name });
  const text = el("span", {});
  box.addEventListener("change", () => changed(box.checked));
  return { box, text, root: el("label", { class: "check" }, box, text) };
}
