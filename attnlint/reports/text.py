"""What a terminal shows: `full` with source excerpt, caret and derivation, `concise` with one line a finding."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from attnlint.reports.escape import visible

if TYPE_CHECKING:
    from attnlint.session import Diagnostic, Seen, SiteView

TAB = "    "
MAX_LINE = 240


class Style:
    """Colours, or none."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour and text else text

    def bold(self, text: str) -> str:
        return self.paint(text, "1")

    def red(self, text: str) -> str:
        return self.paint(text, "1;31")

    def cyan(self, text: str) -> str:
        return self.paint(text, "36")

    def blue(self, text: str) -> str:
        return self.paint(text, "1;34")


def painted(line: str) -> str:
    """A row of a unified diff in the colours that such rows have elsewhere."""
    for start, code in (("--- ", "1"), ("+++ ", "1"), ("@@", "36"), ("-", "31"), ("+", "32")):
        if line.startswith(start):
            return Style(True).paint(line.removesuffix("\n"), code) + "\n" * line.endswith("\n")
    return line


def harmless(line: str) -> str:
    """A row of a unified diff for a terminal or a CI log, which would act on escapes and commands in it. It is no patch any more."""
    body = line.removesuffix("\n")
    shown = visible(body, "\t")
    if shown[:1].isspace() and shown.lstrip().startswith("::"):
        shown = shown.replace("::", ":\\x3a", 1)
    return shown + line[len(body) :]


def where(path: str, cell: int | None, row: int, column: int) -> str:
    """`path:row:column`, with the cell between where there is one."""
    shown = visible(path)
    if shown.lstrip().startswith("::"):  # a CI log would take the line for a command
        shown = os.path.join(os.curdir, shown)
    return f"{shown}:" + (f"cell {cell}:" if cell is not None else "") + f"{row}:{column}"


def head(one: Diagnostic, style: Style) -> str:
    """The line that `concise` prints and `full` begins with."""
    start = one.start
    place = style.bold(where(one.path, start.cell, start.row, start.column))
    return f"{place}: {style.red(one.finding.code)} {one.finding.name}: {visible(one.finding.message)}"


def concise(diagnostics: Iterable[Diagnostic], style: Style) -> Iterator[str]:
    for one in diagnostics:
        marker = style.cyan(" [*]") if one.finding.fix is not None and one.finding.fix.applicability == "safe" else ""
        yield head(one, style) + marker


def full(diagnostics: Iterable[Diagnostic], style: Style) -> Iterator[str]:
    first = True
    for one in diagnostics:
        if not first:
            yield ""
        first = False
        yield head(one, style)
        yield from excerpt(one, style)


def excerpt(one: Diagnostic, style: Style) -> Iterator[str]:
    """The source row with a caret under the expression, and the derivation below it."""
    row, start = one.finding.span.start.row, one.start
    width = len(str(start.row))
    bar = style.blue("|")
    line = one.document.line(row)
    stop = one.finding.span.end.column if one.finding.span.end.row == row else len(line) + 1
    text, before, inside = _window(line, one.finding.span.start.column - 1, stop - 1)
    yield f"{' ' * width} {bar}"
    yield f"{style.blue(str(start.row))} {bar} {text}".rstrip()
    yield f"{' ' * width} {bar} {' ' * before}{style.red('^' * max(inside, 1))}"
    yield from (f"{' ' * width} {style.blue('=')} {line}" for line in _derivation(one))


def _derivation(one: Diagnostic) -> Iterator[str]:
    lines: list[tuple[str, str, str]] = []
    for step in one.finding.derivation:
        place = ""
        if step.row is not None and step.filename is not None:
            place = f"{visible(step.filename)} line {step.row}"
        elif step.row is not None:
            seen = one.document.place(type(one.finding.span.start)(step.row, 1))
            place = f"line {seen.row}" if seen.cell is None else f"cell {seen.cell} line {seen.row}"
        lines.append((step.label, visible(step.text), place))
    fix = one.finding.fix
    if fix is not None and not any(step.label == "fix" for step in one.finding.derivation):
        lines.append(
            ("fix", visible(fix.message) + (" (unsafe)" if fix.applicability == "unsafe" and "unsafe" not in fix.message else ""), "")
        )
    if (confirmation := one.finding.confirmation) is not None:
        lines.append((str(confirmation.get("status")), visible(str(confirmation.get("reason") or "")), ""))
    labels = max((len(label) for label, _, _ in lines), default=0)
    placed = max((columns(text) for _, text, place in lines if place), default=0)
    for label, text, place in lines:
        padding = " " * (placed - columns(text) + 8) if place else ""
        yield f"{label:{labels}} {text}{padding}{place}"


