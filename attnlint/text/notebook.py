"""Notebooks (.ipynb, formats 3 and 4): the code cells are one program; edits go into the cell's JSON strings and change no other byte."""

from __future__ import annotations

import ast
import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from attnlint.model import Edit, Position, Span
from attnlint.text.newer import readable
from attnlint.text.source import LINE_END, TOO_DEEP, Document, FixRefused, Place, Problem, TextMap, decode, normalise, syntax_problem

# Cell magics whose body is Python that runs in this kernel; all others hand the cell to something else.
PYTHON_CELL_MAGICS = frozenset({"time", "timeit", "capture", "prun", "pypy", "python", "python3", "debug", "memit", "mprun"})
_SPACE = re.compile(r"[ \t\r\n]*")
# Of a row without the blanks around it, so that no two parts of an expression can share them.
_MAGIC_ASSIGNMENT = re.compile(r"[\w.,\s\[\]]+=\s*[!%]\S")
_HELP = re.compile(r"(?:\?{1,2}\s*[\w.*%]+|[\w.*%\[\]()'\"]+\?{1,2})(?:\s*;)?")
# Magics that IPython takes without their `%` where they begin a line and no variable has their name.
_AUTOMAGIC = re.compile(
    r"(?:cd|ls|ll|pwd|mkdir|rmdir|rm|cp|mv|cat|less|more|man|pip|conda|mamba|uv|matplotlib|pylab|load_ext|reload_ext|autoreload"
    r"|time|timeit|run|who|whos|env|history|hist|reset|store|config|precision|load|edit|pinfo|pdoc|psource|tb|xmode|gui|magic)"
    r"(?:[ \t]+(?![=(\[:+*/%&|^<>@-]+(?:[ \t]|$)|in\b|is\b|and\b|or\b|if\b|not\b).*)?"
)
# What an exercise leaves for its reader: the cell is no program yet, and no error of anybody's.
_EXERCISE = re.compile(
    r"\?\?|\byour[ _-]?(?:code|turn|answer|solution)|\btodo\b|\bfixme\b|\bfill\b|\bcomplete\b|\bimplement|\b_{3,}|<[^<>\n]*>|\.\.\.", re.I
)


@dataclass(frozen=True)
class Piece:
    """One JSON string of a cell's source: its offsets in the file's text (without the quotes) and where its text begins in the cell."""

    start: int
    end: int
    at: int
    text: str


@dataclass(frozen=True)
class Cell:
    """A code cell: its number among all cells (from 1), its source and the JSON strings that it is made of."""

    number: int
    source: str
    pieces: tuple[Piece, ...]


