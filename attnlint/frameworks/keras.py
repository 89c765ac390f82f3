"""Keras 2 and 3: layers, `keras.backend`, `keras.ops`, weights of layers."""

from __future__ import annotations

from attnlint.evaluate import operations as o
from attnlint.evaluate import transforms as t
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks import jax, numpy, tensorflow
from attnlint.frameworks.table import Kernel, LayerRow, Table, layer

OPS: dict[str, Op] = {
    **numpy.FUNCTIONS,
    **jax.NN,
    "rsqrt": jax.LAX["rsqrt"],
    "cast": op(o.identity, "input dtype"),
    "convert_to_tensor": op(o.from_value, "input dtype"),
    "convert_to_numpy": op(o.identity),
    "stop_gradient": op(o.identity),
    "shape": op(o.lookup_shape, "input"),
    "reshape": op(o.reshape, "input shape"),
    "transpose": op(o.permute, "input dim"),
    "split": op(o.split, "input sections dim", count=True, offsets=True),
    "unstack": op(o.unbind, "input num dim"),
    "normalize": op(o.normalize, "input dim", how="normalize"),
    "layer_normalization": op(o.normalize, "input", how="layer_normalization"),
    "rms_normalization": op(o.normalize, "input", how="rms_normalization"),
    "max": op(o.reduce_max, "input dim keepdim"),
    "sum": op(o.reduce_sum, "input dim keepdim"),
    "mean": op(o.reduce_sum, "input dim keepdim", mean=True),
    "scan": op(t.scan, "function init xs", aliases={"f": "function"}),
    "vectorized_map": op(t.map_over, "function xs", aliases={"elements": "xs"}),
    "map": op(t.map_over, "function xs", aliases={"f": "function"}),
    "fori_loop": jax.LAX["fori_loop"],
    "cond": op(t.cond, "test on_true on_false", aliases={"true_fn": "on_true", "false_fn": "on_false", "pred": "test"}),
}

BACKEND: dict[str, Op] = {
    **tensorflow.MATH,
    "dot": op(o.matmul, "input other"),
    "batch_dot": op(o.batch_dot, "input other dim"),
    "cast": op(o.identity, "input dtype"),
    "cast_to_floatx": op(o.identity),
    "constant": op(o.from_value, "input dtype", aliases={"value": "input"}),
    "variable": op(o.from_value, "input dtype", aliases={"value": "input"}),
    "permute_dimensions": op(o.permute, "input dim", aliases={"pattern": "dim"}),
    "transpose": op(o.reverse_axes),
    "expand_dims": op(o.unsqueeze, "input dim", dim=-1),
    "squeeze": op(o.squeeze, "input dim"),
    "reshape": op(o.reshape, "input shape"),
    "shape": op(o.lookup_shape, "input"),
    "int_shape": op(o.lookup_shape, "input"),
    "ndim": op(o.rank_of),
    "sum": op(o.reduce_sum, "input dim keepdim"),
    "mean": op(o.reduce_sum, "input dim keepdim", mean=True),
    "max": op(o.reduce_max, "input dim keepdim"),
    "logsumexp": op(o.reduce_max, "input dim keepdim", log=True),
    "softmax": op(o.softmax, "input dim", dim=-1),
    "concatenate": op(o.concat, "inputs_list dim", dim=-1),
    "stack": op(o.stack, "inputs_list dim"),
    "repeat_elements": op(o.repeat_interleave, "input repeats dim", aliases={"rep": "repeats"}),
    "tile": op(o.tile, "input shape", aliases={"n": "shape"}),
    "dropout": op(o.identity, "input level"),
    "stop_gradient": op(o.identity),
    "in_train_phase": op(o.identity, "input other"),
    "switch": op(o.where, "condition input other"),
    "bias_add": op(o.binary, "input other", operator="+", aliases={"bias": "other"}),
    "relu": op(o.elementwise),
    "elu": op(o.elementwise),
    "clip": op(o.elementwise, "input other maximum"),
    "hard_sigmoid": op(o.elementwise),
    "ones_like": op(o.like),
    "zeros_like": op(o.like),
    "zeros": op(o.create, "shape"),
    "ones": op(o.create, "shape"),
    "arange": op(o.create, "shape"),
    "random_normal": op(o.create, "shape", leaf="array"),
    "random_uniform": op(o.create, "shape", leaf="array"),
}

ACTIVATIONS: dict[str, Op] = {**jax.ACTIVATIONS, "softmax": op(o.softmax, "input dim", dim=-1), "linear": op(o.identity)}

_CONV = "filters=out_channels strides=stride"

