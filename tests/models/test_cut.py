"""A cut against the same attention with an explicit mask over every query and key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from regard.errors import InputError
from regard.mechanism.mask import Mask
from regard.models.cut import Cut, apply, in_layer


@dataclass(frozen=True, eq=False)
class Given:
    """What `apply` reads of one call of the attention interface."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: Mask
    scale: float = 0.3
    softcap: float | None = None
    sinks: torch.Tensor | None = None


def call(queries: int = 9, keys: int = 9, batch: int = 2, **more: Any) -> Given:
    generator = torch.Generator().manual_seed(queries * 100 + keys)
    dtype = more.pop("dtype", torch.float64)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    more.setdefault("mask", Mask(causal=True, offset=keys - queries))
    return Given(
        draw(batch, 4, queries, 6), draw(batch, 2, keys, 6), draw(batch, 2, keys, 5), **more
    )


def visible(given: Given) -> torch.Tensor:
    """What each query may see, `(batch, heads, queries, keys)`, spelled out cell by cell."""
    batch, heads, queries = given.query.shape[:3]
    keys, mask = given.key.shape[2], given.mask
    seen = torch.ones(batch, heads, queries, keys, dtype=torch.bool)
    offsets = np.broadcast_to(0 if mask.offset is None else mask.offset, (batch,))
    lengths = np.broadcast_to(keys if mask.lengths is None else mask.lengths, (batch,))
    left, right = mask.window or (None, None)
    for item in range(batch):
        for row in range(queries):
            distance = torch.arange(keys) - (row + int(offsets[item]))
            cell = seen[item, :, row]
            cell &= torch.arange(keys) < int(lengths[item])
            cell &= (distance <= 0) | (not mask.causal)
            cell &= (distance >= -left) if left is not None else True
            cell &= (distance <= right) if right is not None else True
            if mask.segments is not None:
                labels = np.broadcast_to(mask.segments, (batch, keys))
                mine = labels[item, row]
                cell &= torch.as_tensor((labels[item] == mine) & (mine >= 0))
    return seen if mask.allowed is None else seen & mask.allowed


def brute(given: Given, seen: torch.Tensor) -> torch.Tensor:
    """Eager attention over an explicit mask, in float64: `(batch, queries, heads, value_dim)`."""
    query, key, value = (part.double() for part in (given.query, given.key, given.value))
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(2, 3) * given.scale
    if given.softcap is not None:
        scores = given.softcap * torch.tanh(scores / given.softcap)
    if given.mask.bias is not None:
        scores = scores + given.mask.bias
        seen = seen & (given.mask.bias != -torch.inf)
    scores = scores.masked_fill(~seen, -torch.inf)
    if given.sinks is not None:
        sink = given.sinks.double()[None, :, None, None].expand(*scores.shape[:3], 1)
        scores = torch.cat((scores, sink), -1)
    weights = scores.softmax(-1).nan_to_num(0.0)[..., : key.shape[2]]
    return (weights @ value).transpose(1, 2)


def without(given: Given, cuts: list[Cut], first_query: int, first_key: int = 0) -> torch.Tensor:
    """The explicit mask with every cell of every cut taken out, one by one."""
    seen = visible(given)
    queries, keys = seen.shape[2:]
    for cut in cuts:
        heads = np.flatnonzero(cut.chooses("heads", 0, 4))
        rows = np.flatnonzero(cut.chooses("queries", first_query, first_query + queries))
        columns = np.flatnonzero(cut.chooses("keys", first_key, first_key + keys))
        for head in heads:
            for row in rows:
                seen[:, head, row, columns] = False
    return seen


