"""Who reads whom among the units of one kind of attention: whole rows, or the largest weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.questions.links import Ranking
from regard.rows import iterate_blocks
from regard.sources import is_whole, known_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jaxtyping import Bool, Float, Int64

    from regard.habit import Habit
    from regard.layer_readings import Readings
    from regard.record import Record

MOST_CELLS: Final = 2**27
"""Weights in all, up to which every one of them is looked at: 512 words in 288 heads and more."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Some readers of one layer. readers `(r)`: units; weights, shares `(heads, r, keys)`;
    visible `(r, keys)`."""

    readers: Int64[np.ndarray, " r"]
    weights: Float[np.ndarray, "heads r keys"]
    shares: Float[np.ndarray, "heads r keys"] | None
    visible: Bool[np.ndarray, "r keys"]


@dataclass(frozen=True, eq=False)
class Tops:
    """The largest weights of readers of one layer, largest first. readers `(r)`; key `(heads, r,
    k)`, -1 for none; weight, share (NaN where not known) alike."""

    readers: Int64[np.ndarray, " r"]
    key: Int64[np.ndarray, "heads r k"]
    weight: Float[np.ndarray, "heads r k"]
    share: Float[np.ndarray, "heads r k"]


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
        self.first_head = np.cumsum([0, *(layer.heads for layer in record.layers)])
        """Of each layer the place of its first head among all heads."""
        self.ranking = cache(self._ranking)

    @property
    def heads(self) -> int:
        return int(self.first_head[-1])

    @property
    def cells(self) -> int:
        """Weights in all: heads × readers × keys."""
        return self.heads * len(self.readers.words) * len(self.keys.words)

    @cached_property
    def whole(self) -> bool:
        """Whether whole rows are read, of every layer; else the largest weights of each row."""
        return self.cells <= MOST_CELLS and all(map(is_whole, self.record.layers))

    @property
    def split(self) -> bool:
        """Whether some unit is several tokens: what is merged of its largest weights is less than
        the whole."""
        return any(len(side.words) < len(side.tokens) for side in (self.readers, self.keys))

    def known(self, index: int) -> Int64[np.ndarray, " r"]:
        """The units of which a layer knows weights, special tokens and marks among them."""
        layer = self.record.layers[index]
        owner = self.readers.word_of[layer.query_positions]
        rows = np.bincount(owner, minlength=len(self.readers.words))
        unknown = np.bincount(owner[~known_rows(layer)], minlength=len(rows))
        return np.flatnonzero((rows > 0) & (unknown == 0))

    def rows(self, index: int, readers: Int64[np.ndarray, " r"] | None = None) -> Iterator[Rows]:
        """Whole rows of one layer, a block of readers at a time; of those asked that are known."""
        known = self.known(index)
        chosen = known if readers is None else np.intersect1d(known, readers)
        for block in iterate_blocks(self.record, index, [int(unit) for unit in chosen]):
            yield Rows(block.words, block.weights, block.shares, block.visible)

    def tops(self, index: int, read: Readings, most: int) -> Tops | None:
        """The largest weights in the readings of one layer, merged from tokens to units; None if
        it has none."""
        layer = self.record.layers[index]
        if read.top_index is None or read.top_weight is None or read.queries is None:
            return None
        readers = self.known(index)
        place = np.full(len(self.readers.words), -1)
        place[readers] = np.arange(len(readers))
        of_row = place[self.readers.word_of[layer.query_positions[read.queries]]]
        of_key = self.keys.word_of[layer.key_positions]
        size = np.bincount(of_key, minlength=len(self.keys.words))
        pieces = np.bincount(of_row[of_row >= 0], minlength=len(readers))
        by_reader = np.argsort(of_row, kind="stable")[np.count_nonzero(of_row < 0) :]
        first = np.cumsum(pieces) - pieces
        shape = (layer.heads, len(readers), most)
        made = Tops(
            readers,
            np.full(shape, -1),
            np.zeros(shape, np.float32),
            np.full(shape, np.nan, np.float32),
        )
        for count in np.unique(pieces):  # readers of one piece, of two, ...
            some = np.flatnonzero(pieces == count)
            rows = by_reader[first[some][:, None] + np.arange(count)]
            wide = (layer.heads, len(some), -1)
            key = read.top_index[:, rows].reshape(wide)
            weight = read.top_weight[:, rows].reshape(wide) / count
            weight = np.where(key < 0, 0, weight)
            share = np.full(weight.shape, np.nan, np.float32)
            if read.top_share is not None and count == 1:
                share = read.top_share[:, rows].reshape(wide)
            key = np.where(key < 0, -1, of_key[key])
            if count > 1 or (size > 1).any():
                key, weight, share = _merged(key, weight, share, size)
            width = min(most, key.shape[2])
            for into, values in ((made.key, key), (made.weight, weight), (made.share, share)):
                into[:, some, :width] = values[:, :, :width]
        made.share[made.key < 0] = np.nan
        return made

    def tops_of(self, rows: Rows, most: int) -> Tops:
        """The largest weights of whole rows."""
        most = min(most, len(self.keys.words))
        found = largest(np.where(rows.visible, rows.weights, -1), most)
        seen = np.take_along_axis(np.broadcast_to(rows.visible, rows.weights.shape), found, -1)
        share = np.full(found.shape, np.nan, np.float32)
        if rows.shares is not None:
            share = np.where(seen, np.take_along_axis(rows.shares, found, -1), np.float32(np.nan))
        weight = np.where(seen, np.take_along_axis(rows.weights, found, -1), 0)
        return Tops(rows.readers, np.where(seen, found, -1), weight, share)

    def _ranking(self, index: int) -> Ranking:
        """What may be a link in one layer, and which heads are set aside."""
        return Ranking(self.record, index, self.habit)

    def usual(
        self, index: int, readers: Int64[np.ndarray, " r"], keys: Int64[np.ndarray, "..."]
    ) -> Any:
        """What each head of a layer usually gives keys `(1, n)` or `(heads, r, n)` at their
        distance from the reader, `(heads, r, n)`; 0 where nothing is known. Special tokens, which
        are no links, are counted as words."""
        layer = self.record.layers[index]
        if self.habit is None or not self.same:
            return np.float32(0)
        apart = self.record.apart(index)
        place = np.cumsum(~apart)
        bins = self.habit.bins(place[keys] - place[readers][:, None])
        heads = np.arange(layer.heads)[:, None, None]
        usual = self.habit.distance[layer.number].astype(np.float32)[heads, bins]
        return np.where(apart[readers][:, None], np.float32(0), usual)


def joined(parts: Sequence[Tops]) -> Tops | None:
    """Readers of one layer brought together; None if there are none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    return Tops(
        np.concatenate([part.readers for part in parts]),
        np.concatenate([part.key for part in parts], axis=1),
        np.concatenate([part.weight for part in parts], axis=1),
        np.concatenate([part.share for part in parts], axis=1),
    )


