"""GitHub annotations: one workflow command a finding, escaped so that nothing of a file can be a command of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlint.reports.escape import visible

if TYPE_CHECKING:
    from attnlint.session import Diagnostic


def document(diagnostics: Sequence[Diagnostic]) -> str:
    """The annotations, one a line."""
    return "\n".join(_annotation(one) for one in diagnostics)


def _annotation(one: Diagnostic) -> str:
    start, end = one.in_file(one.finding.span.start), one.in_file(one.finding.span.end)
    level = "warning" if one.finding.severity == "warning" else "error"
    properties = {
        "title": f"attnlint ({one.finding.code})",
        "file": one.path,
        "line": str(start.row),
        "col": str(start.column),
        "endLine": str(end.row),
        "endColumn": str(end.column),
    }
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    cell = f"cell {one.start.cell}:" if one.start.cell is not None else ""
    text = f"{one.path}:{cell}{one.start.row}:{one.start.column}: {one.finding.code} {one.finding.name}: {one.finding.message}"
    return f"::{level} {listed}::{_data(text)}"


def _data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return visible(escaped)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
