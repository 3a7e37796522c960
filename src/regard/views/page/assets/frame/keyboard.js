// @ts-check
/** Keys that work everywhere on the page, and the list of all keys. */

import { el } from "../drawing/dom.js";
import { letGo, nextPartner, stepHead } from "../sentence/pointing.js";

/** @typedef {import("../data/types.js").App} App */

/** @type {[keys: string, does: string][]} */
const KEY_LIST = [
  ["Tab", "from one part of the page to the next"],
  ["↑ ↓", "the word above, below; Page Up, Page Down, Home, End go further"],
  ["← →", "from one column to the other; in running text, to the next word"],
  ["Enter", "hold the word, or let it go; with Shift, add it to those held"],
  ["Esc", "let every word go"],
  ["[ ]", "the head before, the head after"],
  ["p", "to the next strongest partner"],
  ["/", "find a word; there, Enter and Shift+Enter go to the next and the one before"],
  ["?", "this list"],
];

export function mountKeyboard(/** @type {HTMLElement} */ main, /** @type {App} */ app) {
  const single = el("input", { type: "checkbox", name: "keys", checked: true });
  const dialog = keysDialog(single);
  const open = el(
    "button",
    { type: "button", class: "keys-open", onclick: () => dialog.showModal() },
    "Keys",
  );
  main.querySelector("header")?.append(open);
  main.append(dialog);
  /** @type {Record<string, () => void>} */
  const does = {
    "[": () => stepHead(app, -1),
    "]": () => stepHead(app, 1),
    p: () => nextPartner(app),
    "/": () => focusSearch(main),
    "?": () => dialog.showModal(),
  };
  main.ownerDocument.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (dialog.open || takesText(event.target)) return;
    if (event.key === "Escape") {
      letGo(app);
    } else if (single.checked && event.key in does) {
      event.preventDefault();
      does[event.key]();
    }
  });
}

function keysDialog(/** @type {HTMLInputElement} */ single) {
  /** @type {HTMLDialogElement} */
  const dialog = el(
    "dialog",
    { class: "keys-list", "aria-labelledby": "regard-keys" },
    el("h2", { id: "regard-keys" }, "Keys"),
    el(
      "dl",
      {},
      ...KEY_LIST.flatMap(([keys, does]) => [
        el("dt", {}, el("kbd", {}, keys)),
        el("dd", {}, does),
      ]),
    ),
    el("p", {}, el("label", { class: "check" }, single, "[ ] p / ? work as keys of their own")),
    el("button", { type: "button", onclick: () => dialog.close() }, "Close"),
  );
  return dialog;
}

function focusSearch(/** @type {HTMLElement} */ main) {
  /** @type {HTMLInputElement | null} */
  const field = main.querySelector("input[name=search]");
  field?.focus();
  field?.select();
}

/** Whether an element takes what is typed as text. */
function takesText(/** @type {EventTarget | null} */ target) {
  if (target instanceof HTMLInputElement)
    return !["radio", "checkbox", "button"].includes(target.type);
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("textarea, select"))
  );
}
