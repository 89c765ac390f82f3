"""timm: what its own layers do that attention built with them calls."""

from __future__ import annotations

from attnlint.evaluate import operations as o
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks.table import LayerRow, Table, layer

# rotary embeddings turn pairs of features: neither sizes nor lengths change
FUNCTIONS: dict[str, Op] = {name: op(o.identity, "input embedding") for name in ("apply_rot_embed", "apply_rot_embed_cat")}

LAYERS: dict[str, LayerRow] = {
    **{name: layer("norm", "normalized_shape eps", aliases="num_channels=normalized_shape", how=name) for name in ("LayerNorm", "RmsNorm")},
    "DropPath": layer("same", "p"),
}

TABLE = Table(
    name="timm",
    roots=dict.fromkeys(("timm.layers", "timm.layers.pos_embed_sincos", "timm.models.layers"), FUNCTIONS),
    layers=dict.fromkeys(("timm.layers", "timm.models.layers"), LAYERS),
)
