"""torch's own settings for scaled_dot_product_attention, in every dtype it computes in.

Each setting is computed twice: by NumPy over the tensors' memory, as tensors of a processor
always are, and by torch's own operations, as on an accelerator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pytest
import torch
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.nn.functional import scaled_dot_product_attention
from torch.testing._internal.common_methods_invocations import (
    sample_inputs_scaled_dot_product_attention,
)

import regard
from accuracy import READINGS, check_output, check_result, dense_of, dtype_name
from cases import CASES, Given, as_float64, give, torch_of_one_thread
from regard import Ask, InputError, Mask, attention, readings
from regard.mechanism import dialect
from regard.mechanism.call import check
from regard.mechanism.tensors import TorchArrays

DTYPES: Final = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INFINITY: Final = float("inf")

torch_of_one_thread()


@dataclass(frozen=True)
class Setting:
    """A call as torch takes it, and the mask that says the same here."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    theirs: dict[str, Any]
    mask: Mask
    scale: float | None = None

    def given(self) -> Given:
        arrays = (self.query, self.key, self.value)
        bias, allowed = self.mask.bias, self.mask.allowed
        exact = replace(
            self.mask,
            bias=None if bias is None else as_float64(bias),
            allowed=None if allowed is None else allowed.numpy(),
        )
        return Given(
            dtype=dtype_name(self.query),
            arrays=arrays,
            options={"mask": self.mask, "scale": self.scale},
            exact=tuple(as_float64(array) for array in arrays),
            exact_options={"mask": exact, "scale": self.scale},
        )


def setting(query, key, value, *, attn_mask=None, is_causal=False, scale=None, **rest) -> Setting:
    """A setting from torch's arguments. torch's is_causal counts from the first key."""
    theirs = {"attn_mask": attn_mask, "is_causal": is_causal, "scale": scale, **rest}
    mask = Mask(causal=True, offset=0) if is_causal else Mask()
    if attn_mask is not None:
        wide = attn_mask.expand(*[1] * (2 - attn_mask.ndim), *attn_mask.shape)
        mask = Mask(allowed=wide) if attn_mask.dtype == torch.bool else Mask(bias=wide)
    if key.shape[:-3] != query.shape[:-3] or key.ndim != query.ndim:  # torch broadcasts, we do not
        leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
        query, key, value = (x.expand(*leading, *x.shape[-2:]) for x in (query, key, value))
    return Setting(query, key, value, theirs, mask, scale)


def draw(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64).to(dtype)


def three(batch, heads, queries, keys, dim, dtype, kv_heads=None) -> list[torch.Tensor]:
    kv = (batch, heads if kv_heads is None else kv_heads, keys, dim)
    return [draw(*shape, dtype=dtype) for shape in ((batch, heads, queries, dim), kv, kv)]


def torchs_samples(dtype: torch.dtype) -> list[Setting]:
    """The inputs that torch ships for its own tests, without dropout, which is random."""
    found = []
    for sample in sample_inputs_scaled_dot_product_attention(None, "cpu", dtype, False):
        options = {name: value for name, value in sample.kwargs.items() if name != "dropout_p"}
        found.append(setting(sample.input, *sample.args, **options))
    return found


def some_hidden(*shape: int) -> torch.Tensor:
    mask = torch.rand(shape) < 0.7
    mask[..., 0] = True
    return mask


def masked(dtype, shape, kind, queries=11, keys=37, dim=8, batch=2, heads=3) -> Setting:
    mask = some_hidden(*shape) if kind == "bool" else draw(*shape, dtype=dtype)
    return setting(*three(batch, heads, queries, keys, dim, dtype), attn_mask=mask)


def band(dtype) -> Setting:
    """The band of torch's issue 127055: above the diagonal and far below it, -inf."""
    full = torch.full((300, 300), -INFINITY, dtype=dtype)
    mask = full.triu(1) + full.tril(-10)
    return setting(*three(1, 2, 300, 300, 8, dtype), attn_mask=mask)


def blind_rows(dtype, kind) -> Setting:
    mask = some_hidden(2, 1, 20, 30)
    mask[0, :, 3] = mask[1, :, 19] = False
    if kind == "float":
        mask = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -INFINITY)
    return setting(*three(2, 4, 20, 30, 16, dtype), attn_mask=mask)


