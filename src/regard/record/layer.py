"""What the attention of one layer read, and how it was called."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from regard.errors import InputError
from regard.mechanism.mask import Mask
from regard.mechanism.readings import Ask, Readings, reading_shapes
from regard.mechanism.sizes import Sizes
from regard.record.side import check_array

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

KINDS: Final = ("encoder", "decoder", "cross")


@dataclass(frozen=True, eq=False)
class Call:
    """How a layer's attention was called: what it takes to compute its weights again.

    sinks: `(heads)` or None.
    """

    scale: float
    softcap: float | None = None
    sinks: Float[np.ndarray, " heads"] | None = None
    mask: Mask = dataclasses.field(default_factory=Mask)

    def __post_init__(self) -> None:
        if not math.isfinite(self.scale):
            raise InputError(f"scale is {self.scale!r}: expected a finite number.")
        if self.softcap is not None and not (math.isfinite(self.softcap) and self.softcap > 0):
            raise InputError(f"softcap is {self.softcap!r}: expected a number above 0, or None.")


@dataclass(frozen=True, eq=False)
class Layer:
    """What the attention of one layer read; the leading axis of every array is its heads.

    number: the layer's number in its model, from 0, as written in L3H1.
    name: its module's name; kind: 'encoder', 'decoder' (causal) or 'cross'.
    query_side, key_side: indices into `Record.sides`.
    query_positions, key_positions: int64, which token of the side each row or column is, each
        once; `readings.queries` and indices within `readings` count rows and columns.
    readings: what was read in the pass. ask: the Ask they answer, which says what `rows`,
        `columns` and `group_mass` are of; None if they are of all queries in order.
    call: what exact recomputation needs, or None.
    head_numbers: `(heads)`, int64, each head's number in its model where only some were recorded;
        None where they are 0, 1, ... Everything else counts the recorded heads from 0.
    query `(heads, queries, dim)`, key `(kv_heads, keys, dim)`, value `(kv_heads, keys,
        value_dim)`, or None where not kept.

    Raises InputError if sizes do not belong together.
    """

    number: int
    name: str
    kind: Literal["encoder", "decoder", "cross"]
    heads: int
    query_side: int
    key_side: int
    query_positions: Int64[np.ndarray, " queries"]
    key_positions: Int64[np.ndarray, " keys"]
    readings: Readings
    call: Call | None = None
    query: Float[np.ndarray, "heads queries dim"] | None = None
    key: Float[np.ndarray, "kv_heads keys dim"] | None = None
    value: Float[np.ndarray, "kv_heads keys value_dim"] | None = None
    ask: Ask | None = None
    head_numbers: Int64[np.ndarray, " heads"] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind of layer {self.name!r} is {self.kind!r}: expected {KINDS}.")
        for name in ("number", "heads", "query_side", "key_side"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise InputError(
                    f"{name} of layer {self.name!r} is {number!r}: expected a whole number, "
                    "0 or more."
                )
        for name in ("query_positions", "key_positions"):
            positions = getattr(self, name)
            check_array(name, positions, (len(positions),), "i", self.name)
            if (np.diff(np.sort(positions)) == 0).any():
                raise InputError(f"{name} of layer {self.name!r} names a token twice.")
        if self.head_numbers is not None:
            check_array("head_numbers", self.head_numbers, (self.heads,), "i", self.name)
        self._check_kept()
        self._check_call()
        self._check_readings()

    def label(self, head: int) -> str:
        """How a head is written: L3H1, by its number in the model."""
        number = head if self.head_numbers is None else self.head_numbers[head]
        return f"L{self.number}H{number}"

    @property
    def sizes(self) -> Sizes:
        """The sizes of the attention call, as `Mask` and `Ask` are checked against."""
        kv_heads = self.heads if self.key is None else self.key.shape[0]
        dim = 1 if self.query is None else self.query.shape[2]
        value_dim = 0 if self.value is None else self.value.shape[2]
        rows, columns = len(self.query_positions), len(self.key_positions)
        return Sizes(1, self.heads, kv_heads, rows, columns, dim, value_dim, axes=3)

    def _check_kept(self) -> None:
        rows, columns = len(self.query_positions), len(self.key_positions)
        for name, count in (("query", rows), ("key", columns), ("value", columns)):
            array = getattr(self, name)
            if array is None:
                continue
            check_array(name, array, (*array.shape[:1], count, *array.shape[2:3]), "f", self.name)
            heads = array.shape[0]
            if heads != self.heads and (name == "query" or heads == 0 or self.heads % heads):
                raise InputError(
                    f"{name} of layer {self.name!r} has {heads} heads and the layer {self.heads}: "
                    "expected as many, or for key and value a number that divides it."
                )
        if self.key is not None:
            if self.query is not None and self.query.shape[2] != self.key.shape[2]:
                raise InputError(
                    f"query of layer {self.name!r} has dim {self.query.shape[2]} and key "
                    f"{self.key.shape[2]}: expected the same."
                )
            if self.value is not None and self.value.shape[0] != self.key.shape[0]:
                raise InputError(
                    f"value of layer {self.name!r} has {self.value.shape[0]} heads and key "
                    f"{self.key.shape[0]}: expected the same."
                )

    def _check_call(self) -> None:
        if self.call is None:
            return
        if self.call.sinks is not None:
            check_array("sinks", self.call.sinks, (self.heads,), "f", self.name)
        self.call.mask.flatten(self.sizes)

    def _check_readings(self) -> None:
        readings, sizes = self.readings, self.sizes
        queries = readings.queries
        if queries is not None:
            check_array("readings.queries", queries, (len(queries),), "i", self.name)
        ask = _ask_of(readings) if self.ask is None else self.ask
        shapes = reading_shapes(ask.flatten(sizes, 1), sizes)
        for field in dataclasses.fields(readings):
            array = getattr(readings, field.name)
            if field.name in ("backend", "queries") or array is None:
                continue
            if field.name not in shapes:
                raise InputError(
                    f"readings of layer {self.name!r} have {field.name}, which their ask does not "
                    "name: give the Ask that they answer."
                )
            kind = "i" if field.name in ("top_index", "eligible") else "f"
            shape = (self.heads, *shapes[field.name])
            check_array(f"readings.{field.name}", array, shape, kind, self.name)
            if kind == "i" and array.size:
                low, high = (
                    (-1, sizes.keys) if field.name == "top_index" else (0, sizes.queries + 1)
                )
                if array.min() < low or array.max() >= high:
                    raise InputError(
                        f"readings.{field.name} of layer {self.name!r} reaches from {array.min()} "
                        f"to {array.max()}: expected {low} to {high - 1}."
                    )


def _ask_of(readings: Readings) -> Ask:
    """The Ask that readings over all rows and in order answer, as their shapes tell it."""
    queries = () if readings.queries is None else readings.queries
    if readings.columns is not None or readings.group_mass is not None:
        raise InputError(
            "readings with columns or group_mass need ask: the Ask that says which they are."
        )
    top = 0 if readings.top_index is None else int(readings.top_index.shape[-1])
    return Ask(
        queries=queries,
        top=top,
        share=readings.top_share is not None and top > 0,
        entropy=readings.entropy is not None,
        lse=readings.lse is not None,
        max_score=readings.max_score is not None,
        received=readings.received is not None,
        rows=() if readings.rows is None else queries,
        thumbnail=0 if readings.thumbnail is None else int(readings.thumbnail.shape[-1]),
    )
