"""Checkpoints small enough to write in a test, as transformers saves them: random, with words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
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


def write_gguf(path: Path) -> Path:
    """A Llama of one layer with random weights as a GGUF file, 'dog' and 'a' among its words."""
    words = ("<s>", "</s>", "a", "d", "o", "g", "t", "e", "Ġ", "Ġa", "do", "dog", "Ġdog")
    hidden, inner, heads, kv_heads = 16, 24, 4, 2
    file = gguf.GGUFWriter(path, "llama")
    file.add_block_count(1)
    file.add_context_length(64)
    file.add_embedding_length(hidden)
    file.add_feed_forward_length(inner)
    file.add_head_count(heads)
    file.add_head_count_kv(kv_heads)
    file.add_rope_dimension_count(hidden // heads)
    file.add_rope_freq_base(10_000.0)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_vocab_size(len(words))
    file.add_tokenizer_model("gpt2")
    file.add_token_list(words)
    file.add_token_types([3, 3] + [1] * (len(words) - 2))
    file.add_token_merges(["d o", "do g", "Ġ a", "Ġ dog"])
    file.add_bos_token_id(0)
    file.add_eos_token_id(1)
    shared = hidden // heads * kv_heads
    shapes = {
        "token_embd": (len(words), hidden),
        "output_norm": (hidden,),
        "blk.0.attn_norm": (hidden,),
        "blk.0.attn_q": (hidden, hidden),
        "blk.0.attn_k": (shared, hidden),
        "blk.0.attn_v": (shared, hidden),
        "blk.0.attn_output": (hidden, hidden),
        "blk.0.ffn_norm": (hidden,),
        "blk.0.ffn_gate": (inner, hidden),
        "blk.0.ffn_up": (inner, hidden),
        "blk.0.ffn_down": (hidden, inner),
    }
    random = np.random.default_rng(0)
    for name, shape in shapes.items():
        file.add_tensor(f"{name}.weight", random.normal(0, 0.3, shape).astype(np.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path
