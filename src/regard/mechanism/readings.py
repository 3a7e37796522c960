"""What to read off the weights (`Ask`), and what was read (`Readings`).

`Ask.flatten` checks an `Ask` against the sizes of a call and gives the one flat encoding that
the loop reads, and that a compiled kernel can read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from regard.errors import InputError, MemoryBudgetError
from regard.mechanism.mask import whole_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Float, Int, Int32, Int64

    from regard.mechanism.sizes import Sizes

_budget_bytes = 2**30


def memory_budget() -> int:
    """The most bytes that one quadratic answer may take; 1 GiB unless set."""
    return _budget_bytes


def set_memory_budget(bytes: int) -> None:
    """Allow answers that hold queries x keys numbers to take up to `bytes` bytes."""
    global _budget_bytes
    if isinstance(bytes, bool) or not isinstance(bytes, int) or bytes < 0:
        raise InputError(f"bytes is {bytes!r}: expected a whole number, 0 or more.")
    _budget_bytes = bytes


def check_budget(what: str, numbers: int, itemsize: int, instead: str) -> None:
    """Refuse an answer of `numbers` numbers if it passes the budget, naming what serves instead."""
    if numbers * itemsize > _budget_bytes:
        raise MemoryBudgetError(
            f"{what} would take {numbers * itemsize / 2**20:,.0f} MiB; the budget is "
            f"{_budget_bytes / 2**20:,.0f} MiB. {instead} (regard.set_memory_budget raises it.)"
        )


@dataclass(frozen=True, eq=False)
class Ask:
    """What to read off the weights while they are there. The default asks nothing.

    queries: which query rows are read: None for all, whole numbers (negative ones count from the
        end, each row once), a slice, or "last". Everything below is over those rows, in that order.
    top: the k largest weights of each row -> top_index, top_weight.
    share: for those keys, their exact part of the result, w_j (v_j . z) / |z|^2 -> top_share.
    entropy: -sum p ln p of each row, in nats.
    lse: natural log-sum-exp of each row's masked scores, sinks included.
    max_score: each row's largest masked score, sinks excluded.
    received: what each key receives, summed over the rows -> received, eligible.
    rows: query indices (among `queries`) whose whole rows to keep.
    columns: key indices whose whole columns to keep.
    groups: (labels, count): a label 0..count-1 for each key, -1 for none -> group_mass.
    thumbnail: g: mean mass from each of g blocks of rows to each of g blocks of keys.

    A field that is wrong by itself raises InputError here, one that does not fit the arrays when
    it is used.
    """

    queries: Literal["last"] | slice | Int[Any, " n"] | Sequence[int] | None = None
    top: int = 0
    share: bool = False
    entropy: bool = False
    lse: bool = False
    max_score: bool = False
    received: bool = False
    rows: Int[Any, " n"] | Sequence[int] = ()
    columns: Int[Any, " n"] | Sequence[int] = ()
    groups: tuple[Int[Any, " keys"] | Sequence[int], int] | None = None
    thumbnail: int = 0

    def __post_init__(self) -> None:
        for name in ("top", "thumbnail"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 0:
                raise InputError(f"{name} is {number!r}: expected a whole number, 0 or more.")
        for name in FLAGS:
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InputError(f"{name} is {getattr(self, name)!r}: expected True or False.")
        if self.share and not self.top:
            raise InputError("share is read for the top keys: ask top=k as well.")
        if isinstance(self.queries, str) and self.queries != "last":
            raise InputError(
                f"queries is {self.queries!r}: expected 'last', a slice, whole numbers or None."
            )
        if self.groups is not None and not (
            isinstance(self.groups, tuple) and len(self.groups) == 2
        ):
            raise InputError("groups must be (labels, count): a label for each key, and how many.")

    @property
    def anything(self) -> bool:
        """Whether any reading is asked for at all."""
        return bool(
            self.top
            or self.thumbnail
            or len(self.rows)
            or len(self.columns)
            or self.groups is not None
            or any(getattr(self, name) for name in FLAGS)
        )

    def flatten(self, sizes: Sizes, itemsize: int) -> FlatAsk:
        """Check against `sizes` and give the flat encoding. Raises InputError.

        `itemsize` is that of the readings in bytes: what would pass the memory budget is refused.
        """
        queries = _chosen_queries(self.queries, sizes.queries)
        rows = _indices("rows", self.rows, sizes.queries, "queries")
        if len(rows):
            rows = _places(rows, queries, sizes.queries)
        labels, groups = _groups(self.groups, sizes.keys)
        flat = FlatAsk(
            queries=queries,
            top=int(self.top),
            share=bool(self.share),
            entropy=bool(self.entropy),
            lse=bool(self.lse),
            max_score=bool(self.max_score),
            received=bool(self.received),
            rows=rows,
            columns=_indices("columns", self.columns, sizes.keys, "keys"),
            labels=labels,
            groups=groups,
            thumbnail=int(self.thumbnail),
        )
        _check_sizes(flat, sizes, itemsize)
        return flat


FLAGS: Final = ("share", "entropy", "lse", "max_score", "received")


@dataclass(frozen=True, eq=False)
class FlatAsk:
    """The flat encoding of an `Ask`: C integers and contiguous arrays, all sizes known.

    queries: int64, the query rows read, in the order asked, none twice.
    rows: int64, positions within `queries`. columns: int64, key indices.
    labels: int32, one a key, -1 for no group; None without groups.
    """

    queries: Int64[np.ndarray, " asked"]
    top: int
    share: bool
    entropy: bool
    lse: bool
    max_score: bool
    received: bool
    rows: Int64[np.ndarray, " rows"]
    columns: Int64[np.ndarray, " columns"]
    labels: Int32[np.ndarray, " keys"] | None
    groups: int
    thumbnail: int


@dataclass(frozen=True, eq=False)
class Readings:
    """What was read, per query head; what was not asked for is None.

    Leading axes (`...`) are those of the inputs: none, heads, or batch and heads. Readings are
    float32 (float64 for float64 inputs), indices and counts int32.

    queries: `(asked)`, int64: the query index of each row below.
    top_index, top_weight: `(..., asked, k)`, largest first, lower key first on ties; -1 and 0
        where fewer keys are visible; -1 and NaN in a row that a NaN has reached.
    top_share: `(..., asked, k)`: those keys' part of the result; over all keys it sums to 1, it
        can be negative, and it is NaN where the result is exactly 0 or not a number.
    entropy (nats), lse, max_score: `(..., asked)`.
    received, eligible: `(..., keys)`: summed weight, and how many of the rows may see the key.
    rows: `(..., rows, keys)`. columns: `(..., asked, columns)`.
    group_mass: `(..., asked, groups)`. thumbnail: `(..., g, g)`.
    backend: which backend ran, "loop" or "native".
    """

    backend: str
    queries: Int64[np.ndarray, " asked"] | None = None
    top_index: Int32[Any, "*leading asked k"] | None = None
    top_weight: Float[Any, "*leading asked k"] | None = None
    top_share: Float[Any, "*leading asked k"] | None = None
    entropy: Float[Any, "*leading asked"] | None = None
    lse: Float[Any, "*leading asked"] | None = None
    max_score: Float[Any, "*leading asked"] | None = None
    received: Float[Any, "*leading keys"] | None = None
    eligible: Int32[Any, "*leading keys"] | None = None
    rows: Float[Any, "*leading rows keys"] | None = None
    columns: Float[Any, "*leading asked columns"] | None = None
    group_mass: Float[Any, "*leading asked groups"] | None = None
    thumbnail: Float[Any, "*leading g g"] | None = None

    @property
    def received_mean(self) -> Float[Any, "*leading keys"] | None:
        """received / eligible: mean weight from the rows that may see a key; 0 where none may."""
        if self.received is None or self.eligible is None:
            return None
        return self.received / self.eligible.clip(1)

    def __repr__(self) -> str:
        shown = [
            f"{field.name}={tuple(value.shape)}"
            for field in fields(self)
            if field.name != "backend" and (value := getattr(self, field.name)) is not None
        ]
        return f"Readings({', '.join([f'backend={self.backend!r}', *shown])})"


class AttentionResult(NamedTuple):
    """`output (..., queries, value_dim)` in the query's dtype, and the readings asked for."""

    output: Any
    readings: Readings


