"""The stable Python interface: a source text, or files, to findings and sites as frozen, picklable values.

What stands here keeps its meaning from one release to the next: fields and settings may be added, none is renamed or removed without
a deprecation. The engine's own values (`attnlint.model`, `attnlint.sites.sites`) may change at any time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from attnlint import config, model, screen, session
from attnlint._version import __version__
from attnlint.analysis import Engine, Limits, Outcome, analyse
from attnlint.config import Resolver
from attnlint.discover import Discovery, SourceFile, discover, package_roots
from attnlint.model import Caller, Position, Span, Step
from attnlint.text.source import Document, encoded

STDIN = "stdin.py"


@dataclass(frozen=True)
class Settings:
    """What is reported, by the names that attnlint.toml has: `select`, `preview`, … (docs/settings.md).

    Rules are named by code ("ATT102"), prefix ("ATT1") or name ("wrong-dim-scale"). `select=None` stands for those that are on for
    everyone. `per_file_ignores` are pairs of a pattern and the rules not to report where it matches.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preview: bool = False
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    plugins: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: str = ".") -> Settings:
        """The settings that the nearest configuration file gives for a file or a folder, as the command line finds them.

        Raises ConfigError where that file is wrong.
        """
        absolute = os.path.abspath(path)
        folder = absolute if os.path.isdir(absolute) else os.path.dirname(absolute)
        return cls.of(Resolver(cwd=folder).run)

    @classmethod
    def of(cls, found: config.Settings) -> Settings:
        """What the settings of a front end say of this."""
        patterns = tuple((pattern, tuple(codes)) for pattern, codes in found.per_file_ignores.items())
        ignore = (*found.ignore, *found.extend_ignore)
        select = None if found.select is None else tuple(found.select)
        return cls(select, tuple(found.extend_select), ignore, found.preview, patterns, tuple(found.plugins))

    def values(self) -> dict[str, Any]:
        """The settings as the command line's, those left at their defaults out."""
        plain = {one.name.replace("_", "-"): getattr(self, one.name) for one in fields(self)}
        plain["per-file-ignores"] = {pattern: tuple(codes) for pattern, codes in self.per_file_ignores}
        for name in ("select", "extend-select", "ignore", "plugins"):
            plain[name] = None if plain[name] is None else tuple(plain[name])
        return {name: value for name, value in plain.items() if value not in (None, (), {}, False)}


@dataclass(frozen=True)
class Site:
    """One attention site on one path. Scales are printed monomials such as `head_dim^-1/2`; `ratio` is `scale` over `expected`.

    `verdict` is "correct", "faulty", "intended" or "unknown", `reason` says why where it is not "correct" (a fault: its kind). Rows
    and columns count from 1, columns in code points; in a notebook they are those of `cell`. `end` is exclusive in its column.
    `evidence` is what the verdict takes by name, empty where all is by shape. `via` is the call that a shared function is judged for.
    """

    filename: str
    cell: int | None
    start: Position
    end: Position
    qualname: str
    query: str | None
    key: str | None
    contraction: str | None
    scale: str | None
    expected: str | None
    ratio: str | None
    verdict: str
    reason: str | None = None
    path: str | None = None
    evidence: tuple[str, ...] = ()
    derivation: tuple[Step, ...] = ()
    via: Caller | None = None


@dataclass(frozen=True)
class Edit:
    """Replace what stands from `start` to `end` by `content`; in a notebook, in `cell`."""

    content: str
    cell: int | None
    start: Position
    end: Position


