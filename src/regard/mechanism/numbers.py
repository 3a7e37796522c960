"""Numbers as people write them, lists, NumPy arrays or CPU tensors, made into NumPy arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import InputError
from regard.mechanism.arrays import is_masked

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def floats(name: str, values: Any, dtype: Any) -> Float[np.ndarray, "..."]:
    """A fresh array of `dtype` from nested lists, whole numbers, floats or a CPU tensor.

    The dtype is named by the caller, so whole numbers are welcome. Raises InputError, naming
    `name`, for anything that is not real numbers in a rectangle.
    """
    array = plain(name, values)
    if array.dtype.kind not in "fiu":
        raise InputError(
            f"{name} has dtype {array.dtype}: expected real numbers, every row equally long."
        )
    with np.errstate(over="ignore"):
        return array.astype(dtype)


def plain(name: str, values: Any) -> Float[np.ndarray, "..."] | Bool[np.ndarray, "..."]:
    """A NumPy array of the same numbers; bfloat16, which NumPy lacks, becomes float32."""
    if getattr(values, "requires_grad", False):
        raise InputError(
            f"{name} requires gradients: this computes no gradients. Pass {name}.detach()."
        )
    if hasattr(values, "detach"):
        if values.device.type != "cpu":
            raise InputError(f"{name} is on {values.device}: pass {name}.cpu().")
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
        return np.asarray(values.detach())
    if is_masked(values):
        raise InputError(f"{name} is a masked array: pass its data, and mask=Mask(allowed=...).")
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{name} is no rectangle of numbers: expected rows of equal length ({error})."
        ) from None


def checked_dtype(dtype: Any) -> np.dtype[Any]:
    """float64 or float32, named in any way that NumPy knows."""
    for allowed in (np.dtype(np.float64), np.dtype(np.float32)):
        if dtype is not None and dtype == allowed:
            return allowed
    raise InputError(f"dtype is {dtype!r}: expected 'float64' or 'float32'.")


def checked_scale(scale: Any, dim: int) -> float:
    """The number scores are multiplied with; 1/√d_k where none was given."""
    if scale is None:
        return 1 / math.sqrt(dim)
    if not _is_number(scale) or not math.isfinite(scale):
        raise InputError(f"scale is {scale!r}: expected a finite number, or None for 1/√d_k.")
    return float(scale)


def checked_softcap(softcap: Any) -> float | None:
    """The cap as a float, None for none."""
    if softcap is None:
        return None
    if not _is_number(softcap) or not math.isfinite(softcap) or softcap <= 0:
        raise InputError(
            f"softcap is {softcap!r}: expected a finite number above 0, or None for none."
        )
    return float(softcap)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def checked_sinks(
    sinks: Any, heads: int, dtype: np.dtype[Any]
) -> Float[np.ndarray, " heads"] | None:
    """One number a query head, in `dtype`; -inf is a sink that takes nothing."""
    if sinks is None:
        return None
    numbers = floats("sinks", sinks, dtype)
    if numbers.shape != (heads,):
        raise InputError(
            f"sinks has shape {numbers.shape}: expected ({heads},), one number a query head."
        )
    for sink in numbers[np.isnan(numbers) | (numbers == np.inf)]:
        raise InputError(f"sinks holds {sink}: expected finite numbers, or -inf for no sink.")
    return numbers
