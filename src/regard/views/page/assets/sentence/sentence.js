// @ts-check
/** Who reads whom: the words in two columns with lines between them, and as running text. */

import { Columns } from "./columns.js";
import { el } from "../drawing/dom.js";
import { partnersOf } from "./partners.js";
import { nextPartner } from "./pointing.js";
import { RUNNING_MOST, RunningText } from "./running.js";
import { mountSearch } from "./search.js";
import { differs, shown } from "../data/state.js";
import { headsNamed, inQuotes, listed, measureNamed } from "../drawing/wording.js";

/** @typedef {import("../data/types.js").App} App */
/** @typedef {import("../data/types.js").State} State */

export function mountSentence(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  const columns = new Columns(app);
  const tools = el("div", { class: "tools" });
  mountSearch(tools, app);
  const onward = el(
    "button",
    { type: "button", onclick: () => nextPartner(app) },
    "Strongest partner ›",
  );
  onward.title = "To the next strongest partner (p)";
  tools.append(onward);
  const caption = el("p", { class: "quiet", "data-caption": "" });
  const texts = el("div", { class: "texts" });
  /** @type {RunningText[]} */
  let running = [];
  const ways = el("div", { class: "two-ways" }, columns.root, texts);
  root.append(tools, caption, ways);

  const rebuild = () => {
    running = runningTexts(app);
    texts.replaceChildren(...running.map((one) => one.root));
    ways.classList.toggle("with-text", running.length > 0);
    for (const one of running) one.rebuild();
    columns.rebuild();
  };
  const paint = (/** @type {State} */ state) => {
    const [meaning, hint] = captionOf(app, state);
    caption.replaceChildren(meaning, el("span", { class: "hint" }, ` ${hint}`));
    onward.disabled = shown(state).length === 0;
  };
  app.scroll.unit = (side, unit) => {
    columns.show(side, unit);
    for (const one of running) one.show(side, unit);
  };
  app.store.subscribe((state, before) => {
    if (differs(state, before, "book", "level")) {
      rebuild();
    } else if (differs(state, before, ...SENTENCE_PARTS)) {
      columns.paint();
      for (const one of running) one.paint();
    }
    paint(state);
  });
  rebuild();
  paint(app.store.get());
  const [first] = shown(app.store.get());
  if (first !== undefined) requestAnimationFrame(() => app.scroll.unit?.("readers", first));
}

/** The parts of the state that change what is drawn. */
const SENTENCE_PARTS = /** @type {(keyof State)[]} */ ([
  "heads",
  "direction",
  "pointed",
  "locked",
  "target",
  "measure",
  "without",
  "search",
]);

/** The running texts of this book: none of a long one, nor where the generation shows it. */
function runningTexts(/** @type {App} */ app) {
  const book = app.book();
  const level = book.level(app.store.get().level);
  const length = Math.max(level.readers.names.length, level.keys.names.length);
  if (length > RUNNING_MOST || book.data.written) return [];
  if (level.same) return [new RunningText(app, "both")];
  return [new RunningText(app, "readers"), new RunningText(app, "keys")];
}

/**
 * What the lines are, and what to do.
 * @returns {[meaning: string, hint: string]}
 */
function captionOf(/** @type {App} */ app, /** @type {State} */ state) {
  const dashed = state.measure === "weight" ? "" : ", dashed where negative";
  const what = `${measureNamed(state.measure)} in ${headsNamed(app.book(), state.heads)}${dashed}`;
  const missing = shown(state).filter((unit) => partnersOf(app, unit, state) === null);
  if (missing.length) {
    const { names } = app.book().level(state.level).readers;
    const who = listed(missing.map((unit) => inQuotes(names[unit])));
    return [
      `This file does not hold what ${who} reads in ${headsNamed(app.book(), state.heads)}.`,
      "",
    ];
  }
  const held = state.locked.length > 0;
  const reads = state.direction === "reads";
  const lines = reads ? "Lines lead to what a word reads" : "Lines come from who reads a word";
  const hint = held
    ? "Click again or press Escape to let go; shift-click adds a word."
    : "Point at a word on the left to see what it reads, on the right to see who reads it; " +
      "a click holds it.";
  return [`${lines}; their thickness is ${what}.`, hint];
}
