"""Markdown: the Python fences of a page are one program, row for row; everything else is blank to the engine."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from attnlint.model import Edit, Position, Span
from attnlint.text.source import Document, FixRefused, Place, TextMap, decode, normalise, syntax_problem

_FENCE = re.compile(r"^(?P<indent>[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d+[.)])[ \t]+)?)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\r\n]*)$")
_PYTHON = re.compile(r"^\{?[ \t]*\.?(?:python3?|py3?|py(?:thon)?[-_]?repl)\b", re.IGNORECASE)
_PROMPT = re.compile(r"^\s*>>> ")


class MarkdownDocument(Document):
    """A page. Fences that do not parse (prompts, fragments) are passed over without a word: a page may show what it likes."""

    def __init__(self, data: bytes) -> None:
        self.text, self.encoding, self.mark, problems = decode(data)
        self._source_rows = normalise(self.text).split("\n")
        rows, self._shifts = _python_rows(self._source_rows)
        super().__init__(data, "\n".join(rows), problems)

    def place(self, position: Position) -> Place:
        return Place(None, position.row, position.column + self._shift(position.row))

    def _shift(self, row: int) -> int:
        return self._shifts[row - 1] if 0 < row <= len(self._shifts) else 0

    def line(self, row: int) -> str:
        """The row without what the fence is indented by, as program columns count."""
        return self._source_rows[row - 1][self._shift(row) :] if 0 < row <= len(self._source_rows) else ""

    def rewrite(self, edits: Sequence[Edit]) -> bytes:
        if self.problems or self.mark + self.text.encode(self.encoding) != self.data:
            raise FixRefused(f"its bytes cannot be had back from its text ({self.encoding}); fix it by hand")
        return self.mark + TextMap(self.text).edited([self._shifted(edit) for edit in edits]).encode(self.encoding)

    def _shifted(self, edit: Edit) -> Edit:
        start, end = edit.span.start, edit.span.end
        indent = self._source_rows[start.row - 1][: self._shift(start.row)]
        content = edit.content
        if "\n" in content:
            head, *tail = content.split("\n")
            content = "\n".join([head, *(indent + line if line else line for line in tail)])
            if content.endswith("\n") and end.column == 1:
                content += indent
        # An end at the first column of the row below a fence's row stands before that row's indentation.
        return Edit(content, Span(self._moved(start), self._moved(end)))

    def _moved(self, position: Position) -> Position:
        return Position(position.row, position.column + self._shift(position.row))


def _python_rows(rows: Sequence[str]) -> tuple[list[str], list[int]]:
    """Program rows and by how many columns each is moved to the left."""
    program = [""] * len(rows)
    shifts = [0] * len(rows)
    index = 0
    while index < len(rows):
        opening = _FENCE.match(rows[index])
        if opening is None:
            index += 1
            continue
        closing = re.compile(r"^[ \t>]*" + re.escape(opening["fence"][0]) + "{" + str(len(opening["fence"])) + r",}[ \t]*$")
        end = next((row for row in range(index + 1, len(rows)) if closing.match(rows[row])), len(rows))
        if _PYTHON.match(opening["info"]):
            _take(rows, index + 1, end, len(opening["indent"]), program, shifts)
        index = end + 1
    return program, shifts


def _take(rows: Sequence[str], first: int, last: int, indent: int, program: list[str], shifts: list[int]) -> None:
    body = list(rows[first:last])
    common = indent if all(not row[:indent].strip(" \t>") for row in body) else 0
    cut = [row[common:] for row in body]
    even = textwrap.dedent("\n".join(row if row.strip() else "" for row in cut)).split("\n")
    further = next((len(row) - len(flat) for row, flat in zip(cut, even, strict=False) if row.strip()), 0)
    text = [row[further:] if row.strip() else "" for row in cut]
    if any(_PROMPT.match(row) for row in text):
        return
    try:
        if syntax_problem("\n".join(text) + "\n") is not None:
            return
    except RecursionError:
        return
    for offset, row in enumerate(text):
        program[first + offset] = row
        shifts[first + offset] = min(common + further, len(rows[first + offset]))
