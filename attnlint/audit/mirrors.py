"""A git repository that has no work tree: every file of HEAD, read from the object store, without a checkout.

Git is run with what a repository's own configuration could make it do switched off: no object is fetched, nothing is asked.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator

from attnlint.audit.units import LARGEST, Text, Unit, too_large, wanted
from attnlint.config import ConfigError

ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


def is_mirror(names: set[str]) -> bool:
    """Whether a folder that holds these names is a bare repository."""
    return {"HEAD", "objects", "refs"} <= names


def unit(source: str, address: str, name: str) -> Unit:
    """The unit of a mirror; the commit of HEAD is its version. Raises ConfigError where git cannot read it."""
    path = _local(address)
    done = _git(path, "rev-parse", "--verify", "--quiet", "HEAD^{tree}")
    size = sum(entry.stat().st_size for entry in os.scandir(os.path.join(path, "objects", "pack"))) if _has_packs(path) else 0
    return Unit(source, "mirror", path, name, done.strip() or "empty", size)


def _has_packs(path: str) -> bool:
    return os.path.isdir(os.path.join(path, "objects", "pack"))


def _local(address: str) -> str:
    path = address.removeprefix("file://")
    if "://" in path:
        raise ConfigError(f"{address}: a git mirror has to lie on a file system that git can read; copy it there, or give an archive of it")
    return path


def _command(path: str, *arguments: str) -> list[str]:
    return ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", f"--git-dir={path}", *arguments]


def _git(path: str, *arguments: str) -> str:
    try:
        done = subprocess.run(_command(path, *arguments), capture_output=True, env={**os.environ, **ENVIRONMENT}, check=False)
    except FileNotFoundError:
        raise ConfigError(f"{path}: is a git mirror, and there is no `git` here to read it with; install git") from None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else ""


def texts(unit: Unit) -> Iterator[Text]:
    """The programs of the tree of HEAD, as it was when the unit was listed. Raises OSError where an object cannot be read."""
    if unit.fingerprint == "empty":
        return
    environment = {**os.environ, **ENVIRONMENT}
    listing = subprocess.Popen(
        _command(unit.address, "ls-tree", "-r", "-z", "-l", "--full-tree", unit.fingerprint), stdout=subprocess.PIPE, env=environment
    )
    reading = subprocess.Popen(
        _command(unit.address, "cat-file", "--batch"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert listing.stdout is not None and reading.stdin is not None and reading.stdout is not None
    try:
        for mode, name, size, path in _entries(listing):
            if not mode.startswith("100") or not wanted(path):
                continue  # links and submodules lead elsewhere
            if size > LARGEST:
                yield Text("", path, None, too_large(size))
                continue
            reading.stdin.write(name + b"\n")
            reading.stdin.flush()
            header = reading.stdout.readline().split()
            if len(header) != 3 or not header[2].isdigit():
                yield Text("", path, None, "cannot be read: its object is not in the mirror")
                continue
            data = reading.stdout.read(int(header[2]))
            reading.stdout.read(1)
            yield Text("", path, data)
        if listing.wait() != 0:
            raise OSError(f"git ls-tree ended with status {listing.returncode}")
    finally:
        for process in (listing, reading):
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            process.wait()


def _entries(listing: subprocess.Popen[bytes]) -> Iterator[tuple[str, bytes, int, str]]:
    """Mode, object, size and path of each entry, as they come."""
    assert listing.stdout is not None
    rest = b""
    while piece := listing.stdout.read(1 << 16):
        *whole, rest = (rest + piece).split(b"\0")
        for entry in whole:
            head, _, path = entry.partition(b"\t")
            mode, _kind, name, size = head.split()
            yield mode.decode(), name, int(size) if size.isdigit() else 0, path.decode("utf-8", "surrogateescape")
