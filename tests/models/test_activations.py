"""erf against the standard library's, and the activations against their formulas in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regard.models.activations import ACTIVATIONS, activate, erf, gelu, gelu_tanh, relu

GRID = np.concatenate(
    [
        np.linspace(-6, 6, 240_001),
        np.linspace(0.99, 1.01, 20_001),  # where the two polynomials meet
        np.geomspace(1e-38, 1, 20_001),
    ]
).astype(np.float32)


def exact_erf(x):
    return np.array([math.erf(value) for value in x.tolist()])


def test_erf_is_right_to_float32_rounding():
    result, exact = erf(GRID), exact_erf(GRID)
    assert result.dtype == np.float32
    error = np.abs(result - exact)
    assert error.max() <= 9e-8
    inside = exact != 0
    assert (error[inside] / np.abs(exact[inside])).max() <= 1.2e-7


def test_erf_at_the_ends():
    ends = erf(np.array([0.0, -0.0, 4.0, np.inf, -np.inf, 3e38], np.float32))
    assert ends.tolist() == [0, 0, 1, 1, -1, 1]
    assert np.signbit(ends[1])
    assert np.isnan(erf(np.array([np.nan], np.float32))[0])


@pytest.mark.parametrize(
    ("function", "formula"),
    [
        (gelu, lambda x: x * 0.5 * (1 + exact_erf(x / math.sqrt(2)))),
        (
            gelu_tanh,
            lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        ),
        (relu, lambda x: np.maximum(x, 0)),
    ],
)
def test_activation_is_its_formula(function, formula):
    x = np.linspace(-8, 8, 20_001).astype(np.float32)
    result = function(x)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, formula(x.astype(np.float64)), rtol=2e-7, atol=4e-7)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activate_in_blocks_is_the_whole(name):
    x = np.random.default_rng(0).normal(0, 3, (3, 7, 1001)).astype(np.float32)
    before = x.copy()
    result = activate(name, x)
    np.testing.assert_array_equal(result, ACTIVATIONS[name](x))
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(activate(name, x.T), result.T)
    assert activate(name, np.empty((0, 4), np.float32)).shape == (0, 4)
