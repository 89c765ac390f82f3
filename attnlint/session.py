"""One run over many files: analyse, merge over files, suppress, select; what comes out is ready to be printed or fixed."""

from __future__ import annotations

import contextlib
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from attnlint import registry, suppress
from attnlint.analysis import Outcome
from attnlint.config import ConfigError, Resolver, Settings
from attnlint.discover import SourceFile
from attnlint.model import Caller, Finding, Fix, Position, Site, Span, Step
from attnlint.registry import RuleMeta, Selection
from attnlint.statements import Statements
from attnlint.text.files import read
from attnlint.text.source import Document, Place, load

if TYPE_CHECKING:
    from attnlint.cache import Cache

UNUSED = ("ATT001", "unused-suppression")
SYNTAX = ("ATT002", "syntax-error")


@dataclass(frozen=True)
class Diagnostic:
    """A finding as its user sees it: `finding` in program coordinates, places mapped to cells, rows and columns of the file."""

    finding: Finding
    path: str
    absolute: str
    document: Document
    rule: RuleMeta | None
    statement: Span
    noqa_row: int

    @property
    def start(self) -> Place:
        return self.document.place(self.finding.span.start)

    @property
    def end(self) -> Place:
        return self.document.place(self.finding.span.end)

    def in_file(self, position: Position) -> Position:
        """A program position as a row and column of the file as it lies on disk."""
        return self.document.file_position(position)

    @property
    def order(self) -> tuple[object, ...]:
        start = self.start
        end = self.end
        return (self.path, start.cell or 0, start.row, start.column, self.finding.code, end.row, end.column, self.finding.message)


@dataclass(frozen=True)
class SiteView:
    """A site as its user sees it."""

    site: Site
    path: str
    start: Place
    end: Place


@dataclass(frozen=True)
class Seen:
    """What a run looked at: how many files, in how many of them attention stands, and how many sites have which verdict."""

    files: int = 0
    holding: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)


