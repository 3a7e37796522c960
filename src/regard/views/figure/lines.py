"""Whom a word reads, as one would draw it on paper: two columns of words and lines between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from regard.record import many
from regard.views.figure.canvas import (
    ACCENT,
    BLUE,
    INK,
    PALE,
    SMALL,
    Drawing,
    drawing,
    label,
    plain,
)
from regard.views.figure.chosen import chosen_head, chosen_word, model_of, sums_note
from regard.views.layout import LEAST, NOT_WHY, number
from regard.views.staging import Stage, shipped_habit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from regard.record import Record
    from regard.views.figure.chosen import Head
    from regard.views.scene import Cell, OneRow

MOST: Final = 24  # words that are listed beside one another
AROUND: Final = 3  # words of a long text that stand beside the reader


def lines(
    record: Record, word: str | int, *, head: Head | None = None, kind: str | None = None
) -> Drawing:
    """Whom a word reads in one head: two columns of words, a line as thick as its weight.

    word: its name ('it', 'it#2') or index. head: as in `heatmap`; None takes the one that the
    first screen of `regard show` shows, and says why. Of a long text the words with most weight
    are listed. Raises InputError for a word or head that is not there.
    """
    layer = None
    if head is not None:
        record, layer, place = chosen_head(record, head, kind)
        kind = record.layers[layer].kind
    stage = Stage(record, shipped_habit(record), kind)
    at = 0 if layer is None else stage.record.layers.index(record.layers[layer])
    which = chosen_word(stage.record.sides[stage.record.layers[at].query_side], word)
    why = ""
    if layer is None:
        one = stage.one_word(which)
        row, source = one.row, one.source
        why = f"Of all heads, {row.head} is shown: {one.why}."
    else:
        scene: OneRow = stage.one_row(at, place, which)
        row, source = scene.row, scene.source
    seen = [(place, cell) for place, cell in enumerate(row.cells) if cell.seen]
    long = len(row.cells) > MOST
    kept = sorted(seen, key=lambda pair: -pair[1].weight)[:MOST]
    kept = [pair for pair in kept if pair[1].weight >= LEAST] or kept[:1] if long else kept
    cells = [cell for _, cell in sorted(kept)] if long else list(row.cells)
    around = range(len(source.words))
    if long:
        around = range(max(which - AROUND, 0), min(which + AROUND + 1, len(source.words)))
    left = len(seen) - len(kept)
    rest = sum(cell.weight for _, cell in seen) - sum(cell.weight for _, cell in kept)
    weights = np.array([[cell.weight for cell in row.cells]])
    exact, visible = np.array([row.exact]), np.array([[cell.seen for cell in row.cells]])
    figure = drawing(
        6.4,
        1.1 + 0.24 * max(len(cells), len(around)),
        f"What “{label(row.reader)}” reads in {row.head}",
        [
            why,
            "A line is as thick as its weight; part is the word's part of the result."
            + (f" {left:,} more words have {number(max(rest, 0))} together." if left else ""),
            f"Its weights are means over its {len(row.pieces)} pieces."
            if len(row.pieces) > 1
            else "",
            _unseen(len(row.cells) - len(seen), long),
            sums_note(weights, exact, visible),
            NOT_WHY,
        ],
        model_of(record),
    )
    axes = figure.add_subplot()
    _draw_lines(axes, [(source.words[at], at == which) for at in around], cells, row.exact)
    return figure


def _unseen(words: int, long: bool) -> str:
    if not words:
        return ""
    return f"Not seen: {many(words, 'word')}." if long else "Grey and without a number: not seen."


def _draw_lines(
    axes: Axes, readers: list[tuple[str, bool]], cells: list[Cell], exact: bool
) -> None:
    """Readers on the left, the words read on the right; the one that reads is marked True."""
    high = max(len(readers), len(cells))
    start = 0.0
    for place, (name, reads) in enumerate(readers):
        y = place + (high - len(readers)) / 2
        start = y if reads else start
        axes.text(
            0.27, y, label(name), ha="right", va="center", fontsize=10,
            color=ACCENT if reads else PALE, fontweight="bold" if reads else "normal", **plain(),
        )  # fmt: skip
    shares = any(cell.share is not None for cell in cells)
    for place, cell in enumerate(cells):
        y = place + (high - len(cells)) / 2
        if cell.seen and cell.weight > 0:
            axes.plot(
                (0.3, 0.63), (start, y), color=BLUE, linewidth=0.4 + 9 * cell.weight, alpha=0.75,
                solid_capstyle="round",
            )  # fmt: skip
        axes.text(
            0.66, y, label(cell.word), va="center", fontsize=10,
            color=INK if cell.seen and not cell.special else PALE, **plain(),
        )  # fmt: skip
        numbers = [(0.91, number(cell.weight, bound=not exact))] if cell.seen else []
        numbers += [(0.99, number(cell.share))] if cell.seen and shares else []
        for x, text in numbers:
            axes.text(x, y, text, ha="right", va="center", fontsize=9, color=INK, **plain())
    for x, text in ((0.91, "weight"), (0.99, "part"))[: 1 + shares]:
        axes.text(x, -1, text, ha="right", va="center", fontsize=SMALL, color=PALE, **plain())
    axes.set(xlim=(0, 1), ylim=(high - 0.4, -1.5))
    axes.axis("off")
