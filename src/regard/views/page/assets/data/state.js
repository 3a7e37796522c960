// @ts-check
/** What the reader of the page has chosen; the views follow it. */

/** @typedef {import("./types.js").State} State */
/** @typedef {(state: State, before: State) => void} Follower */

export class Store {
  constructor(/** @type {State} */ state) {
    this.state = state;
    this.drawn = state;
    /** @type {Follower[]} */
    this.followers = [];
    this.waiting = false;
  }

  get() {
    return this.state;
  }

  /** Changes take effect at once; the views follow together, at the next frame. */
  set(/** @type {Partial<State>} */ patch) {
    this.state = { ...this.state, ...patch };
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.flush());
  }

  /** Draw now what has changed. */
  flush() {
    this.waiting = false;
    const before = this.drawn;
    const state = (this.drawn = this.state);
    if (state === before) return;
    for (const follower of this.followers) follower(state, before);
  }

  /** Called with the new and the old state after each change. */
  subscribe(/** @type {Follower} */ follower) {
    this.followers.push(follower);
  }
}

/** The units whose rows are shown: those held by a click, else the one pointed at. */
export function shown(/** @type {State} */ state) {
  if (state.locked.length) return state.locked;
  return state.pointed === null ? [] : [state.pointed];
}

/** Whether any of these parts of the state differ. */
export function differs(
  /** @type {State} */ state,
  /** @type {State} */ before,
  /** @type {(keyof State)[]} */ ...names
) {
  return names.some((name) => state[name] !== before[name]);
}
