"""How an expression spells a power: `1 / math.sqrt(d)` is d^-1/2, `d ** (1 / 2)` is d^1/2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from attnlint.syntax import nodes as cst

HALF = Fraction(1, 2)

ROOTS = {"sqrt": HALF, "rsqrt": -HALF, "sqrt_": HALF, "rsqrt_": -HALF, "isqrt": HALF, "reciprocal": Fraction(-1)}
POWERS = {"pow", "power", "pow_"}
# what wraps a number without changing it; `full`, `cast` and the like take it as the argument of that index
WRAPPERS = {
    "float": 0,
    "tensor": 0,
    "Tensor": 0,
    "FloatTensor": 0,
    "as_tensor": 0,
    "to_tensor": 0,
    "convert_to_tensor": 0,
    "constant": 0,
    "asarray": 0,
    "array": 0,
    "float32": 0,
    "float64": 0,
    "cast": 0,
    "full": 1,
}
# methods that give back their receiver's number
SAME_NUMBER = {"to", "astype", "type_as", "type", "float", "half", "double", "cpu", "cuda", "item", "clone", "detach"}

# what fused kernels call the argument that replaces their own scale
SCALE_ARGUMENTS = {
    "scaled_dot_product_attention": "scale",
    "flex_attention": "scale",
    "memory_efficient_attention": "scale",
    "dot_product_attention": "scale",
    "sageattn": "sm_scale",
    "flash_attn_func": "softmax_scale",
    "flash_attn_varlen_func": "softmax_scale",
    "flash_attn_qkvpacked_func": "softmax_scale",
    "flash_attn_kvpacked_func": "softmax_scale",
    "flash_attn_varlen_qkvpacked_func": "softmax_scale",
    "flash_attn_varlen_kvpacked_func": "softmax_scale",
    "flash_attn_with_kvcache": "softmax_scale",
    "flash_attn_unpadded_func": "softmax_scale",
}


def number_of(node: cst.CSTNode) -> Fraction | None:
    """The value of an expression of literal numbers alone."""
    match node:
        case cst.Integer() | cst.Float():
            try:
                return Fraction(str(node.evaluated_value)) if isinstance(node, cst.Float) else Fraction(node.evaluated_value)
            except (ValueError, OverflowError):
                return None
        case cst.UnaryOperation(operator=cst.Minus()):
            inner = number_of(node.expression)
            return -inner if inner is not None else None
        case cst.BinaryOperation(operator=cst.Divide() | cst.FloorDivide() | cst.Multiply()):
            left, right = number_of(node.left), number_of(node.right)
            if left is None or right is None:
                return None
            if isinstance(node.operator, cst.Multiply):
                return left * right
            if not right:
                return None
            return left / right if isinstance(node.operator, cst.Divide) else Fraction(left // right)
    return None


def split(node: cst.BaseExpression) -> tuple[cst.BaseExpression, Fraction]:
    """The base of an expression and the power that the expression is of it; (node, 1) where it spells no power."""
    base, power = node, Fraction(1)
    for _ in range(12):
        step = _step(base)
        if step is None:
            break
        base, power = step[0], power * step[1]
    return base, power


def _step(node: cst.BaseExpression) -> tuple[cst.BaseExpression, Fraction] | None:
    match node:
        case cst.BinaryOperation(operator=cst.Power()):
            exponent = number_of(node.right)
            return (node.left, exponent) if exponent is not None else None
        case cst.BinaryOperation(operator=cst.Divide()) if number_of(node.left) == 1:
            return node.right, Fraction(-1)
        case cst.Call():
            return _call(node)
        case cst.List(elements=[cst.Element(value=only)]) | cst.Tuple(elements=[cst.Element(value=only)]):
            return only, Fraction(1)
    return None


def _call(node: cst.Call) -> tuple[cst.BaseExpression, Fraction] | None:
    name = called(node)
    plain = [argument.value for argument in node.args if argument.keyword is None and not argument.star]
    if name in ROOTS and len(plain) == 1:
        return plain[0], ROOTS[name]
    if name in ROOTS and not plain and isinstance(node.func, cst.Attribute):
        return node.func.value, ROOTS[name]
    if name in POWERS and plain:
        base = plain[0] if len(plain) == 2 else node.func.value if isinstance(node.func, cst.Attribute) else None
        exponent = number_of(plain[-1])
        return (base, exponent) if base is not None and exponent is not None else None
    if name in WRAPPERS and len(plain) > WRAPPERS[name]:
        return plain[WRAPPERS[name]], Fraction(1)
    if name in SAME_NUMBER and isinstance(node.func, cst.Attribute):
        return node.func.value, Fraction(1)
    return None


def called(node: cst.Call) -> str:
    """The last part of the name of what is called."""
    match node.func:
        case cst.Attribute(attr=cst.Name(value=name)) | cst.Name(value=name):
            return name
    return ""


# --- expressions that are another power than they read


@dataclass(frozen=True, eq=False)
class Misread:
    """`d ** 1 / 2`: the node, and the power in it that ends before it seems to."""

    node: cst.BinaryOperation
    power: cst.BinaryOperation


def misread(node: cst.CSTNode, arguments: bool = True) -> Misread | None:
    """The first part of an expression that reads as another power than it is; in calls' arguments too where `arguments`."""
    if isinstance(node, cst.BinaryOperation):
        found = _halved(node) or _floored(node) or _whole_exponent(node) or (_one_star(node) if arguments else None)
        if found is not None:
            return found
    for child in _parts(node, arguments):
        inner = misread(child, arguments)
        if inner is not None:
            return inner
    return None


