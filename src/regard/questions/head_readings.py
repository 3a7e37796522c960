"""One number a head: how widely it looks, what it gives special tokens, or a given word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.questions.apart import apart_mass, is_mark
from regard.questions.links import layers_reading, readers_of
from regard.questions.routines import habit_row
from regard.rows import iterate_word_rows
from regard.sources import token_rows

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

    from regard.habit import Habit
    from regard.record import Layer, Record
    from regard.words import Word

READINGS: Final = ("entropy", "special", "weight", "lift")
_MOST_READERS: Final = 256


@dataclass(frozen=True, eq=False)
class HeadReadings:
    """One reading of every head.

    numbers: `(layers, heads)`, float64; NaN where a layer has fewer heads, does not read the word,
        or has no habit. exact: False where weights are known as lower bounds only.
    """

    numbers: Float[np.ndarray, "layers heads"]
    exact: bool


def head_readings(
    record: Record,
    reading: str = "entropy",
    *,
    word: int | None = None,
    to: int | None = None,
    habit: Habit | None = None,
) -> HeadReadings:
    """One number a head, from one word (its index in the query side) or averaged over the words.

    reading: 'entropy', in nats, of a row of tokens; 'special', the weight on special tokens and a
        decoder's first token; 'weight', from `word` to the word `to` of the key side; 'lift', that
        weight beyond the head's habit.

    Averages are over the words that read, special tokens and punctuation apart; of more than 256,
    over as many, evenly spread. Raises InputError for another reading, a word that is missing or
    reads nowhere, a habit that is not known, and entropies of rows of which only the top is known.
    """
    if reading not in READINGS:
        raise InputError(f"reading is {reading!r}: expected one of {', '.join(READINGS)}.")
    pair = reading in ("weight", "lift")
    if pair and (word is None or to is None):
        raise InputError(f"reading {reading!r} is from a word to a word: give word= and to=.")
    if not pair and to is not None:
        raise InputError(
            f"reading {reading!r} goes to no word: leave out to=, or ask for 'weight'."
        )
    if reading == "lift" and habit is None:
        raise InputError(
            "reading 'lift' needs the heads' habits, which are known for the embedded model and "
            "for texts of 64 words or more: ask for 'weight'."
        )
    asked = range(len(record.layers)) if word is None else layers_reading(record, word)
    numbers = np.full(
        (len(record.layers), max((layer.heads for layer in record.layers), default=0)), np.nan
    )
    exact = True
    for index in asked:
        layer = record.layers[index]
        readers = _readers(record, index, reading) if word is None else [word]
        if not readers:
            continue
        if reading == "entropy":
            numbers[index, : layer.heads] = _entropy(record, index, readers)
            continue
        found = []
        for reader, row in zip(readers, iterate_word_rows(record, index, readers), strict=True):
            exact &= row.exact
            if reading == "special":
                found.append(apart_mass(record, index, reader, row))
            else:
                _check_to(row.weights, to)
                usual = (
                    0.0 if reading == "weight" else habit_row(record, index, reader, habit)[:, to]
                )
                found.append(row.weights[:, to] - usual)
        numbers[index, : layer.heads] = np.mean(found, axis=0, dtype=np.float64)
    return HeadReadings(numbers, exact)


def _readers(record: Record, index: int, reading: str) -> list[int]:
    """The words that are averaged over in one layer, evenly spread where they are many."""
    layer = record.layers[index]
    readers = readers_of(record, index)
    if reading == "entropy" and not readers and layer.readings.entropy is not None:
        side = record.sides[layer.query_side]  # where no weights are known, entropies may be
        read = side.word_of[layer.query_positions[layer.readings.queries]]
        readers = [int(i) for i in np.unique(read) if not _rests(side.words[i])]
    if len(readers) <= _MOST_READERS:
        return readers
    return [readers[i] for i in np.linspace(0, len(readers) - 1, _MOST_READERS).astype(int)]


def _rests(word: Word) -> bool:
    return word.special or is_mark(word)


def _entropy(record: Record, index: int, readers: list[int]) -> Float[np.ndarray, " heads"]:
    """The mean over the rows of these words, from what was read, or computed again."""
    layer = record.layers[index]
    side = record.sides[layer.query_side]
    rows = np.flatnonzero(np.isin(side.word_of[layer.query_positions], readers))
    if layer.query is None and layer.readings.queries is not None:
        rows = np.intersect1d(rows, layer.readings.queries)
    of_rows: Any = _entropy_read(layer, rows)
    if of_rows is None:
        of_rows = _entropy_computed(layer, rows)
    mean: Float[np.ndarray, " heads"] = of_rows.mean(axis=1, dtype=np.float64)
    return mean


def _entropy_read(layer: Layer, rows: Int64[np.ndarray, " rows"]) -> Any:
    """`(heads, rows)` as it was read in the pass, or None."""
    readings = layer.readings
    if readings.entropy is None or readings.queries is None:
        return None
    place = np.full(len(layer.query_positions), -1)
    place[readings.queries] = np.arange(len(readings.queries))
    return None if (place[rows] < 0).any() else readings.entropy[:, place[rows]]


def _entropy_computed(
    layer: Layer, rows: Int64[np.ndarray, " rows"]
) -> Float[np.ndarray, "heads rows"]:
    from regard.mechanism.api import readings
    from regard.mechanism.readings import Ask

    if layer.query is not None and layer.key is not None and layer.call is not None:
        call = layer.call
        found: Any = readings(
            layer.query,
            layer.key,
            ask=Ask(queries=rows, entropy=True),
            mask=call.mask,
            scale=call.scale,
            softcap=call.softcap,
            sinks=call.sinks,
        ).entropy
        return np.asarray(found)
    known = token_rows(layer, rows)
    if not known.exact.all():
        raise InputError(
            f"layer {layer.name!r} knows only the largest weights of these rows, and so not their "
            "entropy: capture with ask=regard.Ask(entropy=True)."
        )
    weights = known.weights.astype(np.float64)
    logs = np.log(np.where(weights > 0, weights, 1))
    entropy: Float[np.ndarray, "heads rows"] = 0 - np.einsum("hrk,hrk->hr", weights, logs)
    return entropy


def _check_to(weights: Float[np.ndarray, "heads words"], to: Any) -> None:
    count = weights.shape[1]
    if isinstance(to, bool) or not isinstance(to, (int, np.integer)) or not 0 <= to < count:
        raise InputError(f"to is {to!r} and the text has {count} words: expected 0 to {count - 1}.")
