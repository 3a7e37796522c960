// @ts-check
/** The words and their lines as a picture of its own: drawn from the numbers, on white. */

import { clipped, svg } from "../drawing/dom.js";
import { fraction, many } from "../data/numbers.js";
import { LEAST_VALUE, otherSide, ownSide, partnersOf } from "../sentence/partners.js";
import { shown } from "../data/state.js";
import { headsNamed, measureNamed, NOT_WHY } from "../drawing/wording.js";

/** @typedef {import("../data/types.js").App} App */
/** @typedef {import("../data/types.js").State} State */
/** @typedef {import("../sentence/partners.js").Partners} Partners */
/** @typedef {import("../sentence/partners.js").SideName} SideName */
/** @typedef {{units: Map<number, number>, gaps: {slot: number, left: number}[], slots: number}} Slots */
/** @typedef {(name: string) => string} Colour */

const ROW_HEIGHT = 26;
const LETTERS = 15;
const LINE_LETTERS = 120;
const COLUMN_WIDTH = 250;
const BETWEEN = 220;
const EDGE = 20;
const HEAD_ROOM = 84;
const FOOT_ROOM = 44;
const THICKEST_LINE = 12;
/** Words of a side beyond which only those with lines are drawn. */
const WHOLE_SIDE = 80;

/** The picture of what the sentence view shows; of all words where none is chosen. */
export function sentencePicture(/** @type {App} */ app, /** @type {Colour} */ colour) {
  const state = app.store.get();
  const level = app.book().level(state.level);
  const chosen = chosenUnits(app);
  const all = chosen.map((unit) => partnersOf(app, unit)).filter((of) => of !== null);
  const own = slotsOf(level[ownSide(state)].names.length, chosen);
  const other = slotsOf(level[otherSide(state)].names.length, endsOf(all));
  const sides = state.direction === "reads" ? [own, other] : [other, own];
  const height = HEAD_ROOM + Math.max(own.slots, other.slots) * ROW_HEIGHT + FOOT_ROOM;
  const width = 2 * (EDGE + COLUMN_WIDTH) + BETWEEN;
  return svg(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": "system-ui, sans-serif",
      "font-size": LETTERS,
      fill: colour("ink"),
    },
    svg("title", {}, app.page.title),
    svg("rect", { width, height, fill: "#ffffff" }),
    pictureHeading(app, state, colour),
    curves(state, all, own, other, colour),
    wordColumn(app, "readers", sides[0], new Set(state.direction === "reads" ? chosen : []), colour),
    wordColumn(app, "keys", sides[1], new Set(state.direction === "reads" ? [] : chosen), colour),
    all.length === 1 && endNumbers(state, all[0], other, colour),
    svg(
      "text",
      { x: EDGE, y: height - 14, "font-size": 12, fill: colour("quiet") },
      `${NOT_WHY} Lines below ${fraction(LEAST_VALUE, false, 3)} are not drawn.`,
    ),
  );
}

/** The words whose lines are drawn. */
export function chosenUnits(/** @type {App} */ app) {
  const state = app.store.get();
  const units = shown(state);
  if (units.length) return units;
  const { names } = app.book().level(state.level)[ownSide(state)];
  return names.slice(0, WHOLE_SIDE).map((_, unit) => unit);
}

function pictureHeading(
  /** @type {App} */ app,
  /** @type {State} */ state,
  /** @type {Colour} */ colour,
) {
  const without = state.without ? ", special tokens left out and the rest renormalised" : "";
  const what = `${measureNamed(state.measure)} in ${headsNamed(app.book(), state.heads)}${without}`;
  const small = { x: EDGE, "font-size": 12, fill: colour("quiet") };
  const title = `\u2068${clipped(app.page.title, 64)}\u2069`;
  return svg(
    "g",
    {},
    svg("text", { x: EDGE, y: 26, "font-weight": "bold" }, title),
    svg("text", { ...small, y: 46 }, clipped(app.page.subtitle, LINE_LETTERS)),
    svg("text", { ...small, y: 62 }, clipped(`Left reads right: ${what}.`, LINE_LETTERS)),
  );
}

/** Where each word of a side stands: all of a short text, else those wanted, gaps counted. */
function slotsOf(/** @type {number} */ count, /** @type {number[]} */ wanted) {
  const units =
    count <= WHOLE_SIDE
      ? Array.from({ length: count }, (_, unit) => unit)
      : [...new Set(wanted)].sort((a, b) => a - b);
  /** @type {Slots} */
  const slots = { units: new Map(), gaps: [], slots: 0 };
  let next = 0;
  for (const unit of [...units, count]) {
    if (unit > next) slots.gaps.push({ slot: slots.slots++, left: unit - next });
    if (unit < count) slots.units.set(unit, slots.slots++);
    next = unit + 1;
  }
  return slots;
}