def _window(line: str, start: int, stop: int) -> tuple[str, int, int]:
    """The part of a line to show, and how many columns lie before and in the marked part."""
    cut = 0
    if len(line) > MAX_LINE:
        cut = max(0, min(start - 40, len(line) - MAX_LINE))
        line = line[cut : cut + MAX_LINE]
    start, stop = max(start - cut, 0), max(min(stop - cut, len(line)), 0)
    pieces = [visible(part, TAB) for part in (line[:start], line[start:stop], line[stop:])]
    return "".join(pieces), columns(pieces[0]), columns(pieces[1])


def columns(text: str) -> int:
    """Terminal columns that a text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def summary(diagnostics: Sequence[Diagnostic], unsafe: bool) -> Iterator[str]:
    """The closing lines: how many, and how many of them can be fixed how."""
    count = len(diagnostics)
    yield f"Found {count} finding{'' if count == 1 else 's'}."
    safe = sum(1 for one in diagnostics if one.finding.fix is not None and one.finding.fix.applicability == "safe")
    risky = sum(1 for one in diagnostics if one.finding.fix is not None and one.finding.fix.applicability == "unsafe")
    now = safe + (risky if unsafe else 0)
    if now:
        yield f"{now} fixable with `--fix{' --unsafe-fixes' if unsafe and risky else ''}`."
    if risky and not unsafe:
        yield f"{risky} fixable with `--fix --unsafe-fixes` (what a trained checkpoint computes changes)."


def clean(seen: Seen) -> Iterator[str]:
    """What a run without findings saw: that nothing was found is not that nothing was there. Says nothing where there was no file."""
    if not seen.files:
        return
    count = sum(seen.verdicts.values())
    if not count:
        yield f"No attention in {counted(seen.files, 'file')}: no product of a query and a key that reaches a softmax."
        return
    said = (("correct", "proved"), ("intended", "meant"), ("unknown", "not followed"), ("faulty", "wrong, but known or not to be reported"))
    parts = ", ".join(f"{seen.verdicts[verdict]} {word}" for verdict, word in said if seen.verdicts[verdict])
    why = " (attnlint sites shows why)" if seen.verdicts["unknown"] or seen.verdicts["faulty"] else ""
    yield f"{counted(count, 'attention')} in {counted(seen.holding, 'file')}: {parts}{why}"


def table(rows: Sequence[tuple[str, str, str]], width: int | None) -> Iterator[str]:
    """Rows in columns, one line each: what does not fit in `width` columns ends with an ellipsis."""
    first, second = (max(map(len, column)) for column in (list(zip(*rows, strict=True))[:2] or ([""], [""])))
    for one, two, three in rows:
        line = f"{one:{first}}  {two:{second}}  {three}"
        yield line if width is None or len(line) <= width else f"{line[: max(width - 1, 0)]}…"


def counted(number: int, thing: str) -> str:
    """A number and what it counts: `1 file`, `3 files`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def site_lines(sites: Iterable[SiteView], style: Style, detailed: bool) -> Iterator[str]:
    """`attnlint sites` for people."""
    for one in sites:
        site = one.site
        colour = {"correct": "32", "faulty": "1;31", "intended": "36"}.get(site.verdict, "33")
        place = where(one.path, one.start.cell, one.start.row, one.start.column)
        name = f" {visible(site.qualname)}" if site.qualname else ""
        why = f": {visible(site.reason)}" if site.reason else ""
        path = f" [{visible(site.path)}]" if site.path else ""
        via = site.via
        path += f", called in {visible(via.qualname or 'the script')} ({visible(via.filename)}:{via.row})" if via is not None else ""
        yield f"{style.bold(place)}:{name} {style.paint(site.verdict, colour)}{why}{path}"
        if detailed:
            facts = ("query", "key", "contraction", "scale", "expected", "ratio")
            yield "    " + ", ".join(f"{fact} {visible(str(getattr(site, fact)))}" for fact in facts if getattr(site, fact) is not None)
        yield from (f"    {visible(told)}" for told in site.evidence)
