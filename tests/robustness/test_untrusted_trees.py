"""What a linted tree brings along may say how it is linted; it may not choose what is written, run or overwritten."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from samples import FAULTY, PLAIN

COMMAND = [sys.executable, "-m", "attnlint"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree beside a file of the user's."""
    (tmp_path / "precious").write_text("mine\n")
    made = tmp_path / "tree"
    made.mkdir()
    (made / "model.py").write_text(FAULTY)
    return made


def everything(folder: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


@pytest.mark.parametrize("name", ["attnlint.toml", "pyproject.toml", "pkg/attnlint.toml", "base.toml"])
@pytest.mark.parametrize("path", ["../precious", "{absolute}", "link", "inside.txt", "~/.bashrc"])
def test_settings_of_a_tree_choose_no_file_to_write_the_findings_to(attnlint, tree, monkeypatch, name, path):
    monkeypatch.chdir(tree)
    (tree / "link").symlink_to("../precious")
    (tree / "pkg").mkdir()
    (tree / "pkg" / "model.py").write_text(PLAIN)
    table = "[tool.attnlint]\n" if name == "pyproject.toml" else ""
    (tree / name).write_text(f"{table}output-file = '{path.format(absolute=tree.parent / 'precious')}'\n")
    if name == "base.toml":
        (tree / "attnlint.toml").write_text('extend = "base.toml"\n')
    before = everything(tree.parent)
    result = attnlint(".")
    assert result.status == 2
    assert "output-file` is for the command line alone (`--output-file`" in result.err
    assert everything(tree.parent) == before


@pytest.mark.parametrize("key", ["cache-dir", "baseline"])
@pytest.mark.parametrize("path", ["..", "../precious", "{absolute}", "link", "pkg/../../x", "."])
def test_what_settings_of_a_tree_have_written_stays_in_the_tree(attnlint, tree, monkeypatch, key, path):
    monkeypatch.chdir(tree)
    (tree / "link").symlink_to("../precious")
    (tree / "attnlint.toml").write_text(f"{key} = '{path.format(absolute=tree.parent / 'precious')}'\n")
    before = everything(tree.parent)
    result = attnlint(".", *(("--update-baseline",) if key == "baseline" else ()))
    assert result.status == 2
    assert f"`{key}` leads out of the folder of its file" in result.err and f"`--{key}`" in result.err
    assert everything(tree.parent) == before


def test_the_command_line_and_the_environment_may_write_anywhere(attnlint, tree, monkeypatch):
    monkeypatch.chdir(tree)
    (tree / "attnlint.toml").write_text('cache-dir = "sub/cache"\nbaseline = "known.json"\n')
    assert attnlint(".", "--update-baseline").status == 0
    assert (tree / "sub" / "cache" / "CACHEDIR.TAG").exists() and (tree / "known.json").exists()
    assert attnlint(".", "--baseline", "../known.json", "--update-baseline", "--cache-dir", "../cache").status == 0
    monkeypatch.setenv("ATTNLINT_OUTPUT_FILE", "../report.txt")
    assert attnlint(".", "--output-format", "concise").status == 0
    assert (tree.parent / "report.txt").exists() and (tree.parent / "known.json").exists() and (tree.parent / "cache").is_dir()


@pytest.mark.parametrize("key", ["max-seconds = 0", "allow-plugins = true"])
def test_a_tree_grants_itself_nothing(attnlint, tree, monkeypatch, key):
    monkeypatch.chdir(tree)
    (tree / "attnlint.toml").write_text(key + "\n")
    result = attnlint(".")
    assert result.status == 2 and "is for the command line alone" in result.err


@pytest.mark.parametrize("form", ["text", "json"])
def test_config_and_clean_print_paths_that_do_not_act(attnlint, tmp_path, monkeypatch, form):
    folder = tmp_path / "##vso[task.x]\x1b[2J\u202e"
    folder.mkdir()
    (folder / "attnlint.toml").write_text('select = ["##teamcity[x]\\u202e"]\n')
    shown = attnlint("config", folder, "--output-format", form).out
    monkeypatch.chdir(folder)
    (folder / "attnlint.toml").unlink()
    (folder / "model.py").write_text(FAULTY)
    assert attnlint(".").status == 1
    shown += attnlint("clean", folder).out
    assert "removed" in shown
    assert not any(one in shown for one in ("##vso[", "##teamcity[", "\x1b", "\u202e"))


# Files


def test_what_a_killed_run_has_left_goes_and_what_another_run_holds_stays(attnlint, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    (tmp_path / "model.py").write_text(FAULTY)
    left, held, fresh = (tmp_path / f".attnlint-{name}.tmp" for name in ("left", "held", "fresh"))
    for one in (left, held, fresh):
        one.write_text("half")
    for one in (left, held):
        os.utime(one, (time.time() - 60,) * 2)
    with held.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert attnlint(".").status == 1
        assert not left.exists() and held.exists() and fresh.exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
@pytest.mark.parametrize("arguments", [["."], ["sites", "."], ["config"], ["rule", "ATT101"], [".", "--diff", "--unsafe-fixes"]])
def test_a_full_disk_is_said_and_is_status_2(tmp_path, arguments):
    (tmp_path / "model.py").write_text(FAULTY)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, *arguments], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1] == "attnlint: error: cannot write to standard output: no space left on device"
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize("path", ["model.py", "gone.py", "pkg", "."])
def test_a_path_is_no_reason_for_a_suppression(attnlint, tmp_path, path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "model.py").write_text(FAULTY)
    result = attnlint("check", "--add-ignore", path)
    assert result.status == 2
    assert f"--add-ignore {path}: this is a path" in result.err
    assert (tmp_path / "model.py").read_text() == FAULTY


