"""Many architectures of transformers, each as a specimen.

The sizes differ where an architecture allows it (grouped heads, values narrower than keys,
windows shorter than the text), since equal sizes hide mistakes.
"""

from __future__ import annotations

from typing import Final

from models.specimen import (
    IMAGE_TOKEN,
    PADDING,
    READS_PAIRS,
    VOCABULARY,
    Specimen,
    bare_text,
    illustrated,
    images,
    large_images,
    padded_sounds,
    sounds,
    spectrograms,
)

_ENDS: Final = {"bos_token_id": 1, "eos_token_id": 2}
_TEXT: Final = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": PADDING,
}
_GROUPED: Final = _TEXT | _ENDS | {"num_key_value_heads": 2, "head_dim": 8}
_EXPERTS: Final = {
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
}
_GPT_2: Final = _ENDS | {
    "vocab_size": VOCABULARY,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 64,
}
_BOTH_SIDES: Final = _ENDS | {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "pad_token_id": PADDING,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": 2,
}
_T5: Final = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 16,
    "decoder_start_token_id": 0,
}
_IMAGE: Final = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 24,
    "patch_size": 8,
}
_SOUND: Final = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "conv_dim": [16, 16],
    "conv_kernel": [10, 3],
    "conv_stride": [10, 2],
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    "mask_time_prob": 0,
}


