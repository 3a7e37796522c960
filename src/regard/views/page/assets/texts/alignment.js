// @ts-check
/** Two texts word by word: which word of one stands where a word of the other does. */

/** @typedef {[a: number | null, b: number | null]} Pair null: the other text has no such word */

/** Pairs of words that are compared one by one; past that only both ends of the texts are. */
const MOST_PAIRS = 1_000_000;

/** Every word of both texts once, in order; equal words in pairs, as many as can be. */
export function aligned(/** @type {string[]} */ a, /** @type {string[]} */ b) {
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  let end = 0;
  const most = Math.min(a.length, b.length) - start;
  while (end < most && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  /** @type {Pair[]} */
  const pairs = [];
  for (let at = 0; at < start; at++) pairs.push([at, at]);
  pairs.push(...alignedMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end), start));
  for (let left = end; left > 0; left--) pairs.push([a.length - left, b.length - left]);
  return pairs;
}

/** What lies between the parts that are equal in both. @returns {Pair[]} */
function alignedMiddle(/** @type {string[]} */ a, /** @type {string[]} */ b, /** @type {number} */ offset) {
  if (a.length * b.length > MOST_PAIRS) {
    return beside(a.length, b.length).map(([i, j]) => shifted(i, j, offset));
  }
  const common = commonLengths(a, b);
  const width = b.length + 1;
  /** @type {Pair[]} */
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) pairs.push(shifted(i++, j++, offset));
    else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) pairs.push(shifted(i++, null, offset));
    else pairs.push(shifted(null, j++, offset));
  }
  while (i < a.length) pairs.push(shifted(i++, null, offset));
  while (j < b.length) pairs.push(shifted(null, j++, offset));
  return besideEachOther(pairs);
}

/** How many words the rests of both texts have in common, from each place on. */
function commonLengths(/** @type {string[]} */ a, /** @type {string[]} */ b) {
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const at = i * width + j;
      common[at] = a[i] === b[j] ? common[at + width + 1] + 1 : Math.max(common[at + width], common[at + 1]);
    }
  }
  return common;
}

/** Words that only one text has, and words that only the other has there, side by side. */
function besideEachOther(/** @type {Pair[]} */ pairs) {
  /** @type {Pair[]} */
  const found = [];
  let [inA, inB] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  const flush = () => {
    for (const [i, j] of beside(inA.length, inB.length)) {
      found.push([i === null ? null : inA[i], j === null ? null : inB[j]]);
    }
    [inA, inB] = [[], []];
  };
  for (const [i, j] of pairs) {
    if (i !== null && j !== null) {
      flush();
      found.push([i, j]);
    } else if (i !== null) inA.push(i);
    else if (j !== null) inB.push(j);
  }
  flush();
  return found;
}

/** @returns {Pair[]} */
function beside(/** @type {number} */ a, /** @type {number} */ b) {
  return Array.from({ length: Math.max(a, b) }, (_, at) => [at < a ? at : null, at < b ? at : null]);
}

/** @returns {Pair} */
function shifted(/** @type {number | null} */ i, /** @type {number | null} */ j, /** @type {number} */ by) {
  return [i === null ? null : i + by, j === null ? null : j + by];
}
