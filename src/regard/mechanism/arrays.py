"""The array operations that NumPy and torch spell differently; the loop is one text over these.

Everything else the loop writes (slicing, `@`-free arithmetic, in-place operators, comparisons,
`.T`, `.sum(-1)`, `.reshape`) means the same in both. Torch is used only if the caller's arrays
are torch tensors, so it is imported by them, never by us.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol

import numpy as np

from regard.errors import InputError

_ACCUMULATES_IN: Final = {
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float32",
    "float64": "float64",
}


class Arrays(Protocol):
    """One library's arrays of one call: its device, and the dtype in which sums are kept."""

    name: str
    itemsize: int

    def quiet(self) -> AbstractContextManager[Any]:
        """No warnings for the NaN and infinities that the arithmetic is meant to produce."""

    def empty(self, *shape: int) -> Any: ...
    def zeros(self, *shape: int) -> Any: ...
    def full(self, value: float, *shape: int) -> Any: ...
    def counts(self, *shape: int) -> Any:
        """int32 zeros."""

    def widen(self, array: Any) -> Any:
        """`array` in the accumulating dtype; itself when it is already."""

    def like(self, array: Any, model: Any) -> Any:
        """`array` in the dtype of `model`."""

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

    name = "numpy"

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.itemsize = self.dtype.itemsize

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


