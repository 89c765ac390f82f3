"""Applying fixes: what is written, what is refused, and that nothing else changes."""

from __future__ import annotations

import os
import re
import stat
import sys

import pytest
from samples import CLEAN, FAULTY, PLAIN

from attnlint.fixing import rewrite
from attnlint.model import Edit, Position, Span
from attnlint.text import atomic
from attnlint.text.source import FixRefused, load

IDLE = "x = 1  # attnlint: ignore[ATT101]\n"


def edit(text: str, old: str, new: str) -> Edit:
    """The edit that replaces the first `old`."""
    at = text.index(old)
    row = text[:at].count("\n") + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return Edit(new, Span(Position(row, column), Position(row, column + len(old))))


def rewritten(text: str, *pairs: tuple[str, str]) -> str:
    data = text.encode()
    return rewrite(load(data, "model.py"), [edit(text, *pair) for pair in pairs], "model.py").decode()


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("y = a / (d ** 0.5)\n", "(d ** 0.5)", "(h ** 0.5)"),
        ("y = a / d ** 0.5\n", "d ** 0.5", "h ** 0.5"),
        ("y = f(a, b)\n", "f(a, b)", "f(a, b, scale=1.0)"),
        ("y = f(a)\n", ")", ", scale=1.0)"),
        ("y = a @ b\n", "a @ b", "a @ b / d ** 0.5"),
        ("def f(a):\n    y = a * 8\n    return y\n", "a * 8", "a"),
    ],
)
def test_a_fix_that_changes_its_expression_is_made(text, old, new):
    assert rewritten(text, (old, new)) == text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("y = a / b\n", "b", "c * d"),  # prints another product than was meant: (a / c) * d
        ("y = a * b\n", "a", "c + d"),
        ("y = f(a)\n", "a", "a)("),
        ("y = a ** b\n", "a", "-a"),
        ("y = a / b\n", "b", "b  # rest"),
        ("y = 1\nz = 2\n", "1", "1; import os"),
        ("y = [a, b]\n", "a", "a for a in b] + [b"),
        ("y = a\nz = b\n", "a", "(a"),
    ],
)
def test_a_fix_that_would_change_more_is_refused(text, old, new):
    if new == "b  # rest":
        assert rewritten(text, (old, new)) == "y = a / b  # rest\n"  # a comment changes nothing
        return
    with pytest.raises(FixRefused):
        rewritten(text, (old, new))


def test_an_insertion_after_an_operand_may_wrap_it():
    text = "y = softmax(q @ k)\n"
    place = Position(1, text.index(")") + 1)
    data = rewrite(load(text.encode(), "m.py"), [Edit(" / d ** 0.5", Span(place, place))], "m.py")
    assert data == b"y = softmax(q @ k / d ** 0.5)\n"


@pytest.mark.parametrize(
    ("row", "column", "content"), [(2, 1, "import math\n"), (1, 10, "\nimport math"), (3, 1, "import math\n"), (5, 5, "z = 2\n    ")]
)
def test_a_statement_may_be_put_in(row, column, content):
    text = "import os\nx = 1\n\ndef f():\n    return x\n"
    place = Position(row, column)
    after = rewrite(load(text.encode(), "m.py"), [Edit(content, Span(place, place))], "m.py").decode()
    assert content in after and after.replace(content, "", 1) == text


def test_a_statement_may_not_be_lost():
    text = "x = 1\ny = 2\nz = 3\n"
    with pytest.raises(FixRefused):
        rewrite(load(text.encode(), "m.py"), [Edit("x = 1 # ", Span(Position(1, 1), Position(2, 1)))], "m.py")


def test_overlapping_edits_are_refused():
    with pytest.raises(FixRefused):
        rewritten("y = a + b\n", ("a + b", "c"), ("a", "d"))


