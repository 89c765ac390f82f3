"""What framework functions do to abstract values: the meanings that the tables in `attnlint.frameworks` name.

A table row is an `Op`: a meaning and the parameters of the call. Every meaning takes a `Call` with its arguments bound by name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from attnlint.domain import equations, scrambles, shapes
from attnlint.domain.algebra import AXIS, CONFIG, LEARNED, OPAQUE, PARAMETER, Monomial, Symbol
from attnlint.domain.axes import rank_symbol
from attnlint.domain.values import (
    NONE,
    Argument,
    Bool,
    Choice,
    Elementwise,
    Exponential,
    External,
    Instance,
    Items,
    Layer,
    Leaf,
    Mapping,
    Mask,
    Maximum,
    NoneValue,
    Output,
    Product,
    Rest,
    Scalar,
    ShapeOf,
    Sum,
    Tensor,
    Text,
    Unknown,
    Value,
    Weights,
)
from attnlint.domain.values import (
    Sequence as SequenceValue,
)
from attnlint.evaluate import arithmetic, tensors
from attnlint.evaluate.expressions import exponent_of, whole_number
from attnlint.evaluate.powers import called
from attnlint.evidence import polarity, signs
from attnlint.syntax import nodes as cst

if TYPE_CHECKING:
    from attnlint.evaluate.interpreter import Interpreter
    from attnlint.evaluate.state import Engine

Meaning = Callable[["Interpreter", "Call"], Value]


@dataclass(frozen=True)
class Op:
    """One row of a framework table. `parameters` in order; `*name` collects the rest. `settings` are fixed for this spelling."""

    meaning: Meaning
    parameters: tuple[str, ...] = ("input",)
    settings: dict[str, Any] = field(default_factory=dict)


def op(meaning: Meaning, parameters: str = "input", **settings: Any) -> Op:
    return Op(meaning, tuple(parameters.split()), settings)


@dataclass
class Call:
    """A call of a framework function with its arguments by parameter name."""

    name: str
    values: dict[str, Value]
    nodes: dict[str, cst.CSTNode]
    node: cst.CSTNode
    settings: dict[str, Any]
    engine: Any

    def get(self, name: str) -> Value | None:
        found = self.values.get(name)
        return None if isinstance(found, NoneValue) else found

    def tensor(self, name: str = "input") -> Tensor:
        value = self.values.get(name)
        found = self.engine.as_tensor(value, self.nodes.get(name)) if value is not None else None
        return found if found is not None else self.engine.opaque_tensor("an argument that is no tensor", node=self.node)

    def scalar(self, name: str) -> Scalar | None:
        value = self.get(name)
        return self.engine.as_scalar(value, self.nodes.get(name)) if value is not None else None

    def integer(self, name: str, default: int | None = None) -> int | None:
        value = self.values.get(name)
        if value is None or isinstance(value, NoneValue):
            return default if value is None else None
        return whole_number(value)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.values.get(name)
        return value.value if isinstance(value, Bool) else default

    def integers(self, name: str) -> list[int] | None:
        """Whole numbers given as one tuple, as several arguments, or as one number."""
        value = self.get(name)
        if value is None:
            return None
        number = whole_number(value)
        if number is not None:
            return [number]
        if isinstance(value, Items):
            items = value.items
            if len(items) == 1 and isinstance(items[0], Items):
                items = items[0].items
            numbers = [whole_number(item) for item in items]
            return [n for n in numbers if n is not None] if all(n is not None for n in numbers) else None
        return None


# canonical names of parameters that frameworks spell differently
_ALIASES = {
    "axis": "dim",
    "dims": "dim",
    "axes": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "a": "input",
    "tensor": "input",
    "self": "input",
    "logits": "input",
    "array": "input",
    "arr": "input",
    "inputs": "input",
    "x1": "input",
    "mat1": "input",
    "y": "other",
    "b": "other",
    "x2": "other",
    "mat2": "other",
    "value": "other",
    "newshape": "shape",
    "size": "shape",
    "new_shape": "shape",
    "target_shape": "shape",
    "perm": "dim",
    "tensors": "inputs_list",
    "arrays": "inputs_list",
    "values": "inputs_list",
    "num_or_size_splits": "sections",
    "num_or_sections": "sections",
    "split_size_or_sections": "sections",
    "split_size": "sections",
    "indices_or_sections": "sections",
    "subscripts": "equation",
}


def bind(
    row: Op, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode, receiver_node: cst.CSTNode | None
) -> tuple[dict[str, Value], dict[str, cst.CSTNode]]:
    """Arguments by parameter name, with the expression each was given as."""
    values: dict[str, Value] = {}
    nodes: dict[str, cst.CSTNode] = {}
    given: list[cst.CSTNode | None] = []
    keyword_nodes: dict[str, cst.CSTNode] = {}
    if isinstance(node, cst.Call):
        stars = any(argument.star for argument in node.args)
        given = [argument.value for argument in node.args if argument.keyword is None and not argument.star] if not stars else []
        keyword_nodes = {argument.keyword.value: argument.value for argument in node.args if argument.keyword is not None}
    if receiver_node is not None:
        given = (
            [receiver_node, *given] if given or not isinstance(node, cst.Call) or not any(a.star for a in node.args) else [receiver_node]
        )
    position = 0
    for parameter in row.parameters:
        if parameter.startswith("*"):
            rest = tuple(arguments[position:])
            if rest:
                values[parameter[1:]] = rest[0] if len(rest) == 1 and isinstance(rest[0], (Items, ShapeOf, SequenceValue)) else Items(rest)
                if position < len(given) and given[position] is not None:
                    nodes[parameter[1:]] = given[position]  # type: ignore[assignment]
            position = len(arguments)
            break
        if position < len(arguments):
            values[parameter] = arguments[position]
            if position < len(given) and given[position] is not None:
                nodes[parameter] = given[position]  # type: ignore[assignment]
            position += 1
    names = {parameter.lstrip("*") for parameter in row.parameters}
    for name, value in keywords.items():
        own: dict[str, str] = row.settings.get("aliases", {})
        target = name if name in names else own.get(name) or _ALIASES.get(name, name)
        if target not in names and name in ("tensors", "arrays", "values") and "inputs_list" in names:
            target = "inputs_list"
        values.setdefault(target, value)
        if name in keyword_nodes:
            nodes.setdefault(target, keyword_nodes[name])
    return values, nodes


# --- values that pass through


def identity(engine: Interpreter, call: Call) -> Value:
    """A cast, a copy, a device move: nothing about shape, scale or terms changes."""
    value = call.values.get("input")
    if isinstance(value, (Scalar, Bool, Items, Text, SequenceValue, NoneValue)):
        return value
    if isinstance(value, Argument) and value.hint != "tensor":
        return value
    tensor = call.tensor()
    dtype = call.settings.get("dtype") or _dtype_of(call)
    return tensors.then(
        engine, tensor, call.node, dtype=dtype or (tensor.dtype if tensor.dtype == "bool" and not call.settings.get("casts") else None)
    )


def _dtype_of(call: Call) -> str | None:
    for name in ("dtype", "type"):
        value = call.values.get(name)
        if isinstance(value, External):
            tail = value.name.rpartition(".")[2]
            return {
                "float16": "half",
                "half": "half",
                "bfloat16": "half",
                "float32": "float32",
                "float": "float32",
                "bool": "bool",
                "bool_": "bool",
            }.get(tail)
    return None


def passthrough_argument(engine: Interpreter, call: Call) -> Value:
    """The value of one argument: `checkpoint(f)`, `vmap(f)`, `jit(f)`."""
    value = call.values.get("input")
    return value if value is not None else Unknown("a wrapped function")


def boolean(engine: Interpreter, call: Call) -> Value:
    tensor = call.tensor()
    operator = _COMPARISONS.get(call.name)
    notes = polarity.flipped(tensor.notes) if call.name in ("logical_not", "bitwise_not") else frozenset[str]()
    if operator is not None:
        notes = polarity.of_comparison(operator, tensor, call.values.get("other", NONE))
    kept = (notes & polarity.NOTES) | (tensor.notes & arithmetic.MASK_NOTES)
    if call.name.replace("_", "") in ("isnan", "isinf", "isfinite"):
        kept |= {arithmetic.BROKEN}
    return Tensor(tensor.shape, Leaf("constant", engine.fresh("mask")), name=tensor.name, dtype="bool", history=tensor.history, notes=kept)


_COMPARISONS = {
    "eq": "Equal",
    "ne": "NotEqual",
    "lt": "LessThan",
    "gt": "GreaterThan",
    "le": "LessThanEqual",
    "ge": "GreaterThanEqual",
    "equal": "Equal",
    "not_equal": "NotEqual",
    "less": "LessThan",
    "greater": "GreaterThan",
    "less_equal": "LessThanEqual",
    "greater_equal": "GreaterThanEqual",
    "less_than": "LessThan",
    "greater_than": "GreaterThan",
}


def nothing(engine: Interpreter, call: Call) -> Value:
    return NONE


# --- scalars and element-wise functions


def _numeric(call: Call, name: str = "input") -> Scalar | None:
    """The argument as a number, where it is one or is typed as one."""
    value = call.values.get(name)
    if isinstance(value, Tensor):
        return (
            arithmetic.scalar_of(call.engine, value) if not isinstance(value.content, Leaf) or value.content.kind == "parameter" else None
        )
    if isinstance(value, Argument) and value.hint == "tensor":
        return None
    if value is None or isinstance(value, NoneValue):
        return None
    return call.engine.as_scalar(value, call.nodes.get(name))


def power_of(engine: Interpreter, call: Call) -> Value:
    """sqrt, rsqrt, reciprocal, pow: `settings['exponent']` or the argument `other`."""
    fixed: Fraction | None = call.settings.get("exponent")
    scalar = _numeric(call)
    exponent: Fraction | None = fixed
    if exponent is None:
        other = call.scalar("other")
        exponent = exponent_of(other) if other is not None else None
    if scalar is not None:
        origin = engine.origin(call.node)
        if any(symbol.kind == LEARNED for symbol in scalar.value.symbols):
            return scalar
        if exponent is None:
            return Scalar(engine.opaque_symbol(call.node), origin)
        value = scalar.value.power(exponent)
        return Scalar(engine.opaque_symbol(call.node) if math.isnan(value.coefficient) else value, origin, default_of=scalar.default_of)
    tensor = call.tensor()
    if exponent == Fraction(1, 2):
        return tensors.root(engine, tensor, call.node)
    if exponent == Fraction(-1, 2):
        return tensors.root(engine, tensor, call.node, inverse=True)
    if exponent == 2:
        return tensors.square(engine, tensor, call.node)
    return tensors.nonlinear(engine, tensor, call.name, call.node)


def elementwise(engine: Interpreter, call: Call) -> Value:
    """tanh, relu, clamp, …: remembered on logits, new features on anything else; numbers become opaque."""
    scalar = _numeric(call)
    if scalar is not None:
        if any(symbol.kind == LEARNED for symbol in scalar.value.symbols):
            return scalar
        if scalar.value.is_number and call.name in ("exp", "log", "log2"):
            function = {"exp": math.exp, "log": math.log, "log2": math.log2}[call.name]
            try:
                return Scalar(Monomial.number(function(scalar.value.coefficient)), engine.origin(call.node))
            except (ValueError, OverflowError):
                return Unknown("a number out of range")
        if call.name in ("abs", "clamp", "clip", "maximum", "minimum", "round", "floor", "ceil", "trunc", "max", "min"):
            return (
                scalar
                if call.name in ("abs", "round", "floor", "ceil", "trunc", "clamp", "clip")
                else Scalar(engine.opaque_symbol(call.node), engine.origin(call.node))
            )
        settings = scalar.value.symbols and all(symbol.kind in (PARAMETER, CONFIG) for symbol in scalar.value.symbols)
        if settings:  # a function of settings is a setting
            text = engine.code(call.node)
            return Scalar(Monomial.of(Symbol(f"{engine.frame.qualname}:{text}", text, CONFIG)), engine.origin(call.node))
        return Scalar(engine.opaque_symbol(call.node), engine.origin(call.node))
    tensor = call.tensor()
    if call.name == "maximum" and isinstance(tensor.content, (Maximum,)):
        return tensor
    if (
        call.name in ("maximum", "minimum", "max", "min")
        and isinstance(other := call.values.get("other"), Tensor)
        and isinstance(other.content, Maximum)
    ):
        return other
    return tensors.nonlinear(engine, tensor, call.name, call.node)


def negative(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    return arithmetic.negate(engine, value, call.node) if value is not None else Unknown("nothing to negate")


def binary(engine: Interpreter, call: Call) -> Value:
    """add, sub, mul, div as functions or methods, with `alpha`."""
    left, right = call.values.get("input"), call.values.get("other")
    if left is None or right is None:
        return Unknown("an operation without operands")
    if call.get("alpha") is not None and (added := engine.as_tensor(right, call.nodes.get("other"))) is not None:
        right = _weighted(engine, added, call)
    return engine.binary(call.settings["operator"], left, right, call.node, call.nodes.get("input"), call.nodes.get("other"))


def overwritten(engine: Interpreter, call: Call) -> Value:
    """`np.copyto(x, y)`: x holds what y does."""
    target, value = call.tensor(), call.values.get("other")
    return (
        value.but(shape=target.shape)
        if isinstance(value, Tensor)
        else engine.opaque_tensor("what is written over a tensor", node=call.node)
    )


def rounded(engine: Interpreter, call: Call) -> Value:
    """int(), float(): the number itself; a root that is cut to a whole number is another number."""
    value = call.values.get("input")
    if isinstance(value, Text):
        try:
            number = float(value.value)
        except ValueError:
            engine.raises("ValueError")
            return Unknown("a number from text")
        return Scalar(Monomial.number(number), engine.origin(call.node))
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, Scalar):
        engine.risks += 1
    scalar = engine.as_scalar(value, call.nodes.get("input")) if value is not None else None
    if scalar is None:
        return Unknown("a number")
    if call.name not in ("float", "fabs") and any(exponent.denominator > 1 for _, exponent in scalar.value.powers):
        return Scalar(engine.opaque_symbol(call.node), engine.origin(call.node))  # the root of 12 becomes 3
    if call.name == "int" and scalar.value.is_number and math.isfinite(scalar.value.coefficient):
        return Scalar(Monomial.number(float(int(scalar.value.coefficient + 1e-12))), engine.origin(call.node), scalar.default_of)
    return scalar


def whole_root(engine: Interpreter, call: Call) -> Value:
    """`math.isqrt`: the root, cut to a whole number."""
    number = whole_number(call.values.get("input"))
    if number is not None and number >= 0:
        return Scalar(Monomial.number(math.isqrt(number)), engine.origin(call.node))
    return Scalar(engine.opaque_symbol(call.node), engine.origin(call.node))


# --- products


def matmul(engine: Interpreter, call: Call) -> Value:
    a, b = call.tensor("input"), call.tensor("other")
    if _true(call, "transpose_a") or _true(call, "transpose_x") or _true(call, "adjoint_a"):
        a = _swapped(engine, a, -1, -2, call)
    if _true(call, "transpose_b") or _true(call, "transpose_y") or _true(call, "adjoint_b"):
        b = _swapped(engine, b, -1, -2, call)
    rank = call.settings.get("rank")
    if rank:
        a, b = a.but(shape=ranked(engine, a.shape, rank)), b.but(shape=ranked(engine, b.shape, rank))
    return tensors.multiply(engine, a, b, call.node)


def _true(call: Call, name: str) -> bool:
    value = call.values.get(name)
    return isinstance(value, Bool) and value.value


def inner(engine: Interpreter, call: Call) -> Value:
    """numpy.inner and vdot: the last axes of both are summed over."""
    a, b = call.tensor("input"), call.tensor("other")
    b_t = _swapped(engine, b, -1, -2, call) if b.shape.rank != 1 else b
    return tensors.multiply(engine, a, b_t, call.node)


def _weighted(engine: Interpreter, tensor: Tensor, call: Call) -> Tensor:
    """The tensor times `alpha=`; a number that is not followed is a factor all the same."""
    alpha, node = call.get("alpha"), call.nodes.get("alpha")
    if alpha is None:
        return tensor
    scalar = arithmetic.scalar_of(engine, alpha) or engine.as_scalar(alpha, node) or Scalar(engine.opaque_symbol(node), engine.origin(node))
    return arithmetic.scaled(engine, tensor, scalar, call.node, node, False, "alpha")


def baddbmm(engine: Interpreter, call: Call) -> Value:
    """`beta · input + alpha · (batch1 @ batch2)`."""
    a, b = call.tensor("batch1"), call.tensor("batch2")
    product = tensors.multiply(engine, a, b, call.node)
    product = _weighted(engine, product, call)
    beta = call.scalar("beta")
    base = call.tensor("input")
    empty = isinstance(base.content, Leaf) and base.content.kind == "constant" and "empty" in base.notes
    if empty or (beta is not None and beta.value.is_number and beta.value.coefficient == 0):
        return product
    return tensors.sum_of(engine, product, base, False, call.node)


def dense_product(engine: Interpreter, call: Call) -> Value:
    """torch.nn.functional.linear: the last axes of input and weight are summed over; Paddle has the weight turned."""
    a, weight = call.tensor("input"), call.tensor("weight")
    weight_t = weight if call.settings.get("turned", False) else _swapped(engine, weight, -1, -2, call)
    if not isinstance(weight_t.content, Leaf) or weight_t.content.kind != "parameter":
        name = (weight.name or "").lower()
        if "weight" in name or name.startswith("w"):
            weight_t = weight_t.but(notes=weight_t.notes | {"weight"})
    return tensors.multiply(engine, a, weight_t, call.node)


def einsum(engine: Interpreter, call: Call) -> Value:
    operands: list[Value] = []
    equation: str | None = None
    rest = call.values.get("operands")
    items: tuple[Value, ...] = rest.items if isinstance(rest, Items) else (rest,) if rest is not None else ()
    first = call.values.get("equation")
    everything = [first, *items] if first is not None else list(items)
    if any(isinstance(value, Choice) for value in items):
        return engine.distribute(items, lambda *chosen: einsum(engine, replace_value(call, "operands", Items(chosen))))
    for value in everything:
        if isinstance(value, Text) and equation is None:
            equation = value.value
        elif isinstance(value, Items) and all(isinstance(item, (Tensor, Argument, Unknown)) for item in value.items):
            operands.extend(value.items)
        elif isinstance(value, (Tensor, Argument, Unknown)):
            operands.append(value)
    operand_tensors = [tensor for value in operands if (tensor := engine.as_tensor(value)) is not None]
    if equation is None:
        return engine.opaque_tensor("an einsum whose equation is not a plain string", node=call.node)
    named = call.settings.get("words", False)
    if "..." not in equation:
        terms = equation.split("->")[0].split(",")
        if len(terms) == len(operand_tensors):
            ranks = [len(term.split()) if named else len(term.replace(" ", "")) for term in terms]
            operand_tensors = [t.but(shape=ranked(engine, t.shape, rank)) for t, rank in zip(operand_tensors, ranks, strict=True)]
    operand_shapes = [tensor.shape for tensor in operand_tensors]
    result = (
        equations.einops_einsum(equation, operand_shapes, engine.facts)
        if named
        else equations.einsum(equation, operand_shapes, engine.facts)
    )
    if result is None and len(operand_tensors) > 2:
        return _einsum_of_several(engine, equation, operand_tensors, call)
    if result is None:
        return engine.opaque_tensor("an einsum of other shapes", node=call.node)
    if isinstance(result, shapes.Shape):
        return tensors.then(engine, operand_tensors[0], call.node, shape=result)
    return tensors.contract(engine, operand_tensors[0], operand_tensors[1], result, call.node)


def _einsum_of_several(engine: Interpreter, equation: str, operands: list[Tensor], call: Call) -> Value:
    """An einsum of three operands: weights or a parameter among them leave a product of two; anything else is no attention."""
    return engine.opaque_tensor("a product of three factors", node=call.node)


def tensordot(engine: Interpreter, call: Call) -> Value:
    a, b = call.tensor("input"), call.tensor("other")
    axes = call.values.get("dim")
    spec: Any = 2
    number = whole_number(axes)
    if number is not None:
        spec = number
    elif isinstance(axes, Items) and len(axes.items) == 2:
        sides = []
        for side in axes.items:
            one = whole_number(side)
            if one is not None:
                sides.append([one])
            elif isinstance(side, Items) and all(whole_number(item) is not None for item in side.items):
                sides.append([whole_number(item) or 0 for item in side.items])
            else:
                return engine.opaque_tensor("a tensordot over unknown axes", node=call.node)
        spec = (sides[0], sides[1])
    result = shapes.tensordot(a.shape, b.shape, spec)
    return (
        tensors.contract(engine, a, b, result, call.node)
        if result is not None
        else engine.opaque_tensor("a tensordot of unknown shapes", node=call.node)
    )


def dot_general(engine: Interpreter, call: Call) -> Value:
    """jax.lax.dot_general: `((contracted of a, contracted of b), (batch of a, batch of b))`; batch axes come first in the result."""
    a, b = call.tensor("input"), call.tensor("other")
    numbers = _nested_integers(call.values.get("numbers"))
    if numbers is None:
        return engine.opaque_tensor("a dot_general over unknown axes", node=call.node)
    (left, right), (batch_a, batch_b) = numbers
    operands = []
    for tensor, used in ((a, (*left, *batch_a)), (b, (*right, *batch_b))):
        rank = max(shapes.usual_rank(tensor.shape), max(used, default=0) + 1) if tensor.shape.lead is not None else len(tensor.shape.axes)
        if rank > 12 or any(not -rank <= index < rank for index in used):
            return engine.opaque_tensor("a dot_general of other shapes", node=call.node)
        operands.append(tensor.but(shape=ranked(engine, tensor.shape, rank)))
    ranks = [len(operand.shape.axes) for operand in operands]
    letters_a = [chr(ord("a") + i) for i in range(ranks[0])]
    letters_b = [chr(ord("A") + i) for i in range(ranks[1])]
    for i, j in (*zip(left, right, strict=False), *zip(batch_a, batch_b, strict=False)):
        letters_b[j] = letters_a[i]
    shared = {letters_a[i] for i in batch_a}
    summed = {letters_a[i] for i in left}
    rest = [letter for letter in (*letters_a, *letters_b) if letter not in shared and letter not in summed]
    equation = f"{''.join(letters_a)},{''.join(letters_b)}->{''.join(letters_a[i] for i in batch_a)}{''.join(rest)}"
    result = equations.einsum(equation, [operand.shape for operand in operands], engine.facts)
    if result is None or isinstance(result, shapes.Shape):
        return engine.opaque_tensor("a dot_general of other shapes", node=call.node)
    return tensors.contract(engine, operands[0], operands[1], result, call.node)


def _nested_integers(value: Value | None) -> tuple[tuple[list[int], list[int]], tuple[list[int], list[int]]] | None:
    """`(((i,), (j,)), ((…), (…)))` as lists of whole numbers."""
    if not isinstance(value, Items) or len(value.items) != 2:
        return None
    pairs: list[tuple[list[int], list[int]]] = []
    for side in value.items:
        if not isinstance(side, Items) or len(side.items) != 2 or not all(isinstance(part, Items) for part in side.items):
            return None
        lists = [[whole_number(item) for item in part.items] for part in side.items if isinstance(part, Items)]
        if any(number is None for numbers in lists for number in numbers):
            return None
        first, second = ([number for number in numbers if number is not None] for numbers in lists)
        pairs.append((first, second))
    return pairs[0], pairs[1]


def scale(engine: Interpreter, call: Call) -> Value:
    """paddle.scale(x, scale, bias, bias_after_scale): `x · scale + bias`."""
    value, factor = call.values.get("input"), call.values.get("scale")
    if value is None or factor is None:
        return value if value is not None else Unknown("nothing to scale")
    return engine.binary("*", value, factor, call.node, call.nodes.get("input"), call.nodes.get("scale"))


def opaque_result(engine: Interpreter, call: Call) -> Value:
    """A function that is known and not followed."""
    return engine.opaque_tensor(f"`{call.name}` is not followed", node=call.node)


def placeholder(engine: Interpreter, call: Call) -> Value:
    """keras.Input(shape): an array with a batch axis in front."""
    targets = _sizes(engine, call.values.get("shape"))
    if targets is None:
        return Tensor(shapes.unknown(engine.fresh("input")), Leaf("array", engine.fresh("input")))
    axes = [shapes.sized(Monomial.of(Symbol(engine.fresh("batch"), "batch", AXIS)), engine.fresh("batch"))]
    for i, target in enumerate(targets):
        size = target if isinstance(target, Monomial) else Monomial.of(Symbol(engine.fresh("size"), f"axis {i + 1}", AXIS))
        axes.append(shapes.sized(size, engine.fresh("input")))
    return Tensor(shapes.Shape(tuple(axes)), Leaf("array", engine.fresh("input")), history=tensors.one(engine.origin(call.node)))


def dense(engine: Interpreter, call: Call) -> Value:
    """tf.layers.dense(x, units): a dense layer made and called at once."""
    from attnlint.evaluate import layers

    settings = {"out_features": call.values.get("units", Unknown("a number of units"))}
    made = Layer("linear", settings, engine.fresh("dense"), "dense", engine.origin(call.node), "dense")
    return layers.linear(engine, made, [call.tensor()], {}, call.node)


def batch_dot(engine: Interpreter, call: Call) -> Value:
    """Keras' `batch_dot(x, y, axes)` and the Dot layer: one axis of each is summed over."""
    a, b = call.tensor("input"), call.tensor("other")
    axes = call.integers("dim")
    if axes is None:
        return tensors.multiply(engine, a, b, call.node)
    left, right = (axes[0], axes[1]) if len(axes) > 1 else (axes[0], axes[0])
    for tensor, name in ((a, "a"), (b, "b")):
        if tensor.shape.lead is not None and len(tensor.shape.axes) <= 3:
            ranked = tensor.but(shape=shapes.with_rank(tensor.shape, 3))
            a, b = (ranked, b) if name == "a" else (a, ranked)
    rank_a, rank_b = a.shape.rank or 3, b.shape.rank or 3
    left, right = left % rank_a, right % rank_b
    if a.shape.lead is None and b.shape.lead is None and left and right:  # axis 0 of both is the batch
        letters_a, letters_b = "abcdefgh"[:rank_a], "a" + "ijklmno"[: rank_b - 1]
        letters_b = letters_b[:right] + letters_a[left] + letters_b[right + 1 :]
        rest = [letter for letter in letters_a + letters_b[1:] if letter != letters_a[left]]
        result = equations.einsum(f"{letters_a},{letters_b}->{''.join(rest)}", [a.shape, b.shape], engine.facts)
        if result is not None and not isinstance(result, shapes.Shape):
            return tensors.contract(engine, a, b, result, call.node)
    a_last = _moved(engine, a, left, rank_a - 1, call)
    b_second = _moved(engine, b, right, rank_b - 2, call) if rank_b >= 2 else b
    return tensors.multiply(engine, a_last, b_second, call.node)


