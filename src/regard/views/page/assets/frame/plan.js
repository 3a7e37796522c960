// @ts-check
/** What this file holds, what it does not, and where its numbers come from. */

import { el } from "../drawing/dom.js";
import { inBytes } from "../data/numbers.js";

/** @typedef {import("../data/types.js").App} App */

export function mountPlan(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  const { plan, notes } = app.page;
  if (!plan.kept.length && !plan.left.length && !notes.length) return false;
  const size = plan.bytes ? `${inBytes(plan.bytes)} of at most ${inBytes(plan.budget)}` : "";
  root.append(
    el(
      "div",
      { "data-plan": "" },
      el("p", {}, "One file that asks for nothing from outside", size && `: ${size}`, "."),
    textList("In it:", plan.kept),
    plan.left.length > 0 && el("p", {}, "Not in it, with the command that writes a page with it:"),
    plan.left.length > 0 &&
      el(
        "ul",
        { class: "left-out" },
        plan.left.map(({ what, command }) => el("li", {}, `${what}: `, el("code", {}, command))),
      ),
    textList("About the numbers:", notes),
    ),
  );
  return true;
}

function textList(/** @type {string} */ title, /** @type {string[]} */ texts) {
  if (!texts.length) return null;
  return el("div", {}, el("p", {}, title), el("ul", {}, texts.map((text) => el("li", {}, text))));
}
