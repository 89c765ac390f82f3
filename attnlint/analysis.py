"""One file through the engine: bytes in, findings and sites in program coordinates out; whatever goes wrong stays with that file."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnlint.discover import reason
from attnlint.model import LintResult
from attnlint.source import TOO_DEEP, Document, Problem, load, syntax_problem

if TYPE_CHECKING:
    from attnlint.engine.project import Project

NOTHING = LintResult()


@dataclass(frozen=True)
class Outcome:
    """What is known of one file after its analysis. `error` means that it could not be done (exit status 2)."""

    absolute: str
    result: LintResult = NOTHING
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    error: str | None = None
    dependencies: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)


def read(absolute: str) -> bytes:
    """The bytes of a regular file. Raises OSError, also for what is not one."""
    descriptor = os.open(absolute, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        import stat

        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "not a regular file")
        return file.read()


def analyse_file(absolute: str, interpret: bool, project: Project | None) -> Outcome:
    """Reads and analyses one file; `interpret` is what the screen said."""
    try:
        data = read(absolute)
    except (OSError, ValueError) as error:
        return Outcome(absolute, error=f"cannot be read: {reason(error)}")
    return analyse(data, absolute, interpret, project)


def analyse(data: bytes, absolute: str, interpret: bool, project: Project | None) -> Outcome:
    """Checks that a file parses, and interprets it where it may hold an attention site."""
    seconds: dict[str, float] = {}
    started = time.perf_counter()
    try:
        document = load(data, absolute)
        problems, notes = list(document.problems), list(document.notes)
        if not problems and type(document).__name__ == "PythonDocument" and (problem := syntax_problem(document.program)) is not None:
            problems.append(problem)
            interpret = False
    except (RecursionError, MemoryError):
        return Outcome(absolute, notes=(f"not analysed: {TOO_DEEP}",))
    seconds["parse"] = time.perf_counter() - started
    result = NOTHING
    error = None
    if interpret and not _undecoded(document):
        started = time.perf_counter()
        result, note, error = _interpret(document, absolute, project)
        notes += note
        seconds["interpret"] = time.perf_counter() - started
    return Outcome(absolute, result, tuple(problems), (*notes, *result.notes), error, result.dependencies, seconds)


def _undecoded(document: Document) -> bool:
    return not document.program.strip()


def _interpret(document: Document, absolute: str, project: Project | None) -> tuple[LintResult, list[str], str | None]:
    from attnlint.linter import lint_text

    try:
        return lint_text(document.program, absolute, project), [], None
    except (RecursionError, MemoryError):
        return NOTHING, [f"not analysed: {TOO_DEEP}"], None
    except SyntaxError as error:
        return NOTHING, [f"not analysed: the engine cannot parse it ({error.msg})"], None
    except Exception as error:  # one file's trouble must not take the others along
        return NOTHING, [], f"internal error: {type(error).__name__}: {error}; please report it with this file"
