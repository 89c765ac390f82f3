"""Programs with a fault, fixed and run: the attention is right afterwards or untouched, and whatever else they compute is what it was."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlint.linter import lint_text
from attnlint.testing import fixed

np = pytest.importorskip("numpy")

SIZES = {"b": 2, "t": 5, "d": 12, "heads": 3}


def run(text: str) -> tuple[Any, Any]:
    """The logits that softmax sees times the root of the head size over q·k, and what else `main` returns."""
    seen: list[tuple[Any, Any]] = []

    def softmax(logits: Any) -> Any:
        seen.append(logits)
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True)

    rng = np.random.default_rng(0)
    space: dict[str, Any] = {"observe": softmax, "__name__": "program"}
    exec(compile(text, "program.py", "exec", dont_inherit=True), space)
    space["softmax"] = softmax
    q, k, v = (rng.normal(size=(2, 5, 12)) for _ in range(3))
    beside = space["main"](q, k, v)
    expected = q @ np.swapaxes(k, -1, -2) / np.sqrt(12)
    return [bool(np.allclose(one, expected)) for one in seen], beside


# where the number is made, and how it is read where it is applied
MADE = {
    "local": ("", "    s = {number}\n", "s", ""),
    "constant": ("WIDTH = 12\nS = {number}\n\n\n", "    q = q.reshape(2, 5, WIDTH)\n", "S", ""),
    "walrus": ("", "", "(s := {number})", "s"),
    "walrus of the size": ("", "", "{named}", "d"),
    "attribute": ("class Held:\n    def __init__(self, q):\n        self.s = {number}\n\n\n", "    held = Held(q)\n", "held.s", ""),
    "helper": ("def made(q):\n    return {number}\n\n\n", "", "made(q)", ""),
    "in place": ("", "", "({number})", "q.shape[-1]"),
}
# the number, its kind of fault, and whether the logits are divided by it
NUMBERS = {
    "1 / q.shape[-1]": "*",
    "q.shape[-1]": "/",
    "q.shape[-1] ** 0.5": "*",
    "q.shape[-1] ** -0.5": "/",
    "np.sqrt(q.shape[-1])": "*",
    "1.0 / np.sqrt(q.shape[-1])": "/",
}
OTHERS = {
    "nothing": "0",
    "the mean": "v.sum(-1) * {read}",
    "a size": "np.ones((2, 2)) * {read}",
    "a list": "[{read}, 1]",
    "a second name": "(lambda again: again * 2)({read})",
}
LOGITS = {
    "operator": "q @ np.swapaxes(k, -1, -2) {op} {read}",
    "einsum": "np.einsum('bid,bjd->bij', q, k) {op} {read}",
    "matmul": "np.matmul(q, np.swapaxes(k, -1, -2)) {op} {read}",
    "query first": "(q {op} {read}) @ np.swapaxes(k, -1, -2)",
}
HEAD = """import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


{above}def main(q, k, v):
{before}    logits = {logits}
    weights = softmax(logits)
    out = weights @ v
    return {other}
"""


def program(made: str, number: str, other: str, logits: str) -> str:
    above, before, read, again = MADE[made]
    operator = NUMBERS[number]
    if made == "constant":
        number = number.replace("q.shape[-1]", "WIDTH")
    named = f"({number.replace('q.shape[-1]', '(d := q.shape[-1])')})"
    spelled = [part.replace("{number}", number).replace("{named}", named) for part in (above, before, read)]
    formed = LOGITS[logits].format(op=operator, read=spelled[2])
    return HEAD.format(above=spelled[0], before=spelled[1], logits=formed, other=OTHERS[other].format(read=again or spelled[2]))


ALL = list(itertools.product(MADE, NUMBERS, OTHERS, LOGITS))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ALL))
def test_a_fix_makes_the_attention_right_and_changes_nothing_else(which: tuple[str, str, str, str]) -> None:
    text = program(*which)
    after = fixed(text)
    _, beside = run(text)
    right, same = run(after)
    if after != text:
        assert all(right), after
        assert not lint_text(after, "program.py").findings
    np.testing.assert_array_equal(np.asarray(same, dtype=float), np.asarray(beside, dtype=float), err_msg=after)


PROJECTED = """import torch
from torch import nn


class {name}({base}):
    def __init__(self, width, heads=1):
        super().__init__({given})
        {init}
