"""`ast` to the records of `nodes`, in one pass."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from attnlint.syntax import nodes
from attnlint.syntax.nodes import Place

_BINARY: dict[type[ast.operator], nodes.BaseBinaryOp] = {
    ast.Add: nodes.Add(),
    ast.Sub: nodes.Subtract(),
    ast.Mult: nodes.Multiply(),
    ast.Div: nodes.Divide(),
    ast.FloorDiv: nodes.FloorDivide(),
    ast.Mod: nodes.Modulo(),
    ast.Pow: nodes.Power(),
    ast.MatMult: nodes.MatrixMultiply(),
    ast.BitAnd: nodes.BitAnd(),
    ast.BitOr: nodes.BitOr(),
    ast.BitXor: nodes.BitXor(),
    ast.LShift: nodes.LeftShift(),
    ast.RShift: nodes.RightShift(),
}
_AUGMENTED: dict[type[ast.operator], nodes.BaseAugOp] = {
    ast.Add: nodes.AddAssign(),
    ast.Sub: nodes.SubtractAssign(),
    ast.Mult: nodes.MultiplyAssign(),
    ast.Div: nodes.DivideAssign(),
    ast.FloorDiv: nodes.FloorDivideAssign(),
    ast.Mod: nodes.ModuloAssign(),
    ast.Pow: nodes.PowerAssign(),
    ast.MatMult: nodes.MatrixMultiplyAssign(),
    ast.BitAnd: nodes.BitAndAssign(),
    ast.BitOr: nodes.BitOrAssign(),
    ast.BitXor: nodes.BitXorAssign(),
    ast.LShift: nodes.LeftShiftAssign(),
    ast.RShift: nodes.RightShiftAssign(),
}
_UNARY: dict[type[ast.unaryop], nodes.BaseUnaryOp] = {
    ast.Not: nodes.Not(),
    ast.USub: nodes.Minus(),
    ast.UAdd: nodes.Plus(),
    ast.Invert: nodes.BitInvert(),
}
_COMPARED: dict[type[ast.cmpop], nodes.BaseCompOp] = {
    ast.Eq: nodes.Equal(),
    ast.NotEq: nodes.NotEqual(),
    ast.Lt: nodes.LessThan(),
    ast.LtE: nodes.LessThanEqual(),
    ast.Gt: nodes.GreaterThan(),
    ast.GtE: nodes.GreaterThanEqual(),
    ast.Is: nodes.Is(),
    ast.IsNot: nodes.IsNot(),
    ast.In: nodes.In(),
    ast.NotIn: nodes.NotIn(),
}
_AND, _OR = nodes.And(), nodes.Or()


def lower(statements: Sequence[ast.stmt], lines: Sequence[str], shift: int = 0) -> nodes.Module:
    """The records of some statements. `lines` is the text of the file by rows, `shift` the rows above what was parsed."""
    lowering = _Lowering(lines, shift)
    return nodes.Module(nodes.NOWHERE, [lowering.statement(one) for one in statements])


class _Lowering:
    """One pass over statements of one file."""

    def __init__(self, lines: Sequence[str], shift: int) -> None:
        self._lines = lines
        self._shift = shift
        self._wide: dict[int, bool] = {}  # rows, and whether they have characters of several bytes

    # --- places

    def place(self, node: Any) -> Place:
        shift = self._shift
        row, last = node.lineno + shift, node.end_lineno + shift
        return row, self._column(row, node.col_offset), last, self._column(last, node.end_col_offset)

    def _column(self, row: int, offset: int) -> int:
        wide = self._wide.get(row)
        if wide is None:
            wide = self._wide[row] = row <= len(self._lines) and not self._lines[row - 1].isascii()
        if wide:
            return len(self._lines[row - 1].encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "surrogatepass")) + 1
        return offset + 1

    def _text(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        """What stands between two positions."""
        (row, column), (last, stop) = start, end
        if row == last:
            return self._lines[row - 1][column - 1 : stop - 1]
        return "".join((self._lines[row - 1][column - 1 :], *self._lines[row : last - 1], self._lines[last - 1][: stop - 1]))

    def _inside(self, place: Place, items: Sequence[Any]) -> Place:
        """The place of a tuple or generator without parentheses of its own; `ast` has them inside."""
        start, end = place[:2], place[2:]
        if self._text(start, (start[0], start[1] + 1)) != "(" or self._text((end[0], end[1] - 1), end) != ")":
            return place
        if items:
            first = self.place(items[0])
            if first[:2] <= start:
                return place  # the parenthesis belongs to the first item
            opened = _code(self._text(start, first[:2])).count("(")
            behind = self.place(items[1])[:2] if len(items) > 1 else end
            closed = _code(self._text(first[2:], behind)).partition(",")[0].count(")")
            if opened <= closed:
                return place
            return self._trimmed((start[0], start[1] + 1), (end[0], end[1] - 1))
        return place

    def _trimmed(self, start: tuple[int, int], end: tuple[int, int]) -> Place:
        """A place without the blanks, line ends and comments at its edges."""
        row, column = start
        while (row, column) < end:
            rest = self._lines[row - 1][column - 1 :]
            blank = len(rest) - len(rest.lstrip(" \t\f\r\n\\"))
            if blank < len(rest) and rest[blank] != "#":
                column += blank
                break
            row, column = row + 1, 1
        last, stop = end
        while (last, stop) > (row, column):
            rest = _code(self._lines[last - 1][: stop - 1]).rstrip()
            if rest:
                stop = len(rest) + 1
                break
            last, stop = last - 1, len(self._lines[last - 2]) + 1
        return row, column, last, stop

    # --- expressions

    def expression(self, node: ast.expr) -> nodes.BaseExpression:
        return _EXPRESSIONS[type(node)](self, node)

    def maybe(self, node: ast.expr | None) -> nodes.BaseExpression | None:
        return _EXPRESSIONS[type(node)](self, node) if node is not None else None

    def _constant(self, node: ast.Constant) -> nodes.BaseExpression:
        value, place = node.value, self.place(node)
        if isinstance(value, (str, bytes)):
            return nodes.SimpleString(place, value)
        if value is None or isinstance(value, bool):
            return nodes.Name(place, str(value))
        if isinstance(value, int):
            return nodes.Integer(place, value)
        if isinstance(value, float):
            return nodes.Float(place, value)
        return nodes.Ellipsis(place) if value is ... else nodes.Imaginary(place, value)

    def _name(self, node: ast.Name) -> nodes.BaseExpression:
        return nodes.Name(self.place(node), node.id)

    def _attribute(self, node: ast.Attribute) -> nodes.BaseExpression:
        place = self.place(node)
        row, column = place[2:]
        return nodes.Attribute(place, self.expression(node.value), nodes.Name((row, column - len(node.attr), row, column), node.attr))

    def _starred(self, node: ast.Starred) -> nodes.BaseExpression:
        return nodes.StarredElement(self.place(node), self.expression(node.value))

    def _elements(self, items: Sequence[ast.expr]) -> list[nodes.BaseElement]:
        found: list[nodes.BaseElement] = []
        for item in items:
            value = self.expression(item)
            found.append(value if isinstance(value, nodes.StarredElement) else nodes.Element(value.place, value))
        return found

    def _tuple(self, node: ast.Tuple) -> nodes.BaseExpression:
        return nodes.Tuple(self._inside(self.place(node), node.elts), self._elements(node.elts))

    def _list(self, node: ast.List) -> nodes.BaseExpression:
        return nodes.List(self.place(node), self._elements(node.elts))

    def _set(self, node: ast.Set) -> nodes.BaseExpression:
        return nodes.Set(self.place(node), self._elements(node.elts))

    def _dict(self, node: ast.Dict) -> nodes.BaseExpression:
        elements: list[nodes.DictElement | nodes.StarredDictElement] = []
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.expression(item)
            if key is None:
                elements.append(nodes.StarredDictElement(value.place, value))
            else:
                made = self.expression(key)
                elements.append(nodes.DictElement(made.place[:2] + value.place[2:], made, value))
        return nodes.Dict(self.place(node), elements)

    def _binary(self, node: ast.BinOp) -> nodes.BaseExpression:
        spine = [node]  # of a long sum, without recursion
        while isinstance(left := spine[-1].left, ast.BinOp):
            spine.append(left)
        made = self.expression(spine[-1].left)
        for one in reversed(spine):
            made = nodes.BinaryOperation(self.place(one), made, _BINARY[type(one.op)], self.expression(one.right))
        return made

    def _unary(self, node: ast.UnaryOp) -> nodes.BaseExpression:
        return nodes.UnaryOperation(self.place(node), _UNARY[type(node.op)], self.expression(node.operand))

    def _boolean(self, node: ast.BoolOp) -> nodes.BaseExpression:
        operator = _AND if isinstance(node.op, ast.And) else _OR
        word = "and" if operator is _AND else "or"
        whole = self.place(node)
        made = self.expression(node.values[0])
        for index, value in enumerate(node.values[1:], 1):
            right = self.expression(value)
            end = whole[2:]
            if index + 1 < len(node.values):
                end = self._closed(right.place[2:], self.place(node.values[index + 1])[:2], word)
            made = nodes.BooleanOperation(whole[:2] + end, made, operator, right)
        return made

    def _closed(self, end: tuple[int, int], following: tuple[int, int], word: str) -> tuple[int, int]:
        """Where an operand ends, with the parentheses around it, that an operator follows."""
        if end[0] != following[0]:
            return end
        gap = self._text(end, following).partition(word)[0]
        return end[0], end[1] + gap.rfind(")") + 1

    def _comparison(self, node: ast.Compare) -> nodes.BaseExpression:
        left = self.expression(node.left)
        targets: list[nodes.ComparisonTarget] = []
        end = left.place[2:]
        for operator, item in zip(node.ops, node.comparators, strict=True):
            right = self.expression(item)
            targets.append(nodes.ComparisonTarget(end + right.place[2:], _COMPARED[type(operator)], right))
            end = right.place[2:]
        return nodes.Comparison(self.place(node), left, targets)

    def _conditional(self, node: ast.IfExp) -> nodes.BaseExpression:
        return nodes.IfExp(self.place(node), self.expression(node.test), self.expression(node.body), self.expression(node.orelse))

    def _walrus(self, node: ast.NamedExpr) -> nodes.BaseExpression:
        return nodes.NamedExpr(self.place(node), self.expression(node.target), self.expression(node.value))

    def _await(self, node: ast.Await) -> nodes.BaseExpression:
        return nodes.Await(self.place(node), self.expression(node.value))

    def _yield(self, node: ast.Yield) -> nodes.BaseExpression:
        return nodes.Yield(self.place(node), self.maybe(node.value))

    def _yield_from(self, node: ast.YieldFrom) -> nodes.BaseExpression:
        item = self.expression(node.value)
        return nodes.Yield(self.place(node), nodes.From(item.place, item))

    def _argument(self, node: ast.expr) -> nodes.Arg:
        if isinstance(node, ast.Starred):
            return nodes.Arg(self.place(node), self.expression(node.value), None, "*")
        value = self.expression(node)
        return nodes.Arg(value.place, value, None, "")

    def _keyword(self, node: ast.keyword) -> nodes.Arg:
        place = self.place(node)
        value = self.expression(node.value)
        if node.arg is None:
            return nodes.Arg(place, value, None, "**")
        row, column = place[:2]
        return nodes.Arg(place, value, nodes.Name((row, column, row, column + len(node.arg)), node.arg), "")

    def _arguments(self, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> list[nodes.Arg]:
        found = [self._argument(one) for one in args] + [self._keyword(one) for one in keywords]
        if keywords and any(isinstance(one, ast.Starred) for one in args):  # `f(a, key=b, *rest)`
            found.sort(key=lambda one: one.place)
        return found

    def _call(self, node: ast.Call) -> nodes.BaseExpression:
        return nodes.Call(self.place(node), self.expression(node.func), self._arguments(node.args, node.keywords))

    def _index(self, node: ast.expr) -> nodes.SubscriptElement:
        part: nodes.Index | nodes.Slice
        if isinstance(node, ast.Slice):
            part = nodes.Slice(self.place(node), self.maybe(node.lower), self.maybe(node.upper), self.maybe(node.step))
        else:
            value = self.expression(node)
            part = nodes.Index(value.place, value)
        return nodes.SubscriptElement(part.place, part)

    def _subscript(self, node: ast.Subscript) -> nodes.BaseExpression:
        place, value = self.place(node), self.expression(node.value)
        items: Sequence[ast.expr] = [node.slice]
        if isinstance(node.slice, ast.Tuple) and node.slice.elts:
            whole = self.place(node.slice)
            if self._inside(whole, node.slice.elts) == whole:  # `x[a, b]`, not `x[(a, b)]`
                items = node.slice.elts
        return nodes.Subscript(place, value, [self._index(one) for one in items])

    def _generators(self, found: Sequence[ast.comprehension]) -> nodes.CompFor:
        made: nodes.CompFor | None = None
        for one in reversed(found):
            target, iterable = self.expression(one.target), self.expression(one.iter)
            ifs = [nodes.CompIf(test.place, test) for test in map(self.expression, one.ifs)]
            end = (made or (ifs[-1] if ifs else iterable)).place[2:]
            made = nodes.CompFor(target.place[:2] + end, target, iterable, ifs, made)
        assert made is not None
        return made

    def _list_comprehension(self, node: ast.ListComp) -> nodes.BaseExpression:
        return nodes.ListComp(self.place(node), self.expression(node.elt), self._generators(node.generators))

    def _set_comprehension(self, node: ast.SetComp) -> nodes.BaseExpression:
        return nodes.SetComp(self.place(node), self.expression(node.elt), self._generators(node.generators))

    def _generator(self, node: ast.GeneratorExp) -> nodes.BaseExpression:
        start = self.place(node)
        return nodes.GeneratorExp(
            self._trimmed((start[0], start[1] + 1), (start[2], start[3] - 1)), self.expression(node.elt), self._generators(node.generators)
        )

    def _dict_comprehension(self, node: ast.DictComp) -> nodes.BaseExpression:
        return nodes.DictComp(self.place(node), self.expression(node.key), self.expression(node.value), self._generators(node.generators))

    def _formatted(self, node: ast.JoinedStr) -> nodes.BaseExpression:
        parts: list[nodes.FormattedStringText | nodes.FormattedStringExpression] = []
        place = self.place(node)
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                plain = part.conversion == -1 and part.format_spec is None
                parts.append(nodes.FormattedStringExpression(place, self.expression(part.value), plain))
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                parts.append(nodes.FormattedStringText(place, part.value))
        return nodes.FormattedString(place, parts)

    def _template(self, node: Any) -> nodes.BaseExpression:
        """A template string (Python 3.14) is no string, and holds none."""
        return nodes.FormattedString(self.place(node), [])

    def _lambda(self, node: ast.Lambda) -> nodes.BaseExpression:
        return nodes.Lambda(self.place(node), self._parameters(node.args), self.expression(node.body))

    # --- functions and classes

    def _parameter(self, node: ast.arg, default: ast.expr | None) -> nodes.Param:
        row, column, *end = self.place(node)
        name = nodes.Name((row, column, row, column + len(node.arg)), node.arg)
        annotation = self._annotation(node.annotation)
        made = self.maybe(default)
        last, stop = made.place[2:] if made is not None else end
        return nodes.Param((row, column, last, stop), name, annotation, made)

    def _annotation(self, node: ast.expr | None) -> nodes.Annotation | None:
        if node is None:
            return None
        made = self.expression(node)
        return nodes.Annotation(made.place, made)

    def _parameters(self, node: ast.arguments) -> nodes.Parameters:
        positional = [*node.posonlyargs, *node.args]
        missing: list[ast.expr | None] = [None] * (len(positional) - len(node.defaults))
        made = [self._parameter(one, default) for one, default in zip(positional, [*missing, *node.defaults], strict=True)]
        count = len(node.posonlyargs)
        return nodes.Parameters(
            nodes.NOWHERE,
            made[:count],
            made[count:],
            self._parameter(node.vararg, None) if node.vararg is not None else None,
            [self._parameter(one, default) for one, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)],
            self._parameter(node.kwarg, None) if node.kwarg is not None else None,
        )

    def _decorators(self, found: Sequence[ast.expr]) -> list[nodes.Decorator]:
        return [nodes.Decorator(one.place, one) for one in map(self.expression, found)]

    def _defined(self, node: Any, word: str) -> nodes.Name:
        """The name behind `def` or `class`; where it is not written in the common way, the place is that of the definition."""
        row, column = self.place(node)[:2]
        start = column - 1 + len(word) + 1
        if self._lines[row - 1][start : start + len(node.name)] == node.name:
            return nodes.Name((row, start + 1, row, start + 1 + len(node.name)), node.name)
        return nodes.Name((row, column, row, column), node.name)

    def _function(self, node: Any) -> nodes.BaseStatement:
        asynchronous = isinstance(node, ast.AsyncFunctionDef)
        return nodes.FunctionDef(
            self.place(node),
            self._decorators(node.decorator_list),
            self._defined(node, "async def" if asynchronous else "def"),
            self._parameters(node.args),
            self._annotation(node.returns),
            self.block(node.body),
            asynchronous,
        )

    def _class(self, node: ast.ClassDef) -> nodes.BaseStatement:
        return nodes.ClassDef(
            self.place(node),
            self._decorators(node.decorator_list),
            self._defined(node, "class"),
            self._arguments(node.bases, ()),
            self._arguments((), node.keywords),
            self.block(node.body),
        )

    # --- statements

    def block(self, body: Sequence[ast.stmt]) -> nodes.IndentedBlock:
        made = [self.statement(one) for one in body]
        return nodes.IndentedBlock(made[0].place[:2] + made[-1].place[2:], made)

    def statement(self, node: ast.stmt) -> nodes.BaseStatement:
        compound = _COMPOUND.get(type(node))
        if compound is not None:
            return compound(self, node)
        small = _SMALL[type(node)](self, node)
        return nodes.SimpleStatementLine(small.place, [small])

    def _assign(self, node: ast.Assign) -> nodes.BaseSmallStatement:
        targets = [nodes.AssignTarget(one.place, one) for one in map(self.expression, node.targets)]
        return nodes.Assign(self.place(node), targets, self.expression(node.value))

    def _annotated(self, node: ast.AnnAssign) -> nodes.BaseSmallStatement:
        target, annotation = self.expression(node.target), self.expression(node.annotation)
        return nodes.AnnAssign(self.place(node), target, nodes.Annotation(annotation.place, annotation), self.maybe(node.value))

    def _augmented(self, node: ast.AugAssign) -> nodes.BaseSmallStatement:
        return nodes.AugAssign(self.place(node), self.expression(node.target), _AUGMENTED[type(node.op)], self.expression(node.value))

    def _expr(self, node: ast.Expr) -> nodes.BaseSmallStatement:
        return nodes.Expr(self.place(node), self.expression(node.value))

    def _return(self, node: ast.Return) -> nodes.BaseSmallStatement:
        return nodes.Return(self.place(node), self.maybe(node.value))

    def _raise(self, node: ast.Raise) -> nodes.BaseSmallStatement:
        return nodes.Raise(self.place(node), self.maybe(node.exc))

    def _assert(self, node: ast.Assert) -> nodes.BaseSmallStatement:
        return nodes.Assert(self.place(node), self.expression(node.test), self.maybe(node.msg))

    def _global(self, node: ast.Global) -> nodes.BaseSmallStatement:
        place = self.place(node)
        return nodes.Global(place, [nodes.NameItem(place, nodes.Name(place, name)) for name in node.names])

    def _nonlocal(self, node: ast.Nonlocal) -> nodes.BaseSmallStatement:
        place = self.place(node)
        return nodes.Nonlocal(place, [nodes.NameItem(place, nodes.Name(place, name)) for name in node.names])

    def _aliases(self, names: Sequence[ast.alias]) -> list[nodes.ImportAlias]:
        return [nodes.ImportAlias(self.place(one), one.name, one.asname) for one in names]

    def _import(self, node: ast.Import) -> nodes.BaseSmallStatement:
        return nodes.Import(self.place(node), self._aliases(node.names))

    def _import_from(self, node: ast.ImportFrom) -> nodes.BaseSmallStatement:
        return nodes.ImportFrom(self.place(node), node.module or "", self._aliases(node.names), node.level)

    def _delete(self, node: ast.Delete) -> nodes.BaseSmallStatement:
        return nodes.Del(self.place(node), [self.expression(one) for one in node.targets])

    def _pass(self, node: ast.Pass) -> nodes.BaseSmallStatement:
        return nodes.Pass(self.place(node))

    def _break(self, node: ast.Break) -> nodes.BaseSmallStatement:
        return nodes.Break(self.place(node))

    def _continue(self, node: ast.Continue) -> nodes.BaseSmallStatement:
        return nodes.Continue(self.place(node))

    def _alias_statement(self, node: Any) -> nodes.BaseSmallStatement:
        """`type X = …` names a type, which says nothing of values."""
        return nodes.Pass(self.place(node))

    def _otherwise(self, body: Sequence[ast.stmt]) -> nodes.Else | None:
        if not body:
            return None
        block = self.block(body)
        return nodes.Else(block.place, block)

    def _if(self, node: ast.If) -> nodes.BaseStatement:
        chain = [node]  # of a long `elif`, without recursion
        while len(chain[-1].orelse) == 1 and isinstance(inner := chain[-1].orelse[0], ast.If) and self._is_elif(inner):
            chain.append(inner)
        made: nodes.If | nodes.Else | None = self._otherwise(chain[-1].orelse)
        for one in reversed(chain):
            made = nodes.If(self.place(one), self.expression(one.test), self.block(one.body), made)
        assert isinstance(made, nodes.If)
        return made

    def _is_elif(self, node: ast.If) -> bool:
        row, column = self.place(node)[:2]
        return self._lines[row - 1].startswith("elif", column - 1)

    def _for(self, node: Any) -> nodes.BaseStatement:
        return nodes.For(
            self.place(node),
            self.expression(node.target),
            self.expression(node.iter),
            self.block(node.body),
            self._otherwise(node.orelse),
        )

    def _while(self, node: ast.While) -> nodes.BaseStatement:
        return nodes.While(self.place(node), self.expression(node.test), self.block(node.body), self._otherwise(node.orelse))

    def _with(self, node: Any) -> nodes.BaseStatement:
        items: list[nodes.WithItem] = []
        for one in node.items:
            item = self.expression(one.context_expr)
            target = self.maybe(one.optional_vars)
            items.append(nodes.WithItem(item.place, item, nodes.AsName(target.place, target) if target is not None else None))
        return nodes.With(self.place(node), items, self.block(node.body))

    def _handler(self, node: ast.ExceptHandler) -> nodes.ExceptHandler:
        place = self.place(node)
        name = nodes.AsName(place, nodes.Name(place, node.name)) if node.name is not None else None
        return nodes.ExceptHandler(place, self.maybe(node.type), name, self.block(node.body))

    def _try(self, node: Any) -> nodes.BaseStatement:
        final = self.block(node.finalbody) if node.finalbody else None
        kind = nodes.Try if isinstance(node, ast.Try) else nodes.TryStar
        return kind(
            self.place(node),
            self.block(node.body),
            [self._handler(one) for one in node.handlers],
            self._otherwise(node.orelse),
            nodes.Finally(final.place, final) if final is not None else None,
        )

    def _match(self, node: ast.Match) -> nodes.BaseStatement:
        cases: list[nodes.MatchCase] = []
        for one in node.cases:
            pattern, body = self.pattern(one.pattern), self.block(one.body)
            cases.append(nodes.MatchCase(pattern.place[:2] + body.place[2:], pattern, self.maybe(one.guard), body))
        return nodes.Match(self.place(node), self.expression(node.subject), cases)

    def pattern(self, node: ast.pattern) -> nodes.MatchPattern:
        place = self.place(node)
        match node:
            case ast.MatchValue(value=value):
                return nodes.MatchValue(place, self.expression(value))
            case ast.MatchSingleton(value=value):
                return nodes.MatchSingleton(place, nodes.Name(place, str(value)))
            case ast.MatchSequence(patterns=patterns):
                return nodes.MatchSequence(place, [self.pattern(one) for one in patterns])
            case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
                held = [self.pattern(one) for one in patterns]
                return nodes.MatchMapping(place, [self.expression(one) for one in keys], held, self._bound(place, rest))
            case ast.MatchClass(cls=cls, patterns=patterns, kwd_attrs=names, kwd_patterns=more):
                held = [self.pattern(one) for one in patterns]
                return nodes.MatchClass(place, self.expression(cls), held, list(names), [self.pattern(one) for one in more])
            case ast.MatchStar(name=name):
                return nodes.MatchStar(place, self._bound(place, name))
            case ast.MatchAs(pattern=inner, name=name):
                return nodes.MatchAs(place, self.pattern(inner) if inner is not None else None, self._bound(place, name))
            case ast.MatchOr(patterns=patterns):
                return nodes.MatchOr(place, [self.pattern(one) for one in patterns])
        return nodes.MatchPattern(place)

    def _bound(self, place: Place, name: str | None) -> nodes.Name | None:
        return nodes.Name(place, name) if name is not None else None


def _code(text: str) -> str:
    """A piece of text between tokens without its comments."""
    return "\n".join(row.partition("#")[0] for row in text.split("\n")) if "#" in text else text


_EXPRESSIONS: dict[type, Callable[[_Lowering, Any], nodes.BaseExpression]] = {
    ast.Constant: _Lowering._constant,
    ast.Name: _Lowering._name,
    ast.Attribute: _Lowering._attribute,
    ast.Starred: _Lowering._starred,
    ast.Tuple: _Lowering._tuple,
    ast.List: _Lowering._list,
    ast.Set: _Lowering._set,
    ast.Dict: _Lowering._dict,
    ast.BinOp: _Lowering._binary,
    ast.UnaryOp: _Lowering._unary,
    ast.BoolOp: _Lowering._boolean,
    ast.Compare: _Lowering._comparison,
    ast.IfExp: _Lowering._conditional,
    ast.NamedExpr: _Lowering._walrus,
    ast.Await: _Lowering._await,
    ast.Yield: _Lowering._yield,
    ast.YieldFrom: _Lowering._yield_from,
    ast.Call: _Lowering._call,
    ast.Subscript: _Lowering._subscript,
    ast.ListComp: _Lowering._list_comprehension,
    ast.SetComp: _Lowering._set_comprehension,
    ast.GeneratorExp: _Lowering._generator,
    ast.DictComp: _Lowering._dict_comprehension,
    ast.JoinedStr: _Lowering._formatted,
    ast.Lambda: _Lowering._lambda,
}
_SMALL: dict[type, Callable[[_Lowering, Any], nodes.BaseSmallStatement]] = {
    ast.Assign: _Lowering._assign,
    ast.AnnAssign: _Lowering._annotated,
    ast.AugAssign: _Lowering._augmented,
    ast.Expr: _Lowering._expr,
    ast.Return: _Lowering._return,
    ast.Raise: _Lowering._raise,
    ast.Assert: _Lowering._assert,
    ast.Global: _Lowering._global,
    ast.Nonlocal: _Lowering._nonlocal,
    ast.Import: _Lowering._import,
    ast.ImportFrom: _Lowering._import_from,
    ast.Delete: _Lowering._delete,
    ast.Pass: _Lowering._pass,
    ast.Break: _Lowering._break,
    ast.Continue: _Lowering._continue,
}
_COMPOUND: dict[type, Callable[[_Lowering, Any], nodes.BaseStatement]] = {
    ast.FunctionDef: _Lowering._function,
    ast.AsyncFunctionDef: _Lowering._function,
    ast.ClassDef: _Lowering._class,
    ast.If: _Lowering._if,
    ast.For: _Lowering._for,
    ast.AsyncFor: _Lowering._for,
    ast.While: _Lowering._while,
    ast.With: _Lowering._with,
    ast.AsyncWith: _Lowering._with,
    ast.Try: _Lowering._try,
    ast.Match: _Lowering._match,
}
# kinds that newer versions of Python have
if (found := getattr(ast, "TryStar", None)) is not None:
    _COMPOUND[found] = _Lowering._try
if (found := getattr(ast, "TypeAlias", None)) is not None:
    _SMALL[found] = _Lowering._alias_statement
if (found := getattr(ast, "TemplateStr", None)) is not None:
    _EXPRESSIONS[found] = _Lowering._template
