"""The four steps of some rows of one layer, as `Record.steps` computes them, for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.page.packing import block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.mechanism.steps import Steps
    from regard.record import Record


def layer_steps(
    record: Record, index: int, heads: Sequence[int], first: int, words: Sequence[int] | None = None
) -> dict[str, Any]:
    """The steps of some heads of a layer; of all rows, or of some words'.

    first: the place of the layer's first head among all heads.
    """
    layer = record.layers[index]
    made = [record.steps(index, head) for head in heads]
    rows = np.arange(len(layer.query_positions))
    kv = [layer.sizes.kv_head(head) for head in heads]
    groups = sorted(set(kv))
    return {
        "layer": index,
        "heads": block("steps", [first + head for head in heads], "i4"),
        "readers": block("steps", layer.query_positions[rows], "i4"),
        "keys": block("steps", layer.key_positions, "i4"),
        "kv": block("steps", [groups.index(one) for one in kv], "i4"),
        **numbers(made, [made[kv.index(group)] for group in groups]),
        "projection": None,
        "columns": None,
    }


def numbers(made: Sequence[Steps], groups: Sequence[Steps]) -> dict[str, Any]:
    """The arrays of 2-D steps, a head each; groups: steps that have each key head once."""
    first = made[0]
    alike = all(np.array_equal(one.seen, first.seen) for one in made)
    plain = first.softcap is None and first.bias is None and alike

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
        "scaled": stacked("scaled"),
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
        "output": None if first.output is None else stacked("output"),
    }


def _sink(steps: Steps) -> Any:
    assert steps.sinks is not None
    with np.errstate(all="ignore"):
        return np.exp(steps.sinks[0] - steps.shift)
