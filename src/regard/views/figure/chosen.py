"""Which head and word a figure is asked for, and what is said of rows that do not sum to 1."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import InputError
from regard.questions import find_head, find_word
from regard.rows import find_layer
from regard.views.figure.canvas import model_name
from regard.views.layout import number

if TYPE_CHECKING:
    from regard.record import Record, Side

    Head = str | tuple[int, int]


def chosen_head(record: Record, head: Head, kind: str | None) -> tuple[Record, int, int]:
    """The record, the index of a layer in it, and the head. Raises InputError."""
    if isinstance(head, str):
        kinds = dict.fromkeys(layer.kind for layer in record.layers)
        if kind is not None and kind not in kinds:
            has = " and ".join(kinds) or "none"
            raise InputError(f"kind is {kind!r} and the record has {has} attention.")
        if kind is not None:
            record = replace(
                record, layers=tuple(layer for layer in record.layers if layer.kind == kind)
            )
        try:
            return record, *find_head(record, head)
        except InputError as error:
            if kind is not None or len(kinds) < 2:
                raise
            raise InputError(f"{error} Give kind=, one of {', '.join(kinds)}.") from error
    if not isinstance(head, tuple) or len(head) != 2:
        raise InputError(f"head is {head!r}: expected 'L5H11', or (layer, head).")
    layer, place = head
    count = find_layer(record, layer).heads
    if isinstance(place, bool) or not isinstance(place, (int, np.integer)):
        raise InputError(f"head is {head!r}: expected whole numbers, (layer, head).")
    if not 0 <= place < count:
        raise InputError(f"head is {head!r} and that layer has {count}: expected 0 to {count - 1}.")
    return record, int(layer), int(place)


def chosen_word(side: Side, word: str | int) -> int:
    """The index of a word given by its name or index. Raises InputError."""
    if isinstance(word, str):
        return find_word(side, word)
    whole = isinstance(word, (int, np.integer)) and not isinstance(word, bool)
    if not whole or not 0 <= word < len(side.words):
        raise InputError(
            f"word is {word!r} and the text has {len(side.words)}: expected its name, or 0 to "
            f"{len(side.words) - 1}."
        )
    return int(word)


def model_of(record: Record) -> str:
    """The name of its model, fit to be drawn."""
    return model_name(record.provenance.get("model", "a model without a name"))


def sums_note(weights: np.ndarray, exact: np.ndarray, visible: np.ndarray) -> str:
    """Why the weights of rows do not sum to 1, where they do not."""
    sums = weights.sum(axis=1)
    blind = ~visible.any(axis=1)
    said = []
    rows, row = ("The rows sum", "rows") if len(sums) > 1 else ("The weights sum", "weights")
    if not exact.all():
        low, high = (number(float(one)) for one in (sums[~exact].min(), sums[~exact].max()))
        between = low if low == high else f"{low} to {high}"
        said.append(f"≥: only the largest weights are known; they sum to {between} of 1.")
    short = exact & ~blind & (np.abs(sums - 1) >= 5e-3)
    if short.any():
        low, high = (number(float(one)) for one in (sums[short].min(), sums[short].max()))
        between = low if low == high else f"{low} to {high}"
        some = rows if short.sum() == len(sums) else f"{int(short.sum())} {row} sum"
        said.append(f"{some} to {between}, not 1: the rest goes to this head's sink.")
    if blind.any():
        which = "It" if len(sums) == 1 else f"{int(blind.sum())} of the rows"
        said.append(f"{which} may see nothing: all weights are 0.")
    return " ".join(said)
