// @ts-check
/** Look-ups in what one text and one kind of attention showed. Nothing here computes a weight. */

import { LevelView } from "./level.js";
import { complete, StepsView } from "./stepsview.js";

/**
 * @typedef {import("./types.js").BookData} BookData
 * @typedef {import("./types.js").LevelName} LevelName
 * @typedef {import("./types.js").StepsOfLayer} StepsOfLayer
 */

/** One text and one kind of attention. */
export class Book {
  constructor(/** @type {BookData} */ data) {
    this.data = data;
    data.steps.forEach(complete);
    this.heads = data.heads;
    this.layers = data.layers;
    this.words = new LevelView(data, "words");
    this.pieces = data.pieces ? new LevelView(data, "pieces") : null;
    this.stepPlaces = new Map(
      data.steps.flatMap((steps) =>
        [...steps.heads.data].map(
          (head, place) => /** @type {[number, [StepsOfLayer, number]]} */ ([head, [steps, place]]),
        ),
      ),
    );
  }

  level(/** @type {LevelName} */ name) {
    return name === "pieces" && this.pieces ? this.pieces : this.words;
  }

  /** The level whose units are tokens: pieces, or words where each is one piece. */
  tokens() {
    return this.pieces ?? this.words;
  }

  /** The pieces of a word among readers (or keys), ascending. */
  piecesOf(/** @type {"readers" | "keys"} */ side, /** @type {number} */ unit) {
    const owner = this.pieces?.[side].word;
    if (!owner) return [unit];
    /** @type {number[]} */
    const found = [];
    owner.data.forEach((/** @type {number} */ word, /** @type {number} */ piece) => {
      if (word === unit) found.push(piece);
    });
    return found;
  }

  /** The four steps of one row, or null where the file does not hold them. */
  stepsOf(/** @type {number} */ head, /** @type {number} */ piece) {
    const found = this.stepPlaces.get(head);
    if (!found) return null;
    const [steps, place] = found;
    const row = steps.readers.data.indexOf(piece);
    return row < 0 ? null : new StepsView(steps, place, row);
  }

  /** A head's picture in small: weights [g, g] as fractions, or null. */
  thumb(/** @type {number} */ head) {
    const thumbs = this.data.thumbs;
    if (!thumbs) return null;
    const grid = thumbs.data.shape[1];
    const cells = thumbs.data.data.subarray(head * grid * grid, (head + 1) * grid * grid);
    return { grid, cells, top: thumbs.top.data[head] };
  }
}
