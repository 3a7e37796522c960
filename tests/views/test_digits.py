from __future__ import annotations

import numpy as np
import pytest

from regard.views.digits import alike, fraction, small


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ([110, 90, 80], ["110", "90", "80"]),
        ([13.75, 12.375, 10], ["13.750", "12.375", "10.000"]),
        ([2.5, 1], ["2.5", "1.0"]),
        ([1 / 3, -2 / 3], ["0.333", "-0.667"]),
        ([-0.0001, 5], ["0.000", "5.000"]),
        ([12345.678], ["12345.7"]),
        ([0.001, 0], ["0.001", "0"]),
        ([3e9, 1], ["3e+09", "1"]),
        ([np.nan, np.inf, -np.inf, 1], ["nan", "inf", "-inf", "1"]),
        ([], []),
    ],
)
def test_as_many_decimals_as_all_need(numbers, texts):
    assert alike(np.array(numbers, dtype=float)) == texts


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.9045, ".904"), (1.0, "1.000"), (0, ".000"), (-0.12, "-.120"), (-1e-9, ".000"),
     (np.nan, "nan"), (1.106, "1.106"), (-1.5, "-1.500")],
)  # fmt: skip
def test_fractions_have_no_leading_zero(number, text):
    assert fraction(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(4.12e-9, "4e-9"), (0.0187, ".019"), (0.5, ".5"), (1.25, "1.2"), (0, "0"), (300.4, "300"),
     (np.nan, "nan"), (-0.02, "-.02"), (10.0, "10")],
)  # fmt: skip
def test_small_numbers(number, text):
    assert small(number) == text
