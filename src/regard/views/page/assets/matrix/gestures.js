// @ts-check
/** Mouse, fingers and wheel over something that can be moved and enlarged. */

/**
 * @typedef {object} Gestures what is called, with places in CSS pixels from the element's corner
 * @property {(x: number, y: number) => void} hover
 * @property {() => void} leave
 * @property {(x: number, y: number) => void} tap
 * @property {(dx: number, dy: number) => void} pan
 * @property {(factor: number, x: number, y: number) => void} zoom
 */

/** A pointer that moves less than this between down and up has tapped. */
const SLOP = 5;

export function listenForGestures(
  /** @type {HTMLElement} */ element,
  /** @type {Gestures} */ to,
) {
  /** @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let moved = 0;

  const place = (/** @type {MouseEvent} */ event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    down.set(event.pointerId, place(event));
    moved = down.size > 1 ? SLOP : 0;
  });
  element.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = down.get(event.pointerId);
    if (!before) {
      to.hover(now.x, now.y);
      return;
    }
    moved += Math.hypot(now.x - before.x, now.y - before.y);
    if (moved < SLOP) return;
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, now);
    if (other) pinch(other, before, now, to);
    else to.pan(now.x - before.x, now.y - before.y);
  });
  element.addEventListener("pointerup", (event) => {
    const { x, y } = place(event);
    if (down.delete(event.pointerId) && moved < SLOP) to.tap(x, y);
  });
  element.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
  element.addEventListener("pointerleave", (event) => {
    // a finger leaves whenever it is lifted: what it touched stays
    if (event.pointerType === "mouse") to.leave();
  });
  element.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { x, y } = place(event);
      to.zoom(Math.exp(-event.deltaY / 300), x, y);
    },
    { passive: false },
  );
}

/** Two fingers: the picture grows about the one that rests. */
function pinch(
  /** @type {{x: number, y: number}} */ rest,
  /** @type {{x: number, y: number}} */ before,
  /** @type {{x: number, y: number}} */ now,
  /** @type {Gestures} */ to,
) {
  const was = Math.hypot(before.x - rest.x, before.y - rest.y);
  const is = Math.hypot(now.x - rest.x, now.y - rest.y);
  if (was > 0 && is > 0) to.zoom(is / was, rest.x, rest.y);
}
