"""Where the numbers of steps stand on lines: words as labels, columns aligned, the rest counted."""

from __future__ import annotations

from dataclasses import dataclass
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
MOST_COLUMNS: Final = 5  # of V, written out
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


def vectors(rows: Float[np.ndarray, "rows dim"], shown: Sequence[int]) -> list[str]:
    """The shown columns of each row in brackets, aligned; … where some are left out."""
    cells = np.array(alike(rows[:, shown]), dtype=object).reshape(len(rows), len(shown))
    widths = [max((len(text) for text in column), default=0) for column in cells.T]
    lines = []
    for row in cells:
        texts = [text.rjust(most) for text, most in zip(row, widths, strict=True)]
        if len(shown) < rows.shape[1]:
            texts.insert(max(len(shown) - 1, 1), "…")
        lines.append(f"[{' '.join(texts)}]")
    return lines


def columns_shown(layout: StepLayout, *arrays: Float[np.ndarray, "rows dim"]) -> list[int]:
    """All columns of the arrays if few; else the first two and the last, if there is room."""
    count = arrays[0].shape[1]
    ends = [0, 1, count - 1]
    tried = list(range(count)) if count <= MOST_COLUMNS else ends
    texts = [text for array in arrays for text in alike(array[:, tried])]
    widest = max((len(text) for text in texts), default=0) + 1
    room = layout.room - len("z() = ") - len("1.000·[]") + 2  # the label's two spaces are not used
    if len(tried) == count and count * widest <= room + 1:
        return tried
    for few in (ends, [0, count - 1], [0]):
        if len(few) < count and len(few) * widest + 1 <= room:
            return few
    return [0]


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
    """Rows under their column words, in as many blocks of columns as the width asks for.

    Notes stand behind the last column, or under it all where there is no room.
    """
    notes = [clip(note, layout.room) for note in notes or [""] * len(cells)]
    widths = [
        max([width(name), *(len(row[column]) for row in cells)])
        for column, name in enumerate(layout.keys)
    ]
    behind = max((width(note) for note in notes), default=0)
    blocks = _blocks([*widths, behind + 1], layout.room)
    lines: list[str] = []
    for columns in blocks:
        keys = [column for column in columns if column < len(widths)]
        if keys:
            names = [pad(layout.keys[column], widths[column], "right") for column in keys]
            lines.append(INDENT + " " * (layout.label + 2) + "  ".join(names))
        elif not behind:
            continue
        for row, texts in enumerate(cells):
            parts = [texts[column].rjust(widths[column]) for column in keys]
            if len(columns) > len(keys) and notes[row]:
                parts.append(f"{' ' if keys else ''}{notes[row]}")
            lines.append(layout.row(row, "  ".join(parts)))
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
