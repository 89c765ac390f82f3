"""NATTEN: neighbourhood attention over one, two or three axes, fused and as two operations."""

from __future__ import annotations

from attnlint.evaluate import neighbours
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks.table import Kernel, Table

_AXES = (1, 2, 3)
_BIAS = {"rpb": "bias"}

FUNCTIONS: dict[str, Op] = {
    **{f"natten{n}dqkrpb": op(neighbours.logits, "query key bias kernel_size dilation", aliases=_BIAS) for n in _AXES},
    **{f"natten{n}dqk": op(neighbours.logits, "query key kernel_size dilation") for n in _AXES},
    **{f"natten{n}dav": op(neighbours.values, "weights value kernel_size dilation", aliases={"attn": "weights"}) for n in _AXES},
    **{f"na{n}d_qk": op(neighbours.logits, "query key kernel_size dilation additional_keys is_causal bias", aliases=_BIAS) for n in _AXES},
    **{f"na{n}d_av": op(neighbours.values, "weights value kernel_size dilation", aliases={"attn": "weights"}) for n in _AXES},
}

TABLE = Table(
    name="natten",
    roots={"natten": FUNCTIONS, "natten.functional": FUNCTIONS},
    # what stands between the values and the scale differs between versions: the scale is given by name
    kernels={f"{root}.na{n}d": Kernel("query key value") for root in ("natten", "natten.functional") for n in _AXES},
)
