"""Notebooks and Markdown pages: one program from many cells, findings by cell, edits that change no other byte."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from samples import FAULTY, ROW

from attnlint.fixing import rewrite
from attnlint.model import Edit, Position, Span
from attnlint.text.notebook import NotebookDocument, without_magics
from attnlint.text.source import FixRefused, load

IDLE = "x = 1  # attnlint: ignore[ATT101]"


def code(source: str, as_list: bool = True) -> dict[str, Any]:
    text: object = source.splitlines(keepends=True) if as_list else source
    return {"cell_type": "code", "execution_count": 3, "metadata": {"tags": []}, "outputs": [{"text": ["softmax √\n"]}], "source": text}


def prose(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": [text]}


def notebook(cells: Sequence[dict[str, Any]], language: str = "python") -> dict[str, Any]:
    metadata = {"kernelspec": {"display_name": "x", "language": language, "name": language}, "language_info": {"name": language}}
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def dump(document: dict[str, Any], **how: Any) -> bytes:
    return (json.dumps(document, **{"indent": 1, "ensure_ascii": False, **how}) + "\n").encode()


PARTS = FAULTY.split("\n\n\n")
SPREAD = [prose("# Attention"), code("%matplotlib inline\n!pip install torch\n" + PARTS[0]), prose("The layer"), code(PARTS[1])]


def test_a_finding_names_cell_row_and_column(attnlint, tmp_path):
    (tmp_path / "n.ipynb").write_bytes(dump(notebook(SPREAD)))
    result = attnlint("n.ipynb", "--output-format", "json")
    assert result.status == 1
    (finding,) = result.json
    row = ROW - PARTS[0].count("\n") - 3
    assert (finding["cell"], finding["location"]["row"], finding["noqa_row"]) == (4, row, row)
    full = attnlint("n.ipynb").out
    assert full.startswith(f"n.ipynb:cell 4:{row}:")
    assert f"{row} | " + FAULTY.splitlines()[ROW - 1] in full
    assert "cell 4 line " in full
    (site,) = attnlint("sites", "n.ipynb", "--output-format", "json").json
    assert (site["cell"], site["verdict"]) == (4, "faulty")


def test_one_attention_over_several_cells(attnlint, tmp_path):
    script = [
        "import torch\nfrom torch import nn\n",
        "%%time\ndef attend(q, k, v, scale):\n    return torch.softmax(q @ k.transpose(-2, -1) * scale, dim=-1) @ v\n",
        "!nvidia-smi\n",
        FAULTY[FAULTY.index("class") : FAULTY.index("        energy")] + "        return attend(q, k, v, self.embed_size ** -0.5)\n",
    ]
    (tmp_path / "n.ipynb").write_bytes(dump(notebook([code(part) for part in script])))
    found = attnlint("n.ipynb", "--output-format", "json").json
    assert [(one["code"], one["cell"]) for one in found] == [("ATT102", 4)]


def test_nbformat_3(attnlint, tmp_path):
    cells = [{"cell_type": "code", "language": "python", "input": part.splitlines(keepends=True), "outputs": []} for part in PARTS]
    document = {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": cells, "metadata": {}}]}
    (tmp_path / "n.ipynb").write_bytes(dump(document))
    assert [(one["code"], one["cell"]) for one in attnlint("n.ipynb", "--output-format", "json").json] == [("ATT102", 2)]


def test_another_kernels_notebook_is_passed_over(attnlint, tmp_path):
    (tmp_path / "n.ipynb").write_bytes(dump(notebook([code("x <- softmax(q %*% t(k))\nfunction(")], language="R")))
    assert (attnlint("n.ipynb").status, attnlint("n.ipynb", "--quiet").out) == (0, "")


@pytest.mark.parametrize(
    "data", [b"", b"  \n", b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', b"{}", b'{"cells": null}']
)
def test_an_empty_notebook_is_clean(attnlint, tmp_path, data):
    (tmp_path / "n.ipynb").write_bytes(data)
    assert attnlint("n.ipynb").status == 0


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (b'{"cells": [\n{"cell_type": "code", "source": ["softmax"\n', 3),
        (b"[1, 2]\n", 1),
        (b'{"cells": []}\n}\n', 2),
        (b'{"cells": [\n  "\xff"]}\n', 2),
        (b"softmax\n", 1),
        (b"[" * 100_000, 1),
    ],
)
def test_broken_json_is_a_finding_and_the_rest_is_checked(attnlint, tmp_path, data, row):
    (tmp_path / "n.ipynb").write_bytes(data)
    (tmp_path / "model.py").write_text(FAULTY)
    result = attnlint(".", "--output-format", "json")
    assert result.status == 1
    assert [one["code"] for one in result.json] == ["ATT102", "ATT002"]
    assert (result.json[1]["cell"], result.json[1]["location"]["row"]) == (None, row)
    assert attnlint(".").status == 1


def test_a_broken_cell_is_a_finding_and_the_other_cells_are_checked(attnlint, tmp_path):
    (tmp_path / "n.ipynb").write_bytes(dump(notebook([code("def f(:\n"), *map(code, PARTS)])))
    found = attnlint("n.ipynb", "--output-format", "json").json
    assert [(one["code"], one["cell"], one["location"]["row"] > 0) for one in found] == [("ATT002", 1, True), ("ATT102", 3, True)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!ls *.py\nx = 1", "pass\nx = 1"),
        ("if x:\n    !ls\n    y = 1", "if x:\n    pass\n    y = 1"),
        ("files = !ls\nx = 1", "files = None\nx = 1"),
        ("r = %timeit -o f(x)\nx = 1", "r = None\nx = 1"),
        ("x = (a\n% b)\n%time x", "x = (a\n% b)\npass"),
        ('s = """\n%magic\n!shell\n"""\n!ls', 's = """\n%magic\n!shell\n"""\npass'),
        ("x = a \\\n% b\n%time x", "x = a \\\n% b\npass"),
        ("!pip install a \\\n  b\nx = 1", "pass\n\nx = 1"),
        ("model?\nx = 1", "pass\nx = 1"),
        ("??model.forward\nx = 1", "pass\nx = 1"),
        ("%%time\nx = 1\n!ls", "pass\nx = 1\npass"),
        ("%%bash\nls -l\nfor x in *; do echo; done", "\n\n"),
        ("# remark\n%%writefile a.py\nsoftmax(", "# remark\n\n"),
        ("a != b\n!ls", "a != b\npass"),
        ("s = '#'; t = \"it's\"\n%cd ..", "s = '#'; t = \"it's\"\npass"),
    ],
)
def test_magics_and_shell_lines_are_blanked_row_for_row(source, expected):
    plain = without_magics(source)
    assert plain == expected
    assert plain.count("\n") == source.count("\n")


def test_a_cell_may_await_at_its_top_level(attnlint, tmp_path):
    (tmp_path / "n.ipynb").write_bytes(dump(notebook([code("import asyncio\nawait asyncio.sleep(0)\n"), *map(code, PARTS)])))
    assert [one["code"] for one in attnlint("n.ipynb", "--output-format", "json").json] == ["ATT102"]


LAYOUTS = {
    "jupyter": {},
    "indent 2": {"indent": 2},
    "tabs": {"indent": "\t"},
    "one line": {"indent": None},
    "compact": {"indent": None, "separators": (",", ":")},
    "ascii": {"ensure_ascii": True},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("as_list", [True, False])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_fix_changes_no_other_byte(attnlint, tmp_path, layout, as_list, ending):
    source = f's = "√ é \\" \\\\ \U0001d538"\n{IDLE}\ny = "\\t"\n'
    document = notebook([prose("√ “quoted”"), code(source, as_list), code(IDLE, as_list)])
    data = dump(document, **LAYOUTS[layout]).replace(b"\n", ending.encode())
    path = tmp_path / "n.ipynb"
    path.write_bytes(data)
    assert attnlint("n.ipynb", "--fix").status == 0
    assert path.read_bytes() == data.replace(b"  # attnlint: ignore[ATT101]", b"")
    assert attnlint("n.ipynb", "--fix").status == 0


def test_whole_lines_can_go(attnlint, tmp_path):
    source = "# attnlint: ignore[ATT101]\nx = 1\n# attnlint: ignore[ATT102]"
    path = tmp_path / "n.ipynb"
    path.write_bytes(dump(notebook([code(source), code(source)])))
    assert attnlint("n.ipynb", "--fix").status == 0
    assert ["".join(cell["source"]).strip() for cell in json.loads(path.read_bytes())["cells"]] == ["x = 1", "x = 1"]
    assert attnlint("n.ipynb").status == 0


def test_a_source_with_crlf_inside_its_strings(attnlint, tmp_path):
    path = tmp_path / "n.ipynb"
    data = dump(notebook([code(f"a = 1\r\n{IDLE}\r\nb = 2\r\n")]))
    path.write_bytes(data)
    assert attnlint("n.ipynb", "--fix").status == 0
    assert path.read_bytes() == data.replace(b"  # attnlint: ignore[ATT101]", b"")


def edits(document: NotebookDocument, old: str, new: str) -> list[Edit]:
    row = next(number for number, line in enumerate(document.rows, 1) if old in line)
    column = document.rows[row - 1].index(old) + 1
    return [Edit(new, Span(Position(row, column), Position(row, column + len(old))))]


@pytest.mark.parametrize("as_list", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_content_of_several_lines_keeps_the_shape_of_the_source(layout, as_list):
    data = dump(notebook([code("a = 1\nb = a + é\nc = 3\n", as_list)]), **LAYOUTS[layout])
    document = load(data, "n.ipynb")
    after = rewrite(document, edits(document, "a + é", '(\n    a\n    + "é"\n)'), "n.ipynb")
    expected = 'a = 1\nb = (\n    a\n    + "é"\n)\nc = 3\n'
    cell = json.loads(after)["cells"][0]
    assert cell["source"] == (expected.splitlines(keepends=True) if as_list else expected)
    assert after == dump(notebook([code(expected, as_list)]), **LAYOUTS[layout])


def test_an_edit_over_several_rows():
    data = dump(notebook([code("a = f(\n    1,\n    2,\n)\nb = 2\n")]))
    document = load(data, "n.ipynb")
    after = rewrite(document, [Edit("f(1)", Span(Position(1, 5), Position(4, 2)))], "n.ipynb")
    assert after == dump(notebook([code("a = f(1)\nb = 2\n")]))


def test_an_edit_over_two_cells_is_refused():
    document = load(dump(notebook([code("a = 1\n"), code("b = 2\n")])), "n.ipynb")
    with pytest.raises(FixRefused, match="over the end of a cell"):
        rewrite(document, [Edit("", Span(Position(1, 1), Position(3, 2)))], "n.ipynb")


def test_suppressions_work_in_cells(attnlint, tmp_path):
    line = FAULTY.splitlines()[ROW - 1]
    path = tmp_path / "n.ipynb"
    path.write_bytes(dump(notebook(map(code, PARTS))))
    assert attnlint("n.ipynb", "--add-ignore", "trained so").status == 0
    assert attnlint("n.ipynb").status == 0
    assert f"{line}  # attnlint: ignore[wrong-dim-scale] trained so" in "".join(json.loads(path.read_bytes())["cells"][1]["source"])


PAGE = f"""\
# Attention

