"""Source laid out for lazy parsing: top-level statements by line, names they bind, and LibCST units made on demand.

Parsing with LibCST costs several times `ast.parse`, so a module is laid out with `ast` (which knows every string and
continuation) and only the statements that are needed to judge an attention site become LibCST trees.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from attnlint.model import Position, Span
from attnlint.syntax.positions import Place, positions

if TYPE_CHECKING:
    from collections.abc import Mapping

_LINE = re.compile(r"\r\n|\r|\n")


class Unit:
    """One top-level statement (with those on the same lines) as a LibCST module; rows are those of the whole file."""

    def __init__(self, scope: ModuleScope, first_row: int, text: str) -> None:
        self.scope = scope
        self.first_row = first_row
        self.text = text
        self.module = cst.parse_module(text)
        self._positions: Mapping[cst.CSTNode, tuple[Place, Place]] | None = None
        self._codes: dict[int, str] = {}

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node stands in the file; rows and columns from 1."""
        if self._positions is None:
            self._positions = positions(self.module)
        found = self._positions.get(node)
        if found is None:
            return Span(Position(self.first_row, 1), Position(self.first_row, 1))
        shift = self.first_row - 1
        start, end = (Position(row + shift, column + 1) for row, column in found)
        return Span(start, end)

    def code(self, node: cst.CSTNode) -> str:
        known = self._codes.get(id(node))  # nodes live as long as their unit
        if known is None:
            known = self._codes[id(node)] = self.module.code_for_node(node).strip()
        return known


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
    values: dict[str, object] = field(default_factory=dict)  # evaluated globals, by the interpreter

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
        return scope

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
        """The LibCST unit of a statement, parsed once."""
        if statement.unit is None:
            statement.unit = Unit(self, statement.first, self.statement_text(statement))
        return statement.unit


def _target_names(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for element in target.elts for name in _target_names(element)]
    if isinstance(target, ast.Starred):
        return _target_names(target.value)
    return []
