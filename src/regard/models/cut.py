"""Attention that is forbidden, to see what it does: `Cut`, and a model's rows computed without it.

A row that is cut is computed again, by panels, with the cut keys unseen, and takes the place of
the model's own row. Rows that no cut concerns stay the model's own, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.mechanism.api import attention
from regard.mechanism.mask import whole_numbers

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Int64

    from regard.mechanism.mask import Mask
    from regard.models.watched.interface import ModelCall

    Places = int | slice | Sequence[int] | Int[Any, " n"] | None

_AXES: Final = ("layers", "heads", "queries", "keys")


@dataclass(frozen=True, eq=False)
class Cut:
    """Attention to forbid: in these layers and heads, these queries no longer see these keys.

    Each is None (all), a whole number, a list or array of them, or a slice; all count from 0.
    layers, heads: as written in L3H1. With grouped heads these are query heads.
    queries, keys: tokens of the whole sequence, also while a model generates: a decode step is
        the row of its own position. Columns of padding on the left count.

    The cut rows divide their weight among the keys that are left; a row that is left with none
    gives 0 (a sink's part stays the sink's). Raises InputError for anything that counts from the
    end, since a sequence that is being generated has none yet, and for an empty choice.
    """

    layers: Places = None
    heads: Places = None
    queries: Places = None
    keys: Places = None

    def __post_init__(self) -> None:
        for name in _AXES:
            _check(name, getattr(self, name))

    def chooses(self, axis: str, start: int, stop: int) -> Bool[np.ndarray, " numbers"]:
        """Which of the numbers start..stop-1 this cut names on an axis ("layers", "heads", ...)."""
        chosen = getattr(self, axis)
        numbers = np.arange(start, stop)
        if chosen is None:
            return np.ones(len(numbers), np.bool_)
        if isinstance(chosen, slice):
            first, step = int(chosen.start or 0), int(chosen.step or 1)
            last = stop if chosen.stop is None else int(chosen.stop)
            chosen = np.arange(first, min(last, stop), step)
        named: Bool[np.ndarray, " numbers"] = np.isin(numbers, whole_numbers(axis, chosen))
        return named

    def __repr__(self) -> str:
        given = ((name, getattr(self, name)) for name in _AXES)
        said = [f"{name}={_said(chosen)}" for name, chosen in given if chosen is not None]
        return f"Cut({', '.join(said)})"


def in_layer(cuts: Iterable[Cut], layer: int) -> tuple[Cut, ...]:
    """The cuts that concern the layer of this number."""
    return tuple(cut for cut in cuts if cut.chooses("layers", layer, layer + 1)[0])


def apply(
    call: ModelCall,
    output: Float[Any, "batch queries heads value_dim"],
    cuts: Sequence[Cut],
    *,
    first_query: int | None = None,
    first_key: int = 0,
) -> Float[Any, "batch queries heads value_dim"]:
    """The model's output with the rows that `cuts` concern computed again, those keys unseen.

    call: one call of the attention interface. output: what the model's own attention gave for it.
    cuts: those of this layer (`in_layer`); where several name one row of one head, all hold.
    first_query: position of the call's first row in the whole sequence; None where every key up
        to the last row is there, as in a forward pass and with a growing cache: keys - queries.
    first_key: position of the call's first key, above 0 where a cache has dropped the oldest.

    Gives `output` itself where no cut concerns a row or a key of this call, else a copy, of the
    same dtype. The other rows are untouched; through the cut rows no gradient flows. Memory: the
    copy, a copy of the keys and values of the heads concerned, and panels; never queries x keys.
    Raises InputError for a head that the call does not have.
    """
    heads, queries = call.query.shape[1:3]
    keys = call.key.shape[2]
    if first_query is None:
        first_query = first_key + keys - queries
    for cut in cuts:
        _check_heads(cut, heads)
    unseen = [cut.chooses("keys", first_key, first_key + keys) for cut in cuts]
    of_head = [cut.chooses("heads", 0, heads) for cut in cuts]
    of_query = [cut.chooses("queries", first_query, first_query + queries) for cut in cuts]
    changed = None
    for chosen, which in _alike(of_head):
        for rows, cut_here in _alike([of_query[cut] for cut in which]):
            hidden = np.logical_or.reduce([unseen[which[cut]] for cut in cut_here])
            if not hidden.any():
                continue
            if changed is None:
                changed = output.clone()
            _replace(changed, call, np.flatnonzero(chosen), rows, hidden)
    return output if changed is None else changed


def _replace(
    changed: Float[Any, "batch queries heads value_dim"],
    call: ModelCall,
    heads: Int64[np.ndarray, " heads"],
    rows: Bool[np.ndarray, " queries"],
    hidden: Bool[np.ndarray, " keys"],
) -> None:
    """Write the rows of some heads anew, a run of neighbouring rows at a time."""
    query, key, value = call.query, call.key, call.value
    if len(heads) < query.shape[1]:
        of_key = heads // (query.shape[1] // key.shape[1])
        query, key, value = query[:, heads], key[:, of_key], value[:, of_key]
    sinks = None if call.sinks is None else call.sinks[heads]
    for start, stop in _runs(rows):
        result = attention(
            query[:, :, start:stop],
            key,
            value,
            mask=_of_rows(call.mask, call, heads, start, stop, hidden),
            scale=call.scale,
            softcap=call.softcap,
            sinks=sinks,
        ).output
        # (batch, heads, rows, value_dim) -> (batch, rows, heads, value_dim)
        changed[:, start:stop, heads] = result.transpose(1, 2).to(changed.dtype)


def _of_rows(
    mask: Mask,
    call: ModelCall,
    heads: Int64[np.ndarray, " heads"],
    start: int,
    stop: int,
    hidden: Bool[np.ndarray, " keys"],
) -> Mask:
    """The call's mask as rows start..stop-1 of some heads have it, without the hidden keys.

    Hidden keys get a label that nobody sees, so that no array of rows x keys is needed.
    """
    batch, queries, keys = call.query.shape[0], call.query.shape[2], call.key.shape[2]
    if mask.segments is None:
        labels = np.zeros(stop - start, np.int64), np.zeros(keys, np.int64)
    else:
        given = mask.segments if isinstance(mask.segments, tuple) else (mask.segments,) * 2
        of_queries, of_keys = (whole_numbers("segments", part) for part in given)
        labels = of_queries[..., start:stop], np.broadcast_to(of_keys, (batch, keys))
    spread = {}
    for name in ("allowed", "bias"):
        array = getattr(mask, name)
        if array is None:
            continue
        if array.ndim >= 3 and array.shape[-3] > 1:
            array = array[..., heads, :, :]
        if array.ndim >= 2 and array.shape[-2] == queries and queries > 1:
            array = array[..., start:stop, :]
        spread[name] = array
    offset = 0 if mask.offset is None else whole_numbers("offset", mask.offset)
    return replace(
        mask,
        offset=offset + start,
        segments=(labels[0], np.where(hidden, -1, labels[1])),
        **spread,
    )


def _alike(
    choices: Sequence[Bool[np.ndarray, " n"]],
) -> Iterator[tuple[Bool[np.ndarray, " n"], list[int]]]:
    """Places that the same choices name: (which places, the indices of those choices).

    Places that none names are left out.
    """
    if not choices:
        return
    kinds, kind_of = np.unique(np.stack(choices), axis=1, return_inverse=True)
    for number, kind in enumerate(kinds.T):
        if kind.any():
            yield kind_of.reshape(-1) == number, [int(choice) for choice in np.flatnonzero(kind)]


def _runs(rows: Bool[np.ndarray, " queries"]) -> list[tuple[int, int]]:
    """(start, stop) of each run of neighbouring rows."""
    edges = np.flatnonzero(np.diff(rows.astype(np.int8), prepend=0, append=0))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def _check(name: str, given: Any) -> None:
    if given is None:
        return
    if isinstance(given, slice):
        _check_slice(name, given)
        return
    if isinstance(given, (str, bytes, bool, np.bool_, float)):
        raise InputError(f"{name} of a cut is {given!r}: {_WANTED}")
    if not isinstance(given, (int, np.integer)) and not hasattr(given, "__len__"):
        raise InputError(f"{name} of a cut is {type(given).__name__}: {_WANTED}")
    numbers = whole_numbers(f"{name} of a cut", given)
    if numbers.ndim > 1:
        raise InputError(f"{name} of a cut has shape {numbers.shape}: {_WANTED}")
    if numbers.size == 0:
        raise InputError(f"{name} of a cut is empty, which cuts nothing: leave None for all.")
    if numbers.min() < 0:
        raise InputError(
            f"{name} of a cut holds {numbers.min()}: expected numbers from 0; the end of a "
            "sequence is not known while it is generated."
        )


_WANTED: Final = "expected None for all, a whole number, a list of them, or a slice."


def _check_slice(name: str, given: slice) -> None:
    shown = f"slice({given.start}, {given.stop}, {given.step})"
    for part in (given.start, given.stop, given.step):
        whole = isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_))
        if part is not None and not whole:
            raise InputError(f"{name} of a cut is {shown}: expected whole numbers.")
        if part is not None and part < 0:
            raise InputError(
                f"{name} of a cut is {shown}: expected to count from 0; the end of a sequence is "
                "not known while it is generated."
            )
    if given.step == 0 or (given.stop is not None and given.stop <= (given.start or 0)):
        raise InputError(f"{name} of a cut is {shown}, which is empty: leave None for all.")


def _check_heads(cut: Cut, heads: int) -> None:
    if cut.heads is None or isinstance(cut.heads, slice):
        largest = (cut.heads.start or 0) if isinstance(cut.heads, slice) else 0
    else:
        largest = int(np.max(whole_numbers("heads", cut.heads)))
    if largest >= heads:
        raise InputError(
            f"{cut!r} names head {largest} and the layer has {heads}: expected 0 to {heads - 1}."
        )


def _said(given: Any) -> str:
    if isinstance(given, slice):
        step = "" if given.step is None else f", {given.step}"
        return f"slice({given.start}, {given.stop}{step})"
    numbers = whole_numbers("cut", given)
    if numbers.ndim == 0:
        return str(int(numbers))
    shown = ", ".join(str(number) for number in numbers[:8])
    return f"[{shown}, ... {len(numbers)} in all]" if len(numbers) > 8 else f"[{shown}]"