class NotebookDocument(Document):
    """A notebook. `program` holds one row for every row of every code cell; what is not Python is blanked out."""

    def __init__(self, data: bytes) -> None:
        self.text = ""
        self.cells: list[Cell] = []
        self.firsts: list[int] = []  # the program row on which each cell begins
        self._sources: list[list[str]] = []  # the rows of each cell, without the indentation of the cell as a whole
        self._indents: list[int] = []
        problems: list[Problem] = []
        notes: list[str] = []
        self.broken: Problem | None = None
        try:
            self.text, self.cells = read_cells(data)
        except NotJson as error:
            self.broken = Problem(error.position, str(error))
        rows: list[str] = []
        written = _written(self.cells)
        for cell in self.cells:
            first = len(rows) + 1
            self.firsts.append(first)
            source, indent = without_indent(normalise(cell.source))
            self._indents.append(indent)
            self._sources.append(source.split("\n"))
            try:
                python, problem = python_of(written.get(cell.number, source))
            except RecursionError:
                notes.append(f"cell {cell.number} not analysed: {TOO_DEEP}")
                python, problem = "", None
            if problem is not None:
                problems.append(Problem(Position(first + problem.position.row - 1, problem.position.column), problem.message))
            own = python.split("\n")
            rows += own + [""] * (source.count("\n") + 1 - len(own))
        if self.broken is not None:
            problems = [self.broken]
        super().__init__(data, "\n".join(rows) + ("\n" if rows else ""), problems, notes)

    def _cell_at(self, row: int) -> int:
        return max(bisect_right(self.firsts, row) - 1, 0)

    def place(self, position: Position) -> Place:
        if self.broken is not None or not self.cells:
            return Place(None, position.row, position.column)
        index = self._cell_at(position.row)
        row = min(position.row - self.firsts[index] + 1, len(self._sources[index]))  # a span may end below the last row
        return Place(self.cells[index].number, row, position.column + self._indent(index, row))

    def _indent(self, index: int, row: int) -> int:
        """How many columns the row of a cell stands further right in the file than in the program."""
        source = LINE_END.split(self.cells[index].source)
        known = self._sources[index]
        return len(source[row - 1]) - len(known[row - 1]) if self._indents[index] and 0 < row <= len(known) else 0

    def line(self, row: int) -> str:
        if not self.cells:
            if self.broken is not None:
                lines = LINE_END.split(self.text or self.data.decode("utf-8", "backslashreplace"))
                return lines[row - 1] if 0 < row <= len(lines) else ""
            return ""
        index = self._cell_at(row)
        source, own = self._sources[index], row - self.firsts[index]
        return source[own] if 0 <= own < len(source) else ""

    def shows_same_cell(self, first: int, second: int) -> bool:
        return self._cell_at(first) == self._cell_at(second)

    def file_position(self, position: Position) -> Position:
        if self.broken is not None or not self.cells:
            return position
        index = self._cell_at(position.row)
        cell = self.cells[index]
        if not cell.pieces:
            return Position(1, 1)
        row = position.row - self.firsts[index] + 1
        offset = TextMap(cell.source).offset(Position(row, position.column + self._indent(index, row)))
        piece = _piece_at(cell.pieces, offset, at_end=True)
        return self._map.position(self._raw(piece, offset - piece.at))

    @cached_property
    def _map(self) -> TextMap:
        return TextMap(self.text)

    def file_edits(self, edits: Sequence[Edit]) -> list[tuple[Position, Position, str]]:
        try:
            changes = self._changes(edits)
        except FixRefused:
            return []
        return [(self._map.position(start), self._map.position(end), content) for start, end, content in changes]

    def rewrite(self, edits: Sequence[Edit]) -> bytes:
        raw = self.text.encode("utf-8", "surrogatepass")
        mark = self.data[: len(self.data) - len(raw)]
        if self.broken is not None or mark + raw != self.data:
            raise FixRefused("its bytes cannot be had back from its text; fix it by hand")
        pieces: list[str] = []
        done = 0
        for start, end, content in self._changes(edits):
            if start < done:
                raise FixRefused("two edits overlap")
            pieces += [self.text[done:start], content]
            done = end
        return mark + "".join([*pieces, self.text[done:]]).encode("utf-8", "surrogatepass")

    def _changes(self, edits: Sequence[Edit]) -> list[tuple[int, int, str]]:
        """The edits in offsets of the file's text, in order. Raises FixRefused where one leaves its cell."""
        changes = []
        for edit in sorted(self.fitted(edits), key=lambda edit: edit.span):
            index = self._cell_at(edit.span.start.row)
            if not self.shows_same_cell(edit.span.start.row, edit.span.end.row):
                raise FixRefused("the edit reaches over the end of a cell")
            span = Span(self._in_cell(index, edit.span.start), self._in_cell(index, edit.span.end))
            changes.append(self._change(self.cells[index], Edit(edit.content, span)))
        return changes

    def _in_cell(self, index: int, position: Position) -> Position:
        """A program position as row and column of its cell."""
        row = position.row - self.firsts[index] + 1
        return Position(row, position.column + self._indent(index, row))

    def fitted(self, edits: Sequence[Edit]) -> list[Edit]:
        return [self._fitted(edit) for edit in edits]

    def _fitted(self, edit: Edit) -> Edit:
        """An edit that takes in a cell's last line end, which a notebook does not write, ends before it instead."""
        start, end = edit.span.start, edit.span.end
        index = self._cell_at(start.row)
        last = self.firsts[index] + len(self._sources[index]) - 1
        if end != Position(last + 1, 1) or edit.content:
            return edit
        if start.column == 1 and start.row > self.firsts[index]:
            start = Position(start.row - 1, len(self._sources[index][start.row - 1 - self.firsts[index]]) + 1)
        return Edit("", Span(start, Position(last, len(self._sources[index][-1]) + 1)))

    def _change(self, cell: Cell, edit: Edit) -> tuple[int, int, str]:
        """Offsets in the file's text of an edit in its cell, and what goes between them."""
        source = TextMap(cell.source)
        start, end = source.offset(edit.span.start), source.offset(edit.span.end)
        newline = source.newline_at(edit.span.start.row)
        if not cell.pieces:
            raise FixRefused("the cell is empty")
        opening = _piece_at(cell.pieces, start, at_end=start == end)
        closing = opening if start == end else _piece_at(cell.pieces, end, at_end=True)
        content = escape(edit.content.replace("\n", newline), self.text)
        line_end = escape(newline, self.text)
        if len(cell.pieces) > 1 and line_end in content:
            left, right = cell.pieces[0], cell.pieces[1]
            between = self.text[left.end : right.start]  # quote, comma, blanks and quote as this file has them
            *full, last = content.split(line_end)
            content = between.join([*(part + line_end for part in full), *([last] if last else [])])
        return self._raw(opening, start - opening.at), self._raw(closing, end - closing.at), content

    def _raw(self, piece: Piece, length: int) -> int:
        """The offset in the file's text of the character number `length` of a JSON string."""
        at = piece.start
        for _ in range(length):
            if self.text[at] != "\\":
                at += 1
            elif self.text[at + 1] != "u":
                at += 2
            else:
                code = int(self.text[at + 2 : at + 6], 16)
                follows = self.text[at + 6 : at + 8] == "\\u"
                pair = 0xD800 <= code < 0xDC00 and follows and 0xDC00 <= int(self.text[at + 8 : at + 12], 16) < 0xE000
                at += 12 if pair else 6
        return at


