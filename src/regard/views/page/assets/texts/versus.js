// @ts-check
/** One word in two texts: which heads turn, which stay, and what it reads in both. */

import { aligned } from "./alignment.js";
import { bookSwitch } from "./books.js";
import { BothRows } from "./bothrows.js";
import { el, word } from "../drawing/dom.js";
import { fraction } from "../data/numbers.js";
import { differs } from "../data/state.js";
import { inQuotes, NOT_WHY } from "../drawing/wording.js";

/** @typedef {import("../data/types.js").App} App */
/** @typedef {import("../data/types.js").Side} Side */
/** @typedef {import("../data/types.js").Turn} Turn */
/** @typedef {import("../data/types.js").VersusData} VersusData */
/** @typedef {import("./alignment.js").Pair} Pair */
/** @typedef {import("../data/book.js").Book} Book */

/** Heads of one kind that are listed at first. */
const MOST_TURNS = 6;
/** A smaller lead of one word over another is not much of a preference. */
const CLEAR_LEAD = 0.05;
/** Words of a text that is shown whole; of longer ones, words around each marked one. */
const MOST_WHOLE = 80;
const WORDS_AROUND = 12;

export function mountVersus(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  const { versus } = app.page;
  if (!versus) return false;
  const [a, b] = [app.books[versus.a], app.books[versus.b]];
  const pairs = aligned(a.words.keys.texts, b.words.keys.texts);
  const rows = new BothRows(app, versus, pairs);
  root.append(
    el("div", { class: "versus-texts" }, ...bothTexts(versus, a, b, pairs)),
    marksSaid(versus),
    bookSwitch(app, "The rest of the page shows:", ["text A", "text B"]),
    ...[sameSaid(versus, a, b), turningSaid(versus, a)].map((said) => said && el("p", {}, said)),
    el("div", { class: "versus-turns" }, ...turnLists(app, versus)),
    rows.root,
    el("p", { class: "quiet" }, NOT_WHY),
  );
  const follow = () => {
    const { heads } = app.store.get();
    for (const button of root.querySelectorAll("[data-head]")) {
      const chosen = heads.length === 1 && Number(button.getAttribute("data-head")) === heads[0];
      button.setAttribute("aria-pressed", String(chosen));
    }
    rows.show(heads);
  };
  app.store.subscribe((state, before) => {
    if (differs(state, before, "heads")) follow();
  });
  follow();
  return true;
}

/** Both texts; of cross-attention the words that read as well. */
function bothTexts(
  /** @type {VersusData} */ versus,
  /** @type {Book} */ a,
  /** @type {Book} */ b,
  /** @type {Pair[]} */ pairs,
) {
  const changed = [new Set(), new Set()];
  for (const [i, j] of pairs) {
    if (i !== null && j !== null && a.words.keys.texts[i] === b.words.keys.texts[j]) continue;
    if (i !== null) changed[0].add(i);
    if (j !== null) changed[1].add(j);
  }
  return [
    textOf("A", a, changed[0], [versus.a_unit, versus.a_first, versus.a_second]),
    textOf("B", b, changed[1], [versus.b_unit, versus.b_first, versus.b_second]),
  ];
}

function textOf(
  /** @type {string} */ name,
  /** @type {Book} */ book,
  /** @type {Set<number>} */ changed,
  /** @type {(number | null)[]} */ [reader, first, second],
) {
  const { readers, keys, same } = book.words;
  /** @type {Map<number | null, string>} */
  const marks = new Map([...changed].map((unit) => [unit, "versus-changed"]));
  marks.set(second, "versus-second").set(first, "versus-first");
  if (same) marks.set(reader, "versus-reader");
  return el(
    "div",
    {},
    el("h3", {}, name),
    !same && markedText(readers, new Map([[reader, "versus-reader"]])),
    markedText(keys, marks),
  );
}

/** A text in which some words are marked. */
function markedText(/** @type {Side} */ side, /** @type {Map<number | null, string>} */ marks) {
  const text = el("p", { dir: "auto", class: "versus-text" });
  let last = -1;
  for (const unit of wordsKept(side.texts.length, [...marks.keys()])) {
    if (unit !== last + 1) text.append(" … ");
    else if (unit && isApart(side, unit)) text.append(" ");
    const mark = marks.get(unit);
    text.append(mark ? el("mark", { class: mark }, side.texts[unit]) : side.texts[unit]);
    last = unit;
  }
  if (last < side.texts.length - 1) text.append(" …");
  return text;
}

/** Whether a space, or the end of a label, parts a word from the one before it. */
function isApart(/** @type {Side} */ { starts, stops }, /** @type {number} */ unit) {
  return starts.data[unit] !== stops.data[unit - 1] || stops.data[unit - 1] === 0;
}

/** All words of a short text; of a long one those around the marked. */
function wordsKept(/** @type {number} */ count, /** @type {(number | null)[]} */ marked) {
  const all = Array.from({ length: count }, (_, unit) => unit);
  if (count <= MOST_WHOLE) return all;
  return all.filter((unit) => marked.some((one) => one !== null && Math.abs(one - unit) <= WORDS_AROUND));
}

