"""Edits of a source text by LibCST nodes: replace an expression, add an argument."""

from __future__ import annotations

import libcst as cst

from attnlint.domain.values import Origin
from attnlint.model import Edit, Position, Span


def replace(origin: Origin, content: str) -> Edit:
    """Put a text in the place of an expression, inside whatever parentheses stand around it."""
    return Edit(content, origin.unit.span(origin.node))


def wrap(origin: Origin, before: str, after: str) -> tuple[Edit, Edit]:
    """Put texts around an expression."""
    span = origin.unit.span(origin.node)
    return Edit(before, Span(span.start, span.start)), Edit(after, Span(span.end, span.end))


def add_argument(origin: Origin, text: str) -> Edit | None:
    """Add an argument at the end of a call; None where the call has a form in which that is not plain."""
    call = origin.node
    if not isinstance(call, cst.Call):
        return None
    if call.args:
        end = origin.unit.span(call.args[-1]).end
        return Edit(f", {text}", Span(end, end))
    if call.lpar or call.whitespace_before_args.empty is False:
        return None
    span = origin.unit.span(call)
    place = Position(span.end.row, span.end.column - 1)
    return Edit(text, Span(place, place))


def is_torch(origin: Origin) -> bool:
    """Whether the file that holds an expression imports PyTorch."""
    return any(found.module.split(".")[0] == "torch" for found in origin.unit.scope.imports.values())
