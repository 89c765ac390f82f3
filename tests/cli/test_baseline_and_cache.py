"""The baseline of known findings, and the cache: right after every edit, safe for two runs, thrown away when broken."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from samples import CLEAN, FAULTY, PLAIN

from attnlint import linter

SECOND = FAULTY.replace("SelfAttention", "Second")


def names(result) -> list[str]:
    return [f"{one['filename']}:{one['code']}" for one in result.json]


def found(attnlint, *arguments: str) -> list[str]:
    return names(attnlint("check", *(arguments or (".",)), "--output-format", "json"))


def test_known_findings_are_not_reported_and_survive_moved_lines(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(FAULTY)
    written = attnlint(".", "--baseline", "known.json", "--update-baseline")
    assert written.status == 0
    assert "wrote 1 finding to known.json" in written.err
    known = attnlint(".", "--baseline", "known.json")
    assert (known.status, known.out.startswith("1 attention in 1 file: 1 wrong, but known")) == (0, True)
    path.write_text("# a line\n\n" + FAULTY.replace("        energy =", "        # another\n        energy ="))
    assert attnlint(".", "--baseline", "known.json").status == 0
    (tmp_path / "other.py").write_text(FAULTY)
    assert found(attnlint, ".", "--baseline", "known.json") == ["other.py:ATT102"]


def test_a_baseline_counts(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(FAULTY)
    attnlint(".", "--baseline", "known.json", "--update-baseline")
    path.write_text(FAULTY + SECOND)  # the same statement once more is new
    assert found(attnlint, ".", "--baseline", "known.json") == ["model.py:ATT102"]
    attnlint(".", "--baseline", "known.json", "--update-baseline")
    assert found(attnlint, ".", "--baseline", "known.json") == []


def test_a_changed_statement_is_no_longer_known(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(FAULTY)
    attnlint(".", "--baseline", "known.json", "--update-baseline")
    path.write_text(FAULTY.replace("weights = torch", "attention = torch").replace("return weights", "return attention"))
    assert found(attnlint, ".", "--baseline", "known.json") == ["model.py:ATT102"]


def test_the_baseline_is_a_setting_and_its_paths_are_its_own(attnlint, tmp_path, monkeypatch):
    (tmp_path / "attnlint.toml").write_text('baseline = "ci/known.json"\n')
    (tmp_path / "ci").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "model.py").write_text(FAULTY)
    assert attnlint(".", "--update-baseline").status == 0
    entry = json.loads((tmp_path / "ci" / "known.json").read_text())["findings"][0]
    assert (entry["path"], entry["code"], entry["count"]) == ("../sub/model.py", "ATT102", 1)
    assert entry["statement"] == "weights = torch.softmax(energy / (self.embed_size ** (1 / 2)), dim=-1)"
    monkeypatch.chdir(tmp_path / "sub")
    assert attnlint("model.py").status == 0


def test_updating_for_some_files_keeps_the_entries_of_the_others(attnlint, tmp_path):
    (tmp_path / "a.py").write_text(FAULTY)
    (tmp_path / "b.py").write_text(FAULTY)
    attnlint(".", "--baseline", "known.json", "--update-baseline")
    (tmp_path / "a.py").write_text(CLEAN)
    gone = attnlint(".", "--baseline", "known.json")
    assert "1 known finding no longer there (a.py ATT102)" in gone.err
    attnlint("a.py", "--baseline", "known.json", "--update-baseline")
    assert [entry["path"] for entry in json.loads((tmp_path / "known.json").read_text())["findings"]] == ["b.py"]


def test_pruning_takes_out_what_is_no_longer_found_and_adds_nothing(attnlint, tmp_path):
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text(FAULTY)
    attnlint(".", "--baseline", "known.json", "--update-baseline")
    (tmp_path / "a.py").write_text(CLEAN)
    (tmp_path / "c.py").unlink()
    (tmp_path / "new.py").write_text(SECOND.replace("weights", "attention"))
    said = attnlint("a.py", "b.py", "--baseline", "known.json")
    assert "2 known findings no longer there (a.py ATT102, c.py ATT102); --prune-baseline takes such entries out" in said.err
    pruned = attnlint(".", "--baseline", "known.json", "--prune-baseline")
    assert (pruned.status, "took 2 entries out of known.json" in pruned.err) == (0, True)
    assert [entry["path"] for entry in json.loads((tmp_path / "known.json").read_text())["findings"]] == ["b.py"]
    assert found(attnlint, ".", "--baseline", "known.json") == ["new.py:ATT102"]
    assert "no longer there" not in attnlint(".", "--baseline", "known.json").err


def test_a_renamed_file_keeps_its_entries(attnlint, tmp_path):
    (tmp_path / "a.py").write_text(FAULTY)
    attnlint(".", "--baseline", "known.json", "--update-baseline")
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    renamed = attnlint(".", "--baseline", "known.json")
    assert renamed.status == 0 and "no longer there" not in renamed.err
    (tmp_path / "c.py").write_text(FAULTY)  # the entry covers one finding only
    assert len(found(attnlint, ".", "--baseline", "known.json")) == 1
    (tmp_path / "c.py").unlink()
    attnlint(".", "--baseline", "known.json", "--update-baseline")
    assert [entry["path"] for entry in json.loads((tmp_path / "known.json").read_text())["findings"]] == ["b.py"]
    (tmp_path / "a.py").write_text(FAULTY)  # a copy is no renaming
    assert found(attnlint, ".", "--baseline", "known.json") == ["a.py:ATT102"]


def test_an_empty_name_is_no_baseline(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    attnlint(".", "--baseline", "known.json", "--update-baseline")
    (tmp_path / "attnlint.toml").write_text('baseline = "known.json"\n')
    assert attnlint(".").status == 0
    assert found(attnlint, ".", "--baseline", "") == ["model.py:ATT102"]
    (tmp_path / "attnlint.toml").write_text('baseline = ""\n')
    assert found(attnlint, ".") == ["model.py:ATT102"]
    assert attnlint(".", "--update-baseline").status == 2


def test_known_findings_are_not_fixed(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text("x = 1  # attnlint: ignore[ATT101]\n")
    attnlint(".", "--baseline", "known.json", "--update-baseline")
    assert attnlint(".", "--baseline", "known.json", "--fix").status == 0
    assert "ignore" in path.read_text()


@pytest.mark.parametrize("text", [None, "", "[]", '{"version": 2, "findings": []}', '{"version": 1, "findings": [{}]}', "\x00"])
def test_a_baseline_that_cannot_be_read_is_status_2(attnlint, tmp_path, text):
    (tmp_path / "plain.py").write_text(PLAIN)
    if text is not None:
        (tmp_path / "known.json").write_text(text)
    result = attnlint(".", "--baseline", "known.json")
    assert result.status == 2
    assert "baseline known.json" in result.err and "--update-baseline" in result.err


def test_update_baseline_needs_a_file(attnlint):
    result = attnlint(".", "--update-baseline")
    assert result.status == 2
    assert "--baseline FILE" in result.err


# --- the cache


@pytest.fixture
def interpreted(monkeypatch) -> list[str]:
    """The names of the files that the engine was asked about, in order."""
    asked: list[str] = []
    real = linter.lint_text

    def lint_text(text, path, *rest):
        asked.append(Path(path).name)
        return real(text, path, *rest)

    monkeypatch.setattr(linter, "lint_text", lint_text)
    return asked


def test_a_second_run_asks_the_engine_nothing_and_says_the_same(attnlint, tmp_path, interpreted):
    (tmp_path / "model.py").write_text(FAULTY)
    (tmp_path / "good.py").write_text(CLEAN)
    (tmp_path / "bad.py").write_text("def f(:\n")
    first = [attnlint(".", "--output-format", form).out for form in ("json", "full", "sarif")]
    assert sorted(interpreted) == ["good.py", "model.py"]
    assert [attnlint(".", "--output-format", form).out for form in ("json", "full", "sarif")] == first
    sites = attnlint("sites", ".", "--output-format", "json").out
    assert sorted(interpreted) == ["good.py", "model.py"]
    assert attnlint("sites", ".", "--output-format", "json", "--no-cache").out == sites
    assert len(interpreted) == 4


def test_an_edit_is_seen_even_with_the_same_size_and_time(attnlint, tmp_path):
    import os

    path = tmp_path / "model.py"
    path.write_text(FAULTY)
    assert found(attnlint) == ["model.py:ATT102"]
    status = path.stat()
    fixed = CLEAN + "#" * (len(FAULTY) - len(CLEAN) - 1) + "\n"
    path.write_text(fixed)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert found(attnlint) == []


BASE = """\
import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads = heads
        self.head_dim = embed_size // heads
        self.scale = {scale} ** -0.5
        self.to_q = nn.Linear(embed_size, embed_size)
        self.to_k = nn.Linear(embed_size, embed_size)
