"""Arrays and text in a form that an HTML page can carry: compressed base64 parts, and JSON.

An array is packed once, by itself, as a run of raw deflate that ends at a whole byte; runs put one
after another are one stream. So the size of a page is the sum of what its parts take, and is
known before the page is made.
"""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

Part = Literal["core", "rows", "links", "steps"]

PARTS: Final = ("core", "rows", "links", "steps")
"""In the order in which a page needs them: the first is all that its first screen takes."""

ALIGNED: Final = 8
"""Bytes at which every array begins, so that it can be read in place."""

WHOLE: Final = 65534
"""What stands for a weight of 1 in 16 bits; 65535 stands for NaN."""

_MOST_SIGNED: Final = 16.0

_TYPES: Final = {
    "f8": "<f8", "f4": "<f4", "u4": "<u4", "i4": "<i4", "u2": "<u2", "i2": "<i2", "u1": "|u1",
}  # fmt: skip
# What would end the element that the JSON stands in, half characters that UTF-8 cannot write,
# and two line ends that JavaScript once took for the end of a string.
_UNSAFE: Final = re.compile("[<\ud800-\udfff\u2028\u2029]")


@dataclass(frozen=True, eq=False)
class Block:
    """One array, packed. data: raw deflate, ended at a byte but not closed. size: bytes unpacked,
    a multiple of 8."""

    part: Part
    data: bytes
    size: int
    dtype: str
    shape: tuple[int, ...]
    scale: float | None

    @property
    def cost(self) -> int:
        """Bytes that the block takes in a page, with what the JSON says of it."""
        return math.ceil(len(self.data) * 4 / 3) + 72


def cost(tree: Any) -> int:
    """Bytes that all blocks in a tree of dicts and lists take in a page."""
    if isinstance(tree, Block):
        return tree.cost
    if isinstance(tree, dict):
        return sum(map(cost, tree.values()))
    return sum(map(cost, tree)) if isinstance(tree, list) else 0


def block(part: Part, array: Any, dtype: str, scale: float | None = None) -> Block:
    """An array as it is, in `dtype`; scale is what the reader multiplies each number by."""
    plain = np.ascontiguousarray(array, np.dtype(_TYPES[dtype]))
    raw = plain.tobytes()
    raw += bytes(-len(raw) % ALIGNED)
    # Random mantissas hardly shrink however long one tries.
    packer = zlib.compressobj(4 if dtype in ("f8", "f4") else 6, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = packer.compress(raw) + packer.flush(zlib.Z_FULL_FLUSH)
    return Block(part, data, len(raw), dtype, plain.shape, scale)


def fractions(part: Part, array: Any) -> Block:
    """Weights, 0 to 1, in 16 bits each: to 1 part in 131 068. NaN stays NaN."""
    numbers = np.asarray(array)
    nan = np.isnan(numbers)
    whole = np.rint(np.where(nan, 0, numbers).clip(0, 1) * WHOLE)
    whole[nan] = WHOLE + 1
    return block(part, whole, "u2", 1 / WHOLE)


def indices(part: Part, array: Any, count: int) -> Block:
    """Places among `count`, in as few bits as they need; all bits set for -1, none."""
    dtype = "u2" if count < 2**16 - 1 else "u4"
    whole = np.asarray(array, np.int64)
    none = 2**16 - 1 if dtype == "u2" else 2**32 - 1
    return block(part, np.where(whole < 0, none, whole), dtype)


def signed(part: Part, array: Any) -> Block:
    """Numbers of either sign in 16 bits each, of the largest of them; in 32 where that is so large
    that hundredths would suffer. NaN stays NaN."""
    numbers = np.asarray(array)
    finite = np.isfinite(numbers)
    largest = float(np.abs(np.where(finite, numbers, 0)).max(initial=0)) or 1.0
    if largest > _MOST_SIGNED:
        return block(part, numbers, "f4")
    whole = np.rint(np.where(finite, numbers, 0) / largest * 32767)
    whole[~finite] = -32768
    return block(part, whole, "i2", largest / 32767)


def positive(part: Part, array: Any) -> Block:
    """Numbers that are not negative in 16 bits each, of the largest of them. NaN stays NaN."""
    numbers = np.asarray(array)
    finite = np.isfinite(numbers)
    largest = float(np.where(finite, numbers, 0).max(initial=0)) or 1.0
    whole = np.rint(np.where(finite, numbers, 0).clip(0) / largest * WHOLE)
    whole[~finite] = WHOLE + 1
    return block(part, whole, "u2", largest / WHOLE)


def pack(page: Any) -> tuple[str, dict[str, str]]:
    """A tree of dicts, lists, text, numbers and blocks as JSON that is safe inside a script
    element, and the parts that hold its arrays, in base64."""
    streams: dict[str, list[bytes]] = {part: [] for part in PARTS}
    sizes = dict.fromkeys(PARTS, 0)

    def placed(found: Any) -> dict[str, Any]:
        if not isinstance(found, Block):
            raise TypeError(f"{type(found).__name__} cannot be packed")
        at = sizes[found.part]
        sizes[found.part] += found.size
        streams[found.part].append(found.data)
        return {"$": [found.part, at, found.dtype, found.shape, found.scale]}

    text = as_json(page, placed)
    end = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS).flush()
    parts = {
        part: base64.b64encode(b"".join([*streams[part], end])).decode("ascii") for part in PARTS
    }
    return text, parts


def as_json(page: Any, blocks: Any = None) -> str:
    """JSON without a character that a script element or UTF-8 could stumble over."""
    text = json.dumps(
        page, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=blocks
    )
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
