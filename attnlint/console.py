"""Standard output and error: encodings, colours, closed pipes, interrupts; turns every error a user can cause into one clear line."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_FULL = frozenset(getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO")) - {None}


class Interrupted(BaseException):
    """A signal asked the run to end; `status` is the exit status that says so."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def guarded(run: Callable[[], int]) -> int:
    """Runs a command; wrong settings, closed pipes and interrupts end it with a clear word and the right status."""
    from attnlint.config import ConfigError

    _make_printable()
    try:
        with _signals():
            status = run()
            sys.stdout.flush()
            return status
    except ConfigError as error:
        print_error(str(error))
        return 2
    except BrokenPipeError:
        _let_go(sys.stdout)
        return 2
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        _let_go(sys.stdout)
        print_error(f"cannot write to standard output: {(error.strerror or str(error)).lower()}")
        return 2
    except (KeyboardInterrupt, Interrupted) as stop:
        print_error("interrupted")
        return stop.status if isinstance(stop, Interrupted) else 130


def _let_go(stream: Any) -> None:
    """Has what a stream still holds go nowhere, so that the interpreter's own last flush does not fail."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _make_printable() -> None:
    """No character of a source file can make printing fail, whatever the terminal's encoding."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the run as an interrupt does, so that workers and temporary files are cleaned up."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(128 + number)

    before: dict[int, Any] = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            with contextlib.suppress(ValueError, OSError):  # not in the main thread
                if signal.getsignal(number) is signal.SIG_IGN:
                    continue
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def print_error(message: str) -> None:
    from attnlint.reports.escape import visible

    _tell(f"attnlint: error: {visible(message)}")


def print_warning(message: str) -> None:
    from attnlint.reports.escape import visible

    _tell(f"attnlint: warning: {visible(message)}")


def _tell(line: str) -> None:
    """A line on standard error; one that is full or closed cannot be told so."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(line, file=sys.stderr, flush=True)


def acts_on_text(stream: Any) -> bool:
    """Whether what a stream is given is shown by something that acts on it: a terminal, or the log of a CI."""
    if stream.isatty():
        return True
    if not (os.environ.get("GITHUB_ACTIONS") or os.environ.get("TF_BUILD")):
        return False
    try:
        return not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return True


def wants_colour(choice: str, stream: Any) -> bool:
    """Whether to colour: the option first, then NO_COLOR, FORCE_COLOR, and whether a terminal reads."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR", "")
    if forced:
        return forced not in ("0", "false")
    return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"
