"""The release: one placeholder for the host that one command fills, nothing that pins what is not there, and workflows whose steps work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
from documents import README, ROOT
from environments import copy_project

from attnlint._version import __version__
from attnlint.extras import PACKAGES
from attnlint.registry import REPOSITORY

TOMLLIB = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
PROJECT: dict[str, Any] = TOMLLIB.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = ROOT / ".github" / "workflows"
PUBLIC = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "pyproject.toml",
    "setup.py",
    "action.yml",
    "attnlint",
    "rules",
    "docs",
)
UNNAMED = pytest.mark.skipif("/OWNER/" not in REPOSITORY, reason="a host is named here")


def yaml_of(path: Path) -> Any:
    return pytest.importorskip("yaml").safe_load(path.read_text(encoding="utf-8"))


@UNNAMED
def test_the_placeholder_for_the_host_is_explained_where_it_first_stands() -> None:
    first, _, rest = README.read_text(encoding="utf-8").partition("OWNER")
    explained = " ".join(rest.split()).find("`OWNER` stands, here and in all that follows, for the account that hosts this repository")
    assert 0 <= explained < 200
    assert "OWNER" not in first and PROJECT["urls"]["Repository"] == REPOSITORY


@UNNAMED
def test_one_command_puts_the_host_everywhere(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project", *PUBLIC)

    def named() -> list[str]:
        files = [path for path in project.rglob("*") if path.suffix in (".md", ".py", ".toml", ".yml", ".json") and path.name != "host.py"]
        return [path.name for path in files if re.search(r"(?<![`/])OWNER|/OWNER/", path.read_text(encoding="utf-8"))]

    assert {"README.md", "pyproject.toml", "registry.py"} <= set(named())
    assert subprocess.run([sys.executable, "docs/host.py", "nobody"], cwd=project, capture_output=True, check=False).returncode == 2
    for _ in range(2):  # the second time there is nothing left to do
        done = subprocess.run([sys.executable, "docs/host.py", "Some-One/scales"], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert [name for name in named() if name != "registry.py"] == []
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert "pip install git+https://github.com/Some-One/scales\n" in readme and "OWNER" not in readme
    program = "from attnlint.registry import rules; print({one.url for one in rules()})"
    shown = subprocess.run([sys.executable, "-c", program], cwd=project, capture_output=True, text=True, check=True).stdout
    assert f"https://github.com/Some-One/scales/blob/v{__version__}/docs/rules/missing-scale.md" in shown


def test_nothing_pins_a_tag() -> None:
    pages = [README, *sorted((ROOT / "docs").glob("*.md"))]
    pins = [(page.name, pin) for page in pages for pin in re.findall(r"(?:attnlint@|rev: )v[\d.]+", page.read_text(encoding="utf-8"))]
    assert pins == []


def test_the_hint_for_an_extra_installs_what_the_extra_names() -> None:
    extras = PROJECT["optional-dependencies"]
    for extra, packages in PACKAGES.items():
        assert [re.split(r"[<>=']", one.strip("'"))[0] for one in packages.split()] == [one.split(">=")[0] for one in extras[extra]]
    sources = [*(ROOT / "attnlint").rglob("*.py"), README, *(ROOT / "docs").rglob("*.md")]
    plain = [path.name for path in sources if re.search(r"pip install '?attnlint\[", path.read_text(encoding="utf-8"))]
    assert plain == [], "an index may not have attnlint, or may have another one"


def test_every_python_that_is_claimed_is_tested() -> None:
    claimed = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", one)}
    matrix = yaml_of(WORKFLOWS / "ci.yml")["jobs"]["linter"]["strategy"]["matrix"]
    assert claimed == set(matrix["python"])
    (floor,) = [one.removeprefix("libcst>=") for one in PROJECT["dependencies"] if one.startswith("libcst")]
    assert {one["libcst"] for one in matrix["include"]} == {f"{floor}.0"} and matrix["libcst"] == ["newest"]


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.stem)
def test_a_workflow_or_a_form_is_well_formed(path: Path) -> None:
    document = yaml_of(path)
    if "jobs" in document:
        assert all(step.get("run") or step.get("uses") for job in document["jobs"].values() for step in job["steps"])
    elif "body" in document:
        assert document["name"] and document["description"]
        inputs = [one for one in document["body"] if one["type"] != "markdown"]
        assert len({one["id"] for one in inputs}) == len(inputs) and all(one["attributes"]["label"] for one in inputs)


def test_the_release_publishes_without_a_secret() -> None:
    jobs = yaml_of(WORKFLOWS / "release.yml")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"} and jobs["publish"]["needs"] == "build"
    assert "secrets." not in (WORKFLOWS / "release.yml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_steps_of_a_release_build_what_can_be_published(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project", *PUBLIC, "examples", ".github")
    venv.create(tmp_path / "environment", with_pip=True)
    folder = tmp_path / "environment" / ("Scripts" if os.name == "nt" else "bin")
    variables = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "GITHUB_REPOSITORY": "someone/attnlint", "RUNNER_TEMP": str(tmp_path)}

    def run(step: dict[str, str], tag: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **variables, "GITHUB_REF_NAME": tag}
        bash = ["bash", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(bash, cwd=project, env=environment, capture_output=True, text=True, timeout=600, check=False)

    version, *others = [one for one in yaml_of(WORKFLOWS / "release.yml")["jobs"]["build"]["steps"] if "run" in one]
    assert run(version, "v99").returncode != 0
    for step in (version, *others):
        done = run(step, f"v{__version__}")
        assert done.returncode == 0, f"{step['name']}\n{done.stdout}\n{done.stderr}"
    (wheel,) = (project / "dist").glob("*.whl")
    (source,) = (project / "dist").glob("*.tar.gz")
    assert source.stat().st_size > 0
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode("utf-8")
    assert "OWNER" not in metadata and "https://github.com/someone/attnlint/blob/main/docs/settings.md" in metadata