def test_what_a_build_has_made_is_passed_over(attnlint, tmp_path):
    (tmp_path / "build" / "lib").mkdir(parents=True)
    (tmp_path / "build" / "lib" / "model.py").write_text(FAULTY)
    assert attnlint(".").status == 0


# What the user has written wrongly is the user's to mend, and said so


@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("text", ["import no_such_module_of_mine", "raise ValueError('x')", "def f(:", None])
def test_a_plugin_that_does_not_import_is_an_error_of_the_settings(attnlint, tmp_path, monkeypatch, files, text):
    name = f"broken_pack_{abs(hash((files, text)))}"
    if text is not None:
        (tmp_path / f"{name}.py").write_text(text + "\n")
    for number in range(files):
        (tmp_path / f"model{number}.py").write_text(FAULTY)
    monkeypatch.syspath_prepend(str(tmp_path))
    result = attnlint(*(f"model{number}.py" for number in range(files)), "--config", f'plugins = ["{name}"]', "--isolated", "--no-cache")
    assert result.status == 2
    assert "setting `plugins`" in result.err and "internal" not in result.err and "Traceback" not in result.err


@pytest.mark.parametrize("by", ["environment", "file"])
def test_a_format_that_is_meant_for_findings_does_not_break_sites(attnlint, tmp_path, monkeypatch, by):
    (tmp_path / "model.py").write_text(FAULTY)
    if by == "environment":
        monkeypatch.setenv("ATTNLINT_OUTPUT_FORMAT", "github")
    else:
        (tmp_path / "attnlint.toml").write_text('output-format = "sarif"\n')
    result = attnlint("sites", ".")
    assert result.status == 0 and "SelfAttention.forward" in result.out
    assert attnlint("sites", ".", "--output-format", "github").status == 2


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["check", ".", "--selct", "ATT1"], "--select"),
        (["--selct=ATT1", "."], "--select"),
        (["chekc", "."], "check"),
        (["site"], "sites"),
        (["sites", ".", "--statistic"], "--statistics"),
        (["confirm", "model.py", "--timeot", "3"], "--timeout"),
        (["server", "--stido"], "--stdio"),
        (["cofirm", "model.py"], "confirm"),
    ],
)
def test_a_misspelt_word_is_met_with_the_right_one(attnlint, tmp_path, arguments, meant):
    (tmp_path / "model.py").write_text(FAULTY)
    result = attnlint(*arguments)
    assert result.status == 2
    assert f"did you mean `{meant}`?" in result.err


def test_what_needs_more_steps_is_told_which_setting_grants_them(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    few = attnlint(".", "--max-steps", "100")
    assert few.status == 0 and "needs more steps than are granted (the setting `max-steps` grants more)" in few.err
    (tmp_path / "attnlint.toml").write_text("max-steps = 100\n")
    assert attnlint(".").status == 0
    (tmp_path / "attnlint.toml").write_text("max-steps = 300000\n")
    assert attnlint(".").status == 1  # and no verdict of fewer steps was kept


@pytest.mark.skipif(os.name == "nt", reason="no mode bits here")
@pytest.mark.parametrize("mode", [0o644, 0o755, 0o4755, 0o2755, 0o1644, 0o6711])
def test_a_fix_keeps_every_mode_bit(attnlint, tmp_path, mode):
    path = tmp_path / "model.py"
    path.write_text(FAULTY)
    path.chmod(mode)
    if path.stat().st_mode & 0o7777 != mode:
        pytest.skip("this system keeps no such bit")
    assert attnlint("model.py", "--fix", "--unsafe-fixes").status == 0
    assert path.stat().st_mode & 0o7777 == mode
