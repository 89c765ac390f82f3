"""What calling a layer object does, by its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attnlint.domain import shapes
from attnlint.domain.algebra import AXIS, CONFIG, PARAMETER, SUM, Monomial, Symbol
from attnlint.domain.values import NONE, Argument, Items, Layer, Leaf, Mapping, NoneValue, Scalar, Tensor, Text, Unknown, Value, options_of
from attnlint.domain.values import Sequence as SequenceValue
from attnlint.evaluate import layers_keras, tensors
from attnlint.syntax import nodes as cst

if TYPE_CHECKING:
    from attnlint.evaluate.interpreter import Interpreter

Behaviour = Callable[["Interpreter", Layer, list[Value], "dict[str, Value]", cst.CSTNode], Value]


def _size(engine: Interpreter, layer: Layer, name: str) -> Monomial | None:
    value = layer.settings.get(name)
    scalar = engine.as_scalar(value) if value is not None else None
    return scalar.value if scalar is not None else None


def _input(engine: Interpreter, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Tensor | None:
    value = (
        arguments[0]
        if arguments
        else next((v for k, v in keywords.items() if k in ("x", "input", "inputs", "hidden_states", "query")), None)
    )
    return engine.as_tensor(value, node) if value is not None else None


def _learn_width(engine: Interpreter, size: Monomial, width: Monomial) -> None:
    """The features of what a layer is given are as many as it takes. Parts of unknown sizes, joined, say nothing about a setting."""
    symbols = engine.facts.normalise(size).symbols
    if any(symbol.kind == SUM and shapes.vague(Monomial.of(symbol)) for symbol in symbols):
        return
    if engine.paths_disagree and all(symbol.kind in (PARAMETER, CONFIG) for symbol in symbols):
        return
    engine.facts.learn(size, width)


def disagree(engine: Interpreter, value: Value) -> bool:
    """Whether a layer is given different settings' worth of features on different paths: on one of them its width is something else."""
    widths = [
        engine.facts.normalise(option.shape.axes[-1].size)
        for _, option in options_of(value)
        if isinstance(option, Tensor) and option.shape.axes
    ]
    settled = [width for width in widths if width.powers and all(symbol.kind in (PARAMETER, CONFIG) for symbol in width.symbols)]
    return any(not width.equals(settled[0]) for width in settled[1:])