def _merged(
    key: Int64[np.ndarray, "heads r n"],
    weight: Float[np.ndarray, "heads r n"],
    share: Float[np.ndarray, "heads r n"],
    size: Int64[np.ndarray, " units"],
) -> tuple[Any, Any, Any]:
    """Weights of each row that go to one unit added up, largest first; a share is known where
    every piece of the unit is among them. size: pieces of each unit."""
    order = np.argsort(key, axis=-1, kind="stable")
    key, weight, share = (np.take_along_axis(part, order, -1) for part in (key, weight, share))
    last = np.ones(key.shape, np.bool_)  # of a run of one unit
    last[..., :-1] = key[..., 1:] != key[..., :-1]
    place = np.arange(key.shape[-1])
    before = np.full(key.shape, -1)
    before[..., 1:] = np.maximum.accumulate(np.where(last, place, -1), axis=-1)[..., :-1]

    def summed(numbers: Any) -> Any:
        total = np.cumsum(numbers, axis=-1, dtype=np.float64)
        return total - np.where(before < 0, 0, np.take_along_axis(total, before.clip(0), -1))

    whole = last & (place - before == size[key]) & (key >= 0)
    known = np.isfinite(share)
    share = np.where(whole & (summed(~known) == 0), summed(np.where(known, share, 0)), np.nan)
    weight = np.where(last & (key >= 0), summed(weight), -1)
    order = np.argsort(-weight, axis=-1, kind="stable")
    key, weight, share = (np.take_along_axis(part, order, -1) for part in (key, weight, share))
    return np.where(weight < 0, -1, key), weight.clip(0), share


def largest(numbers: Float[np.ndarray, "... n"], most: int) -> Int64[np.ndarray, "... most"]:
    """Where the largest numbers of each row are, largest first; of equal ones the earlier first, if
    there is room for all of them."""
    if numbers.shape[-1] > 4 * most:
        some = np.sort(np.argpartition(-numbers, most - 1, axis=-1)[..., :most], axis=-1)
        order = np.argsort(-np.take_along_axis(numbers, some, -1), axis=-1, kind="stable")
        found: Int64[np.ndarray, "... most"] = np.take_along_axis(some, order, -1)
        return found
    return np.argsort(-numbers, axis=-1, kind="stable")[..., :most]
