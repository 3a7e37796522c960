from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, AttentionInterface

import regard
from models.tiny import build, padding, random_ids
from regard.models.watched.interface import implementation_of, intercept, read_call, unpack

CAUSAL = SimpleNamespace(is_causal=True)
BOTH_WAYS = SimpleNamespace(is_causal=False)


def tensors(queries=4, keys=4, heads=4, kv_heads=2):
    random = torch.Generator().manual_seed(0)
    return (
        torch.randn(2, heads, queries, 8, generator=random),
        torch.randn(2, kv_heads, keys, 8, generator=random),
        torch.randn(2, kv_heads, keys, 6, generator=random),
    )


def read(module=CAUSAL, mask=None, how="sdpa", sizes=(4, 4), **keywords):
    return read_call(module, "layer", *tensors(*sizes), mask, keywords, how)


def seen(mask, queries=4, keys=4):
    """Who sees whom: `(batch, queries, keys)`."""
    query = torch.zeros(2, 1, queries, 1)
    ask = regard.Ask(rows=range(queries))
    return regard.readings(query, torch.zeros(2, 1, keys, 1), ask=ask, mask=mask).rows[:, 0] > 0


def test_arguments_however_they_are_passed():
    assert unpack((1, 2, 3, 4), {"dropout": 0}) == (1, 2, 3, 4, {"dropout": 0})
    assert unpack((1, 2), {"value": 3, "attention_mask": 4, "a": 5}) == (1, 2, 3, 4, {"a": 5})
    with pytest.raises(regard.InputError, match="attention was called with 5 arguments"):
        unpack((1, 2, 3, 4, 5), {})


def test_a_call_shares_the_models_memory():
    query, key, value = tensors()
    query.requires_grad_(True)
    call = read_call(CAUSAL, "layer", query, key, value, None, {}, "sdpa")
    assert not call.query.requires_grad
    assert [one.data_ptr() for one in (call.query, call.key, call.value)] == [
        one.data_ptr() for one in (query, key, value)
    ]
    assert call.scale == 8**-0.5
    assert (call.softcap, call.sinks) == (None, None)


def test_scale_softcap_and_sinks():
    call = read(how="eager", scaling=0.25, softcap=30, s_aux=torch.arange(4.0))
    assert (call.scale, call.softcap) == (0.25, 30.0)
    assert call.sinks.tolist() == [0, 1, 2, 3]
    own = SimpleNamespace(is_causal=True, sinks=torch.nn.Parameter(torch.ones(4)))
    assert read(own, how="eager").sinks.tolist() == [1, 1, 1, 1]
    assert read(own, how="sdpa").sinks is None  # that function does not read them
    with pytest.raises(regard.InputError, match=r"sinks of layer have shape \(3,\)"):
        read(how="eager", s_aux=torch.ones(3))


@pytest.mark.parametrize(
    ("how", "module", "keywords", "sizes", "causal"),
    [
        ("sdpa", CAUSAL, {}, (4, 4), True),
        ("sdpa", BOTH_WAYS, {}, (4, 4), False),
        ("sdpa", BOTH_WAYS, {"is_causal": True}, (4, 4), True),
        ("sdpa", CAUSAL, {"is_causal": False}, (4, 4), False),
        ("sdpa", SimpleNamespace(), {}, (4, 4), True),
        ("sdpa", CAUSAL, {}, (1, 4), False),  # a decode step sees all before it
        ("eager", CAUSAL, {}, (4, 4), False),  # it has a mask where it is causal
    ],
)
def test_without_a_mask(how, module, keywords, sizes, causal):
    mask = read(module, how=how, sizes=sizes, **keywords).mask
    assert mask.causal is causal
    assert mask.allowed is mask.bias is None


def test_causal_without_a_mask_begins_at_the_first_key():
    """sdpa cuts the keys that a fixed cache has beyond the queries."""
    cells = seen(read(sizes=(3, 5)).mask, 3, 5)
    assert torch.equal(cells[0], torch.ones(3, 5, dtype=torch.bool).tril())


@pytest.mark.parametrize("lowest", [float("-inf"), torch.finfo(torch.float32).min])
def test_a_mask_of_floats_says_what_is_not_seen(lowest):
    cells = torch.ones(4, 4, dtype=torch.bool).tril()
    cells[2, 1] = False
    mask = torch.zeros(1, 1, 4, 4).masked_fill(~cells, lowest)
    for given in (mask, cells[None, None]):
        read_mask = read(mask=given).mask
        assert read_mask.bias is None
        assert torch.equal(seen(read_mask), cells.expand(2, 4, 4))


def test_a_mask_of_floats_that_adds_to_scores_is_a_bias():
    mask = torch.randn(1, 4, 4, 4)
    mask[..., 0] = torch.finfo(torch.float32).min
    call = read(mask=mask)
    assert call.mask.bias is not None
    assert not seen(regard.Mask(allowed=call.mask.allowed[:, :1]))[..., 0].any()
    position = torch.randn(1, 4, 4, 6)
    both = read(mask=mask, position_bias=position).mask.bias
    assert torch.equal(both, position[..., :4] + mask)


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("side", ["left", "right", "none"])
@pytest.mark.parametrize("rows", [1, 5, 12])
def test_plain_masks_become_a_few_numbers(rows, side, window):
    keys = 12
    row = torch.arange(keys - rows, keys)[:, None]
    column = torch.arange(keys)
    cells = (column <= row) & (row - column < (window or keys))
    cells = cells & padding(side, 2, keys).bool()[:, None]
    mask = read(mask=cells[:, None], sizes=(rows, keys)).mask
    assert mask.allowed is None
    assert torch.equal(seen(mask, rows, keys), cells)


