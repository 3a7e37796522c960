"""Rows for the page: whole ones of chosen heads and units, and the largest weights of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.sources import layer_readings
from regard.views.page.packing import block, fractions, indices, signed
from regard.views.page.strongest import largest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.views.page.level import Level


def whole_rows(
    level: Level, heads: Sequence[int], readers: Sequence[int], *, exact: bool
) -> dict[str, Any]:
    """Whole rows of some heads (places among all) and readers; exact: in 32 bits, else in 16."""
    shape = (len(heads), len(readers), len(level.keys.words))
    weight, share = np.full(shape, np.nan, np.float32), np.full(shape, np.nan, np.float32)
    place = np.full(len(level.readers.words), -1)
    place[np.asarray(readers, np.int64)] = np.arange(len(readers))
    shares = False
    for index, into, own in _by_layer(level, heads):
        for rows in level.rows(index, np.asarray(readers, np.int64)):
            at = _cells(into, place[rows.readers])
            weight[at] = rows.weights[own]
            if rows.shares is not None:
                share[at] = rows.shares[own]
                shares = True
    return {
        "heads": block("rows", heads, "i4"),
        "readers": block("rows", readers, "i4"),
        "weight": block("rows", weight, "f4") if exact else fractions("rows", weight),
        "share": None
        if not shares
        else block("rows", share, "f4")
        if exact
        else signed("rows", share),
    }


def links(level: Level, heads: Sequence[int], most: int) -> dict[str, Any] | None:
    """The `most` largest weights of every known row of some heads; None where there are none."""
    units = len(level.readers.words)
    most = min(most, len(level.keys.words))
    shape = (len(heads), units, most)
    key = np.full(shape, -1)
    weight, share = np.zeros(shape, np.float32), np.full(shape, np.nan, np.float32)
    known = np.zeros(units, np.bool_)
    for index, into, own in _by_layer(level, heads):
        if level.whole:
            for rows in level.rows(index):
                weights = rows.weights[own]
                found = largest(np.where(rows.visible, weights, -1), most)
                at = _cells(into, rows.readers)
                weight[at] = np.take_along_axis(weights, found, -1)
                unseen = ~np.take_along_axis(
                    np.broadcast_to(rows.visible, weights.shape), found, -1
                )
                key[at] = np.where(unseen, -1, found)
                if rows.shares is not None:
                    share[at] = np.take_along_axis(rows.shares[own], found, -1)
                known[rows.readers] = True
            continue
        layer = level.record.layers[index]
        tops = level.tops(index, layer_readings(layer, top=most), most)
        if tops is None:
            continue
        at = _cells(into, tops.readers)
        for array, values in ((key, tops.key), (weight, tops.weight), (share, tops.share)):
            array[at] = values[own]
        known[tops.readers] = True
    readers = np.flatnonzero(known)
    if not len(readers):
        return None
    key, share = key[:, readers], share[:, readers]
    share[key < 0] = np.nan
    return {
        "heads": block("links", heads, "i4"),
        "readers": block("links", readers, "i4"),
        "key": indices("links", key, len(level.keys.words)),
        "weight": fractions("links", np.where(key < 0, 0, weight[:, readers])),
        "share": None if np.isnan(share).all() else signed("links", share),
        "bound": not level.whole and level.split,
    }


def _cells(heads: Sequence[int], readers: Any) -> Any:
    return np.asarray(heads)[:, None], readers[None, :]


def _by_layer(level: Level, heads: Sequence[int]) -> list[tuple[int, list[int], list[int]]]:
    """Each layer that has some of the heads: its index, which of `heads` are its, and their
    numbers within it."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for place, head in enumerate(heads):
        index = int(np.searchsorted(level.first_head, head, side="right")) - 1
        into, own = found.setdefault(index, ([], []))
        into.append(place)
        own.append(int(head - level.first_head[index]))
    return [(index, into, own) for index, (into, own) in sorted(found.items())]
