"""An expression that is another power than it reads, spelled out: as Python computes it, and as it was meant."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from attnlint.domain.values import Origin
from attnlint.evaluate.powers import Misread, number_of
from attnlint.fixes.printer import grouped
from attnlint.fixes.trees import NoTree, code, expression_of
from attnlint.sites.derivation import short
from attnlint.syntax.scope import Unit


@dataclass(frozen=True, eq=False)
class Spelled:
    """`d ** 1 / 2`: the part of it to quote, that part as Python computes it, and the whole as it was meant."""

    quoted: cst.BaseExpression
    computed: cst.BaseExpression
    meant: cst.BinaryOperation


def spelled(unit: Unit, part: Misread) -> Spelled:
    """Both readings of an expression. Raises NoTree where LibCST does not parse it."""
    node = cst.ensure_type(expression_of(Origin(unit, part.node)), cst.BinaryOperation)
    power = cst.ensure_type(expression_of(Origin(unit, part.power)), cst.BinaryOperation)
    if isinstance(node.operator, cst.Multiply):
        return _one_star(node, node.operator)
    if part.power is part.node:
        return _whole_exponent(node, part)
    return _floored(node, power) if node.right is power else _halved(node, power)


def shown(unit: Unit, part: Misread) -> str:
    """Both readings in words: ``d ** 1 / 2` is `(d ** 1) / 2``."""
    try:
        both = spelled(unit, part)
    except NoTree:
        return f"`{short(unit.code(part.node))}` is another power than it reads"
    return f"`{short(code(both.quoted))}` is `{short(code(both.computed))}`"


def _halved(node: cst.BinaryOperation, power: cst.BinaryOperation) -> Spelled:
    """`x ** 1 / 2` and `y / x ** 1 / 2`."""
    exponent = grouped(cst.BinaryOperation(power.right, cst.Divide(), node.right))
    rooted = power.with_changes(right=exponent)
    quoted = node.with_changes(left=power, lpar=[], rpar=[])
    meant = rooted if node.left is power else cst.ensure_type(node.left, cst.BinaryOperation).with_changes(right=rooted)
    return Spelled(quoted, quoted.with_changes(left=grouped(power)), meant.with_changes(lpar=node.lpar, rpar=node.rpar))


def _floored(node: cst.BinaryOperation, power: cst.BinaryOperation) -> Spelled:
    """`width // heads ** -0.5`."""
    plain = node.with_changes(lpar=[], rpar=[])
    meant = power.with_changes(left=grouped(plain.with_changes(right=power.left)), lpar=node.lpar, rpar=node.rpar)
    return Spelled(plain, plain.with_changes(right=grouped(power)), meant)


def _whole_exponent(node: cst.BinaryOperation, part: Misread) -> Spelled:
    """`x ** (1 // 2)`."""
    value = number_of(part.node.right)
    assert value is not None
    plain = node.with_changes(lpar=[], rpar=[])
    number = cst.Integer(str(abs(value.numerator)))
    computed = number if value >= 0 else cst.UnaryOperation(cst.Minus(whitespace_after=cst.SimpleWhitespace("")), number)
    exponent = cst.ensure_type(node.right, cst.BinaryOperation)
    slash = cst.ensure_type(exponent.operator, cst.FloorDivide)
    divided = exponent.with_changes(operator=cst.Divide(slash.whitespace_before, slash.whitespace_after))
    return Spelled(plain, plain.with_changes(right=computed), node.with_changes(right=divided))


def _one_star(node: cst.BinaryOperation, star: cst.Multiply) -> Spelled:
    """`x * -0.5`."""
    plain = node.with_changes(lpar=[], rpar=[])
    halved = cst.BinaryOperation(plain.left, cst.Divide(), cst.Integer("2"))
    negated = cst.UnaryOperation(cst.Minus(whitespace_after=cst.SimpleWhitespace("")), halved)
    return Spelled(plain, negated, node.with_changes(operator=cst.Power(star.whitespace_before, star.whitespace_after)))
