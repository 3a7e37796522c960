"""The mass on words apart (special tokens, a decoder's first token), and what is no word."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from regard.record import Record
from regard.words import Word

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from regard.record import Side, WordRow


def special_mass(record: Record, word: int) -> float:
    """The part of a word's weight that goes to words apart, averaged over all heads.

    0 to 1; NaN for a record without layers. A lower bound where only the top keys are known and
    no group of keys was read that holds just the words apart.
    """
    masses = [
        apart_mass(record, index, word, record.weights(index, word))
        for index in range(len(record.layers))
    ]
    return float(np.concatenate(masses).mean()) if masses else float("nan")


def apart_mass(record: Record, index: int, word: int, row: WordRow) -> Float[np.ndarray, " heads"]:
    """The weight of one row, that of `word`, that goes to words apart, for each head."""
    mass: Float[np.ndarray, " heads"] = row.weights[:, record.apart(index)].sum(axis=1)
    return mass if row.exact else np.maximum(mass, _group_mass(record, index, word))


def _group_mass(record: Record, index: int, word: int) -> Float[np.ndarray, " heads"]:
    """The same mass from a group of keys that was read in the pass; 0 where none is just these."""
    layer = record.layers[index]
    readings, nothing = layer.readings, np.zeros(layer.heads)
    if layer.ask is None or layer.ask.groups is None or readings.group_mass is None:
        return nothing
    owner = record.sides[layer.key_side].word_of[layer.key_positions]
    apart = record.apart(index)[owner]
    labels, count = np.asarray(layer.ask.groups[0]), layer.ask.groups[1]
    pieces = record.sides[layer.query_side].words[word].tokens
    asked = np.isin(layer.query_positions[readings.queries], pieces)
    if asked.sum() != np.isin(layer.query_positions, pieces).sum():
        return nothing
    for group in range(count):
        if np.array_equal(labels == group, apart):
            mass: Float[np.ndarray, " heads"] = readings.group_mass[:, asked, group].mean(axis=1)
            return mass
    return nothing


def marks(side: Side) -> Bool[np.ndarray, " words"]:
    """Which words of a side are punctuation or white space alone: looked at once, for every layer
    asks."""
    found = _marks.get(side)
    if found is None:
        found = _marks[side] = np.array([is_mark(word) for word in side.words], np.bool_)
    return found


_marks: WeakKeyDictionary[Side, Bool[np.ndarray, " words"]] = WeakKeyDictionary()


def is_mark(word: Word) -> bool:
    """Whether a word is punctuation or white space alone. Emoji and + are not."""
    text = word.text
    if word.start == word.stop:
        text = text.strip("▁Ġ")  # how vocabularies spell a space that has no character
    return all(
        character.isspace() or unicodedata.category(character).startswith(("P", "C"))
        for character in text
    )
