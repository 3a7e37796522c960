"""Checkpoints small enough to write in a test, as transformers saves them: random, with words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = (
    "<pad>", "<s>", "</s>", "<unk>", "a", "dog", "ate", "the", "food", "because", "it", "was",
    "hungry", "cat", "saw", "##s", ".",
)  # fmt: skip
DECODER = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


def tokenizer(template: str = "<s> $A") -> Any:
    """Word pieces with offsets; `template` says which special tokens it adds."""
    pieces = Tokenizer(
        models.WordPiece({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.post_processor = processors.TemplateProcessing(
        single=template, special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
    )


def decoder(**changes: Any) -> Any:
    """A Llama with random weights, in eval mode."""
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER | changes)).eval()


def encoder_decoder() -> Any:
    """A T5 with random weights, in eval mode."""
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(WORDS), d_model=16, d_kv=4, d_ff=24, num_layers=2,
        num_heads=4, pad_token_id=0, eos_token_id=2, decoder_start_token_id=0,
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config).eval()


def encoder() -> Any:
    """A DistilBERT with random weights, in eval mode: an encoder that is no BERT."""
    torch.manual_seed(0)
    config = transformers.DistilBertConfig(
        vocab_size=len(WORDS), dim=16, n_heads=4, n_layers=2, hidden_dim=24,
        max_position_embeddings=64, pad_token_id=0,
    )  # fmt: skip
    return transformers.DistilBertModel(config).eval()


def save(model: Any, words: Any, directory: Path) -> Path:
    """Write both to `directory`, as a checkpoint is kept."""
    model.save_pretrained(directory)
    words.save_pretrained(directory)
    return directory
