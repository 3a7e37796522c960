"""The four steps of some rows of one layer, as `Record.steps` computes them, for the page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.page.packing import block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.mechanism.steps import Steps
    from regard.record import Layer, Record


def is_spelled(layer: Layer) -> bool:
    """Whether a layer keeps what the four steps need."""
    kept = (layer.query, layer.key, layer.value, layer.call)
    return all(part is not None for part in kept)


def steps_size(layer: Layer, heads: int, rows: int, keys: int | None = None) -> int:
    """Bytes of the numbers of four steps, about."""
    if layer.query is None or layer.key is None or layer.value is None:
        return 0
    columns = len(layer.key_positions) if keys is None else min(keys, len(layer.key_positions))
    dim, value_dim = layer.query.shape[2], layer.value.shape[2]
    groups = min(heads, len(layer.key))
    of_rows = rows * (40 * columns + 4 * dim + 8 * value_dim)
    return int(heads * of_rows + groups * columns * 4 * (dim + value_dim))


def layer_steps(record: Record, index: int, heads: Sequence[int], first: int) -> dict[str, Any]:
    """The steps of all rows of some heads of a layer; first: the place of its first head among
    all."""
    layer = record.layers[index]
    made = [record.steps(index, head) for head in heads]
    places = layer.query_positions, layer.key_positions
    return _layer(layer, index, heads, first, made, *places, sighted=True)


def word_steps(
    record: Record, index: int, head: int, first: int, words: Sequence[int], most: int
) -> dict[str, Any] | None:
    """The steps of some words' rows in one head, spelled out for the `most` keys that they read
    most; None where the layer reads none of the words."""
    layer = record.layers[index]
    owner = record.sides[layer.query_side].word_of[layer.query_positions]
    words = [word for word in words if (owner == word).any()]
    if not words:
        return None
    made = [record.steps(index, head, word) for word in words]
    rows = np.concatenate([np.flatnonzero(owner == word) for word in words])
    keys = np.arange(len(layer.key_positions))
    if len(keys) > most:
        weight = np.concatenate([one.weights for one in made]).max(axis=0)
        keys = np.sort(np.argsort(-np.nan_to_num(weight), kind="stable")[:most])
    whole = _joined(made, keys)
    places = layer.query_positions[rows], layer.key_positions[keys]
    return _layer(layer, index, [head], first, [whole], *places, sighted=False)


def _layer(
    layer: Layer,
    index: int,
    heads: Sequence[int],
    first: int,
    made: Sequence[Steps],
    readers: Any,
    keys: Any,
    *,
    sighted: bool,
) -> dict[str, Any]:
    kv = [layer.sizes.kv_head(head) for head in heads]
    groups = sorted(set(kv))
    return {
        "layer": index,
        "heads": block("steps", [first + head for head in heads], "i4"),
        "readers": block("steps", readers, "i4"),
        "keys": block("steps", keys, "i4"),
        "kv": block("steps", [groups.index(one) for one in kv], "i4"),
        **numbers(
            made,
            [made[kv.index(group)] for group in groups],
            sighted=sighted,
            whole=len(keys) == len(layer.key_positions),
        ),
        "projection": None,
        "columns": None,
    }


def _joined(made: Sequence[Steps], keys: Any) -> Steps:
    """The rows of several steps of one head as one, of some of the keys."""
    parts: dict[str, Any] = {}
    for name, array in vars(made[0]).items():
        if name in ("key", "value"):
            parts[name] = array[keys]
        elif isinstance(array, np.ndarray) and name != "sinks":
            rows = np.concatenate([getattr(one, name) for one in made])
            of_keys = rows.ndim == 2 and name not in ("query", "output")
            parts[name] = rows[:, keys] if of_keys else rows
    # shares stay right: they are of `output`, which is that of the whole row
    return replace(made[0], words=None, **parts)


def numbers(
    made: Sequence[Steps], groups: Sequence[Steps], *, sighted: bool, whole: bool = True
) -> dict[str, Any]:
    """The arrays of 2-D steps, a head each; groups: steps that have each key head once; sighted:
    whether they are of all rows and heads of a layer whose sight is in the file. whole: whether
    they are of all keys."""
    first = made[0]
    # null is read as `scaled` where the sight of the level, which is of whole layers, allows it
    alike = all(one.seen.all() for one in made) or (
        sighted and all(np.array_equal(one.seen, first.seen) for one in made)
    )
    plain = first.softcap is None and first.bias is None and alike

    # score × scale is the same product in JavaScript, unless it was rounded to 32 bits here
    product = all(
        np.array_equal(one.scores.astype(np.float64) * one.scale, one.scaled, equal_nan=True)
        for one in made
    )
    # Σ weight × value is left to the page where it is of all keys and none is odd
    summed = whole and all(
        part is not None and bool(np.isfinite(part).all())
        for one in made
        for part in (one.value, one.weights)
    )

    def stacked(name: str) -> Any:
        return block("steps", np.stack([getattr(one, name) for one in made]), "f8")

    def vectors(name: str, of: Sequence[Steps]) -> Any:
        if getattr(of[0], name) is None:
            return None
        arrays = np.stack([getattr(one, name) for one in of])
        same = np.array_equal(arrays.astype(np.float32), arrays, equal_nan=True)
        return block("steps", arrays, "f4" if same else "f8")

    return {
        "dim": first.d_k,
        "value_dim": 0 if first.value is None else first.value.shape[-1],
        "scale": float(first.scale),
        "softcap": None if first.softcap is None else float(first.softcap),
        "score": stacked("scores"),
        "scaled": None if product else stacked("scaled"),
        "masked": None if plain else stacked("masked"),
        "exponential": stacked("exponentials"),
        "weight": stacked("weights"),
        "share": None
        if first.value is None
        else block("steps", np.stack([one.share() for one in made]), "f8"),
        "largest": stacked("shift"),
        "sum": stacked("row_sums"),
        "sink": None
        if first.sinks is None
        else block("steps", np.stack([_sink(one) for one in made]), "f8"),
        "query": vectors("query", made),
        "key": vectors("key", groups),
        "value": vectors("value", groups),
        "output": None if first.output is None or summed else stacked("output"),
    }


def _sink(steps: Steps) -> Any:
    assert steps.sinks is not None
    with np.errstate(all="ignore"):
        return np.exp(steps.sinks[0] - steps.shift)
