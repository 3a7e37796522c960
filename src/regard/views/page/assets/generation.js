// @ts-check
/** Prompt and answer as one text, and what the model read when it wrote each word of the answer. */

import { el, word } from "./dom.js";
import { fraction, many } from "./numbers.js";
import { LEAST_VALUE, partnersOf } from "./partners.js";
import { RUNNING_MOST, RunningText } from "./running.js";
import { differs, shown } from "./state.js";
import { headsNamed, inQuotes } from "./wording.js";

/**
 * @typedef {import("./types.js").App} App
 * @typedef {import("./types.js").State} State
 */

/** New words around the chosen one that are listed with what was read. */
const WRITINGS = 8;
/** Words named for each of them. */
const NAMED_READ = 3;

export function mountGeneration(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  if (!app.page.books.some((book) => book.written)) return false;
  const { store } = app;
  const text = new RunningText(app, "both");
  const sentence = el("p", { "data-written": "" });
  const list = el("ol", { class: "writings" });
  const step = (/** @type {number} */ by) => writeWord(app, (writtenUnit(app) ?? firstNew(app) - by) + by);
  const back = el("button", { type: "button", onclick: () => step(-1) }, "‹ word before");
  const on = el("button", { type: "button", onclick: () => step(1) }, "next word ›");
  const steps = el("div", { class: "tools", role: "group", "aria-label": "Step through what was written" }, back, on);
  steps.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    step(event.key === "ArrowRight" ? 1 : -1);
  });
  root.append(
    el(
      "p",
      { class: "quiet" },
      "What the model read to write a word is the row of the word before that: only when that one was read was the next one known. The arrow keys step on.",
    ),
    el("div", { class: "written-text" }, text.root),
    steps,
    sentence,
    list,
  );
  const draw = () => {
    const unit = writtenUnit(app);
    const total = app.book().level(store.get().level).readers.names.length;
    root.hidden = app.book().data.written === null;
    back.disabled = unit !== null && unit <= firstNew(app);
    on.disabled = unit !== null && unit >= total - 1;
    markWriting(text, unit);
    sentence.replaceChildren(...saidOf(app, unit));
    list.replaceChildren(...writingsAround(app, unit).map((one) => writingLine(app, one, unit)));
  };
  const rebuild = () => {
    const level = app.book().level(store.get().level);
    text.root.hidden = level.readers.names.length > RUNNING_MOST;
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

/** The first unit that the model wrote. */
function firstNew(/** @type {App} */ app) {
  const book = app.book();
  const written = book.data.written;
  if (!written) return Infinity;
  return book.level(app.store.get().level) === book.words ? written.unit : written.piece;
}

/** The new unit whose writing is shown: the one after the row that is shown. */
function writtenUnit(/** @type {App} */ app) {
  const state = app.store.get();
  const [unit] = shown(state);
  if (unit === undefined || state.direction !== "reads") return null;
  const total = app.book().level(state.level).readers.names.length;
  return unit + 1 >= firstNew(app) && unit + 1 < total ? unit + 1 : null;
}

/** Shows what was read to write a unit. */
function writeWord(/** @type {App} */ app, /** @type {number} */ unit) {
  const total = app.book().level(app.store.get().level).readers.names.length;
  const to = Math.min(Math.max(unit, firstNew(app)), total - 1);
  app.store.set({ direction: "reads", locked: [to - 1], pointed: to - 1, target: null });
  app.scroll.unit?.("readers", to - 1);
}

/** Marks the word that is being written. */
function markWriting(/** @type {RunningText} */ text, /** @type {number | null} */ unit) {
  for (const old of text.root.querySelectorAll(".writing")) old.classList.remove("writing");
  if (unit !== null) text.buttons[unit]?.classList.add("writing");
}

/** To write "Paris", the model stood at "is" and read ... */
function saidOf(/** @type {App} */ app, /** @type {number | null} */ unit) {
  const state = app.store.get();
  const { names } = app.book().level(state.level).readers;
  const first = firstNew(app);
  if (unit === null) {
    const total = names.length - first;
    return [`It wrote ${many(total, "word")}. Step through them to see what each was written from.`];
  }
  const where = headsNamed(app.book(), state.heads);
  const read = readNamed(app, unit - 1);
  const what = read.length ? ["read ", ...read] : ["read what this file does not hold"];
  return [
    `${unit - first + 1} of ${names.length - first}. To write ${inQuotes(names[unit])}, the model stood at ${inQuotes(names[unit - 1])} and, in ${where}, `,
    ...what,
    ".",
  ];
}

/** The new units around the chosen one. */
function writingsAround(/** @type {App} */ app, /** @type {number | null} */ unit) {
  const first = firstNew(app);
  const total = app.book().level(app.store.get().level).readers.names.length;
  const start = Math.max(first, Math.min((unit ?? first) - WRITINGS / 2, total - WRITINGS));
  const found = [];
  for (let one = start; one < Math.min(start + WRITINGS, total); one++) found.push(one);
  return found;
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
        "aria-pressed": unit === chosen,
        onclick: () => writeWord(app, unit),
      },
      word(texts[unit], 24),
    ),
    el("span", {}, " read ", ...(read.length ? read : ["(not in this file)"])),
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
      word(names[unit], 24),
      el("span", { class: "number" }, ` ${fraction(value, found?.bound)}`),
    ]);
}