LAYERS: dict[str, LayerRow] = {
    "Dense": layer("linear", "out_features activation", aliases="units=out_features"),
    "EinsumDense": layer("einsum_dense", "equation shape activation bias_axes", aliases="output_shape=shape"),
    "Embedding": layer("embedding", "num_embeddings embedding_dim", aliases="input_dim=num_embeddings output_dim=embedding_dim"),
    **{f"Conv{n}D": layer("conv", "out_channels kernel_size stride padding", aliases=_CONV, channels_last=1, spatial=n) for n in (1, 2, 3)},
    **{
        f"Convolution{n}D": layer("conv", "out_channels kernel_size stride padding", aliases=_CONV, channels_last=1, spatial=n)
        for n in (1, 2, 3)
    },
    **{
        f"SeparableConv{n}D": layer("conv", "out_channels kernel_size stride padding", aliases=_CONV, channels_last=1, spatial=n)
        for n in (1, 2)
    },
    "LayerNormalization": layer("norm", aliases="axis=dim", how="LayerNormalization"),
    "RMSNormalization": layer("norm", aliases="axis=dim", how="RMSNormalization"),
    "BatchNormalization": layer("statistics", how="BatchNormalization"),
    "GroupNormalization": layer("statistics", how="GroupNormalization"),
    "UnitNormalization": layer("norm", aliases="axis=dim", how="UnitNormalization"),
    **{
        name: layer("same", "rate")
        for name in (
            "Dropout",
            "SpatialDropout1D",
            "SpatialDropout2D",
            "AlphaDropout",
            "GaussianDropout",
            "GaussianNoise",
            "Masking",
            "ActivityRegularization",
            "Identity",
        )
    },
    "Softmax": layer("softmax", "dim", aliases="axis=dim", default_dim=-1),
    "Activation": layer("activation", "function", aliases="activation=function"),
    **{name: layer("activation", function=name) for name in ("ReLU", "LeakyReLU", "ELU", "PReLU", "ThresholdedReLU")},
    "Lambda": layer("lambda", "function"),
    "Reshape": layer("reshape", "shape", aliases="target_shape=shape"),
    "Permute": layer("permute", "dim", aliases="dims=dim"),
    "Concatenate": layer("concatenate", "dim", aliases="axis=dim"),
    "Add": layer("merge", operator="+"),
    "Multiply": layer("merge", operator="*"),
    "Subtract": layer("merge", operator="-"),
    "Dot": layer("dot", "axes normalize"),
    "TimeDistributed": layer("time_distributed", "inner", aliases="layer=inner"),
    "Bidirectional": layer("opaque"),
    **{
        name: layer("recurrent_outputs", "hidden_size", aliases="units=hidden_size")
        for name in ("LSTM", "GRU", "SimpleRNN", "CuDNNLSTM", "CuDNNGRU")
    },
    **{
        name: layer("attention_output", "num_heads key_dim")
        for name in ("MultiHeadAttention", "GroupedQueryAttention", "GroupQueryAttention", "Attention", "AdditiveAttention")
    },
    **{
        name: layer("opaque")
        for name in (
            "Flatten",
            "RepeatVector",
            "GlobalAveragePooling1D",
            "GlobalAveragePooling2D",
            "GlobalMaxPooling1D",
            "GlobalMaxPooling2D",
            "MaxPooling1D",
            "MaxPooling2D",
            "AveragePooling1D",
            "AveragePooling2D",
            "UpSampling1D",
            "UpSampling2D",
            "ZeroPadding1D",
            "ZeroPadding2D",
            "Cropping1D",
            "Cropping2D",
            "Conv2DTranspose",
            "Conv1DTranspose",
            "DepthwiseConv1D",
            "DepthwiseConv2D",
            "Average",
            "Maximum",
            "Minimum",
            "RNN",
        )
    },
}

CONTAINERS: dict[str, LayerRow] = {"Sequential": layer("sequential", "items", aliases="layers=items")}

FUNCTIONAL: dict[str, Op] = {
    "concatenate": op(o.concat, "inputs_list dim", dim=-1, aliases={"inputs": "inputs_list"}),
    "Input": op(o.placeholder, "shape", batch=True),
}

_WEIGHT = op(o.shaped_parameter, "receiver first second")

TABLE = Table(
    name="keras",
    roots={
        "keras.backend": BACKEND,
        "keras.ops": OPS,
        "keras.ops.numpy": OPS,
        "keras.ops.nn": OPS,
        "keras.ops.math": OPS,
        "keras.src.ops": OPS,
        "keras.src.backend": BACKEND,
        "keras.activations": ACTIVATIONS,
        "keras.layers": FUNCTIONAL,
        "keras": {"Input": FUNCTIONAL["Input"]},
        "keras.utils": {"normalize": op(o.normalize, "input dim", how="normalize")},
    },
    module_methods={"add_weight": _WEIGHT, "add_variable": _WEIGHT, "add_loss": op(o.nothing), "add_metric": op(o.nothing)},
    layers={
        "keras.layers": LAYERS,
        "keras.layers.core": LAYERS,
        "keras.src.layers": LAYERS,
        "keras": CONTAINERS,
        "keras.models": CONTAINERS,
    },
    kernels={
        name: Kernel("query key value attn_bias attn_mask scale is_causal", aliases={"bias": "attn_bias"})
        for name in ("keras.ops.dot_product_attention", "keras.ops.nn.dot_product_attention")
    },
    renames={"tf_keras": "keras", "keras.api": "keras", "keras_core": "keras"},
)
