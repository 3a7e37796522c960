// @ts-check
/** Whole matrices in a few cells. */

/** @typedef {import("./book.js").Book} Book */
/** @typedef {import("./colours.js").Scale} Scale */

/** The mean of some heads' pictures, a pixel a cell. */
export function drawThumb(
  /** @type {HTMLCanvasElement} */ canvas,
  /** @type {Book} */ book,
  /** @type {number[]} */ heads,
  /** @type {Scale} */ scale,
) {
  const thumbs = heads.flatMap((head) => book.thumb(head) ?? []);
  const context = canvas.getContext("2d");
  if (!thumbs.length || !context) return;
  const { grid } = thumbs[0];
  canvas.width = canvas.height = grid;
  const image = context.createImageData(grid, grid);
  const pixels = new Uint32Array(image.data.buffer);
  for (let cell = 0; cell < pixels.length; cell++) {
    let sum = 0;
    for (const { cells, top } of thumbs) sum += (cells[cell] / 255) * top;
    pixels[cell] = scale.packed(sum / thumbs.length);
  }
  context.putImageData(image, 0, 0);
}
