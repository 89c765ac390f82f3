"""What the page on the audit shows: its commands work, its tables are those of the program, its programs are Python."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

from samples import FAULTY

from attnlint.audit import archives, rows, tables
from attnlint.audit.arguments import parser

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_first_command_and_the_program_after_it_work(audit, tmp_path):
    for name in ("repositories", "mirrors"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text(FAULTY.replace("SelfAttention", name.title()))
    commands = [line for language, text in BLOCKS if language == "sh" for line in text.splitlines() if line.startswith("attnlint ")]
    assert commands == ["attnlint audit repositories/ --to audit/", "attnlint audit repositories/ mirrors/ --to audit/"]
    assert audit(*shlex.split(commands[0])[2:], "--workers", 1).returncode == 0
    (program,) = [text for language, text in BLOCKS if language == "python" and "read_parquet" in text]
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "ATT102" in done.stdout and "repositories" in done.stdout, done.stderr


def test_programs_options_and_endings_are_there():
    for language, text in BLOCKS:
        if language == "python":
            ast.parse(text)
    known = {option for action in parser()._actions for option in action.option_strings}
    assert set(re.findall(r"`(--[a-z-]+)", PAGE)) <= known
    assert all(f"`{ending}`" in PAGE for ending in (*archives.ENDINGS, *tables.PARQUET, *tables.PLAIN))
    assert all(f"`{kind}/`" in PAGE for kind in (*rows.SCHEMAS, "texts"))
