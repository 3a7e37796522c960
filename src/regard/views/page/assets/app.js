// @ts-check
/** Decodes the data, builds the views, and keeps them and the reader of the page together. */

import { Book } from "./data/book.js";
import { mountBooks } from "./texts/books.js";
import { decoded } from "./data/data.js";
import { el } from "./drawing/dom.js";
import { mountExport } from "./export/export.js";
import { mountGeneration } from "./texts/generation.js";
import { mountHeads } from "./heads/heads.js";
import { mountKeyboard } from "./frame/keyboard.js";
import { mountListing } from "./listing/listing.js";
import { mountMatrix } from "./matrix/matrix.js";
import { mountPlan } from "./frame/plan.js";
import { mountSentence } from "./sentence/sentence.js";
import { mountSteps } from "./steps/steps.js";
import { mountSwitches } from "./frame/switches.js";
import { mountVersus } from "./texts/versus.js";
import { Store } from "./data/state.js";

/** @typedef {import("./data/types.js").App} App */
/** @typedef {import("./data/types.js").PageData} PageData */
/** @typedef {import("./data/types.js").State} State */

/** The views in the order in which they stand: name, title, what builds it. */
const VIEWS = /** @type {const} */ ([
  ["books", "Which attention", mountBooks],
  ["versus", "Two texts", mountVersus],
  ["generation", "What the model wrote", mountGeneration],
  ["switches", "How it is shown", mountSwitches],
  ["sentence", "Who reads whom", mountSentence],
  ["listing", "One word", mountListing],
  ["heads", "Heads", mountHeads],
  ["steps", "The four steps", mountSteps],
  ["matrix", "One head, every word", mountMatrix],
  ["export", "Take it with you", mountExport],
  ["plan", "What this page holds", mountPlan],
]);

async function start() {
  const main = document.querySelector("main");
  if (!main) return;
  let page;
  try {
    page = await decoded(document);
  } catch (error) {
    main.prepend(
      el("p", { role: "alert" }, `The picture below is all that can be shown: ${String(error)}`),
    );
    return;
  }
  build(main, page);
  document.documentElement.dataset.ready = "1";
  performance.mark("regard-ready");
}

function build(/** @type {HTMLElement} */ main, /** @type {PageData} */ page) {
  const live = el("p", { "data-live": "", "aria-live": "polite", class: "unseen-text" });
  const books = page.books.map((data) => new Book(data));
  const store = new Store(firstState(page));
  /** @type {App} */
  const app = {
    store,
    page,
    books,
    book: () => books[store.get().book],
    say: (text) => {
      live.textContent = text;
    },
    scroll: { unit: null },
  };
  main.replaceChildren(
    el("header", {}, el("h1", {}, page.title), el("p", { class: "quiet" }, page.subtitle)),
    live,
  );
  for (const [name, title, mount] of inOrder(page)) {
    const body = el("div", { class: "body" });
    const section = el(
      "section",
      { "data-view": name, "aria-labelledby": `regard-${name}` },
      el("h2", { id: `regard-${name}` }, title),
      body,
    );
    main.append(section);
    // a view that has nothing to say of this page takes no room
    if (mount(body, app) === false) section.remove();
  }
  mountKeyboard(main, app);
}

/** The views of this page: the four steps lead where they are what it is of. */
function inOrder(/** @type {PageData} */ page) {
  const views = VIEWS.filter(([name]) => name !== "heads" || page.books.some(hasHeads));
  if (page.start.view !== "steps") return views;
  const leads = (/** @type {string} */ name) => (name === "steps" ? 0 : 1);
  return views.sort(([a], [b]) => leads(a) - leads(b));
}

function hasHeads(/** @type {import("./data/types.js").BookData} */ book) {
  return book.heads.length > 1;
}

/** @returns {State} */
function firstState(/** @type {PageData} */ page) {
  const { book, unit, head, step } = page.start;
  return {
    book,
    level: "words",
    heads: [head ?? 0],
    direction: "reads",
    // pointed at and not held, so that pointing elsewhere answers from the first moment
    pointed: unit,
    locked: [],
    target: null,
    measure: "weight",
    without: false,
    log: false,
    reading: "lift",
    step: step ?? 1,
    search: "",
  };
}

start();
