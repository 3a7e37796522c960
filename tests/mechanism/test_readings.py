"""Each reading by its definition, on numbers where the right answer is plain to see."""

from __future__ import annotations

import math

import numpy as np
import pytest

from accuracy import READINGS, check_result
from cases import CASES, give, given_of
from dense import chosen
from regard import Ask, Mask, attention, readings

pytestmark = pytest.mark.usefixtures("each_backend")

GROUPED = next(case for case in CASES if case.name == "four axes, grouped heads, narrow keys")


def rows_of(scores, **ask):
    """Readings of rows whose scores are given: each query is a unit vector of its row of K."""
    scores = np.array(scores, float)
    query = np.eye(len(scores))
    return readings(query, scores.T.copy(), scale=1.0, ask=Ask(**ask))


def check(ask, case=GROUPED, dtype="numpy float32"):
    given = give(case, dtype)
    output, read = attention(*given.arrays, **given.options, ask=ask)
    check_result(output, read, given, ask)
    check_result(None, readings(*given.arrays, **given.options, ask=ask), given, ask)
    return read


EACH = {
    "top": Ask(top=3),
    "share": Ask(top=3, share=True),
    "entropy": Ask(entropy=True),
    "lse": Ask(lse=True),
    "max_score": Ask(max_score=True),
    "received": Ask(received=True),
    "rows": Ask(rows=[5, 0, -1]),
    "columns": Ask(columns=[99, 3, -2]),
    "groups": Ask(groups=(np.arange(100) // 30, 4)),
    "thumbnail": Ask(thumbnail=8),
    "nothing": Ask(),
}


@pytest.mark.parametrize("name", EACH)
def test_each_alone(name):
    read = check(EACH[name])
    expected = {"top": {"top_index", "top_weight"}, "groups": {"group_mass"}, "nothing": set()}
    expected |= {"received": {"received", "eligible"}}
    expected |= {"share": {"top_index", "top_weight", "top_share"}}
    found = {reading for reading in READINGS if getattr(read, reading) is not None}
    assert found == expected.get(name, {name})


@pytest.mark.parametrize(
    "queries",
    [[40, 3, 62, 0], [-1, 0], slice(5, 50, 7), slice(None, None, -1), slice(9, 9), "last", [],
     np.array([7, 6, 5])],
    ids=str,
)  # fmt: skip
def test_some_queries(queries):
    asked = chosen(queries, 63)
    ask = Ask(
        queries=queries,
        top=4,
        share=True,
        entropy=True,
        lse=True,
        max_score=True,
        received=True,
        rows=asked[::-1][:2],
        columns=[3, 1],
        groups=(np.arange(100) % 7 - 1, 8),
        thumbnail=3,
    )
    read = check(ask)
    assert read.queries.tolist() == asked.tolist()


def test_queries_of_a_long_text_in_another_order():
    case = next(case for case in CASES if case.name == "several panels")
    order = np.random.default_rng(0).permutation(600)[:400]
    ask = Ask(queries=order, top=2, entropy=True, received=True, rows=order[:9], thumbnail=7)
    check(ask, case)


def test_readings_by_leading_axes():
    rng = np.random.default_rng(0)
    ask = Ask(top=2, lse=True, received=True, rows=[0], columns=[0, 1], thumbnail=3)
    for leading in ((), (4,), (2, 4)):
        q = rng.normal(size=(*leading, 5, 3))
        read = readings(q, q, ask=ask)
        assert read.top_index.shape == (*leading, 5, 2)
        assert read.lse.shape == (*leading, 5)
        assert read.received.shape == (*leading, 5)
        assert read.rows.shape == (*leading, 1, 5)
        assert read.columns.shape == (*leading, 5, 2)
        assert read.thumbnail.shape == (*leading, 3, 3)


def test_top_is_in_order_and_ties_go_to_the_lower_key():
    read = rows_of([[1, 3, 3, 0, 3], [2, 2, 2, 2, 2], [0, 1, 2, 3, 4]], top=4)
    assert read.top_index.tolist() == [[1, 2, 4, 0], [0, 1, 2, 3], [4, 3, 2, 1]]
    assert (np.diff(read.top_weight) <= 0).all()


@pytest.mark.parametrize("dtype", ["numpy float32", "numpy float64", "torch float32"])
@pytest.mark.parametrize(("keys", "top"), [(257, 1), (257, 8), (1000, 3), (4096, 16), (640, 20)])
def test_ties_among_many_keys(keys, top, dtype):
    """Whole-number scores: every sum is exact, so equal weights are equal to the last bit."""
    rng = np.random.default_rng(keys)
    drawn = [rng.integers(-1, 2, (2, 9, 4)), *(rng.integers(-1, 2, (2, keys, 4)) for _ in "kv")]
    given = given_of([a.astype(float) for a in drawn], Mask(), 1.0, None, None, dtype)
    read = readings(*given.arrays[:2], scale=1.0, ask=Ask(top=top))
    scores = given.exact[0] @ given.exact[1].swapaxes(1, 2)
    wanted = np.argsort(-scores, axis=-1, kind="stable")[..., :top]
    np.testing.assert_array_equal(np.asarray(read.top_index), wanted)


def test_top_beyond_the_visible_keys():
    q = np.ones((3, 2))
    read = readings(q, q, mask=Mask(causal=True), ask=Ask(top=5))
    assert read.top_index.tolist() == [[0, -1, -1, -1, -1], [0, 1, -1, -1, -1], [0, 1, 2, -1, -1]]
    np.testing.assert_allclose(read.top_weight[1], [0.5, 0.5, 0, 0, 0])


@pytest.mark.parametrize("keys", [4, 400])
def test_a_seen_key_whose_weight_underflows_comes_before_minus_one(keys):
    scores = np.full((1, keys), -5000.0)
    scores[0, :4] = [-2000, 0, -1000, -3000]
    mask = Mask(lengths=4)
    read = readings(np.eye(1), scores.T.copy(), scale=1.0, mask=mask, ask=Ask(top=6))
    # the three weights of exactly 0 are equal: lower key first
    assert read.top_index.tolist() == [[1, 0, 2, 3, -1, -1]]
    assert read.top_weight.tolist() == [[1, 0, 0, 0, 0, 0]]


def test_top_of_a_window_counts_keys_from_the_first():
    q = np.ones((300, 2))
    read = readings(q, q, mask=Mask(window=(1, 0)), ask=Ask(top=2))
    assert read.top_index[299].tolist() == [298, 299]
    assert read.top_index[0].tolist() == [0, -1]


@pytest.mark.parametrize("dtype", ["numpy float32", "numpy float64", "torch float32"])
@pytest.mark.parametrize("name", ["100 tokens", "100 tokens, causal", "four axes, grouped heads, "
                                  "narrow keys", "sinks", "softcap", "bias with -inf"])  # fmt: skip
def test_shares_of_all_keys_sum_to_one(name, dtype):
    given = give(next(case for case in CASES if case.name == name), dtype)
    keys = given.exact[1].shape[-2]
    read = readings(*given.arrays, **given.options, ask=Ask(top=keys, share=True))
    share = np.asarray(read.top_share).astype(np.float64)
    answered = ~np.isnan(share).any(-1)  # not where the row sees nothing and the result is 0
    assert answered.mean() > 0.9
    size = np.abs(share).sum(-1)[answered]
    eps = 2**-52 if given.dtype == "float64" else 2**-23
    assert (np.abs(share.sum(-1)[answered] - 1) <= 16 * eps * size * np.log2(keys)).all()


def test_a_share_can_be_negative_and_differs_from_the_weight():
    value = np.array([[3.0, 0.0], [-1.0, 0.0]])
    q = np.zeros((1, 2))
    read = readings(q, np.zeros((2, 2)), value, ask=Ask(top=2, share=True))
    # z = .5 (3, 0) + .5 (-1, 0) = (1, 0); shares 1.5 and -0.5
    assert read.top_weight.tolist() == [[0.5, 0.5]]
    assert read.top_share.tolist() == [[1.5, -0.5]]


def test_the_share_of_a_result_of_zero_is_not_a_number():
    value = np.array([[1.0], [-1.0]])
    read = readings(np.zeros((1, 2)), np.zeros((2, 2)), value, ask=Ask(top=3, share=True))
    assert np.isnan(read.top_share[0, :2]).all()
    assert read.top_share[0, 2] == 0  # there is no third key


def test_what_a_nan_has_reached_has_no_share():
    key = np.array([[1.0], [np.nan]])
    read = readings(np.ones((1, 1)), key, np.ones((2, 1)), ask=Ask(top=1, share=True))
    assert read.top_index.tolist() == [[-1]]
    assert np.isnan(read.top_weight).all()
    assert np.isnan(read.top_share).all()


def test_entropy_in_nats():
    read = rows_of([[0, 0, 0, 0], [0, -1000, -1000, -1000], [0, 0, -1000, -1000]], entropy=True)
    np.testing.assert_allclose(read.entropy, [math.log(4), 0, math.log(2)], atol=1e-15)


def test_entropy_where_a_seen_weight_is_zero():
    key = np.array([[0.0], [-np.inf], [0.0]])
    read = readings(np.ones((1, 1)), key, ask=Ask(entropy=True, lse=True))
    np.testing.assert_allclose(read.entropy, [math.log(2)])
    np.testing.assert_allclose(read.lse, [math.log(2)])


def test_entropy_is_never_below_zero():
    q = 6 * np.random.default_rng(0).normal(size=(200, 64)).astype(np.float32)
    assert (readings(q, q, ask=Ask(entropy=True)).entropy >= 0).all()


def test_lse_gives_the_weight_back_and_max_score_leaves_sinks_out():
    rng = np.random.default_rng(1)
    q, k = rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 6, 4))
    ask = Ask(lse=True, max_score=True, rows=range(5))
    read = readings(q, k, sinks=np.array([2.0, -np.inf]), ask=ask)
    scores = q @ k.swapaxes(1, 2) / 2
    np.testing.assert_allclose(np.exp(scores - read.lse[..., None]), read.rows)
    np.testing.assert_allclose(read.max_score, scores.max(-1))
    sums = read.rows.sum(-1)
    assert (sums[0] < 0.9).all()
    np.testing.assert_allclose(sums[1], 1)


