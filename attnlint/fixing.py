"""Applies fixes: no two that overlap, nothing changed but what an edit names, checked by parsing again and comparing the syntax trees."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from attnlint.model import Edit, Position, Span
from attnlint.session import Diagnostic
from attnlint.text.source import Document, FixRefused, TextMap, load

MAX_PASSES = 10


@dataclass
class FixedFile:
    """What fixing did to one file: its bytes before and after, which findings went, and what was refused."""

    path: str
    absolute: str
    before: bytes
    after: bytes
    applied: list[tuple[str, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return self.after != self.before


def fix_file(
    first: Sequence[Diagnostic],
    allowed: Callable[[Diagnostic], bool],
    again: Callable[[str, bytes], Sequence[Diagnostic]],
) -> FixedFile:
    """Fixes the findings of one file until none is left that can be. `again` gives the findings of its new bytes."""
    document = first[0].document
    fixed = FixedFile(first[0].path, first[0].absolute, document.data, document.data)
    seen = {document.data}
    diagnostics = first
    for _ in range(MAX_PASSES):
        chosen = choose(one for one in diagnostics if one.finding.fix is not None and allowed(one))
        data, applied = _apply_what_holds(document, chosen, fixed.refused)
        if data in seen:
            break
        seen.add(data)
        fixed.after = data
        fixed.applied += [(one.finding.code, one.finding.name) for one in applied]
        document = load(data, fixed.absolute)
        diagnostics = again(fixed.absolute, data)
    return fixed


def choose(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Those fixes, in order of place, whose edits do not overlap; the others wait for the next pass."""
    chosen: list[Diagnostic] = []
    taken: list[Edit] = []
    for one in sorted(diagnostics, key=lambda one: (one.finding.span, one.finding.code)):
        assert one.finding.fix is not None
        edits = one.finding.fix.edits
        if edits and not any(_clash(edit, other) for edit in edits for other in taken):
            chosen.append(one)
            taken += edits
    return chosen


def _clash(edit: Edit, other: Edit) -> bool:
    if edit == other:
        return edit.span.start != edit.span.end  # the same insertion, such as an import, is made once
    if edit.span.start == edit.span.end or other.span.start == other.span.end:
        return edit.span.start <= other.span.end and other.span.start <= edit.span.end
    return edit.span.start < other.span.end and other.span.start < edit.span.end


def _apply_what_holds(document: Document, chosen: Sequence[Diagnostic], refused: list[str]) -> tuple[bytes, list[Diagnostic]]:
    """All of them at once where that holds; else one after the other, leaving out those that do not."""
    if not chosen:
        return document.data, []
    try:
        return rewrite(document, _edits(chosen), chosen[0].absolute), list(chosen)
    except FixRefused:
        pass
    good: list[Diagnostic] = []
    data = document.data
    for one in chosen:
        try:
            data = rewrite(document, _edits([*good, one]), one.absolute)
        except FixRefused as error:
            start = one.start
            cell = f"cell {start.cell}:" if start.cell is not None else ""
            refused.append(f"{one.path}:{cell}{start.row}:{start.column}: {one.finding.code} not fixed: {error}")
        else:
            good.append(one)
    return data, good


def _edits(diagnostics: Iterable[Diagnostic]) -> list[Edit]:
    return list(dict.fromkeys(edit for one in diagnostics if one.finding.fix is not None for edit in one.finding.fix.edits))


def rewrite(document: Document, edits: Sequence[Edit], absolute: str) -> bytes:
    """The new bytes of a file. Raises FixRefused unless they parse and differ from the old ones in the edited expressions only."""
    edits = document.fitted(edits)
    data = document.rewrite(edits)
    after = load(data, absolute)
    if after.program != TextMap(document.program).edited(edits):
        raise FixRefused("the file written would not be the file meant")
    if [one.message for one in after.problems] != [one.message for one in document.problems]:
        raise FixRefused("the file would no longer parse")
    old, new = parse(document.program), parse(after.program)
    if new is None or old is None:
        raise FixRefused("the file would no longer parse")
    try:
        if not Comparison(document.program, edits, old).same(old, new):
            raise FixRefused("more would change than the expression at fault")
    except RecursionError:
        raise FixRefused("the file is nested too deeply to check the fix") from None
    return data


