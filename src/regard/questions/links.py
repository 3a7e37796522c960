"""Whom a word reads beyond habit: links, ranked over all heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from regard.errors import InputError
from regard.questions.apart import apart_mass, marks
from regard.questions.routines import Routine, habit_row, routine_of, routines
from regard.rows import find_layer, iterate_word_rows
from regard.sources import known_rows

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from regard.habit import Habit
    from regard.record import Record, WordRow

FAR: Final = 2
"""Words that are at most this far apart are neighbours: a head may read them for being near."""

_MOST: Final = 256
"""Links of one word in one layer that are ranked, however long the text."""


@dataclass(frozen=True)
class Link:
    """One word reading another in one head.

    layer: index in `record.layers`. reader, word: indices in the words of the query side and of
    the key side. distance: in words, special tokens apart, negative before; None between sides.
    weight: 0 to 1. habit: what this head usually gives a word at this distance, None if unknown.
    share: the word's part of the result, None if unknown; it may be negative.
    """

    layer: int
    head: int
    reader: int
    word: int
    distance: int | None
    weight: float
    habit: float | None
    share: float | None

    @property
    def lift(self) -> float:
        """Weight beyond habit, by which links are ranked; the weight where no habit is known."""
        return self.weight - (self.habit or 0.0)


@dataclass(frozen=True)
class Vote:
    """How many heads give this word more weight than any other word that is a candidate."""

    word: int
    heads: int


@dataclass(frozen=True)
class Strongest:
    """Whom one word reads, over all heads of a record.

    links: for each other word the head whose weight goes furthest beyond its habit, furthest
        first; special tokens, punctuation, and heads with a positional routine set aside.
    far: the first of `links` that is more than 2 words away; None if there is none.
    set_aside: the routines by position, whose heads are not in `links`.
    votes: the words that most heads have on top (of all heads, none set aside), of `voters`.
    special_mass: the part of the weight on special tokens and a decoder's first token, averaged
        over all heads.
    exact: False where only the largest weights are known: weights are then lower bounds.
    """

    links: tuple[Link, ...]
    far: Link | None
    set_aside: tuple[Routine, ...]
    votes: tuple[Vote, ...]
    voters: int
    special_mass: float
    exact: bool


def strongest(record: Record, word: int, habit: Habit | None = None) -> Strongest:
    """Whom `word` (its index in the query side) reads most, beyond what each head usually does.

    habit: the model's habit table, or `habit_of(record)`; None ranks by weight alone and sets no
    head aside. Raises InputError if the word is no reader in any layer.
    """
    best: dict[int, Link] = {}
    votes: Counter[int] = Counter()
    masses = []
    exact = True
    for index in layers_reading(record, word):
        row = record.weights(index, word)
        rank = Ranking(record, index, habit)
        exact &= row.exact
        masses.append(apart_mass(record, index, word, row))
        votes.update(rank.tops(word, row))
        for link in rank.links(word, row, _MOST):
            if link.word not in best or link.lift > best[link.word].lift:
                best[link.word] = link
    links = ranked(link for link in best.values() if link.lift > 0)
    aside = tuple(one for one in routines(record, habit) if one.distance is not None)
    return Strongest(
        links=links,
        far=next((link for link in links if link.distance and abs(link.distance) > FAR), None),
        set_aside=aside,
        votes=tuple(Vote(place, heads) for place, heads in votes.most_common()),
        voters=sum(map(len, masses)),
        special_mass=float(np.concatenate(masses).mean()),
        exact=exact,
    )


def head_links(
    record: Record, layer: int, head: int, habit: Habit | None = None
) -> tuple[Link, ...]:
    """What each word reads most in one head, special tokens and punctuation apart: one link a
    reader, in the order of the text; `distance` and `habit` as in `Link`."""
    seen = find_layer(record, layer)
    if not 0 <= head < seen.heads:
        raise InputError(
            f"head is {head} and layer {layer} has {seen.heads}: expected 0 to {seen.heads - 1}."
        )
    readers = readers_of(record, layer)
    rank = Ranking(record, layer, habit)
    links = []
    for reader, row in zip(readers, iterate_word_rows(record, layer, readers), strict=True):
        tops = rank.tops(reader, row)
        if tops:
            links.append(rank.link(head, reader, tops[head], row, rank.usual(reader)))
    return tuple(links)


class Ranking:
    """Ranks what words read in one layer of a record, against a habit or None."""

    def __init__(self, record: Record, index: int, habit: Habit | None) -> None:
        layer = record.layers[index]
        side = record.sides[layer.key_side]
        self.record = record
        self.index = index
        self.habit = habit
        self.own = layer.query_side == layer.key_side
        self.barred = record.apart(index) | marks(side)
        self.place = np.cumsum(~side.special_words)
        found = [routine_of(record, index, head, habit) for head in range(layer.heads)]
        self.positional = [
            head for head, one in enumerate(found) if one is not None and one.distance is not None
        ]

    def candidates(self, reader: int, row: WordRow) -> Bool[np.ndarray, " words"]:
        """Words a link may lead to: visible, no special token, no punctuation, not the reader."""
        candidates: Bool[np.ndarray, " words"] = row.visible & ~self.barred
        if self.own:
            candidates[reader] = False
        return candidates

    def tops(self, reader: int, row: WordRow) -> list[int]:
        """The candidate that each head gives most; none if there is no candidate."""
        candidates = self.candidates(reader, row)
        if not candidates.any():
            return []
        return [int(top) for top in np.where(candidates, row.weights, -1.0).argmax(axis=1)]

    def usual(self, reader: int) -> Float[np.ndarray, "heads words"]:
        """The weight each head usually gives each word, NaN where not known."""
        return habit_row(self.record, self.index, reader, self.habit)

    def links(self, reader: int, row: WordRow, top: int | None = None) -> list[Link]:
        """For each candidate word (the `top` furthest) the link of the head that goes furthest
        beyond its habit; heads with a routine by position are no candidates."""
        usual = self.usual(reader)
        lift = row.weights - np.nan_to_num(usual)
        lift[self.positional] = -np.inf
        if not len(lift):
            return []
        heads = lift.argmax(axis=0)
        furthest = np.where(self.candidates(reader, row), lift.max(axis=0), -np.inf)
        words = np.flatnonzero(np.isfinite(furthest))
        if top is not None and len(words) > top:  # sort no more of a long text than is wanted
            least = np.partition(furthest[words], -top)[-top]
            words = words[furthest[words] >= least]
        words = words[np.argsort(-furthest[words], kind="stable")][:top]
        return [self.link(int(heads[word]), reader, int(word), row, usual) for word in words]

    def link(
        self,
        head: int,
        reader: int,
        word: int,
        row: WordRow,
        usual: Float[np.ndarray, "heads words"],
    ) -> Link:
        """One link in plain values."""
        return Link(
            layer=self.index,
            head=head,
            reader=reader,
            word=word,
            distance=int(self.place[word] - self.place[reader]) if self.own else None,
            weight=float(row.weights[head, word]),
            habit=_plain(usual[head, word]),
            share=None if row.shares is None else _plain(row.shares[head, word]),
        )


def expected(
    record: Record, layer: int, word: int, habit: Habit
) -> Float[np.ndarray, "heads words"]:
    """The weight that each head of a layer usually gives each word when `word` reads.

    NaN where the habit says nothing: for a reader that is a special token, for special tokens
    that stand at neither end, between two sides.
    """
    find_layer(record, layer)
    return habit_row(record, layer, word, habit)


def readers_of(record: Record, index: int) -> list[int]:
    """The words whose weights a layer knows, special tokens and punctuation apart."""
    layer = record.layers[index]
    side = record.sides[layer.query_side]
    owner = side.word_of[layer.query_positions]
    rows = np.bincount(owner)
    unknown = np.bincount(owner[~known_rows(layer)], minlength=len(rows))
    owners = np.flatnonzero((rows > 0) & (unknown == 0))
    barred = side.special_words | marks(side)
    return [int(i) for i in owners if not barred[i]]


def layers_reading(record: Record, word: int) -> list[int]:
    """The layers in which a word of the query side is a reader. Raises InputError if none is."""
    found = []
    for index, layer in enumerate(record.layers):
        side = record.sides[layer.query_side]
        if 0 <= word < len(side.words) and (side.word_of[layer.query_positions] == word).any():
            found.append(index)
    if not found:
        raise InputError(f"word {word} is no reader in any of {len(record.layers)} layers.")
    return found


def ranked(links: Iterable[Link]) -> tuple[Link, ...]:
    """Links by weight beyond habit, largest first; equal ones in the order of the text."""
    return tuple(sorted(links, key=lambda link: (-link.lift, link.reader, link.word)))


def _plain(number: float) -> float | None:
    return None if np.isnan(number) else float(number)
