"""NumPy: array functions and methods, random arrays."""

from __future__ import annotations

from fractions import Fraction

from attnlint.evaluate import operations as o
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks.table import Table

_ELEMENT = op(o.elementwise, "input other")
_SAME = op(o.identity)

FUNCTIONS: dict[str, Op] = {
    "matmul": op(o.matmul, "input other"),
    "dot": op(o.matmul, "input other"),
    "inner": op(o.inner, "input other"),
    "vdot": op(o.inner, "input other"),
    "einsum": op(o.einsum, "equation *operands"),
    "tensordot": op(o.tensordot, "input other dim"),
    "copyto": op(o.overwritten, "input other"),
    "add": op(o.binary, "input other", operator="+"),
    "subtract": op(o.binary, "input other", operator="-"),
    "multiply": op(o.binary, "input other", operator="*"),
    "divide": op(o.binary, "input other", operator="/"),
    "true_divide": op(o.binary, "input other", operator="/"),
    "floor_divide": op(o.binary, "input other", operator="//"),
    "negative": op(o.negative),
    "sqrt": op(o.power_of, exponent=Fraction(1, 2)),
    "reciprocal": op(o.power_of, exponent=Fraction(-1)),
    "square": op(o.power_of, exponent=Fraction(2)),
    "power": op(o.power_of, "input other"),
    "float_power": op(o.power_of, "input other"),
    "pow": op(o.power_of, "input other"),
    "exp": op(o.exp),
    "exp2": op(o.exp),
    "logaddexp": op(o.elementwise, "input other"),
    **dict.fromkeys(
        (
            "tanh",
            "log",
            "log2",
            "log1p",
            "abs",
            "absolute",
            "clip",
            "sin",
            "cos",
            "maximum",
            "minimum",
            "sign",
            "floor",
            "ceil",
            "round",
            "nan_to_num",
        ),
        _ELEMENT,
    ),
    **{
        name: op(o.from_value, "input dtype")
        for name in ("array", "asarray", "float32", "float64", "float16", "int32", "int64", "asfarray", "ascontiguousarray")
    },
    **{name: op(o.identity, "input dtype") for name in ("copy", "real", "astype")},
    "transpose": op(o.swap_axes, "input *dim", order=True),
    "permute_dims": op(o.permute, "input *dim"),
    "swapaxes": op(o.swap_axes, "input dim0 dim1"),
    "matrix_transpose": op(o.matrix_transpose),
    "moveaxis": op(o.move_axis, "input source destination"),
    "reshape": op(o.reshape, "input shape"),
    "ravel": op(o.flatten),
    "squeeze": op(o.squeeze, "input dim"),
    "expand_dims": op(o.unsqueeze, "input dim"),
    "broadcast_to": op(o.expand, "input shape"),
    "repeat": op(o.repeat_interleave, "input repeats dim"),
    "tile": op(o.tile, "input shape"),
    "split": op(o.split, "input sections dim", count=True, offsets=True),
    "array_split": op(o.split, "input sections dim", count=True, offsets=True),
    "concatenate": op(o.concat, "inputs_list dim"),
    "concat": op(o.concat, "inputs_list dim"),
    "hstack": op(o.concat, "inputs_list", dim=-1),
    "vstack": op(o.concat, "inputs_list", dim=0),
    "stack": op(o.stack, "inputs_list dim"),
    **{name: op(o.gather, "input index dim") for name in ("take", "take_along_axis", "roll", "flip")},
    "pad": op(o.identity),
    "sum": op(o.reduce_sum, "input dim dtype out keepdim"),
    "mean": op(o.reduce_sum, "input dim dtype out keepdim", mean=True),
    "max": op(o.reduce_max, "input dim out keepdim"),
    "amax": op(o.reduce_max, "input dim out keepdim"),
    "nanmax": op(o.reduce_max, "input dim out keepdim"),
    "norm": op(o.norm, "input ord dim keepdim"),
    "qr": op(o.orthogonalised),
    "where": op(o.where, "condition input other"),
    "tril": op(o.triangle, "input k"),
    "triu": op(o.triangle, "input k"),
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
            "isinf",
            "isnan",
            "isfinite",
        )
    },
    **{name: op(o.create, "shape") for name in ("zeros", "ones", "eye", "arange", "linspace", "identity")},
    "empty": op(o.create, "shape", note="empty"),
    "full": op(o.create, "shape other", fill=True),
    **{name: op(o.like) for name in ("zeros_like", "ones_like", "full_like")},
    "empty_like": op(o.like, note="empty"),
    "shape": op(o.lookup_shape),
    "ndim": op(o.rank_of),
    "softmax": op(o.softmax, "input dim", dim=-1),
    "logsumexp": op(o.reduce_max, "input dim b keepdim", log=True),
    "vectorize": op(o.passthrough_argument),
    "apply_along_axis": op(o.elementwise, "function dim input"),
}

RANDOM: dict[str, Op] = {
    **{name: op(o.create, "*shape", leaf="array") for name in ("randn", "rand", "standard_normal", "random", "random_sample")},
    **{
        name: op(o.create, "low high shape dtype", leaf="array")
        for name in ("normal", "uniform", "randint", "integers", "lognormal", "gamma")
    },
    "choice": op(o.create, "input shape", leaf="array"),
    **{name: op(o.external_value, "input", value="numpy.random") for name in ("default_rng", "RandomState", "Generator")},
    "seed": op(o.nothing),
}

METHODS: dict[str, Op] = {
    **{name: op(o.identity, "input dtype") for name in ("astype", "copy", "view", "item", "tolist")},
    **{name: FUNCTIONS[name] for name in ("dot", "swapaxes", "ravel", "sum", "mean", "max", "clip", "squeeze", "round")},
    "reshape": op(o.reshape, "input *shape"),
    "flatten": FUNCTIONS["ravel"],
    **{name: op(o.boolean) for name in ("any", "all")},
    "repeat": op(o.repeat_or_tile, "input *shape"),
    "transpose": op(o.swap_axes, "input *dim", order=True),
    "__array_namespace__": op(o.external_value, "input", value="numpy"),
}

TABLE = Table(
    name="numpy",
    roots={
        "numpy": FUNCTIONS,
        "numpy.linalg": FUNCTIONS,
        "numpy.random": RANDOM,
        "scipy.special": {
            "softmax": FUNCTIONS["softmax"],
            "logsumexp": FUNCTIONS["logsumexp"],
            "log_softmax": op(o.softmax, "input dim", dim=-1, log=True),
        },
        "cupy": FUNCTIONS,
        "cupy.random": RANDOM,
        # the functions of the array API standard, of whatever package the arrays are
        "array_api_compat": {name: op(o.external_value, "input", value="numpy") for name in ("array_namespace", "get_namespace")},
    },
    methods=METHODS,
)
