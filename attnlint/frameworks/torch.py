"""PyTorch: functions of `torch` and `torch.nn.functional`, methods of tensors, layers, fused kernels."""

from __future__ import annotations

from fractions import Fraction

from attnlint.evaluate import operations as o
from attnlint.evaluate import padding
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks.table import Kernel, LayerRow, Table, layer

_CAST = op(o.identity, "input dtype")
_SAME = op(o.identity)
_ELEMENT = op(o.elementwise, "input other")

FUNCTIONS: dict[str, Op] = {
    # products
    "matmul": op(o.matmul, "input other"),
    "mm": op(o.matmul, "input other", rank=2),
    "bmm": op(o.matmul, "input other", rank=3),
    "mv": op(o.matmul, "input other"),
    "dot": op(o.matmul, "input other"),
    "vdot": op(o.inner, "input other"),
    "inner": op(o.inner, "input other"),
    "chain_matmul": op(o.matmul, "input other"),
    "einsum": op(o.einsum, "equation *operands"),
    "tensordot": op(o.tensordot, "input other dim"),
    "baddbmm": op(o.baddbmm, "input batch1 batch2"),
    "addbmm": op(o.baddbmm, "input batch1 batch2"),
    "addmm": op(o.baddbmm, "input batch1 batch2"),
    "linear": op(o.dense_product, "input weight bias"),
    # arithmetic
    "add": op(o.binary, "input other", operator="+"),
    "sub": op(o.binary, "input other", operator="-"),
    "subtract": op(o.binary, "input other", operator="-"),
    "mul": op(o.binary, "input other", operator="*"),
    "multiply": op(o.binary, "input other", operator="*"),
    "div": op(o.binary, "input other", operator="/"),
    "divide": op(o.binary, "input other", operator="/"),
    "true_divide": op(o.binary, "input other", operator="/"),
    "floor_divide": op(o.binary, "input other", operator="//"),
    "neg": op(o.negative),
    "negative": op(o.negative),
    "sqrt": op(o.power_of, exponent=Fraction(1, 2)),
    "rsqrt": op(o.power_of, exponent=Fraction(-1, 2)),
    "reciprocal": op(o.power_of, exponent=Fraction(-1)),
    "square": op(o.power_of, exponent=Fraction(2)),
    "pow": op(o.power_of, "input other"),
    "exp": op(o.exp),
    "exp2": op(o.exp),
    "logsumexp": op(o.reduce_max, "input dim keepdim", log=True),
    **dict.fromkeys(
        (
            "tanh",
            "sigmoid",
            "relu",
            "gelu",
            "silu",
            "elu",
            "leaky_relu",
            "softplus",
            "log",
            "log2",
            "log1p",
            "abs",
            "clamp",
            "clip",
            "clamp_min",
            "clamp_max",
            "sin",
            "cos",
            "erf",
            "relu6",
            "mish",
            "hardswish",
            "sign",
            "floor",
            "ceil",
            "round",
            "trunc",
            "nan_to_num",
            "logsigmoid",
            "selu",
            "celu",
            "glu",
            "softsign",
            "hardtanh",
            "hardsigmoid",
            "maximum",
            "minimum",
        ),
        _ELEMENT,
    ),
    # casts and copies
    **dict.fromkeys(("to", "type"), _CAST),
    **dict.fromkeys(
        (
            "clone",
            "detach",
            "contiguous",
            "asarray",
            "as_tensor",
            "dropout",
            "alpha_dropout",
            "feature_dropout",
            "rotary",
            "real",
            "view_as_real",
        ),
        _SAME,
    ),
    "tensor": op(o.from_value, "input dtype"),
    "FloatTensor": op(o.constructed, "*shape", dtype="float32", note="empty"),
    "Tensor": op(o.constructed, "*shape", note="empty"),
    "DoubleTensor": op(o.from_value),
    "HalfTensor": op(o.from_value),
    "LongTensor": op(o.from_value),
    "scalar_tensor": op(o.from_value, "input dtype"),
    "from_numpy": op(o.from_value),
    # axes
    "transpose": op(o.swap_axes, "input dim0 dim1"),
    "swapaxes": op(o.swap_axes, "input dim0 dim1"),
    "swapdims": op(o.swap_axes, "input dim0 dim1"),
    "t": op(o.matrix_transpose),
    "permute": op(o.permute, "input *dim"),
    "movedim": op(o.move_axis, "input source destination"),
    "moveaxis": op(o.move_axis, "input source destination"),
    "reshape": op(o.reshape, "input *shape"),
    "unflatten": op(o.unflatten, "input dim *shape"),
    "flatten": op(o.flatten, "input start_dim end_dim"),
    "ravel": op(o.flatten),
    "squeeze": op(o.squeeze, "input *dim"),
    "unsqueeze": op(o.unsqueeze, "input dim"),
    "broadcast_to": op(o.expand, "input *shape"),
    "repeat_interleave": op(o.repeat_interleave, "input repeats dim"),
    "tile": op(o.tile, "input *shape"),
    "chunk": op(o.chunk, "input chunks dim"),
    "tensor_split": op(o.split, "input sections dim", count=True),
    "split": op(o.split, "input sections dim"),
    "split_with_sizes": op(o.split, "input sections dim"),
    "unbind": op(o.unbind, "input dim"),
    "cat": op(o.concat, "inputs_list dim"),
    "concat": op(o.concat, "inputs_list dim"),
    "concatenate": op(o.concat, "inputs_list dim"),
    "stack": op(o.stack, "inputs_list dim"),
    **{
        name: op(o.gather, "input dim index")
        for name in ("index_select", "gather", "take_along_dim", "roll", "flip", "index_copy", "masked_select", "take")
    },
    "select": op(o.select, "input dim index"),
    "narrow": op(o.narrow, "input dim start length"),
    "pad": op(o.pad, "input pad mode"),
    "view_as_complex": op(o.identity, dtype="complex"),
    # reductions
    "sum": op(o.reduce_sum, "input dim keepdim"),
    "mean": op(o.reduce_sum, "input dim keepdim", mean=True),
    "max": op(o.reduce_max, "input dim keepdim", pair=True),
    "amax": op(o.reduce_max, "input dim keepdim"),
    "qr": op(o.orthogonalised),
    "norm": op(o.norm, "input p dim keepdim"),
    "vector_norm": op(o.norm, "input ord dim keepdim"),
    "normalize": op(o.normalize, "input p dim", how="normalize"),
    "rms_norm": op(o.normalize, "input shape weight", how="rms_norm"),
    "layer_norm": op(o.normalize, "input shape weight bias", how="layer_norm"),
    "cosine_similarity": op(o.cosine, "input other dim"),
    # softmax
    "softmax": op(o.softmax, "input dim dtype"),
    "log_softmax": op(o.softmax, "input dim dtype", log=True),
    # masks
    "masked_fill": op(o.masked_fill, "input mask other"),
    "masked_scatter": op(o.masked_fill, "input mask other"),
    "where": op(o.where, "condition input other"),
    "tril": op(o.triangle, "input diagonal"),
    "triu": op(o.triangle, "input diagonal"),
    **{
        name: op(o.boolean, "input other")
        for name in ("eq", "ne", "lt", "gt", "le", "ge", "logical_not", "logical_and", "logical_or", "isinf", "isnan", "isfinite", "isin")
    },
    # creation
    **{name: op(o.create, "*shape") for name in ("zeros", "ones", "eye", "arange", "linspace")},
    "empty": op(o.create, "*shape", note="empty"),
    "full": op(o.create, "shape other", fill=True),
    **{name: op(o.create, "*shape", leaf="array") for name in ("randn", "rand")},
    "normal": op(o.create, "mean std shape", leaf="array"),
    "randint": op(o.create, "low high shape", leaf="array"),
    **{name: op(o.like) for name in ("zeros_like", "ones_like", "full_like")},
    "empty_like": op(o.like, note="empty"),
    **{name: op(o.like, leaf="array") for name in ("randn_like", "rand_like")},
    "embedding": op(o.embedding, "input weight"),
    # wrappers
    "checkpoint": op(o.call_through, "function *arguments"),
    "compile": op(o.passthrough_argument),
    "vmap": op(o.passthrough_argument),
    "numel": op(o.rank_of),
}

