"""Records of weights, and of Q, K and V, in every shape that libraries give them."""

from __future__ import annotations

import numpy as np
import pytest

import regard
from regard.errors import InputError

TOKENS = ["[CLS]", "a", "dog", "ran", "[SEP]"]


def weights_of(*shape, causal=False, seed=0):
    """Rows that sum to 1; causal with the last row seeing every key."""
    random = np.random.default_rng(seed)
    weights = random.random(shape) + 0.01
    if causal:
        weights = np.tril(weights, shape[-1] - shape[-2])
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def vectors_of(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# weights


@pytest.mark.parametrize(
    ("weights", "layers", "heads", "rows"),
    [
        (weights_of(5), 1, 1, 1),
        (weights_of(5, 5), 1, 1, 5),
        (weights_of(2, 5), 1, 1, 2),
        (weights_of(3, 5, 5), 1, 3, 5),
        (weights_of(1, 3, 5, 5), 1, 3, 5),
        (weights_of(2, 1, 3, 5, 5), 2, 3, 5),
        ((weights_of(1, 3, 5, 5), weights_of(1, 3, 5, 5)), 2, 3, 5),
        ([weights_of(3, 5, 5)] * 4, 4, 3, 5),
        (weights_of(5, 5).tolist(), 1, 1, 5),
        (list(weights_of(5, 5)), 1, 1, 5),
        ([[1, 0, 0, 0, 0]] * 5, 1, 1, 5),
        ({"blocks.1.attn.hook_pattern": weights_of(1, 3, 5, 5), "ln_final": 0}, 1, 3, 5),
    ],
)
def test_shapes_of_weights(weights, layers, heads, rows):
    record = regard.from_weights(weights, TOKENS)
    assert len(record.layers) == layers
    for layer in record.layers:
        assert layer.heads == heads
        assert layer.query_positions.tolist() == list(range(5 - rows, 5))
    row = record.weights(0, 4)
    assert row.exact
    assert row.shares is None
    np.testing.assert_allclose(row.weights.sum(axis=1), 1, atol=1e-6)


def test_numbers_of_layers_in_a_cache():
    cache = {f"blocks.{n}.attn.hook_pattern": weights_of(1, 2, 5, 5, seed=n) for n in (10, 2)}
    record = regard.from_weights(cache, TOKENS)
    assert [layer.number for layer in record.layers] == [2, 10]
    np.testing.assert_array_equal(
        record.row(1, 1, 3), cache["blocks.10.attn.hook_pattern"][0, 1, 3]
    )


def test_item_of_a_batch():
    weights = tuple(weights_of(2, 3, 5, 5, seed=n) for n in range(2))
    record = regard.from_weights(weights, TOKENS, item=1)
    np.testing.assert_array_equal(record.row(1, 2, 0), weights[1][1, 2, 0])
    with pytest.raises(
        InputError, match=r"weights\[0\] has shape \(2, 3, 5, 5\): expected a batch of"
    ):
        regard.from_weights(weights, TOKENS)
    with pytest.raises(InputError, match=r"pass a tuple of them: tuple\(array\)"):
        regard.from_weights(weights[0], TOKENS)
    with pytest.raises(InputError, match=r"item is 2 and weights\[0\] has a batch of 2"):
        regard.from_weights(weights, TOKENS, item=2)
    with pytest.raises(InputError, match=r"item is 0 and weights has shape .*without a batch"):
        regard.from_weights(weights_of(3, 5, 5), TOKENS, item=0)


def test_generation_steps_are_stitched_into_rows():
    shapes = [(3, 3), (1, 4), (1, 5)]
    steps = tuple(
        tuple(weights_of(1, 2, *shape, causal=True, seed=n) for n in range(3)) for shape in shapes
    )
    for tokens in (TOKENS, [*TOKENS, "new"]):
        record = regard.from_weights(steps, tokens)
        assert len(record.layers) == 3
        assert record.layers[0].kind == "decoder"
        assert record.layers[0].query_positions.tolist() == list(range(5))
        np.testing.assert_array_equal(record.row(1, 1, 1)[:3], steps[0][1][0, 1, 1])
        assert record.row(1, 1, 1)[3:].tolist() == [0, 0]
        np.testing.assert_array_equal(record.row(2, 0, 4), steps[2][2][0, 0, 0])
        assert record.weights(0, 3).visible[:5].tolist() == [True] * 4 + [False]
    with pytest.raises(InputError, match="layer 0 of weights has 5 keys and there are 7 tokens"):
        regard.from_weights(steps, [*TOKENS, "new", "newer"])


def test_generation_steps_that_leave_a_gap():
    steps = ((weights_of(1, 2, 3, 3),), (weights_of(1, 2, 1, 5),))
    with pytest.raises(InputError, match=r"weights\[1\]\[0\] has 1 rows for 5 keys after 3 rows"):
        regard.from_weights(steps, TOKENS)
    steps = ((weights_of(1, 2, 3, 3),), ())
    with pytest.raises(InputError):
        regard.from_weights(steps, TOKENS)
    steps = ((weights_of(1, 2, 3, 3),) * 2, (weights_of(1, 2, 1, 4),))
    with pytest.raises(InputError, match=r"steps of \[1, 2\] layers"):
        regard.from_weights(steps, TOKENS[:4])


def test_causal_weights_are_a_decoder():
    assert regard.from_weights(weights_of(2, 5, 5, causal=True), TOKENS).layers[0].kind == "decoder"
    assert regard.from_weights(weights_of(2, 5, 5), TOKENS).layers[0].kind == "encoder"


def test_cross_attention():
    record = regard.from_weights(weights_of(2, 2, 5), ["le", "chien"], key_tokens=TOKENS)
    assert record.layers[0].kind == "cross"
    assert [side.name for side in record.sides] == ["text", "keys"]
    assert record.weights(0, 1).weights.shape == (2, 5)
    with pytest.raises(InputError, match="has 2 queries and 5 keys; there are 3 tokens and 5 key"):
        regard.from_weights(weights_of(2, 2, 5), ["a", "b", "c"], key_tokens=TOKENS)


def test_words_from_text_and_offsets():
    offsets = [(0, 0), (0, 1), (2, 4), (4, 5), (0, 0)]
    record = regard.from_weights(
        weights_of(2, 5, 5), ["[CLS]", "a", "do", "##g", "[SEP]"], text="a dog", offsets=offsets
    )
    assert record.sides[0].names == ("[CLS]", "a", "dog", "[SEP]")
    with pytest.raises(InputError, match="offsets is None: words need the text and the offsets"):
        regard.from_weights(weights_of(2, 5, 5), TOKENS, text="a dog")


def test_special_tokens_by_rule_or_as_told():
    tokens = ["<s>", "[UNK]", "<|im_start|>", "s", "[SEP]"]
    record = regard.from_weights(weights_of(5, 5), tokens)
    assert record.sides[0].special.tolist() == [True, False, True, False, True]
    told = regard.from_weights(weights_of(5, 5), tokens, special=[False] * 4 + [True])
    assert told.sides[0].special.tolist() == [False] * 4 + [True]
    with pytest.raises(InputError, match="special has 2 flags for 5 tokens"):
        regard.from_weights(weights_of(5, 5), tokens, special=[True] * 2)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (weights_of(5, 5) - 0.5, "weights holds -0.49.*are not negative. Are these scores"),
        (weights_of(5, 5) * 1.2, r"a row that sums to 1.2 \(head 0, row \d\).*dropout"),
        (weights_of(5, 5) * np.nan, "weights holds NaN"),
        (weights_of(4, 4), "weights has 4 keys and there are 5 tokens"),
        (weights_of(6, 5), "weights has 6 queries and 5 keys: for cross-attention give key_tokens"),
        (np.eye(5, dtype=np.int64), "weights has dtype int64: expected floats up to float64"),
        (np.float32(1.0), r"weights has shape \(\): expected \(heads, queries, keys\)"),
        (weights_of(1, 1, 1, 1, 5, 5), r"weights has shape \(1, 1, 1, 1, 5, 5\)"),
        ((None, None), r"weights\[0\] is None.*attn_implementation='eager'"),
        (None, "weights is None"),
        ((), "weights is empty"),
        ({}, "weights is a mapping with nothing: expected names as 'blocks.0.attn.hook_pattern'"),
        ({"attentions": ()}, r"weights is a whole model output: pass its \.attentions"),
        ([np.ones(3), np.ones(4)], "weights holds rows of several lengths"),
        ("abc", "weights has dtype <U3"),
    ],
)
def test_weights_that_are_not(weights, message):
    with pytest.raises(InputError, match=message):
        regard.from_weights(weights, TOKENS)