def linear(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """A dense layer: the last axis becomes the output features; a tuple of features (Flax's DenseGeneral) several axes."""
    tensor = _input(engine, arguments, keywords, node)
    if tensor is None:
        return engine.opaque_tensor("a layer called without input", node=node)
    if isinstance(tensor.content, (tensors.Weights, tensors.Output)):
        engine.check_merge(tensor)
    into = _size(engine, layer, "in_features")
    features = layer.settings.get("out_features")
    width = engine.as_scalar(features) if features is not None else None
    if into is not None and width is not None and engine.facts.equal(into, width.value):
        mixed = tensors.mixed_heads(engine, tensor, layer.key, layer.name, node)
        if mixed is not None:
            return mixed
    count = 1
    axis_setting = layer.settings.get("axis")
    if isinstance(axis_setting, Items):
        count = len(axis_setting.items)
    shape = shapes.materialise(tensor.shape, count) if tensor.shape.lead is not None else tensor.shape
    if into is not None and shape.axes and count == 1:
        last = shape.axes[-1].size
        if not last.equals(into):
            _learn_width(engine, last, into)
        engine.note_dims(into)
    kept = shape.axes[: len(shape.axes) - count] if len(shape.axes) >= count else ()
    key = f"{layer.key}({tensors.identity_of(tensor)})"
    outputs: list[shapes.Axis] = []
    sizes = features.items if isinstance(features, Items) else (features,)
    for i, item in enumerate(sizes):
        scalar = engine.as_scalar(item) if item is not None else None
        if scalar is not None:
            engine.note_dims(scalar.value)
        size = scalar.value if scalar is not None else Monomial.of(Symbol(f"{layer.key}.out{i}", f"{layer.name}'s output", AXIS))
        outputs.append(shapes.sized(size, f"{key}.{i}"))
    leaf = Leaf("projection", key, source=tensor, layer=layer)
    projected = Tensor(
        shapes.Shape((*kept, *outputs), shape.lead),
        leaf,
        history=(*tensors.one(engine.origin(node)),),
        dtype=tensor.dtype if tensor.dtype == "half" else None,
    )
    activation = layer.settings.get("activation")
    if isinstance(activation, Text) and activation.value == "tanh":
        return tensors.nonlinear(engine, projected, activation.value, node)
    return projected


def conv(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """A convolution: the channel axis becomes the output channels, spatial axes get new sizes unless the kernel is 1."""
    tensor = _input(engine, arguments, keywords, node)
    if tensor is None:
        return engine.opaque_tensor("a layer called without input", node=node)
    spatial = (
        int(getattr(layer.settings.get("spatial"), "value", Monomial.number(2)).coefficient)
        if isinstance(layer.settings.get("spatial"), Scalar)
        else 2
    )
    last = isinstance(layer.settings.get("channels_last"), Scalar)
    shape = tensor.shape
    key = f"{layer.key}({tensors.identity_of(tensor)})"
    leaf = Leaf("projection", key, source=tensor, layer=layer)
    layout = layer.settings.get("data_format")
    if isinstance(layout, Text):
        last = layout.value != "channels_first"
    elif layout is not None and not isinstance(layout, NoneValue):  # chosen at run time
        return Tensor(shapes.unknown(key), leaf, history=tensors.one(engine.origin(node)))
    if shape.lead is not None:
        shape = shapes.with_rank(shape, spatial + 2) if len(shape.axes) <= spatial + 2 else shape
    axes = list(shape.axes)
    channel = (len(axes) - 1 if last else len(axes) - spatial - 1) if len(axes) >= spatial + 1 else None
    if channel is None:
        return engine.opaque_tensor("a convolution of an unknown shape", node=node)
    into, out = _size(engine, layer, "in_channels"), _size(engine, layer, "out_channels")
    if into is not None and out is not None and engine.facts.equal(into, out):
        mixed = tensors.mixed_heads(engine, tensor, layer.key, layer.name, node)
        if mixed is not None:
            return mixed
    if into is not None and not axes[channel].size.equals(into):
        _learn_width(engine, axes[channel].size, into)
    for size in (into, out):
        if size is not None:
            engine.note_dims(size)
    axes[channel] = shapes.sized(
        out if out is not None else Monomial.of(Symbol(f"{layer.key}.out", f"{layer.name}'s channels", AXIS)), f"{key}.c"
    )
    kernel = layer.settings.get("kernel_size")
    stride = layer.settings.get("stride")
    one = all(isinstance(v, Scalar) and v.value.is_one for v in _flat(kernel)) and all(
        isinstance(v, Scalar) and v.value.is_one for v in _flat(stride)
    )
    if not one and not _same_padding(layer):
        for i in range(len(axes) - spatial, len(axes)) if not last else range(1, len(axes) - 1):
            axes[i] = shapes.sized(Monomial.of(Symbol(f"{key}.s{i}", "a convolved length", AXIS)), f"{key}.s{i}")
    return Tensor(shapes.Shape(tuple(axes), None), leaf, history=tensors.one(engine.origin(node)))


def _flat(value: Value | None) -> list[Value]:
    if value is None:
        return []
    return list(value.items) if isinstance(value, Items) else [value]


def _same_padding(layer: Layer) -> bool:
    padding, kernel = layer.settings.get("padding"), layer.settings.get("kernel_size")
    if isinstance(padding, Text) and padding.value.lower() == "same":
        return "stride" not in layer.settings
    if (
        isinstance(padding, Scalar)
        and isinstance(kernel, Scalar)
        and padding.value.is_number
        and kernel.value.is_number
        and "stride" not in layer.settings
    ):
        return 2 * padding.value.coefficient + 1 == kernel.value.coefficient
    return False


def norm(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    tensor = _input(engine, arguments, keywords, node)
    if tensor is None:
        return engine.opaque_tensor("a layer called without input", node=node)
    size = _size(engine, layer, "normalized_shape")
    if size is not None and tensor.shape.axes and tensor.shape.axes[-1].size != size:
        _learn_width(engine, tensor.shape.axes[-1].size, size)
    elif size is not None and not tensor.shape.axes and tensor.shape.lead is not None:
        shape = shapes.materialise(tensor.shape, 1)
        engine.facts.learn(shape.axes[-1].size, size)
        tensor = tensor.but(shape=shape)
    how = layer.settings.get("how")
    return tensors.normalise(engine, tensor, how.value if isinstance(how, Text) else layer.class_name, node)


def same(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    if arguments and not isinstance(arguments[0], (Tensor, Argument, Unknown)):
        return arguments[0]
    tensor = _input(engine, arguments, keywords, node)
    return tensors.then(engine, tensor, node) if tensor is not None else engine.opaque_tensor("a layer called without input", node=node)


def softmax(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    tensor = _input(engine, arguments, keywords, node)
    if tensor is None:
        return engine.opaque_tensor("a softmax called without input", node=node)
    from attnlint.evaluate.expressions import whole_number

    given = layer.settings.get("dim", layer.settings.get("default_dim"))
    index = whole_number(given)
    found = shapes.axis_of(tensor.shape, index) if index is not None else None
    mask = arguments[1] if len(arguments) > 1 else keywords.get("mask")
    if mask is not None and mask is not NONE:
        from attnlint.domain.values import Mask

        tensor = tensors.masked(engine, tensor, Mask("where", Scalar(Monomial.number(-1e9)), engine.origin(node), mask), node)
    return tensors.softmax(
        engine,
        tensor,
        found[1] if found is not None else None,
        node,
        implicit_axis=given is None or given is NONE,
        axis_origin=layer.origin,
    )


def activation(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    tensor = _input(engine, arguments, keywords, node)
    if tensor is None:
        return engine.opaque_tensor("a layer called without input", node=node)
    function = layer.settings.get("function")
    name = function.value if isinstance(function, Text) else layer.class_name
    if name.lower() == "softmax":
        return softmax(
            engine, Layer("softmax", {"dim": Scalar(Monomial.number(-1))}, layer.key, layer.name, layer.origin), arguments, keywords, node
        )
    return tensors.nonlinear(engine, tensor, name.lower(), node)


def sequential(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    items = engine.layer_items(layer)
    value: Value = arguments[0] if arguments else Unknown("no input")
    if items is None:
        inner = layer.settings.get("items")
        return (
            engine.call(inner.item, [value], {}, node)
            if isinstance(inner, SequenceValue)
            else engine.opaque_tensor("a sequence of unknown layers", node=node)
        )
    for item in items:
        value = engine.call(item, [value], {}, node)
    return value


def embedding(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    tensor = _input(engine, arguments, keywords, node)
    size = _size(engine, layer, "embedding_dim")
    key = engine.fresh("embedding")
    axis = shapes.sized(size if size is not None else Monomial.of(Symbol(f"{key}.d", "embedding size", AXIS)), f"{key}.d")
    shape = shapes.Shape((*tensor.shape.axes, axis), tensor.shape.lead) if tensor is not None else shapes.unknown(key)
    return Tensor(shape, Leaf("embedding", key), history=tensors.one(engine.origin(node)))


def recurrent(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """GRU, LSTM, RNN: the outputs and the last state(s)."""
    tensor = _input(engine, arguments, keywords, node)
    output = _states(engine, layer, tensor, node)
    return Items((output, Items((output, output)) if layer.class_name == "LSTM" else output))


def recurrent_cell(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    output = _states(engine, layer, _input(engine, arguments, keywords, node), node)
    return Items((output, output)) if layer.class_name == "LSTMCell" else output


def recurrent_outputs(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """Keras' recurrent layers: the outputs alone."""
    return _states(engine, layer, _input(engine, arguments, keywords, node), node)


def _states(engine: Interpreter, layer: Layer, tensor: Tensor | None, node: cst.CSTNode) -> Tensor:
    key = engine.fresh("states")
    size = _size(engine, layer, "hidden_size")
    if tensor is None or size is None or layer.settings.get("bidirectional") is not None:
        return Tensor(shapes.unknown(key), Leaf("recurrent", key), history=tensors.one(engine.origin(node)))
    shape = shapes.materialise(tensor.shape, 1) if tensor.shape.lead is not None else tensor.shape
    axes = (*shape.axes[:-1], shapes.sized(size, f"{key}.d"))
    return Tensor(shapes.Shape(axes, shape.lead), Leaf("recurrent", key), history=tensors.one(engine.origin(node)))


def attention(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """The framework's own attention layer is right by itself; its output is new features."""
    out = engine.opaque_tensor("the output of an attention layer", node=node)
    return Items((out, engine.opaque_tensor("the weights of an attention layer", node=node)))


def opaque(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    return engine.opaque_tensor(f"the layer {layer.class_name} is not followed", node=node)


def pool(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """Spatial axes get new sizes; channels stay."""
    tensor = _input(engine, arguments, keywords, node)
    if tensor is None or tensor.shape.rank is None or tensor.shape.rank < 3:
        return engine.opaque_tensor("a pooled feature map", node=node) if tensor is None else tensors.then(engine, tensor, node)
    axes = list(tensor.shape.axes)
    for i in range(2, len(axes)):
        key = engine.fresh("pooled")
        axes[i] = shapes.sized(Monomial.of(Symbol(key, "a pooled length", AXIS)), key)
    return tensors.then(engine, tensor, node, shape=shapes.Shape(tuple(axes)))


def as_method(name: str) -> Behaviour:
    """A layer that does what a function of the tables does, with its settings as arguments."""

    def behave(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        return engine.call_operation(name, list(arguments), {**layer.settings, **keywords}, node)

    return behave


def listed(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    return Unknown("a list of layers is called")


def lambda_layer(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    function = layer.settings.get("function") or Unknown("a lambda layer")
    return engine.call(function, arguments, keywords, node)


def statistics(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """Normalisation by the statistics of a batch: of data nothing that counts here changes, of logits all."""
    tensor = _input(engine, arguments, keywords, node)
    if tensor is not None and tensors.products_of(tensor):
        return tensors.normalise(engine, tensor, layer.class_name, node)
    return same(engine, layer, arguments, keywords, node)


BEHAVIOURS: dict[str, Behaviour] = {
    "linear": linear,
    "conv": conv,
    "norm": norm,
    "same": same,
    "statistics": statistics,
    "softmax": softmax,
    "activation": activation,
    "sequential": sequential,
    "embedding": embedding,
    "recurrent": recurrent,
    "recurrent_cell": recurrent_cell,
    "recurrent_outputs": recurrent_outputs,
    "attention": attention,
    "opaque": opaque,
    "pool": pool,
    "list": listed,
    "dict": listed,
    "lambda": lambda_layer,
    "flatten": as_method("torch.flatten"),
    "unflatten": as_method("torch.unflatten"),
    "rearrange": as_method("einops.rearrange"),
    "dot": layers_keras.dot,
    "merge": layers_keras.merge,
    "concatenate": layers_keras.concatenate,
    "reshape": layers_keras.reshape,
    "permute": layers_keras.permute,
    "einsum_dense": layers_keras.einsum_dense,
    "time_distributed": layers_keras.time_distributed,
    "attention_output": layers_keras.attention,
}

# attributes of a layer object that are its settings under another name
SETTING_NAMES = {
    "in_features": "in_features",
    "out_features": "out_features",
    "in_channels": "in_channels",
    "out_channels": "out_channels",
    "embed_dim": "embed_dim",
    "num_heads": "num_heads",
    "embedding_dim": "embedding_dim",
    "hidden_size": "hidden_size",
    "units": "out_features",
    "features": "out_features",
    "p": "p",
    "dim": "dim",
}


def weight_of(engine: Interpreter, layer: Layer) -> Tensor:
    """`layer.weight`: a parameter of shape (out_features, in_features)."""
    sizes = [_size(engine, layer, name) for name in ("out_features", "in_features")]
    if layer.kind == "embedding":
        sizes = [_size(engine, layer, name) for name in ("num_embeddings", "embedding_dim")]
    axes = tuple(
        shapes.sized(
            size if size is not None else Monomial.of(Symbol(f"{layer.key}.w{i}", f"{layer.name}.weight's axis", AXIS)), f"{layer.key}.w{i}"
        )
        for i, size in enumerate(sizes)
    )
    return Tensor(shapes.Shape(axes), Leaf("parameter", f"{layer.key}.weight", layer=layer), name=f"{layer.name}.weight")


def attention_attribute(engine: Interpreter, layer: Layer, name: str) -> Value | None:
    """What PyTorch's attention layer keeps: the size of a head, its projections in one, and the layer behind them."""
    width, heads = _size(engine, layer, "embed_dim"), _size(engine, layer, "num_heads")
    if width is None or heads is None:
        return None
    if name == "head_dim":
        return Scalar(width / heads, layer.origin)
    if name == "out_proj":
        settings: dict[str, Value] = {"in_features": Scalar(width), "out_features": Scalar(width)}
        return Layer("linear", settings, f"{layer.key}.{name}", name, layer.origin, "Linear")
    rows = {"in_proj_weight": 3.0, "in_proj_bias": 3.0, "q_proj_weight": 1.0, "k_proj_weight": 1.0, "v_proj_weight": 1.0}.get(name)
    if rows is None:
        return None
    key = f"{layer.key}.{name}"
    sizes = [Monomial.number(rows) * width, *([] if name.endswith("bias") else [width])]
    axes = tuple(shapes.sized(size, f"{key}{i}") for i, size in enumerate(sizes))
    return Tensor(shapes.Shape(axes), Leaf("parameter", key), name=name)


__all__ = ["BEHAVIOURS", "SETTING_NAMES", "Mapping", "attention_attribute", "weight_of"]
