"""A BERT directory small enough to write in a test, made without torch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "dog", "ate", "the", "food", "##s", "##ed", ".")
TINY = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "hidden_act": "gelu",
    "hidden_size": 24,
    "intermediate_size": 40,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 20,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "type_vocab_size": 2,
    "vocab_size": len(PIECES),
}


def tiny_tokenizer() -> Tokenizer:
    """Word pieces from `PIECES`; set to cut after 4 tokens and to pad, as shipped files are."""
    numbers = {piece: number for number, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=6)
    return tokenizer


def random_tensors(config: dict[str, Any]) -> dict[str, np.ndarray]:
    """Random weights by BertModel's names, of the sizes in `config`."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], hidden),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], hidden),
        "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], hidden),
    }
    linear = {
        "attention.self.query": (hidden, hidden),
        "attention.self.key": (hidden, hidden),
        "attention.self.value": (hidden, hidden),
        "attention.output.dense": (hidden, hidden),
        "intermediate.dense": (inner, hidden),
        "output.dense": (hidden, inner),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"encoder.layer.{layer}"
        for name, shape in linear.items():
            shapes[f"{prefix}.{name}.weight"] = shape
            shapes[f"{prefix}.{name}.bias"] = shape[:1]
        norms += [f"{prefix}.attention.output.LayerNorm", f"{prefix}.output.LayerNorm"]
    for name in norms:
        shapes[f"{name}.weight"] = shapes[f"{name}.bias"] = (hidden,)
    random = np.random.default_rng(5)
    return {name: random.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture
def tiny_tensors() -> dict[str, np.ndarray]:
    """The weights that `write_tiny` writes unless told otherwise, to change."""
    return random_tensors(TINY)


@pytest.fixture
def write_tiny(tmp_path: Path) -> Callable[..., Path]:
    """write_tiny(config_changes, rename=, tensors=) writes a directory and gives its path."""

    def write(
        changes: dict[str, Any] | None = None,
        *,
        rename: Callable[[str], str] = lambda name: name,
        tensors: dict[str, np.ndarray] | None = None,
    ) -> Path:
        directory = tmp_path / "tiny"
        directory.mkdir(exist_ok=True)
        (directory / "config.json").write_text(json.dumps(TINY | (changes or {})))
        named = random_tensors(TINY) if tensors is None else tensors
        safetensors.numpy.save_file(
            {rename(name): tensor for name, tensor in named.items()},
            directory / "model.safetensors",
        )
        tiny_tokenizer().save(str(directory / "tokenizer.json"))
        return directory

    return write
