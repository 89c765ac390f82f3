"""JUnit XML: one test suite a file, one failure a finding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from attnlint.reports.escape import visible, xml_safe

if TYPE_CHECKING:
    from attnlint.session import Diagnostic


def document(diagnostics: Sequence[Diagnostic]) -> str:
    """The report; a run without findings is one passing test case, so that CI shows that it ran."""
    count = len(diagnostics)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites name="attnlint" tests="{max(count, 1)}" failures="{count}" errors="0">',
    ]
    if not diagnostics:
        lines += [
            '  <testsuite name="attnlint" tests="1" failures="0" errors="0" skipped="0">',
            '    <testcase name="no findings" classname="attnlint"/>',
            "  </testsuite>",
        ]
    for path, group in groupby(diagnostics, key=lambda one: one.path):
        members = list(group)
        size = len(members)
        lines.append(f'  <testsuite name={_attribute(path)} tests="{size}" failures="{size}" errors="0" skipped="0">')
        for one in members:
            lines += _case(one)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"])


def _case(one: Diagnostic) -> list[str]:
    start = one.in_file(one.finding.span.start)
    cell = f"cell {one.start.cell}, " if one.start.cell is not None else ""
    where = f"{cell}line {one.start.row}, column {one.start.column}"
    place = f'line="{start.row}" column="{start.column}"'
    name = _attribute(f"{one.finding.code} {one.finding.name}")
    path = _attribute(one.path)
    text = escape(xml_safe(visible(f"{where}: {one.finding.message}")))
    return [
        f"    <testcase name={name} classname={path} file={path} {place}>",
        f"      <failure message={_attribute(one.finding.message)} type={_attribute(one.finding.code)}>{text}</failure>",
        "    </testcase>",
    ]


def _attribute(text: str) -> str:
    return quoteattr(xml_safe(visible(text)))
