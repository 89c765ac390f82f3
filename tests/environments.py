"""Virtual environments of the tests' own, into which packages are built and installed for real."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKED = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "attnlint", "rules")


def copy_project(target: Path, *names: str) -> Path:
    """A copy of these files and folders of the project, without what Python and its tools leave behind."""
    for name in names:
        origin = ROOT / name
        files = [origin] if origin.is_file() else [one for one in origin.rglob("*") if one.is_file() and "__pycache__" not in one.parts]
        for one in files:
            path = target / one.relative_to(ROOT)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(one.read_bytes())
    return target


@functools.cache
def attnlint_wheel() -> Path:
    """attnlint as a wheel, built once from a copy of what is packed."""
    folder = Path(tempfile.mkdtemp(prefix="attnlint-wheel-"))
    return build(copy_project(folder / "source", *PACKED), folder)


def build(source: Path, folder: Path) -> Path:
    """A project built as a wheel, by the setuptools that is installed here."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return max(folder.glob("*.whl"), key=lambda one: one.stat().st_mtime_ns)


class Environment:
    """A new virtual environment. What it lacks it finds in the one that runs the tests, so that nothing is fetched."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / "python"
        (where,) = self._out("import sysconfig; print(sysconfig.get_path('purelib'))")
        Path(where, "zz_borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")

    def _out(self, program: str) -> list[str]:
        return subprocess.run([self.python, "-c", program], capture_output=True, text=True, check=True).stdout.splitlines()

    def install(self, source: Path, *options: str) -> None:
        """Builds and installs a project, or installs a wheel, without its dependencies."""
        command = [sys.executable, "-m", "pip", "--python", self.python, "install", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
        # Whatever is borrowed does not count as installed.
        done = subprocess.run([*command, "--ignore-installed", *options, source], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def install_attnlint(self) -> None:
        self.install(attnlint_wheel())

    def run(self, *command: str | os.PathLike[str], cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a command with this environment first on the path."""
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "ATTNLINT_", "PYTHONPATH"))}
        path = os.pathsep.join((str(self.bin), str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {**keep, "PATH": path, "NO_COLOR": "1", "OMP_NUM_THREADS": "1", **variables}
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=600, check=False)
