"""The panel loop: cuts a call into panels, computes and reads each, never holds n x n.

One text for NumPy and torch, over the dialect in `arrays`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import local
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.mechanism.call import Call, check
from regard.mechanism.panel import Scratch, mix, weigh
from regard.mechanism.reader import Reader
from regard.mechanism.readings import AttentionResult, FlatAsk, Readings
from regard.mechanism.threads import num_threads, one_thread_blas, run_all

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

    from regard.mechanism.sight import Rows

PANEL_NUMBERS: Final = 2**20
"""Scores in a panel: 4 MiB of float32, small enough for the last cache, large enough that
packing the keys anew for each panel and the calls into NumPy weigh little. Never under 64 rows:
at 65 536 keys that is 1.4 times as fast as 16."""

_TASKS: Final = 64
"""Pieces of work wanted in all, and so the most threads that can help."""

_SMALL: Final = 2**26
"""Multiplications under which a call stays on the caller's thread: to start others costs more."""


@dataclass(frozen=True)
class Cut:
    """Rows of one panel, which of them are read (None: all), and where their readings go."""

    rows: Rows
    read: Int64[np.ndarray, " read"] | None
    places: Int64[np.ndarray, " read"]


def attend(call: Call, ask: FlatAsk) -> AttentionResult:
    """Every row of the result, and the readings of the asked ones."""
    arrays, sizes = call.arrays, call.sizes
    output = arrays.blank(call.query, sizes.batch, sizes.heads, sizes.queries, sizes.value_dim)
    reader = _run(call, ask, _cut_all(call, ask), output)
    output = output.reshape((*sizes.leading, sizes.queries, sizes.value_dim))
    return AttentionResult(arrays.give(output), reader.readings("loop"))


def read(call: Call, ask: FlatAsk) -> Readings:
    """The readings of the asked rows; no other row is computed, and no result."""
    return _run(call, ask, _cut_asked(call, ask), None).readings("loop")


@dataclass(frozen=True, eq=False)
class Panel:
    """Some consecutive query rows of one head, with all the keys they may see.

    weights: `(stop - start, keys.stop - keys.start)`, in the accumulating dtype; outside `keys`
        every weight of these rows is 0. lse: `(stop - start,)`, natural log-sum-exp.
    """

    batch: int
    head: int
    start: int
    stop: int
    keys: slice
    weights: Float[Any, "rows keys"]
    lse: Float[Any, " rows"]


def panels(
    query: Float[Any, "*leading queries dim"],
    key: Float[Any, "*leading keys dim"],
    *,
    mask: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Float[Any, " heads"] | None = None,
    panel_rows: int | None = None,
) -> Iterator[Panel]:
    """The weights, panel after panel, for readings of your own.

    Arguments as for `regard.attention`. panel_rows: query rows in a panel; None chooses by the
    number of keys. Panels come by batch item, head and row; each holds arrays of its own.
    Raises InputError, at the call and not at the first panel.
    """
    call = check(query, key, None, mask=mask, scale=scale, softcap=softcap, sinks=sinks)
    if panel_rows is not None and (
        isinstance(panel_rows, bool) or not isinstance(panel_rows, int) or panel_rows < 1
    ):
        raise InputError(f"panel_rows is {panel_rows!r}: expected a whole number, 1 or more.")
    return _panels(call, panel_rows or rows_of_panel(call.sizes.keys))


def _panels(call: Call, panel_rows: int) -> Iterator[Panel]:
    sizes = call.sizes
    for batch in range(sizes.batch):
        for head in range(sizes.heads):
            for start in range(0, sizes.queries, panel_rows):
                stop = min(start + panel_rows, sizes.queries)
                scratch = Scratch(call.arrays)
                with call.arrays.quiet():
                    weighed = weigh(call, batch, head, slice(start, stop), scratch)
                    weights = weighed.exponentials
                    weights /= weighed.total
                keys = slice(weighed.sight.start, weighed.sight.stop)
                given = [call.arrays.give(array) for array in (weights, weighed.lse[:, 0])]
                yield Panel(batch, head, start, stop, keys, *given)


