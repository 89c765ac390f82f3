"""What lies beside the sources: pipes and devices by the names of settings and caches, folders that hold other things, hostile text."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from samples import CLEAN, FAULTY
from terminal import shown_on

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")

COMMAND = [sys.executable, "-m", "attnlint", "check"]


def status_of(folder: Path, *arguments: str) -> tuple[int, str]:
    """In a process of its own, since a fault here is a run that never ends."""
    done = subprocess.run([*COMMAND, *(arguments or (".",))], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_a_pipe_in_the_place_of_what_is_read_beside_the_sources_holds_nothing_up(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "model.py").write_text(FAULTY)
    os.mkfifo(tmp_path / ".gitignore")
    os.mkfifo(tmp_path / "pyproject.toml")
    assert status_of(tmp_path) == (1, "")
    (kept,) = (tmp_path / ".attnlint_cache").glob("*.json")
    kept.unlink()
    os.mkfifo(kept)
    assert status_of(tmp_path) == (1, "")
    assert kept.is_file()


@pytest.mark.parametrize("what", ["pipe", "/dev/zero"])
def test_a_baseline_and_an_extended_file_that_are_none_are_status_2(tmp_path, what):
    (tmp_path / "model.py").write_text(FAULTY)
    if what == "pipe":
        os.mkfifo(tmp_path / "pipe")
    status, said = status_of(tmp_path, ".", "--baseline", what)
    assert status == 2 and "not a regular file" in said
    (tmp_path / "attnlint.toml").write_text(f'extend = "{what}"\n')
    status, said = status_of(tmp_path)
    assert status == 2 and "not a regular file" in said


@pytest.mark.parametrize("text", ["x = " + "[" * 20_000, "jobs = " + "9" * 5_000, "jobs = \udcff", "\0", "[[tool"])
def test_settings_that_cannot_be_read_are_status_2(attnlint, tmp_path, text):
    (tmp_path / "attnlint.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    result = attnlint(".")
    assert result.status == 2 and "attnlint.toml: not valid TOML" in result.err


def test_a_baseline_nested_too_deeply_is_status_2(attnlint, tmp_path):
    (tmp_path / "known.json").write_text("[" * 200_000)
    assert "not a baseline" in attnlint(".", "--baseline", "known.json").err


OTHERS = ("package.json", "a.json", "b.json", "c.json", "notes.txt")


def others(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in OTHERS:
        (folder / name).write_text("{}")


def test_a_folder_that_holds_other_things_may_be_the_cache_and_keeps_them(attnlint, tmp_path):
    others(tmp_path)
    (tmp_path / "model.py").write_text(FAULTY)
    for old in range(6):
        (tmp_path / f"{old:024x}.json").write_text("{}")
    assert attnlint(".", "--cache-dir", ".").status == 1
    assert not (tmp_path / ".gitignore").exists() and not (tmp_path / "CACHEDIR.TAG").exists()
    assert len(list(tmp_path.glob("0" * 23 + "?.json"))) == 3  # of former versions the last three
    assert attnlint("clean", "--cache-dir", ".").status == 0
    assert sorted(os.listdir(tmp_path)) == sorted([*OTHERS, "model.py"])


def test_a_cache_that_is_a_link_to_another_folder_does_no_harm_there(attnlint, tmp_path):
    others(tmp_path / "elsewhere")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "model.py").write_text(FAULTY)
    (tmp_path / "tree" / ".attnlint_cache").symlink_to("../elsewhere")
    os.chdir(tmp_path / "tree")
    assert attnlint(".").status == 1
    assert attnlint("clean").status == 0
    assert {name for name in os.listdir(tmp_path / "elsewhere") if name in OTHERS or name in (".gitignore", "CACHEDIR.TAG")} == set(OTHERS)


def test_a_cache_file_that_is_a_link_is_replaced_and_its_target_is_not_written(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(CLEAN)
    attnlint(".")
    (kept,) = (tmp_path / ".attnlint_cache").glob("*.json")
    kept.unlink()
    (tmp_path / "precious").write_text("mine")
    kept.symlink_to(tmp_path / "precious")
    attnlint(".")
    assert (tmp_path / "precious").read_text() == "mine"


def test_findings_are_written_to_a_pipe_and_a_device_as_they_are(tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    os.mkfifo(tmp_path / "pipe")
    run = subprocess.Popen([*COMMAND, "model.py", "--no-cache", "-o", "pipe", "--output-format", "concise"], cwd=tmp_path)
    assert "ATT102" in (tmp_path / "pipe").read_text()
    assert run.wait(timeout=60) == 1
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_findings_are_written_through_the_name_of_an_open_file(tmp_path):
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("there are no names of open files here")
    (tmp_path / "model.py").write_text(FAULTY)
    with open(tmp_path / "log", "w") as log:
        log.write("before\n")
        log.flush()
        command = [*COMMAND, "model.py", "--no-cache", "-o", "/proc/self/fd/1", "--output-format", "concise"]
        subprocess.run(command, cwd=tmp_path, stdout=log, check=False)
    said = (tmp_path / "log").read_text()
    assert said.startswith("before\n") and "ATT102" in said


def test_an_output_file_keeps_its_mode_and_a_link_to_one_stays_a_link(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "real.txt").chmod(0o600)
    (tmp_path / "link.txt").symlink_to("real.txt")
    assert attnlint("model.py", "-o", "link.txt").status == 1
    assert (tmp_path / "link.txt").is_symlink()
    assert "ATT102" in (tmp_path / "real.txt").read_text()
    assert stat.S_IMODE((tmp_path / "real.txt").stat().st_mode) == 0o600


HOSTILE = "'''\x1b]0;owned\x07\n  ::error file=x::owned\n##[add-path]/tmp \u202e'''\nx = 1  # attnlint: ignore[ATT101]\n"


def test_a_diff_acts_on_no_terminal_and_is_exact_elsewhere(tmp_path):
    import pty

    path = tmp_path / "model.py"
    path.write_text(HOSTILE, encoding="utf-8")
    near, far = pty.openpty()
    run = subprocess.Popen([*COMMAND, "model.py", "--diff", "--no-cache", "--color", "never"], cwd=tmp_path, stdout=far)
    os.close(far)
    shown = shown_on(near)
    run.wait(timeout=60)
    assert b"-x = 1" in shown and b"\\x1b]0;owned" in shown
    assert b"\x1b" not in shown and b"##[" not in shown and "\u202e".encode() not in shown
    assert not any(line.strip().startswith(b"::") for line in shown.splitlines())
    with open(tmp_path / "fix.patch", "wb") as patch:
        subprocess.run([*COMMAND, "model.py", "--diff", "--no-cache", "-q"], cwd=tmp_path, stdout=patch, check=False)
    subprocess.run(["git", "apply", "fix.patch"], cwd=tmp_path, check=True)
    assert path.read_bytes().decode() == HOSTILE.replace("  # attnlint: ignore[ATT101]", "")


def test_a_diff_in_the_log_of_a_ci_holds_no_command(attnlint, tmp_path, monkeypatch):
    (tmp_path / "model.py").write_text(HOSTILE, encoding="utf-8")
    assert "##[" in attnlint("model.py", "--diff").out  # what a program reads is a patch
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    out = attnlint("model.py", "--diff").out
    assert "##[" not in out and "\x1b" not in out
    assert not any(line.strip().startswith("::") for line in out.splitlines())


EVIL = "import os\nopen(os.environ['MARK'], 'a').write('x')\n"


def test_linting_executes_nothing_of_the_tree(tmp_path):
    tree, mark = tmp_path / "tree", tmp_path / "mark"
    (tree / "pkg").mkdir(parents=True)
    for name in ("torch.py", "libcst.py", "json.py", "sitecustomize.py", "conftest.py", "plugin.py", "setup.py"):
        (tree / name).write_text(EVIL)
    (tree / "pkg" / "__init__.py").write_text(EVIL)
    (tree / "pkg" / "model.py").write_text(EVIL + "import torch, plugin\nfrom . import *\n" + FAULTY)
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": f"%run setup.py\n!touch {mark}\n{EVIL}"}
    import json

    (tree / "n.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    (tree / "pkg" / "attnlint.toml").write_text('plugins = ["plugin"]\n')
    (tree / "pyproject.toml").write_text('[tool.attnlint]\nplugins = ["plugin"]\n')
    environment = {**os.environ, "MARK": str(mark), "PYTHONPATH": ""}
    for folder, path in ((tmp_path, "tree"), (tree, ".")):
        done = subprocess.run([*COMMAND, path, "--fix", "--unsafe-fixes"], cwd=folder, env=environment, capture_output=True, check=False)
        assert not mark.exists(), (folder, done.stderr)
        assert done.returncode == 0, done.stderr
    assert b"`plugins` not loaded: plugin; --allow-plugins loads them" in done.stderr
