// @ts-check
/** Tables of words with numbers and bars. */

import { el, word } from "../drawing/dom.js";
import { hold } from "../sentence/pointing.js";

/** @typedef {import("../data/types.js").App} App */
/** @typedef {{cells: (Node | string)[], size: number, target?: boolean}} Line */

/** A word that is read: a click makes it the other end of what is looked at. */
export function toWord(/** @type {App} */ app, /** @type {number} */ unit) {
  const level = app.book().level(app.store.get().level);
  const go = () => {
    app.store.set({ target: unit });
    app.scroll.unit?.("keys", unit);
  };
  return el(
    "button",
    { type: "button", class: "plain", onclick: go },
    word(level.keys.names[unit], 24),
  );
}

/** A word that reads: a click holds it. */
export function toReader(/** @type {App} */ app, /** @type {number} */ unit) {
  const level = app.book().level(app.store.get().level);
  const go = () => {
    hold(app, "readers", unit, false);
    app.scroll.unit?.("readers", unit);
  };
  return el(
    "button",
    { type: "button", class: "plain", onclick: go },
    word(level.readers.names[unit], 24),
  );
}

/** A sentence in small; null for none. */
export function quietLine(/** @type {string} */ text) {
  return text ? el("p", { class: "quiet" }, text) : null;
}

/** A table with a bar behind each line. */
export function tableOf(
  /** @type {string} */ caption,
  /** @type {string[]} */ columns,
  /** @type {Line[]} */ lines,
) {
  const bar = (/** @type {number} */ size) => {
    const part = Math.min(Math.abs(size), 1) * 100;
    const made = el("span", { class: size < 0 ? "bar negative" : "bar" });
    made.style.setProperty("width", `${part.toFixed(1)}%`);
    return el("td", { class: "bars", "aria-hidden": "true" }, made);
  };
  return el(
    "table",
    { class: "listing-table" },
    el("caption", { class: "unseen-text" }, caption),
    el(
      "thead",
      {},
      el("tr", {}, ...columns.map((name) => el("th", { scope: "col" }, name)), el("td")),
    ),
    el(
      "tbody",
      {},
      ...lines.map(({ cells: [first, ...rest], size, target }) =>
        el(
          "tr",
          { class: target ? "target" : null },
          el("th", { scope: "row" }, first),
          ...rest.map((cell) => el("td", { class: "number" }, cell)),
          bar(size),
        ),
      ),
    ),
  );
}
