"""An audit as its user runs it: the command line in a process of its own, on a cluster of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

for needed in ("dask", "distributed", "fsspec", "pandas", "pyarrow"):
    pytest.importorskip(needed)

Audit = Callable[..., "subprocess.CompletedProcess[str]"]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "attnlint", "audit", *map(str, arguments)]


def environment(folder: Path) -> dict[str, str]:
    """Where plug-ins of a test lie in `folder`, workers find them."""
    return {**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1"}


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        given = command(*arguments)
        return subprocess.run(given, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=600, check=False)

    return run


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a rule that does something at every site, and a configuration that names it. Returns the configuration's path."""

    def write(body: str) -> Path:
        lines = "\n".join("        " + line for line in body.strip().splitlines())
        (tmp_path / "trap.py").write_text(
            "import os, signal, time\nfrom pathlib import Path\n\nfrom attnlint.rule import Rule\n\n\n"
            'class Trap(Rule):\n    """## What it does\n    Is in the way."""\n\n    code = "TRAP1"\n    name = "trap"\n\n'
            f"    def check(self, site):\n        here = Path({str(tmp_path)!r})\n"
            f"        name = site.record.qualname\n{lines}\n        return ()\n"
        )
        path = tmp_path / "trap.toml"
        path.write_text('plugins = ["trap"]\n')
        return path

    return write
