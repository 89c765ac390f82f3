"""Suppression comments: `# attnlint: ignore[...] why`, `# attnlint: ignore-file`, `# noqa: ATT101`; and those that suppress nothing."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from attnlint.model import Edit, Finding, Fix, Position, Span
from attnlint.statements import Statements

_OURS = re.compile(r"#\s*attnlint:\s*(?P<form>ignore-file|ignore)(?P<list>\s*\[(?P<codes>[^\]]*)\])?(?P<reason>[^#]*)", re.IGNORECASE)
_NOQA = re.compile(r"#\s*noqa\b(?P<list>\s*:\s*(?P<codes>[A-Za-z][A-Za-z0-9_-]*(?:[\s,]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]+[0-9]+\Z")


@dataclass(frozen=True)
class Item:
    """One code or name of a suppression, and where it stands."""

    word: str
    start: int
    end: int


@dataclass(frozen=True)
class Suppression:
    """A suppression comment: `items` is None where it names nothing and so covers everything."""

    form: str  # "ignore" | "ignore-file" | "noqa"
    row: int
    column: int  # of the `#`
    length: int
    items: tuple[Item, ...] | None
    rows: tuple[int, int]  # the rows that it covers
    alone: bool  # on a line of its own

    def covers(self, row: int) -> bool:
        return self.form == "ignore-file" or self.rows[0] <= row <= self.rows[1]


def find_suppressions(program: str, statements: Callable[[], Statements]) -> list[Suppression]:
    """Every suppression comment of a program, in order. Strings that look like one are none."""
    if "attnlint" not in program and "noqa" not in program.lower():
        return []
    found: list[Suppression] = []
    for row, column, comment, alone in comments(program):
        for match in _OURS.finditer(comment):
            found.append(_suppression(match, match["form"].lower(), row, column, alone and match.start() == 0, statements()))
        for match in _NOQA.finditer(comment):
            found.append(_suppression(match, "noqa", row, column, False, statements()))
    return found


def _suppression(match: re.Match[str], form: str, row: int, column: int, alone: bool, statements: Statements) -> Suppression:
    items = None
    if match["list"] is not None:
        offset = column + match.start("codes")
        items = tuple(Item(word.group(), offset + word.start(), offset + word.end()) for word in re.finditer(r"[^\s,]+", match["codes"]))
    length = len(match.group().rstrip())
    rows = statements.around(row)
    if alone and form == "ignore" and rows == (row, row) and not statements.begins(row):
        following = statements.next_after(row)
        rows = (row, following[1]) if following else rows
    return Suppression(form, row, column + match.start(), length, items, rows, alone)


def comments(program: str) -> Iterable[tuple[int, int, str, bool]]:
    """Row, column, text of each comment, and whether it has its line to itself. Stops where the program stops being Python."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(program).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                yield row, column + 1, token.string, not token.line[:column].strip()
    except (tokenize.TokenError, SyntaxError):
        return


@dataclass(frozen=True)
class Verdicts:
    """Which findings stay, how many are suppressed, and a finding for each suppression that suppresses nothing."""

    kept: tuple[Finding, ...]
    suppressed: int
    unused: tuple[Finding, ...]


def apply(
    findings: Sequence[Finding],
    suppressions: Sequence[Suppression],
    known_word: Callable[[str], tuple[str, str] | None],
    filename: str,
    rows: Sequence[str],
    undecided: Callable[[Suppression], bool],
) -> Verdicts:
    """Takes out what is suppressed. `known_word` gives code and name of a rule.

    Suppressions for which `undecided` holds are never called unused: a finding may come to light with more files.
    """
    used: set[tuple[int, int]] = set()
    kept = []
    suppressed = 0
    for finding in findings:
        hits = [hit for index, one in enumerate(suppressions) if one.covers(finding.span.start.row) for hit in _hits(index, one, finding)]
        used.update(hits)
        if hits:
            suppressed += 1
        else:
            kept.append(finding)
    candidates = [_unused(index, one, used, known_word, filename, rows) for index, one in enumerate(suppressions) if not undecided(one)]
    unused = [finding for finding in candidates if finding is not None]
    silenced = [
        one
        for one in suppressions
        if one.items is not None and any(item.word.lower() in ("att001", "unused-suppression") for item in one.items)
    ]
    unused = [finding for finding in unused if not any(one.covers(finding.span.start.row) for one in silenced)]
    return Verdicts(tuple(kept), suppressed, tuple(unused))


