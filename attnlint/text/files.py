"""Reading what may be anything: only regular files are read, so that no pipe or device of a linted tree holds a run up."""

from __future__ import annotations

import os


def read(path: str) -> bytes:
    """The bytes of a regular file. Raises OSError, also for what is not one."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        import stat

        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "not a regular file")
        return file.read()
