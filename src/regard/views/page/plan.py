"""What of a record goes into a file of a stated size, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.page.book import Book, Readings, mean_of, thumbs_data
from regard.views.page.packing import block, fractions
from regard.views.page.spelled import layer_steps
from regard.views.page.strongest import NONE, Strongest

if TYPE_CHECKING:
    from regard.views.page.level import Level


def everything(book: Book) -> dict[str, Any]:
    """All numbers of a short text."""
    data = book.frame()
    read = Readings(book)
    data["thumbs"] = thumbs_data(read.thumbs)
    for name, level in (("words", book.words), ("pieces", book.pieces)):
        if level is None:
            continue
        of = read.of["words" if name == "words" else "tokens"]
        into = data[name]
        for reading in ("entropy", "apart", "received"):
            if not np.isnan(of[reading]).all():
                into[reading] = block("core", of[reading], "f4")
        into["means"] = {one: mean_of(of[one]) for one in ("entropy", "apart")}
        _rows(level, into)
    for index, layer in enumerate(book.record.layers):
        kept = (layer.query, layer.key, layer.value, layer.call)
        if all(part is not None for part in kept):
            first = int(book.words.first_head[index])
            data["steps"].append(layer_steps(book.record, index, range(layer.heads), first))
    return data


def _rows(level: Level, into: dict[str, Any]) -> None:
    readers, keys = len(level.readers.words), len(level.keys.words)
    weights = np.full((level.heads, readers, keys), np.nan, np.float32)
    shares = np.full((level.heads, readers, keys), np.nan, np.float32)
    seen = np.zeros((len(level.record.layers), readers, keys), np.bool_)
    best = Strongest(level, 12)
    some_shares = False
    for index in range(len(level.record.layers)):
        here = slice(*level.first_head[index : index + 2])
        for rows in level.rows(index):
            weights[here, rows.readers] = rows.weights
            if rows.shares is not None:
                shares[here, rows.readers] = rows.shares
                some_shares = True
            seen[index, rows.readers] = rows.visible
            best.add_rows(index, rows)
    best.done()
    into["full"] = {
        "heads": block("rows", np.arange(level.heads), "i4"),
        "readers": block("rows", np.arange(readers), "i4"),
        "weight": block("rows", weights, "f4"),
        "share": block("rows", shares, "f4") if some_shares else None,
    }
    if not seen.all():
        alike = len(seen) > 0 and (seen == seen[:1]).all()
        into["seen"] = block("core", seen[:1] if alike else seen, "u1")
    sums = weights.sum(axis=2)
    if (np.abs(sums[~np.isnan(sums)] - 1) > 1e-3).any():
        into["sums"] = block("core", sums, "f4")
    into["strongest"] = {
        "readers": block("core", np.arange(readers), "i4"),
        "head": block("core", np.where(best.head == NONE, 65535, best.head), "u2"),
        "key": block("core", np.where(best.key == NONE, 65535, best.key), "u2"),
        "weight": fractions("core", best.weight),
        "share": block("core", best.share, "f4") if some_shares else None,
    }
