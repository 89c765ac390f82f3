"""The core: a source text to findings and sites. Every front end is a thin caller of `lint_text`."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from attnlint.domain.record import Call
from attnlint.domain.values import Origin
from attnlint.fixes.settled import settled
from attnlint.model import Caller, Finding, LintResult, Position, Site, Span
from attnlint.rule import Rule, ScaleRule, all_rules, scale_tests
from attnlint.sites import callers, derivation, naming
from attnlint.sites.analysis import Analysis
from attnlint.sites.sites import AttentionSite
from attnlint.syntax.project import Project
from attnlint.syntax.scope import ModuleScope

_NUMBER = "ATT109"  # a caller's numbers may fit a number whose fault another rule names


def lint_text(text: str, path: str, project: Project | None = None, rules: Sequence[type[Rule]] | None = None) -> LintResult:
    """Every site of a source text, and every finding of every rule (preview rules too); a fix only where it settles its finding.

    `path` names the file in findings and resolves its imports inside `project`. Raises SyntaxError where the text does
    not parse.
    """
    tree = project or Project([os.path.dirname(path) or "."])

    def text_of(name: str) -> str | None:
        if name == path:
            return text
        module = tree.module_at(name)
        return module.text if module is not None else None

    def again(changed: Mapping[str, str]) -> LintResult | None:
        elsewhere = {name: new for name, new in changed.items() if name != path}
        try:
            return _judge(changed.get(path, text), path, tree.with_texts(elsewhere) if elsewhere else tree, rules)
        except (SyntaxError, ValueError, RecursionError):
            return None

    with _collector_off():
        return settled(_judge(text, path, tree, rules), text_of, again)


@contextmanager
def _collector_off() -> Iterator[None]:
    """No cyclic collection meanwhile: nearly all that is made for a file is kept until its end, and each round would look at it again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _judge(text: str, path: str, project: Project, rules: Sequence[type[Rule]] | None) -> LintResult:
    """Sites and findings of a text, with every fix that a rule made."""
    scope = ModuleScope.read(path, text)
    chosen = all_rules() if rules is None else tuple(rules)
    faults = scale_tests({rule.code: rule for rule in (*all_rules(), *chosen)}.values())  # a verdict hangs on no selection
    analysis = Analysis(scope, project, faults)
    judged = analysis.run()
    active = [rule() for rule in chosen]
    findings: list[Finding] = []
    sites: list[Site] = []
    for attention_site in judged:
        public = site_of(attention_site)
        sites.append(public)
        called_at = attention_site.record.called_at
        if called_at is not None:  # the call of an attention function is a site too, as that of a fused kernel is
            sites.append(_at_call(public, attention_site, called_at))
        for rule in active:
            for report in rule.check(attention_site):
                origin, fix, message = report.origin, report.fix, report.message
                if (blamed := callers.blamed(attention_site, origin, path)) is not None:
                    origin, fix, message = blamed.origin, None, f"{message}{blamed.words}"
                findings.append(
                    Finding(
                        rule.code,
                        rule.name,
                        message,
                        origin.unit.scope.path,
                        origin.unit.span(origin.node),
                        public,
                        fix,
                        public.derivation if report.steps is None else report.steps,
                        rule.severity,
                        rule.preview or report.preview,
                    )
                )
    for attention_site in analysis.open_calls:
        called_at = attention_site.record.called_at
        assert called_at is not None
        sites.append(_at_call(site_of(attention_site), attention_site, called_at))
    findings.sort(key=lambda found: (found.preview, found.code == _NUMBER))  # what is certain stands
    scales = {rule.code for rule in active if isinstance(rule, ScaleRule)}  # one fault of the scale, one finding
    unique = {("scale" if f.code in scales else f.code, f.filename, f.span): f for f in reversed(findings)}
    ordered = sorted(unique.values(), key=lambda f: (f.filename, f.span, f.code))
    return LintResult(
        tuple(ordered), tuple(sites), tuple(sorted(analysis.interpreter.dependencies)), tuple(dict.fromkeys(analysis.interpreter.notes))
    )


def _at_call(public: Site, site: AttentionSite, call: Origin) -> Site:
    """A site as its caller sees it: at the call of the function that holds the product."""
    place = call.unit.scope.path, call.unit.span(call.node)
    return replace(public, filename=place[0], span=place[1], qualname=site.record.called_from, via=None)


def site_of(site: AttentionSite) -> Site:
    """The plain values of a judged site."""
    record = site.record
    anchor = record.anchor or record.softmax
    span = anchor.unit.span(anchor.node) if anchor is not None else Span(Position(1, 1), Position(1, 1))
    filename = anchor.unit.scope.path if anchor is not None else record.scope.path

    return Site(
        filename,
        span,
        record.qualname,
        derivation.name_of(site.query),
        derivation.name_of(site.key),
        naming.text(site, site.contraction),
        naming.text(site, site.scale),
        naming.text(site, site.expected),
        naming.text(site, site.ratio),
        site.verdict,
        site.reason if site.verdict != "faulty" else site.kind,
        site.path,
        None,
        derivation.steps(site),
        _caller(site.via),
        site.evidence,
    )


def _caller(via: Call | None) -> Caller | None:
    if via is None:
        return None
    return Caller(via.origin.unit.scope.path, via.origin.unit.span(via.origin.node).start.row, via.qualname)
