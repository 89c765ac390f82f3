"""`attnlint audit` on a real cluster: every kind of source, copies, workers that die, texts that kill or hang, interrupt and resume."""

from __future__ import annotations

import gzip
import io
import json
import signal
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from conftest import command, environment
from samples import CLEAN, FAULTY, PLAIN, ROW

KERNEL = """\
import torch


def scaled_attention(q, k, v, scale):
    return torch.softmax(q @ k.transpose(-2, -1) * scale, dim=-1) @ v
"""
CALLER = """\
import torch.nn as nn
from kernel import scaled_attention


class Head(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k = self.q(x), self.k(x)
        return scaled_attention(q, k, x, q.shape[-1])
"""


def named(name: str, text: str = FAULTY) -> str:
    """A program of this class, and so of other content than all others."""
    return text.replace("SelfAttention", name)


def write(folder: Path, **texts: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)


def read(out: Path, kind: str) -> pd.DataFrame:
    return pd.read_parquet(out / kind)


def classes(out: Path) -> list[str]:
    """The classes in which something was found."""
    return sorted(name.partition(".")[0] for name in read(out, "findings")["qualname"])


def mirror(folder: Path, **texts: str) -> Path:
    """A bare repository whose HEAD holds these texts."""
    write(folder / "tree", **texts)
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "-q", "."), ("add", "."), (*identity, "commit", "-qm", "x"), ("clone", "-q", "--bare", ".", "../it.git")):
        subprocess.run(["git", *arguments], cwd=folder / "tree", check=True, capture_output=True)
    return folder / "it.git"


