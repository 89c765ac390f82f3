"""The `json` and `json-lines` outputs: one object a finding or a site, as the documentation of the command line has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlint.model import Edit, Finding, Site, Step

if TYPE_CHECKING:
    from attnlint.session import Diagnostic, SiteView
    from attnlint.text.source import Document, Place


def location(place: Place) -> dict[str, int]:
    return {"row": place.row, "column": place.column}


def edit_object(edit: Edit, document: Document) -> dict[str, Any]:
    start, end = document.place(edit.span.start), document.place(edit.span.end)
    return {"content": edit.content, "location": location(start), "end_location": location(end)}


def site_summary(finding: Finding) -> dict[str, Any] | None:
    site = finding.site
    if site is None:
        return None
    named = {name: getattr(site, name) for name in ("query", "key", "contraction", "scale", "expected", "ratio", "qualname")}
    return {**named, "evidence": list(site.evidence)}


def finding_object(one: Diagnostic) -> dict[str, Any]:
    """One finding as JSON values."""
    finding = one.finding
    fix = finding.fix
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "filename": one.path,
        "cell": one.start.cell,
        "location": location(one.start),
        "end_location": location(one.end),
        "severity": finding.severity,
        "site": site_summary(finding),
        "derivation": [
            {"label": step.label, "text": step.text, "row": step_row(one, step), "filename": step.filename} for step in finding.derivation
        ],
        "fix": None
        if fix is None
        else {
            "applicability": fix.applicability,
            "message": fix.message,
            "edits": [edit_object(edit, one.document) for edit in fix.edits],
        },
        "confirmation": finding.confirmation,
        "noqa_row": noqa_row(one),
        "url": one.rule.url if one.rule is not None else None,
    }


def step_row(one: Diagnostic, step: Step) -> int | None:
    if step.row is None or step.filename is not None:  # a row of another file
        return step.row
    return one.document.place(type(one.finding.span.start)(step.row, 1)).row


def noqa_row(one: Diagnostic) -> int:
    return one.document.place(type(one.finding.span.start)(one.noqa_row, 1)).row


def site_object(one: SiteView) -> dict[str, Any]:
    """One attention site as JSON values."""
    site: Site = one.site
    return {
        "filename": one.path,
        "cell": one.start.cell,
        "location": location(one.start),
        "end_location": location(one.end),
        **{
            name: getattr(site, name)
            for name in ("qualname", "query", "key", "contraction", "scale", "expected", "ratio", "verdict", "reason", "path")
        },
        "via": None if site.via is None else {"filename": site.via.filename, "row": site.via.row, "qualname": site.via.qualname},
        "evidence": list(site.evidence),
    }
