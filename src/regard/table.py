"""Who reads whom as a tidy table: one row for each layer, head, reader and word read."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TextIO

import numpy as np

from regard.errors import InputError
from regard.mechanism.readings import check_budget
from regard.record import Layer, Record, Side
from regard.rows import find_layer, iterate_word_rows
from regard.words import label_words

if TYPE_CHECKING:
    from jaxtyping import Bool

    from regard.record import WordRow

COLUMNS: Final = ("layer", "head", "from", "to", "weight", "share")
_ROW_BYTES: Final = 40
TableRow = tuple[int, int, str, str, float, float | None]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length, in the order layer, head, from, to; `pandas.DataFrame(columns)`.

    columns: 'layer' and 'head' int64, numbers from 0; 'from' and 'to' str, names of words (or
        tokens); 'weight' float, 'share' float, NaN where unknown.
    note: in a sentence or two, what was left out and whether weights are lower bounds.
    """

    columns: dict[str, np.ndarray]
    note: str

    def __len__(self) -> int:
        return len(self.columns["layer"])

    def rows(self) -> Iterator[TableRow]:
        """(layer, head, from, to, weight, share) in plain values, share None where unknown."""
        columns = [self.columns[name].tolist() for name in COLUMNS]
        for layer, head, reader, word, weight, share in zip(*columns, strict=True):
            yield layer, head, reader, word, weight, None if share != share else share

    def to_csv(self, target: str | os.PathLike[str] | TextIO) -> None:
        """Write as CSV (UTF-8, a header line, numbers to 7 digits) to a path or an open text file.

        An unknown share is left empty. Raises InputError if the path cannot be written.
        """
        if not isinstance(target, (str, os.PathLike)):
            self._write(target)
            return
        try:
            # a lone surrogate, which UTF-8 cannot hold, is written as \udXXX
            with open(target, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
                self._write(file)
        except OSError as error:
            raise InputError(f"{os.fspath(target)} cannot be written: {error.strerror}.") from error

    def _write(self, file: TextIO) -> None:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for layer, head, reader, word, weight, share in self.rows():
            part = "" if share is None else f"{share:.7g}"
            writer.writerow((layer, head, reader, word, f"{weight:.7g}", part))

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(COLUMNS)}; {self.note})"


def tabulate(
    record: Record,
    *,
    level: Literal["words", "tokens"] = "words",
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    readers: Sequence[int] | None = None,
    minimum: float = 0.01,
    top: int | None = None,
    without_special: bool = False,
) -> Table:
    """Who reads whom in a record.

    level: 'words', or 'tokens' with each token by itself.
    layers: indices in `record.layers`. heads: of every such layer. readers: indices of words (or
        tokens) of the query side. None for all of each.
    minimum: leaves out smaller weights, so that a long text does not give n² rows; 0 for all that
        the reader may see. top: the largest only, for each layer, head and reader.
    without_special: leaves out special tokens, and a decoder's first token, as readers and as
        read, and renormalises each row of weights to sum to 1. Shares stay parts of the whole.

    Raises InputError, or MemoryBudgetError if there might be more rows than the budget holds.
    """
    if level not in ("words", "tokens"):
        raise InputError(f"level is {level!r}: expected 'words' or 'tokens'.")
    if not 0 <= minimum <= 1:
        raise InputError(f"minimum is {minimum!r}: expected a weight from 0 to 1.")
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise InputError(f"top is {top!r}: expected a whole number, 1 or more, or None.")
    if level == "tokens":
        record = replace(record, sides=tuple(_by_token(side) for side in record.sides))
    chosen = range(len(record.layers)) if layers is None else layers
    _check_numbers(record, chosen)
    readers_of = {i: _readers(record, i, readers, without_special) for i in chosen}
    heads_of = {i: _heads(find_layer(record, i), heads) for i in chosen}
    _check_rows(record, readers_of, heads_of, minimum, top)
    parts: list[tuple[np.ndarray, ...]] = []
    exact = True
    for index in chosen:
        layer = record.layers[index]
        apart = record.apart(index) if without_special else None
        rows = iterate_word_rows(record, index, readers_of[index])
        for reader, row in zip(readers_of[index], rows, strict=True):
            exact &= row.exact
            head, word, weight, share = _cells(row, apart, heads_of[index], minimum, top)
            same = np.full(len(head), 1)
            parts.append(
                (same * layer.number, head, same * reader, word, weight, share, same * index)
            )
    return Table(_columns(record, parts), _note(minimum, top, without_special, exact))


