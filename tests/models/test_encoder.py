"""The encoder on a tiny model: against transformers where it is installed, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import regard
from regard.errors import InputError
from regard.models.encoder import load_encoder

IDS = np.array([2, 5, 6, 7, 8, 9, 11, 3])
BATCH = np.array([[2, 5, 6, 7, 3], [2, 3, 0, 0, 0], [2, 4, 4, 3, 0]])
LENGTHS = np.array([5, 2, 4])


@pytest.fixture
def encoder(write_tiny):
    return load_encoder(write_tiny())


def whole_rows(ids):
    """What to ask so that every weight comes back."""
    return regard.Ask(rows=range(np.shape(ids)[-1]))


def run_in_transformers(model, ids, lengths=None):
    """Hidden states after each layer and weights of each layer, in float32, eager attention."""
    import torch

    batch = torch.tensor(np.atleast_2d(ids))
    seen = torch.ones_like(batch)
    if lengths is not None:
        seen = (torch.arange(batch.shape[1]) < torch.tensor(lengths)[:, None]).long()
    with torch.no_grad():
        result = model(batch, seen, output_hidden_states=True, output_attentions=True)
    hidden = [state.numpy() for state in result.hidden_states[1:]]
    return hidden, [weights.numpy() for weights in result.attentions]


def check_against_transformers(encoder, model, ids, lengths=None):
    hidden, weights = run_in_transformers(model, ids, lengths)
    run = encoder.run(ids, lengths=lengths, ask=whole_rows(ids))
    assert len(run.layers) == len(hidden) == encoder.config.layers
    for layer, states, rows in zip(run.layers, hidden, weights, strict=True):
        single = layer.hidden[None] if np.ndim(ids) == 1 else layer.hidden
        np.testing.assert_allclose(single, states, rtol=0, atol=1e-5)
        seen = layer.readings.rows[None] if np.ndim(ids) == 1 else layer.readings.rows
        np.testing.assert_allclose(seen, rows, rtol=0, atol=5e-6)
    np.testing.assert_array_equal(run.hidden, run.layers[-1].hidden)


@pytest.fixture
def save_in_transformers(tmp_path, write_tiny):
    """save(class name, config changes): a random model in the tiny tokenizer's directory."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")

    def save(kind="BertModel", **changes):
        torch.manual_seed(3)
        config = transformers.BertConfig(
            vocab_size=12,
            hidden_size=24,
            num_hidden_layers=3,
            num_attention_heads=4,
            intermediate_size=50,
            max_position_embeddings=20,
            initializer_range=0.3,
            attn_implementation="eager",
            **changes,
        )
        model = getattr(transformers, kind)(config).eval()
        for name, parameter in model.named_parameters():
            if "bias" in name or "LayerNorm" in name:  # 0 and 1 by default: they would hide errors
                torch.nn.init.normal_(parameter, std=0.5)
        directory = write_tiny()
        model.save_pretrained(directory)
        return directory, getattr(model, "bert", model)

    return save


@pytest.mark.parametrize("ids", [IDS, [2, 3], [2] + 18 * [5] + [3]], ids=["8", "2", "longest"])
@pytest.mark.parametrize("act", ["gelu", "gelu_new", "relu"])
def test_agrees_with_transformers(save_in_transformers, act, ids):
    directory, model = save_in_transformers(hidden_act=act, layer_norm_eps=0.1)
    check_against_transformers(load_encoder(directory), model, ids)


def test_agrees_on_a_padded_batch(save_in_transformers):
    directory, model = save_in_transformers()
    check_against_transformers(load_encoder(directory), model, BATCH, LENGTHS)


def test_agrees_with_the_prefix(save_in_transformers):
    directory, model = save_in_transformers("BertForMaskedLM")
    check_against_transformers(load_encoder(directory), model, IDS)


def test_shapes_and_dtypes(encoder):
    run = encoder.run(BATCH, lengths=LENGTHS)
    assert run.hidden.shape == (3, 5, 24)
    for number, layer in enumerate(run.layers):
        assert layer.layer == number
        assert layer.readings.backend in ("loop", "native")
        assert layer.readings.entropy is None
        for array in (layer.query, layer.key, layer.value, layer.output):
            assert array.shape == (3, 3, 5, 8)
            assert array.dtype == np.float32
        assert layer.hidden.dtype == np.float32
        assert layer.query.flags.c_contiguous
    single = encoder.run(IDS)
    assert single.hidden.shape == (8, 24)
    assert single.layers[0].query.shape == (3, 8, 8)


def test_padding_changes_nothing(encoder):
    padded = encoder.run(BATCH, lengths=LENGTHS)
    for item, length in enumerate(LENGTHS):
        alone = encoder.run(BATCH[item, :length])
        np.testing.assert_allclose(padded.hidden[item, :length], alone.hidden, atol=1e-5)
        assert not np.allclose(encoder.run(BATCH[item]).hidden[:length], alone.hidden) or (
            length == BATCH.shape[1]
        )


