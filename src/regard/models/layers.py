"""The nested ways in which libraries hand out layers of arrays, made into one list of layers.

A single array; a tuple or list over layers, as transformers' output_attentions gives; a tuple
over generation steps of tuples over layers, as its generate gives; a mapping with names such as
'blocks.0.attn.hook_pattern', as TransformerLens gives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.mechanism.numbers import plain

if TYPE_CHECKING:
    from jaxtyping import Float

_WEIGHT_AXES: Final = ("heads", "queries", "keys")
_HOOK: Final = re.compile(r"blocks\.([0-9]{1,6})\.attn\.hook_([a-z]+)")


def weight_layers(
    weights: Any, item: int | None
) -> dict[int, tuple[str, Float[np.ndarray, "heads queries keys"]]]:
    """By layer number, what to call its weights and the weights. Raises InputError."""
    if is_steps(weights):
        return _stitch(weights, item)
    if is_cache(weights):
        named = [
            (number, f"hook_pattern of layer {number}", array)
            for number, array in hooked("weights", weights, "pattern").items()
        ]
    else:
        listed = by_layer("weights", weights, "(heads, queries, keys)")
        named = [(number, name, array) for number, (name, array) in enumerate(listed)]
    return {
        number: (name, _read_out(one_item(name, array, _WEIGHT_AXES, item)))
        for number, name, array in named
    }


def vector_layers(
    query: Any, key: Any, value: Any, mask: Any, item: int | None
) -> dict[int, tuple[str, Any]]:
    """By layer number, what to call its query, and (query, key, value). Raises InputError."""
    if is_cache(query):
        return _cached(query, key, value, mask, item)
    expected = "(heads, tokens, dim)"
    listed = {
        name: by_layer(name, source, expected)
        for name, source in (("query", query), ("key", key), ("value", value))
        if source is not None or name != "value"
    }
    counts = {name: len(layers) for name, layers in listed.items()}
    if len(set(counts.values())) > 1:
        raise InputError(f"layers differ in number, {counts}: give as many of each.")
    layers = {}
    for number in range(counts["query"]):
        arrays = {
            name: one_item(*parts[number], ("heads", "tokens", "dim"), item)
            for name, parts in listed.items()
        }
        found = (arrays["query"], arrays["key"], arrays.get("value"))
        layers[number] = (listed["query"][number][0], found)
    return layers


def is_cache(source: Any) -> bool:
    """Whether it is a mapping, as TransformerLens' cache of activations is."""
    return isinstance(source, Mapping) or (
        hasattr(source, "keys") and hasattr(source, "__getitem__") and not hasattr(source, "shape")
    )


def hooked(name: str, cache: Any, hook: str) -> dict[int, Any]:
    """The arrays of 'blocks.N.attn.hook_<hook>' by layer number. Raises InputError if none."""
    found = {}
    for key in cache.keys():  # noqa: SIM118 - a cache need not be a dict
        match = _HOOK.fullmatch(key) if isinstance(key, str) else None
        if match and match[2] == hook:
            found[int(match[1])] = cache[key]
    if not found:
        if "attentions" in cache.keys():  # noqa: SIM118
            raise InputError(f"{name} is a whole model output: pass its .attentions.")
        names = ", ".join(str(key) for key in list(cache.keys())[:3]) or "nothing"
        raise InputError(
            f"{name} is a mapping with {names}: expected names as 'blocks.0.attn.hook_{hook}', "
            "as TransformerLens gives, or arrays, or a tuple of arrays over layers."
        )
    return dict(sorted(found.items()))


def is_steps(source: Any) -> bool:
    """Whether it is a sequence over generation steps of sequences over layers of arrays."""
    return (
        _is_sequence(source)
        and len(source) > 0
        and all(_is_sequence(step) and len(step) > 0 and _is_array(step[0]) for step in source)
    )


def by_layer(name: str, source: Any, axes: str) -> list[tuple[str, Any]]:
    """(what to call it, array) for each layer: several from a sequence of arrays, else one.

    axes: what each array is expected to be, for the error if there is none.
    """
    if source is None:
        raise InputError(f"{name} is None: expected {axes}, or a tuple of them over layers.")
    if _is_sequence(source) and any(_is_array(part) or part is None for part in source):
        shapes = {tuple(part.shape) for part in source if part is not None}
        if shapes and all(len(shape) == 1 for shape in shapes):
            if len(shapes) > 1:
                raise InputError(f"{name} holds rows of several lengths {sorted(shapes)}.")
            return [(name, np.stack([plain(name, part) for part in source]))]
        return [(f"{name}[{number}]", _present(name, number, part, axes))
                for number, part in enumerate(source)]  # fmt: skip
    if _is_sequence(source) and not len(source):
        raise InputError(f"{name} is empty: expected {axes}, or a tuple of them over layers.")
    if getattr(source, "ndim", 0) == 5:  # torch.stack of a tuple over layers
        return [(f"{name}[{number}]", part) for number, part in enumerate(source)]
    return [(name, source)]


