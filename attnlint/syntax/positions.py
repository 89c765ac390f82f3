"""Where the nodes of a LibCST tree stand, noted while the tree is printed, by the rules of LibCST's `PositionProvider`.

The provider itself comes with a wrapper that visits the whole tree beforehand, for metadata that nobody asks for here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState

Place = tuple[int, int]  # row and column as LibCST counts them: from 1, and from 0


def positions(module: cst.Module) -> Mapping[cst.CSTNode, tuple[Place, Place]]:
    """From where to where each node of a module stands."""
    state = _Noting(module)
    module._codegen(state)
    return state.found


class _Noting(CodegenState):
    """What a tree is printed into: keeps the place instead of the text."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.found: dict[cst.CSTNode, tuple[Place, Place]] = {}
        self.row, self.column = 1, 0
        self._starts: list[Place] = []

    def add_token(self, value: str) -> None:
        self.tokens.append(value)  # the tree looks at it where it ends
        if "\n" in value or "\r" in value:
            rows = value.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            self.row += len(rows) - 1
            self.column = len(rows[-1])
        else:
            self.column += len(value)

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._starts.append((self.row, self.column))

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._starts.pop()
        if node not in self.found:  # a node that says itself where it begins and ends is believed
            self.found[node] = start, (self.row, self.column)

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Extent:
        return _Extent(self, node, start_node, end_node)


class _Extent:
    """What a node prints between entering and leaving, or from and to nodes inside it."""

    __slots__ = ("_first", "_last", "_node", "_start", "_state")

    def __init__(self, state: _Noting, node: cst.CSTNode, first: cst.CSTNode | None, last: cst.CSTNode | None) -> None:
        self._state, self._node, self._first, self._last = state, node, first, last

    def __enter__(self) -> None:
        self._start = self._state.row, self._state.column

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        found = self._state.found
        start = found[self._first][0] if self._first is not None else self._start
        end = found[self._last][1] if self._last is not None else (self._state.row, self._state.column)
        found[self._node] = start, end
