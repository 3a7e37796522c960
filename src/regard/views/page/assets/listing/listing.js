// @ts-check
/** The chosen word in numbers: whom it reads in the chosen heads and in all, and who reads it. */

import { el, word } from "../drawing/dom.js";
import { fraction } from "../data/numbers.js";
import { LEAST_VALUE, partnersOf } from "../sentence/partners.js";
import { differs, shown } from "../data/state.js";
import { quietLine, tableOf, toReader, toWord } from "./wordtable.js";
import {
  NOT_WHY,
  apartSaid,
  characterOf,
  headsNamed,
  listed,
  measureNamed,
  piecesSaid,
  inQuotes,
} from "../drawing/wording.js";

/**
 * @typedef {import("../data/types.js").App} App
 * @typedef {import("../data/types.js").State} State
 * @typedef {import("../data/types.js").Row} Row
 * @typedef {import("../sentence/partners.js").Partners} Partners
 */

/** Lines of a table. */
const TABLE_LINES = 12;
/** A row that is so short is listed whole. */
const WHOLE_ROW = 24;
/** How long the pointer rests on a word before it is spoken: milliseconds. */
const SPOKEN_AFTER = 250;

export function mountListing(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  let timer = 0;
  const draw = () => {
    const units = shown(app.store.get());
    root.replaceChildren(
      ...(units.length
        ? units.map((unit) => articleOf(app, unit))
        : [el("p", { class: "quiet" }, "Point at a word, or click one to hold it.")]),
      el("p", { class: "quiet" }, NOT_WHY),
    );
  };
  app.store.subscribe((state, before) => {
    if (!differs(state, before, ...LISTED_PARTS)) return;
    draw();
    if (!differs(state, before, ...SPOKEN_PARTS)) return;
    clearTimeout(timer);
    timer = window.setTimeout(() => app.say(spoken(app)), SPOKEN_AFTER);
  });
  draw();
}

/** The parts of the state that the listing shows. */
const LISTED_PARTS = /** @type {(keyof State)[]} */ ([
  "book",
  "level",
  "heads",
  "direction",
  "pointed",
  "locked",
  "target",
  "measure",
  "without",
]);

/** The parts of the state of which a change is spoken. */
const SPOKEN_PARTS = /** @type {(keyof State)[]} */ ([
  "heads",
  "direction",
  "pointed",
  "locked",
  "level",
  "measure",
  "without",
]);

/** One sentence for the chosen row. */
function spoken(/** @type {App} */ app) {
  const state = app.store.get();
  const level = app.book().level(state.level);
  const reads = state.direction === "reads";
  return shown(state)
    .map((unit) => {
      const name = inQuotes((reads ? level.readers : level.keys).names[unit]);
      const others = reads ? level.keys : level.readers;
      const by = state.measure === "weight" ? "" : `, by ${measureNamed(state.measure)}`;
      const where = `${headsNamed(app.book(), state.heads)}${by}`;
      const found = partnersOf(app, unit)?.strongest.filter(({ value }) => value >= LEAST_VALUE);
      if (!found) return `This file does not hold what ${name} reads in ${where}.`;
      const three = found
        .slice(0, 3)
        .map((one) => `${inQuotes(others.names[one.unit])} ${fraction(one.value)}`);
      if (!three.length) return `${name}: nothing to show in ${where}.`;
      return reads
        ? `In ${where}, ${name} reads ${listed(three)}.`
        : `In ${where}, ${name} is read by ${listed(three)}.`;
    })
    .join(" ");
}

function articleOf(/** @type {App} */ app, /** @type {number} */ unit) {
  const state = app.store.get();
  const level = app.book().level(state.level);
  const reads = state.direction === "reads";
  const name = (reads ? level.readers : level.keys).names[unit];
  const place = state.locked.length > 1 ? ` ink-${state.locked.indexOf(unit) + 1}` : "";
  const parts = reads ? readingPart(app, unit, name) : readByPart(app, unit, name);
  if (reads && state.locked.length < 2) {
    parts.push(...strongestPart(app, unit));
    if (level.same) parts.push(...readByPart(app, unit, name));
  }
  return el("article", { class: `listed${place}`, "data-listed": unit }, ...parts);
}