def one_item(name: str, array: Any, axes: tuple[str, ...], item: int | None) -> Any:
    """The array with three axes: a batch is unpacked, missing leading axes are added.

    axes: the names of the last three, as ('heads', 'queries', 'keys').
    item: which item of a batch; None where there is a batch of one, or none.
    """
    numbers = floating(name, array)
    if not 1 <= numbers.ndim <= 4:
        raise InputError(f"{name} has shape {numbers.shape}: expected ({', '.join(axes)}).")
    if numbers.ndim == 4:
        batch = numbers.shape[0]
        if item is None and batch != 1:
            raise InputError(
                f"{name} has shape {numbers.shape}: expected a batch of one. If the first axis is "
                f"a batch, pick an item (item=0 to {batch - 1}); if it is layers, pass a tuple of "
                "them: tuple(array)."
            )
        if item is not None and not 0 <= item < batch:
            raise InputError(f"item is {item!r} and {name} has a batch of {batch}.")
        return numbers[item or 0]
    if item is not None:
        raise InputError(
            f"item is {item!r} and {name} has shape {numbers.shape}, without a batch: "
            "leave item out."
        )
    return numbers.reshape((1,) * (3 - numbers.ndim) + numbers.shape)


def floating(name: str, array: Any) -> Float[np.ndarray, "..."]:
    """A NumPy float array; nested lists of whole numbers become float64. Raises InputError."""
    numbers = plain(name, array)
    if not _is_array(array) and numbers.dtype.kind in "iu":
        numbers = numbers.astype(np.float64)
    if numbers.dtype.kind != "f" or numbers.dtype.itemsize > 8:
        raise InputError(
            f"{name} has dtype {numbers.dtype}: expected floats up to float64. "
            "Convert it yourself: array.astype('float32')."
        )
    return numbers


def _present(name: str, number: int, part: Any, axes: str) -> Any:
    if part is None:
        raise InputError(
            f"{name}[{number}] is None: expected {axes}. transformers gives weights only with "
            "attn_implementation='eager' and output_attentions=True."
        )
    return part


def _is_sequence(source: Any) -> bool:
    return isinstance(source, (tuple, list))


def _is_array(part: Any) -> bool:
    return hasattr(part, "shape") and hasattr(part, "dtype")


def _stitch(
    steps: Any, item: int | None
) -> dict[int, tuple[str, Float[np.ndarray, "heads queries keys"]]]:
    """Generation steps as rows: each step's rows are the last of the keys it sees."""
    counts = {len(step) for step in steps}
    if len(counts) > 1:
        raise InputError(f"weights are steps of {sorted(counts)} layers: expected as many in each.")
    stitched = {}
    for number in range(counts.pop()):
        name = f"layer {number} of weights"
        parts = [
            one_item(f"weights[{step}][{number}]", layers[number], _WEIGHT_AXES, item)
            for step, layers in enumerate(steps)
        ]
        keys = parts[-1].shape[2]
        first = parts[0].shape[2] - parts[0].shape[1]
        rows = np.zeros((parts[0].shape[0], keys - first, keys), parts[0].dtype)
        done = first
        for step, part in enumerate(parts):
            begin = part.shape[2] - part.shape[1]
            if begin != done or part.shape[0] != rows.shape[0] or part.shape[2] > keys:
                raise InputError(
                    f"weights[{step}][{number}] has {part.shape[1]} rows for {part.shape[2]} keys "
                    f"after {done} rows: expected each step to begin where the one before ended, "
                    "with the same heads. Was a sliding or quantised cache used?"
                )
            rows[:, begin - first : part.shape[2] - first, : part.shape[2]] = part
            done = part.shape[2]
        stitched[number] = (name, _read_out(rows))
    return stitched


def _cached(
    cache: Any, key: Any, value: Any, mask: Any, item: int | None
) -> dict[int, tuple[str, Any]]:
    if key is not None or value is not None:
        raise InputError("query is a mapping: it holds keys and values too, leave those out.")
    if mask is None:
        raise InputError(
            "mask is None, and a mapping does not say what its model masks: pass "
            "mask=regard.Mask(causal=True), or regard.Mask() for a model that sees both ways."
        )
    by_hook = {hook: hooked("query", cache, hook) for hook in ("q", "k", "v")}
    layers = {}
    for number in by_hook["q"]:
        found = []
        for hook, arrays in by_hook.items():
            name = f"hook_{hook} of layer {number}"
            if number not in arrays:
                raise InputError(f"query is a mapping without {name}: expected it for each layer.")
            array = arrays[number]
            if len(array.shape) != 4:
                raise InputError(
                    f"{name} has shape {tuple(array.shape)}: expected (batch, tokens, heads, dim)."
                )
            part = one_item(name, array, ("tokens", "heads", "dim"), item)
            found.append(np.ascontiguousarray(np.swapaxes(part, 0, 1)))
        layers[number] = (f"hook_q of layer {number}", tuple(found))
    return layers


def _read_out(rows: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Weights in the dtype of readings: float32, or float64 if they came in it."""
    return rows if rows.dtype.itemsize > 2 else rows.astype(np.float32)
