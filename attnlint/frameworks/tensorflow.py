"""TensorFlow: functions of `tf`, `tf.math`, `tf.linalg`, `tf.nn`, `tf.random`, of version 1, and methods of tensors."""

from __future__ import annotations

from fractions import Fraction

from attnlint.evaluate import operations as o
from attnlint.evaluate import transforms as t
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks import numpy
from attnlint.frameworks.table import LayerRow, Table, layer

_ELEMENT = op(o.elementwise, "input other")
_SAME = op(o.identity)
_MATMUL = op(o.matmul, "input other transpose_a transpose_b adjoint_a adjoint_b")

MATH: dict[str, Op] = {
    "add": op(o.binary, "input other", operator="+"),
    "subtract": op(o.binary, "input other", operator="-"),
    "multiply": op(o.binary, "input other", operator="*"),
    "scalar_mul": op(o.binary, "input other", operator="*", aliases={"scalar": "input", "x": "other"}),
    "multiply_no_nan": op(o.binary, "input other", operator="*"),
    **{name: op(o.binary, "input other", operator="/") for name in ("divide", "truediv", "realdiv", "div", "divide_no_nan", "div_no_nan")},
    "floordiv": op(o.binary, "input other", operator="//"),
    "negative": op(o.negative),
    "sqrt": op(o.power_of, exponent=Fraction(1, 2)),
    "rsqrt": op(o.power_of, exponent=Fraction(-1, 2)),
    "reciprocal": op(o.power_of, exponent=Fraction(-1)),
    "square": op(o.power_of, exponent=Fraction(2)),
    "pow": op(o.power_of, "input other"),
    "exp": op(o.exp),
    **dict.fromkeys(
        (
            "tanh",
            "sigmoid",
            "log",
            "log1p",
            "abs",
            "maximum",
            "minimum",
            "clip_by_value",
            "sin",
            "cos",
            "erf",
            "sign",
            "floor",
            "ceil",
            "round",
            "softplus",
            "log_sigmoid",
        ),
        _ELEMENT,
    ),
    "reduce_sum": op(
        o.reduce_sum, "input dim keepdim", aliases={"input_tensor": "input", "keep_dims": "keepdim", "reduction_indices": "dim"}
    ),
    "reduce_mean": op(o.reduce_sum, "input dim keepdim", mean=True, aliases={"input_tensor": "input", "keep_dims": "keepdim"}),
    "reduce_max": op(o.reduce_max, "input dim keepdim", aliases={"input_tensor": "input", "keep_dims": "keepdim"}),
    "reduce_logsumexp": op(o.reduce_max, "input dim keepdim", log=True, aliases={"input_tensor": "input"}),
    "reduce_variance": op(o.reduce_sum, "input dim keepdim", mean=True),
    "l2_normalize": op(o.normalize, "input dim", how="l2_normalize"),
    **{
        name: op(o.boolean, "input other")
        for name in (
            "equal",
            "not_equal",
            "less",
            "greater",
            "less_equal",
            "greater_equal",
            "logical_not",
            "logical_and",
            "logical_or",
            "is_inf",
            "is_nan",
            "is_finite",
        )
    },
    "softmax": op(o.softmax, "input dim", dim=-1),
    "log_softmax": op(o.softmax, "input dim", dim=-1, log=True),
    "cumsum": op(o.identity, "input dim"),
}

LINALG: dict[str, Op] = {
    "matmul": _MATMUL,
    "matvec": op(o.matmul, "input other transpose_a"),
    "einsum": op(o.einsum, "equation *operands"),
    "tensordot": op(o.tensordot, "input other dim"),
    "matrix_transpose": op(o.matrix_transpose),
    "band_part": op(o.triangle, "input diagonal num_upper"),
    "norm": op(o.norm, "input ord dim keepdim"),
    "normalize": op(o.normalize, "input ord dim", how="normalize", pair=True),
    "l2_normalize": MATH["l2_normalize"],
    "eye": op(o.create, "shape"),
}

