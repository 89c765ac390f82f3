"""One file through the engine: bytes in, findings and sites in program coordinates out; whatever goes wrong stays with that file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnlint.config import ConfigError
from attnlint.discover import reason
from attnlint.model import LintResult
from attnlint.text.files import read
from attnlint.text.source import TOO_DEEP, Document, Problem, PythonDocument, load, syntax_problem
from attnlint.timelimit import OutOfTime, within

if TYPE_CHECKING:
    from attnlint.rule import Rule
    from attnlint.syntax.project import Project

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


@dataclass(frozen=True)
class Limits:
    """What one file is granted: steps of evaluation, and seconds of computing (0: as many as it takes)."""

    steps: int = 300_000
    seconds: float = 60


class Engine:
    """The engine of a process with its project and rules, loaded when first needed."""

    def __init__(self, roots: Sequence[str], plugins: Sequence[str] = (), limits: Limits = Limits()) -> None:
        self.limits = limits
        self._roots = list(roots)
        self._plugins = tuple(plugins)
        self._project: Project | None = None
        self._rules: Sequence[type[Rule]] | None = None

    def load(self) -> None:
        """Loads the engine and the rules, so that processes forked from this one have them."""
        import attnlint.linter  # noqa: F401
        from attnlint.registry import rule_classes

        self._rules = rule_classes(self._plugins)

    def lint(self, text: str, absolute: str) -> LintResult:
        """Findings and sites of a text. Raises what the engine raises."""
        from attnlint.linter import lint_text

        if self._project is None:
            from attnlint.syntax.project import Project

            self._project = Project(self._roots, self.limits.steps)
            self.load()
        return lint_text(text, absolute, self._project, self._rules)

    def forget(self) -> None:
        """Drops what was read of the tree: an analysis was broken off somewhere in the middle."""
        self._project = None


def analyse_file(absolute: str, interpret: bool, engine: Engine) -> Outcome:
    """Reads and analyses one file; `interpret` is what the screen said."""
    try:
        data = read(absolute)
    except (OSError, ValueError) as error:
        return Outcome(absolute, error=f"cannot be read: {reason(error)}")
    return analyse(data, absolute, interpret, engine)


def analyse(data: bytes, absolute: str, interpret: bool, engine: Engine) -> Outcome:
    """Checks that a file parses, and interprets it where it may hold an attention site, within its limits."""
    limit = engine.limits.seconds
    try:
        return within(limit, lambda: _analyse(data, absolute, interpret, engine))
    except OutOfTime:
        engine.forget()
        more = "`--max-seconds` grants more"
        return Outcome(absolute, error=f"not analysed: it takes more than {limit:g} seconds of computing ({more})")


def _analyse(data: bytes, absolute: str, interpret: bool, engine: Engine) -> Outcome:
    seconds: dict[str, float] = {}
    started = time.perf_counter()
    try:
        document = load(data, absolute)
        problems, notes = list(document.problems), list(document.notes)
        if isinstance(document, PythonDocument):
            if not problems and (problem := syntax_problem(document.program)) is not None:
                problems.append(problem)
            interpret = interpret and not problems
    except (RecursionError, MemoryError):
        return Outcome(absolute, notes=(f"not analysed: {TOO_DEEP}",))
    seconds["parse"] = time.perf_counter() - started
    result = NOTHING
    error = None
    if interpret and not _undecoded(document):
        started = time.perf_counter()
        result, note, error = _interpret(document, absolute, engine)
        notes += note
        seconds["interpret"] = time.perf_counter() - started
    return Outcome(absolute, result, tuple(problems), (*notes, *result.notes), error, result.dependencies, seconds)


def _undecoded(document: Document) -> bool:
    return not document.program.strip()


def _interpret(document: Document, absolute: str, engine: Engine) -> tuple[LintResult, list[str], str | None]:
    try:
        return engine.lint(document.program, absolute), [], None
    except (RecursionError, MemoryError):
        return NOTHING, [f"not analysed: {TOO_DEEP}"], None
    except SyntaxError as error:
        return NOTHING, [f"not analysed: the engine cannot parse it ({error.msg})"], None
    except ConfigError:
        raise
    except Exception as error:  # one file's trouble must not take the others along
        return NOTHING, [], f"internal error: {type(error).__name__}: {error}; please report it with this file"
