"""The mass on words apart (special tokens, a decoder's first token), and what is no word."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from regard.record import Record
from regard.words import Word

if TYPE_CHECKING:
    from jaxtyping import Float

    from regard.record import WordRow


def special_mass(record: Record, word: int) -> float:
    """The part of a word's weight that goes to words apart, averaged over all heads.

    0 to 1; NaN if no layer reads the word. A lower bound where only the top keys are known.
    """
    masses = [
        apart_mass(record, index, record.weights(index, word))
        for index in range(len(record.layers))
    ]
    return float(np.concatenate(masses).mean()) if masses else float("nan")


def apart_mass(record: Record, index: int, row: WordRow) -> Float[np.ndarray, " heads"]:
    """The weight of one row that goes to words apart, for each head."""
    mass: Float[np.ndarray, " heads"] = row.weights[:, record.apart(index)].sum(axis=1)
    return mass


def is_mark(word: Word) -> bool:
    """Whether a word is punctuation or white space alone. Emoji and + are not."""
    text = word.text
    if word.start == word.stop:
        text = text.strip("▁Ġ")  # how vocabularies spell a space that has no character
    return all(
        character.isspace() or unicodedata.category(character).startswith(("P", "C"))
        for character in text
    )
