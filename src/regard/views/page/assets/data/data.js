// @ts-check
/** From the page's data blocks to typed arrays. */

/** @typedef {import("./types.js").Arr} Arr */
/** @typedef {import("./types.js").PageData} PageData */

/** @type {Record<string, [number, (buffer: ArrayBuffer, at: number, count: number) => any]>} */
const DTYPES = {
  f8: [8, (buffer, at, count) => new Float64Array(buffer, at, count)],
  f4: [4, (buffer, at, count) => new Float32Array(buffer, at, count)],
  i4: [4, (buffer, at, count) => new Int32Array(buffer, at, count)],
  u4: [4, (buffer, at, count) => new Uint32Array(buffer, at, count)],
  i2: [2, (buffer, at, count) => new Int16Array(buffer, at, count)],
  u2: [2, (buffer, at, count) => new Uint16Array(buffer, at, count)],
  u1: [1, (buffer, at, count) => new Uint8Array(buffer, at, count)],
};

/** The page's data with every array in place. Rejects if a part is missing or damaged. */
export async function decoded(/** @type {ParentNode} */ root) {
  const book = root.querySelector("#regard-book");
  if (!book) throw new Error("this page has lost its data");
  const blocks = [...root.querySelectorAll("script[data-part]")];
  const parts = new Map(
    await Promise.all(
      blocks.map(async (block) => {
        const name = block.getAttribute("data-part") ?? "";
        return /** @type {[string, ArrayBuffer]} */ ([name, await inflated(block.textContent ?? "")]);
      }),
    ),
  );
  return /** @type {PageData} */ (filled(JSON.parse(book.textContent ?? ""), parts));
}

/** base64 of raw deflate, as bytes. */
async function inflated(/** @type {string} */ text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}

/**
 * A copy of a JSON value in which every descriptor is its array.
 * @returns {any}
 */
function filled(/** @type {any} */ value, /** @type {Map<string, ArrayBuffer>} */ parts) {
  if (Array.isArray(value)) {
    return typeof value[0] === "object" ? value.map((inner) => filled(inner, parts)) : value;
  }
  if (value === null || typeof value !== "object") return value;
  if ("$" in value) return array(value.$, parts);
  /** @type {Record<string, any>} */
  const copy = {};
  for (const [name, inner] of Object.entries(value)) copy[name] = filled(inner, parts);
  return copy;
}

/** @returns {Arr} */
function array(
  /** @type {[string, number, string, number[], number | null]} */ [part, at, dtype, shape, scale],
  /** @type {Map<string, ArrayBuffer>} */ parts,
) {
  const buffer = parts.get(part);
  const kind = DTYPES[dtype];
  if (!buffer || !kind) throw new Error(`this page lacks its part "${part}"`);
  const count = shape.reduce((product, size) => product * size, 1);
  const raw = kind[1](buffer, at, count);
  if (scale === null) return { data: raw, shape };
  const none = dtype === "u2" ? 65535 : dtype === "i2" ? -32768 : NaN;
  const data = new Float32Array(count);
  for (let i = 0; i < count; i++) data[i] = raw[i] === none ? NaN : raw[i] * scale;
  return { data, shape };
}