def test_received_is_per_query_head_and_eligible_counts_who_may_see():
    rng = np.random.default_rng(2)
    q, k = rng.normal(size=(4, 5, 3)), rng.normal(size=(2, 5, 3))
    read = readings(q, k, mask=Mask(causal=True), ask=Ask(received=True, rows=range(5)))
    np.testing.assert_allclose(read.received, read.rows.sum(1))
    np.testing.assert_allclose(read.received.sum(1), 5)
    assert read.eligible.tolist() == [[5, 4, 3, 2, 1]] * 4
    np.testing.assert_allclose(read.received_mean, read.received / [5, 4, 3, 2, 1])


def test_received_mean_of_a_key_that_none_may_see():
    q = np.ones((3, 2))
    read = readings(q, q, mask=Mask(lengths=2), ask=Ask(received=True))
    assert read.eligible.tolist() == [3, 3, 0]
    assert read.received_mean[2] == 0
    assert readings(q, q, ask=Ask(lse=True)).received_mean is None


def test_eligible_is_what_the_mask_says_in_every_case():
    for case in CASES:
        given = give(case, "numpy float64")
        check_result(
            None,
            readings(*given.arrays, **given.options, ask=Ask(received=True)),
            given,
            Ask(received=True),
        )


def test_groups_with_none_and_empty_ones():
    read = rows_of([[0, 0, 0, 0]], groups=([1, -1, 1, 3], 5))
    np.testing.assert_allclose(read.group_mass, [[0, 0.5, 0, 0.25, 0]])
    assert rows_of([[0, 0]], groups=([-1, -1], 0)).group_mass.shape == (1, 0)


