"""The kernel's Problem holds other people's memory, and only what it can use."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from regard.mechanism import native

pytestmark = pytest.mark.skipif(
    not native.is_built(), reason="regard was installed without a compiler"
)


def test_memory_lives_as_long_as_the_problem():
    problem = native._kernels().Problem()
    array = np.zeros(3, np.int64)
    lives = weakref.ref(array)
    problem.offset = array
    del array
    assert lives() is not None
    del problem
    assert lives() is None


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("query", np.zeros((2, 3, 4), np.float32), "expected an array with four axes"),
        ("offset", np.zeros(4, np.int64)[::2], "not C-contiguous"),
        ("output", np.frombuffer(bytes(8), np.float32), "read-only"),
    ],
)
def test_memory_that_does_not_fit(name, array, words):
    with pytest.raises(ValueError, match=words):
        setattr(native._kernels().Problem(), name, array)
