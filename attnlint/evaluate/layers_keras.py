"""What calling the layer objects of Keras (and its kin) does: layers of several inputs, shapes without the batch, equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlint.domain import equations, shapes
from attnlint.domain.algebra import AXIS, Monomial, Symbol
from attnlint.domain.values import Bool, Items, Layer, Leaf, Scalar, Tensor, Text, Unknown, Value
from attnlint.evaluate import tensors
from attnlint.evaluate.expressions import whole_number
from attnlint.syntax import nodes as cst

if TYPE_CHECKING:
    from attnlint.evaluate.interpreter import Interpreter


def _inputs(arguments: list[Value]) -> list[Value]:
    """Layers of several inputs take them as one list."""
    return list(arguments[0].items) if len(arguments) == 1 and isinstance(arguments[0], Items) else list(arguments)


def dot(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """`Dot(axes)([q, k])`: one axis of each is summed over; with `normalize=True` a cosine."""
    normalised = layer.settings.get("normalize")
    if isinstance(normalised, Bool) and normalised.value:
        return engine.opaque_tensor("a cosine similarity", node=node)
    parts = _inputs(arguments)
    axes = layer.settings.get("axes")
    return engine.call_operation("keras.backend.batch_dot", parts, {"axes": axes} if axes is not None else {}, node)


def merge(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """`Add()([a, b])`, `Multiply()([a, b])`, `Subtract()([a, b])`."""
    operator = layer.settings.get("operator")
    parts = _inputs(arguments)
    if not parts or not isinstance(operator, Text):
        return engine.opaque_tensor("a merge of nothing", node=node)
    value = parts[0]
    for part in parts[1:]:
        value = engine.binary(operator.value, value, part, node, None, None)
    return value


def concatenate(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    axis = layer.settings.get("dim") or Scalar(Monomial.number(-1))
    return engine.call_operation("tensorflow.concat", [Items(tuple(_inputs(arguments))), axis], {}, node)


def reshape(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """`Reshape(target_shape)`: the batch axis stays."""
    target = layer.settings.get("shape")
    tensor = engine.as_tensor(arguments[0]) if arguments else None
    if tensor is None or not isinstance(target, Items):
        return engine.opaque_tensor("a reshape to an unknown shape", node=node)
    if tensor.shape.lead is not None:
        tensor = tensor.but(shape=shapes.with_rank(tensor.shape, shapes.usual_rank(tensor.shape, 2)))
    batch = Scalar(tensor.shape.axes[0].size) if tensor.shape.axes else Scalar(Monomial.number(-1))
    return engine.call_operation("tensorflow.reshape", [tensor, Items((batch, *target.items))], {}, node)


def permute(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """`Permute(dims)`: counted from 1 behind the batch axis."""
    given = layer.settings.get("dim")
    order = [whole_number(item) for item in given.items] if isinstance(given, Items) else []
    if not arguments or not order or any(number is None for number in order):
        return engine.opaque_tensor("a permutation of unknown axes", node=node)
    whole = Items((Scalar(Monomial.number(0)), *(Scalar(Monomial.number(number or 0)) for number in order)))
    return engine.call_operation("tensorflow.transpose", [arguments[0], whole], {}, node)


def einsum_dense(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """`EinsumDense("abc,cde->abde", output_shape)`: a projection whose new axes have the sizes of `output_shape`."""
    tensor = engine.as_tensor(arguments[0]) if arguments else None
    equation = layer.settings.get("equation")
    if tensor is None or not isinstance(equation, Text):
        return engine.opaque_tensor("a layer whose equation is not a plain string", node=node)
    parts = equation.value.replace(" ", "").partition("->")
    terms = parts[0].split(",")
    if len(terms) != 2:
        return engine.opaque_tensor("a layer whose equation is no product of two", node=node)
    data, weight, output = terms[0], terms[1], parts[2]
    given = layer.settings.get("shape")
    sizes = list(given.items) if isinstance(given, Items) else [given] if given is not None else []
    last = dict(zip(reversed(output.replace("...", "")), reversed(sizes), strict=False))
    key = f"{layer.key}({tensors.identity_of(tensor)})"
    axes = []
    for i, letter in enumerate(weight.replace("...", "")):
        size = engine.as_scalar(last[letter]) if letter in last and not isinstance(last[letter], Unknown) else None
        if size is not None:
            engine.note_dims(size.value)
        monomial = size.value if size is not None else Monomial.of(Symbol(f"{layer.key}.{letter}", f"{layer.name}'s axis {letter}", AXIS))
        axes.append(shapes.sized(monomial, f"{key}.{i}"))
    matrix = Tensor(shapes.Shape(tuple(axes)), Leaf("parameter", f"{layer.key}.kernel", layer=layer), name=f"{layer.name}.kernel")
    if "..." not in data and tensor.shape.lead is not None:
        tensor = tensor.but(shape=shapes.with_rank(tensor.shape, max(len(data), len(tensor.shape.axes))))
    result = equations.einsum(equation.value, [tensor.shape, matrix.shape], engine.facts)
    if result is None or isinstance(result, shapes.Shape):
        return engine.opaque_tensor("a layer whose equation does not fit its input", node=node)
    leaf = Leaf("projection", key, source=tensor, layer=layer)
    return Tensor(result.shape, leaf, history=tensors.one(engine.origin(node)))


def time_distributed(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """`TimeDistributed(layer)`: the wrapped layer, on every step."""
    return engine.call(layer.settings.get("inner") or Unknown("a wrapped layer"), arguments, keywords, node)


def attention(engine: Interpreter, layer: Layer, arguments: list[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
    """An attention layer of the framework: right by itself; the weights come along where they are asked for."""
    out = engine.opaque_tensor("the output of an attention layer", node=node)
    wanted = keywords.get("return_attention_scores")
    return (
        Items((out, engine.opaque_tensor("the weights of an attention layer", node=node)))
        if isinstance(wanted, Bool) and wanted.value
        else out
    )