@pytest.mark.parametrize("g", [1, 2, 63, 64, 100, 150])
def test_thumbnail_of_any_size(g):
    ask = Ask(thumbnail=g)
    check(ask)
    check(Ask(queries=range(0, 63, 2), thumbnail=g))


def test_thumbnail_rows_sum_to_the_mean_mass():
    q = np.random.default_rng(3).normal(size=(10, 4))
    ask = Ask(thumbnail=4, received=True)
    read = readings(q, q, sinks=np.array([1.0]), ask=Ask(thumbnail=4, rows=range(10)))
    blocks = [[0, 1, 2], [3, 4], [5, 6, 7], [8, 9]]  # i with floor(4 i / 10) the same
    wanted = [read.rows.sum(1)[block].mean() for block in blocks]
    np.testing.assert_allclose(read.thumbnail.sum(1), wanted)
    np.testing.assert_allclose(readings(q, q, ask=ask).thumbnail.sum(1), 1)


def test_readings_print_what_they_hold():
    shown = repr(rows_of([[0, 0]], top=1, lse=True))
    assert shown == (
        "Readings(backend='loop', queries=(1,), top_index=(1, 1), top_weight=(1, 1), lse=(1,))"
    )


def test_entropy_of_a_row_that_a_sink_takes_part_of():
    """Two keys of weight 1/4 each, and half to the sink, which is no key: 2 (1/4) ln 4."""
    key = np.zeros((2, 1))
    read = readings(np.ones((1, 1)), key, sinks=np.array([math.log(2)]), ask=Ask(entropy=True))
    np.testing.assert_allclose(read.entropy, [math.log(4) / 2])


def test_groups_of_a_window_count_keys_from_the_first():
    x = np.zeros((600, 2))
    ask = Ask(groups=(np.arange(600) // 100, 6), columns=[598, 0])
    read = readings(x, x, mask=Mask(window=(0, 0)), ask=ask)
    assert (read.group_mass == (np.arange(600)[:, None] // 100 == np.arange(6))).all()
    assert (read.columns == (np.arange(600)[:, None] == [598, 0])).all()
