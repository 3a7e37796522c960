"""Where the numbers of steps stand on lines: words as labels, columns aligned, the rest counted."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.views.cells import clip, pad, width
from regard.views.digits import alike, fraction
from regard.views.labels import key_labels, query_labels
from regard.views.terminal import Terminal, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Float

    from regard.mechanism.steps import Steps

MOST: Final = 12  # rows and columns shown; what is left out is counted
LABEL: Final = 12  # cells a word may take
INDENT: Final = "   "
UNSEEN: Final = "·"


@dataclass(frozen=True)
class StepLayout:
    """Steps, the words that are shown of them, and how wide words are.

    queries, keys: labels of the rows and columns shown: all, or the first that fit.
    """

    steps: Steps
    terminal: Terminal
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    label: int

    @classmethod
    def of(cls, steps: Steps, terminal: Terminal) -> StepLayout:
        queries = tuple(clip(name, LABEL) for name in query_labels(steps, terminal)[:MOST])
        keys = tuple(clip(name, LABEL) for name in key_labels(steps, terminal)[:MOST])
        label = max((width(name) for name in queries), default=0)
        return cls(steps, terminal, queries, keys, label)

    @property
    def room(self) -> int:
        """Cells to the right of the row labels."""
        return self.terminal.columns - len(INDENT) - self.label - 2

    def row(self, place: int, text: str) -> str:
        return f"{INDENT}{pad(self.queries[place], self.label)}  {text}"

    def said(self, text: str) -> list[str]:
        """A sentence of our own, indented and wrapped."""
        lines = wrapped(text, self.terminal.columns - len(INDENT))
        return [INDENT + line for line in lines]


def shown_rows(layout: StepLayout) -> range:
    return range(len(layout.queries))


def vectors(layout: StepLayout, rows: Float[np.ndarray, "rows dim"]) -> list[str]:
    """Each row in brackets, aligned, with its middle left out where it is long."""
    shown = columns_shown(layout, rows.shape[1])
    cells = np.array(alike(rows[:, shown]), dtype=object).reshape(len(rows), len(shown))
    widths = [max((len(text) for text in column), default=0) for column in cells.T]
    gap = next((place for place, (a, b) in enumerate(pairwise(shown)) if b - a > 1), None)
    lines = []
    for row in cells:
        texts = [text.rjust(cells_wide) for text, cells_wide in zip(row, widths, strict=True)]
        if gap is not None:
            texts.insert(gap + 1, "…")
        lines.append(f"[{' '.join(texts)}]")
    return lines


def columns_shown(layout: StepLayout, count: int) -> list[int]:
    """All columns of V, or the first two and the last."""
    most = 5 if layout.terminal.columns >= 60 else 3
    return list(range(count)) if count <= most else [0, 1, count - 1]


def matrix(
    layout: StepLayout,
    array: Float[np.ndarray, "queries keys"],
    *,
    masked: bool = False,
    notes: Sequence[str] | None = None,
) -> list[str]:
    """The shown part of `array` with its words; unseen cells as dots if `masked`."""
    cells = _cells(layout, array) if masked else _grid(layout, alike(_part(layout, array)))
    return table(layout, cells, notes)


def _part(layout: StepLayout, array: Float[np.ndarray, "queries keys"]) -> Any:
    return array[: len(layout.queries), : len(layout.keys)]


def _grid(layout: StepLayout, texts: list[str]) -> list[list[str]]:
    count = len(layout.keys)
    return [texts[row * count : (row + 1) * count] for row in shown_rows(layout)]


def _cells(layout: StepLayout, array: Float[np.ndarray, "queries keys"]) -> list[list[str]]:
    """Numbers of the shown part, and a dot for what may not be seen."""
    part, seen = _part(layout, array), _part(layout, layout.steps.seen)
    texts = alike(np.where(seen, part, 0))
    return _dotted(layout, texts)


def fractions(layout: StepLayout, array: Float[np.ndarray, "queries keys"]) -> list[list[str]]:
    return _dotted(layout, [fraction(number) for number in _part(layout, array).ravel()])


def _dotted(layout: StepLayout, texts: list[str]) -> list[list[str]]:
    seen = _part(layout, layout.steps.seen).ravel()
    pairs = zip(texts, seen, strict=True)
    texts = [text if is_seen else UNSEEN for text, is_seen in pairs]
    widest = max((len(text) for text in texts), default=0)
    return _grid(layout, [text.rjust(widest) for text in texts])


def table(
    layout: StepLayout, cells: list[list[str]], notes: Sequence[str] | None = None
) -> list[str]:
    """Rows under their column words, in as many blocks of columns as the width asks for."""
    notes = notes or [""] * len(cells)
    widths = [
        max(width(name), *(len(row[column]) for row in cells)) if cells else width(name)
        for column, name in enumerate(layout.keys)
    ]
    beside = max((width(note) for note in notes), default=0) + 3
    lines: list[str] = []
    for columns in _blocks(widths, layout.room - (beside if any(notes) else 0)):
        names = [pad(layout.keys[column], widths[column], "right") for column in columns]
        lines.append(INDENT + " " * (layout.label + 2) + "  ".join(names))
        last = not columns or columns[-1] == len(widths) - 1
        for row, texts in enumerate(cells):
            numbers = "  ".join(texts[column].rjust(widths[column]) for column in columns)
            note = f"   {notes[row]}" if last and notes[row] else ""
            lines.append(layout.row(row, numbers + note))
    return lines


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    blocks: list[list[int]] = [[]]
    taken = 0
    for column, cells in enumerate(widths):
        if blocks[-1] and taken + cells > room:
            blocks.append([])
            taken = 0
        blocks[-1].append(column)
        taken += cells + 2
    return blocks
