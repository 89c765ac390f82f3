"""Function transforms: what `vmap`, `scan`, `cond`, `tree_map` and their kin make of a function of the linted tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlint.domain import shapes
from attnlint.domain.axes import Axis, Shape
from attnlint.domain.values import NONE, Argument, Items, Native, NoneValue, Rest, Tensor, Unknown, Value
from attnlint.domain.values import Sequence as SequenceValue
from attnlint.evaluate.expressions import whole_number
from attnlint.evaluate.operations import Call

if TYPE_CHECKING:
    from attnlint.evaluate.interpreter import Interpreter


def vmap(engine: Interpreter, call: Call) -> Value:
    """`vmap(f, in_axes, out_axes)`: f sees its arguments without the mapped axis, and its results get it back."""
    function = call.values.get("input")
    if function is None:
        return Unknown("a wrapped function")
    in_axes, out_axes = call.values.get("in_axes"), call.values.get("out_axes")

    def mapped(*arguments: Value) -> Value:
        return engine.distribute(arguments, lambda *chosen: _mapped(engine, call, function, in_axes, out_axes, chosen))

    return Native(mapped, "vmap")


def _mapped(
    engine: Interpreter, call: Call, function: Value, in_axes: Value | None, out_axes: Value | None, arguments: Sequence[Value]
) -> Value:
    taken: list[Axis] = []
    inner = [_without(engine, value, _axis_for(in_axes, i), taken) for i, value in enumerate(arguments)]
    result = engine.call(function, inner, {}, call.node)
    axis = taken[0] if taken else None

    def restored(value: Value, index: int | None) -> Value:
        return _with(engine, value, index, axis)

    if isinstance(result, Items):
        return Items(
            tuple(engine.distribute((item,), lambda one, i=i: restored(one, _axis_for(out_axes, i))) for i, item in enumerate(result.items))
        )
    return engine.distribute((result,), lambda one: restored(one, _axis_for(out_axes, 0)))


def _axis_for(axes: Value | None, position: int) -> int | None:
    """The mapped axis of an argument: 0 by default, None where it is not mapped."""
    if axes is None:
        return 0
    if isinstance(axes, Items):
        return _axis_for(axes.items[position], 0) if position < len(axes.items) else 0
    return None if isinstance(axes, NoneValue) else whole_number(axes)


def _without(engine: Interpreter, value: Value, index: int | None, taken: list[Axis]) -> Value:
    if index is None:
        return value
    if isinstance(value, Items):
        return Items(tuple(_without(engine, item, index, taken) for item in value.items))
    tensor = engine.as_tensor(value) if isinstance(value, (Tensor, Argument)) else None
    if tensor is None:
        return value
    shape = tensor.shape
    if shape.lead is not None and index > 0:
        shape = shapes.with_rank(shape, max(shapes.usual_rank(shape, index + 1), index + 1))
    if shape.lead is not None:  # the first axis of an unknown rank: the trailing axes stay where they are
        return tensor
    found = shapes.axis_of(shape, index)
    left = shapes.select(shape, index)
    if found is None or left is None:
        return tensor.but(shape=shapes.unknown(engine.fresh("mapped")))
    taken.append(found[1])
    return tensor.but(shape=left)


def _with(engine: Interpreter, value: Value, index: int | None, axis: Axis | None) -> Value:
    if not isinstance(value, Tensor) or index is None or axis is None or value.shape.lead is not None:
        return value
    axes = list(value.shape.axes)
    axes.insert(index if index >= 0 else len(axes) + 1 + index, axis)
    return value.but(shape=Shape(tuple(axes)))


def scan(engine: Interpreter, call: Call) -> Value:
    """`scan(f, init, xs)`: f of the carry and one item; the last carry and the stacked outputs."""
    function = call.values.get("function") or Unknown("a scanned function")
    carry = call.values.get("init") or NONE
    items = call.values.get("xs")
    item = _first_of(engine, items) if items is not None else NONE
    result = engine.call(function, [carry, item], {}, call.node)

    def stacked(one: Value) -> Value:
        if isinstance(one, Items) and len(one.items) == 2:
            return Items(
                (one.items[0], SequenceValue(one.items[1]) if not isinstance(one.items[1], Tensor) else _unknown_rank(engine, one.items[1]))
            )
        return Unknown("what a scan gives")

    return engine.distribute((result,), stacked)


def _unknown_rank(engine: Interpreter, tensor: Tensor) -> Tensor:
    return tensor.but(shape=shapes.unknown(engine.fresh("scanned")))


def _first_of(engine: Interpreter, value: Value) -> Value:
    if isinstance(value, Items):
        return Items(tuple(_first_of(engine, item) for item in value.items))
    tensor = engine.as_tensor(value) if isinstance(value, Argument) else value
    return engine.item_of(tensor) if tensor is not None else engine.item_of(value)


def map_over(engine: Interpreter, call: Call) -> Value:
    """`lax.map(f, xs)`, `tf.map_fn(f, xs)`: f of one item; a leading axis comes back."""
    function = call.values.get("function") or Unknown("a mapped function")
    return _mapped(engine, call, function, None, None, [call.values.get("xs") or Unknown("nothing")])


def tree_map(engine: Interpreter, call: Call) -> Value:
    """`tree_map(f, tree)`: f of every leaf of a known tuple, or of the one value."""
    function = call.values.get("function") or Unknown("a mapped function")
    tree = call.values.get("tree") or Unknown("a tree")
    if isinstance(tree, Items) and not any(isinstance(item, Rest) for item in tree.items):
        return Items(tuple(engine.call(function, [item], {}, call.node) for item in tree.items))
    return engine.call(function, [tree], {}, call.node) if isinstance(tree, (Tensor, Argument)) else Unknown("a mapped tree")


def cond(engine: Interpreter, call: Call) -> Value:
    """`cond(test, on_true, on_false, *operands)`: either function of the operands."""
    rest = call.values.get("operands")
    operands = list(rest.items) if isinstance(rest, Items) else [rest] if rest is not None else []
    text = engine.code(call.node)
    options: list[tuple[frozenset[tuple[str, bool]], Value]] = []
    for name, holds in (("on_true", True), ("on_false", False)):
        function = call.values.get(name)
        if function is not None:
            options.append((frozenset({(f"cond {text[:60]}", holds)}), engine.call(function, operands, {}, call.node)))
    return engine.choose(options) if options else Unknown("a conditional without branches")


def fori_loop(engine: Interpreter, call: Call) -> Value:
    """`fori_loop(lower, upper, body, init)`: the body once."""
    function = call.values.get("function") or Unknown("a loop's body")
    return engine.call(
        function,
        [engine.as_scalar(call.values.get("lower") or NONE) or Unknown("an index"), call.values.get("init") or NONE],
        {},
        call.node,
    )


def while_loop(engine: Interpreter, call: Call) -> Value:
    """`while_loop(test, body, init)`: the body once."""
    function = call.values.get("function") or Unknown("a loop's body")
    return engine.call(function, [call.values.get("init") or NONE], {}, call.node)