@dataclass
class Run:
    """What a run found, and what kept it from finding more."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    sites: list[SiteView] = field(default_factory=list)
    suppressed: int = 0
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # fixes that were not made, and why
    seconds: dict[str, float] = field(default_factory=dict)
    file_seconds: dict[str, float] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)


class Documents:
    """The documents of the files that something was found in, each read once."""

    def __init__(self, given: dict[str, bytes] | None = None) -> None:
        self._given = given or {}
        self._known: dict[str, Document] = {}

    def get(self, absolute: str) -> Document:
        """Raises OSError where the file can no longer be read."""
        if absolute not in self._known:
            data = self._given[absolute] if absolute in self._given else read(absolute)
            self._known[absolute] = load(data, absolute)
        return self._known[absolute]


def merge_findings(outcomes: Iterable[Outcome]) -> dict[str, list[Finding]]:
    """Findings by the file that they are in, each once, whoever found them."""
    found: dict[str, dict[tuple[object, ...], Finding]] = defaultdict(dict)
    for outcome in outcomes:
        for finding in outcome.result.findings:
            absolute = os.path.abspath(finding.filename)
            found[absolute].setdefault((finding.code, finding.span, finding.preview), finding)
        for problem in outcome.problems:
            here = Span(problem.position, Position(problem.position.row, problem.position.column + 1))
            found[outcome.absolute].setdefault((SYNTAX[0], here), Finding(*SYNTAX, problem.message, outcome.absolute, here))
    return {
        absolute: [one for key, one in findings.items() if not (len(key) == 3 and key[2] and (*key[:2], False) in findings)]
        for absolute, findings in found.items()
    }


def merge_sites(outcomes: Iterable[Outcome]) -> list[Site]:
    """Sites, each once a path: a verdict reached from one file stands over the `unknown` of another."""
    found: dict[tuple[object, ...], dict[tuple[str, Caller | None], Site]] = defaultdict(dict)
    for outcome in outcomes:
        for site in outcome.result.sites:
            key = (os.path.abspath(site.filename), site.span, site.path)
            found[key].setdefault((site.verdict, site.via), site)
    merged: list[Site] = []
    for rows in found.values():
        proved = [site for site in rows.values() if site.verdict != "unknown"]
        callers = {site.via for site in proved}
        open_calls = [site for site in rows.values() if site.verdict == "unknown" and site.via is not None and site.via not in callers]
        merged += [*proved, *open_calls] if proved else open_calls or rows.values()
    return merged


def check(
    outcomes: Sequence[Outcome],
    files: Sequence[SourceFile],
    book: RuleBook,
    with_suppressions: Iterable[str],
    documents: Documents,
) -> Run:
    """Findings of a run after suppression and selection. `with_suppressions` are the files in which a suppression may stand."""
    sites = merge_sites(outcomes)
    run = Run(seen=_seen(files, sites))
    shown = {one.absolute: one.path for one in files}
    by_file = merge_findings(outcomes)
    partly = {outcome.absolute for outcome in outcomes if outcome.problems or outcome.notes or outcome.error}
    unknown: dict[str, list[Site]] = defaultdict(list)
    for site in sites:
        if site.verdict == "unknown":
            unknown[os.path.abspath(site.filename)].append(site)
    resolver = book.resolver
    for absolute in sorted({*by_file, *with_suppressions}):
        settings = resolver.for_file(absolute)
        if absolute not in shown and settings.excluded.match_any_part(absolute):
            continue
        try:
            document = documents.get(absolute)
        except (OSError, ValueError) as error:
            run.errors.append(f"{display(absolute, shown)}: cannot be read: {error}")
            continue
        findings = by_file.get(absolute, [])
        statements = Lazy(document.program)
        suppressions = suppress.find_suppressions(document.program, statements.get)
        open_rows = [site.span.start.row for site in unknown.get(absolute, ())]

        def undecided(
            one: suppress.Suppression,
            judged: bool = absolute in shown and absolute not in partly,
            open_rows: Sequence[int] = open_rows,
            statements: Lazy = statements,
        ) -> bool:
            if not judged or one.form == "ignore-file":
                return not judged or bool(open_rows)
            first, last = statements.get().block(one.rows[1])
            return any(first <= row <= last for row in open_rows)

        verdicts = suppress.apply(findings, suppressions, book.code_and_name, absolute, document.rows, undecided)
        run.suppressed += verdicts.suppressed
        left = [*verdicts.kept, *verdicts.unused]
        if not left:
            continue
        selection = book.selection(settings, absolute)
        for finding in left:
            if selection.allows(finding.code, finding.preview):
                run.diagnostics.append(_diagnostic(finding, absolute, display(absolute, shown), document, statements, book, settings))
            elif finding.code == SYNTAX[0]:
                run.warnings.append(
                    f"{display(absolute, shown)}:{finding.span.start.row}: does not parse, so it was not checked: {finding.message}"
                )
    run.diagnostics.sort(key=lambda one: one.order)
    _collect_trouble(run, outcomes, shown)
    return run


def sites(outcomes: Sequence[Outcome], files: Sequence[SourceFile], documents: Documents) -> Run:
    """The attention sites of a run."""
    run = Run()
    shown = {one.absolute: one.path for one in files}
    for site in merge_sites(outcomes):
        absolute = os.path.abspath(site.filename)
        try:
            document = documents.get(absolute)
        except (OSError, ValueError) as error:
            run.errors.append(f"{display(absolute, shown)}: cannot be read: {error}")
            continue
        seen = site if site.via is None else replace(site, via=_seen_call(site.via, shown, documents))
        run.sites.append(SiteView(seen, display(absolute, shown), document.place(site.span.start), document.place(site.span.end)))
    run.sites.sort(key=_order)
    for outcome in outcomes:
        for problem in outcome.problems:
            run.warnings.append(f"{display(outcome.absolute, shown)}:{problem.position.row}: does not parse: {problem.message}")
    _collect_trouble(run, outcomes, shown)
    return run


def _seen(files: Sequence[SourceFile], sites: Sequence[Site]) -> Seen:
    """A place counts once, however many paths lead to it: as the verdict that asks most of a reader."""
    places: dict[tuple[str, Span], str] = {}
    order = ("correct", "intended", "unknown", "faulty")
    for site in sites:
        place = (os.path.abspath(site.filename), site.span)
        places[place] = max(places.get(place, order[0]), site.verdict, key=order.index)
    return Seen(len(files), len({name for name, _ in places}), Counter(places.values()))


def _seen_call(via: Caller, shown: dict[str, str], documents: Documents) -> Caller:
    """A caller as the user knows its file and row."""
    absolute, row = os.path.abspath(via.filename), via.row
    with contextlib.suppress(OSError, ValueError):
        row = documents.get(absolute).place(Position(row, 1)).row
    return Caller(display(absolute, shown), row, via.qualname)


def _order(one: SiteView) -> tuple[object, ...]:
    via = one.site.via
    caller = (via.filename, via.row, via.qualname) if via is not None else ("", 0, "")
    return (one.path, one.start.cell or 0, one.start, one.end, one.site.path or "", caller, one.site.verdict)


def _collect_trouble(run: Run, outcomes: Sequence[Outcome], shown: dict[str, str]) -> None:
    for outcome in outcomes:
        name = display(outcome.absolute, shown)
        if outcome.error:
            run.errors.append(f"{name}: {outcome.error}")
        run.warnings += [f"{name}: {note}" for note in outcome.notes]
        if outcome.seconds:
            run.file_seconds[name] = sum(outcome.seconds.values())
            for phase, seconds in outcome.seconds.items():
                run.seconds[phase] = run.seconds.get(phase, 0.0) + seconds


def display(absolute: str, shown: dict[str, str]) -> str:
    """A file's name as the user gave it; a file that was not asked for is shown from the current folder."""
    if absolute in shown:
        return shown[absolute]
    relative = os.path.relpath(absolute)
    return absolute if relative.startswith(os.pardir) else relative


