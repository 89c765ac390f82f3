"""tinygrad: methods of its tensor, which are functions, too, layers of `tinygrad.nn`, and the fused kernel, a method of the query."""

from __future__ import annotations

from attnlint.evaluate import operations as o
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks import einops, torch
from attnlint.frameworks.table import Kernel, LayerRow, Table, layer

METHODS: dict[str, Op] = {
    **torch.METHODS,
    "softmax": op(o.softmax, "input dim", dim=-1),
    "log_softmax": op(o.softmax, "input dim", dim=-1, log=True),
    "layernorm": op(o.normalize, "input dim eps", how="layer norm"),
    "linear": op(o.matmul, "input other"),  # its weight has the input's features first
    "dot": op(o.matmul, "input other"),
    "cast": op(o.identity, "input dtype"),
    "rearrange": einops.FUNCTIONS["rearrange"],
    "where": torch.FUNCTIONS["where"],
    **{name: op(o.identity) for name in ("realize", "dropout", "shard", "kernelize")},
}

FUNCTIONS: dict[str, Op] = {
    **METHODS,
    **{
        name: torch.FUNCTIONS[name]
        for name in ("einsum", "cat", "stack", "zeros", "ones", "full", "arange", "rand", "randn")
        if name in torch.FUNCTIONS
    },
    **dict.fromkeys(("uniform", "normal", "scaled_uniform", "glorot_uniform", "kaiming_uniform"), torch.FUNCTIONS["randn"]),
}

LAYERS: dict[str, LayerRow] = {
    "Linear": torch.LAYERS["Linear"],
    "Embedding": layer("embedding", "num_embeddings embedding_dim", aliases="vocab_size=num_embeddings embed_size=embedding_dim"),
    "LayerNorm": layer("norm", "normalized_shape eps", how="LayerNorm"),
    "RMSNorm": layer("norm", "normalized_shape eps", aliases="dim=normalized_shape", how="RMSNorm"),
    "Conv2d": torch.LAYERS["Conv2d"],
    "GroupNorm": layer("same", "num_groups num_channels"),
}

TABLE = Table(
    name="tinygrad",
    roots={"tinygrad.Tensor": FUNCTIONS, "tinygrad.tensor.Tensor": FUNCTIONS},
    methods=METHODS,
    properties=torch.PROPERTIES,
    layers={"tinygrad.nn": LAYERS},
    kernels={
        "tinygrad.Tensor.scaled_dot_product_attention": Kernel(
            "query key value attn_mask dropout_p is_causal enable_gqa", method="scaled_dot_product_attention"
        )
    },
)
