// @ts-check
/** Numbers as colour: strips for vectors, bars for single numbers. */

import { svg } from "../drawing/dom.js";

/**
 * A vector as a strip: a cell a number, one hue above zero and another below, fainter nearer to
 * it. `largest` is the size that gets the full colour; `marked` is a cell to point out.
 */
export function vectorStrip(
  /** @type {ArrayLike<number>} */ numbers,
  /** @type {number} */ largest,
  /** @type {string} */ label,
  /** @type {number | null} */ marked = null,
) {
  const cells = Array.from(numbers, (value, place) =>
    svg("rect", { x: place, y: 0, width: 1, height: 1, ...cellColour(value, largest) }),
  );
  if (marked !== null && marked < cells.length) {
    cells.push(svg("rect", { class: "marked", x: marked, y: 0, width: 1, height: 1 }));
  }
  return svg(
    "svg",
    {
      class: "strip",
      viewBox: `0 0 ${Math.max(numbers.length, 1)} 1`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": label,
      "data-cells": numbers.length,
    },
    cells,
  );
}

/** A bar from zero, to the right or, below zero, to the left; `low` and `high` are its ends. */
export function valueBar(
  /** @type {number} */ value,
  /** @type {number} */ low,
  /** @type {number} */ high,
) {
  const reach = high - low || 1;
  const zero = (100 * -low) / reach;
  const wide = Number.isFinite(value) ? (100 * Math.abs(value)) / reach : 0;
  return svg(
    "svg",
    { class: "bar", viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", {
      class: value < 0 ? "below" : "above",
      x: value < 0 ? zero - wide : zero,
      y: 0,
      width: wide,
      height: 1,
    }),
    low < 0 && svg("line", { class: "zero", x1: zero, x2: zero, y1: 0, y2: 1 }),
  );
}

/** The largest size among vectors, NaN and infinities apart. */
export function largestSize(/** @type {(ArrayLike<number> | null)[]} */ ...vectors) {
  let most = 0;
  for (const vector of vectors) {
    for (let at = 0; vector && at < vector.length; at++) {
      const size = Math.abs(vector[at]);
      if (size > most && size < Infinity) most = size;
    }
  }
  return most;
}

/** Which cell of a strip a pointer is on; null beside it. */
export function cellAt(/** @type {MouseEvent} */ event) {
  const found = event.target instanceof Element ? event.target.closest("svg.strip") : null;
  if (!found) return null;
  const box = found.getBoundingClientRect();
  const cells = Number(found.getAttribute("data-cells"));
  const cell = Math.floor(((event.clientX - box.left) / box.width) * cells);
  return cell >= 0 && cell < cells ? cell : null;
}

function cellColour(/** @type {number} */ value, /** @type {number} */ largest) {
  if (!Number.isFinite(value)) return { class: "wild" };
  const size = largest ? Math.abs(value) / largest : 0;
  return {
    class: value < 0 ? "below" : "above",
    "fill-opacity": value ? (0.06 + 0.94 * Math.min(size, 1)).toFixed(3) : 0,
  };
}
