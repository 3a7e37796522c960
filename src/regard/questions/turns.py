"""One word in two texts: which heads turn from one word to another, and which stay."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import InputError
from regard.questions.links import Ranking, layers_reading
from regard.questions.names import find_word

if TYPE_CHECKING:
    from jaxtyping import Float

    from regard.record import Record, Side

    # index of a layer in A; its weights in A and in B
    _Rows = tuple[int, Float[np.ndarray, "heads words"], Float[np.ndarray, "heads words"]]


@dataclass(frozen=True)
class Turn:
    """What one head gives two words when the same word reads, in text A and in text B.

    layer: index in the layers of record A. weights: of `Turns.first` and `Turns.second` in A,
    then in B.
    """

    layer: int
    head: int
    weights: tuple[float, float, float, float]

    @property
    def margin(self) -> float:
        """The smaller of the two leads, in A and in B: how clear the turn, or the staying, is."""
        first_a, second_a, first_b, second_b = self.weights
        return min(abs(first_a - second_a), abs(first_b - second_b))


@dataclass(frozen=True)
class Turns:
    """Between two words, what each head prefers in text A and in text B.

    first, second: the words, as indices in text A (first_b, second_b: in text B).
    there: heads that prefer `first` in A and `second` in B; back: the other way; stays: heads
        that prefer `first` in both. Each clearest first, by `Turn.margin`; many margins are small.
    heads: how many heads were compared.
    exact: False where only the largest weights are known: no preference is certain then.
    """

    first: int
    second: int
    first_b: int
    second_b: int
    there: tuple[Turn, ...]
    back: tuple[Turn, ...]
    stays: tuple[Turn, ...]
    heads: int
    exact: bool


def turns(
    record_a: Record,
    word_a: int,
    record_b: Record,
    word_b: int,
    *,
    between: tuple[int, int] | None = None,
) -> Turns | None:
    """Which heads turn when the text changes from A to B, and which do not.

    word_a, word_b: the reader in each. between: two words of A to compare; if None, those of all
    pairs of words that stand in both texts between which heads turn most, by the sum of their
    margins. None if no two words stand in both. Words are aligned by `align_words`.

    Raises InputError if the records are not of the same model's layers, or a word of `between`
    does not stand in B.
    """
    pairs = _same_layers(record_a, record_b)
    indices = layers_reading(record_a, word_a)
    rows: list[_Rows] = []
    exact = True
    shared: dict[int, int] = {}
    for index in indices:
        layer_a, layer_b = record_a.layers[index], record_b.layers[pairs[index]]
        row_a, row_b = record_a.weights(index, word_a), record_b.weights(pairs[index], word_b)
        exact &= row_a.exact and row_b.exact
        if not rows:
            side_a, side_b = record_a.sides[layer_a.key_side], record_b.sides[layer_b.key_side]
            can_a = Ranking(record_a, index, None).candidates(word_a, row_a)
            can_b = Ranking(record_b, pairs[index], None).candidates(word_b, row_b)
            shared = {a: b for a, b in align_words(side_a, side_b).items() if can_a[a] and can_b[b]}
        rows.append((index, row_a.weights, row_b.weights))
    chosen = _most_turned(rows, shared) if between is None else _chosen(record_a, between, shared)
    if chosen is None:
        return None
    first, second = chosen
    found: dict[tuple[bool, bool], list[Turn]] = {}
    for index, in_a, in_b in rows:
        for head in range(len(in_a)):
            weights = (
                float(in_a[head, first]), float(in_a[head, second]),
                float(in_b[head, shared[first]]), float(in_b[head, shared[second]]),
            )  # fmt: skip
            if weights[0] != weights[1] and weights[2] != weights[3]:
                prefers = weights[0] > weights[1], weights[2] > weights[3]
                found.setdefault(prefers, []).append(Turn(index, head, weights))
    clearest = {
        key: tuple(sorted(some, key=lambda turn: -turn.margin)) for key, some in found.items()
    }
    return Turns(
        first,
        second,
        shared[first],
        shared[second],
        there=clearest.get((True, False), ()),
        back=clearest.get((False, True), ()),
        stays=clearest.get((True, True), ()),
        heads=sum(len(in_a) for _, in_a, _ in rows),
        exact=exact,
    )


def align_words(side_a: Side, side_b: Side) -> dict[int, int]:
    """Words of A that stand in B too, in the same order: index in A -> index in B.

    Upper and lower case are the same; special tokens are left out. (Myers-like matching by
    `difflib.SequenceMatcher`.)
    """
    words_a = [i for i, word in enumerate(side_a.words) if not word.special]
    words_b = [i for i, word in enumerate(side_b.words) if not word.special]
    matcher = difflib.SequenceMatcher(
        None,
        [side_a.words[i].text.casefold() for i in words_a],
        [side_b.words[i].text.casefold() for i in words_b],
        autojunk=False,
    )
    return {
        words_a[block.a + step]: words_b[block.b + step]
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    }


def counterpart(side_a: Side, word: int, side_b: Side) -> int:
    """The word of B that stands where `word` stands in A. Raises InputError if none does."""
    aligned = align_words(side_a, side_b)
    return aligned[word] if word in aligned else find_word(side_b, side_a.words[word].text)


def _same_layers(record_a: Record, record_b: Record) -> dict[int, int]:
    """The index in B of each layer of A. Raises InputError if layers or heads differ."""
    of_b = {layer.name: i for i, layer in enumerate(record_b.layers)}
    pairs = {}
    for index, layer in enumerate(record_a.layers):
        other = of_b.get(layer.name)
        if other is None or record_b.layers[other].heads != layer.heads:
            raise InputError(
                f"layer {layer.name!r} with {layer.heads} heads is not in both records: turns "
                "compare two texts in the same layers of the same model."
            )
        pairs[index] = other
    models = [record.provenance.get("model") for record in (record_a, record_b)]
    if models[0] != models[1]:
        raise InputError(f"the records are of {models[0]} and of {models[1]}: expected one model.")
    return pairs


def _chosen(record: Record, between: tuple[int, int], shared: dict[int, int]) -> tuple[int, int]:
    first, second = between
    for word in between:
        if word not in shared:
            raise InputError(
                f"between names word {word} of text A, which cannot be compared: expected a word "
                "that both texts have, is seen in both, and is not the reader or punctuation."
            )
    return first, second


def _most_turned(
    rows: list[_Rows],
    shared: dict[int, int],
) -> tuple[int, int] | None:
    """The two words between which heads turn most: the largest sum of margins."""
    if len(shared) < 2 or not rows:
        return None
    words_a, words_b = list(shared), list(shared.values())
    in_a = np.concatenate([weights[:, words_a] for _, weights, _ in rows])  # (all heads, shared)
    in_b = np.concatenate([weights[:, words_b] for _, _, weights in rows])
    best, most = None, -1.0
    for one, other in permutations(range(len(words_a)), 2):
        lead_a, lead_b = in_a[:, one] - in_a[:, other], in_b[:, other] - in_b[:, one]
        moved = float(np.minimum(lead_a, lead_b).clip(0).sum())
        if moved > most:
            best, most = (words_a[one], words_a[other]), moved
    return best