@pytest.mark.parametrize(
    "data",
    [
        IDLE.encode(),
        b"\xef\xbb\xbf" + IDLE.encode(),
        IDLE.replace("\n", "\r\n").encode(),
        IDLE.replace("\n", "\r").encode() + b"y = 2\r",
        b"# -*- coding: latin-1 -*-\ns = '\xe9\xff'\n" + IDLE.encode(),
        b"\n# vim: set fileencoding=cp1252 :\ns = '\x80'\n" + IDLE.encode(),
        "s = 'é√ 日本 𝔸'; ".encode() + IDLE.encode(),
        b"\x0cdef f():\n\treturn 1\n\x0c\n" + IDLE.encode(),
        b"s = 'a\\\nb'\n" + IDLE.encode() + b"t = '''\r\n\x0b\xc2\x85\xe2\x80\xa8'''\n",
        b"if 1:\r\n\tpass   \n" + IDLE.strip().encode(),
    ],
)
def test_every_other_byte_stays(attnlint, tmp_path, data):
    path = tmp_path / "model.py"
    path.write_bytes(data)
    assert attnlint("model.py", "--fix").status == 0
    assert path.read_bytes() == data.replace(b"  # attnlint: ignore[ATT101]", b"")
    before = path.read_bytes()
    assert attnlint("model.py", "--fix").status == 0
    assert path.read_bytes() == before


