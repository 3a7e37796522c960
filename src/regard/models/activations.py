"""The activation functions of BERT's feed-forward layers, in float32, and the erf they need."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float32

_NEAR: Final = (
    0.12837916612625122,
    -0.3761262595653534,
    0.1128358542919159,
    -0.026853812858462334,
    0.005188328679651022,
    -0.0008010199526324868,
    7.853879651520401e-05,
)
_FAR: Final = (
    0.00035371611011214554,
    1.1270400285720825,
    0.6382256746292114,
    0.10303738713264465,
    -0.021805325523018837,
    0.002939609345048666,
    -0.00018557420116849244,
)
_BLOCK: Final = 8192
"""Elements handled at a time: every pass of the polynomials then stays in the first-level cache."""


def erf(x: Float32[np.ndarray, " ..."]) -> Float32[np.ndarray, " ..."]:
    """The error function, float32 in and out, within 9e-8 of the true value, also relatively.

    Up to 1: x + x·P(x²), so that the rounding of P matters little. From 1: 1 − exp(−P(x)), which
    only has to hold to about 1 / erfc(x). Both polynomials are minimax fits of degree 6, the
    second on [1, 4]; at 4 erf is 1 to float32. A NaN stays one.
    """
    size = np.minimum(np.abs(x), np.float32(4))
    near = size + size * _polynomial(_NEAR, size * size)
    far = 1 - np.exp(-_polynomial(_FAR, size))
    result: Float32[np.ndarray, " ..."] = np.copysign(np.where(size < 1, near, far), x)
    return result


def _polynomial(
    coefficients: tuple[float, ...], x: Float32[np.ndarray, " ..."]
) -> Float32[np.ndarray, " ..."]:
    """Horner's rule; the coefficients from that of x⁰ up."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total *= x
        total += np.float32(coefficient)
    return total


def gelu(x: Float32[np.ndarray, " ..."]) -> Float32[np.ndarray, " ..."]:
    """x · Φ(x), Φ the normal distribution (Hendrycks and Gimpel 2016, eq. 1): `gelu`."""
    result: Float32[np.ndarray, " ..."] = x * np.float32(0.5)
    result *= 1 + erf(x * np.float32(math.sqrt(0.5)))
    return result


def gelu_tanh(x: Float32[np.ndarray, " ..."]) -> Float32[np.ndarray, " ..."]:
    """Their approximation by tanh (section 2): `gelu_new` and `gelu_pytorch_tanh`."""
    inner = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
    result: Float32[np.ndarray, " ..."] = x * np.float32(0.5)
    result *= 1 + np.tanh(inner)
    return result


def relu(x: Float32[np.ndarray, " ..."]) -> Float32[np.ndarray, " ..."]:
    """max(x, 0): `relu`."""
    result: Float32[np.ndarray, " ..."] = np.maximum(x, np.float32(0))
    return result


ACTIVATIONS: Final[dict[str, Callable[[np.ndarray], np.ndarray]]] = {
    "gelu": gelu,
    "gelu_new": gelu_tanh,
    "gelu_pytorch_tanh": gelu_tanh,
    "relu": relu,
}
"""By the names that config.json gives them as `hidden_act`."""


def activate(name: str, x: Float32[np.ndarray, " ..."]) -> Float32[np.ndarray, " ..."]:
    """The activation called `name` of `x`, a block at a time; contiguous."""
    function = ACTIVATIONS[name]
    flat = x.reshape(-1)
    result = np.empty_like(flat)
    for start in range(0, flat.size, _BLOCK):
        result[start : start + _BLOCK] = function(flat[start : start + _BLOCK])
    return result.reshape(x.shape)
