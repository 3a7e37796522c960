// @ts-check
/** Paints the part of a matrix that is in sight: cells, their numbers, the words at the sides. */

import { palette, Scale } from "../drawing/colours.js";
import { el } from "../drawing/dom.js";
import { MatrixNames } from "./matrixnames.js";
import { fraction } from "../data/numbers.js";

/**
 * @typedef {import("./cells.js").Cells} Cells
 * @typedef {import("./thumbs.js").Small} Small
 * @typedef {import("./viewport.js").Viewport} Viewport
 * @typedef {{row: number, column: number}} Cell
 * @typedef {{cell: Cell | null, rows: number[], column: number | null}} Marks the cell that is
 *   looked at; the rows and the column that are chosen
 */

/** Cells of at least this size, in CSS pixels, have dots or hatching; lines; numbers. */
const SIZE_OF_PATTERNS = 2;
const SIZE_OF_LINES = 14;
const SIZE_OF_NUMBERS = 28;
const FONT = 12;
/** Milliseconds in a frame for rows that have not been asked for before. */
const PATIENCE = 10;

export class Heatmap {
  constructor(/** @type {HTMLCanvasElement} */ canvas) {
    this.canvas = canvas;
    this.screen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    /** Everything but what is chosen: painted once, while a pointer moves over it many times. */
    this.still = el("canvas");
    this.context = /** @type {CanvasRenderingContext2D} */ (this.still.getContext("2d"));
    this.complete = false;
    this.tile = el("canvas");
    this.ratio = 1;
    this.family = getComputedStyle(canvas).fontFamily;
    this.names = new MatrixNames(this.family);
  }