```python
{PARTS[0]}
```

Text with softmax( in it, and `code`.

1. In a list:

   ```py
   {PARTS[1].strip().replace(chr(10), chr(10) + "   ")}
   ```

```python
>>> torch.softmax(
```

```bash
softmax (
```
"""


def test_markdown_is_read_on_request(attnlint, tmp_path):
    (tmp_path / "page.md").write_text(PAGE)
    assert attnlint(".").out == ""
    found = attnlint(".", "--extend-include", "*.md", "--output-format", "json").json
    assert [(one["code"], one["cell"]) for one in found] == [("ATT102", None)]
    row, column = found[0]["location"]["row"], found[0]["location"]["column"]
    assert PAGE.splitlines()[row - 1][column - 1 :].startswith("self.embed_size ** (1 / 2)")


def test_a_fix_in_a_fence_keeps_every_other_byte(attnlint, tmp_path):
    page = f"Title\r\n\r\n```python\r\n{IDLE}\r\n```\r\n\r\n> - ```python\r\n>   def f():\r\n>       {IDLE}\r\n>   ```\r\n"
    path = tmp_path / "page.md"
    path.write_bytes(page.encode())
    assert attnlint("page.md", "--fix").status == 0
    assert path.read_bytes() == page.replace("  # attnlint: ignore[ATT101]", "").encode()
