"""The tokens that one stack of a model has read so far, pass after pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from regard.models.watched.naming import UNKNOWN
from regard.models.watched.track import Track

if TYPE_CHECKING:
    from jaxtyping import Bool, Int64

    from regard.models.watched.places import Place


class Sequence:
    """What is known of a stack's tokens, for every item of a batch.

    total: how many there are, padding included. ids `(batch, total)`, `UNKNOWN` where not seen.
    low, high: `(batch)`, the first token that is no padding and one past the last.
    padded: whether there is padding; sure: whether a mask has told.
    """

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.total = 0
        self.ids: Int64[np.ndarray, "batch tokens"] = np.zeros((batch, 0), np.int64)
        self.low = np.zeros(batch, np.int64)
        self.high = np.zeros(batch, np.int64)
        self.padded = False
        self.sure = False
        self.tracks: dict[Place, list[Track]] = {}

    def extend(
        self,
        past: int,
        count: int,
        ids: Int64[np.ndarray, "batch tokens"] | None,
        padding: Bool[np.ndarray, "batch tokens"] | None,
    ) -> None:
        """A pass over the tokens past..past+count-1."""
        self.total = past + count
        grown = np.full((self.batch, self.total), UNKNOWN, np.int64)
        kept = min(past, self.ids.shape[1])
        grown[:, :kept] = self.ids[:, :kept]
        if ids is not None and ids.shape[0] in (1, self.batch) and ids.shape[1] == count:
            grown[:, past:] = ids
        elif ids is not None and ids.shape == (self.batch, self.total):
            grown[:] = ids  # the whole text is handed on, and what is cached left out later
        self.ids = grown
        self.high = np.full(self.batch, self.total)
        if padding is not None and padding.shape == (self.batch, self.total):
            self.learn(padding)

    def learn(self, padding: Bool[np.ndarray, "batch tokens"]) -> None:
        """Which tokens are padding (False); where the first real one is stays as first learnt."""
        some = padding.any(1)
        self.high = np.where(some, self.total - padding[:, ::-1].argmax(1), self.total)
        if not self.sure and not self.tracks:
            self.low = np.where(some, padding.argmax(1), 0)
            self.padded = bool((self.low > 0).any() or (self.high < self.total).any())
        self.sure = True

    def span(self, item: int, batch: int) -> tuple[int, int]:
        """The first token of an item that is no padding, and one past the last.

        batch: how many items the caller has, where each of these stands for several.
        """
        if not self.padded or batch % self.batch:
            return 0, self.total
        own = self.owners([item], batch)[0]
        return int(self.low[own]), int(self.high[own])

    def owners(self, items: list[int], batch: int) -> list[int]:
        """Which items these of a batch stand for, where each of these stands for several."""
        return [item * self.batch // batch if batch % self.batch == 0 else 0 for item in items]

    def item_ids(self, item: int, batch: int) -> Int64[np.ndarray, " tokens"]:
        """The ids of an item without the padding at its ends."""
        low, high = self.span(item, batch)
        ids: Int64[np.ndarray, " tokens"] = self.ids[self.owners([item], batch)[0], low:high]
        return ids
