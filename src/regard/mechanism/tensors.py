"""Tensors: torch's spelling of the array operations, and NumPy's over a processor's tensors.

Torch is used only if the caller's arrays are torch tensors, so it is imported by them, never by
us.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from regard.mechanism.arrays import NumpyArrays


class TorchArrays:
    """Torch's spelling. Tensors of one device, without gradients."""

    library = "torch"
    threaded = True

    def __init__(self, dtype: str, device: Any) -> None:
        self.torch = sys.modules["torch"]
        self.dtype = getattr(self.torch, dtype)
        self.itemsize = self.dtype.itemsize
        self.device = device

    def take(self, array: Any) -> Any:
        return array

    def give(self, array: Any) -> Any:
        return array

    def quiet(self) -> AbstractContextManager[Any]:
        # autocast would round products to 16 bits, as a training step around us may have asked
        kind = self.device.type
        on_offer = self.torch.amp.is_autocast_available(kind)
        quiet: AbstractContextManager[Any] = (
            self.torch.autocast(kind, enabled=False) if on_offer else nullcontext()
        )
        return quiet

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

    def blank(self, model: Any, *shape: int) -> Any:
        return self.torch.empty(shape, dtype=model.dtype, device=self.device)

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


class CpuTensors(NumpyArrays):
    """Tensors in the processor's memory, computed by NumPy over the same memory.

    Torch's operations split a panel's small passes over threads that wait for each other; a
    thread with panels of its own does not wait, and takes a fifth of the time. NumPy has no
    bfloat16, so tensors of it stay what they are until a panel of them is widened.
    """

    library = "torch"

    def __init__(self, dtype: str) -> None:
        super().__init__(dtype)
        self.torch = sys.modules["torch"]
        self.wide = getattr(self.torch, dtype)

    def take(self, array: Any) -> Any:
        array = array.resolve_neg()
        return array if array.dtype == self.torch.bfloat16 else array.numpy()

    def give(self, array: Any) -> Any:
        return array if self._is_tensor(array) else self.torch.from_numpy(array)

    def widen(self, array: Any) -> Any:
        if self._is_tensor(array):
            return array.to(self.wide).numpy()
        return super().widen(array)

    def like(self, array: Any, model: Any) -> Any:
        if self._is_tensor(model):
            return self.torch.from_numpy(array).to(model.dtype)
        return super().like(array, model)

    def blank(self, model: Any, *shape: int) -> Any:
        if self._is_tensor(model):
            return self.torch.empty(shape, dtype=model.dtype)
        return super().blank(model, *shape)

    def _is_tensor(self, array: Any) -> bool:
        return not isinstance(array, np.ndarray)