def parse(program: str) -> ast.Module | None:
    """The syntax tree of a program; cells may await at the top level."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = compile(program, "<source>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    assert isinstance(tree, ast.Module)
    return tree


class Comparison:
    """Whether two trees differ only where edits of the first one say so."""

    def __init__(self, program: str, edits: Sequence[Edit], old: ast.Module) -> None:
        self._rows = program.split("\n")
        self._touched = [self._in_bytes(_without_parentheses(edit.span, TextMap(program))) for edit in edits]
        self._free: set[int] = set()
        for start, end in self._touched:
            self._mark(old, start, end)

    def _in_bytes(self, span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
        return self._point(span.start), self._point(span.end)

    def _point(self, position: Position) -> tuple[int, int]:
        row = self._rows[position.row - 1] if position.row <= len(self._rows) else ""
        return position.row, len(row[: position.column - 1].encode("utf-8", "surrogatepass"))

    def _mark(self, tree: ast.Module, start: tuple[int, int], end: tuple[int, int]) -> None:
        """The innermost node around an edit may become anything; so may each expression and block that an insertion is at the edge of."""
        innermost: ast.AST = tree
        boundary: list[ast.AST] = []
        pending: list[ast.AST] = [tree]
        while pending:
            node = pending.pop()
            extent = _extent(node)
            if extent is not None:
                if not (extent[0] <= start and end <= extent[1]):
                    continue
                innermost = node
                if start == end and isinstance(node, ast.expr) and start in extent:
                    boundary.append(node)
            children = list(ast.iter_child_nodes(node))
            if start == end and any(isinstance(child, ast.stmt) and start in (_extent(child) or ()) for child in children):
                boundary.append(node)  # a statement put in before or after one of its own
            if start == end and isinstance(node, ast.Call) and any(start == (_extent(child) or (0, 0))[1] for child in children):
                boundary.append(node)  # an argument put in after one of its own
            if start != end and any(isinstance(child, ast.stmt) and _extent(child) == (start, end) for child in children):
                boundary.append(node)  # one of its own taken away
            pending += children
        self._free.update(id(node) for node in (innermost, *boundary))

    def _is_touched(self, node: ast.AST) -> bool:
        extent = _extent(node)
        return extent is not None and any(start <= extent[1] and extent[0] <= end for start, end in self._touched)

    def same(self, old: object, new: object) -> bool:
        if isinstance(old, ast.AST):
            if type(old) is type(new) and all(self.same(left, right) for left, right in _fields(old, new)):
                return True
            if id(old) not in self._free:
                return False
            return not isinstance(old, (ast.stmt, ast.Module)) or (type(old) is type(new) and self._aligned(old, new))
        if isinstance(old, list):
            return isinstance(new, list) and len(old) == len(new) and all(map(self.same, old, new))
        return type(old) is type(new) and (old == new or repr(old) == repr(new))  # nan is not equal to itself

    def _aligned(self, old: ast.AST, new: object) -> bool:
        """Statements that no edit touches are all still there, in order; others may have come between them."""
        for left, right in _fields(old, new):
            if isinstance(left, list) and isinstance(right, list) and any(isinstance(one, ast.stmt) for one in (*left, *right)):
                rest = iter(right)
                if not all(any(self.same(one, other) for other in rest) for one in left if not self._is_touched(one)):
                    return False
        return True


def _fields(old: ast.AST, new: object) -> Iterator[tuple[object, object]]:
    for name in old._fields:
        if name != "kind":
            yield getattr(old, name, None), getattr(new, name, None)


def _extent(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]] | None:
    if not hasattr(node, "lineno") or node.end_lineno is None or node.end_col_offset is None:  # type: ignore[attr-defined]
        return None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def _without_parentheses(span: Span, text: TextMap) -> Span:
    """The span without parentheses and blanks around it: the syntax tree does not have them."""
    start, end = text.offset(span.start), text.offset(span.end)
    content = text.text
    while start < end:
        if content[start].isspace():
            start += 1
        elif content[end - 1].isspace():
            end -= 1
        elif content[start] == "(" and content[end - 1] == ")" and _closes(content[start:end]):
            start, end = start + 1, end - 1
        else:
            break
    return Span(text.position(start), text.position(end))


def _closes(text: str) -> bool:
    """Whether the first parenthesis is closed by the last character."""
    depth = 0
    for index, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0:
            return index == len(text) - 1
    return False


def unified_diff(one: FixedFile) -> Iterator[str]:
    """The change of a file as a unified diff of its text; a notebook's is of the file as it lies on disk."""
    import difflib

    from attnlint.reports.escape import visible
    from attnlint.text.source import decode

    before, after = (decode(data)[0] or data.decode("utf-8", "backslashreplace") for data in (one.before, one.after))
    name = visible(one.path)
    for line in difflib.unified_diff(_lines(before), _lines(after), name, name, lineterm="\n"):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    pieces = text.split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
