"""The oracle against hand-computed numbers and a second formula, in loops over Python floats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from regard import InputError, Mask, MemoryBudgetError, project, steps, steps_from_scores
from regard.mechanism import readings as budget

SCORES = [[110, 90, 80], [70, 99, 70], [90, 70, 100]]
VALUES = [[67.85, 91.2, 0.13], [13.13, 63.1, 4.44], [12.12, 96.1, 43.4]]


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def row_in_loops(query, keys, values, sees, *, scale, softcap=None, bias=None, sink=None):
    """One row by log-sum-exp and exact sums: (weights, output, lse)."""
    scores = {}
    for j in sees:
        score = scale * math.fsum(a * b for a, b in zip(query, keys[j], strict=True))
        if softcap is not None:
            score = softcap * math.tanh(score / softcap)
        scores[j] = score + (0.0 if bias is None else bias[j])
    entries = [*scores.values(), *([] if sink is None else [sink])]
    if not entries:
        return [0.0] * len(keys), [0.0] * len(values[0]), -math.inf
    top = max(entries)
    lse = top + math.log(math.fsum(math.exp(entry - top) for entry in entries))
    weights = [math.exp(scores[j] - lse) if j in scores else 0.0 for j in range(len(keys))]
    columns = range(len(values[0]))
    return weights, [math.fsum(weights[j] * values[j][c] for j in sees) for c in columns], lse


def test_three_words_by_hand():
    result = steps_from_scores(SCORES, d_k=64, value=VALUES, words=["I", "am", "good"])
    assert result.scaled.tolist() == [
        [13.75, 11.25, 10.0],
        [8.75, 12.375, 8.75],
        [11.25, 8.75, 12.5],
    ]
    assert result.row_max.tolist() == [13.75, 12.375, 12.5]
    # row 'I': e^0, e^-2.5, e^-3.75
    e = [1.0, 0.0820849986, 0.0235177459]
    assert result.exponentials[0] == pytest.approx(e, rel=1e-8)
    assert result.row_sums[0] == pytest.approx(1.1056027445, rel=1e-9)
    assert result.weights[0] == pytest.approx([0.904484, 0.0742446, 0.0212714], abs=5e-7)
    assert result.weights[1] == pytest.approx([0.0253006, 0.9493988, 0.0253006], abs=5e-7)
    assert result.weights[2] == pytest.approx([0.2187022, 0.0179522, 0.7633456], abs=5e-7)
    # z(I) first column: .904484·67.85 + .0742446·13.13 + .0212714·12.12
    assert result.output[0, 0] == pytest.approx(62.60188, abs=1e-4)
    assert result.lse[0] == pytest.approx(13.75 + math.log(1.1056027445), rel=1e-9)


def test_whole_numbers_with_a_pencil():
    # q·k: [2 0]·[2 0] = 4, [2 0]·[0 2] = 0; ÷ √2 ... here d_k = 4, so ÷ 2
    result = steps([[2, 0, 0, 0]], [[2, 0, 0, 0], [0, 2, 0, 0]], [[1], [3]])
    assert result.scores.tolist() == [[4, 0]]
    assert result.scaled.tolist() == [[2, 0]]
    weight = 1 / (1 + math.exp(-2))
    assert result.weights[0] == pytest.approx([weight, 1 - weight], rel=1e-14)
    assert result.output[0, 0] == pytest.approx(weight + 3 * (1 - weight), rel=1e-14)
    # share: w·v·z/z² = w·v/z in one dimension
    z = weight + 3 * (1 - weight)
    assert result.share()[0] == pytest.approx([weight / z, 3 * (1 - weight) / z], rel=1e-14)
    entropy = -(weight * math.log(weight) + (1 - weight) * math.log(1 - weight))
    assert result.entropy()[0] == pytest.approx(entropy, rel=1e-14)


POSITIONAL = [
    (Mask(causal=True, offset=0), lambda q, k: k <= q),
    (Mask(causal=True, offset=2), lambda q, k: k <= q + 2),
    (Mask(causal=True, offset=-1), lambda q, k: k <= q - 1),
    (Mask(window=(1, 2), offset=0), lambda q, k: -1 <= k - q <= 2),
    (Mask(window=(None, 1), offset=1), lambda q, k: k - (q + 1) <= 1),
    (Mask(window=(2, None), offset=1), lambda q, k: k - (q + 1) >= -2),
    (Mask(causal=True, window=(1, 5), offset=2), lambda q, k: -1 <= k - (q + 2) <= 0),
    (Mask(lengths=3), lambda q, k: k < 3),
    (Mask(lengths=0), lambda q, k: False),
    (
        Mask(segments=([0, 1, 1, -1, 2], [0, 0, 1, -1, 1, 2, -5])),
        lambda q, k: [0, 1, 1, -1, 2][q] == [0, 0, 1, -1, 1, 2, -5][k] >= 0,
    ),
    (Mask(allowed=np.arange(7) % 2 == 0), lambda q, k: k % 2 == 0),
]


@pytest.mark.parametrize(("mask", "sees"), POSITIONAL)
@pytest.mark.parametrize("settings_", [{}, {"softcap": 1.5}, {"sinks": [0.3]}, {"scale": -2.0}])
def test_a_mask_against_loops(mask, sees, settings_):
    query, key, value = drawn(5, 4), drawn(7, 4, seed=1), drawn(7, 3, seed=2)
    result = steps(query, key, value, mask=mask, **settings_)
    for i in range(5):
        seen = [j for j in range(7) if sees(i, j)]
        assert result.seen[i].nonzero()[0].tolist() == seen
        weights, output, lse = row_in_loops(
            query[i].tolist(),
            key.tolist(),
            value.tolist(),
            seen,
            scale=settings_.get("scale", 0.5),
            softcap=settings_.get("softcap"),
            sink=settings_.get("sinks", [None])[0],
        )
        assert result.weights[i] == pytest.approx(weights, rel=1e-13, abs=0)
        assert result.output[i] == pytest.approx(output, rel=1e-12, abs=1e-15)
        assert result.lse[i] == pytest.approx(lse, rel=1e-13)


def test_parts_of_a_mask_hold_at_once_and_per_batch_item():
    allowed = np.ones((2, 1, 3, 4), dtype=bool)
    allowed[1, 0, 2, 1] = False
    mask = Mask(causal=True, offset=np.array([1, 0]), lengths=np.array([4, 2]), allowed=allowed)
    shape = (2, 2, 3, 4)
    result = steps(drawn(2, 2, 3, 5), drawn(2, 1, 4, 5), drawn(2, 1, 4, 2), mask=mask)
    for b, h, i, j in np.ndindex(*shape):
        wanted = j <= i + (1, 0)[b] and j < (4, 2)[b] and allowed[b, 0, i, j]
        assert result.seen[b, h, i, j] == wanted
        assert (result.weights[b, h, i, j] > 0) == wanted


def test_bias_is_added_after_the_softcap_and_minus_infinity_is_not_seen():
    query, key, value = drawn(3, 4), drawn(3, 4, seed=1), drawn(3, 2, seed=2)
    bias = drawn(3, 3, seed=3)
    bias[0, 1], bias[2] = -np.inf, -np.inf
    result = steps(query, key, value, mask=bias, softcap=0.7)
    assert (result.seen == (bias != -np.inf)).all()
    for i in range(3):
        seen = [j for j in range(3) if bias[i, j] != -np.inf]
        weights, output, lse = row_in_loops(
            query[i], key, value, seen, scale=0.5, softcap=0.7, bias=bias[i]
        )
        assert result.weights[i] == pytest.approx(weights, rel=1e-13)
        assert result.output[i] == pytest.approx(output, rel=1e-13)
        assert result.lse[i] == pytest.approx(lse, rel=1e-13)


def test_a_very_negative_bias_is_arithmetic():
    bias = np.full((1, 2), -1e30)
    result = steps([[1.0]], [[1.0], [2.0]], [[1.0], [2.0]], mask=bias)
    assert result.weights.tolist() == [[0.5, 0.5]]  # both lost their digits to the bias
    assert result.seen.all()
    narrow = steps([[1.0]], [[1.0], [2.0]], [[1.0], [2.0]], mask=bias * 1e30, dtype="float32")
    assert narrow.seen.all()
    assert np.isnan(narrow.weights).all()  # -inf once rounded, in every key: as IEEE has it


def test_a_seen_key_of_score_minus_infinity_weighs_nothing():
    result = steps([[1.0]], [[1.0], [-np.inf]], [[5.0], [7.0]])
    assert result.weights.tolist() == [[1.0, 0.0]]
    assert result.output.tolist() == [[5.0]]
    alone = steps([[1.0]], [[-np.inf]], [[5.0]])
    assert np.isnan(alone.weights).all()


def test_a_row_that_sees_nothing():
    mask = np.array([[True, False], [False, False]])
    result = steps(drawn(2, 3), drawn(2, 3), drawn(2, 3), mask=mask)
    assert result.weights[1].tolist() == [0, 0]
    assert result.output[1].tolist() == [0, 0, 0]
    assert result.entropy().tolist() == [0, 0]
    assert result.lse[1] == result.row_max[1] == -np.inf
    assert result.share()[1].tolist() == [0, 0]
    with_sink = steps(drawn(2, 3), drawn(2, 3), drawn(2, 3), mask=mask, sinks=[0.25])
    assert with_sink.lse[1] == 0.25
    assert with_sink.row_max[1] == -np.inf
    assert with_sink.weights[1].tolist() == [0, 0]
    assert with_sink.sink_weight()[1] == 1


@pytest.mark.parametrize("wild", [np.nan, np.inf, -np.inf])
def test_what_is_not_seen_never_reaches_a_row(wild):
    query, key, value = drawn(4, 3), drawn(5, 3, seed=1), drawn(5, 2, seed=2)
    mask = Mask(causal=True, offset=0)
    clean = steps(query, key, value, mask=mask)
    key[3], value[3, 1] = wild, wild
    result = steps(query, key, value, mask=mask)
    for name in ("masked", "weights", "output", "lse", "row_max"):
        assert (getattr(result, name)[:3] == getattr(clean, name)[:3]).all()
    assert (result.share()[:3] == clean.share()[:3]).all()
    assert np.isnan(result.output[3, 1])  # it does reach the row that sees it
    assert np.isnan(steps(query, key[:4], value[:4], mask=np.eye(4) == 1).output[3]).any()


@pytest.mark.parametrize("wild", [np.nan, np.inf])
def test_a_wild_value_of_weight_zero_reaches_the_rows_that_see_it(wild):
    result = steps([[1000.0]], [[1.0], [-1.0]], [[1.0, 1.0], [wild, 2.0]])
    assert result.weights.tolist() == [[1.0, 0.0]]
    assert np.isnan(result.output[0, 0])
    assert result.output[0, 1] == 1.0


def test_a_nan_query_stays_in_its_row():
    query = drawn(3, 4)
    clean = steps(query, drawn(3, 4), drawn(3, 2), mask=Mask(causal=True))
    query[1, 2] = np.nan
    result = steps(query, drawn(3, 4), drawn(3, 2), mask=Mask(causal=True))
    assert np.isnan(result.weights[1, :2]).all()
    assert result.weights[1, 2] == 0
    assert np.isnan(result.output[1]).all()
    assert np.isnan(result.entropy()[1])
    for row in (0, 2):
        assert (result.output[row] == clean.output[row]).all()


@pytest.mark.parametrize("sink", [-700.0, 0.0, 5.0, 900.0, 1e6])
def test_sinks_take_mass(sink):
    query, key, value = drawn(2, 4, 3), drawn(1, 5, 3, seed=1), drawn(1, 5, 2, seed=2)
    result = steps(query, key, value, sinks=[sink, 0.5])
    for h, i in np.ndindex(2, 4):
        weights, output, lse = row_in_loops(
            query[h, i], key[0], value[0], range(5), scale=3**-0.5, sink=(sink, 0.5)[h]
        )
        assert result.weights[h, i] == pytest.approx(weights, rel=1e-12, abs=1e-300)
        assert result.output[h, i] == pytest.approx(output, rel=1e-12, abs=1e-300)
        assert result.lse[h, i] == pytest.approx(lse, rel=1e-14)
        total = result.weights[h, i].sum() + result.sink_weight()[h, i]
        assert total == pytest.approx(1, rel=1e-12)


def test_what_onnx_asks_for_is_kept():
    bias = np.array([[0.5, -np.inf]])
    result = steps([[3.0]], [[2.0], [1.0]], [[1.0], [2.0]], mask=bias, scale=0.5, softcap=2.0)
    assert result.scaled.tolist() == [[3.0, 1.5]]  # mode 0: uncapped
    assert result.capped[0] == pytest.approx([2 * math.tanh(1.5), 2 * math.tanh(0.75)], rel=1e-15)
    assert result.masked[0, 0] == result.capped[0, 0] + 0.5
    assert result.masked[0, 1] == -np.inf
    uncapped = steps([[3.0]], [[2.0], [1.0]], [[1.0], [2.0]])
    assert (uncapped.capped == uncapped.scaled).all()


def test_grouped_heads_read_their_key_head():
    query, key, value = drawn(6, 3, 4), drawn(2, 5, 4, seed=1), drawn(2, 5, 2, seed=2)
    result = steps(query, key, value, sinks=np.arange(6.0), softcap=3)
    for h in range(6):
        alone = steps(query[h], key[h // 3], value[h // 3], sinks=[float(h)], softcap=3)
        picked = result.head(h)
        for name in ("key", "value", "sinks", "weights", "output", "lse", "masked"):
            assert getattr(picked, name) == pytest.approx(getattr(alone, name), rel=1e-14)
        assert picked.share() == pytest.approx(alone.share(), rel=1e-12)
        assert picked.gradient_size() == pytest.approx(result.gradient_size()[h], rel=1e-14)


def test_a_head_of_a_batch():
    result = steps(drawn(2, 4, 3, 5), drawn(2, 2, 3, 5), drawn(2, 2, 3, 1), sinks=drawn(4))
    assert (result.head(1, 3).value == result.value[1, 1]).all()
    assert (result.head(1, 3).weights == result.weights[1, 3]).all()
    assert result.head(1, 3).head().sinks.shape == (1,)
    with pytest.raises(InputError, match=r"names 1 axes .* expected head\(b, h\)"):
        result.head(1)
    with pytest.raises(InputError, match=r"outside the leading axes \(2, 4\)"):
        result.head(0, 4)


@pytest.mark.parametrize(
    ("queries", "keys", "value_dim"), [(0, 3, 2), (3, 0, 2), (0, 0, 2), (3, 3, 0), (1, 1, 1)]
)
def test_sizes_of_zero(queries, keys, value_dim):
    result = steps(drawn(2, queries, 4), drawn(2, keys, 4), drawn(2, keys, value_dim))
    assert result.output.shape == (2, queries, value_dim)
    assert result.weights.shape == result.share().shape == (2, queries, keys)
    assert result.gradient_size().shape == result.lse.shape == (2, queries)
    if keys == 0:
        assert (result.output == 0).all()
        assert (result.lse == -np.inf).all()
    none = steps(np.zeros((0, 3, 2)), np.zeros((0, 3, 2)), np.zeros((0, 3, 2)))
    assert none.output.shape == (0, 3, 2)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_against_torch_in_float64(scale):
    torch = pytest.importorskip("torch")
    q, k, v = drawn(2, 4, 9, 8), drawn(2, 2, 9, 8, seed=1), drawn(2, 2, 9, 3, seed=2)
    mine = steps(
        torch.tensor(q), torch.tensor(k), torch.tensor(v), mask=Mask(causal=True), scale=scale
    )
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *map(torch.tensor, (q, k, v)), is_causal=True, scale=scale, enable_gqa=True
    )
    assert mine.output == pytest.approx(theirs.numpy(), rel=1e-12, abs=1e-13)


def test_gradient_size_against_torch_autograd():
    torch = pytest.importorskip("torch")
    result = steps(drawn(3, 4), 3 * drawn(5, 4, seed=1), drawn(5, 2), softcap=2.0, sinks=[0.4])
    scores = torch.tensor(result.scores)

    def weights_of(row):
        capped = 2.0 * torch.tanh(row * 0.5 / 2.0)
        return torch.cat([capped, torch.tensor([0.4], dtype=torch.float64)]).softmax(0)[:-1]

    for i in range(3):
        jacobian = torch.autograd.functional.jacobian(weights_of, scores[i])
        assert result.gradient_size()[i] == pytest.approx(float(jacobian.norm()), rel=1e-12)


def test_without_the_division_the_gradient_is_gone():
    result = steps_from_scores(SCORES, d_k=64)
    assert result.gradient_size()[0] == pytest.approx(0.150 / 8, rel=0.003)
    # w = (1 - a - b, a, b) with a = e^-20, b = e^-30: to first order the Jacobian is
    # [[s, -a, -b], [-a, a, 0], [-b, 0, b]], s = a + b
    a, b = math.exp(-20), math.exp(-30)
    first_order = math.sqrt((a + b) ** 2 + 3 * a**2 + 3 * b**2)
    assert result.unscaled().gradient_size()[0] == pytest.approx(first_order, rel=1e-7, abs=0)
    assert result.unscaled().scale == 1
    far = steps_from_scores([[400.0, 0.0]], d_k=1).gradient_size()[0]
    assert far == pytest.approx(2 * math.exp(-400), rel=1e-12, abs=0)  # no digit lost to 1 - w


def test_project_multiplies_and_names_the_wrong_matrix():
    query, key, value = project([[1, 2]], [[1, 0], [0, 1]], [[2, 0], [1, 1]], [[3], [4]])
    assert query.tolist() == [[1, 2]]
    assert key.tolist() == [[4, 2]]
    assert value.tolist() == [[11]]
    with pytest.raises(InputError, match=r"w_key has shape \(3, 2\) and x has shape \(1, 2\)"):
        project([[1, 2]], np.ones((2, 2)), np.ones((3, 2)), np.ones((2, 2)))
    with pytest.raises(
        InputError, match=r"w_query has shape \(2, 2\) and w_key has shape \(2, 3\)"
    ):
        project([[1, 2]], np.ones((2, 2)), np.ones((2, 3)), np.ones((2, 2)))
    with pytest.raises(InputError, match=r"x has shape \(2,\)"):
        project([1, 2], np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2)))


ONE = np.ones((1, 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: steps([[1, 2], [3]], ONE, ONE), "query is no rectangle of numbers"),
        (lambda: steps([["a"]], ONE, ONE), r"query has dtype <U1: expected real numbers"),
        (lambda: steps(ONE * 1j, ONE, ONE), "query has dtype complex128"),
        (lambda: steps(ONE > 0, ONE, ONE), "query has dtype bool"),
        (lambda: steps([[10**400]], ONE, ONE), "query has dtype object"),
        (lambda: steps(ONE, ONE, [1.0]), r"value has 1 axes \(1,\)"),
        (lambda: steps(ONE, np.ones((1, 2)), ONE), "query has dim 1 and key has dim 2"),
        (lambda: steps(ONE, ONE, ONE, scale="big"), "scale is 'big': expected a finite number"),
        (lambda: steps(ONE, ONE, ONE, scale=math.nan), "scale is nan"),
        (lambda: steps(ONE, ONE, ONE, softcap=0), r"softcap is 0: expected a .*number above 0"),
        (lambda: steps(ONE, ONE, ONE, sinks=[1, 2]), r"sinks has shape \(2,\): expected \(1,\)"),
        (lambda: steps(ONE, ONE, ONE, dtype="int8"), "dtype is 'int8': expected 'float64'"),
        (lambda: steps(ONE, ONE, ONE, dtype="float16"), "dtype is 'float16'"),
        (lambda: steps(ONE, ONE, ONE, words="I"), r"words is the text 'I': expected a list"),
        (lambda: steps(ONE, ONE, ONE, words=["I", "am"]), "words of the queries are 2, 'I', 'am'"),
        (lambda: steps(ONE, ONE, ONE, words=[1]), "words of the queries are 1, 1"),
        (
            lambda: steps(ONE, np.ones((2, 1)), np.ones((2, 1)), words=["I"]),
            "words is one list, with 1 queries and 2 keys",
        ),
        (
            lambda: steps(ONE, np.ones((2, 1)), np.ones((2, 1)), words=(["I"], ["am"])),
            "words of the keys are 1, 'am': expected 2 strings",
        ),
        (lambda: steps_from_scores([1.0], d_k=4), r"scores has 1 axes \(1,\)"),
        (lambda: steps_from_scores(ONE, d_k=0), "d_k is 0: expected the number of columns"),
        (lambda: steps_from_scores(ONE, d_k=2.5), r"d_k is 2.5"),
        (
            lambda: steps_from_scores(ONE, d_k=1, value=np.ones((2, 1))),
            r"value has shape \(2, 1\) and scores has shape \(1, 1\)",
        ),
        (lambda: steps_from_scores(ONE, d_k=1).share(), "share needs the value vectors"),
        (lambda: steps(np.ma.masked_array(ONE, ONE > 0), ONE, ONE), "query is a masked array"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_tensors():
    torch = pytest.importorskip("torch")
    one = torch.ones(1, 1, requires_grad=True)
    with pytest.raises(InputError, match=r"key requires gradients.*key\.detach\(\)"):
        steps(ONE, one, ONE)
    half = torch.full((1, 2), 0.5, dtype=torch.bfloat16)
    mask = torch.tensor([[True, False]])
    result = steps(half, torch.eye(2), torch.eye(2, dtype=torch.float16), mask=mask)
    assert result.output.tolist() == [[1.0, 0.0]]
    with pytest.raises(InputError, match="bias requires gradients"):
        steps(ONE, ONE, ONE, mask=one)


def test_too_many_words_are_refused_before_they_take_memory():
    many = np.ones((100, 1))
    before = budget.memory_budget()
    budget.set_memory_budget(1000)
    try:
        with pytest.raises(MemoryBudgetError, match="seven matrices of 10000 numbers"):
            steps(many, many, many)
        with pytest.raises(MemoryBudgetError, match=r"regard\.attention\(\.\.\., ask="):
            steps_from_scores(np.ones((100, 100)), d_k=1)
    finally:
        budget.set_memory_budget(before)


def test_inputs_are_copied_and_float32_stays_float32():
    query = drawn(2, 3)
    result = steps(query, query, query, dtype="float32", softcap=2, sinks=[1], mask=drawn(2, 2))
    query[:] = 0
    assert (result.query != 0).all()
    for name, array in vars(result).items():
        if isinstance(array, np.ndarray):
            assert array.dtype == (bool if name == "seen" else np.float32), name
    for array in (result.share(), result.entropy(), result.gradient_size(), result.sink_weight()):
        assert array.dtype == np.float32


def test_words_of_both_sides():
    same = steps(ONE, ONE, ONE, words=["I"])
    assert same.words == (("I",), ("I",))
    both = steps(np.ones((2, 1)), np.ones((2, 1)), np.ones((2, 1)), words=("a", "b"))
    assert both.words == (("a", "b"), ("a", "b"))  # a tuple of two words is one list
    cross = steps(ONE, np.ones((2, 1)), np.ones((2, 1)), words=(["z"], ["a", "b"]))
    assert cross.words == (("z",), ("a", "b"))


@settings(max_examples=80)
@given(
    st.integers(0, 6), st.integers(0, 6), st.integers(1, 4), st.integers(1, 3),
    st.sampled_from([1e-3, 1.0, 40.0]), st.booleans(), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_what_always_holds(queries, keys, dim, heads, size, sinks, seed):
    generator = np.random.default_rng(seed)
    query, key = (size * generator.normal(size=(heads, n, dim)) for n in (queries, keys))
    value = generator.normal(size=(heads, keys, 2))
    allowed = generator.random((heads, queries, keys)) < 0.6
    sink = generator.normal(size=heads) if sinks else None
    result = steps(query, key, value, mask=allowed, sinks=sink)
    sees = allowed.any(axis=-1)
    total = result.weights.sum(axis=-1) + result.sink_weight()
    assert total == pytest.approx(np.where(sees | sinks, 1.0, 0.0), rel=1e-12)
    assert (result.weights[~allowed] == 0).all()
    with np.errstate(all="ignore"):
        again = np.where(allowed, np.exp(result.masked - result.lse[..., None]), 0)
    assert result.weights == pytest.approx(again, rel=1e-9, abs=1e-300)
    share = result.share().sum(axis=-1)
    sizeable = np.abs(result.output).max(axis=-1) > 1e-290  # a sink may leave a row nothing at all
    assert share[sizeable] == pytest.approx(np.ones(sizeable.sum()), rel=1e-6)
    for h, i in np.ndindex(heads, queries):
        weights, output, _ = row_in_loops(
            query[h, i], key[h] if keys else [], value[h] if keys else [[0, 0]],
            allowed[h, i].nonzero()[0], scale=dim**-0.5, sink=sink[h] if sinks else None,
        )  # fmt: skip
        assert result.weights[h, i] == pytest.approx(weights, rel=1e-9, abs=1e-300)
        assert result.output[h, i] == pytest.approx(output, rel=1e-9, abs=1e-12)
