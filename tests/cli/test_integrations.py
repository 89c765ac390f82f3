"""pre-commit and the GitHub Action's script, through the real programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from samples import CLEAN, FAULTY, PLAIN

ROOT = Path(__file__).parents[2]
yaml = pytest.importorskip("yaml")


def run(*command: str | os.PathLike[str], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT", "ATTNLINT_"))}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env={**keep, "PATH": path, **environment})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository whose pre-commit configuration has our hooks, run by the attnlint that is installed here."""
    if not (Path(sys.executable).parent / "pre-commit").exists():
        pytest.skip("pre-commit is not installed")
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    local = [{**hook, "language": "system"} for hook in hooks]
    for hook in local:
        hook.pop("minimum_pre_commit_version")
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [{"repo": "local", "hooks": local}]}))
    (folder / "attnlint.toml").write_text('no-cache = true\nextend-exclude = ["generated"]\n')
    run("git", "init", "-q", cwd=folder)
    return folder


def hook(folder: Path, name: str, **files: str) -> subprocess.CompletedProcess[str]:
    for file, text in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run("git", "add", ".", cwd=folder)
    return run("pre-commit", "run", name, "--files", *files, cwd=folder, PRE_COMMIT_HOME=str(folder.parent / "home"))


def cells(*sources: str) -> str:
    code = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source.splitlines(keepends=True)}
        for source in sources
    ]
    return json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def test_the_hooks_are_what_pre_commit_expects(repository):
    done = run("pre-commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml", cwd=repository)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("files", "status", "said"),
    [
        ({"model.py": FAULTY}, 1, "ATT102"),
        ({"n.ipynb": cells(FAULTY)}, 1, "n.ipynb:cell 1:"),
        ({"model.py": CLEAN}, 0, "Passed"),
        ({"model.pyi": PLAIN}, 0, "Passed"),
        ({"readme.txt": "softmax"}, 0, "Skipped"),
        ({"generated/model.py": FAULTY}, 0, "Passed"),
        ({"generated/model.py": FAULTY, "model.py": FAULTY}, 1, "model.py:"),
    ],
)
def test_the_hook(repository, files, status, said):
    done = hook(repository, "attnlint", **files)
    assert done.returncode == status, done.stdout + done.stderr
    assert said in done.stdout
    assert "generated/model.py:" not in done.stdout


def test_the_fixing_hook(repository):
    done = hook(repository, "attnlint-fix", **{"model.py": "x = 1  # attnlint: ignore[ATT101]\n"})
    assert done.returncode == 1
    assert (repository / "model.py").read_text() == "x = 1\n"
    assert hook(repository, "attnlint-fix", **{"model.py": "x = 1\n"}).returncode == 0


def action_step(name: str) -> dict:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    (step,) = [step for step in action["runs"]["steps"] if step.get("name") == name]
    assert "${{" not in step["run"], "an input in a script could run anything"
    return step


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_the_actions_script(tmp_path):
    step = action_step("Run attnlint")
    (tmp_path / "a dir").mkdir()
    (tmp_path / "a dir" / "model.py").write_text(FAULTY)
    (tmp_path / "other.py").write_text(FAULTY)
    bin_folder = tmp_path / "temp" / "attnlint" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "attnlint").symlink_to(Path(sys.executable).parent / "attnlint")
    environment = {
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "ATTNLINT_PATHS": "a dir\n",
        "ATTNLINT_ARGS": "",
        "ATTNLINT_FILE": "",
        "ATTNLINT_OUTPUT_FORMAT": "github",
    }
    assert set(step["env"]) == {name for name in environment if name.startswith("ATTNLINT_")}
    shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
    done = run(*shell, cwd=tmp_path, **environment)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error title=attnlint (ATT102),file=a dir/model.py,")
    assert done.stdout.count("\n") == 1
    told = run(*shell, cwd=tmp_path, **{**environment, "ATTNLINT_ARGS": "--exit-zero\n--no-cache", "ATTNLINT_FILE": "out.txt"})
    assert (told.returncode, told.stdout) == (0, "")
    assert (tmp_path / "out.txt").read_text().startswith("::error")
