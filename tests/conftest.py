"""Runs the command line inside this process: arguments and bytes in, exit status and text out."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        import json

        return json.loads(self.out)


def run_attnlint(*arguments: str | os.PathLike[str], stdin: bytes = b"") -> Result:
    """`attnlint ARGUMENTS` in this process."""
    from attnlint.cli import main

    streams = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n"), io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n")
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(stdin), "utf-8"), *streams
    try:
        status = main([os.fspath(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    texts = []
    for stream in streams:
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    return Result(status, *texts)


@pytest.fixture
def attnlint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs attnlint in an empty folder, without the settings of the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "ATTNLINT_OUTPUT_FORMAT", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    return run_attnlint
