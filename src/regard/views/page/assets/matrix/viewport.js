// @ts-check
/** Which part of a matrix is in sight, and how large its cells are. Lengths in CSS pixels. */

/** The largest cells, and the largest that a matrix starts with. */
const LARGEST = 64;
const COMFORTABLE = 48;

export class Viewport {
  constructor() {
    /** Room for the names of rows, and of columns. */
    this.left = 0;
    this.top = 0;
    /** Whether the names of columns stand upright, not along their columns. */
    this.upright = false;
    /** Of the cells that are in sight. */
    this.width = 1;
    this.height = 1;
    this.rows = 1;
    this.columns = 1;
    /** Of one cell, and of the smallest that can be drawn. */
    this.size = 1;
    this.least = 0;
    /** The first column and row in sight, with fractions. */
    this.x = 0;
    this.y = 0;
  }

  /** The size at which everything is in sight, or as much as can be drawn. */
  fitting() {
    const size = Math.min(this.width / this.columns, this.height / this.rows, COMFORTABLE);
    return Math.max(size, this.least);
  }

  /** Whether cells are as large as they need be with everything in sight. */
  comfortable() {
    return this.fitting() === COMFORTABLE;
  }

  whole() {
    return this.size <= this.fitting() * 1.001;
  }

  fit() {
    this.size = this.fitting();
    this.x = this.y = 0;
  }

  /** Cells `factor` times as large; the point stays where it is. */
  zoom(/** @type {number} */ factor, /** @type {number} */ px, /** @type {number} */ py) {
    const size = Math.min(Math.max(this.size * factor, this.fitting()), Math.max(LARGEST, this.size));
    const [fromX, fromY] = [px - this.left, py - this.top];
    this.x += fromX / this.size - fromX / size;
    this.y += fromY / this.size - fromY / size;
    this.size = size;
    this.hold();
  }

  pan(/** @type {number} */ dx, /** @type {number} */ dy) {
    this.x -= dx / this.size;
    this.y -= dy / this.size;
    this.hold();
  }

  /** Moves no further than needed so that a cell is in sight. */
  reveal(/** @type {number} */ row, /** @type {number} */ column) {
    const [across, down] = [this.width / this.size, this.height / this.size];
    if (column < this.x) this.x = column;
    else if (column + 1 > this.x + across) this.x = column + 1 - across;
    if (row < this.y) this.y = row;
    else if (row + 1 > this.y + down) this.y = row + 1 - down;
    this.hold();
  }

  /** The cell under a point, or null. */
  cellAt(/** @type {number} */ px, /** @type {number} */ py) {
    if (px < this.left || py < this.top) return null;
    const column = Math.floor(this.x + (px - this.left) / this.size);
    const row = Math.floor(this.y + (py - this.top) / this.size);
    return row < this.rows && column < this.columns ? { row, column } : null;
  }

  /** Whether the middle of a cell is in sight. */
  shows(/** @type {number} */ row, /** @type {number} */ column) {
    const [right, down] = [column + 0.5 - this.x, row + 0.5 - this.y];
    return Math.min(right, down) >= 0 && right * this.size <= this.width && down * this.size <= this.height;
  }

  /** Rows (or columns) that are at least partly in sight: the first, and one past the last. */
  rowsInSight() {
    return inSight(this.y, this.height / this.size, this.rows);
  }

  columnsInSight() {
    return inSight(this.x, this.width / this.size, this.columns);
  }

  /** Where a column begins, where a row begins. */
  columnAt(/** @type {number} */ column) {
    return this.left + (column - this.x) * this.size;
  }

  rowAt(/** @type {number} */ row) {
    return this.top + (row - this.y) * this.size;
  }

  hold() {
    this.x = Math.max(0, Math.min(this.x, this.columns - this.width / this.size));
    this.y = Math.max(0, Math.min(this.y, this.rows - this.height / this.size));
  }
}

function inSight(/** @type {number} */ from, /** @type {number} */ count, /** @type {number} */ all) {
  return /** @type {[number, number]} */ ([Math.floor(from), Math.min(all, Math.ceil(from + count))]);
}