/** The units at the other ends of the lines. */
function endsOf(/** @type {Partners[]} */ all) {
  return all.flatMap((of) => worthDrawing(of).map((partner) => partner.unit));
}

function worthDrawing(/** @type {Partners} */ of) {
  return of.strongest.filter((partner) => Math.abs(partner.value) >= LEAST_VALUE);
}

function curves(
  /** @type {State} */ state,
  /** @type {Partners[]} */ all,
  /** @type {Slots} */ own,
  /** @type {Slots} */ other,
  /** @type {Colour} */ colour,
) {
  const [left, right] = [EDGE + COLUMN_WIDTH + 8, EDGE + COLUMN_WIDTH + BETWEEN - 8];
  const [start, end] = state.direction === "reads" ? [left, right] : [right, left];
  const middle = (left + right) / 2;
  const paths = all.flatMap((of, place) =>
    worthDrawing(of).map(({ unit, value, weight }) => {
      const size = Math.min(Math.abs(value), 1);
      const [from, to] = [middleOf(own.units.get(of.unit)), middleOf(other.units.get(unit))];
      const [reader, key] = state.direction === "reads" ? [of.unit, unit] : [unit, of.unit];
      const path = svg("path", {
        d: `M${start} ${from} C${middle} ${from} ${middle} ${to} ${end} ${to}`,
        fill: "none",
        stroke: colour(value < 0 ? "negative" : `line-${all.length > 4 ? 1 : place + 1}`),
        "stroke-width": Math.max(size * THICKEST_LINE, 0.75).toFixed(2),
        "stroke-opacity": (0.4 + 0.5 * size).toFixed(2),
        "stroke-dasharray": value < 0 ? "5 4" : null,
        "data-from": reader,
        "data-to": key,
        "data-weight": weight,
      });
      return { size, path };
    }),
  );
  paths.sort((a, b) => a.size - b.size);
  return svg("g", {}, paths.map(({ path }) => path));
}

function wordColumn(
  /** @type {App} */ app,
  /** @type {SideName} */ name,
  /** @type {Slots} */ slots,
  /** @type {Set<number>} */ chosen,
  /** @type {Colour} */ colour,
) {
  const side = app.book().level(app.store.get().level)[name];
  const left = name === "readers";
  const place = {
    x: left ? EDGE + COLUMN_WIDTH : EDGE + COLUMN_WIDTH + BETWEEN,
    "text-anchor": left ? "end" : "start",
    "dominant-baseline": "central",
  };
  const few = chosen.size <= 4;
  // where the words between are left out, a word is told from its like by its number
  const texts = slots.gaps.length ? side.names : side.texts;
  const words = [...slots.units].map(([unit, slot]) =>
    svg(
      "text",
      {
        ...place,
        y: middleOf(slot),
        "font-weight": few && chosen.has(unit) ? "bold" : null,
        fill: side.apart.data[unit] ? colour("quiet") : null,
      },
      `\u2068${clipped(texts[unit], 28) || "∅"}\u2069`,
    ),
  );
  const gaps = slots.gaps.map(({ slot, left: count }) =>
    svg("text", { ...place, y: middleOf(slot), fill: colour("quiet") }, `… ${many(count, "word")}`),
  );
  return svg("g", {}, words, gaps);
}

/** The numbers of one word's lines, at the outer edge. */
function endNumbers(
  /** @type {State} */ state,
  /** @type {Partners} */ of,
  /** @type {Slots} */ other,
  /** @type {Colour} */ colour,
) {
  const reads = state.direction === "reads";
  return svg(
    "g",
    { "font-size": 13, fill: colour("quiet") },
    worthDrawing(of).map(({ unit, value }) =>
      svg(
        "text",
        {
          x: reads ? EDGE + 2 * COLUMN_WIDTH + BETWEEN : EDGE,
          y: middleOf(other.units.get(unit)),
          "text-anchor": reads ? "end" : "start",
          "dominant-baseline": "central",
        },
        fraction(value, of.bound),
      ),
    ),
  );
}

function middleOf(/** @type {number | undefined} */ slot) {
  return HEAD_ROOM + ((slot ?? 0) + 0.5) * ROW_HEIGHT;
}
