"""Every caller of a shared attention function is judged, whatever it is called; and what a verdict takes by name is said."""

from __future__ import annotations

import pytest

from attnlint.linter import lint_text
from attnlint.model import Caller
from attnlint.syntax.project import Project

HELPER = """import math

import torch
from torch import nn


def attend(q, k, v, d):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(d), dim=-1) @ v
"""

CLASS = """

class {name}(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads, self.head_dim = width, heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        {made}

    def {method}(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        return {call}
"""


def module(name: str, call: str, method: str = "forward", made: str = "self.kept = None") -> str:
    return CLASS.format(name=name, call=call, method=method, made=made)


def row_of(text: str, part: str) -> int:
    return next(row for row, line in enumerate(text.splitlines(), 1) if part in line)


RIGHT = module("Right", "attend(q, k, v, self.head_dim)")
WAYS = {
    "forward": module("Wrong", "attend(q, k, v, self.width)"),
    "a method of any name": module("Wrong", "attend(q, k, v, self.width)", "mix"),
    "by keyword": module("Wrong", "attend(q, k, v, d=self.width)", "mix"),
    "an attribute": module("Wrong", "self.kept(q, k, v, self.width)", "mix", "self.kept = attend"),
    "a table": '\n\nKERNELS = {"eager": attend}\n' + module("Wrong", 'KERNELS["eager"](q, k, v, self.width)', "mix"),
    "a table of the object": module("Wrong", 'self.kept["eager"](q, k, v, self.width)', "mix", 'self.kept = {"eager": attend}'),
}


@pytest.mark.parametrize("wrong", WAYS.values(), ids=WAYS)
def test_a_right_caller_hides_no_wrong_one(wrong):
    text = HELPER + RIGHT + wrong
    result = lint_text(text, "model.py", Project([]))
    verdicts = {site.via: site.verdict for site in result.sites if site.qualname == "attend"}
    fault = row_of(text, "self.width)\n".strip())
    method = "Wrong.forward" if "def mix" not in wrong else "Wrong.mix"
    right = row_of(text, "return attend(q, k, v, self.head_dim)")
    assert verdicts == {Caller("model.py", right, "Right.forward"): "correct", Caller("model.py", fault, method): "faulty"}
    (finding,) = result.findings
    assert finding.name == "wrong-dim-scale"
    assert finding.span.start.row == fault
    line = text.splitlines()[fault - 1]
    assert line[finding.span.start.column - 1 : finding.span.end.column - 1] == "self.width"


def test_a_function_that_is_passed_on_has_the_caller_that_hands_it_over():
    runner = "\n\ndef run(kernel, q, k, v, d):\n    return kernel(q, k, v, d)\n"
    text = HELPER + runner + RIGHT + module("Wrong", "run(attend, q, k, v, self.width)", "mix")
    result = lint_text(text, "model.py", Project([]))
    verdicts = [(site.via.qualname, site.verdict) for site in result.sites if site.via is not None]
    assert sorted(verdicts) == [("Right.forward", "correct"), ("run", "faulty")]
    assert [finding.name for finding in result.findings] == ["wrong-dim-scale"]


def test_where_every_caller_is_wrong_the_function_is_at_fault():
    text = (
        HELPER.replace("math.sqrt(d)", "d")
        + module("One", "attend(q, k, v, self.head_dim)")
        + module("Two", "attend(q, k, v, self.head_dim)", "mix")
    )
    result = lint_text(text, "model.py", Project([]))
    assert [(finding.name, finding.span.start.row) for finding in result.findings] == [("unrooted-scale", 8)]
    assert {site.via.qualname for site in result.sites if site.via is not None} == {"One.forward", "Two.mix"}


def test_what_two_methods_share_is_judged_for_both():
    text = (
        HELPER
        + """

class Both(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads, self.head_dim = width, heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)

    def attend(self, q, k, v, scale):
        return torch.softmax(q @ k.transpose(-2, -1) * scale, dim=-1) @ v

    def near(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        return self.attend(q, k, v, self.head_dim**-0.5)

    def far(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        return self.attend(q, k, v, self.width**-0.5)
"""
    )
    result = lint_text(text, "model.py", Project([]))
    verdicts = {site.via.qualname: site.verdict for site in result.sites if site.via is not None}
    assert verdicts == {"Both.near": "correct", "Both.far": "faulty"}
    assert [finding.span.start.row for finding in result.findings] == [row_of(text, "self.width**-0.5")]


