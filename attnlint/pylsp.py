"""The plug-in of python-lsp-server: attnlint's findings among its own, for editors that speak to that server already.

Found by entry point as soon as both are installed; `pylsp.plugins.attnlint.enabled = false` in the server's settings switches it off.
"""

from __future__ import annotations

import os
from typing import Any

from pylsp import hookimpl

from attnlint.config import ConfigError
from attnlint.editor import Judged, Linter, Opened, Text
from attnlint.hover import markdown
from attnlint.model import Position, Span
from attnlint.text.buffers import Lines, Point

ENCODING = "utf-16"
_linter = Linter()


@hookimpl
def pylsp_settings() -> dict[str, Any]:
    """On, unless the editor's settings say otherwise."""
    return {"plugins": {"attnlint": {"enabled": True}}}


@hookimpl
def pylsp_lint(workspace: Any, document: Any) -> list[dict[str, Any]]:
    """The findings of a document as it stands in the editor."""
    judged = _judge(workspace, document)
    if judged is None:
        return []
    return [
        {
            "source": "attnlint",
            "code": one.finding.code,
            "message": "\n".join([f"{one.finding.name}: {one.finding.message}", *(f"{s.label}: {s.text}" for s in one.finding.derivation)]),
            "severity": 1,
            "range": _range(judged, one.finding.span),
        }
        for one in judged.diagnostics
    ]


@hookimpl
def pylsp_hover(workspace: Any, document: Any, position: dict[str, int]) -> dict[str, Any] | None:
    """The derivation over a softmax, a kernel, or the expression at fault; None elsewhere, so that other plug-ins answer."""
    judged = _judge(workspace, document)
    if judged is None:
        return None
    at = Lines(document.source, ENCODING).position(Point(position["line"], position["character"]))
    sites = judged.at(document.uri, Position(at.row, at.column))
    return {"contents": {"kind": "markdown", "value": markdown(sites, judged.diagnostics, judged.where)}} if sites else None


def _judge(workspace: Any, document: Any) -> Judged | None:
    path = os.path.abspath(document.path or "untitled.py")
    root = os.path.abspath(getattr(workspace, "root_path", None) or os.path.dirname(path))
    _linter.forget()
    try:
        return _linter.judge(Opened(document.uri, path, root, (Text(document.uri, "python", document.source, document.version),)))
    except ConfigError:
        return None  # attnlint's own command line says what is wrong with the settings


def _range(judged: Judged, span: Span) -> dict[str, Any]:
    region = judged.region(span)
    lines = Lines(judged.opened.texts[0].text, ENCODING)
    start, end = lines.point(region.start), lines.point(region.end)
    return {
        "start": {"line": start.line, "character": start.character},
        "end": {"line": end.line, "character": end.character},
    }
