"""Source files as bytes, as the text that the engine reads, and back: no edit changes a byte that it does not name."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from attnlint.model import Edit, Position, Span
from attnlint.text.newer import readable

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
LINE_END = re.compile(r"\r\n|\r|\n")
_BYTE_LINE_END = re.compile(rb"\r\n|\r|\n")

TOO_DEEP = "nested too deeply to analyse"


class FixRefused(Exception):
    """An edit cannot be written into this file without changing something else; the text says why."""


@dataclass(frozen=True)
class Problem:
    """Why a file, or a cell of it, does not parse, in program coordinates."""

    position: Position
    message: str


@dataclass(frozen=True, order=True)
class Place:
    """Where a user sees a program position: the cell (from 1, None outside notebooks), row and column."""

    cell: int | None
    row: int
    column: int


class Document:
    """A source file: `program` is what the engine reads (line ends are `\\n`), `problems` what does not parse.

    Positions outside this class are program positions; `place` turns them into what a user sees.
    """

    def __init__(self, data: bytes, program: str, problems: Sequence[Problem] = (), notes: Sequence[str] = ()) -> None:
        self.data = data
        self.program = program
        self.problems = tuple(problems)
        self.notes = tuple(notes)
        self.rows = program.split("\n")

    def place(self, position: Position) -> Place:
        return Place(None, position.row, position.column)

    def line(self, row: int) -> str:
        """The text of a program row, empty where there is none."""
        return self.rows[row - 1] if 0 < row <= len(self.rows) else ""

    def slice(self, span: Span) -> str:
        """The program text of a span."""
        start, end = span.start, span.end
        if start.row == end.row:
            return self.line(start.row)[start.column - 1 : end.column - 1]
        middle = [self.line(row) for row in range(start.row + 1, end.row)]
        return "\n".join([self.line(start.row)[start.column - 1 :], *middle, self.line(end.row)[: end.column - 1]])

    def file_position(self, position: Position) -> Position:
        """Row and column in the file as it lies on disk, where `place` speaks of cells."""
        place = self.place(position)
        return Position(place.row, place.column)

    def file_edits(self, edits: Sequence[Edit]) -> list[tuple[Position, Position, str]]:
        """The edits as they are made to the file on disk: from, to, and what goes there; none where they cannot be made."""
        return [(self.file_position(edit.span.start), self.file_position(edit.span.end), edit.content) for edit in edits]

    def rewrite(self, edits: Sequence[Edit]) -> bytes:
        """The file's bytes with the edits made. Raises FixRefused where that cannot be done without other changes."""
        raise FixRefused("this kind of file cannot be edited")

    def fitted(self, edits: Sequence[Edit]) -> list[Edit]:
        """The edits as this kind of file can take them."""
        return list(edits)

    def shows_same_cell(self, first: int, second: int) -> bool:
        """Whether two program rows belong to one piece of the file as its user sees it."""
        return True


class PythonDocument(Document):
    """A `.py` or `.pyi` file: byte order mark, coding cookie and line ends are kept as they are."""

    def __init__(self, data: bytes) -> None:
        self.text, self.encoding, self.mark, problems = decode(data)
        super().__init__(data, readable(normalise(self.text)), problems)

    def rewrite(self, edits: Sequence[Edit]) -> bytes:
        body = self.data[len(self.mark) :]
        try:
            round_trip = self.text.encode(self.encoding) == body
        except (UnicodeError, LookupError):
            round_trip = False
        if self.problems or not round_trip:
            raise FixRefused(f"its bytes cannot be had back from its text ({self.encoding}); fix it by hand")
        text = TextMap(self.text).edited(edits)
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeError:
            raise FixRefused(f"the fix holds a character that the file's encoding {self.encoding} lacks; fix it by hand") from None


class TextMap:
    """Rows and columns of a text with any line ends, and edits of it that take over the line end used there."""

    def __init__(self, text: str) -> None:
        self.text = text
        ends = list(LINE_END.finditer(text))
        self.starts = [0, *(match.end() for match in ends)]
        self.stops = [*(match.start() for match in ends), len(text)]
        self.newlines = [match.group() for match in ends]

    def offset(self, position: Position) -> int:
        row = min(max(position.row, 1), len(self.starts))
        return min(self.starts[row - 1] + position.column - 1, self.stops[row - 1])

    def position(self, offset: int) -> Position:
        row = bisect_right(self.starts, offset)
        return Position(row, offset - self.starts[row - 1] + 1)

    def newline_at(self, row: int) -> str:
        if not self.newlines:
            return "\n"
        return self.newlines[min(max(row, 1), len(self.newlines)) - 1]

    def edited(self, edits: Sequence[Edit]) -> str:
        pieces: list[str] = []
        done = 0
        for edit in sorted(edits, key=lambda edit: edit.span):
            start, end = self.offset(edit.span.start), self.offset(edit.span.end)
            if start < done or end < start:
                raise FixRefused("two edits overlap")
            pieces += [self.text[done:start], self._with_line_ends(edit)]
            done = end
        return "".join([*pieces, self.text[done:]])

    def _with_line_ends(self, edit: Edit) -> str:
        """The text of an edit with the line ends that stand there, each its own where a file mixes them."""
        first, last = edit.span.start.row, max(edit.span.end.row - 1, edit.span.start.row)
        head, *rest = edit.content.split("\n")
        return head + "".join(self.newline_at(min(first + index, last)) + line for index, line in enumerate(rest))


