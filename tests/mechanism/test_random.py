"""Anything that can be asked, drawn at random, against a dense exact computation."""

from __future__ import annotations

import os

import numpy as np
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from accuracy import check_result
from cases import BACKENDS, backend_of, given_of, runs_in
from regard import Ask, Mask, attention, readings

ODD = (np.nan, np.inf, -np.inf)

bounded = settings(
    max_examples=int(os.environ.get("REGARD_EXAMPLES", "2000")),
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""How many calls are drawn, under CI always the same; more by hand: REGARD_EXAMPLES=5000."""


@st.composite
def shapes(draw):
    """Shapes of query, key and value; lengths near the edges of blocks, and 0, now and then."""
    length = st.one_of(st.integers(0, 12), st.sampled_from([15, 16, 17, 31, 33, 63, 65, 100]))
    queries, keys = draw(length), draw(length)
    if draw(st.booleans()):
        keys = queries
    dim, value_dim = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    axes = draw(st.integers(2, 4))
    group, kv_heads = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    lead = (draw(st.integers(1, 2)),) if axes == 4 else ()
    of_query = (*lead, group * kv_heads) if axes > 2 else ()
    of_key = (*lead, kv_heads) if axes > 2 else ()
    return (*of_query, queries, dim), (*of_key, keys, dim), (*of_key, keys, value_dim)


@st.composite
def masks(draw, sizes, rng):
    """A mask with any of its parts."""
    batch, heads, queries, keys = sizes
    side = st.one_of(st.none(), st.integers(-4, 8), st.integers(-2, 120))
    edge = st.integers(-5, keys + 5)
    per_item = st.booleans()

    def numbers(one):
        return draw(st.lists(one, min_size=batch, max_size=batch)) if draw(per_item) else draw(one)

    parts = {"offset": numbers(edge), "causal": draw(st.booleans())}
    if draw(st.booleans()):
        parts["window"] = (draw(side), draw(side))
    if draw(st.booleans()):
        parts["lengths"] = numbers(st.integers(0, keys))
    if draw(st.booleans()):
        labels = [rng.integers(-1, 3, (batch, n) if draw(per_item) else n) for n in (queries, keys)]
        if draw(st.booleans()):
            labels = [np.sort(label) for label in labels]  # packed documents after padding
        parts["segments"] = tuple(labels)
    for name in ("allowed", "bias"):
        if draw(st.booleans()):
            full = (batch, heads, queries, keys)[draw(st.integers(0, 3)) :]
            shape = tuple(1 if size and draw(st.integers(0, 3)) == 0 else size for size in full)
            hidden = rng.random(shape) < draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))
            parts[name] = ~hidden if name == "allowed" else np.where(
                hidden, -np.inf, rng.normal(size=shape) * draw(st.sampled_from([1, 30]))
            )  # fmt: skip
    return Mask(**parts)


@st.composite
def asks(draw, queries, keys):
    """Readings of all or some rows."""
    few = st.lists(st.integers(0, max(queries - 1, 0)), unique=True, max_size=5 if queries else 0)
    chosen = draw(
        st.one_of(
            st.none(),
            st.just("last"),
            few,
            st.builds(slice, st.integers(-9, 9), st.integers(-9, 99), st.sampled_from([1, 3, -1])),
        )
    )
    every = np.arange(queries)
    asked = every if chosen is None else every[-1:] if chosen == "last" else (
        every[chosen] if isinstance(chosen, slice) else np.array(chosen, int)
    )  # fmt: skip
    columns = st.lists(st.integers(0, max(keys - 1, 0)), unique=True, max_size=4 if keys else 0)
    groups = draw(st.one_of(st.none(), st.integers(0, 4)))
    top = draw(st.sampled_from([0, 1, 3, 8, keys + 2]))
    return Ask(
        queries=chosen,
        top=top,
        share=top > 0 and draw(st.booleans()),
        entropy=draw(st.booleans()),
        lse=draw(st.booleans()),
        max_score=draw(st.booleans()),
        received=draw(st.booleans()),
        rows=asked[:: draw(st.integers(1, 3))][:4] if draw(st.booleans()) else (),
        columns=draw(columns),
        groups=None if groups is None else (np.arange(keys) * 7 % (groups + 1) - 1, groups),
        thumbnail=draw(st.sampled_from([0, 1, 2, 7, 40])),
    )


@st.composite
def calls(draw):
    """A call with everything that changes its numbers, and what to read of it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(shapes())
    size = draw(st.sampled_from([1.0, 1.0, 0.0, 10.0]))  # constant rows; scores in the hundreds
    arrays = [rng.normal(size=shape[0]) * size, rng.normal(size=shape[1]) * max(size, 1)]
    arrays.append(rng.normal(size=shape[2]) * draw(st.sampled_from([1.0, 1.0, 1e-3, 1e3])))
    if draw(st.booleans()):  # whole numbers: exact sums and true ties
        arrays = [np.rint(array) for array in arrays]
    for array, times in zip(arrays, draw(st.tuples(*[st.integers(0, 2)] * 3)), strict=True):
        if draw(st.integers(0, 3)) == 0 and array.size:
            array.flat[rng.integers(array.size, size=times)] = draw(st.sampled_from(ODD))
    heads = shape[0][-3] if len(shape[0]) > 2 else 1
    batch = shape[0][0] if len(shape[0]) == 4 else 1
    queries, keys = shape[0][-2], shape[1][-2]
    mask = draw(masks((batch, heads, queries, keys), rng))
    sinks = None
    if draw(st.booleans()):
        sinks = rng.normal(size=heads) * size
        sinks[rng.random(heads) < 0.2] = -np.inf
    options = (
        draw(st.sampled_from([None, None, 0.25, -1.0])),
        draw(st.sampled_from([None, None, 4.0, 50.0])),
        sinks,
    )
    return (arrays, mask, *options), draw(asks(queries, keys))


DTYPES = ("numpy float32", "numpy float64", "numpy float16", "torch float32", "torch bfloat16")


@bounded
@given(calls(), st.sampled_from(DTYPES), st.sampled_from(BACKENDS), st.booleans())
def test_any_call(call, dtype, backend, without_output):
    numbers, ask = call
    assume(runs_in(backend, dtype))
    passed = given_of(*numbers, dtype)
    with backend_of(backend) as named:
        if without_output:
            read = readings(*passed.arrays, **passed.options, ask=ask, backend=named)
            check_result(None, read, passed, ask)
        else:
            output, read = attention(*passed.arrays, **passed.options, ask=ask, backend=named)
            check_result(output, read, passed, ask)
