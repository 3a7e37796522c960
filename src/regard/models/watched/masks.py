"""The masks of transformers' attention functions, read into `Mask`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.mechanism.mask import Mask

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def plain_mask(
    module: Any,
    name: str,
    query: Any,
    key: Any,
    attention_mask: Any,
    kwargs: Mapping[str, Any],
    implementation: str,
) -> Mask:
    """As transformers' sdpa_attention_forward and the eager functions of its models read it.

    Neither reads sliding_window: where it shuts anything out, the mask says so. Without a mask
    sdpa is causal from the first key on if the keyword, else the module, says so; eager is not.
    Eager adds its mask, a bool one too.
    """
    import torch

    queries, keys = query.shape[2], key.shape[2]
    bias = kwargs.get("position_bias")
    bias = None if bias is None else fitting(bias[..., :keys], query)
    if attention_mask is None:
        causal = kwargs.get("is_causal")
        causal = getattr(module, "is_causal", True) if causal is None else causal
        if implementation != "sdpa" or not causal or queries == 1:
            return Mask(bias=bias)
        return Mask(causal=True, offset=0, bias=bias)
    if not hasattr(attention_mask, "dtype"):
        raise InputError(
            f"attention_mask of {name} is {type(attention_mask).__name__}: expected a tensor. Load "
            "the model with attn_implementation='sdpa' or 'eager'."
        )
    mask = attention_mask.detach() if attention_mask.requires_grad else attention_mask
    if mask.shape[-1] > keys:
        mask = mask[..., :keys]
    if implementation == "eager" and not mask.dtype.is_floating_point:
        mask = mask.to(query.dtype)  # eager adds what it is given: a True becomes 1
    allowed, adds = (mask, False) if mask.dtype == torch.bool else _read.get(mask, _selection)
    if adds:
        added = fitting(mask, query)
        bias = added if bias is None else bias + added
    if allowed is None:
        return Mask(bias=bias)
    plain = _read.get(allowed, recognise, queries, keys)
    return Mask(allowed=allowed, bias=bias) if plain is None else replace(plain, bias=bias)


def recognise(allowed: Bool[Any, "..."], queries: int, keys: int) -> Mask | None:
    """The same mask in a few numbers, if it is causal, a window or padding, alike for all heads.

    The last query stands beside the last key that is seen. Then no array of queries x keys is kept,
    and no work is done where nothing is seen.
    """
    cells = allowed.reshape((1,) * (4 - allowed.ndim) + tuple(allowed.shape))
    if cells.shape[2] != queries or cells.shape[3] != keys or 0 in cells.shape:
        cells = cells.expand(cells.shape[0], cells.shape[1], queries, keys)
    if 0 in cells.shape or (cells.shape[1] > 1 and cells.stride(1) != 0):
        return None
    cells = cells[:, 0]
    seen = cells.any(1)  # (batch, keys): by some query
    known = seen.cpu().numpy()
    segments = None if known.all() else (np.zeros(queries, np.int64), np.where(known, 0, -1))
    # beside the last key, or beside the last that is seen: a fixed cache has room beyond it
    used = int(np.flatnonzero(known.any(0))[-1]) + 1 if known.any() else keys
    for offset in sorted({keys - queries, used - queries}, reverse=True):
        left, rights = _edges(cells, known, offset)
        for right in rights:
            if _is_banded(cells, seen, offset, left, right):
                return _banded(offset, left, right, segments)
    return None


def _banded(offset: int, left: int | None, right: int | None, segments: Any) -> Mask:
    if right == 0:
        window = None if left is None else (left, None)
        return Mask(causal=True, offset=offset, window=window, segments=segments)
    if left is None and right is None:
        return Mask(segments=segments)
    return Mask(offset=offset, window=(left, right), segments=segments)


def _edges(
    cells: Bool[Any, "batch queries keys"], known: Bool[np.ndarray, "batch keys"], offset: int
) -> tuple[int | None, list[int | None]]:
    """How far back the last rows see, None for to the start; how far on the first may see."""
    queries = cells.shape[1]
    left: int | None = None
    rights: list[int | None] = [None, 0] if queries == 1 else [0, None]
    for item, of_item in zip(known, cells, strict=True):
        if not item.any():
            continue
        last = np.flatnonzero(of_item[-1].cpu().numpy())
        if len(last) and last[0] > np.flatnonzero(item)[0]:
            reach = queries - 1 + offset - int(last[0])
            left = reach if left is None else max(left, reach)
        row = int(of_item.any(1).int().argmax())
        beyond = int(np.flatnonzero(of_item[row].cpu().numpy())[-1]) - row - offset
        if beyond > 0 and beyond not in rights:
            rights.append(beyond)
    return left, rights


def _is_banded(
    cells: Bool[Any, "batch queries keys"],
    seen: Bool[Any, "batch keys"],
    offset: int,
    left: int | None,
    right: int | None,
) -> bool:
    """Whether every row sees just the `seen` keys of its band; checked some rows at a time."""
    import torch

    queries, keys = cells.shape[1:]
    column = torch.arange(keys, device=cells.device)
    for start in range(0, queries, _ROWS):
        row = torch.arange(start, min(start + _ROWS, queries), device=cells.device)[:, None]
        band = torch.ones((len(row), keys), dtype=torch.bool, device=cells.device)
        if right is not None:
            band &= column <= row + offset + right
        if left is not None:
            band &= column >= row + offset - left
        if not torch.equal(band & seen[:, None], cells[:, start : start + _ROWS]):
            return False
    return True


_ROWS: Final = 256


def part_of(
    mask: Mask,
    shape: tuple[int, int, int, int],
    items: list[int],
    heads: list[int] | None,
    rows: slice,
    keys: slice,
) -> Mask:
    """The mask as some items, heads (None: all), rows and keys of a call have it.

    shape: (batch, heads, queries, keys) of the whole call. Arrays stay views.
    """
    batch, _, queries, columns = shape
    if (len(items), rows, keys) == (batch, slice(0, queries), slice(0, columns)) and heads is None:
        return mask
    positional = mask.causal or mask.window is not None
    offset: Any = None
    if positional:
        of_item = _of_items(np.asarray(0 if mask.offset is None else mask.offset), items, axes=1)
        offset = of_item + rows.start - keys.start
        offset = int(offset) if offset.ndim == 0 else offset
    segments = mask.segments
    if segments is not None:
        given = segments if isinstance(segments, tuple) else (segments, segments)
        of_rows, of_keys = (np.asarray(part) for part in given)
        of_rows, of_keys = (
            _of_items(of_rows, items)[..., rows],
            _of_items(of_keys, items)[..., keys],
        )
        one = (
            of_keys.size
            and of_keys.min() == of_keys.max() >= 0
            and (of_rows == of_keys.min()).all()
        )
        segments = None if one else (of_rows, of_keys)
    lengths = None
    if mask.lengths is not None:
        real = _of_items(np.asarray(mask.lengths), items, axes=1) - keys.start
        lengths = np.clip(real, 0, keys.stop - keys.start)
    cut: dict[str, Any] = {}
    for name in ("allowed", "bias"):
        array = getattr(mask, name)
        if array is not None:
            cut[name] = _part(array, shape, (items, heads, rows, keys))
    return replace(
        mask,
        offset=offset,
        segments=segments,
        lengths=lengths,
        **cut,
    )


def _of_items(array: Any, items: list[int], axes: int = 2) -> Any:
    """One row an item, where there is an axis of items."""
    return array[items] if array.ndim == axes else array


def _part(array: Any, shape: tuple[int, ...], parts: tuple[Any, ...]) -> Any:
    """Some of an array that broadcasts, right-aligned, to `shape`."""
    for back in range(1, min(array.ndim, 4) + 1):
        part = parts[-back]
        if part is not None and array.shape[-back] == shape[-back]:
            if isinstance(part, list) and part == list(range(shape[-back])):
                continue
            array = array[(slice(None),) * (array.ndim - back) + (part,)]
    return array


def in_numpy(mask: Mask, with_bias: bool) -> Mask:
    """The mask with its arrays in NumPy; without its bias, where scores are not computed again."""
    allowed = None if mask.allowed is None else mask.allowed.detach().cpu().numpy()
    bias = None
    if mask.bias is not None and with_bias:
        bias = mask.bias.detach().cpu()
        bias = (bias if bias.dtype.itemsize > 2 else bias.float()).numpy()
    return replace(mask, allowed=allowed, bias=bias)


def _selection(mask: Float[Any, "..."]) -> tuple[Bool[Any, "..."] | None, bool]:
    """(allowed, whether it adds to scores as well): the lowest of floats mean 'not seen'."""
    import torch

    if not mask.dtype.is_floating_point:
        return mask != 0, False
    # half of the lowest: models add to it, and a copy in another dtype rounds it
    seen = mask > torch.finfo(mask.dtype).min / 2
    adds = bool((mask.masked_fill(~seen, 0) != 0).any())
    return (None if bool(seen.all()) else seen), adds


def fitting(bias: Any, query: Any) -> Any:
    """A bias in a dtype that may stand beside the query."""
    import torch

    bias = bias.detach()
    return bias if bias.dtype in (query.dtype, torch.float32) else bias.to(query.dtype)


def flash_mask(
    module: Any, query: Any, key: Any, attention_mask: Any, kwargs: Mapping[str, Any]
) -> Mask:
    """As transformers' _flash_attention_forward reads it: the last query beside the last key."""
    queries, keys = query.shape[2], key.shape[2]
    causal = kwargs.get("is_causal")
    causal = bool(getattr(module, "is_causal", True) if causal is None else causal)
    window = kwargs.get("sliding_window")
    sides = None if window is None or keys <= window else (int(window) - 1, int(window) - 1)
    segments = None
    if attention_mask is not None:
        real = attention_mask[:, -keys:].to("cpu").bool()
        labels = real.int().numpy() - 1
        segments = (labels[:, labels.shape[1] - queries :], labels)
    elif kwargs.get("cu_seq_lens_q") is not None:
        segments = tuple(
            _labels(kwargs[f"cu_seq_lens_{axis}"], count)
            for axis, count in (("q", queries), ("k", keys))
        )
    return Mask(causal=causal, window=sides, offset=keys - queries, segments=segments)


def _labels(ends: Any, count: int) -> Any:
    """Which packed sequence each token is of, from the cumulative lengths."""
    return np.searchsorted(ends.to("cpu").numpy(), np.arange(count), side="right")


class _Memory:
    """What was made of the last few masks: a model passes one mask to all of its layers.

    A mask is known by its memory, as long as the tensor that owns it is alive. What is made of it
    must not hold that tensor.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.found: dict[tuple[Any, ...], tuple[weakref.ref[Any], Any]] = {}

    def get(self, mask: Any, make: Callable[..., Any], *sizes: int) -> Any:
        """`make(mask, *sizes)`, made once."""
        owner = mask if mask._base is None else mask._base
        version = None if mask.is_inference() else mask._version
        at = (mask.data_ptr(), mask.dtype, tuple(mask.shape), mask.stride(), version)
        key = (make, sizes, id(owner), *at)
        known = self.found.get(key)
        if known is not None and known[0]() is owner:
            return known[1]
        made = make(mask, *sizes)
        self.found = {old: one for old, one in self.found.items() if one[0]() is not None}
        while len(self.found) >= self.most:
            del self.found[next(iter(self.found))]
        self.found[key] = (weakref.ref(owner), made)
        return made


_read: Final = _Memory(8)
