"""Writes a suppression for every finding (`--add-ignore "reason"`)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from attnlint.fixing import FixedFile, rewrite
from attnlint.model import Edit, Position, Span
from attnlint.session import SYNTAX, UNUSED, Diagnostic
from attnlint.suppress import comments
from attnlint.text.source import FixRefused

_EXISTING = re.compile(r"#\s*attnlint:\s*ignore\s*\[([^\]]*)\]", re.IGNORECASE)


def add_ignores(diagnostics: Sequence[Diagnostic], reason: str, warnings: list[str]) -> Iterator[FixedFile]:
    """The files with suppressions added. Syntax errors and unused suppressions cannot be suppressed this way."""
    by_file: dict[str, list[Diagnostic]] = defaultdict(list)
    for one in diagnostics:
        if one.finding.code not in (SYNTAX[0], UNUSED[0]):
            by_file[one.absolute].append(one)
    for found in by_file.values():
        document = found[0].document
        try:
            edits = list(_edits(found, " ".join(reason.split())))
            after = rewrite(document, edits, found[0].absolute)
        except FixRefused as error:
            warnings.append(f"{found[0].path}: no suppression added: {error}")
            continue
        applied = [(one.finding.code, one.finding.name) for one in found]
        yield FixedFile(found[0].path, found[0].absolute, document.data, after, applied)


def _edits(found: Sequence[Diagnostic], reason: str) -> Iterator[Edit]:
    document = found[0].document
    names: dict[int, list[str]] = defaultdict(list)
    for one in found:
        if one.finding.name not in names[one.noqa_row]:
            names[one.noqa_row].append(one.finding.name)
    there = {row: (column, text) for row, column, text, _ in comments(document.program)}
    for row, words in sorted(names.items()):
        column, text = there.get(row, (0, ""))
        if (match := _EXISTING.search(text)) is not None:
            listed = [word for word in re.split(r"[\s,]+", match.group(1)) if word]
            content = ", ".join([*listed, *(word for word in words if word not in listed)])
            start, end = column + match.start(1), column + match.end(1)
            yield Edit(content, Span(Position(row, start), Position(row, end)))
            continue
        line = document.line(row)
        bare = len(line.rstrip())
        comment = f"  # attnlint: ignore[{', '.join(words)}]" + (f" {reason}" if reason else "")
        yield Edit(comment, Span(Position(row, bare + 1), Position(row, bare + 1)))
