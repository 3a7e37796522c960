"""Which rows an `Ask` means while a sequence is still growing, and once it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import InputError
from regard.mechanism.mask import whole_numbers

if TYPE_CHECKING:
    from jaxtyping import Int64

SAMPLE = 64
"""Rows that a summary is taken from, where nothing else was asked."""


class Sample:
    """Rows spread evenly over a pass, its last among them; all of a short one."""

    def rows(self, count: int) -> Int64[np.ndarray, " rows"]:
        """Their indices, of `count` rows."""
        taken = min(count, SAMPLE)
        ends: Int64[np.ndarray, " rows"] = np.arange(1, taken + 1) * count // max(taken, 1)
        return ends - 1


def rows_so_far(queries: Any, start: int, stop: int) -> Int64[np.ndarray, " rows"]:
    """Of the rows start..stop-1, those that may be asked for, however much longer the text gets.

    queries: as in `Ask`. What counts from the end is taken from the end of these rows as well.
    """
    rows: Int64[np.ndarray, " rows"] = np.arange(start, stop)
    if queries is None:
        return rows
    if isinstance(queries, Sample):
        spread: Int64[np.ndarray, " rows"] = rows[queries.rows(len(rows))]
        return spread
    if isinstance(queries, str):
        return rows[-1:]
    if isinstance(queries, slice):
        return rows[np.flatnonzero(_may_be_sliced(queries, rows, stop))]
    numbers = whole_numbers("queries", queries)
    back = numbers[numbers < 0]
    near = rows >= stop + back.min() if len(back) else np.zeros(len(rows), np.bool_)
    return rows[near | np.isin(rows, numbers)]


def _may_be_sliced(asked: slice, rows: Any, stop: int) -> Any:
    first, last, step = asked.start, asked.stop, asked.step or 1
    if first is not None and first < 0 and last is None and step > 0:
        return rows >= stop + first
    if step < 0 or (first or 0) < 0 or (last or 0) < 0:
        return np.ones(len(rows), np.bool_)
    inside = (rows >= (first or 0)) & ((rows - (first or 0)) % step == 0)
    return inside if last is None else inside & (rows < last)


def rows_at_end(
    queries: Any, count: int, name: str = "queries"
) -> Int64[np.ndarray, " rows"] | None:
    """The rows asked for among `count`, in the order asked; None for all that were read.

    name: the field of the `Ask`, for the error.
    """
    rows = np.arange(count)
    if queries is None or isinstance(queries, Sample):
        return None
    if isinstance(queries, str):
        return rows[-1:]
    if isinstance(queries, slice):
        return rows[queries]
    numbers = whole_numbers(name, queries)
    if numbers.size and (numbers.min() < -count or numbers.max() >= count):
        wrong = numbers.max() if numbers.max() >= count else numbers.min()
        raise InputError(f"{name} holds {wrong} and the text has {count} tokens.")
    return np.where(numbers < 0, numbers + count, numbers)


def places_so_far(name: str, asked: Any, count: int) -> Int64[np.ndarray, " places"]:
    """The rows or columns asked for, of a text that may get longer; negative ones from its end
    as it is now."""
    places = whole_numbers(name, asked)
    return check_places(name, np.where(places < 0, places + count, places), None)


def check_places(name: str, places: Any, count: int | None) -> Int64[np.ndarray, " places"]:
    """Raises InputError for places that a text of `count` tokens does not have."""
    if places.size and (places.min() < 0 or (count is not None and places.max() >= count)):
        wrong = places.min() if places.min() < 0 else places.max()
        raise InputError(f"{name} holds {wrong} and the text has {count} tokens.")
    return np.asarray(places, np.int64)


def counts_from_end(queries: Any) -> bool:
    """Whether which rows are meant changes as the text gets longer."""
    if isinstance(queries, slice):
        return any((part or 0) < 0 for part in (queries.start, queries.stop, queries.step))
    if queries is None or isinstance(queries, Sample):
        return False
    return isinstance(queries, str) or bool((whole_numbers("queries", queries) < 0).any())
