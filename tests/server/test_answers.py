"""Code actions, hover and notebooks."""

from __future__ import annotations

import subprocess
import sys

import pytest
from client import edited
from samples import CLEAN, FAULTY, PLAIN, ROW


def changes(action, uri):
    return action["edit"]["changes"][uri]


def first(client, text, name="model.py"):
    uri = client.open(name, text)
    (one,) = client.diagnostics(uri)
    return uri, one


def test_a_fix(client):
    uri, one = first(client, FAULTY)
    fix, _ = client.actions(uri, one["range"])
    assert fix["kind"] == "quickfix"
    assert "wrong-dim-scale" in fix["title"]
    assert "unsafe" in fix["title"]
    assert fix["isPreferred"] is False
    assert fix["diagnostics"] == [one]
    after = edited(FAULTY, changes(fix, uri))
    assert after == FAULTY.replace("self.embed_size ** (1 / 2)", "self.head_dim ** (1 / 2)")
    client.change(uri, {"text": after})
    assert client.diagnostics(uri, 2) == []


def test_suppress_here(client):
    uri, one = first(client, FAULTY)
    _, suppress = client.actions(uri, one["range"])
    assert suppress["title"] == "Suppress wrong-dim-scale here"
    after = edited(FAULTY, changes(suppress, uri))
    assert after.splitlines()[ROW - 1].endswith("dim=-1)  # attnlint: ignore[wrong-dim-scale]")
    client.change(uri, {"text": after})
    assert client.diagnostics(uri, 2) == []


def test_actions_keep_line_ends_and_stand_at_their_findings_only(client):
    text = FAULTY.replace("\n", "\r\n")
    uri, one = first(client, text)
    for action in client.actions(uri, one["range"]):
        for edit in changes(action, uri):
            assert "\n" not in edit["newText"]
            assert edit["range"]["start"]["line"] == edit["range"]["end"]["line"] == ROW - 1
    start = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    assert client.actions(uri, start) == []


def test_actions_are_of_the_text_as_it_is_now(client):
    uri, one = first(client, FAULTY)
    client.change(uri, {"text": "\n" + FAULTY})
    moved = {name: {**place, "line": place["line"] + 1} for name, place in one["range"].items()}
    fix, _ = client.actions(uri, moved)
    assert changes(fix, uri)[0]["range"]["start"]["line"] == ROW


def test_a_safe_fix_is_preferred_and_can_be_made_on_saving(client):
    text = "x = 1  # attnlint: ignore[missing-scale]\ny = 2  # attnlint: ignore[missing-scale]\n"
    uri = client.open("model.py", text)
    one, _ = client.diagnostics(uri)
    (fix,) = client.actions(uri, one["range"], ["quickfix"])
    assert fix["isPreferred"] is True
    assert "unsafe" not in fix["title"]
    assert edited(text, changes(fix, uri)) == text.replace("  # attnlint: ignore[missing-scale]", "", 1)
    (everything,) = client.actions(uri, one["range"], ["source.fixAll"])
    assert everything["kind"] == "source.fixAll.attnlint"
    assert edited(text, changes(everything, uri)) == "x = 1\ny = 2\n"
    assert client.actions(uri, one["range"], ["refactor"]) == []


def test_an_unsafe_fix_is_not_made_on_saving(client):
    uri, one = first(client, FAULTY)
    assert client.actions(uri, one["range"], ["source.fixAll.attnlint"]) == []


def test_a_fix_that_the_settings_call_safe(client):
    (client.root / client.folder / "attnlint.toml").write_text('extend-safe-fixes = ["ATT102"]\n')
    uri, one = first(client, FAULTY)
    assert client.actions(uri, one["range"], ["quickfix"])[0]["isPreferred"] is True


