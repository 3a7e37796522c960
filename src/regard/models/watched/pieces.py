"""The masks of several calls of one layer, joined into the mask of all rows over all keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.mechanism.arrays import NumpyArrays
from regard.mechanism.mask import Mask
from regard.mechanism.readings import check_budget
from regard.mechanism.sight import Eyes
from regard.mechanism.sizes import Sizes

if TYPE_CHECKING:
    from jaxtyping import Bool


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive rows of a track and the mask of their call: rows start..start+rows-1 over keys
    first_key..first_key+keys-1."""

    start: int
    rows: int
    first_key: int
    keys: int
    mask: Mask


def joined(
    pieces: list[Piece], masks: list[Mask], first_key: int, last_key: int, heads: int
) -> Mask:
    """The pieces' masks, in NumPy and of one item, as one.

    In a few numbers if every piece agrees with them; else an array of rows x keys, within the
    memory budget.
    """
    plain = _plain(pieces, masks, first_key)
    if plain is not None:
        return plain
    rows, keys = sum(piece.rows for piece in pieces), last_key - first_key
    check_budget("the masks of a generation", rows * keys, 1, "Watch fewer tokens.")
    allowed = np.zeros((rows, keys), np.bool_)
    bias = None
    if any(mask.bias is not None for mask in masks):
        check_budget("the bias of a generation", heads * rows * keys, 4, "Keep no query and key.")
        bias = np.zeros((heads, rows, keys), np.float32)
    row = 0
    for piece, mask in zip(pieces, masks, strict=True):
        here = slice(piece.first_key - first_key, piece.first_key - first_key + piece.keys)
        allowed[row : row + piece.rows, here] = _cells(piece, mask)
        if bias is not None and mask.bias is not None:
            bias[:, row : row + piece.rows, here] = mask.bias.reshape(
                (1,) * (3 - mask.bias.ndim) + mask.bias.shape[-3:]
            )
        row += piece.rows
    return Mask(allowed=allowed, bias=bias)


def _plain(pieces: list[Piece], masks: list[Mask], first_key: int) -> Mask | None:
    """One causal mask, with a window if there is one, if every piece is a part of it."""
    left: int | None = None
    for piece, mask in zip(pieces, masks, strict=True):
        if mask.allowed is not None or mask.bias is not None or mask.segments is not None:
            return None
        reach = piece.start + piece.rows - 1 - piece.first_key
        if mask.window is not None and mask.window[0] is not None:
            reach = mask.window[0]
        if piece.first_key > first_key or mask.window is not None:
            left = reach if left is None else max(left, reach)
    whole = Mask(
        causal=True,
        offset=pieces[0].start - first_key,
        window=None if left is None else (left, None),
    )
    for piece, mask in zip(pieces, masks, strict=True):
        ends_last = piece.first_key + piece.keys == piece.start + piece.rows
        causal = piece.rows == 1 or (mask.causal and mask.offset == piece.start - piece.first_key)
        far = (
            piece.first_key
            if mask.window is None or mask.window[0] is None
            else (piece.start - mask.window[0])
        )
        expected = first_key if left is None else max(first_key, piece.start - left)
        if not ends_last or not causal or max(far, first_key) != expected:
            return None
    return whole


def _cells(piece: Piece, mask: Mask) -> Bool[np.ndarray, "rows keys"]:
    """What the rows of a piece see, in any head."""
    sizes = Sizes(1, 1, 1, piece.rows, piece.keys, 1, 0, axes=4)
    flat = replace(mask, bias=None, allowed=_any_head(mask.allowed)).flatten(sizes)
    sight = Eyes(flat, NumpyArrays("float32")).sight(0, 0, slice(0, piece.rows))
    cells = np.zeros((piece.rows, piece.keys), np.bool_)
    cells[:, sight.start : sight.stop] = True
    for first, last, hidden in sight.hidden:
        cells[:, sight.start + first : sight.start + last] &= ~hidden
    return cells


def _any_head(allowed: Any) -> Any:
    return (
        allowed.any(axis=-3, keepdims=True) if allowed is not None and allowed.ndim > 2 else allowed
    )
