"""Why step 2 divides by √d_k: how far scores spread, and what is left of the softmax's slope.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1 and its footnote 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Float


@dataclass(frozen=True)
class ScoreSpread:
    """Standard deviation of q·k when every component has mean 0 and variance 1.

    exact: √d_k. Each of the d_k products has variance 1, and variances of independent terms add.
    measured: the same over `draws` random pairs. divided: measured ÷ √d_k, about 1 for any d_k.
    """

    d_k: int
    draws: int
    exact: float
    measured: float
    divided: float


def score_spread(
    d_ks: Sequence[int] = (4, 16, 64, 256), *, draws: int = 10_000, seed: int = 0
) -> tuple[ScoreSpread, ...]:
    """Draw `draws` pairs of normal vectors for each d_k and measure how far q·k spreads.

    The same seed gives the same numbers. Raises InputError for a d_k below 1 or under two draws.
    """
    if draws < 2:
        raise InputError(f"draws is {draws}: a spread needs at least 2.")
    generator = np.random.default_rng(seed)
    spreads = []
    for d_k in d_ks:
        if d_k < 1:
            raise InputError(f"d_ks holds {d_k}: a vector has at least 1 component.")
        scores = np.empty(draws)
        for start in range(0, draws, 1000):  # a thousand pairs at a time: memory stays small
            count = min(1000, draws - start)
            query, key = generator.standard_normal((2, count, d_k))
            scores[start : start + count] = (query * key).sum(axis=-1)
        measured = float(scores.std())
        spreads.append(ScoreSpread(d_k, draws, d_k**0.5, measured, measured / d_k**0.5))
    return tuple(spreads)


def jacobian_size(
    weights: Float[np.ndarray, "*leading keys"],
    sink_weight: Float[np.ndarray, " *leading"],
    slope: Float[np.ndarray, "*leading keys"],
) -> Float[np.ndarray, " *leading"]:
    """Frobenius norm of (diag(w) - w wᵀ) diag(slope), of each row w of softmax weights.

    `sink_weight` is what a sink takes of the row (0 without one), `slope` the derivative of each
    masked score with respect to what the gradient is wanted for (the chain rule's factor).
    With 1 - w_j = (the other keys' weights) + sink, entry (i, j) is w_i (δ_ij - w_j) slope_j.
    """
    if weights.shape[-1] == 0:
        return np.zeros(weights.shape[:-1], weights.dtype)
    largest = weights == weights.max(axis=-1, keepdims=True)
    largest &= np.cumsum(largest, axis=-1) == 1  # the first, where several are equally large
    others = np.where(largest, 0, weights)
    # 1 - w and Σw² - w² lose all digits where w is nearly 1, which is the case of interest:
    # there, and there alone, the others are added up instead.
    rest = others.sum(-1, keepdims=True) + sink_weight[..., None]
    one_minus = np.where(largest, rest, 1 - weights)
    squares = weights**2
    of_the_others = np.sqrt(squares.sum(-1, keepdims=True) - squares)
    of_the_others = np.where(largest, _norm(others)[..., None], of_the_others)
    return _norm(weights * slope * np.hypot(one_minus, of_the_others))


def _norm(numbers: Float[np.ndarray, "*leading n"]) -> Float[np.ndarray, " *leading"]:
    """√Σx² along the last axis; divided by the largest first, so that no square underflows."""
    largest = np.abs(numbers).max(axis=-1, keepdims=True)
    relative = numbers / np.where(largest == 0, 1, largest)
    size: Float[np.ndarray, " *leading"] = largest[..., 0] * np.sqrt((relative**2).sum(axis=-1))
    return size