CUTS = {
    "some keys": [Cut(keys=[1, 4])],
    "one query": [Cut(queries=6, keys=slice(0, 3))],
    "one head": [Cut(heads=2, keys=slice(2, 5))],
    "heads of both key heads": [Cut(heads=[0, 3], queries=slice(4, None), keys=slice(0, 2))],
    "every other query": [Cut(queries=slice(1, None, 2), keys=[0])],
    "everything": [Cut()],
    "two that overlap": [
        Cut(heads=[1, 2], queries=slice(3, 8), keys=slice(0, 3)),
        Cut(heads=[2, 3], queries=slice(5, None), keys=[2, 5, 6]),
    ],
}
MASKS = {
    "causal": {},
    "none": {"mask": Mask()},
    "window": {"mask": Mask(causal=True, offset=0, window=(3, 0))},
    "one offset an item": {"mask": Mask(causal=True, offset=np.array([0, -2]))},
    "lengths": {"mask": Mask(lengths=np.array([4, 9]))},
    "segments": {"mask": Mask(segments=np.array([0, 0, 0, 1, 1, -1, 2, 2, 2]))},
    "segments by item": {"mask": Mask(segments=np.array([[0] * 5 + [1] * 4, [-1] * 2 + [3] * 7]))},
    "softcap": {"softcap": 2.0},
    "sinks": {"sinks": torch.tensor([0.5, -1.0, 2.0, 0.0], dtype=torch.float64)},
    "allowed": {"mask": Mask(allowed=torch.rand(2, 1, 9, 9) > 0.3)},
    "bias by head": {"mask": Mask(bias=torch.randn(1, 4, 9, 9, dtype=torch.float64))},
    "one bias for every query": {"mask": Mask(bias=torch.randn(2, 1, 1, 9, dtype=torch.float64))},
}


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_rows_equal_those_under_an_explicit_mask(mask: dict[str, Any], cuts: list[Cut]) -> None:
    given = call(**mask)
    output = brute(given, visible(given))
    changed = apply(given, output, cuts)
    torch.testing.assert_close(changed, brute(given, without(given, cuts, 0)), rtol=0, atol=1e-14)


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
def test_rows_and_heads_that_no_cut_concerns_stay_bit_for_bit(cuts: list[Cut]) -> None:
    given = call()
    output = torch.randn(2, 9, 4, 5, dtype=torch.float64)
    before = output.clone()
    changed = apply(given, output, cuts)
    assert torch.equal(output, before)
    touched = torch.zeros(9, 4, dtype=torch.bool)
    for cut in cuts:
        rows, heads = cut.chooses("queries", 0, 9), cut.chooses("heads", 0, 4)
        touched |= torch.as_tensor(rows[:, None] & heads)
    assert torch.equal(changed[:, ~touched], before[:, ~touched])
    assert not torch.isclose(changed[:, touched], before[:, touched]).any()


@pytest.mark.parametrize(
    "cuts", [[], [Cut(keys=slice(9, None))], [Cut(queries=20)]], ids=["none", "keys", "queries"]
)
def test_where_nothing_is_cut_the_output_is_the_very_same(cuts: list[Cut]) -> None:
    output = torch.randn(2, 9, 4, 5)
    assert apply(call(), output, cuts) is output


def test_a_row_left_with_nothing_gives_0() -> None:
    given = call()
    changed = apply(given, torch.full((2, 9, 4, 5), torch.nan), [Cut()])
    assert torch.equal(changed, torch.zeros(2, 9, 4, 5, dtype=changed.dtype))
    first_key_gone = apply(given, torch.ones(2, 9, 4, 5), [Cut(keys=0)])
    assert torch.equal(first_key_gone[:, 0], torch.zeros(2, 4, 5))


@pytest.mark.parametrize("position", [5, 8])
def test_a_decode_step_is_the_row_of_its_position(position: int) -> None:
    keys = position + 1
    given = call(1, keys)
    output = brute(given, visible(given))
    cuts = [Cut(queries=5, keys=[0, 2]), Cut(queries=slice(7, None), keys=[3])]
    changed = apply(given, output, cuts)
    expected = brute(given, without(given, cuts, position))
    torch.testing.assert_close(changed, expected, rtol=0, atol=1e-14)
    assert not torch.equal(changed, output)


