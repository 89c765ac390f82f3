"""Equinox: layers that act on one example, filtered transforms, fields."""

from __future__ import annotations

from attnlint.evaluate import builtin as b
from attnlint.evaluate import operations as o
from attnlint.evaluate import transforms as t
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks.table import LayerRow, Table, layer

FUNCTIONS: dict[str, Op] = {
    **{
        name: op(o.passthrough_argument, "input")
        for name in ("filter_jit", "filter_checkpoint", "filter_custom_vjp", "filter_closure_convert")
    },
    "filter_vmap": op(t.vmap, "input in_axes out_axes"),
    "filter_pmap": op(t.vmap, "input in_axes out_axes"),
    "field": op(b.dataclass_field),
}

LAYERS: dict[str, LayerRow] = {
    "Linear": layer("linear", "in_features out_features use_bias"),
    **{f"Conv{n}d": layer("conv", "in_channels out_channels kernel_size stride padding", spatial=n) for n in (1, 2, 3)},
    "Embedding": layer("embedding", "num_embeddings embedding_dim", aliases="embedding_size=embedding_dim"),
    "LayerNorm": layer("norm", "normalized_shape", aliases="shape=normalized_shape", how="LayerNorm"),
    "RMSNorm": layer("norm", "normalized_shape", aliases="shape=normalized_shape", how="RMSNorm"),
    **{name: layer("same", "p") for name in ("Dropout", "Identity", "GroupNorm", "BatchNorm", "RotaryPositionalEmbedding")},
    "MultiheadAttention": layer("attention_output", "num_heads query_size"),
    "Sequential": layer("sequential", "items", aliases="layers=items"),
    "Lambda": layer("lambda", "function", aliases="fn=function"),
    **{name: layer("recurrent_cell", "input_size hidden_size") for name in ("GRUCell", "LSTMCell")},
    "MLP": layer("linear", "in_features out_features", aliases="in_size=in_features out_size=out_features"),
}

TABLE = Table(name="equinox", roots={"equinox": FUNCTIONS}, layers={"equinox.nn": LAYERS})
