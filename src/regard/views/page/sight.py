"""Which units a unit may see: cell by cell, or as a run of keys where a text is long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.sources import visible_keys
from regard.views.page.packing import block

if TYPE_CHECKING:
    from regard.record import Layer
    from regard.views.page.level import Level

MOST_CELLS: Final = 2**22
"""Cells that are sent one by one; the page holds a byte of memory for each."""

_ROWS: Final = 1024


def sight(level: Level, seen: Any) -> tuple[dict[str, Any] | Any, bool]:
    """For the page, None where every reader sees everything; and whether that is all there is to
    say (hidden cells that are no run of a long row cannot be sent).

    seen `(layers, readers, keys)`, or None where it was not gathered.
    """
    if seen is not None:
        if seen.all():
            return None, True
        if (seen == seen[:1]).all():
            seen = seen[:1]
        if seen.size <= MOST_CELLS:
            return block("core", seen, "u1"), True
    runs: dict[Any, tuple[Any, Any] | None] = {}
    of_layers = []
    for index, layer in enumerate(level.record.layers):
        name = _sameness(layer)
        if name not in runs:
            runs[name] = _runs(level, index, layer)
        of_layers.append(runs[name])
    found = [one for one in of_layers if one is not None]
    if len(found) < len(of_layers):
        return None, False
    first, stop = (np.stack(part) for part in zip(*found, strict=True))
    if len({id(one) for one in found}) == 1:
        first, stop = first[:1], stop[:1]
    if (first == 0).all() and (stop == len(level.keys.words)).all():
        return None, True
    return {"first": block("core", first, "i4"), "stop": block("core", stop, "i4")}, True


def _runs(level: Level, index: int, layer: Layer) -> tuple[Any, Any] | None:
    """Of each reader the first unit it sees and the one after the last; None if some between are
    hidden."""
    owner = level.readers.word_of[layer.query_positions]
    of_key = level.keys.word_of[layer.key_positions]
    if (np.diff(of_key) < 0).any():
        return None
    units, keys = len(level.readers.words), len(level.keys.words)
    first, stop = np.full(units, keys), np.zeros(units, np.int64)
    for at in range(0, len(owner), _ROWS):
        rows = np.arange(at, min(at + _ROWS, len(owner)))
        seen = visible_keys(layer, rows)
        count = seen.sum(axis=1)
        begin, end = seen.argmax(axis=1), seen.shape[1] - seen[:, ::-1].argmax(axis=1)
        some = count > 0
        if (count[some] != (end - begin)[some]).any():
            return None
        np.minimum.at(first, owner[rows[some]], of_key[begin[some]])
        np.maximum.at(stop, owner[rows[some]], of_key[end[some] - 1] + 1)
    return np.minimum(first, stop), stop


def _sameness(layer: Layer) -> Any:
    """Equal for layers whose rows see the same keys."""
    if layer.call is None:
        return None
    mask = layer.call.mask
    return (
        *(_plain(getattr(mask, name)) for name in ("causal", "offset", "window", "lengths")),
        _plain(mask.segments),
        id(mask.allowed),
        id(mask.bias),
        _plain(layer.query_positions),
        _plain(layer.key_positions),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return np.asarray(value).tobytes() if hasattr(value, "__len__") else value