def _moved(engine: Interpreter, tensor: Tensor, source: int, target: int, call: Call) -> Tensor:
    rank = tensor.shape.rank
    if rank is None or source == target:
        return tensor
    order = [i for i in range(rank) if i != source]
    order.insert(target, source)
    shape = shapes.permute(tensor.shape, order)
    return tensors.then(engine, tensor, call.node, shape=shape) if shape is not None else tensor


# --- axes


def _unknown_shape(engine: Interpreter, tensor: Tensor) -> shapes.Shape:
    return shapes.unknown(engine.fresh(tensor.name or "t"))


def _reshaped(engine: Interpreter, tensor: Tensor, shape: shapes.Shape | None, call: Call) -> Tensor:
    return tensors.then(engine, tensor, call.node, shape=shape if shape is not None else _unknown_shape(engine, tensor))


def ranked(engine: Engine, shape: shapes.Shape, rank: int) -> shapes.Shape:
    """The shape with so many axes; sizes asked for from the end, before the rank was known, are those of the axes from the front."""
    if shape.lead is None or rank < len(shape.axes):
        return shape
    result = shapes.with_rank(shape, rank)
    block = shapes.Block.parse(shape.lead)
    if not block.skip and not block.drop:
        for index, axis in enumerate(result.axes[: rank - len(shape.axes)]):
            engine.facts.learn(shapes.argument_axis(block.base, index - rank).size, axis.size)
    return result