class TorchArrays:
    """Torch's spelling. Tensors of one device, without gradients."""

    name = "torch"

    def __init__(self, dtype: str, device: Any) -> None:
        self.torch = sys.modules["torch"]
        self.dtype = getattr(self.torch, dtype)
        self.itemsize = self.dtype.itemsize
        self.device = device

    def quiet(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def empty(self, *shape: int) -> Any:
        return self.torch.empty(shape, dtype=self.dtype, device=self.device)

    def zeros(self, *shape: int) -> Any:
        return self.torch.zeros(shape, dtype=self.dtype, device=self.device)

    def full(self, value: float, *shape: int) -> Any:
        return self.torch.full(shape, value, dtype=self.dtype, device=self.device)

    def counts(self, *shape: int) -> Any:
        return self.torch.zeros(shape, dtype=self.torch.int32, device=self.device)

    def widen(self, array: Any) -> Any:
        return array.to(self.dtype)

    def like(self, array: Any, model: Any) -> Any:
        return array.to(model.dtype)

    def put(self, array: np.ndarray) -> Any:
        return self.torch.as_tensor(array, device=self.device)

    def matmul(self, left: Any, right: Any, out: Any) -> Any:
        return self.torch.matmul(left, right, out=out)

    def exp(self, array: Any, out: Any) -> Any:
        return self.torch.exp(array, out=out)

    def log(self, array: Any) -> Any:
        return array.log()

    def tanh_(self, array: Any) -> None:
        array.tanh_()

    def fill(self, array: Any, where: Any, value: float) -> None:
        array.masked_fill_(where, value)

    def where(self, condition: Any, this: Any, other: Any) -> Any:
        return self.torch.where(condition, this, other)

    def maximum(self, array: Any, number: float) -> Any:
        return array.clamp(min=number)

    def row_max(self, array: Any) -> Any:
        if array.shape[1] == 0:
            return self.full(float("-inf"), array.shape[0], 1)
        return array.amax(1, keepdim=True)

    def group_max(self, array: Any) -> Any:
        return array.amax(1)

    def row_dot(self, left: Any, right: Any) -> Any:
        return self.torch.linalg.vecdot(left, right)

    def kth_largest(self, array: Any, k: int) -> Any:
        return array.topk(k, dim=1, sorted=True).values[:, k - 1]

    def stable_argsort(self, array: Any) -> Any:
        return array.argsort(dim=-1, stable=True)

    def sort(self, array: Any) -> Any:
        return array.sort().values

    def join(self, first: Any, second: Any) -> Any:
        return self.torch.cat((first, second))

    def nonzero(self, array: Any) -> tuple[Any, Any]:
        rows, columns = array.nonzero(as_tuple=True)
        return rows, columns

    def bincount(self, array: Any, count: int) -> Any:
        return array.bincount(minlength=count)

    def is_nan(self, array: Any) -> Any:
        return array.isnan()

    def is_finite(self, array: Any) -> Any:
        return array.isfinite()

    def add_by_label(self, sums: Any, labels: np.ndarray, array: Any) -> None:
        grouped = np.flatnonzero(labels >= 0)
        sums.index_add_(1, self.put(labels[grouped]), array[:, self.put(grouped)])


def arrays_of(**given: Any) -> Arrays:
    """The dialect of the arrays of a call, by name.

    Raises InputError for what is no array, for mixed libraries, devices or dtypes, for integers,
    and for tensors that require gradients or hold no numbers. The first array decides.
    """
    first, model = next(iter(given.items()))
    for name, array in given.items():
        if _library(array) is None:
            raise InputError(
                f"{name} is {type(array).__name__}: expected a NumPy array or a torch tensor."
            )
        if is_masked(array):
            raise InputError(
                f"{name} is a masked array, whose mask would be ignored: pass mask= instead."
            )
        if _library(array) != _library(model):
            raise InputError(
                f"{first} is a {_library(model)} array and {name} a {_library(array)} one: "
                "pass all arrays of one library."
            )
        if array.dtype != model.dtype:
            raise InputError(
                f"{first} is {_dtype(model)} and {name} is {_dtype(array)}: convert one of them."
            )
        if getattr(array, "device", None) != getattr(model, "device", None):
            raise InputError(
                f"{first} is on {model.device} and {name} on {array.device}: move one of them."
            )
        if getattr(array, "requires_grad", False):
            raise InputError(
                f"{name} requires gradients, and nothing here computes them: pass "
                f"{name}.detach(), or leave training to the model's own attention."
            )
    dtype = _dtype(model)
    if dtype not in _ACCUMULATES_IN:
        raise InputError(
            f"{first} has dtype {dtype}: expected float16, bfloat16 (torch), float32 or float64. "
            "Convert it; nothing is cast for you."
        )
    if _library(model) == "torch":
        if model.is_meta:
            raise InputError(f"{first} is on meta, which holds no numbers: give it some.")
        return TorchArrays(_ACCUMULATES_IN[dtype], model.device)
    return NumpyArrays(_ACCUMULATES_IN[dtype])


def check_companion(name: str, array: Any, arrays: Arrays, query: Any) -> None:
    """Raise InputError unless a mask's array or the sinks belong beside `query`.

    The same library and device; a float array in the query's dtype or the accumulating one.
    """
    if _library(array) != arrays.name:
        raise InputError(
            f"query is a {arrays.name} array and {name} is {type(array).__name__}: "
            f"pass {name} as a {arrays.name} array."
        )
    if getattr(array, "device", None) != getattr(query, "device", None):
        raise InputError(f"query is on {query.device} and {name} on {array.device}: move {name}.")
    if getattr(array, "requires_grad", False):
        raise InputError(f"{name} requires gradients: pass {name}.detach().")
    if _dtype(array) not in ("bool", _dtype(query), _ACCUMULATES_IN[_dtype(query)]):
        raise InputError(f"query is {_dtype(query)} and {name} is {_dtype(array)}: convert {name}.")


def is_masked(array: Any) -> bool:
    """Whether this is NumPy's masked array; numpy.ma is not imported to find out."""
    # another thread may be importing it just now; then no array can be one of its own yet
    return isinstance(array, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ()))


def _library(array: Any) -> str | None:
    if isinstance(array, np.ndarray):
        return "numpy"
    torch = sys.modules.get("torch")
    return "torch" if torch is not None and isinstance(array, torch.Tensor) else None


def _dtype(array: Any) -> str:
    return str(array.dtype).removeprefix("torch.")
