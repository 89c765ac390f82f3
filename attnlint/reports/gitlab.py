"""GitLab code quality report: a JSON array with a fingerprint that survives moved lines."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attnlint.baseline import statement_text
from attnlint.reports.escape import json_text

if TYPE_CHECKING:
    from attnlint.session import Diagnostic


def document(diagnostics: Sequence[Diagnostic]) -> str:
    """The report. Fingerprints are of path, code and statement, numbered where these are the same."""
    return json_text(_entries(diagnostics), 2)


def _entries(diagnostics: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    seen: Counter[tuple[str, ...]] = Counter()
    entries = []
    for one in diagnostics:
        start, end = one.in_file(one.finding.span.start), one.in_file(one.finding.span.end)
        entries.append(
            {
                "description": f"{one.finding.code} {one.finding.name}: {one.finding.message}",
                "check_name": one.finding.code,
                "fingerprint": fingerprint(one, seen),
                "severity": "minor" if one.finding.severity == "warning" else "major",
                "location": {
                    "path": one.path,
                    "positions": {"begin": {"line": start.row, "column": start.column}, "end": {"line": end.row, "column": end.column}},
                    "lines": {"begin": start.row, "end": end.row},
                },
            }
        )
    return entries


def fingerprint(one: Diagnostic, seen: Counter[tuple[str, ...]]) -> str:
    """A hash that stays while path, code and statement do; `seen` numbers equal ones."""
    parts = (one.path, one.finding.code, statement_text(one))
    seen[parts] += 1
    text = "\0".join([*parts, str(seen[parts])])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:40]