def _swapped(engine: Interpreter, tensor: Tensor, i: int, j: int, call: Call) -> Tensor:
    shape = tensor.shape
    if shape.lead is not None and (i >= 0 or j >= 0):
        # axes counted from the front of an unknown rank: the usual rank, or the least that has them
        shape = ranked(engine, shape, shapes.usual_rank(shape, max(i, j, len(shape.axes) - 1) + 1))
        guess = "guessed rank" if len(shape.axes) > max(i, j) + 1 else "least rank"
        tensor = tensor.but(notes=tensor.notes | {guess})
    return _turned(_reshaped(engine, tensor, shapes.swap(shape, i, j), call))


def _turned(tensor: Tensor) -> Tensor:
    """A transposed triangle may be the other one."""
    return tensor.but(notes=polarity.without(tensor.notes)) if tensor.notes & polarity.NOTES else tensor


def swap_axes(engine: Interpreter, call: Call) -> Value:
    """transpose(i, j), swapaxes: two axes exchanged; NumPy's transpose with a whole order is a permute."""
    numbers = call.integers("dim")
    tensor = call.tensor()
    first, second = call.values.get("dim0"), call.values.get("dim1")
    if first is not None and second is not None:
        numbers = [n for n in (whole_number(first), whole_number(second)) if n is not None]
    if numbers is None:
        if call.get("dim") is None:
            return reverse_axes(engine, call)
        return _reshaped(engine, tensor, None, call)
    if len(numbers) == 2 and not (call.settings.get("order") and sorted(numbers) == [0, 1]):
        return _swapped(engine, tensor, numbers[0], numbers[1], call)
    return _permuted(engine, tensor, numbers, call)


