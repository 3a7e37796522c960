"""The units of a page: the words of a record, or its pieces, each as if it were a word."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.record import Record, Side
from regard.views.cells import clean
from regard.views.page.packing import block
from regard.words import Word

if TYPE_CHECKING:
    from jaxtyping import Bool, Int64


def as_pieces(record: Record) -> Record:
    """The same record with every piece a word of its own, named as its word if it is all of it."""
    return dataclasses.replace(record, sides=tuple(map(_pieces, record.sides)))


def is_split(record: Record) -> bool:
    """Whether some word of a side that takes part is several pieces."""
    used = {side for layer in record.layers for side in (layer.query_side, layer.key_side)}
    return any(len(record.sides[i].words) < len(record.sides[i].tokens) for i in used)


def side_data(
    side: Side, apart: Bool[np.ndarray, " units"], word: Int64[np.ndarray, " units"] | None
) -> dict[str, Any]:
    """A side for the page: names and texts made harmless, places in the text as JavaScript counts
    them. word: of pieces, the word of each."""
    starts = [unit.start for unit in side.words]
    stops = [unit.stop for unit in side.words]
    return {
        "names": [clean(name) for name in side.names],
        "texts": [clean(unit.text) for unit in side.words],
        "starts": block("core", _utf16(side.text, starts), "i4"),
        "stops": block("core", _utf16(side.text, stops), "i4"),
        "special": block("core", side.special_words, "u1"),
        "apart": block("core", apart, "u1"),
        "word": None if word is None else block("core", word, "i4"),
    }


def _pieces(side: Side) -> Side:
    found: list[Word | None] = [None] * len(side.tokens)
    for word in side.words:
        if len(word.tokens) == 1:
            found[word.tokens[0]] = word
            continue
        at = word.start
        for token in word.tokens:
            start, stop = _span(side, word, side.tokens[token], at)
            at = max(at, stop)
            found[token] = Word(side.tokens[token], start, stop, (token,), word.special)
    words = tuple(word for word in found if word is not None)
    return Side(side.name, side.text, side.tokens, words, side.special)


def _span(side: Side, word: Word, piece: str, at: int) -> tuple[int, int]:
    """Where a piece stands in the text, by its letters; its whole word where they are not there."""
    text = (side.text or "")[at : word.stop]
    letters = piece.removeprefix("##").strip("▁Ġ ")
    start = text.casefold().find(letters.casefold()) if letters else -1
    if start < 0 or len(text) != len(text.casefold()):
        return word.start, word.stop
    return at + start, min(at + start + len(letters), word.stop)


def _utf16(text: str | None, places: list[int]) -> Int64[np.ndarray, " units"]:
    """Places in a text, counted in 16-bit units."""
    at = np.asarray(places, np.int64)
    if text is None or not len(at) or max(text, default="") < "\U00010000":
        return at
    beyond = np.cumsum([0, *(character >= "\U00010000" for character in text)])
    counted: Int64[np.ndarray, " units"] = at + beyond[at]
    return counted
