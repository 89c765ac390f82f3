"""Binary operations on abstract values: how scalars become monomials, and how a tensor collects factors, terms and masks."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, TypeGuard

from attnlint.domain.algebra import CONFIG, LEARNED, OPAQUE, Monomial, Symbol, add, subtract
from attnlint.domain.values import (
    HANDED_ON,
    Argument,
    Bool,
    Content,
    Elementwise,
    Exponential,
    External,
    Factor,
    Instance,
    Items,
    Layer,
    Leaf,
    Mask,
    Maximum,
    NoneValue,
    Output,
    Product,
    Scalar,
    Sequence,
    ShapeOf,
    Sum,
    Tensor,
    Text,
    Total,
    Unknown,
    Value,
    Weights,
)
from attnlint.evaluate import tensors
from attnlint.evidence import polarity, signs
from attnlint.syntax import nodes as cst

if TYPE_CHECKING:
    from attnlint.evaluate.state import Engine

# how a mask was made: kept through comparisons
PRUNED = "of the weights"  # a mask made of the attention weights themselves
BROKEN = "not finite"  # where a tensor is NaN or infinite: a repair, no mask
RANDOM = frozenset({"rand", "rand_like", "bernoulli", "random", "uniform", "binomial"})
MASK_NOTES = RANDOM | {"triangle", PRUNED, BROKEN}
_MASK_WORD = re.compile(r"mask|visible|allowed", re.I)
_NUMBER_WORD = re.compile(r"prob|rate|ratio|size|len|num|count|value|ind?e?x|type|token|id$|frac|fill", re.I)


def binary(
    engine: Engine,
    operator: str,
    left: Value,
    right: Value,
    node: cst.CSTNode,
    left_node: cst.CSTNode | None,
    right_node: cst.CSTNode | None,
) -> Value:
    """`left operator right` for values without choices."""
    if operator == "@":
        a, b = engine.as_tensor(left, left_node), engine.as_tensor(right, right_node)
        return tensors.multiply(engine, a, b, node) if a is not None and b is not None else Unknown("a matrix product of what is no tensor")
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return _with_tensor(engine, operator, left, right, node, left_node, right_node)
    if isinstance(left, (Items, Sequence, Text)) or isinstance(right, (Items, Sequence, Text)):
        return _containers(operator, left, right)
    if isinstance(left, (NoneValue, External, Layer, Instance, ShapeOf)) or isinstance(
        right, (NoneValue, External, Layer, Instance, ShapeOf)
    ):
        if isinstance(left, (ShapeOf,)) and isinstance(right, Items):
            return Sequence(Unknown("sizes"))
        return engine.object_binary(operator, left, right, node)
    if operator in "*/+-" and _tensor_hint(left) | _tensor_hint(right):
        first = (engine.as_tensor(left, left_node) if _tensor_hint(left) else None) or left
        second = (engine.as_tensor(right, right_node) if _tensor_hint(right) else None) or right
        return _with_tensor(engine, operator, first, second, node, left_node, right_node)
    number, other = engine.as_scalar(left, left_node), engine.as_scalar(right, right_node)
    if number is None or other is None:
        return Unknown("arithmetic on what is no number")
    return _scalars(engine, operator, number, other, node)


def _tensor_hint(value: Value) -> bool:
    return isinstance(value, Argument) and (value.hint == "tensor" or is_mask_argument(value))


def is_mask_argument(value: Value | None) -> TypeGuard[Argument]:
    """An argument that is called a mask, and whose name speaks of no number beside it."""
    if not isinstance(value, Argument) or value.hint == "scalar" or value.kind == CONFIG:
        return False
    return _MASK_WORD.search(value.name) is not None and _NUMBER_WORD.search(value.name) is None


def _containers(operator: str, left: Value, right: Value) -> Value:
    if operator == "+":
        if isinstance(left, Items) and isinstance(right, Items):
            return Items((*left.items, *right.items), left.mutable)
        if isinstance(left, Text) and isinstance(right, Text):
            return Text(left.value + right.value)
        return Sequence(Unknown("joined sequences"))
    if operator == "*":
        items, count = (left, right) if isinstance(left, (Items, Sequence)) else (right, left)
        if isinstance(items, Items) and isinstance(count, Scalar) and count.value.is_number and 0 <= count.value.coefficient <= 8:
            return Items(items.items * int(count.value.coefficient), items.mutable)
        if isinstance(items, Items) and items.items:
            return Sequence(items.items[0])
    return Unknown("a container")


# --- numbers


def _scalars(engine: Engine, operator: str, a: Scalar, b: Scalar, node: cst.CSTNode) -> Value:
    from attnlint.evaluate.expressions import exponent_of

    origin = engine.origin(node)
    value: Monomial | None = None
    if operator == "+":
        value = add(a.value, b.value)
    elif operator == "-":
        value = subtract(a.value, b.value)
    elif operator == "*":
        value = a.value * b.value
    elif operator in ("/", "//"):
        value = a.value / b.value
        if operator == "//" and value.is_number and math.isfinite(value.coefficient):
            value = Monomial.number(math.floor(value.coefficient + 1e-9))
    elif operator == "**":
        exponent = exponent_of(b)
        if exponent is not None:
            value = a.value.power(exponent)
    elif operator == "%" and a.value.is_number and b.value.is_number and b.value.coefficient:
        value = Monomial.number(math.fmod(a.value.coefficient, b.value.coefficient))
    if value is None or math.isnan(value.coefficient):
        if all(symbol.kind == LEARNED for symbol in (*a.value.symbols, *b.value.symbols)) and (a.value.symbols or b.value.symbols):
            return Scalar(Monomial.of(Symbol(engine.code(node), engine.code(node), LEARNED)), origin)
        value = engine.opaque_symbol(node)
    default = a.default_of or b.default_of
    return Scalar(value, origin, default_of=default)


def negate(engine: Engine, value: Value, node: cst.CSTNode) -> Value:
    if isinstance(value, Scalar):
        return Scalar(value.value * Monomial.number(-1), engine.origin(node), value.default_of)
    if isinstance(value, Argument) and value.hint != "tensor":
        scalar = engine.as_scalar(value)
        return Scalar(scalar.value * Monomial.number(-1), engine.origin(node)) if scalar is not None else value
    if isinstance(value, Tensor):
        return scaled(engine, value, Scalar(Monomial.number(-1)), node, node, False)
    return value


def compare(engine: Engine, operator: str, a: Value, b: Value, node: cst.CSTNode) -> Value:
    """A comparison: certain where both sides are, a boolean tensor where one is a tensor."""
    if operator in ("Is", "IsNot", "Equal", "NotEqual"):
        positive = operator in ("Is", "Equal")
        if isinstance(b, NoneValue) or isinstance(a, NoneValue):
            other = a if isinstance(b, NoneValue) else b
            if isinstance(other, NoneValue):
                return Bool(positive)
            if isinstance(other, Argument) and other.reason == HANDED_ON:
                return Bool(not positive)
            if not isinstance(other, (Argument, Unknown)) and not (
                isinstance(other, Tensor) and isinstance(other.content, Leaf) and other.content.kind in ("argument", "opaque")
            ):
                return Bool(not positive)
            return Unknown("a condition")
        if isinstance(a, Text) and isinstance(b, Text):
            return Bool((a.value == b.value) == positive)
        if isinstance(a, Bool) and isinstance(b, Bool):
            return Bool((a.value == b.value) == positive)
    if is_mask_argument(a) and isinstance(b, (Scalar, Bool)):
        a = engine.as_tensor(a) or a
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        tensor = a if isinstance(a, Tensor) else b
        assert isinstance(tensor, Tensor)
        key = tensor.content.key if isinstance(tensor.content, Leaf) else engine.fresh("mask")
        notes = (
            (tensor.notes & MASK_NOTES)
            | polarity.of_comparison(operator, a, b)
            | ({PRUNED} if isinstance(tensor.content, Weights) else frozenset())
            | ({BROKEN} if isinstance(a, Tensor) and isinstance(b, Tensor) and a.content is b.content else frozenset())  # x != x
        )
        return Tensor(tensor.shape, Leaf("constant", key), name=tensor.name, dtype="bool", history=tensor.history, notes=notes)
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        if a.value.is_number and b.value.is_number:
            x, y = a.value.coefficient, b.value.coefficient
            table = {
                "Equal": x == y,
                "NotEqual": x != y,
                "LessThan": x < y,
                "GreaterThan": x > y,
                "LessThanEqual": x <= y,
                "GreaterThanEqual": x >= y,
            }
            if operator in table and not (a.default_of or b.default_of):
                return Bool(table[operator])
        elif operator in ("Equal", "NotEqual"):
            if a.value.equals(b.value):
                return Bool(operator == "Equal")
            if (a.value.is_one or b.value.is_one) and any(power.denominator > 1 for _, power in (a.value / b.value).powers):
                return Bool(operator == "NotEqual")  # the root of a size is 1 of a single feature alone
    if operator in ("In", "NotIn") and isinstance(a, Text) and isinstance(b, Items) and all(isinstance(item, Text) for item in b.items):
        return Bool((a in b.items) == (operator == "In"))
    return Unknown("a condition")


# --- tensors


def _with_tensor(
    engine: Engine,
    operator: str,
    left: Value,
    right: Value,
    node: cst.CSTNode,
    left_node: cst.CSTNode | None,
    right_node: cst.CSTNode | None,
) -> Value:
    if operator in ("*", "/", "//"):
        if isinstance(left, Tensor):
            return _product(engine, left, right, operator != "*", node, left_node, right_node)
        assert isinstance(right, Tensor)
        if operator == "*":
            return _product(engine, right, left, False, node, right_node, left_node)
        return _quotient_of(engine, left, right, node, left_node, right_node)
    if operator in ("+", "-"):
        return total(engine, left, right, operator == "-", node, left_node, right_node)
    if operator == "**" and isinstance(left, Tensor):
        return power(engine, left, engine.as_scalar(right, right_node), node)
    if operator in ("&", "|", "^", "<<", ">>"):
        tensor = left if isinstance(left, Tensor) else right
        assert isinstance(tensor, Tensor)
        return Tensor(tensor.shape, Leaf("constant", engine.fresh("mask")), name=tensor.name, dtype="bool")
    return engine.opaque_tensor(f"the operator {operator}", node=node)


def power(engine: Engine, tensor: Tensor, exponent: Scalar | None, node: cst.CSTNode) -> Value:
    scalar = scalar_of(engine, tensor)
    if scalar is not None and exponent is not None:
        return _scalars(engine, "**", scalar, exponent, node)
    if exponent is not None and exponent.value.is_number:
        if exponent.value.coefficient == 2:
            return tensors.square(engine, tensor, node)
        if exponent.value.coefficient == 0.5:
            return tensors.root(engine, tensor, node)
        if exponent.value.coefficient == -0.5:
            return tensors.root(engine, tensor, node, inverse=True)
    return tensors.nonlinear(engine, tensor, "a power", node)


def scalar_of(engine: Engine, value: Value) -> Scalar | None:
    """A tensor that acts as a plain factor on logits: a learned temperature, a 0-d tensor."""
    if isinstance(value, Tensor):
        leaf = value.content
        if signs.ROTATION.search(value.name or ""):
            return None
        if isinstance(leaf, Leaf) and leaf.kind in ("parameter", "buffer", "embedding") and not _is_matrix(value):
            name = value.name or leaf.key
            return Scalar(
                tensors.net_factor(value) * Monomial.of(Symbol(f"learned:{leaf.key}", name, LEARNED)),
                value.history[-1] if value.history else None,
            )
    return None


def _is_matrix(tensor: Tensor) -> bool:
    """A parameter that is plainly a weight matrix and no factor: two or more axes of symbolic sizes."""
    wide = [axis for axis in tensor.shape.axes if not axis.size.is_one]
    return len(wide) > 3


def _looks_scalar(engine: Engine, value: Argument) -> bool:
    if value.key in engine.dims:  # the size of an axis elsewhere
        return True
    if value.hint == "scalar" or value.kind == CONFIG:
        return not signs.MASK.search(value.name)
    if value.hint == "tensor":
        return False
    tail = value.name.rpartition(".")[2]
    if not signs.SCALAR.search(tail) or signs.MASK.search(value.name):
        return False
    engine.by_name[value.key] = signs.SCALAR.of(tail)
    return True


def scaled(
    engine: Engine,
    tensor: Tensor,
    scalar: Scalar,
    node: cst.CSTNode | None,
    operand: cst.CSTNode | None,
    division: bool,
    via: str = "multiply",
) -> Tensor:
    """The tensor times (or divided by) a scalar, which it keeps as one more factor."""
    value = scalar.value.power(_MINUS_ONE) if division else scalar.value
    if division and (note := tensors.sum_note(engine, scalar.value)) in tensor.notes:
        return tensors.then(engine, tensor, node, notes=tensor.notes - {note})
    factor = Factor(
        value,
        engine.origin(operand),
        engine.origin(node),
        division,
        scalar.origin,
        scalar.default_of,
        scalar.written_one,
        via,
    )
    if isinstance(tensor.content, (Weights, Output)) and not value.equals(Monomial.number(-1)):
        tensor.content.site.scaled_after(factor, isinstance(tensor.content, Output))
    return tensor.but(factors=(*tensor.factors, factor))


from fractions import Fraction  # noqa: E402

_MINUS_ONE = Fraction(-1)


def _product(
    engine: Engine,
    tensor: Tensor,
    other: Value,
    division: bool,
    node: cst.CSTNode,
    tensor_node: cst.CSTNode | None,
    other_node: cst.CSTNode | None,
) -> Value:
    """`tensor * other` or `tensor / other`."""
    if tensor.dtype == "complex" and not isinstance(other, (Scalar, Bool)):  # pairs of features, turned in the complex plane
        return tensors.then(engine, tensor, node, dtype=tensor.dtype)
    if isinstance(other, Argument) and _looks_scalar(engine, other):
        scalar = engine.as_scalar(other)
        return scaled(engine, tensor, scalar, node, other_node, division) if scalar is not None else tensor
    if isinstance(other, Argument):
        other = engine.as_tensor(other, other_node) or other
    if isinstance(other, (Scalar, Bool)):
        mine = scalar_of(engine, tensor)
        scalar = engine.as_scalar(other, other_node)
        assert scalar is not None
        if mine is not None and isinstance(tensor.content, Leaf) and tensor.content.kind != "buffer":
            return (
                _scalars(engine, "/" if division else "*", mine, scalar, node)
                if scalar.value.symbols or scalar.value.coefficient != 0
                else mine
            )
        return scaled(engine, tensor, scalar, node, other_node, division)
    if isinstance(other, Unknown):
        return scaled(engine, tensor, Scalar(engine.opaque_symbol(other_node), engine.origin(other_node)), node, other_node, division)
    if isinstance(other, Items) and len(other.items) == 1:
        return _product(engine, tensor, other.items[0], division, node, tensor_node, other_node)
    if not isinstance(other, Tensor):
        return scaled(engine, tensor, Scalar(engine.opaque_symbol(other_node), engine.origin(other_node)), node, other_node, division)
    return _tensor_product(engine, tensor, other, division, node, tensor_node, other_node)


def _tensor_product(
    engine: Engine, a: Tensor, b: Tensor, division: bool, node: cst.CSTNode, a_node: cst.CSTNode | None, b_node: cst.CSTNode | None
) -> Value:
    if division:
        special = tensors.quotient(engine, a, b, node)
        if special is not None:
            return special
    elif (
        isinstance(a.content, Leaf) and a.content is b.content and a_node is not None and b_node is not None and a_node.deep_equals(b_node)
    ):
        return tensors.square(engine, a, node)
    for data, factor in ((a, b), (b, a)):
        if not division and tensors.is_over_norm(data, factor, "inverse norm:"):
            return tensors.normalise(engine, data, tensors.how_normed(factor), node)
    b_scalar = scalar_of(engine, b)
    if b_scalar is not None and not is_mask(b):
        return scaled(engine, a, b_scalar, node, b_node, division)
    a_scalar = scalar_of(engine, a)
    if a_scalar is not None and not division and not is_mask(a):
        return scaled(engine, b, a_scalar, node, a_node, False)
    if is_mask(b) and not is_mask(a):
        return tensors.masked(engine, a, Mask("multiply", None, engine.origin(node), b), node)
    if is_mask(a) and not is_mask(b) and not division:
        return tensors.masked(engine, b, Mask("multiply", None, engine.origin(node), a), node)
    if is_mask(a) and is_mask(b):
        return a.but(shape=tensors.broadcast(a.shape, b.shape))
    rank_a, rank_b = interest(a.content), interest(b.content)
    if division:
        return scaled(engine, a, Scalar(engine.opaque_symbol(b_node), engine.origin(b_node)), node, b_node, True)
    if rank_a >= 2 and rank_b < 2:
        return scaled(engine, a, Scalar(_tensor_symbol(engine, b, b_node), engine.origin(b_node)), node, b_node, False)
    if rank_b >= 2 and rank_a < 2:
        return scaled(engine, b, Scalar(_tensor_symbol(engine, a, a_node), engine.origin(a_node)), node, a_node, False)
    return Tensor(
        tensors.broadcast(a.shape, b.shape), Elementwise(a, b, engine.origin(node)), history=(*a.history, *tensors.one(engine.origin(node)))
    )


def _tensor_symbol(engine: Engine, tensor: Tensor, node: cst.CSTNode | None) -> Monomial:
    if isinstance(tensor.content, Leaf) and tensor.content.kind in ("parameter", "buffer", "projection", "embedding"):
        return Monomial.of(Symbol(f"learned:{tensor.content.key}", tensor.name or "a learned tensor", LEARNED))
    return engine.opaque_symbol(node)


def interest(content: Content) -> int:
    """How much a tensor matters to a verdict: 3 for logits and weights, 0 for leaves."""
    if isinstance(content, (Product, Exponential, Weights, Output)):
        return 3
    if isinstance(content, Sum):
        return max(interest(term.content) for term in content.terms)
    if isinstance(content, (Total, Maximum)):
        return 1
    return 0


def is_mask(tensor: Tensor) -> bool:
    """A 0/1 tensor: boolean by construction, or an argument that is called a mask."""
    if tensor.dtype == "bool" or polarity.is_zero_one(tensor):
        return True
    leaf = tensor.content
    if isinstance(leaf, Leaf) and leaf.kind in ("argument", "opaque", "buffer", "constant"):
        origin_name = leaf.key.rpartition(".")[2] if leaf.kind == "argument" else ""
        return bool(signs.MASK.search(tensor.name or "") or signs.MASK.search(origin_name))
    if isinstance(leaf, Sum):  # 1 - mask
        return len(leaf.terms) > 0 and all(is_mask(term) for term in leaf.terms if not _is_constant(term))
    return False


def _is_constant(tensor: Tensor) -> bool:
    return isinstance(tensor.content, Leaf) and tensor.content.kind == "constant" and tensor.dtype != "bool"


def _quotient_of(
    engine: Engine, left: Value, right: Tensor, node: cst.CSTNode, left_node: cst.CSTNode | None, right_node: cst.CSTNode | None
) -> Value:
    """`number / tensor`."""
    scalar, divisor = engine.as_scalar(left, left_node), scalar_of(engine, right)
    if scalar is not None and divisor is not None:
        return _scalars(engine, "/", scalar, divisor, node)
    if scalar is not None and isinstance(right.content, (Total,)):
        return Tensor(
            right.shape,
            Leaf("opaque", engine.fresh("inverse"), "the inverse of a sum"),
            notes=frozenset({"inverse total"}),
            history=right.history,
        )
    return engine.opaque_tensor("the inverse of a tensor", node=node, shape=right.shape)


def total(
    engine: Engine, left: Value, right: Value, minus: bool, node: cst.CSTNode, left_node: cst.CSTNode | None, right_node: cst.CSTNode | None
) -> Value:
    """`left + right` or `left - right` where one is a tensor."""
    if (
        minus
        and isinstance(right, Items)
        and right.items
        and isinstance(right.items[0], Tensor)
        and isinstance(right.items[0].content, Maximum)
    ):
        right = right.items[0]  # NumPy's x.max(axis) is no pair
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        if minus and isinstance(right.content, Maximum):
            return left.but(notes=left.notes | {"log shifted" if right.content.log else "shifted"})
        return tensors.sum_of(engine, left, right, minus, node)
    tensor, other = (left, right) if isinstance(left, Tensor) else (right, left)
    assert isinstance(tensor, Tensor)
    if isinstance(other, Argument) and not _looks_scalar(engine, other):
        term = engine.as_tensor(other, right_node if tensor is left else left_node)
        if term is not None:
            pair = (tensor, term) if tensor is left else (term, tensor)
            return tensors.sum_of(engine, pair[0], pair[1], minus, node)
    if isinstance(other, Unknown):
        term = engine.opaque_tensor(other.reason, node=node)
        pair = (tensor, term) if tensor is left else (term, tensor)
        return tensors.sum_of(engine, pair[0], pair[1], minus, node)
    if is_mask(tensor):  # 1 - mask is a mask again
        return tensor.but(notes=polarity.flipped(tensor.notes) if tensor is right and minus else polarity.without(tensor.notes))
    if not isinstance(left, Tensor) and minus:
        return scaled(engine, tensor, Scalar(Monomial.number(-1)), node, None, False)
    if "arange" in tensor.notes:  # positions moved by a number are positions of something else
        return tensor.but(notes=tensor.notes - {"arange"})
    return tensor  # a constant added to every logit does not change softmax


__all__ = [
    "OPAQUE",
    "binary",
    "compare",
    "interest",
    "is_mask",
    "negate",
    "power",
    "scalar_of",
    "scaled",
    "total",
]
