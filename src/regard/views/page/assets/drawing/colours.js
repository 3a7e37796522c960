// @ts-check
/**
 * From numbers to colours. Scales are even in lightness (OKLab), start at the colour of the paper
 * and go to blue; below zero to red, which colour-blind eyes tell apart as well.
 */

import { el } from "./dom.js";
import { fixed, fraction } from "../data/numbers.js";

/** @typedef {[number, number, number]} Triple */
/** @typedef {[mark: "unseen" | "unknown" | "absent" | "positional", text: string]} LegendMark */
/** @typedef {{css: string[], ink: string[], packed: Uint32Array}} Ramp */

const STEPS = 256;
/** On a logarithmic scale everything below this is drawn as nothing. */
const LEAST = 1e-4;

/** The colours of the page as it looks now. */
export class Palette {
  constructor(/** @type {Element} */ root) {
    const style = getComputedStyle(root);
    const named = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
    this.paper = named("paper");
    this.sheet = named("sheet");
    this.ink = named("ink");
    this.quiet = named("quiet");
    this.rule = named("rule");
    this.control = named("control");
    this.focus = named("focus");
    this.chosen = named("chosen");
    this.above = ramp([this.sheet, named("weight-soft"), named("weight"), named("deep")]);
    /** Of single pixels, where there is no room for hatching and dots. */
    this.unseen = mixed(this.paper, this.control, 0.4);
    this.unknown = pixel(toRgb(this.rule));
    this.below = ramp([this.sheet, named("negative"), named("deep-negative")]);
  }

  /** What fills cells that may not be seen. */
  hatch(/** @type {CanvasRenderingContext2D} */ context, /** @type {number} */ ratio) {
    return pattern(context, ratio, 6, this.paper, (tile, size) => {
      tile.strokeStyle = this.control;
      tile.lineWidth = ratio;
      tile.beginPath();
      for (const start of [-size, 0, size]) {
        tile.moveTo(start - ratio, size + ratio);
        tile.lineTo(start + size + ratio, -ratio);
      }
      tile.stroke();
    });
  }

  /** What fills cells whose weight is not known. */
  dots(/** @type {CanvasRenderingContext2D} */ context, /** @type {number} */ ratio) {
    return pattern(context, ratio, 5, this.rule, (tile, size) => {
      tile.fillStyle = this.control;
      tile.beginPath();
      tile.arc(size / 2, size / 2, 0.8 * ratio, 0, 2 * Math.PI);
      tile.fill();
    });
  }
}

const DARK = matchMedia("(prefers-color-scheme: dark)");
/** @type {{dark: boolean, palette: Palette} | null} */
let current = null;

/** The palette of the scheme that holds now. */
export function palette() {
  if (current?.dark !== DARK.matches) {
    current = { dark: DARK.matches, palette: new Palette(document.documentElement) };
  }
  return current.palette;
}

/**
 * Everything that `draw` paints has the colours of `root`, whatever the scheme that holds.
 * @template T
 * @param {Element} root
 * @param {() => T} draw
 * @returns {T}
 */
export function paintedAs(root, draw) {
  const before = current;
  current = { dark: DARK.matches, palette: new Palette(root) };
  try {
    return draw();
  } finally {
    current = before;
  }
}

/** Calls back when the page turns dark or light: what is painted must be painted again. */
export function onScheme(/** @type {() => void} */ redraw) {
  DARK.addEventListener("change", redraw);
}

/** Where numbers of one kind lie between nothing and `top`, and which colour that is. */
export class Scale {
  /**
   * @param {object} how
   * @param {boolean} [how.signed] whether there are numbers below zero, to −top
   * @param {boolean} [how.log] four powers of ten below `top` instead of even steps
   * @param {number} [how.top] the value of the strongest colour
   * @param {boolean} [how.nats] whether it counts nats, not fractions of 1
   */
  constructor({ signed = false, log = false, top = 1, nats = false }) {
    this.signed = signed;
    this.log = log;
    this.top = top;
    this.nats = nats;
    const { above, below } = palette();
    this.above = above;
    this.below = signed ? below : above;
  }

  /** 0 to 255: how strong the colour of a number is, whatever its sign. */
  step(/** @type {number} */ value) {
    const size = Math.min(1, Math.abs(value) / this.top);
    const part = this.log ? Math.max(0, 1 - Math.log10(size) / Math.log10(LEAST)) : size;
    return Math.round((STEPS - 1) * part);
  }

  ramp(/** @type {number} */ value) {
    return value < 0 ? this.below : this.above;
  }

  colour(/** @type {number} */ value) {
    return this.ramp(value).css[this.step(value)];
  }

  /** The colour as one number, for the pixels of an image. */
  packed(/** @type {number} */ value) {
    return this.ramp(value).packed[this.step(value)];
  }

  /** Black or white, whichever is read better on the colour of a number. */
  ink(/** @type {number} */ value) {
    return this.ramp(value).ink[this.step(value)];
  }

  text(/** @type {number} */ value, /** @type {boolean} */ bound = false) {
    return this.nats ? fixed(value, 2) : fraction(value, bound);
  }

  /** Values to be named on a legend, each with its place from 0 to 1. */
  ticks() {
    const sizes = this.log ? [1e-4, 1e-3, 0.01, 0.1, 1] : [0, 0.5, 1];
    const above = sizes.map((size) => ({ value: size * this.top, at: this.log ? this.step(size * this.top) / (STEPS - 1) : size }));
    if (!this.signed) return above;
    const both = above.map(({ value, at }) => ({ value, at: (1 + at) / 2 }));
    const below = above.slice(1).map(({ value, at }) => ({ value: -value, at: (1 - at) / 2 }));
    return [...below.reverse(), ...both];
  }
}

