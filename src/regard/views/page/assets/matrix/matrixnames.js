// @ts-check
/** The words at the sides of a matrix. */

import { palette } from "../drawing/colours.js";
import { clipped } from "../drawing/dom.js";

/**
 * @typedef {import("./cells.js").Cells} Cells
 * @typedef {import("./heatmap.js").Marks} Marks
 * @typedef {import("../data/types.js").Side} Side
 * @typedef {import("./viewport.js").Viewport} Viewport
 */

/** Room for one word, and its letters, in CSS pixels. */
const LINE = 13;
const FONT = 12;
const MOST_LETTERS = 18;

export class MatrixNames {
  constructor(/** @type {string} */ family) {
    this.family = family;
    /** @type {Map<string, string>} */
    this.labels = new Map();
  }

  /** Words at the left and on top; where cells are small, only some of them. */
  paint(
    /** @type {CanvasRenderingContext2D} */ context,
    /** @type {Viewport} */ view,
    /** @type {Cells} */ cells,
  ) {
    const { readers, keys } = cells.level;
    context.font = `${FONT}px ${this.family}`;
    for (const row of unitsNamed(view.rowsInSight(), view.size)) {
      context.fillStyle = readers.apart.data[row] ? palette().quiet : palette().ink;
      this.nameRow(context, view, readers, row, false);
    }
    for (const column of unitsNamed(view.columnsInSight(), view.size)) {
      context.fillStyle = keys.apart.data[column] ? palette().quiet : palette().ink;
      this.nameColumn(context, view, keys, column, false);
    }
  }

  /** The words of what is chosen, in bold over those that stand there. */
  paintChosen(
    /** @type {CanvasRenderingContext2D} */ screen,
    /** @type {Viewport} */ view,
    /** @type {Cells} */ cells,
    /** @type {Marks} */ marks,
  ) {
    const { readers, keys } = cells.level;
    const columns = [marks.column, marks.cell?.column ?? null].filter((one) => one !== null);
    screen.font = `bold ${FONT}px ${this.family}`;
    for (const row of new Set([...marks.rows, ...(marks.cell ? [marks.cell.row] : [])])) {
      if (!inside(row, view.rowsInSight())) continue;
      screen.fillStyle = palette().sheet;
      screen.fillRect(0, view.rowAt(row + 0.5) - LINE / 2, view.left - 2, LINE);
      screen.fillStyle = palette().ink;
      this.nameRow(screen, view, readers, row, true);
    }
    for (const column of new Set(columns)) {
      if (!inside(column, view.columnsInSight())) continue;
      const width = view.upright ? view.size : LINE;
      screen.fillStyle = palette().sheet;
      screen.fillRect(view.columnAt(column + 0.5) - width / 2, 0, width, view.top - 2);
      screen.fillStyle = palette().ink;
      this.nameColumn(screen, view, keys, column, true);
    }
  }

  nameRow(
    /** @type {CanvasRenderingContext2D} */ context,
    /** @type {Viewport} */ view,
    /** @type {Side} */ side,
    /** @type {number} */ row,
    /** @type {boolean} */ bold,
  ) {
    context.textBaseline = "middle";
    context.textAlign = "right";
    const label = this.label(context, side.texts[row], view.left - 10, bold);
    context.fillText(label, view.left - 6, view.rowAt(row + 0.5));
  }

  nameColumn(
    /** @type {CanvasRenderingContext2D} */ context,
    /** @type {Viewport} */ view,
    /** @type {Side} */ side,
    /** @type {number} */ column,
    /** @type {boolean} */ bold,
  ) {
    const room = view.upright ? view.size : view.top - 10;
    const label = this.label(context, side.texts[column], room, bold);
    const x = view.columnAt(column + 0.5);
    context.textBaseline = "middle";
    context.textAlign = view.upright ? "center" : "left";
    if (view.upright) {
      context.fillText(label, x, view.top - LINE);
      return;
    }
    context.save();
    context.rotate(-Math.PI / 2);
    context.fillText(label, 6 - view.top, x);
    context.restore();
  }

  /** A word cut to the room there is. */
  label(
    /** @type {CanvasRenderingContext2D} */ context,
    /** @type {string} */ text,
    /** @type {number} */ room,
    /** @type {boolean} */ bold,
  ) {
    const name = `${Math.round(room)}${bold}${text}`;
    const kept = this.labels.get(name);
    if (kept !== undefined) return kept;
    let letters = MOST_LETTERS;
    let label = clipped(text, letters) || "∅";
    while (letters > 1 && context.measureText(label).width > room) label = clipped(text, --letters);
    if (this.labels.size > 5000) this.labels.clear();
    this.labels.set(name, label);
    return label;
  }

  /** How wide the widest of the first names is, within what is allowed. */
  room(
    /** @type {CanvasRenderingContext2D} */ context,
    /** @type {Side} */ side,
    /** @type {number} */ most,
  ) {
    context.font = `bold ${FONT}px ${this.family}`;
    const widths = side.texts.slice(0, 300).map((text) => {
      return context.measureText(clipped(text, MOST_LETTERS)).width;
    });
    return Math.min(most, Math.max(24, ...widths) + 12);
  }
}

/** The units whose names have room: every so many. */
function unitsNamed(/** @type {[number, number]} */ [first, last], /** @type {number} */ size) {
  const every = Math.max(1, Math.ceil(LINE / size));
  const found = [];
  for (let unit = Math.ceil(first / every) * every; unit < last; unit += every) found.push(unit);
  return found;
}

function inside(/** @type {number} */ unit, /** @type {[number, number]} */ [first, last]) {
  return unit >= first && unit < last;
}