def _permuted(engine: Interpreter, tensor: Tensor, order: list[int], call: Call) -> Tensor:
    shape = tensor.shape
    if shape.lead is not None:
        shape = ranked(engine, shape, len(order))
    if tensor.shape.lead is not None and isinstance(tensor.content, Leaf):
        engine.learn_rank(tensor, shape)
    return _turned(_reshaped(engine, tensor, shapes.permute(shape, order), call))


def permute(engine: Interpreter, call: Call) -> Value:
    tensor, order = call.tensor(), call.integers("dim")
    if order is None:
        if call.get("dim") is None:
            return reverse_axes(engine, call)
        return _reshaped(engine, tensor, None, call)
    return _permuted(engine, tensor, order, call)


def reverse_axes(engine: Interpreter, call: Call) -> Value:
    """`.T`: all axes reversed; of two axes, the plain transpose."""
    tensor = call.tensor()
    shape = tensor.shape
    if shape.lead is not None and len(shape.axes) <= 2:  # written for a matrix: all axes of more would be turned round
        matrix = ranked(engine, shape, 2)
        engine.learn_rank(tensor, matrix)
        return _swapped(engine, tensor.but(shape=matrix), -1, -2, call).but(notes=tensor.notes | {"T"})
    if shape.lead is not None:
        return _swapped(engine, tensor, -1, -2, call).but(notes=tensor.notes | {"T"})
    rank = shape.rank or 0
    result = _turned(_reshaped(engine, tensor, shapes.permute(shape, list(reversed(range(rank)))), call))
    return result.but(notes=result.notes | {"T"}) if rank != 2 else result


def matrix_transpose(engine: Interpreter, call: Call) -> Value:
    return _swapped(engine, call.tensor(), -1, -2, call)


def move_axis(engine: Interpreter, call: Call) -> Value:
    tensor = call.tensor()
    source, target = call.integer("source"), call.integer("destination")
    rank = tensor.shape.rank
    if source is None or target is None or rank is None:
        return _reshaped(engine, tensor, None, call)
    return _moved(engine, tensor, source % rank, target % rank, call)


def _sizes(engine: Interpreter, value: Value | None) -> list[Monomial | shapes.Lead | None] | None:
    """Targets of a view: None for -1."""
    items: tuple[Value, ...]
    if isinstance(value, Items):
        items = value.items
        if len(items) == 1 and isinstance(items[0], (Items, ShapeOf)):
            return _sizes(engine, items[0])
    elif isinstance(value, ShapeOf):
        lead = value.tensor.shape.lead or ""
        return [shapes.Lead(lead, 0), *(axis.size for axis in value.tensor.shape.axes)]
    elif isinstance(value, (Scalar, Argument)):
        items = (value,)
    else:
        return None
    targets: list[Monomial | shapes.Lead | None] = []
    for item in items:
        if isinstance(item, Rest):
            targets.append(shapes.Lead(item.key, item.drop))
            continue
        number = whole_number(item)
        if number == -1:
            targets.append(None)
            continue
        scalar = engine.as_scalar(item)
        if scalar is None:
            return None
        engine.note_dims(scalar.value)
        targets.append(scalar.value)
    return targets


def reshape(engine: Interpreter, call: Call) -> Value:
    tensor = call.tensor()
    value = call.values.get("shape")
    if isinstance(value, External) or value is None:  # view(torch.int8)
        return tensor
    targets = _sizes(engine, value)
    if targets is not None and call.settings.get("zero_keeps"):
        tensor, targets = _zeros_kept(engine, tensor, targets)
    tensor = _taken_back(engine, tensor, targets)
    if targets is None or sum(1 for target in targets if target is None) > 1:
        return _reshaped(engine, tensor, None, call)
    result = shapes.reshape(tensor.shape, targets, engine.facts)
    if result is None:
        axes = []
        for i, target in enumerate(targets):
            if isinstance(target, shapes.Lead):
                return _reshaped(engine, tensor, None, call)
            size = target if target is not None else Monomial.of(Symbol(engine.fresh("view"), f"axis {i}", OPAQUE))
            axes.append(shapes.sized(size, engine.fresh("view")))
        return _reshaped(engine, tensor, shapes.Shape(tuple(axes)), call)
    changed = _reshaped(engine, tensor, result.shape, call)
    if tensor.notes & tensors.ASSUMED:
        return changed  # which axes there are was assumed: nothing is proved
    if result.scrambled is not None:
        text = f"{result.scrambled.kind}: {result.scrambled.expected} → {result.scrambled.found}"
        origin = engine.origin(call.node)
        if isinstance(tensor.content, Output):
            tensor.content.site.merges.append((text, origin))
        changed = changed.but(scrambled=(*tensor.scrambled, (text, origin)))
        engine.mixed[id(changed.shape)] = changed, tensor
    elif (
        isinstance(tensor.content, Leaf) and (turned := scrambles.read_in_other_order(tensor.shape, result.shape, engine.facts)) is not None
    ):
        text = f"{turned.kind}: {turned.expected} → {turned.found}"
        changed = changed.but(scrambled=(*tensor.scrambled, (text, engine.origin(call.node))))
    return changed


def _taken_back(engine: Interpreter, tensor: Tensor, targets: list[Monomial | shapes.Lead | None] | None) -> Tensor:
    """The tensor before a view that mixes it up, where another one follows at once that makes other features of the elements: the
    last view alone says how they are read."""
    changed, before = engine.mixed.get(id(tensor.shape), (None, None))
    if changed is None or before is None or changed.content is not tensor.content or changed.shape is not tensor.shape:
        return tensor
    last = targets[-1] if targets else None
    if isinstance(last, Monomial) and engine.facts.equal(last, tensor.shape.axes[-1].size):
        return tensor
    entry = changed.scrambled[-1]
    if isinstance(tensor.content, Output) and entry in tensor.content.site.merges:
        tensor.content.site.merges.remove(entry)
    return tensor.but(shape=before.shape, scrambled=before.scrambled)


def _zeros_kept(
    engine: Interpreter, tensor: Tensor, targets: list[Monomial | shapes.Lead | None]
) -> tuple[Tensor, list[Monomial | shapes.Lead | None]]:
    """Paddle: a size of 0 is the size that the axis of the same place has."""
    zeros = [i for i, target in enumerate(targets) if isinstance(target, Monomial) and target.is_number and target.coefficient == 0]
    if not zeros:
        return tensor, targets
    if tensor.shape.lead is not None:
        # the axes behind the kept ones are the features; how they are cut says how many there are
        behind = max(1, len(tensor.shape.axes) - len(zeros))
        merges = any(target is None for target in targets) and len(targets) == zeros[-1] + 2
        rank = max(len(tensor.shape.axes), zeros[-1] + 1 + (max(2, behind) if merges and len(zeros) == 2 and len(targets) == 3 else 1))
        tensor = tensor.but(shape=ranked(engine, tensor.shape, rank))
    axes = tensor.shape.axes
    return tensor, [axes[i].size if i in zeros and i < len(axes) else target for i, target in enumerate(targets)]


