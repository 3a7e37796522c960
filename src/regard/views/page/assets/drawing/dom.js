// @ts-check
/** Elements without HTML strings: text from outside is text, whatever it says. */

/** @typedef {string | number | Node | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | EventListener>} Attributes */

/**
 * An element. `on...` attributes are listeners; true is an empty attribute; false, null and
 * undefined leave it out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  dress(made, attributes, children);
  return made;
}

/**
 * An SVG element.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  dress(made, attributes, children);
  return made;
}

/** A word from outside: isolated, clipped to `room` characters, whole in its title. */
export function word(/** @type {string} */ text, /** @type {number} */ room = 32) {
  const shown = clipped(text, room);
  return el("bdi", shown === text ? {} : { title: text.slice(0, 2000) }, visible(shown));
}

/** A text that has something to see, and to say: nothing and white space have signs. */
function visible(/** @type {string} */ text) {
  if (text === "") return "∅";
  return text.trim() === "" ? "␣".repeat(text.length) : text;
}

// made once: that alone takes longer than to cut a hundred words
const SEGMENTS = new Intl.Segmenter();

/** A text cut to so many characters, never inside one that is drawn as a whole. */
export function clipped(/** @type {string} */ text, /** @type {number} */ room) {
  if (text.length <= room) return text;
  const parts = [...SEGMENTS.segment(text.slice(0, 8 * room))];
  if (parts.length <= room && text.length <= 8 * room) return text;
  return parts.slice(0, room - 1).map((part) => part.segment).join("") + "…";
}

function dress(
  /** @type {Element} */ made,
  /** @type {Attributes} */ attributes,
  /** @type {(Child | Child[])[]} */ children,
) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    made.append(child instanceof Node ? child : String(child));
  }
}
