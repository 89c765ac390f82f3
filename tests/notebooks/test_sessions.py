"""Where notebooks are worked on: IPython's own shell, JupyterLab's and python-lsp-server's entry points, scripts in cells."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from types import SimpleNamespace

import pytest

import attnlint

FAULTY = """\
import torch


def attend(x, to_q, to_k):
    q, k = torch.nn.Linear(8, 4)(x), torch.nn.Linear(8, 4)(x)
    return torch.softmax(q @ k.transpose(-2, -1) / 8, dim=-1)
"""
RIGHT = FAULTY.replace("/ 8", "/ 4**0.5")


@pytest.fixture
def shell(capsys):
    pytest.importorskip("IPython", reason="IPython is not installed")
    from IPython.core.interactiveshell import InteractiveShell

    one = InteractiveShell()
    one.run_cell("%load_ext attnlint")
    capsys.readouterr()
    yield one
    one.run_cell("%unload_ext attnlint")


def run(shell, capsys, source: str, store: bool = True) -> str:
    shell.run_cell(source, store_history=store)
    return capsys.readouterr().out


def test_findings_stand_under_the_cell_that_was_run(shell, capsys) -> None:
    assert "unrooted-scale" in run(shell, capsys, FAULTY.replace("/ 8", "/ 4"))
    assert "ATT1" not in run(shell, capsys, "x = 1")
    assert "unrooted-scale" in run(shell, capsys, "%attnlint")


def test_a_session_without_findings_says_what_was_seen(shell, capsys) -> None:
    assert run(shell, capsys, RIGHT) == ""
    assert "1 attention sites, 1 proved" in run(shell, capsys, "%attnlint", store=False)
    assert "correct" in run(shell, capsys, "%attnlint sites", store=False)


def test_the_next_cell_is_measured(shell, capsys) -> None:
    run(shell, capsys, "import torch\nq = torch.randn(6, 16, 16)\nk = torch.randn(6, 16, 16)")
    run(shell, capsys, "%attnlint probe", store=False)
    assert "0.25" in run(shell, capsys, "w = torch.softmax(q @ k.mT / 4, dim=-1) @ q")


def test_switched_off_it_says_nothing(shell, capsys) -> None:
    run(shell, capsys, "%attnlint off", store=False)
    assert run(shell, capsys, FAULTY.replace("/ 8", "/ 4")) == ""


def test_jupyterlab_finds_the_server_by_entry_point() -> None:
    (found,) = (one for one in entry_points(group="jupyter_lsp_spec_v1") if one.name == "attnlint")
    (described,) = found.load()(None).values()
    assert described["argv"] == [sys.executable, "-m", "attnlint", "server"] and described["version"] == 2


def test_python_lsp_server_asks_the_plug_in(tmp_path) -> None:
    pytest.importorskip("pylsp", reason="python-lsp-server is not installed")
    (found,) = (one for one in entry_points(group="pylsp") if one.name == "attnlint")
    plugin = found.load()
    source = FAULTY.replace("/ 8", "/ 4")
    path = tmp_path / "model.py"
    document = SimpleNamespace(uri=path.as_uri(), path=str(path), source=source, version=1)
    workspace = SimpleNamespace(root_path=str(tmp_path))
    (one,) = plugin.pylsp_lint(workspace, document)
    assert one["code"] == "ATT103" and one["range"]["start"]["line"] == 5 and "expected" in one["message"]
    hover = plugin.pylsp_hover(workspace, document, {"line": 5, "character": 14})
    assert hover is not None and "unrooted-scale" in hover["contents"]["value"]


def test_a_script_in_cells_may_hold_magics() -> None:
    script = "# %%\n%matplotlib inline\n!pip list\n# %%\n" + FAULTY.replace("/ 8", "/ 4")
    (one,) = attnlint.lint(script, path="notebook.py").findings
    assert (one.code, one.start.row) == ("ATT103", 10)