def _hits(index: int, one: Suppression, finding: Finding) -> list[tuple[int, int]]:
    if one.items is None:
        return [(index, -1)]
    words = (finding.code.lower(), finding.name.lower())
    return [(index, position) for position, item in enumerate(one.items) if item.word.lower() in words]


def _unused(
    index: int,
    one: Suppression,
    used: set[tuple[int, int]],
    known_word: Callable[[str], tuple[str, str] | None],
    filename: str,
    rows: Sequence[str],
) -> Finding | None:
    if one.items is None:
        if one.form == "noqa" or (index, -1) in used:
            return None
        return _finding(
            one, f"`# attnlint: {one.form}` suppresses nothing", filename, Fix("safe", "remove the comment", (_remove_all(one, rows),))
        )
    idle = []
    for position, item in enumerate(one.items):
        if (index, position) in used or item.word.lower() in ("att001", "unused-suppression"):
            continue
        if one.form == "noqa" and not item.word.upper().startswith("ATT"):
            continue  # another linter's code
        idle.append(position)
    if not idle and one.items:
        return None
    words = [one.items[position].word for position in idle]
    strangers = [word for word in words if known_word(word) is None]
    message = f"`{', '.join(words)}` suppresses nothing here" if words else f"`# attnlint: {one.form}[]` names no rule"
    if strangers:
        message += f"; there is no rule `{strangers[0]}`"
    if len(idle) == len(one.items):
        return _finding(one, message, filename, Fix("safe", "remove the comment", (_remove_all(one, rows),)))
    edits = tuple(_remove_item(one, position, idle) for position in idle)
    return _finding(one, message, filename, Fix("safe", f"remove `{', '.join(words)}`", edits))


def _finding(one: Suppression, message: str, filename: str, fix: Fix) -> Finding:
    span = Span(Position(one.row, one.column), Position(one.row, one.column + one.length))
    return Finding("ATT001", "unused-suppression", message, filename, span, fix=fix, severity="warning")


def _remove_all(one: Suppression, rows: Sequence[str]) -> Edit:
    """Takes the comment away, with the blanks before it, and with its line where nothing else stands there."""
    line = rows[one.row - 1]
    start, end = one.column - 1, one.column - 1 + one.length
    rest = line[end:].strip()
    if not line[:start].strip() and not rest and one.row < len(rows):
        return Edit("", Span(Position(one.row, 1), Position(one.row + 1, 1)))
    if rest:
        following = end + len(line[end:]) - len(line[end:].lstrip())
        return Edit("" if rest.startswith("#") else "# ", Span(Position(one.row, one.column), Position(one.row, following + 1)))
    before = len(line[:start].rstrip())
    return Edit("", Span(Position(one.row, before + 1), Position(one.row, len(line) + 1)))


def _remove_item(one: Suppression, position: int, idle: Sequence[int]) -> Edit:
    """Takes one word out of a list, with the comma after it, or before it where all that follow go too."""
    assert one.items is not None
    item = one.items[position]
    stays_after = any(later not in idle for later in range(position + 1, len(one.items)))
    if stays_after:
        return Edit("", Span(Position(one.row, item.start), Position(one.row, one.items[position + 1].start)))
    previous = one.items[position - 1]
    return Edit("", Span(Position(one.row, previous.end), Position(one.row, item.end)))
