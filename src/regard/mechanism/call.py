"""One call, checked: what the panels are computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.mechanism.dialect import arrays_of, check_companion
from regard.mechanism.mask import FlatMask, as_mask
from regard.mechanism.numbers import checked_scale, checked_sinks, checked_softcap
from regard.mechanism.sight import Eyes
from regard.mechanism.sizes import Sizes, measure

if TYPE_CHECKING:
    from jaxtyping import Float

    from regard.mechanism.arrays import Arrays


@dataclass(frozen=True, eq=False)
class Call:
    """One checked call: arrays with all four axes, and everything that shapes the scores.

    query, given_key and given_value are the caller's memory in its own dtype (given_value has no
    columns when no value was given). sinks: one number a query head. The rest is worked out when
    it is first asked for, since not every backend needs it.
    """

    arrays: Arrays
    sizes: Sizes
    query: Float[Any, "batch heads queries dim"]
    given_key: Float[Any, "batch kv_heads keys dim"]
    given_value: Float[Any, "batch kv_heads keys value_dim"]
    scale: float
    softcap: float | None
    sinks: Float[np.ndarray, " heads"] | None
    mask: FlatMask

    @cached_property
    def key(self) -> Float[Any, "batch kv_heads keys dim"]:
        """The keys in the accumulating dtype. (A panel of the query is widened in its turn.)"""
        return self.arrays.widen(self.given_key)

    @cached_property
    def values(self) -> Float[Any, "batch kv_heads keys value_dim"]:
        """The values in the accumulating dtype."""
        return self.arrays.widen(self.given_value)

    @cached_property
    def largest_value(self) -> Float[np.ndarray, "batch kv_heads"]:
        """The largest size of a head's values, 0 without any; NaN where there is one."""
        with self.arrays.quiet():
            return self._of_heads([_largest(head) for item in self.values for head in item])

    @cached_property
    def longest_key(self) -> Float[np.ndarray, "batch kv_heads"]:
        """The length of each head's longest key vector; NaN where there is one."""
        with self.arrays.quiet():
            return self._of_heads(
                [_longest(self.arrays, head) for item in self.key for head in item]
            )

    @cached_property
    def eyes(self) -> Eyes:
        """What any rows may see."""
        return Eyes(self.mask, self.arrays)

    def _of_heads(self, numbers: list[float]) -> Float[np.ndarray, "batch kv_heads"]:
        return np.array(numbers, dtype=float).reshape(self.sizes.batch, self.sizes.kv_heads)


def check(
    query: Any,
    key: Any,
    value: Any | None,
    *,
    mask: Any,
    scale: float | None,
    softcap: float | None,
    sinks: Any,
) -> Call:
    """Check the arguments of a call, as `attention` describes them. Raises InputError."""
    given = {"query": query, "key": key, "value": value}
    if value is None:
        del given["value"]
    arrays = arrays_of(**given)
    sizes = measure(query, key, value)
    flat = _checked_mask(mask, sizes, arrays, query)
    few = _checked_sinks(sinks, sizes, arrays, query)
    query, key = _four_axes(arrays.take(query)), _four_axes(arrays.take(key))
    values = key[..., :0] if value is None else _four_axes(arrays.take(value))
    return Call(
        arrays=arrays,
        sizes=sizes,
        query=query,
        given_key=key,
        given_value=values,
        scale=checked_scale(scale, sizes.dim),
        softcap=checked_softcap(softcap),
        sinks=few,
        mask=flat,
    )


def _checked_mask(mask: Any, sizes: Sizes, arrays: Arrays, query: Any) -> FlatMask:
    checked = as_mask(mask)
    for name in ("allowed", "bias"):
        if getattr(checked, name) is not None:
            check_companion(name, getattr(checked, name), arrays, query)
    flat = checked.flatten(sizes)
    if flat.allowed is None and flat.bias is None:
        return flat
    return replace(flat, allowed=_taken(arrays, flat.allowed), bias=_taken(arrays, flat.bias))


def _checked_sinks(
    sinks: Any, sizes: Sizes, arrays: Arrays, query: Any
) -> Float[np.ndarray, " heads"] | None:
    if sinks is None:
        return None
    check_companion("sinks", sinks, arrays, query)
    return checked_sinks(sinks.tolist(), sizes.heads, np.dtype(np.float64))


def _taken(arrays: Arrays, array: Any | None) -> Any | None:
    return None if array is None else arrays.take(array)


def _four_axes(array: Any) -> Any:
    return array[(None,) * (4 - array.ndim)]


def _largest(values: Float[Any, "keys value_dim"]) -> float:
    return float(abs(values).max()) if 0 not in values.shape else 0.0


def _longest(arrays: Arrays, rows: Float[Any, "keys dim"]) -> float:
    return math.sqrt(float(arrays.row_dot(rows, rows).max())) if len(rows) else 0.0
