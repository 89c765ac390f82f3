"""The pages of this folder: what is derived line by line, not the verdict alone.

A page is prose about one mechanism with Python programs in it. A comment in a program says what is known at its place:

    # reveal_shape(q): (b, heads, t, head_dim)      the width of each axis, as a contraction over it is named
    # reveal_scale(logits): head_dim^-1/2           what multiplies a tensor, or the product q·k in it
    # reveal_site(): correct head_dim^-1/2          the softmax of this line: verdict, then its scale, or a part of its reason

Shapes and scales are read off attention sites that are put in after the line of the comment: a softmax of the tensor, and its contraction
over each axis with a tensor of noise. So a page needs nothing of the engine but what `attnlint sites` prints. Where several paths or
callers give several answers, they stand with ` | ` between. `# gap: why` after a comment marks what is not derived yet; it is strict.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from inprocess import run_attnlint

HERE = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(
    r"^(?P<indent> *)(?P<code>.*?)# reveal_(?P<what>shape|scale|site)\((?P<of>[^)]*)\): (?P<expected>.*?)(?: # gap: (?P<gap>.+))?$"
)
LETTERS = "abcdefgh"


@dataclass(frozen=True)
class Expectation:
    """One comment: what it asks for, what it expects, and the rows of the program with the probes in it that answer."""

    what: str
    expected: str
    gap: str | None
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Block:
    page: str
    row: int
    text: str

    @property
    def key(self) -> str:
        return f"{self.page}:{self.row}"


def blocks() -> list[Block]:
    found = []
    for page in sorted(HERE.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        found += [Block(page.name, text.count("\n", 0, match.start(1)) + 1, match[1]) for match in BLOCK.finditer(text)]
    return found


def probed(text: str) -> tuple[str, list[Expectation]]:
    """The program with a probe after each comment."""
    rows: list[str] = []
    expectations = []
    for line in text.splitlines():
        rows.append(line)
        if not (match := COMMENT.match(line)):
            assert "reveal_" not in line, f"not understood: {line}"
            continue
        probes = probes_for(match["what"], match["of"], match["expected"])
        first = len(rows)
        rows += [match["indent"] + probe for probe in probes]
        answer = tuple(range(first + 1, first + 1 + len(probes))) or (first,)
        expectations.append(Expectation(match["what"], match["expected"].strip(), match["gap"], answer))
    return "\n".join(rows) + "\n", expectations


def probes_for(what: str, of: str, expected: str) -> list[str]:
    noise = f"torch.randn_like({of})"
    if what == "site":
        return []
    if what == "scale":
        return [f"torch.softmax({of}, dim=-1)", f"torch.softmax({of} @ {noise}.transpose(-2, -1), dim=-1)"]
    rank = len(expected.strip("() ").rstrip(",").split(","))
    probes = []
    for axis in range(rank):
        query, key = LETTERS[:rank], LETTERS[rank : 2 * rank]
        key = key[:axis] + query[axis] + key[axis + 1 :]
        out = query.replace(query[axis], "") + key.replace(query[axis], "")
        probes.append(f'torch.softmax(torch.einsum("{query},{key}->{out}", {of}, {noise}), dim=-1)')
    return probes


def answer(sites: list[dict[str, Any]], expectation: Expectation) -> str:
    """What the sites of the answering rows say, in the form of the comment."""
    at = [[site for site in sites if site["location"]["row"] == row] for row in expectation.rows]
    if expectation.what == "site":
        return _joined(f"{site['verdict']} {site['scale'] if site['verdict'] == 'correct' else site['reason']}" for site in at[0])
    if expectation.what == "scale":
        return _joined(str(site["scale"]) for site in at[0]) or _joined(str(site["scale"]) for site in at[1])
    return f"({', '.join(_joined(str(site['contraction']) for site in of_axis) or '?' for of_axis in at)})"


def _joined(answers: Any) -> str:
    return " | ".join(sorted(set(answers)))


def fits(expectation: Expectation, found: str) -> bool:
    if expectation.what != "site" or expectation.expected.startswith("correct"):
        return found == expectation.expected
    wanted, got = expectation.expected.split(" | "), found.split(" | ")
    return len(wanted) == len(got) and all(
        one.split(" ", 1)[0] == other.split(" ", 1)[0] and one.split(" ", 1)[1] in other for one, other in zip(wanted, got, strict=True)
    )


@pytest.mark.fast
@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.key)
def test_page(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, expectations = probed(block.text)
    assert expectations, "a program that asks for nothing"
    Path("program.py").write_text(text, encoding="utf-8")
    sites = json.loads(run_attnlint("sites", "--isolated", "--output-format", "json", "program.py").out)
    wrong = []
    for expectation in expectations:
        found = answer(sites, expectation)
        if fits(expectation, found) is (expectation.gap is not None):
            wrong.append(f"{expectation.what} {expectation.expected!r}: {'the gap is closed' if expectation.gap else f'found {found!r}'}")
    assert not wrong, "\n".join(wrong)


def test_every_page_has_programs() -> None:
    pages = {block.page for block in blocks()}
    assert pages == {page.name for page in HERE.glob("*.md")} and len(pages) >= 12
