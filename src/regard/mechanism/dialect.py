"""Which dialect the arrays of a call are computed in, and whether they belong together."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, Final

import numpy as np

from regard.errors import InputError
from regard.mechanism.arrays import Arrays, NumpyArrays, dtype_name, is_masked
from regard.mechanism.tensors import CpuTensors, TorchArrays

_ACCUMULATES_IN: Final = {
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float32",
    "float64": "float64",
}


def arrays_of(**given: Any) -> Arrays:
    """The dialect of the arrays of a call, by name.

    Raises InputError for what is no array, for mixed libraries, devices or dtypes, for integers,
    and for tensors that require gradients or are not plain numbers in memory. The first array
    decides.
    """
    first, model = next(iter(given.items()))
    library, device = _library(model), getattr(model, "device", None)
    for name, array in given.items():
        own = _library(array)
        if own is None:
            raise InputError(
                f"{name} is {type(array).__name__}: expected a NumPy array or a torch tensor."
            )
        if is_masked(array):
            raise InputError(
                f"{name} is a masked array, whose mask would be ignored: pass mask= instead."
            )
        if own != library:
            raise InputError(
                f"{first} is a {library} array and {name} a {own} one: "
                "pass all arrays of one library."
            )
        if array.dtype != model.dtype:
            raise InputError(
                f"{first} is {dtype_name(model)} and {name} is {dtype_name(array)}: "
                "convert one of them."
            )
        if getattr(array, "device", None) != device:
            raise InputError(
                f"{first} is on {device} and {name} on {array.device}: move one of them."
            )
        if own == "torch":
            _check_plain(name, array)
        if getattr(array, "requires_grad", False):
            raise InputError(
                f"{name} requires gradients, and nothing here computes them: pass "
                f"{name}.detach(), or leave training to the model's own attention."
            )
    dtype = dtype_name(model)
    if dtype not in _ACCUMULATES_IN:
        raise InputError(
            f"{first} has dtype {dtype}: expected float16, bfloat16 (torch), float32 or float64. "
            "Convert it; nothing is cast for you."
        )
    return _dialect(_ACCUMULATES_IN[dtype], device if library == "torch" else None)


@cache
def _dialect(dtype: str, device: Any | None) -> Arrays:
    # one serves every call, since a dialect keeps nothing of any
    if device is None:
        return NumpyArrays(dtype)
    return CpuTensors(dtype) if device.type == "cpu" else TorchArrays(dtype, device)


def check_companion(name: str, array: Any, arrays: Arrays, query: Any) -> None:
    """Raise InputError unless a mask's array or the sinks belong beside `query`.

    The same library and device; a float array in the query's dtype or the accumulating one.
    """
    if _library(array) != arrays.library:
        raise InputError(
            f"query is a {arrays.library} array and {name} is {type(array).__name__}: "
            f"pass {name} as a {arrays.library} array."
        )
    if getattr(array, "device", None) != getattr(query, "device", None):
        raise InputError(f"query is on {query.device} and {name} on {array.device}: move {name}.")
    if arrays.library == "torch":
        _check_plain(name, array)
    if getattr(array, "requires_grad", False):
        raise InputError(f"{name} requires gradients: pass {name}.detach().")
    if dtype_name(array) not in ("bool", dtype_name(query), _ACCUMULATES_IN[dtype_name(query)]):
        raise InputError(
            f"query is {dtype_name(query)} and {name} is {dtype_name(array)}: convert {name}."
        )


def _check_plain(name: str, tensor: Any) -> None:
    """Raise InputError unless the tensor's numbers lie in memory as its shape says.

    What is refused computes on other numbers than it shows: torch's CausalBias, for one, is a
    subclass whose own memory was never written.
    """
    torch = sys.modules["torch"]
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise InputError(
            f"{name} is a {type(tensor).__name__}, which need not hold the numbers it stands for: "
            "expected a plain torch.Tensor"
            + (", or regard.Mask(causal=True, offset=...)." if name in ("allowed", "bias") else ".")
        )
    if tensor.is_nested:
        raise InputError(
            f"{name} is a nested tensor: expected a padded one (torch.nested.to_padded_tensor); "
            "regard.Mask(lengths=...) says what is real."
        )
    if tensor.layout is not torch.strided:
        layout = str(tensor.layout).removeprefix("torch.")
        raise InputError(f"{name} has the layout {layout}: pass {name}.to_dense().")
    if tensor.is_meta:
        raise InputError(f"{name} is on meta, which holds no numbers: give it some.")
    try:
        tensor.data_ptr()
    except RuntimeError as error:
        raise InputError(
            f"{name} has no memory of its own, as inside torch.vmap: call regard outside of it, "
            f"on a batch ({error})."
        ) from None


def _library(array: Any) -> str | None:
    if isinstance(array, np.ndarray):
        return "numpy"
    torch = sys.modules.get("torch")
    return "torch" if torch is not None and isinstance(array, torch.Tensor) else None