def _cells(
    row: WordRow,
    apart: Bool[np.ndarray, " words"] | None,
    heads: np.ndarray,
    minimum: float,
    top: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Head, word, weight and share of the pairs of one reader that are in the table."""
    weights = row.weights[heads]
    unknown = np.full(weights.shape, np.nan, weights.dtype)
    shares = unknown if row.shares is None else row.shares[heads]
    kept = np.broadcast_to(row.visible, weights.shape)
    if apart is not None:
        kept = kept & ~apart
        left = np.where(apart, 0, weights).sum(axis=1, keepdims=True)
        weights = weights / np.where(left == 0, 1, left)
    kept = kept & ~(weights < minimum)  # a NaN stays, and is seen
    if not row.exact:
        kept = kept & (weights > 0)  # what is not among the largest is unknown, not 0
    if top is not None and top < weights.shape[1]:
        order = np.argsort(np.where(kept, -weights, np.inf), axis=1, kind="stable")
        first = np.zeros(weights.shape, np.bool_)
        np.put_along_axis(first, order[:, :top], True, axis=1)
        kept = kept & first
    at, word = np.nonzero(kept)
    return heads[at], word, weights[at, word], shares[at, word]


def _columns(record: Record, parts: list[tuple[np.ndarray, ...]]) -> dict[str, np.ndarray]:
    if not parts:
        parts = [
            (np.zeros(0, np.int64),) * 4 + (np.zeros(0, np.float32),) * 2 + (np.zeros(0, int),)
        ]
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    number, head, reader, word, weight, share, index = joined
    order = np.lexsort((head, index))  # stable: then reader, then word
    names: list[list[np.ndarray]] = [[], []]
    for layer in record.layers:
        sides = (record.sides[layer.query_side], record.sides[layer.key_side])
        for known, side in zip(names, sides, strict=True):
            known.append(np.array(side.names, dtype=object))
    return {
        "layer": number[order],
        "head": head[order],
        "from": _named(names[0], index[order], reader[order]),
        "to": _named(names[1], index[order], word[order]),
        "weight": weight[order],
        "share": share[order],
    }


def _named(names: list[np.ndarray], index: np.ndarray, word: np.ndarray) -> np.ndarray:
    column = np.empty(len(word), dtype=object)
    for layer in np.unique(index):
        column[index == layer] = names[layer][word[index == layer]]
    return column


def _by_token(side: Side) -> Side:
    """The same side with each token as a word of its own."""
    return replace(side, text=None, words=label_words(side.tokens, side.special.tolist()))


def _readers(
    record: Record, index: int, readers: Sequence[int] | None, without_special: bool
) -> list[int]:
    if readers is not None:
        return list(readers)
    layer = record.layers[index]
    side = record.sides[layer.query_side]
    owners = np.flatnonzero(np.bincount(side.word_of[layer.query_positions]))
    if without_special:  # a decoder's first token sees itself alone, and so has no rows then
        owners = owners[~side.special_words[owners]]
    return [int(owner) for owner in owners]


def _heads(layer: Layer, heads: Sequence[int] | None) -> np.ndarray:
    if heads is None:
        return np.arange(layer.heads)
    for head in heads:
        if isinstance(head, bool) or not isinstance(head, int) or not 0 <= head < layer.heads:
            raise InputError(
                f"heads holds {head!r} and layer {layer.number} has {layer.heads}: "
                f"expected 0 to {layer.heads - 1}."
            )
    return np.array(list(heads), np.int64)


def _check_numbers(record: Record, layers: Sequence[int]) -> None:
    numbers = [find_layer(record, index).number for index in layers]
    if len(set(numbers)) < len(numbers):
        raise InputError(
            "layers holds two layers of the same number, which the column 'layer' cannot tell "
            "apart: choose the layers of one kind, layers=[...]."
        )


def _check_rows(
    record: Record,
    readers_of: dict[int, list[int]],
    heads_of: dict[int, np.ndarray],
    minimum: float,
    top: int | None,
) -> None:
    rows = 0
    for index, readers in readers_of.items():
        each = len(record.sides[record.layers[index].key_side].words)
        if top is not None:
            each = min(each, top)
        if minimum > 0:  # a row sums to 1, give or take rounding
            each = min(each, int(1.001 / minimum))
        rows += len(readers) * len(heads_of[index]) * each
    check_budget(
        f"a table of up to {rows} rows",
        rows,
        _ROW_BYTES,
        "Ask a larger minimum, top=5, or fewer layers, heads or readers.",
    )


def _note(minimum: float, top: int | None, without_special: bool, exact: bool) -> str:
    said = []
    if without_special:
        said.append(
            "special tokens (and a decoder's first token) left out, "
            "weights renormalised to sum to 1"
        )
    if minimum > 0:
        said.append(f"weights below {minimum:g} left out")
    if top is not None:
        said.append(f"the {top} largest of each row")
    if not exact:
        said.append("some rows know only their largest weights, which are then lower bounds (≥)")
    return "; ".join(said) or "all weights"
