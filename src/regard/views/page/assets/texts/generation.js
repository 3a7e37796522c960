// @ts-check
/** Prompt and answer as one text, and what the model read when it wrote each word of the answer. */

import { el, word } from "../drawing/dom.js";
import { fraction, many } from "../data/numbers.js";
import { LEAST_VALUE, partnersOf } from "../sentence/partners.js";
import { RUNNING_MOST, RunningText } from "../sentence/running.js";
import { differs, shown } from "../data/state.js";
import { headsNamed, inQuotes, plainly } from "../drawing/wording.js";

/**
 * @typedef {import("../data/types.js").App} App
 * @typedef {import("../data/types.js").State} State
 */

/** New words around the chosen one that are listed with what was read. */
const WRITINGS = 8;
/** Words named for each of them. */
const NAMED_READ = 3;

const HOW =
  "What the model read to write a word is the row of the word before that: once that word was " +
  "read, the next was known. So each row stands for the word that it wrote. The arrow keys step.";

export function mountGeneration(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  if (!app.page.books.some((book) => book.written)) return false;
  const { store } = app;
  const text = new RunningText(app, "both");
  const sentence = el("p", { "data-written": "" });
  const list = el("ol", { class: "writings" });
  const step = (/** @type {number} */ by) => {
    const now = writtenUnit(app);
    writeWord(app, now === null ? firstNew(app) : now + by);
    if (text.root.contains(document.activeElement)) text.focus(shown(store.get())[0]);
  };
  const back = el("button", { type: "button", onclick: () => step(-1) }, "‹ word before");
  const on = el("button", { type: "button", onclick: () => step(1) }, "next word ›");
  root.append(
    el("p", { class: "quiet" }, HOW),
    el("div", { class: "written-text" }, text.root),
    el("div", { class: "tools" }, back, on),
    sentence,
    list,
  );
  // before the text, where the same keys go from word to word
  root.addEventListener("keydown", (event) => stepWithKey(event, app, step), true);

  const draw = () => {
    const unit = writtenUnit(app);
    // not disabled, which would take the keyboard away from whoever is stepping
    back.setAttribute("aria-disabled", String(unit !== null && unit <= firstNew(app)));
    on.setAttribute("aria-disabled", String(unit !== null && unit >= lastNew(app)));
    markWriting(text, unit);
    sentence.replaceChildren(...saidOf(app, unit));
    list.replaceChildren(...writingsAround(app, unit).map((one) => writingLine(app, one, unit)));
  };
  const rebuild = () => {
    root.hidden = app.book().data.written === null;
    text.root.hidden = lastNew(app) > RUNNING_MOST;
    if (!text.root.hidden) text.rebuild();
  };
  store.subscribe((state, before) => {
    if (differs(state, before, "book", "level")) rebuild();
    else if (!text.root.hidden) text.paint();
    draw();
  });
  rebuild();
  draw();
  return true;
}

function stepWithKey(
  /** @type {KeyboardEvent} */ event,
  /** @type {App} */ app,
  /** @type {(by: number) => void} */ step,
) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  const inText = event.target instanceof Element && event.target.closest("[data-word]");
  if (inText && writtenUnit(app) === null) return;
  event.preventDefault();
  event.stopPropagation();
  step(event.key === "ArrowRight" ? 1 : -1);
}

/** The first unit that the model wrote. */
function firstNew(/** @type {App} */ app) {
  const book = app.book();
  const written = book.data.written;
  if (!written) return Infinity;
  return book.level(app.store.get().level) === book.words ? written.unit : written.piece;
}

/** One past the text: what was written last was never read, so it is not there. */
function lastNew(/** @type {App} */ app) {
  return app.book().level(app.store.get().level).readers.names.length;
}

/** The new unit whose writing is shown: the one after the row that is shown. */
function writtenUnit(/** @type {App} */ app) {
  const state = app.store.get();
  const [unit] = shown(state);
  if (unit === undefined || state.direction !== "reads") return null;
  return unit + 1 >= firstNew(app) ? unit + 1 : null;
}

/** Shows what was read to write a unit. */
function writeWord(/** @type {App} */ app, /** @type {number} */ unit) {
  const row = Math.min(Math.max(unit, firstNew(app)), lastNew(app)) - 1;
  app.store.set({ direction: "reads", locked: [row], pointed: row, target: null });
  app.scroll.unit?.("readers", row);
}

/** Marks the word that is being written. */
function markWriting(/** @type {RunningText} */ text, /** @type {number | null} */ unit) {
  for (const old of text.root.querySelectorAll(".writing")) old.classList.remove("writing");
  if (unit !== null) text.buttons[unit]?.classList.add("writing");
}

/** 3 of 8. To write "Paris", the model stood at "is" and read ... */
function saidOf(/** @type {App} */ app, /** @type {number | null} */ unit) {
  const state = app.store.get();
  const book = app.book();
  const { names } = book.level(state.level).readers;
  const first = firstNew(app);
  const last = lastNew(app);
  const units = state.level === "pieces" && book.pieces ? "piece" : "word";
  if (unit === null) {
    return [
      `Step through the ${many(last - first, units)} it wrote, to see what each was written from.`,
    ];
  }
  const what =
    unit === last
      ? `After the last ${units} here it wrote one more piece, which was never read. For it`
      : `${unit - first + 1} of ${last - first}. To write ${inQuotes(names[unit])}`;
  const where = headsNamed(book, state.heads);
  const read = readNamed(app, unit - 1);
  const pieces = units === "word" ? book.piecesOf("readers", unit - 1).length : 1;
  return [
    `${what}, the model stood at ${inQuotes(names[unit - 1])} and, in ${where}, read `,
    ...(read.length ? read : ["what this file does not hold"]),
    pieces > 1
      ? `. These are means over its ${pieces} pieces; the last of them is the row that wrote.`
      : ".",
  ];
}

/** The new units around the chosen one. */
function writingsAround(/** @type {App} */ app, /** @type {number | null} */ unit) {
  const first = firstNew(app);
  const last = lastNew(app);
  if (!Number.isFinite(first)) return [];
  const start = Math.max(first, Math.min((unit ?? first) - WRITINGS / 2, last - WRITINGS));
  return Array.from({ length: Math.min(WRITINGS, last - start) }, (_, at) => start + at);
}

function writingLine(
  /** @type {App} */ app,
  /** @type {number} */ unit,
  /** @type {number | null} */ chosen,
) {
  const { texts } = app.book().level(app.store.get().level).readers;
  const read = readNamed(app, unit - 1);
  return el(
    "li",
    { value: unit - firstNew(app) + 1 },
    el(
      "button",
      {
        type: "button",
        class: "written",
        "data-writes": unit,
        "aria-pressed": String(unit === chosen),
        onclick: () => writeWord(app, unit),
      },
      word(texts[unit], 24),
    ),
    el("span", {}, " from ", ...(read.length ? read : ["what this file does not hold"])),
  );
}

/** The strongest of a row, as text: France .40, capital .22 */
function readNamed(/** @type {App} */ app, /** @type {number} */ reader) {
  const state = { ...app.store.get(), direction: /** @type {const} */ ("reads") };
  const { names } = app.book().level(state.level).keys;
  const found = partnersOf(app, reader, state);
  const strongest = (found?.strongest ?? []).filter(({ value }) => Math.abs(value) >= LEAST_VALUE);
  return strongest
    .slice(0, NAMED_READ)
    .flatMap(({ unit, value }, place) => [
      place ? ", " : "",
      plainly(names[unit]),
      el("span", { class: "number" }, ` ${fraction(value, found?.bound)}`),
    ]);
}
