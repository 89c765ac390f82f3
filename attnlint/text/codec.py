"""Findings and sites as plain JSON values and back, for the cache. Reading checks every type and never makes anything but values."""

from __future__ import annotations

from typing import Any

from attnlint.model import Caller, Edit, Finding, Fix, LintResult, Position, Site, Span, Step
from attnlint.text.source import Problem


class Malformed(Exception):
    """A stored value is not what it should be."""


def dump_result(result: LintResult) -> dict[str, Any]:
    """The values of a LintResult, without its dependencies."""
    return {
        "findings": [_finding(one) for one in result.findings],
        "sites": [_site(one) for one in result.sites],
        "notes": list(result.notes),
    }


def load_result(value: Any, dependencies: tuple[str, ...]) -> LintResult:
    """Raises Malformed."""
    try:
        return LintResult(
            tuple(_read_finding(one) for one in value["findings"]),
            tuple(_read_site(one) for one in value["sites"]),
            dependencies,
            tuple(_text(one) for one in value["notes"]),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise Malformed(str(error)) from None


def dump_problem(problem: Problem) -> list[Any]:
    return [problem.position.row, problem.position.column, problem.message]


def load_problem(value: Any) -> Problem:
    """Raises Malformed."""
    try:
        row, column, message = value
        return Problem(Position(_number(row), _number(column)), _text(message))
    except (TypeError, ValueError) as error:
        raise Malformed(str(error)) from None


def _span(span: Span) -> list[int]:
    return [span.start.row, span.start.column, span.end.row, span.end.column]


def _read_span(value: Any) -> Span:
    row, column, end_row, end_column = map(_number, value)
    return Span(Position(row, column), Position(end_row, end_column))


def _steps(steps: tuple[Step, ...]) -> list[list[Any]]:
    return [[step.label, step.text, step.row, step.filename] for step in steps]


def _read_steps(value: Any) -> tuple[Step, ...]:
    return tuple(
        Step(_text(label), _text(text), None if row is None else _number(row), None if filename is None else _text(filename))
        for label, text, row, filename in value
    )


SITE_TEXTS = ("query", "key", "contraction", "scale", "expected", "ratio", "reason", "path")


def _site(site: Site) -> list[Any]:
    texts = [getattr(site, name) for name in SITE_TEXTS]
    via = None if site.via is None else [site.via.filename, site.via.row, site.via.qualname]
    return [site.filename, _span(site.span), site.qualname, site.verdict, texts, site.cell, _steps(site.derivation), via, [*site.evidence]]


def _read_site(value: Any) -> Site:
    filename, span, qualname, verdict, texts, cell, derivation, via, evidence = value
    if len(texts) != len(SITE_TEXTS):
        raise Malformed("site")
    named = {name: None if text is None else _text(text) for name, text in zip(SITE_TEXTS, texts, strict=True)}
    return Site(
        filename=_text(filename),
        span=_read_span(span),
        qualname=_text(qualname),
        verdict=_text(verdict),
        cell=None if cell is None else _number(cell),
        derivation=_read_steps(derivation),
        via=None if via is None else _read_caller(via),
        evidence=tuple(map(_text, evidence)),
        **named,
    )


def _read_caller(value: Any) -> Caller:
    filename, row, qualname = value
    return Caller(_text(filename), _number(row), _text(qualname))


def _finding(one: Finding) -> list[Any]:
    fix = (
        None if one.fix is None else [one.fix.applicability, one.fix.message, [[edit.content, _span(edit.span)] for edit in one.fix.edits]]
    )
    site = None if one.site is None else _site(one.site)
    return [one.code, one.name, one.message, one.filename, _span(one.span), site, fix, _steps(one.derivation), one.severity, one.preview]


def _read_finding(value: Any) -> Finding:
    code, name, message, filename, span, site, fix, derivation, severity, preview = value
    return Finding(
        code=_text(code),
        name=_text(name),
        message=_text(message),
        filename=_text(filename),
        span=_read_span(span),
        site=None if site is None else _read_site(site),
        fix=None if fix is None else _read_fix(fix),
        derivation=_read_steps(derivation),
        severity=_text(severity),
        preview=bool(preview),
    )


def _read_fix(value: Any) -> Fix:
    applicability, message, edits = value
    return Fix(_text(applicability), _text(message), tuple(Edit(_text(content), _read_span(span)) for content, span in edits))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Malformed(repr(value))
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Malformed(repr(value))
    return value
