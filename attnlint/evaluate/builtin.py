"""Meanings of Python's own functions on abstract values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlint.domain.algebra import ONE, OPAQUE, Monomial, Symbol, add
from attnlint.domain.values import (
    NONE,
    Argument,
    Bool,
    Choice,
    ClassValue,
    External,
    Instance,
    Items,
    Layer,
    Mapping,
    NoneValue,
    Partial,
    Rest,
    Scalar,
    Sequence,
    ShapeOf,
    Tensor,
    Text,
    Unknown,
    Value,
)
from attnlint.evaluate.expressions import EACH_PLACE, MAX_UNROLLED, key_text, whole_number

if TYPE_CHECKING:
    from attnlint.evaluate.interpreter import Interpreter
    from attnlint.evaluate.operations import Call


def _all(call: Call, name: str = "input") -> tuple[Value, ...]:
    value = call.values.get(name)
    if value is None:
        return ()
    return value.items if isinstance(value, Items) else (value,)


def length(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    if isinstance(value, Items) and not any(isinstance(item, Rest) for item in value.items):
        return Scalar(Monomial.number(len(value.items)), engine.origin(call.node))
    if isinstance(value, Sequence) and value.length is not None:
        return Scalar(value.length, engine.origin(call.node))
    if isinstance(value, Tensor):
        return engine.item(engine.shape_value(value), Scalar(Monomial.number(0)), call.node)
    if isinstance(value, Argument) and value.hint == "tensor":
        tensor = engine.as_tensor(value)
        return engine.item(engine.shape_value(tensor), Scalar(Monomial.number(0)), call.node) if tensor is not None else Unknown("a length")
    return Scalar(engine.opaque_symbol(call.node), engine.origin(call.node))


def numbers(engine: Interpreter, call: Call) -> Value:
    """`range`: its numbers where they are known and few, else one that stands for all."""
    values = _all(call)
    bounds = [whole_number(value) for value in values]
    if all(bound is not None for bound in bounds) and 0 < len(bounds) <= 3 and bounds[2:] != [0]:
        known = range(*[bound for bound in bounds if bound is not None])
        if len(known) <= MAX_UNROLLED:
            return Items(tuple(Scalar(Monomial.number(i)) for i in known))
    scalar = engine.as_scalar(values[0]) if len(values) == 1 else None
    return Sequence(Scalar(engine.opaque_symbol(call.node, "an index")), scalar.value if scalar is not None else None)


def zipped(engine: Interpreter, call: Call) -> Value:
    sequences = _all(call)
    known = [engine.items_of(value) for value in sequences]
    if known and all(items is not None for items in known):
        rows = list(zip(*[items for items in known if items is not None], strict=False))
        if len(rows) <= MAX_UNROLLED:
            return Items(tuple(Items(tuple(row)) for row in rows))
    return Sequence(Items(tuple(engine.item_of(value) for value in sequences)))


def enumerated(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input") or Unknown("nothing")
    items = engine.items_of(value)
    if items is not None and len(items) <= MAX_UNROLLED:
        return Items(tuple(Items((Scalar(Monomial.number(i)), item)) for i, item in enumerate(items)))
    if isinstance(value, ShapeOf):
        place = Scalar(Monomial.of(Symbol(engine.fresh("place"), EACH_PLACE, OPAQUE)))
        return Sequence(Items((place, engine.size_at(value, place) or Unknown("a size"))))
    return Sequence(Items((Scalar(engine.opaque_symbol(call.node, "an index")), engine.item_of(value))))


def mapped(engine: Interpreter, call: Call) -> Value:
    function = call.values.get("function") or Unknown("a function")
    sequences = (call.values.get("first") or Unknown("nothing"), *_all(call, "more"))
    known = [engine.items_of(value) for value in sequences]
    if all(items is not None for items in known):
        rows = list(zip(*[items for items in known if items is not None], strict=False))
        if len(rows) <= MAX_UNROLLED:
            return Items(tuple(engine.call(function, list(row), {}, call.node) for row in rows))
    return Sequence(engine.call(function, [engine.item_of(value) for value in sequences], {}, call.node))


def filtered(engine: Interpreter, call: Call) -> Value:
    return Sequence(engine.item_of(call.values.get("input") or Unknown("nothing")))


def sequence(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    if value is None:
        return Items((), True)
    if isinstance(value, (Items, Sequence, ShapeOf, Mapping)):
        return Items(value.items, True) if isinstance(value, Items) else value
    items = engine.items_of(value)
    return Items(tuple(items), True) if items is not None else Sequence(engine.item_of(value))


def reversed_sequence(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    return Items(tuple(reversed(value.items))) if isinstance(value, Items) else Sequence(engine.item_of(value or Unknown("nothing")))


def first(engine: Interpreter, call: Call) -> Value:
    return engine.item_of(call.values.get("input") or Unknown("nothing"))


def dictionary(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    items = dict(value.items) if isinstance(value, Mapping) else {}
    rest = value.rest if isinstance(value, Mapping) else (Unknown("a dictionary") if value is not None else None)
    items.update({name: given for name, given in call.values.items() if name != "input"})
    return Mapping(items, rest)


def summed(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    items = engine.items_of(value) if value is not None else None
    if items and all(isinstance(item, (Scalar, Argument)) for item in items):
        scalars = [engine.as_scalar(item) for item in items]
        return Scalar(add(*(scalar.value for scalar in scalars if scalar is not None)), engine.origin(call.node))
    if items:
        total = items[0]
        for item in items[1:]:
            total = engine.binary("+", total, item, call.node, None, None)
        return total
    return engine.item_of(value) if isinstance(value, Sequence) else Unknown("a sum")


def product(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    items = engine.items_of(value) if value is not None else None
    if items is not None:
        result = ONE
        for item in items:
            scalar = engine.as_scalar(item)
            if scalar is None:
                return Unknown("a product")
            result = result * scalar.value
        return Scalar(result, engine.origin(call.node))
    return Scalar(engine.opaque_symbol(call.node), engine.origin(call.node))


def extreme(engine: Interpreter, call: Call) -> Value:
    """max and min: of plain numbers the number, else opaque."""
    values = _all(call)
    plain = [value.value.coefficient for value in values if isinstance(value, Scalar) and value.value.is_number]
    if values and len(plain) == len(values):
        return Scalar(Monomial.number(max(plain) if call.name == "max" else min(plain)), engine.origin(call.node))
    symbolic = [
        value for value in values if isinstance(value, (Scalar, Argument)) and not (isinstance(value, Scalar) and value.value.is_number)
    ]
    if len(symbolic) == 1 and len(plain) == len(values) - 1 and all(number <= 1 for number in plain) and call.name == "max":
        return symbolic[0]  # max(1, d): a guard
    return Scalar(engine.opaque_symbol(call.node), engine.origin(call.node))


def get_attribute(engine: Interpreter, call: Call) -> Value:
    """`getattr(config, "head_dim", default)`: the attribute where it is set, the default where not."""
    value, name, default = call.values.get("input"), call.values.get("name"), call.values.get("default")
    if not isinstance(name, Text) or value is None:
        return Unknown("an attribute whose name is computed")
    if isinstance(value, (Argument, Unknown, External)):
        found = engine.attribute(value, name.value, None)
        if default is None:
            return found
        key = f"{engine.code(call.node)}"
        given, absent = frozenset({(key, True)}), frozenset({(key, False)})
        if isinstance(default, NoneValue) and isinstance(found, Argument):
            return Argument(found.name, found.key, found.kind, found.hint, default, engine.origin(call.node))
        return engine.choose([(given, found), (absent, default)])
    if isinstance(value, Instance) and default is not None:
        if (
            name.value in value.attributes
            or engine.find_method(value.cls, name.value) is not None
            or any(name.value in ancestor.assigned for ancestor in engine.lineage(value.cls) if isinstance(ancestor, ClassValue))
        ):
            return engine.attribute(value, name.value, None)
        return default
    return engine.attribute(value, name.value, None)


def set_attribute(engine: Interpreter, call: Call) -> Value:
    value, name, other = call.values.get("input"), call.values.get("name"), call.values.get("other")
    if value is not None and isinstance(name, Text) and other is not None:
        engine.set_attribute(value, name.value, other)
    return NONE


def has_attribute(engine: Interpreter, call: Call) -> Value:
    value, name = call.values.get("input"), call.values.get("name")
    if isinstance(value, Instance) and isinstance(name, Text) and name.value in value.attributes:
        return Bool(True)
    return Unknown("a condition")


_ARRAYS = ("Tensor", "ndarray", "Array", "Variable")  # what frameworks call the class of their tensors


def is_instance(engine: Interpreter, call: Call) -> Value:
    value, classes = call.values.get("input"), call.values.get("classes")
    if isinstance(value, (Scalar,)) and isinstance(classes, External) and classes.name in ("builtins.int", "builtins.float"):
        return Bool(True)
    if (
        isinstance(value, (Items, Sequence))
        and isinstance(classes, External)
        and (classes.name in ("builtins.int", "builtins.float", "builtins.str") or classes.name.rpartition(".")[2] in _ARRAYS)
    ):
        return Bool(False)
    if isinstance(value, NoneValue):
        return Bool(False)
    if isinstance(value, Items) and (asked := _builtin_classes(classes)):
        return Bool(("builtins.list" if value.mutable else "builtins.tuple") in asked)
    return Unknown("a condition")


def _builtin_classes(classes: Value | None) -> set[str]:
    """`list`, or `(list, tuple)`, by their names; nothing where another class is among them."""
    found = classes.items if isinstance(classes, Items) else (classes,)
    names = {one.name for one in found if isinstance(one, External) and one.name.startswith("builtins.")}
    return names if len(names) == len(found) else set()


def condition(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    truth = engine.truth(value) if value is not None else None
    return Bool(truth) if truth is not None and call.name == "bool" else Unknown("a condition")


def text(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    found = key_text(value) if value is not None else None
    return Text(found) if found is not None else Unknown("a text")


def quotient_and_rest(engine: Interpreter, call: Call) -> Value:
    a, b = call.scalar("input"), call.scalar("other")
    if a is None or b is None:
        return Items((Unknown("a quotient"), Unknown("a rest")))
    return Items((Scalar(a.value / b.value, engine.origin(call.node)), Unknown("a rest")))


def type_of(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    return value.cls if isinstance(value, Instance) else Unknown("a type")


def partial(engine: Interpreter, call: Call) -> Value:
    function = call.values.get("function") or Unknown("a function")
    rest = call.values.get("input")
    positional = rest.items if isinstance(rest, Items) else (rest,) if rest is not None else ()
    keywords = {name: value for name, value in call.values.items() if name not in ("function", "input")}
    if isinstance(function, External) and not positional and function.name in ("jax.jit", "jax.checkpoint", "torch.compile"):
        return External(function.name)
    return Partial(function, positional, keywords)


def reduced(engine: Interpreter, call: Call) -> Value:
    function, value = call.values.get("function"), call.values.get("input")
    items = engine.items_of(value) if value is not None else None
    if function is None or not items or len(items) > MAX_UNROLLED:
        return Unknown("a reduction")
    result = call.values.get("initial") or items[0]
    for item in items if "initial" in call.values else items[1:]:
        result = engine.call(function, [result, item], {}, call.node)
    return result


def second(engine: Interpreter, call: Call) -> Value:
    return call.values.get("input") or Unknown("a cast")


def dataclass_field(engine: Interpreter, call: Call) -> Value:
    found = call.values.get("default")
    if found is not None:
        return found
    factory = call.values.get("default_factory")
    return engine.call(factory, [], {}, call.node) if factory is not None else Unknown("a field")


__all__ = ["Choice", "Layer"]