def rows_of_panel(keys: int) -> int:
    """Query rows in a panel over `keys` keys."""
    return max(64, min(256, PANEL_NUMBERS // max(keys, 1) // 16 * 16))


def _run(call: Call, ask: FlatAsk, cuts: list[Cut], output: Any | None) -> Reader:
    """Compute and read all panels of all heads. Work is cut by shape alone, never by threads."""
    sizes = call.sizes
    heads = sizes.batch * sizes.heads
    runs = min(max(1, min(16, _TASKS // max(heads, 1))), max(len(cuts), 1))
    edges = [len(cuts) * run // runs for run in range(runs + 1)]
    reader = Reader(call, ask, runs)
    mine = local()

    def work(task: tuple[int, int, int]) -> None:
        batch, head, run = task
        if not hasattr(mine, "scratch"):
            mine.scratch = Scratch(call.arrays)
        with call.arrays.quiet():
            for cut in cuts[edges[run] : edges[run + 1]]:
                _do(call, reader, batch, head, run, cut, output, mine.scratch)

    tasks = [
        (batch, head, run)
        for batch in range(sizes.batch)
        for head in range(sizes.heads)
        for run in range(runs)
    ]
    computed = sum(len(_row_numbers(cut.rows)) for cut in cuts)
    # worked out here, once, before several threads ask for them at the same time
    _ = call.key, call.values, call.largest_value, call.longest_key, call.eyes
    small = heads * computed * sizes.keys * (sizes.dim + sizes.value_dim) < _SMALL
    threads = 1 if small or call.arrays.threaded else num_threads()
    with one_thread_blas():
        run_all(work, tasks, threads)
    return reader


def _do(
    call: Call,
    reader: Reader,
    batch: int,
    head: int,
    run: int,
    cut: Cut,
    output: Any | None,
    scratch: Scratch,
) -> None:
    """One panel: weigh, mix, write, read."""
    reads = len(cut.places) > 0
    weighed = weigh(
        call,
        batch,
        head,
        cut.rows,
        scratch,
        want_largest=reads and reader.wants_largest,
        want_moment=reads and reader.wants_moment,
    )
    result = None
    if output is not None or (reads and reader.wants_result):
        result = mix(call, batch, head, weighed)
    if output is not None:
        output[batch, head][cut.rows] = call.arrays.like(result, output)
    if reads and cut.read is not None:
        weighed = weighed.pick(cut.read)
        result = None if result is None else result[cut.read]
    if reads:
        reader.read(batch, head, run, weighed, cut.places, result)


def _cut_all(call: Call, ask: FlatAsk) -> list[Cut]:
    """Panels over every query; each knows which of its rows were asked for."""
    order = np.argsort(ask.queries, kind="stable")
    asked = ask.queries[order]
    size = rows_of_panel(call.sizes.keys)
    cuts = []
    for start in range(0, call.sizes.queries, size):
        stop = min(start + size, call.sizes.queries)
        first, last = np.searchsorted(asked, (start, stop))
        whole = last - first == stop - start
        read = None if whole else asked[first:last] - start
        cuts.append(Cut(slice(start, stop), read, order[first:last]))
    return cuts


def _cut_asked(call: Call, ask: FlatAsk) -> list[Cut]:
    """Panels over the asked queries only, in ascending order."""
    order = np.argsort(ask.queries, kind="stable")
    asked = ask.queries[order]
    size = rows_of_panel(call.sizes.keys)
    cuts = []
    for start in range(0, len(asked), size):
        rows = asked[start : start + size]
        together = int(rows[-1]) - int(rows[0]) + 1 == len(rows)
        cuts.append(
            Cut(
                slice(int(rows[0]), int(rows[-1]) + 1) if together else rows,
                None,
                order[start : start + size],
            )
        )
    return cuts


def _row_numbers(rows: Rows) -> range | Int64[np.ndarray, " rows"]:
    return range(rows.start, rows.stop) if isinstance(rows, slice) else rows
