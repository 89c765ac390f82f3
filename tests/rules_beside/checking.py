"""Lints and fixes source texts through the front door, and takes the examples out of a rule's documentation."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path

from attnlint.linter import lint_text
from attnlint.model import Edit, Finding
from attnlint.rule import Rule, all_rules

BLOCK = re.compile(r"## (?P<heading>Example|Use instead)\n```python\n(?P<code>.*?)```", re.DOTALL)
CODES = ("ATT201", "ATT202", "ATT203", "ATT204", "ATT301", "ATT302", "ATT401", "ATT402", "ATT501", "ATT502", "ATT503")


def rule(code: str) -> type[Rule]:
    return next(one for one in all_rules() if one.code == code)


def examples(code: str) -> dict[str, str]:
    """The wrong and the right code of a rule's documentation, by heading."""
    return {match["heading"]: match["code"] for match in BLOCK.finditer(inspect.getdoc(rule(code)) or "")}


def findings(text: str) -> list[Finding]:
    return list(lint_text(textwrap.dedent(text), "case.py").findings)


def codes(text: str) -> list[str]:
    return [finding.code for finding in findings(text)]


def fixed(text: str, code: str) -> str:
    """The text after the fixes of all findings with this code."""
    text = textwrap.dedent(text)
    edits = [edit for finding in findings(text) if finding.code == code and finding.fix is not None for edit in finding.fix.edits]
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(edit: Edit) -> tuple[int, int]:
        span = edit.span
        return starts[span.start.row - 1] + span.start.column - 1, starts[span.end.row - 1] + span.end.column - 1

    for edit in sorted(set(edits), key=place, reverse=True):
        start, end = place(edit)
        text = text[:start] + edit.content + text[end:]
    return text


def run(text: str, name: str, **namespace: object) -> dict[str, object]:
    """The globals that a program leaves."""
    scope: dict[str, object] = {"__name__": name, **namespace}
    exec(compile(text, str(Path(name)), "exec"), scope)
    return scope