def turned(dtype) -> Setting:
    """Heads beside tokens, as a model's projections leave them."""
    return setting(*(draw(2, 40, 3, 16, dtype=dtype).transpose(1, 2) for _ in range(3)))


def columns_first(dtype) -> Setting:
    return setting(*(draw(2, 3, 16, 40, dtype=dtype).mT for _ in range(3)), is_causal=True)


def packed(dtype) -> Setting:
    """Query, key and value out of one projection."""
    together = draw(2, 40, 3 * 4 * 8, dtype=dtype)
    query, key, value = (x.view(2, 40, 4, 8).transpose(1, 2) for x in together.chunk(3, -1))
    return setting(query, key, value, is_causal=True)


def strided(dtype) -> Setting:
    """Every second column, from the second one on: nothing is aligned or adjacent."""
    return setting(*(draw(2, 3, 40, 34, dtype=dtype)[..., 1::2] for _ in range(3)))


def strided_mask(dtype, kind) -> Setting:
    mask = some_hidden(11, 80) if kind == "bool" else draw(11, 80, dtype=dtype)
    return setting(*three(2, 3, 11, 40, 8, dtype), attn_mask=mask[:, ::2])


def turned_mask(dtype) -> Setting:
    mask = draw(40, 11, dtype=dtype).T
    return setting(*three(2, 3, 11, 40, 8, dtype), attn_mask=mask)


def expanded(dtype) -> Setting:
    query, key, value = three(1, 1, 11, 40, 8, dtype)
    mask = draw(1, 1, 11, 1, dtype=dtype).expand(2, 3, 11, 40)
    key, value = key.expand(2, 3, 40, 8), value.expand(2, 3, 40, 8)
    return setting(query.expand(2, 3, 11, 8), key, value, attn_mask=mask)


def aligned(dtype, queries, keys, end) -> Setting:
    """torch's causal biases, which align the first query with the first key or the last with it."""
    bias = causal_lower_right(queries, keys) if end else causal_upper_left(queries, keys)
    given = setting(*three(2, 3, queries, keys, 8, dtype))
    mask = Mask(causal=True, offset=keys - queries if end else 0)
    return replace(given, theirs={"attn_mask": bias}, mask=mask)


def narrow_values(dtype) -> Setting:
    query, key, _ = three(2, 3, 11, 40, 16, dtype)
    return setting(query, key, draw(2, 3, 40, 24, dtype=dtype), is_causal=True)


def large(dtype) -> Setting:
    query, key, value = three(2, 3, 40, 40, 64, dtype)
    return setting(8 * query, 8 * key, value)


def grouped(dtype, heads, kv_heads, **rest) -> Setting:
    given = three(2, heads, 40, 40, 16, dtype, kv_heads)
    return setting(*given, enable_gqa=True, **rest)


