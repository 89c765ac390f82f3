"""einops: rearrange, reduce, repeat, einsum, pack, and the layers of the same names."""

from __future__ import annotations

from attnlint.evaluate import operations as o
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks.table import Table, layer

FUNCTIONS: dict[str, Op] = {
    "rearrange": op(o.rearrange, "input pattern", kind="rearrange"),
    "reduce": op(o.rearrange, "input pattern reduction", kind="reduce"),
    "repeat": op(o.rearrange, "input pattern", kind="repeat"),
    "pack": op(o.pack, "input pattern"),
    "unpack": op(o.unpack, "input sizes pattern"),
    "einsum": op(o.einsum, "*operands", words=True),
}

# the extension of the same name
MANY: dict[str, Op] = {
    f"{kind}_many": op(o.rearrange_many, "input pattern reduction", kind=kind) for kind in ("rearrange", "reduce", "repeat")
}

TABLE = Table(
    name="einops",
    roots={"einops": FUNCTIONS, "einops.einops": FUNCTIONS, "einops_exts": MANY},
    layers={
        f"einops.layers.{name}": {"Rearrange": layer("rearrange", "pattern"), "Reduce": layer("opaque")}
        for name in ("torch", "tensorflow", "keras", "flax", "paddle")
    },
)
