"""The program as the engine reads it: one record a construct of the language, lowered from `ast`, each with its place.

A place is a row, a column, an end row and an end column; rows and columns count from 1, columns in code points, the end column
is exclusive. It leaves out parentheses around an expression. Nodes are compared by identity and never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Place = tuple[int, int, int, int]
NOWHERE: Place = (1, 1, 1, 1)  # of what stands in no text


@dataclass(slots=True, eq=False, repr=False)
class CSTNode:
    """A node and its place."""

    place: Place

    @property
    def children(self) -> Iterator[CSTNode]:
        """The nodes right below, in the order of the text as far as the fields have it."""
        for name in _fields(type(self)):
            value = getattr(self, name)
            if isinstance(value, CSTNode):
                yield value
            elif type(value) is list:
                for one in value:
                    if isinstance(one, CSTNode):
                        yield one

    def deep_equals(self, other: CSTNode) -> bool:
        """Whether two nodes say the same, wherever they stand."""
        if type(self) is not type(other):
            return False
        return all(_same(getattr(self, name), getattr(other, name)) for name in _fields(type(self)))


def _same(one: object, other: object) -> bool:
    if isinstance(one, CSTNode):
        return isinstance(other, CSTNode) and one.deep_equals(other)
    if type(one) is list:
        return type(other) is list and len(one) == len(other) and all(map(_same, one, other))
    return one == other


_FIELDS: dict[type, tuple[str, ...]] = {}


def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a kind of node beside its place."""
    known = _FIELDS.get(kind)
    if known is None:
        known = _FIELDS[kind] = tuple(name for name in getattr(kind, "__match_args__", ()) if name != "place")
    return known


