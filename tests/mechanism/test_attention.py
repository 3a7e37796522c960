"""attention() and readings() on every case, in every dtype, against a dense exact computation."""

from __future__ import annotations

import numpy as np
import pytest

from accuracy import check_output, check_result, dense_of, four_axes
from cases import BACKENDS, CASES, DTYPES, backend_of, give, given_of, runs_in
from regard import Ask, BackendError, Mask, attention, readings, steps
from regard.mechanism import native


def everything(queries: int, keys: int, top: int = 5) -> Ask:
    """Every reading that shapes allow."""
    return Ask(
        top=top,
        share=True,
        entropy=True,
        lse=True,
        max_score=True,
        received=True,
        rows=range(0, queries, 9),
        columns=range(0, keys, 7),
        groups=(np.arange(keys) % 5 - 1, 6),
        thumbnail=6,
    )


@pytest.mark.parametrize(
    ("backend", "dtype"), [(b, d) for b in BACKENDS for d in DTYPES if runs_in(b, d)]
)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_output_and_every_reading(case, dtype, backend):
    given = give(case, dtype)
    ask = everything(case.query[-2], case.key[-2])
    with backend_of(backend) as named:
        output, read = attention(*given.arrays, **given.options, ask=ask, backend=named)
    assert read.backend == named
    check_result(output, read, given, ask)