def normalise(text: str) -> str:
    """The text with every line end as `\\n`, which is how Python reads it; rows and columns stay what they are."""
    return LINE_END.sub("\n", text) if "\r" in text else text


def decode(data: bytes) -> tuple[str, str, bytes, list[Problem]]:
    """Text, encoding, byte order mark and the reasons why Python could not read these bytes (PEP 263)."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    body = data[len(mark) :]
    declared, row = _cookie(body)
    encoding = "utf-8"
    problems: list[Problem] = []
    if declared is not None:
        try:
            encoding = codecs.lookup(declared).name
        except (LookupError, ValueError):
            return "", "utf-8", mark, [Problem(Position(row, 1), f"unknown encoding: {declared}")]
        if mark and encoding != "utf-8":
            return "", "utf-8", mark, [Problem(Position(row, 1), f"a UTF-8 byte order mark contradicts the declared encoding {declared}")]
    try:
        text = body.decode(encoding)
        if not isinstance(text, str):  # a bytes-to-bytes codec such as hex
            raise LookupError
    except UnicodeDecodeError as error:
        message = f"byte 0x{body[error.start]:02x} is not {encoding}: save the file as UTF-8 or declare its encoding in the first line"
        return "", encoding, mark, [Problem(_byte_position(body, error.start), message)]
    except (LookupError, UnicodeError, ValueError):
        return "", "utf-8", mark, [Problem(Position(row, 1), f"not a text encoding: {declared}")]
    if "\0" in text:
        problems.append(Problem(TextMap(text).position(text.index("\0")), "source code cannot contain null bytes"))
    return text, encoding, mark, problems


def _cookie(body: bytes) -> tuple[str | None, int]:
    rest = body
    for row in (1, 2):
        parts = _BYTE_LINE_END.split(rest[:4096], maxsplit=1)
        line = parts[0]
        if match := _COOKIE.match(line):
            return match.group(1).decode("ascii"), row
        if not _BLANK.match(line) or len(parts) == 1:
            return None, row
        rest = parts[1]
    return None, 1


def _byte_position(body: bytes, offset: int) -> Position:
    before = body[:offset]
    row = len(_BYTE_LINE_END.findall(before)) + 1
    last = 0
    for match in _BYTE_LINE_END.finditer(before):
        last = match.end()
    return Position(row, len(before[last:].decode("utf-8", "replace")) + 1)


def syntax_problem(program: str, flags: int = 0) -> Problem | None:
    """Why Python does not accept this text, with the place from its own compiler; None where it does.

    Raises RecursionError where the text is nested more deeply than Python itself reads.
    """
    import _symtable  # parses and checks the scopes in half the time that building the tree in Python takes
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if flags:
                compile(program, "<source>", "exec", flags, True)
            else:
                _symtable.symtable(program, "<source>", "exec")
    except SyntaxError as error:
        row = min(max(error.lineno or 1, 1), program.count("\n") + 1)
        column = max(error.offset or 1, 1)
        return Problem(Position(row, column), error.msg or "invalid syntax")
    except (MemoryError, RecursionError):
        raise RecursionError(TOO_DEEP) from None
    except ValueError as error:
        return Problem(Position(1, 1), str(error))
    return None


def encoded(text: str) -> bytes:
    """The bytes that a text would be saved as: UTF-8, or what its coding cookie names."""
    data = text.encode("utf-8", "surrogatepass")
    encoding = decode(data)[1]
    if encoding == "utf-8":
        return data
    try:
        return text.encode(encoding)
    except UnicodeError:
        return data


def load(data: bytes, path: str) -> Document:
    """The document of a file, by its name: notebook, Markdown or Python; a script may be a notebook all the same."""
    return _loader(path, data)(data)


def _loader(path: str, data: bytes) -> Callable[[bytes], Document]:
    lower = path.lower()
    if lower.endswith(".ipynb"):
        from attnlint.text.notebook import NotebookDocument

        return NotebookDocument
    if lower.endswith((".md", ".markdown", ".mdx", ".qmd", ".rmd")):
        from attnlint.text.markdown import MarkdownDocument

        return MarkdownDocument
    if b"# %%" in data or b"#%%" in data or b"# In[" in data:
        from attnlint.text import scripts

        if scripts.PERCENT.search(data):
            return scripts.PercentDocument
    return PythonDocument
