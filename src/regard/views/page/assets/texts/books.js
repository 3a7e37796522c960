// @ts-check
/** From one text, or one kind of attention, to another: the rest of the page follows. */

import { clipped, el } from "../drawing/dom.js";
import { differs } from "../data/state.js";
import { check, radios } from "../frame/switches.js";

/** @typedef {import("../data/types.js").App} App */
/** @typedef {import("../data/types.js").State} State */
/** @typedef {import("../data/book.js").Book} Book */

const BOOK_KINDS = {
  encoder: "encoder: its words read each other",
  decoder: "decoder: its words read those before them",
  cross: "cross-attention: the words of the output read those of the input",
  steps: "the four steps",
};

export function mountBooks(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  if (app.books.length < 2 || app.page.versus) return false;
  const names = app.books.map(bookName);
  const note = el("p", { class: "quiet" });
  root.append(bookSwitch(app, "Shown:", names), note);
  const follow = () => {
    const { readers, keys, same } = app.book().words;
    const text = (/** @type {string[]} */ texts) => clipped(texts.slice(0, 40).join(" "), 160);
    note.replaceChildren(
      el("bdi", {}, text(readers.texts)),
      ...(same ? [] : [" reads ", el("bdi", {}, text(keys.texts))]),
    );
  };
  app.store.subscribe((state, before) => {
    if (differs(state, before, "book")) follow();
  });
  follow();
  return true;
}

/** A book by its kind, and by what is read where several are of one kind. */
function bookName(/** @type {Book} */ book, /** @type {number} */ _, /** @type {Book[]} */ all) {
  const { kind } = book.data;
  if (all.filter((one) => one.data.kind === kind).length === 1) return BOOK_KINDS[kind];
  const text = clipped(book.words.keys.texts.slice(0, 12).join(" "), 40);
  return `${BOOK_KINDS[kind]} (\u2068${text}\u2069)`;
}

/** Radio buttons, one a book. */
export function bookSwitch(
  /** @type {App} */ app,
  /** @type {string} */ title,
  /** @type {string[]} */ names,
) {
  const choices = names.map((name, at) => /** @type {[string, string]} */ ([String(at), name]));
  const group = radios("book", title, choices, (value) => turnTo(app, Number(value)));
  const follow = () => check(group, String(app.store.get().book));
  app.store.subscribe((state, before) => {
    if (differs(state, before, "book")) follow();
  });
  follow();
  return el("div", { class: "switches" }, group);
}

/** Another book, with as much of what is chosen as it has as well. */
export function turnTo(/** @type {App} */ app, /** @type {number} */ at) {
  const state = app.store.get();
  if (at === state.book) return;
  const [old, next] = [app.books[state.book], app.books[at]];
  const labels = state.heads.map((head) => old.heads[head].label);
  const heads = labels.flatMap((label) => {
    const place = next.heads.findIndex((head) => head.label === label);
    return place < 0 ? [] : [place];
  });
  const { versus } = app.page;
  const level = next.pieces ? state.level : "words";
  const same = sameNames(old.level(state.level).readers.names, next.level(level).readers.names);
  const locked = versus ? [at === versus.b ? versus.b_unit : versus.a_unit] : same ? state.locked : [];
  app.store.set({
    book: at,
    level: versus ? "words" : level,
    heads: heads.length ? heads : [0],
    direction: "reads",
    pointed: null,
    locked: state.direction === "reads" || versus ? locked : [],
    target: null,
  });
}

function sameNames(/** @type {string[]} */ one, /** @type {string[]} */ other) {
  return one.length === other.length && one.every((name, at) => name === other[at]);
}
