"""Fused attention kernels by name: which argument holds what, and how they come by their scale. Each row is a kernel."""

from __future__ import annotations

from typing import Any, NamedTuple


class Kernel(NamedTuple):
    """`layout` names the axes of q and k: b batch, h heads, t tokens, d head size."""

    query: str = "query"
    key: str = "key"
    value: str = "value"
    layout: str = "bhtd"
    scale: str = "scale"
    causal: str = "is_causal"
    mask: str = ""
    dropout: str = "dropout_p"
    heads: str = ""  # an argument with the number of heads: the projections are inside


_SDPA = Kernel()
_FLASH = Kernel("q", "k", "v", "bthd", "softmax_scale", "causal")
_VARLEN = Kernel("q", "k", "v", "thd", "softmax_scale", "causal")

KERNELS: dict[str, Kernel] = {
    "aten::_scaled_dot_product_flash_attention_for_cpu": _SDPA._replace(mask="attn_mask"),
    "aten::_scaled_dot_product_flash_attention": _SDPA,
    "aten::_scaled_dot_product_flash_attention.quantized": _SDPA,
    "aten::_scaled_dot_product_efficient_attention": _SDPA._replace(mask="attn_bias"),
    "aten::_scaled_dot_product_cudnn_attention": _SDPA._replace(mask="attn_bias"),
    "aten::_scaled_dot_product_fused_attention_overrideable": _SDPA._replace(mask="attn_bias"),
    "aten::_scaled_dot_product_attention_math_for_mps": _SDPA._replace(mask="attn_mask"),
    "aten::_flash_attention_forward": _SDPA._replace(layout="bthd"),
    "aten::_flash_attention_forward_no_dropout_inplace": _SDPA._replace(layout="bthd"),
    "aten::_efficient_attention_forward": _SDPA._replace(layout="bthd", mask="bias", causal=""),
    "aten::_cudnn_attention_forward": _SDPA._replace(mask="attn_bias"),
    "aten::_native_multi_head_attention": Kernel(layout="btd", heads="num_head", causal="", dropout="", scale=""),
    "aten::_triton_multi_head_attention": Kernel(layout="btd", heads="num_head", causal="", dropout="", scale=""),
    "aten::_transformer_encoder_layer_fwd": Kernel("src", "src", "src", "btd", "", "", "", "", "num_heads"),
    "flash_attn::_flash_attn_forward": _FLASH,
    "flash_attn::_flash_attn_varlen_forward": _VARLEN,
    "flash_attn_2::fwd": _FLASH,
    "flash_attn_2::varlen_fwd": _VARLEN,
    "flash_attn_3::fwd": _FLASH._replace(causal="is_causal"),
    "flash_attn_3::_flash_attn_forward": _FLASH,
    "xformers::efficient_attention_forward_cutlass": Kernel(layout="bthd", causal="", mask="attn_bias", dropout="dropout_p"),
    "xformers::efficient_attention_forward_ck": Kernel(layout="bthd", causal="", mask="attn_bias", dropout="dropout_p"),
    "xformers_flash::flash_fwd": Kernel("query", "key", "value", "bthd", "softmax_scale", "is_causal", "", "p"),
    "xformers_flash3::flash_fwd": Kernel("query", "key", "value", "bthd", "softmax_scale", "is_causal", "", "p"),
    "sageattention::qk_int8_sv_f16_accum_f32_attn": Kernel(layout="bthd", scale="sm_scale", causal="is_causal"),
}


def bind(schema: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments by name, with the schema's defaults."""
    bound: dict[str, Any] = {}
    for i, argument in enumerate(schema.arguments):
        if i < len(args):
            bound[argument.name] = args[i]
        elif argument.name in kwargs:
            bound[argument.name] = kwargs[argument.name]
        elif argument.has_default_value():
            bound[argument.name] = argument.default_value
    return bound
