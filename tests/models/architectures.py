"""What `regard.watch` does to a specimen, and reads of it."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from transformers.modeling_utils import AttentionInterface

import regard
from models.specimen import Inputs, Specimen, build
from regard.models.watched.interface import (
    ModelCall,
    implementation_of,
    intercept,
    read_call,
    unpack,
)

IMPLEMENTATIONS: Final = ("eager", "sdpa")
LARGEST_DIFFERENCE: Final = 2e-5
_ROWS: Final = 4
_MASK_OF: Final = {
    "text": "attention_mask",
    "source": "attention_mask",
    "target": "decoder_attention_mask",
}


@dataclass(frozen=True, eq=False)
class Called:
    """A call of the attention interface: who made it, how regard reads it, what came of it."""

    module: Any
    call: ModelCall
    keywords: Mapping[str, Any]
    weights: torch.Tensor | None


@dataclass(frozen=True, eq=False)
class Examination:
    """A specimen under one implementation, over all it reads.

    refused: what transformers says if it cannot use the implementation; then nothing else holds.
    identical: whether a watched model gives what it gives otherwise, bit for bit.
    difference: the largest between weights as read and the model's own, eager ones; recorded:
        the same for rows in the records of a watch.
    peak: the largest weight.
    changed: what is another than before, after a watch and after one that ended in an error.
    kinds: for each text or other thing read, how many layers of each kind a watch records.
    traits: what its calls bring, in words.
    """

    refused: str | None = None
    identical: bool = False
    difference: float = 0.0
    recorded: float = 0.0
    peak: float = 0.0
    changed: tuple[str, ...] = ()
    kinds: tuple[tuple[tuple[str, int], ...], ...] = ()
    traits: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """Whether the watch read the model rightly and left it as it was."""
        exact = max(self.difference, self.recorded) <= LARGEST_DIFFERENCE
        return self.refused is None and self.identical and exact and not self.changed


@functools.cache
def examine(specimen: Specimen, implementation: str) -> Examination:
    model = build(specimen)
    try:
        model.set_attn_implementation(implementation)
    except ValueError as error:
        return Examination(refused=str(error))
    try:
        seen = [_examine(specimen, model, given) for given in specimen.inputs]
    finally:
        model.set_attn_implementation("eager")
    return Examination(
        identical=all(one.identical for one in seen),
        difference=max(one.difference for one in seen),
        recorded=max(one.recorded for one in seen),
        peak=max(one.peak for one in seen),
        changed=tuple(change for one in seen for change in one.changed),
        kinds=tuple(kinds for one in seen for kinds in one.kinds),
        traits=tuple(dict.fromkeys(trait for one in seen for trait in one.traits)),
    )


def _examine(specimen: Specimen, model: Any, given: Callable[[], Inputs]) -> Examination:
    inputs = given()
    plain = run(model, inputs)
    before = state(model)
    _, calls = collect(lambda: run(model, inputs))
    with regard.watch(model, ask=regard.Ask(rows=range(_ROWS), top=2, entropy=True)) as seen:
        watched = run(model, inputs)
    changed = differences(before, state(model))
    interrupt(model, inputs, calls[-1].module)
    changed += differences(before, state(model))
    again = run(model, inputs)
    own = own_weights(specimen, given)
    difference, peak = compare(calls, own)
    return Examination(
        identical=same(plain, watched) and same(plain, again),
        difference=difference,
        recorded=compare_records(model, inputs, seen.records, calls, own),
        peak=peak,
        changed=tuple(changed),
        kinds=(tuple(Counter(layer.kind for layer in seen.records[0].layers).items()),),
        traits=tuple(traits(model, inputs, calls)),
    )


@torch.no_grad()
def run(model: Any, inputs: Inputs, **options: Any) -> Any:
    return model(**inputs, **options)


def collect(forward: Callable[[], Any]) -> tuple[Any, list[Called]]:
    """What a forward pass gives, and each call of attention in it."""
    calls: list[Called] = []

    def listen(module: Any, function: Any, args: Any, kwargs: Any) -> Any:
        result = function(module, *args, **kwargs)
        query, key, value, mask, keywords = unpack(args, kwargs)
        name = type(module).__name__
        implementation = implementation_of(function, name)
        call = read_call(module, name, query, key, value, mask, keywords, implementation)
        calls.append(Called(module, call, keywords, result[1]))
        return result

    with intercept(listen):
        output = forward()
    return output, calls


@functools.cache
def own_weights(specimen: Specimen, given: Callable[[], Inputs]) -> tuple[torch.Tensor, ...]:
    """The eager model's weights, call by call; those it hands out are checked to be the same."""
    model = build(specimen)
    chosen = model.config._attn_implementation
    model.set_attn_implementation("eager")
    output, calls = collect(lambda: run(model, given(), output_attentions=True))
    model.set_attn_implementation(chosen)
    weights = tuple(call.weights for call in calls if call.weights is not None)
    handed = [tensor for name, found in output.items() if "attentions" in name for tensor in found]
    for tensor in handed:
        assert any(torch.equal(tensor, own) for own in weights)
    assert handed
    assert len(weights) == len(calls)
    return weights


def compare(calls: list[Called], own: tuple[torch.Tensor, ...]) -> tuple[float, float]:
    """(largest difference from `own`, largest weight) of the weights as regard reads them.

    Rows that see nothing are set aside: regard gives them no weight, eager spreads theirs evenly
    and sdpa does not. What they hold from there on is no longer the same either.
    """
    difference, peak = 0.0, 0.0
    blind: dict[tuple[int, int], torch.Tensor] = {}
    for called, weights in zip(calls, own, strict=True):
        read = _read(called.call)
        rows = (read.lse == -torch.inf).any(dim=1)
        rows |= blind.get(tuple(rows.shape), torch.zeros_like(rows))
        blind[tuple(rows.shape)] = rows
        kept = ~rows[:, None, :].expand(read.lse.shape)
        assert kept.any()
        difference = max(difference, float((read.rows - weights).abs().amax(dim=-1)[kept].max()))
        peak = max(peak, float(read.rows[kept].max()))
    return difference, peak


