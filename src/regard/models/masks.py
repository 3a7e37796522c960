"""The masks of transformers' attention functions, read into `Mask`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
    """
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
    allowed, added = _selection(attention_mask.detach()[..., :keys])
    if added is not None:
        added = fitting(added, query)
        bias = added if bias is None else bias + added
    return Mask(allowed=allowed, bias=bias)


def _selection(
    mask: Bool[Any, "..."] | Float[Any, "..."],
) -> tuple[Bool[Any, "..."] | None, Float[Any, "..."] | None]:
    """(allowed, bias) of a mask: floats at the bottom of their range mean 'not seen'."""
    import torch

    if mask.dtype == torch.bool:
        return mask, None
    if not mask.dtype.is_floating_point:
        return mask != 0, None
    # half of the lowest: models add to it, and a copy in another dtype rounds it
    seen = mask > torch.finfo(mask.dtype).min / 2
    if not bool((mask.masked_fill(~seen, 0) != 0).any()):
        return seen, None
    return (None if bool(seen.all()) else seen), mask


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
