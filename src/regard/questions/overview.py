"""A text as a whole: its strongest links beyond habit, and what kind of reader each head is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from regard.questions.links import Link, Ranking, ranked, readers_of
from regard.questions.routines import Routine, routines
from regard.rows import find_layer, iterate_word_rows
from regard.sources import without_shares

if TYPE_CHECKING:
    from jaxtyping import Bool

    from regard.habit import Habit
    from regard.record import Record, WordRow

Kind = Literal["special", "before", "after", "itself", "same", "selective", "broad", "mixed"]

_KINDS: Final[tuple[Kind, ...]] = (
    "special", "before", "after", "itself", "same", "selective", "broad",
)  # fmt: skip
_MOST_READERS: Final = 512
_FEWEST_READERS: Final = 64
_WEIGHTS: Final = 2**27
"""Weights that are looked at in all, once a text is so long that not every word can be asked."""
_A_READER: Final = 2
_A_HEAD: Final = 2


@dataclass(frozen=True)
class HeadKind:
    """What one head mostly does in this text, and how much: a mean over its readers.

    kind, by the first that holds of the mean weight over words that read (punctuation apart):
        'special': over one half is on special tokens, or a decoder's first token;
        'before', 'after', 'itself': over one half is on that word;
        'same': over one half of the weight of repeated words is on the word's other occurrences;
        'selective': the one word read most has over one half;
        'broad': weight is spread as over at least half of the words in sight (the exponential of
        its entropy);
        'mixed': none of these.
    size: that mean weight (for 'broad', the part of the words; for 'mixed', of the word most read).
    """

    layer: int
    head: int
    kind: Kind
    size: float


@dataclass(frozen=True)
class Overview:
    """A text as a whole.

    links: the strongest links beyond habit over all pairs of words, each pair of words once, at
        most 2 from a reader and 2 in a head; special tokens, punctuation and heads with a
        positional routine set aside.
    routines: what heads usually do, by habit. kinds: what each head does in this text.
    special_mass: the part of the words' weight on special tokens and a decoder's first token,
        averaged over readers and heads.
    readers, words: how many words were asked, and how many there are (at most 512 are asked; of
        a long text in many heads fewer, 64 at least, evenly spread).
    exact: False where only the largest weights are known: weights are then lower bounds.
    """

    links: tuple[Link, ...]
    routines: tuple[Routine, ...]
    kinds: tuple[HeadKind, ...]
    special_mass: float
    readers: int
    words: int
    exact: bool


def overview(record: Record, habit: Habit | None = None, *, top: int = 8) -> Overview:
    """The `top` strongest links of a text, and the kinds of its heads; habit as in `strongest`."""
    found: list[Link] = []
    kinds: list[HeadKind] = []
    masses: list[float] = []
    asked: set[int] = set()
    readers: set[int] = set()
    exact = True
    whole, most = record, _most_readers(record)
    record = replace(record, layers=tuple(map(without_shares, record.layers)))
    for index in range(len(record.layers)):
        every = readers_of(record, index)
        chosen = _spread(every, most)
        readers.update(every)
        asked.update(chosen)
        rank, seen = Ranking(record, index, habit), _HeadSums(record, index)
        for reader, row in zip(chosen, iterate_word_rows(record, index, chosen), strict=True):
            exact &= row.exact
            found.extend(rank.links(reader, row, _A_READER * top))
            seen.add(reader, row, rank.candidates(reader, row))
        kinds.extend(seen.kinds())
        masses.extend(seen.special())
    return Overview(
        links=_with_shares(whole, varied(ranked(link for link in found if link.lift > 0), top)),
        routines=routines(record, habit),
        kinds=tuple(kinds),
        special_mass=float(np.mean(masses)) if masses else float("nan"),
        readers=len(asked),
        words=len(readers),
        exact=exact,
    )


def head_kinds(record: Record, layer: int, *, most: int = _MOST_READERS) -> tuple[HeadKind, ...]:
    """The kind of each head of one layer, over at most so many readers, evenly spread."""
    layers = list(record.layers)
    layers[layer] = without_shares(find_layer(record, layer))
    record = replace(record, layers=tuple(layers))
    seen = _HeadSums(record, layer)
    chosen = _spread(readers_of(record, layer), most)
    rank = Ranking(record, layer, None)
    for reader, row in zip(chosen, iterate_word_rows(record, layer, chosen), strict=True):
        seen.add(reader, row, rank.candidates(reader, row))
    return seen.kinds()


class _HeadSums:
    """Sums over the readers of one layer, from which the kind of each head follows."""

    def __init__(self, record: Record, index: int) -> None:
        layer = record.layers[index]
        side = record.sides[layer.key_side]
        self.index = index
        self.own = layer.query_side == layer.key_side
        self.apart = record.apart(index)
        spelled = [word.text.casefold() for word in side.words]
        self.texts = np.unique(spelled, return_inverse=True)[1] if spelled else np.zeros(0, int)
        self.place = np.cumsum(~side.special_words)
        self.readers = 0
        self.repeated = 0
        self.sums = {kind: np.zeros(layer.heads) for kind in _KINDS}

    def add(self, reader: int, row: WordRow, candidates: Bool[np.ndarray, " words"]) -> None:
        weights = row.weights
        self.readers += 1
        sums = self.sums
        sums["special"] += weights[:, self.apart].sum(axis=1)
        if candidates.any():
            sums["selective"] += weights[:, candidates].max(axis=1)
        with np.errstate(all="ignore"):
            logs = np.where(weights > 0, np.log(np.where(weights > 0, weights, 1)), 0)
        sums["broad"] += np.exp(-(weights * logs).sum(axis=1)) / max(int(row.visible.sum()), 1)
        if not self.own:
            return
        distance = np.where(self.apart, 0, self.place - self.place[reader])
        sums["before"] += weights[:, distance == -1].sum(axis=1)
        sums["after"] += weights[:, distance == 1].sum(axis=1)
        sums["itself"] += weights[:, reader]
        same = (self.texts == self.texts[reader]) & candidates
        if same.any():
            self.repeated += 1
            sums["same"] += weights[:, same].sum(axis=1)

    def special(self) -> list[float]:
        return list(self.sums["special"] / self.readers) if self.readers else []

    def kinds(self) -> tuple[HeadKind, ...]:
        if not self.readers:
            return ()
        means = {kind: total / self.readers for kind, total in self.sums.items()}
        means["same"] = self.sums["same"] / max(self.repeated, 1)
        found = []
        for head in range(len(means["special"])):
            holds = (kind for kind in _KINDS if means[kind][head] > 0.5)
            kind: Kind = next(holds, "mixed")
            size = means["selective" if kind == "mixed" else kind][head]
            found.append(HeadKind(self.index, head, kind, float(size)))
        return tuple(found)


def _most_readers(record: Record) -> int:
    """How many words of each layer are asked."""
    a_reader = sum(layer.heads * len(layer.key_positions) for layer in record.layers)
    return min(_MOST_READERS, max(_FEWEST_READERS, _WEIGHTS // max(a_reader, 1)))


def _spread(readers: list[int], most: int) -> list[int]:
    """At most so many of the readers, evenly spread."""
    if len(readers) <= most:
        return readers
    return [readers[i] for i in np.linspace(0, len(readers) - 1, most).astype(int)]


def _with_shares(record: Record, links: tuple[Link, ...]) -> tuple[Link, ...]:
    """The links with each word's part of the result, where values were kept."""
    known = []
    for link in links:
        shares = record.weights(link.layer, link.reader).shares
        share = None if shares is None else float(shares[link.head, link.word])
        known.append(replace(link, share=None if share is None or np.isnan(share) else share))
    return tuple(known)


def varied(links: tuple[Link, ...], top: int = 8) -> tuple[Link, ...]:
    """The first links that do not repeat a pair of words, a reader or a head too often."""
    chosen: list[Link] = []
    for link in links:
        pair = {link.reader, link.word}
        if (
            not any({other.reader, other.word} == pair for other in chosen)
            and sum(other.reader == link.reader for other in chosen) < _A_READER
            and sum((other.layer, other.head) == (link.layer, link.head) for other in chosen)
            < _A_HEAD
        ):
            chosen.append(link)
        if len(chosen) >= top:
            break
    return tuple(chosen)
