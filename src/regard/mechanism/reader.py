"""Reads what was asked for off a panel's weights while they are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.mechanism.panel import Weighed, hide
from regard.mechanism.readings import FlatAsk, Readings, reading_shapes
from regard.mechanism.top import largest

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Float, Int64

    from regard.mechanism.call import Call


class Reader:
    """The readings of one call, filled panel by panel.

    What is summed over queries is kept apart for each run of panels and added in order at the
    end, so that the result does not depend on which thread did what when.
    """

    def __init__(self, call: Call, ask: FlatAsk, runs: int) -> None:
        self.call = call
        self.ask = ask
        self.arrays = call.arrays
        sizes, arrays = call.sizes, call.arrays
        self.shapes = reading_shapes(ask, sizes)
        counted = ("top_index", "eligible")
        summed = ("received", "eligible", "thumbnail")
        self.filled: dict[str, Any] = {}
        for name, shape in self.shapes.items():
            lead = (sizes.batch, sizes.heads, *((runs,) if name in summed else ()))
            self.filled[name] = (arrays.counts if name in counted else arrays.zeros)(*lead, *shape)
        asked = np.arange(len(ask.queries))
        self.row_at = np.full(len(asked), -1)
        self.row_at[ask.rows] = np.arange(len(ask.rows))
        self.query_block = asked * ask.thumbnail // max(len(asked), 1)
        self.key_block = np.arange(sizes.keys) * ask.thumbnail // max(sizes.keys, 1)

    @property
    def wants_largest(self) -> bool:
        """Whether each row's largest score is needed."""
        return self.ask.max_score

    @property
    def wants_moment(self) -> bool:
        """Whether each row's sum of weight x score is needed."""
        return self.ask.entropy

    @property
    def wants_result(self) -> bool:
        """Whether the panel's rows of the result are needed."""
        return self.ask.share

    def read(
        self,
        batch: int,
        head: int,
        run: int,
        weighed: Weighed,
        places: Int64[np.ndarray, " rows"],
        result: Float[Any, "rows value_dim"] | None,
    ) -> None:
        """Read a panel whose rows are the asked queries at `places`; `result` for their share."""
        ask, at = self.ask, (batch, head)
        if len(places) == 0:
            return
        if ask.lse:
            self._put("lse", at, places, weighed.lse[:, 0])
        if ask.max_score:
            assert weighed.largest is not None
            self._put("max_score", at, places, weighed.largest[:, 0])
        if ask.entropy:
            self._put("entropy", at, places, self._entropy(weighed))
        if ask.top:
            self._read_top(at, places, weighed, result)
        if len(ask.rows):
            self._read_rows(at, places, weighed)
        if len(ask.columns):
            self._read_columns(at, places, weighed)
        if ask.labels is not None:
            self._read_groups(at, places, weighed)
        if ask.received or ask.thumbnail:
            self._read_sums((batch, head, run), places, weighed)

    def readings(self, backend: str) -> Readings:
        """Everything read, with the leading axes of the inputs."""
        sizes, ask = self.call.sizes, self.ask
        done: dict[str, Any] = {}
        for name, shape in self.shapes.items():
            filled = self.filled[name]
            if name in ("received", "eligible", "thumbnail"):
                filled = self.arrays.like(filled.sum(2), filled)
            if name == "thumbnail":
                rows = np.bincount(self.query_block, minlength=ask.thumbnail).clip(1)
                filled = filled / self.arrays.widen(self.arrays.put(rows))[:, None]
            done[name] = self.arrays.give(filled.reshape(sizes.leading + shape))
        return Readings(backend=backend, queries=ask.queries, **done)

    def _put(self, name: str, at: tuple[int, int], places: Any, values: Any) -> None:
        self.filled[name][at][places] = values

    def _entropy(self, weighed: Weighed) -> Float[Any, " rows"]:
        """-sum p ln p = ln(total) sum(p) - sum(p (score - shift)), never below 0."""
        total, moment = weighed.total[:, 0], weighed.moment
        assert moment is not None
        mass = 1.0 if self.call.sinks is None else weighed.exponentials.sum(1) / total
        return self.arrays.maximum(self.arrays.log(total) * mass - moment[:, 0] / total, 0)

    def _read_top(self, at: tuple[int, int], places: Any, weighed: Weighed, result: Any) -> None:
        arrays = self.arrays
        hide(arrays, weighed.exponentials, weighed.sight, -1.0)
        index, weight = largest(arrays, weighed.exponentials, self.ask.top)
        hide(arrays, weighed.exponentials, weighed.sight, 0.0)
        weight /= weighed.total
        if weighed.spoiled is not None:
            weight[weighed.spoiled] = np.nan
        index = arrays.where(index >= 0, index + weighed.sight.start, -1)
        self._put("top_index", at, places, arrays.like(index, self.filled["top_index"]))
        self._put("top_weight", at, places, weight)
        if self.ask.share and self.call.sizes.keys:
            value = self.call.values[at[0], self.call.sizes.kv_head(at[1])]
            taken = value[index.clip(0)]  # (rows, k, value_dim)
            # of length about 1, so that its square does not underflow where a sink takes nearly all
            size = arrays.row_max(abs(result))
            unit = result / size
            along = (taken * unit[:, None, :]).sum(2)
            share = weight * along / (size * (unit * unit).sum(1)[:, None])  # 0 / 0 is NaN
            share = arrays.where(index >= 0, share, 0.0)
            if weighed.spoiled is not None:
                share[weighed.spoiled] = np.nan
            self._put("top_share", at, places, share)

    def _read_rows(self, at: tuple[int, int], places: Any, weighed: Weighed) -> None:
        row = self.row_at[places]
        kept = np.flatnonzero(row >= 0)
        if len(kept):
            sight = weighed.sight
            weights = weighed.exponentials[kept] / weighed.total[kept]
            self.filled["rows"][at][row[kept], sight.start : sight.stop] = weights

    def _read_columns(self, at: tuple[int, int], places: Any, weighed: Weighed) -> None:
        column = self.ask.columns - weighed.sight.start
        inside = np.flatnonzero((column >= 0) & (column < weighed.sight.width))
        if len(inside):
            weights = weighed.exponentials[:, column[inside]] / weighed.total
            self.filled["columns"][at][places[:, None], inside] = weights

    def _read_groups(self, at: tuple[int, int], places: Any, weighed: Weighed) -> None:
        labels = self.ask.labels
        assert labels is not None
        seen = labels[weighed.sight.start : weighed.sight.stop]

        def mass(rows: Any) -> Any:
            sums = self.arrays.zeros(len(rows), self.ask.groups)
            self.arrays.add_by_label(sums, seen, rows)
            return sums

        sums = self._linear(weighed, mass)
        self._put("group_mass", at, places, sums / weighed.total)

    def _read_sums(self, at: tuple[int, int, int], places: Any, weighed: Weighed) -> None:
        """Column sums of the panel: one product for each block of the thumbnail's rows."""
        arrays, ask, sight = self.arrays, self.ask, weighed.sight
        blocks, block_of = np.unique(self.query_block[places], return_inverse=True)
        member = np.arange(len(blocks))[:, None] == block_of
        by_block = arrays.where(arrays.put(member), 1 / weighed.total[:, 0], 0.0)

        def sum_columns(rows: Any) -> Any:
            return arrays.matmul(by_block, rows, out=arrays.empty(len(blocks), sight.width))

        sums = self._linear(weighed, sum_columns)
        if ask.received:
            self.filled["received"][at][sight.start : sight.stop] += sums.sum(0)
            eligible = self.filled["eligible"][at][sight.start : sight.stop]
            eligible += len(places)
            for first, last, hidden in sight.hidden:
                eligible[first:last] -= arrays.like(hidden.sum(0), eligible)
        if ask.thumbnail:
            small = arrays.zeros(len(blocks), ask.thumbnail)
            arrays.add_by_label(small, self.key_block[sight.start : sight.stop], sums)
            self.filled["thumbnail"][at][blocks] += small

    def _linear(self, weighed: Weighed, sums: Callable[[Any], Any]) -> Any:
        """`sums` of the exponentials, NaN just where it adds up a NaN (0 x NaN is not that)."""
        arrays, cells = self.arrays, weighed.exponentials
        if weighed.spoiled is None:
            return sums(cells)
        nan = arrays.is_nan(cells)
        touched = sums(arrays.widen(nan)) > 0
        return arrays.where(touched, np.nan, sums(arrays.where(nan, 0.0, cells)))
