"""LibCST nodes of what the engine found: a fix is built of them, so the statement that it rewrites is parsed with LibCST first."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from attnlint.domain.values import Origin
from attnlint.model import Position, Span
from attnlint.syntax import nodes
from attnlint.syntax.lower import lower
from attnlint.syntax.nodes import Place
from attnlint.syntax.scope import Unit

# what LibCST has several kinds of
_KINDS = {"SimpleString": ("SimpleString", "ConcatenatedString"), "FormattedString": ("FormattedString", "ConcatenatedString")}


class NoTree(Exception):
    """LibCST does not parse a statement, or has no such node in it."""


class Tree:
    """A top-level statement as LibCST parses it; rows are those of the whole file."""

    def __init__(self, unit: Unit) -> None:
        self._shift = unit.first_row - 1  # the unit itself is not held: it is what keeps its tree
        try:
            wrapper = MetadataWrapper(cst.parse_module(unit.text), unsafe_skip_copy=True)
            self._ranges = wrapper.resolve(PositionProvider)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise NoTree from error
        self.module = wrapper.module
        self._parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._found: dict[tuple[str, Place], cst.CSTNode] = {}
        pending: list[cst.CSTNode] = [self.module]
        while pending:
            node = pending.pop()
            self._found.setdefault((type(node).__name__, self._place(node)), node)
            for child in node.children:
                self._parents[child] = node
                pending.append(child)

    def _place(self, node: cst.CSTNode) -> Place:
        found = self._ranges[node]
        shift = self._shift
        return found.start.line + shift, found.start.column + 1, found.end.line + shift, found.end.column + 1

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node stands in the file, without parentheses around it."""
        row, column, last, stop = self._place(node)
        return Span(Position(row, column), Position(last, stop))

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around a node, the innermost first."""
        around = self._parents.get(node)
        while around is not None:
            yield around
            around = self._parents.get(around)

    def node(self, node: nodes.CSTNode) -> cst.CSTNode:
        """The LibCST node of a node. Raises NoTree where there is none."""
        kind = type(node).__name__
        if isinstance(node, nodes.SimpleStatementLine):
            small = self.node(node.body[0])
            return self._parents.get(small, small)
        if isinstance(node, (nodes.Arg, nodes.Element)):
            return self._parents[self.node(node.value)]
        for one in _KINDS.get(kind, (kind,)):
            found = self._found.get((one, node.place))
            if found is not None:
                return found
        raise NoTree


_TREES: WeakKeyDictionary[Unit, Tree] = WeakKeyDictionary()


def tree_of(unit: Unit) -> Tree:
    """A statement as LibCST parses it, parsed once. Raises NoTree where LibCST does not parse it."""
    known = _TREES.get(unit)
    if known is None:
        known = _TREES[unit] = Tree(unit)
    return known


def node_of(origin: Origin) -> cst.CSTNode:
    """The LibCST node of a place, always the same one. Raises NoTree where there is none."""
    return tree_of(origin.unit).node(origin.node)


def expression_of(origin: Origin) -> cst.BaseExpression:
    """The LibCST expression of a place. Raises NoTree where there is none."""
    found = node_of(origin)
    if not isinstance(found, cst.BaseExpression):
        raise NoTree
    return found


def code(node: cst.CSTNode) -> str:
    """The text of a LibCST node, with its parentheses."""
    return cst.Module([]).code_for_node(node).strip()


def lowered(node: cst.BaseExpression) -> nodes.BaseExpression:
    """A LibCST expression that was made, as the engine reads it."""
    text = f"({code(node)})"
    (line,) = lower(ast.parse(text).body, text.splitlines(keepends=True)).body
    assert isinstance(line, nodes.SimpleStatementLine)
    (statement,) = line.body
    assert isinstance(statement, nodes.Expr)
    return statement.value
