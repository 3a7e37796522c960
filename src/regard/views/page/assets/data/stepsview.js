// @ts-check
/** The four steps of a row, looked up in the file; what is one product or sum away is filled in. */

/**
 * @typedef {import("./types.js").Arr} Arr
 * @typedef {import("./types.js").StepsOfLayer} StepsOfLayer
 */

/** The four steps of one row: each answers for one key, by its place in `keys`. */
export class StepsView {
  constructor(
    /** @type {StepsOfLayer} */ steps,
    /** @type {number} */ head,
    /** @type {number} */ row,
  ) {
    this.steps = steps;
    const [, readers, keys] = steps.score.shape;
    this.at = (head * readers + row) * keys;
    this.place = head * readers + row;
    this.group = steps.kv.data[head];
    /** Units of the level of tokens. */
    this.keys = steps.keys.data;
    this.largest = steps.largest.data[this.place];
    this.sum = steps.sum.data[this.place];
    this.sink = steps.sink ? steps.sink.data[this.place] : null;
    this.query = vector(steps.query, this.place);
    this.output = vector(steps.output, this.place);
  }

  /** score, scaled, masked, exponential, weight or share of a key; NaN where there is none. */
  number(
    /** @type {"score" | "scaled" | "masked" | "exponential" | "weight" | "share"} */ name,
    /** @type {number} */ key,
  ) {
    return this.steps[name]?.data[this.at + key] ?? NaN;
  }

  key(/** @type {number} */ key) {
    return vector(this.steps.key, this.group * this.keys.length + key);
  }

  value(/** @type {number} */ key) {
    return vector(this.steps.value, this.group * this.keys.length + key);
  }

  /** The products of q·k, largest first: dimension, the two numbers, their product. */
  terms(/** @type {number} */ key) {
    const [query, of] = [this.query, this.key(key)];
    if (!query || !of) return [];
    return [...query]
      .map((number, dim) => ({ dim, query: number, key: of[dim], product: number * of[dim] }))
      .sort((a, b) => sizeOf(b.product) - sizeOf(a.product) || a.dim - b.dim);
  }
}

/** What numbers are ordered by; NaN and the infinite come first, as they decide a sum. */
function sizeOf(/** @type {number} */ number) {
  return Number.isFinite(number) ? Math.abs(number) : Number.MAX_VALUE;
}

/** Fills in what the writer leaves to be multiplied out: score × scale, and Σ weight × value. */
export function complete(/** @type {StepsOfLayer} */ steps) {
  const { score, weight, value } = steps;
  const [heads, readers, keys] = score.shape;
  steps.scaled ??= {
    data: Float64Array.from(score.data, (/** @type {number} */ one) => one * steps.scale),
    shape: score.shape,
  };
  if (steps.output || !value) return;
  const width = value.shape[2];
  const data = new Float64Array(heads * readers * width);
  for (let row = 0; row < heads * readers; row++) {
    const group = steps.kv.data[Math.floor(row / readers)];
    for (let key = 0; key < keys; key++) {
      const part = weight.data[row * keys + key];
      const from = (group * keys + key) * width;
      for (let at = 0; at < width; at++) data[row * width + at] += part * value.data[from + at];
    }
  }
  steps.output = { data, shape: [heads, readers, width] };
}

/** One row of a matrix, or null. */
function vector(/** @type {Arr | null} */ array, /** @type {number} */ row) {
  if (!array) return null;
  const width = array.shape[array.shape.length - 1];
  return array.data.subarray(row * width, (row + 1) * width);
}
