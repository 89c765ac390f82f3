"""Syntax of a newer Python than the one that runs: what an older parser refuses is blanked out, and every row and column stays.

Type parameters (PEP 695), `type` statements and f-strings that hold their own quotes, backslashes or line ends (PEP 701) say nothing
about attention, and are no error of the file.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import libcst as cst

_NEWEST = (3, 12)
_HINT = re.compile(
    r"^[ \t]*type[ \t]+\w+[^\n=]{0,300}=|\b(?:def|class)[ \t]+\w+[ \t]*\["
    r"|\b[rR]?[fF][rR]?(?:\"[^\"'\n]{0,300}\{[^}\"\n]{0,300}(?:\"|\\|$)|'[^\"'\n]{0,300}\{[^}'\n]{0,300}(?:'|\\|$))",
    re.MULTILINE,
)


def readable(program: str) -> str:
    """The text with what only a newer Python reads blanked out; as it is, where there is nothing of that or it still does not parse."""
    if sys.version_info >= _NEWEST or _HINT.search(program) is None or _parses(program):
        return program
    plain = _blanked(program)
    return plain if plain is not None and _parses(plain) else program


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<source>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _blanked(program: str) -> str | None:
    """None where LibCST, whose grammar is that of a newer Python, does not read the text either."""
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider

    try:
        wrapper = MetadataWrapper(cst.parse_module(program), unsafe_skip_copy=True)
        places = wrapper.resolve(PositionProvider)
    except (cst.ParserSyntaxError, cst.CSTValidationError, RecursionError, MemoryError):
        return None
    starts = [0]
    for line in program.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    chars = list(program)

    def span(node: Any) -> tuple[int, int]:
        place = places[node]
        return starts[place.start.line - 1] + place.start.column, starts[place.end.line - 1] + place.end.column

    for node in _newer(wrapper.module):
        start, end = span(node)
        if isinstance(node, cst.TypeAlias):
            chars[start : start + 4] = "0;  "  # `type X = …` is an assignment like any other
        elif isinstance(node, cst.TypeParameters):
            chars[start:end] = _spaces(program[start:end])
        elif not _parses(f"({program[start:end]})"):
            quotes = '"""' if "\n" in program[start:end] else '"'
            inside = _spaces(program[start + len(quotes) : end - len(quotes)])
            chars[start:end] = [*quotes, *inside, *quotes]
    return "".join(chars)


def _newer(module: cst.Module) -> Iterator[cst.CSTNode]:
    """The nodes that may need it, the outer ones last, so that what is blanked within one is blanked with it."""
    import libcst as cst

    kinds = (cst.TypeAlias, cst.TypeParameters, cst.FormattedString)
    found: list[cst.CSTNode] = []
    pending: list[cst.CSTNode] = [module]
    while pending:
        node = pending.pop()
        if isinstance(node, kinds):
            found.append(node)
        pending += node.children
    return reversed(found)


def _spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
