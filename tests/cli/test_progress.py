"""What a long run shows while it runs: a bar on a terminal, nothing in a pipe; `--quiet`, and the timings of `--verbose`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from samples import CLEAN, FAULTY

pty = pytest.importorskip("pty")  # not on Windows

MANY = 60


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    for number in range(MANY):
        (folder / f"m{number}.py").write_text(CLEAN)
    return folder


def on_a_terminal(folder: Path, *arguments: str) -> tuple[str, str]:
    """Standard output, and what a terminal at standard error is sent."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "attnlint", *arguments]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    seen: list[bytes] = []

    def read() -> None:
        try:
            while piece := os.read(master, 65536):
                seen.append(piece)
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    out, _ = process.communicate(timeout=300)
    reader.join()
    os.close(master)
    return out.decode(), b"".join(seen).decode()


def in_a_pipe(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "attnlint", *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_a_bar_on_a_terminal_that_is_gone_at_the_end(tree: Path) -> None:
    out, drawn = on_a_terminal(tree, ".", "--no-cache", "--jobs", "1")
    counts = [int(count) for count in re.findall(r"\r\[[#.]{30}\] (\d+)/60 files", drawn)]
    assert counts, drawn
    assert counts == sorted(counts) and counts[-1] <= MANY
    assert drawn.endswith("\r\x1b[K"), "the row of the bar is cleared"
    assert out.startswith("60 attentions in 60 files: ")


def test_no_bar_in_a_pipe(tree: Path) -> None:
    done = in_a_pipe(tree, ".", "--no-cache", "--jobs", "1")
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, "")


def test_no_bar_with_quiet_or_for_a_few_files(tree: Path) -> None:
    assert on_a_terminal(tree, ".", "--no-cache", "--quiet") == ("", "")
    assert on_a_terminal(tree, "m1.py", "--no-cache")[1] == ""


def test_a_bar_while_findings_are_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "a.py").write_text(FAULTY)
    (tmp_path / "b.py").write_text(FAULTY.replace("SelfAttention", "Other"))
    _, drawn = on_a_terminal(tmp_path, ".", "--no-cache", "--confirm", "--output-format", "concise")
    assert "/2 findings" in drawn and "\r\x1b[K" in drawn


def test_quiet_prints_findings_only(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FAULTY)
    (tmp_path / "b.py").write_text("x = 1\n")
    loud, quiet = in_a_pipe(tmp_path, "a.py", "--no-cache"), in_a_pipe(tmp_path, "a.py", "--no-cache", "--quiet")
    assert "Found 1 finding." in loud.stdout
    assert quiet.stdout == loud.stdout.partition("\nFound")[0] and quiet.stderr == ""
    warned, silent = (in_a_pipe(tmp_path, "gone", "--no-cache", *more) for more in ((), ("--quiet",)))
    assert silent.stderr == warned.stderr, "errors are said even so"
    (tmp_path / "empty").mkdir()
    assert "no Python files" in in_a_pipe(tmp_path, "empty").stderr
    assert in_a_pipe(tmp_path, "empty", "--quiet").stderr == ""


def test_verbose_says_where_the_time_went_by_phase_and_by_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FAULTY)
    (tmp_path / "b.py").write_text(CLEAN)
    (tmp_path / "plain.py").write_text("x = 1\n")
    done = in_a_pipe(tmp_path, ".", "--verbose", "--no-cache", "--output-format", "concise")
    lines = done.stderr.splitlines()
    assert lines[0] == "attnlint: 3 files, 2 interpreted"
    rows = [re.fullmatch(r"attnlint: +(\d+\.\d) ms  (.+)", line) for line in lines[1:]]
    assert all(rows), lines
    names = [row[2] for row in rows if row]
    assert names[:4] == ["find files", "read and screen", "analyse", "judge"]
    assert {"parse (summed over files)", "interpret (summed over files)"} <= set(names)
    assert {name for name in names if name.endswith(".py")} >= {"a.py", "b.py"}
    assert all(float(row[1]) >= 0 for row in rows if row)
    assert " ms  " not in done.stdout
