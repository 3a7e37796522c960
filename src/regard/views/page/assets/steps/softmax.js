// @ts-check
/** Step 2: what becomes of the scores before softmax. Step 3: softmax, as bars. */

import { el, word } from "../drawing/dom.js";
import { barColumn, keyTable, numberColumn, rowNumber } from "./keytable.js";
import { part } from "./steprow.js";
import { valueBar } from "./vectors.js";

/** @typedef {import("./steprow.js").StepRow} StepRow */
/** @typedef {import("./keytable.js").Choice} Choice */

/** Score, × scale, and softcap, bias and mask where the row has them. */
export function scalePanel(/** @type {StepRow} */ row, /** @type {Choice} */ choice) {
  const listed = row.listed(choice.allKeys);
  const last = listed.map((place) => row.number("masked", place)).filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...last), Math.max(0, ...last)];
  const scaled = row.scaling();
  const columns = row.changed
    ? [
        numberColumn(row, "scaled", scaled),
        barColumn(row, "masked", afterwards(row), low, high),
      ]
    : [barColumn(row, "scaled", scaled, low, high)];
  return [
    el("p", {}, why(row)),
    softcapNote(row),
    keyTable(row, choice, [numberColumn(row, "score", "q·k"), ...columns], {
      caption: `Scores of ${row.reader}, scaled`,
    }),
  ];
}

/** Which of softcap, bias and mask made the last numbers. */
function afterwards(/** @type {StepRow} */ row) {
  const did = [
    row.steps.softcap !== null && "softcap",
    row.biased && "bias",
    row.unseen.length > 0 && "mask",
  ].filter(Boolean);
  return `after ${did.join(", ")}`;
}

function softcapNote(/** @type {StepRow} */ row) {
  const cap = row.steps.softcap;
  if (cap === null) return null;
  return el(
    "p",
    { class: "quiet" },
    `Softcap: ${cap}·tanh(s ÷ ${cap}), which lets no score grow beyond ±${cap}.`,
  );
}

function why(/** @type {StepRow} */ row) {
  const { dim } = row.steps;
  if (!row.usual) {
    return (
      `Every score is multiplied by this model's scale, ${row.scaling().slice(2)}, in place of the ` +
      `usual 1/√d_k = 1/√${dim}: it sets how sharply softmax will choose.`
    );
  }
  return (
    `Why: where the numbers in q and k are independent, of mean 0 and spread 1, q·k has spread ` +
    `√${dim} = ${row.root()}. Dividing makes it 1 again, whatever d_k is, so that softmax still ` +
    "weighs several words."
  );
}

/** Exponentials and weights, side by side as bars. */
export function softmaxPanel(/** @type {StepRow} */ row, /** @type {Choice} */ choice) {
  if (!row.seen.length && row.view.sink === null) {
    return [
      el(
        "p",
        {},
        word(row.reader),
        " may see nothing: there is no score to weigh. All its weights are 0.",
      ),
    ];
  }
  const { sum, sink } = row.view;
  return [
    Number.isNaN(sum) ? notANumber() : inWords(row),
    keyTable(
      row,
      choice,
      [
        numberColumn(row, "masked", "s"),
        barColumn(row, "exponential", "e^(s − largest)", 0, 1),
        barColumn(row, "weight", `÷ ${part(sum)} = weight`, 0, 1),
      ],
      {
        caption: `Softmax of the row of ${row.reader}`,
        last: sink === null ? [] : [sinkLine(sink, sum)],
      },
    ),
    sinkNote(row),
  ];
}

function sinkLine(/** @type {number} */ sink, /** @type {number} */ sum) {
  const takes = sink / sum;
  return el(
    "tr",
    { class: "sink" },
    el("th", { scope: "row" }, "sink"),
    el("td", {}),
    el("td", { class: "barred" }, valueBar(sink, 0, 1), rowNumber("sink", sink, part(sink))),
    el(
      "td",
      { class: "barred" },
      valueBar(takes, 0, 1),
      rowNumber("sink-weight", takes, part(takes)),
    ),
  );
}

function inWords(/** @type {StepRow} */ row) {
  const { largest, sum, sink } = row.view;
  return el(
    "p",
    {},
    "e^(s − ",
    rowNumber("largest", largest, row.plain("masked", largest)),
    ") makes every number positive and the largest 1",
    sink !== null && " (the sink's score is looked at as well)",
    "; ÷ their sum ",
    rowNumber("sum", sum, part(sum)),
    sink !== null && ", the sink's included,",
    " makes them weights.",
  );
}

function notANumber() {
  return el(
    "p",
    {},
    "A score here is not a number (NaN) or infinite: there is no largest one to subtract and no " +
      "sum to divide by, so the whole row of weights is NaN.",
  );
}

function sinkNote(/** @type {StepRow} */ row) {
  const total = row.seen.reduce((sum, place) => sum + row.number("weight", place), 0);
  if (row.view.sink === null || Number.isNaN(total)) return null;
  return el(
    "p",
    { class: "quiet" },
    `The weights of the words sum to ${part(total)}, not 1: the sink takes weight and gives nothing.`,
  );
}
