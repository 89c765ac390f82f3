"""PaddlePaddle: functions of `paddle` and `paddle.nn.functional`, methods of tensors, layers, fused kernels."""

from __future__ import annotations

from attnlint.evaluate import operations as o
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks import torch
from attnlint.frameworks.table import Kernel, LayerRow, Table, layer

_MATMUL = op(o.matmul, "input other transpose_x transpose_y")

FUNCTIONS: dict[str, Op] = {
    **{
        name: torch.FUNCTIONS[name]
        for name in (
            "sqrt",
            "rsqrt",
            "reciprocal",
            "square",
            "pow",
            "exp",
            "tanh",
            "sigmoid",
            "abs",
            "clip",
            "log",
            "log1p",
            "sin",
            "cos",
            "erf",
            "sign",
            "floor",
            "ceil",
            "round",
            "maximum",
            "minimum",
            "add",
            "subtract",
            "multiply",
            "divide",
            "floor_divide",
            "neg",
            "where",
            "tril",
            "triu",
            "zeros_like",
            "ones_like",
            "full_like",
            "chunk",
            "unbind",
            "stack",
            "norm",
            "inner",
            "dot",
            "einsum",
            "broadcast_to",
            "repeat_interleave",
            "moveaxis",
            "full",
            "isinf",
            "isnan",
            "isfinite",
            "logical_not",
            "logical_and",
            "logical_or",
            "logsumexp",
            "gather",
            "index_select",
            "roll",
            "flip",
            "mean",
        )
    },
    "matmul": _MATMUL,
    "mm": op(o.matmul, "input other"),
    "bmm": op(o.matmul, "input other", rank=3),
    "mv": op(o.matmul, "input other"),
    "baddbmm": op(o.baddbmm, "input batch1 batch2 beta alpha", aliases={"x": "batch1", "y": "batch2"}),
    "addmm": op(o.baddbmm, "input batch1 batch2 beta alpha", aliases={"x": "batch1", "y": "batch2"}),
    "tensordot": op(o.tensordot, "input other dim"),
    "scale": op(o.scale, "input scale bias bias_after_scale"),
    **{name: op(o.identity, "input dtype") for name in ("cast", "assign", "clone")},
    "to_tensor": op(o.from_value, "input dtype", aliases={"data": "input"}),
    "reshape": op(o.reshape, "input shape", zero_keeps=True),
    "transpose": op(o.permute, "input dim"),
    "concat": op(o.concat, "inputs_list dim", aliases={"x": "inputs_list"}),
    "split": op(o.split, "input sections dim", count=True),
    "unstack": op(o.unbind, "input dim num"),
    "squeeze": op(o.squeeze, "input dim"),
    "unsqueeze": op(o.unsqueeze, "input dim"),
    "flatten": op(o.flatten, "input start_dim end_dim", aliases={"start_axis": "start_dim", "stop_axis": "end_dim"}),
    "expand": op(o.expand, "input shape"),
    "tile": op(o.tile, "input shape", aliases={"repeat_times": "shape"}),
    "t": op(o.matrix_transpose),
    "sum": op(o.reduce_sum, "input dim dtype keepdim"),
    "max": op(o.reduce_max, "input dim keepdim"),
    "amax": op(o.reduce_max, "input dim keepdim"),
    "shape": op(o.lookup_shape, "input"),
    **{name: op(o.boolean, "input other") for name in ("equal", "not_equal", "less_than", "greater_than", "less_equal", "greater_equal")},
    **{name: op(o.create, "shape dtype") for name in ("zeros", "ones", "arange", "eye", "linspace")},
    "empty": op(o.create, "shape dtype", note="empty"),
    **{name: op(o.create, "shape dtype", leaf="array") for name in ("randn", "rand", "standard_normal")},
    "normal": op(o.create, "mean std shape", leaf="array"),
    "create_parameter": op(o.shaped_parameter, "shape dtype"),
}

FUNCTIONAL: dict[str, Op] = {
    "softmax": op(o.softmax, "input dim dtype", dim=-1),
    "log_softmax": op(o.softmax, "input dim dtype", dim=-1, log=True),
    "dropout": op(o.identity, "input p"),
    "one_hot": op(o.one_hot, "input count", aliases={"num_classes": "count"}),
    "linear": op(o.dense_product, "input weight bias", turned=True),  # the weight of Paddle is (in, out)
    "normalize": op(o.normalize, "input p dim", how="normalize"),
    "layer_norm": op(o.normalize, "input shape weight bias", how="layer_norm"),
    "embedding": op(o.embedding, "input weight"),
    **{
        name: op(o.elementwise)
        for name in ("relu", "gelu", "silu", "swish", "elu", "leaky_relu", "sigmoid", "tanh", "softplus", "relu6", "mish", "hardswish")
    },
}

