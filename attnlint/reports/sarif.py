"""SARIF 2.1.0: rules with their help, results with regions in code points, fixes as artifact changes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from attnlint._version import __version__
from attnlint.model import Position
from attnlint.reports.escape import json_text, visible
from attnlint.reports.gitlab import fingerprint

if TYPE_CHECKING:
    from attnlint.registry import RuleMeta
    from attnlint.session import Diagnostic

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def document(diagnostics: Sequence[Diagnostic]) -> str:
    """The log of one run. It names the rules that the results refer to."""
    rules: dict[str, RuleMeta] = {one.rule.code: one.rule for one in diagnostics if one.rule is not None}
    codes = sorted(rules)
    seen: Counter[tuple[str, ...]] = Counter()
    run = {
        "tool": {
            "driver": {
                "name": "attnlint",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rules[code]) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": _file_uri(os.getcwd()) + "/"}},
        "results": [_result(one, codes, seen) for one in diagnostics],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, 2)


def _rule(rule: RuleMeta) -> dict[str, Any]:
    from attnlint.registry import sections

    texts = sections(rule.docs)
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.summary or rule.name},
        "fullDescription": {"text": texts.get("Why is this bad") or rule.summary or rule.name},
        "help": {"text": rule.docs or rule.name, "markdown": rule.docs or rule.name},
        **({"helpUri": rule.url} if rule.url else {}),
        "defaultConfiguration": {"level": "warning" if rule.code == "ATT001" else "error"},
        "properties": {"tags": ["attention", rule.name]},
    }


def _result(one: Diagnostic, codes: Sequence[str], seen: Counter[tuple[str, ...]]) -> dict[str, Any]:
    finding = one.finding
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(one.path), "region": _region(one, finding.span.start, finding.span.end)}
    }
    logical = []
    if finding.site is not None and finding.site.qualname:
        logical.append({"fullyQualifiedName": visible(finding.site.qualname), "kind": "function"})
    if one.start.cell is not None:
        logical.append({"name": f"cell {one.start.cell}"})
    if logical:
        location["logicalLocations"] = logical
    lines = [f"{finding.name}: {finding.message}", *(f"{step.label}: {step.text}" for step in finding.derivation)]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": "warning" if finding.severity == "warning" else "error",
        "message": {"text": "\n".join(map(visible, lines))},
        "locations": [location],
        "partialFingerprints": {"statement/v1": fingerprint(one, seen)},
    }
    related = [
        {
            "message": {"text": visible(f"{step.label}: {step.text}")},
            "physicalLocation": {"artifactLocation": _artifact(step.filename), "region": {"startLine": step.row}},
        }
        for step in finding.derivation
        if step.filename is not None and step.row is not None
    ]
    if related:
        result["relatedLocations"] = related
    if finding.code in codes:
        result["ruleIndex"] = list(codes).index(finding.code)
    if finding.fix is not None:
        changes = [
            {"deletedRegion": _plain_region(start, end), "insertedContent": {"text": content}}
            for start, end, content in one.document.file_edits(finding.fix.edits)
        ]
        if changes:
            described = f"{finding.fix.message} ({finding.fix.applicability})"
            fix = {
                "description": {"text": visible(described)},
                "artifactChanges": [{"artifactLocation": _artifact(one.path), "replacements": changes}],
            }
            result["fixes"] = [fix]
    return result


def _region(one: Diagnostic, start: Position, end: Position) -> dict[str, int]:
    return _plain_region(one.in_file(start), one.in_file(end))


def _plain_region(start: Position, end: Position) -> dict[str, int]:
    return {"startLine": start.row, "startColumn": start.column, "endLine": end.row, "endColumn": end.column}


def _artifact(path: str) -> dict[str, str]:
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    if relative.startswith(os.pardir) or os.path.isabs(relative):
        return {"uri": _file_uri(os.path.abspath(path))}
    return {"uri": quote(os.fsencode(relative.replace(os.sep, "/"))), "uriBaseId": "SRCROOT"}


def _file_uri(path: str) -> str:
    text = os.fsencode(path.replace(os.sep, "/"))
    return "file://" + ("" if text.startswith(b"/") else "/") + quote(text)
