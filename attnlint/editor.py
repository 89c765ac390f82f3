"""One open file or notebook through the linter, from the editor's text instead of the disk; and the changes of text that a fix comes to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from attnlint import baseline, fixing, ignoring, screen, session
from attnlint.analysis import Engine, Limits, Outcome, analyse, read
from attnlint.config import Resolver
from attnlint.discover import SourceFile, package_roots
from attnlint.model import LintResult, Position, Site, Span
from attnlint.session import Diagnostic
from attnlint.text.buffers import Replacement, replacements
from attnlint.text.notebook import NotebookDocument
from attnlint.text.source import Document, FixRefused, decode, encoded, load
from attnlint.timelimit import OutOfTime, within

MARK = "\ufeff"
SECONDS = 30.0  # of the clock that one analysis may take: who types waits for no more


@dataclass(frozen=True)
class Text:
    """One text of the editor: a file's, or a cell's."""

    uri: str
    language: str
    text: str
    version: int | None
    is_code: bool = True


@dataclass(frozen=True)
class Opened:
    """A file (one text) or a notebook (a text a cell), as the editor holds it. `root` is the folder that is open around it.

    `absolute` is the file's path; that of a notebook ends in `.ipynb`, saved or not.
    """

    uri: str
    absolute: str
    root: str
    texts: tuple[Text, ...]
    is_notebook: bool = False

    @cached_property
    def data(self) -> bytes:
        """The bytes that would be linted if the editor saved now."""
        if self.is_notebook:
            return _notebook(self.texts)
        return encoded(self.texts[0].text)


@dataclass(frozen=True)
class Region:
    """A span as the editor's user sees it: rows and columns of one of its texts."""

    uri: str
    start: Position
    end: Position

    def holds(self, uri: str, position: Position) -> bool:
        return self.uri == uri and self.start <= position <= self.end

    def meets(self, uri: str, start: Position, end: Position) -> bool:
        return self.uri == uri and self.start <= end and start <= self.end


@dataclass(frozen=True)
class Judged:
    """What the linter says of an open file. `outcome` is what its analysis came to, that of other files included."""

    opened: Opened
    document: Document
    diagnostics: tuple[Diagnostic, ...] = ()
    sites: tuple[Site, ...] = ()
    notes: tuple[str, ...] = ()
    outcome: Outcome | None = None

    def region(self, span: Span) -> Region:
        """Where a program span lies in the editor's texts."""
        uri, start = self._place(span.start)
        other, end = self._place(span.end)
        return Region(uri, start, end if other == uri and start <= end else start)

    def _place(self, position: Position) -> tuple[str, Position]:
        if self.opened.is_notebook:
            place = self.document.place(position)
            index = (place.cell or 1) - 1
            texts = self.opened.texts
            return (texts[index].uri if index < len(texts) else self.opened.uri), Position(place.row, place.column)
        at = self.document.file_position(position)
        if at.row == 1 and self.opened.texts[0].text.startswith(MARK):
            at = Position(1, at.column + 1)
        return self.opened.uri, at

    def where(self, row: int) -> str:
        """A program row in words."""
        if self.opened.is_notebook:
            place = self.document.place(Position(row, 1))
            return f"cell {place.cell}, line {place.row}" if place.cell is not None else f"line {place.row}"
        return f"line {self.document.file_position(Position(row, 1)).row}"

    def at(self, uri: str, position: Position) -> list[Site]:
        """The sites at a place: by the softmax or kernel, the expression at fault, else by the row of the product."""
        spans = [(site, site.span) for site in self.sites]
        spans += [(one.finding.site, one.finding.span) for one in self.diagnostics if one.finding.site is not None]
        hits = [(site, span) for site, span in spans if self.region(span).holds(uri, position)]
        inner = [
            (site, span)
            for site, span in hits
            if not any(span != other and span.start <= other.start and other.end <= span.end for _, other in hits)
        ]
        if not inner and self.outcome is not None and not self.outcome.dependencies:
            inner = [(site, site.span) for site in self.sites if self._has_product_at(site, uri, position)]
        return list(dict.fromkeys(site for site, _ in inner))

    def _has_product_at(self, site: Site, uri: str, position: Position) -> bool:
        rows = [step.row for step in site.derivation if step.label == "product" and step.row is not None]
        for row in rows:
            line = self.document.line(row)
            first = len(line) - len(line.lstrip()) + 1
            if self.region(Span(Position(row, first), Position(row, len(line) + 1))).holds(uri, position):
                return True
        return False

    def fixed(self, chosen: Iterable[Diagnostic]) -> dict[str, list[Replacement]] | None:
        """The changes that the fixes of these findings come to, by text; None where they cannot be made."""
        edits = [edit for one in chosen if one.finding.fix is not None for edit in one.finding.fix.edits]
        if not edits:
            return None
        try:
            return self._changes(fixing.rewrite(self.document, list(dict.fromkeys(edits)), self.opened.absolute))
        except FixRefused:
            return None

    def all_safe(self) -> list[Diagnostic]:
        """The findings whose fixes are safe and can be made together."""
        return fixing.choose(one for one in self.diagnostics if one.finding.fix is not None and one.finding.fix.applicability == "safe")

    def suppressed(self, one: Diagnostic) -> dict[str, list[Replacement]] | None:
        """The changes that a suppression of this finding comes to, by text; None where it cannot be written."""
        for change in ignoring.add_ignores([one], "", []):
            return self._changes(change.after)
        return None

    def _changes(self, after: bytes) -> dict[str, list[Replacement]] | None:
        changes = {uri: list(replacements(old, new)) for uri, old, new in self._texts_after(after)}
        return {uri: found for uri, found in changes.items() if found} or None

    def _texts_after(self, after: bytes) -> Iterator[tuple[str, str, str]]:
        if not self.opened.is_notebook:
            old = self.opened.texts[0].text
            new = after.decode("utf-8-sig") if isinstance(self.document, NotebookDocument) else decode(after)[0]
            yield self.opened.uri, old, (MARK if old.startswith(MARK) else "") + new
            return
        document = load(after, self.opened.absolute)
        assert isinstance(document, NotebookDocument)
        for cell in document.cells:
            text = self.opened.texts[cell.number - 1]
            yield text.uri, text.text, cell.source


