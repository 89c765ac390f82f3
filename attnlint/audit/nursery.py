"""The worker's side of the process that lints: starts it, feeds it, and starts it anew when a text has ended or held it up."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from dataclasses import dataclass, field

from attnlint.analysis import Outcome
from attnlint.audit.child import PATIENCE, receive, send

TRIES = 2
GRACE = 5  # seconds more, for a process that is just being started
LARGE = 1 << 30  # bytes of memory above which a process is replaced by a fresh one


@dataclass(frozen=True)
class Limits:
    """What one text may take: seconds of computing, bytes of memory, and steps of evaluation."""

    seconds: int = 60
    memory: int = 4 << 30
    steps: int = 300_000


@dataclass
class Nursery:
    """One process that lints, at most; it ends with this object. `largest` is the most memory that any of them has used."""

    limits: Limits
    largest: int = 0
    poisonous: dict[str, str] = field(default_factory=dict)  # by path: what it did, each time
    _process: subprocess.Popen[bytes] | None = None

    def lint(self, absolute: str, roots: list[str], plugins: tuple[str, ...]) -> Outcome:
        """What a file comes to; where it ends or holds up two processes, an outcome whose error says so."""
        ends = []
        for _ in range(TRIES):
            process = self._running()
            try:
                assert process.stdin is not None and process.stdout is not None
                send(process.stdin, (absolute, roots, plugins))
                if select.select([process.stdout], [], [], self._patience)[0]:
                    outcome, resident = receive(process.stdout)
                    self.largest = max(self.largest, resident)
                    if resident > LARGE:
                        self.close()
                    assert isinstance(outcome, Outcome)
                    return outcome
                ends.append(f"was stuck for {self._patience} s")
            except (EOFError, BrokenPipeError):
                ends.append(self._end(process))
            self.close()
        told = ends[0] if ends[0] == ends[-1] else ", then ".join(ends)
        self.poisonous[absolute] = f"not analysed: it was tried {TRIES} times, and the process that linted it {told}"
        return Outcome(absolute, error=self.poisonous[absolute])

    @property
    def _patience(self) -> int:
        """Seconds after which a process that does not answer is ended."""
        return PATIENCE * self.limits.seconds + GRACE

    def _end(self, process: subprocess.Popen[bytes]) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        code = process.returncode
        if code is not None and code < 0:
            return f"was ended by signal {-code}"
        return f"ended unexpectedly (exit status {code})"

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            arguments = ["-m", "attnlint.audit.child", str(self.limits.seconds), str(self.limits.memory), str(self.limits.steps)]
            path = os.pathsep.join(dict.fromkeys(entry for entry in sys.path if entry))
            environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
            self._process = subprocess.Popen(
                [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=os.sep
            )
        return self._process

    def close(self) -> None:
        """Ends the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.wait()
