"""Where the weights of a record come from: kept rows, the same mechanism again, or the top k.

Best first: rows that were kept; query, key and the call's arguments, through the mechanism that
computed them, in linear memory; the top k of each row, which give lower bounds.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import InputError
from regard.mechanism.readings import Ask

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int64

    from regard.mechanism.mask import Mask
    from regard.record import Layer


@dataclass(frozen=True, eq=False)
class TokenRows:
    """Rows of one layer. weights `(heads, rows, keys)`; visible `(rows, keys)`, in any head.

    exact: `(rows)`, False where weights beyond the top k are unknown and stand as 0.
    """

    weights: Float[np.ndarray, "heads rows keys"]
    visible: Bool[np.ndarray, "rows keys"]
    exact: Bool[np.ndarray, " rows"]


@dataclass(frozen=True, eq=False)
class TokenColumns:
    """Columns of one layer. weights `(heads, rows, columns)`.

    exact: `(rows)`, False where weights beyond the top k, or of a row not read, stand as 0.
    """

    weights: Float[np.ndarray, "heads rows columns"]
    exact: Bool[np.ndarray, " rows"]


def token_rows(layer: Layer, rows: Int64[np.ndarray, " rows"]) -> TokenRows:
    """The weights of these rows of a layer (each once). Raises InputError if none are known."""
    rows = np.asarray(rows, np.int64)
    kept = kept_rows(layer, rows)
    if kept is None and layer.query is not None and layer.key is not None and layer.call:
        kept = _computed_rows(layer, rows)
    if kept is not None:
        visible = _visible(layer, rows) if layer.call else (kept > 0).any(axis=0)
        return TokenRows(kept, visible, np.ones(len(rows), np.bool_))
    return _top_rows(layer, rows)


def known_rows(layer: Layer) -> Bool[np.ndarray, " rows"]:
    """Of which rows any weights are known, `(rows)`."""
    known = np.zeros(len(layer.query_positions), np.bool_)
    if layer.query is not None and layer.key is not None and layer.call is not None:
        known[:] = True
    elif layer.readings.top_index is not None and layer.readings.queries is not None:
        known[layer.readings.queries] = True
    elif layer.readings.rows is not None and layer.ask is not None:
        flat = layer.ask.flatten(layer.sizes, 1)
        known[flat.queries[flat.rows]] = True
    else:
        known[layer.readings.queries] = layer.readings.rows is not None
    return known


def token_columns(layer: Layer, columns: Int64[np.ndarray, " columns"]) -> TokenColumns:
    """What every row of a layer gives these columns. Raises InputError if nothing is known.

    Where query, key and each row's log-sum-exp were kept this is a product a column; without the
    log-sum-exp it takes every panel of the layer.
    """
    columns = np.asarray(columns, np.int64)
    readings, rows = layer.readings, len(layer.query_positions)
    if layer.query is not None and layer.key is not None and layer.call is not None:
        every = readings.queries is not None and np.array_equal(readings.queries, np.arange(rows))
        if readings.lse is not None and every:
            weights = np.stack([_column(layer, int(column)) for column in columns], axis=2)
        else:
            weights = _computed_columns(layer, columns)
        return TokenColumns(weights, np.ones(rows, np.bool_))
    found = token_rows(layer, np.arange(rows) if readings.queries is None else readings.queries)
    weights = np.zeros((layer.heads, rows, len(columns)), found.weights.dtype)
    weights[:, readings.queries] = found.weights[:, :, columns]
    exact = np.zeros(rows, np.bool_)
    exact[readings.queries] = found.exact
    return TokenColumns(weights, exact)


def without_shares(layer: Layer) -> Layer:
    """The layer with nothing but weights, where parts of results would be computed for nothing."""
    readings = dataclasses.replace(layer.readings, top_share=None)
    return dataclasses.replace(layer, value=None, readings=readings)


def is_whole(layer: Layer) -> bool:
    """Whether every weight of the rows that a layer knows can be had: from kept rows, from query
    and key, or since the top k are all that there are."""
    if layer.query is not None and layer.key is not None and layer.call is not None:
        return True
    rows = np.flatnonzero(known_rows(layer))
    if kept_rows(layer, rows) is not None:
        return True
    index = layer.readings.top_index
    if index is None or not len(rows):
        return False
    if index.shape[-1] < len(layer.key_positions) and (index[..., -1] >= 0).all():
        return False
    return all(
        bool(_top_rows(layer, rows[i : i + 256]).exact.all()) for i in range(0, len(rows), 256)
    )


def visible_keys(layer: Layer, rows: Int64[np.ndarray, " rows"]) -> Bool[np.ndarray, "rows keys"]:
    """Which keys each row may see in any head; all of them where the call is not known."""
    if layer.call is None:
        return np.ones((len(rows), len(layer.key_positions)), np.bool_)
    return _visible(layer, np.asarray(rows, np.int64))


def _column(layer: Layer, column: int) -> Float[np.ndarray, "heads rows"]:
    """One column from its scores and each row's log-sum-exp."""
    from regard.mechanism.api import readings

    call = layer.call
    assert call is not None
    assert layer.key is not None
    score = readings(
        layer.query,
        np.ascontiguousarray(layer.key[:, column : column + 1]),
        ask=Ask(max_score=True),
        mask=_of_key(call.mask, column),
        scale=call.scale,
        softcap=call.softcap,
    ).max_score
    assert score is not None
    assert layer.readings.lse is not None
    with np.errstate(all="ignore"):
        weights: Float[np.ndarray, "heads rows"] = np.exp(score - layer.readings.lse)
    weights[score == -np.inf] = 0
    return weights


def _of_key(mask: Mask, key: int) -> Mask:
    """What a mask says of one key, as the mask of a call that has just this key."""
    parts: dict[str, Any] = {}
    for name in ("allowed", "bias"):
        array = getattr(mask, name)
        if array is not None and array.shape[-1] > 1:
            parts[name] = array[..., key : key + 1]
    if mask.segments is not None:
        both = mask.segments if isinstance(mask.segments, tuple) else (mask.segments,) * 2
        of_queries, of_keys = map(np.asarray, both)
        parts["segments"] = of_queries, of_keys[..., key : key + 1]
    if mask.lengths is not None:
        parts["lengths"] = np.clip(np.asarray(mask.lengths) - key, 0, 1)
    if mask.causal or mask.window is not None:
        parts["offset"] = np.asarray(0 if mask.offset is None else mask.offset) - key
    for name in ("lengths", "offset"):
        if name in parts and parts[name].ndim == 0:
            parts[name] = int(parts[name])
    return dataclasses.replace(mask, **parts)


def _computed_columns(
    layer: Layer, columns: Int64[np.ndarray, " columns"]
) -> Float[np.ndarray, "heads rows columns"]:
    from regard.mechanism.api import readings

    call = layer.call
    assert call is not None
    read = readings(
        layer.query,
        layer.key,
        ask=Ask(columns=columns),
        mask=call.mask,
        scale=call.scale,
        softcap=call.softcap,
        sinks=call.sinks,
    )
    assert read.columns is not None
    weights: Float[np.ndarray, "heads rows columns"] = read.columns
    return weights


def kept_rows(layer: Layer, rows: Int64[np.ndarray, " rows"]) -> Any:
    """These rows as they were kept, `(heads, rows, keys)`; None if not all of them were."""
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
