"""Words that take weight whatever the text says: special tokens, and a decoder's first token."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from regard.record import Layer, Record
from regard.words import Word

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from regard.record import WordRow


def apart_words(record: Record, layer: Layer) -> Bool[np.ndarray, " words"]:
    """Which words of the layer's key side are special tokens or, in a decoder, the first token.

    In causal models the first token takes what a head has no use for, as [CLS] and [SEP] do in
    encoders, and it is often an ordinary word.
    """
    side = record.sides[layer.key_side]
    apart = side.special_words.copy()
    if layer.kind == "decoder" and len(side.tokens):
        apart[side.word_of[0]] = True
    return apart


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
    apart = apart_words(record, record.layers[index])
    mass: Float[np.ndarray, " heads"] = row.weights[:, apart].sum(axis=1)
    return mass


def is_mark(word: Word) -> bool:
    """Whether a word is punctuation or white space alone. Emoji and + are not."""
    return all(
        character.isspace() or unicodedata.category(character).startswith(("P", "C"))
        for character in word.text
    )
