"""MLX: functions of `mlx.core`, methods of arrays, layers of `mlx.nn`, the fused kernel."""

from __future__ import annotations

from attnlint.evaluate import operations as o
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks import jax, numpy
from attnlint.frameworks.table import Kernel, LayerRow, Table, layer

FUNCTIONS: dict[str, Op] = {
    **numpy.FUNCTIONS,
    "softmax": op(o.softmax, "input dim"),
    "rsqrt": jax.LAX["rsqrt"],
    "sigmoid": op(o.elementwise),
    "erf": op(o.elementwise),
    "stop_gradient": op(o.identity),
    "contiguous": op(o.identity),
    "unflatten": op(o.unflatten, "input dim shape"),
    "flatten": op(o.flatten, "input start_dim end_dim"),
    "sum": op(o.reduce_sum, "input dim keepdim"),
    "mean": op(o.reduce_sum, "input dim keepdim", mean=True),
    "max": op(o.reduce_max, "input dim keepdim"),
    "logsumexp": op(o.reduce_max, "input dim keepdim", log=True),
    "split": op(o.split, "input sections dim", count=True, offsets=True),
    "addmm": op(o.baddbmm, "input batch1 batch2 alpha beta"),
    "compile": op(o.passthrough_argument, "input"),
    "checkpoint": op(o.passthrough_argument, "input"),
    "einsum": op(o.einsum, "equation *operands"),
    "quantized_matmul": op(o.opaque_result, "input"),
    **{name: op(o.nothing) for name in ("eval", "async_eval")},
}

ACTIVATIONS: dict[str, Op] = {
    **jax.ACTIVATIONS,
    "softmax": op(o.softmax, "input dim", dim=-1),
    "log_softmax": op(o.softmax, "input dim", dim=-1, log=True),
}

METHODS: dict[str, Op] = {
    **numpy.METHODS,
    "split": FUNCTIONS["split"],
    "max": FUNCTIONS["max"],
    "sum": FUNCTIONS["sum"],
    "mean": FUNCTIONS["mean"],
    **{
        name: FUNCTIONS[name] for name in ("exp", "sqrt", "rsqrt", "square", "log", "abs", "reciprocal", "moveaxis", "flatten", "logsumexp")
    },
}

LAYERS: dict[str, LayerRow] = {
    "Linear": layer("linear", "in_features out_features bias", aliases="input_dims=in_features output_dims=out_features"),
    "QuantizedLinear": layer("linear", "in_features out_features bias", aliases="input_dims=in_features output_dims=out_features"),
    **{f"Conv{n}d": layer("conv", "in_channels out_channels kernel_size stride padding", channels_last=1, spatial=n) for n in (1, 2, 3)},
    "Embedding": layer("embedding", "num_embeddings embedding_dim", aliases="dims=embedding_dim"),
    **{name: layer("norm", "normalized_shape", aliases="dims=normalized_shape", how=name) for name in ("LayerNorm", "RMSNorm")},
    **{
        name: layer("same", "p")
        for name in ("Dropout", "Identity", "GroupNorm", "BatchNorm", "InstanceNorm", "RoPE", "SinusoidalPositionalEncoding")
    },
    "MultiHeadAttention": layer("attention_output", "embed_dim num_heads", aliases="dims=embed_dim"),
    "Sequential": layer("sequential", "*items"),
    **{name: layer("activation", function=name) for name in ("ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Mish")},
    "Softmax": layer("softmax", default_dim=-1),
}

TABLE = Table(
    name="mlx",
    roots={
        "mlx.core": FUNCTIONS,
        "mlx.core.linalg": {"norm": numpy.FUNCTIONS["norm"]},
        "mlx.core.fast": {
            "rms_norm": op(o.normalize, "input weight eps", how="rms_norm"),
            "layer_norm": op(o.normalize, "input weight bias eps", how="layer_norm"),
            "rope": op(o.identity, "input dims"),
        },
        "mlx.core.random": {
            **{name: op(o.create, "shape", leaf="array") for name in ("normal", "truncated_normal", "gumbel", "laplace")},
            "uniform": op(o.create, "low high shape", leaf="array"),
            "seed": op(o.nothing),
        },
        "mlx.nn": ACTIVATIONS,
    },
    methods=METHODS,
    layers={"mlx.nn": LAYERS},
    # the scale has no default; it is passed by keyword
    kernels={"mlx.core.fast.scaled_dot_product_attention": Kernel("query key value")},
)
