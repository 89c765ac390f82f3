"""The screen loses no finding, and findings of one file that come to light from another are told once, where they are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from samples import CLEAN, FAULTY, PLAIN

from attnlint import runner, screen
from attnlint.analysis import Engine, Outcome
from attnlint.discover import SourceFile, package_roots
from attnlint.model import Finding, LintResult, Position, Site, Span
from attnlint.session import merge_findings, merge_sites

CASES = Path(__file__).parents[1] / "cases"


def outcomes(files: list[SourceFile], everything: bool) -> tuple[int, list[Outcome]]:
    screened = runner.screen_files(files, everything=everything)
    found: list[Outcome] = []
    runner.run(screened.jobs, Engine(package_roots(files, [])), 2, None, found.append)
    return sum(job.interpret for job in screened.jobs), found


def keys(found: list[Outcome]) -> set[tuple[object, ...]]:
    return {(one.filename, one.span, one.code) for findings in merge_findings(found).values() for one in findings}


def test_screening_loses_no_finding(tmp_path):
    paths = sorted(CASES.rglob("*.py"))[::4]
    assert len(paths) > 50
    for number in range(20):
        (tmp_path / f"plain{number}.py").write_text(PLAIN)
    files = [SourceFile(path.name, str(path)) for path in (*paths, *sorted(tmp_path.glob("*.py")))]
    few, screened = outcomes(files, everything=False)
    every, unscreened = outcomes(files, everything=True)
    assert (few < every, every) == (True, len(files))
    assert keys(screened) == keys(unscreened) != set()
    assert {(one.filename, one.span) for one in merge_sites(screened)} == {(one.filename, one.span) for one in merge_sites(unscreened)}


def test_every_word_that_the_engine_goes_by_passes_the_screen():
    from attnlint.syntax.words import EXPONENTIAL, SOFTMAX, holds

    def spelled(pattern):
        """One text of each alternative of a pattern: what it looks behind and ahead for is no part of it."""
        plain = re.sub(r"\(\?<?!(?:[^()]|\([^()]*\))*\)", "", pattern).replace("\\b", "").replace("\\(", "(")
        for ends in (0, -1):
            yield from re.sub(r"\(\?:([^)]*)\)", lambda found, ends=ends: found[1].split("|")[ends], plain).split("|")

    words = {*spelled(SOFTMAX.pattern), "exp", "exp2"}
    assert {"softmax", "flash_attn", "flash_attention"} <= words
    assert EXPONENTIAL.search("exp(") and EXPONENTIAL.search("exp2(")
    for word in words:
        assert holds(f"y = {word}(q @ k)"), word
        assert screen.may_hold_attention(f"y = {word}(q @ k)".encode()), word


def test_a_name_that_holds_a_word_by_chance_is_no_attention():
    from attnlint.syntax.words import holds

    for text in (
        "outputs = {'attentions': VisionAttention}",
        "if is_flash_attention_requested(config):",
        "if is_flash_attn_2_available():",
    ):
        assert not holds(text), text
    for text in ("natten2dqkrpb(q, k, bias, 3, 1)", "flash_attn_func(q, k, v)", "natten.functional.na2d_qk(q, k)"):
        assert holds(text), text


def test_every_kernel_of_the_tables_passes_the_screen():
    from importlib import import_module
    from pkgutil import iter_modules

    from attnlint import frameworks

    modules = [import_module(f"attnlint.frameworks.{module.name}") for module in iter_modules(frameworks.__path__)]
    names = [name for module in modules for name in getattr(getattr(module, "TABLE", None), "kernels", ())]
    assert len(names) > 10
    for name in names:
        module, _, function = name.rpartition(".")
        assert screen.may_hold_attention(f"from {module} import {function}".encode()), name


@pytest.mark.parametrize("spelling", ["softmax", "Softmax", "SoftMax", "log_softmax", "F.softmax", "tf.nn.softmax", "softmax_with_mask"])
def test_spellings(spelling):
    assert screen.may_hold_attention(spelling.encode())
    assert not screen.may_hold_attention(PLAIN.encode())


KERNEL = """\
import torch


def attention(q, k, v, scale):
    weights = torch.softmax(q @ k.transpose(-2, -1) * scale, dim=-1)
    return weights @ v
"""
CALLER = """\
from torch import nn

from {module} import attention


