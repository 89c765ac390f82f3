"""Texts as an editor holds them: changes sent piece by piece, and columns counted in the units that editor and server agreed on."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from attnlint.model import Position
from attnlint.text.source import LINE_END, TextMap

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"


@dataclass(frozen=True, order=True)
class Point:
    """A place as the protocol has it: line and character from 0, the character in units of the encoding agreed on."""

    line: int
    character: int


@dataclass(frozen=True)
class Replacement:
    """Put `text` where the characters from `start` to `end` are."""

    start: Position
    end: Position
    text: str


class Lines:
    """Positions (row and column from 1, columns in code points) of a text, to and from points.

    Lines end where the protocol and Python have them end (\\n, \\r\\n, \\r), not at a form feed or any other separator.
    """

    def __init__(self, text: str, encoding: str = UTF16) -> None:
        self._map = TextMap(text)
        self._encoding = encoding

    def line(self, row: int) -> str:
        """The text of a row without its line end, empty where there is none."""
        if not 0 < row <= len(self._map.starts):
            return ""
        return self._map.text[self._map.starts[row - 1] : self._map.stops[row - 1]]

    def point(self, position: Position) -> Point:
        before = self.line(position.row)[: position.column - 1]
        return Point(position.row - 1, _units(before, self._encoding))

    def position(self, point: Point) -> Position:
        """A point beyond a line's end stands for the end, one inside a character for its start."""
        if point.line >= len(self._map.starts):
            return self._map.position(len(self._map.text))
        line = self.line(point.line + 1)
        left, column = point.character, 0
        for char in line:
            left -= _units(char, self._encoding)
            if left < 0:
                break
            column += 1
        return Position(point.line + 1, column + 1)

    def offset(self, point: Point) -> int:
        return self._map.offset(self.position(point))


def _units(text: str, encoding: str) -> int:
    if encoding == UTF32 or text.isascii():
        return len(text)
    if encoding == UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(char > "\uffff" for char in text)


def changed(text: str, start: Point, end: Point, content: str, encoding: str) -> str:
    """The text after the part between two points was replaced."""
    lines = Lines(text, encoding)
    return text[: lines.offset(start)] + content + text[lines.offset(end) :]


def replacements(old: str, new: str) -> Iterator[Replacement]:
    """The smallest replacements, line group by line group, that turn one text into the other."""
    if old == new:
        return
    before, after = _split(old), _split(new)
    places = TextMap(old)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle = before[head : len(before) - tail], after[head : len(after) - tail]
    for tag, first, last, low, high in difflib.SequenceMatcher(None, *middle, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        was, becomes = "".join(middle[0][first:last]), "".join(middle[1][low:high])
        left, right = _alike(was, becomes)
        offset = starts[head + first]
        yield Replacement(places.position(offset + left), places.position(offset + len(was) - right), becomes[left : len(becomes) - right])


def _split(text: str) -> list[str]:
    pieces, done = [], 0
    for match in LINE_END.finditer(text):
        pieces.append(text[done : match.end()])
        done = match.end()
    return [*pieces, text[done:]] if done < len(text) else pieces


def _alike(was: str, becomes: str) -> tuple[int, int]:
    """How many characters two texts begin with alike, and end with; a line end of two characters is not cut."""
    left = _common(was, becomes)
    left -= was[left - 1 : left] == "\r"
    right = _common(was[left:][::-1], becomes[left:][::-1])
    return left, right - (right > 0 and was[-right] == "\n" and "\r" in (was[-right - 1 : -right], becomes[-right - 1 : -right]))


def _common(left: str, right: str) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
