"""Many files, several processes, interrupts: nothing lost but what cannot be had, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from samples import CLEAN, FAULTY, PLAIN
from terminal import shown_on

from attnlint import runner
from attnlint.analysis import Engine, Outcome
from attnlint.runner import Job

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


def fill(folder: Path, count: int) -> None:
    for number in range(count):
        text = FAULTY.replace("SelfAttention", f"Layer{number}") if number % 3 == 0 else CLEAN if number % 3 == 1 else PLAIN
        (folder / f"m{number:03}.py").write_text(text)
    (folder / "bad.py").write_text("def f(:\n")


def test_the_output_does_not_depend_on_the_number_of_processes(attnlint, tmp_path):
    fill(tmp_path, 40)
    outputs = {jobs: attnlint(".", "--no-cache", "--jobs", jobs, "--output-format", "json") for jobs in ("1", "2", "5")}
    assert len({result.out for result in outputs.values()}) == 1
    assert len(outputs["1"].json) == 15
    sites = {attnlint("sites", ".", "--no-cache", "--jobs", jobs, "--output-format", "json").out for jobs in ("1", "3")}
    assert len(sites) == 1


class Dying(Engine):
    """An engine that takes its process down on some files."""

    def lint(self, text, absolute):
        if "LETHAL" in text:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "FATAL" in text:
            os._exit(7)
        return super().lint(text, absolute)


def jobs_of(folder: Path) -> list[Job]:
    return [Job(str(path), path.stat().st_size, True, "") for path in sorted(folder.glob("*.py"))]


def test_a_worker_that_dies_loses_only_its_file(tmp_path):
    fill(tmp_path, 30)
    (tmp_path / "a_lethal.py").write_text(FAULTY + "# LETHAL\n")
    (tmp_path / "z_lethal.py").write_text(FAULTY + "# LETHAL\n")
    (tmp_path / "fatal.py").write_text(FAULTY + "# FATAL\n")
    jobs = jobs_of(tmp_path)
    outcomes: list[Outcome] = []
    runner.Pool(Dying([str(tmp_path)]), 2).run(jobs, outcomes.append)
    assert sorted(one.absolute for one in outcomes) == [job.absolute for job in jobs]
    errors = {Path(one.absolute).name: one.error for one in outcomes if one.error}
    assert errors == {
        "a_lethal.py": "not analysed: the process that analysed it ended unexpectedly (signal 11)",
        "z_lethal.py": "not analysed: the process that analysed it ended unexpectedly (signal 11)",
        "fatal.py": "not analysed: the process that analysed it ended unexpectedly (exit status 7)",
    }
    assert sum(len(one.result.findings) for one in outcomes) == 10


class Failing(Engine):
    def lint(self, text, absolute):
        if "TROUBLE" in text:
            raise RuntimeError("a fault of its own")
        if "DEEP" in text:
            raise RecursionError
        return super().lint(text, absolute)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_fault_of_the_engine_stays_with_its_file(tmp_path, processes):
    fill(tmp_path, 6)
    (tmp_path / "trouble.py").write_text(FAULTY + "# TROUBLE\n")
    (tmp_path / "deep.py").write_text(FAULTY + "# DEEP\n")
    outcomes: dict[str, Outcome] = {}
    runner.run(jobs_of(tmp_path), Failing([str(tmp_path)]), processes, None, lambda one: outcomes.update({Path(one.absolute).name: one}))
    assert "internal error: RuntimeError: a fault of its own" in (outcomes["trouble.py"].error or "")
    assert outcomes["deep.py"].error is None and "nested too deeply" in outcomes["deep.py"].notes[0]
    assert sum(len(one.result.findings) for one in outcomes.values()) == 2


SLOW = """
import sys, time
from attnlint import analysis, commands, runner
real = analysis.Engine.lint
def lint(self, text, absolute):
    open(sys.argv[1] + "/started", "a").write("x")
    time.sleep(60)
    return real(self, text, absolute)
analysis.Engine.lint = lint
from attnlint.cli import main
sys.exit(main(["check", sys.argv[1], "--no-cache", "--jobs", sys.argv[2]]))
"""


def children_of(process: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if parent == process:
                found.append(int(entry.name))
    return found


def alive(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def eventually(condition) -> bool:
    for _ in range(2_000):
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_an_interrupt_ends_at_once_and_leaves_no_worker(tmp_path, jobs, number, status):
    tree = tmp_path / "tree"
    tree.mkdir()
    fill(tree, 9)
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tree), jobs], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert eventually((tree / "started").exists)
    workers = children_of(process.pid)
    assert len(workers) == (2 if jobs == "2" else 0)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does it: the workers hear it too
    else:
        process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == status
    assert out == ""
    assert err.strip() == ("" if number == signal.SIGKILL else "attnlint: error: interrupted")
    assert eventually(lambda: not any(map(alive, workers)))


HELD = """
import os, sys, time
from attnlint.text import atomic
real = os.replace
def replace(*pair):
    open(sys.argv[1], "w").write("x")
    time.sleep(60)
    real(*pair)
os.replace = replace
from attnlint.cli import main
sys.exit(main(["check", sys.argv[2], "--no-cache", "--fix"]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_kill_while_writing_leaves_the_old_file_whole(tmp_path, number):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "model.py").write_text("x = 1  # attnlint: ignore[ATT101]\n")
    process = subprocess.Popen(
        [sys.executable, "-c", HELD, str(tmp_path / "writing"), str(tree)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    assert eventually((tmp_path / "writing").exists)
    process.send_signal(number)
    process.wait(timeout=30)
    assert (tree / "model.py").read_text() == "x = 1  # attnlint: ignore[ATT101]\n"
    if number != signal.SIGKILL:
        assert os.listdir(tree) == ["model.py"]


def test_two_fixing_runs_at_once_never_mix(tmp_path):
    for number in range(30):
        (tmp_path / f"m{number}.py").write_text("x = 1  # attnlint: ignore[ATT101]\n" * (number + 1))
    command = [sys.executable, "-m", "attnlint", "check", "--fix", "--no-cache", str(tmp_path)]
    runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path) for _ in range(3)]
    for run in runs:
        run.wait(timeout=120)
    for number in range(30):
        assert (tmp_path / f"m{number}.py").read_text() == "x = 1\n" * (number + 1)


def test_the_progress_bar_is_drawn_on_a_terminal_only(tmp_path):
    import pty

    for number in range(60):
        (tmp_path / f"m{number}.py").write_text(FAULTY)
    code = (
        "import sys, attnlint.progress as p; p.EVERY = 0.0; from attnlint.cli import main; "
        "sys.exit(main(['check', '--no-cache', '-j1', '.', *sys.argv[1:]]))"
    )

    def errors(*options: str, terminal: bool) -> bytes:
        if not terminal:
            return subprocess.run([sys.executable, "-c", code, *options], cwd=tmp_path, capture_output=True, check=False).stderr
        near, far = pty.openpty()
        process = subprocess.Popen([sys.executable, "-c", code, *options], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=far)
        os.close(far)
        text = shown_on(near)
        process.wait()
        return text

    assert b"/60 files" in errors(terminal=True)
    assert errors("--quiet", terminal=True) == b""
    assert errors(terminal=False) == b""
