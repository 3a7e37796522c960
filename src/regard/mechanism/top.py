"""The k largest weights of each row: a threshold from lane maxima, then a sort of the few left.

A row is laid out in lanes; the k-th largest of the lanes' maxima cannot exceed the row's k-th
largest weight, so every key of the answer reaches it, and little else does. This reads the row
twice at the speed of memory, where a partition moves it about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

    from regard.mechanism.arrays import Arrays


def largest(
    arrays: Arrays, weights: Float[Any, "rows keys"], k: int
) -> tuple[Int64[Any, "rows k"], Float[Any, "rows k"]]:
    """Indices and values of the k largest of each row, largest first, lower index on ties.

    A negative weight stands for a key that may not be seen, and is never taken; nor is a NaN.
    Missing places are -1 and 0.
    """
    rows = weights.shape[0]
    index = arrays.put(np.full((rows, k), -1))
    value = arrays.zeros(rows, k)
    row, column = arrays.nonzero(weights >= _threshold(arrays, weights, k)[:, None])
    found = weights[row, column]
    # two stable sorts, by weight and then by row, keep equal weights in order of column
    order = arrays.stable_argsort(-found)
    order = order[arrays.stable_argsort(row[order])]
    row, column, found = row[order], column[order], found[order]
    each = arrays.bincount(row, rows)
    rank = arrays.put(np.arange(len(row))) - (each.cumsum(0) - each)[row]
    kept = rank < k
    index[row[kept], rank[kept]] = column[kept]
    value[row[kept], rank[kept]] = found[kept]
    return index, value


def _threshold(arrays: Arrays, weights: Float[Any, "rows keys"], k: int) -> Float[Any, " rows"]:
    """A number for each row, 0 or more, that at least its k largest weights reach."""
    rows, keys = weights.shape
    # many lanes make few candidates and long vector operations; 32 deep is enough to skip over
    lanes = max(8 * k, keys // 32)
    depth = keys // lanes
    if depth < 2:
        return arrays.zeros(rows)
    maxima = arrays.group_max(weights[:, : depth * lanes].reshape(rows, depth, lanes))
    return arrays.maximum(arrays.kth_largest(maxima, k), 0)
