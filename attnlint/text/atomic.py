"""Writing a file in one step: whoever looks sees the old bytes or the new ones, never half of them."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterable

from attnlint.config import ConfigError
from attnlint.text import files

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX, SUFFIX = ".attnlint-", ".tmp"  # of the temporary files
_FRESH = 5.0  # seconds for which a temporary file may not be locked yet
_ABANDONED = 3600.0  # seconds after which one is taken to be left over where files cannot be locked
_SYSTEM = ("/dev/", "/proc/")  # names of open files, such as /dev/stdout


class WriteRefused(Exception):
    """A file was not written; the text says why."""


def replace_file(path: str, data: bytes, follow: bool = True) -> None:
    """Writes `data` to `path` through a temporary file beside it; to a device or a pipe, which cannot be replaced, straight.

    A symbolic link stays one, and its target is written; without `follow` the link itself is replaced. Raises ConfigError where
    that cannot be done.
    """
    try:
        status = _status(path) if follow else None
        if status is not None and (_is_stream(status) or os.path.abspath(path).startswith(_SYSTEM)):
            with open(path, "ab") as file:
                file.write(data)
        else:
            _swap(os.path.realpath(path) if follow else path, data, status)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_stream(status: os.stat_result) -> bool:
    return not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode)


def rewrite_source(path: str, data: bytes, read: bytes) -> None:
    """Puts `data` in the place of the bytes that were `read`; keeps the mode, and writes through a symbolic link to its target.

    Raises WriteRefused where the file is read-only, gone, or no longer holds what was read.
    """
    target = os.path.realpath(path)
    try:
        status = os.stat(target)
        if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(target, os.W_OK):
            raise WriteRefused("is read-only: not fixed")
        if files.read(target) != read:
            raise WriteRefused("has changed since it was read: not fixed; run attnlint again")
        if status.st_nlink > 1:
            _overwrite_linked(target, data)
        else:
            _swap(target, data, status)
    except OSError as error:
        raise WriteRefused(f"cannot be written: {(error.strerror or str(error)).lower()}") from None


def _overwrite_linked(target: str, data: bytes) -> None:
    raise WriteRefused("has several names (hard links): not fixed, since one of them would keep the old text; fix a copy of its own")


def _swap(target: str, data: bytes, status: os.stat_result | None) -> None:
    folder = os.path.dirname(target) or "."
    handle, temporary = tempfile.mkstemp(prefix=PREFIX, suffix=SUFFIX, dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            if fcntl is not None:
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(file, fcntl.LOCK_EX)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if status is not None:
            if hasattr(os, "chown"):
                with contextlib.suppress(OSError):
                    os.chown(temporary, status.st_uid, status.st_gid)
            os.chmod(temporary, stat.S_IMODE(status.st_mode))  # last: a new owner takes the bits of set-user-ID away
        else:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def sweep(paths: Iterable[str]) -> None:
    """Removes those temporary files whose run was killed: nobody holds their lock any more."""
    for path in paths:
        with contextlib.suppress(OSError):
            if _is_left_over(path):
                os.unlink(path)


def _is_left_over(path: str) -> bool:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        age = time.time() - status.st_mtime
        if not stat.S_ISREG(status.st_mode) or age < _FRESH:
            return False
        if fcntl is None:
            return age > _ABANDONED
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error where its run is alive
        return True
