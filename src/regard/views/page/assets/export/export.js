// @ts-check
/** What is seen, to take along: as SVG, PNG and CSV. */

import { el } from "../drawing/dom.js";
import { matrixPicture } from "./matrixpicture.js";
import { many } from "../data/numbers.js";
import { sentencePicture } from "./picture.js";
import { sheetOf } from "./sheet.js";
import { headsNamed } from "../drawing/wording.js";

/** @typedef {import("../data/types.js").App} App */

/** Pixels of a PNG, at most; twice as many a side as the picture has where that fits. */
const MOST_PIXELS = 2 ** 25;
/** Of the title in the name of a file. */
const NAME_LETTERS = 48;

export function mountExport(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  const said = el("p", { class: "quiet", role: "status" });
  const tell = (/** @type {string} */ text) => (said.textContent = text);
  const offers = /** @type {const} */ ([
    ["svg", "Lines as SVG", () => saveVector(app, tell)],
    ["png", "Lines as PNG", () => saveRaster(app, tell)],
    ["matrix", "Matrix as PNG", () => saveMatrix(app, tell)],
    ["csv", "Numbers as CSV", () => saveSheet(app, tell)],
  ]);
  root.append(
    el(
      "p",
      { class: "quiet" },
      "The chosen words, or all where none is chosen, in the chosen heads; on white.",
    ),
    el(
      "p",
      { class: "offers" },
      offers.map(([name, title, save]) =>
        el("button", { type: "button", "data-export": name, onclick: save }, title),
      ),
    ),
    said,
  );
}

/** @typedef {(text: string) => void} Tell */

function saveVector(/** @type {App} */ app, /** @type {Tell} */ tell) {
  const name = fileName(app, "svg");
  give(new Blob([vectorText(app)], { type: "image/svg+xml" }), name);
  tell(`Saved as ${name}.`);
}

async function saveRaster(/** @type {App} */ app, /** @type {Tell} */ tell) {
  saveImage(await rastered(vectorText(app)), fileName(app, "png"), tell);
}

async function saveMatrix(/** @type {App} */ app, /** @type {Tell} */ tell) {
  const canvas = withLight((_, root) => matrixPicture(app, root));
  saveImage(await pngOf(canvas), fileName(app, "matrix.png"), tell);
}

function saveImage(
  /** @type {Blob | null} */ blob,
  /** @type {string} */ name,
  /** @type {Tell} */ tell,
) {
  if (blob) give(blob, name);
  tell(blob ? `Saved as ${name}.` : "This browser could not draw the picture: SVG may do.");
}

function saveSheet(/** @type {App} */ app, /** @type {Tell} */ tell) {
  const sheet = sheetOf(app);
  const name = fileName(app, "csv");
  // the mark of UTF-8 before the text is what makes spreadsheets read letters rightly
  give(new Blob(["\ufeff", sheet.text], { type: "text/csv;charset=utf-8" }), name);
  const missing = sheet.missing
    ? ` The rows of ${many(sheet.missing, "word")} are not in this page's file.`
    : "";
  const altered = sheet.altered
    ? " Words that a spreadsheet would take for a formula have an apostrophe before them."
    : "";
  tell(`${many(sheet.rows, "line")} saved as ${name}.${missing}${altered}`);
}

function vectorText(/** @type {App} */ app) {
  return withLight((colour) => new XMLSerializer().serializeToString(sentencePicture(app, colour)));
}

/** A vector picture as pixels; null where the browser cannot. */
async function rastered(/** @type {string} */ vector) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(vector)}`;
  try {
    await image.decode();
  } catch {
    return null;
  }
  const { naturalWidth: width, naturalHeight: height } = image;
  const ratio = Math.min(2, Math.sqrt(MOST_PIXELS / (width * height)));
  const canvas = el("canvas", {
    width: Math.floor(width * ratio),
    height: Math.floor(height * ratio),
  });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return pngOf(canvas);
}

/** @returns {Promise<Blob | null>} */
function pngOf(/** @type {HTMLCanvasElement} */ canvas) {
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/**
 * Calls `draw` with the page's light colours by name, whatever the scheme that holds now.
 * @template T
 * @param {(colour: (name: string) => string, root: HTMLElement) => T} draw
 * @returns {T}
 */
function withLight(draw) {
  const root = el("div", { hidden: true });
  for (const sheet of document.styleSheets) {
    for (const rule of sheet.cssRules) {
      if (!(rule instanceof CSSStyleRule) || rule.selectorText !== ":root") continue;
      for (const name of rule.style) {
        if (name.startsWith("--")) root.style.setProperty(name, rule.style.getPropertyValue(name));
      }
    }
  }
  document.body.append(root);
  const style = getComputedStyle(root);
  try {
    return draw((name) => style.getPropertyValue(`--${name}`).trim(), root);
  } finally {
    root.remove();
  }
}

function give(/** @type {Blob} */ blob, /** @type {string} */ name) {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  // the download may begin only after this task
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** regard-A-dog-ate-the-food-L3H1.svg: letters and digits of any script, and dashes. */
function fileName(/** @type {App} */ app, /** @type {string} */ ending) {
  const { heads } = app.store.get();
  const which = heads.length > 1 ? `mean-of-${heads.length}-heads` : headsNamed(app.book(), heads);
  const letters = [...app.page.title];
  const start = letters.slice(0, NAME_LETTERS).join("");
  const title = letters.length > NAME_LETTERS ? start.replace(/(?<=\s)\S*$/, "") : start;
  const name = `regard ${title} ${which}`;
  return `${name.replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/-+$/, "")}.${ending}`;
}