class Lazy:
    """The statements of a program, worked out when first asked for."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._statements: Statements | None = None

    def get(self) -> Statements:
        if self._statements is None:
            self._statements = Statements(self._program)
        return self._statements


class RuleBook:
    """The rules, loaded when first needed, and what is selected of them for a file."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.cache: Cache | None = None
        self._plugins = tuple(resolver.run.plugins)
        self._selections: dict[tuple[object, ...], Selection] = {}

    @cached_property
    def rules(self) -> tuple[RuleMeta, ...]:
        known = self.cache.rules() if self.cache is not None else None
        if known is None:
            known = registry.rules(self._plugins)
            if self.cache is not None:
                self.cache.keep_rules(known)
        return known

    def code_and_name(self, word: str) -> tuple[str, str] | None:
        one = registry.find_rule(word, self.rules)
        return (one.code, one.name) if one else None

    def of(self, code: str) -> RuleMeta | None:
        return next((one for one in self.rules if one.code == code), None)

    def selection(self, settings: Settings, absolute: str) -> Selection:
        ignore = (*settings.ignore, *settings.extend_ignore, *settings.ignored_in(absolute))
        key = (settings.select, settings.extend_select, ignore, settings.preview)
        if key not in self._selections:
            where = settings.source or "command line"
            for words in (settings.select or (), settings.extend_select, ignore):
                registry.check_words(words, self.rules, where)
            self._selections[key] = Selection(self.rules, settings.select, settings.extend_select, ignore, settings.preview)
        return self._selections[key]


def check_selection(settings: Settings) -> None:
    """Raises ConfigError where the settings name a rule that there is none of; loads no rule where they name families only."""
    words = [*(settings.select or ()), *settings.extend_select, *settings.ignore, *settings.extend_ignore]
    words += [*settings.extend_safe_fixes, *settings.extend_unsafe_fixes]
    words += [code for codes in settings.per_file_ignores.values() for code in codes]
    if all(word in ("ALL", "ATT") for word in words):
        return
    known = registry.rules(tuple(settings.plugins))
    try:
        registry.check_words(words, known, settings.source or "command line")
    except ConfigError as error:
        if not settings.withheld:
            raise
        plugins = ", ".join(settings.withheld)
        raise ConfigError(f"{error}; the plug-ins that {settings.source} names ({plugins}) are loaded with --allow-plugins only") from None


def _diagnostic(
    finding: Finding, absolute: str, path: str, document: Document, statements: Lazy, book: RuleBook, settings: Settings
) -> Diagnostic:
    row = finding.span.start.row
    statement = statements.get().span(finding.span.end.row if finding.code not in (UNUSED[0], SYNTAX[0]) else row)
    fix = finding.fix
    if fix is not None:
        fix = _with_applicability(fix, finding, settings, book)
    steps = tuple(_seen_from(step, absolute) for step in finding.derivation)
    seen = replace(finding, fix=fix, derivation=steps)
    return Diagnostic(seen, path, absolute, document, book.of(finding.code), statement, statement.end.row)


def _seen_from(step: Step, absolute: str) -> Step:
    """A step with the name of its file where that is another one than the finding's."""
    if step.filename is None:
        return step
    there = os.path.abspath(step.filename)
    return replace(step, filename=None if there == absolute else display(there, {}))


def _with_applicability(fix: Fix, finding: Finding, settings: Settings, book: RuleBook) -> Fix:
    def named(words: Sequence[str]) -> bool:
        rule = book.of(finding.code)
        return rule is not None and any(registry.rank(word, rule) for word in words)

    if named(settings.extend_unsafe_fixes):
        return replace(fix, applicability="unsafe")
    if named(settings.extend_safe_fixes):
        return replace(fix, applicability="safe")
    return fix
