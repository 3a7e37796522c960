// @ts-check
/** Scaled dot-product attention as the paper draws it; each box opens its step. */

import { el } from "../drawing/dom.js";

/** @typedef {import("./steprow.js").StepRow} StepRow */
/** @typedef {0 | 1 | 2 | 3 | 4} StepNumber */

export const STEP_NAMES = ["Project", "MatMul", "Scale", "Softmax", "MatMul"];

const WHAT = ["x · W", "q · k", "", "e^s ÷ sum", "weights · V"];
const INTO = ["X", "Q K", "", "", "V"];

export class Diagram {
  constructor(/** @type {(step: StepNumber) => void} */ open) {
    this.open = open;
    this.root = el("div", {
      class: "diagram",
      role: "tablist",
      "aria-label": "The four steps",
      onkeydown: (event) => this.moved(/** @type {KeyboardEvent} */ (event)),
    });
    /** @type {StepNumber[]} */
    this.steps = [];
    /** @type {HTMLButtonElement[]} */
    this.tabs = [];
  }

  /** Draws the boxes that a row has. */
  show(/** @type {StepRow} */ row, /** @type {StepNumber} */ step) {
    this.steps = row.steps.projection ? [0, 1, 2, 3, 4] : [1, 2, 3, 4];
    this.root.classList.toggle("five", this.steps.length > 4);
    const focused = this.tabs.some((tab) => tab === document.activeElement);
    this.tabs = this.steps.map((each) => this.tab(row, each, each === step));
    const stages = this.tabs.map((tab, at) => {
      const into = INTO[this.steps[at]];
      return el(
        "div",
        { class: "stage", role: "presentation" },
        el("span", { class: "into", "aria-hidden": "true" }, into && el("span", {}, into)),
        tab,
      );
    });
    this.root.replaceChildren(
      ...stages,
      el("span", { class: "result", "aria-hidden": "true" }, "Z"),
    );
    if (focused) this.tabs[this.steps.indexOf(step)]?.focus();
  }

  tab(
    /** @type {StepRow} */ row,
    /** @type {StepNumber} */ step,
    /** @type {boolean} */ chosen,
  ) {
    return el(
      "button",
      {
        type: "button",
        role: "tab",
        class: "step",
        id: `regard-tab-${step}`,
        "aria-controls": `regard-step-${step}`,
        "aria-selected": String(chosen),
        tabindex: chosen ? 0 : -1,
        onclick: () => this.open(step),
      },
      step > 0 && el("span", { class: "place" }, `${step} `),
      boxes(row, step).map(([name, what]) =>
        el("span", { class: "box" }, el("b", {}, name), " ", what && el("small", {}, what)),
      ),
    );
  }

  moved(/** @type {KeyboardEvent} */ event) {
    const at = this.tabs.findIndex((tab) => tab === event.target);
    if (at < 0) return;
    const last = this.tabs.length - 1;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.max(0, Math.min(last, to));
    this.tabs[next].focus();
    this.open(this.steps[next]);
  }
}

/** The boxes of a step: one, and in step 2 those of softcap, bias and mask where they act. */
function boxes(/** @type {StepRow} */ row, /** @type {StepNumber} */ step) {
  const what = step === 2 ? row.scaling().split(" = ")[0] : WHAT[step];
  const found = [[STEP_NAMES[step], what]];
  if (step !== 2) return found;
  if (row.steps.softcap !== null) found.push(["Softcap", `± ${row.steps.softcap}`]);
  if (row.biased) found.push(["Bias", ""]);
  if (row.unseen.length) found.push(["Mask", ""]);
  return found;
}
