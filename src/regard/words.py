"""Words of one text: which tokens make up each, by character offsets.

A token is what a model reads; a word is what a person reads. Tokens are never decoded one at a
time: one emoji can be four tokens with the same span, and none of them is text by itself.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from regard.errors import InputError

_APOSTROPHES: Final = "'\u2019\u02bc\uff07"
_MID_NUMBER: Final = ".,"
_REPEATED: Final = ".!?-*=~\u2013\u2014"
_JOINER: Final = "\u200d"
# Scripts written without spaces between words: there a piece is the best unit to be had.
_UNSPACED: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # ideographic marks
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x20000, 0x3FFFF),
)


@dataclass(frozen=True)
class Word:
    """One word of a side, one special token, or one label (a patch, a frame).

    text: the word as written, or the label where there is no text.
    start, stop: its characters, text[start:stop]; (0, 0) for special tokens and labels.
    tokens: the indices of its pieces, ascending, never empty.
    special: whether it is a token that the tokenizer added, as [CLS].
    """

    text: str
    start: int
    stop: int
    tokens: tuple[int, ...]
    special: bool


def group_words(
    text: str,
    pieces: Sequence[str],
    offsets: Sequence[tuple[int, int]],
    special: Sequence[bool],
) -> tuple[Word, ...]:
    """The words of `text`: every token in exactly one, in the order of their first pieces.

    A word is a longest run of adjoining pieces with no white space between them. Punctuation is a
    word of its own; an apostrophe within a word ("don't") and a point or comma within a number
    ("3.14") stay. Pieces that share characters are one word, and so are the parts of one emoji.
    Where a script sets no spaces (Chinese, Japanese, Thai) a piece is a word.

    pieces: the tokens as the vocabulary spells them; the labels of special tokens.
    offsets: (start, stop) of each token in characters of `text`; spaces at either end are
        trimmed. A piece without characters ("▁" alone) joins the word that follows it at once;
        line breaks and indentation are words.
    special: True for tokens that the tokenizer added; each is a word, labelled with its piece.

    Raises InputError if the lengths differ or an offset lies outside of the text.
    """
    if not len(pieces) == len(offsets) == len(special):
        raise InputError(
            f"there are {len(pieces)} tokens, {len(offsets)} offsets and {len(special)} special "
            "flags: expected one offset and one flag a token."
        )
    spans = [
        (0, 0) if is_special else _span(text, token, offset)
        for token, (offset, is_special) in enumerate(zip(offsets, special, strict=True))
    ]
    words = []
    run: list[int] = []
    for token, is_special in enumerate(special):
        if run and (is_special or not _joins(text, spans, run, token)):
            words.append(_word(text, pieces, offsets, spans, run))
            run = []
        if is_special:
            words.append(Word(pieces[token], 0, 0, (token,), True))
        else:
            run.append(token)
    if run:
        words.append(_word(text, pieces, offsets, spans, run))
    return tuple(words)


def label_words(labels: Sequence[str], special: Sequence[bool]) -> tuple[Word, ...]:
    """One word a token, for sides that have labels and no text: patches, frames, given tokens."""
    return tuple(
        Word(label, 0, 0, (token,), bool(is_special))
        for token, (label, is_special) in enumerate(zip(labels, special, strict=True))
    )


def word_names(words: Sequence[Word]) -> tuple[str, ...]:
    """A name for each word, no two alike: 'it', or 'it#1' and 'it#2' where a text has it twice."""
    counts = Counter(word.text for word in words)
    marks = {text: _mark(text, counts) for text, times in counts.items() if times > 1}
    seen: Counter[str] = Counter()
    names = []
    for word in words:
        seen[word.text] += 1
        mark = marks.get(word.text)
        names.append(word.text if mark is None else f"{word.text}{mark}{seen[word.text]}")
    return tuple(names)


def _mark(text: str, counts: Counter[str]) -> str:
    """What stands before the number: '#', or more of them where a label looks like such a name."""
    mark = "#"
    while any(f"{text}{mark}{number + 1}" in counts for number in range(counts[text])):
        mark += "#"
    return mark


def _span(text: str, token: int, offset: tuple[int, int]) -> tuple[int, int]:
    """The characters of a piece, without the white space at its ends unless that is all it has."""
    start, stop = offset
    if not 0 <= start <= stop <= len(text):
        raise InputError(
            f"token {token} has the offset ({start}, {stop}) and the text has {len(text)} "
            "characters: expected 0 <= start <= stop <= length. "
            "Do the text and the offsets belong together?"
        )
    part = text[start:stop]
    if part == " ":
        return stop, stop  # a space by itself goes with the word it stands before
    if part.isspace():
        return start, stop
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _joins(text: str, spans: Sequence[tuple[int, int]], run: Sequence[int], token: int) -> bool:
    """Whether a token belongs to the word whose pieces so far are `run`."""
    start, stop = spans[token]
    run_start = min(spans[piece][0] for piece in run)
    run_stop = max(spans[piece][1] for piece in run)
    if run_start == run_stop:  # nothing but pieces without characters yet
        return start == run_stop
    if start < run_stop:
        return stop > run_start or stop == start >= run_start
    gap = text[run_stop:start]
    if not all(_extends(character) for character in gap):
        return False
    if start == stop:
        return not gap and stop < len(text) and _within(text, run_stop)
    return bool(gap) or _within(text, start)


def _within(text: str, place: int) -> bool:
    """Whether the characters on both sides of `place` belong to one word."""
    before, after = text[place - 1], text[place]
    if before.isspace() or after.isspace():
        return before.isspace() and after.isspace()
    if _extends(after) or before == _JOINER:
        return True
    if _is_flag(before) and _is_flag(after):
        flags = 1
        while place - 1 - flags >= 0 and _is_flag(text[place - 1 - flags]):
            flags += 1
        return flags % 2 == 1  # two letters make one flag
    if _is_letter(before) and _is_letter(after):
        return not (_is_unspaced(before) or _is_unspaced(after))
    if before == after and before in _REPEATED:
        return True
    return _is_middle(text, place) or _is_middle(text, place - 1)


def _is_middle(text: str, place: int) -> bool:
    """Whether a mark stands inside a word: an apostrophe in don't, a point in 3.14."""
    if not 0 < place < len(text) - 1:
        return False
    before, mark, after = text[place - 1], text[place], text[place + 1]
    if mark in _APOSTROPHES:
        return _is_letter(before) and _is_letter(after)
    return mark in _MID_NUMBER and before.isdecimal() and after.isdecimal()


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_" or _extends(character)


def _extends(character: str) -> bool:
    """Whether a character only adds to the one before: accents, joiners, skin tones, tags."""
    if character < "\u00ad":
        return False
    code = ord(character)
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") or 0x1F3FB <= code <= 0x1F3FF


def _is_flag(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF


def _is_unspaced(character: str) -> bool:
    code = ord(character)
    return code >= 0x0E00 and any(low <= code <= high for low, high in _UNSPACED)


def _word(
    text: str,
    pieces: Sequence[str],
    offsets: Sequence[tuple[int, int]],
    spans: Sequence[tuple[int, int]],
    run: Sequence[int],
) -> Word:
    written = [spans[piece] for piece in run if spans[piece][0] < spans[piece][1]]
    if not written:  # a space that no word follows, or a piece of no character at all
        start, stop = offsets[run[0]]
        label = text[start:stop] or "".join(pieces[piece] for piece in run)
        return Word(label, start, stop, tuple(run), False)
    start = min(begin for begin, _ in written)
    stop = max(end for _, end in written)
    # A tokenizer that strips accents leaves a combining mark outside of every span.
    while stop < len(text) and unicodedata.combining(text[stop]):
        stop += 1
    return Word(text[start:stop], start, stop, tuple(run), False)
