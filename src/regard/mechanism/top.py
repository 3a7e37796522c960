"""The k largest weights of each row: a threshold from lane maxima, then a sort of the few left.

A row is laid out in lanes. The k-th largest of the lanes' maxima cannot exceed the row's k-th
largest weight, so every key of the answer reaches it, and only lanes whose maximum reaches it
need a second look. That reads each row once, where a partition moves it about several times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

    from regard.mechanism.arrays import Arrays

_FOLD: Final = 4
"""Maxima of long rows are taken 4 x lanes columns at a time, then folded: longer operations."""


def largest(
    arrays: Arrays, weights: Float[Any, "rows keys"], k: int
) -> tuple[Int64[Any, "rows k"], Float[Any, "rows k"]]:
    """Indices and values of the k largest of each row, largest first, lower index on ties.

    A negative weight stands for a key that may not be seen, and is never taken; nor is a NaN.
    Missing places are -1 and 0.
    """
    rows, keys = weights.shape
    cell = arrays.sort(_candidates(arrays, weights, k))
    row = cell // max(keys, 1)
    each = arrays.bincount(row, rows)
    place = arrays.put(np.arange(len(cell))) - (each.cumsum(0) - each)[row]
    most = max(int(each.max()) if rows else 0, k)
    value, index = arrays.full(-1.0, rows, most), arrays.put(np.full((rows, most), -1))
    index[row, place] = cell % max(keys, 1)
    value[row, place] = weights.reshape(-1)[cell]
    # candidates stand in order of column, so a stable sort puts the lower key first on ties
    order = arrays.stable_argsort(-value)[:, :k]
    line = arrays.put(np.arange(rows))[:, None]
    return index[line, order], arrays.maximum(value[line, order], 0)


def _candidates(arrays: Arrays, weights: Float[Any, "rows keys"], k: int) -> Int64[Any, " cells"]:
    """Flat indices of a few cells among which the k largest of each row are, in any order."""
    rows, keys = weights.shape
    # many lanes leave few to look at again and make long vector operations; few sort faster
    lanes = max(4 * k, keys // 32)
    fold = _FOLD if keys >= 2 * _FOLD * lanes else 1
    depth = keys // (fold * lanes) * fold
    if depth < 2:
        row, column = arrays.nonzero(weights >= 0)
        return row * keys + column
    inside = weights[:, : depth * lanes]
    maxima = arrays.group_max(inside.reshape(rows, depth // fold, fold * lanes))
    maxima = arrays.group_max(maxima.reshape(rows, fold, lanes))
    least = arrays.maximum(arrays.kth_largest(maxima, k), 0)
    row, lane = arrays.nonzero(maxima >= least[:, None])
    reaching, level = arrays.nonzero(
        inside.reshape(rows, depth, lanes)[row, :, lane] >= least[row][:, None]
    )
    rest, column = arrays.nonzero(weights[:, depth * lanes :] >= least[:, None])
    return arrays.join(
        row[reaching] * keys + level * lanes + lane[reaching], rest * keys + depth * lanes + column
    )
