// @ts-check

/** @typedef {import("./types.js").App} App */

export function mountKeyboard(/** @type {HTMLElement} */ _main, /** @type {App} */ _app) {}
