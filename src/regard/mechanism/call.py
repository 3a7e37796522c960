"""One call, checked: what the panels are computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import InputError
from regard.mechanism.arrays import Arrays, arrays_of, check_companion
from regard.mechanism.mask import FlatMask, as_mask
from regard.mechanism.sight import Eyes
from regard.mechanism.sizes import Sizes, measure

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True, eq=False)
class Call:
    """One checked call: arrays with all four axes, and everything that shapes the scores.

    key and values are in the accumulating dtype, query in its own (a panel of it is widened when
    its turn comes). values has no columns when no value was given. finite: whether a head's
    values all are. sinks: one number a query head.
    """

    arrays: Arrays
    sizes: Sizes
    query: Float[Any, "batch heads queries dim"]
    key: Float[Any, "batch kv_heads keys dim"]
    values: Float[Any, "batch kv_heads keys value_dim"]
    finite: Bool[np.ndarray, "batch kv_heads"]
    scale: float
    softcap: float | None
    sinks: Float[np.ndarray, " heads"] | None
    mask: FlatMask
    eyes: Eyes


def check(
    query: Any,
    key: Any,
    value: Any | None,
    *,
    mask: Any,
    scale: float | None,
    softcap: float | None,
    sinks: Any,
) -> Call:
    """Check the arguments of a call, as `attention` describes them. Raises InputError."""
    arrays = arrays_of(query=query, key=key, value=value)
    sizes = measure(query, key, value)
    mask = as_mask(mask)
    for name in ("allowed", "bias"):
        if getattr(mask, name) is not None:
            check_companion(name, getattr(mask, name), arrays, query)
    flat = mask.flatten(sizes)
    values = key[..., :0] if value is None else value
    key, values = (arrays.widen(_four_axes(array)) for array in (key, values))
    finite = np.array(
        [[bool(arrays.is_finite(head).all()) for head in item] for item in values], dtype=bool
    ).reshape(sizes.batch, sizes.kv_heads)
    return Call(
        arrays=arrays,
        sizes=sizes,
        query=_four_axes(query),
        key=key,
        values=values,
        finite=finite,
        scale=check_scale(scale, sizes.dim),
        softcap=check_softcap(softcap),
        sinks=_checked_sinks(sinks, sizes, arrays, query),
        mask=flat,
        eyes=Eyes(flat, arrays),
    )


def check_scale(scale: float | None, dim: int) -> float:
    """The factor of the scores; 1 / sqrt(dim) for None. Raises InputError."""
    if scale is None:
        return 1 / math.sqrt(dim)
    if not _is_number(scale) or not math.isfinite(scale):
        raise InputError(
            f"scale is {scale!r}: expected a finite number, or None for 1 / sqrt({dim})."
        )
    return float(scale)


def check_softcap(softcap: float | None) -> float | None:
    """The bound that tanh keeps scores within, None for no bound. Raises InputError."""
    if softcap is None:
        return None
    if not _is_number(softcap) or not math.isfinite(softcap) or softcap <= 0:
        raise InputError(
            f"softcap is {softcap!r}: expected a finite number above 0, or None for no softcap."
        )
    return float(softcap)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _checked_sinks(
    sinks: Any, sizes: Sizes, arrays: Arrays, query: Any
) -> Float[np.ndarray, " heads"] | None:
    if sinks is None:
        return None
    check_companion("sinks", sinks, arrays, query)
    if tuple(sinks.shape) != (sizes.heads,):
        raise InputError(
            f"sinks has shape {tuple(sinks.shape)}: expected ({sizes.heads},), one number a "
            "query head."
        )
    return np.array([float(sink) for sink in sinks])


def _four_axes(array: Any) -> Any:
    return array.reshape((1,) * (4 - array.ndim) + tuple(array.shape)) if array.ndim < 4 else array
