// @ts-check

/** @typedef {import("./types.js").App} App */

export function mountListing(/** @type {HTMLElement} */ _root, /** @type {App} */ _app) {
  return false;
}
