"""The weights of one head as a coloured matrix, words by words, or a long text in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from regard.errors import InputError
from regard.rows import iterate_word_rows
from regard.sources import known_rows
from regard.views.figure.canvas import SMALL, Drawing, colour_scale, drawing, heat, label
from regard.views.figure.chosen import chosen_head, model_of, sums_note
from regard.views.layout import NOT_WHY, number

if TYPE_CHECKING:
    from regard.record import Record
    from regard.views.figure.chosen import Head

MOST_WORDS: Final = 64
WRITTEN: Final = 16  # rows and columns up to which the numbers stand in the cells


def heatmap(record: Record, head: Head, *, kind: str | None = None) -> Drawing:
    """The weights of one head, words by words; of a long text its thumbnail, if it was read.

    head: 'L5H11', or (index in `record.layers`, head). kind: 'encoder', 'decoder' or 'cross',
    where a name is in several. Cells that may not be seen are hatched. Raises InputError for a
    head that is not there, and a text of more than 64 words without a thumbnail.
    """
    record, layer, place = chosen_head(record, head, kind)
    seen = record.layers[layer]
    reader, side = (record.sides[index] for index in (seen.query_side, seen.key_side))
    owner = reader.word_of[seen.query_positions]
    readers = np.setdiff1d(owner, owner[~known_rows(seen)])
    if max(len(readers), len(side.words)) > MOST_WORDS:
        return _thumbnail(record, layer, place)
    if not len(readers):
        raise InputError(
            f"layer {seen.name!r} knows no rows: capture with keep=('query', 'key') or "
            "ask=regard.Ask(top=8)."
        )
    rows = list(iterate_word_rows(record, layer, [int(word) for word in readers]))
    weights = np.array([row.weights[place] for row in rows], np.float64)
    exact = np.array([row.exact for row in rows])
    visible = np.array([row.visible for row in rows])
    known = visible & (exact[:, None] | (weights != 0))
    few = max(weights.shape) <= WRITTEN
    texts = [
        [
            number(weight, bound=not exact[row]) if known[row, place] else ""
            for place, weight in line
        ]
        for row, line in enumerate(map(enumerate, weights))
    ]
    cell = 0.5 if few else 0.16
    figure = drawing(
        max(1.8 + cell * weights.shape[1], 5.2),
        1.3 + cell * len(rows),
        seen.label(place),
        [
            "A row reads, the columns are read." + _hatched(visible, exact),
            sums_note(weights, exact, visible),
            NOT_WHY,
        ],
        model_of(record),
    )
    image = heat(
        figure.add_subplot(),
        weights,
        limits=(0, 1),
        known=known,
        texts=texts if few else None,
        rows=[label(reader.names[word]) for word in readers],
        columns=[label(name) for name in side.names],
    )
    colour_scale(figure, image, "weight")
    return figure


def _thumbnail(record: Record, layer: int, place: int) -> Drawing:
    seen = record.layers[layer]
    side = record.sides[seen.key_side]
    if seen.readings.thumbnail is None:
        raise InputError(
            f"the text has {len(side.words)} words and a heatmap shows at most {MOST_WORDS}: "
            "capture with ask=regard.Ask(thumbnail=64) to see the whole in blocks; lines(word) "
            "shows one word's row."
        )
    blocks = seen.readings.thumbnail[place].astype(np.float64)
    queries, keys = (len(at) for at in (seen.query_positions, seen.key_positions))
    figure = drawing(
        6.2,
        5.6,
        seen.label(place),
        [
            f"A row reads, the columns are read: {queries:,} tokens by {keys:,}, in "
            f"{len(blocks)} × {len(blocks)} blocks. A cell is the mean weight that the rows of its "
            "block give all tokens of a block together; a row of cells sums to what a row of "
            "weights sums to.",
            NOT_WHY,
        ],
        model_of(record),
    )
    axes = figure.add_subplot()
    # a causal head's blocks after the last row are not seen by any row of theirs
    ahead = np.arange(len(blocks)) > np.arange(len(blocks))[:, None]
    hidden = ahead & (blocks == 0) if seen.kind == "decoder" and queries == keys else ahead & False
    image = heat(axes, blocks, limits=(0, max(float(np.nanmax(blocks)), 1e-9)), known=~hidden)
    ticks = np.linspace(0, len(blocks), 5)
    for axis, count in ((axes.xaxis, keys), (axes.yaxis, queries)):
        axis.set_ticks(ticks - 0.5, [f"{int(tick / len(blocks) * count):,}" for tick in ticks])
    axes.set_ylabel("token that reads", fontsize=SMALL)
    axes.set_title("token that is read", fontsize=SMALL)
    colour_scale(figure, image, "mean weight on a block")
    return figure


def _hatched(visible: np.ndarray, exact: np.ndarray) -> str:
    """What the hatched cells of a matrix are."""
    reasons = ["not seen"] * (not visible.all()) + ["not among the largest"] * (not exact.all())
    return f" Hatched: {', or '.join(reasons)}; that is no 0." if reasons else ""
