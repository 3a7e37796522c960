// @ts-check
/** The matrix as a picture of its own, whole and on white. */

import { Cells } from "../matrix/cells.js";
import { paintedAs } from "../drawing/colours.js";
import { clipped, el } from "../drawing/dom.js";
import { smallMatrix } from "../matrix/thumbs.js";
import { Heatmap } from "../matrix/heatmap.js";
import { Viewport } from "../matrix/viewport.js";
import { headsNamed, measureNamed } from "../drawing/wording.js";

/** @typedef {import("../data/types.js").App} App */

/** CSS pixels of the longer side, of one cell at most, and of the lines above. */
const LONG_SIDE = 1600;
const CELL_SIDE = 36;
const LINES_ABOVE = 58;
const SIDES = 16;
const LEAST_WIDTH = 640;
/** Pixels of the picture for each CSS pixel. */
const DENSITY = 2;
/** Cells beyond which the matrix is drawn in small blocks. */
const PAINTED_CELLS = 2 ** 20;

/** A canvas with the matrix in the colours of `root`, an element of the document. */
export function matrixPicture(/** @type {App} */ app, /** @type {HTMLElement} */ root) {
  return paintedAs(root, () => {
    const state = app.store.get();
    const cells = new Cells(app.book().level(state.level), state);
    const matrix = wholeMatrix(app, cells, root);
    const canvas = el("canvas", {
      width: Math.max(matrix.width + SIDES * DENSITY, LEAST_WIDTH * DENSITY),
      height: matrix.height + (LINES_ABOVE + SIDES) * DENSITY,
    });
    const context = canvas.getContext("2d");
    if (!context) return canvas;
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(matrix, 0, LINES_ABOVE * DENSITY);
    context.scale(DENSITY, DENSITY);
    titleLines(app, cells, context, getComputedStyle(root));
    return canvas;
  });
}

function titleLines(
  /** @type {App} */ app,
  /** @type {Cells} */ cells,
  /** @type {CanvasRenderingContext2D} */ context,
  /** @type {CSSStyleDeclaration} */ style,
) {
  const state = app.store.get();
  const room = context.canvas.width / DENSITY - 2 * SIDES;
  const what = `${measureNamed(state.measure)} in ${headsNamed(app.book(), state.heads)}`;
  const without = state.without ? ", special tokens left out" : "";
  context.fillStyle = style.getPropertyValue("--ink");
  context.font = `bold 15px ${style.fontFamily}`;
  context.fillText(`\u2068${clipped(app.page.title, 70)}\u2069`, SIDES, 26, room);
  context.font = `12px ${style.fontFamily}`;
  const said = `Rows read, columns are read: ${what}${without}.${marksSaid(cells)}`;
  context.fillText(said, SIDES, 46, room);
}

/** All cells with their words; in blocks where there are too many to draw. */
function wholeMatrix(
  /** @type {App} */ app,
  /** @type {Cells} */ cells,
  /** @type {HTMLElement} */ root,
) {
  const canvas = el("canvas");
  root.append(canvas);
  const heatmap = new Heatmap(canvas);
  const view = new Viewport();
  view.rows = cells.readers;
  view.columns = cells.keys;
  view.size = Math.min(CELL_SIDE, LONG_SIDE / Math.max(cells.readers, cells.keys));
  view.left = heatmap.names.room(heatmap.screen, cells.level.readers, 160);
  view.top = heatmap.names.room(heatmap.screen, cells.level.keys, 160);
  view.width = view.columns * view.size;
  view.height = view.rows * view.size;
  heatmap.resize(view.left + view.width + SIDES, view.top + view.height + 3, DENSITY);
  const { level, heads } = app.store.get();
  const many = view.rows * view.columns > PAINTED_CELLS;
  const small = many ? smallMatrix(app.book(), level, heads) : null;
  const marks = { cell: null, rows: [], column: null };
  // each call paints for a frame's time only
  while (!heatmap.paint(view, cells, small, marks, true));
  return canvas;
}

/** What cells without a number mean. */
function marksSaid(/** @type {Cells} */ cells) {
  const unseen = cells.level.data.seen ? " Hatched: may not be seen." : "";
  return cells.whole() ? unseen : `${unseen} Dotted: not in the file.`;
}
