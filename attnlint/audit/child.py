"""The process in which texts are linted: takes one after the other from its pipe, answers each with what it came to.

It is told apart from the worker that started it so that a text which ends or hangs a process takes no worker along.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import struct
import sys
import threading
import time
from typing import IO, Any

PATIENCE = 10  # seconds that may pass for one of computing: other processes compute too
LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Raises EOFError where the other side is gone."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)


def main(seconds: int, memory: int, steps: int) -> None:
    """Lints until standard input ends. A text may take `seconds` of computing and so many `steps`; `memory` in bytes bounds the process.

    What is stuck where no Python runs is ended from outside, or by the alarm, if nobody is there any more to do that.
    """
    from attnlint.analysis import Engine, Limits, analyse_file

    taking, answering = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else prints goes to standard error
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the worker decides
    threading.Thread(target=_end_with_worker, args=(os.getppid(),), daemon=True).start()
    _bound(memory)
    gc.set_threshold(50_000, 20, 100)
    engine, of = None, None
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            absolute, roots, plugins = receive(taking)
            if engine is None or of != (roots, plugins):
                engine, of = Engine(roots, plugins, Limits(steps, seconds)), (roots, plugins)
                engine.load()  # before the text's own time begins
            if hasattr(signal, "alarm"):
                signal.alarm(2 * PATIENCE * seconds)
            outcome = analyse_file(absolute, True, engine)
            if hasattr(signal, "alarm"):
                signal.alarm(0)
            send(answering, (outcome, _resident()))


def _end_with_worker(worker: int) -> None:
    """Ends this process when the worker that started it is gone, whatever it is at."""
    while os.getppid() == worker:
        time.sleep(1)
    os._exit(1)


def _bound(memory: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _resident() -> int:
    """The most memory, in bytes, that this process has used; 0 where the system does not tell."""
    with contextlib.suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return 0


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
