"""Where query, key and value come from: x times a weight matrix, product by product."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.views.cells import clip, isolate, pad, width
from regard.views.digits import alike
from regard.views.labels import query_labels
from regard.views.step_layout import INDENT, LABEL
from regard.views.terminal import Terminal, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Float

    from regard.mechanism.steps import Steps

    Matrix = Float[np.ndarray, "rows columns"]

_PLAIN: Final = Terminal()


def projection_screen(
    steps: Steps, x: Matrix, weights: Sequence[Matrix], terminal: Terminal = _PLAIN
) -> list[str]:
    """X, the three weight matrices, and Q, K and V term by term; only their sizes if too large."""
    names = [clip(name, LABEL) for name in query_labels(steps, terminal)]
    made: list[Any] = [steps.query, steps.key, steps.value]
    lines = ["0  Q = X·W_Q,  K = X·W_K,  V = X·W_V"]
    body = [*_side_by_side(x, weights, names), ""]
    for letter, weight, product in zip("QKV", weights, made, strict=True):
        body += _products(letter, x, weight, product, names)
    if len(names) > 4 or any(width(line) > terminal.columns for line in body):
        sizes = ", ".join(
            f"{name} {len(matrix)} × {matrix.shape[1]}"
            for name, matrix in zip(("X", "W_Q", "W_K", "W_V"), (x, *weights), strict=True)
        )
        return lines + [INDENT + line for line in wrapped(sizes, terminal.columns - len(INDENT))]
    return lines + body


def _side_by_side(x: Matrix, weights: Sequence[Matrix], names: Sequence[str]) -> list[str]:
    """X, its rows named, and the weight matrices, beside one another under their names."""
    label = max(width(name) for name in names)
    columns = [["", *names], ["X", *_rows(x)]]
    columns += [
        [name, *_rows(weight)] for name, weight in zip(("W_Q", "W_K", "W_V"), weights, strict=True)
    ]
    wide = [label, *(max(width(cell) for cell in column) for column in columns[1:])]
    lines = []
    for cells in zip_longest(*columns, fillvalue=""):
        padded = [pad(cell, most) for cell, most in zip(cells, wide, strict=True)]
        lines.append(f"{INDENT}{padded[0]} {'   '.join(padded[1:])}".rstrip())
    return lines


def _products(
    letter: str, x: Matrix, weight: Matrix, product: Matrix, names: Sequence[str]
) -> list[str]:
    """One line a word: 'q(I) = [1·1+0·1 ...] = [1 ...]'."""
    label = max(width(name) for name in names)
    results = _rows(product)
    lines = []
    for row, name in enumerate(names):
        sums = [
            "+".join(f"{_factor(a)}·{_factor(b)}" for a, b in zip(x[row], column, strict=True))
            for column in weight.T
        ]
        place = f"{letter.lower()}({isolate(name)}){' ' * (label - width(name))}"
        lines.append(f"{INDENT}{place} = [{'  '.join(sums)}] = {results[row]}")
    return lines


def _rows(matrix: Matrix) -> list[str]:
    texts = np.array(alike(matrix), dtype=object).reshape(matrix.shape)
    wide = max((len(text) for text in texts.ravel()), default=0)
    return [f"[{' '.join(text.rjust(wide) for text in row)}]" for row in texts]


def _factor(number: float) -> str:
    text = alike(np.array([number]))[0]
    return f"({text})" if text.startswith("-") else text
