"""Threads change nothing but the time; BLAS is held to one thread each, and always let go."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from regard import Ask, InputError, Mask, attention, num_threads, set_num_threads
from regard.mechanism import arrays, threads

EVERYTHING = Ask(
    top=4, share=True, entropy=True, lse=True, max_score=True, received=True, thumbnail=5,
    rows=[0, 500], columns=[7], groups=(np.arange(1100) % 3, 3),
)  # fmt: skip


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.setattr(threads, "_chosen", None)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with threadpool_limits(2, user_api="blas"):
        yield
        assert blas_threads() == {2}


def blas_threads():
    """How many threads each BLAS in the process may use now."""
    return {
        lib["num_threads"] for lib in ThreadpoolController().info() if lib["user_api"] == "blas"
    }


def long_call(**rest):
    """Long enough for threads to be started: 2 heads, 3 panels or more each."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 1100, 32)).astype(np.float32)
    return attention(x, x[:1], x[:1], **rest)


def test_results_are_the_same_bit_by_bit():
    found = {}
    for count in (1, 2, 3, 5):
        set_num_threads(count)
        for mask in (None, Mask(causal=True), Mask(window=(99, 0))):
            output, read = long_call(mask=mask, ask=EVERYTHING)
            numbers = {"output": output, **vars(read)}
            first = found.setdefault(str(mask), numbers)
            for name, array in numbers.items():
                if isinstance(array, np.ndarray):
                    assert array.tobytes() == first[name].tobytes(), (name, count)


def test_threads_are_used(monkeypatch):
    names = set()
    multiply = arrays.NumpyArrays.matmul

    def matmul(*args, **rest):
        names.add(threading.current_thread().name)
        return multiply(*args, **rest)

    monkeypatch.setattr(arrays.NumpyArrays, "matmul", matmul)
    set_num_threads(1)
    long_call()
    assert names == {threading.current_thread().name}
    names.clear()
    set_num_threads(3)
    long_call()
    assert 2 <= len(names) <= 3


def test_how_many(monkeypatch):
    usable = num_threads()
    assert usable >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert num_threads() == 3
    for other in ("0", "", "many", "-2"):
        monkeypatch.setenv("OMP_NUM_THREADS", other)
        assert num_threads() == usable
    set_num_threads(5)
    assert num_threads() == 5


@pytest.mark.parametrize("count", [0, -1, 2.0, True, "2", None])
def test_how_many_must_be_a_whole_number(count):
    with pytest.raises(InputError, match=r"threads is .*: expected a whole number, 1 or more"):
        set_num_threads(count)


def in_matmul(monkeypatch, do):
    """Have `do` called in every matrix product of a call."""
    multiply = arrays.NumpyArrays.matmul

    def matmul(self, left, right, out):
        do()
        return multiply(self, left, right, out)

    monkeypatch.setattr(arrays.NumpyArrays, "matmul", matmul)


def test_blas_has_one_thread_inside_and_its_own_after(monkeypatch):
    seen = set()
    in_matmul(monkeypatch, lambda: seen.update(blas_threads()))
    x = np.ones((8, 4))
    attention(x, x, x)
    assert seen == {1}
    assert blas_threads() == {2}


def test_overlapping_calls_leave_the_limit_as_it_was(monkeypatch):
    """The first call ends while the second is inside: the second must keep its one thread."""
    second_inside, first_done = threading.Event(), threading.Event()
    seen = []

    def meet():
        if threading.current_thread().name.startswith("first"):
            assert second_inside.wait(10)
        else:
            second_inside.set()
            assert first_done.wait(10)
            seen.append(blas_threads())

    in_matmul(monkeypatch, meet)
    x = np.ones((8, 4))
    first = ThreadPoolExecutor(1, "first")
    second = ThreadPoolExecutor(1, "second")
    one = first.submit(attention, x, x, x)
    two = second.submit(attention, x, x, x)
    one.result()
    assert blas_threads() == {1}  # the other is still inside
    first_done.set()
    two.result()
    assert set(map(frozenset, seen)) == {frozenset({1})}
    assert blas_threads() == {2}


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError, MemoryError])
@pytest.mark.parametrize("count", [1, 3])
def test_an_error_or_ctrl_c_leaves_everything_as_it_was(monkeypatch, error, count):
    set_num_threads(count)
    calls, running = [], threading.active_count()
    with monkeypatch.context() as patch:

        def fail():
            calls.append(1)
            if len(calls) == 4:
                raise error

        in_matmul(patch, fail)
        x = np.ones((2, 4100, 8), np.float32)  # 34 panels of three products
        with pytest.raises(error):
            attention(x, x, x)
    assert len(calls) < 60  # the tasks not yet begun were dropped
    assert blas_threads() == {2}
    assert threading.active_count() == running
    assert np.isfinite(long_call().output).all()


def test_ctrl_c_while_the_caller_waits(monkeypatch):
    """The signal arrives in the thread that waits for the pool, not in a worker."""
    set_num_threads(2)
    running = threading.active_count()
    waited = []

    def interrupted(self, timeout=None):
        waited.append(1)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("concurrent.futures.Future.result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            long_call()
    assert waited
    assert blas_threads() == {2}
    assert threading.active_count() == running


def test_calls_from_several_threads():
    set_num_threads(2)
    alone = long_call(ask=EVERYTHING)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: long_call(ask=EVERYTHING), range(6)))
    for output, read in together:
        assert output.tobytes() == alone.output.tobytes()
        for name, array in vars(read).items():
            if isinstance(array, np.ndarray):
                assert array.tobytes() == getattr(alone.readings, name).tobytes(), name
    assert blas_threads() == {2}