def unflatten(engine: Interpreter, call: Call) -> Value:
    tensor, index = call.tensor(), call.integer("dim", -1)
    targets = _sizes(engine, call.values.get("shape"))
    if index is None or targets is None or any(isinstance(target, shapes.Lead) for target in targets):
        return _reshaped(engine, tensor, None, call)
    found = shapes.axis_of(tensor.shape, index)
    if found is None:
        return _reshaped(engine, tensor, None, call)
    shape, axis = found
    inner_result = shapes.reshape(shapes.Shape((axis,)), targets, engine.facts)
    if inner_result is None:
        return _reshaped(engine, tensor, None, call)
    position = index if index >= 0 else len(shape.axes) + index
    axes = (*shape.axes[:position], *inner_result.shape.axes, *shape.axes[position + 1 :])
    return _reshaped(engine, tensor, shapes.Shape(axes, shape.lead), call)


def flatten(engine: Interpreter, call: Call) -> Value:
    tensor = call.tensor()
    start, end = call.integer("start_dim", 0), call.integer("end_dim", -1)
    shape = tensor.shape
    if start is None or end is None:
        return _reshaped(engine, tensor, None, call)
    if shape.lead is not None:
        if start >= 0 and end == -1 and start > 0:
            # (b, c, *spatial).flatten(2): a feature map of two spatial axes
            shape = shapes.with_rank(shape, max(start + 2, len(shape.axes)))
        elif start < 0:
            shape = shapes.materialise(shape, -start)
        else:
            return _reshaped(engine, tensor, None, call)
    count = len(shape.axes)
    first, last = start % count if count else 0, end % count if count else 0
    if first >= last:
        return tensors.then(engine, tensor, call.node)
    merged = shapes.join(atom for axis in shape.axes[first : last + 1] for atom in axis.atoms)
    return _reshaped(engine, tensor, shapes.Shape((*shape.axes[:first], merged, *shape.axes[last + 1 :]), shape.lead), call)


def squeeze(engine: Interpreter, call: Call) -> Value:
    tensor, numbers = call.tensor(), call.integers("dim")
    shape: shapes.Shape | None = tensor.shape
    if numbers is None:
        if call.get("dim") is None and tensor.shape.lead is None:
            return _reshaped(engine, tensor, shapes.Shape(tuple(axis for axis in tensor.shape.axes if not axis.size.is_one)), call)
        return _reshaped(engine, tensor, None, call)
    for number in sorted(numbers, reverse=True):
        shape = shapes.squeeze(shape, number) if shape is not None else None
    return _reshaped(engine, tensor, shape, call)