def test_rows_that_sum_to_less_than_one_are_kept():
    record = regard.from_weights(weights_of(5, 5) * 0.5, TOKENS)  # a sink, or a mask
    np.testing.assert_allclose(record.weights(0, 1).weights.sum(), 0.5, atol=1e-6)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ("a dog ran", r"tokens is the text 'a dog ran': expected a list.*tokens\.split\(\)"),
        ([1, 2, 3, 4, 5], "tokens holds 1: expected strings"),
    ],
)
def test_tokens_that_are_not(tokens, message):
    with pytest.raises(InputError, match=message):
        regard.from_weights(weights_of(5, 5), tokens)


# query, key, value


@pytest.mark.parametrize("lead", [(), (4,), (1, 4)])
def test_shapes_of_vectors(lead):
    key_lead = tuple(2 if size == 4 else size for size in lead)  # grouped heads
    query, key = vectors_of(*lead, 5, 8), vectors_of(*key_lead, 5, 8, seed=1)
    value = vectors_of(*key_lead, 5, 6, seed=2)
    mask = regard.Mask(causal=True)
    record = regard.from_qkv(query, key, value, TOKENS, mask)
    (layer,) = record.layers
    assert layer.kind == "decoder"
    wanted = regard.steps(query, key, value, mask=mask).weights.reshape(layer.heads, 5, 5)
    for head in range(layer.heads):
        for token in range(5):
            np.testing.assert_allclose(record.row(0, head, token), wanted[head, token], atol=1e-6)
        np.testing.assert_allclose(record.steps(0, head).weights, wanted[head], atol=1e-12)
    np.testing.assert_allclose(record.weights(0, 2).shares.sum(axis=1), 1, atol=1e-5)


