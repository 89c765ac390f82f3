"""Flax: layers and functions of `flax.linen` and `flax.nnx`, parameters of modules."""

from __future__ import annotations

from attnlint.evaluate import operations as o
from attnlint.evaluate import transforms as t
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks import jax
from attnlint.frameworks.table import Kernel, LayerRow, Table, layer

_WRAPPER = op(o.passthrough_argument, "input")

FUNCTIONS: dict[str, Op] = {
    **jax.NN,
    **{name: op(o.boolean) for name in ("make_causal_mask", "make_attention_mask")},
    "combine_masks": op(o.boolean, "input other"),
    **dict.fromkeys(("remat", "checkpoint", "jit", "compact", "nowrap", "scan", "vmap"), _WRAPPER),
    **{
        name: op(o.identity, "input names")
        for name in ("with_logical_constraint", "with_sharding_constraint", "with_logical_partitioning", "with_partitioning")
    },
}

LAYERS: dict[str, LayerRow] = {
    "Dense": layer("linear", "out_features use_bias", aliases="features=out_features"),
    "DenseGeneral": layer("linear", "out_features axis", aliases="features=out_features"),
    "Conv": layer(
        "conv", "out_channels kernel_size stride padding", aliases="features=out_channels strides=stride", channels_last=1, padding="same"
    ),
    "Embed": layer("embedding", "num_embeddings embedding_dim", aliases="features=embedding_dim"),
    "LayerNorm": layer("norm", how="LayerNorm"),
    "RMSNorm": layer("norm", how="RMSNorm"),
    **{name: layer("same", "rate") for name in ("Dropout", "BatchNorm", "GroupNorm", "InstanceNorm")},
    **{name: layer("attention_output", "num_heads") for name in ("MultiHeadDotProductAttention", "SelfAttention", "MultiHeadAttention")},
    "Sequential": layer("sequential", "items", aliases="layers=items"),
    "LSTMCell": layer("recurrent_cell", "hidden_size", aliases="features=hidden_size"),
    "GRUCell": layer("recurrent_cell", "hidden_size", aliases="features=hidden_size"),
    "RNN": layer("opaque"),
}

NNX_LAYERS: dict[str, LayerRow] = {
    "Linear": layer("linear", "in_features out_features use_bias"),
    "LinearGeneral": layer("linear", "in_features out_features axis"),
    "Conv": layer(
        "conv",
        "in_channels out_channels kernel_size stride padding",
        aliases="in_features=in_channels out_features=out_channels strides=stride",
        channels_last=1,
        padding="same",
    ),
    "Embed": layer("embedding", "num_embeddings embedding_dim", aliases="features=embedding_dim"),
    "LayerNorm": layer("norm", "normalized_shape", aliases="num_features=normalized_shape", how="LayerNorm"),
    "RMSNorm": layer("norm", "normalized_shape", aliases="num_features=normalized_shape", how="RMSNorm"),
    **{name: layer("same", "rate") for name in ("Dropout", "BatchNorm", "GroupNorm")},
    "MultiHeadAttention": layer("attention_output", "num_heads"),
    "Sequential": layer("sequential", "*items"),
    "List": layer("list", "items"),
    "Dict": layer("dict", "items"),
    "Param": layer("parameter", "input", aliases="value=input"),
    "Variable": layer("parameter", "input", aliases="value=input"),
    "Einsum": layer("einsum_dense", "equation kernel_shape bias_shape"),
}

KERNELS: dict[str, Kernel] = {
    f"{prefix}.{name}": Kernel(
        "query key value attn_bias attn_mask" if not name.endswith("weights") else "query key attn_bias attn_mask",
        aliases={"bias": "attn_bias"},
    )
    for prefix in ("flax.linen", "flax.linen.attention", "flax.nnx", "flax.nnx.nn.attention")
    for name in ("dot_product_attention", "dot_product_attention_weights")
}

TABLE = Table(
    name="flax",
    roots={
        "flax.linen": FUNCTIONS,
        "flax.linen.attention": {name: FUNCTIONS[name] for name in ("make_causal_mask", "make_attention_mask", "combine_masks")},
        "flax.linen.activation": jax.NN,
        **{
            module: {
                "with_logical_constraint": FUNCTIONS["with_logical_constraint"],
                "with_sharding_constraint": FUNCTIONS["with_sharding_constraint"],
            }
            for module in ("flax.linen.spmd", "flax.linen.partitioning")
        },
        "flax.nnx": {**FUNCTIONS, "vmap": op(t.vmap, "input in_axes out_axes")},
    },
    module_methods={
        "param": op(o.shaped_parameter, "receiver name init shape dtype"),
        "variable": op(o.shaped_parameter, "receiver collection name init shape"),
        "sow": op(o.nothing),
        "perturb": op(o.identity, "receiver name input"),
        "make_rng": op(o.nothing),
    },
    layers={"flax.linen": LAYERS, "flax.nnx": NNX_LAYERS},
    kernels=KERNELS,
)
