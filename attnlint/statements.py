"""Where statements begin and end, so that a comment, a baseline entry or an edit can be tied to the statement of a finding."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_right
from collections.abc import Iterator

from attnlint.model import Position, Span


class Statements:
    """The statements of a program; a compound statement reaches to its header's end only."""

    def __init__(self, program: str) -> None:
        self._rows = program.split("\n")
        self._spans: list[tuple[int, int]] = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(program)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = None
        self._blocks: list[tuple[int, int]] = []
        if tree is not None:
            self._blocks = [(_first_row(node), node.end_lineno or node.lineno) for node in tree.body]
            self._spans = sorted(set(_row_spans(tree, self._rows)))
        self._starts = [start for start, _ in self._spans]

    def around(self, row: int) -> tuple[int, int]:
        """First and last row of the innermost statement that a row belongs to; the row itself where there is none."""
        for index in range(bisect_right(self._starts, row) - 1, -1, -1):
            start, end = self._spans[index]
            if start <= row <= end:
                return start, end
        return row, row

    def block(self, row: int) -> tuple[int, int]:
        """First and last row of the top-level definition or statement that a row belongs to."""
        return next((block for block in self._blocks if block[0] <= row <= block[1]), (row, row))

    def begins(self, row: int) -> bool:
        """Whether a statement begins on the row."""
        index = bisect_right(self._starts, row) - 1
        return index >= 0 and self._starts[index] == row

    def next_after(self, row: int) -> tuple[int, int] | None:
        """The statement that begins on the first code row after `row`."""
        index = bisect_right(self._starts, row)
        return self._spans[index] if index < len(self._spans) else None

    def span(self, row: int) -> Span:
        first, last = self.around(row)
        return Span(Position(first, 1), Position(last, len(self._rows[last - 1]) + 1 if last <= len(self._rows) else 1))

    def text(self, row: int) -> str:
        """The statement's source with white space made even, which is what a baseline remembers."""
        first, last = self.around(row)
        return " ".join(" ".join(self._rows[first - 1 : last]).split())


def _row_spans(tree: ast.Module, rows: list[str]) -> Iterator[tuple[int, int]]:
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            children = getattr(node, name, None)
            if isinstance(children, list):
                pending += children
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            yield _extent(node, rows)


def _extent(node: ast.stmt | ast.ExceptHandler, rows: list[str]) -> tuple[int, int]:
    start = _first_row(node)
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not isinstance(body, list) or not body:
        return start, node.end_lineno or node.lineno
    end = max(_first_row(body[0]) - 1, start)
    while end > start and rows[end - 1].lstrip()[:1] in ("", "#"):  # comments above the first statement of the body belong to that
        end -= 1
    return start, end


def _first_row(node: ast.AST) -> int:
    own = node.pattern.lineno if isinstance(node, ast.match_case) else getattr(node, "lineno", 1)
    return min([own, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