def test_single_vectors():
    record = regard.from_qkv([1.0, 0.0], [2.0, 1.0], [3.0], ["word"])
    assert record.row(0, 0, 0).tolist() == [1]


def test_layers_of_vectors():
    layers = tuple(vectors_of(1, 2, 5, 8, seed=n) for n in range(3))
    record = regard.from_qkv(layers, layers, None, TOKENS)
    assert len(record.layers) == 3
    assert record.weights(2, 1).shares is None
    with pytest.raises(InputError, match=r"layers differ in number, \{'query': 3, 'key': 2\}"):
        regard.from_qkv(layers, layers[:2], None, TOKENS)


def test_scale_and_plain_masks():
    query, key = vectors_of(5, 8), vectors_of(5, 8, seed=1)
    allowed = np.tri(5, dtype=bool)
    record = regard.from_qkv(query, key, key, TOKENS, allowed, scale=1.0)
    wanted = regard.steps(query, key, key, mask=allowed, scale=1.0).weights
    np.testing.assert_allclose(record.row(0, 0, 2), wanted[2], atol=1e-6)


def test_cache_of_vectors():
    cache = {
        f"blocks.{layer}.attn.hook_{hook}": vectors_of(1, 5, 4, 8, seed=seed)
        for seed, (layer, hook) in enumerate((n, h) for n in range(2) for h in "qkv")
    }
    record = regard.from_qkv(cache, tokens=TOKENS, mask=regard.Mask(causal=True))
    assert len(record.layers) == 2
    part = {hook: np.swapaxes(cache[f"blocks.1.attn.hook_{hook}"][0], 0, 1) for hook in "qkv"}
    wanted = regard.steps(part["q"], part["k"], part["v"], mask=regard.Mask(causal=True)).weights
    np.testing.assert_allclose(record.row(1, 3, 4), wanted[3, 4], atol=1e-6)
    with pytest.raises(InputError, match="mask is None, and a mapping does not say"):
        regard.from_qkv(cache, tokens=TOKENS)
    with pytest.raises(InputError, match="it holds keys and values too, leave those out"):
        regard.from_qkv(cache, cache, None, TOKENS, regard.Mask())
    del cache["blocks.1.attn.hook_k"]
    with pytest.raises(InputError, match="without hook_k of layer 1"):
        regard.from_qkv(cache, tokens=TOKENS, mask=regard.Mask())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": TOKENS[:4]}, "query has 5 keys and there are 4 tokens"),
        ({"key": vectors_of(5, 7)}, "query has dim 8 and key has dim 7"),
        ({"value": vectors_of(4, 8)}, "every key needs one value"),
        ({"key": None}, "key is None"),
        ({"query": np.ones((5, 8), int)}, "query has dtype int64"),
        ({"key": vectors_of(5, 8).astype(np.float64)}, "float64"),
        ({"mask": regard.Mask(lengths=9)}, "lengths holds 9"),
        ({"scale": float("nan")}, "scale is nan"),
        ({"query": vectors_of(2, 4, 5, 8)}, "expected a batch of one"),
    ],
)
def test_vectors_that_do_not_fit(change, message):
    plain = vectors_of(5, 8)
    settings = {"query": plain, "key": plain, "value": plain, "tokens": TOKENS} | change
    with pytest.raises(InputError, match=message):
        regard.from_qkv(**settings)


# torch and transformers


def test_tensors():
    torch = pytest.importorskip("torch")
    weights = torch.tensor(weights_of(1, 3, 5, 5))
    record = regard.from_weights((weights, weights), TOKENS)
    np.testing.assert_array_equal(record.row(0, 1, 2), weights[0, 1, 2].numpy())
    rounded = regard.from_weights(weights.bfloat16(), TOKENS)
    assert rounded.layers[0].readings.rows.dtype == np.float32
    with pytest.raises(InputError, match=r"weights\[0\] requires gradients.*weights\[0\]\.detach"):
        regard.from_weights((weights.requires_grad_(),), TOKENS)


def test_what_transformers_gives():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_layer=2, n_head=3, n_embd=12, vocab_size=20, n_positions=16, attn_implementation="eager",
        bos_token_id=0, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).eval()
    ids = torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        made = model.generate(
            ids, max_new_tokens=3, do_sample=False, output_attentions=True,
            return_dict_in_generate=True,
        )  # fmt: skip
        whole = model(made.sequences, output_attentions=True).attentions
    tokens = [f"t{number}" for number in made.sequences[0].tolist()]
    generated = regard.from_weights(made.attentions, tokens)
    forward = regard.from_weights(whole, tokens)
    assert generated.layers[0].kind == forward.layers[0].kind == "decoder"
    assert len(generated.layers[0].query_positions) == 5
    for token in range(5):
        np.testing.assert_allclose(
            generated.row(1, 2, token), forward.row(1, 2, token)[:5], atol=1e-5
        )