function marksSaid(/** @type {VersusData} */ { first, second }) {
  const mark = (/** @type {string} */ kind, /** @type {string} */ text) =>
    el("span", { class: "mark" }, el("mark", { class: kind }, "word"), text);
  return el(
    "p",
    { class: "quiet legend" },
    mark("versus-reader", "reads"),
    first !== null && mark("versus-first", "compared, read more in A"),
    second !== null && mark("versus-second", "compared, read more in B"),
    mark("versus-changed", "only in this text"),
  );
}

/** That a decoder's word cannot tell two texts apart that are the same up to it. */
function sameSaid(/** @type {VersusData} */ versus, /** @type {Book} */ a, /** @type {Book} */ b) {
  if (a.data.kind !== "decoder" || versus.a_unit !== versus.b_unit) return "";
  const [one, other] = [a.words.readers, b.words.readers];
  for (let unit = 0; unit <= versus.a_unit; unit++) {
    if (one.texts[unit] !== other.texts[unit]) return "";
    if (one.starts.data[unit] !== other.starts.data[unit]) return "";
  }
  const reader = inQuotes(one.names[versus.a_unit]);
  return (
    `A decoder: ${reader} sees nothing after it, and up to it the texts are the same, so it ` +
    "reads the same in both. Change a word before it, or ask about a later one."
  );
}

function turningSaid(/** @type {VersusData} */ versus, /** @type {Book} */ book) {
  if (versus.first === null || versus.second === null) {
    return "No two words that both texts have can be compared.";
  }
  const [first, second] = [inQuotes(versus.first), inQuotes(versus.second)];
  const { there, back, stays } = versus;
  let said = `${turningHeads(there.length)} from ${first} to ${second}, ${back.length || "none"} the other way`;
  if (there.length + back.length) {
    const clear = [...there, ...back].filter((turn) => leadOf(turn) >= CLEAR_LEAD).length;
    said += `; ${clear || "none"} of these by ${fraction(CLEAR_LEAD)} or more in both texts`;
  }
  if (!stays.length) return `${said}. None stays on ${first}.`;
  const [best] = stays;
  const kept = `${fraction(best.a[0])} → ${fraction(best.b[0])}`;
  const stay = stays.length === 1 ? "stays" : "stay";
  return `${said}. ${stays.length} of ${book.heads.length} ${stay} on ${first}, clearest ${book.heads[best.head].label} (${kept}).`;
}

function turningHeads(/** @type {number} */ count) {
  if (!count) return "No head turns";
  return count === 1 ? "1 head turns" : `${count} heads turn`;
}

/** The smaller lead of one word over the other, in A and in B: how clear a turn is. */
function leadOf(/** @type {Turn} */ { a, b }) {
  return Math.min(Math.abs(a[0] - a[1]), Math.abs(b[0] - b[1]));
}

function turnLists(/** @type {App} */ app, /** @type {VersusData} */ versus) {
  if (versus.first === null || versus.second === null) return [];
  const [first, second] = [inQuotes(versus.first), inQuotes(versus.second)];
  const kinds = /** @type {[string, Turn[]][]} */ ([
    [`${first} in A, ${second} in B`, versus.there],
    [`${second} in A, ${first} in B`, versus.back],
    [`${first} in both`, versus.stays],
  ]);
  return kinds
    .filter(([, turns]) => turns.length)
    .map(([title, turns]) => turnList(app, versus, title, turns));
}

/** The clearest heads of one kind, with what they give both words in A and in B. */
function turnList(
  /** @type {App} */ app,
  /** @type {VersusData} */ versus,
  /** @type {string} */ title,
  /** @type {Turn[]} */ turns,
) {
  const names = [versus.first ?? "", versus.second ?? ""];
  const columns = [...names, ...names].map((name) => el("th", { scope: "col" }, word(name, 12)));
  const body = el("tbody", {}, ...turns.slice(0, MOST_TURNS).map((turn) => turnRow(app, turn)));
  const more = el(
    "button",
    {
      type: "button",
      onclick: () => {
        body.append(...turns.slice(MOST_TURNS).map((turn) => turnRow(app, turn)));
        more.remove();
      },
    },
    `and ${turns.length - MOST_TURNS} more, less clearly`,
  );
  return el(
    "div",
    {},
    el("h3", {}, title),
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el("tr", {}, el("td", {}), ...["A", "B"].map((text) => el("th", { scope: "colgroup", colspan: 2 }, text))),
        el("tr", {}, el("th", { scope: "col" }, "head"), ...columns),
      ),
      body,
    ),
    turns.length > MOST_TURNS && more,
  );
}

function turnRow(/** @type {App} */ app, /** @type {Turn} */ turn) {
  const { label } = app.books[app.page.versus?.a ?? 0].heads[turn.head];
  const chosen = app.store.get().heads;
  const button = el(
    "button",
    {
      type: "button",
      "data-head": turn.head,
      "aria-pressed": String(chosen.length === 1 && chosen[0] === turn.head),
      onclick: () => app.store.set({ heads: [turn.head] }),
    },
    label,
  );
  const cells = [turn.a, turn.b].flatMap(([first, second]) => [
    el("td", { class: `number ${first >= second ? "more" : ""}` }, fraction(first)),
    el("td", { class: `number ${second > first ? "more" : ""}` }, fraction(second)),
  ]);
  return el("tr", {}, el("th", { scope: "row" }, button), ...cells);
}
