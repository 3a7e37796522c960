"""ONNX's operator Attention, opset 23 to 25, in terms of regard.

What differs: heads may lie in the last axis (3-D inputs); past keys and values are put in front;
causal masks and windows are bottom-right, counted from the cached keys; a float mask may hold -inf
where a bool one says False; a mask shorter than the keys hides the rest. `softmax_precision` needs
nothing: a softmax is never computed in less than float32 here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard import Mask, attention, steps

MODES = ("scaled", "capped", "masked", "weights")
"""What `qk_matmul_output_mode` 0, 1, 2, 3 names: attributes of Steps."""


@dataclass(frozen=True)
class Inputs:
    """One call's arrays; heads apart, the cache in front, `past` of the keys from it."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    past: int


def attend(node: Any, inputs: dict[str, np.ndarray], dtype: Any) -> dict[str, np.ndarray]:
    """Outputs of an ONNX node by the name ONNX gives them, computed in `dtype`."""
    attributes = {item.name: value_of(item) for item in node.attribute}
    given = apart(inputs, attributes, dtype)
    mask = mask_of(inputs, attributes, given)
    options = {
        "mask": mask,
        "scale": attributes.get("scale"),
        "softcap": attributes.get("softcap", 0.0) or None,  # 0 is ONNX's word for none
    }
    output = attention(given.query, given.key, given.value, **options).output
    if inputs["Q"].ndim == 3:
        output = together(output)
    results = {"Y": output, "present_key": given.key, "present_value": given.value}
    mode = MODES[attributes.get("qk_matmul_output_mode", 0)]
    wide = "float32" if dtype == np.float16 else dtype
    spelled = steps(given.query, given.key, given.value, **options, dtype=wide)
    results["qk_matmul_output"] = getattr(spelled, mode)
    return results


def value_of(attribute: Any) -> Any:
    from onnx.helper import get_attribute_value

    return get_attribute_value(attribute)


def apart(inputs: dict[str, np.ndarray], attributes: dict[str, Any], dtype: Any) -> Inputs:
    """(batch, heads, tokens, dim) from either form, after the cached tokens."""
    arrays = {}
    for name, heads in (("Q", "q_num_heads"), ("K", "kv_num_heads"), ("V", "kv_num_heads")):
        array = inputs[name].astype(dtype)
        if array.ndim == 3:
            batch, tokens, width = array.shape
            count = attributes[heads]
            array = array.reshape(batch, tokens, count, width // count).swapaxes(1, 2)
        arrays[name] = array
    past = 0
    if "past_key" in inputs:
        past = inputs["past_key"].shape[2]
        for name, cached in (("K", "past_key"), ("V", "past_value")):
            arrays[name] = np.concatenate([inputs[cached].astype(dtype), arrays[name]], axis=2)
    return Inputs(arrays["Q"], arrays["K"], arrays["V"], past)


def together(output: np.ndarray) -> np.ndarray:
    """(batch, tokens, heads x dim)."""
    batch, heads, tokens, dim = output.shape
    return output.swapaxes(1, 2).reshape(batch, tokens, heads * dim)


def mask_of(inputs: dict[str, np.ndarray], attributes: dict[str, Any], given: Inputs) -> Mask:
    """Everything that hides a key, each part under its own name."""
    queries, keys = given.query.shape[2], given.key.shape[2]
    real = inputs.get("nonpad_kv_seqlen")
    mask = Mask(
        causal=bool(attributes.get("is_causal", 0)),
        # query 0 stands after the cached tokens, or so that the last query meets the last real key
        offset=given.past if real is None else real - queries,
        window=tuple(
            None if attributes.get(side, -1) < 0 else attributes[side]
            for side in ("left_window_size", "right_window_size")
        ),
        lengths=real,
    )
    array = inputs.get("attn_mask")
    if array is None:
        return mask
    short = [(0, 0)] * (array.ndim - 1) + [(0, keys - array.shape[-1])]
    if array.dtype == bool:
        return replace(mask, allowed=np.pad(array, short, constant_values=False))
    bias = np.pad(array, short, constant_values=-np.inf)
    return replace(mask, bias=bias.astype(given.query.dtype))
