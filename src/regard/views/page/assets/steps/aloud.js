// @ts-check
/** The current step of a row in one or two sentences. */

import { part, quoted } from "./steprow.js";

/** @typedef {import("./steprow.js").StepRow} StepRow */
/** @typedef {import("./steprow.js").KeyNumber} KeyNumber */

const NAMED = 3;
const FAR_APART = 0.1;

/** What a step says of a row. */
export function aloud(/** @type {StepRow} */ row, /** @type {number} */ step) {
  if (step === 0) return saidProjection(row);
  if (step === 1) return saidScores(row);
  if (step === 2) return saidScaling(row);
  return step === 3 ? saidWeights(row) : saidResult(row);
}

function saidProjection(/** @type {StepRow} */ row) {
  return (
    `The same row x of ${quoted(row.reader)} is multiplied with three matrices: its query asks, ` +
    "its key is what others find it by, its value is what it hands over."
  );
}

function saidScores(/** @type {StepRow} */ row) {
  const me = quoted(row.reader);
  if (!row.seen.length) return `${me} may see nothing: it is compared with no ${row.unit}.`;
  const scores = row.seen.map((place) => row.number("score", place));
  if (scores.some(Number.isNaN)) {
    return `The scores of ${me} hold NaN, so there is no best match in its row.`;
  }
  const [first] = row.seen;
  if (row.seen.length === 1) {
    return `${me} may see only ${called(row, first)}; their score is ${row.text("score", first)}.`;
  }
  const among = row.unseen.length ? `Among the ${row.unit}s it may see, ` : "";
  const top = scores.reduce((most, score) => Math.max(most, score));
  const ranked = [...row.seen].sort((a, b) => row.number("score", b) - row.number("score", a));
  const best = ranked.filter((place) => row.number("score", place) === top);
  const number = row.text("score", best[0]);
  if (best.length === ranked.length) {
    return `${among}${me} matches every ${row.unit} equally well: ${number} each.`;
  }
  const rest = ranked.slice(best.length);
  const against = rest
    .slice(0, NAMED)
    .map((place) => `${row.text("score", place)} for ${called(row, place)}`);
  const more = rest.length > NAMED ? `, and no higher for ${rest.length - NAMED} more` : "";
  const how = best.length === 1 ? `best: ${number}` : `best, all equally: ${number} each`;
  const names = best.slice(0, NAMED).map((place) => called(row, place));
  if (best.length > NAMED) names.push(`${best.length - NAMED} more`);
  return `${among}${me} matches ${inList(names)} ${how}, against ${inList(against)}${more}.`;
}

function saidScaling(/** @type {StepRow} */ row) {
  const { dim, scale } = row.steps;
  const how = row.usual
    ? `Every score is divided by √${dim} = ${row.root()}`
    : `Every score is multiplied by ${Number(scale.toPrecision(6))}`;
  const top = row.byWeight[0];
  if (top === undefined) return `${how}; ${quoted(row.reader)} may see none of them.`;
  const example = `that of ${quoted(row.names[top])} goes from ${row.text("score", top)} to ${row.text("scaled", top)}`;
  const hidden = row.unseen.length
    ? ` ${row.unseen.length === 1 ? `One ${row.unit}` : `${row.unseen.length} ${row.unit}s`} may not be seen: ` +
      "no score at all, which is not a 0."
    : "";
  return `${how}: ${example}.${hidden}`;
}

function saidWeights(/** @type {StepRow} */ row) {
  const me = quoted(row.reader);
  if (!row.seen.length) return `${me} gives no weight to any ${row.unit}, since it may see none.`;
  if (row.seen.some((place) => Number.isNaN(row.number("weight", place)))) {
    return `The weights of ${me} are NaN: its scores left no number to divide by.`;
  }
  if (row.seen.length === 1 && row.view.sink === null) {
    const only = called(row, row.seen[0]);
    return `${me} gives all of its weight to ${only}, the only ${row.unit} that it may see.`;
  }
  const sink = row.view.sink;
  const after =
    sink === null
      ? ""
      : ` The sink takes ${amount(sink / row.view.sum)}, and the ${row.unit}s share what is left.`;
  return `${me} gives ${parts(row, "weight", " of its weight to ", " to ")}.${after}`;
}

function saidResult(/** @type {StepRow} */ row) {
  const me = quoted(row.reader);
  const z = row.view.output;
  if (!z) return "Step 4, × V, needs the value vectors, which were not given.";
  if (!row.seen.length) return `z(${me}) is zero: ${me} sees nothing to add up.`;
  const numbers = Array.from(z);
  if (!numbers.every(Number.isFinite)) {
    return `z(${me}) holds ${numbers.some(Number.isNaN) ? "NaN" : "an infinity"}.`;
  }
  const terms = row.byWeight
    .slice(0, NAMED)
    .map((place) => `${amount(row.number("weight", place))} of v(${quoted(row.names[place])})`);
  const left = row.byWeight.length - NAMED;
  if (left > 0) terms.push(`${left} more term${left > 1 ? "s" : ""}`);
  const added = `z(${me}) is ${terms.length > 1 ? "the sum of " : ""}${inList(terms)}.`;
  return numbers.some(Boolean) ? added + remark(row) : `${added} It is exactly zero.`;
}

/** The key whose weight and share of the result differ most, if by much. */
function remark(/** @type {StepRow} */ row) {
  if (!row.steps.share || row.seen.length < 2) return "";
  const gap = (/** @type {number} */ place) =>
    Math.abs(row.number("share", place) - row.number("weight", place));
  const far = row.seen.reduce((most, place) => (gap(place) > gap(most) ? place : most));
  if (!(gap(far) >= FAR_APART)) return "";
  return (
    ` Weight is not part: ${quoted(row.names[far])} has ${row.text("weight", far)} of the weight ` +
    `and ${row.text("share", far)} of the result.`
  );
}

function parts(
  /** @type {StepRow} */ row,
  /** @type {KeyNumber} */ name,
  /** @type {string} */ first,
  /** @type {string} */ then,
) {
  const said = row.byWeight
    .slice(0, NAMED)
    .map(
      (place, at) =>
        `${amount(row.number(name, place))}${at ? then : first}${called(row, place)}`,
    );
  const left = row.byWeight.slice(NAMED);
  if (left.length) {
    const rest = left.reduce((sum, place) => sum + row.number(name, place), 0);
    const others = left.length === 1 ? `one more ${row.unit}` : `${left.length} more ${row.unit}s together`;
    said.push(`${amount(rest)}${then}${others}`);
  }
  return inList(said);
}

/** A fraction whose decimals would say 0 or 1 although it is neither, in words. */
function amount(/** @type {number} */ value) {
  const text = part(value);
  if (text === ".000" && value !== 0) return "less than .001";
  return text === "1.000" && value < 1 ? "more than .999" : text;
}

function called(/** @type {StepRow} */ row, /** @type {number} */ place) {
  return place === row.self ? "itself" : quoted(row.names[place]);
}

/** "a, b and c" */
function inList(/** @type {string[]} */ texts) {
  if (texts.length < 2) return texts.join("");
  return `${texts.slice(0, -1).join(", ")} and ${texts[texts.length - 1]}`;
}