def _parts(node: cst.CSTNode, arguments: bool) -> Iterator[cst.CSTNode]:
    if isinstance(node, (cst.Lambda, cst.Name, cst.SimpleString, cst.FormattedString)) or (isinstance(node, cst.Call) and not arguments):
        return
    yield from (child for child in node.children if isinstance(child, (cst.BaseExpression, cst.Arg, cst.Element)))


def _halved(node: cst.BinaryOperation) -> Misread | None:
    """`x ** 1 / 2` and `y / x ** 1 / 2`: the power ends before the division."""
    if not isinstance(node.operator, (cst.Divide, cst.FloorDivide)) or number_of(node.right) not in (2, 4):
        return None
    outer = node.left
    power, plain = outer, outer.place[:2] == node.place[:2]  # else a parenthesis opens before it
    if isinstance(outer, cst.BinaryOperation) and plain and isinstance(outer.operator, (cst.Divide, cst.Multiply)):
        power, plain = outer.right, outer.right.place[2:] == outer.place[2:]
    match power:
        case cst.BinaryOperation(operator=cst.Power()) if plain and number_of(power.right) in (1, -1):
            return Misread(node, power)
    return None


def _floored(node: cst.BinaryOperation) -> Misread | None:
    """`width // heads ** -0.5`: the power comes first."""
    match node:
        case cst.BinaryOperation(operator=cst.FloorDivide(), right=cst.BinaryOperation(operator=cst.Power()) as power):
            exponent = number_of(power.right)
            if exponent is None or (exponent > 0 and exponent.denominator == 1):
                return None
            return Misread(node, power) if power.place[2:] == node.place[2:] else None  # no parenthesis closes behind it
    return None


def _whole_exponent(node: cst.BinaryOperation) -> Misread | None:
    """`x ** (1 // 2)`: the exponent is a whole number."""
    match node:
        case cst.BinaryOperation(operator=cst.Power(), right=cst.BinaryOperation(operator=cst.FloorDivide()) as exponent):
            return Misread(node, node) if number_of(exponent) is not None else None
    return None


def _one_star(node: cst.BinaryOperation) -> Misread | None:
    """`x * -0.5`: a star is missing."""
    match node:
        case cst.BinaryOperation(
            left=cst.Name() | cst.Attribute() | cst.Subscript() | cst.Call(), operator=cst.Multiply(), right=right
        ) if number_of(right) == -HALF:
            return Misread(node, node)
    return None
