// @ts-check

/** @typedef {import("./types.js").App} App */

export function mountSteps(/** @type {HTMLElement} */ _root, /** @type {App} */ _app) {
  return false;
}
