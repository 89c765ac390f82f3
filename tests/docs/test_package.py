"""The package as it is installed: every package is in the wheel, rules are found, and nothing heavy comes along."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from documents import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("setuptools")
    out = tmp_path_factory.mktemp("wheel")
    source = out / "source"
    # From a copy of the files under version control, or of all but the folders that are never packed.
    for path in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "attnlint", "rules"):
        origin = ROOT / path
        files = [origin] if origin.is_file() else [one for one in origin.rglob("*") if one.is_file() and "__pycache__" not in one.parts]
        for one in files:
            target = source / one.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(one.read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("attnlint-*.whl")
    return built


def test_every_package_is_in_the_wheel(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    written = {one.relative_to(ROOT).as_posix() for one in (ROOT / "attnlint").rglob("*.py")}
    written |= {f"attnlint/{one.relative_to(ROOT).as_posix()}" for one in (ROOT / "rules").rglob("*.py")}
    assert written - packed == set()
    assert "attnlint/py.typed" in packed
    assert not [name for name in packed if name.split("/")[0] in ("tests", "docs", "examples", "benchmarks", "rules")]


def test_an_installation_pulls_in_no_framework(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode("utf-8"))
    needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(line.split(">")[0].split(";")[0].strip() for line in needed) == ["argcomplete", "libcst", "tomli"]
    assert set(metadata.get_all("Provides-Extra", [])) >= {"probe", "server", "ecosystem", "dev"}


def test_the_readme_that_an_index_shows_leads_out_of_no_checkout(wheel: Path) -> None:
    """Every link and picture is absolute, and a picture is the raw file."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode("utf-8"))
    assert metadata["Description-Content-Type"] == "text/markdown"
    shown = metadata.get_payload()
    targets = re.findall(r"\]\(([^)]*)\)", shown)
    assert len(targets) > 30
    assert [one for one in targets if not one.startswith("https://github.com/")] == re.findall(r"!\[[^\]]*\]\(([^)]*)\)", shown)
    assert "/main/docs/terminal.svg)" in shown and "raw.githubusercontent.com" in shown
    addresses = dict(one.split(", ") for one in metadata.get_all("Project-URL", []))
    assert {"Repository", "Documentation", "Changelog", "Issues"} <= set(addresses)


def test_an_installed_wheel_finds_its_rules(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    where = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True
    ).stdout.strip()
    zipfile.ZipFile(wheel).extractall(where)
    # The dependencies are those of the environment that runs the tests; attnlint itself is the installed one.
    import libcst

    Path(where, "dependencies.pth").write_text(f"{Path(libcst.__file__).parents[1]}\n", encoding="utf-8")
    program = (
        "import attnlint.rules, attnlint.cli, sys; print(attnlint.rules.__file__); "
        f"sys.exit(attnlint.cli.main(['--isolated', '--no-cache', '--output-format', 'concise', {str(ROOT / 'examples')!r}]))"
    )
    done = subprocess.run([str(python), "-c", program], capture_output=True, text=True, encoding="utf-8", cwd=tmp_path, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(where)
    assert "ATT102 wrong-dim-scale" in done.stdout