class Layer(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.embed_size = embed_size
        self.heads = heads
        self.head_dim = embed_size // heads
        self.to_q = nn.Linear(embed_size, embed_size)
        self.to_k = nn.Linear(embed_size, embed_size)
        self.to_v = nn.Linear(embed_size, embed_size)

    def forward(self, x):
        n, length, _ = x.shape
        q = self.to_q(x).view(n, length, self.heads, self.head_dim).transpose(1, 2)
        k = self.to_k(x).view(n, length, self.heads, self.head_dim).transpose(1, 2)
        v = self.to_v(x).view(n, length, self.heads, self.head_dim).transpose(1, 2)
        return attention(q, k, v, self.{size} ** -0.5)
"""


@pytest.mark.parametrize("package", [False, True])
def test_a_caller_without_a_softmax_of_its_own_is_judged(attnlint, tmp_path, package):
    folder = tmp_path / "pkg" if package else tmp_path
    folder.mkdir(exist_ok=True)
    if package:
        (folder / "__init__.py").write_text("")
    module = ".kernels" if package else "kernels"
    (folder / "kernels.py").write_text(KERNEL)
    (folder / "right.py").write_text(CALLER.format(module=module, size="head_dim"))
    assert attnlint(".").status == 0
    (folder / "wrong.py").write_text(CALLER.format(module=module, size="embed_size"))
    found = attnlint(".", "--output-format", "json").json
    assert [one["code"] for one in found] == ["ATT102"]
    assert Path(found[0]["filename"]).name == "wrong.py"
    verdicts = [(Path(one["filename"]).name, one["verdict"]) for one in attnlint("sites", ".", "--output-format", "json").json]
    assert len(set(verdicts)) == len(verdicts)
    assert "faulty" in {verdict for _, verdict in verdicts}


def span(row: int) -> Span:
    return Span(Position(row, 1), Position(row, 5))


def site(verdict: str, row: int = 1, path: str | None = None, filename: str = "/t/a.py") -> Site:
    return Site(filename, span(row), "f", "q", "k", None, None, None, None, verdict, path=path)


def test_a_conclusive_verdict_stands_over_unknown():
    one = Outcome("/t/a.py", LintResult(sites=(site("unknown"), site("unknown", 2), site("unknown", 3, "if flash"))))
    two = Outcome("/t/b.py", LintResult(sites=(site("correct"), site("faulty", 3))))
    merged = {(found.span.start.row, found.path): found.verdict for found in merge_sites([one, two])}
    assert merged == {(1, None): "correct", (2, None): "unknown", (3, "if flash"): "unknown", (3, None): "faulty"}
    assert merge_sites([one, two]) == merge_sites([two, one]) or {found.verdict for found in merge_sites([two, one])} == {
        "correct",
        "unknown",
        "faulty",
    }


def test_a_finding_that_two_files_bring_to_light_is_told_once():
    finding = Finding("ATT102", "wrong-dim-scale", "m", "/t/a.py", span(1))
    found = merge_findings([Outcome("/t/a.py"), Outcome("/t/b.py", LintResult((finding,))), Outcome("/t/c.py", LintResult((finding,)))])
    assert found == {"/t/a.py": [finding]}


def test_a_suppression_that_another_file_needs_is_in_use(attnlint, tmp_path):
    (tmp_path / "a.py").write_text(FAULTY.replace(", dim=-1)\n", ", dim=-1)  # attnlint: ignore[ATT102]\n"))
    (tmp_path / "b.py").write_text(CLEAN)
    assert attnlint(".").status == 0
    (tmp_path / "kernels.py").write_text(KERNEL.replace("scale, dim=-1)\n", "scale, dim=-1)  # attnlint: ignore[missing-scale]\n"))
    assert attnlint("kernels.py").status == 0  # its site is open: a caller may need the suppression


def test_a_folder_named_like_a_framework_is_not_the_framework(attnlint, tmp_path):
    """What lies beside a file, or in another root, stands in for no package of the tables; a file given alone sees its neighbours."""
    model = "import torch\nfrom helper import width\n\n\ndef f(q, k, v):\n"
    model += "    return torch.softmax(q @ k.transpose(-1, -2) / width(q), -1) @ v\n"
    helper = "def width(q):\n    return q.shape[-1]\n"
    fake = "def softmax(x, dim):\n    return x\n"
    for name, text in {"a/model.py": model, "a/helper.py": helper, "a/torch.py": fake, "b/torch/__init__.py": fake}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for given in (["a", "b"], ["a/model.py"], ["a/model.py", "b"]):
        done = attnlint("check", "--isolated", "--no-cache", "--output-format", "json", *given)
        assert [one["name"] for one in json.loads(done.out)] == ["unrooted-scale"], given
