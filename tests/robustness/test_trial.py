"""A standing trial: inputs broken at random, runs killed at random, edits by the thousand. Nothing is lost, nothing acts, all of it ends.

`ATTNLINT_TRIAL=N` tries N times as much; the default is what a test run can bear.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from samples import CLEAN, FAULTY

TIMES = int(os.environ.get("ATTNLINT_TRIAL", "1"))
COMMAND = [sys.executable, "-m", "attnlint"]
NASTY = ["\0", "\x1b[2J", "\udc80", "\u202e", '"""', "'''", "(" * 300, "\\", "\t", "\r", "\f", "\ufeff", "{" * 50, "#", ";", "𝒳"]
NASTY += ["9" * 5000, "%", "!", "?"]


def spoiled(text: str, rng: random.Random) -> bytes:
    """A text with a few places cut out, doubled, or overwritten by what hurts."""
    data = text.encode()
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(data) + 1), rng.randrange(60)
        piece = rng.choice([b"", data[at : at + length] * 2, rng.choice(NASTY).encode("utf-8", "surrogateescape"), rng.randbytes(length)])
        data = data[:at] + piece + data[at + rng.randrange(length + 1) :]
    return data


def notebook(source: str) -> str:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source.splitlines(True)}]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def checked(attnlint, folder: Path, *arguments: str):
    """A run whose status and document are in order, whatever it was given."""
    result = attnlint("check", ".", "--output-format", "json", *arguments)
    assert result.status in (0, 1, 2)
    assert "Traceback" not in result.err and "internal error" not in result.err
    if result.out:
        json.loads(result.out)
    else:
        assert result.status == 2 and "attnlint: error: " in result.err
    return result


@pytest.mark.parametrize("kind", ["source", "notebook"])
def test_spoiled_sources_are_judged_and_take_no_neighbour_along(attnlint, tmp_path, kind):
    rng = random.Random(kind)
    (tmp_path / "model.py").write_text(FAULTY)
    for number in range(40 * TIMES):
        text, name = (FAULTY, "bad.py") if kind == "source" else (notebook(FAULTY), "bad.ipynb")
        (tmp_path / name).write_bytes(spoiled(text, rng))
        result = checked(attnlint, tmp_path, "--no-cache")
        assert ("model.py", "ATT102") in [(one["filename"], one["code"]) for one in result.json], number


@pytest.mark.parametrize("name", ["attnlint.toml", "known.json", "cache", ".gitignore"])
def test_spoiled_settings_baselines_and_caches_are_said_or_passed_over(attnlint, tmp_path, name):
    rng = random.Random(name)
    (tmp_path / "model.py").write_text(FAULTY)
    (tmp_path / "attnlint.toml").write_text('extend-exclude = ["a*"]\nbaseline = "known.json"\n[per-file-ignores]\n"x.py" = ["ATT1"]\n')
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.pyc\nout/\n!keep\n[ab]?\n")
    assert attnlint("check", ".", "--update-baseline").status == 0
    path = tmp_path / name if name != "cache" else next((tmp_path / ".attnlint_cache").glob("*.json"))
    whole = path.read_text()
    for _ in range(60 * TIMES):
        path.write_bytes(spoiled(whole, rng))
        checked(attnlint, tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="no signals here")
def test_runs_that_are_killed_leave_whole_files_and_nothing_else(tmp_path):
    rng = random.Random(0)
    names = [f"model{number}.py" for number in range(6)]
    fixed, spent = "", 0.0
    for round_ in range(5 * TIMES):
        for name in names:
            (tmp_path / name).write_text(FAULTY)
        process = subprocess.Popen([*COMMAND, ".", "--fix", "--unsafe-fixes"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if round_:
            time.sleep(rng.uniform(0, 2 * spent))
            process.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        started = time.monotonic()
        process.communicate()
        if not round_:
            spent = time.monotonic() - started
            fixed = (tmp_path / names[0]).read_text()
        assert all((tmp_path / name).read_text() in (FAULTY, fixed) for name in names)
        for left in tmp_path.glob(".attnlint-*.tmp"):
            os.utime(left, (0, 0))
    assert subprocess.run([*COMMAND, "."], cwd=tmp_path, capture_output=True, check=False).returncode in (0, 1)
    assert sorted(one.name for one in tmp_path.iterdir()) == [".attnlint_cache", *names]


def test_two_runs_at_once_say_the_same(tmp_path):
    for number in range(4):
        (tmp_path / f"model{number}.py").write_text(FAULTY if number % 2 else CLEAN)
    for _ in range(TIMES):
        command = [*COMMAND, ".", "--output-format", "concise"]
        runs = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
        said = {run.communicate() for run in runs}
        assert len(said) == 1 and next(iter(said))[1] == b""


def test_edits_by_the_hundred_a_second_end_in_the_right_answer_and_are_not_kept(tmp_path):
    pytest.importorskip("pygls.lsp.server", reason="the extra `server` is not installed")
    pytest.importorskip("resource")
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir, "server"))
    try:
        from client import Client
    finally:
        del sys.path[0]
    client = Client(tmp_path)
    uri = client.open("model.py", FAULTY)
    assert [one["code"] for one in client.diagnostics(uri, 1)] == ["ATT102"]
    before = memory(client.process.pid)
    rng = random.Random(0)
    for number in range(2000):
        line = rng.randrange(20)
        text = rng.choice(["x", "(", '"""', "\n", "é", ""])
        span = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": rng.randrange(3)}}
        client.change(uri, {"range": span, "text": text})
        if number % 200 == 0:
            client.hover(uri, 0, 0)
    client.change(uri, {"text": FAULTY})
    assert [one["code"] for one in client.diagnostics(uri, client.versions[uri])] == ["ATT102"]
    assert memory(client.process.pid) - before < 64 << 20
    assert client.close() == 0


def memory(process: int) -> int:
    """Bytes that a process holds."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        pytest.skip("no /proc here")
    return pages * os.sysconf("SC_PAGE_SIZE")
