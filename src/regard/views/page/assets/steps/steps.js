// @ts-check
/** The four steps of the chosen row with its real numbers, one step at a time. */

import { aloud } from "./aloud.js";
import { Diagram, STEP_NAMES } from "./diagram.js";
import { el } from "../drawing/dom.js";
import { productPanel } from "./products.js";
import { projectionPanel } from "./projection.js";
import { choiceOfPiece, missingRow, RowChooser } from "./rowchoice.js";
import { scalePanel, softmaxPanel } from "./softmax.js";
import { differs, shown } from "../data/state.js";
import { StepRow } from "./steprow.js";
import { largestSize } from "./vectors.js";
import { sumPanel } from "./weightedsum.js";

/** @typedef {import("../data/types.js").App} App */
/** @typedef {import("../data/types.js").State} State */
/** @typedef {import("./keytable.js").Choice} Choice */
/** @typedef {import("./diagram.js").StepNumber} StepNumber */

/** Milliseconds. */
const AFTER_LINES = 40;
const PANELS = [projectionPanel, productPanel, scalePanel, softmaxPanel, sumPanel];

export function mountSteps(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
  const held = app.page.books.some((book) => book.steps.length > 0);
  if (!held && !app.page.plan.left.length) return false;
  return new StepsSection(root, app).begin();
}

class StepsSection {
  constructor(/** @type {HTMLElement} */ root, /** @type {App} */ app) {
    this.app = app;
    /** @type {StepRow | null} */
    this.row = null;
    /** @type {number | null} the unit whose row is shown, of which text, and which piece of it */
    this.unit = null;
    /** @type {Pick<State, "book" | "level">} */
    this.of = { book: -1, level: "words" };
    this.piece = 0;
    this.onPaper = false;
    this.later = 0;
    /** @type {Choice} */
    this.choice = {
      key: 0,
      dim: 0,
      allKeys: false,
      allTerms: false,
      set: (patch) => this.choose(patch),
    };
    this.rows = new RowChooser((unit) => app.store.set({ locked: [unit], direction: "reads" }));
    this.heading = el("div", { class: "steps-heading" });
    this.diagram = new Diagram((step) => app.store.set({ step }));
    this.panels = PANELS.map((_, step) =>
      el("div", {
        role: "tabpanel",
        id: `regard-step-${step}`,
        "aria-labelledby": `regard-tab-${step}`,
        "data-step": step,
        tabindex: 0,
      }),
    );
    this.said = el("p", { class: "aloud", "data-aloud": "" });
    this.back = el("button", { type: "button", onclick: () => this.walk(-1) }, "Back");
    this.next = el("button", { type: "button", onclick: () => this.walk(1) }, "Next");
    this.walking = el("div", { class: "walk" }, this.back, this.next);
    this.body = el(
      "div",
      { onkeydown: (event) => this.entered(/** @type {KeyboardEvent} */ (event)) },
      this.diagram.root,
      this.said,
      this.walking,
      this.panels,
    );
    this.absent = el("div");
    root.append(this.heading, this.absent, this.body);
  }

  begin() {
    const { store } = this.app;
    if (this.hasProjection() && store.get().step === 1) store.set({ step: 0 });
    store.subscribe((state, before) => this.follow(state, before));
    const paper = matchMedia("print");
    paper.addEventListener("change", () => this.fill((this.onPaper = paper.matches)));
    addEventListener("beforeprint", () => this.fill((this.onPaper = true)));
    addEventListener("afterprint", () => this.fill((this.onPaper = false)));
    this.find(store.get());
    return true;
  }

  hasProjection() {
    return this.app.book().data.steps.some((steps) => steps.projection);
  }

  follow(/** @type {State} */ state, /** @type {State} */ before) {
    const { store } = this.app;
    if (differs(state, before, "book", "level", "locked", "direction", "heads")) this.find(state);
    else if (state.pointed !== before.pointed) {
      // the lines of a word that is pointed at come first
      clearTimeout(this.later);
      this.later = setTimeout(() => this.find(store.get()), AFTER_LINES);
    } else if (state.target !== before.target) this.aim(state);
    if (state.step !== before.step) {
      this.draw();
      if (this.row) this.app.say(aloud(this.row, state.step));
    }
  }

  /** Looks up the row that is chosen, pointed at, or was so last. */
  find(/** @type {State} */ state) {
    clearTimeout(this.later);
    const book = this.app.book();
    const unit = this.chosenReader(state) ?? this.unitLeft(state);
    if (unit !== this.unit) this.piece = 0;
    this.unit = unit;
    this.of = { book: state.book, level: state.level };
    const pieces = this.pieces(state);
    const piece = pieces[Math.min(this.piece, pieces.length - 1)];
    const view = book.stepsOf(state.heads[0], piece);
    const row = view && new StepRow(book, state.heads[0], piece, view);
    if (row && row.steps === this.row?.steps && row.view.place === this.row.view.place) {
      this.write(state);
      return;
    }
    this.row = row;
    if (row) this.startAt(row, state);
    this.write(state);
    this.draw();
  }

  /** The reader that is chosen or pointed at; where who reads a word is shown, that word. */
  chosenReader(/** @type {State} */ state) {
    const [first] = shown(state);
    const reads = state.direction === "reads" || this.app.book().level(state.level).same;
    return reads ? first : undefined;
  }

