"""What the rows of one panel may see: a range of keys, and the cells hidden within it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.mechanism.mask import UNLIMITED

if TYPE_CHECKING:
    from jaxtyping import Bool, Int32, Int64

    from regard.mechanism.arrays import Arrays
    from regard.mechanism.mask import FlatMask

    Rows = slice | Int64[np.ndarray, " rows"]


@dataclass(frozen=True, eq=False)
class Sight:
    """Keys `start` to `stop`; outside them nothing is seen, so no work is done there.

    hidden: blocks (first, last, cells): columns first..last, counted from `start`, with a bool
        array `(rows, last - first)` that is True where a row may not see a key. Columns in no
        block are seen by every row.
    """

    start: int
    stop: int
    hidden: tuple[tuple[int, int, Bool[Any, "rows columns"]], ...]

    @property
    def width(self) -> int:
        return self.stop - self.start


class Eyes:
    """The `Sight` of any rows under one `FlatMask`."""

    def __init__(self, mask: FlatMask, arrays: Arrays) -> None:
        self.mask = mask
        self.arrays = arrays
        # Where the keys of each label begin and end, once: a panel's range is then a look-up.
        if mask.query_segments is not None and mask.key_segments is not None:
            self.reach = [
                _reach(queries, labels)
                for queries, labels in zip(mask.query_segments, mask.key_segments, strict=True)
            ]

    def sight(self, batch: int, head: int, rows: Rows) -> Sight:
        """What query rows `rows` (a slice or ascending indices) of one head may see."""
        mask = self.mask
        positions = _indices(rows) + int(mask.offset[batch])
        if len(positions) == 0:
            return Sight(0, 0, ())
        low, high = int(positions[0]), int(positions[-1])
        # from `start` some row sees a key, from `all_start` every row does; alike on the right
        start = 0 if mask.left == UNLIMITED else max(0, low - mask.left)
        all_start = 0 if mask.left == UNLIMITED else max(0, high - mask.left)
        end = int(mask.lengths[batch])
        stop, all_stop = end, end
        if mask.right != UNLIMITED:
            stop, all_stop = min(end, high + mask.right + 1), min(end, low + mask.right + 1)
        if mask.query_segments is not None:
            first, last = self.reach[batch]
            start, stop = max(start, int(first[rows].min())), min(stop, int(last[rows].max()))
        if start >= stop:
            return Sight(0, 0, ())
        if mask.allowed is not None or mask.bias is not None or mask.query_segments is not None:
            blocks = [(start, stop)]
        else:
            edges = [(start, min(all_start, stop)), (max(all_stop, start), stop)]
            blocks = [(first, last) for first, last in edges if first < last]
            if len(blocks) == 2 and blocks[0][1] > blocks[1][0]:
                blocks = [(start, stop)]
        found = [
            (first - start, last - start, self._hidden(batch, head, rows, positions, first, last))
            for first, last in blocks
        ]
        return Sight(start, stop, tuple(block for block in found if bool(block[2].any())))

    def _hidden(
        self,
        batch: int,
        head: int,
        rows: Rows,
        positions: Int64[np.ndarray, " rows"],
        first: int,
        last: int,
    ) -> Bool[Any, "rows columns"]:
        mask = self.mask
        distance = np.arange(first, last) - positions[:, None]
        hidden = (distance < -mask.left) | (distance > mask.right)
        if mask.query_segments is not None and mask.key_segments is not None:
            asking = mask.query_segments[batch][rows][:, None]
            hidden |= (asking != mask.key_segments[batch][first:last]) | (asking < 0)
        cells = self.arrays.put(hidden)
        if mask.allowed is not None:
            cells |= ~mask.allowed[batch, head][rows, first:last]
        if mask.bias is not None:
            cells |= self.arrays.widen(mask.bias[batch, head][rows, first:last]) == -np.inf
        return cells


def count_hidden(sight: Sight, arrays: Arrays, rows: int) -> Int32[Any, " rows"]:
    """How many of the keys in range each row may not see."""
    count = arrays.counts(rows)
    for _, _, cells in sight.hidden:
        count += arrays.like(cells.sum(1), count)
    return count


def _indices(rows: Rows) -> Int64[np.ndarray, " rows"]:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def _reach(
    queries: Int32[np.ndarray, " queries"], labels: Int32[np.ndarray, " keys"]
) -> tuple[Int64[np.ndarray, " queries"], Int64[np.ndarray, " queries"]]:
    """First and one past the last key of each query's label; (keys, 0) where there is none."""
    keys = len(labels)
    known, first, of_key = np.unique(labels, return_index=True, return_inverse=True)
    last = np.zeros(len(known), np.int64)
    np.maximum.at(last, of_key, np.arange(1, keys + 1))
    place = np.searchsorted(known, queries)
    found = (queries >= 0) & (place < len(known))
    found[found] = known[place[found]] == queries[found]
    begin, end = np.full(len(queries), keys), np.zeros(len(queries), np.int64)
    begin[found], end[found] = first[place[found]], last[place[found]]
    return begin, end
