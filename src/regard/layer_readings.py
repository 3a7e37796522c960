"""What is read of a layer over all its rows: as it was recorded, or read again."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.mechanism.readings import Ask
from regard.sources import kept_rows, known_rows, visible_keys

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from regard.mechanism.readings import Readings as Readings
    from regard.record import Layer


def layer_readings(
    layer: Layer,
    *,
    top: int = 0,
    entropy: bool = False,
    received: bool = False,
    lse: bool = False,
    thumbnail: int = 0,
    apart: Bool[np.ndarray, " keys"] | None = None,
) -> Readings:
    """These readings of a layer over all its rows, as far as they can be had.

    As they were recorded; where some are not, all of them are read again if query and key are
    kept, or taken off whole rows that are; else what is missing stays None. `top` brings the
    shares if values are kept. apart: which keys to sum up, as the one group of `group_mass`.
    """
    found = layer.readings
    mass = None if apart is None else _mass_of(layer, apart)
    wanted = {
        "top_index": top > 0, "entropy": entropy, "received": received, "lse": lse,
        "thumbnail": thumbnail > 0,
    }  # fmt: skip
    missing = [name for name, asked in wanted.items() if asked and getattr(found, name) is None]
    short = top > 0 and found.top_index is not None and found.top_index.shape[-1] < top
    if not (missing or short or (apart is not None and mass is None)):
        return dataclasses.replace(found, group_mass=mass)
    if layer.query is not None and layer.key is not None and layer.call is not None:
        from regard.mechanism.api import readings

        groups = None if apart is None else (np.where(apart, 0, -1), 1)
        return readings(
            layer.query,
            layer.key,
            layer.value if top else None,
            ask=Ask(
                top=top,
                share=top > 0 and layer.value is not None,
                entropy=entropy,
                lse=lse,
                received=received,
                groups=groups,
                thumbnail=thumbnail,
            ),
            mask=layer.call.mask,
            scale=layer.call.scale,
            softcap=layer.call.softcap,
            sinks=layer.call.sinks,
        )
    found = dataclasses.replace(found, group_mass=mass)
    return found if found.rows is None else _of_rows(layer, found, thumbnail, apart)


def _mass_of(layer: Layer, apart: Bool[np.ndarray, " keys"]) -> Any:
    """The mass on just these keys, where a group of them was read in the pass."""
    if layer.ask is None or layer.ask.groups is None or layer.readings.group_mass is None:
        return None
    labels = np.asarray(layer.ask.groups[0])
    for group in range(layer.ask.groups[1]):
        if np.array_equal(labels == group, apart):
            return layer.readings.group_mass[..., group : group + 1]
    return None


def _of_rows(
    layer: Layer, found: Readings, thumbnail: int, apart: Bool[np.ndarray, " keys"] | None
) -> Readings:
    """What whole rows say, in place of what is None."""
    queries = np.arange(len(layer.query_positions))[known_rows(layer)]
    rows = kept_rows(layer, queries)
    if rows is None or not len(queries):
        return found
    with np.errstate(all="ignore"):
        logs = np.log(np.where(rows > 0, rows, 1))
        entropy = np.maximum(-(rows * logs).sum(axis=-1), 0)
    seen = (rows > 0).any(axis=0) if layer.call is None else visible_keys(layer, queries)
    parts: dict[str, Any] = {
        "entropy": entropy,
        "received": rows.sum(axis=1),
        "eligible": np.broadcast_to(seen.sum(axis=0, dtype=np.int32), (layer.heads, seen.shape[1])),
    }
    if apart is not None:
        parts["group_mass"] = rows[..., apart].sum(axis=-1, keepdims=True)
    if thumbnail:
        parts["thumbnail"] = _thumbnail(rows, thumbnail)
    return dataclasses.replace(found, queries=queries, **parts)


def _thumbnail(rows: Float[np.ndarray, "heads rows keys"], size: int) -> Any:
    """The mean mass from each of `size` blocks of rows to each of as many blocks of keys."""
    _, count, keys = rows.shape
    of_row = (np.arange(count) * size // max(count, 1))[:, None] == np.arange(size)
    of_key = (np.arange(keys) * size // max(keys, 1))[:, None] == np.arange(size)
    sums = of_row.T.astype(rows.dtype) @ (rows @ of_key.astype(rows.dtype))
    return sums / of_row.sum(axis=0).clip(1)[:, None]