def unsqueeze(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    if isinstance(value, Scalar):
        return value
    tensor, numbers = call.tensor(), call.integers("dim")
    shape: shapes.Shape | None = tensor.shape
    for number in numbers or [call.settings.get("dim", 0)]:
        shape = shapes.unsqueeze(shape, number) if shape is not None else None
    return _reshaped(engine, tensor, shape, call)


def expand(engine: Interpreter, call: Call) -> Value:
    tensor = call.tensor()
    targets = _sizes(engine, call.values.get("shape"))
    if targets is None or any(isinstance(target, shapes.Lead) for target in targets):
        return tensors.then(engine, tensor, call.node)
    sizes = [target for target in targets if not isinstance(target, shapes.Lead)]
    return _reshaped(engine, tensor, shapes.expand(tensor.shape, sizes), call)


def expand_as(engine: Interpreter, call: Call) -> Value:
    tensor = call.tensor()
    return tensors.then(engine, tensor, call.node, shape=shapes.broadcast(tensor.shape, call.tensor("other").shape))


def repeat_interleave(engine: Interpreter, call: Call) -> Value:
    tensor, index = call.tensor(), call.integer("dim")
    times = call.scalar("repeats")
    if index is None or times is None:
        return tensors.then(engine, tensor, call.node)
    shape = tensor.shape
    if shape.lead is not None and index >= 0:
        shape = shapes.with_rank(shape, max(index + 2, len(shape.axes)))
    return _reshaped(engine, tensor, shapes.repeat(shape, index, times.value), call)


def tile(engine: Interpreter, call: Call) -> Value:
    tensor = call.tensor()
    targets = _sizes(engine, call.values.get("shape"))
    if targets is None or tensor.shape.lead is not None or any(not isinstance(target, Monomial) for target in targets):
        return tensors.then(engine, tensor, call.node)
    shape: shapes.Shape | None = tensor.shape
    missing = len(targets) - len(tensor.shape.axes)
    for _ in range(max(0, missing)):
        shape = shapes.unsqueeze(shape, 0) if shape is not None else None
    offset = max(0, -missing)
    for i, times in enumerate(targets):
        if isinstance(times, Monomial) and not times.is_one and shape is not None:
            shape = shapes.repeat(shape, i + offset, times)
    return _reshaped(engine, tensor, shape, call)


def chunk(engine: Interpreter, call: Call) -> Value:
    tensor, index = call.tensor(), call.integer("dim", call.settings.get("dim", 0))
    count = call.scalar("chunks")
    if index is None or count is None:
        return SequenceValue(tensor)
    number = whole_number(count)
    if number is None or not 1 <= number <= 16:
        return SequenceValue(_part(engine, tensor, index, count.value, call))
    pieces = shapes.chunk(_with_axis(engine, tensor, index).shape, index, number)
    return _pieces(engine, tensor, pieces, number, call)


def _with_axis(engine: Interpreter, tensor: Tensor, index: int) -> Tensor:
    """A tensor that is cut along an axis counted from the front: the third is the last of the usual three."""
    if tensor.shape.lead is None or index < 2:
        return tensor
    return tensor.but(shape=ranked(engine, tensor.shape, shapes.usual_rank(tensor.shape, index + 1)))


def _part(engine: Interpreter, tensor: Tensor, index: int, count: Monomial, call: Call) -> Tensor:
    """One of `count` equal parts of an axis."""
    engine.note_dims(count)
    found = shapes.axis_of(tensor.shape, index)
    if found is None:
        return _reshaped(engine, tensor, None, call)
    shape, axis = found
    size = engine.facts.normalise(axis.size / count)
    position = index if index >= 0 else len(shape.axes) + index
    if not 0 <= position < len(shape.axes):
        return _reshaped(engine, tensor, None, call)
    piece = shapes.sized(size, engine.fresh("part"))
    return _reshaped(engine, tensor, shapes.Shape((*shape.axes[:position], piece, *shape.axes[position + 1 :]), shape.lead), call)


def _pieces(engine: Interpreter, tensor: Tensor, pieces: list[shapes.Shape] | None, count: int, call: Call) -> Value:
    if pieces is None:
        return Items(tuple(_reshaped(engine, tensor, None, call) for _ in range(count)))
    return Items(tuple(_reshaped(engine, tensor, piece, call) for piece in pieces))


def split(engine: Interpreter, call: Call) -> Value:
    """torch.split takes sizes, numpy.split and tf.split a count: `settings['count']`."""
    tensor, index = call.tensor(), call.integer("dim", call.settings.get("dim", 0))
    value = call.values.get("sections")
    if index is None:
        return SequenceValue(_reshaped(engine, tensor, None, call))
    tensor = _with_axis(engine, tensor, index)
    if isinstance(value, Items):
        sizes = [engine.as_scalar(item) for item in value.items]
        if any(size is None for size in sizes):
            return Items(tuple(_reshaped(engine, tensor, None, call) for _ in sizes))
        monomials = [size.value for size in sizes if size is not None]
        if call.settings.get("offsets"):  # numpy.split and jnp.split: places to cut at
            from attnlint.domain.algebra import subtract

            found = shapes.axis_of(tensor.shape, index)
            ends = [*monomials, found[1].size] if found is not None else []
            monomials = [end if i == 0 else subtract(end, ends[i - 1]) for i, end in enumerate(ends)]
            if not monomials:
                return Items(tuple(_reshaped(engine, tensor, None, call) for _ in range(len(sizes) + 1)))
        if any(m.is_number and m.coefficient == -1 for m in monomials):
            from attnlint.domain.algebra import add, subtract

            found = shapes.axis_of(tensor.shape, index)
            rest = [m for m in monomials if not (m.is_number and m.coefficient == -1)]
            if found is not None:
                left = subtract(found[1].size, add(*rest)) if rest else found[1].size
                monomials = [left if m.is_number and m.coefficient == -1 else m for m in monomials]
        for monomial in monomials:
            engine.note_dims(monomial)
        return _pieces(engine, tensor, shapes.split(tensor.shape, index, monomials), len(monomials), call)
    scalar = engine.as_scalar(value) if value is not None else None
    if scalar is None:
        return SequenceValue(_reshaped(engine, tensor, None, call))
    number = whole_number(scalar)
    if call.settings.get("count"):
        if number is not None and 1 <= number <= 16:
            return _pieces(engine, tensor, shapes.chunk(tensor.shape, index, number), number, call)
        return SequenceValue(_part(engine, tensor, index, scalar.value, call), scalar.value)
    found = shapes.axis_of(tensor.shape, index)
    if found is not None:
        ratio = engine.facts.normalise(found[1].size / scalar.value)
        if ratio.is_number and 1 <= ratio.coefficient <= 16 and ratio.coefficient == int(ratio.coefficient):
            return _pieces(engine, tensor, shapes.chunk(tensor.shape, index, int(ratio.coefficient)), int(ratio.coefficient), call)
    return SequenceValue(_sized_part(engine, tensor, index, scalar.value, call))


def _sized_part(engine: Interpreter, tensor: Tensor, index: int, size: Monomial, call: Call) -> Tensor:
    found = shapes.axis_of(tensor.shape, index)
    if found is None:
        return _reshaped(engine, tensor, None, call)
    shape, _ = found
    position = index if index >= 0 else len(shape.axes) + index
    if not 0 <= position < len(shape.axes):
        return _reshaped(engine, tensor, None, call)
    piece = shapes.sized(size, engine.fresh("part"))
    return _reshaped(engine, tensor, shapes.Shape((*shape.axes[:position], piece, *shape.axes[position + 1 :]), shape.lead), call)


def unbind(engine: Interpreter, call: Call) -> Value:
    tensor, index = call.tensor(), call.integer("dim", 0)
    found = shapes.axis_of(tensor.shape, index) if index is not None else None
    if index is None or found is None:
        return SequenceValue(_reshaped(engine, tensor, None, call))
    shape, axis = found
    selected = shapes.select(shape, index)
    one = _reshaped(engine, tensor, selected, call)
    size = engine.facts.normalise(axis.size)
    given = call.scalar("num")  # tf.unstack(x, num, axis)
    if given is not None and not size.is_number:
        size = given.value
    if size.is_number and 1 <= size.coefficient <= 16:
        return Items(tuple(one.but() for _ in range(int(size.coefficient))))
    return SequenceValue(one, axis.size)


def _operands(engine: Interpreter, call: Call, name: str = "inputs_list") -> list[Tensor] | None:
    value = call.values.get(name)
    if isinstance(value, Items):
        items = value.items
        if len(items) == 1 and isinstance(items[0], (Items, SequenceValue)):
            return _operands_of(engine, items[0])
        return _operands_of(engine, Items(items))
    return _operands_of(engine, value) if value is not None else None


def _operands_of(engine: Interpreter, value: Value) -> list[Tensor] | None:
    if isinstance(value, Items):
        found = [engine.as_tensor(item) for item in value.items]
        return [tensor for tensor in found if tensor is not None]
    return None


def concat(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("inputs_list")
    if isinstance(value, Items) and any(isinstance(item, Choice) for item in value.items):
        return engine.distribute(value.items, lambda *items: concat(engine, replace_value(call, "inputs_list", Items(items))))
    parts = _operands(engine, call)
    if isinstance(value, Items) and value.items and all(isinstance(item, Scalar) for item in value.items):
        return Items(value.items)
    if isinstance(value, Items) and value.items and all(isinstance(item, (Items, ShapeOf, Scalar)) for item in value.items):
        return _joined_shapes(value)
    if parts is None and isinstance(value, SequenceValue):
        item = engine.as_tensor(value.item)
        if item is None:
            return engine.opaque_tensor("a concatenation of what is not followed", node=call.node)
        index = call.integer("dim", call.settings.get("dim", 0))
        if index == 0 and item.shape.lead is not None:  # more of the first axis of an unknown rank: the trailing axes stay
            return tensors.then(engine, item, call.node)
        if index is not None and value.length is not None:
            found = shapes.axis_of(item.shape, index)
            if found is not None:
                return _sized_part(engine, item, index, found[1].size * value.length, call)
        return _reshaped(engine, item, None, call) if index in (-1, 0) or item.shape.lead is None else item
    if not parts:
        return engine.opaque_tensor("a concatenation of what is not followed", node=call.node)
    index = call.integer("dim", call.settings.get("dim", 0))
    shape = shapes.concat([part.shape for part in parts], index) if index is not None else None
    if shape is None:
        shape = _unknown_shape(engine, parts[0])
    rank = shape.rank
    features = index == -1 or (rank is not None and index == rank - 1)
    if index is not None and index >= 0 and rank is None:
        features = False
    return tensors.join(engine, parts, shape, features, call.node)


def _joined_shapes(value: Items) -> Value:
    """`tf.concat([tf.shape(x)[:-1], [heads, d]], 0)`: one shape of several pieces."""
    sizes: list[Value] = []
    for item in value.items:
        if isinstance(item, ShapeOf):
            shape = item.tensor.shape
            sizes += [Rest(shape.lead or "", 0), *(Scalar(axis.size) for axis in shape.axes)]
        else:
            sizes += item.items if isinstance(item, Items) else (item,)
    return Items(tuple(sizes))


def replace_value(call: Call, name: str, value: Value) -> Call:
    return replace(call, values={**call.values, name: value})


def stack(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("inputs_list")
    parts = _operands(engine, call)
    index = call.integer("dim", 0)
    if parts is None and isinstance(value, SequenceValue):
        item = engine.as_tensor(value.item)
        if item is not None and index is not None:
            shape = shapes.stack([item.shape], index)
            if shape is None and index == 0 and item.shape.axes:  # a new first axis of an unknown rank
                shape = shapes.Shape(item.shape.axes, shapes.unknown(engine.fresh("stack")).lead)
            if shape is not None and shape.lead is None and value.length is not None:
                position = index if index >= 0 else len(shape.axes) + index
                axis = shapes.sized(value.length, engine.fresh("stack"))
                shape = shapes.Shape((*shape.axes[:position], axis, *shape.axes[position + 1 :]), shape.lead)
            return _reshaped(engine, item, shape, call)
    if not parts:
        return engine.opaque_tensor("a stack of what is not followed", node=call.node)
    shape = shapes.stack([part.shape for part in parts], index) if index is not None else None
    return tensors.join(engine, parts, shape or _unknown_shape(engine, parts[0]), False, call.node)


def gather(engine: Interpreter, call: Call) -> Value:
    """index_select, gather, take, roll, narrow: rows are picked, features and scale stay."""
    tensor = call.tensor()
    index = call.integer("dim", call.settings.get("dim"))
    shape = tensor.shape
    if index is not None and call.name not in ("roll", "flip") and (index < 0 or shape.lead is None):
        found = shapes.axis_of(shape, index)
        if found is not None:
            full, _ = found
            position = index if index >= 0 else len(full.axes) + index
            if 0 <= position < len(full.axes):
                size = Monomial.of(Symbol(engine.fresh("picked"), "picked", AXIS))
                shape = shapes.Shape(
                    (*full.axes[:position], shapes.sized(size, engine.fresh("picked")), *full.axes[position + 1 :]), full.lead
                )
    return _turned(_reshaped(engine, tensor, shape, call))


def select(engine: Interpreter, call: Call) -> Value:
    """`x.select(dim, index)`: one entry of an axis, which is gone."""
    tensor, index = call.tensor(), call.integer("dim")
    shape = shapes.select(tensor.shape, index) if index is not None else None
    if shape is None and tensor.shape.lead is not None and index is not None and index >= 0:
        shape = shapes.Shape(tensor.shape.axes, engine.fresh("selected"))  # one of the axes whose number is not known
    return _reshaped(engine, tensor, shape, call)


def narrow(engine: Interpreter, call: Call) -> Value:
    """`x.narrow(dim, start, length)`: a stretch of an axis."""
    tensor, index, length = call.tensor(), call.integer("dim"), call.scalar("length")
    if index is None or length is None or (tensor.shape.lead is not None and index >= 0):
        return gather(engine, call)
    engine.note_dims(length.value)
    return _sized_part(engine, tensor, index, length.value, call)


def pad(engine: Interpreter, call: Call) -> Value:
    """Padding: in PyTorch the first pair belongs to the last axis, which is left alone where the pair is (0, 0)."""
    tensor = call.tensor()
    amounts = call.integers("pad")
    if amounts is not None and tensor.shape.lead is None:
        axes = list(tensor.shape.axes)
        for i in range(len(amounts) // 2):
            if (amounts[2 * i] or amounts[2 * i + 1]) and i < len(axes):
                axes[-1 - i] = shapes.sized(Monomial.of(Symbol(engine.fresh("padded"), "padded", AXIS)), engine.fresh("padded"))
        return _reshaped(engine, tensor, shapes.Shape(tuple(axes)), call)
    return tensors.then(engine, tensor, call.node)


def reshape_as(engine: Interpreter, call: Call) -> Value:
    """`x.view_as(y)`: the sizes of y."""
    return reshape(engine, replace_value(call, "shape", engine.shape_value(call.tensor("other"))))


def repeat_or_tile(engine: Interpreter, call: Call) -> Value:
    """`x.repeat(n, axis=1)` of NumPy repeats along one axis, `x.repeat(1, 2, 1)` of PyTorch tiles all."""
    if "dim" in call.values:
        return repeat_interleave(engine, replace_value(call, "repeats", call.values.get("shape", NONE)))
    return tile(engine, call)


def call_through(engine: Interpreter, call: Call) -> Value:
    """`checkpoint(f, *arguments)`: what f returns."""
    function = call.values.get("function")
    rest = call.values.get("arguments")
    arguments = rest.items if isinstance(rest, Items) else (rest,) if rest is not None else ()
    return engine.call(function, arguments, {}, call.node) if function is not None else Unknown("a wrapped call")


def external_value(engine: Interpreter, call: Call) -> Value:
    """A factory whose result answers to the functions of a module: `default_rng()` to `numpy.random`."""
    return External(call.settings["value"])


# --- einops


def rearrange(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    pattern = call.values.get("pattern")
    if isinstance(value, Items):  # a list of tensors is stacked first
        parts = _operands_of(engine, value) or []
        if parts and isinstance(pattern, Text):
            stacked = shapes.stack([part.shape for part in parts], 0)
            if stacked is not None:
                value = tensors.join(engine, parts, stacked, False, call.node)
                return rearrange(engine, replace_value(call, "input", value))
    tensor = call.tensor()
    if not isinstance(pattern, Text):
        return _reshaped(engine, tensor, None, call)
    sizes: dict[str, Monomial] = {}
    for name, given in call.values.items():
        if name not in ("input", "pattern", "reduction"):
            scalar = engine.as_scalar(given)
            if scalar is not None:
                engine.note_dims(scalar.value)
                sizes[name] = scalar.value
    function = {"rearrange": equations.rearrange, "reduce": equations.einops_reduce, "repeat": equations.einops_repeat}[
        call.settings["kind"]
    ]
    shape = function(pattern.value, tensor.shape, sizes, engine.facts)
    if call.settings["kind"] == "reduce" and isinstance(tensor.content, (Elementwise, Exponential)):
        return engine.opaque_tensor("a reduction by einops", node=call.node, shape=shape)
    result = _turned(_reshaped(engine, tensor, shape, call))
    size = _summed_size(pattern.value, sizes, call.values.get("reduction"))
    return result if size is None else result.but(notes=result.notes | {tensors.sum_note(engine, size)})


def rearrange_many(engine: Interpreter, call: Call) -> Value:
    """The same arrangement of several tensors, one by one."""
    parts = engine.items_of(call.values.get("input") or Unknown("nothing"))
    if not parts:
        return engine.opaque_tensor("tensors that are arranged alike", node=call.node)

    def one(part: Value) -> Value:
        return engine.distribute((part,), lambda option: rearrange(engine, replace_value(call, "input", option)))

    return Items(tuple(one(part) for part in parts))


def pack(engine: Interpreter, call: Call) -> Value:
    """einops.pack: the axes of a tensor that `*` stands for become one, those of several tensors are joined; beside it, their sizes."""
    parts, pattern = engine.items_of(call.values.get("input") or Unknown("nothing")), call.values.get("pattern")
    if not parts or not isinstance(pattern, Text):
        return Items((engine.opaque_tensor("tensors that are packed", node=call.node), Unknown("the packed sizes")))
    front, _, back = pattern.value.partition("*")
    before, behind = len(front.split()), len(back.split())
    if len(parts) > 1:
        joined = engine.call_operation("torch.cat", [Items(tuple(parts)), Scalar(Monomial.number(before))], {}, call.node)
        return Items((joined, Unknown("the packed sizes")))

    def packed(part: Value) -> Value:
        tensor = engine.as_tensor(part, call.node)
        if tensor is None:
            return engine.opaque_tensor("tensors that are packed", node=call.node)
        shape = shapes.materialise(tensor.shape, behind)
        inner = shape.axes[before : len(shape.axes) - behind]
        if len(shape.axes) < before + behind or (shape.lead is not None and (before or inner)):
            return _reshaped(engine, tensor, None, call)
        key = engine.fresh("packed")
        size = shapes.product(axis.size for axis in inner) if shape.lead is None else Monomial.of(Symbol(key, key, AXIS))
        whole = inner[0] if len(inner) == 1 else shapes.sized(size, key)
        return _reshaped(engine, tensor, shapes.Shape((*shape.axes[:before], whole, *shape.axes[len(shape.axes) - behind :])), call)

    return Items((engine.distribute((parts[0],), packed), Unknown("the packed sizes")))


def unpack(engine: Interpreter, call: Call) -> Value:
    """einops.unpack: what was packed, with the axes behind `*` as they are and others in front of them."""
    tensor, pattern = call.tensor(), call.values.get("pattern")
    back = len(pattern.value.partition("*")[2].split()) if isinstance(pattern, Text) else 0
    kept = tensor.shape.axes[len(tensor.shape.axes) - back :] if 0 < back <= len(tensor.shape.axes) else ()
    return SequenceValue(_reshaped(engine, tensor, shapes.Shape(kept, engine.fresh("unpacked")), call))


def _summed_size(pattern: str, sizes: dict[str, Monomial], reduction: Value | None) -> Monomial | None:
    """How many items an einops sum adds up, where the sizes of all the axes that it drops are given."""
    if not isinstance(reduction, Text) or reduction.value != "sum":
        return None
    before, _, after = pattern.partition("->")
    dropped = [sizes.get(name) for name in _AXIS_NAME.findall(before) if name not in _AXIS_NAME.findall(after)]
    return shapes.product(size for size in dropped if size is not None) if dropped and all(size is not None for size in dropped) else None


_AXIS_NAME = re.compile(r"[A-Za-z_]\w*")


# --- reductions


def reduce_sum(engine: Interpreter, call: Call) -> Value:
    value = call.values.get("input")
    if isinstance(value, (Items, SequenceValue)):
        return Unknown("a sum of a sequence")
    tensor = call.tensor()
    axes = call.integers("dim")
    return tensors.summed(engine, tensor, axes, call.flag("keepdim"), call.node, mean=call.settings.get("mean", False))


def reduce_max(engine: Interpreter, call: Call) -> Value:
    """max, amax, logsumexp: what is subtracted from logits before they are exponentiated."""
    value = call.values.get("input")
    if isinstance(value, (Items, Scalar, SequenceValue)):
        return Unknown("a maximum of numbers")
    other = call.values.get("dim")
    if isinstance(other, Tensor):  # maximum of two tensors
        return elementwise(engine, call)
    tensor = call.tensor()
    axes = call.integers("dim")
    shape = shapes.reduce(tensor.shape, axes, call.flag("keepdim")) if axes is not None else None
    result = tensors.maximum(engine, tensor, shape or shapes.unknown(engine.fresh("max")), call.settings.get("log", False))
    if call.settings.get("pair") and axes is not None:
        return Items((result, engine.opaque_tensor("indices", node=call.node)))
    return result


def norm(engine: Interpreter, call: Call) -> Value:
    tensor = call.tensor()
    axes = call.integers("dim")
    shape = shapes.reduce(tensor.shape, axes, call.flag("keepdim")) if axes is not None else None
    return tensors.norm_of(engine, tensor, shape or shapes.unknown(engine.fresh("norm")))


def normalize(engine: Interpreter, call: Call) -> Value:
    result = tensors.normalise(engine, call.tensor(), call.settings.get("how", "normalised"), call.node)
    return Items((result, engine.opaque_tensor("a norm", node=call.node))) if call.settings.get("pair") else result


def cosine(engine: Interpreter, call: Call) -> Value:
    return engine.opaque_tensor("a cosine similarity", node=call.node)


# --- softmax


def softmax(engine: Interpreter, call: Call) -> Value:
    tensor = call.tensor()
    default = call.settings.get("dim")
    given = call.values.get("dim")
    index = call.integer("dim", default)
    implicit = given is None or isinstance(given, NoneValue)
    axis = None
    if index is not None:
        found = shapes.axis_of(tensor.shape, index)
        axis = found[1] if found is not None else None
    return tensors.softmax(
        engine,
        tensor,
        axis,
        call.node,
        implicit_axis=implicit and default is None,
        axis_origin=engine.origin(call.nodes.get("dim")),
        dtype=_dtype_of(call),
        log=call.settings.get("log", False),
    )


def exp(engine: Interpreter, call: Call) -> Value:
    scalar = _numeric(call)
    if scalar is not None:
        return elementwise(engine, call)
    tensor = call.tensor()
    if isinstance(tensor.content, Leaf) and tensor.content.kind in ("parameter", "buffer"):
        return tensor
    return tensors.exponential(engine, tensor, call.node)


# --- masks


def masked_fill(engine: Interpreter, call: Call) -> Value:
    tensor = call.tensor()
    mask_value = call.values.get("mask")
    mask = engine.as_tensor(mask_value) if isinstance(mask_value, (Argument, Tensor)) else mask_value
    return tensors.masked(engine, tensor, Mask("fill", call.values.get("other"), engine.origin(call.node), mask), call.node)


def where(engine: Interpreter, call: Call) -> Value:
    """`where(mask, logits, value)`: the branch that holds logits, masked with the other."""
    a, b = call.values.get("input"), call.values.get("other")
    if a is None or b is None:
        return engine.opaque_tensor("indices", node=call.node)
    condition = call.values.get("condition")
    mask = engine.as_tensor(condition) if isinstance(condition, (Argument, Tensor)) else condition
    first = engine.as_tensor(a) if isinstance(a, (Tensor, Argument)) else None
    second = engine.as_tensor(b) if isinstance(b, (Tensor, Argument)) else None
    interest_first = arithmetic.interest(first.content) if first is not None else -1
    interest_second = arithmetic.interest(second.content) if second is not None else -1
    if first is None and second is None:
        x, y = engine.as_scalar(a), engine.as_scalar(b)
        if x is not None and y is not None:
            value = condition.shape if isinstance(condition, Tensor) else shapes.unknown(engine.fresh("where"))
            return Tensor(value, Leaf("constant", engine.fresh("where")), name="mask", notes=frozenset({"where"}))
        return Unknown("a choice between numbers")
    if interest_second > interest_first or first is None:
        assert second is not None
        return tensors.masked(engine, second, Mask("fill", a, engine.origin(call.node), mask), call.node)
    return tensors.masked(engine, first, Mask("where", b, engine.origin(call.node), mask), call.node)


def triangle(engine: Interpreter, call: Call) -> Value:
    """tril, triu: on logits a mask that fills with 0, on a constant the mask itself."""
    tensor = call.tensor()
    if tensors.products_of(tensor) or isinstance(tensor.content, Weights):
        return tensors.masked(engine, tensor, Mask("triangle", Scalar(Monomial.number(0)), engine.origin(call.node)), call.node)
    name = tensor.name or "triangle mask"
    diagonal = call.integer("k" if "k" in call.values else "diagonal", 0)
    ones = tensor.notes & {"ones", "ones_like", "full"}
    points = polarity.of_triangle(call.name, diagonal) if ones else frozenset[str]()
    return tensors.then(
        engine,
        tensor,
        call.node,
        name=name if signs.MASK.search(name) else "triangle mask",
        notes=tensor.notes | {"triangle"} | points,
    )


# --- creation


def create(engine: Interpreter, call: Call) -> Value:
    """zeros, ones, empty, full, randn, …: a constant or an array; a 0-d or one-element result is a number."""
    fill = call.values.get("other") if call.settings.get("fill") else None
    targets = _sizes(engine, call.values.get("shape"))
    kind = call.settings.get("leaf", "constant")
    if fill is not None and targets is not None and all(isinstance(target, Monomial) and target.is_one for target in targets):
        scalar = engine.as_scalar(fill, call.nodes.get("other"))
        if scalar is not None:
            return scalar
    if targets is None:
        shape = shapes.unknown(engine.fresh("array"))
    else:
        axes = []
        for i, target in enumerate(targets):
            if isinstance(target, shapes.Lead):
                notes = frozenset({str(call.settings.get("note", call.name))})
                return Tensor(shapes.unknown(engine.fresh("array")), Leaf(kind, engine.fresh("array")), notes=notes)
            size = target if target is not None else Monomial.of(Symbol(engine.fresh("size"), f"axis {i}", OPAQUE))
            axes.append(shapes.sized(size, engine.fresh("array")))
        shape = shapes.Shape(tuple(axes))
    dtype = _dtype_of(call)
    notes = frozenset({str(call.settings.get("note", call.name))})
    if kind == "constant" and isinstance(fill, (Scalar, External)):
        notes |= {"filled"}
    return Tensor(shape, Leaf(kind, engine.fresh("array")), dtype=dtype, notes=notes, history=tensors.one(engine.origin(call.node)))


def like(engine: Interpreter, call: Call) -> Value:
    tensor = call.tensor()
    kind = call.settings.get("leaf", "constant")
    return Tensor(
        tensor.shape, Leaf(kind, engine.fresh("array")), dtype=_dtype_of(call), notes=frozenset({str(call.settings.get("note", call.name))})
    )


def orthogonalised(engine: Interpreter, call: Call) -> Value:
    """The factors of a matrix: what is made of a random one is as little data as that one is."""
    tensor = call.tensor()
    kind = tensor.content.kind if isinstance(tensor.content, Leaf) else "opaque"
    columns = tensor.but(content=Leaf(kind, engine.fresh("columns"), "a factor of a matrix", source=tensor), factors=())
    return Items((columns, columns))


def scatter(engine: Interpreter, call: Call) -> Value:
    """Writes at chosen places; where the largest weights are chosen, what it writes into is a mask that the weights themselves make."""
    tensor, index = call.tensor(), call.values.get("index")
    chosen = isinstance(index, Tensor) and any(
        isinstance(origin.node, cst.Call) and called(origin.node) in ("topk", "sort", "argsort", "argmax") for origin in index.history
    )
    return tensors.then(engine, tensor, call.node, notes=tensor.notes | {arithmetic.PRUNED} if chosen else tensor.notes)


def one_hot(engine: Interpreter, call: Call) -> Value:
    """Indices as rows of a unit matrix: one more axis."""
    tensor = call.tensor()
    count = call.scalar("count")
    size = count.value if count is not None else Monomial.of(Symbol(engine.fresh("classes"), "classes", AXIS))
    shape = shapes.Shape((*tensor.shape.axes, shapes.sized(size, engine.fresh("one hot"))), tensor.shape.lead)
    return Tensor(shape, Leaf("constant", engine.fresh("one hot")), name=tensor.name, history=tensor.history)


def new_filled(engine: Interpreter, call: Call) -> Value:
    return create(engine, replace(call, settings={**call.settings}))


def from_value(engine: Interpreter, call: Call) -> Value:
    """tensor(x), array(x), FloatTensor([x]): of one number the number, of a nested list an array."""
    value = call.values.get("input")
    if isinstance(value, (Scalar, Argument)) and not (isinstance(value, Argument) and value.hint == "tensor"):
        return engine.as_scalar(value) or value
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Argument):
        return value
    if isinstance(value, Items):
        if len(value.items) == 1 and not isinstance(value.items[0], Items):
            return from_value(engine, replace_value(call, "input", value.items[0]))
        if len(value.items) == 1 and isinstance(value.items[0], Items) and len(value.items[0].items) == 1:
            return from_value(engine, replace_value(call, "input", value.items[0]))
        axes = []
        current: Value = value
        while isinstance(current, Items) and current.items:
            axes.append(shapes.sized(Monomial.number(len(current.items)), engine.fresh("array")))
            current = current.items[0]
        return Tensor(shapes.Shape(tuple(axes)), Leaf("array", engine.fresh("array")), history=tensors.one(engine.origin(call.node)))
    if isinstance(value, SequenceValue):
        return Tensor(shapes.unknown(engine.fresh("array")), Leaf("array", engine.fresh("array")))
    if isinstance(value, Unknown):
        return engine.opaque_tensor(value.reason, node=call.node)
    return engine.opaque_tensor("an array", node=call.node)


def constructed(engine: Interpreter, call: Call) -> Value:
    """torch.Tensor(…): an uninitialised array of the given sizes, or what it is given."""
    sizes = call.values.get("shape")
    given = sizes.items if isinstance(sizes, Items) else ()
    if len(given) > 1:
        return create(engine, call)
    return from_value(engine, replace_value(call, "input", given[0] if given else Unknown("an empty tensor")))


def parameter(engine: Interpreter, call: Call) -> Value:
    """nn.Parameter and its kin: a learned tensor of the given shape."""
    value = call.values.get("input")
    shape = value.shape if isinstance(value, Tensor) else shapes.unknown(engine.fresh("parameter"))
    if isinstance(value, Scalar):
        shape = shapes.Shape(())
    return Tensor(shape, Leaf("parameter", engine.fresh("parameter")), history=tensors.one(engine.origin(call.node)))


def shaped_parameter(engine: Interpreter, call: Call) -> Value:
    """add_weight(shape=…), self.param(name, init, shape), hk.get_parameter(name, shape)."""
    given = call.values.get("shape")
    if given is None:  # add_weight("name", (a, b)) and add_weight((a, b))
        given = next((value for name in ("first", "second") if isinstance(value := call.values.get(name), (Items, ShapeOf))), None)
    targets = _sizes(engine, given)
    shape = shapes.unknown(engine.fresh("parameter"))
    if targets is not None and all(isinstance(target, Monomial) for target in targets):
        shape = shapes.Shape(tuple(shapes.sized(target, engine.fresh("parameter")) for target in targets if isinstance(target, Monomial)))
    return Tensor(shape, Leaf("parameter", engine.fresh("parameter")), history=tensors.one(engine.origin(call.node)))


def attribute_by_name(engine: Interpreter, call: Call) -> Value:
    """`self.get_buffer("scale")`"""
    receiver, name = call.values.get("receiver"), call.values.get("target")
    if isinstance(receiver, Instance) and isinstance(name, Text):
        return engine.instance_attribute(receiver, name.value, call.node)
    return NONE


def register_buffer(engine: Interpreter, call: Call) -> Value:
    name, value = call.values.get("name"), call.values.get("other")
    receiver = call.values.get("receiver")
    if isinstance(name, Text) and isinstance(receiver, Instance) and value is not None:
        if isinstance(value, Tensor):
            leaf = value.content
            if not isinstance(leaf, Leaf):  # a table that is computed once: angles, distances
                value = value.but(content=Leaf("buffer", engine.fresh(name.value)), factors=(), nonlinear=())
            elif leaf.kind in ("array", "argument", "opaque", "embedding"):
                value = value.but(content=Leaf("buffer", leaf.key, leaf.reason))
            value = value.but(name=name.value)
        receiver.attributes[name.value] = value
    return NONE


def register_module(engine: Interpreter, call: Call) -> Value:
    return register_buffer(engine, call)


def lookup_shape(engine: Interpreter, call: Call) -> Value:
    """size(), tf.shape(x), np.shape(x), with or without an axis."""
    tensor = call.tensor()
    shape = engine.shape_value(tensor)
    index = call.get("dim")
    if index is None:
        return shape
    return engine.item(shape, index, call.node)


def rank_of(engine: Interpreter, call: Call) -> Value:
    """`x.dim()`: a number, or what stands for it, so that `x.size(x.dim() - 1)` is the last size."""
    shape = call.tensor().shape
    return Scalar(Monomial.number(shape.rank)) if shape.rank is not None else Scalar(rank_symbol(shape))


def randomised(engine: Interpreter, call: Call) -> Value:
    """`torch.empty(shape).normal_()`: an array of random numbers."""
    tensor = call.tensor()
    if isinstance(tensor.content, Leaf) and tensor.content.kind == "constant":
        return tensor.but(content=Leaf("array", engine.fresh("array")), notes=tensor.notes - {"empty"})
    return tensor


def embedding(engine: Interpreter, call: Call) -> Value:
    weight = call.tensor("weight")
    found = shapes.axis_of(weight.shape, -1)
    tensor = call.tensor()
    axes = (*tensor.shape.axes, found[1]) if found is not None else ()
    shape = shapes.Shape(axes, tensor.shape.lead) if found is not None else shapes.unknown(engine.fresh("embedding"))
    return Tensor(shape, Leaf("embedding", engine.fresh("embedding")), history=tensors.one(engine.origin(call.node)))


__all__ = ["Bool", "Call", "Layer", "Mapping", "Op", "Product", "Sum", "bind", "op"]