def test_edits_carry_the_version_where_the_client_can(start):
    client = start(capabilities={"workspace": {"workspaceEdit": {"documentChanges": True}}})
    uri, one = first(client, FAULTY)
    (change,) = client.actions(uri, one["range"])[0]["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 1}


def test_hover_shows_the_derivation(client):
    uri, one = first(client, FAULTY)
    shown = client.hover(uri, ROW - 1, one["range"]["start"]["character"] + 1)
    assert shown["contents"]["kind"] == "markdown"
    text = shown["contents"]["value"]
    for line in (
        "**Attention** in `SelfAttention.forward`",
        "- query: `q`",
        "- key: `k`",
        "- contraction: `head_dim`",
        "- net scale: `embed_size^-1/2`",
        "- expected: `head_dim^-1/2`",
        "- ratio: `heads^-1/2`",
        "- verdict: **faulty**",
        "- reason: wrong-dim-scale",
    ):
        assert line in text.splitlines()
    assert f"(line {ROW})" in text
    assert "`attnlint rule wrong-dim-scale` explains the rule" in text or "/docs/rules/wrong-dim-scale.md)" in text


def test_hover_on_a_correct_site_and_on_its_product(client):
    uri = client.open("model.py", CLEAN)
    client.diagnostics(uri)
    line = CLEAN.splitlines()[ROW - 1]
    shown = client.hover(uri, ROW - 1, line.index("torch.softmax") + 2)
    assert "- verdict: **correct**" in shown["contents"]["value"]
    assert shown["range"]["start"] == {"line": ROW - 1, "character": line.index("torch.softmax")}
    assert client.hover(uri, ROW - 2, 20)["contents"]["value"] == shown["contents"]["value"]
    assert client.hover(uri, 0, 2) is None


CELLS = FAULTY.split("\n\n\n")


def notebook(client, *texts, name="n.ipynb", languages=()):
    uri = client.uri(name)
    cells = [f"{uri.replace('file:', 'vscode-notebook-cell:')}#c{number}" for number in range(len(texts))]
    languages = languages or ["python"] * len(texts)
    client.notify(
        "notebookDocument/didOpen",
        {
            "notebookDocument": {
                "uri": uri,
                "notebookType": "jupyter-notebook",
                "version": 1,
                "cells": [{"kind": 1 if kind == "markdown" else 2, "document": cell} for kind, cell in zip(languages, cells, strict=True)],
            },
            "cellTextDocuments": [
                {"uri": cell, "languageId": kind, "version": 1, "text": text}
                for kind, cell, text in zip(languages, cells, texts, strict=True)
            ],
        },
    )
    return uri, cells


def found_in(client, cells):
    """The next diagnostics of each cell."""
    return {cell: client.diagnostics(cell) for cell in cells}


def close(client, uri, cells):
    client.notify("notebookDocument/didClose", {"notebookDocument": {"uri": uri}, "cellTextDocuments": [{"uri": cell} for cell in cells]})


def test_the_cells_of_a_notebook_are_one_program(client):
    uri, cells = notebook(client, *CELLS)
    found = found_in(client, cells)
    assert found[cells[0]] == []
    (one,) = found[cells[1]]
    row = ROW - 1 - CELLS[0].count("\n") - 3
    assert (one["code"], one["range"]["start"]["line"]) == ("ATT102", row)
    fix, suppress = client.actions(cells[1], one["range"])
    assert list(fix["edit"]["changes"]) == [cells[1]]
    assert "self.head_dim ** (1 / 2)" in edited(CELLS[1], changes(fix, cells[1]))
    assert "# attnlint: ignore[wrong-dim-scale]" in edited(CELLS[1], changes(suppress, cells[1])).splitlines()[row]
    shown = client.hover(cells[1], row, one["range"]["start"]["character"])["contents"]["value"]
    assert f"(cell 2, line {row + 1})" in shown
    close(client, uri, cells)
    assert found_in(client, cells) == {cell: [] for cell in cells}


def test_cells_are_changed_added_and_taken_away(client):
    uri, cells = notebook(client, "import torch\nfrom torch import nn\n%matplotlib inline", PLAIN)
    assert found_in(client, cells) == {cell: [] for cell in cells}
    added = cells[0][:-1] + "9"
    structure = {
        "array": {"start": 1, "deleteCount": 1, "cells": [{"kind": 2, "document": added}]},
        "didOpen": [{"uri": added, "languageId": "python", "version": 1, "text": CELLS[1]}],
        "didClose": [{"uri": cells[1]}],
    }
    client.notify(
        "notebookDocument/didChange", {"notebookDocument": {"uri": uri, "version": 2}, "change": {"cells": {"structure": structure}}}
    )
    while not (found := client.diagnostics(added)):
        pass
    assert [one["code"] for one in found] == ["ATT102"]
    text = {
        "document": {"uri": added, "version": 2},
        "changes": [{"range": found[0]["range"], "text": "self.head_dim ** 0.5"}],
    }
    client.notify(
        "notebookDocument/didChange", {"notebookDocument": {"uri": uri, "version": 3}, "change": {"cells": {"textContent": [text]}}}
    )
    assert client.diagnostics(added, 2) == []
    close(client, uri, [cells[0], added])


def test_cells_of_other_kinds_keep_their_places(client):
    uri, cells = notebook(client, "# softmax (q @ k)", "x <- softmax(", FAULTY, languages=["markdown", "r", "python"])
    found = found_in(client, cells)
    assert [len(found[cell]) for cell in cells] == [0, 0, 1]
    close(client, uri, cells)


def test_a_notebook_opened_as_text(client):
    import json

    source = FAULTY.splitlines(keepends=True)
    document = {"cells": [{"cell_type": "code", "source": source}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(document, indent=1)
    uri = client.open("n.ipynb", text, "json")
    (one,) = client.diagnostics(uri)
    line = next(number for number, row in enumerate(text.splitlines()) if "embed_size ** (1" in row)
    assert one["range"]["start"]["line"] == line
    after = json.loads(edited(text, changes(client.actions(uri, one["range"])[0], uri)))
    assert "".join(after["cells"][0]["source"]) == FAULTY.replace("self.embed_size ** (1 / 2)", "self.head_dim ** (1 / 2)")


@pytest.mark.parametrize("text", [FAULTY, CLEAN])
def test_the_command_line_agrees_with_what_a_fix_leaves(client, text):
    uri = client.open("model.py", text)
    for one in client.diagnostics(uri):
        text = edited(text, changes(client.actions(uri, one["range"])[0], uri))
    command = [sys.executable, "-m", "attnlint", "check", "--isolated", "-"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"1 attention in 1 file: 1 proved\n")
