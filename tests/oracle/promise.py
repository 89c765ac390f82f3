"""What attnlint promises of a program, held against its runs."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from attnlint.linter import lint_text
from attnlint.model import Finding, LintResult, Site
from attnlint.syntax.project import Project
from attnlint.testing import _applied

from .grammar import Program, draw
from .running import Run, runs

PASSES = 10


@dataclass(frozen=True)
class Judged:
    """A program with its runs, what the linter says, and which promises are broken."""

    program: Program
    runs: tuple[Run, ...]
    linted: LintResult
    right: bool
    uniform: bool  # one factor in every run: a wrong one can be named
    proved: bool
    reported: bool
    broken: tuple[str, ...]
    fixed: str | None = field(default=None)

    @property
    def reasons(self) -> list[str]:
        return [f"{site.verdict}: {site.reason}" for site in self.linted.sites]


def judge(program: Program) -> Judged:
    """Runs, lints and fixes a program."""
    ran = runs(program)
    assert all(run.ratios for run in ran), "a run reached no softmax"
    right = all(run.right for run in ran)
    uniform = all(ratio is not None for run in ran for _, ratio in run.ratios)
    with tempfile.TemporaryDirectory() as folder:
        try:
            linted = lint(program.files, folder)
        except Exception as error:
            return Judged(program, tuple(ran), LintResult(), right, uniform, False, False, (f"the linter fails: {type(error).__name__}",))
        scale = reported(linted)
        proved = called_correct(linted)
        broken = []
        if right and scale:
            broken.append("a right program is reported")
        if not right and proved:
            broken.append("a wrong program is called correct")
        after = None
        if any(finding.fix is not None for finding in scale):
            if right:
                broken.append("a fix is offered on a right program")
            try:
                after, left = _fix(program.files, folder)
            except Exception as error:
                broken.append(f"the linter fails on what it fixed: {type(error).__name__}")
            else:
                broken += _fix_broken(program, ran, after, left)
    return Judged(program, tuple(ran), linted, right, uniform, proved, bool(scale), tuple(broken), after and after["model.py"])


def reported(linted: LintResult) -> list[Finding]:
    """The findings of scale rules, as `attnlint check` shows them."""
    return [finding for finding in linted.findings if finding.code.startswith("ATT1") and not finding.preview]


def called_correct(linted: LintResult) -> bool:
    """Whether each path of the runs is said to be right: one on which a caller gives the factor is none of them."""
    of_runs = [site for site in linted.sites if not _left_to_callers(site)]
    return bool(of_runs) and all(site.verdict == "correct" for site in of_runs)


def _left_to_callers(site: Site) -> bool:
    reason = site.reason or ""
    return (site.verdict == "intended" and "configured factor" in reason) or "no caller in the tree gives it" in reason


def lint(files: Mapping[str, str], folder: str) -> LintResult:
    if len(files) == 1:
        return lint_text(files["model.py"], "model.py", Project([]))
    for name, text in files.items():
        Path(folder, name).write_text(text, encoding="utf-8")
    return lint_text(files["model.py"], str(Path(folder, "model.py")), Project([folder]))


def _fix(files: Mapping[str, str], folder: str) -> tuple[dict[str, str], list[Finding]]:
    """What `--fix --unsafe-fixes` leaves, and which findings of the scale are then left."""
    now = dict(files)
    for _ in range(PASSES):
        found = lint(now, folder)
        here = [one for one in found.findings if not one.preview and one.fix is not None and one.filename.endswith("model.py")]
        text = _applied(now["model.py"], here)
        if text == now["model.py"]:
            break
        now["model.py"] = text
    return now, reported(lint(now, folder))


def _fix_broken(program: Program, before: list[Run], after: dict[str, str], left: list[Finding]) -> list[str]:
    try:
        ran = runs(program, after)
    except Exception as error:
        return [f"a fix breaks the program: {type(error).__name__}"]
    broken = []
    if not all(run.right for run in ran) and not left:
        broken.append("a fix leaves a run wrong")
    if any(old.others != new.others for old, new in zip(before, ran, strict=True)):
        broken.append("a fix changes another result")
    return broken


def program_of(seed: int, number: int, backend: str, only: str | None = None) -> Program:
    """The program of this number in the series of a seed; `only` names the one mechanism that it has, meant to be right in even ones."""
    return draw(random.Random(f"{seed}/{number}/{backend}/{only or ''}"), backend, only, meant=number % 2 == 0)
