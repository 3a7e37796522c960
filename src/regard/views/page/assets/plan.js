// @ts-check

/** @typedef {import("./types.js").App} App */

export function mountPlan(/** @type {HTMLElement} */ _root, /** @type {App} */ _app) {
  return false;
}