  /** The canvas takes so many CSS pixels, each of `ratio` device pixels. */
  resize(
    /** @type {number} */ width,
    /** @type {number} */ height,
    /** @type {number} */ ratio = window.devicePixelRatio || 1,
  ) {
    this.ratio = ratio;
    for (const canvas of [this.canvas, this.still]) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(height * this.ratio);
    }
    this.canvas.style.setProperty("width", `${width}px`);
    this.canvas.style.setProperty("height", `${height}px`);
  }

  /**
   * Whether every row in sight could be painted; if not, paint again in the next frame. `anew`:
   * cells, words or where they stand have changed, and not only the marks.
   */
  paint(
    /** @type {Viewport} */ view,
    /** @type {Cells} */ cells,
    /** @type {Small | null} */ small,
    /** @type {Marks} */ marks,
    /** @type {boolean} */ anew,
  ) {
    if (anew) this.complete = this.paintStill(view, cells, small);
    const { screen } = this;
    screen.setTransform(1, 0, 0, 1, 0, 0);
    screen.drawImage(this.still, 0, 0);
    screen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    screen.save();
    this.clip(screen, view);
    this.paintMarks(view, marks);
    screen.restore();
    this.names.paintChosen(screen, view, cells, marks);
    return this.complete;
  }

  paintStill(
    /** @type {Viewport} */ view,
    /** @type {Cells} */ cells,
    /** @type {Small | null} */ small,
  ) {
    const { context } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = palette().sheet;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.save();
    this.clip(context, view);
    let done = true;
    if (small) this.paintSmall(view, small, new Scale({ log: cells.state.log }));
    else done = this.paintCells(view, cells);
    this.paintFrame(view);
    context.restore();
    this.names.paint(context, view, cells);
    return done;
  }

  /** Only the cells, not the words beside them, are painted from here on. */
  clip(/** @type {CanvasRenderingContext2D} */ context, /** @type {Viewport} */ view) {
    context.beginPath();
    context.rect(view.left - 1, view.top - 1, view.width + 2, view.height + 2);
    context.clip();
  }

  /** The whole matrix in a few blocks. */
  paintSmall(
    /** @type {Viewport} */ view,
    /** @type {Small} */ { grid, weight, rows, columns },
    /** @type {Scale} */ scale,
  ) {
    for (let at = 0; at < weight.length; at++) {
      const [row, column] = [Math.floor(at / grid), at % grid];
      const [x, y] = [view.columnAt(columns[column]), view.rowAt(rows[row])];
      this.context.fillStyle = scale.colour(weight[at]);
      // half a pixel more, so that no seam shows
      const width = view.columnAt(columns[column + 1]) - x + 0.5;
      this.context.fillRect(x, y, width, view.rowAt(rows[row + 1]) - y + 0.5);
    }
  }

  paintCells(/** @type {Viewport} */ view, /** @type {Cells} */ cells) {
    const [top, bottom] = view.rowsInSight();
    const [first, last] = view.columnsInSight();
    const until = performance.now() + PATIENCE;
    const image = new ImageData(Math.max(1, last - first), Math.max(1, bottom - top));
    const pixels = new Uint32Array(image.data.buffer);
    let done = true;
    for (let row = top; row < bottom; row++) {
      let colours = cells.coloursKept(row);
      if (!colours && performance.now() > until) {
        done = false;
        continue;
      }
      colours ??= cells.colours(row);
      pixels.set(colours.subarray(first, last), (row - top) * image.width);
    }
    this.stretch(view, image, top, first);
    if (view.size >= SIZE_OF_PATTERNS) this.paintPatterns(view, pixels, image.width, top, first);
    if (view.size >= SIZE_OF_LINES) this.paintLines(view);
    if (view.size >= SIZE_OF_NUMBERS) this.paintNumbers(view, cells);
    return done;
  }

  /** An image with a pixel a cell, at the size of the cells. */
  stretch(
    /** @type {Viewport} */ view,
    /** @type {ImageData} */ image,
    /** @type {number} */ top,
    /** @type {number} */ first,
  ) {
    this.tile.width = image.width;
    this.tile.height = image.height;
    this.tile.getContext("2d")?.putImageData(image, 0, 0);
    this.context.imageSmoothingEnabled = view.size * this.ratio < 1;
    const [x, y] = [view.columnAt(first), view.rowAt(top)];
    this.context.drawImage(this.tile, x, y, image.width * view.size, image.height * view.size);
  }

  /** Hatching where nothing may be seen, dots where nothing is known. */
  paintPatterns(
    /** @type {Viewport} */ view,
    /** @type {Uint32Array} */ pixels,
    /** @type {number} */ width,
    /** @type {number} */ top,
    /** @type {number} */ first,
  ) {
    const { unseen, unknown } = palette();
    const kinds = /** @type {const} */ ([
      [unseen, palette().hatch(this.context, this.ratio)],
      [unknown, palette().dots(this.context, this.ratio)],
    ]);
    for (const [colour, pattern] of kinds) {
      this.context.beginPath();
      for (let at = 0; at < pixels.length; at++) {
        if (pixels[at] !== colour) continue;
        const start = at;
        while (pixels[at + 1] === colour && (at + 1) % width) at++;
        const x = view.columnAt(first + (start % width));
        const y = view.rowAt(top + Math.floor(start / width));
        this.context.rect(x, y, (at - start + 1) * view.size, view.size);
      }
      this.context.fillStyle = pattern;
      this.context.fill();
    }
  }

  paintLines(/** @type {Viewport} */ view) {
    const [top, bottom] = view.rowsInSight();
    const [first, last] = view.columnsInSight();
    this.context.fillStyle = palette().rule;
    const [right, below] = [view.columnAt(last), view.rowAt(bottom)];
    for (let row = top; row <= bottom; row++) {
      this.context.fillRect(view.left, view.rowAt(row), right - view.left, 1);
    }
    for (let column = first; column <= last; column++) {
      this.context.fillRect(view.columnAt(column), view.top, 1, below - view.top);
    }
  }

  paintFrame(/** @type {Viewport} */ view) {
    this.context.strokeStyle = palette().control;
    this.context.lineWidth = 1;
    const [x, y] = [view.columnAt(0), view.rowAt(0)];
    this.context.strokeRect(x, y, view.columns * view.size, view.rows * view.size);
  }

  paintNumbers(/** @type {Viewport} */ view, /** @type {Cells} */ cells) {
    const { context } = this;
    const [top, bottom] = view.rowsInSight();
    const [first, last] = view.columnsInSight();
    context.font = `${Math.min(FONT, view.size * 0.38)}px ${this.family}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let row = top; row < bottom; row++) {
      const found = cells.row(row);
      for (let column = first; found && column < last; column++) {
        const value = found.value[column];
        if (Number.isNaN(value) || cells.kind(row, column) !== "known") continue;
        context.fillStyle = cells.scale.ink(value);
        const [x, y] = [view.columnAt(column + 0.5), view.rowAt(row + 0.5)];
        context.fillText(fraction(value, found.bound), x, y, view.size - 2);
      }
    }
  }

  /** The rows and the column that are chosen, and the cell that is looked at. */
  paintMarks(/** @type {Viewport} */ view, /** @type {Marks} */ marks) {
    const context = this.screen;
    const size = Math.max(view.size, 3);
    context.strokeStyle = palette().focus;
    context.lineWidth = 1.5;
    for (const row of marks.rows) {
      context.strokeRect(view.columnAt(0), view.rowAt(row), view.columns * view.size, size);
    }
    if (marks.column !== null) {
      context.strokeRect(view.columnAt(marks.column), view.rowAt(0), size, view.rows * view.size);
    }
    if (!marks.cell) return;
    const [x, y] = [view.columnAt(marks.cell.column), view.rowAt(marks.cell.row)];
    context.strokeStyle = palette().sheet;
    context.lineWidth = 4;
    context.strokeRect(x, y, size, size);
    context.strokeStyle = palette().ink;
    context.lineWidth = 2;
    context.strokeRect(x, y, size, size);
  }
}
