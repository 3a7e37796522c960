"""The sizes of one call: which axis of query, key and value is which, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from regard.errors import InputError

AXES: Final = {
    2: "(tokens, dim)",
    3: "(heads, tokens, dim)",
    4: "(batch, heads, tokens, dim)",
}


@dataclass(frozen=True)
class Sizes:
    """Sizes of a call with every axis present; absent leading axes count as 1.

    `axes` is how many the caller's arrays had (2, 3 or 4), so that results can be given back
    with the same leading axes.
    """

    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    dim: int
    value_dim: int
    axes: int

    @property
    def leading(self) -> tuple[int, ...]:
        """The leading axes of every result: (), (heads,) or (batch, heads)."""
        return (self.batch, self.heads)[4 - self.axes :] if self.axes > 2 else ()

    def kv_head(self, head: int) -> int:
        """The key head that query head `head` reads."""
        return head // (self.heads // self.kv_heads)


def measure(query: Any, key: Any, value: Any | None) -> Sizes:
    """Sizes of query `(..., queries, dim)`, key `(..., keys, dim)`, value `(..., keys, value_dim)`.

    Raises InputError for shapes that do not belong together. Without a value, value_dim is 0.
    """
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array is not None and array.ndim not in AXES:
            raise InputError(
                f"{name} has {array.ndim} axes {tuple(array.shape)}: "
                f"expected {AXES[2]}, {AXES[3]} or {AXES[4]}."
            )
        if array is not None and array.ndim != query.ndim:
            raise InputError(
                f"query has {query.ndim} axes {tuple(query.shape)} and {name} has {array.ndim} "
                f"{tuple(array.shape)}: give all the same axes, {AXES[query.ndim]}."
            )
    batch, heads, queries, dim = _four(query)
    key_batch, kv_heads, keys, key_dim = _four(key)
    if dim != key_dim:
        raise InputError(
            f"query has dim {dim} and key has dim {key_dim}: "
            "a dot product needs the same. Is the last axis of both the head's dim?"
        )
    if dim == 0:
        raise InputError("query has dim 0: a dot product needs at least one column.")
    if batch != key_batch:
        raise InputError(f"query has batch {batch} and key has batch {key_batch}: give the same.")
    if heads != kv_heads and (kv_heads == 0 or heads % kv_heads):
        raise InputError(
            f"query has {heads} heads and key has {kv_heads}: query heads must be a multiple of "
            "key heads. Is the order (batch, heads, tokens, dim)?"
        )
    value_dim = 0
    if value is not None:
        value_batch, value_heads, value_keys, value_dim = _four(value)
        if (value_batch, value_heads, value_keys) != (key_batch, kv_heads, keys):
            raise InputError(
                f"value is {tuple(value.shape)} and key is {tuple(key.shape)}: "
                "every key needs one value, so all axes but the last must be equal."
            )
    return Sizes(batch, heads, kv_heads, queries, keys, dim, value_dim, query.ndim)


def _four(array: Any) -> tuple[int, int, int, int]:
    batch, heads, tokens, dim = (1,) * (4 - array.ndim) + tuple(map(int, array.shape))
    return batch, heads, tokens, dim
