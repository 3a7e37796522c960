"""Attention and every reading of it, dense and plain: the definitions of DESIGN.md in NumPy.

A second oracle beside `regard.steps`, which keeps no readings. It holds queries x keys numbers
and takes nothing from the package but the fields of a Mask and an Ask. The same text gives the
exact answer (a wide dtype) and the plain one (the dtype under test, each intermediate rounded),
whose error is what an implementation is measured by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


def at(numbers: Any, item: int) -> int:
    """One number for all batch items, or one for each."""
    return int(numbers) if np.ndim(numbers) == 0 else int(numbers[item])


def labels_of(labels: Any, item: int) -> np.ndarray:
    labels = np.asarray(labels)
    return labels if labels.ndim == 1 else labels[item]


def keys_seen(mask: Any, item: int, query: int, keys: int) -> np.ndarray:
    """Which keys one query of one batch item may see, by everything in a mask but its arrays."""
    key = np.arange(keys)
    position = query + (0 if mask.offset is None else at(mask.offset, item))
    seen = np.full(keys, True)
    if mask.causal:
        seen &= key <= position
    left, right = mask.window or (None, None)
    if left is not None:
        seen &= key >= position - left
    if right is not None:
        seen &= key <= position + right
    if mask.lengths is not None:
        seen &= key < at(mask.lengths, item)
    if mask.segments is not None:
        pair = mask.segments if isinstance(mask.segments, tuple) else (mask.segments,) * 2
        label = labels_of(pair[0], item)[query]
        seen &= (labels_of(pair[1], item) == label) & (label >= 0)
    return seen


def seen_by(mask: Any, batch: int, heads: int, queries: int, keys: int) -> np.ndarray:
    """(batch, heads, queries, keys): whether a query may see a key."""
    seen = np.full((batch, heads, queries, keys), False)
    for item in range(batch):
        for query in range(queries):
            seen[item, :, query] = keys_seen(mask, item, query, keys)
    if mask.allowed is not None:
        seen &= mask.allowed
    if mask.bias is not None:
        seen &= mask.bias != -np.inf
    return seen


@dataclass(frozen=True)
class Dense:
    """All axes present.

    reach (batch, heads, queries): what an ulp of, a row's weights are sure to: the largest sum of
    absolute values that is added up to one of its scores, and the depth of the sum over its keys.
    """

    leading: tuple[int, ...]
    seen: np.ndarray
    weights: np.ndarray
    largest: np.ndarray
    lse: np.ndarray
    output: np.ndarray
    value: np.ndarray
    reach: np.ndarray


def attend(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    *,
    mask: Any,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: np.ndarray | None = None,
    dtype: Any = np.float64,
    rounded: Any = lambda numbers: numbers,
) -> Dense:
    """softmax(cap(Q K^T x scale) + bias) V in `dtype`, every intermediate `rounded`."""
    leading = query.shape[:-2]
    query, key, value = (
        a.astype(dtype).reshape((1,) * (4 - a.ndim) + a.shape) for a in (query, key, value)
    )
    batch, heads, queries, dim = query.shape
    keys = key.shape[2]
    group = heads // key.shape[1] if key.shape[1] else 1
    key, value = np.repeat(key, group, axis=1), np.repeat(value, group, axis=1)
    factor = dtype(1 / np.sqrt(dtype(dim)) if scale is None else scale)
    seen = seen_by(mask, batch, heads, queries, keys)
    bias = dtype(0) if mask.bias is None else mask.bias.astype(dtype)

    with np.errstate(all="ignore"):
        scores = rounded(rounded(query @ key.swapaxes(2, 3)) * factor)
        if softcap is not None:
            scores = rounded(dtype(softcap) * rounded(np.tanh(rounded(scores / dtype(softcap)))))
        scores = np.where(seen, rounded(scores + bias), dtype(-np.inf))
        largest = scores.max(-1, initial=-np.inf)
        shift = largest
        if sinks is not None:
            sink = np.broadcast_to(sinks.astype(dtype)[:, None], largest.shape)
            shift = np.maximum(largest, sink)
        numerator = np.where(seen, rounded(np.exp(rounded(scores - shift[..., None]))), dtype(0))
        total = rounded(numerator.sum(-1))
        if sinks is not None:
            total = rounded(total + np.where(sink == -np.inf, 0, np.exp(sink - shift)))
        weights = np.where(seen, rounded(numerator / total[..., None]), dtype(0))
        lse = shift + np.log(total)
        output = rounded(mixed(weights, seen, value))

        reach = np.abs(factor) * (np.abs(query) @ np.abs(key).swapaxes(2, 3)) + np.abs(bias)
        reach = np.nan_to_num(np.where(seen, reach, 0), posinf=0).max(-1, initial=0)
        reach = reach + 1 + np.log2(max(keys, 1))
    return Dense(leading, seen, weights, largest, lse, output, value, reach)


def mixed(weights: np.ndarray, seen: np.ndarray, value: np.ndarray) -> np.ndarray:
    """weights x value over the keys that are seen, whatever the others hold."""
    if np.isfinite(value).all():
        return weights @ value
    terms = weights[..., None] * value[..., None, :, :]  # (batch, heads, queries, keys, value_dim)
    return np.where(seen[..., None], terms, weights.dtype.type(0)).sum(3)


def chosen(asked: Any, queries: int) -> np.ndarray:
    """The query rows that `Ask.queries` names."""
    every = np.arange(queries)
    if asked is None:
        return every
    if isinstance(asked, str):
        return every[-1:]
    return every[asked] if isinstance(asked, slice) else every[np.asarray(asked, int)]


def readings(dense: Dense, ask: Any) -> dict[str, np.ndarray]:
    """Every reading of `ask` by its name, with all four axes."""
    queries = chosen(ask.queries, dense.weights.shape[2])
    weights, seen = dense.weights[:, :, queries], dense.seen[:, :, queries]
    keys = weights.shape[3]
    read = {}
    with np.errstate(all="ignore"):
        if ask.top:
            read["top_index"] = top_index(weights, seen, ask.top)
            read["top_weight"] = picked(weights, read["top_index"], weights)
        if ask.share:
            shares = share(dense)[:, :, queries]
            read["top_share"] = picked(shares, read["top_index"], weights)
        if ask.entropy:
            terms = np.where(weights == 0, 0, weights * np.log(weights))
            read["entropy"] = -terms.sum(-1)
        if ask.lse:
            read["lse"] = dense.lse[:, :, queries]
        if ask.max_score:
            read["max_score"] = dense.largest[:, :, queries]
        if ask.received:
            read["received"] = weights.sum(2)
            read["eligible"] = seen.sum(2)
        if len(ask.rows):
            read["rows"] = dense.weights[:, :, chosen(ask.rows, dense.weights.shape[2])]
        if len(ask.columns):
            read["columns"] = weights[..., chosen(ask.columns, keys)]
        if ask.groups is not None:
            labels, count = np.asarray(ask.groups[0]), ask.groups[1]
            masses = [weights[..., labels == group].sum(-1) for group in range(count)]
            read["group_mass"] = np.stack(masses, -1) if count else np.zeros((*seen.shape[:3], 0))
        if ask.thumbnail:
            read["thumbnail"] = thumbnail(weights, ask.thumbnail)
    return read


def top_index(weights: np.ndarray, seen: np.ndarray, top: int) -> np.ndarray:
    """Seen keys by weight, the lower key first on ties; -1 after them, and where NaN is."""
    order = np.argsort(np.where(seen, -weights, np.inf), axis=-1, kind="stable")[..., :top]
    order = np.where(np.take_along_axis(seen, order, -1), order, -1)
    order[np.isnan(weights).any(-1)] = -1
    index = np.full((*weights.shape[:3], top), -1)
    index[..., : order.shape[-1]] = order
    return index


def picked(numbers: np.ndarray, index: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The numbers of the keys at `index`, 0 for -1, NaN in a row that a NaN has reached."""
    if numbers.shape[-1] == 0:
        return np.zeros(index.shape)
    taken = np.where(index < 0, 0, np.take_along_axis(numbers, index.clip(0), -1))
    return np.where(np.isnan(weights).any(-1, keepdims=True), np.nan, taken)


def share(dense: Dense) -> np.ndarray:
    """w_j (v_j . z) / |z|^2 of every key; 0 where it is not seen."""
    z = dense.output
    with np.errstate(all="ignore"):
        along = (z @ dense.value.swapaxes(2, 3)) * dense.weights
        return np.where(dense.seen, along / (z * z).sum(-1, keepdims=True), 0)


def thumbnail(weights: np.ndarray, blocks: int) -> np.ndarray:
    """Mean mass from block floor(i g / rows) of the rows to block floor(j g / keys) of the keys."""
    rows, keys = weights.shape[2:]
    small = np.zeros((*weights.shape[:2], blocks, blocks), weights.dtype)
    for i in range(blocks):
        from_rows = [row for row in range(rows) if row * blocks // rows == i]
        for j in range(blocks):
            to_keys = [key for key in range(keys) if key * blocks // keys == j]
            if from_rows:
                mass = weights[:, :, from_rows][..., to_keys].sum((2, 3))
                small[:, :, i, j] = mass / len(from_rows)
    return small
