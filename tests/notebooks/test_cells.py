"""Cells that IPython takes and Python does not, blanks that an exercise leaves, and syntax that is newer than the running Python."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attnlint.text.newer import readable
from attnlint.text.notebook import python_of

HEAD = """class Head(nn.Module):
    def __init__(self, width, size):
        super().__init__()
        self.width = width
        self.q, self.k, self.v = nn.Linear(width, size), nn.Linear(width, size), nn.Linear(width, size)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).mT * {scale}
        return torch.softmax(scores, dim=-1) @ self.v(x)
"""


def notebook(*cells: str) -> str:
    made = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell.splitlines(keepends=True)}
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def indented(cell: str) -> str:
    return textwrap.indent(cell, "    ")


@pytest.mark.parametrize(
    "cell",
    [
        "cd ..",
        "cd /content/data\nimport os",
        "ls -la",
        "pip install torch==2.1",
        "matplotlib inline",
        "run train.py --fast",
        "  import os\n  import sys",
    ],
)
def test_what_ipython_takes_is_no_syntax_error(attnlint: Callable[..., Any], cell: str) -> None:
    Path("notes.ipynb").write_text(notebook(cell, "import torch\nfrom torch import nn", HEAD.format(scale="width")))
    assert attnlint("check", "--isolated", "--no-cache", "--select", "ATT002", "notes.ipynb").status == 0


@pytest.mark.parametrize("cell", ["cd = = 1", "def f(:\n    pass", "time + ", "for x in y\n    print(x)", "print 'done'"])
def test_what_neither_takes_is_one(attnlint: Callable[..., Any], cell: str) -> None:
    Path("notes.ipynb").write_text(notebook(cell))
    (found,) = attnlint("check", "--isolated", "--no-cache", "--output-format", "json", "notes.ipynb").json
    assert (found["code"], found["cell"]) == ("ATT002", 1)


@pytest.mark.parametrize(
    "cell",
    [
        "scores = ???\nweights = torch.softmax(scores, -1)",
        "q = # YOUR CODE HERE",
        "def attend(q, k, v):\n    # TODO: scale the product",
        "weights = softmax(q @ k.T / <your code>)",
    ],
)
def test_a_blank_that_the_reader_is_to_fill_in_is_no_syntax_error(cell: str) -> None:
    assert python_of(cell)[1] is None


def test_an_unclosed_call_beside_no_blank_is_an_error() -> None:
    assert python_of("weights = softmax(q @ k.T")[1] is not None


def test_a_cell_that_is_indented_as_a_whole_is_linted_and_fixed_where_it_stands(attnlint: Callable[..., Any]) -> None:
    before, after = (
        notebook("import torch\nfrom torch import nn", indented(HEAD.format(scale=s)))
        for s in ("self.width**-0.5", "self.q.out_features**-0.5")
    )
    Path("notes.ipynb").write_text(before)
    (found,) = attnlint("check", "--isolated", "--no-cache", "--output-format", "json", "notes.ipynb").json
    row = indented(HEAD.format(scale="self.width**-0.5")).splitlines()[7]
    assert found["location"] == {"row": 8, "column": row.index("self.width") + 1}
    attnlint("check", "--isolated", "--no-cache", "--fix", "--unsafe-fixes", "notes.ipynb")
    assert Path("notes.ipynb").read_text() == after


NEWER = """type Block = torch.Tensor


class Stack[T](nn.Module):
    def named[N: int](self, names: N) -> str:
        return f"heads {", ".join(names)} and {'\\n'.join(names)}" + f"{
            names}"
"""


def test_newer_syntax_is_read_row_for_row_and_reported_all_the_same(attnlint: Callable[..., Any]) -> None:
    program = "import torch\nfrom torch import nn\n" + NEWER + "\n\n" + HEAD.format(scale="self.width**-0.5")
    compile(readable(program), "program.py", "exec")
    assert [len(row) for row in readable(program).splitlines()] == [len(row) for row in program.splitlines()]
    Path("program.py").write_text(program)
    (found,) = attnlint("check", "--isolated", "--no-cache", "--output-format", "json", "program.py").json
    assert (found["code"], found["location"]["row"]) == ("ATT102", program[: program.index("scores =")].count("\n") + 1)
    attnlint("check", "--isolated", "--no-cache", "--fix", "--unsafe-fixes", "program.py")
    assert Path("program.py").read_text() == program.replace("self.width**-0.5", "self.q.out_features**-0.5")


def test_an_equation_in_an_older_formatted_string_is_kept() -> None:
    program = "type X = int\nz = f'{a}, {b}'\n"
    assert "f'{a}, {b}'" in readable(program)


def test_what_no_python_reads_stays_an_error() -> None:
    assert readable("type X = = int\n") == "type X = = int\n"
