"""What a page holds, read from its HTML by other means than those that wrote it."""

from __future__ import annotations

import base64
import json
import zlib
from html.parser import HTMLParser
from typing import Any

import numpy as np


class Elements(HTMLParser):
    """Scripts, styles and meta elements of a page, and the text that stands outside of them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles: list[str] = []
        self.metas: list[dict[str, str | None]] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text: list[str] = []
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag == "meta":
            self.metas.append(dict(attrs))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag in ("script", "style"):
            self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts.pop()
            self.scripts.append((attributes, text + data))
        elif self._inside == "style":
            self.styles.append(data)
        else:
            self.text.append(data)


def unpacked(html: str) -> dict[str, Any]:
    """The page's data with NumPy arrays in place; scaled ones in float64, NaN where unknown."""
    found = Elements(html)
    parts, book = {}, ""
    for attributes, text in found.scripts:
        if attributes.get("id") == "regard-book":
            book = text
        if name := attributes.get("data-part"):
            parts[name] = zlib.decompress(base64.b64decode(text, validate=True), -zlib.MAX_WBITS)
    return _filled(json.loads(book), parts)  # type: ignore[no-any-return]


def _filled(value: Any, parts: dict[str, bytes]) -> Any:
    if isinstance(value, list):
        return [_filled(one, parts) for one in value]
    if not isinstance(value, dict):
        return value
    if "$" not in value:
        return {name: _filled(one, parts) for name, one in value.items()}
    part, at, dtype, shape, scale = value["$"]
    assert at % 8 == 0
    count = int(np.prod(shape, dtype=int))
    array = np.frombuffer(parts[part], np.dtype(f"<{dtype}"), count, at).reshape(shape)
    if scale is None:
        return array
    none = {"u2": 65535, "i2": -32768}[dtype]
    return np.where(array == none, np.nan, array * scale)
