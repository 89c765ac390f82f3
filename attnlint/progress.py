"""A progress bar on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
import time

MANY = 40
WIDTH = 30
EVERY = 0.1


class Progress:
    """Counts what is done; draws on standard error where that is a terminal and there is enough to wait for (`many` of them)."""

    def __init__(self, total: int, wanted: bool, what: str = "files", many: int = MANY) -> None:
        self._total = total
        self._what = what
        self._done = 0
        self._drawn = 0.0
        self._active = wanted and total >= many and sys.stderr.isatty()
        self._started = time.monotonic()

    def step(self) -> None:
        self._done += 1
        if not self._active:
            return
        now = time.monotonic()
        if now - self._drawn >= EVERY and now - self._started >= EVERY:
            self._drawn = now
            filled = WIDTH * self._done // self._total
            sys.stderr.write(f"\r[{'#' * filled}{'.' * (WIDTH - filled)}] {self._done}/{self._total} {self._what}")
            sys.stderr.flush()

    def close(self) -> None:
        if self._active and self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
