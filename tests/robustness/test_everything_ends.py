"""Inputs made to take for ever: each ends, and what stands beside them is still judged."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
from collections.abc import Iterator

import pytest
from samples import FAULTY

from attnlint import linter
from attnlint.analysis import Engine, Limits, analyse
from attnlint.globs import is_ignored, read_gitignore

PATIENCE = 60  # seconds of this process; what is meant here takes one, and took for ever


@pytest.fixture(autouse=True)
def it_ends() -> Iterator[None]:
    """A test that goes on for too long fails instead."""

    def stop(_number: int, _frame: object) -> None:
        raise AssertionError("it does not end")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    with contextlib.ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGPROF, before)
        stack.callback(signal.setitimer, signal.ITIMER_PROF, 0)
        yield


def found(attnlint, *arguments: str) -> list[tuple[str, str]]:
    result = attnlint("check", "--no-cache", "--output-format", "json", *(arguments or (".",)))
    assert "internal error" not in result.err
    return [(one["filename"], one["code"]) for one in result.json]


@pytest.mark.parametrize("head", ['"x"; return', '"x"; "y"; return', '"""x\n    y"""; return', '("x"); return'])
def test_documentation_may_share_its_row_with_what_follows(attnlint, tmp_path, head):
    program = "def attend(q, k, v):\n    {} (q @ k.transpose(-2, -1)).softmax(-1) @ v\n"
    (tmp_path / "model.py").write_text("import torch\n\n\n" + program.format(head))
    (tmp_path / "other.py").write_text(FAULTY)
    assert ("other.py", "ATT102") in found(attnlint)
    sites = attnlint("sites", "--no-cache", "--output-format", "json", "model.py").json
    assert [one["qualname"] for one in sites] == ["attend"]


STARS = ("*a" * 12 + "*b", "**/a/" * 40 + "b", "*" * 400 + "b", "[a]*" * 40 + "b", "?*" * 60 + "b")


@pytest.mark.parametrize("pattern", STARS, ids=["stars", "folders", "many", "sets", "questions"])
@pytest.mark.parametrize("where", ["gitignore", "exclude"])
def test_a_pattern_of_many_stars_holds_nothing_up(attnlint, tmp_path, pattern, where):
    name = "a" * 200 + ".py"
    (tmp_path / name).write_text(FAULTY)
    (tmp_path / ".git").mkdir()
    if where == "gitignore":
        (tmp_path / ".gitignore").write_text(pattern + "\n")
    else:
        (tmp_path / "attnlint.toml").write_text(f'extend-exclude = ["{pattern}"]\nper-file-ignores = {{"{pattern}" = ["ATT102"]}}\n')
    assert found(attnlint) == [(name, "ATT102")]


@pytest.mark.parametrize(
    ("lines", "ignored", "kept"),
    [
        ("*.py", ["a.py", "x/a.py"], ["a.txt"]),
        ("/a.py", ["a.py"], ["x/a.py"]),
        ("x/a.py", ["x/a.py"], ["y/x/a.py"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["b", "x/a/b"]),
        ("**/b", ["b", "x/b", "x/y/b"], ["b/c"]),
        ("x/**", ["x/a", "x/a/b"], ["x", "y/x/a"]),
        ("*\n!keep.py", ["a.py"], ["keep.py", "x/keep.py"]),
        ("[ab].py\n[!x]?.py", ["a.py", "yz.py"], ["c.py", "xy.py"]),
        ("[^a].py", ["b.py"], ["a.py"]),
        ("\\#a\n\\!b\nc\\*", ["#a", "!b", "c*"], ["a", "b", "cc"]),
        ("a \nb\\ ", ["a", "b "], ["b"]),
        ("# a\n\n  \n/\n!", [], ["a", "# a"]),
        ("folder/", [], ["folder", "x/folder"]),
        ("a[b", [], ["ab"]),
    ],
)
def test_lines_of_gitignore_mean_what_they_mean_to_git(lines, ignored, kept):
    patterns = read_gitignore(lines)
    assert [name for name in [*ignored, *kept] if is_ignored(patterns, name, False)] == ignored


def test_a_gitignore_line_for_folders_takes_folders_only():
    patterns = read_gitignore("folder/\n")
    assert is_ignored(patterns, "x/folder", True)
    assert not is_ignored(patterns, "x/folder", False)


def notebook(*rows: str) -> str:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": "\n".join(one.split("\n"))} for one in (*rows, FAULTY)]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize(
    "row",
    ["x?" + " " * 50_000 + "y", " " * 50_000 + "y!", "x " * 50_000 + "?", "%" + " " * 50_000 + "x", "x" * 50_000 + "??y", "(" * 50_000],
    ids=["help", "blanks", "words", "magic", "questions", "brackets"],
)
def test_a_row_of_a_notebook_takes_time_in_its_length(attnlint, tmp_path, row):
    (tmp_path / "model.ipynb").write_text(notebook(row))
    assert ("model.ipynb", "ATT102") in found(attnlint)


def test_a_help_row_stays_one(attnlint, tmp_path):
    (tmp_path / "model.ipynb").write_text(notebook("x?", "?torch.nn ; ", "x.y?? ;", "files = !ls", "a, b = %time f()"))
    assert found(attnlint) == [("model.ipynb", "ATT102")]


@pytest.mark.parametrize("where", ["main", "thread"])
def test_a_file_that_takes_too_long_is_left_and_said(tmp_path, monkeypatch, where):
    """Whatever the engine is at: its own steps, a loop that counts none, a clause that catches every exception."""
    right = linter.lint_text

    def endless(text, path, *rest):
        while "endless" in path:
            with contextlib.suppress(Exception):
                len(text)
        return right(text, path, *rest)

    monkeypatch.setattr(linter, "lint_text", endless)
    engine = Engine([str(tmp_path)], (), Limits(seconds=0.2))
    outcomes = []

    def run():
        for name in ("endless.py", "model.py"):
            outcomes.append(analyse(FAULTY.encode(), str(tmp_path / name), True, engine))

    if where == "thread":
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    else:
        run()
    late, judged = outcomes
    assert late.error == "not analysed: it takes more than 0.2 seconds of computing (`--max-seconds` grants more)"
    assert [one.code for one in judged.result.findings] == ["ATT102"]