def _piece_at(pieces: Sequence[Piece], offset: int, at_end: bool) -> Piece:
    for piece in pieces:
        stop = piece.at + len(piece.text)
        if piece.at <= offset < stop or (offset == stop and (at_end or piece is pieces[-1]) and not piece.text.endswith(("\n", "\r"))):
            return piece
    return pieces[-1] if offset else pieces[0]


def escape(content: str, text: str) -> str:
    """A text as the inside of a JSON string; non-ASCII characters as they are, or escaped where the file does so."""
    ascii_only = text.isascii() and "\\u" in text
    return json.dumps(content, ensure_ascii=ascii_only)[1:-1]


class NotJson(Exception):
    """The file is not a notebook that can be read; says why, and where."""

    def __init__(self, message: str, position: Position) -> None:
        super().__init__(message)
        self.position = position


def read_cells(data: bytes) -> tuple[str, list[Cell]]:
    """The file's text and its code cells. Raises NotJson."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        _, _, _, problems = decode(data)
        position = problems[0].position if problems else Position(1, 1)
        raise NotJson("the notebook is not UTF-8", position) from None
    if not text.strip():
        return text, []
    try:
        return text, list(_Reader(text).code_cells())
    except json.JSONDecodeError as error:
        raise NotJson(f"the notebook is not valid JSON: {error.msg}", Position(error.lineno, error.colno)) from None
    except RecursionError:
        raise NotJson(f"the notebook is {TOO_DEEP}", Position(1, 1)) from None
    except (IndexError, StopIteration, ValueError):
        raise NotJson("the notebook is not valid JSON: it ends too early", TextMap(text).position(len(text))) from None


class _Reader:
    """Walks the JSON of a notebook and keeps the places of the strings that hold code."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decoder = json.JSONDecoder(strict=False)

    def code_cells(self) -> Iterator[Cell]:
        document, end = self._decoder.raw_decode(self._text, self._skip(0))
        if self._skip(end) != len(self._text):
            raise json.JSONDecodeError("Extra data", self._text, self._skip(end))
        if not isinstance(document, dict):
            raise NotJson("the file is not a notebook: its JSON is not an object", Position(1, 1))
        if not is_python(document):
            return
        for number, cell in enumerate(self._cells(), 1):
            if cell is not None:
                yield Cell(number, "".join(piece.text for piece in cell), tuple(cell))

    def _cells(self) -> Iterator[list[Piece] | None]:
        """The source of every cell in order, None for one that is no code."""
        for key, at in self._members(self._skip(0)):
            if key == "cells":
                yield from map(self._code, self._items(at))
            elif key == "worksheets":
                for sheet in self._items(at):
                    if self._text[sheet] == "{":
                        for inner, place in self._members(sheet):
                            if inner == "cells":
                                yield from map(self._code, self._items(place))

    def _code(self, at: int) -> list[Piece] | None:
        if self._text[at] != "{":
            return None
        kind: Any = None
        language: Any = "python"
        source: int | None = None
        for key, place in self._members(at):
            if key == "cell_type":
                kind = self._value(place)
            elif key == "language":
                language = self._value(place)
            elif key == "source" or (key == "input" and source is None):
                source = place
        if kind != "code" or (isinstance(language, str) and language.lower() not in ("python", "python3", "ipython")):
            return None
        return list(self._pieces(source)) if source is not None else []

    def _pieces(self, at: int) -> Iterator[Piece]:
        starts = [at] if self._text[at] == '"' else list(self._items(at)) if self._text[at] == "[" else []
        length = 0
        for start in starts:
            if self._text[start] == '"':
                value, end = scanstring(self._text, start + 1, False)
                yield Piece(start + 1, end - 1, length, value)
                length += len(value)

    def _value(self, at: int) -> Any:
        return self._decoder.raw_decode(self._text, at)[0]

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        assert match is not None
        return match.end()

    def _members(self, at: int) -> Iterator[tuple[str, int]]:
        """Key and place of each value of the object at `at`, the last of equal keys too."""
        if self._text[at] != "{":
            return
        at = self._skip(at + 1)
        while self._text[at] == '"':
            key, at = scanstring(self._text, at + 1, False)
            at = self._skip(self._skip(at) + 1)
            yield key, at
            at = self._skip(self._decoder.raw_decode(self._text, at)[1])
            if self._text[at] != ",":
                return
            at = self._skip(at + 1)

    def _items(self, at: int) -> Iterator[int]:
        if self._text[at] != "[":
            return
        at = self._skip(at + 1)
        while self._text[at] != "]":
            yield at
            at = self._skip(self._decoder.raw_decode(self._text, at)[1])
            if self._text[at] == ",":
                at = self._skip(at + 1)


