// @ts-check
/** Numbers as the command line prints them, rounded as Python rounds: a tie goes to the even. */

/** A number with that many decimals. */
export function fixed(/** @type {number} */ value, /** @type {number} */ decimals) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "−inf" : "inf";
  let text = Math.abs(value).toFixed(decimals);
  if (isTie(Math.abs(value), decimals) && Number(text.at(-1)) % 2 === 1) {
    // toFixed rounds a tie up; the neighbour below is the even one
    text = (Math.abs(value) - 0.5 / 10 ** decimals).toFixed(decimals);
  }
  return (value < 0 && Number(text) !== 0 ? "−" : "") + text;
}

/** A weight or a share with two decimals: .84, 1.00, −.03; – where there is none. */
export function fraction(
  /** @type {number | null | undefined} */ value,
  /** @type {boolean} */ bound = false,
  /** @type {number} */ decimals = 2,
) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return (bound ? "≥" : "") + fixed(value, decimals).replace(/^(−?)0\./, "$1.");
}

/**
 * How many decimals say all of these numbers: as few as are exact and at most three; null, for
 * three significant digits, where the numbers are very large or very small.
 */
export function decimalsOf(/** @type {ArrayLike<number>} */ numbers) {
  const sizes = Array.from(numbers, Math.abs).filter((size) => Number.isFinite(size) && size > 0);
  const most = sizes.reduce((largest, size) => Math.max(largest, size), 0);
  if (most && (most >= 1e6 || most < 0.01)) return null;
  let decimals = most < 1000 ? 3 : 1;
  const exact = (/** @type {number} */ few) =>
    sizes.every((size) => Math.abs(Number(size.toFixed(few)) - size) <= 1e-9);
  while (decimals && exact(decimals - 1)) decimals--;
  return decimals;
}

/** A number with that many decimals, or with three significant digits: 1.23e+06. */
export function numeral(
  /** @type {number} */ value,
  /** @type {number | null} */ decimals,
) {
  if (decimals !== null || !Number.isFinite(value)) return fixed(value, decimals ?? 0);
  if (!value) return "0";
  const [digits, power] = Math.abs(value).toExponential(2).split("e");
  const plain = Number(power) >= -4 && Number(power) < 3;
  const after = `${power[0]}${power.slice(1).padStart(2, "0")}`;
  const text = plain ? `${Number(`${digits}e${power}`)}` : `${Number(digits)}e${after}`;
  return (value < 0 ? "−" : "") + text;
}

/** A fraction as a whole percentage; <1 % for what is there and rounds to none. */
export function percent(/** @type {number} */ value) {
  return value > 0 && value < 0.005 ? "<1 %" : `${fixed(100 * value, 0)} %`;
}

/** 1 head, 2 heads. */
export function many(/** @type {number} */ count, /** @type {string} */ what) {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}

/** Bytes for people: 0.9 MB, 31 kB. */
export function inBytes(/** @type {number} */ count) {
  return count >= 1e5 ? `${(count / 1e6).toFixed(1)} MB` : `${Math.ceil(count / 1e3)} kB`;
}

/** Whether a number lies exactly between two of that many decimals. */
function isTie(/** @type {number} */ value, /** @type {number} */ decimals) {
  // 2·10^d·x is odd only for few binary fractions; all of them are exact in this product
  const twice = 2 * 10 ** decimals * value;
  return Number.isInteger(twice) && twice % 2 === 1 && twice < 2 ** 40 && isDyadic(value);
}

/** Whether a number has few enough binary places that a product with a power of ten is exact. */
function isDyadic(/** @type {number} */ value) {
  return Number.isInteger(value * 1024);
}