SETTINGS: Final[dict[str, Callable[[torch.dtype], Setting]]] = {
    "bool mask, rows of one head": lambda d: masked(d, (11, 37), "bool"),
    "bool mask of every head": lambda d: masked(d, (2, 3, 11, 37), "bool"),
    "bool mask, one row for all": lambda d: masked(d, (1, 37), "bool"),
    "bool mask, one item": lambda d: masked(d, (1, 3, 11, 37), "bool"),
    "bool mask of padding": lambda d: masked(d, (2, 1, 1, 37), "bool"),
    "float mask, rows of one head": lambda d: masked(d, (11, 37), "float"),
    "float mask of every head": lambda d: masked(d, (2, 3, 11, 37), "float"),
    "float mask, one column": lambda d: masked(d, (2, 1, 11, 1), "float"),
    "float mask, dim 1": lambda d: masked(d, (2, 1, 11, 37), "float", dim=1),
    "float mask, one query": lambda d: masked(d, (2, 1, 1, 170), "float", queries=1, keys=170),
    "float mask, one key": lambda d: masked(d, (11, 1), "float", keys=1),
    "band of -inf": band,
    "rows that see nothing, bool": lambda d: blind_rows(d, "bool"),
    "rows that see nothing, -inf": lambda d: blind_rows(d, "float"),
    "causal": lambda d: setting(*three(2, 3, 40, 40, 16, d), is_causal=True),
    "causal, more keys": lambda d: setting(*three(2, 3, 11, 40, 16, d), is_causal=True),
    "causal, more queries": lambda d: setting(*three(2, 3, 40, 11, 16, d), is_causal=True),
    "causal_upper_left": lambda d: aligned(d, 11, 40, end=False),
    "causal_lower_right": lambda d: aligned(d, 11, 40, end=True),
    "heads inside": turned,
    "columns first": columns_first,
    "one projection": packed,
    "every second column": strided,
    "every second column of a bool mask": lambda d: strided_mask(d, "bool"),
    "every second column of a float mask": lambda d: strided_mask(d, "float"),
    "mask columns first": turned_mask,
    "expanded": expanded,
    "no queries": lambda d: setting(*three(2, 3, 0, 7, 8, d)),
    "no keys": lambda d: setting(*three(2, 3, 7, 0, 8, d)),
    "no batch": lambda d: setting(*three(0, 3, 7, 7, 8, d)),
    "no heads": lambda d: setting(*three(2, 0, 7, 7, 8, d)),
    "grouped heads": lambda d: grouped(d, 8, 2),
    "grouped heads, one key head": lambda d: grouped(d, 9, 1, is_causal=True),
    "grouped heads, mask": lambda d: grouped(d, 6, 3, attn_mask=some_hidden(2, 6, 40, 40)),
    "scale": lambda d: setting(*three(2, 3, 40, 40, 16, d), scale=0.3),
    "scale below 0": lambda d: setting(*three(2, 3, 40, 40, 16, d), scale=-0.2),
    "wide heads": lambda d: setting(*three(1, 2, 40, 40, 203, d)),
    "values of another width": narrow_values,
    "scores in the hundreds": large,
    "several panels": lambda d: setting(*three(1, 2, 300, 300, 8, d), is_causal=True),
}

SAMPLES: Final = len(torchs_samples(torch.float32))


@pytest.fixture(params=["by NumPy", "by torch"])
def operations(request, monkeypatch) -> str:
    """Whose operations compute: as on a processor, and as on an accelerator."""
    if request.param == "by torch":
        as_on_an_accelerator(monkeypatch)
    return request.param


def as_on_an_accelerator(monkeypatch) -> None:
    place = torch.device("cpu")
    monkeypatch.setattr(dialect, "CpuTensors", lambda dtype: TorchArrays(dtype, place))


