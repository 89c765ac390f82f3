"""LibCST nodes to source text: the one place that knows precedence, and that proves what was printed by parsing it again.

LibCST prints what it is given and never adds parentheses. Here every new expression is built with the parentheses that its
place needs, and an edit is offered only where the edited text parses to the very tree that was meant.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import libcst as cst

from attnlint.domain.values import Origin
from attnlint.fixes.trees import Tree, code, expression_of, tree_of
from attnlint.model import Edit, Position, Span
from attnlint.syntax.scope import Unit

_LINE = re.compile(r"\r\n|\r|\n")
_ATOM, _AWAIT, _POWER, _UNARY, _TERM, _SUM = 20, 18, 16, 14, 12, 10


def precedence(node: cst.CSTNode) -> int:
    """How tightly the parts of an expression hold together; an atom, a call or anything in parentheses is tightest."""
    if getattr(node, "lpar", ()):
        return _ATOM
    match node:
        case cst.BinaryOperation():
            return _of_operator(node.operator)
        case cst.UnaryOperation(operator=cst.Not()):
            return 5
        case cst.UnaryOperation():
            return _UNARY
        case cst.Await():
            return _AWAIT
        case cst.Comparison():
            return 6
        case cst.BooleanOperation(operator=cst.And()):
            return 4
        case cst.BooleanOperation():
            return 3
        case cst.IfExp():
            return 2
        case cst.Lambda() | cst.NamedExpr() | cst.Yield() | cst.Tuple() | cst.GeneratorExp():
            return 1
    return _ATOM


def _of_operator(operator: cst.CSTNode) -> int:
    match operator:
        case cst.Power():
            return _POWER
        case cst.Multiply() | cst.Divide() | cst.FloorDivide() | cst.Modulo() | cst.MatrixMultiply():
            return _TERM
        case cst.Add() | cst.Subtract():
            return _SUM
    return 8


def grouped(node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression in parentheses, unless it stands in some already."""
    return node if node.lpar else node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression without parentheses of its own, where no line break inside needs them."""
    return node.with_changes(lpar=[], rpar=[]) if node.lpar else node


def at_least(node: cst.BaseExpression, floor: int) -> cst.BaseExpression:
    """The expression, in parentheses where it holds together less tightly than its place asks for."""
    return node if precedence(node) >= floor else grouped(node)


def product(left: cst.BaseExpression, right: cst.BaseExpression, divide: bool = False) -> cst.BinaryOperation:
    """`left * right` or `left / right`. A product of tensors on the left stands in parentheses, for the reader."""
    if isinstance(left, cst.BinaryOperation):
        left = grouped(left)
    return cst.BinaryOperation(at_least(left, _TERM), cst.Divide() if divide else cst.Multiply(), at_least(right, _TERM + 1))


def quotient(left: cst.BaseExpression, right: cst.BaseExpression) -> cst.BinaryOperation:
    """`left // right`."""
    return cst.BinaryOperation(at_least(left, _TERM), cst.FloorDivide(), at_least(right, _TERM + 1))


def power(base: cst.BaseExpression, exponent: Fraction) -> cst.BaseExpression:
    """`base ** exponent`, the exponent as a decimal."""
    if exponent == 1:
        return base
    number: cst.BaseExpression = cst.parse_expression(repr(float(abs(exponent))) if exponent.denominator > 1 else str(abs(exponent)))
    if exponent < 0:
        number = cst.UnaryOperation(cst.Minus(whitespace_after=cst.SimpleWhitespace("")), number)
    return cst.BinaryOperation(at_least(base, _POWER + 1), cst.Power(), number)


# --- changes of a source text


@dataclass(frozen=True, eq=False)
class Change:
    """Put `new` in the place of the expression or statement `old`; None takes a whole statement line away."""

    unit: Unit
    old: cst.CSTNode
    new: cst.CSTNode | None


def replace(origin: Origin, new: cst.BaseExpression) -> Change:
    """A change of an expression, with the parentheses that its place asks for and without those that it no longer needs."""
    tree, old = tree_of(origin.unit), expression_of(origin)
    floor = _floor(tree, old)
    if isinstance(new, cst.Integer) and isinstance(next(tree.ancestors(old), None), cst.Attribute):
        new = grouped(new)  # `2.real` is no expression
    multiline = "\n" in code(new) or "\r" in code(new)
    if isinstance(old, cst.NamedExpr):
        pass  # its parentheses are part of it
    elif old.lpar and not new.lpar and (multiline or precedence(new) < floor or isinstance(new, cst.BinaryOperation)):
        plain = grouped(bare(old)) if isinstance(old, cst.BinaryOperation) else bare(old)
        made = new.deep_replace(old, plain)  # what is said beside a parenthesis is said once
        assert isinstance(made, cst.BaseExpression)
        new = made.with_changes(lpar=old.lpar, rpar=old.rpar)
    elif old.lpar and new.lpar and _comments([old]) - _comments([new]):
        new = new.with_changes(lpar=old.lpar, rpar=old.rpar)
    elif new.lpar and not old.lpar and not multiline and precedence(bare(new)) >= floor and not isinstance(new, cst.Integer):
        new = bare(new)
    return Change(origin.unit, old, at_least(new, floor))


def _floor(tree: Tree, node: cst.CSTNode) -> int:
    """How tightly an expression has to hold together where it stands."""
    parent = next(tree.ancestors(node), None)
    match parent:
        case cst.BinaryOperation(operator=cst.Power()):
            return _POWER + 1 if parent.left is node else _UNARY
        case cst.BinaryOperation():
            return _of_operator(parent.operator) + (parent.right is node)
        case cst.UnaryOperation() | cst.Comparison() | cst.ComparisonTarget() | cst.BooleanOperation() | cst.IfExp():
            return precedence(parent.with_changes(lpar=[], rpar=[])) + 1 if not isinstance(parent, cst.ComparisonTarget) else 7
        case cst.Attribute() | cst.Await():
            return _ATOM
        case cst.Call() if parent.func is node:
            return _ATOM
        case cst.Subscript() if parent.value is node:
            return _ATOM
        case cst.StarredElement():
            return 8
    return 2


def edits(changes: Sequence[Change]) -> tuple[Edit, ...] | None:
    """The edits for some changes; None where the edited text would not parse to the tree that is meant, or lacked a comment."""
    found: list[Edit] = []
    for unit in dict.fromkeys(change.unit for change in changes):
        own = [change for change in changes if change.unit is unit]
        if _comments([change.old for change in own]) - _comments([change.new for change in own]):
            return None
        made = [_edit(change) for change in own]
        if any(edit is None for edit in made):
            return None
        plain = sorted((edit for edit in made if edit is not None), key=lambda edit: edit.span)
        if any(first.span.end > second.span.start for first, second in pairwise(plain)) or not _proved(unit, own, plain):
            return None
        found += plain
    return tuple(found)


def _comments(nodes: Sequence[cst.CSTNode | None]) -> Counter[str]:
    """The comments inside some nodes: what people wrote there is no part of a fault."""
    return Counter(one.value for node in nodes if node is not None for one in _comments_of(node))


def _comments_of(node: cst.CSTNode) -> Iterator[cst.Comment]:
    if isinstance(node, cst.Comment):
        yield node
    for child in node.children:
        yield from _comments_of(child)


class _Apply(cst.CSTTransformer):
    """Changes, all at once: a visit makes every node anew, so that only the first could be found otherwise."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._new = {id(change.old): change.new for change in changes}

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode | cst.RemovalSentinel:  # type: ignore[override]
        if id(original_node) not in self._new:
            return updated_node
        new = self._new[id(original_node)]
        return cst.RemoveFromParent() if new is None else new