METHODS: dict[str, Op] = {
    **{
        name: row
        for name, row in FUNCTIONS.items()
        if name
        not in (
            "einsum",
            "concat",
            "stack",
            "full",
            "zeros",
            "ones",
            "arange",
            "eye",
            "linspace",
            "empty",
            "randn",
            "rand",
            "standard_normal",
            "normal",
            "to_tensor",
            "create_parameter",
            "shape",
        )
    },
    **{
        f"{name}_": FUNCTIONS[name]
        for name in ("add", "subtract", "multiply", "scale", "reshape", "squeeze", "unsqueeze", "exp", "sqrt", "rsqrt", "tanh", "clip")
    },
    **{
        name: op(o.identity, "input dtype")
        for name in ("astype", "cast", "detach", "clone", "numpy", "cuda", "cpu", "contiguous", "item", "value", "to", "float", "half")
    },
    "dim": op(o.rank_of),
    "softmax": FUNCTIONAL["softmax"],
    "masked_fill": op(o.masked_fill, "input mask other"),
    "expand_as": op(o.expand_as, "input other"),
    "reshape_as": op(o.reshape_as, "input other"),
    "view": op(o.reshape, "input shape"),
}

LAYERS: dict[str, LayerRow] = {
    "Linear": layer("linear", "in_features out_features weight_attr bias_attr"),
    **{f"Conv{n}D": layer("conv", "in_channels out_channels kernel_size stride padding", spatial=n) for n in (1, 2, 3)},
    "Embedding": layer("embedding", "num_embeddings embedding_dim"),
    **{name: layer("norm", "normalized_shape epsilon", how=name) for name in ("LayerNorm", "RMSNorm")},
    **{
        name: layer("same", "p")
        for name in (
            "Dropout",
            "Dropout2D",
            "AlphaDropout",
            "Identity",
            "BatchNorm",
            "BatchNorm1D",
            "BatchNorm2D",
            "GroupNorm",
            "InstanceNorm2D",
            "SyncBatchNorm",
        )
    },
    "Softmax": layer("softmax", "dim", aliases="axis=dim", default_dim=-1),
    "LogSoftmax": layer("softmax", "dim", aliases="axis=dim", default_dim=-1),
    **{
        name: layer("activation", function=name)
        for name in (
            "ReLU",
            "GELU",
            "Tanh",
            "Sigmoid",
            "Silu",
            "Swish",
            "ELU",
            "LeakyReLU",
            "Softplus",
            "Mish",
            "ReLU6",
            "Hardswish",
            "PReLU",
        )
    },
    "Sequential": layer("sequential", "*items"),
    "LayerList": layer("list", "items", aliases="sublayers=items"),
    "ParameterList": layer("list", "items", aliases="parameters=items"),
    "LayerDict": layer("dict", "items", aliases="sublayers=items"),
    **{name: layer("recurrent", "input_size hidden_size num_layers") for name in ("GRU", "LSTM", "SimpleRNN")},
    **{name: layer("recurrent_cell", "input_size hidden_size") for name in ("GRUCell", "LSTMCell", "SimpleRNNCell")},
    "MultiHeadAttention": layer("attention_output", "embed_dim num_heads"),
    "Flatten": layer("flatten", "start_dim end_dim", aliases="start_axis=start_dim stop_axis=end_dim"),
    **{name: layer("opaque") for name in ("TransformerEncoder", "TransformerEncoderLayer", "Transformer")},
    **{
        name: layer("pool")
        for name in ("AvgPool1D", "AvgPool2D", "MaxPool1D", "MaxPool2D", "AdaptiveAvgPool1D", "AdaptiveAvgPool2D", "Upsample")
    },
}

PARALLEL: dict[str, LayerRow] = {
    **{
        name: layer("linear", "in_features out_features")
        for name in ("ColumnParallelLinear", "RowParallelLinear", "ColumnSequenceParallelLinear", "RowSequenceParallelLinear")
    },
    "VocabParallelEmbedding": layer("embedding", "num_embeddings embedding_dim"),
}

_PARAMETER = op(o.shaped_parameter, "receiver shape attr dtype")

KERNELS: dict[str, Kernel] = {
    "paddle.nn.functional.scaled_dot_product_attention": Kernel("query key value attn_mask dropout_p is_causal training"),
    "paddle.nn.functional.flash_attention": Kernel("query key value dropout_p is_causal"),
    "paddle.nn.functional.flash_attention.flash_attention": Kernel("query key value dropout_p is_causal"),
    "paddle.nn.functional.flash_attention.scaled_dot_product_attention": Kernel("query key value attn_mask dropout_p is_causal training"),
    "paddle.incubate.nn.memory_efficient_attention.memory_efficient_attention": Kernel("query key value attn_mask dropout_p scale"),
    "paddle.incubate.nn.memory_efficient_attention": Kernel("query key value attn_mask dropout_p scale"),
}

TABLE = Table(
    name="paddle",
    roots={
        "paddle": {**FUNCTIONS, "no_grad": op(o.nothing)},
        "paddle.linalg": FUNCTIONS,
        "paddle.tensor": FUNCTIONS,
        "paddle.nn.functional": FUNCTIONAL,
        "paddle.distributed.fleet.utils": {"recompute": op(o.call_through, "function *arguments")},
    },
    methods=METHODS,
    module_methods={
        "create_parameter": _PARAMETER,
        "add_sublayer": op(o.register_module, "receiver name other"),
        "add_parameter": op(o.register_buffer, "receiver name other"),
    },
    layers={
        "paddle.nn": LAYERS,
        "paddle.distributed.fleet.meta_parallel": PARALLEL,
        "paddle.distributed.fleet.layers.mpu": PARALLEL,
    },
    kernels=KERNELS,
)
