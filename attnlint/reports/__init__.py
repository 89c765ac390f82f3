"""Printing findings and sites in the format asked for, to standard output or a file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from attnlint.reports.escape import json_text

if TYPE_CHECKING:
    from attnlint.config import Settings
    from attnlint.session import Diagnostic, Run, Seen


def write_findings(run: Run, settings: Settings, colour: bool) -> None:
    """Prints the findings of a run. A machine format prints its document and nothing else."""
    emit(render_findings(run.diagnostics, settings, colour and not settings.output_file, run.seen), settings.output_file)


def render_findings(diagnostics: Sequence[Diagnostic], settings: Settings, colour: bool, seen: Seen | None = None) -> Iterator[str]:
    """The findings in the format asked for; where there is none, people are told what was `seen`."""
    if settings.statistics:
        yield from _statistics(diagnostics, settings.output_format)
        return
    match settings.output_format:
        case "full" | "concise":
            from attnlint.reports import text

            style = text.Style(colour)
            printer = text.full if settings.output_format == "full" else text.concise
            yield from printer(diagnostics, style)
            if diagnostics and not settings.quiet:
                if settings.output_format == "full":
                    yield ""
                yield from text.summary(diagnostics, settings.unsafe_fixes)
            elif seen is not None and not settings.quiet:
                yield from text.clean(seen)
        case "json":
            from attnlint.reports.json_format import finding_object

            yield json_text([finding_object(one) for one in diagnostics], 2)
        case "json-lines":
            from attnlint.reports.json_format import finding_object

            yield from (json_text(finding_object(one)) for one in diagnostics)
        case name:
            from importlib import import_module

            if text_of_all := import_module(f"attnlint.reports.{name}").document(diagnostics):
                yield text_of_all


def write_sites(run: Run, settings: Settings, colour: bool) -> None:
    """Prints the attention sites of a run."""
    emit(render_sites(run, settings, colour and not settings.output_file), settings.output_file)


def render_sites(run: Run, settings: Settings, colour: bool) -> Iterator[str]:
    from attnlint.reports.json_format import site_object

    if settings.statistics:
        yield from _site_statistics(run, settings.output_format)
        return
    match settings.output_format:
        case "json":
            yield json_text([site_object(one) for one in run.sites], 2)
        case "json-lines":
            yield from (json_text(site_object(one)) for one in run.sites)
        case form:  # a format that the settings choose for findings has none for sites
            from attnlint.reports import text

            yield from text.site_lines(run.sites, text.Style(colour), form != "concise")
            if not settings.quiet:
                counts = Counter(one.site.verdict for one in run.sites)
                parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in sorted(counts))
                yield f"{len(run.sites)} attention site{'' if len(run.sites) == 1 else 's'}" + (f": {parts}" if parts else "") + "."


def _statistics(diagnostics: Sequence[Diagnostic], output_format: str) -> Iterator[str]:
    counts = Counter((one.finding.code, one.finding.name) for one in diagnostics)
    fixable = Counter(one.finding.code for one in diagnostics if one.finding.fix is not None)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if output_format in ("json", "json-lines"):
        rows = [{"code": code, "name": name, "count": count, "fixable": fixable[code]} for (code, name), count in ranked]
        yield from _json_rows(rows, output_format)
        return
    width = max((len(str(count)) for _, count in ranked), default=1)
    for (code, name), count in ranked:
        yield f"{count:{width}}  {code}  {name}" + (f"  ({fixable[code]} fixable)" if fixable[code] else "")


def _site_statistics(run: Run, output_format: str) -> Iterator[str]:
    counts = Counter((one.site.verdict, one.site.reason or "") for one in run.sites)
    ranked = sorted(counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    totals = Counter(one.site.verdict for one in run.sites)
    if output_format in ("json", "json-lines"):
        rows = [{"verdict": verdict, "reason": why or None, "count": count} for (verdict, why), count in ranked]
        yield from _json_rows(rows, output_format)
        return
    from attnlint.reports.escape import visible

    width = len(str(max(totals.values(), default=0)))
    for verdict in sorted(totals):
        yield f"{totals[verdict]:{width}}  {verdict}"
        for (which, why), count in ranked:
            if which == verdict and why:
                yield f"{count:{width + 4}}  {visible(why)}"


def _json_rows(rows: Sequence[dict[str, Any]], output_format: str) -> Iterator[str]:
    if output_format == "json":
        yield json_text(list(rows), 2)
    else:
        yield from (json_text(row) for row in rows)


def emit(lines: Iterable[str], output_file: str | None) -> None:
    """Writes lines to standard output, or to a file that is replaced in one step."""
    emit_raw((line + "\n" for line in lines), output_file)


def emit_raw(pieces: Iterable[str], output_file: str | None) -> None:
    """Writes text as it is to standard output, or to a file that is replaced in one step."""
    if output_file is None:
        for piece in pieces:
            sys.stdout.write(piece)
        return
    from attnlint.text.atomic import replace_file

    replace_file(output_file, "".join(pieces).encode("utf-8", "backslashreplace"))


def print_lines(lines: Iterable[str], stream: TextIO) -> None:
    for line in lines:
        print(line, file=stream)
