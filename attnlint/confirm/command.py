"""`attnlint confirm`: targets from the command line, one confirmation a finding, as a table, JSON or a page."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlint.cli import Parser
from attnlint.config import ConfigError
from attnlint.confirm.confirmation import Confirmation, confirm
from attnlint.confirm.isolate import Limits

if TYPE_CHECKING:
    from attnlint.model import Finding, Site
    from attnlint.text.source import Document


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0 nothing is found faulty, 1 a finding stands (confirmed or not), 2 the work could not be done."""
    options = parser().parse_args(list(arguments))
    if options.fixed and len(options.targets) != 1:
        raise ConfigError("attnlint confirm: --fixed compares one FILE; give one target")
    limits = Limits(options.timeout, options.memory)
    rows: list[Row] = []
    fine: list[str] = []
    for text in options.targets:
        rows += _confirm_target(text, options.fixed, limits, fine)
    if options.report:
        from attnlint.confirm.page import page

        _write(options.report, page(rows))
    if options.output_format == "json":
        print(json.dumps([_object(row) for row in rows], indent=2, ensure_ascii=False))
    else:
        from attnlint.confirm.table import render

        for said in fine:
            print(said)
        if rows or not fine:
            print(render(rows), end="")
    return 1 if any(row.confirmation.status != "refuted" for row in rows) else 0


class Row:
    """A finding, the document it is in, and its confirmation."""

    def __init__(self, finding: Finding, document: Document, shown: str, confirmation: Confirmation, fixed: str | None = None) -> None:
        self.fixed = fixed
        self.finding = finding
        self.document = document
        self.path = shown
        self.confirmation = confirmation

    @property
    def where(self) -> str:
        place = self.document.place(self.finding.span.start)
        cell = f":cell {place.cell}" if place.cell is not None else ""
        return f"{self.path}{cell}:{place.row}:{place.column}"


def parser() -> Parser:
    made = Parser(
        prog="attnlint confirm",
        description="Run a finding's code beside a float64 reference attention, before and after its fix, in a process with limits.",
        epilog="Exit status: 0 nothing is found faulty, 1 a finding stands, 2 the work could not be done.",
        allow_abbrev=False,
    )
    made.add_argument("targets", nargs="+", metavar="TARGET", help="FILE, FILE:LINE or FILE::Class.method")
    made.add_argument("--fixed", metavar="FILE", help="compare with this file instead of the finding's own fix")
    made.add_argument("--report", metavar="FILE.html", help="write a page with plots that stands alone")
    made.add_argument("--output-format", choices=("full", "json"), default="full", help="how confirmations are printed")
    made.add_argument(
        "--timeout", type=_positive, default=Limits.seconds, metavar="SECONDS", help="time for one finding (default: %(default)g)"
    )
    made.add_argument("--memory", type=_whole, default=Limits.memory, metavar="MIB", help="memory for one finding (default: %(default)s)")
    return made


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def split_target(text: str) -> tuple[str, int | None, str | None]:
    """(file, line, qualified name) of a target."""
    if os.path.exists(text):
        return text, None, None
    if "::" in text:
        path, _, name = text.partition("::")
        return path, None, name
    if match := re.fullmatch(r"(.+?):(\d+)(?::\d+)?", text):
        return match[1], int(match[2]), None
    return text, None, None


def _confirm_target(text: str, fixed: str | None, limits: Limits, fine: list[str]) -> list[Row]:
    """A row for each finding of the target; `fine` is told of a named place where the linter has nothing to report."""
    from attnlint.analysis import Engine, analyse, read
    from attnlint.discover import SourceFile, package_roots
    from attnlint.text.source import load

    path, line, name = split_target(text)
    absolute = os.path.abspath(path)
    if os.path.isdir(absolute):
        raise ConfigError(f"{path} is a folder: attnlint confirm takes FILE, FILE:LINE or FILE::Class.method")
    data = _bytes(read, absolute, path)
    document = load(data, absolute)
    roots = package_roots([SourceFile(path, absolute)], [path])
    outcome = analyse(data, absolute, True, Engine(roots))
    for problem in outcome.problems:
        raise ConfigError(f"{path}:{problem.position.row}: does not parse: {problem.message}")
    if outcome.error:
        raise ConfigError(f"{path}: {outcome.error}")
    other = load(_bytes(read, os.path.abspath(fixed), fixed), os.path.abspath(fixed)).program if fixed is not None else None
    findings = [f for f in outcome.result.findings if f.site is not None and os.path.abspath(f.filename) == absolute]
    chosen = [f for f in findings if _matches(f, document, line, name)]
    if not chosen and (line is not None or name is not None):
        sites = [s for s in outcome.result.sites if os.path.abspath(s.filename) == absolute and _is_site(s, document, line, name)]
        if sites and all(s.verdict != "faulty" for s in sites):
            readings = dict.fromkeys(s.verdict + (f" ({s.reason})" if s.reason else "") for s in sites)
            fine.append(f"{text}: nothing to confirm: the linter reports nothing here; it reads the scale as {', '.join(readings)}")
            return []
        known = ", ".join(sorted({f"{document.place(f.span.start).row}" for f in findings}, key=int))
        raise ConfigError(
            f"{text}: no finding there; " + (f"findings of {path} are at line {known}" if known else f"{path} has no finding")
        )
    return [Row(f, document, path, confirm(f, document.program, absolute, other, limits, roots), other) for f in chosen]


def _bytes(read: object, absolute: str, shown: str) -> bytes:
    try:
        return read(absolute)  # type: ignore[operator]
    except (OSError, ValueError) as error:
        raise ConfigError(f"{shown}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _matches(finding: Finding, document: Document, line: int | None, name: str | None) -> bool:
    if name is not None:
        qualname = finding.site.qualname if finding.site is not None else ""
        return qualname == name or qualname.startswith(name + ".")
    if line is None:
        return True
    site = finding.site
    spans = [finding.span, *([site.span] if site is not None else [])]
    inside = any(document.place(s.start).row <= line <= document.place(s.end).row for s in spans)
    return inside or any(step.row is not None and step.label in ("product", "factor") and step.row == line for step in finding.derivation)


def _is_site(site: Site, document: Document, line: int | None, name: str | None) -> bool:
    if name is not None:
        return site.qualname == name or site.qualname.startswith(name + ".")
    return line is not None and document.place(site.span.start).row <= line <= document.place(site.span.end).row


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise ConfigError(f"--report {path}: cannot be written: {error.strerror}") from None


def _object(row: Row) -> dict[str, object]:
    finding = row.finding
    start, end = row.document.place(finding.span.start), row.document.place(finding.span.end)
    site = finding.site
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "filename": row.path,
        "cell": start.cell,
        "location": {"row": start.row, "column": start.column},
        "end_location": {"row": end.row, "column": end.column},
        "site": None
        if site is None
        else {
            "query": site.query,
            "key": site.key,
            "contraction": site.contraction,
            "scale": site.scale,
            "expected": site.expected,
            "ratio": site.ratio,
            "qualname": site.qualname,
        },
        "confirmation": row.confirmation.as_dict(),
    }