DEFAULT = """import torch
from torch import nn


def attend(q, k, v, scale=None):
    if scale is None:
        scale = q.shape[-1] ** -0.5
    return torch.softmax(q @ k.transpose(-2, -1) * scale, dim=-1) @ v
"""


def test_a_default_branch_is_listed_where_a_caller_takes_it():
    given = DEFAULT + module("Given", "attend(q, k, v, self.head_dim**-0.5)")
    left_out = given + module("Out", "attend(q, k, v)", "mix")
    alone = [(site.via and site.via.qualname, site.path) for site in lint_text(DEFAULT, "model.py", Project([])).sites]
    assert (None, "scale is None") in alone
    assert [site.via.qualname for site in lint_text(given, "model.py", Project([])).sites] == ["Given.forward"]
    both = lint_text(left_out, "model.py", Project([])).sites
    assert sorted((site.via.qualname, site.verdict) for site in both) == [("Given.forward", "correct"), ("Out.mix", "correct")]


def test_a_step_in_another_file_names_that_file(tmp_path):
    (tmp_path / "ops.py").write_text(HELPER.replace("attend", "attention"), encoding="utf-8")
    callers = RIGHT + module("Wrong", "attend(q, k, v, self.width)", "mix")
    text = "from ops import attention\nfrom torch import nn\n" + callers.replace("attend(", "attention(")
    path = tmp_path / "model.py"
    result = lint_text(text, str(path), Project([str(tmp_path)]))
    (finding,) = result.findings
    assert (finding.filename, finding.span.start.row, finding.fix) == (str(path), row_of(text, "self.width)"), None)
    files = {step.label: step.filename for step in finding.derivation}
    assert files["query"] == str(path)
    assert files["product"] == str(tmp_path / "ops.py")


def test_what_is_taken_by_name_is_said():
    text = """import torch
from torch import nn
from elsewhere import project


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.scale = config.head_dim**0.5

    def forward(self, x):
        q, k, v = project(x)
        return torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * self.scale, dim=-1) @ v
"""
    result = lint_text(text, "model.py", Project([]))
    (site,) = result.sites
    assert site.evidence == ("`config.head_dim` is the size of a head, by its name",)
    assert [step.text for step in site.derivation if step.label == "by name"] == list(site.evidence)
    (by_shape,) = lint_text(HELPER.replace("math.sqrt(d)", "q.shape[-1]"), "model.py", Project([])).sites
    assert (by_shape.verdict, by_shape.evidence) == ("faulty", ())


CALLED = """import torch
from elsewhere import {name}
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x, angles):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        {line}
        return torch.softmax(logits, dim=-1) @ v
"""
CALLS = {
    "apply_rotary": ("q, k = apply_rotary(q, k); logits = q @ k.mT / c**0.5", "turns pairs of features and keeps sizes and lengths"),
    "with_sharding_constraint": (
        "logits = with_sharding_constraint(q, angles) @ k.mT / c**0.5",
        "hands on the tensor that it is given",
    ),
    "add_mask": ("logits = add_mask(q @ k.mT, angles) / c**0.5", "masks logits and leaves their scale"),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_a_call_outside_the_tree_does_is_taken_by_its_name(name):
    line, claim = CALLS[name]
    (site,) = lint_text(CALLED.format(name=name, line=line), "model.py", Project([])).sites
    assert (site.verdict, site.evidence) == ("faulty", (f"`{name}` {claim}, by its name",))


def test_a_function_of_the_tree_is_read_and_not_taken_by_its_name():
    text = CALLED.format(name="math", line="q, k = turn_rotary(q, k); logits = q @ k.mT / c**0.5")
    text += "\n\ndef turn_rotary(q, k):\n    return q, k\n"
    (site,) = lint_text(text, "model.py", Project([])).sites
    assert (site.verdict, site.evidence) == ("faulty", ())
