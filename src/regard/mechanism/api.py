"""attention() and readings(): check, choose, call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from regard.errors import InputError
from regard.mechanism import loop, native
from regard.mechanism.call import Call, check
from regard.mechanism.readings import Ask, AttentionResult, FlatAsk, Readings

if TYPE_CHECKING:
    from jaxtyping import Float

    Backend = Literal["auto", "loop", "native"]

BACKENDS: Final = ("auto", "loop", "native")

_NOTHING: Final = Ask()


def attention(
    query: Float[Any, "*leading queries dim"],
    key: Float[Any, "*leading keys dim"],
    value: Float[Any, "*leading keys value_dim"],
    *,
    mask: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Float[Any, " heads"] | None = None,
    ask: Ask | None = None,
    backend: Backend = "auto",
) -> AttentionResult:
    """softmax(Q K^T x scale) V, exactly, and what `ask` reads off the weights in the same pass.

    query `(queries, dim)`, `(heads, queries, dim)` or `(batch, heads, queries, dim)`; key and
    value with the same axes. Query heads may be a multiple of key heads (grouped heads); values
    may have another dim than keys. NumPy arrays or torch tensors of one dtype (float16, bfloat16,
    float32: sums in float32; float64) and device.

    mask: a `Mask`, a bool array (True: may see) or a float array (added to the scaled scores).
    scale: factor of the scores, 1 / sqrt(dim) by default. softcap: c tanh(score / c), before bias
    and mask. sinks: `(heads,)`, a score that takes its part of each row's weight and gives
    nothing, so that rows sum to less than 1.

    Returns `AttentionResult(output, readings)`: output `(..., queries, value_dim)` in the query's
    dtype; readings say which backend ran. Memory is linear in queries and keys. A row that may
    see nothing gives 0; what a query may not see never reaches its row, not even a NaN.

    backend: "auto" chooses, "loop" and "native" never fall back. Raises InputError for arguments
    that do not fit, MemoryBudgetError for readings that would be quadratic in size, BackendError
    for a named backend that cannot serve.

    Source: Vaswani et al. 2017, section 3.2.1; computed a panel of rows at a time.
    """
    if value is None:
        raise InputError("value is None: expected the values; regard.readings needs none.")
    call = check(query, key, value, mask=mask, scale=scale, softcap=softcap, sinks=sinks)
    is_native = _is_native(backend, call)
    flat = _flat(_NOTHING if ask is None else ask, call)
    return native.attend(call, flat) if is_native else loop.attend(call, flat)


def readings(
    query: Float[Any, "*leading queries dim"],
    key: Float[Any, "*leading keys dim"],
    value: Float[Any, "*leading keys value_dim"] | None = None,
    *,
    ask: Ask,
    mask: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Float[Any, " heads"] | None = None,
    backend: Backend = "auto",
) -> Readings:
    """What `ask` reads off the weights, without the result; only the rows asked for are computed.

    Arguments, dtypes and errors as for `attention`. value is needed for `share` alone.
    """
    call = check(query, key, value, mask=mask, scale=scale, softcap=softcap, sinks=sinks)
    is_native = _is_native(backend, call)
    if not isinstance(ask, Ask):
        raise InputError(f"ask is {type(ask).__name__}: expected regard.Ask.")
    if ask.share and value is None:
        raise InputError("share is a part of the result, which needs the values: pass value.")
    flat = _flat(ask, call)
    return native.read(call, flat) if is_native else loop.read(call, flat)


def _flat(ask: Ask, call: Call) -> FlatAsk:
    if not isinstance(ask, Ask):
        raise InputError(f"ask is {type(ask).__name__}: expected regard.Ask or None.")
    return ask.flatten(call.sizes, call.arrays.itemsize)


def _is_native(backend: str, call: Call) -> bool:
    """Whether the kernel computes a call, because it is named or because it serves."""
    if backend not in BACKENDS:
        raise InputError(f"backend is {backend!r}: expected 'auto', 'loop' or 'native'.")
    if backend == "native":
        native.check_serves(call)
    return backend != "loop" and native.refusal(call) is None