def test_a_local_mask_both_ways_becomes_a_window():
    distance = torch.arange(9) - torch.arange(9)[:, None]
    cells = (distance.abs() <= 2)[None, None]
    mask = read(BOTH_WAYS, mask=cells, sizes=(9, 9)).mask
    assert (mask.window, mask.allowed) == ((2, 2), None)


def test_masks_that_no_few_numbers_say_stay_as_they_are():
    cells = torch.rand(2, 1, 4, 4, generator=torch.Generator().manual_seed(0)) > 0.4
    mask = read(mask=cells).mask
    assert mask.allowed.data_ptr() == cells.data_ptr()
    by_head = torch.ones(1, 4, 4, 4, dtype=torch.bool)
    by_head[:, 1] = by_head[:, 1].tril()
    assert read(mask=by_head).mask.allowed is not None


def test_a_mask_is_cut_to_the_keys():
    cells = torch.ones(1, 1, 4, 9, dtype=torch.bool).tril()
    assert torch.equal(seen(read(mask=cells).mask), cells[0, :, :, :4].expand(2, 4, 4))


def test_a_mask_that_is_written_to_is_read_again():
    cells = torch.ones(1, 1, 4, 4, dtype=torch.bool).tril()
    assert read(mask=cells).mask.causal
    cells[:] = True
    assert not read(mask=cells).mask.causal


def test_flash_attention_puts_the_last_query_beside_the_last_key():
    real = torch.tensor([[0, 1, 1, 1, 1], [1, 1, 1, 1, 1]])
    mask = read(how="flash", mask=real, sizes=(3, 5), sliding_window=2).mask
    cells = seen(mask, 3, 5)
    expected = torch.tensor([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]).bool()
    assert torch.equal(cells[0], expected)
    assert torch.equal(cells[1], expected)
    padded = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]])
    cells = seen(read(how="flash", mask=padded, sizes=(3, 5)).mask, 3, 5)
    assert not cells[0, 2].any()  # the row of padding sees nothing
    assert not read(BOTH_WAYS, how="flash", is_causal=False).mask.causal


def test_flash_attention_keeps_packed_texts_apart():
    ends = torch.tensor([0, 2, 4], dtype=torch.int32)
    cells = seen(read(how="flash", cu_seq_lens_q=ends, cu_seq_lens_k=ends).mask)
    assert cells[0].tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [False, False, True, False],
        [False, False, True, True],
    ]


def test_an_unknown_keyword_is_refused_by_name():
    said = r"layer passes block_indices=Tensor\(2,\) to its attention.*layers=.*block_indices"
    with pytest.raises(regard.InputError, match=said):
        read(block_indices=torch.ones(2))
    read(block_indices=None, dropout=0.1, output_attentions=True)


def test_what_cannot_be_read_is_refused():
    query, key, value = tensors()
    with pytest.raises(regard.InputError, match=r"query of layer is \(4, 4, 8\): expected"):
        read_call(CAUSAL, "layer", query[0], key, value, None, {}, "sdpa")
    with pytest.raises(regard.InputError, match="attention_mask of layer is object"):
        read(mask=object())


def test_implementations_are_known_by_their_functions():
    def eager_attention_forward():
        pass

    def mine():
        pass

    assert implementation_of(ALL_ATTENTION_FUNCTIONS["sdpa"], "layer") == "sdpa"
    assert implementation_of(ALL_ATTENTION_FUNCTIONS["flash_attention_2"], "layer") == "flash"
    assert implementation_of(eager_attention_forward, "layer") == "eager"
    for unknown in (mine, ALL_ATTENTION_FUNCTIONS["flex_attention"]):
        with pytest.raises(regard.InputError, match=r"layer computes its attention with .*'sdpa'"):
            implementation_of(unknown, "layer")


def test_intercepts_see_calls_in_the_order_they_were_opened():
    model, calls = build("gpt2"), []

    def handler(name):
        def handle(module, function, args, kwargs):
            result = function(module, *args, **kwargs)
            calls.append((name, implementation_of(function, "layer")))
            return result

        return handle

    method = AttentionInterface.get_interface
    model.set_attn_implementation("sdpa")
    first, second = intercept(handler("first")), intercept(handler("second"))
    with torch.no_grad():
        alone = model(random_ids(1, 4)).logits
        with first, second:
            kept = ALL_ATTENTION_FUNCTIONS["sdpa"]
            assert torch.equal(model(random_ids(1, 4)).logits, alone)
    assert calls == [("first", "sdpa"), ("second", "sdpa")] * 2
    assert AttentionInterface.get_interface is method
    assert "__getitem__" not in vars(AttentionInterface)
    # a function that a model held on to goes straight through afterwards
    query, key, value = tensors(kv_heads=4)
    output, _ = kept(BOTH_WAYS, query, key, value[..., :6], None)
    assert output.shape == (2, 4, 4, 6)
    assert len(calls) == 4


def test_what_a_handler_gives_reaches_the_model():
    model = build("gpt2")

    def nothing(module, function, args, kwargs):
        output, weights = function(module, *args, **kwargs)
        return output * 0, weights

    with torch.no_grad():
        alone = model(random_ids(1, 4)).logits
        with intercept(nothing):
            assert not np.allclose(model(random_ids(1, 4)).logits, alone)
