"""Source laid out: top-level statements by row, the names that they bind, and their records, lowered on demand."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from attnlint.model import Position, Span
from attnlint.syntax import nodes
from attnlint.syntax.lower import lower

_LINE = re.compile(r"\r\n|\r|\n")


class Unit:
    """One top-level statement (with those on the same rows), lowered; rows are those of the whole file."""

    def __init__(self, scope: ModuleScope, first_row: int, text: str, parsed: Sequence[ast.stmt] | None = None) -> None:
        self.scope = scope
        self.first_row = first_row
        self.text = text
        if parsed is None:
            self.module = lower(ast.parse(text).body, scope.lines, first_row - 1)
        else:
            self.module = lower(parsed, scope.lines)
        self._parents: dict[int, nodes.CSTNode] | None = None
        self._codes: dict[int, str] = {}

    def span(self, node: nodes.CSTNode) -> Span:
        """Where a node stands in the file; rows and columns from 1."""
        row, column, last, stop = node.place
        return Span(Position(row, column), Position(last, stop))

    def code(self, node: nodes.CSTNode) -> str:
        """The text of a node: of an expression with the parentheses around it, of a definition with its decorators."""
        known = self._codes.get(id(node))  # nodes live as long as their unit
        if known is None:
            known = self._codes[id(node)] = self._code(node)
        return known

    def _code(self, node: nodes.CSTNode) -> str:
        if isinstance(node, (nodes.Arg, nodes.Element, nodes.Index)) and node.place == node.value.place:
            node = node.value
        row, column, last, stop = node.place
        if isinstance(node, nodes.BaseExpression):
            row, column, last, stop = self.whole_place(node)
        elif isinstance(node, (nodes.FunctionDef, nodes.ClassDef)) and node.decorators:
            row, column = node.decorators[0].place[0], 1
        lines = self.scope.lines
        if row == last:
            return lines[row - 1][column - 1 : stop - 1].strip()
        return "".join((lines[row - 1][column - 1 :], *lines[row : last - 1], lines[last - 1][: stop - 1])).strip()

    def is_grouped(self, node: nodes.BaseExpression) -> bool:
        """Whether an expression stands in parentheses of its own."""
        return self.whole_place(node) != node.place

    def whole_place(self, node: nodes.BaseExpression) -> nodes.Place:
        """The place of an expression with the parentheses around it: those of a call are none of its only argument's."""
        place = node.place
        found = [place]
        while (place := self._one_more(place)) != found[-1]:
            found.append(place)
        if len(found) > 1 and isinstance(argument := next(self.ancestors(node), None), nodes.Arg) and argument.place == node.place:
            match next(self.ancestors(argument), None):
                case nodes.Call(args=[_]) | nodes.ClassDef():
                    return found[-2]
        return found[-1]

    def _one_more(self, place: nodes.Place) -> nodes.Place:
        """A place with one more pair of parentheses around it, or the same place."""
        row, column, last, stop = place
        lines = self.scope.lines
        while not (before := lines[row - 1][: column - 1].rstrip()):
            if row <= self.first_row:
                return place
            row, column = row - 1, len(lines[row - 2]) + 1
        if not before.endswith("("):
            return place
        while not (after := lines[last - 1][stop - 1 :].lstrip()):
            if last >= len(lines):
                return place
            last, stop = last + 1, 1
        if not after.startswith(")"):
            return place
        return row, len(before), last, len(lines[last - 1]) - len(after) + 2

    def comments(self, node: nodes.CSTNode) -> list[str]:
        """The comments on the rows of a statement and right above it."""
        row, _, last, _ = node.place
        held = self.scope.comments
        found = [held[one] for one in range(row, last + 1) if one in held]
        lines = self.scope.lines
        while row > 1 and ((above := lines[row - 2].strip()).startswith("#") or not above):
            row -= 1
            if above:
                found.append(above)
        return found

    def ancestors(self, node: nodes.CSTNode) -> Iterator[nodes.CSTNode]:
        """The nodes around a node, the innermost first."""
        if self._parents is None:
            self._parents = {id(child): one for one in nodes.walk(self.module) for child in one.children}
        around = self._parents.get(id(node))
        while around is not None:
            yield around
            around = self._parents.get(id(around))

    def function_around(self, node: nodes.CSTNode) -> nodes.CSTNode | None:
        """The innermost function (or class, or lambda) around a node; the module where there is none."""
        kinds = (nodes.FunctionDef, nodes.Lambda, nodes.ClassDef, nodes.Module)
        return next((one for one in self.ancestors(node) if isinstance(one, kinds)), None)


@dataclass
class Statement:
    """A top-level statement: its rows, and the names that it binds."""

    index: int
    first: int
    last: int
    kind: str  # "class" | "function" | "import" | "assign" | "other"
    names: tuple[str, ...]
    unit: Unit | None = None


@dataclass(frozen=True)
class Import:
    """What an imported name stands for: `module` (with `level` dots) and, for `from … import`, the attribute."""

    module: str
    attribute: str | None
    level: int = 0