def is_python(document: dict[str, Any]) -> bool:
    """Whether a notebook's kernel runs Python; one that does not say is taken to."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return True
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        section = metadata.get(key)
        if isinstance(section, dict) and isinstance(section.get(name), str):
            return bool(section[name].lower() in ("python", "ipython", "python3"))
    return True


_WRITEFILE = re.compile(r"\s*%%(?:writefile|file)\b[^\n]*\.py[ \t]*(?=\n)")


def _written(cells: Sequence[Cell]) -> dict[int, str]:
    """The cells that are written to a Python file, without the row that says so, by number.

    Such a file is a module of its own. Its text is read with the other cells where it binds no name that another of them binds, imports
    set aside: nothing that is said of either then rests on the other.
    """
    sources = {cell.number: without_indent(normalise(cell.source))[0] for cell in cells}
    found = {number: _WRITEFILE.sub("", source, count=1) for number, source in sources.items() if _WRITEFILE.match(source)}
    if not found:
        return {}
    bound = {number: _bound(found[number] if number in found else without_magics(source)) for number, source in sources.items()}
    return {
        number: source
        for number, source in found.items()
        if not any(bound[number] & names for other, names in bound.items() if other != number)
    }


def _bound(source: str) -> set[str]:
    """The names that a text binds other than by importing them; none where it does not parse."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    definitions = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    return definitions | {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def python_of(source: str) -> tuple[str, Problem | None]:
    """A cell's Python, row for row: magics and shell lines blanked. With a Problem, the cell's Python is nothing."""
    if cell_problem(source) is None:
        return source, None
    plain = readable(without_magics(source))
    problem = cell_problem(plain)
    if problem is not None and _is_exercise(plain, problem.position.row):
        filled = re.sub(r"\?{3}", "...", plain)
        return (filled if cell_problem(filled) is None else ""), None
    return (plain, None) if problem is None else ("", problem)