METHODS: dict[str, Op] = {
    **{
        name: row
        for name, row in FUNCTIONS.items()
        if name
        not in (
            "einsum",
            "cat",
            "stack",
            "full",
            "zeros",
            "ones",
            "linear",
            "checkpoint",
            "compile",
            "vmap",
            "empty",
            "arange",
            "eye",
            "linspace",
            "concat",
            "concatenate",
            "tensor",
            "embedding",
            "normal",
            "pad",
            "randn",
            "rand",
            "randint",
            "dropout",
        )
    },
    **{
        f"{name}_": FUNCTIONS[name]
        for name in (
            "add",
            "sub",
            "mul",
            "div",
            "masked_fill",
            "sqrt",
            "rsqrt",
            "pow",
            "exp",
            "tanh",
            "relu",
            "clamp",
            "neg",
            "clamp_min",
            "tril",
            "triu",
            "squeeze",
            "unsqueeze",
            "transpose",
            "baddbmm",
            "sigmoid",
            "abs",
        )
    },
    **{
        f"{name}_": op(o.identity)
        for name in (
            "zero",
            "fill",
            "copy",
            "requires_grad",
            "index_fill",
            "index_copy",
            "bernoulli",
            "index_add",
        )
    },
    **{f"{name}_": op(o.randomised) for name in ("normal", "uniform", "trunc_normal", "exponential", "cauchy")},
    "softmax_": FUNCTIONS["softmax"],
    "view": op(o.reshape, "input *shape"),
    "view_as": op(o.reshape_as, "input other"),
    "reshape_as": op(o.reshape_as, "input other"),
    "transpose": op(o.swap_axes, "input *dim"),  # two axes; a whole order where the array is of another framework
    "size": op(o.lookup_shape, "input dim"),
    "dim": op(o.rank_of),
    "numel": op(o.rank_of),
    "expand": op(o.expand, "input *shape"),
    "expand_as": op(o.expand_as, "input other"),
    "repeat": op(o.tile, "input *shape"),
    "type_as": op(o.identity, "input other"),
    "to": op(o.identity, "input dtype"),
    "masked_fill": FUNCTIONS["masked_fill"],
    **{
        name: op(o.identity, dtype=dtype)
        for name, dtype in (("float", "float32"), ("half", "half"), ("bfloat16", "half"), ("double", None), ("bool", "bool"))
    },
    **{
        name: op(o.identity, casts=True)
        for name in (
            "int",
            "long",
            "cuda",
            "cpu",
            "numpy",
            "item",
            "squeeze_",
            "pin_memory",
            "data_ptr",
            "share_memory_",
            "tolist",
            "xpu",
            "byte",
            "char",
        )
    },
    **{name: op(o.new_filled, "input *shape") for name in ("new_zeros", "new_ones")},
    "new_empty": op(o.new_filled, "input *shape", note="empty"),
    "new_full": op(o.create, "input shape other", fill=True),
    "new_tensor": op(o.from_value, "receiver input"),
    "min": op(o.reduce_max, "input dim keepdim", pair=True),
    "unfold": op(o.gather, "input dim size step"),
    "index_fill": op(o.identity),
    "scatter": op(o.scatter, "input dim index src"),
    "scatter_": op(o.scatter, "input dim index src"),
    "any": op(o.boolean),
    "all": op(o.boolean),
}

