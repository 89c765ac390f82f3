"""A limit on the time that a computation takes, whatever it is at: no loop has to ask for it."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")
AGAIN = 0.5  # seconds after which a computation that swallowed the word to stop is told it again


class OutOfTime(BaseException):
    """A computation has used up its time. No `except Exception` on its way may keep it."""


def within(seconds: float, compute: Callable[[], Result]) -> Result:
    """What `compute` returns. Raises OutOfTime once it has taken so many seconds; 0 sets no limit.

    In a process's first thread the processor's time counts, so that a busy machine changes no answer; elsewhere, and where the system
    has no such clock, the time of day.
    """
    if seconds <= 0:
        return compute()
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        return _by_signal(seconds, compute)
    return _by_thread(seconds, compute)


def _by_signal(seconds: float, compute: Callable[[], Result]) -> Result:
    running = True

    def stop(_number: int, _frame: object) -> None:
        if running:
            raise OutOfTime

    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds, AGAIN)
            return compute()
        finally:
            running = False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before if before is not None else signal.SIG_DFL)


def _by_thread(seconds: float, compute: Callable[[], Result]) -> Result:
    thread = ctypes.c_ulong(threading.get_ident())
    tell = ctypes.pythonapi.PyThreadState_SetAsyncExc
    ended = threading.Event()
    lock = threading.Lock()

    def watch() -> None:
        pause = seconds
        while not ended.wait(pause):
            with lock:
                if not ended.is_set():
                    tell(thread, ctypes.py_object(OutOfTime))
            pause = AGAIN

    watcher = threading.Thread(target=watch, name="attnlint-time", daemon=True)
    watcher.start()
    try:
        return compute()
    finally:
        with lock:
            ended.set()
            tell(thread, None)  # a word that is on its way and comes too late
