"""What heads do whatever the words are: the word before, the word after, [SEP]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from regard.errors import InputError
from regard.habit import Habit
from regard.record import Record
from regard.rows import iterate_word_rows
from regard.sources import known_rows, without_shares

if TYPE_CHECKING:
    from jaxtyping import Float

ROUTINE: Final = 0.5
"""A head whose habit at one distance, or on one special token, is above this has a routine."""

_ALWAYS: Final = 0.95
_STEADY: Final = 0.15
_FEWEST_ROWS: Final = 64
_MOST_ROWS: Final = 256
_WEIGHTS: Final = 2**27
"""Weights that a habit is measured over in all, in a long text and many heads."""
_REACH: Final = 16


@dataclass(frozen=True)
class Routine:
    """Heads that usually do the same.

    does: 'the word before', 'the word after', 'itself', 'the word 2 before', or a special token.
    distance: in words, key - query; None for a special token.
    always: whether they hardly ever do anything else: a habit of .95 or more that spreads (one
        standard deviation) by .15 at most. Otherwise mostly: a habit above one half.
    heads: (index of the layer, head), strongest habit first. habits: the habit of each.
    """

    does: str
    distance: int | None
    always: bool
    heads: tuple[tuple[int, int], ...]
    habits: tuple[float, ...]


def routines(record: Record, habit: Habit | None) -> tuple[Routine, ...]:
    """The routines of all heads of a record: positional ones first, nearest first."""
    if habit is None:
        return ()
    found: dict[tuple[str, int | None, bool], list[tuple[float, int, int]]] = {}
    for index, layer in enumerate(record.layers):
        for head in range(layer.heads):
            one = routine_of(record, index, head, habit)
            if one is not None:
                key = (one.does, one.distance, one.always)
                found.setdefault(key, []).append((-one.habits[0], index, head))
    grouped = []
    for (does, distance, always), heads in found.items():
        heads.sort()
        places = tuple((index, head) for _, index, head in heads)
        grouped.append(Routine(does, distance, always, places, tuple(-size for size, *_ in heads)))
    return tuple(
        sorted(
            grouped,
            key=lambda one: (
                one.distance is None, abs(one.distance or 0), one.distance or 0, not one.always,
            ),
        )
    )  # fmt: skip


def routine_of(record: Record, index: int, head: int, habit: Habit | None) -> Routine | None:
    """What one head usually does, or None if its habit is above one half at no single place."""
    layer = record.layers[index]
    if habit is None or not has_habit(record, index, habit):
        return None
    side = record.sides[layer.key_side]
    number = layer.number
    near = habit.distance[number, head, 1:-1]
    place = int(near.argmax())
    if near[place] > ROUTINE:
        distance = place - habit.reach
        size, spread = float(near[place]), float(habit.spread[number, head, place + 1])
        always = size >= _ALWAYS and spread <= _STEADY
        return Routine(_says(distance), distance, always, ((index, head),), (size,))
    apart = np.flatnonzero(record.apart(index))
    for on, end, at in ((habit.first, 0, 0), (habit.last, -1, len(side.words) - 1)):
        if on[number, head] > ROUTINE and len(apart) and apart[end] == at:
            size = float(on[number, head])
            return Routine(side.words[at].text, None, False, ((index, head),), (size,))
    return None


def has_habit(record: Record, index: int, habit: Habit) -> bool:
    """Whether a habit speaks of this layer: self-attention, of a layer and heads it measured.

    Raises InputError if the habit is of another model.
    """
    layer = record.layers[index]
    if layer.query_side != layer.key_side:
        return False
    if layer.number >= habit.layers or layer.heads > habit.heads:
        raise InputError(
            f"habit has {habit.layers} layers × {habit.heads} heads and the record has "
            f"{layer.label(layer.heads - 1)}: expected the habit of the same model."
        )
    return True


def habit_of(record: Record) -> Habit | None:
    """The habit of each head over a long text's own rows; None below 64 readers.

    At most 256 readers, evenly spread, are read; 64 where there are many heads. Layers between
    two sides have none (0).
    """
    readers = _readers(record)
    if len(readers) < _FEWEST_ROWS:
        return None
    a_reader = sum(layer.heads * len(layer.key_positions) for layer in record.layers)
    most = min(len(readers), _MOST_ROWS, max(_FEWEST_ROWS, _WEIGHTS // max(a_reader, 1)))
    readers = readers[np.linspace(0, len(readers) - 1, most).astype(int)]
    own = [i for i, layer in enumerate(record.layers) if layer.query_side == layer.key_side]
    numbers = [record.layers[i].number for i in own]
    if len(set(numbers)) < len(numbers):
        raise InputError("the record has several layers of one number: keep those of one stack.")
    shape = (max(numbers) + 1, max(record.layers[i].heads for i in own))
    bins = 2 * _REACH + 3
    distance, spread = np.zeros((*shape, bins)), np.zeros((*shape, bins))
    first, last = np.zeros(shape), np.zeros(shape)
    blank = Habit(distance, first, last, spread)
    record = replace(record, layers=tuple(map(without_shares, record.layers)))
    for i in own:
        layer = record.layers[i]
        apart = record.apart(i)
        place = np.cumsum(~apart)
        sums, squares = np.zeros((layer.heads, bins)), np.zeros((layer.heads, bins))
        counts = np.zeros(bins)
        ends = np.zeros((2, layer.heads))
        for reader, row in zip(readers, iterate_word_rows(record, i, list(readers)), strict=True):
            seen = row.visible & ~apart
            at = blank.bins(place - place[reader])[seen]
            counts += np.bincount(at, minlength=bins)
            starts = np.flatnonzero(np.diff(at, prepend=-1))  # words come by distance
            if len(starts):
                weights = row.weights[:, seen].astype(float)
                sums[:, at[starts]] += np.add.reduceat(weights, starts, axis=1)
                squares[:, at[starts]] += np.add.reduceat(weights**2, starts, axis=1)
            ends[0] += row.weights[:, 0] * apart[0]
            ends[1] += row.weights[:, -1] * apart[-1]
        means = sums / np.maximum(counts, 1)
        distance[layer.number, : layer.heads] = means
        spread[layer.number, : layer.heads] = np.sqrt(
            np.maximum(squares / np.maximum(counts, 1) - means**2, 0)
        )
        first[layer.number, : layer.heads], last[layer.number, : layer.heads] = ends / len(readers)
    return blank


def _readers(record: Record) -> np.ndarray:
    """Words, special tokens apart, that every self-attention layer reads from."""
    own = [i for i, layer in enumerate(record.layers) if layer.query_side == layer.key_side]
    sides = {record.layers[index].query_side for index in own}
    if len(sides) != 1:
        return np.zeros(0, np.int64)
    side = record.sides[sides.pop()]
    is_reader = np.zeros((len(own), len(side.words)), np.bool_)
    for row, index in zip(is_reader, own, strict=True):
        owner = side.word_of[record.layers[index].query_positions]
        row[np.setdiff1d(owner, owner[~known_rows(record.layers[index])])] = True
        row[record.apart(index)] = False
    return np.flatnonzero(is_reader.all(axis=0))


def _says(distance: int) -> str:
    if distance == 0:
        return "itself"
    side = "before" if distance < 0 else "after"
    return f"the word {side}" if abs(distance) == 1 else f"the word {abs(distance)} {side}"


def habit_row(
    record: Record, index: int, word: int, habit: Habit | None
) -> Float[np.ndarray, "heads words"]:
    """The weight each head usually gives each word when `word` reads; NaN where not known."""
    layer = record.layers[index]
    side = record.sides[layer.key_side]
    unknown = np.full((layer.heads, len(side.words)), np.nan)
    if habit is None or not has_habit(record, index, habit):
        return unknown
    usual = habit.expected(layer.number, record.apart(index), word)
    expected: Float[np.ndarray, "heads words"] = usual[: layer.heads]
    return expected
