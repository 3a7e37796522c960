"""Text in terminal cells: made harmless, measured, cut and padded.

Words come from anywhere. `clean` comes first: it leaves every letter, accent, emoji and
right-to-left word as it is, and writes what steers a terminal or hides in a text (control
characters, escape sequences, bidirectional overrides, invisible characters, lone surrogates) as
a visible escape such as `\\x1b`. The others expect cleaned text.

Widths follow the wcwidth package: an accent takes no cell of its own, a Chinese character two, a
family of emoji joined by U+200D two as a whole. It is imported only for text beyond Latin letters.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Align = Literal["left", "right", "centre"]

_JOINERS: Final = "\u200c\u200d"  # Persian and Indic spelling, and emoji, need them
_CHOOSERS: Final = "\ufe0e\ufe0f"  # text or emoji form of the character before
# Drawn although their category says "format": signs that enclose the digits after them.
_DRAWN: Final = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd"
# Blank or zero-width although their category says letter, mark or symbol.
_BLANK: Final = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
_MARKS_IN_A_ROW: Final = 6  # more than any script stacks; towers of marks draw over other lines
# One cell each, as everything below the first combining mark; screens are drawn with them, and
# finding that out from wcwidth would cost each of them its import.
_OURS: Final = frozenset("█▏▎▍▌▋▊▉√≥≤→≈−–…“”Σᵀ")
_FIRST_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def clean(text: str) -> str:
    """`text` with everything that is not plainly drawn written as a visible escape.

    A newline is `\\n`, an escape character `\\x1b`, a bidi override `\\u202e`. A mark without a
    letter before it gets a dotted circle to stand on. Joiners stay where they join.
    """
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    marks = 0
    for place, char in enumerate(text):
        if char.isascii():
            marks = 0
            shown.append(char if char.isprintable() else _escape(char))
            continue
        category = unicodedata.category(char)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if _hidden(text, place, category) or marks > _MARKS_IN_A_ROW:
            shown.append(_escape(char))
        elif category[0] == "M" and not (shown and _carries(text[place - 1])):
            shown.append("\u25cc" + char)
        else:
            shown.append(char)
    return "".join(shown)


def one_line(text: str) -> str:
    """`text` cleaned, with every run of white space, line ends included, as one space."""
    return clean(" ".join(text.split()))


def width(text: str) -> int:
    """How many terminal cells a cleaned `text` takes."""
    if text.isascii() or all(char < "\u0300" or char in _OURS for char in text):
        return len(text)
    from wcwidth import wcswidth

    cells = int(wcswidth(text))
    return cells if cells >= 0 else width(clean(text))


def clip(text: str, cells: int, more: str = "…", keep: Literal["start", "end"] = "start") -> str:
    """One end of `text` in at most `cells` cells, with `more` where something is left out.

    Never cuts inside what is drawn as one character.
    """
    # A character takes at most two cells, and an unbroken word can be megabytes long.
    if len(text) <= 16 * cells and width(text) <= cells:
        return text
    room = cells - width(more)
    if room < 0:
        return more[: max(cells, 0)]
    near = text[: 16 * cells] if keep == "start" else text[-16 * cells :]
    kept: list[str] = []
    for cluster in _clusters(near) if keep == "start" else reversed([*_clusters(near)]):
        room -= width(cluster)
        if room < 0:
            break
        kept.append(cluster)
    return "".join([*kept, more]) if keep == "start" else "".join([more, *reversed(kept)])


def pad(text: str, cells: int, align: Align = "left") -> str:
    """`text` with spaces to fill `cells` cells; as it is where it is wider already.

    A word that is read right to left is isolated, so that it does not pull the numbers beside it
    to its other side.
    """
    spare = max(cells - width(text), 0)
    before = {"left": 0, "right": spare, "centre": spare // 2}[align]
    return " " * before + isolate(text) + " " * (spare - before)


def isolate(text: str) -> str:
    """`text` between bidi isolates if anything in it is read right to left, else as it is."""
    if text.isascii() or not any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in text):
        return text
    return f"{_FIRST_ISOLATE}{text}{_END_ISOLATE}"


def _clusters(text: str) -> Iterable[str]:
    if text.isascii():
        return text
    from wcwidth import iter_graphemes

    return iter_graphemes(text)


def _hidden(text: str, place: int, category: str) -> bool:
    char = text[place]
    if char in _JOINERS:
        return not _joins(text, place)
    if char in _CHOOSERS:
        return place == 0 or not _has_forms(text[place - 1])
    if "\U000e0020" <= char <= "\U000e007f":
        return not _in_flag(text, place)
    if "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        return True
    return char in _BLANK or (category in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in _DRAWN)


def _joins(text: str, place: int) -> bool:
    """Whether the joiner at `place` stands between two letters or emoji that it can join."""
    if not 0 < place < len(text) - 1:
        return False
    before, after = text[place - 1], text[place + 1]
    return _carries(before) and unicodedata.category(after) in ("So", "Lo") and before > "\u02ff"


def _carries(char: str) -> bool:
    """Whether a mark may stand on `char`, or on what `char` itself stands on."""
    return char in _CHOOSERS or (unicodedata.category(char)[0] in "LMNSP" and char not in _BLANK)


def _has_forms(char: str) -> bool:
    return char in "#*0123456789©®‼⁉〰〽" or unicodedata.category(char) in ("So", "Sm")


def _in_flag(text: str, place: int) -> bool:
    """Whether the tag at `place` continues a black flag (England, Scotland, Wales)."""
    start = place
    while start > 0 and "\U000e0020" <= text[start - 1] <= "\U000e007e" and place - start < 8:
        start -= 1
    return start > 0 and text[start - 1] == "\U0001f3f4"


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