def _is_exercise(source: str, row: int) -> bool:
    """Whether a blank to be filled in stands where a cell does not parse, or right before it."""
    rows = source.split("\n")[max(0, row - 3) : row + 1]
    return any(_EXERCISE.search(one) is not None for one in rows)


def without_indent(source: str) -> tuple[str, int]:
    """A cell whose first line is indented, as IPython reads it: each line that begins with that indentation without it."""
    first = next((row for row in source.split("\n") if row.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    if not indent:
        return source, 0
    return "\n".join(row.removeprefix(indent) for row in source.split("\n")), len(indent)


def cell_problem(source: str) -> Problem | None:
    """Why a cell does not parse; it may await at the top level."""
    if "await" in source or "async" in source:
        return syntax_problem(source, ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return syntax_problem(source)


def without_magics(source: str) -> str:
    """The cell with every magic, shell and help line replaced by `pass` or nothing; rows stay where they are."""
    rows = source.split("\n")
    kept: list[str] = []
    state = _Lexer()
    index = 0
    for index, row in enumerate(rows):
        if not row.strip() or row.lstrip().startswith("#"):
            kept.append(row)
            continue
        if row.lstrip().startswith("%%"):
            name = re.match(r"%%!?(\w*)", row.lstrip())
            if name is None or name.group(1) not in PYTHON_CELL_MAGICS:
                return "\n".join([*kept, *[""] * (len(rows) - index)])
        break
    kept = []
    continued = False
    for row in rows:
        if continued:
            kept.append("")
            continued = row.endswith("\\")
        elif state.at_statement_start and (replacement := _plain(row)) is not None:
            kept.append(replacement)
            continued = row.endswith("\\")
        else:
            kept.append(row)
            state.read(row)
    return "\n".join(kept)


def _plain(row: str) -> str | None:
    """What stands for a row that is no Python, None where it is."""
    stripped = row.lstrip()
    indent = row[: len(row) - len(stripped)]
    bare = row.strip()
    if stripped.startswith(("%", "!")) or _HELP.fullmatch(bare) or _AUTOMAGIC.fullmatch(bare):
        return f"{indent}pass"
    if _MAGIC_ASSIGNMENT.match(stripped) and "==" not in row.split("!", maxsplit=1)[0].split("%", maxsplit=1)[0]:
        return f"{indent}{stripped.split('=', 1)[0]}= None"
    return None


class _Lexer:
    """Follows brackets and strings from row to row, as far as telling where a statement begins asks for."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._continued = False

    @property
    def at_statement_start(self) -> bool:
        return self._depth == 0 and not self._quote and not self._continued

    def read(self, row: str) -> None:
        at = 0
        while at < len(row):
            char = row[at]
            if self._quote:
                if char == "\\":
                    at += 2
                    continue
                if row.startswith(self._quote, at):
                    at += len(self._quote)
                    self._quote = ""
                    continue
            elif char == "#":
                break
            elif char in "'\"":
                self._quote = char * 3 if row.startswith(char * 3, at) else char
                at += len(self._quote)
                continue
            elif char in "([{":
                self._depth += 1
            elif char in ")]}":
                self._depth = max(self._depth - 1, 0)
            at += 1
        if len(self._quote) == 1 and not row.endswith("\\"):
            self._quote = ""
        self._continued = not self._quote and row.endswith("\\") and "#" not in row
