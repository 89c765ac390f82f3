"""Haiku: layers, parameters, transforms."""

from __future__ import annotations

from attnlint.evaluate import operations as o
from attnlint.evaluate import transforms as t
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks.table import LayerRow, Table, layer

FUNCTIONS: dict[str, Op] = {
    "get_parameter": op(o.shaped_parameter, "name shape dtype init"),
    "get_state": op(o.shaped_parameter, "name shape dtype init"),
    "dropout": op(o.identity, "rng rate input"),
    **{
        name: op(o.passthrough_argument, "input")
        for name in ("transform", "transform_with_state", "without_apply_rng", "remat", "jit", "checkpoint", "transparent")
    },
    "vmap": op(t.vmap, "input in_axes out_axes"),
    "scan": op(t.scan, "function init xs", aliases={"f": "function"}),
    **{name: op(o.nothing) for name in ("next_rng_key", "maybe_next_rng_key", "set_state")},
}

LAYERS: dict[str, LayerRow] = {
    "Linear": layer("linear", "out_features with_bias", aliases="output_size=out_features"),
    **{
        f"Conv{n}D": layer(
            "conv",
            "out_channels kernel_size stride rate padding",
            aliases="output_channels=out_channels kernel_shape=kernel_size",
            channels_last=1,
            padding="same",
            spatial=n,
        )
        for n in (1, 2, 3)
    },
    "Embed": layer("embedding", "num_embeddings embedding_dim", aliases="vocab_size=num_embeddings embed_dim=embedding_dim"),
    "LayerNorm": layer("norm", how="LayerNorm"),
    "RMSNorm": layer("norm", how="RMSNorm"),
    **{name: layer("same") for name in ("BatchNorm", "GroupNorm", "InstanceNorm")},
    "MultiHeadAttention": layer("attention_output", "num_heads key_size"),
    "Sequential": layer("sequential", "items", aliases="layers=items"),
    "LSTM": layer("recurrent_cell", "hidden_size"),
    "GRU": layer("recurrent_cell", "hidden_size"),
}

TABLE = Table(name="haiku", roots={"haiku": FUNCTIONS}, layers={"haiku": LAYERS})
