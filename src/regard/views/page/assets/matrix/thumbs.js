// @ts-check
/** Whole matrices in a few blocks. */

import { fraction } from "../data/numbers.js";
import { inQuotes } from "../drawing/wording.js";

/** @typedef {import("../data/book.js").Book} Book */
/** @typedef {import("../data/level.js").LevelView} LevelView */
/** @typedef {import("../drawing/colours.js").Scale} Scale */
/** @typedef {import("../data/types.js").LevelName} LevelName */
/** @typedef {import("../data/types.js").Side} Side */

/**
 * @typedef {object} Small
 * @property {number} grid blocks in a row and in a column
 * @property {Float64Array} weight [grid, grid] what a reader of one block gives another, on average
 * @property {number[]} rows [grid + 1] where blocks of readers begin, in units of the level
 * @property {number[]} columns the same of keys
 */

/** The mean of some heads' matrices in small; null where the file has none. @returns {Small | null} */
export function smallMatrix(
  /** @type {Book} */ book,
  /** @type {LevelName} */ name,
  /** @type {number[]} */ heads,
) {
  const weight = meanThumb(book, heads);
  if (!weight) return null;
  const grid = Math.sqrt(weight.length);
  const level = book.level(name);
  const tokens = book.tokens();
  return {
    grid,
    weight,
    rows: blockStarts(grid, tokens.readers, level !== tokens),
    columns: blockStarts(grid, tokens.keys, level !== tokens),
  };
}

/** What the block says in which a cell lies. */
export function blockSaid(
  /** @type {Small} */ { grid, weight, rows, columns },
  /** @type {LevelView} */ { readers, keys },
  /** @type {number} */ row,
  /** @type {number} */ column,
) {
  const [from, to] = [blockOf(rows, row), blockOf(columns, column)];
  const number = fraction(weight[from * grid + to]);
  return `${unitsOf(readers, rows, from)} give ${number} of their weight to ${unitsOf(keys, columns, to)}, on average,`;
}

/** "a" to "z": the units of one block. */
function unitsOf(
  /** @type {Side} */ side,
  /** @type {number[]} */ starts,
  /** @type {number} */ block,
) {
  const first = Math.floor(starts[block]);
  const last = Math.max(first, Math.ceil(starts[block + 1]) - 1);
  return `${inQuotes(side.names[first], 12)} to ${inQuotes(side.names[last], 12)}`;
}

/** Which block a unit begins in. */
function blockOf(/** @type {number[]} */ starts, /** @type {number} */ unit) {
  const next = starts.findIndex((start) => start > unit);
  return next < 0 ? starts.length - 2 : Math.max(0, next - 1);
}

/** A head's picture, a pixel a block. */
export function drawThumb(
  /** @type {HTMLCanvasElement} */ canvas,
  /** @type {Book} */ book,
  /** @type {number} */ head,
  /** @type {Scale} */ scale,
) {
  const weight = meanThumb(book, [head]);
  const context = canvas.getContext("2d");
  if (!weight || !context) return;
  canvas.width = canvas.height = Math.sqrt(weight.length);
  const image = context.createImageData(canvas.width, canvas.height);
  new Uint32Array(image.data.buffer).set(weight.map((value) => scale.packed(value)));
  context.putImageData(image, 0, 0);
}

function meanThumb(/** @type {Book} */ book, /** @type {number[]} */ heads) {
  const thumbs = heads.flatMap((head) => book.thumb(head) ?? []);
  if (!thumbs.length) return null;
  const weight = new Float64Array(thumbs[0].cells.length);
  for (const { cells, top } of thumbs) {
    for (let at = 0; at < weight.length; at++) weight[at] += ((cells[at] / 255) * top) / thumbs.length;
  }
  return weight;
}

/** Token t of n is in block ⌊t·grid/n⌋; as words, a block may begin within one. */
function blockStarts(
  /** @type {number} */ grid,
  /** @type {Side} */ tokens,
  /** @type {boolean} */ asWords,
) {
  const count = tokens.names.length;
  const owner = asWords ? tokens.word : null;
  const words = owner ? Math.max(-1, ...owner.data) + 1 : count;
  return Array.from({ length: grid + 1 }, (_, block) => {
    const token = Math.ceil((block * count) / grid);
    if (!owner) return token;
    if (token >= count) return words;
    const word = owner.data[token];
    const [first, last] = [owner.data.indexOf(word), owner.data.lastIndexOf(word)];
    return word + (token - first) / (last - first + 1);
  });
}