/** Whom the word reads in the chosen heads. */
function readingPart(
  /** @type {App} */ app,
  /** @type {number} */ unit,
  /** @type {string} */ name,
) {
  const state = app.store.get();
  const book = app.book();
  const where = headsNamed(book, state.heads);
  const parts = [
    el("h3", {}, inQuotes(name), ` reads, in ${where}`),
    quietLine(characterOf(book, state.heads)),
    quietLine(state.level === "words" ? piecesSaid(book, unit) : ""),
  ];
  const found = partnersOf(app, unit);
  if (!found?.row) return [...parts, ...notHeld(app, name, where)];
  const keys = book.level(state.level).keys;
  const row = found.row;
  return [
    ...parts,
    rowTable(app, found, row),
    quietLine(restSaid(app, found)),
    quietLine(apartSaid(book, keys, row.apart, `${inQuotes(name)} here`)),
    quietLine(sumSaid(row)),
  ];
}

/** The row as the terminal prints it: word, weight, habit, part of the result, a bar. */
function rowTable(/** @type {App} */ app, /** @type {Partners} */ found, /** @type {Row} */ row) {
  const state = app.store.get();
  const lift = state.measure === "lift";
  const columns = ["word", state.without && !lift ? "weight, rest" : "weight"];
  if (row.habit) columns.push("habit");
  if (lift) columns.push("beyond");
  if (row.share) columns.push("part of result");
  const lines = listedPartners(found).map(({ unit, value }) => {
    // of what is left, where special tokens are left out
    const weight = state.measure === "weight" ? value : row.weight[unit];
    const cells = [toWord(app, unit), fraction(weight, row.bound)];
    if (row.habit) cells.push(fraction(row.habit[unit]));
    if (lift) cells.push(fraction(value, row.bound));
    if (row.share) cells.push(fraction(row.share[unit]));
    return { cells, size: value, target: state.target === unit };
  });
  if (!lines.length) {
    return el("p", {}, "It may see nothing here, or all that it sees is left out.");
  }
  const caption = `${measureNamed(state.measure)}, largest first`;
  return tableOf(caption, columns, lines);
}

/** All of a short row, and what is worth a line of a long one. */
function listedPartners(/** @type {Partners} */ found) {
  const known = found.strongest.length;
  if (known <= WHOLE_ROW) return found.strongest;
  const lines = found.strongest.slice(0, TABLE_LINES);
  const worth = lines.filter(({ value }) => Math.abs(value) >= LEAST_VALUE);
  return worth.length ? worth : lines.slice(0, 1);
}

/** What the table leaves out. */
function restSaid(/** @type {App} */ app, /** @type {Partners} */ found) {
  const state = app.store.get();
  let [count, unknown, total] = [0, 0, 0];
  const level = app.book().level(state.level);
  found.value.forEach((value, key) => {
    if (!Number.isNaN(value)) {
      count += 1;
      total += value;
    } else if (
      found.row &&
      Number.isNaN(found.row.weight[key]) &&
      level.seen(state.heads[0], found.unit, key)
    ) {
      unknown += 1;
    }
  });
  const lines = listedPartners(found);
  const left = count - lines.length;
  const rest = total - lines.reduce((sum, one) => sum + one.value, 0);
  const together = state.measure === "lift" ? "" : `, together ${fraction(rest, found.bound)}`;
  const more = left > 0 ? `And ${left.toLocaleString("en")} more${together}. ` : "";
  if (!unknown) return more.trim();
  const others = `${unknown.toLocaleString("en")} other words`;
  return `${more}Of ${others} this file does not hold the weight: they are not among the largest.`;
}

/** Why the weights of a row do not sum to 1, where they do not. */
function sumSaid(/** @type {Row} */ row) {
  if (row.bound) return "≥: only the largest weights were kept; these are lower bounds.";
  if (Math.abs(row.sum - 1) < 5e-3) return "";
  if (row.sum === 0) return "It may see nothing here: all its weights are 0.";
  return `The weights sum to ${fraction(row.sum)}, not 1: the rest goes to this head's sink.`;
}