def test_unsafe_fixes_need_to_be_asked_for(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(FAULTY)
    only_safe = attnlint("model.py", "--fix")
    assert only_safe.status == 1
    assert path.read_text() == FAULTY
    assert "--unsafe-fixes" in only_safe.out
    result = attnlint("model.py", "--fix", "--unsafe-fixes")
    assert result.status == 0
    assert "fixed 1 finding" in result.err
    assert attnlint("model.py").status == 0
    changed = [(old, new) for old, new in zip(FAULTY.splitlines(), path.read_text().splitlines(), strict=True) if old != new]
    assert len(changed) == 1 and "head_dim" in changed[0][1]


def test_a_rule_may_be_declared_safe_to_fix(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(FAULTY)
    (tmp_path / "attnlint.toml").write_text('extend-safe-fixes = ["wrong-dim-scale"]\n')
    assert attnlint("model.py", "--fix").status == 0
    assert path.read_text() != FAULTY


def test_a_safe_rule_may_be_declared_unsafe(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(IDLE)
    (tmp_path / "attnlint.toml").write_text('extend-unsafe-fixes = ["ATT001"]\n')
    assert attnlint("model.py", "--fix").status == 1
    assert path.read_text() == IDLE


def test_diff_writes_nothing_and_prints_what_would_change(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(IDLE)
    result = attnlint("model.py", "--fix", "--diff")
    assert result.status == 1
    assert result.out == "--- model.py\n+++ model.py\n@@ -1 +1 @@\n-x = 1  # attnlint: ignore[ATT101]\n+x = 1\n"
    assert path.read_text() == IDLE
    path.write_text(PLAIN)
    assert attnlint("model.py", "--diff").status == 0


def test_a_diff_is_coloured_where_colours_are_wanted_and_is_a_patch_elsewhere(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    plain = attnlint("model.py", "--diff", "--unsafe-fixes").out
    coloured = attnlint("model.py", "--diff", "--unsafe-fixes", "--color", "always").out
    assert "\x1b[31m-        weights" in coloured and "\x1b[32m+        weights" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain != coloured
    attnlint("model.py", "--diff", "--unsafe-fixes", "--color", "always", "--output-file", "fix.patch")
    assert (tmp_path / "fix.patch").read_text() == plain


def test_exit_non_zero_on_fix(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(IDLE)
    assert attnlint("model.py", "--fix", "--exit-non-zero-on-fix").status == 1
    assert attnlint("model.py", "--fix", "--exit-non-zero-on-fix").status == 0


def test_fixing_standard_input_prints_the_source_and_only_that(attnlint):
    result = attnlint("-", "--fix", stdin=IDLE.encode())
    assert (result.status, result.out) == (0, "x = 1\n")
    nothing = attnlint("-", "--fix", stdin=FAULTY.encode())
    assert (nothing.status, nothing.out) == (1, FAULTY)
    assert "ATT102" in nothing.err


def test_mode_and_symbolic_links_are_kept(attnlint, tmp_path):
    target = tmp_path / "real.py"
    target.write_text(IDLE)
    target.chmod(0o754)
    (tmp_path / "sub").mkdir()
    link = tmp_path / "sub" / "link.py"
    link.symlink_to("../real.py")
    assert attnlint("sub/link.py", "--fix").status == 0
    assert link.is_symlink()
    assert target.read_text() == "x = 1\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o754
    assert sorted(os.listdir(tmp_path / "sub")) == ["link.py"]


def test_a_read_only_file_is_an_error_and_the_others_are_fixed(attnlint, tmp_path):
    (tmp_path / "locked.py").write_text(IDLE)
    (tmp_path / "locked.py").chmod(0o444)
    (tmp_path / "open.py").write_text(IDLE)
    result = attnlint(".", "--fix")
    assert result.status == 2
    assert "locked.py: is read-only" in result.err
    assert (tmp_path / "locked.py").read_text() == IDLE
    assert (tmp_path / "open.py").read_text() == "x = 1\n"


def test_a_file_that_changed_since_it_was_read_is_not_overwritten(tmp_path):
    path = tmp_path / "model.py"
    path.write_bytes(b"new\n")
    with pytest.raises(atomic.WriteRefused, match="has changed"):
        atomic.rewrite_source(str(path), b"fixed\n", b"old\n")
    assert path.read_bytes() == b"new\n"


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "model.py"
    path.write_bytes(b"old\n")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(atomic.WriteRefused, match="no space left"):
        atomic.rewrite_source(str(path), b"new\n", b"old\n")
    assert path.read_bytes() == b"old\n"
    assert os.listdir(tmp_path) == ["model.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="hard links")
def test_a_file_with_two_names_is_refused(attnlint, tmp_path):
    (tmp_path / "one.py").write_text(IDLE)
    os.link(tmp_path / "one.py", tmp_path / "two.txt")
    result = attnlint("one.py", "--fix")
    assert result.status == 2
    assert "hard links" in result.err
    assert (tmp_path / "two.txt").read_text() == IDLE


def test_fixed_files_that_others_rest_on_are_judged_anew(attnlint, tmp_path):
    (tmp_path / "a.py").write_text(FAULTY)
    (tmp_path / "b.py").write_text(CLEAN + IDLE)
    assert attnlint(".", "--fix", "--unsafe-fixes").status == 0
    assert attnlint(".").status == 0


def test_confirm_runs_the_code_and_its_verdict_is_printed(attnlint, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "model.py").write_text(FAULTY)
    (finding,) = attnlint("model.py", "--confirm", "--output-format", "json").json
    assert finding["confirmation"]["status"] == "confirmed"
    assert finding["confirmation"]["before"]["ratio"] == pytest.approx(0.5, abs=0.4)
    assert "= confirmed" in attnlint("model.py", "--confirm").out


def test_a_confirmed_fix_is_applied_without_unsafe_fixes(attnlint, tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "model.py"
    path.write_text(FAULTY)
    assert attnlint("model.py", "--fix", "--confirm").status == 0
    assert "head_dim" in path.read_text().split("energy /")[1].splitlines()[0]


@pytest.mark.parametrize(("status", "fixed"), [("confirmed", True), ("refuted", False), ("not-confirmed", False)])
def test_only_what_was_confirmed_is_applied(attnlint, tmp_path, monkeypatch, status, fixed):
    monkeypatch.setattr("attnlint.confirm.confirm_finding", lambda *_: {"status": status, "reason": "told so"})
    path = tmp_path / "model.py"
    path.write_text(FAULTY)
    attnlint("model.py", "--fix", "--confirm")
    assert (path.read_text() != FAULTY) == fixed
