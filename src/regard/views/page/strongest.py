"""For every unit the strongest links over all heads, gathered layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

    from regard.views.page.level import Level, Rows

NONE = -1


class Strongest:
    """The `most` strongest links of each reader, one for each unit it reads: that of the head that
    goes furthest beyond its habit. What is no link (special tokens, punctuation, the reader
    itself) and heads that read a place are set aside, as in `regard.questions.strongest`."""

    def __init__(self, level: Level, most: int) -> None:
        readers = len(level.readers.words)
        self.level = level
        self.most = min(most, max(len(level.keys.words), 1))
        shape = (readers, self.most)
        self.head = np.full(shape, NONE)
        self.key = np.full(shape, NONE)
        self.lift = np.full(shape, -np.inf)
        self.weight = np.zeros(shape)
        self.share = np.full(shape, np.nan)

    def add_rows(self, index: int, rows: Rows) -> None:
        """Whole rows of one layer."""
        level = self.level
        rank = level.ranking(index)
        keys = np.arange(len(level.keys.words))
        lift = rows.weights - level.usual(index, rows.readers, keys[None, :])
        barred = ~rows.visible | rank.barred
        if rank.own:
            barred |= keys == rows.readers[:, None]
        lift[:, barred] = -np.inf
        lift[rank.positional] = -np.inf
        if not lift.size:
            return
        lift[np.isnan(lift)] = -np.inf
        head = lift.argmax(axis=0)  # (r, keys)
        best = lift.max(axis=0)
        chosen = largest(best, self.most)
        row = np.arange(len(rows.readers))[:, None]
        of = head[row, chosen], row, chosen
        shares = np.full(chosen.shape, np.nan) if rows.shares is None else rows.shares[of]
        self.add(index, rows.readers, of[0], chosen, rows.weights[of], shares, best[row, chosen])

    def add(
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
        new: dict[str, Any] = {
            "head": head + self.level.first_head[index], "key": key,
            "lift": np.where(lift > 0, lift, -np.inf), "weight": weight, "share": share,
        }  # fmt: skip
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
        both["lift"][np.broadcast_to(row, repeated.shape)[repeated], by_key[repeated]] = -np.inf
        best = np.argsort(-both["lift"], axis=1, kind="stable")[:, : self.most]
        for name, part in both.items():
            getattr(self, name)[readers] = part[row, best]

    def done(self) -> None:
        """Marks the places that no link fills."""
        self.head[~np.isfinite(self.lift)] = NONE
        self.key[~np.isfinite(self.lift)] = NONE


def largest(numbers: Float[np.ndarray, "... n"], most: int) -> Int64[np.ndarray, "... most"]:
    """Where the largest numbers of each row are, largest first, earlier ones first among equals."""
    if numbers.shape[-1] > 4 * most:
        some = np.sort(np.argpartition(-numbers, most - 1, axis=-1)[..., :most], axis=-1)
        order = np.argsort(-np.take_along_axis(numbers, some, -1), axis=-1, kind="stable")
        found: Int64[np.ndarray, "... most"] = np.take_along_axis(some, order, -1)
        return found
    return np.argsort(-numbers, axis=-1, kind="stable")[..., :most]
