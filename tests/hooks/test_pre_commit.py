"""The hooks as a user's repository gets them: pre-commit clones a repository of attnlint, installs it and runs it on a commit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from samples import CLEAN, FAULTY

ROOT = Path(__file__).parents[2]
PRE_COMMIT = Path(sys.executable).parent / "pre-commit"
CONFIGURATION = """\
repos:
- repo: {repository}
  rev: {revision}
  hooks:
  - id: {hook}
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PRE_COMMIT.exists(), reason="pre-commit is not installed"),
    pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a git checkout"),
]


def run(*command: str | os.PathLike[str], cwd: Path, home: Path) -> subprocess.CompletedProcess[str]:
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT", "ATTNLINT_"))}
    environment = {**keep, "PATH": f"{PRE_COMMIT.parent}{os.pathsep}{os.environ['PATH']}", "PRE_COMMIT_HOME": str(home)}
    author = {f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env={**environment, **author})


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A clone of this repository, and the folder in which pre-commit keeps what it installed from it."""
    folder = tmp_path_factory.mktemp("attnlint")
    home = tmp_path_factory.mktemp("home")
    done = run("git", "clone", "-q", ROOT, folder / "clone", cwd=folder, home=home)
    assert done.returncode == 0, done.stderr
    return folder / "clone", home


@pytest.fixture
def commit(source, tmp_path):
    """Commits files to a new repository that has a hook installed; returns status and output of the commit."""
    clone, home = source
    revision = run("git", "rev-parse", "HEAD", cwd=clone, home=home).stdout.strip()
    assert run("git", "init", "-q", cwd=tmp_path, home=home).returncode == 0

    def make(files: dict[str, str], hook: str = "attnlint") -> subprocess.CompletedProcess[str]:
        (tmp_path / ".pre-commit-config.yaml").write_text(CONFIGURATION.format(repository=clone, revision=revision, hook=hook))
        assert run("pre-commit", "install", cwd=tmp_path, home=home).returncode == 0
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        run("git", "add", ".", cwd=tmp_path, home=home)
        return run("git", "commit", "-q", "-m", "a change", cwd=tmp_path, home=home)

    return make


def notebook(source: str) -> str:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source.splitlines(keepends=True)}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


@pytest.mark.parametrize(
    ("files", "passes", "said"),
    [
        ({"model.py": FAULTY}, False, "ATT102"),
        ({"n.ipynb": notebook(FAULTY)}, False, "n.ipynb:cell 1:"),
        ({"model.py": CLEAN, "n.ipynb": notebook(CLEAN)}, True, "Passed"),
        ({"readme.txt": "softmax(q @ k)\n"}, True, "Skipped"),
        ({"attnlint.toml": 'extend-exclude = ["old"]\n', "old/model.py": FAULTY}, True, "Passed"),
        ({"model.py": FAULTY.replace("dim=-1)\n", "dim=-1)  # attnlint: ignore[wrong-dim-scale]\n")}, True, "Passed"),
    ],
)
def test_a_commit(commit, files, passes, said):
    done = commit(files)
    output = done.stdout + done.stderr
    assert (done.returncode == 0) is passes, output
    assert said in output


def test_an_excluded_file_that_is_named(commit, source, tmp_path):
    commit({"attnlint.toml": 'extend-exclude = ["old"]\n', "old/model.py": FAULTY, "new.py": FAULTY})
    for name, status in (("old/model.py", 0), ("new.py", 1)):
        done = run("pre-commit", "run", "attnlint", "--files", name, cwd=tmp_path, home=source[1])
        assert done.returncode == status, done.stdout + done.stderr


def test_the_fixing_hook_fails_the_commit_and_leaves_the_fix(commit, tmp_path):
    done = commit({"model.py": "x = 1  # attnlint: ignore[missing-scale]\n"}, "attnlint-fix")
    assert done.returncode != 0, done.stdout + done.stderr
    assert "files were modified by this hook" in done.stdout + done.stderr
    assert (tmp_path / "model.py").read_text() == "x = 1\n"
    assert commit({}, "attnlint-fix").returncode == 0