"""


def layer(body: str, init: str, name: str = "Attend", base: str = "nn.Module", given: str = "") -> str:
    layers = "self.to_q, self.to_k, self.to_v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)"
    init = init if given else f"{layers}\n        {init}"
    return PROJECTED.format(name=name, base=base, given=given, init=init) + ("\n" + body if body else "")


FORWARD = """    def forward(self, x):
        q, k, v = self.to_q(x), self.to_k(x), self.to_v(x)
        logits = {logits}
        return torch.softmax(logits, dim=-1) @ v
"""
OVERRIDING = """

class Warm(Attend):
    def __init__(self, width):
        super().__init__(width)
        self.factor = {own}
"""
SHARES = """    def forward(self, x):
        q, k, v = self.to_q(x), self.to_k(x), self.to_v(x)
        places = torch.einsum("bid,jd->bij", q, self.table)
        logits = torch.bmm(q, k.transpose(1, 2)){between}
        return torch.softmax(logits + self.bias, dim=-1) @ v
"""


@pytest.mark.parametrize(
    ("text", "right"),
    [
        pytest.param(
            layer(FORWARD.format(logits="q @ k.mT * self.factor"), "self.factor = 1 / width") + OVERRIDING.format(own="width**-0.5 / 3"),
            ("self.factor = 1 / width", "self.factor = width ** -0.5"),
            id="an attribute that a subclass gives another value",
        ),
        pytest.param(
            layer(FORWARD.format(logits="score(q, k, self.factor)"), "self.factor = 1 / width")
            + "\n\ndef score(query, key, by):\n    return query @ key.mT * by\n",
            ("self.factor = 1 / width", "self.factor = width ** -0.5"),
            id="an attribute that a helper is given, which does nothing else with it",
        ),
        pytest.param(
            layer(
                SHARES.format(between="\n        logits = logits + places"),
                "self.table = nn.Parameter(torch.randn(5, width))\n        self.bias = 0.5",
            ),
            (
                'places = torch.einsum("bid,jd->bij", q, self.table)\n        logits = torch.bmm(q, k.transpose(1, 2))\n',
                'places = torch.einsum("bid,jd->bij", q, self.table) * q.shape[-1] ** -0.5\n'
                "        logits = torch.bmm(q, k.transpose(1, 2)) * q.shape[-1] ** -0.5\n",
            ),
            id="a sum of products that lacks the scale",
        ),
    ],
)
def test_the_edit_stands_where_nothing_else_is_served(text: str, right: tuple[str, str]) -> None:
    assert right[0] in text
    assert fixed(text) == text.replace(*right)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            layer(FORWARD.format(logits="q @ k.mT * self.factor"), "self.factor = 1 / width")
            + "\n    def embed(self, x):\n        return x * self.factor\n"
            + OVERRIDING.format(own="width**-0.5 / 3"),
            id="the attribute serves something else and what applies it a subclass",
        ),
        pytest.param(
            layer(
                SHARES.format(between=" + shifted(places, q)"),
                "self.table = nn.Parameter(torch.randn(5, width))\n        self.bias = 0.5",
            ).replace("import torch\n", "import torch\nfrom elsewhere import shifted\n"),
            id="what is made of the query elsewhere may be a product as well",
        ),
    ],
)
def test_where_no_edit_is_certain_none_is_offered(text: str) -> None:
    (finding,) = lint_text(text, "program.py").findings
    assert finding.fix is None
    assert fixed(text) == text


FIXED_BY_NOTHING = """import torch
from torch import nn


class Rows(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def split(self, x, b):
        x = x.view(b, -1, self.heads, self.depth).permute(0, 2, 1, 3)
        return x.reshape(b * self.heads, -1, self.depth)

    def forward(self, x):
        b = x.size(0)
        q, k, v = self.split(self.q(x), b), self.split(self.k(x), b), self.split(self.v(x), b)
        weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) * self.depth ** -0.5, dim=-1)
        out = torch.bmm(weights, v).view(self.heads, b, -1, self.depth).permute(0, 2, 1, 3)
        return out.reshape(b, -1, self.heads * self.depth)
"""


def test_a_fix_that_would_leave_its_finding_is_not_offered() -> None:
    found = lint_text(FIXED_BY_NOTHING, "program.py").findings
    assert [(one.code, one.fix) for one in found] == [("ATT403", None), ("ATT402", None)]