def test_a_cache_that_dropped_keys_or_holds_room_for_more() -> None:
    cuts = [Cut(queries=slice(20, 23), keys=[13, 15])]
    given = call(2, 9)  # keys 12..20, queries 19 and 20
    output = brute(given, visible(given))
    changed = apply(given, output, cuts, first_key=12)
    expected = brute(given, without(given, cuts, 19, 12))
    torch.testing.assert_close(changed, expected, rtol=0, atol=1e-14)
    assert torch.equal(changed[:, 0], output[:, 0])
    given = call(2, 9, mask=Mask(causal=True, offset=3))  # a cache of 9 filled to 5
    output = brute(given, visible(given))
    cuts = [Cut(queries=3, keys=[1])]
    changed = apply(given, output, cuts, first_query=3)
    expected = brute(given, without(given, cuts, 3))
    torch.testing.assert_close(changed, expected, rtol=0, atol=1e-14)
    assert torch.equal(changed[:, 1], output[:, 1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_dtype_stays(dtype: torch.dtype) -> None:
    given = call(dtype=dtype)
    cuts = [Cut(keys=[1, 2])]
    exact = brute(given, without(given, cuts, 0))
    changed = apply(given, brute(given, visible(given)).to(dtype), cuts)
    assert changed.dtype == dtype
    # a row is rounded once to its dtype, and to float32 on the way
    error = (changed.double() - exact).norm(dim=-1)
    assert (error <= 2 * torch.finfo(dtype).eps * exact.norm(dim=-1) + 1e-7).all()


def test_gradients_flow_through_the_rows_that_are_not_cut_only() -> None:
    output = torch.randn(2, 9, 4, 5, dtype=torch.float64, requires_grad=True)
    apply(call(), output, [Cut(queries=slice(4, None), keys=[0])]).sum().backward()
    assert output.grad is not None
    assert torch.equal(output.grad[:, :4], torch.ones(2, 4, 4, 5, dtype=torch.float64))
    assert not output.grad[:, 4:].any()


def test_cuts_of_a_layer() -> None:
    all_layers, two, from_three = Cut(keys=0), Cut(layers=[0, 2]), Cut(layers=slice(3, None))
    cuts = [all_layers, two, from_three]
    assert in_layer(cuts, 0) == (all_layers, two)
    assert in_layer(cuts, 1) == (all_layers,)
    assert in_layer(cuts, 30) == (all_layers, from_three)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"keys": -1}, "keys of a cut holds -1: expected numbers from 0; the end of a sequence"),
        ({"queries": slice(-5, None)}, r"queries of a cut is slice\(-5, None, None\): expected to"),
        ({"keys": slice(4, 4)}, r"keys of a cut is slice\(4, 4, None\), which is empty"),
        ({"keys": slice(0, 4, 0)}, "which is empty: leave None for all"),
        ({"keys": slice(0.5, 4)}, r"slice\(0.5, 4, None\): expected whole numbers"),
        ({"layers": []}, "layers of a cut is empty, which cuts nothing: leave None for all"),
        ({"heads": True}, "heads of a cut is True: expected None for all, a whole number"),
        ({"heads": "L3H1"}, "heads of a cut is 'L3H1': expected None for all"),
        ({"heads": [0.5]}, "heads of a cut has dtype float64: expected whole numbers"),
        ({"keys": [[1, 2]]}, r"keys of a cut has shape \(1, 2\): expected None for all"),
        ({"keys": object()}, "keys of a cut is object: expected None for all"),
    ],
)
def test_what_a_cut_refuses(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Cut(**given)


@pytest.mark.parametrize("heads", [4, [0, 7], slice(4, None)])
def test_a_head_that_the_layer_lacks(heads: Any) -> None:
    with pytest.raises(InputError, match=r"names head \d and the layer has 4: expected 0 to 3"):
        apply(call(), torch.zeros(2, 9, 4, 5), [Cut(heads=heads)])


def test_how_it_is_written() -> None:
    assert repr(Cut()) == "Cut()"
    assert repr(Cut(3, keys=slice(2, None))) == "Cut(layers=3, keys=slice(2, None))"
    assert repr(Cut(keys=range(10))) == "Cut(keys=[0, 1, 2, 3, 4, 5, 6, 7, ... 10 in all])"
