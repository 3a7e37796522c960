// @ts-check

/** @typedef {import("./types.js").App} App */

export function mountExport(/** @type {HTMLElement} */ _root, /** @type {App} */ _app) {
  return false;
}
