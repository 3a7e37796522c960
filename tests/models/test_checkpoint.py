"""Directories that are not a BERT encoder, or are broken, are refused in words."""

from __future__ import annotations

import re

import numpy as np
import pytest
import safetensors.numpy

from regard.errors import InputError
from regard.models.checkpoint import Weights, read_config, read_tokenizer
from regard.models.encoder import load_encoder


def refused(directory, *words):
    """load_encoder raises InputError, and its message holds every one of `words`."""
    with pytest.raises(InputError) as caught:
        load_encoder(directory)
    for word in words:
        assert word in str(caught.value)


def test_not_a_directory(tmp_path):
    refused(tmp_path / "absent", "absent' is not a directory", "config.json", "downloaded")
    refused("bert-base-uncased", "'bert-base-uncased' is not a directory")
    refused(7, "directory is int", "expected the path")


@pytest.mark.parametrize(
    ("missing", "advice"),
    [
        ("config.json", "save_pretrained"),
        ("model.safetensors", "save_pretrained"),
        ("tokenizer.json", "AutoTokenizer"),
    ],
)
def test_a_missing_file_is_named(write_tiny, missing, advice):
    directory = write_tiny()
    (directory / missing).unlink()
    refused(directory, f"has no {missing}", advice)


@pytest.mark.parametrize(
    ("other", "word"),
    [("pytorch_model.bin", "unpickling can run code"), ("model.safetensors.index.json", "split")],
)
def test_weights_in_another_form(write_tiny, other, word):
    directory = write_tiny()
    (directory / "model.safetensors").rename(directory / other)
    refused(directory, "has no model.safetensors", word, "AutoModel")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "roberta"}, ("model_type is 'roberta'", "'bert'", "transformers")),
        ({"model_type": None}, ("model_type is None",)),
        ({"is_decoder": True}, ("is_decoder is True",)),
        ({"add_cross_attention": True}, ("add_cross_attention is True",)),
        (
            {"position_embedding_type": "relative_key"},
            ("position_embedding_type is 'relative_key'", "'absolute'"),
        ),
        ({"num_attention_heads": 5}, ("hidden_size 24", "num_attention_heads 5")),
        ({"num_attention_heads": 0}, ("num_attention_heads is 0", "from 1")),
        ({"hidden_size": -24}, ("hidden_size is -24",)),
        ({"hidden_size": 24.0}, ("hidden_size is 24.0", "whole number")),
        ({"hidden_size": True}, ("hidden_size is True",)),
        ({"vocab_size": 10**400}, ("vocab_size is 1000", "2**31")),
        ({"intermediate_size": "many"}, ("intermediate_size is 'many'",)),
        ({"layer_norm_eps": float("nan")}, ("layer_norm_eps is nan",)),
        ({"layer_norm_eps": 0}, ("layer_norm_eps is 0",)),
        ({"hidden_act": "silu"}, ("hidden_act is 'silu'", "gelu, gelu_new")),
        ({"hidden_act": ["gelu"]}, ("hidden_act is ['gelu']",)),
        # Absurd sizes end at the first tensor that does not have them; nothing is allocated.
        ({"vocab_size": 2**31 - 1}, ("word_embeddings.weight has shape (12, 24)", "2147483647")),
        ({"num_hidden_layers": 2**31 - 1}, ("no tensor encoder.layer.2.attention.self.query",)),
        ({"hidden_size": 3 * 2**28}, ("has shape", "805306368")),
    ],
)
def test_config_is_checked(write_tiny, changes, words):
    refused(write_tiny(changes), *words)


def test_a_missing_size_is_named(write_tiny):
    directory = write_tiny()
    (directory / "config.json").write_text('{"model_type": "bert"}')
    refused(directory, "num_hidden_layers is missing")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe\x00", b"[" * 100_000, b"NaN,", b'{"model_type": "bert"'],
)
def test_config_that_is_not_json(write_tiny, content):
    directory = write_tiny()
    (directory / "config.json").write_bytes(content)
    refused(directory, "config.json cannot be read as JSON")


@pytest.mark.parametrize("content", [b"[]", b"3", b'"bert"', b"null"])
def test_config_that_is_no_object(write_tiny, content):
    directory = write_tiny()
    (directory / "config.json").write_bytes(content)
    refused(directory, "expected a JSON object")


