"""Tiny random models of transformers and timm, built from their default configurations."""

from __future__ import annotations

import inspect
from typing import Any

import torch

HIDDEN, HEADS, KV_HEADS, HEAD_DIM, LAYERS, TOKENS = 48, 4, 2, 12, 2, 10


def declare_torchvision_operators() -> None:
    """torchvision beside a CPU build of torch lacks its compiled operators; its import needs one of them declared."""
    for name in ("nms", "qnms"):
        try:
            library = torch.library.Library("torchvision", "FRAGMENT")
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            _kept.append(library)
        except RuntimeError:
            continue  # declared already: a torchvision with its operators


_kept: list[Any] = []

SMALL = {
    **dict.fromkeys(
        (
            "hidden_size",
            "d_model",
            "n_embd",
            "dim",
            "embed_dim",
            "emb_dim",
            "word_embed_proj_dim",
            "projection_dim",
            "hidden_dim",
            "encoder_hidden_size",
            "embedding_size",
            "d_embed",
            "decoder_hidden_size",
            "conv_dim_last",
            "model_dim",
            "n_embed",
        ),
        HIDDEN,
    ),
    **dict.fromkeys(
        (
            "num_attention_heads",
            "n_head",
            "n_heads",
            "num_heads",
            "encoder_attention_heads",
            "decoder_attention_heads",
            "attention_heads",
            "decoder_num_attention_heads",
            "num_decoder_attention_heads",
            "num_encoder_attention_heads",
        ),
        HEADS,
    ),
    **dict.fromkeys(("num_key_value_heads", "n_head_kv", "num_kv_heads", "kv_n_heads", "multi_query_group_num"), KV_HEADS),
    **dict.fromkeys(("head_dim", "d_kv", "kv_channels", "attention_head_dim", "attention_head_size"), HEAD_DIM),
    **dict.fromkeys(
        (
            "num_hidden_layers",
            "n_layer",
            "n_layers",
            "num_layers",
            "encoder_layers",
            "decoder_layers",
            "num_decoder_layers",
            "num_encoder_layers",
            "num_hidden_groups",
            "decoder_num_hidden_layers",
            "num_blocks",
            "depth",
        ),
        LAYERS,
    ),
    **dict.fromkeys(
        (
            "intermediate_size",
            "ffn_dim",
            "n_inner",
            "d_ff",
            "encoder_ffn_dim",
            "decoder_ffn_dim",
            "ffn_hidden_size",
            "d_inner",
            "moe_intermediate_size",
            "dim_ff",
            "decoder_intermediate_size",
            "shared_expert_intermediate_size",
        ),
        64,
    ),
    "vocab_size": 99,
    "max_position_embeddings": 64,
    "n_positions": 64,
    "n_ctx": 64,
    "max_source_positions": 64,
    "max_target_positions": 64,
    "image_size": 32,
    "patch_size": 8,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_num_experts": 4,
    "type_vocab_size": 2,
    "rotary_dim": 4,
    "rotary_pct": 1.0,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 12,
    "kv_lora_rank": 16,
    "q_lora_rank": 24,
    "n_group": 1,
    "topk_group": 1,
    "block_size": 4,
    "num_mel_bins": 16,
    "sliding_window": 8,
    "conv_bias": False,
}


def shrink(config: Any) -> Any:
    """Set every size that the configuration has to a small one, in its parts too."""
    for name, value in SMALL.items():
        current = getattr(config, name, None)
        if current is None or isinstance(current, (list, tuple, dict)):
            continue
        try:
            setattr(config, name, value)
        except Exception:  # a property without a setter, or a check that the whole does not pass yet
            continue
    layer_types = getattr(config, "layer_types", None)
    if isinstance(layer_types, list):
        config.layer_types = (layer_types * LAYERS)[:LAYERS]
    for value in list(vars(config).values()):
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            shrink(value)
    return config


def build(model_type: str, attention: str) -> Any:
    """A tiny random model of this type with eager or sdpa attention."""
    from transformers import AutoModel
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    torch.manual_seed(0)
    config = shrink(CONFIG_MAPPING[model_type]())
    return AutoModel.from_config(config, attn_implementation=attention).eval()


def inputs(model: Any) -> dict[str, Any]:
    """What the model's forward takes, by the names of its parameters."""
    torch.manual_seed(1)
    config = model.config
    names = inspect.signature(model.forward).parameters
    vocabulary = getattr(config, "vocab_size", None) or getattr(getattr(config, "text_config", None), "vocab_size", 99)
    made: dict[str, Any] = {}
    if "input_ids" in names:
        made["input_ids"] = torch.randint(3, min(vocabulary, 99), (2, TOKENS))
    if "decoder_input_ids" in names:
        made["decoder_input_ids"] = torch.randint(3, min(vocabulary, 99), (2, 7))
    if "pixel_values" in names and (model.main_input_name == "pixel_values" or "vision_config" in dir(config)):
        vision = getattr(config, "vision_config", config)
        size = getattr(vision, "image_size", 32)
        size = size if isinstance(size, (list, tuple)) else (size, size)
        made["pixel_values"] = torch.randn(2, getattr(vision, "num_channels", 3), *size)
    if "input_values" in names:
        made["input_values"] = torch.randn(2, 2000)
    if "input_features" in names:
        bins = getattr(config, "num_mel_bins", getattr(config, "feature_size", 16))
        made["input_features"] = torch.randn(2, bins, 128) if "decoder_input_ids" in names else torch.randn(2, 32, bins)
    return made
