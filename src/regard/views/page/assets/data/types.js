// @ts-check
/**
 * What the page shows, after its numbers are decoded: the same shapes as the writer's, with an
 * array where the writer put a descriptor. Sizes: H heads, R readers, K keys, F heads in the file.
 */

/** @typedef {Float64Array | Float32Array | Int32Array | Uint32Array | Uint16Array | Uint8Array} Numbers */
/** @typedef {{data: Numbers, shape: number[]}} Arr */

/**
 * @typedef {object} Side
 * @property {string[]} names one for each unit, no two alike: it#1
 * @property {string[]} texts as written, made harmless
 * @property {Arr} starts characters of the text
 * @property {Arr} stops
 * @property {Arr} special
 * @property {Arr} apart special, or a decoder's first token: where heads rest
 * @property {Arr | null} word of pieces: the word each belongs to
 */

/** @typedef {{heads: Arr, readers: Arr, weight: Arr, share: Arr | null}} FullRows */
/** @typedef {{heads: Arr, readers: Arr, key: Arr, weight: Arr, share: Arr | null, bound: boolean}} Links */
/** @typedef {{readers: Arr, head: Arr, key: Arr, weight: Arr, share: Arr | null}} Strongest */

/**
 * @typedef {object} Level
 * @property {Side} readers
 * @property {Side | null} keys null: the readers themselves
 * @property {FullRows | null} full
 * @property {Arr | {first: Arr, stop: Arr} | null} seen [layers or 1, readers, keys]; or the runs
 *   of keys that are seen, first <= key < stop, [layers or 1, readers]
 * @property {Links | null} links
 * @property {Strongest | null} strongest
 * @property {Arr | null} entropy [H, readers]
 * @property {Arr | null} apart [H, readers]
 * @property {Arr | null} received [H, keys]
 * @property {Arr | null} sums [H, readers], where rows do not sum to 1
 * @property {{entropy: Arr | null, apart: Arr | null}} means [H]
 */

/**
 * @typedef {object} StepsOfLayer
 * @property {number} layer
 * @property {Arr} heads
 * @property {Arr} readers
 * @property {Arr} keys
 * @property {number} dim
 * @property {number} value_dim
 * @property {number} scale
 * @property {number | null} softcap
 * @property {Arr} score [F, R, K]
 * @property {Arr} scaled
 * @property {Arr | null} masked null: `scaled` where seen
 * @property {Arr} exponential
 * @property {Arr} weight
 * @property {Arr | null} share
 * @property {Arr} largest [F, R]
 * @property {Arr} sum [F, R]
 * @property {Arr | null} sink [F, R]
 * @property {Arr | null} query [F, R, dim]
 * @property {Arr | null} key [G, K, dim]
 * @property {Arr | null} value [G, K, value_dim]
 * @property {Arr | null} output [F, R, value_dim]
 * @property {Arr} kv [F]
 * @property {{x: Arr, w_query: Arr, w_key: Arr, w_value: Arr} | null} projection
 * @property {number[] | null} columns numbers of the value's columns, where only some are known
 */

/** @typedef {{label: string, layer: number, number: number, does: {reads: string, always: boolean} | null, kind: string | null}} Head */

/**
 * @typedef {object} BookData
 * @property {string | null} text
 * @property {string} name
 * @property {string} model
 * @property {"encoder" | "decoder" | "cross" | "steps"} kind
 * @property {{number: number, name: string}[]} layers
 * @property {Head[]} heads
 * @property {Level} words
 * @property {Level | null} pieces null: every word is one piece
 * @property {{over: string, bins: Arr, first: Arr, last: Arr} | null} habit
 * @property {{data: Arr, top: Arr} | null} thumbs
 * @property {StepsOfLayer[]} steps
 * @property {{unit: number, piece: number} | null} written where the model's own words begin
 */

/** @typedef {{head: number, a: [number, number], b: [number, number]}} Turn */

/**
 * @typedef {object} VersusData
 * @property {number} a
 * @property {number} b
 * @property {number} a_unit
 * @property {number} b_unit
 * @property {string | null} first
 * @property {string | null} second
 * @property {number | null} a_first
 * @property {number | null} a_second
 * @property {number | null} b_first
 * @property {number | null} b_second
 * @property {Turn[]} there
 * @property {Turn[]} back
 * @property {Turn[]} stays
 */

/**
 * @typedef {object} PageData
 * @property {string} schema
 * @property {string} title
 * @property {string} subtitle
 * @property {BookData[]} books
 * @property {VersusData | null} versus
 * @property {{budget: number, bytes: number, kept: string[], left: {what: string, command: string}[]}} plan
 * @property {{book: number, unit: number | null, head: number | null, step: 1 | 2 | 3 | 4 | null, view: string}} start
 * @property {string[]} notes
 */

/** @typedef {"words" | "pieces"} LevelName */
/** @typedef {"weight" | "share" | "lift"} Measure */

/**
 * @typedef {object} State
 * @property {number} book
 * @property {LevelName} level
 * @property {number[]} heads chosen heads; several are shown as their mean
 * @property {"reads" | "readBy"} direction
 * @property {number | null} pointed
 * @property {number[]} locked
 * @property {number | null} target the other word, of "from this word to that"
 * @property {Measure} measure
 * @property {boolean} without leave out special tokens (in decoders the first), renormalised
 * @property {boolean} log
 * @property {string} reading what colours the grid of heads
 * @property {0 | 1 | 2 | 3 | 4} step 0: x·W, where it is known
 * @property {string} search
 */

/**
 * @typedef {object} Row whom one unit reads
 * @property {Float64Array} weight [keys]; NaN where not known
 * @property {Float64Array | null} share
 * @property {Float64Array | null} habit
 * @property {boolean} exact every weight of the row is in the file
 * @property {boolean} bound the weights are themselves lower bounds
 * @property {number} sum of the whole row: 1, or less with sinks
 * @property {number | null} apart weight on special tokens or the first token
 */

/** @typedef {{head: number, key: number, weight: number, share: number | null, habit: number | null}} Strong */

/**
 * @typedef {object} App
 * @property {import("./state.js").Store} store
 * @property {PageData} page
 * @property {import("./book.js").Book[]} books
 * @property {() => import("./book.js").Book} book the one that is shown
 * @property {(text: string) => void} say to a screen reader
 * @property {{unit: ((side: "readers" | "keys", unit: number) => void) | null}} scroll set by the sentence view
 */

export {};
