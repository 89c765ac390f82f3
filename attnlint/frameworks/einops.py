"""einops: rearrange, reduce, repeat, einsum, pack, and the layers of the same names."""

from __future__ import annotations

from attnlint.engine import operations as o
from attnlint.engine.operations import Op, op
from attnlint.frameworks.table import Table, layer

FUNCTIONS: dict[str, Op] = {
    "rearrange": op(o.rearrange, "input pattern", kind="rearrange"),
    "reduce": op(o.rearrange, "input pattern reduction", kind="reduce"),
    "repeat": op(o.rearrange, "input pattern", kind="repeat"),
    "einsum": op(o.einsum, "*operands", words=True),
}

TABLE = Table(
    name="einops",
    roots={"einops": FUNCTIONS, "einops.einops": FUNCTIONS},
    layers={
        f"einops.layers.{name}": {"Rearrange": layer("rearrange", "pattern"), "Reduce": layer("opaque")}
        for name in ("torch", "tensorflow", "keras", "flax", "paddle")
    },
)
