"""Files that no one should write: each gets its clear word, and the others are still checked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from samples import COLUMN, FAULTY, PLAIN, ROW, WRONG


def codes(result) -> list[tuple[str, str]]:
    return [(one["filename"], one["code"]) for one in result.json]


def check(attnlint, *arguments: str):
    return attnlint("check", "--no-cache", "--output-format", "json", *(arguments or (".",)))


@pytest.mark.parametrize(
    ("data", "row", "column", "said"),
    [
        (b"x = 1\ny = '\0'\n", 2, 6, "null bytes"),
        (b"x = 1\ny = 'caf\xe9'\n", 2, 9, "byte 0xe9 is not utf-8"),
        ("# é\ny = '".encode() + b"\xff'\n", 2, 6, "byte 0xff is not utf-8"),
        (b"# -*- coding: no-such -*-\n", 1, 1, "unknown encoding: no-such"),
        (b"#!/usr/bin/python\n# coding=hex\nx = 1\n", 2, 1, "not a text encoding: hex"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 1, 1, "byte order mark contradicts"),
        (b"# coding: utf-16\nx = 1\n", 1, 1, ""),
        (b"def f(:\n", 1, 7, "invalid syntax"),
        (b"if x:\npass\n", 2, 1, "indented block"),
        (b"\tx = 1\n", 1, 2, "indent"),
        (b"x = '''\n", 1, 5, "unterminated"),
        (b"x = (\n", 1, 5, "never closed"),
        (b"print 'x'\n", 1, 1, ""),
        (b"\xff\xfe" + "x = 1\n".encode("utf-16-le"), 1, 1, "byte 0xff is not utf-8"),
        (b"a = 1\rb = (\r", 2, 5, "never closed"),
        (b"a = 1\r\n\r\nb = (\r\n", 3, 5, "never closed"),
        (b"def f(a, a):\n    pass\n", 1, 1, "duplicate argument"),
        (b"x = " + b"(" * 300 + b")" * 300 + b"\n", 1, 1, "nested parentheses"),
    ],
)
@pytest.mark.parametrize("attention", [False, True], ids=["plain", "attention"])
def test_what_does_not_parse_is_a_finding_with_its_place(attnlint, tmp_path, data, row, column, said, attention):
    (tmp_path / "bad.py").write_bytes(data + (b"# softmax(q @ k)\n" if attention else b""))
    (tmp_path / "model.py").write_text(FAULTY)
    result = check(attnlint)
    assert result.status == 1
    assert codes(result) == [("bad.py", "ATT002"), ("model.py", "ATT102")]
    finding = result.json[0]
    assert said in finding["message"]
    if said:
        assert finding["location"]["row"] == row
    if said and said not in ("nested parentheses", "duplicate argument", "indented block", "indent"):  # there versions of Python differ
        assert finding["location"]["column"] == column
    assert attnlint(".").status == 1  # the full output can show it


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + FAULTY.encode(),
        FAULTY.replace("\n", "\r\n").encode(),
        FAULTY.replace("\n", "\r").encode(),
        b"\xef\xbb\xbf" + FAULTY.replace("\n", "\r\n").encode(),
        FAULTY.replace("import torch\n", "# -*- coding: latin-1 -*- é\n")
        .encode("latin-1")
        .replace(b"from torch", b"import torch; from torch"),
        FAULTY.replace("import torch\n", "import torch  # \x0c \x0b \x1c \x85 \u2028 é\n").encode(),
        FAULTY.replace("class Self", "\x0cclass Self").encode(),
        FAULTY.encode() + b"\x0c\n",
        FAULTY.rstrip().encode(),
    ],
    ids=["mark", "crlf", "cr", "mark and crlf", "latin-1", "separators", "form feed", "form feed last", "no last line end"],
)
def test_encodings_and_line_ends_change_no_place(attnlint, tmp_path, data):
    (tmp_path / "model.py").write_bytes(data)
    (finding,) = check(attnlint).json
    shift = 1 if WRONG.startswith("(") else 0
    assert (finding["code"], finding["location"]) == ("ATT102", {"row": ROW, "column": COLUMN + shift})


def test_columns_count_code_points(attnlint, tmp_path):
    line = FAULTY.splitlines()[ROW - 1]
    (tmp_path / "model.py").write_text(FAULTY.replace(line, line.replace("weights = ", 's = "é日𝔸"; weights = ')), encoding="utf-8")
    (finding,) = check(attnlint).json
    assert finding["location"]["column"] == COLUMN + 1 + len('s = "é日𝔸"; ')


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
def test_what_is_no_file_is_passed_over_with_a_word(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "dangling.py").symlink_to("nowhere.py")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "twin.py").symlink_to("model.py")
    result = check(attnlint)
    assert result.status == 1
    assert codes(result) == [("model.py", "ATT102")]
    for name in ("pipe.py", "loop.py", "dangling.py"):
        assert f"{name}: skipped" in result.err


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
def test_what_is_no_file_and_named_is_status_2(attnlint, tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    for name in ("pipe.py", "loop.py", "/dev/null/x.py", "a\0b.py"):
        result = check(attnlint, name)
        assert result.status == 2
        assert "Traceback" not in result.err
    assert "standard input" in check(attnlint, "pipe.py").err


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
def test_a_file_that_becomes_a_pipe_does_not_hang(tmp_path):
    import subprocess

    os.mkfifo(tmp_path / "pipe.py")
    code = "import sys; from attnlint.analysis import read; read(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "pipe.py")], capture_output=True, text=True, timeout=60, check=False)
    assert "not a regular file" in done.stderr


def test_a_linked_file_and_a_linked_folder_may_be_named(attnlint, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "model.py").write_text(FAULTY)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "one.py").symlink_to("real/model.py")
    assert codes(check(attnlint, "link")) == [("link/model.py", "ATT102")]
    assert codes(check(attnlint, "one.py")) == [("one.py", "ATT102")]


def test_an_unreadable_file_is_status_2_and_the_rest_is_checked(attnlint, tmp_path, monkeypatch):
    from attnlint import runner

    real = runner.read

    def read(absolute: str) -> bytes:
        if absolute.endswith("locked.py"):
            raise PermissionError(13, "Permission denied")
        if absolute.endswith("gone.py"):
            raise FileNotFoundError(2, "No such file or directory")
        return real(absolute)

    for name in ("locked.py", "gone.py", "model.py"):
        (tmp_path / name).write_text(FAULTY)
    monkeypatch.setattr(runner, "read", read)
    result = check(attnlint)
    assert result.status == 2
    assert codes(result) == [("model.py", "ATT102")]
    assert "locked.py: cannot be read: permission denied" in result.err
    assert "gone.py: cannot be read: no such file" in result.err


def test_a_file_that_vanishes_between_two_looks_is_status_2(attnlint, tmp_path, monkeypatch):
    from attnlint import runner

    real = runner.screen_files

    def screen_files(files, *rest):
        screened = real(files, *rest)
        for name in ("first.py", "second.py"):
            Path(name).unlink(missing_ok=True)
        return screened

    for name in ("first.py", "model.py"):
        (tmp_path / name).write_text(FAULTY)
    monkeypatch.setattr(runner, "screen_files", screen_files)
    result = check(attnlint)
    assert (result.status, codes(result)) == (2, [("model.py", "ATT102")])
    assert "first.py: cannot be read" in result.err


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX names")
@pytest.mark.parametrize(
    "name", ["two\nlines.py", "tab\t.py", "-dash.py", " space .py", "quote'\".py", "ünï.py", "%s%d.py", "{x}.py", "a:1:2.py"]
)
def test_strange_names(attnlint, tmp_path, name):
    (tmp_path / name).write_text(FAULTY)
    assert codes(check(attnlint)) == [(name, "ATT102")]
    assert codes(check(attnlint, "--", name)) == [(name, "ATT102")]
    for form in ("full", "concise", "sarif", "junit", "github", "gitlab"):
        assert attnlint(".", "--output-format", form).status == 1


DEEP = {
    "terms": "x = " + " + ".join(["a"] * 10_000),
    "powers": "x = " + "**".join(["a"] * 3_000),
    "attributes": "x = a" + ".b" * 5_000,
    "calls": "x = a" + "()" * 5_000,
    "minus": "x = " + "-" * 3_000 + "1",
    "not": "x = " + "not " * 3_000 + "a",
    "lambda": "x = " + "lambda: " * 1_500 + "1",
    "ternary": "x = " + "a if b else " * 3_000 + "c",
    "elif": "if a: pass\n" + "elif a: pass\n" * 3_000,
    "strings": "x = " + " ".join(["'a'"] * 10_000),
    "list": "x = [" + "1, " * 100_000 + "]",
    "blocks": "".join(" " * level + "if a:\n" for level in range(90)) + " " * 90 + "pass",
}


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("attention", [False, True], ids=["plain", "attention"])
def test_deep_nesting_and_long_expressions_take_nothing_else_along(attnlint, tmp_path, kind, attention):
    text = DEEP[kind] + "\n"
    if attention:
        text = f"import torch\n{text}def f(q, k):\n    return torch.softmax(q @ k.T, dim=-1)\n"
    (tmp_path / "deep.py").write_text(text)
    (tmp_path / "model.py").write_text(FAULTY)
    result = check(attnlint)
    assert result.status == 1, result.err
    assert [one for one in codes(result) if one[0] == "model.py"] == [("model.py", "ATT102")]
    assert "internal error" not in result.err
    if kind == "terms":
        assert "deep.py: not analysed" in result.err


def test_deep_nesting_in_a_notebooks_cell(attnlint, tmp_path):
    import json

    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": text} for text in (DEEP["terms"], FAULTY)]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    result = check(attnlint)
    assert codes(result) == [("n.ipynb", "ATT102")]
    assert "cell 1 not analysed" in result.err


def test_empty_files_and_folders(attnlint, tmp_path):
    for name in ("empty.py", "blank.py", "comment.py", "empty.pyi", "empty.ipynb"):
        (tmp_path / name).write_text({"blank.py": " \n\t\n\x0c\n", "comment.py": "# softmax(q @ k)"}.get(name, ""))
    (tmp_path / "folder").mkdir()
    assert (check(attnlint).status, check(attnlint).out) == (0, "[]\n")


def test_a_file_whose_suppressions_cannot_be_read_to_the_end(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(PLAIN + "# attnlint: ignore[ATT101]\nx = '''")
    assert [code for _, code in codes(check(attnlint))] == ["ATT002"]


@pytest.mark.parametrize("option", ["--fix", "--diff", "--add-ignore=x"])
def test_writing_with_bad_files_about(attnlint, tmp_path, option):
    contents = {"nul.py": b"softmax\0", "bad.py": b"def f(:\n", "latin.py": b"x = '\xe9'  # attnlint: ignore[ATT101]\n", "n.ipynb": b"{"}
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    result = attnlint(".", option, "--no-cache")
    assert result.status in (0, 1)
    assert "Traceback" not in result.err
    assert {name: (tmp_path / name).read_bytes() for name in contents} == contents