def test_every_kind_of_source(audit, tmp_path):
    index = tmp_path / "index"
    index.mkdir()
    with zipfile.ZipFile(index / "a-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("a/__init__.py", "")
        wheel.writestr("a/model.py", named("InWheel"))
        wheel.writestr("../../escape.py", named("Escaping"))
    with tarfile.open(index / "b-1.tar.gz", "w:gz") as sdist:
        data = named("InSdist").encode()
        member = tarfile.TarInfo("b-1/b.py")
        member.size = len(data)
        sdist.addfile(member, io.BytesIO(data))
    (index / "broken-1.whl").write_bytes(b"PK no more than that")
    rows = [
        {"content": KERNEL, "path": "kernel.py", "repo_name": "me/one"},
        {"content": CALLER, "path": "caller.py", "repo_name": "me/one"},
        {"content": named("Alone"), "path": "x.py", "repo_name": "me/two"},
        {"content": "# " + FAULTY, "path": "notes.txt", "repo_name": "me/two"},
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "code.parquet")
    lines = [{"code": named("InLines"), "file_path": "l.py"}, {"code": None, "file_path": "n.py"}]
    (tmp_path / "code.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "no json\n")
    packed = "".join(json.dumps({"text": named("Packed"), "path": "p.py"}) + "\n" for _ in range(3))
    (tmp_path / "code.jsonl.gz").write_bytes(gzip.compress(packed.encode()))
    write(tmp_path / "repositories" / "r", setup="", model=named("InFolder"), clean=CLEAN)
    bare = mirror(tmp_path / "m", model=named("InMirror"))
    out = tmp_path / "out"
    named_sources = (index, tmp_path / "repositories", bare, tmp_path / "code.parquet")
    tables = (tmp_path / "code.jsonl", tmp_path / "code.jsonl.gz")
    done = audit(*named_sources, *tables, "--to", out, "--workers", 2)
    assert done.returncode == 0, done.stderr
    findings = read(out, "findings")
    own = ["Alone", "Escaping", "InFolder", "InLines", "InMirror", "InSdist", "InWheel", "Packed"]
    assert [name for name in classes(out) if name in own] == own and len(findings) == 9
    in_wheel = findings[findings["qualname"] == "InWheel.forward"].iloc[0]
    assert (in_wheel["repository"], in_wheel["path"], in_wheel["row"]) == ("a-1-py3-none-any.whl", "a/model.py", ROW)
    assert in_wheel["source"] == str(index)
    assert set(findings["source"]) == {str(source) for source in (*named_sources, *tables)}
    together = findings[findings["repository"] == "me/one"]
    assert list(together["code"]) == ["ATT104"], "a helper is judged by its caller of the same repository"
    assert not any(str(tmp_path / "escape.py") in str(path) for path in tmp_path.rglob("*"))
    sites = read(out, "sites")
    assert (sites["verdict"] == "correct").sum() == 1 and set(sites["framework"]) == {"PyTorch"}
    assert set(sites["way"]) >= {"÷ on the logits", "× on the logits"}
    missed = read(out, "not_analysed")
    assert set(missed["path"]) >= {"broken-1.whl", "n.py"}
    assert "not an archive that can be read" in missed[missed["path"] == "broken-1.whl"].iloc[0]["reason"]
    page = (out / "summary.html").read_text()
    assert "<svg" in page and "http://" not in page and "https://" not in page
    assert "| ATT102 wrong-dim-scale | 8 |" in (out / "summary.md").read_text()
    assert json.loads((out / "audit.json").read_text())["complete"] is True


def test_copies_are_linted_once_and_counted(audit, tmp_path):
    for name in ("one", "two", "three"):
        write(tmp_path / "all" / name, setup="", model=FAULTY, plain=PLAIN)
    out = tmp_path / "out"
    assert audit("all", "--to", out, "--workers", 1).returncode == 0
    assert len(read(out, "findings")) == 1 and len(read(out, "sites")) == 1
    texts = read(out, "texts")
    assert sorted(texts["duplicate"]) == [False, True, True]
    assert set(texts["digest"]) == set(read(out, "findings")["digest"])
    counts = json.loads((out / "audit.json").read_text())["counts"]
    assert (counts["texts"], counts["distinct"], counts["candidates"], counts["linted"]) == (9, 3, 3, 1)


def stamps(out: Path) -> dict[str, int]:
    kept = [path for folder in ("sites", "findings", "texts", ".audit") for path in (out / folder).rglob("*") if path.is_file()]
    return {str(path): path.stat().st_mtime_ns for path in kept}


def test_a_second_run_does_nothing_and_a_change_is_seen(audit, tmp_path):
    write(tmp_path / "a", setup="", model=named("One"))
    write(tmp_path / "b", setup="", model=named("Two"))
    out = tmp_path / "out"
    assert audit("a", "b", "--to", out, "--workers", 1).returncode == 0
    before = stamps(out)
    again = audit("a", "b", "--to", out, "--workers", 1)
    assert "nothing to do" in again.stdout and stamps(out) == before
    write(tmp_path / "b", model=named("Two", CLEAN), more=named("Three"))
    assert audit("a", "b", "--to", out, "--workers", 1).returncode == 0
    assert classes(out) == ["One", "Three"]
    after = stamps(out)
    assert {path for path in before if "%2Fa/" in path} <= {path for path in after if before.get(path) == after[path]}
    assert audit("a", "b", "--to", out, "--workers", 1, "--ignore", "ATT1").returncode == 0
    assert not list((out / "findings").rglob("*.parquet")), "results of other settings do not stay"


def test_a_worker_that_dies_loses_nothing(audit, plugin, tmp_path):
    config = plugin("""
if not (here / "killed").exists():
    (here / "killed").touch()
    os.kill(os.getppid(), signal.SIGKILL)
""")
    write(tmp_path / "all", setup="", **{f"m{number}": named(f"C{number}") for number in range(6)})
    out = tmp_path / "out"
    done = audit("all", "--to", out, "--workers", 1, "--config", config)
    assert (tmp_path / "killed").exists()
    assert done.returncode == 0, done.stderr
    assert classes(out) == [f"C{number}" for number in range(6)]
    assert not (out / "not_analysed").exists()


def test_texts_that_kill_or_hang_are_rows_with_their_reason(audit, plugin, tmp_path):
    config = plugin("""
if "Kills" in name:
    with open(here / "tries", "a") as file:
        file.write("x")
    os.kill(os.getpid(), signal.SIGKILL)
if "Hangs" in name:
    time.sleep(1000)
while "Loops" in name:
    pass
""")
    write(tmp_path / "all", setup="", a=named("Before"), b=named("Kills"), c=named("Hangs"), d=named("Loops"), e=named("After"))
    out = tmp_path / "out"
    done = audit("all", "--to", out, "--workers", 1, "--config", config, "--max-seconds", 2)
    assert done.returncode == 0, done.stderr
    assert classes(out) == ["After", "Before"]
    missed = read(out, "not_analysed").set_index("path")["reason"]
    assert sorted(missed.index) == ["b.py", "c.py", "d.py"]
    assert "tried 2 times" in missed["b.py"] and "signal 9" in missed["b.py"]
    assert "was stuck for 25 s" in missed["c.py"]
    assert "takes more than 2 seconds of computing" in missed["d.py"]
    assert (tmp_path / "tries").read_text() == "xx"


def test_an_interrupted_audit_goes_on_where_it_was(audit, plugin, tmp_path):
    config = plugin("""
with open(here / "linted", "a") as file:
    file.write(name.partition(".")[0] + " ")
while "Second" in name and not (here / "go").exists():
    time.sleep(0.05)
""")
    write(tmp_path / "a", setup="", model=named("First"))
    write(tmp_path / "b", setup="", model=named("Second"))
    out = tmp_path / "out"
    given = command("a", "b", "--to", out, "--workers", 1, "--config", config)
    running = subprocess.Popen(given, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 270
    while not list((out / ".audit" / "done").glob("*.json")) or "Second" not in (tmp_path / "linted").read_text():
        assert time.monotonic() < deadline and running.poll() is None
        time.sleep(0.1)
    running.send_signal(signal.SIGTERM)  # as an interrupt does, and nobody above can have switched it off
    told = running.communicate(timeout=120)[1]
    assert running.returncode == 128 + signal.SIGTERM, told
    assert "goes on where it was" in told
    before = (tmp_path / "linted").read_text()
    (tmp_path / "go").touch()
    assert audit("a", "b", "--to", out, "--workers", 1, "--config", config).returncode == 0
    assert classes(out) == ["First", "Second"]
    assert set((tmp_path / "linted").read_text().removeprefix(before).split()) == {"Second"}, "what was done is not done again"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("missing", "--to", "out"), "missing: cannot be read"),
        (("table.jsonl", "--to", "out"), "no column for the path"),
        (("table.jsonl", "--to", "out", "--content-column", "body"), "(body)"),
        (("notes.txt", "--to", "out"), "neither Python, an archive"),
        (("model.py", "--to", "."), "holds something else"),
        (("model.py", "--to", "out", "--scheduler", "tcp://127.0.0.1:1"), "no scheduler answers"),
        (("model.py", "--to", "out", "--select", "ATT999"), "unknown rule `ATT999`"),
        (("model.py", "--to", "out", "--scheduler", "tcp://x:1", "--workers", "2"), "--workers is for a cluster on this machine"),
        (("nowhere://x", "--to", "out"), "cannot be opened"),
    ],
)
def test_what_cannot_be_done_is_told(audit, tmp_path, arguments, told):
    (tmp_path / "table.jsonl").write_text('{"content": "x = 1"}\n')
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "model.py").write_text(FAULTY)
    done = audit(*arguments, *(() if "--scheduler" in arguments else ("--workers", 1)))
    assert done.returncode == 2
    assert told in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_without_its_packages_the_remedy_is_told(tmp_path):
    code = "import sys; sys.modules['distributed'] = None; from attnlint.cli import main; sys.exit(main(['audit', 'x', '--to', 'y']))"
    done = subprocess.run([command()[0], "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'dask" in done.stderr and "Traceback" not in done.stderr
