"""The hooks as a user's repository gets them: pre-commit clones a repository of attnlint, installs it and runs it on a commit."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from samples import CLEAN, FAULTY

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
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

    def make(files: dict[str, str], hook: str = "attnlint", configuration: str = CONFIGURATION) -> subprocess.CompletedProcess[str]:
        text = configuration.format(repository=clone, revision=revision, hook=hook)
        (tmp_path / ".pre-commit-config.yaml").write_text(text)
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


def test_the_configuration_of_readme_with_a_baseline_as_readme_has_it(commit, source, tmp_path):
    """Adopted on code that has a finding: it is written down once, the commit passes, and a new finding fails the next one."""
    (shown,) = re.findall(r"```yaml\n(repos:.*?)```", README, re.DOTALL)
    configuration, count = re.subn(r"https://github.com/[\w.-]+/attnlint", "{repository}", shown)
    configuration, pinned = re.subn(r"rev: HEAD\b.*", "rev: HEAD", configuration)
    assert (count, pinned) == (1, 1)
    write, _ = re.findall(r"^attnlint (.*--baseline (?:\S+).*)$", README, re.MULTILINE)
    (tmp_path / "model.py").write_text(FAULTY)
    program = Path(sys.executable).parent / "attnlint"
    assert run(program, *write.split(), cwd=tmp_path, home=source[1]).returncode == 0
    settings = {"pyproject.toml": re.findall(r"```toml\n(\[tool.attnlint\]\nbaseline.*?)```", README, re.DOTALL)[0]}
    first = commit(settings, configuration=configuration)
    assert first.returncode == 0, first.stdout + first.stderr
    second = commit({"new.py": FAULTY}, configuration=configuration)
    assert second.returncode != 0 and "new.py:" in second.stdout + second.stderr, second.stdout + second.stderr
    assert "model.py:" not in second.stdout + second.stderr


def test_the_installation_of_readme(source, tmp_path):
    """In a new environment, from the repository: the two lines that README begins with."""
    install, lint = re.findall(r"```sh\n(pip install git\+\S+)\n(attnlint \.)\n```", README)[0]
    venv.create(tmp_path / "environment", with_pip=True)
    folder = tmp_path / "environment" / ("Scripts" if os.name == "nt" else "bin")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "model.py").write_text(FAULTY)
    command = re.sub(r"https://github.com/[\w.-]+/[\w.-]+", source[0].as_uri(), install).split()
    done = run(folder / command[0], *command[1:], cwd=tmp_path, home=source[1])
    assert done.returncode == 0, done.stderr
    found = run(folder / "attnlint", *lint.split()[1:], cwd=tmp_path / "code", home=source[1])
    assert found.returncode == 1 and "ATT102 wrong-dim-scale" in found.stdout, found.stdout + found.stderr
    explained = run(folder / "attnlint", "explain", cwd=tmp_path, home=source[1])
    assert explained.returncode == 0 and "1/sqrt(d)" in explained.stdout, explained.stderr
    unrun = run(folder / "attnlint", "confirm", "code/model.py", cwd=tmp_path, home=source[1])
    assert unrun.returncode == 1 and "pip install numpy torch" in unrun.stdout, unrun.stdout + unrun.stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_the_action_installs_and_annotates(source, tmp_path):
    """Both scripts of the GitHub Action, one after the other, as a runner executes them."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (tmp_path / "model.py").write_text(FAULTY)
    values = {name: str(one.get("default", "")) for name, one in action["inputs"].items()}
    done = None
    for step in action["runs"]["steps"]:
        if "run" not in step:
            continue
        given = {name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: values[found[1]], text) for name, text in step["env"].items()}
        given = {name: text.replace("${{ github.action_path }}", str(source[0])) for name, text in given.items()}
        command = ["env", f"RUNNER_TEMP={tmp_path / 'temp'}", *(f"{name}={text}" for name, text in given.items())]
        done = run(*command, "bash", "-eo", "pipefail", "-c", step["run"], cwd=tmp_path, home=source[1])
        assert done.returncode == (1 if step["name"] == "Run attnlint" else 0), done.stderr
    assert done is not None
    assert done.stdout.startswith("::error title=attnlint (ATT102),file=model.py,"), done.stdout