"""
CHILD = """\
import torch

from base import Base


class Child(Base):
    def forward(self, x):
        n, length, _ = x.shape
        q = self.to_q(x).view(n, length, self.heads, self.head_dim).transpose(1, 2)
        k = self.to_k(x).view(n, length, self.heads, self.head_dim).transpose(1, 2)
        return torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1)
"""


def test_an_edit_of_another_file_that_a_verdict_rests_on_is_seen(attnlint, tmp_path):
    (tmp_path / "child.py").write_text(CHILD)
    (tmp_path / "base.py").write_text(BASE.format(scale="self.head_dim"))
    assert found(attnlint) == []
    (tmp_path / "base.py").write_text(BASE.format(scale="embed_size"))
    changed = found(attnlint)
    assert changed and changed == found(attnlint, ".", "--no-cache")
    (tmp_path / "base.py").write_text(BASE.format(scale="self.head_dim"))
    assert found(attnlint) == []


def test_a_file_that_comes_later_is_seen(attnlint, tmp_path):
    (tmp_path / "child.py").write_text(CHILD)
    assert found(attnlint) == []
    (tmp_path / "base.py").write_text(BASE.format(scale="embed_size"))
    alone = found(attnlint, "child.py")
    assert alone and alone == found(attnlint, "child.py", "--no-cache")
    (tmp_path / "base.py").unlink()
    assert found(attnlint, "child.py") == []


def test_settings_are_no_part_of_what_is_kept(attnlint, tmp_path, interpreted):
    (tmp_path / "model.py").write_text(FAULTY)
    assert found(attnlint) == ["model.py:ATT102"]
    assert found(attnlint, ".", "--ignore", "ATT102") == []
    assert found(attnlint, ".", "--select", "wrong-dim-scale") == ["model.py:ATT102"]
    assert interpreted == ["model.py"]


def stored(tmp_path: Path) -> Path:
    (path,) = (tmp_path / ".attnlint_cache").glob("*.json")
    return path


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", "\x00\x01", '{"salt": 1}', "replace", "types", "deep"])
def test_a_broken_cache_is_thrown_away_silently(attnlint, tmp_path, damage):
    (tmp_path / "model.py").write_text(FAULTY)
    expected = attnlint(".", "--output-format", "json").out
    path = stored(tmp_path)
    good = json.loads(path.read_text())
    if damage == "replace":
        path.unlink()
        path.mkdir()
    elif damage == "deep":
        path.write_text("[" * 200_000)
    elif damage == "types":
        for entry in good["files"].values():
            entry["result"]["findings"][0][4] = ["a", None, {}, []]
        good["rules"] = [1, 2]
        path.write_text(json.dumps(good))
    else:
        path.write_text(damage)
    result = attnlint(".", "--output-format", "json")
    assert (result.status, result.out, result.err) == (1, expected, "")


def test_the_cache_keeps_itself_out_of_git(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    subprocess.run(["git", "init", "-q"], check=True)
    attnlint(".")
    assert stored(tmp_path).exists()
    status = subprocess.run(["git", "status", "--short", "--untracked-files=all"], capture_output=True, text=True, check=True)
    assert status.stdout == "?? model.py\n"


def test_no_cache_and_cache_dir(attnlint, tmp_path, monkeypatch):
    (tmp_path / "model.py").write_text(FAULTY)
    attnlint(".", "--no-cache")
    assert not (tmp_path / ".attnlint_cache").exists()
    attnlint(".", "--cache-dir", "elsewhere/cache")
    assert (tmp_path / "elsewhere" / "cache" / ".gitignore").exists()
    assert attnlint(".", "--cache-dir", "model.py/cache").status == 1  # cannot be made: no error


def test_clean_removes_caches_and_nothing_else(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    (tmp_path / "sub" / ".attnlint_cache").mkdir(parents=True)
    (tmp_path / "sub" / ".attnlint_cache" / "mine.txt").write_text("not a cache")
    attnlint(".")
    result = attnlint("clean")
    assert result.status == 0
    assert not (tmp_path / ".attnlint_cache").exists()
    assert (tmp_path / "sub" / ".attnlint_cache" / "mine.txt").exists()


def test_two_runs_at_once_say_the_same_and_leave_a_whole_cache(tmp_path):
    for number in range(6):
        (tmp_path / f"m{number}.py").write_text(FAULTY.replace("SelfAttention", f"Layer{number}"))
    command = [sys.executable, "-m", "attnlint", "check", ".", "--output-format", "json"]
    runs = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    outputs = [run.communicate() for run in runs]
    assert {error for _, error in outputs} == {b""}
    assert len({out for out, _ in outputs}) == 1
    assert len(json.loads(outputs[0][0])) == 6
    assert len(json.loads(stored(tmp_path).read_text())["files"]) == 6
    assert not list((tmp_path / ".attnlint_cache").glob("*.tmp"))
