"""Edits of a source text: replace an expression, add an argument."""

from __future__ import annotations

from attnlint.domain.values import Origin
from attnlint.model import Edit, Position, Span
from attnlint.syntax import nodes


def replace(origin: Origin, content: str) -> Edit:
    """Put a text in the place of an expression, inside whatever parentheses stand around it."""
    return Edit(content, origin.unit.span(origin.node))


def wrap(origin: Origin, before: str, after: str) -> tuple[Edit, Edit]:
    """Put texts around an expression."""
    span = origin.unit.span(origin.node)
    return Edit(before, Span(span.start, span.start)), Edit(after, Span(span.end, span.end))


def add_argument(origin: Origin, text: str) -> Edit | None:
    """Add an argument at the end of a call; None where the call has a form in which that is not plain."""
    call, unit = origin.node, origin.unit
    if not isinstance(call, nodes.Call):
        return None
    _, _, row, column = call.place
    if call.args:
        given = call.args[-1]
        end = Position(*max(given.place[2:], unit.whole_place(given.value)[2:]))
        return Edit(f", {text}", Span(end, end))
    if unit.is_grouped(call) or not unit.code(call).endswith("()"):
        return None
    place = Position(row, column - 1)
    return Edit(text, Span(place, place))


def is_torch(origin: Origin) -> bool:
    """Whether the file that holds an expression imports PyTorch."""
    return any(found.module.split(".")[0] == "torch" for found in origin.unit.scope.imports.values())