/** What to say of a row that is not in the file, and how to have it. */
function notHeld(/** @type {App} */ app, /** @type {string} */ name, /** @type {string} */ where) {
  const [first] = app.page.plan.left;
  return [
    el("p", {}, `This file does not hold what ${inQuotes(name)} reads in ${where}.`),
    first &&
      el("p", { class: "quiet" }, "This would include more: ", el("code", {}, first.command)),
  ];
}

/** The strongest over all heads; a click on a line chooses its head. */
function strongestPart(/** @type {App} */ app, /** @type {number} */ unit) {
  const state = app.store.get();
  const book = app.book();
  const level = book.level(state.level);
  const strong = level.strongest(unit).slice(0, TABLE_LINES);
  if (!strong.length) return [];
  const habits = strong.some((one) => one.habit !== null);
  const lines = strong.map((one) => {
    const choose = () => app.store.set({ heads: [one.head], target: one.key });
    const label = book.heads[one.head].label;
    const cells = [
      word(level.keys.names[one.key], 24),
      fraction(one.weight, level.data.links?.bound === true),
      ...(habits ? [fraction(one.habit)] : []),
      el(
        "button",
        {
          type: "button",
          class: "plain",
          onclick: choose,
          "aria-pressed": String(isChosenHead(state, one.head)),
        },
        label,
      ),
    ];
    return {
      cells,
      size: one.weight,
      target: isChosenHead(state, one.head) && state.target === one.key,
    };
  });
  const columns = ["word", "weight", ...(habits ? ["habit"] : []), "head"];
  const title = habits ? "Strongest of all heads, beyond habit" : "Strongest of all heads";
  const over = book.data.habit?.over ? `, over ${book.data.habit.over}` : "";
  return [
    el("h3", {}, title),
    habits && quietLine(`Habit is what that head usually gives a word at this distance${over}.`),
    tableOf(`${title}; a head's name chooses it`, columns, lines),
  ];
}

function isChosenHead(/** @type {State} */ state, /** @type {number} */ head) {
  return state.heads.length === 1 && state.heads[0] === head;
}

/** Who reads the word in the chosen heads, as far as the file knows. */
function readByPart(
  /** @type {App} */ app,
  /** @type {number} */ unit,
  /** @type {string} */ name,
) {
  const state = app.store.get();
  const book = app.book();
  const level = book.level(state.level);
  const where = headsNamed(book, state.heads);
  const found = partnersOf(app, unit, { ...state, direction: "readBy" });
  const most = state.direction === "reads" ? 4 : TABLE_LINES;
  const strongest = (found?.strongest ?? []).filter(({ value }) => Math.abs(value) >= LEAST_VALUE);
  const lines = strongest.slice(0, most).map((one) => ({
    cells: [toReader(app, one.unit), fraction(one.value, found?.bound)],
    size: one.value,
    target: state.direction === "readBy" && state.target === one.unit,
  }));
  return [
    el("h3", {}, "Who reads ", inQuotes(name), `, in ${where}`),
    state.direction === "readBy" && quietLine(characterOf(book, state.heads)),
    lines.length
      ? tableOf(
          `${measureNamed(state.measure)}, largest first`,
          ["word", measureNamed(state.measure)],
          lines,
        )
      : el("p", {}, found?.exact ? "No word does." : "No word whose weights this file holds."),
    lines.length > 0 &&
      !found?.exact &&
      quietLine("As far as this file holds the rows of its readers."),
    quietLine(receivedSaid(app, level, unit)),
  ];
}

/** What the unit receives of the rows that may see it, in the mean. */
function receivedSaid(
  /** @type {App} */ app,
  /** @type {import("../data/level.js").LevelView} */ level,
  /** @type {number} */ unit,
) {
  const received = level.data.received;
  if (!received) return "";
  const { heads } = app.store.get();
  const keys = level.keys.names.length;
  const mean =
    heads.reduce((sum, head) => sum + received.data[head * keys + unit], 0) / heads.length;
  return Number.isNaN(mean)
    ? ""
    : `On average a row that may see it gives it ${fraction(mean, false, 3)}.`;
}
