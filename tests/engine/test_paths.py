"""Programs of branches and flags, run on plain numbers and linted: silent where every path is scaled once, reported where one is not."""

from __future__ import annotations

import itertools
import textwrap

from hypothesis import event, given
from hypothesis import strategies as st

from attnlint.linter import lint_text
from attnlint.syntax.project import Project

FLAGS = ("a", "b", "c")
MODULE = """\
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, a, b, c):
        super().__init__()
        self.width, self.a, self.b, self.c = width, a, b, c
        self.wq, self.wk, self.wv = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x{parameters}):
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        scale = self.width**-0.5
        done = False
{body}
        return torch.softmax(logits, dim=-1) @ v
"""
PLAIN = ["q = q.float()", "k = k.contiguous()", "v = v * 2"]
SCALED = ["q = q * scale", "q = q * scale", "k = k * scale", "done = True"]
ENDS = ["", "if done:\n    logits = logits * scale", "if not done:\n    logits = logits * scale", "logits = logits * scale"]


class Scaled:
    """Stands for a tensor: how often it was scaled."""

    def __init__(self, times: int = 0) -> None:
        self.times = times

    def __mul__(self, other: object) -> Scaled:
        return Scaled(self.times + (other.times if isinstance(other, Scaled) else 0))

    def __matmul__(self, other: Scaled) -> Scaled:
        return Scaled(self.times + other.times)

    def float(self) -> Scaled:
        return self

    def contiguous(self) -> Scaled:
        return self


@st.composite
def conditions(draw: st.DrawFn, prefix: str) -> str:
    flags = [prefix + flag for flag in FLAGS]
    form = draw(st.sampled_from(["{0}", "{0}", "not {0}", "{0} and {1}", "{0} or {1}", "not {0} and {1}"]))
    return form.format(draw(st.sampled_from(flags)), draw(st.sampled_from(flags)))


@st.composite
def blocks(draw: st.DrawFn, prefix: str, depth: int = 0) -> str:
    rows = []
    for _ in range(draw(st.integers(1, 2))):
        if depth < 2 and draw(st.booleans()):
            rows.append(f"if {draw(conditions(prefix))}:\n" + textwrap.indent(draw(blocks(prefix, depth + 1)), "    "))
            if draw(st.booleans()):
                rows.append(f"elif {draw(conditions(prefix))}:\n" + textwrap.indent(draw(blocks(prefix, depth + 1)), "    "))
            if draw(st.booleans()):
                rows.append("else:\n" + textwrap.indent(draw(blocks(prefix, depth + 1)), "    "))
        else:
            rows.append(draw(st.sampled_from([*PLAIN, *SCALED, f"done = {draw(conditions(prefix))}"])))
    return "\n".join(rows)


@st.composite
def balanced(draw: st.DrawFn, prefix: str, depth: int = 0) -> str:
    """Rows that scale once on every path."""
    rows = draw(st.lists(st.sampled_from(PLAIN), max_size=1))
    if depth < 2 and draw(st.booleans()):
        rows.append(f"if {draw(conditions(prefix))}:\n" + textwrap.indent(draw(balanced(prefix, depth + 1)), "    "))
        if draw(st.booleans()):
            rows.append(f"elif {draw(conditions(prefix))}:\n" + textwrap.indent(draw(balanced(prefix, depth + 1)), "    "))
        rows.append("else:\n" + textwrap.indent(draw(balanced(prefix, depth + 1)), "    "))
    else:
        rows.append(draw(st.sampled_from(["q = q * scale", "k = k * scale"])))
    return "\n".join(rows)


@st.composite
def flagged(draw: st.DrawFn, prefix: str) -> str:
    """Rows that scale once on some paths, and say so in a flag."""
    rows = []
    for word in draw(st.sampled_from([("if",), ("if", "elif"), ("if", "elif", "elif")])):
        rows.append(f"{word} {draw(conditions(prefix))}:\n" + textwrap.indent(draw(balanced(prefix, 1)) + "\ndone = True", "    "))
    return "\n".join(rows)


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, set[int]]:
    """A module, and how often its logits are scaled for some setting of the flags."""
    prefix = draw(st.sampled_from(["self.", ""]))
    kind = draw(st.sampled_from([blocks, balanced, flagged]))
    start = draw(kind(prefix))
    end = {balanced: ENDS[0], flagged: ENDS[2]}.get(kind)
    if end is None:
        end = draw(st.sampled_from(ENDS))
    body = "\n".join(part for part in (start, "logits = q @ k.transpose(-2, -1)", end) if part)
    parameters = "" if prefix else "".join(f", {flag}=False" for flag in FLAGS)
    text = MODULE.format(parameters=parameters, body=textwrap.indent(body, "        "))
    run = body.replace("k.transpose(-2, -1)", "k")
    found = set()
    for bits in itertools.product((False, True), repeat=len(FLAGS)):
        flags = dict(zip(FLAGS, bits, strict=True))
        names = {"q": Scaled(), "k": Scaled(), "v": Scaled(), "scale": Scaled(1), "done": False, "self": type("Flags", (), flags), **flags}
        exec(run, names)
        found.add(names["logits"].times)
    return text, found


@given(programs())
def test_verdicts_follow_the_paths(program: tuple[str, set[int]]) -> None:
    text, times = program
    findings = [one for one in lint_text(text, "model.py", Project([])).findings if one.code.startswith("ATT1") and not one.preview]
    event("right on every path" if times == {1} else "wrong on some path")
    if times == {1}:
        assert findings == []
    else:
        assert findings != []