def _notebook(texts: Sequence[Text]) -> bytes:
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code" if one.is_code else "markdown",
            "language": one.language or "python",
            "metadata": {},
            "outputs": [],
            "source": one.text,
        }
        for one in texts
    ]
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")


@dataclass
class Linter:
    """Judges open files; keeps the modules that it has read until `forget` is called, which is due when files were saved."""

    overrides: Mapping[str, Any] = field(default_factory=dict)
    config: str | None = None
    isolated: bool = False
    _engines: dict[tuple[object, ...], Engine] = field(default_factory=dict)

    def forget(self) -> None:
        """What was read from the disk may have changed."""
        self._engines = {}

    def judge(self, opened: Opened, others: Sequence[Outcome] = ()) -> Judged:
        """The findings and sites of an open file. `others` are what the other open files came to: some of it may be about this one.

        What takes more than SECONDS is broken off, and the outcome says so. Raises ConfigError where the settings that hold for the file
        are wrong.
        """
        limit = SECONDS
        try:
            return within(limit, lambda: self._judge(opened, others))
        except OutOfTime:
            self.forget()
            error = f"not analysed: it takes more than {limit:g} seconds"
            return Judged(opened, Document(b"", ""), notes=(error,), outcome=Outcome(opened.absolute, error=error))

    def _judge(self, opened: Opened, others: Sequence[Outcome]) -> Judged:
        resolver = Resolver(self.overrides, self.config, self.isolated, cwd=opened.root)
        settings = resolver.for_file(opened.absolute)
        session.check_selection(resolver.run)
        name = os.path.basename(opened.absolute)
        is_python = opened.is_notebook or opened.texts[0].language == "python" or settings.wanted(name, opened.absolute)
        if not is_python or settings.excluded.match_any_part(opened.absolute):
            return Judged(opened, Document(b"", ""))
        data = opened.data
        look = screen.look(data)
        outcome = analyse(data, opened.absolute, look.holds or bool(look.names), self._engine(opened, resolver))
        if not _is_saved(opened):
            others = ()  # they speak of rows of the file on disk
        relevant = [_about(outcome, opened.absolute), *(_about(other, opened.absolute, foreign=True) for other in others)]
        document = load(data, opened.absolute)
        shown = [SourceFile(os.path.relpath(opened.absolute, opened.root), opened.absolute)]
        run = session.check(
            relevant,
            shown,
            session.RuleBook(resolver),
            {opened.absolute} if look.suppresses else (),
            _Given({opened.absolute: data}, opened.absolute, document),
        )
        diagnostics = [one for one in run.diagnostics if one.absolute == opened.absolute]
        if path := resolver.run.baseline:
            diagnostics = list(baseline.compare(diagnostics, baseline.read(path), path, ()).new)
        sites = tuple(session.merge_sites(relevant))
        return Judged(opened, document, tuple(diagnostics), sites, (*run.errors, *run.warnings), outcome)

    def _engine(self, opened: Opened, resolver: Resolver) -> Engine:
        roots = package_roots([SourceFile(opened.absolute, opened.absolute)], [opened.root])
        plugins = tuple(resolver.run.plugins)
        limits = Limits(resolver.run.max_steps, 0)  # `judge` looks at the clock
        key = (tuple(roots), plugins, limits)
        engines = self._engines
        if key not in engines:
            engines[key] = Engine(roots, plugins, limits)
        return engines[key]


def _is_saved(opened: Opened) -> bool:
    try:
        return not opened.is_notebook and read(opened.absolute) == opened.data
    except (OSError, ValueError):
        return False


class _Given(session.Documents):
    """The documents of a run in which one is known already."""

    def __init__(self, given: dict[str, bytes], absolute: str, document: Document) -> None:
        super().__init__(given)
        self._known[absolute] = document


def _about(outcome: Outcome, absolute: str, foreign: bool = False) -> Outcome:
    """What an analysis says of one file only."""
    result = LintResult(
        tuple(one for one in outcome.result.findings if os.path.abspath(one.filename) == absolute),
        tuple(one for one in outcome.result.sites if os.path.abspath(one.filename) == absolute),
    )
    if foreign:
        return Outcome(outcome.absolute, result)
    return replace(outcome, result=result)


def touches(outcome: Outcome | None) -> set[str]:
    """The files that an analysis says something of, or rests on."""
    if outcome is None:
        return set()
    named = {one.filename for one in outcome.result.findings} | {one.filename for one in outcome.result.sites}
    return {os.path.abspath(name) for name in (*named, *outcome.dependencies)}
