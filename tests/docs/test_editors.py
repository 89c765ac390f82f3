"""The set-ups in docs/editors.md: each parses in its language, and all start the server that there is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documents import EDITORS, Block, blocks

TOMLLIB = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
STARTS = [one for one in blocks(EDITORS) if "server" in one.text and one.language != "console"]


def check(program: str, *arguments: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", blocks(EDITORS, "json"), ids=lambda block: block.name)
def test_json(block: Block) -> None:
    found = json.loads(block.text)
    if "command" in found:
        assert [found["command"], *found["args"]] == ["attnlint", "server"]
    else:
        pytest.importorskip("pygls")
        from attnlint.server import FIX_ALL

        assert list(found["editor.codeActionsOnSave"]) == [FIX_ALL]


def test_javascript(tmp_path: Path) -> None:
    (block,) = blocks(EDITORS, "javascript")
    (tmp_path / "extension.js").write_text(block.text, encoding="utf-8")
    check("node", "--check", str(tmp_path / "extension.js"))


def test_lua(tmp_path: Path) -> None:
    (block,) = blocks(EDITORS, "lua")
    (tmp_path / "init.lua").write_text(block.text, encoding="utf-8")
    check("luac", "-p", str(tmp_path / "init.lua"))


def test_helix() -> None:
    (block,) = blocks(EDITORS, "toml")
    server = TOMLLIB.loads(block.text)["language-server"]["attnlint"]
    assert [server["command"], *server["args"]] == ["attnlint", "server"]


def test_every_editor_has_a_set_up_that_starts_the_server() -> None:
    assert {block.language for block in STARTS} == {"json", "javascript", "lua", "elisp", "toml"}
    for block in STARTS:
        assert "attnlint" in block.text and '"server"' in block.text


def test_forms_of_lisp_are_closed() -> None:
    for block in blocks(EDITORS, "elisp"):
        assert block.text.count("(") == block.text.count(")")
