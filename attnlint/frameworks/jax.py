"""JAX: `jax.numpy` (NumPy's rows), `jax.nn`, `jax.lax`, transforms, random arrays, methods of arrays."""

from __future__ import annotations

from fractions import Fraction

from attnlint.evaluate import builtin as b
from attnlint.evaluate import operations as o
from attnlint.evaluate import transforms as t
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks import numpy
from attnlint.frameworks.table import Kernel, Table

_ELEMENT = op(o.elementwise, "input other")
_SAME = op(o.identity)
_WRAPPER = op(o.passthrough_argument, "input")
_VMAP = op(t.vmap, "input in_axes out_axes")

NUMPY: dict[str, Op] = {
    **numpy.FUNCTIONS,
    **{name: op(o.from_value, "input dtype") for name in ("bfloat16", "float_", "int_")},
    "vectorize": _WRAPPER,
    "matvec": op(o.matmul, "input other"),
    "vecdot": op(o.inner, "input other"),
}

ACTIVATIONS: dict[str, Op] = dict.fromkeys(
    (
        "relu",
        "relu6",
        "gelu",
        "silu",
        "swish",
        "elu",
        "celu",
        "selu",
        "softplus",
        "sigmoid",
        "hard_tanh",
        "hard_sigmoid",
        "hard_swish",
        "leaky_relu",
        "log_sigmoid",
        "soft_sign",
        "tanh",
        "glu",
        "mish",
        "squareplus",
    ),
    _ELEMENT,
)

NN: dict[str, Op] = {
    **ACTIVATIONS,
    "softmax": op(o.softmax, "input dim", dim=-1),
    "log_softmax": op(o.softmax, "input dim", dim=-1, log=True),
    "logsumexp": op(o.reduce_max, "input dim b keepdim", log=True),
    "standardize": op(o.normalize, "input dim", how="standardize"),
    "one_hot": op(o.one_hot, "input count", aliases={"num_classes": "count"}),
}

LAX: dict[str, Op] = {
    "dot": op(o.matmul, "input other"),
    "batch_matmul": op(o.matmul, "input other"),
    "dot_general": op(o.dot_general, "input other numbers", aliases={"lhs": "input", "rhs": "other", "dimension_numbers": "numbers"}),
    "sqrt": op(o.power_of, exponent=Fraction(1, 2)),
    "rsqrt": op(o.power_of, exponent=Fraction(-1, 2)),
    "reciprocal": op(o.power_of, exponent=Fraction(-1)),
    "square": op(o.power_of, exponent=Fraction(2)),
    "integer_pow": op(o.power_of, "input other"),
    "pow": op(o.power_of, "input other"),
    "exp": op(o.exp),
    "exp2": op(o.exp),
    "neg": op(o.negative),
    "add": op(o.binary, "input other", operator="+"),
    "sub": op(o.binary, "input other", operator="-"),
    "mul": op(o.binary, "input other", operator="*"),
    "div": op(o.binary, "input other", operator="/"),
    **dict.fromkeys(
        ("tanh", "log", "log1p", "abs", "max", "min", "clamp", "logistic", "sin", "cos", "erf", "sign", "floor", "ceil", "round"), _ELEMENT
    ),
    **dict.fromkeys(
        (
            "stop_gradient",
            "with_sharding_constraint",
            "optimization_barrier",
            "reduce_precision",
            "pvary",
            "pcast",
            "psum",
            "pmean",
            "all_gather",
            "ppermute",
            "all_to_all",
        ),
        _SAME,
    ),
    "convert_element_type": op(o.identity, "input dtype", aliases={"operand": "input", "new_dtype": "dtype"}),
    "bitcast_convert_type": op(o.identity, "input dtype"),
    "select": op(o.where, "condition input other"),
    "select_n": op(o.where, "condition other input"),
    "transpose": op(o.permute, "input dim", aliases={"permutation": "dim"}),
    "reshape": op(o.reshape, "input shape", aliases={"operand": "input", "new_sizes": "shape"}),
    "collapse": op(o.flatten, "input start_dim end_dim"),
    "expand_dims": op(o.unsqueeze, "input dim"),
    "squeeze": op(o.squeeze, "input dim"),
    "concatenate": op(o.concat, "inputs_list dim"),
    "broadcast_to_rank": _SAME,
    **{name: op(o.gather, "input index size dim") for name in ("dynamic_slice_in_dim", "slice_in_dim")},
    "dynamic_slice": op(o.gather, "input index shape"),
    "dynamic_update_slice": op(o.identity, "input other index"),
    "dynamic_update_slice_in_dim": op(o.identity, "input other index dim"),
    **{name: op(o.boolean, "input other") for name in ("eq", "ne", "lt", "gt", "le", "ge", "bitwise_and", "bitwise_or")},
    "iota": op(o.create, "dtype shape"),
    "broadcasted_iota": op(o.create, "dtype shape dim"),
    "full": op(o.create, "shape other", fill=True),
    "full_like": op(o.like),
    "scan": op(t.scan, "function init xs", aliases={"f": "function"}),
    "map": op(t.map_over, "function xs", aliases={"f": "function"}),
    "cond": op(t.cond, "test on_true on_false *operands", aliases={"true_fun": "on_true", "false_fun": "on_false", "pred": "test"}),
    "fori_loop": op(t.fori_loop, "lower upper function init", aliases={"body_fun": "function", "init_val": "init"}),
    "while_loop": op(t.while_loop, "test function init", aliases={"body_fun": "function", "cond_fun": "test", "init_val": "init"}),
}

