"""Rows for the page: whole ones of chosen heads and units, and the largest weights of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.layer_readings import layer_readings
from regard.views.page.gathered import TOP
from regard.views.page.level import joined
from regard.views.page.packing import block, fractions, indices, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.views.page.gathered import OfLevel
    from regard.views.page.level import Level, Tops


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


def links(one: OfLevel, most: int, heads: Sequence[int]) -> dict[str, Any] | None:
    """The `most` largest weights of every known row of some heads (places among all, ascending);
    None where there are none."""
    level = one.level
    units = len(level.readers.words)
    most = min(most, len(level.keys.words))
    shape = (len(heads), units, most)
    key = np.full(shape, -1)
    weight, share = np.zeros(shape, np.float32), np.full(shape, np.nan, np.float32)
    known = np.zeros(units, np.bool_)
    for index, into, own in _by_layer(level, heads):
        tops = _tops(one, index, most)
        if tops is None:
            continue
        at = _cells(into, tops.readers)
        for array, values in ((key, tops.key), (weight, tops.weight), (share, tops.share)):
            array[at] = values[own][:, :, :most]
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


def _tops(one: OfLevel, index: int, most: int) -> Tops | None:
    """The largest weights of one layer, as they were gathered, or read again."""
    if one.tops is not None:
        return one.tops[index]
    level = one.level
    if level.whole:
        return joined([level.tops_of(rows, most) for rows in level.rows(index)])
    read = layer_readings(level.record.layers[index], top=TOP)
    return level.tops(index, read, TOP)


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
