"""Small random models with lively attention, and what their eager selves say of it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
import transformers

# threads of a small product wait for each other, for seconds where others use the machine
torch.set_num_threads(1)

VOCABULARY = 90
SMALL = {"vocab_size": VOCABULARY, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
LLAMA = SMALL | {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def lively(model: Any) -> Any:
    """Weights far from uniform: those of a fresh model barely differ from a mean."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(5)
    return model.eval()


@functools.cache
def build(name: str) -> Any:
    """'llama', 'mistral' (window of 5), 'gpt2', 'bert', 't5'; always the same weights."""
    torch.manual_seed(0)
    if name == "llama":
        config = transformers.LlamaConfig(**LLAMA, attention_dropout=0.3)
        return lively(transformers.LlamaForCausalLM(config))
    if name == "mistral":
        config = transformers.MistralConfig(**LLAMA, sliding_window=5)
        return lively(transformers.MistralForCausalLM(config))
    if name == "gpt2":
        config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, **SMALL)
        return lively(transformers.GPT2LMHeadModel(config))
    if name == "bert":
        config = transformers.BertConfig(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32,
            vocab_size=VOCABULARY, pad_token_id=0,
        )  # fmt: skip
        return lively(transformers.BertModel(config))
    config = transformers.T5Config(
        d_model=32, d_kv=8, d_ff=32, num_layers=2, num_heads=4, decoder_start_token_id=0,
        vocab_size=VOCABULARY, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config).eval()


def random_ids(items: int, tokens: int, seed: int = 0) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randint(3, VOCABULARY, (items, tokens), generator=random)


def padding(side: str, items: int, tokens: int, by: int = 3) -> torch.Tensor:
    """A mask with the first item padded on a side ('left', 'right' or 'none')."""
    mask = torch.ones(items, tokens, dtype=torch.long)
    if side == "left":
        mask[0, :by] = 0
    if side == "right":
        mask[0, tokens - by :] = 0
    return mask


def eager_weights(model: Any, **inputs: Any) -> Any:
    """The output of the same model, eager, with its attentions."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            return model(**inputs, output_attentions=True)
    finally:
        model.set_attn_implementation(before)


def entropy_of(weights: np.ndarray) -> np.ndarray:
    return -np.where(weights > 0, weights * np.log(np.where(weights > 0, weights, 1)), 0).sum(-1)
