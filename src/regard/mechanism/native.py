"""Calls the compiled kernel: what it can serve, a call written out as plain numbers, its results.

The kernel takes float32, float16 and bfloat16 in the processor's memory, laid out in any way;
float64 and other devices stay with the loop.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import BackendError
from regard.mechanism.arrays import dtype_name
from regard.mechanism.mask import UNLIMITED
from regard.mechanism.readings import AttentionResult, FlatAsk, Readings, reading_shapes
from regard.mechanism.threads import num_threads

if TYPE_CHECKING:
    from jaxtyping import Int64

    from regard.mechanism.call import Call

NUMBERS: Final = {"float32": 0, "float16": 1, "bfloat16": 2}
"""The dtypes that the kernel takes, and what it calls them."""

_WHERE: Final = {"rows": "rows_kept", "columns": "columns_kept", "thumbnail": "small"}
"""Readings whose place in the kernel's Problem has another name."""

_WRITTEN_IN_PART: Final = ("rows", "columns", "group_mass", "thumbnail")


@cache
def _kernels() -> Any:
    """The extension module, None where it was not built."""
    try:
        kernels = import_module("regard._kernels")
    except ImportError:
        return None
    # without the module, the folder of its sources is what Python finds in a source tree
    return kernels if hasattr(kernels, "run") else None


def is_built() -> bool:
    """Whether the kernel was compiled when regard was installed."""
    return _kernels() is not None


def instruction_sets() -> list[str]:
    """The variants of the kernel that this processor can execute, the fastest first."""
    return list(_kernels().usable()) if is_built() else []


def instruction_set() -> str | None:
    """The variant that runs; None if not built.

    The one that REGARD_ISA names, else the fastest that this processor executes.

    Raises BackendError for a REGARD_ISA that this processor cannot execute.
    """
    if not is_built():
        return None
    try:
        return str(_kernels().chosen())
    except ValueError as error:
        raise BackendError(f"{error} Unset it, or name one of those.") from None


def refusal(call: Call) -> str | None:
    """Why the kernel cannot serve a call; None where it can."""
    dtype = dtype_name(call.query)
    if dtype not in NUMBERS:
        return f"the arrays are {dtype}, and it takes {', '.join(NUMBERS)}"
    device = getattr(call.arrays, "device", None)
    if device is not None:
        return f"the arrays are on {device}, and it takes those in the processor's memory"
    if not is_built():
        return "regard was installed without a C++ compiler: install one, then regard again"
    return None


def check_serves(call: Call) -> None:
    """Raise BackendError, saying why, if the kernel cannot serve a call."""
    why = refusal(call)
    if why:
        raise BackendError(f"backend 'native' cannot serve: {why}. Use 'auto' or 'loop'.")


def attend(call: Call, ask: FlatAsk) -> AttentionResult:
    """Every row of the result, and the readings of the asked ones."""
    sizes, arrays = call.sizes, call.arrays
    output = arrays.blank(call.query, *sizes.leading, sizes.queries, sizes.value_dim)
    rows = np.arange(sizes.queries)
    places = np.full(sizes.queries, -1)
    if reading_shapes(ask, sizes):
        places[ask.queries] = np.arange(len(ask.queries))
    readings = _run(call, ask, rows, places, output)
    return AttentionResult(arrays.give(output), readings)


def read(call: Call, ask: FlatAsk) -> Readings:
    """The readings of the asked rows; no other row is computed, and no result."""
    order = np.argsort(ask.queries, kind="stable")
    return _run(call, ask, ask.queries[order], order, None)