RANDOM: dict[str, Op] = {
    **{
        name: op(o.create, "key shape dtype", leaf="array")
        for name in ("normal", "uniform", "truncated_normal", "orthogonal", "laplace", "exponential", "gumbel")
    },
    "randint": op(o.create, "key shape low high", leaf="array"),
    "bernoulli": op(o.create, "key p shape"),
    "permutation": op(o.identity, "key input"),
}

TRANSFORMS: dict[str, Op] = {
    **dict.fromkeys(("jit", "checkpoint", "remat", "shard_map", "named_call", "custom_vjp", "custom_jvp", "custom_gradient"), _WRAPPER),
    "vmap": _VMAP,
    "pmap": op(t.vmap, "input axis_name", aliases={"in_axes": "in_axes", "out_axes": "out_axes"}),
    "device_put": op(o.identity, "input device"),
    "block_until_ready": _SAME,
}

# where an array lies, and how it is laid out: its numbers stay as they are
PLACEMENT: dict[str, Op] = {
    **{name: op(o.identity, "input placement") for name in ("with_sharding_constraint", "with_layout_constraint", "reshard")},
    "pvary": _SAME,
}

METHODS: dict[str, Op] = {
    **numpy.METHODS,
    "split": numpy.FUNCTIONS["split"],
    "set": op(o.identity, "input other"),
    "block_until_ready": _SAME,
}

PROPERTIES: dict[str, Op] = {
    "at": _SAME,
}

KERNELS: dict[str, Kernel] = {
    "jax.nn.dot_product_attention": Kernel("query key value attn_bias attn_mask", aliases={"bias": "attn_bias"}),
    "jax.experimental.pallas.ops.tpu.flash_attention.flash_attention": Kernel(
        "query key value attn_bias segment_ids", unscaled=True, aliases={"ab": "attn_bias"}
    ),
    "jax.experimental.pallas.ops.tpu.flash_attention.mha_reference": Kernel(
        "query key value attn_bias segment_ids", unscaled=True, aliases={"ab": "attn_bias"}
    ),
    "jax.experimental.pallas.ops.gpu.attention.mha": Kernel("query key value segment_ids scale is_causal", unscaled=True),
    "jax.experimental.pallas.ops.gpu.attention.mha_reference": Kernel("query key value segment_ids scale is_causal", unscaled=True),
}

TABLE = Table(
    name="jax",
    roots={
        "jax.numpy": NUMPY,
        "jax.numpy.linalg": NUMPY,
        "jax.nn": NN,
        "jax.lax": LAX,
        "jax": TRANSFORMS,
        **dict.fromkeys(("jax.sharding", "jax.experimental.layout", "jax.experimental.pjit"), PLACEMENT),
        "jax.experimental.shard_map": {"shard_map": _WRAPPER},
        "jax.ad_checkpoint": {"checkpoint": _WRAPPER, "remat": _WRAPPER, "checkpoint_name": op(o.identity, "input name")},
        "jax.random": RANDOM,
        "jax.scipy.special": {"logsumexp": NN["logsumexp"], "softmax": NN["softmax"]},
        "jax.tree_util": {
            "tree_map": op(t.tree_map, "function tree", aliases={"f": "function"}),
            "Partial": op(b.partial, "function *input"),
        },
        "jax.tree": {"map": op(t.tree_map, "function tree", aliases={"f": "function"})},
    },
    methods=METHODS,
    properties=PROPERTIES,
    kernels=KERNELS,
)
