"""What a query may see: each part of a mask alone and together, and the work that is not done."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from accuracy import check_result
from cases import as_float64, documents, given_of
from dense import seen_by
from regard import Ask, Mask, attention, readings
from regard.mechanism import arrays
from regard.mechanism.mask import UNLIMITED
from regard.mechanism.sizes import measure

pytestmark = pytest.mark.usefixtures("each_backend")

BATCH, HEADS, QUERIES, KEYS = 2, 4, 19, 23
SHAPES = ((BATCH, HEADS, QUERIES, 8), (BATCH, 2, KEYS, 8), (BATCH, 2, KEYS, 8))
READ = Ask(top=3, entropy=True, lse=True, max_score=True, received=True, thumbnail=3)


def drawn(seed=0, shapes=SHAPES):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def check(mask, numbers=None, sinks=None, dtype="numpy float32", ask=READ):
    given = given_of(numbers or drawn(), mask, None, None, sinks, dtype)
    output, read = attention(*given.arrays, **given.options, ask=ask)
    check_result(output, read, given, ask)
    return given, output, read


def seen_through(mask, queries=QUERIES, keys=KEYS, batch=BATCH, heads=HEADS):
    """(batch, heads, queries, keys), found out: with V the unit matrix, weights are the output."""
    q = np.zeros((batch, heads, queries, 1))
    value = np.broadcast_to(np.eye(keys), (batch, heads, keys, keys))
    return attention(q, np.zeros((batch, heads, keys, 1)), value, mask=mask).output > 0


PARTS = {
    "causal": {"causal": True},
    "window": {"window": (6, 4)},
    "lengths": {"lengths": np.array([20, 9])},
    "segments": {
        "segments": (np.arange(QUERIES) // 4 - 1, np.arange(KEYS) // 5 - 1),
    },
    "allowed": {"allowed": np.random.default_rng(1).random((HEADS, QUERIES, KEYS)) < 0.7},
    "bias": {
        "bias": np.where(
            np.random.default_rng(2).random((QUERIES, KEYS)) < 0.2,
            -np.inf,
            np.random.default_rng(3).normal(size=(QUERIES, KEYS)),
        )
    },
}


@pytest.mark.parametrize("count", range(1, len(PARTS) + 1))
@pytest.mark.parametrize("offset", [0, KEYS - QUERIES, -3, np.array([7, -2])], ids=str)
def test_all_parts_hold_at_once(count, offset):
    for names in combinations(PARTS, count):
        parts = {key: value for name in names for key, value in PARTS[name].items()}
        check(Mask(offset=offset, **parts))


def test_causal_top_left_and_bottom_right():
    assert seen_through(Mask(True, offset=0), 2, 4, 1, 1)[0, 0].tolist() == [
        [True, False, False, False],
        [True, True, False, False],
    ]
    assert seen_through(Mask(True, offset=2), 2, 4, 1, 1)[0, 0].tolist() == [
        [True, True, True, False],
        [True, True, True, True],
    ]
    assert seen_through(Mask(True, offset=-1), 2, 4, 1, 1)[0, 0].tolist() == [
        [False, False, False, False],
        [True, False, False, False],
    ]


@pytest.mark.parametrize(
    ("window", "row"),
    [
        ((2, 1), [0, 0, 1, 1, 1, 1, 0, 0]),
        ((0, 0), [0, 0, 0, 0, 1, 0, 0, 0]),
        ((None, 1), [1, 1, 1, 1, 1, 1, 0, 0]),
        ((1, None), [0, 0, 0, 1, 1, 1, 1, 1]),
        ((3, -1), [0, 1, 1, 1, 0, 0, 0, 0]),
        ((-1, 2), [0, 0, 0, 0, 0, 1, 1, 0]),
        ((-2, 1), [0, 0, 0, 0, 0, 0, 0, 0]),
        ((None, None), [1, 1, 1, 1, 1, 1, 1, 1]),
        ((10**30, 10**30), [1, 1, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_window_of_the_query_at_four(window, row):
    seen = seen_through(Mask(window=window), 8, 8, 1, 1)[0, 0, 4]
    assert seen.astype(int).tolist() == row
    # the same position by way of an offset
    moved = seen_through(Mask(window=window, offset=4), 1, 8, 1, 1)[0, 0, 0]
    assert moved.astype(int).tolist() == row


def test_offset_per_item():
    seen = seen_through(Mask(window=(0, 0), offset=np.array([3, -1])), 2, 5)
    assert np.argwhere(seen[0, 0]).tolist() == [[0, 3], [1, 4]]
    assert np.argwhere(seen[1, 0]).tolist() == [[1, 0]]


def test_lengths_zero_and_whole():
    seen = seen_through(Mask(lengths=np.array([0, KEYS])))
    assert not seen[0].any()
    assert seen[1].all()
    assert seen_through(Mask(lengths=3)).sum() == BATCH * HEADS * QUERIES * 3


SEGMENTS = {
    "packed": documents(40, 0, 11, 12, 30),
    "padded left": np.r_[[-1] * 9, [0] * 31],
    "padded right": np.r_[[0] * 31, [-7] * 9],
    "padded on both sides": np.r_[[-1] * 5, [3] * 20, [-2] * 15],
    "interleaved": np.arange(40) % 3,
    "all negative": np.full(40, -1),
    "per item": np.stack([documents(40, 0, 7), np.arange(40) % 2 - 1]),
    "far apart": np.array([0, 2**31 - 1])[np.arange(40) % 2],
    "a list": [0] * 20 + [1] * 20,
}


@pytest.mark.parametrize("name", SEGMENTS)
@pytest.mark.parametrize("causal", [False, True])
def test_segments(name, causal):
    labels = np.asarray(SEGMENTS[name])
    seen = seen_through(Mask(causal=causal, segments=SEGMENTS[name]), 40, 40)
    labels = np.broadcast_to(labels, (BATCH, 40))
    wanted = (labels[:, :, None] == labels[:, None]) & (labels >= 0)[:, :, None]
    wanted &= np.tri(40, dtype=bool) if causal else True
    assert (seen == wanted[:, None]).all()
    shapes = ((BATCH, HEADS, 40, 8), (BATCH, 2, 40, 8), (BATCH, 2, 40, 8))
    check(Mask(causal=causal, segments=SEGMENTS[name]), drawn(0, shapes))


def test_segments_as_a_pair():
    pair = (np.arange(QUERIES) % 4 - 1, np.stack([np.arange(KEYS) % 3, np.full(KEYS, 2)]))
    seen = seen_through(Mask(segments=pair))
    wanted = (pair[0][:, None] == pair[1][:, None]) & (pair[0] >= 0)[:, None]
    assert (seen == wanted[:, None]).all()
    check(Mask(segments=pair))


BROADCAST = [
    (KEYS,), (1,), (QUERIES, KEYS), (QUERIES, 1), (1, KEYS), (HEADS, 1, 1), (HEADS, QUERIES, KEYS),
    (1, 1, KEYS), (BATCH, 1, 1, KEYS), (BATCH, HEADS, QUERIES, KEYS), (BATCH, 1, QUERIES, 1),
]  # fmt: skip


@pytest.mark.parametrize("shape", BROADCAST, ids=str)
@pytest.mark.parametrize("dtype", ["numpy float32", "torch bfloat16"])
def test_arrays_broadcast_from_the_right(shape, dtype):
    rng = np.random.default_rng(4)
    check(Mask(allowed=rng.random(shape) < 0.6), dtype=dtype)
    bias = rng.normal(size=shape)
    bias[rng.random(shape) < 0.3] = -np.inf
    check(Mask(bias=bias), dtype=dtype)


def test_plain_arrays_serve_as_masks():
    q = drawn()[0][0]
    allowed = np.tri(QUERIES, dtype=bool)
    bias = np.random.default_rng(5).normal(size=(QUERIES, QUERIES))
    for array, mask in ((allowed, Mask(allowed=allowed)), (bias, Mask(bias=bias))):
        plain, spelled = attention(q, q, q, mask=array), attention(q, q, q, mask=mask)
        np.testing.assert_array_equal(plain.output, spelled.output)
    causal = attention(q, q, q, mask=Mask(causal=True)).output
    np.testing.assert_allclose(attention(q, q, q, mask=allowed).output, causal, rtol=1e-12)


def test_a_bias_in_the_dtype_of_the_sums_is_welcome():
    q = drawn()[0][0].astype(np.float16)
    bias = np.random.default_rng(5).normal(size=(QUERIES, QUERIES)).astype(np.float32)
    halved = attention(q, q, q, mask=bias.astype(np.float16)).output
    np.testing.assert_allclose(attention(q, q, q, mask=bias).output, halved, atol=2e-3)


def test_minus_infinity_is_not_seen_and_a_very_negative_number_is_arithmetic():
    q, value = np.zeros((1, 1)), np.array([[1.0], [3.0]])
    ask = Ask(received=True, top=2, lse=True, max_score=True)
    two = np.zeros((2, 1))
    unseen = attention(q, two, value, mask=np.full((1, 2), -np.inf), ask=ask)
    assert unseen.output.tolist() == [[0]]
    assert unseen.readings.eligible.tolist() == [0, 0]
    assert unseen.readings.top_index.tolist() == [[-1, -1]]
    small = attention(q, two, value, mask=np.full((1, 2), -1e30), ask=ask)
    assert small.output.tolist() == [[2]]  # both alike: a mean
    assert small.readings.eligible.tolist() == [1, 1]
    assert small.readings.max_score.tolist() == [-1e30]


BLIND = {
    "window": Mask(window=(-3, 2)),
    "offset": Mask(causal=True, offset=-100),
    "lengths": Mask(lengths=0),
    "segments": Mask(segments=(np.full(QUERIES, -1), np.full(KEYS, -1))),
    "segments without a match": Mask(segments=(np.full(QUERIES, 5), np.arange(KEYS) % 2)),
    "allowed": Mask(allowed=np.zeros((QUERIES, KEYS), bool)),
    "bias": Mask(bias=np.full((1, KEYS), -np.inf)),
}


@pytest.mark.parametrize("sink", [None, 1.5, -np.inf], ids=str)
@pytest.mark.parametrize("dtype", ["numpy float32", "torch float32"])
@pytest.mark.parametrize("name", BLIND)
def test_rows_that_see_nothing(name, dtype, sink):
    sinks = None if sink is None else np.full(HEADS, sink)
    mask = replace(BLIND[name], offset=BLIND[name].offset or 0)
    ask = replace(READ, share=True, rows=[0, 3], columns=[1], groups=(np.zeros(KEYS, int), 1))
    _, output, read = check(mask, sinks=sinks, dtype=dtype, ask=ask)
    assert (output == 0).all()
    assert (read.entropy == 0).all()
    assert (read.max_score == -np.inf).all()
    assert (read.lse == (-np.inf if sink is None else sink)).all()
    assert (read.top_index == -1).all()
    zeros = ("top_weight", "top_share", "received", "eligible", "rows", "columns", "group_mass")
    for zero in (*zeros, "thumbnail"):
        assert (getattr(read, zero) == 0).all(), zero


def test_a_sink_of_minus_infinity_is_no_sink():
    numbers = drawn()
    plain = attention(*numbers, ask=READ)
    sunk = attention(*numbers, sinks=np.full(HEADS, -np.inf), ask=READ)
    np.testing.assert_array_equal(sunk.output, plain.output)
    np.testing.assert_array_equal(sunk.readings.lse, plain.readings.lse)
    np.testing.assert_allclose(sunk.readings.entropy, plain.readings.entropy, rtol=1e-14)


ODD = [np.nan, np.inf, -np.inf]
UNSEEING = {
    "causal": Mask(causal=True, offset=0),
    "window": Mask(window=(4, 4), offset=0),
    "lengths": Mask(lengths=KEYS - 1),
    "segments": Mask(segments=(np.arange(QUERIES) // 9, np.arange(KEYS) // 9)),
    "allowed": Mask(allowed=np.random.default_rng(6).random((HEADS, QUERIES, KEYS)) < 0.5),
    "bias": Mask(bias=np.where(np.random.default_rng(7).random((QUERIES, KEYS)) < 0.5, 0, -np.inf)),
}


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("name", UNSEEING)
@pytest.mark.parametrize("dtype", ["numpy float32", "torch float32", "torch bfloat16"])
def test_what_is_not_seen_never_reaches_a_row(name, dtype, odd):
    mask, numbers = UNSEEING[name], drawn()
    seen = seen_by(mask, BATCH, HEADS, QUERIES, KEYS)
    _, _, read_before = check(mask, numbers, dtype=dtype)
    spoiled = [array.copy() for array in numbers]
    spoiled[1][1, 0, 12] = spoiled[2][1, 0, 12] = odd  # one key of two query heads, in K and V
    spoiled[2][0, 1, 7, 3] = odd
    _, after, read = check(mask, spoiled, dtype=dtype)
    touched = np.zeros(seen.shape[:3], bool)
    touched[1, :2] |= seen[1, :2, :, 12]
    touched[0, 2:] |= seen[0, 2:, :, 7]
    assert 0 < touched.sum() < touched.size or name == "lengths"
    free = ~touched
    assert np.isfinite(as_float64(after)[free]).all()
    for name_ in ("entropy", "lse", "max_score"):
        here, there = (np.asarray(getattr(r, name_))[free] for r in (read, read_before))
        np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_an_odd_query_stays_in_its_row(odd):
    numbers = drawn()
    _, before, read_before = check(Mask(causal=True, offset=4), numbers)
    numbers[0][1, 2, 8, 0] = odd
    _, after, read = check(Mask(causal=True, offset=4), numbers)
    others = np.ones((BATCH, HEADS, QUERIES), bool)
    others[1, 2, 8] = False
    np.testing.assert_array_equal(after[others], before[others])
    np.testing.assert_array_equal(read.top_index[others], read_before.top_index[others])
    if np.isnan(odd):
        assert np.isnan(after[1, 2, 8]).all()
        assert (read.top_index[1, 2, 8] == -1).all()
        assert np.isnan(read.received[1, 2, :13]).all()  # what the query sees
        assert np.isfinite(read.received[1, 2, 13:]).all()  # and what it does not


def test_a_score_of_plus_infinity_gives_nan_in_its_row_only():
    q, k = np.array([[1.0], [0.5], [-1.0]]), np.array([[1.0], [np.inf], [2.0]])
    output, read = attention(q, k, np.ones((3, 1)), ask=Ask(max_score=True, received=True, top=1))
    assert np.isnan(output[:2]).all()
    assert output[2] == 1  # a score of -inf that is seen weighs nothing
    assert read.max_score[:2].tolist() == [np.inf, np.inf]
    assert read.top_index.tolist() == [[-1], [-1], [0]]


def test_values_that_overflow_only_where_they_weigh():
    value = np.array([[1.0], [np.inf]])
    key = np.array([[0.0], [-2000.0]])
    ahead = attention(np.ones((1, 1)), key, value, mask=Mask(lengths=1)).output
    assert ahead.tolist() == [[1]]
    assert np.isnan(attention(np.ones((1, 1)), key, value).output).all()  # 0 x inf, and seen


def test_the_flat_encoding():
    q, k = np.zeros((BATCH, HEADS, QUERIES, 1)), np.zeros((BATCH, 2, KEYS, 1))
    sizes = measure(q, k, None)
    flat = Mask().flatten(sizes)
    assert (flat.left, flat.right) == (UNLIMITED, UNLIMITED)
    assert flat.offset.tolist() == [0, 0]
    assert flat.lengths.tolist() == [KEYS, KEYS]
    assert flat.query_segments is flat.key_segments is flat.allowed is flat.bias is None
    flat = Mask(True, offset=np.array([1, 2], np.uint8), window=(np.int8(3), 5)).flatten(sizes)
    assert (flat.left, flat.right) == (3, 0)
    assert flat.offset.dtype == flat.lengths.dtype == np.int64
    assert Mask(True, window=(None, -2), offset=0).flatten(sizes).right == -2
    pair = (np.full(QUERIES, -9), np.arange(KEYS, dtype=np.int16))
    flat = Mask(segments=pair, allowed=np.ones((QUERIES, 1), bool)).flatten(sizes)
    assert flat.query_segments.dtype == flat.key_segments.dtype == np.int32
    assert flat.query_segments.flags.c_contiguous
    assert flat.query_segments.shape == (BATCH, QUERIES)
    assert (flat.query_segments == -1).all()
    assert flat.allowed.shape == (BATCH, HEADS, QUERIES, KEYS)
    assert flat.allowed.strides[:2] == (0, 0)


@pytest.fixture
def products(monkeypatch):
    """The multiplications of all matrix products, counted; a column of ones is only a sum."""
    counted = []
    multiply = arrays.NumpyArrays.matmul

    def matmul(self, left, right, out):
        if right.shape[1] > 1:
            counted.append(left.shape[0] * left.shape[1] * right.shape[1])
        return multiply(self, left, right, out)

    monkeypatch.setattr(arrays.NumpyArrays, "matmul", matmul)
    return counted


N, DIM = 4096, 4


def work(products, mask, ask=None):
    """Pairs of query and key that were computed, for N of each."""
    x = np.zeros((N, DIM), np.float32)
    attention(x, x, x, mask=mask, ask=ask, backend="loop")
    return sum(products) / (2 * DIM)


def test_all_pairs_are_computed_without_a_mask(products):
    assert work(products, None) == N * N


def test_causal_does_about_half_the_work(products):
    assert 0.5 <= work(products, Mask(causal=True)) / N**2 < 0.55


def test_a_window_does_work_in_proportion_to_its_width(products):
    # a panel of rows sees its window and, beyond it, as many keys as it has rows
    assert 128 <= work(products, Mask(window=(64, 63))) / N < 128 + 512


def test_packed_documents_do_the_work_of_each_document(products):
    starts = np.array([0, 500, 1500, 1600, 3000])
    apart = int((np.diff(np.r_[starts, N]) ** 2).sum())
    share = work(products, Mask(segments=documents(N, *starts))) / apart
    assert 1 <= share < 1.5
    assert apart < 0.3 * N**2


def test_padding_is_no_work(products):
    assert work(products, Mask(lengths=100)) == N * 100
    products.clear()
    assert work(products, Mask(segments=np.r_[[-1] * (N - 100), [0] * 100])) <= 512 * 100


def test_only_the_asked_rows_are_computed(products):
    x = np.zeros((N, DIM), np.float32)
    readings(x, x, ask=Ask(queries="last", lse=True), backend="loop")
    assert sum(products) == N * DIM
    products.clear()
    readings(x, x, mask=Mask(causal=True), ask=Ask(queries=[0, 7], lse=True), backend="loop")
    assert sum(products) <= 2 * 8 * DIM


@pytest.mark.parametrize("dtype", ["numpy float32", "numpy float64", "torch float32"])
def test_a_sink_of_any_size(dtype):
    """Far above every score it leaves next to nothing, far below it takes nothing."""
    for ask in (READ, Ask(top=2, lse=True)):  # without an entropy, a panel may do without a shift
        check(Mask(), sinks=np.array([200.0, -200.0, 95.0, 60.0]), dtype=dtype, ask=ask)


def test_a_row_whose_every_seen_score_is_minus_infinity_is_not_blind():
    key = np.full((2, 1), -np.inf)
    output, read = attention(
        np.ones((1, 1)), key, np.ones((2, 1)), ask=Ask(max_score=True, received=True)
    )
    assert np.isnan(output).all()  # 0 / 0: no weight is larger than another, and all are 0
    assert read.max_score.tolist() == [-np.inf]
    assert read.eligible.tolist() == [1, 1]
