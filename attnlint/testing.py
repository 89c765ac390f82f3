"""For authors of rules: checks that a rule does to its own documentation what the documentation says."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from attnlint.linter import lint_text
from attnlint.model import Finding, Position
from attnlint.registry import HEADINGS, sections
from attnlint.rule import Rule

__all__ = ["Examples", "check_rule", "examples", "findings", "fixed"]

_CODE = re.compile(r"^[A-Z]{2,}\d{3}$")
_NAME = re.compile(r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
MAX_PASSES = 10


@dataclass(frozen=True)
class Examples:
    """The code under `Example` and under `Use instead`."""

    wrong: str
    right: str


def examples(rule: type[Rule]) -> Examples:
    """The two examples of a rule's docstring. Raises AssertionError where one is missing."""
    found = sections(inspect.getdoc(rule) or "")
    codes = {}
    for heading in ("Example", "Use instead"):
        block = _BLOCK.search(found.get(heading, ""))
        if block is None:
            raise AssertionError(f"{rule.__name__}: put Python code between ```python and ``` under the heading `## {heading}`")
        codes[heading] = block[1]
    return Examples(codes["Example"], codes["Use instead"])


def findings(text: str, *rules: type[Rule], path: str = "example.py") -> list[Finding]:
    """What these rules (none: every installed one) report in a source text. Raises SyntaxError where it does not parse."""
    return list(lint_text(text, path, rules=rules or None).findings)


def fixed(text: str, *rules: type[Rule]) -> str:
    """The text after the fixes of these rules, safe ones and unsafe ones, as `--fix --unsafe-fixes` leaves it."""
    for _ in range(MAX_PASSES):
        after = _applied(text, findings(text, *rules))
        if after == text:
            break
        text = after
    return text


def _applied(text: str, found: Sequence[Finding]) -> str:
    lines = text.splitlines(keepends=True)

    def offset(position: Position) -> int:
        return sum(map(len, lines[: position.row - 1])) + position.column - 1

    edits = {
        (offset(edit.span.start), offset(edit.span.end), edit.content)
        for finding in found
        if finding.fix is not None
        for edit in finding.fix.edits
    }
    untouched = len(text)
    for start, end, content in sorted(edits, reverse=True):
        if end <= untouched:  # the edits that overlap wait for the next pass
            text = text[:start] + content + text[end:]
            untouched = start
    return text


def check_rule(rule: type[Rule]) -> None:
    """Checks a rule by its documentation, as attnlint's own rules are checked. Raises AssertionError that says what to mend.

    Code and name have their form, the docstring has the six headings in order, `Example` is reported and `Use instead` is not. Where
    there is a fix, it leaves nothing to report, and parses; where there is none, `Fix safety` says so.
    """
    who = rule.__name__
    if not _CODE.match(getattr(rule, "code", "")):
        raise AssertionError(f"{who}.code: two or more capitals and three digits, such as `OWN001`")
    if not _NAME.match(getattr(rule, "name", "")):
        raise AssertionError(f"{who}.name: words in small letters with hyphens between, such as `wrong-dim-scale`")
    found = sections(inspect.getdoc(rule) or "")
    if tuple(found) != HEADINGS or not all(found.values()):
        raise AssertionError(f"{who}: the docstring has the headings {list(found)}; all of {list(HEADINGS)}, in this order, with text each")
    code = examples(rule)
    reported = findings(code.wrong, rule)
    if not reported:
        raise AssertionError(f"{rule.code}: nothing is reported in `Example`")
    if any(finding.code != rule.code for finding in reported):
        raise AssertionError(f"{rule.code}: `Example` gets {sorted({finding.code for finding in reported})}")
    if left := findings(code.right, rule):
        raise AssertionError(f"{rule.code}: `Use instead` is reported in line {left[0].span.start.row}: {left[0].message}")
    promises_none = re.match(r"(there is )?no fix\b", found["Fix safety"], re.IGNORECASE) is not None
    if any(finding.fix is not None for finding in reported) is promises_none:
        raise AssertionError(f"{rule.code}: `Fix safety` begins with `There is no fix` exactly where no fix is offered")
    if not promises_none:
        repaired = fixed(code.wrong, rule)
        compile(repaired, "example.py", "exec", dont_inherit=True)
        if left := findings(repaired, rule):
            raise AssertionError(f"{rule.code}: after its fix, line {left[0].span.start.row} is still reported: {left[0].message}")
