// @ts-check
/** Who reads whom by words or by pieces, looked up in the file. */

/**
 * @typedef {import("./types.js").BookData} BookData
 * @typedef {import("./types.js").LevelName} LevelName
 * @typedef {import("./types.js").Arr} Arr
 * @typedef {import("./types.js").Row} Row
 * @typedef {import("./types.js").Side} Side
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").Strong} Strong
 */

/** Words, or pieces: who reads and who is read, and what is known of it. */
export class LevelView {
  constructor(/** @type {BookData} */ book, /** @type {LevelName} */ name) {
    const data = name === "pieces" && book.pieces ? book.pieces : book.words;
    this.data = data;
    this.headCount = book.heads.length;
    this.layerOf = book.heads.map((head) => head.layer);
    this.readers = data.readers;
    this.keys = data.keys ?? data.readers;
    /** Whether readers and keys are the same text. */
    this.same = data.keys === null;
    this.habits = name === "words" ? book.habit : null;
    this.places = this.habits ? ordinals(this.readers) : null;
    this.fullHead = data.full && places(data.full.heads, this.headCount);
    this.fullReader = data.full && places(data.full.readers, this.readers.names.length);
    this.linkHead = data.links && places(data.links.heads, this.headCount);
    this.linkReader = data.links && places(data.links.readers, this.readers.names.length);
    this.strongReader =
      data.strongest && places(data.strongest.readers, this.readers.names.length);
    /** @type {Map<string, {reader: number, weight: number}[]>} */
    this.columns = new Map();
  }

  /** Whether the file holds anything of this row: all of it, its largest weights, or nothing. */
  has(/** @type {number} */ head, /** @type {number} */ reader) {
    if (this.fullPlace(head, reader) >= 0) return "whole";
    return this.linkPlace(head, reader) >= 0 ? "largest" : "nothing";
  }

  /** Whether a unit may see another at all, in the layer of a head. */
  seen(/** @type {number} */ head, /** @type {number} */ reader, /** @type {number} */ key) {
    const seen = this.data.seen;
    if (!seen) return true;
    if ("first" in seen) {
      const [layers, readers] = seen.first.shape;
      const at = (layers === 1 ? 0 : this.layerOf[head]) * readers + reader;
      return seen.first.data[at] <= key && key < seen.stop.data[at];
    }
    const [layers, readers, keys] = seen.shape;
    const layer = layers === 1 ? 0 : this.layerOf[head];
    return seen.data[(layer * readers + reader) * keys + key] !== 0;
  }

  /** Whom one unit reads: the mean over heads. Null where some head's row is not in the file. */
  row(/** @type {number[]} */ heads, /** @type {number} */ reader) {
    const keys = this.keys.names.length;
    const weight = new Float64Array(keys);
    /** @type {Float64Array | null} */
    let share = new Float64Array(keys);
    /** @type {Float64Array | null} */
    let habit = this.habits ? new Float64Array(keys) : null;
    const row = { weight, share, habit, exact: true, bound: false, sum: 0, apart: 0 };
    let apart = /** @type {number | null} */ (0);
    for (const head of heads) {
      const full = this.fullPlace(head, reader);
      const shares = full >= 0 ? this.addFull(full, row) : this.addLinks(head, reader, row);
      if (shares === null) return null;
      if (!shares) share = null;
      if (habit) for (let key = 0; key < keys; key++) habit[key] += this.habit(head, reader, key);
      row.sum += this.sum(head, reader) / heads.length;
      const rest = this.apart(head, reader);
      apart = apart === null || rest === null ? null : apart + rest / heads.length;
    }
    for (let key = 0; key < keys; key++) {
      weight[key] /= heads.length;
      if (share) share[key] /= heads.length;
      if (habit) habit[key] /= heads.length;
    }
    // a share of the mean result is not the mean of the shares
    if (heads.length > 1) share = null;
    return /** @type {Row} */ ({ ...row, share, habit, apart });
  }

  /** Who reads a unit in these heads, as far as the file knows, strongest first. */
  column(/** @type {number[]} */ heads, /** @type {number} */ key) {
    const name = `${heads.join()}:${key}`;
    const known = this.columns.get(name);
    if (known) return known;
    const total = new Float64Array(this.readers.names.length);
    for (const head of heads) this.addColumn(head, key, total);
    const found = [];
    for (let reader = 0; reader < total.length; reader++) {
      if (total[reader] > 0) found.push({ reader, weight: total[reader] / heads.length });
    }
    found.sort((a, b) => b.weight - a.weight);
    if (this.columns.size > 200) this.columns.clear();
    this.columns.set(name, found);
    return found;
  }

