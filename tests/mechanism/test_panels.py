"""panels(): the weights themselves, for readings of one's own."""

from __future__ import annotations

import numpy as np
import pytest

from accuracy import EPS, check_close, dense_of
from cases import CASES, give
from regard import InputError, Mask, Panel, panels

SOME = [case for case in CASES if case.query[-2] > 0]


@pytest.mark.parametrize("panel_rows", [None, 1, 16, 1000])
@pytest.mark.parametrize("case", SOME, ids=str)
def test_panels_put_together_are_the_weights(case, panel_rows):
    if panel_rows == 1 and case.query[-2] > 100:
        pytest.skip("many panels and nothing new")
    given = give(case, "numpy float32")
    exact, plain, _ = dense_of(given)
    weights = np.zeros(exact.weights.shape, np.float32)
    lse = np.full(exact.lse.shape, np.nan, np.float32)
    order = []
    for panel in panels(*given.arrays[:2], **given.options, panel_rows=panel_rows):
        at = (panel.batch, panel.head, slice(panel.start, panel.stop))
        assert panel.weights.shape == (panel.stop - panel.start, panel.keys.stop - panel.keys.start)
        assert panel.stop - panel.start <= (panel_rows or 600)
        weights[(*at, panel.keys)] = panel.weights
        lse[at] = panel.lse
        order.append((panel.batch, panel.head, panel.start, panel.stop))
    assert order == sorted(order)
    size = exact.weights * exact.reach[..., None]
    check_close("weights", weights, exact.weights, plain.weights, size, EPS["float32"])
    reach = exact.reach + np.nan_to_num(np.abs(exact.lse), posinf=0)
    each = (lse, exact.lse, plain.lse, reach)
    check_close("lse", *(part[..., None] for part in each), EPS["float32"])


def test_each_panel_keeps_its_numbers():
    x = np.random.default_rng(0).normal(size=(2, 50, 8)).astype(np.float32)
    kept = list(panels(x, x, panel_rows=7))
    again = [panel.weights.copy() for panel in panels(x, x, panel_rows=7)]
    assert len(kept) == 2 * 8
    for panel, weights in zip(kept, again, strict=True):
        assert isinstance(panel, Panel)
        np.testing.assert_array_equal(panel.weights, weights)


def test_a_panel_holds_only_keys_that_it_may_see():
    x = np.zeros((100, 4))
    widths = [panel.keys for panel in panels(x, x, mask=Mask(causal=True), panel_rows=25)]
    assert widths == [slice(0, 25), slice(0, 50), slice(0, 75), slice(0, 100)]


def test_panels_of_tensors():
    torch = pytest.importorskip("torch")
    x = torch.randn(2, 30, 4, dtype=torch.bfloat16)
    for panel in panels(x, x):
        assert panel.weights.dtype == panel.lse.dtype == torch.float32
        torch.testing.assert_close(panel.weights.sum(1), torch.ones(30))


@pytest.mark.parametrize("rows", [0, -1, 2.0, True, "16"])
def test_panel_rows(rows):
    x = np.zeros((3, 2))
    with pytest.raises(InputError, match=r"panel_rows is .*: expected a whole number, 1 or more"):
        panels(x, x, panel_rows=rows)


def test_wrong_arguments_raise_at_the_call():
    with pytest.raises(InputError, match="query has dim 2 and key has dim 3"):
        panels(np.zeros((3, 2)), np.zeros((3, 3)))
