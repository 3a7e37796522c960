"""The record of one layer and item, from the track of its calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.mechanism.readings import Ask, Readings
from regard.models.watched.asked import rows_at_end
from regard.models.watched.masks import in_numpy, part_of
from regard.models.watched.pieces import joined
from regard.record import Call, Layer, Side

if TYPE_CHECKING:
    from jaxtyping import Int64

    from regard.mechanism.mask import Mask
    from regard.models.watched.track import Track


def recorded(track: Track, item: int, sides: tuple[int, int], key_side: Side) -> Layer:
    """The record of one item of the batch. sides: indices of the query and the key side."""
    at = track.items.index(item)
    positions = np.concatenate([np.arange(p.start, p.start + p.rows) for p in track.pieces])
    chosen = _chosen(track)
    track.check()
    keys = np.arange(track.first_key, track.last_key)
    apart = key_side.special.copy()
    if track.kind == "decoder" and len(apart):
        apart[0] = True
    ask, read = _read_out(track, at, chosen, positions, keys, apart)
    exact = {"query", "key"} <= track.wanted.keep
    kept = {name: _numpy(grown.array[at]) for name, grown in track.kept.items()}
    sinks = None if track.sinks is None else _numpy(track.sinks)
    return Layer(
        number=track.place.number,
        name=track.place.name,
        kind=track.kind,
        heads=track.heads,
        query_side=sides[0],
        key_side=sides[1],
        query_positions=positions,
        key_positions=keys,
        readings=read,
        call=Call(track.scale, track.softcap, sinks, _mask(track, at, exact)),
        ask=ask,
        head_numbers=None if track.wanted.heads is None else np.array(track.wanted.heads, np.int64),
        **kept,
    )


def _chosen(track: Track) -> Int64[np.ndarray, " chosen"]:
    """Which of the rows that were read are the ones asked for, in the order asked."""
    wanted = rows_at_end(track.wanted.queries, track.prompt)
    if wanted is None:
        return np.arange(len(track.read))
    place = {int(row): index for index, row in enumerate(track.read)}
    asked = [place[int(row)] for row in wanted if int(row) in place]
    known = set(asked)
    later = [int(index) for index in np.flatnonzero(track.decoded) if int(index) not in known]
    return np.array(asked + later, np.int64)


def _read_out(
    track: Track, at: int, chosen: Any, positions: Any, keys: Any, apart: Any
) -> tuple[Ask, Readings]:
    done: dict[str, Any] = {}
    for name, grown in track.by_row.items():
        done[name] = _numpy(grown.array[at])[:, chosen]
    for name, grown in track.by_key.items():
        done[name] = _widened(_numpy(grown.array[at]), len(keys))
    for name, array in track.once.items():
        done[name] = _numpy(array[at])
    queries = np.searchsorted(positions, track.read[chosen])
    whole: list[int] = []
    if track.whole:
        parts = []
        for rows, shift, array in track.whole:
            part = _numpy(array[at])
            wide = np.zeros((*part.shape[:2], len(keys)), part.dtype)
            wide[..., shift : shift + part.shape[2]] = part
            parts.append(wide)
            whole += [int(row) for row in rows]
        done["rows"] = np.concatenate(parts, axis=1)
    groups: Any = None
    if "group_mass" in done:
        if track.wanted.ask.groups is not None:
            given = np.asarray(track.wanted.ask.groups[0])[: len(keys)]
            labels = np.concatenate((given, np.full(len(keys) - len(given), -1)))
            groups = (labels, track.wanted.ask.groups[1])
        else:
            mass = done["group_mass"]
            taken = [0, 1, 2] if track.kind == "decoder" else [1, 2]
            done["group_mass"] = mass[..., taken].sum(axis=-1, keepdims=True)
            groups = (np.where(apart[keys], 0, -1), 1)
    ask = replace(
        track.wanted.ask,
        queries=queries,
        rows=np.searchsorted(positions, np.array(whole, np.int64)),
        columns=np.asarray(track.columns, np.int64) - track.first_key,
        groups=groups,
    )
    return ask, Readings(backend=track.backend, queries=queries, **done)


def _mask(track: Track, at: int, with_bias: bool) -> Mask:
    """The mask of all rows over all keys."""
    masks = []
    for piece in track.pieces:
        shape = (len(track.items), track.heads, piece.rows, piece.keys)
        rows, keys = slice(0, piece.rows), slice(0, piece.keys)
        masks.append(in_numpy(part_of(piece.mask, shape, [at], None, rows, keys), with_bias))
    if len(masks) == 1:
        return masks[0]
    return joined(track.pieces, masks, track.first_key, track.last_key, track.heads)


def _widened(array: Any, keys: int) -> Any:
    wide = np.zeros((*array.shape[:-1], keys), array.dtype)
    wide[..., : array.shape[-1]] = array
    return wide


def _numpy(tensor: Any) -> Any:
    """In NumPy, float32 for floats of 16 bits."""
    tensor = tensor.detach().cpu()
    if tensor.dtype.is_floating_point and tensor.dtype.itemsize < 4:
        tensor = tensor.float()
    return tensor.numpy()