PROPERTIES: dict[str, Op] = {
    "T": op(o.reverse_axes),
    "mT": op(o.matrix_transpose),
    "H": op(o.matrix_transpose),
    "mH": op(o.matrix_transpose),
    "data": op(o.identity),
    "real": op(o.identity),
    "values": op(o.identity),
}

MODULE_METHODS: dict[str, Op] = {
    "register_buffer": op(o.register_buffer, "receiver name other"),
    "register_parameter": op(o.register_buffer, "receiver name other"),
    "add_module": op(o.register_module, "receiver name other"),
    "register_module": op(o.register_module, "receiver name other"),
    **{name: op(o.attribute_by_name, "receiver target") for name in ("get_buffer", "get_parameter", "get_submodule")},
    **{
        name: op(o.passthrough_argument)  # the module itself
        for name in ("apply", "train", "eval", "to", "cuda", "cpu", "half", "float", "double", "bfloat16", "requires_grad_")
    },
    **{
        name: op(o.nothing)
        for name in (
            "parameters",
            "named_parameters",
            "modules",
            "children",
            "register_forward_hook",
            "post_init",
            "load_state_dict",
        )
    },
}

LAYERS: dict[str, LayerRow] = {
    "Linear": layer("linear", "in_features out_features bias"),
    "LazyLinear": layer("linear", "out_features bias"),
    "Bilinear": layer("opaque"),
    **{f"Conv{n}d": layer("conv", "in_channels out_channels kernel_size stride padding", spatial=n) for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": layer("conv", "in_channels out_channels kernel_size stride padding", spatial=n) for n in (1, 2, 3)},
    "Embedding": layer("embedding", "num_embeddings embedding_dim"),
    **{name: layer("norm", "normalized_shape eps", how=name) for name in ("LayerNorm", "RMSNorm")},
    **{
        name: layer("same", "p")
        for name in (
            "Dropout",
            "Dropout1d",
            "Dropout2d",
            "AlphaDropout",
            "Identity",
            "DropPath",
        )
    },
    **{
        name: layer("statistics", "num_features", how=name)
        for name in (
            "BatchNorm1d",
            "BatchNorm2d",
            "BatchNorm3d",
            "GroupNorm",
            "InstanceNorm1d",
            "InstanceNorm2d",
            "SyncBatchNorm",
        )
    },
    "Softmax": layer("softmax", "dim"),
    "LogSoftmax": layer("softmax", "dim"),
    "Softmax2d": layer("same"),
    **{
        name: layer("activation", function=name)
        for name in (
            "ReLU",
            "GELU",
            "Tanh",
            "Sigmoid",
            "SiLU",
            "ELU",
            "LeakyReLU",
            "Softplus",
            "Mish",
            "ReLU6",
            "SELU",
            "PReLU",
            "Hardswish",
        )
    },
    "Sequential": layer("sequential", "*items"),
    "ModuleList": layer("list", "items"),
    "ParameterList": layer("list", "items"),
    "ModuleDict": layer("dict", "items"),
    "ParameterDict": layer("dict", "items"),
    **{name: layer("recurrent", "input_size hidden_size num_layers", states=2 if name == "LSTM" else 1) for name in ("GRU", "LSTM", "RNN")},
    **{name: layer("recurrent_cell", "input_size hidden_size") for name in ("GRUCell", "LSTMCell", "RNNCell")},
    "MultiheadAttention": layer("attention", "embed_dim num_heads"),
    **{
        name: layer("opaque")
        for name in ("TransformerEncoder", "TransformerEncoderLayer", "TransformerDecoder", "TransformerDecoderLayer", "Transformer")
    },
    "Parameter": layer("parameter", "input"),
    "UninitializedParameter": layer("parameter", "input"),
    "Unflatten": layer("unflatten", "dim shape"),
    "Flatten": layer("flatten", "start_dim end_dim"),
    **{
        name: layer("pool")
        for name in (
            "AvgPool1d",
            "AvgPool2d",
            "MaxPool1d",
            "MaxPool2d",
            "AdaptiveAvgPool1d",
            "AdaptiveAvgPool2d",
            "Upsample",
            "PixelShuffle",
            "Fold",
            "Unfold",
            "MaxPool3d",
            "AvgPool3d",
        )
    },
}

PADDING: dict[str, Op] = {
    **{
        name: op(padding.unpad, "input mask", aliases={"hidden_states": "input", "attention_mask": "mask"})
        for name in ("unpad_input", "unpad_input_for_concatenated_sequences")
    },
    "pad_input": op(padding.pad, "input index batch length", aliases={"hidden_states": "input", "indices": "index", "seqlen": "length"}),
    "index_first_axis": op(o.gather, "input index", dim=0, aliases={"indices": "index"}),
}

KERNELS: dict[str, Kernel] = {
    "torch.nn.functional.scaled_dot_product_attention": Kernel("query key value attn_mask dropout_p is_causal scale enable_gqa"),
    "torch.nn.functional.multi_head_attention_forward": Kernel("query key value", judged=False),
    "torch.nn.attention.flex_attention.flex_attention": Kernel("query key value score_mod block_mask scale enable_gqa"),
    "torch._C._nn.scaled_dot_product_attention": Kernel("query key value attn_mask dropout_p is_causal scale enable_gqa"),
    "torch.ops.aten.scaled_dot_product_attention": Kernel("query key value attn_mask dropout_p is_causal scale enable_gqa"),
    "flash_attn.flash_attn_func": Kernel("query key value dropout_p scale is_causal"),
    "flash_attn.flash_attn_varlen_func": Kernel(
        "query key value cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k dropout_p scale is_causal"
    ),
    "flash_attn.flash_attn_qkvpacked_func": Kernel("qkv dropout_p scale is_causal", packed="qkv"),
    "flash_attn.flash_attn_kvpacked_func": Kernel("query kv dropout_p scale is_causal", packed="kv"),
    "flash_attn.flash_attn_varlen_qkvpacked_func": Kernel("qkv cu_seqlens max_seqlen dropout_p scale is_causal", packed="qkv"),
    "flash_attn.flash_attn_varlen_kvpacked_func": Kernel(
        "query kv cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k dropout_p scale is_causal", packed="kv"
    ),
    "flash_attn.flash_attn_with_kvcache": Kernel(
        "query k_cache v_cache key value", aliases={"softmax_scale": "scale", "k": "key", "v": "value", "q": "query"}
    ),
    "xformers.ops.memory_efficient_attention": Kernel("query key value attn_mask dropout_p scale"),
    "flash_attn.flash_attn_interface.flash_attn_func": Kernel("query key value dropout_p scale is_causal"),
    "flash_attn.flash_attn_interface.flash_attn_unpadded_func": Kernel(
        "query key value cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k dropout_p scale is_causal"
    ),
    "sageattention.sageattn": Kernel("query key value tensor_layout is_causal scale"),
}

TABLE = Table(
    name="torch",
    roots={
        "torch": FUNCTIONS,
        "torch.nn.functional": FUNCTIONS,
        "torch.special": FUNCTIONS,
        "torch.linalg": FUNCTIONS,
        "torch.Tensor": METHODS,
        "torch.utils.checkpoint": FUNCTIONS,
        "torch.jit": {
            "script": op(o.passthrough_argument),
            "script_method": op(o.passthrough_argument),
            "annotate": op(o.identity, "type input"),
        },
        "torch.cuda.amp": {"autocast": op(o.nothing)},
        "flash_attn.bert_padding": PADDING,
    },
    methods=METHODS,
    properties=PROPERTIES,
    module_methods=MODULE_METHODS,
    layers={"torch.nn": LAYERS, "torch.nn.parameter": LAYERS, "torch.nn.modules": LAYERS},
    kernels=KERNELS,
)
