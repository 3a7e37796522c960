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
    from regard.record import Record
    from regard.sources import Readings

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
        units = len(self.keys.words)
        readers = self.known(index)
        place = np.full(len(self.readers.words), -1)
        place[readers] = np.arange(len(readers))
        of_row = place[self.readers.word_of[layer.query_positions[read.queries]]]
        of_key = self.keys.word_of[layer.key_positions]
        size = np.bincount(self.keys.word_of[layer.key_positions], minlength=units)
        pieces = np.bincount(of_row[of_row >= 0], minlength=len(readers))
        shape = (layer.heads, len(readers), most)
        made = Tops(
            readers,
            np.full(shape, -1),
            np.zeros(shape, np.float32),
            np.full(shape, np.nan, np.float32),
        )
        for head in range(layer.heads):
            index_of, weight = read.top_index[head], read.top_weight[head]
            row, column = np.nonzero((index_of >= 0) & (of_row >= 0)[:, None])
            reader, key = of_row[row], of_key[index_of[row, column]]
            share = None if read.top_share is None else read.top_share[head][row, column]
            part = weight[row, column] / pieces[reader]
            _merge(made, head, reader, key, part, share, pieces, size)
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


def _merge(
    made: Tops,
    head: int,
    reader: Int64[np.ndarray, " n"],
    key: Int64[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    share: Float[np.ndarray, " n"] | None,
    pieces: Int64[np.ndarray, " readers"],
    size: Int64[np.ndarray, " units"],
) -> None:
    """Add up what is of one reader and one key, and keep the largest of each reader."""
    if not len(reader):
        return
    units, most = len(size), made.key.shape[-1]
    pair = reader * units + key
    order = np.argsort(pair, kind="stable")
    starts = np.flatnonzero(np.diff(pair[order], prepend=-1))
    reader, key = reader[order][starts], key[order][starts]
    weight = np.add.reduceat(weight[order], starts)
    if share is None:
        share = np.full(len(reader), np.nan)
    else:  # of a result that is one piece's, and a key whose every piece is there
        count = np.diff(starts, append=len(order))
        whole = (pieces[reader] == 1) & (count == size[key])
        share = np.where(whole, np.add.reduceat(share[order], starts), np.nan)
    order = np.lexsort((key, -weight, reader))
    reader = reader[order]
    firsts = np.flatnonzero(np.diff(reader, prepend=-1))
    place = np.arange(len(reader)) - np.repeat(firsts, np.diff(firsts, append=len(reader)))
    kept = place < most
    at = head, reader[kept], place[kept]
    for into, values in ((made.key, key), (made.weight, weight), (made.share, share)):
        into[at] = values[order][kept]


def largest(numbers: Float[np.ndarray, "... n"], most: int) -> Int64[np.ndarray, "... most"]:
    """Where the largest numbers of each row are, largest first, earlier ones first among equals."""
    if numbers.shape[-1] > 4 * most:
        some = np.sort(np.argpartition(-numbers, most - 1, axis=-1)[..., :most], axis=-1)
        order = np.argsort(-np.take_along_axis(numbers, some, -1), axis=-1, kind="stable")
        found: Int64[np.ndarray, "... most"] = np.take_along_axis(some, order, -1)
        return found
    return np.argsort(-numbers, axis=-1, kind="stable")[..., :most]