READ: Final = (
    Specimen("BERT", "BertModel", _TEXT),
    Specimen("BERT as a decoder", "BertLMHeadModel", _TEXT | {"is_decoder": True}),
    Specimen("RoBERTa", "RobertaModel", _TEXT),
    Specimen("XLM-RoBERTa", "XLMRobertaModel", _TEXT),
    Specimen(
        "DistilBERT",
        "DistilBertModel",
        {
            "vocab_size": VOCABULARY,
            "dim": 32,
            "hidden_dim": 48,
            "n_layers": 2,
            "n_heads": 4,
            "max_position_embeddings": 64,
        },
    ),
    Specimen("ALBERT", "AlbertModel", _TEXT | {"embedding_size": 16}),
    Specimen("ELECTRA", "ElectraModel", _TEXT | {"embedding_size": 16}),
    Specimen(
        "ModernBERT",
        "ModernBertModel",
        _TEXT
        | _ENDS
        | {
            "num_hidden_layers": 3,
            "global_attn_every_n_layers": 3,
            "local_attention": 8,
            "cls_token_id": 1,
            "sep_token_id": 2,
        },
    ),
    Specimen(
        "ESM-2", "EsmModel", _TEXT | {"mask_token_id": 4, "position_embedding_type": "rotary"}
    ),
    Specimen("GPT-2", "GPT2LMHeadModel", _GPT_2),
    Specimen(
        "GPT-2, scaled by layer",
        "GPT2LMHeadModel",
        _GPT_2 | {"scale_attn_by_inverse_layer_idx": True},
    ),
    Specimen("GPTBigCode", "GPTBigCodeForCausalLM", _GPT_2),
    Specimen("GPT-NeoX", "GPTNeoXForCausalLM", _TEXT | _ENDS),
    Specimen("GPT-J", "GPTJForCausalLM", _GPT_2 | {"rotary_dim": 4}),
    Specimen("CodeGen", "CodeGenForCausalLM", _GPT_2 | {"rotary_dim": 4}),
    Specimen("OPT", "OPTForCausalLM", _TEXT | {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    Specimen("Llama", "LlamaForCausalLM", _GROUPED),
    Specimen("Mistral", "MistralForCausalLM", _GROUPED | {"sliding_window": 5}),
    Specimen("Mixtral", "MixtralForCausalLM", _GROUPED | _EXPERTS),
    Specimen(
        "Qwen 2",
        "Qwen2ForCausalLM",
        _GROUPED | {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
    ),
    Specimen("Qwen 3", "Qwen3ForCausalLM", _GROUPED),
    Specimen("Qwen 3 MoE", "Qwen3MoeForCausalLM", _GROUPED | _EXPERTS),
    Specimen(
        "Qwen3-Next",
        "Qwen3NextForCausalLM",
        _GROUPED
        | _EXPERTS
        | {
            "layer_types": ["linear_attention", "full_attention"],
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 2,
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
            "shared_expert_intermediate_size": 16,
        },
    ),
    Specimen("Gemma", "GemmaForCausalLM", _GROUPED),
    Specimen(
        "Gemma 2",
        "Gemma2ForCausalLM",
        _GROUPED
        | {"sliding_window": 5, "query_pre_attn_scalar": 16, "attn_logit_softcapping": 3.0},
    ),
    Specimen(
        "Gemma 3",
        "Gemma3ForCausalLM",
        _GROUPED
        | {
            "sliding_window": 5,
            "query_pre_attn_scalar": 16,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    Specimen("Phi", "PhiForCausalLM", _TEXT | _ENDS),
    Specimen("Phi-3", "Phi3ForCausalLM", _GROUPED | {"sliding_window": 5}),
    Specimen("OLMo 2", "Olmo2ForCausalLM", _GROUPED),
    Specimen("Cohere", "CohereForCausalLM", _GROUPED),
    Specimen("Cohere 2", "Cohere2ForCausalLM", _GROUPED | {"sliding_window": 5}),
    Specimen("Granite", "GraniteForCausalLM", _GROUPED | {"attention_multiplier": 0.05}),
    Specimen("SmolLM3", "SmolLM3ForCausalLM", _GROUPED),
    Specimen("StarCoder 2", "Starcoder2ForCausalLM", _GROUPED | {"sliding_window": 5}),
    Specimen("StableLM", "StableLmForCausalLM", _GROUPED),
    Specimen("GLM-4", "Glm4ForCausalLM", _GROUPED | {"partial_rotary_factor": 0.5}),
    Specimen(
        "Jamba",
        "JambaForCausalLM",
        _GROUPED
        | {
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "expert_layer_period": 2,
            "expert_layer_offset": 1,
            "num_experts": 2,
            "use_mamba_kernels": False,
            "mamba_d_state": 4,
            "mamba_dt_rank": 4,
        },
    ),
    Specimen("gpt-oss", "GptOssForCausalLM", _GROUPED | _EXPERTS | {"sliding_window": 5}),
    Specimen(
        "DeepSeek-V3",
        "DeepseekV3ForCausalLM",
        _TEXT
        | _ENDS
        | {
            "num_key_value_heads": 4,
            "q_lora_rank": 16,
            "kv_lora_rank": 16,
            "qk_nope_head_dim": 8,
            "qk_rope_head_dim": 8,
            "v_head_dim": 8,
            "first_k_dense_replace": 1,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 16,
            "n_group": 2,
            "topk_group": 1,
        },
    ),
    Specimen(
        "Llama 4 text",
        "Llama4ForCausalLM",
        _GROUPED
        | _EXPERTS
        | {"attention_chunk_size": 5, "intermediate_size_mlp": 48, "no_rope_layers": [1, 0]},
    ),
    Specimen("T5", "T5ForConditionalGeneration", _T5, READS_PAIRS),
    Specimen("mT5", "MT5ForConditionalGeneration", _T5, READS_PAIRS),
    Specimen("BART", "BartForConditionalGeneration", _BOTH_SIDES, READS_PAIRS),
    Specimen("mBART", "MBartForConditionalGeneration", _BOTH_SIDES, READS_PAIRS),
    Specimen("Pegasus", "PegasusForConditionalGeneration", _BOTH_SIDES, READS_PAIRS),
    Specimen("Marian", "MarianMTModel", _BOTH_SIDES, READS_PAIRS),
    Specimen(
        "Whisper",
        "WhisperForConditionalGeneration",
        {name: value for name, value in _BOTH_SIDES.items() if name != "max_position_embeddings"}
        | {"num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 24},
        (spectrograms,),
    ),
    Specimen("wav2vec 2", "Wav2Vec2Model", _SOUND, (padded_sounds, sounds)),
    Specimen("HuBERT", "HubertModel", _SOUND, (padded_sounds, sounds)),
    Specimen("ViT", "ViTModel", _IMAGE, (images,)),
    Specimen("DeiT", "DeiTModel", _IMAGE, (images,)),
    Specimen("DINOv2", "Dinov2Model", _IMAGE | {"mlp_ratio": 2}, (images,)),
    Specimen("BEiT", "BeitModel", _IMAGE | {"use_relative_position_bias": True}, (images,)),
    Specimen(
        "Swin",
        "SwinModel",
        {
            "image_size": 32,
            "patch_size": 4,
            "embed_dim": 16,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
        (large_images,),
    ),
    Specimen("CLIP text", "CLIPTextModel", _TEXT | _ENDS),
    Specimen("CLIP vision", "CLIPVisionModel", _IMAGE, (images,)),
    Specimen("SigLIP text", "SiglipTextModel", _TEXT),
    Specimen("SigLIP vision", "SiglipVisionModel", _IMAGE, (images,)),
    Specimen(
        "LLaVA",
        "LlavaForConditionalGeneration",
        {
            "vision_config": {"model_type": "clip_vision_model"} | _IMAGE,
            "text_config": {"model_type": "llama"} | _GROUPED,
            "image_token_id": IMAGE_TOKEN,
            "image_token_index": IMAGE_TOKEN,
            "vision_feature_layer": -1,
        },
        (illustrated,),
    ),
)
"""Architectures whose attention goes through the interface."""

APART: Final = (
    Specimen(
        "BLOOM",
        "BloomForCausalLM",
        {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4},
    ),
    Specimen(
        "LED",
        "LEDForConditionalGeneration",
        _BOTH_SIDES
        | {
            "attention_window": 4,
            "max_encoder_position_embeddings": 64,
            "max_decoder_position_embeddings": 64,
        },
        READS_PAIRS,
    ),
    Specimen("MPNet", "MPNetModel", _TEXT | {"pad_token_id": 1}),
    Specimen(
        "DeBERTa",
        "DebertaModel",
        _TEXT | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    ),
    Specimen(
        "DeBERTa-v2",
        "DebertaV2Model",
        _TEXT | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    ),
    Specimen("Longformer", "LongformerModel", _TEXT | {"attention_window": 4}),
    Specimen(
        "GPT-Neo",
        "GPTNeoForCausalLM",
        _ENDS
        | {
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 4,
            "max_position_embeddings": 64,
        },
    ),
    Specimen(
        "Falcon",
        "FalconForCausalLM",
        {
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_hidden_size": 48,
        },
    ),
    Specimen(
        "MPT",
        "MptForCausalLM",
        {"vocab_size": VOCABULARY, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64},
    ),
    Specimen(
        "XLNet",
        "XLNetModel",
        {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48},
    ),
    Specimen("RoFormer", "RoFormerModel", _TEXT),
    Specimen("BigBird", "BigBirdModel", _TEXT | {"attention_type": "original_full"}),
    Specimen("GPT-2, upcast", "GPT2LMHeadModel", _GPT_2 | {"reorder_and_upcast_attn": True}),
    Specimen(
        "Mamba",
        "MambaForCausalLM",
        {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
        (bare_text,),
    ),
    Specimen(
        "Inkling 2",
        "Inkling2ForCausalLM",
        _GROUPED
        | {
            "swa_num_attention_heads": 4,
            "swa_num_key_value_heads": 2,
            "swa_head_dim": 8,
            "moe_intermediate_size": 16,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "unpadded_vocab_size": VOCABULARY,
        },
    ),
)
"""Architectures that compute their attention, eager, in ways of their own; Mamba has none, and
Inkling 2 gives each token a sink of its own."""
