"""What dividing by √d_k is for, measured."""

from __future__ import annotations

import numpy as np
import pytest

from regard import InputError
from regard.mechanism.scaling import jacobian_size, score_spread


def test_scores_spread_as_the_root_of_d_k():
    spreads = score_spread((1, 4, 64, 300), draws=20_000)
    for spread in spreads:
        assert spread.exact == spread.d_k**0.5
        # the standard error of a measured standard deviation is at most a few per cent here
        assert spread.measured == pytest.approx(spread.exact, rel=0.04)
        assert spread.divided == pytest.approx(1, rel=0.04)
    assert spreads == score_spread((1, 4, 64, 300), draws=20_000)
    assert score_spread((4,), seed=1) != score_spread((4,), seed=2)


def test_bad_demonstrations_are_refused():
    with pytest.raises(InputError, match="d_ks holds 0"):
        score_spread((0,))
    with pytest.raises(InputError, match="draws is 1"):
        score_spread(draws=1)


@pytest.mark.parametrize("weights", [[1.0], [0.5, 0.5], [0.7, 0.2, 0.1], [0.0, 0.0], [0.25] * 4])
def test_jacobian_size_is_that_of_the_matrix(weights):
    row = np.array(weights)
    slope = np.linspace(1, 2, len(row))
    sink = 1 - row.sum() if row.sum() > 0 else 1.0
    matrix = (np.diag(row) - np.outer(row, row)) * slope
    size = jacobian_size(row, np.array(sink), slope)
    assert size == pytest.approx(np.linalg.norm(matrix), rel=1e-12, abs=1e-15)
