// @ts-check
/** The lines between the two columns: curves, as thick as their numbers, the strongest on top. */

import { svg } from "../drawing/dom.js";
import { LEAST_VALUE } from "./partners.js";

/**
 * @typedef {import("../data/types.js").App} App
 * @typedef {import("./partners.js").Partner} Partner
 * @typedef {import("./partners.js").Partners} Partners
 */

/** Pixels of a line of 1.00. */
const THICKEST = 12;
/** Lines of one word that lead out of view. */
const LEADING_OUT = 8;

/**
 * Draws the lines of all words shown that touch the rows in the document.
 * @param {SVGSVGElement} into between the columns; its top is moved to the first row
 * @param {App} app
 * @param {(Partners | null)[]} all
 * @param {{first: number, last: number}} span rows in the document
 * @param {number} rowHeight
 */
export function drawLines(into, app, all, span, rowHeight) {
  const state = app.store.get();
  const height = Math.max(span.last - span.first + 1, 0) * rowHeight;
  const width = into.clientWidth || 1;
  into.style.setProperty("top", `${span.first * rowHeight}px`);
  into.style.setProperty("height", `${height}px`);
  into.setAttribute("viewBox", `0 0 ${width} ${Math.max(height, 1)}`);
  const reads = state.direction === "reads";
  /** @type {{size: number, path: SVGPathElement}[]} */
  const drawn = [];
  all.forEach((of, place) => {
    if (!of) return;
    for (const partner of inReach(of, span)) {
      const [from, to] = reads ? [of.unit, partner.unit] : [partner.unit, of.unit];
      const path = svg("path", {
        "data-from": from,
        "data-to": to,
        "data-weight": partner.weight,
        class: `line ink-${place + 1}${partner.value < 0 ? " negative" : ""}`,
        d: curveBetween(heightOf(from, span, rowHeight), heightOf(to, span, rowHeight), width),
      });
      const size = Math.min(Math.abs(partner.value), 1);
      path.style.setProperty("stroke-width", `${Math.max(size * THICKEST, 0.75).toFixed(2)}px`);
      path.style.setProperty("stroke-opacity", (0.4 + 0.5 * size).toFixed(2));
      drawn.push({ size, path });
    }
  });
  drawn.sort((a, b) => a.size - b.size);
  into.replaceChildren(...drawn.map(({ path }) => path));
}

/** The partners to which a line is drawn: those in the document, and the strongest elsewhere. */
function inReach(/** @type {Partners} */ of, /** @type {{first: number, last: number}} */ span) {
  const own = outside(of.unit, span);
  let out = 0;
  return of.strongest.filter((partner) => {
    if (Math.abs(partner.value) < LEAST_VALUE) return false;
    const there = outside(partner.unit, span);
    if (there !== 0 && own === there) return false;
    return (there === 0 && own === 0) || ++out <= LEADING_OUT;
  });
}

/** −1 above the rows in the document, 1 below them, 0 among them. */
function outside(/** @type {number} */ unit, /** @type {{first: number, last: number}} */ span) {
  if (unit < span.first) return -1;
  return unit > span.last ? 1 : 0;
}

/** Where a line ends: at its word, or just outside where that is out of view. */
function heightOf(
  /** @type {number} */ unit,
  /** @type {{first: number, last: number}} */ span,
  /** @type {number} */ rowHeight,
) {
  const row = Math.min(Math.max(unit - span.first, -2), span.last - span.first + 2);
  return (row + 0.5) * rowHeight;
}

function curveBetween(
  /** @type {number} */ from,
  /** @type {number} */ to,
  /** @type {number} */ width,
) {
  const [near, far] = [(width * 0.4).toFixed(1), (width * 0.6).toFixed(1)];
  return `M0 ${from} C${near} ${from} ${far} ${to} ${width} ${to}`;
}