  /** The strongest links of a unit over all heads, beyond habit where there is one. */
  strongest(/** @type {number} */ reader) {
    const strongest = this.data.strongest;
    const place = this.strongReader ? this.strongReader[reader] : -1;
    if (!strongest || place < 0) return [];
    const most = strongest.head.shape[1];
    /** @type {Strong[]} */
    const found = [];
    for (let at = place * most; at < (place + 1) * most; at++) {
      const head = strongest.head.data[at];
      if (head >= this.headCount) break;
      const key = strongest.key.data[at];
      const habit = this.habits ? this.habit(head, reader, key) : NaN;
      found.push({
        head,
        key,
        weight: strongest.weight.data[at],
        share: strongest.share ? strongest.share.data[at] : null,
        habit: Number.isNaN(habit) ? null : habit,
      });
    }
    return found;
  }

  /** The weight a head usually gives a word there; NaN without a habit. */
  habit(/** @type {number} */ head, /** @type {number} */ reader, /** @type {number} */ key) {
    const habits = this.habits;
    const places = this.places;
    if (!habits || !places || this.readers.apart.data[reader]) return NaN;
    const last = this.keys.names.length - 1;
    if (this.keys.apart.data[key]) {
      if (key === 0) return habits.first.data[head];
      return key === last ? habits.last.data[head] : NaN;
    }
    const bins = habits.bins.shape[1];
    const reach = (bins - 3) / 2;
    const away = Math.max(-reach - 1, Math.min(reach + 1, places[key] - places[reader]));
    return habits.bins.data[head * bins + away + reach + 1];
  }

  /** One weight, NaN where the file does not hold it. */
  weight(/** @type {number} */ head, /** @type {number} */ reader, /** @type {number} */ key) {
    const full = this.fullPlace(head, reader);
    if (full >= 0 && this.data.full) return this.data.full.weight.data[full + key];
    const at = this.linkPlace(head, reader);
    const links = this.data.links;
    if (at < 0 || !links) return NaN;
    for (let link = at; link < at + links.key.shape[2]; link++) {
      if (links.key.data[link] === key) return links.weight.data[link];
    }
    return NaN;
  }

  /** The part of one result that comes from a key; NaN where the file does not hold it. */
  share(/** @type {number} */ head, /** @type {number} */ reader, /** @type {number} */ key) {
    const { full, links } = this.data;
    const place = this.fullPlace(head, reader);
    if (place >= 0 && full) return full.share ? full.share.data[place + key] : NaN;
    const at = this.linkPlace(head, reader);
    if (at < 0 || !links || !links.share) return NaN;
    for (let link = at; link < at + links.key.shape[2]; link++) {
      if (links.key.data[link] === key) return links.share.data[link];
    }
    return NaN;
  }

  /** entropy (nats) or apart (weight on special tokens) of a head: of one reader, or the mean. */
  reading(
    /** @type {"entropy" | "apart"} */ name,
    /** @type {number} */ head,
    /** @type {number | null} */ reader,
  ) {
    if (reader === null) return this.data.means[name]?.data[head] ?? NaN;
    return this.data[name]?.data[head * this.readers.names.length + reader] ?? NaN;
  }

  /** What a row sums to: 1, or less where sinks take a part. */
  sum(/** @type {number} */ head, /** @type {number} */ reader) {
    const sums = this.data.sums;
    return sums ? sums.data[head * this.readers.names.length + reader] : 1;
  }

  /** The weight of a row on special tokens or a decoder's first token; null where not known. */
  apart(/** @type {number} */ head, /** @type {number} */ reader) {
    const known = this.reading("apart", head, reader);
    if (!Number.isNaN(known)) return known;
    const full = this.fullPlace(head, reader);
    if (full < 0 || !this.data.full) return null;
    let total = 0;
    for (let key = 0; key < this.keys.names.length; key++) {
      if (this.keys.apart.data[key]) total += this.data.full.weight.data[full + key];
    }
    return total;
  }

