"""For every unit the strongest links over all heads, gathered layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.questions.apart import marks
from regard.questions.links import Link, ranked
from regard.questions.overview import varied
from regard.views.page.level import largest
from regard.views.page.packing import block, fractions, indices, signed

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

    from regard.views.page.level import Level, Rows, Tops

NONE: Final = -1

_SORTED: Final = 2000
"""Links that are looked at for the few strongest of a text, no two of them alike."""


class Strongest:
    """The `most` strongest links of each reader, one for each unit it reads: that of the head that
    goes furthest beyond its habit. What is no link (special tokens, punctuation, the reader
    itself) and heads that read a place are set aside, as in `regard.questions.strongest`.

    All arrays `(readers, most)`, furthest beyond habit first; head and key -1 where there is none.
    """

    def __init__(self, level: Level, most: int) -> None:
        readers = len(level.readers.words)
        self.level = level
        self.most = min(most, max(len(level.keys.words), 1))
        shape = (readers, self.most)
        self.head = np.full(shape, NONE)
        self.key = np.full(shape, NONE)
        self.lift = np.full(shape, -np.inf, np.float32)
        self.weight = np.zeros(shape, np.float32)
        self.share = np.full(shape, np.nan, np.float32)

    def add_rows(self, index: int, rows: Rows) -> None:
        """Whole rows of one layer."""
        level = self.level
        rank = level.ranking(index)
        keys = np.arange(len(level.keys.words))
        barred = ~rows.visible | rank.barred
        if rank.own:
            barred |= keys == rows.readers[:, None]
        lift = rows.weights - level.usual(index, rows.readers, keys[None, :])
        if not lift.size:
            return
        lift[rank.positional] = -np.inf
        lift[np.isnan(lift)] = -np.inf
        head = lift.argmax(axis=0)  # (r, keys)
        best = np.where(barred, -np.inf, lift.max(axis=0))
        key = largest(best, self.most)
        row = np.arange(len(rows.readers))[:, None]
        of = head[row, key], row, key
        shares = np.full(key.shape, np.nan) if rows.shares is None else rows.shares[of]
        self._add(index, rows.readers, of[0], key, rows.weights[of], shares, best[row, key])

    def add_tops(self, index: int, tops: Tops) -> None:
        """The largest weights of the rows of one layer."""
        rank = self.level.ranking(index)
        lift = tops.weight - self.level.usual(index, tops.readers, tops.key)
        barred = (tops.key < 0) | rank.barred[tops.key]
        if rank.own:
            barred |= tops.key == tops.readers[:, None]
        lift[barred] = -np.inf
        lift[rank.positional] = -np.inf
        heads, readers, most = tops.key.shape
        head = np.broadcast_to(np.arange(heads)[:, None, None], tops.key.shape)

        def by_reader(array: Any) -> Any:
            return array.transpose(1, 0, 2).reshape(readers, heads * most)

        self._add(
            index,
            tops.readers,
            *map(by_reader, (head, tops.key, tops.weight, tops.share, lift)),
        )

    def links(self) -> tuple[Link, ...]:
        """The strongest of the whole text, as `regard.questions.overview` chooses them."""
        level = self.level
        side = level.readers
        lift = self.lift.copy()
        lift[side.special_words | marks(side)] = -np.inf
        order = np.argsort(-lift, axis=None, kind="stable")[:_SORTED]
        found = []
        for reader, place in zip(*np.unravel_index(order, lift.shape), strict=True):
            at = reader, place
            if not np.isfinite(lift[at]):
                break
            head = int(self.head[at])
            index = int(np.searchsorted(level.first_head, head, side="right")) - 1
            rank, key = level.ranking(index), int(self.key[at])
            weight, share = float(self.weight[at]), float(self.share[at])
            found.append(
                Link(
                    layer=index,
                    head=head - int(level.first_head[index]),
                    reader=int(reader),
                    word=key,
                    distance=int(rank.place[key] - rank.place[reader]) if rank.own else None,
                    weight=weight,
                    habit=None if level.habit is None else weight - float(self.lift[at]),
                    share=None if np.isnan(share) else share,
                )
            )
        return varied(ranked(found))

    def data(self, most: int | None = None) -> dict[str, Any] | None:
        """For the page; of each reader the first `most`. None where no link stands out."""
        of = slice(0, most)
        none = ~np.isfinite(self.lift[:, of])
        if none.all():
            return None
        readers = np.flatnonzero(~none.all(axis=1))
        none = none[readers]
        share = np.where(none, np.nan, self.share[readers, of])
        head, key = (np.where(none, NONE, array[readers, of]) for array in (self.head, self.key))
        return {
            "readers": block("core", readers, "i4"),
            "head": indices("core", head, self.level.heads),
            "key": indices("core", key, len(self.level.keys.words)),
            "weight": fractions("core", np.where(none, 0, self.weight[readers, of])),
            "share": None if np.isnan(share).all() else signed("core", share),
        }

    def _add(
        self,
        index: int,
        readers: Int64[np.ndarray, " r"],
        head: Int64[np.ndarray, "r n"],
        key: Int64[np.ndarray, "r n"],
        weight: Float[np.ndarray, "r n"],
        share: Float[np.ndarray, "r n"],
        lift: Float[np.ndarray, "r n"],
    ) -> None:
        """Links of one layer; only those with a lift above 0 count."""
        better = lift > np.maximum(self.lift[readers, -1:], 0)
        row, column = np.nonzero(better)  # others cannot be among the strongest any more
        if not len(row):
            return
        some, place, count = np.unique(row, return_inverse=True, return_counts=True)
        at = place, np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        shape = len(some), int(count.max())
        new = {
            "head": np.full(shape, NONE), "key": np.full(shape, NONE),
            "lift": np.full(shape, -np.inf, np.float32),
            "weight": np.zeros(shape, np.float32), "share": np.full(shape, np.nan, np.float32),
        }  # fmt: skip
        given = (head + self.level.first_head[index], key, lift, weight, share)
        for into, values in zip(new.values(), given, strict=True):
            into[at] = values[row, column]
        self._merge(readers[some], new)

    def _merge(self, readers: Int64[np.ndarray, " r"], new: dict[str, Any]) -> None:
        """Keep the strongest of what was there and what is new, each unit once."""
        both = {
            name: np.concatenate([getattr(self, name)[readers], part], axis=1)
            for name, part in new.items()
        }
        row = np.arange(len(readers))[:, None]
        order = np.argsort(-both["lift"], axis=1, kind="stable")
        by_key = order[row, np.argsort(both["key"][row, order], axis=1, kind="stable")]
        again = both["key"][row, by_key]
        repeated = np.zeros(again.shape, np.bool_)
        repeated[:, 1:] = again[:, 1:] == again[:, :-1]
        lift = both["lift"]
        lift[row, by_key] = np.where(repeated, -np.inf, lift[row, by_key])
        best = np.argsort(-lift, axis=1, kind="stable")[:, : self.most]
        for name, part in both.items():
            getattr(self, name)[readers] = part[row, best]
