"""Programs that no one wrote: whatever is generated is linted without a fault of the engine, and every fix of it holds."""

from __future__ import annotations

import ast
import os
import warnings

from hypothesis import given, settings
from hypothesis import strategies as st
from samples import FAULTY

from attnlint.analysis import Engine, analyse
from attnlint.fixing import rewrite
from attnlint.text.source import load

HERE = os.path.abspath("generated.py")

sizes = st.sampled_from(
    ["d", "self.d", "self.h", "q.shape[-1]", "q.size(-1)", "len(q)", "width // self.h", "2", "0", "-1.5", "1e400", "True"]
)
tensors = st.recursive(
    st.sampled_from(["q", "k", "v", "x", "mask", "self.q(x)", "self.k(x)", "None", "unknown", "*q", "q.T"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["@", "*", "/", "+", "-", "**", "//", "%"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(["*", "/", "**"]), sizes).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda t: f"{t}.transpose(-2, -1)"),
        inner.map(lambda t: f"{t}[..., None]"),
        st.tuples(inner, sizes).map(lambda t: f"{t[0]}.view(b, -1, self.h, {t[1]})"),
        inner.map(lambda t: f"torch.softmax({t}, dim=-1)"),
        inner.map(lambda t: f"attend({t}, k, v)"),
        inner.map(lambda t: f"self.forward({t})"),
        st.tuples(inner, inner).map(lambda t: f"torch.einsum('bqd,bkd->bqk', {t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"F.scaled_dot_product_attention({t[0]}, {t[1]}, v)"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]} if x else {t[1]})"),
        inner.map(lambda t: f"[{t} for q in x]"),
        inner.map(lambda t: f"(lambda q: {t})(k)"),
    ),
    max_leaves=8,
)
names = st.sampled_from(["q", "k", "v", "x", "b, d", "self.d", "self.q", "torch", "q[0]", "(q, *k)"])


def statement(pair: tuple[str, str, str]) -> str:
    kind, name, value = pair
    value = value.replace("*q", "q")
    return {
        "=": f"{name} = {value}",
        "*=": f"q *= {value}",
        "if": f"if {value}:\n            {name} = k\n        else:\n            {name} = {value}",
        "for": f"for {name} in {value}:\n            q = {value}",
        "while": f"while True:\n            q = {value}\n            break",
        "with": f"with {value}:\n            return {value}",
        "try": f"try:\n            q = {value}\n        finally:\n            {name} = {value}",
        "match": f"match {value}:\n            case [q, *k]:\n                pass",
        "def": f"def attend(q, k=q, *v, **x):\n            return {value}",
        "global": "global k",
        "del": f"del {name}",
        "return": f"return {value}",
    }[kind]


kinds = st.sampled_from(["=", "=", "=", "*=", "if", "for", "while", "with", "try", "match", "def", "global", "del", "return"])
bodies = st.lists(st.tuples(kinds, names, tensors).map(statement), min_size=1, max_size=6)

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn
from generated import Model as Base


def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1], dim=-1) @ v


class Model(Base, nn.Module):
    def __init__(self, d, h, width):
        self.d, self.h = d // h, h
        self.q, self.k = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, mask=None):
        q = self.q(x).view(1, 2, self.h, self.d).transpose(1, 2)
        k = self.k(x).view(1, 2, self.h, self.d).transpose(1, 2)
        v = x
        {body}
        return torch.softmax(q @ k.transpose(-2, -1) / self.h**0.5, dim=-1) @ v
"""


def parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "generated", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


@settings(max_examples=20)
@given(bodies)
def test_generated_attention_is_linted_and_each_fix_parses_and_is_made_once(body):
    data = PROGRAM.format(body="\n        ".join(body)).encode()
    if not parses(data.decode()):
        return
    engine = Engine([os.path.dirname(HERE)])
    outcome = analyse(data, HERE, True, engine)
    assert outcome.error is None and not outcome.problems
    document = load(data, HERE)
    for finding in outcome.result.findings:
        assert 1 <= finding.span.start.row <= len(document.rows)
        if finding.fix is None or finding.filename != HERE:
            continue
        after = rewrite(document, finding.fix.edits, HERE)  # raises where more would change
        ast.parse(after)
        again = analyse(after, HERE, True, engine)
        assert again.error is None
        assert [one.fix for one in again.result.findings if (one.code, one.span.start) == (finding.code, finding.span.start)] in (
            [],
            [None],
        )


@settings(max_examples=100)
@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"\xef\xbb\xbf", b"# coding: latin-1\n", b"# coding: utf-7\n", b"softmax(q @ k)\r", b"\x0c"]),
)
def test_any_bytes_are_analysed(data, before):
    for name in ("any.py", "any.ipynb", "any.md"):
        assert analyse(before + data, os.path.abspath(name), True, Engine([os.getcwd()])).error is None


CYCLES = {
    "classes": "class A(B): pass\nclass B(A): pass\n",
    "a class of its own": "class A(A): pass\n",
    "methods": "class A:\n    def f(self, q, k): return self.g(q, k)\n    def g(self, q, k): return torch.softmax(self.f(k, q), -1)\n",
    "functions": "def f(q, k): return g(q, k) + f(k, q)\ndef g(q, k): return torch.softmax(f(q, k) @ k.T, -1)\n",
    "a function of itself": "def f(q, k, n): return f(f, f, f(q, k, n)) @ torch.softmax(q @ k.T, -1)\n",
    "attributes": "class A(nn.Module):\n    def __init__(self): self.a = self.b; self.b = self.a\n"
    "    def f(self, q, k): return torch.softmax(q @ self.a, -1)\n",
    "values": "a = b\nb = a\ndef f(q, k): return torch.softmax(q @ k.T / a, -1)\n",
    "imports": "from cyc_b import f as g\ndef f(q, k): return torch.softmax(g(q, k) @ k.T, -1)\n",
    "imports of itself": "from cyc_a import *\nfrom cyc_a import f\nimport cyc_a\ndef f(q, k): return cyc_a.f(q, k) @ k.T\n",
    "defaults": "def f(q, k, s=lambda: f): return torch.softmax(q @ k.T * s(), -1)\n",
    "containers": "x = []\nx.append(x)\ndef f(q, k):\n    k = [k]\n    k = [k, k]\n    return torch.softmax(q @ x[0][0] @ k[0], -1)\n",
    "decorators": "@f\ndef f(q, k): return torch.softmax(q @ k.T, -1)\n",
}


def test_what_goes_in_a_circle_ends(attnlint, tmp_path):
    for number, text in enumerate(CYCLES.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, other in (("cyc_a", "cyc_b"), ("cyc_b", "cyc_a")):
            (folder / f"{name}.py").write_text("import torch\nfrom torch import nn\n" + text.replace("cyc_b", other))
        (folder / "model.py").write_text(f"from cyc_a import f\n{FAULTY}")
    result = attnlint("check", ".", "--no-cache", "--output-format", "json", "--select", "ATT102")
    assert result.status == 1, result.err
    assert "internal error" not in result.err and "not analysed" not in result.err
    assert len([one for one in result.json if one["filename"].endswith("model.py")]) == len(CYCLES)