  /** Where the row starts in `full`, -1 where it is not there. */
  fullPlace(/** @type {number} */ head, /** @type {number} */ reader) {
    const full = this.data.full;
    if (!full || !this.fullHead || !this.fullReader) return -1;
    const [, readers, keys] = full.weight.shape;
    const [f, r] = [this.fullHead[head], this.fullReader[reader]];
    if (f < 0 || r < 0) return -1;
    const at = (f * readers + r) * keys;
    return keys && Number.isNaN(full.weight.data[at]) ? -1 : at;
  }

  /** Where the row starts in `links`, -1 where it is not there. */
  linkPlace(/** @type {number} */ head, /** @type {number} */ reader) {
    const links = this.data.links;
    if (!links || !this.linkHead || !this.linkReader) return -1;
    const [, readers, most] = links.key.shape;
    const [f, r] = [this.linkHead[head], this.linkReader[reader]];
    return f < 0 || r < 0 ? -1 : (f * readers + r) * most;
  }

  /** Adds a whole row; false where it has no shares. */
  addFull(/** @type {number} */ at, /** @type {{weight: Float64Array, share: Float64Array}} */ row) {
    const full = this.data.full;
    if (!full) return null;
    for (let key = 0; key < row.weight.length; key++) {
      row.weight[key] += full.weight.data[at + key];
      if (full.share) row.share[key] += full.share.data[at + key];
    }
    return full.share !== null;
  }

  /** Adds a row's largest weights; what is not among them becomes NaN. Null where there are none. */
  addLinks(
    /** @type {number} */ head,
    /** @type {number} */ reader,
    /** @type {{weight: Float64Array, share: Float64Array, exact: boolean, bound: boolean}} */ row,
  ) {
    const at = this.linkPlace(head, reader);
    const links = this.data.links;
    if (at < 0 || !links) return null;
    const known = new Uint8Array(row.weight.length);
    for (let link = at; link < at + links.key.shape[2]; link++) {
      const key = links.key.data[link];
      if (key >= row.weight.length) break;
      known[key] = 1;
      row.weight[key] += links.weight.data[link];
      if (links.share) row.share[key] += links.share.data[link];
    }
    for (let key = 0; key < known.length; key++) {
      if (known[key] || !this.seen(head, reader, key)) continue;
      row.weight[key] = NaN;
      row.share[key] = NaN;
    }
    row.exact = false;
    row.bound ||= links.bound;
    return links.share !== null;
  }

  addColumn(
    /** @type {number} */ head,
    /** @type {number} */ key,
    /** @type {Float64Array} */ total,
  ) {
    const links = this.data.links;
    for (let reader = 0; reader < total.length; reader++) {
      const full = this.fullPlace(head, reader);
      if (full >= 0 && this.data.full) {
        total[reader] += this.data.full.weight.data[full + key];
        continue;
      }
      const at = this.linkPlace(head, reader);
      if (at < 0 || !links) continue;
      for (let link = at; link < at + links.key.shape[2]; link++) {
        if (links.key.data[link] === key) total[reader] += links.weight.data[link];
      }
    }
  }
}

/**
 * What the chosen measure says of each key, and what has to be said with it. `bound`: a lower
 * bound; NaN: not known, or left out.
 * @param {LevelView} level
 * @param {Row} row
 * @param {Pick<State, "measure" | "without">} state
 */
export function measured(level, row, state) {
  const value = Float64Array.from(
    state.measure === "share" ? (row.share ?? row.weight.map(() => NaN)) : row.weight,
  );
  if (state.measure === "lift") {
    for (let key = 0; key < value.length; key++) value[key] -= row.habit ? row.habit[key] : NaN;
  }
  if (state.without) {
    const left = state.measure === "weight" ? row.sum - (row.apart ?? 0) : 1;
    for (let key = 0; key < value.length; key++) {
      if (level.keys.apart.data[key]) value[key] = NaN;
      else if (left > 0) value[key] /= left;
    }
  }
  return { value, bound: row.bound };
}

/** For each unit its place in a list of units, -1 where it is not among them. */
function places(/** @type {Arr} */ units, /** @type {number} */ count) {
  const found = new Int32Array(count).fill(-1);
  units.data.forEach((/** @type {number} */ unit, /** @type {number} */ at) => (found[unit] = at));
  return found;
}

/** Words counted from the first, special tokens apart. */
function ordinals(/** @type {Side} */ side) {
  let count = 0;
  return Int32Array.from(side.apart.data, (apart) => (apart ? count : ++count));
}
