"""Which words read one word: its column, in every head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from regard.errors import InputError
from regard.questions.links import Link, Ranking, ranked, readers_of
from regard.questions.routines import has_habit
from regard.rows import by_word
from regard.sources import token_columns

if TYPE_CHECKING:
    from jaxtyping import Float

    from regard.habit import Habit
    from regard.record import Record

_MOST: Final = 64
"""Links of a layer that are looked at further: no screen shows as many."""


@dataclass(frozen=True)
class ReadBy:
    """Who reads one word, over all heads of a record.

    links: for each other word that reads it the head that goes furthest beyond its habit, furthest
        first; special tokens, punctuation, and heads with a positional routine set aside.
    exact: False where only the largest weights of some rows are known, or only some rows.
    """

    links: tuple[Link, ...]
    exact: bool


def read_by(record: Record, word: int, habit: Habit | None = None) -> ReadBy:
    """Who reads `word`, its index in the side that is read; habit as in `strongest`.

    Each reader is read in full where query and key are kept (quick where the log-sum-exp of each
    row was asked as well); otherwise what the top k say. Raises InputError if no layer reads it.
    """
    best: dict[int, Link] = {}
    exact = True
    for index in _layers(record, word):
        weights, known = _column(record, index, word)
        exact &= known
        for link in _links(record, index, word, weights, habit):
            if link.reader not in best or link.lift > best[link.reader].lift:
                best[link.reader] = link
    return ReadBy(ranked(link for link in best.values() if link.lift > 0), exact)


def _layers(record: Record, word: int) -> list[int]:
    """The layers in which a word is read. Raises InputError if none is."""
    found = []
    for index, layer in enumerate(record.layers):
        side = record.sides[layer.key_side]
        if 0 <= word < len(side.words) and (side.word_of[layer.key_positions] == word).any():
            found.append(index)
    if not found:
        raise InputError(f"word {word} is read in none of {len(record.layers)} layers.")
    return found


def _column(record: Record, index: int, word: int) -> tuple[Float[np.ndarray, "heads words"], bool]:
    """What each word of the query side gives one word; and whether all of it is known."""
    layer = record.layers[index]
    query_side, key_side = record.sides[layer.query_side], record.sides[layer.key_side]
    columns = np.flatnonzero(key_side.word_of[layer.key_positions] == word)
    found = token_columns(layer, columns)
    owner = query_side.word_of[layer.query_positions]
    count = len(query_side.words)
    pieces = np.bincount(owner, minlength=count).clip(1)
    given = by_word(found.weights.sum(axis=2), owner, count) / pieces
    return given, bool(found.exact.all())


def _links(
    record: Record,
    index: int,
    word: int,
    weights: Float[np.ndarray, "heads words"],
    habit: Habit | None,
) -> list[Link]:
    layer = record.layers[index]
    rank = Ranking(record, index, habit)
    readers = np.array(readers_of(record, index), np.int64)
    if rank.own:
        readers = readers[readers != word]
    if not len(readers) or not layer.heads:
        return []
    given = weights[:, readers]
    usual = np.zeros_like(given)
    distances = None
    if rank.own:
        distances = rank.place[word] - rank.place[readers]
        if habit is not None and has_habit(record, index, habit) and not record.apart(index)[word]:
            place = np.cumsum(~record.apart(index))
            bins = habit.bins(place[word] - place[readers])
            usual = habit.distance[layer.number, : layer.heads][:, bins]
    known = habit is not None and bool(usual.any())
    lift = given - usual
    lift[rank.positional] = -np.inf
    heads = lift.argmax(axis=0)
    furthest = lift.max(axis=0)
    chosen = np.argsort(-furthest, kind="stable")[:_MOST]
    return [
        Link(
            layer=index,
            head=int(heads[place]),
            reader=int(readers[place]),
            word=word,
            distance=None if distances is None else int(distances[place]),
            weight=float(given[heads[place], place]),
            habit=float(usual[heads[place], place]) if known else None,
            share=None,
        )
        for place in chosen
        if furthest[place] > 0
    ]
