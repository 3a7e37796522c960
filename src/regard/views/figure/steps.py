"""The four steps as four panels with their numbers, in a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.views.aloud import is_usual, root
from regard.views.digits import alike, fraction
from regard.views.figure.canvas import (
    INK,
    PALE,
    SIGNED,
    SMALL,
    Drawing,
    drawing,
    heat,
    label,
    plain,
)
from regard.views.labels import key_labels, query_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Float
    from matplotlib.axes import Axes

    from regard.mechanism.steps import Steps

MOST: Final = 12  # rows and columns shown; what is left out is said
WRITTEN: Final = 8  # numbers of a value vector that are written out
_ONE_LINE: Final = 5  # words up to which the four panels stand in one line


def steps_figure(steps: Steps) -> Drawing:
    """Scores, scaled, weights and result of 2-D steps, a panel each, with their numbers.

    At most 12 rows, and of their keys the 12 of most weight. Raises InputError for more than one
    head, and for steps without a row or a key.
    """
    if steps.scores.ndim != 2:
        leading = steps.scores.shape[:-2]
        raise InputError(
            f"these steps have leading axes {leading}: draw one head, "
            f"steps.head({', '.join('0' for _ in leading)}).figure()."
        )
    if not all(steps.scores.shape):
        raise InputError(f"these steps have {steps.scores.shape} scores: there is nothing to draw.")
    rows = np.arange(min(len(steps.scores), MOST))
    keys = _keys(steps, rows)
    few = max(len(rows), len(keys)) <= _ONE_LINE
    panels = 3 + (steps.output is not None)
    columns = panels if few else 2
    wide, high = 0.58 * max(len(keys), 3), (0.5 if few else 0.34) * max(len(rows) + 1, 4)
    figure = drawing(
        max((wide + 1.3) * columns, 6),
        (high + 1) * (1 if few else 2) + 0.5,
        "MatMul → Scale → Softmax → MatMul",
        [
            f"Scaled dot-product attention, d_k = {steps.d_k}. A row reads, the columns are read.",
            *_left_out(steps, rows, keys),
            *_notes(steps),
        ],
    )
    names = _Names(steps, rows, keys)
    places = figure.add_gridspec(1 if few else 2, columns, wspace=0.08, hspace=0.08)
    cells = [places[place // columns, place % columns] for place in range(panels)]
    names.draw(figure.add_subplot(cells[0]), steps.scores, f"1  {_first(steps)}")
    names.draw(figure.add_subplot(cells[1]), _second(steps), f"2  {_scaled(steps)}", masked=True)
    axes = figure.add_subplot(cells[2])
    names.draw(axes, steps.weights, "3  softmax of each row", masked=True, weights=True)
    _row_sums(axes, steps, rows, len(keys))
    if steps.output is not None:
        _result(figure, cells[3], names)
    return figure


class _Names:
    """The rows and keys that are shown of some steps, and how one matrix of them is drawn."""

    def __init__(self, steps: Steps, rows: Any, keys: Any) -> None:
        self.steps, self.rows, self.keys = steps, rows, keys
        every = query_labels(steps), key_labels(steps)
        self.row_names = [label(every[0][row]) for row in rows]
        self.key_names = [label(every[1][key]) for key in keys]
        self.seen = steps.seen[np.ix_(rows, keys)]

    def draw(
        self,
        axes: Axes,
        matrix: Float[np.ndarray, "queries keys"],
        title: str,
        *,
        masked: bool = False,
        weights: bool = False,
    ) -> None:
        part = matrix[np.ix_(self.rows, self.keys)]
        known = self.seen if masked else np.ones_like(self.seen)
        numbers = np.where(known, part, 0)
        texts = _grid([fraction(one) for one in part.ravel()] if weights else alike(numbers), part)
        finite = part[known & np.isfinite(part)]
        ends = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        heat(
            axes,
            part,
            # the largest scores are no darker than leaves their numbers the main thing
            limits=(0, 1) if weights else (ends[0], ends[0] + 1.6 * max(ends[1] - ends[0], 1e-9)),
            known=known,
            texts=[
                [text if known[row, place] else "" for place, text in enumerate(line)]
                for row, line in enumerate(texts)
            ],
            rows=self.row_names,
            columns=self.key_names,
            square=False,
        )
        _title(axes, title)


def _keys(steps: Steps, rows: Any) -> Any:
    """Which keys are shown: all if few, else those of most weight in these rows, in order."""
    count = steps.scores.shape[1]
    if count <= MOST:
        return np.arange(count)
    weight = np.nan_to_num(steps.weights[rows]).max(axis=0)
    return np.sort(np.argsort(-weight, kind="stable")[:MOST])


def _left_out(steps: Steps, rows: Any, keys: Any) -> list[str]:
    queries, every = steps.scores.shape
    said = []
    if len(rows) < queries:
        said.append(f"the first {len(rows)} of {queries} rows")
    if len(keys) < every:
        said.append(f"of {every} keys the {len(keys)} of most weight in these rows")
    return [f"Shown: {' and '.join(said)}. Sums and results are over all."] if said else []


def _notes(steps: Steps) -> list[str]:
    notes = []
    if not steps.seen.all():
        notes.append(
            "Hatched: may not be seen, which is no 0. Step 1 shows every pair, seen or not."
        )
    if steps.sinks is not None:
        notes.append("A sink stands beside the keys: rows of weights sum to less than 1.")
    if steps.output is None:
        notes.append("Step 4, × V, needs the value vectors, which were not given.")
    return notes


def _first(steps: Steps) -> str:
    return "Q·Kᵀ" if steps.query is not None else "Q·Kᵀ, as given"


def _second(steps: Steps) -> Float[np.ndarray, "queries keys"]:
    if steps.bias is not None or not steps.seen.all():
        return steps.masked
    return steps.capped


def _scaled(steps: Steps) -> str:
    usual = is_usual(steps)
    title = f"÷ √{steps.d_k} = {root(steps.d_k)}" if usual else f"× {steps.scale:.6g}"
    if steps.softcap is not None:
        title += f", capped at {steps.softcap:g}"
    return title + (", + bias" if steps.bias is not None else "")


def _row_sums(axes: Axes, steps: Steps, rows: Any, keys: int) -> None:
    for place, row in enumerate(rows):
        total = float(steps.weights[row].sum())
        text = f"Σ {fraction(total)}" if steps.seen[row].any() else "sees nothing"
        axes.text(keys - 0.4, place, text, va="center", fontsize=SMALL - 0.5, color=PALE, **plain())


def _result(figure: Drawing, cell: Any, names: _Names) -> None:
    """V above, and Z, whose rows mix those of V, below it in the same colours."""
    steps = names.steps
    assert steps.value is not None
    assert steps.output is not None
    value, output = steps.value[names.keys], steps.output[names.rows]
    finite = np.concatenate([value[np.isfinite(value)], output[np.isfinite(output)], [1e-9]])
    most = 1.5 * float(np.abs(finite).max())
    few = value.shape[1] <= WRITTEN
    inner = cell.subgridspec(2, 1, height_ratios=(len(value), len(output)), hspace=0.12)
    for place, (matrix, rows, title) in enumerate(
        (
            (value, names.key_names, "4  × V"),
            (output, [f"z({name})" for name in names.row_names], "= Z"),
        )
    ):
        axes = figure.add_subplot(inner[place])
        heat(
            axes,
            matrix,
            limits=(-most, most),
            colours=SIGNED,
            texts=_grid(alike(matrix), matrix) if few else None,
            rows=rows,
            square=False,
        )
        _title(axes, title if few else f"{title} ({matrix.shape[1]} numbers each, as colours)")


def _grid(texts: Sequence[str], like: Float[np.ndarray, "rows columns"]) -> list[list[str]]:
    count = like.shape[1]
    return [list(texts[row * count : (row + 1) * count]) for row in range(len(like))]


def _title(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=9.5, loc="left", color=INK, **plain())
