"""What a terminal can show: its columns, its colours, the characters its encoding carries."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

from regard.views.cells import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDEST: Final = 79  # lines longer than this are hard to read, however wide the window
NARROWEST: Final = 50  # the tables need this much; a window below it wraps them

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_DRAWN: Final = "█▏▎▍▌▋▊▉×÷·√≥→≈−–…“”Σ²◌"
# One character for one where columns are aligned with it.
_PLAIN: Final = str.maketrans(
    {
        **dict.fromkeys("█▉▊▋▌", "#"),
        **dict.fromkeys("▏▎▍", " "),
        "×": "x",
        "÷": "/",
        "·": "*",
        "√": "sqrt ",
        "≥": ">=",
        "→": "->",
        "≈": "~",
        "−": "-",
        "–": "-",
        "…": "~",
        "“": '"',
        "”": '"',
        "Σ": "sum",
        "²": "^2",
        "ᵀ": "^T",
    }
)
_STYLES: Final = {"bold": "1", "dim": "2", "bar": "36", "mark": "1;33"}


@dataclass(frozen=True)
class Terminal:
    """Where lines are shown.

    columns: cells in a line. colour: whether escape sequences may be sent.
    encoding: of the stream; what it cannot carry is replaced, bars by '#'.
    """

    columns: int = WIDEST
    colour: bool = False
    encoding: str = "utf-8"

    @classmethod
    def of(cls, stream: TextIO) -> Terminal:
        """The terminal behind `stream`; plain, and as wide as is good to read, if it is none.

        COLUMNS overrides the width; NO_COLOR (set to anything) and TERM=dumb leave colours out.
        """
        at_terminal = stream.isatty()
        columns = shutil.get_terminal_size((WIDEST, 24)).columns
        if not at_terminal and not os.environ.get("COLUMNS", "").isdigit():
            columns = WIDEST
        colour = (
            at_terminal
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM", "dumb") != "dumb"
        )
        return cls(
            columns=min(max(columns, NARROWEST), WIDEST),
            colour=colour,
            encoding=getattr(stream, "encoding", None) or "utf-8",
        )

    @property
    def plain(self) -> bool:
        """Whether the encoding lacks the characters that bars and formulas are drawn with."""
        try:
            _DRAWN.encode(self.encoding)
        except (UnicodeEncodeError, LookupError):
            return True
        return False

    def shown(self, text: str) -> str:
        """`text` from outside, made harmless and writable: to be done before it is measured."""
        return self._encodable(clean(text))

    def line(self, text: str) -> str:
        """As `shown`, with white space and line ends folded."""
        return self._encodable(one_line(text))

    def style(self, text: str, style: str) -> str:
        """`text` as bold, dim, bar or mark, where colours are shown: to be done after padding."""
        if not self.colour or not text:
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"

    def bar(self, weight: float, cells: int = 20) -> str:
        """A bar of `cells` cells for weight 1, to an eighth of a cell; never wider."""
        eighths = round(min(max(weight, 0.0), 1.0) * cells * 8)
        full, rest = divmod(eighths, 8)
        return self.style("█" * full + (_EIGHTHS[rest] if rest else ""), "bar")

    def finish(self, lines: Iterable[str]) -> str:
        """`lines` as one text for the stream, without spaces at the ends of lines."""
        text = "".join(line.rstrip() + "\n" for line in lines)
        if not self.plain:
            return text
        return self._encodable(text.translate(_PLAIN))

    def _encodable(self, text: str) -> str:
        try:
            return text.encode(self.encoding, "backslashreplace").decode(self.encoding)
        except LookupError:
            return text.encode("ascii", "backslashreplace").decode("ascii")


def wrapped(text: str, columns: int, indent: str = "") -> list[str]:
    """`text`, of our own words, in lines of at most `columns` cells; `indent` before all but the
    first."""
    from regard.views.cells import width

    lines: list[str] = []
    line, cells = "", 0
    for word in text.split(" "):
        taken = width(word)
        if line and cells + 1 + taken > columns:
            lines.append(line)
            line, cells = indent + word, len(indent) + taken
        else:
            line, cells = (f"{line} {word}", cells + 1 + taken) if line else (word, taken)
    return [*lines, line]
