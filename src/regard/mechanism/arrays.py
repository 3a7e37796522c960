"""The array operations that NumPy and torch spell differently; the loop is one text over these.

Everything else the loop writes (slicing, `@`-free arithmetic, in-place operators, comparisons,
`.T`, `.sum(-1)`, `.reshape`) means the same in both. NumPy's spelling is here, torch's in
`tensors`.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Protocol

import numpy as np


class Arrays(Protocol):
    """One library's arrays of one call: its device, and the dtype in which sums are kept.

    library: whose arrays the caller's are. threaded: whether each operation brings threads of
    its own, so that the loop needs none. itemsize: bytes of a number in the dtype of sums.
    """

    library: str
    threaded: bool
    itemsize: int

    def take(self, array: Any) -> Any:
        """A caller's array as the loop slices it: the same memory."""

    def give(self, array: Any) -> Any:
        """A result as the caller's library has it: the same memory."""

    def quiet(self) -> AbstractContextManager[Any]:
        """No warnings for the NaN and infinities that the arithmetic is meant to produce.

        Nor any other setting of the caller's thread that would change the numbers.
        """

    def empty(self, *shape: int) -> Any: ...
    def zeros(self, *shape: int) -> Any: ...
    def full(self, value: float, *shape: int) -> Any: ...
    def counts(self, *shape: int) -> Any:
        """int32 zeros."""

    def widen(self, array: Any) -> Any:
        """`array` in the accumulating dtype; itself when it is already."""

    def like(self, array: Any, model: Any) -> Any:
        """`array` in the dtype of `model`."""

    def blank(self, model: Any, *shape: int) -> Any:
        """Like `empty`, in the dtype of `model`."""

    def put(self, array: np.ndarray) -> Any:
        """A NumPy array on the device of the call."""

    def matmul(self, left: Any, right: Any, out: Any) -> Any: ...
    def exp(self, array: Any, out: Any) -> Any: ...
    def log(self, array: Any) -> Any: ...
    def tanh_(self, array: Any) -> None:
        """In place."""

    def fill(self, array: Any, where: Any, value: float) -> None:
        """In place, where a bool array of the same shape is True."""

    def where(self, condition: Any, this: Any, other: Any) -> Any: ...
    def maximum(self, array: Any, number: float) -> Any: ...
    def row_max(self, array: Any) -> Any:
        """`(rows, 1)`, NaN where a row holds one, -inf without columns."""

    def group_max(self, array: Any) -> Any:
        """Largest along axis 1 of a `(rows, m, lanes)` array."""

    def row_dot(self, left: Any, right: Any) -> Any:
        """`(rows,)`: sum of the products of two `(rows, columns)` arrays."""

    def kth_largest(self, array: Any, k: int) -> Any:
        """`(rows,)`: the k-th largest number of each row, NaN counting as largest."""

    def stable_argsort(self, array: Any) -> Any:
        """Along the last axis, equal ones in order of index."""

    def sort(self, array: Any) -> Any: ...
    def join(self, first: Any, second: Any) -> Any:
        """One 1-D array after another."""

    def nonzero(self, array: Any) -> tuple[Any, Any]:
        """Row and column indices of the True cells of a 2-D array, row by row."""

    def bincount(self, array: Any, count: int) -> Any:
        """How often each of 0..count-1 occurs."""

    def is_nan(self, array: Any) -> Any: ...
    def is_finite(self, array: Any) -> Any: ...
    def add_by_label(self, sums: Any, labels: np.ndarray, array: Any) -> None:
        """sums[:, labels[j]] += array[:, j] for every column j whose label is not negative."""


class NumpyArrays:
    """NumPy's spelling."""

    library = "numpy"
    threaded = False

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.itemsize = self.dtype.itemsize

    def take(self, array: Any) -> Any:
        return array

    def give(self, array: Any) -> Any:
        return array

    def quiet(self) -> AbstractContextManager[Any]:
        return np.errstate(all="ignore")

    def empty(self, *shape: int) -> Any:
        return np.empty(shape, self.dtype)

    def zeros(self, *shape: int) -> Any:
        return np.zeros(shape, self.dtype)

    def full(self, value: float, *shape: int) -> Any:
        return np.full(shape, value, self.dtype)

    def counts(self, *shape: int) -> Any:
        return np.zeros(shape, np.int32)

    def widen(self, array: Any) -> Any:
        return array.astype(self.dtype, copy=False)

    def like(self, array: Any, model: Any) -> Any:
        return array.astype(model.dtype, copy=False)

    def blank(self, model: Any, *shape: int) -> Any:
        return np.empty(shape, model.dtype)

    def put(self, array: np.ndarray) -> Any:
        return array

    def matmul(self, left: Any, right: Any, out: Any) -> Any:
        return np.matmul(left, right, out=out)

    def exp(self, array: Any, out: Any) -> Any:
        return np.exp(array, out=out)

    def log(self, array: Any) -> Any:
        return np.log(array)

    def tanh_(self, array: Any) -> None:
        np.tanh(array, out=array)

    def fill(self, array: Any, where: Any, value: float) -> None:
        np.copyto(array, value, where=where)

    def where(self, condition: Any, this: Any, other: Any) -> Any:
        return np.where(condition, this, other)

    def maximum(self, array: Any, number: float) -> Any:
        return np.maximum(array, self.dtype.type(number))

    def row_max(self, array: Any) -> Any:
        return array.max(1, keepdims=True, initial=-np.inf)

    def group_max(self, array: Any) -> Any:
        return array.max(1)

    def row_dot(self, left: Any, right: Any) -> Any:
        return np.einsum("ij,ij->i", left, right)

    def kth_largest(self, array: Any, k: int) -> Any:
        place = array.shape[1] - k
        return np.partition(array, place, axis=1)[:, place]

    def stable_argsort(self, array: Any) -> Any:
        return np.argsort(array, axis=-1, kind="stable")

    def sort(self, array: Any) -> Any:
        return np.sort(array)

    def join(self, first: Any, second: Any) -> Any:
        return np.concatenate((first, second))

    def nonzero(self, array: Any) -> tuple[Any, Any]:
        # flatnonzero and a division are several times faster than a two-dimensional nonzero
        rows, columns = np.divmod(np.flatnonzero(array), max(array.shape[1], 1))
        return rows, columns

    def bincount(self, array: Any, count: int) -> Any:
        return np.bincount(array, minlength=count)

    def is_nan(self, array: Any) -> Any:
        return np.isnan(array)

    def is_finite(self, array: Any) -> Any:
        return np.isfinite(array)

    def add_by_label(self, sums: Any, labels: np.ndarray, array: Any) -> None:
        # sum each run of equal labels in one pass, then add the runs to their labels
        starts = np.flatnonzero(np.diff(labels, prepend=-2))
        if len(starts):
            runs, of_label = np.add.reduceat(array, starts, axis=1), labels[starts]
            np.add.at(sums.T, of_label[of_label >= 0], runs[:, of_label >= 0].T)


def is_masked(array: Any) -> bool:
    """Whether this is NumPy's masked array; numpy.ma is not imported to find out."""
    # another thread may be importing it just now; then no array can be one of its own yet
    return isinstance(array, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ()))


def dtype_name(array: Any) -> str:
    """A dtype as both libraries call it, "float32"."""
    return _name(array.dtype)


@cache
def _name(dtype: Any) -> str:
    # NumPy spends longer on the name of a dtype than a small call takes in all
    return str(dtype).removeprefix("torch.")
