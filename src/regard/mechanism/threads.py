"""How many threads work, and BLAS held to one thread each while they do."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

from regard.errors import InputError

_chosen: int | None = None


def num_threads() -> int:
    """How many threads a long call uses: as set, else OMP_NUM_THREADS, else the usable cores."""
    return _usual() if _chosen is None else _chosen


@cache
def _usual() -> int:
    # asked for once, as OpenMP does: the system takes as long to tell as a short call's Python
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_num_threads(threads: int) -> None:
    """Use `threads` threads in long calls from now on. Results do not depend on it."""
    global _chosen
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InputError(f"threads is {threads!r}: expected a whole number, 1 or more.")
    _chosen = threads


@cache
def _blas() -> ThreadpoolController:
    # finding the loaded libraries takes milliseconds; NumPy's BLAS is there once NumPy is
    return ThreadpoolController().select(user_api="blas")


_lock = Lock()
_inside = 0
_limit: Any = None


@contextmanager
def one_thread_blas() -> Iterator[None]:
    """Hold BLAS to one thread; counted, so that the last of several overlapping calls frees it.

    The limit is one for the whole process: without the count, the first call to end would give
    the other its threads back, and two calls could restore each other's limit.
    """
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _take_control()
            _limit = _blas().limit(limits=1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _take_control()
                _limit.restore_original_limits()
                _limit = None
                _take_control()


def _take_control() -> None:
    """Let this thread set the limit, and after it any other.

    From 3.7 on, threadpoolctl heeds only the first thread that ever set OpenBLAS's limit: a call
    from another thread would run without one, and a call that outlives its neighbour would leave
    the process with one thread. The count above is what keeps calls from fighting over it.
    """
    for library in _blas().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


def run_all(work: Callable[[Any], None], tasks: Sequence[Any], threads: int) -> None:
    """Do `work` on every task, on the caller's thread and up to `threads` - 1 more.

    The first error (or Ctrl-C) drops the tasks not yet begun and is raised.
    """
    left = deque(tasks)

    def drain() -> None:
        while True:
            try:
                task = left.popleft()
            except IndexError:
                return
            try:
                work(task)
            except BaseException:
                left.clear()
                raise

    more = min(threads, len(tasks)) - 1
    if more < 1:
        drain()
        return
    pool = ThreadPoolExecutor(more, thread_name_prefix="regard")
    try:
        others = [pool.submit(drain) for _ in range(more)]
        drain()
        for other in others:
            other.result()
    finally:
        left.clear()
        pool.shutdown(wait=True)