@dataclass(frozen=True)
class Fix:
    """Edits that repair a finding. "unsafe" where a trained checkpoint would compute something else afterwards, else "safe"."""

    applicability: str
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Finding:
    """What a rule reports, after selection and suppression."""

    code: str
    name: str
    message: str
    filename: str
    cell: int | None
    start: Position
    end: Position
    severity: str
    preview: bool
    site: Site | None = None
    fix: Fix | None = None
    derivation: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Report:
    """What attnlint says of a text or of files. `suppressed` counts the findings that comments silence.

    `errors` tell of files that could not be judged, `warnings` of what was passed over. `version` is that of attnlint.
    """

    findings: tuple[Finding, ...] = ()
    sites: tuple[Site, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    suppressed: int = 0
    files: int = 0
    version: str = field(default=__version__)


def lint(source: str | bytes, path: str = STDIN, settings: Settings | None = None) -> Report:
    """Findings and sites of one source text; nothing is executed, and a text that does not parse is a finding (ATT002), no exception.

    `path` names the text and says by its ending what it is: Python, a notebook (`.ipynb`) or Markdown (`.md`). Where a file of that
    name lies in a package, what the text imports from beside it is followed. Raises ConfigError for a setting that is wrong.
    """
    absolute = os.path.abspath(path)
    data = encoded(source) if isinstance(source, str) else source
    resolver = resolver_of(settings, os.path.dirname(absolute))
    shown = SourceFile(path, absolute)
    roots = package_roots([shown], [absolute]) if os.path.isdir(os.path.dirname(absolute)) and path != STDIN else []
    look = screen.look(data)
    interpret = look.holds or bool(look.names)
    outcome = analyse(data, absolute, interpret, _engine(roots, resolver))
    suppresses = {absolute} if look.suppresses else set()
    return report_of([outcome], [shown], resolver, suppresses, session.Documents({absolute: data}))


def _engine(roots: Sequence[str], resolver: Resolver) -> Engine:
    settings = resolver.run
    return Engine(roots, settings.plugins, Limits(settings.max_steps, settings.max_seconds))


def sites(source: str | bytes, path: str = STDIN, settings: Settings | None = None) -> tuple[Site, ...]:
    """Every attention site of a source text, by place: `lint(…).sites`."""
    return lint(source, path, settings).sites


def lint_paths(paths: Sequence[str | os.PathLike[str]], settings: Settings | None = None) -> Report:
    """Findings and sites of files and folders, seen together: callers and helpers of different files are one program.

    One process, no cache: `attnlint check` has both. Raises ConfigError for a setting that is wrong.
    """
    from attnlint import runner

    given = [os.fspath(path) for path in paths]
    resolver = resolver_of(settings, os.getcwd())
    found: Discovery = discover(given, resolver)
    screened = runner.screen_files(found.files)
    outcomes = list(screened.failed)
    runner.run(screened.jobs, _engine(package_roots(found.files, given), resolver), 1, None, outcomes.append)
    outcomes.sort(key=lambda outcome: outcome.absolute)
    return report_of(outcomes, found.files, resolver, screened.with_suppressions, session.Documents(), found)


def resolver_of(settings: Settings | None, folder: str) -> Resolver:
    """The settings as the front ends take them; no configuration file is read. Raises ConfigError for an unknown rule."""
    resolver = Resolver((settings or Settings()).values(), None, isolated=True, cwd=folder)
    session.check_selection(replace(resolver.run, source="settings"))
    return resolver


def report_of(
    outcomes: Sequence[Outcome],
    files: Sequence[SourceFile],
    resolver: Resolver,
    with_suppressions: Iterable[str],
    documents: session.Documents,
    found: Discovery | None = None,
) -> Report:
    """What a run came to, as the values of this interface."""
    run = session.check(outcomes, files, session.RuleBook(resolver), with_suppressions, documents)
    listed = session.sites(outcomes, files, documents)
    return Report(
        tuple(_finding(one) for one in run.diagnostics),
        tuple(_site(one.site, one.path, documents.get(os.path.abspath(one.site.filename))) for one in listed.sites),
        tuple(dict.fromkeys((*(found.errors if found else ()), *run.errors, *listed.errors))),
        tuple(dict.fromkeys((*(found.warnings if found else ()), *run.warnings))),
        run.suppressed,
        len(files),
    )


def _site(site: model.Site, filename: str, document: Document) -> Site:
    cell, start, end = _region(site.span, document)
    same: Mapping[str, Any] = {
        name: getattr(site, name)
        for name in ("qualname", "query", "key", "contraction", "scale", "expected", "ratio", "verdict", "reason", "path")
    }
    steps = _steps(site.derivation, document, site.filename)
    return Site(filename, cell, start, end, **same, evidence=site.evidence, derivation=steps, via=site.via)


def _finding(one: session.Diagnostic) -> Finding:
    finding, document = one.finding, one.document
    cell, start, end = _region(finding.span, document)
    site = None if finding.site is None else _site(finding.site, one.path, document)
    fix = None
    if finding.fix is not None:
        edits = tuple(Edit(edit.content, *_region(edit.span, document)) for edit in finding.fix.edits)
        fix = Fix(finding.fix.applicability, finding.fix.message, edits)
    steps = _steps(finding.derivation, document, one.absolute)
    return Finding(
        finding.code, finding.name, finding.message, one.path, cell, start, end, finding.severity, finding.preview, site, fix, steps
    )


def _steps(steps: Sequence[Step], document: Document, filename: str) -> tuple[Step, ...]:
    """Steps with the rows of the file, and the name of the file where a step stands in another one."""
    return tuple(
        step
        if step.filename is not None and os.path.abspath(step.filename) != os.path.abspath(filename)
        else Step(step.label, step.text, step.row and document.place(Position(step.row, 1)).row)
        for step in steps
    )


def _region(span: Span, document: Document) -> tuple[int | None, Position, Position]:
    start, end = document.place(span.start), document.place(span.end)
    return start.cell, Position(start.row, start.column), Position(end.row, end.column)