@pytest.mark.parametrize(
    ("backend", "dtype"), [(b, d) for b in BACKENDS for d in DTYPES if runs_in(b, d)]
)
@pytest.mark.parametrize("ask", [Ask(), Ask(lse=True, max_score=True)], ids=["nothing", "cheap"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_where_no_whole_row_is_needed(case, ask, dtype, backend):
    """What then need not be kept, a backend may forget."""
    given = give(case, dtype)
    with backend_of(backend) as named:
        output, read = attention(*given.arrays, **given.options, ask=ask, backend=named)
    check_result(output, read, given, ask)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_readings_without_the_output_are_the_same(case, backend):
    given = give(case, "numpy float32")
    ask = everything(case.query[-2], case.key[-2])
    with backend_of(backend) as named:
        _, beside = attention(*given.arrays, **given.options, ask=ask, backend=named)
        alone = readings(*given.arrays, **given.options, ask=ask, backend=named)
    for name, numbers in vars(beside).items():
        if isinstance(numbers, np.ndarray):
            np.testing.assert_array_equal(getattr(alone, name), numbers, err_msg=name)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_output_agrees_with_steps(case):
    given = give(case, "numpy float32")
    spelled = steps(*given.exact, **given.exact_options)
    exact, _, _ = dense_of(given)
    two = (four_axes(spelled.weights, exact), exact.weights), (spelled.output, exact.output)
    for theirs, dense in two:  # the two oracles agree, so it does not matter which one is asked
        np.testing.assert_allclose(theirs.reshape(dense.shape), dense, rtol=1e-11, atol=1e-13)
    check_output(attention(*given.arrays, **given.options).output, given, exact)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_named_backend_runs_and_says_so(backend):
    q = np.ones((3, 4), np.float32)
    with backend_of(backend) as named:
        assert attention(q, q, q, backend=named).readings.backend == named
        assert attention(q, q, q).readings.backend == "native" if native.is_built() else "loop"


def test_a_named_backend_never_falls_back():
    q = np.ones((3, 4))
    with pytest.raises(BackendError, match="backend 'native'"):
        attention(q, q, q, backend="native")


def test_inputs_are_left_as_they_were():
    given = give(next(case for case in CASES if case.name == "everything at once"), "numpy float32")
    before = [array.copy() for array in given.arrays]
    attention(*given.arrays, **given.options, ask=everything(63, 100))
    for array, copy in zip(given.arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_result_has_memory_of_its_own(dtype):
    given = give(CASES[3], dtype)
    first = attention(*given.arrays, ask=Ask(lse=True, rows=[0]))
    lse, rows = first.readings.lse, first.readings.rows
    before = [lse + 0, rows + 0]
    attention(*(array * 2 for array in given.arrays), ask=Ask(lse=True, rows=[0]))
    assert bool((lse == before[0]).all())
    assert bool((rows == before[1]).all())


COURSES = {
    "rising": np.linspace(-40, 40, 1500),
    "falling": np.linspace(40, -40, 1500),
    "a spike": np.where(np.arange(1500) == 777, 40, 0),
    "in steps": np.arange(1500) // 500 * 30.0,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["torch float32", "torch bfloat16"])
@pytest.mark.parametrize("with_sinks", [False, True])
@pytest.mark.parametrize("course", COURSES)
def test_scores_of_hundreds_along_a_row(course, with_sinks, dtype, backend):
    """However late the largest score comes, what was weighed before it ends up right."""
    rng = np.random.default_rng(5)
    along = np.eye(8)[0]
    query = rng.normal(size=(4, 20, 8)) + 9 * along
    key = rng.normal(size=(2, 1500, 8)) + COURSES[course][:, None] * along
    drawn = [query, key, rng.normal(size=(2, 1500, 5))]
    sinks = np.array([90.0, -90.0, 0.0, -np.inf]) if with_sinks else None
    given = given_of(drawn, Mask(causal=True, offset=1480), None, None, sinks, dtype)
    for ask in (everything(20, 1500), Ask(entropy=True, lse=True, max_score=True)):
        with backend_of(backend) as named:
            output, read = attention(*given.arrays, **given.options, ask=ask, backend=named)
        check_result(output, read, given, ask)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["torch float32", "torch bfloat16"])
@pytest.mark.parametrize("queries", [1, 8, 40])
@pytest.mark.parametrize("mask", ["none", "causal", "window", "allowed", "steep"])
def test_few_queries_and_many_keys(mask, queries, dtype, backend):
    """A decode, and a panel beside it.

    steep: no mask, but scores that grow to hundreds, and sinks.
    """
    rng = np.random.default_rng(queries)
    keys, offset = 9000, 9000 - queries
    drawn = [rng.normal(size=(4, queries, 12)), rng.normal(size=(2, keys, 12))]
    drawn.append(rng.normal(size=(2, keys, 7)))
    seen = {
        "none": Mask(),
        "causal": Mask(causal=True, offset=offset),
        "window": Mask(window=(3000, 5), offset=offset),
        "allowed": Mask(allowed=rng.random((queries, keys)) < 0.3),
        "steep": Mask(),
    }[mask]
    sinks = None
    if mask == "steep":
        drawn[1] *= np.linspace(0, 60, keys)[:, None]
        sinks = np.array([90.0, -90.0, 0.0, -np.inf])
    given = given_of(drawn, seen, None, None, sinks, dtype)
    for ask in (everything(queries, keys), Ask(entropy=True, lse=True, max_score=True)):
        with backend_of(backend) as named:
            output, read = attention(*given.arrays, **given.options, ask=ask, backend=named)
        check_result(output, read, given, ask)


@pytest.mark.parametrize("backend", BACKENDS)
def test_sums_over_many_keys_keep_what_plain_code_keeps(backend):
    """A result and a row's total, of 20 000 terms each: about as far off as plain code."""
    rng = np.random.default_rng(0)
    drawn = [array.astype(np.float32) for array in rng.normal(size=(3, 20000, 64))]
    drawn[0] = drawn[0][:100]

    def computed(dtype: type) -> tuple[np.ndarray, np.ndarray]:
        query, key, value = (array.astype(dtype) for array in drawn)
        powers = np.exp(query @ key.T / 8)
        total = powers.sum(1, keepdims=True)
        return powers / total @ value, powers / total

    with backend_of(backend) as named:
        output, read = attention(*drawn, ask=Ask(rows=range(100)), backend=named)
    exact, plain = computed(np.float64), computed(np.float32)
    for ours, right, fair in zip((output, read.rows), exact, plain, strict=True):
        off, allowed = (np.linalg.norm(x - right) for x in (ours, fair))
        assert off <= 1.5 * allowed, f"{off / allowed:.2f} times as far off as plain code"


@pytest.mark.parametrize("score", [58.0, -58.0, 0.0])
@pytest.mark.parametrize("size", [1e30, 1e13, 1e-13, 1e-30])
def test_values_of_any_size(score, size):
    """Whether or not scores are shifted, e^score times a value must neither over- nor underflow."""
    q, key = np.ones((3, 1), np.float32), np.full((4, 1), score, np.float32)
    value = np.full((4, 1), size, np.float32)
    output, _ = attention(q, key, value, scale=1.0)
    np.testing.assert_allclose(output, np.full((3, 1), size), rtol=1e-6)