def check_setting(made: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch means the same by it, and ours is as exact as can be, whosever operations compute."""
    given = made.given()
    exact, _, _ = dense_of(given)
    if given.dtype == "float64":  # what a setting means does not depend on the dtype
        meant = scaled_dot_product_attention(*given.arrays, **made.theirs)
        check_output(meant, given, exact)
    check_output(attention(*given.arrays, **given.options).output, given, exact)
    as_on_an_accelerator(monkeypatch)
    check_output(attention(*given.arrays, **given.options).output, given, exact)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("number", range(SAMPLES))
def test_the_samples_that_torch_ships(number, dtype, monkeypatch):
    torch.manual_seed(number)
    check_setting(torchs_samples(dtype)[number], monkeypatch)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", SETTINGS)
def test_what_torchs_tests_name(name, dtype, monkeypatch):
    torch.manual_seed(0)
    check_setting(SETTINGS[name](dtype), monkeypatch)


def everything(queries: int, keys: int) -> Ask:
    return Ask(
        top=5, share=True, entropy=True, lse=True, max_score=True, received=True,
        rows=range(0, queries, 9), columns=range(0, keys, 7),
        groups=(np.arange(keys) % 5 - 1, 6), thumbnail=6,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["torch bfloat16", "torch float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_reading_by_torchs_operations(case, dtype, monkeypatch):
    as_on_an_accelerator(monkeypatch)
    given = give(case, dtype)
    ask = everything(case.query[-2], case.key[-2])
    output, read = attention(*given.arrays, **given.options, ask=ask)
    assert isinstance(read.entropy, torch.Tensor)
    check_result(output, read, given, ask)


def tensors(dtype=torch.float32, tokens=40) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return three(2, 4, tokens, tokens, 8, dtype, kv_heads=2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_ties_are_broken_towards_the_lower_key(dtype, operations):
    # torch's topk promises no order; on a constant row of 700 it takes other keys
    keys = torch.zeros(1, 700, 4, dtype=dtype)
    query = torch.ones(1, 3, 4, dtype=dtype)
    read = readings(query, keys, mask=Mask(window=(None, -2), offset=600), ask=Ask(top=6))
    assert read.top_index.tolist() == [[[0, 1, 2, 3, 4, 5]] * 3]
    keys[:, 99] = keys[:, 31] = keys[:, 613] = 1
    read = readings(query, keys, ask=Ask(top=6))
    assert read.top_index.tolist() == [[[31, 99, 613, 0, 1, 2]] * 3]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_tensors_are_computed_on_where_they_lie(dtype):
    query, key, value = tensors(dtype)
    allowed, bias = torch.ones(40, dtype=torch.bool), torch.zeros(40, 40, dtype=dtype)
    mask = Mask(allowed=allowed.expand(40, 40), bias=bias)
    call = check(query, key, value, mask=mask, scale=None, softcap=None, sinks=None)
    taken = {"query": (call.query, query), "bias": (call.mask.bias, bias)}
    taken["allowed"] = (call.mask.allowed, allowed)
    if dtype != torch.float16:  # keys and values are widened once
        taken |= {"key": (call.key, key), "values": (call.values, value)}
    for name, (array, tensor) in taken.items():
        assert np.shares_memory(array, tensor.numpy()), name


def test_bfloat16_is_widened_a_panel_at_a_time():
    query, key, value = tensors(torch.bfloat16)
    bias = torch.zeros(40, 40, dtype=torch.bfloat16)
    call = check(query, key, value, mask=bias, scale=None, softcap=None, sinks=None)
    assert call.query.data_ptr() == query.data_ptr()
    assert call.mask.bias.data_ptr() == bias.data_ptr()


def test_results_are_memory_of_their_own(operations):
    given = tensors()
    kept = [tensor.clone() for tensor in given]
    output, read = attention(*given, ask=everything(40, 40))
    output.zero_()
    for name in READINGS:
        getattr(read, name).zero_()
    assert all(torch.equal(*pair) for pair in zip(given, kept, strict=True))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_no_graph_is_kept_in_any_mode(mode, operations):
    weight = torch.randn(8, 8, requires_grad=True)
    plain = attention(*tensors(), ask=everything(40, 40))
    with mode():
        output, read = attention(*((x @ weight @ weight.inverse()).detach() for x in tensors()))
        assert not output.requires_grad
        assert output.grad_fn is None
        output, read = attention(*tensors(), ask=everything(40, 40))
    assert torch.equal(output, plain.output)
    for name in READINGS:
        assert getattr(read, name).grad_fn is None, name
        assert torch.equal(getattr(read, name), getattr(plain.readings, name)), name


def test_tensors_made_in_inference_mode_are_taken():
    with torch.inference_mode():
        given = tensors()
    assert torch.equal(attention(*given).output, attention(*tensors()).output)


def test_the_default_dtype_and_device_do_not_matter(operations):
    plain = attention(*tensors(), ask=everything(40, 40))
    given = tensors()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.device("meta"):
            output, read = attention(*given, ask=everything(40, 40))
    finally:
        torch.set_default_dtype(torch.float32)
    assert output.dtype == torch.float32
    assert torch.equal(output, plain.output)
    assert torch.equal(read.received, plain.readings.received)


def test_autocast_changes_nothing(operations):
    plain = attention(*tensors(), ask=everything(40, 40))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, read = attention(*tensors(), ask=everything(40, 40))
    assert output.dtype == torch.float32
    assert torch.equal(output, plain.output)
    for name in READINGS:
        assert torch.equal(getattr(read, name), getattr(plain.readings, name)), name


def test_threads_change_nothing_and_are_left_as_they_were():
    given = tensors(tokens=1100)
    before = torch.get_num_threads()
    found = []
    try:
        for theirs, ours in ((1, 1), (2, 3), (3, 2)):
            torch.set_num_threads(theirs)
            regard.set_num_threads(ours)
            found.append(attention(*given, ask=everything(1100, 1100)))
            assert torch.get_num_threads() == theirs
    finally:
        torch.set_num_threads(before)
        regard.set_num_threads(2)
    for result in found[1:]:
        assert torch.equal(result.output, found[0].output)
        for name in READINGS:
            assert torch.equal(getattr(result.readings, name), getattr(found[0].readings, name))


def test_a_nan_query_is_nan_however_few_the_keys(operations):
    # torch's fused kernel gives 0 while the keys do not fill a vector register
    for keys in range(1, 20):
        query, key, value = three(1, 1, 2, keys, 8, torch.float32)
        query[0, 0, 1] = float("nan")
        output = attention(query, key, value).output
        assert output[0, 0, 1].isnan().all()
        assert output[0, 0, 0].isfinite().all()


@pytest.mark.parametrize("wild", [float("nan"), INFINITY])
def test_what_is_hidden_never_arrives(wild, operations):
    # torch multiplies it by a weight of 0, which is NaN
    mask = torch.ones(40, 40, dtype=torch.bool)
    mask[:, 5] = False
    for place in (1, 2):
        tame, given = setting(*tensors(), attn_mask=mask).given(), tensors()
        given[place][:, :, 5] = wild
        check_output(attention(*given, mask=mask).output, tame, dense_of(tame)[0])


def test_a_mask_and_causal_hold_together():
    # torch's fused kernel does the same, its plain one refuses
    given, mask = tensors(), some_hidden(40, 40)
    both = attention(*given, mask=Mask(causal=True, allowed=mask)).output
    assert torch.equal(both, attention(*given, mask=mask.tril()).output)


NESTED: Final = "ignore:The PyTorch API of nested tensors is in prototype stage"


def refused_tensors() -> dict[str, tuple[Callable[[], Any], str]]:
    x = torch.zeros(3, 4)
    bias = causal_upper_left(3, 3)
    return {
        "causal bias": (
            lambda: attention(x, x, x, mask=bias),
            "bias is a CausalBias, which need not hold the numbers it stands for: expected a plain "
            "torch.Tensor, or regard.Mask(causal=True, offset=...).",
        ),
        "subclass": (
            lambda: attention(bias, bias, bias),
            "query is a CausalBias, which need not hold the numbers it stands for: expected a plain"
            " torch.Tensor.",
        ),
        "sparse": (
            lambda: attention(x, x.to_sparse(), x),
            "key has the layout sparse_coo: pass key.to_dense().",
        ),
        "nested": (
            lambda: attention(*[torch.nested.nested_tensor([x, x[1:]])] * 3),
            "query is a nested tensor: expected a padded one (torch.nested.to_padded_tensor); "
            "regard.Mask(lengths=...) says what is real.",
        ),
        "meta": (
            lambda: attention(*[x.to("meta")] * 3),
            "query is on meta, which holds no numbers: give it some.",
        ),
        "another device": (
            lambda: attention(x, x, x, mask=torch.ones(3, 3, dtype=torch.bool, device="meta")),
            "query is on cpu and allowed on meta: move allowed.",
        ),
        "vmap": (
            lambda: torch.vmap(lambda y: attention(y, y, y).output)(x[None]),
            "query has no memory of its own, as inside torch.vmap: call regard outside of it, on a "
            "batch (Cannot access data pointer of Tensor that doesn't have storage).",
        ),
        "bias of another dtype": (
            lambda: attention(x, x, x, mask=torch.zeros(3, 3, dtype=torch.bfloat16)),
            "query is float32 and bias is bfloat16: convert bias.",
        ),
        "heads that are to be broadcast": (
            lambda: attention(x[None], x[None, None], x[None, None]),
            "query has 3 axes (1, 3, 4) and key has 4 (1, 1, 3, 4): give all the same axes, "
            "(heads, tokens, dim).",
        ),
    }


@pytest.mark.filterwarnings(NESTED)
@pytest.mark.parametrize("name", refused_tensors())
def test_tensors_that_are_refused(name):
    call, message = refused_tensors()[name]
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == message


def test_numbers_kept_with_the_other_sign_are_read_right():
    mirrored = torch.randn(3, 4, dtype=torch.cfloat).conj().imag
    assert mirrored.is_neg()
    plain = mirrored.clone()
    assert torch.equal(attention(mirrored, mirrored, mirrored).output, attention(*[plain] * 3)[0])