def test_config_of_absurd_length(write_tiny):
    directory = write_tiny()
    (directory / "config.json").write_bytes(b" " * ((1 << 22) + 1))
    refused(directory, "has 4194305 bytes", "at most 4194304")


@pytest.mark.parametrize("kept", [0, 4, 8, 100, -1])
def test_truncated_weights(write_tiny, kept):
    directory = write_tiny()
    whole = (directory / "model.safetensors").read_bytes()
    (directory / "model.safetensors").write_bytes(whole[:kept])
    refused(directory, "model.safetensors cannot be read as safetensors", "whole")


@pytest.mark.parametrize(
    "content",
    [
        b"\xff" * 16,  # a header of 2**64 - 1 bytes
        (2**40).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        b"PK\x03\x04 a zip file, as torch.save writes",
    ],
)
def test_weights_that_are_something_else(write_tiny, content):
    directory = write_tiny()
    (directory / "model.safetensors").write_bytes(content)
    refused(directory, "cannot be read as safetensors")


@pytest.mark.parametrize(
    "name",
    [
        "embeddings.word_embeddings.weight",
        "embeddings.LayerNorm.bias",
        "encoder.layer.1.output.dense.weight",
    ],
)
def test_a_missing_tensor_is_named(write_tiny, tiny_tensors, name):
    del tiny_tensors[name]
    refused(write_tiny(tensors=tiny_tensors), f"has no tensor {name}")


def test_a_wrong_shape_names_both(write_tiny, tiny_tensors):
    name = "encoder.layer.0.intermediate.dense.weight"
    tiny_tensors[name] = tiny_tensors[name].T.copy()
    refused(write_tiny(tensors=tiny_tensors), name, "shape (24, 40)", "expected (40, 24)")


def test_another_dtype_is_refused(write_tiny, tiny_tensors):
    tiny_tensors["embeddings.LayerNorm.bias"] = tiny_tensors["embeddings.LayerNorm.bias"].astype(
        np.float64
    )
    refused(write_tiny(tensors=tiny_tensors), "embeddings.LayerNorm.bias is F64", "F32 or F16")


@pytest.mark.parametrize("content", [b"", b"{}", b'{"model": {"type": "None"}}', b"\x00\xff"])
def test_a_broken_tokenizer(write_tiny, content):
    directory = write_tiny()
    (directory / "tokenizer.json").write_bytes(content)
    refused(directory, "tokenizer.json cannot be read as a tokenizer")


def test_read_config(write_tiny):
    config = read_config(write_tiny({"hidden_act": "relu"}) / "config.json")
    assert (config.layers, config.heads, config.hidden, config.dim) == (2, 3, 24, 8)
    assert (config.intermediate, config.positions, config.vocabulary) == (40, 20, 12)
    assert (config.token_types, config.epsilon, config.activation) == (2, 1e-12, "relu")


def test_tokenizer_neither_cuts_nor_pads(write_tiny):
    tokenizer = read_tokenizer(write_tiny() / "tokenizer.json")
    assert len(tokenizer.encode("the dog ate the food.").ids) == 8
    assert len(tokenizer.encode("").ids) == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_rows_are_those_of_the_table(tmp_path, dtype):
    table = np.random.default_rng(1).normal(size=(9, 4)).astype(dtype)
    safetensors.numpy.save_file({"table": table}, tmp_path / "one.safetensors")
    rows = Weights(tmp_path / "one.safetensors").rows("table", (9, 4))
    for indices in (np.array([8, 0, 3, 0]), np.array([[1, 1], [8, 2]]), np.empty((0, 3), int)):
        taken = rows.take(indices)
        assert taken.dtype == np.float32
        np.testing.assert_array_equal(taken, table.astype(np.float32)[indices])


def test_old_and_prefixed_names(write_tiny, tiny_tensors):
    def rename(name):
        return "bert." + re.sub(
            r"(?<=LayerNorm\.)(weight|bias)",
            lambda found: {"weight": "gamma", "bias": "beta"}[found[0]],
            name,
        )

    weights = Weights(write_tiny(rename=rename) / "model.safetensors")
    for name, tensor in tiny_tensors.items():
        np.testing.assert_array_equal(weights.tensor(name, tensor.shape), tensor)