/** What colours mean: a strip with its numbers, then `marks` (see colours.css) with their words. */
export function legend(
  /** @type {Scale} */ scale,
  /** @type {string} */ name,
  /** @type {LegendMark[]} */ marks,
) {
  const strip = el("span", { class: "strip", role: "img", "aria-label": spokenScale(scale, name) });
  strip.style.setProperty("background", `linear-gradient(to right, ${gradient(scale).join()})`);
  const ticks = scale.ticks().map(({ value, at }) => {
    const tick = el("span", { class: "tick number" }, tickText(scale, value));
    tick.style.setProperty("inset-inline-start", `${100 * at}%`);
    return tick;
  });
  return el(
    "div",
    { class: "legend quiet" },
    el("span", {}, name),
    el("span", { class: "scale" }, strip, el("span", { class: "ticks", "aria-hidden": "true" }, ...ticks)),
    ...marks.map(([mark, text]) =>
      el("span", { class: "mark" }, el("span", { class: `swatch ${mark}` }), text),
    ),
  );
}

function spokenScale(/** @type {Scale} */ scale, /** @type {string} */ name) {
  const [first, last] = [scale.ticks()[0], scale.ticks().at(-1)];
  return `${name}: from ${tickText(scale, first.value)} to ${tickText(scale, last?.value ?? 1)}`;
}

function tickText(/** @type {Scale} */ scale, /** @type {number} */ value) {
  if (value === 0) return "0";
  if (scale.nats) return fixed(value, 1);
  return Math.abs(value) < 0.01 ? fraction(value, false, value < 0.001 ? 4 : 3) : fraction(value);
}

function gradient(/** @type {Scale} */ scale) {
  const up = [0, 32, 64, 96, 128, 160, 192, 224, 255].map((step) => scale.above.css[step]);
  if (!scale.signed) return up;
  const down = [255, 192, 128, 64].map((step) => scale.below.css[step]);
  return [...down, ...up.filter((_, place) => place % 2 === 0)];
}

/** 256 colours through the stops, equal steps in lightness. */
function ramp(/** @type {string[]} */ stops) {
  const points = stops.map((stop) => toLab(toRgb(stop)));
  const [from, to] = [points[0][0], points[points.length - 1][0]];
  /** @type {Ramp} */
  const made = { css: [], ink: [], packed: new Uint32Array(STEPS) };
  for (let step = 0; step < STEPS; step++) {
    const light = from + ((to - from) * step) / (STEPS - 1);
    const [red, green, blue] = fromLab(between(points, light));
    made.css.push(`rgb(${red} ${green} ${blue})`);
    made.ink.push(luminance([red, green, blue]) > 0.18 ? "#000" : "#fff");
    made.packed[step] = pixel([red, green, blue]);
  }
  return made;
}

/** The point of that lightness on the way through the points. */
function between(/** @type {Triple[]} */ points, /** @type {number} */ light) {
  let after = 1;
  const falls = points[0][0] > points[1][0];
  while (after < points.length - 1 && points[after][0] > light === falls) after++;
  const [a, b] = [points[after - 1], points[after]];
  const part = (light - a[0]) / (b[0] - a[0]);
  return /** @type {Triple} */ (a.map((value, axis) => value + part * (b[axis] - value)));
}

/** A colour between two, as a pixel. */
function mixed(/** @type {string} */ one, /** @type {string} */ other, /** @type {number} */ part) {
  const [from, to] = [toRgb(one), toRgb(other)];
  const bytes = from.map((byte, at) => Math.round(byte + part * (to[at] - byte)));
  return pixel(/** @type {Triple} */ (bytes));
}

/** Opaque, in the order of bytes of an image. */
function pixel(/** @type {Triple} */ [red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** #rrggbb as three numbers, 0 to 255. Only such colours stand in page.css. */
function toRgb(/** @type {string} */ hex) {
  return /** @type {Triple} */ ([1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
}

function toLinear(/** @type {number} */ byte) {
  const part = byte / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

function toByte(/** @type {number} */ linear) {
  const part = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
  return Math.round(255 * Math.min(1, Math.max(0, part)));
}

function luminance(/** @type {Triple} */ rgb) {
  const [red, green, blue] = rgb.map(toLinear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** @returns {Triple} OKLab (Ottosson 2020): lightness 0 to 1, two axes of colour */
function toLab(/** @type {Triple} */ rgb) {
  const [r, g, b] = rgb.map(toLinear);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** @returns {Triple} bytes */
function fromLab(/** @type {Triple} */ [light, a, b]) {
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    toByte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    toByte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    toByte(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

function pattern(
  /** @type {CanvasRenderingContext2D} */ context,
  /** @type {number} */ ratio,
  /** @type {number} */ width,
  /** @type {string} */ ground,
  /** @type {(tile: CanvasRenderingContext2D, size: number) => void} */ draw,
) {
  const size = Math.round(width * ratio);
  const canvas = el("canvas", { width: size, height: size });
  const tile = canvas.getContext("2d");
  if (!tile) return ground;
  tile.fillStyle = ground;
  tile.fillRect(0, 0, size, size);
  draw(tile, size);
  return context.createPattern(canvas, "repeat") ?? ground;
}