def test_output_is_the_attention_of_what_was_captured(encoder):
    layer = encoder.run(IDS, ask=whole_rows(IDS)).layers[1]
    scores = layer.query.astype(float) @ np.swapaxes(layer.key, 1, 2).astype(float) / np.sqrt(8)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(layer.readings.rows, weights, rtol=0, atol=1e-6)
    np.testing.assert_allclose(layer.output, weights @ layer.value, rtol=0, atol=1e-5)


def test_layers_are_chosen(encoder):
    whole = encoder.run(IDS)
    chosen = encoder.run(IDS, layers=[np.int64(1)], ask=regard.Ask(entropy=True))
    assert [layer.layer for layer in chosen.layers] == [1]
    np.testing.assert_array_equal(chosen.layers[0].query, whole.layers[1].query)
    assert chosen.layers[0].readings.entropy.shape == (3, 8)
    none = encoder.run(IDS, layers=())
    assert none.layers == ()
    np.testing.assert_array_equal(none.hidden, whole.hidden)
    assert [layer.layer for layer in encoder.run(IDS, layers=(1, 0, 1)).layers] == [0, 1]


def test_an_empty_batch(encoder):
    assert encoder.run(np.empty((0, 4), np.int64)).hidden.shape == (0, 4, 24)


def test_encode(encoder):
    encoding = encoder.encode("The dogs  ate food.")
    assert encoding.tokens == ("[CLS]", "the", "dog", "##s", "ate", "food", ".", "[SEP]")
    assert encoding.ids.tolist() == [2, 7, 5, 9, 6, 8, 11, 3]
    assert encoding.ids.dtype == np.int64
    assert encoding.offsets == (
        (0, 0), (0, 3), (4, 7), (7, 8), (10, 13), (14, 18), (18, 19), (0, 0),
    )  # fmt: skip
    assert encoding.special.tolist() == [True, *6 * [False], True]
    assert encoding.special.dtype == np.bool_


def test_offsets_count_characters_not_bytes(encoder):
    encoding = encoder.encode("é👩‍👧 dog")
    assert encoding.offsets[-2] == (5, 8)


def test_a_special_token_that_was_typed_is_text(encoder):
    assert encoder.encode("a [SEP] a").special.tolist() == [True, *5 * [False], True]


def test_an_empty_text(encoder):
    encoding = encoder.encode("")
    assert encoding.tokens == ("[CLS]", "[SEP]")
    assert encoder.run(encoding.ids).hidden.shape == (2, 24)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (7, "text is int: expected a str"),
        (b"dog", "text is bytes: expected a str"),
        ("a \ud83d", "lone surrogate '\\ud83d' at character 2"),
        ("dog " * 19, "text has 21 tokens and tiny reads at most 20"),
    ],
)
def test_text_is_checked(encoder, text, words):
    with pytest.raises(InputError) as caught:
        encoder.encode(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"ids": []}, "ids has shape (0,)"),
        ({"ids": 5}, "ids has shape ()"),
        ({"ids": [[[2, 3]]]}, "ids has shape (1, 1, 2)"),
        ({"ids": [2.0, 3.0]}, "ids has dtype float64: expected whole numbers"),
        ({"ids": [True, False]}, "ids has dtype bool"),
        ({"ids": ["a"]}, "ids has dtype <U1"),
        ({"ids": [2, 12]}, "ids holds 12: tiny has the ids 0 to 11"),
        ({"ids": [2, -1]}, "ids holds -1: tiny has the ids 0 to 11"),
        ({"ids": [2] * 21}, "ids has 21 tokens and tiny has 20 positions"),
        ({"ids": [2, 3], "lengths": 2}, "it belongs to a batch"),
        ({"ids": BATCH, "lengths": [5, 2]}, "lengths has shape (2,)"),
        ({"ids": BATCH, "lengths": [5.0, 2, 4]}, "dtype float64: expected 3 whole numbers"),
        ({"ids": BATCH, "lengths": [5, 0, 4]}, "lengths holds 0: expected 1 to 5"),
        ({"ids": BATCH, "lengths": [6, 1, 4]}, "lengths holds 6: expected 1 to 5"),
        ({"ids": [2, 3], "layers": [2]}, "layers holds 2: tiny has the layers 0 to 1"),
        ({"ids": [2, 3], "layers": [-1]}, "layers holds -1"),
        ({"ids": [2, 3], "layers": ["0"]}, "layers holds '0'"),
        ({"ids": [2, 3], "layers": [True]}, "layers holds True"),
    ],
)
def test_run_is_checked(encoder, arguments, words):
    with pytest.raises(InputError) as caught:
        encoder.run(**arguments)
    assert words in str(caught.value)