def _run(
    call: Call,
    ask: FlatAsk,
    rows: Int64[np.ndarray, " rows"],
    places: Int64[np.ndarray, " rows"],
    output: Any | None,
) -> Readings:
    kernels = _kernels()
    problem = kernels.Problem()
    _write_arrays(problem, call)
    if output is not None:
        problem.output = _memory(output)
    if call.sizes.value_dim and (output is not None or ask.share):
        problem.value = _memory(call.given_value)
    _write_mask(problem, call)
    _write_ask(problem, ask, call.sizes.keys)
    problem.rows, problem.row_query, problem.row_place = len(rows), rows, places
    problem.threads = num_threads()
    filled = _room_for_readings(problem, call, ask)
    try:
        kernels.run(problem)
    except ValueError as error:
        raise BackendError(f"{error} Unset it, or name one of those.") from None
    if "thumbnail" in filled:
        blocks = np.arange(len(ask.queries)) * ask.thumbnail // max(len(ask.queries), 1)
        rows_of = np.bincount(blocks, minlength=ask.thumbnail).clip(1)
        filled["thumbnail"] /= rows_of.astype(np.float32)[:, None]
    given = {name: call.arrays.give(array) for name, array in filled.items()}
    return Readings(backend="native", queries=ask.queries, **given)


def _write_arrays(problem: Any, call: Call) -> None:
    """Fill in the sizes, and what scores are made of."""
    for name in ("batch", "heads", "kv_heads", "queries", "keys", "dim", "value_dim"):
        setattr(problem, name, getattr(call.sizes, name))
    problem.number = NUMBERS[dtype_name(call.query)]
    problem.query, problem.key = _memory(call.query), _memory(call.given_key)
    problem.scale, problem.softcap = call.scale, call.softcap or 0.0
    if call.sinks is not None:
        problem.sinks = call.sinks.astype(np.float32)


def _write_mask(problem: Any, call: Call) -> None:
    """Fill in which keys a query may see."""
    mask = call.mask
    problem.left, problem.right, problem.unlimited = mask.left, mask.right, UNLIMITED
    problem.offset, problem.lengths = mask.offset, mask.lengths
    if mask.query_segments is not None:
        problem.query_segments, problem.key_segments = mask.query_segments, mask.key_segments
        # (batch, 2, queries), said in full: of no queries nothing else would tell it
        reach = np.array(call.eyes.reach, np.int64).reshape(call.sizes.batch, 2, call.sizes.queries)
        problem.first_key, problem.last_key = np.ascontiguousarray(reach.swapaxes(0, 1))
    if mask.allowed is not None:
        problem.allowed = _memory(mask.allowed)
    if mask.bias is not None:
        problem.bias, problem.bias_number = _memory(mask.bias), NUMBERS[dtype_name(mask.bias)]


def _write_ask(problem: Any, ask: FlatAsk, keys: int) -> None:
    """Fill in what is read of the asked rows."""
    problem.asked, problem.top, problem.thumbnail = len(ask.queries), ask.top, ask.thumbnail
    if len(ask.rows):
        kept_at = np.full(len(ask.queries), -1)
        kept_at[ask.rows] = np.arange(len(ask.rows))
        problem.kept, problem.kept_at = len(ask.rows), kept_at
    if len(ask.columns):
        problem.column_count, problem.columns = len(ask.columns), ask.columns
    if ask.labels is not None:
        # runs of keys of one label are summed at once
        starts = np.flatnonzero(np.diff(ask.labels, prepend=-2))
        problem.span_start = np.append(starts, keys)
        problem.span_group = ask.labels[starts].astype(np.int64)
        problem.spans, problem.groups = len(starts), ask.groups


def _room_for_readings(problem: Any, call: Call, ask: FlatAsk) -> dict[str, Any]:
    """Memory for every reading asked for, which the problem names too."""
    leading = call.sizes.leading
    filled: dict[str, Any] = {}
    for name, shape in reading_shapes(ask, call.sizes).items():
        whole = (*leading, *shape)
        if name in ("top_index", "eligible"):
            filled[name] = np.empty(whole, np.int32)
        elif name in _WRITTEN_IN_PART:
            filled[name] = np.zeros(whole, np.float32)
        else:
            filled[name] = call.arrays.empty(*whole)
        setattr(problem, _WHERE.get(name, name), filled[name])
    return filled


def _memory(array: Any) -> np.ndarray:
    """The same memory as a NumPy array: of bfloat16, which NumPy lacks, the bits."""
    if isinstance(array, np.ndarray):
        return array
    bits: np.ndarray = array.view(sys.modules["torch"].int16).numpy()
    return bits
