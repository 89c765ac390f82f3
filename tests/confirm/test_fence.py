"""What runs in `attnlint confirm` changes nothing outside its folder, whichever language writes, and nothing of it stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import confirm_programs as programs
import pytest

from attnlint.confirm import fence

pytest.importorskip("torch")

CHANGES = {
    "open": "open(OUT, 'w')",
    "append": "open(MINE, 'a')",
    "mkfifo": "os.mkfifo(OUT)",
    "mknod": "os.mknod(OUT)",
    "mkdir": "os.mkdir(OUT)",
    "rename": "os.rename('own', OUT)",
    "replace": "os.replace('own', MINE)",
    "remove": "os.unlink(MINE)",
    "truncate": "os.truncate(MINE, 0)",
    "symlink": "os.symlink('a', OUT)",
    "link": "os.link(MINE, 'other')",
    "sqlite": "sqlite3.connect(OUT).execute('create table a (b)')",
    "c": "check(ctypes.CDLL(None, use_errno=True).open(os.fsencode(MINE), os.O_WRONLY))",
}
TIMES = {"utime": "os.utime(MINE, (1, 1))", "chmod": "os.chmod(MINE, 0o600)"}
OF_TORCH = {
    "save": "torch.save(torch.zeros(3), MINE)",
    "save-to-new": "torch.save(torch.zeros(3), OUT)",
    "from_file": "torch.from_file(MINE, shared=True, size=4, dtype=torch.uint8).fill_(7)",
    "script": "torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), MINE)",
}
CHILD = """
import ctypes, json, os, sqlite3, sys
from attnlint.confirm import fence

def check(descriptor):
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "refused")

scratch, work, means, MINE, OUT = *sys.argv[1:3], sys.argv[3].split(","), *sys.argv[4:6]
os.chdir(work)
holding = fence.put_up(scratch, work, means)
open("own", "w").write("own")
os.mkdir("folder")
os.mkfifo("pipe")
open(os.devnull, "w").write("x")
passed = []
changes = json.loads(sys.argv[6])
if any("torch" in change for change in changes.values()):
    import torch
for name, change in changes.items():
    try:
        eval(change)
        passed.append(name)
    except (OSError, RuntimeError, sqlite3.OperationalError):
        pass
print(json.dumps([holding, passed]))
"""


def offered(means: str) -> bool:
    """Whether this system offers a means, asked for in a process that may keep it."""
    name = {"landlock": "restrict", "namespace": "separate"}[means]
    program = f"import os, sys; from attnlint.confirm import fence; fence.{name}(os.getcwd())"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == 0


OFFERED = [means for means in fence.MEANS if offered(means)]


def stamp(path: Path) -> tuple[bytes, int, int]:
    status = path.stat()
    return path.read_bytes(), status.st_mtime_ns, status.st_mode


@pytest.mark.parametrize(
    ("means", "changes"),
    [
        ("landlock", CHANGES),
        ("namespace", {**CHANGES, **TIMES}),
        ("namespace,landlock", {**CHANGES, **TIMES, **OF_TORCH}),
    ],
)
def test_the_system_refuses_every_change_outside_the_folder(tmp_path, means, changes):
    if not set(means.split(",")) <= set(OFFERED):
        pytest.skip(f"{means} is not offered here")
    work = tmp_path / "scratch" / "work"
    work.mkdir(parents=True)
    mine, out = tmp_path / "mine", tmp_path / "out"
    mine.write_text("precious\n")
    before = stamp(mine)
    arguments = [str(work.parent), str(work), means, str(mine), str(out), json.dumps(changes)]
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [means.split(","), []]
    assert stamp(mine) == before and not os.path.lexists(out)


ATTEMPT = """
        import ctypes, os, sqlite3
        MINE, OUT = {mine!r}, {out!r}
        told = []
        for change in {changes!r}:
            try:
                eval(change)
                told.append(change)
            except Exception:
                pass
        if width > 0:
            raise RuntimeError(f"passed: {{told}}")
"""


def lamp(folder: Path, statement: str) -> None:
    (folder / "lamp.py").write_text(programs.IN_CONSTRUCTOR.replace("{statement}", statement))


def test_a_checkpoint_of_the_user_outlives_a_confirmation(attnlint, tmp_path):
    if not OFFERED:
        pytest.skip("this system has no fence")
    mine, out = tmp_path / "checkpoint.pt", tmp_path / "out"
    mine.write_bytes(b"precious")
    before = stamp(mine)
    changes = [*(change for name, change in CHANGES.items() if name != "c"), *TIMES.values(), *OF_TORCH.values()]
    lamp(tmp_path, ATTEMPT.format(mine=str(mine), out=str(out), changes=changes).strip())
    (found,) = attnlint("confirm", "lamp.py", "--output-format", "json").json
    assert "passed: []" in found["confirmation"]["reason"]
    assert found["confirmation"]["case"]["fence"] == OFFERED
    assert stamp(mine) == before and not os.path.lexists(out)


@pytest.mark.parametrize("statement", ["x = [bytearray(1 << 26) for _ in range(40)]", "torch.zeros(1 << 40)"])
def test_a_memory_bomb_is_told_what_it_needs(attnlint, tmp_path, statement):
    lamp(tmp_path, statement)
    (found,) = attnlint("confirm", "lamp.py", "--output-format", "json", "--memory", "512").json
    assert "needs more memory" in found["confirmation"]["reason"] and "--memory grants more" in found["confirmation"]["reason"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_parent_leaves_neither_child_nor_folder(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    lamp(tmp_path, "open('here', 'w'); time.sleep(600)")
    environment = {**os.environ, "TMPDIR": str(temporary)}
    parent = subprocess.Popen([sys.executable, "-m", "attnlint", "confirm", "lamp.py"], cwd=tmp_path, env=environment)
    waited_for(lambda: list(temporary.glob("*/work/here")))
    (folder,) = temporary.iterdir()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    waited_for(lambda: not list(temporary.iterdir()))
    waited_for(lambda: not running_with(str(folder)))


def waited_for(done, seconds: float = 100) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


def running_with(word: str) -> list[str]:
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [str(one)] if word in one.read_text(errors="replace") else []
        except OSError:
            continue
    return found
