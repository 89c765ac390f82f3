"""Reads, screens and analyses the files of a run: in this process where the job is small, in several where it is large."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnlint import screen
from attnlint.analysis import Outcome, analyse_file, read
from attnlint.discover import SourceFile, reason
from attnlint.suppress import mentions_suppression

if TYPE_CHECKING:
    from attnlint.config import Settings


@dataclass(frozen=True)
class Job:
    """One file to analyse; `interpret` is what the screen said of it."""

    absolute: str
    size: int
    interpret: bool
    digest: str


@dataclass
class Screened:
    """What a first look at the bytes of all files says."""

    jobs: list[Job] = field(default_factory=list)
    failed: list[Outcome] = field(default_factory=list)
    with_suppressions: list[str] = field(default_factory=list)


def screen_files(files: Sequence[SourceFile]) -> Screened:
    """Reads every file once. A file without attention of its own is interpreted where it imports what holds some."""
    import hashlib

    screened = Screened()
    seen: list[tuple[str, int, bool, str]] = []
    holders: set[bytes] = set()
    imports: dict[str, set[bytes]] = {}
    for one in files:
        try:
            data = read(one.absolute)
        except (OSError, ValueError) as error:
            screened.failed.append(Outcome(one.absolute, error=f"cannot be read: {reason(error)}"))
            continue
        holds = screen.may_hold_attention(data)
        if holds:
            holders |= screen.defined_names(data)
            holders.add(os.fsencode(os.path.splitext(os.path.basename(one.absolute))[0]))
        elif one.absolute.endswith(".py"):
            imports[one.absolute] = screen.imported_names(data)
        if mentions_suppression(data):
            screened.with_suppressions.append(one.absolute)
        seen.append((one.absolute, len(data), holds, hashlib.sha256(data).hexdigest()))
    for absolute, size, holds, digest in seen:
        interpret = holds or not holders.isdisjoint(imports.get(absolute, ()))
        screened.jobs.append(Job(absolute, size, interpret, digest))
    return screened


def run_here(jobs: Sequence[Job], roots: Sequence[str], done: Callable[[Outcome], None]) -> None:
    """Analyses one file after the other in this process."""
    project = None
    for job in jobs:
        if job.interpret and project is None:
            from attnlint.engine.project import Project

            project = Project(list(roots))
        done(analyse_file(job.absolute, job.interpret, project))


def run(jobs: Sequence[Job], roots: Sequence[str], settings: Settings, done: Callable[[Outcome], None]) -> None:
    """Analyses all jobs; `done` is called with each outcome, in no particular order."""
    run_here(jobs, roots, done)