ARRAYS: dict[str, Op] = {
    "cast": op(o.identity, "input dtype"),
    **dict.fromkeys(
        ("to_float", "to_int32", "identity", "stop_gradient", "ensure_shape", "debugging.check_numerics", "reverse", "guarantee_const"),
        _SAME,
    ),
    **{name: op(o.from_value, "input dtype", aliases={"value": "input"}) for name in ("constant", "convert_to_tensor")},
    "shape": op(o.lookup_shape, "input"),
    "rank": op(o.rank_of),
    "reshape": op(o.reshape, "input shape"),
    "transpose": op(o.permute, "input dim"),
    "matrix_transpose": op(o.matrix_transpose),
    "expand_dims": op(o.unsqueeze, "input dim"),
    "squeeze": op(o.squeeze, "input dim"),
    "tile": op(o.tile, "input shape", aliases={"multiples": "shape"}),
    "repeat": op(o.repeat_interleave, "input repeats dim"),
    "broadcast_to": op(o.expand, "input shape"),
    "split": op(o.split, "input sections dim", count=True, aliases={"value": "input"}),
    "unstack": op(o.unbind, "input num dim", aliases={"value": "input"}),
    "stack": op(o.stack, "inputs_list dim"),
    "concat": op(o.concat, "inputs_list dim"),
    "pad": op(o.identity, "input paddings"),
    **{
        name: op(o.gather, "input index dim", aliases={"params": "input"})
        for name in ("gather", "gather_nd", "roll", "slice", "strided_slice", "boolean_mask")
    },
    "where": op(o.where, "condition input other"),
    "sequence_mask": op(o.boolean, "input maxlen"),
    **{name: op(o.create, "shape dtype") for name in ("zeros", "ones", "eye", "range", "linspace")},
    "fill": op(o.create, "shape other", fill=True),
    **{name: op(o.like) for name in ("zeros_like", "ones_like")},
    "one_hot": op(o.one_hot, "input count", aliases={"indices": "input", "depth": "count"}),
    "map_fn": op(t.map_over, "function xs", aliases={"fn": "function", "elems": "xs"}),
    "vectorized_map": op(t.map_over, "function xs", aliases={"fn": "function", "elems": "xs"}),
    "function": op(o.passthrough_argument, "input"),
    "recompute_grad": op(o.passthrough_argument, "input"),
    "no_op": op(o.nothing),
    "get_variable": op(o.shaped_parameter, "name shape dtype"),
    "cond": op(t.cond, "test on_true on_false", aliases={"true_fn": "on_true", "false_fn": "on_false", "pred": "test"}),
}

NN: dict[str, Op] = {
    "softmax": MATH["softmax"],
    "log_softmax": MATH["log_softmax"],
    "l2_normalize": MATH["l2_normalize"],
    "dropout": op(o.identity, "input rate"),
    "bias_add": op(o.binary, "input other", operator="+", aliases={"bias": "other", "value": "input"}),
    "embedding_lookup": op(o.embedding, "weight input", aliases={"params": "weight", "ids": "input"}),
    **dict.fromkeys(
        ("relu", "relu6", "gelu", "silu", "swish", "elu", "selu", "leaky_relu", "sigmoid", "tanh", "softplus", "softsign"), _ELEMENT
    ),
}

RANDOM: dict[str, Op] = {
    **{
        name: op(o.create, "shape mean stddev", leaf="array")
        for name in ("normal", "uniform", "truncated_normal", "stateless_normal", "stateless_uniform")
    },
    "set_seed": op(o.nothing),
}

ROOT: dict[str, Op] = {
    **MATH,
    **LINALG,
    **ARRAYS,
    **{f"random_{name}": row for name, row in RANDOM.items()},
    "truncated_normal": RANDOM["truncated_normal"],
}
del ROOT["normalize"]

METHODS: dict[str, Op] = {
    "get_shape": op(o.lookup_shape, "input"),
    "set_shape": op(o.nothing),
    "numpy": _SAME,
    "assign": op(o.identity, "receiver input"),
    "read_value": _SAME,
    "value": _SAME,
    "eval": _SAME,
}

LAYERS: dict[str, LayerRow] = {"Variable": layer("parameter", "input", aliases="initial_value=input")}

V1_LAYERS: dict[str, Op] = {
    "dense": op(o.dense, "input units", aliases={"inputs": "input"}),
    "dropout": op(o.identity, "input rate"),
    "batch_normalization": op(o.identity, "input"),
}

TABLE = Table(
    name="tensorflow",
    roots={
        "tensorflow": ROOT,
        "tensorflow.math": MATH,
        "tensorflow.experimental.numpy": numpy.FUNCTIONS,
        "tensorflow.linalg": LINALG,
        "tensorflow.nn": NN,
        "tensorflow.random": RANDOM,
        "tensorflow.layers": V1_LAYERS,
        "tensorflow.dtypes": {"cast": ARRAYS["cast"]},
        "tensorflow.image": {name: op(o.opaque_result, "input") for name in ("resize", "extract_patches")},
        "tensorflow.debugging": {name: op(o.nothing) for name in ("assert_equal", "assert_shapes", "assert_rank", "assert_greater")},
    },
    methods=METHODS,
    layers={"tensorflow": LAYERS},
    helpers=dict.fromkeys(("shape_list", "get_shape_list"), "tensorflow.shape"),
    # the longest first: the version-1 names of Keras are Keras's
    renames={
        "tensorflow.compat.v1.keras": "keras",
        "tensorflow.compat.v2.keras": "keras",
        "tensorflow.python.keras": "keras",
        "tensorflow.keras": "keras",
        "tensorflow.contrib.keras": "keras",
        "tensorflow.compat.v1": "tensorflow",
        "tensorflow.compat.v2": "tensorflow",
    },
)
