"""Timings by phase and by file, for --verbose."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnlint.commands import Work
    from attnlint.session import Run

SLOWEST = 10


@contextlib.contextmanager
def timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Adds the time that the block takes to `seconds[phase]`."""
    started = time.perf_counter()
    try:
        yield
    finally:
        seconds[phase] = seconds.get(phase, 0.0) + time.perf_counter() - started


def report(run: Run, work: Work) -> None:
    """Prints the phases, and the files that took longest, to standard error."""
    from attnlint.reports.escape import visible

    print(
        f"attnlint: {len(work.files)} files, {sum(1 for one in work.outcomes.values() if 'interpret' in one.seconds)} interpreted",
        file=sys.stderr,
    )
    for phase, seconds in work.seconds.items():
        print(f"attnlint: {seconds * 1000:9.1f} ms  {phase}", file=sys.stderr)
    for phase, seconds in sorted(run.seconds.items()):
        print(f"attnlint: {seconds * 1000:9.1f} ms  {phase} (summed over files)", file=sys.stderr)
    slowest = sorted(run.file_seconds.items(), key=lambda item: (-item[1], item[0]))[:SLOWEST]
    for name, seconds in slowest:
        print(f"attnlint: {seconds * 1000:9.1f} ms  {visible(name)}", file=sys.stderr)