def reading_shapes(ask: FlatAsk, sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """The shape after the leading axes of every reading asked for, by its name."""
    asked = len(ask.queries)
    shapes: dict[str, tuple[int, ...]] = {}
    if ask.top:
        shapes["top_index"] = shapes["top_weight"] = (asked, ask.top)
    if ask.share:
        shapes["top_share"] = (asked, ask.top)
    for name in ("entropy", "lse", "max_score"):
        if getattr(ask, name):
            shapes[name] = (asked,)
    if ask.received:
        shapes["received"] = shapes["eligible"] = (sizes.keys,)
    if len(ask.rows):
        shapes["rows"] = (len(ask.rows), sizes.keys)
    if len(ask.columns):
        shapes["columns"] = (asked, len(ask.columns))
    if ask.labels is not None:
        shapes["group_mass"] = (asked, ask.groups)
    if ask.thumbnail:
        shapes["thumbnail"] = (ask.thumbnail, ask.thumbnail)
    return shapes


_INSTEAD: Final = {
    "rows": "Ask fewer rows; top=k or groups keep what most readings need.",
    "columns": "Ask fewer columns; received keeps what each key gets.",
    "top_index": "Ask a smaller top.",
    "top_weight": "Ask a smaller top.",
    "top_share": "Ask a smaller top.",
    "group_mass": "Ask fewer groups.",
    "thumbnail": "Ask a smaller thumbnail.",
}


def _check_sizes(ask: FlatAsk, sizes: Sizes, itemsize: int) -> None:
    for name, shape in reading_shapes(ask, sizes).items():
        if name in _INSTEAD:
            numbers = sizes.batch * sizes.heads * math.prod(shape)
            check_budget(
                f"{name} of shape {shape} for every head", numbers, itemsize, _INSTEAD[name]
            )


def _chosen_queries(chosen: Any, queries: int) -> Int64[np.ndarray, " asked"]:
    if chosen is None:
        return np.arange(queries)
    if isinstance(chosen, str):
        return np.arange(max(queries - 1, 0), queries)
    if isinstance(chosen, slice):
        return np.arange(queries)[chosen]
    return _indices("queries", chosen, queries, "queries")


def _indices(name: str, values: Any, count: int, axis: str) -> Int64[np.ndarray, " n"]:
    if isinstance(values, tuple) and not values:
        return np.zeros(0, np.int64)
    indices = whole_numbers(name, values)
    if indices.ndim != 1:
        raise InputError(f"{name} has shape {indices.shape}: expected a list of whole numbers.")
    if indices.size and (indices.min() < -count or indices.max() >= count):
        wrong = indices.max() if indices.max() >= count else indices.min()
        raise InputError(f"{name} holds {wrong} and there are {count} {axis}.")
    indices = np.where(indices < 0, indices + count, indices)
    if (np.diff(np.sort(indices)) == 0).any():
        raise InputError(f"{name} names one of the {axis} twice: give each once.")
    return indices


def _places(
    rows: Int64[np.ndarray, " rows"], queries: Int64[np.ndarray, " asked"], count: int
) -> Int64[np.ndarray, " rows"]:
    """Where each of `rows` stands among the asked `queries`."""
    place = np.full(count, -1)
    place[queries] = np.arange(len(queries))
    places: Int64[np.ndarray, " rows"] = place[rows]
    for row in rows[places < 0]:
        raise InputError(
            f"rows asks for query {row}, which is not among queries: "
            "add it there, or leave queries at None for all."
        )
    return places


def _groups(groups: Any, keys: int) -> tuple[Int32[np.ndarray, " keys"] | None, int]:
    if groups is None:
        return None, 0
    labels, count = groups
    numbers = whole_numbers("labels of groups", labels)
    if numbers.shape != (keys,):
        raise InputError(
            f"labels of groups have shape {numbers.shape}: expected ({keys},), one label a key."
        )
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
        raise InputError(f"count of groups is {count!r}: expected a whole number, 0 or more.")
    if numbers.size and (numbers.min() < -1 or numbers.max() >= count):
        wrong = numbers.max() if numbers.max() >= count else numbers.min()
        raise InputError(
            f"labels of groups hold {wrong} and there are {count} groups: expected -1 (no group) "
            f"to {count - 1}."
        )
    return np.ascontiguousarray(numbers.astype(np.int32)), int(count)
