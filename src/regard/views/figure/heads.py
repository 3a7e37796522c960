"""All heads of a record, layers by heads, in the colours of one reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from regard.errors import InputError
from regard.questions.head_readings import head_readings
from regard.views.figure.canvas import SIGNED, WEIGHTS, Drawing, colour_scale, drawing, heat, label
from regard.views.figure.chosen import chosen_word, model_of
from regard.views.layout import number
from regard.views.staging import Stage, shipped_habit

if TYPE_CHECKING:
    from regard.record import Record, Side

WRITTEN: Final = 16  # layers and heads up to which the numbers stand in the cells
NAMED: Final = 3  # heads named under the grid
TITLES: Final = {
    "entropy": "Entropy of a row, in nats",
    "special": "Weight on special tokens",
    "weight": "Weight",
    "lift": "Weight beyond habit",
}


def heads(
    record: Record,
    reading: str = "entropy",
    *,
    word: str | int | None = None,
    to: str | int | None = None,
    kind: str | None = None,
) -> Drawing:
    """All heads, layers by heads, in the colours of one reading: see `questions.head_readings`.

    reading: 'entropy', 'special', 'weight' or 'lift' (weight beyond habit). word, to: names or
    indices; 'weight' and 'lift' are from the one to the other. kind: as in `heatmap`; None is the
    first kind of attention that the record has. Raises InputError as `head_readings` does.
    """
    stage = Stage(record, shipped_habit(record), kind)
    record = stage.record
    first = record.layers[0]
    reader, side = (record.sides[index] for index in (first.query_side, first.key_side))
    from_word = None if word is None else chosen_word(reader, word)
    to_word = None if to is None else chosen_word(side, to)
    seen = head_readings(record, reading, word=from_word, to=to_word, habit=stage.habit)
    numbers = seen.numbers
    known = np.isfinite(numbers)
    if not known.any():
        raise InputError(f"reading {reading!r} is known of no head of this record.")
    title = TITLES[reading]
    if reading == "special" and first.kind == "decoder":
        title += " and the first"
    title += (
        _of_words(reader, from_word)
        if to_word is None
        else (f", “{label(reader.names[from_word or 0])}” to “{label(side.names[to_word])}”")
    )
    order = np.argsort(-np.where(known, numbers, -np.inf), axis=None, kind="stable")[:NAMED]
    most = [np.unravel_index(place, numbers.shape) for place in order]
    named = ", ".join(
        f"{record.layers[layer].label(int(head))} {number(float(numbers[layer, head]))}"
        for layer, head in most
        if known[layer, head]
    )
    few = max(numbers.shape) <= WRITTEN
    figure = drawing(
        max(1.9 + (0.46 if few else 0.24) * numbers.shape[1], 5.6),
        1.3 + (0.34 if few else 0.2) * len(numbers),
        title,
        [
            f"A row is a layer, a column a head. Highest: {named}.",
            "≥: only the largest weights are known; these are lower bounds." * (not seen.exact),
            "The habit is what a head usually gives a word at that distance, measured over "
            f"{stage.measured}." * (reading == "lift"),
            "Hatched: no such head, or not known." * (not known.all()),
        ],
        model_of(record),
    )
    bound = not seen.exact
    texts = [[number(float(one), bound=bound) for one in line] for line in numbers]
    largest = float(np.nanmax(np.abs(numbers)))
    limits = (0.0, max(largest, 1e-9)) if reading == "entropy" else (0.0, 1.0)
    image = heat(
        figure.add_subplot(),
        numbers,
        limits=(-1.0, 1.0) if reading == "lift" else limits,
        colours=SIGNED if reading == "lift" else WEIGHTS,
        known=known,
        texts=texts if few else None,
        rows=[f"L{layer.number}" for layer in record.layers],
        columns=[f"H{head}" if few else str(head) for head in _head_numbers(record)],
        square=False,
    )
    units = {"entropy": "nats", "lift": "weight beyond habit"}
    colour_scale(figure, image, units.get(reading, "weight"))
    return figure


def _head_numbers(record: Record) -> list[int]:
    """The heads' numbers in the model where every layer has the same ones, else their places."""
    most = max(layer.heads for layer in record.layers)
    given = [layer.head_numbers for layer in record.layers]
    first = given[0]
    if first is not None and all(one is not None and list(one) == list(first) for one in given):
        return [int(head) for head in first]
    return list(range(most))


def _of_words(side: Side, word: int | None) -> str:
    return ", mean over the words" if word is None else f", “{label(side.names[word])}” reads"
