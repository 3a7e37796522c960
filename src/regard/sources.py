"""Where the weights of a record come from: kept rows, the same mechanism again, or the top k.

Best first: rows that were kept; query, key and the call's arguments, through the mechanism that
computed them, in linear memory; the top k of each row, which give lower bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import InputError
from regard.mechanism.readings import Ask

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int64

    from regard.record import Layer


@dataclass(frozen=True, eq=False)
class TokenRows:
    """Rows of one layer. weights `(heads, rows, keys)`; visible `(rows, keys)`, in any head.

    exact: `(rows)`, False where weights beyond the top k are unknown and stand as 0.
    """

    weights: Float[np.ndarray, "heads rows keys"]
    visible: Bool[np.ndarray, "rows keys"]
    exact: Bool[np.ndarray, " rows"]


def token_rows(layer: Layer, rows: Int64[np.ndarray, " rows"]) -> TokenRows:
    """The weights of these rows of a layer (each once). Raises InputError if none are known."""
    rows = np.asarray(rows, np.int64)
    kept = _kept_rows(layer, rows)
    if kept is None and layer.query is not None and layer.key is not None and layer.call:
        kept = _computed_rows(layer, rows)
    if kept is not None:
        visible = _visible(layer, rows) if layer.call else (kept > 0).any(axis=0)
        return TokenRows(kept, visible, np.ones(len(rows), np.bool_))
    return _top_rows(layer, rows)


def _kept_rows(layer: Layer, rows: Int64[np.ndarray, " rows"]) -> Any:
    if layer.readings.rows is None:
        return None
    if layer.ask is None:
        kept = layer.readings.queries
    else:
        flat = layer.ask.flatten(layer.sizes, 1)
        kept = flat.queries[flat.rows]
    if kept is None:
        return None
    place = np.full(len(layer.query_positions), -1, np.int64)
    place[kept] = np.arange(len(kept))
    if (place[rows] < 0).any():
        return None
    return layer.readings.rows[:, place[rows]]


def _computed_rows(layer: Layer, rows: Int64[np.ndarray, " rows"]) -> Any:
    from regard.mechanism.api import readings

    call = layer.call
    assert call is not None
    order = np.argsort(rows)
    read = readings(
        layer.query,
        layer.key,
        ask=Ask(queries=rows[order], rows=rows[order]),
        mask=call.mask,
        scale=call.scale,
        softcap=call.softcap,
        sinks=call.sinks,
    )
    if not len(rows):
        return np.zeros((layer.heads, 0, len(layer.key_positions)), np.float32)
    assert read.rows is not None
    return read.rows[:, np.argsort(order)]


def _top_rows(layer: Layer, rows: Int64[np.ndarray, " rows"]) -> TokenRows:
    readings = layer.readings
    place = np.full(len(layer.query_positions), -1, np.int64)
    if readings.queries is not None:
        place[readings.queries] = np.arange(len(readings.queries))
    if readings.top_index is None or readings.top_weight is None or (place[rows] < 0).any():
        raise InputError(
            f"layer {layer.name!r} knows no weights of these rows: capture with "
            "keep=('query', 'key'), or ask=regard.Ask(top=8) for the largest."
        )
    index = readings.top_index[:, place[rows]]  # (heads, rows, k)
    weight = readings.top_weight[:, place[rows]]
    found = index >= 0
    weights = np.zeros((layer.heads, len(rows), len(layer.key_positions)), weight.dtype)
    head, row, _ = np.nonzero(found)
    weights[head, row, index[found]] = weight[found]
    # a row that sees fewer keys than k, or no more than k, is known whole
    few = ~found.all(axis=-1) & ~np.isnan(weight).any(axis=-1)
    exact = (few | (index.shape[-1] >= weights.shape[-1])).all(axis=0)
    if layer.call is None:
        return TokenRows(weights, (weights > 0).any(axis=0) | ~exact[:, None], exact)
    visible = _visible(layer, rows)
    return TokenRows(weights, visible, exact | (visible.sum(axis=1) <= index.shape[-1]))


def _visible(layer: Layer, rows: Int64[np.ndarray, " rows"]) -> Bool[np.ndarray, "rows keys"]:
    """Which keys each row may see in any head, from the call's mask."""
    from regard.mechanism.arrays import NumpyArrays
    from regard.mechanism.sight import Eyes

    assert layer.call is not None
    sizes = layer.sizes
    flat = layer.call.mask.flatten(sizes)
    eyes = Eyes(flat, NumpyArrays("float32"))
    visible = np.zeros((len(rows), sizes.keys), np.bool_)
    order = np.argsort(rows)
    by_head = flat.allowed is not None or flat.bias is not None
    for head in range(sizes.heads if by_head else min(sizes.heads, 1)):
        sight = eyes.sight(0, head, rows[order])
        seen = np.ones((len(rows), sight.width), np.bool_)
        for first, last, cells in sight.hidden:
            seen[:, first:last] &= ~cells
        visible[order, sight.start : sight.stop] |= seen
    return visible