  /** The unit shown so far, if of the same text; else the page's own, or a first word. */
  unitLeft(/** @type {State} */ state) {
    const { start } = this.app.page;
    const book = this.app.book();
    if (this.unit !== null && this.of.book === state.book) {
      if (this.of.level === state.level) return this.unit;
      if (state.level === "pieces") return book.piecesOf("readers", this.unit)[0];
      return book.pieces?.readers.word?.data[this.unit] ?? this.unit;
    }
    if (start.unit !== null && start.book === state.book && state.level === "words") {
      return start.unit;
    }
    const { apart } = book.level(state.level).readers;
    return Math.max(0, apart.data.findIndex((/** @type {number} */ one) => !one));
  }

  /** Which key and number are spelled out when a row comes. */
  startAt(/** @type {StepRow} */ row, /** @type {State} */ state) {
    const z = row.view.output;
    const most = z ? largestSize(z) : 0;
    this.choice.key = this.aimed(row, state) ?? row.byWeight[0] ?? 0;
    this.choice.dim = z ? Math.max(0, z.findIndex((/** @type {number} */ n) => Math.abs(n) === most)) : 0;
    this.choice.allTerms = false;
    this.choice.allKeys = false;
  }

  /** The key that the rest of the page has as "the other word". */
  aimed(/** @type {StepRow} */ row, /** @type {State} */ state) {
    if (state.target === null) return null;
    const book = this.app.book();
    const pieces = state.level === "words" ? book.piecesOf("keys", state.target) : [state.target];
    const place = row.units.indexOf(pieces[0]);
    return place < 0 ? null : place;
  }

  aim(/** @type {State} */ state) {
    const place = this.row && this.aimed(this.row, state);
    if (place !== null) this.choose({ key: place });
  }

  pieces(/** @type {State} */ state) {
    const unit = this.unit ?? 0;
    return state.level === "words" ? this.app.book().piecesOf("readers", unit) : [unit];
  }

  choose(/** @type {Parameters<Choice["set"]>[0]} */ patch) {
    const control = document.activeElement?.getAttribute("data-control");
    Object.assign(this.choice, patch);
    this.fill();
    // the button that was pressed has been drawn anew
    const again = control && this.body.querySelector(`[data-control="${control}"]`);
    if (again instanceof HTMLElement) again.focus();
  }

  /** The heading: whose row, in which head. */
  write(/** @type {State} */ state) {
    const { names } = this.app.book().level(state.level).readers;
    const several = state.heads.length > 1;
    this.rows.show(names, this.unit ?? 0);
    this.heading.replaceChildren(
      el(
        "p",
        {},
        "Row of ",
        this.rows.root,
        this.pieceChooser(state),
        ` in ${this.app.book().heads[state.heads[0]].label}. `,
        several && `${state.heads.length} heads are chosen: this is the first of them. `,
        this.row && el("span", { class: "quiet number" }, `d_k = ${this.row.steps.dim}.`),
      ),
    );
  }

  pieceChooser(/** @type {State} */ state) {
    const pieces = this.pieces(state);
    if (pieces.length < 2) return null;
    const { names } = this.app.book().tokens().readers;
    const texts = pieces.map((piece) => names[piece]);
    return choiceOfPiece(texts, this.piece, (at) => {
      this.piece = at;
      this.find(this.app.store.get());
    });
  }

  /** The diagram, the sentence and the open panel; or why there are none. */
  draw() {
    const { step } = this.app.store.get();
    this.body.hidden = !this.row;
    this.absent.replaceChildren(...(this.row ? [] : [missingRow(this.app)]));
    if (!this.row) return;
    const shownStep = this.row.steps.projection || step ? step : 1;
    this.diagram.show(this.row, shownStep);
    this.panels.forEach((panel, at) => (panel.hidden = at !== shownStep));
    this.said.textContent = aloud(this.row, shownStep);
    this.back.disabled = shownStep === this.diagram.steps[0];
    this.next.textContent = this.nextLabel(shownStep);
    this.fill();
  }

  nextLabel(/** @type {number} */ step) {
    if (step < 4) return `Next: ${step + 1} ${STEP_NAMES[step + 1]}`;
    return "Next row";
  }

  /** Fills the open panel; all of them for paper. */
  fill(all = this.onPaper) {
    const { row, choice } = this;
    if (!row) return;
    PANELS.forEach((make, step) => {
      const panel = this.panels[step];
      if (panel.hidden && !all) panel.replaceChildren();
      else fillPanel(panel, step, make(row, choice));
    });
  }

  walk(/** @type {1 | -1} */ by) {
    const { store } = this.app;
    const at = this.diagram.steps.indexOf(store.get().step) + by;
    const step = this.diagram.steps[at];
    if (step !== undefined) store.set({ step });
    else if (by > 0) this.nextRow();
  }

  nextRow() {
    const { store } = this.app;
    const state = store.get();
    const count = this.app.book().level(state.level).readers.names.length;
    const unit = ((this.unit ?? 0) + 1) % count;
    store.set({ locked: [unit], direction: "reads", step: this.diagram.steps[0] });
  }

  /** Enter on a box or in a panel goes on, as in the terminal. */
  entered(/** @type {KeyboardEvent} */ event) {
    const target = /** @type {Element} */ (event.target);
    if (event.key !== "Enter" || !target.matches('[role="tab"], [role="tabpanel"]')) return;
    event.preventDefault();
    this.walk(1);
  }
}

function fillPanel(
  /** @type {HTMLElement} */ panel,
  /** @type {number} */ step,
  /** @type {(Node | null)[]} */ content,
) {
  if (!content.length) return panel.replaceChildren();
  const title = step === 0 ? "Where q, k and v come from" : `${step}  ${STEP_NAMES[step]}`;
  panel.replaceChildren(
    el("h3", { class: "paper-only" }, title),
    ...content.filter((node) => node !== null),
  );
}