class _Explicit(cst.CSTTransformer):
    """Parentheses around every operation, so that nothing rests on precedence."""

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        if isinstance(updated_node, (cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.Comparison, cst.IfExp)):
            return grouped(updated_node)
        return updated_node


def _edit(change: Change) -> Edit | None:
    """The new text of a node, as the whole statement prints it: with the indentation that its place has."""
    unit, old = change.unit, change.old
    if change.new is None:
        return _removal(unit, old)
    module, span = tree_of(unit).module, full_span(unit, old)
    starts = _starts(unit.text)
    start, end = (starts[at.row - unit.first_row] + at.column - 1 for at in (span.start, span.end))
    before, after = module.code, cst.ensure_type(module.visit(_Apply([change])), cst.Module).code
    stop = len(after) - (len(before) - end)
    if before != unit.text or after[:start] != before[:start] or after[stop:] != before[end:]:
        return None
    return Edit(after[start:stop], span)


def full_span(unit: Unit, node: cst.CSTNode) -> Span:
    """The place of a node with its parentheses."""
    left, right = getattr(node, "lpar", ()), getattr(node, "rpar", ())
    tree = tree_of(unit)
    inner = tree.span(node)
    return Span(tree.span(left[0]).start if left else inner.start, tree.span(right[-1]).end if right else inner.end)


def _removal(unit: Unit, line: cst.CSTNode) -> Edit | None:
    """Take a statement away with its line; only where it has the line to itself, without a comment, and is not the whole body."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or line.trailing_whitespace.comment is not None:
        return None
    tree = tree_of(unit)
    parent = next(tree.ancestors(line), None)
    if not isinstance(parent, (cst.IndentedBlock, cst.Module)) or len(parent.body) < 2:
        return None
    span = tree.span(line.body[0])
    if span.end.row - unit.first_row + 1 >= len(_starts(unit.text)):  # no line after it to end at
        return None
    return Edit("", Span(Position(span.start.row, 1), Position(span.end.row + 1, 1)))


def _starts(text: str) -> list[int]:
    """Where each row of a text begins."""
    return [0, *(match.end() for match in _LINE.finditer(text))]


def _proved(unit: Unit, changes: Sequence[Change], made: Sequence[Edit]) -> bool:
    """Whether the edited text parses to the tree that the changes describe, every operation of which is put in parentheses."""
    changed = cst.ensure_type(tree_of(unit).module.visit(_Apply(changes)), cst.Module)
    meant = cst.ensure_type(changed.visit(_Explicit()), cst.Module)
    try:
        return ast.dump(ast.parse(meant.code)) == ast.dump(ast.parse(_edited(unit, made)))
    except (SyntaxError, ValueError, RecursionError):
        return False


def _edited(unit: Unit, made: Sequence[Edit]) -> str:
    """The text of a unit after edits."""
    text, starts = unit.text, _starts(unit.text)
    for edit in sorted(made, key=lambda one: one.span, reverse=True):
        start, end = (starts[at.row - unit.first_row] + at.column - 1 for at in (edit.span.start, edit.span.end))
        text = text[:start] + edit.content + text[end:]
    return text
