// @ts-check

/** @typedef {import("./types.js").App} App */

export function mountSwitches(/** @type {HTMLElement} */ _root, /** @type {App} */ _app) {
  return false;
}
