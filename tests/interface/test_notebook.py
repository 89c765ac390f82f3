"""The notebook of the documentation: every cell runs, and prints what it shows."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "interface.ipynb"


def run(source: str, names: dict[str, Any]) -> str:
    """What a cell shows: what it prints, and the value of its last expression."""
    *before, last = ast.parse(source).body
    printed = io.StringIO()
    shown = None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(before, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        else:
            exec(compile(ast.Module([last], []), "cell", "exec"), names)
    return printed.getvalue() + ("" if shown is None else repr(shown))


def test_the_notebook_shows_what_its_cells_do() -> None:
    names: dict[str, Any] = {}
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 6
    for cell in cells:
        shown = "".join("".join(output.get("text") or output["data"]["text/plain"]) for output in cell["outputs"])
        assert run("".join(cell["source"]), names) == shown
