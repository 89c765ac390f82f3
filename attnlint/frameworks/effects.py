"""What operations do to the memory of their first argument: what gives a view of it, a piece of it, or perhaps a copy.

Rows by the last name of the operation, which means the same in every framework that has it. What is not named gives a new tensor.
"""

from __future__ import annotations

from enum import Enum


class Shares(Enum):
    """How the result of an operation lies in memory."""

    VIEW = "view"  # all of the argument, arranged in another way
    PERHAPS = "perhaps"  # the argument itself, a view of it, or a copy
    PARTS = "parts"  # a sequence of pieces, one behind the other
    PIECE = "piece"  # some piece
    SAME = "same"  # the very objects that are handed in, or that a function returns


def _rows(shares: Shares, names: str) -> dict[str, Shares]:
    return dict.fromkeys(names.split(), shares)


SHARES: dict[str, Shares] = {
    **_rows(
        Shares.VIEW,
        "T mT H mH t data detach view view_as transpose permute swapaxes swapdims movedim moveaxis unsqueeze squeeze expand "
        "expand_as expand_dims broadcast_to unflatten requires_grad_ set_ from_numpy asarray as_tensor "
        "matrix_transpose atleast_2d atleast_3d adjoint",
    ),
    **_rows(
        Shares.PERHAPS,
        "reshape reshape_as flatten ravel contiguous to type type_as float half double bfloat16 cuda cpu xpu numpy rearrange astype "
        "ascontiguousarray identity dropout maybe_contiguous unwrap real",
    ),
    **_rows(Shares.PARTS, "chunk split tensor_split unbind array_split hsplit vsplit dsplit unstack unpack unsafe_chunk unsafe_split"),
    **_rows(
        Shares.SAME,
        "list tuple iter next zip enumerate map filter reversed sorted dict set getattr reduce partial cast checkpoint islice chain "
        "SimpleNamespace Namespace namedtuple cond scan fori_loop while_loop call_through remat",
    ),
    **_rows(Shares.PIECE, "narrow select diagonal diag unfold as_strided sliding_window_view"),
}

# operations whose name ends in `_` and that change how a tensor is laid out, not what it holds
LAYOUT_IN_PLACE = frozenset(
    {"unsqueeze_", "squeeze_", "transpose_", "t_", "swapaxes_", "swapdims_", "resize_", "requires_grad_", "detach_"}
)

# operations that overwrite their first argument, or write to it, without saying so in their name
WRITES = frozenset(["copyto", "imul", "itruediv", "ifloordiv", "iadd", "isub", "ipow", "imatmul", "fill", "put", "place", "fill_diagonal"])

# frameworks whose arrays are never changed: `x *= c` gives the name another array
IMMUTABLE = frozenset({"jax", "tensorflow", "keras", "mlx", "paddle", "flax", "haiku", "equinox"})
IN_PLACE = frozenset({"torch", "numpy"})
