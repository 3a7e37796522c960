"""Who reads whom among the units of one kind of attention: whole rows, or the largest weights."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.questions.links import Ranking
from regard.rows import iterate_word_rows
from regard.sources import known_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jaxtyping import Bool, Float, Int64

    from regard.habit import Habit
    from regard.record import Record

_BLOCK: Final = 2**23
"""Weights of one layer that are held at once: 32 MiB in float32."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Some readers of one layer. readers `(r)`: units; weights, shares `(heads, r, keys)`;
    visible `(r, keys)`; exact `(r)`: False where only the largest weights are known."""

    readers: Int64[np.ndarray, " r"]
    weights: Float[np.ndarray, "heads r keys"]
    shares: Float[np.ndarray, "heads r keys"] | None
    visible: Bool[np.ndarray, "r keys"]
    exact: Bool[np.ndarray, " r"]


class Level:
    """The units (words, or pieces as words) of a record whose layers are of one kind.

    habit: what the heads usually do, or None.
    """

    def __init__(self, record: Record, habit: Habit | None) -> None:
        self.record = record
        self.habit = habit
        first = record.layers[0]
        self.readers = record.sides[first.query_side]
        self.keys = record.sides[first.key_side]
        self.same = first.query_side == first.key_side
        counts = [layer.heads for layer in record.layers]
        self.first_head = np.cumsum([0, *counts])
        """Of each layer the place of its first head among all heads."""

    @property
    def heads(self) -> int:
        return int(self.first_head[-1])

    @property
    def cells(self) -> int:
        """Weights in all: heads × readers × keys."""
        return self.heads * len(self.readers.words) * len(self.keys.words)

    def known(self, index: int) -> Int64[np.ndarray, " r"]:
        """The units of which a layer knows weights, special tokens and marks among them."""
        layer = self.record.layers[index]
        owner = self.readers.word_of[layer.query_positions]
        rows = np.bincount(owner, minlength=len(self.readers.words))
        unknown = np.bincount(owner[~known_rows(layer)], minlength=len(rows))
        return np.flatnonzero((rows > 0) & (unknown == 0))

    def rows(self, index: int, readers: Int64[np.ndarray, " r"] | None = None) -> Iterator[Rows]:
        """The rows of one layer, a block of readers at a time; of those asked that are known."""
        known = self.known(index)
        chosen = known if readers is None else np.intersect1d(known, readers)
        most = max(1, _BLOCK // max(1, self.record.layers[index].heads * len(self.keys.words)))
        found = iterate_word_rows(self.record, index, [int(unit) for unit in chosen])
        for at in range(0, len(chosen), most):
            some = chosen[at : at + most]
            block = list(islice(found, len(some)))
            shares = [row.shares for row in block]
            yield Rows(
                some,
                np.stack([row.weights for row in block], axis=1),
                None if any(one is None for one in shares) else np.stack(shares, axis=1),  # type: ignore[arg-type]
                np.stack([row.visible for row in block]),
                np.array([row.exact for row in block], np.bool_),
            )

    def ranking(self, index: int) -> Ranking:
        """What may be a link in one layer, and which heads are set aside."""
        return Ranking(self.record, index, self.habit)

    def usual(
        self, index: int, readers: Int64[np.ndarray, " r"], keys: Int64[np.ndarray, "..."]
    ) -> Any:
        """What each head of a layer usually gives keys `(r, n)` or `(heads, r, n)` at their
        distance from the reader, `(heads, r, n)`; 0 where nothing is known. Special tokens, which
        are no links, are counted as words."""
        layer = self.record.layers[index]
        heads = np.arange(layer.heads)[:, None, None]
        if self.habit is None or not self.same:
            return np.zeros(np.broadcast_shapes(keys.shape, (layer.heads, 1, 1)))
        apart = self.record.apart(index)
        place = np.cumsum(~apart)
        bins = self.habit.bins(place[keys] - place[readers][:, None])
        bins = np.broadcast_to(bins, (layer.heads, *bins.shape[-2:]))
        usual = self.habit.distance[layer.number][heads, bins]
        return np.where(apart[readers][:, None], 0, usual)