@dataclass
class ModuleScope:
    """One source text: layout, imports and lazily evaluated globals."""

    path: str
    text: str
    lines: list[str] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    bound: dict[str, list[int]] = field(default_factory=dict)
    imports: dict[str, Import] = field(default_factory=dict)
    star_imports: list[Import] = field(default_factory=list)
    functions: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # rows of functions and methods, in order
    prose: dict[int, int] = field(default_factory=dict)  # documentation: first row -> last
    parsed: dict[int, list[ast.stmt]] = field(default_factory=dict)  # until they are lowered; may be cleared

    @classmethod
    def read(cls, path: str, text: str) -> ModuleScope:
        """Lay out a source text. Raises SyntaxError (or ValueError for a NUL byte) where it does not parse."""
        tree = ast.parse(text)
        scope = cls(path, text)
        breaks = [match.end() for match in _LINE.finditer(text)]
        starts = [0, *breaks]
        scope.lines = [text[start:end] for start, end in zip(starts, [*breaks, len(text)], strict=True)]
        for node in tree.body:
            scope._lay_out(node)
            scope.parsed.setdefault(scope.statements[-1].index, []).append(node)
        return scope

    @cached_property
    def comments(self) -> dict[int, str]:
        """The comments of the text, by row."""
        found: dict[int, str] = {}
        try:
            for token in tokenize.generate_tokens(io.StringIO(self.text, newline="").readline):
                if token.type == tokenize.COMMENT:
                    found[token.start[0]] = token.string
        except (tokenize.TokenError, SyntaxError):
            pass
        return found

    def _lay_out(self, node: ast.stmt) -> None:
        first = node.lineno
        for decorator in getattr(node, "decorator_list", ()):
            first = min(first, decorator.lineno)
        last = node.end_lineno or first
        kind = (
            "class"
            if isinstance(node, ast.ClassDef)
            else "function"
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            else "import"
            if isinstance(node, (ast.Import, ast.ImportFrom))
            else "assign"
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            else "other"
        )
        names = tuple(dict.fromkeys(self._names(node)))
        if self.statements and first <= self.statements[-1].last:  # `a = 1; b = 2` is one unit
            previous = self.statements[-1]
            previous.last = max(previous.last, last)
            previous.names += names
            previous.kind = previous.kind if previous.kind == kind else "other"
            index = previous.index
        else:
            index = len(self.statements)
            self.statements.append(Statement(index, first, last, kind, names))
        for name in names:
            self.bound.setdefault(name, []).append(index)
        self._note_definition(node, "")

    def _note_definition(self, node: ast.stmt, prefix: str) -> None:
        """The rows of a function, or of a class's methods, and of their documentation."""
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        name = prefix + node.name
        first, last = min((one.lineno for one in node.decorator_list), default=node.lineno), node.end_lineno or node.lineno
        match node.body[0]:
            case ast.Expr(value=ast.Constant(value=str())) as told if told.lineno > node.lineno and len(node.body) > 1:
                last_of_prose = min(told.end_lineno or told.lineno, node.body[1].lineno - 1)
                if last_of_prose >= told.lineno:  # not where a statement follows on the same row
                    self.prose[told.lineno] = last_of_prose
        if isinstance(node, ast.ClassDef):
            self._note_methods(node.body, name + ".")
        else:
            self.functions.setdefault(name, []).append((first, last))

    def _note_methods(self, body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.If):
                self._note_methods(node.body, prefix)
            else:
                self._note_definition(node, prefix)

    def _names(self, node: ast.stmt) -> list[str]:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            return [node.name]
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    self.imports[alias.asname] = Import(alias.name, None)
                else:
                    top = alias.name.split(".")[0]
                    self.imports[top] = Import(top, None)
            return []
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                target = Import(node.module or "", alias.name, node.level)
                if alias.name == "*":
                    self.star_imports.append(Import(node.module or "", None, node.level))
                else:
                    self.imports.setdefault(alias.asname or alias.name, target)
            return []
        if isinstance(node, ast.Assign):
            return [name for target in node.targets for name in _target_names(target)]
        if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            return _target_names(node.target)
        names: list[str] = []
        for attribute in ("body", "orelse", "finalbody"):
            for child in getattr(node, attribute, ()):
                if isinstance(child, ast.stmt):
                    names += self._names(child)
        for handler in getattr(node, "handlers", ()):
            for child in handler.body:
                names += self._names(child)
        if isinstance(node, (ast.For, ast.AsyncFor)):
            names += _target_names(node.target)
        if isinstance(node, ast.With):
            names += [name for item in node.items if item.optional_vars for name in _target_names(item.optional_vars)]
        return names

    def statement_text(self, statement: Statement) -> str:
        return "".join(self.lines[statement.first - 1 : statement.last])

    def words(self, first: int, last: int) -> str:
        """The text of some rows without documentation and without rows that are comments: what the code itself says."""
        rows: list[str] = []
        row = first
        while row <= last:
            if row in self.prose:
                row = self.prose[row]
            elif not self.lines[row - 1].lstrip().startswith("#"):
                rows.append(self.lines[row - 1])
            row += 1
        return "".join(rows)

    def unit(self, statement: Statement) -> Unit:
        """The records of a statement, made once. Raises RecursionError where it nests too deeply."""
        if statement.unit is None:
            parsed = self.parsed.pop(statement.index, None)
            statement.unit = Unit(self, statement.first, self.statement_text(statement), parsed)
        return statement.unit


def _target_names(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for element in target.elts for name in _target_names(element)]
    if isinstance(target, ast.Starred):
        return _target_names(target.value)
    return []
