"""A sequence that can be read: a text and its tokens, or labels without text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import InputError
from regard.words import Word, group_words, label_words, word_names

if TYPE_CHECKING:
    from jaxtyping import Bool, Int64


@dataclass(frozen=True, eq=False)
class Side:
    """A sequence that can be read: the tokens of a text, the patches of an image.

    name: what it is, as 'text'. text: what the words are cut from, or None for labels.
    tokens: each token as the vocabulary spells it, or its label.
    words: every token in exactly one of them.
    special: `(tokens)`, True for tokens that the tokenizer added, as [CLS].

    Raises InputError if these do not belong together.
    """

    name: str
    text: str | None
    tokens: tuple[str, ...]
    words: tuple[Word, ...]
    special: Bool[np.ndarray, " tokens"]

    def __post_init__(self) -> None:
        count = len(self.tokens)
        check_array("special", self.special, (count,), "b", f"side {self.name!r}")
        named = sorted(token for word in self.words for token in word.tokens)
        if named != list(range(count)):
            raise InputError(
                f"the words of side {self.name!r} name the tokens {named[:20]}: "
                f"expected each of its {count} tokens exactly once."
            )
        flags = self.special.tolist()  # a long text has thousands of words
        for word in self.words:
            if not word.tokens or any(flags[t] != word.special for t in word.tokens):
                raise InputError(
                    f"word {word.text!r} of side {self.name!r} has special={word.special} and "
                    f"the tokens {word.tokens}: expected at least one, all flagged alike."
                )
            if not 0 <= word.start <= word.stop <= len(self.text or ""):
                raise InputError(
                    f"word {word.text!r} of side {self.name!r} is at {word.start}:{word.stop}: "
                    f"expected to lie within the text of {len(self.text or '')} characters."
                )

    @classmethod
    def of_text(
        cls,
        text: str,
        tokens: Sequence[str],
        offsets: Sequence[tuple[int, int]],
        special: Sequence[bool] | Bool[np.ndarray, " tokens"],
        *,
        name: str = "text",
    ) -> Side:
        """The side of a tokenized text; offsets as (start, stop) characters. Raises InputError."""
        flags = [bool(flag) for flag in special]
        words = group_words(text, tokens, offsets, flags)
        return cls(name, text, tuple(tokens), words, np.array(flags, np.bool_))

    @classmethod
    def of_labels(
        cls,
        labels: Sequence[str],
        special: Sequence[bool] | Bool[np.ndarray, " tokens"],
        *,
        name: str = "text",
    ) -> Side:
        """A side that has labels and no text: one word a label."""
        flags = [bool(flag) for flag in special]
        words = label_words(labels, flags)
        return cls(name, None, tuple(labels), words, np.array(flags, np.bool_))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each word, different for each: 'it', or 'it#1', 'it#2'."""
        return word_names(self.words)

    @cached_property
    def word_of(self) -> Int64[np.ndarray, " tokens"]:
        """The index of the word that each token belongs to."""
        owner = np.zeros(len(self.tokens), np.int64)
        for index, word in enumerate(self.words):
            owner[list(word.tokens)] = index
        return owner

    @cached_property
    def special_words(self) -> Bool[np.ndarray, " words"]:
        """Which words are special tokens."""
        return np.array([word.special for word in self.words], np.bool_)


def check_array(name: str, array: Any, shape: tuple[int, ...], kind: str, where: str) -> None:
    """Raises InputError unless it is a NumPy array of this shape and kind ('f', 'i' or 'b')."""
    if not isinstance(array, np.ndarray) or array.dtype.kind != kind or array.shape != shape:
        seen = (
            f"{array.dtype} {array.shape}"
            if isinstance(array, np.ndarray)
            else type(array).__name__
        )
        wanted = {"f": "float", "i": "int", "b": "bool"}[kind]
        raise InputError(f"{name} of {where} is {seen}: expected a NumPy {wanted} array {shape}.")