def compare_records(
    model: Any,
    inputs: Inputs,
    records: list[regard.Record],
    calls: list[Called],
    own: tuple[torch.Tensor, ...],
) -> float:
    """The largest difference from `own` of the first rows in each layer of each item's record."""
    names = {module: name for name, module in model.named_modules()}
    named: dict[str, torch.Tensor] = {}
    for called, weights in zip(calls, own, strict=True):
        name = names[called.module]
        count = 1 + sum(known.split(" (")[0] == name for known in named)
        named[name if count == 1 else f"{name} (call {count})"] = weights
    difference = 0.0
    for item, record in enumerate(records):
        for layer in record.layers:
            first_row, first_key = (
                _padding(inputs, record.sides[side].name, item)
                for side in (layer.query_side, layer.key_side)
            )
            rows = layer.readings.rows
            assert rows is not None
            assert rows.shape[1] == _ROWS
            expected = named[layer.name][item, :, first_row:, first_key:].numpy()
            expected = expected[:, :_ROWS, : rows.shape[2]]
            difference = max(difference, float(abs(rows - expected).max()))
    layers = Counter(layer.name for record in records for layer in record.layers)
    assert layers == Counter({name: len(weights) for name, weights in named.items()})
    return difference


def _padding(inputs: Inputs, side: str, item: int) -> int:
    """How many tokens of an item's side are padding on the left, which records leave out."""
    mask = inputs.get(_MASK_OF.get(side, ""))
    return 0 if mask is None else int(mask[item].argmax())


def _read(call: ModelCall) -> regard.Readings:
    return regard.readings(
        call.query,
        call.key,
        ask=regard.Ask(rows=range(call.query.shape[2]), lse=True),
        mask=call.mask,
        scale=call.scale,
        softcap=call.softcap,
        sinks=call.sinks,
    )


class Interruption(Exception):  # noqa: N818 - no error of the code under test
    pass


def interrupt(model: Any, inputs: Inputs, module: Any) -> None:
    """Run under watch until `module`, where the model fails."""

    def fail(*_: Any) -> None:
        raise Interruption

    hook = module.register_forward_pre_hook(fail)
    try:
        with regard.watch(model, ask=regard.Ask(top=2)):
            run(model, inputs)
    except Interruption:
        return
    finally:
        hook.remove()
    raise AssertionError("a watch swallowed the model's error")


def same(one: Any, other: Any) -> bool:
    """Whether two outputs of a model are equal, bit for bit."""
    pairs = zip(_tensors(one), _tensors(other), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def _tensors(output: Any) -> list[torch.Tensor]:
    named = [part for name, part in output.items() if "cache" not in name and "past" not in name]
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves(named) if torch.is_tensor(leaf)]
    assert leaves
    return leaves


def state(model: Any) -> dict[str, Any]:
    """Everything that a watch might leave behind, by what it is called."""
    found: dict[str, Any] = {
        f"AttentionInterface.{name}": value for name, value in vars(AttentionInterface).items()
    }
    found["registered functions"] = dict(AttentionInterface._global_mapping)
    found["configuration"] = model.config.to_dict()
    for name, module in model.named_modules():
        found[f"{name} is a"] = type(module)
        found[f"{name}.config"] = getattr(
            getattr(module, "config", None), "_attn_implementation", None
        )
        for attribute, value in vars(module).items():
            simple = isinstance(value, (int, float, str, bool, type(None)))
            hooks = isinstance(value, dict) and "hook" in attribute
            found[f"{name}.{attribute}"] = value if simple else len(value) if hooks else id(value)
    return found


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    names = before.keys() | after.keys()
    return sorted(name for name in names if before.get(name) != after.get(name))


def traits(model: Any, inputs: Inputs, calls: list[Called]) -> list[str]:
    """What these calls bring beyond queries, keys and values of the same shape, in words."""
    config = model.config.get_text_config()
    items = next(iter(inputs.values())).shape[0]
    times = Counter(id(called.module) for called in calls)
    layers = getattr(config, "num_hidden_layers", len(times))
    modules = len(times)
    found = {
        f"attention in {modules} of {layers} layers": modules < layers and times.total() < layers,
        f"one module for {times.total()} layers": modules < times.total(),
        "grouped heads": any(c.call.key.shape[1] < c.call.query.shape[1] for c in calls),
        "values narrower than keys": any(
            c.call.value.shape[3] < c.call.key.shape[3] for c in calls
        ),
        "windows of an image as items": any(c.call.query.shape[0] > items for c in calls),
        "a sliding window": any(c.keywords.get("sliding_window") for c in calls),
        "chunks": bool(getattr(config, "attention_chunk_size", None)),
        "a scale of its own": any(
            abs(c.call.scale - c.call.query.shape[3] ** -0.5) > 1e-6 for c in calls
        ),
        "softcap": any(c.call.softcap is not None for c in calls),
        "sinks": any(c.call.sinks is not None for c in calls),
        "a bias by position": any(c.call.mask.bias is not None for c in calls),
    }
    return [trait for trait, holds in found.items() if holds]


@functools.cache
def refusal(specimen: Specimen) -> str:
    """What a watch says of a model that it cannot read."""
    model = build(specimen)
    try:
        with regard.watch(model, ask=regard.Ask(top=2)):
            run(model, specimen.inputs[0]())
    except regard.InputError as error:
        return str(error)
    raise AssertionError(f"{specimen} was read")