def walk(node: CSTNode) -> Iterator[CSTNode]:
    """A node and all below it."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending += node.children


def dotted(node: CSTNode) -> str:
    """A name with its attributes, `self.head_dim`; "" for anything else."""
    parts: list[str] = []
    while isinstance(node, Attribute):
        parts.append(node.attr.value)
        node = node.value
    return ".".join((node.value, *reversed(parts))) if isinstance(node, Name) else ""


# --- operators


class Operator:
    """An operator. There is one object of each kind."""

    __slots__ = ()


class BaseBinaryOp(Operator):
    __slots__ = ()


class Add(BaseBinaryOp):
    __slots__ = ()


class Subtract(BaseBinaryOp):
    __slots__ = ()


class Multiply(BaseBinaryOp):
    __slots__ = ()


class Divide(BaseBinaryOp):
    __slots__ = ()


class FloorDivide(BaseBinaryOp):
    __slots__ = ()


class Modulo(BaseBinaryOp):
    __slots__ = ()


class Power(BaseBinaryOp):
    __slots__ = ()


class MatrixMultiply(BaseBinaryOp):
    __slots__ = ()


class BitAnd(BaseBinaryOp):
    __slots__ = ()


class BitOr(BaseBinaryOp):
    __slots__ = ()


class BitXor(BaseBinaryOp):
    __slots__ = ()


class LeftShift(BaseBinaryOp):
    __slots__ = ()


class RightShift(BaseBinaryOp):
    __slots__ = ()


class BaseUnaryOp(Operator):
    __slots__ = ()


class Not(BaseUnaryOp):
    __slots__ = ()


class Minus(BaseUnaryOp):
    __slots__ = ()


class Plus(BaseUnaryOp):
    __slots__ = ()


class BitInvert(BaseUnaryOp):
    __slots__ = ()


class BaseBooleanOp(Operator):
    __slots__ = ()


class And(BaseBooleanOp):
    __slots__ = ()


class Or(BaseBooleanOp):
    __slots__ = ()


class BaseCompOp(Operator):
    __slots__ = ()


class Equal(BaseCompOp):
    __slots__ = ()


class NotEqual(BaseCompOp):
    __slots__ = ()


class LessThan(BaseCompOp):
    __slots__ = ()


class LessThanEqual(BaseCompOp):
    __slots__ = ()


class GreaterThan(BaseCompOp):
    __slots__ = ()


class GreaterThanEqual(BaseCompOp):
    __slots__ = ()


class Is(BaseCompOp):
    __slots__ = ()


class IsNot(BaseCompOp):
    __slots__ = ()


class In(BaseCompOp):
    __slots__ = ()


class NotIn(BaseCompOp):
    __slots__ = ()


class BaseAugOp(Operator):
    __slots__ = ()


class AddAssign(BaseAugOp):
    __slots__ = ()


class SubtractAssign(BaseAugOp):
    __slots__ = ()


class MultiplyAssign(BaseAugOp):
    __slots__ = ()


class DivideAssign(BaseAugOp):
    __slots__ = ()


class FloorDivideAssign(BaseAugOp):
    __slots__ = ()


class ModuloAssign(BaseAugOp):
    __slots__ = ()


class PowerAssign(BaseAugOp):
    __slots__ = ()


class MatrixMultiplyAssign(BaseAugOp):
    __slots__ = ()


class BitAndAssign(BaseAugOp):
    __slots__ = ()


class BitOrAssign(BaseAugOp):
    __slots__ = ()


class BitXorAssign(BaseAugOp):
    __slots__ = ()


class LeftShiftAssign(BaseAugOp):
    __slots__ = ()


class RightShiftAssign(BaseAugOp):
    __slots__ = ()


# --- expressions


@dataclass(slots=True, eq=False, repr=False)
class BaseExpression(CSTNode):
    """A node that has a value."""


@dataclass(slots=True, eq=False, repr=False)
class Name(BaseExpression):
    """A name; also None, True and False."""

    value: str


@dataclass(slots=True, eq=False, repr=False)
class Integer(BaseExpression):
    evaluated_value: int

    @property
    def value(self) -> str:
        return str(self.evaluated_value)


@dataclass(slots=True, eq=False, repr=False)
class Float(BaseExpression):
    evaluated_value: float

    @property
    def value(self) -> str:
        return repr(self.evaluated_value)


@dataclass(slots=True, eq=False, repr=False)
class Imaginary(BaseExpression):
    evaluated_value: complex


@dataclass(slots=True, eq=False, repr=False)
class SimpleString(BaseExpression):
    """A string or bytes, in one piece or several."""

    evaluated_value: str | bytes

    @property
    def raw_value(self) -> str:
        return self.evaluated_value if isinstance(self.evaluated_value, str) else ""


@dataclass(slots=True, eq=False, repr=False)
class FormattedStringText(CSTNode):
    value: str


@dataclass(slots=True, eq=False, repr=False)
class FormattedStringExpression(CSTNode):
    expression: BaseExpression
    plain: bool  # neither converted nor formatted


@dataclass(slots=True, eq=False, repr=False)
class FormattedString(BaseExpression):
    parts: Sequence[FormattedStringText | FormattedStringExpression]


@dataclass(slots=True, eq=False, repr=False)
class Ellipsis(BaseExpression):
    pass


@dataclass(slots=True, eq=False, repr=False)
class BaseElement(CSTNode):
    value: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class Element(BaseElement):
    """An item of a display."""


@dataclass(slots=True, eq=False, repr=False)
class StarredElement(BaseElement, BaseExpression):
    """`*items` in a display or among targets."""


@dataclass(slots=True, eq=False, repr=False)
class Tuple(BaseExpression):
    elements: Sequence[BaseElement]


@dataclass(slots=True, eq=False, repr=False)
class List(BaseExpression):
    elements: Sequence[BaseElement]


@dataclass(slots=True, eq=False, repr=False)
class Set(BaseExpression):
    elements: Sequence[BaseElement]


@dataclass(slots=True, eq=False, repr=False)
class DictElement(CSTNode):
    key: BaseExpression
    value: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class StarredDictElement(CSTNode):
    value: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class Dict(BaseExpression):
    elements: Sequence[DictElement | StarredDictElement]


@dataclass(slots=True, eq=False, repr=False)
class BinaryOperation(BaseExpression):
    left: BaseExpression
    operator: BaseBinaryOp
    right: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class UnaryOperation(BaseExpression):
    operator: BaseUnaryOp
    expression: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class BooleanOperation(BaseExpression):
    left: BaseExpression
    operator: BaseBooleanOp
    right: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class ComparisonTarget(CSTNode):
    operator: BaseCompOp
    comparator: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class Comparison(BaseExpression):
    left: BaseExpression
    comparisons: Sequence[ComparisonTarget]


@dataclass(slots=True, eq=False, repr=False)
class IfExp(BaseExpression):
    test: BaseExpression
    body: BaseExpression
    orelse: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class NamedExpr(BaseExpression):
    target: BaseExpression
    value: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class Await(BaseExpression):
    expression: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class From(CSTNode):
    """What stands behind `yield`, in `yield from`."""

    item: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class Yield(BaseExpression):
    value: BaseExpression | From | None


@dataclass(slots=True, eq=False, repr=False)
class Attribute(BaseExpression):
    value: BaseExpression
    attr: Name


@dataclass(slots=True, eq=False, repr=False)
class Arg(CSTNode):
    value: BaseExpression
    keyword: Name | None
    star: str  # "", "*" or "**"


@dataclass(slots=True, eq=False, repr=False)
class Call(BaseExpression):
    func: BaseExpression
    args: Sequence[Arg]


@dataclass(slots=True, eq=False, repr=False)
class Index(CSTNode):
    value: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class Slice(CSTNode):
    lower: BaseExpression | None
    upper: BaseExpression | None
    step: BaseExpression | None


@dataclass(slots=True, eq=False, repr=False)
class SubscriptElement(CSTNode):
    slice: Index | Slice


@dataclass(slots=True, eq=False, repr=False)
class Subscript(BaseExpression):
    value: BaseExpression
    slice: Sequence[SubscriptElement]


@dataclass(slots=True, eq=False, repr=False)
class CompIf(CSTNode):
    test: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class CompFor(CSTNode):
    target: BaseExpression
    iter: BaseExpression
    ifs: Sequence[CompIf]
    inner_for_in: CompFor | None


@dataclass(slots=True, eq=False, repr=False)
class ListComp(BaseExpression):
    elt: BaseExpression
    for_in: CompFor


@dataclass(slots=True, eq=False, repr=False)
class SetComp(BaseExpression):
    elt: BaseExpression
    for_in: CompFor


@dataclass(slots=True, eq=False, repr=False)
class GeneratorExp(BaseExpression):
    elt: BaseExpression
    for_in: CompFor


@dataclass(slots=True, eq=False, repr=False)
class DictComp(BaseExpression):
    key: BaseExpression
    value: BaseExpression
    for_in: CompFor


# --- functions and classes


@dataclass(slots=True, eq=False, repr=False)
class Annotation(CSTNode):
    annotation: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class Param(CSTNode):
    name: Name
    annotation: Annotation | None
    default: BaseExpression | None


@dataclass(slots=True, eq=False, repr=False)
class Parameters(CSTNode):
    posonly_params: Sequence[Param]
    params: Sequence[Param]
    star_arg: Param | None
    kwonly_params: Sequence[Param]
    star_kwarg: Param | None


@dataclass(slots=True, eq=False, repr=False)
class Lambda(BaseExpression):
    params: Parameters
    body: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class BaseStatement(CSTNode):
    pass


@dataclass(slots=True, eq=False, repr=False)
class IndentedBlock(CSTNode):
    body: Sequence[BaseStatement]


@dataclass(slots=True, eq=False, repr=False)
class Module(CSTNode):
    body: Sequence[BaseStatement]


@dataclass(slots=True, eq=False, repr=False)
class Decorator(CSTNode):
    decorator: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class FunctionDef(BaseStatement):
    decorators: Sequence[Decorator]
    name: Name
    params: Parameters
    returns: Annotation | None
    body: IndentedBlock
    asynchronous: bool


@dataclass(slots=True, eq=False, repr=False)
class ClassDef(BaseStatement):
    decorators: Sequence[Decorator]
    name: Name
    bases: Sequence[Arg]
    keywords: Sequence[Arg]
    body: IndentedBlock


# --- statements


@dataclass(slots=True, eq=False, repr=False)
class BaseSmallStatement(CSTNode):
    pass


@dataclass(slots=True, eq=False, repr=False)
class SimpleStatementLine(BaseStatement):
    """A statement without a block."""

    body: Sequence[BaseSmallStatement]


@dataclass(slots=True, eq=False, repr=False)
class AssignTarget(CSTNode):
    target: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class Assign(BaseSmallStatement):
    targets: Sequence[AssignTarget]
    value: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class AnnAssign(BaseSmallStatement):
    target: BaseExpression
    annotation: Annotation
    value: BaseExpression | None


@dataclass(slots=True, eq=False, repr=False)
class AugAssign(BaseSmallStatement):
    target: BaseExpression
    operator: BaseAugOp
    value: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class Expr(BaseSmallStatement):
    value: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class Return(BaseSmallStatement):
    value: BaseExpression | None


@dataclass(slots=True, eq=False, repr=False)
class Raise(BaseSmallStatement):
    exc: BaseExpression | None


@dataclass(slots=True, eq=False, repr=False)
class Assert(BaseSmallStatement):
    test: BaseExpression
    msg: BaseExpression | None


@dataclass(slots=True, eq=False, repr=False)
class NameItem(CSTNode):
    name: Name


@dataclass(slots=True, eq=False, repr=False)
class Global(BaseSmallStatement):
    names: Sequence[NameItem]


@dataclass(slots=True, eq=False, repr=False)
class Nonlocal(BaseSmallStatement):
    names: Sequence[NameItem]


@dataclass(slots=True, eq=False, repr=False)
class ImportAlias(CSTNode):
    """An imported name, with its dots, and the name that it is given here."""

    name: str
    asname: str | None


@dataclass(slots=True, eq=False, repr=False)
class Import(BaseSmallStatement):
    names: Sequence[ImportAlias]


@dataclass(slots=True, eq=False, repr=False)
class ImportFrom(BaseSmallStatement):
    """`from ..module import names`; the only name may be `*`."""

    module: str
    names: Sequence[ImportAlias]
    level: int


@dataclass(slots=True, eq=False, repr=False)
class Del(BaseSmallStatement):
    targets: Sequence[BaseExpression]


@dataclass(slots=True, eq=False, repr=False)
class Pass(BaseSmallStatement):
    pass


@dataclass(slots=True, eq=False, repr=False)
class Break(BaseSmallStatement):
    pass


@dataclass(slots=True, eq=False, repr=False)
class Continue(BaseSmallStatement):
    pass


@dataclass(slots=True, eq=False, repr=False)
class Else(CSTNode):
    body: IndentedBlock


@dataclass(slots=True, eq=False, repr=False)
class If(BaseStatement):
    test: BaseExpression
    body: IndentedBlock
    orelse: If | Else | None


@dataclass(slots=True, eq=False, repr=False)
class For(BaseStatement):
    target: BaseExpression
    iter: BaseExpression
    body: IndentedBlock
    orelse: Else | None


@dataclass(slots=True, eq=False, repr=False)
class While(BaseStatement):
    test: BaseExpression
    body: IndentedBlock
    orelse: Else | None


@dataclass(slots=True, eq=False, repr=False)
class AsName(CSTNode):
    name: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class WithItem(CSTNode):
    item: BaseExpression
    asname: AsName | None


@dataclass(slots=True, eq=False, repr=False)
class With(BaseStatement):
    items: Sequence[WithItem]
    body: IndentedBlock


@dataclass(slots=True, eq=False, repr=False)
class ExceptHandler(CSTNode):
    type: BaseExpression | None
    name: AsName | None
    body: IndentedBlock


@dataclass(slots=True, eq=False, repr=False)
class Finally(CSTNode):
    body: IndentedBlock


@dataclass(slots=True, eq=False, repr=False)
class Try(BaseStatement):
    body: IndentedBlock
    handlers: Sequence[ExceptHandler]
    orelse: Else | None
    finalbody: Finally | None


@dataclass(slots=True, eq=False, repr=False)
class TryStar(Try):
    """`try` with `except*`."""


@dataclass(slots=True, eq=False, repr=False)
class MatchPattern(CSTNode):
    pass


@dataclass(slots=True, eq=False, repr=False)
class MatchValue(MatchPattern):
    value: BaseExpression


@dataclass(slots=True, eq=False, repr=False)
class MatchSingleton(MatchPattern):
    value: Name


@dataclass(slots=True, eq=False, repr=False)
class MatchStar(MatchPattern):
    name: Name | None


@dataclass(slots=True, eq=False, repr=False)
class MatchSequence(MatchPattern):
    patterns: Sequence[MatchPattern]


@dataclass(slots=True, eq=False, repr=False)
class MatchMapping(MatchPattern):
    keys: Sequence[BaseExpression]
    patterns: Sequence[MatchPattern]
    rest: Name | None


@dataclass(slots=True, eq=False, repr=False)
class MatchClass(MatchPattern):
    cls: BaseExpression
    patterns: Sequence[MatchPattern]
    keywords: Sequence[str]
    keyword_patterns: Sequence[MatchPattern]


@dataclass(slots=True, eq=False, repr=False)
class MatchAs(MatchPattern):
    """A pattern under a name; without a pattern it takes everything, without both it is `_`."""

    pattern: MatchPattern | None
    name: Name | None


@dataclass(slots=True, eq=False, repr=False)
class MatchOr(MatchPattern):
    patterns: Sequence[MatchPattern]


@dataclass(slots=True, eq=False, repr=False)
class MatchCase(CSTNode):
    pattern: MatchPattern
    guard: BaseExpression | None
    body: IndentedBlock


@dataclass(slots=True, eq=False, repr=False)
class Match(BaseStatement):
    subject: BaseExpression
    cases: Sequence[MatchCase]
