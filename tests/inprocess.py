"""Runs the command line inside this process: arguments and bytes in, exit status and text out."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass
from typing import Any


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
