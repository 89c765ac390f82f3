"""What the rules beside the scale report and what they leave alone, one spelling at a time."""

from __future__ import annotations

import textwrap

import pytest

from tests.rules_beside.checking import codes, findings, fixed

HEADER = """
import math
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch import einsum


class Attention(nn.Module):
    def __init__(self, width, heads, head_dim, longest, dropout=0.1):
        super().__init__()
        self.heads, self.head_dim, self.dropout = heads, head_dim, dropout
        self.q, self.k, self.v = (nn.Linear(width, heads * head_dim) for _ in range(3))
        self.drop = nn.Dropout(dropout)
        self.mix = nn.Parameter(torch.randn(heads, heads))
        self.eps = 1e-8
        self.register_buffer("past", torch.tril(torch.ones(longest, longest)))
        self.register_buffer("later", torch.triu(torch.ones(longest, longest), diagonal=1).bool())

    def split(self, t):
        return t.view(t.shape[0], t.shape[1], self.heads, self.head_dim).transpose(1, 2)

    def forward(self, x, memory, mask, lengths, pad):
        b, t, c = x.shape
        s = memory.shape[1]
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        logits = q @ k.transpose(-2, -1) / self.head_dim**0.5
"""


def module(body: str) -> str:
    return HEADER + textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8) + "\n"


REPORTED = {
    "ATT201": [
        "return logits.softmax(-2) @ v",
        "return F.softmax(logits, dim=1) @ v",
        "return torch.softmax(logits, 0) @ v",
        "w = logits.softmax(dim=2)\nreturn einsum('bhts,bhsd->bhtd', self.drop(w), v)",
        "w = logits.permute(0, 2, 3, 1).softmax(dim=1)\nreturn einsum('btsh,bhsd->bthd', w, v)",
        "w = logits.softmax(dim=-1)\nreturn einsum('bhts,bhtd->bhsd', w, self.split(self.v(x)))",
    ],
    "ATT202": [
        "return F.softmax(logits) @ v",
        "return nn.Softmax()(logits) @ v",
        "return torch.nn.functional.softmax(logits, dim=None) @ v",
    ],
    "ATT203": [
        "w = torch.exp(logits)\nreturn w / w.sum(-1, keepdim=True) @ v",
        "return torch.exp(logits) / torch.exp(logits).sum(dim=-1, keepdim=True) @ v",
        "w = logits.exp() * mask\nreturn (w / w.sum(dim=-1, keepdim=True)) @ v",
    ],
    "ATT301": [
        "return (logits * mask[:, None]).softmax(-1) @ v",
        "return (logits * self.past[:t, :s]).softmax(-1) @ v",
        "return torch.tril(logits).softmax(-1) @ v",
        "return logits.masked_fill(mask == 0, 0).softmax(-1) @ v",
        "return logits.masked_fill(mask == 0, 1e-9).softmax(-1) @ v",
        "return logits.masked_fill(mask == 0, -1e-9).softmax(-1) @ v",
        "return torch.where(mask, logits, torch.zeros_like(logits)).softmax(-1) @ v",
        "logits *= mask\nreturn logits.softmax(-1) @ v",
        "return (logits * torch.tril(torch.ones(t, s), diagonal=-1)).softmax(-1) @ v",
        "seen = (torch.arange(s)[None, :] < lengths[:, None]).float()\nreturn (logits * seen[:, None, None]).softmax(-1) @ v",
    ],
    "ATT302": [
        "w = logits.softmax(-1) * pad[:, None, None, :]\nreturn w @ v",
        "w = torch.tril(logits.softmax(-1))\nreturn w @ v",
        "w = logits.softmax(-1).masked_fill(self.later[:t, :s], 0)\nreturn w @ v",
        "w = logits.softmax(-1).masked_fill(mask == 0, float('-inf'))\nreturn w @ v",
    ],
    "ATT401": [
        "return (q @ k.transpose(1, 2) / self.head_dim**0.5).softmax(-1) @ v",
        "return (q @ k.view(b, self.heads, self.head_dim, s) / self.head_dim**0.5).softmax(-1) @ v",
    ],
    "ATT402": [
        "q = self.q(x).view(b, self.heads, t, self.head_dim)\nreturn (q @ k.transpose(-2, -1) / self.head_dim**0.5).softmax(-1) @ v",
        "q = self.q(x).reshape(b * self.heads, t, self.head_dim)\nk = k.reshape(b * self.heads, s, self.head_dim)\n"
        "return (q @ k.transpose(-2, -1) / self.head_dim**0.5).softmax(-1)",
        "return (logits.softmax(-1) @ v).reshape(b, t, self.heads * self.head_dim)",
        "return F.scaled_dot_product_attention(q, k, v).contiguous().view(b, t, -1)",
    ],
    "ATT501": [
        "return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)",
        "return F.scaled_dot_product_attention(q, k, v, None, self.drop.p)",
        "rate = self.dropout\nreturn F.scaled_dot_product_attention(q, k, v, dropout_p=rate)",
        "return F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)",
    ],
    "ATT502": [
        "return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=True)",
        "return F.scaled_dot_product_attention(q, k, v, mask, 0.0, True)",
        "return F.scaled_dot_product_attention(q, k, v, attn_mask=~self.later[:t, :s], is_causal=True)",
    ],
    "ATT503": [
        "return F.scaled_dot_product_attention(q, k, v, attn_mask=self.later[:t, :s])",
        "return F.scaled_dot_product_attention(q, k, v, attn_mask=self.past[:t, :s])",
        "return F.scaled_dot_product_attention(q, k, v, attn_mask=self.past[:t, :s] == 0)",
        "return logits.masked_fill(self.past[:t, :s] == 1, float('-inf')).softmax(-1) @ v",
        "return logits.masked_fill(~self.later[:t, :s], -1e9).softmax(-1) @ v",
        "return torch.where(self.later[:t, :s], logits, float('-inf')).softmax(-1) @ v",
        "out = torch.arange(s)[None, :] >= lengths[:, None]\nreturn F.scaled_dot_product_attention(q, k, v, attn_mask=out[:, None, None])",
        "i = torch.arange(t)\nreturn logits.masked_fill(i[:, None] >= i[None, :], float('-inf')).softmax(-1) @ v",
    ],
}

SILENT = {
    "the keys wherever they stand": "w = logits.permute(2, 3, 0, 1).softmax(dim=1)\nreturn einsum('tsbh,bhsd->bhtd', w, v)",
    "columns": "w = (k @ q.transpose(-2, -1) / self.head_dim**0.5).softmax(dim=-2)\nreturn w.transpose(-2, -1) @ v",
    "slots": "w = logits.softmax(dim=-2) + self.eps\nw = w / w.sum(dim=-1, keepdim=True)\nreturn w @ v",
    "slots by normalize": "w = logits.softmax(dim=-2)\nreturn F.normalize(w, p=1, dim=-1) @ v",
    "both directions": "a = logits.softmax(-1)\ne = logits.softmax(-2)\nreturn a @ v, e.transpose(-2, -1) @ self.split(self.v(x))",
    "both directions at once": "return logits.softmax(-1) @ v, logits.softmax(-2) @ v",
    "talking heads": "w = einsum('bhts,hg->bgts', logits.softmax(-1), self.mix)\nreturn w @ v",
    "an axis of jax's kind": "return torch.softmax(logits, dim=logits.dim() - 1) @ v",
    "stable by hand": "e = torch.exp(logits - logits.amax(-1, keepdim=True))\nreturn e / e.sum(-1, keepdim=True) @ v",
    "shifted in its own statement": "logits = logits - logits.max(dim=-1, keepdim=True).values\n"
    "e = logits.exp()\n"
    "return e / e.sum(-1, keepdim=True) @ v",
    "logsumexp": "return torch.exp(logits - torch.logsumexp(logits, -1, keepdim=True)) @ v",
    "something subtracted": "e = torch.exp(logits - mask)\nreturn e / e.sum(-1, keepdim=True) @ v",
    "capped": "e = torch.exp(torch.tanh(logits))\nreturn e / e.sum(-1, keepdim=True) @ v",
    "blended mask": "logits = logits * mask + (1 - mask) * -1e9\nreturn logits.softmax(-1) @ v",
    "multiplied, then filled": "logits = torch.tril(logits)\nreturn logits.masked_fill(logits == 0, float('-inf')).softmax(-1) @ v",
    "NaN taken away before": "return logits.masked_fill(torch.isnan(logits), 0).softmax(-1) @ v",
    "infinities taken away before": "return torch.where(torch.isfinite(logits), logits, torch.zeros_like(logits)).softmax(-1) @ v",
    "NaN by comparison": "return torch.where(logits != logits, torch.zeros_like(logits), logits).softmax(-1) @ v",
    "NaN taken away after": "w = logits.softmax(-1)\nreturn w.masked_fill(torch.isnan(w), 0) @ v",
    "rows without keys": "logits = logits.masked_fill(mask == 0, float('-inf'))\n"
    "return logits.masked_fill(pad[:, None, :, None], 0.0).softmax(-1) @ v",
    "rows set to zero after an added mask": "logits = logits + mask\n"
    "return torch.where(pad[:, None, :, None], logits, 0.0).softmax(-1) @ v",
    "rows set to zero": "return logits.masked_fill(pad[:, None, :, None] == 0, 0.0).softmax(-1) @ v",
    "a cache hands back what it likes": "k, v = mask.update(k, v)\nreturn (q @ k.transpose(1, 2) / self.head_dim**0.5).softmax(-1) @ v",
    "masked and normalised again": "w = (logits * mask).softmax(-1) * mask\nreturn w / w.sum(-1, keepdim=True) @ v",
    "a fill that is a parameter": "return logits.masked_fill(mask == 0, lengths).softmax(-1) @ v",
    "mask of unknown shape": "return (logits.softmax(-1) * mask) @ v",
    "mask of queries": "return (logits.softmax(-1) * mask[:, None, :, None]) @ v",
    "head mask": "head_mask = mask[:, :, None, None]\nreturn (logits.softmax(-1) * head_mask) @ v",
    "masked before and after": "w = logits.masked_fill(pad[:, None, None, :], -1e9).softmax(-1).masked_fill(pad[:, None, None, :], 0)\n"
    "return w @ v",
    "dropout by hand": "mask = torch.rand_like(logits) > 0.1\nreturn (logits.softmax(-1) * mask) @ v",
    "small weights pruned": "w = logits.softmax(-1)\nreturn (w * (w > 0.01)) @ v",
    "heads in the batch": "q = self.q(x).view(b, t, self.heads, self.head_dim).permute(0, 2, 1, 3)\n"
    "q = q.reshape(b * self.heads, t, self.head_dim)\n"
    ""
    "k = k.reshape(b * self.heads, s, self.head_dim)\nreturn (q @ k.transpose(1, 2) / self.head_dim**0.5).softmax(-1)",
    "merged after a transpose": "return (logits.softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1)",
    "sequence first": "q = self.q(x).view(b, t * self.heads, self.head_dim).transpose(0, 1)\n"
    "k = self.k(memory).view(b, s * self.heads, self.head_dim).transpose(0, 1)\n"
    "return (q @ k.transpose(1, 2) / self.head_dim**0.5).softmax(-1)",
    "attention between channels": "q, k = q.transpose(-2, -1), k.transpose(-2, -1)\n"
    "return F.softmax(q @ k.transpose(-2, -1) / t**0.5, dim=-1) @ v.transpose(-2, -1)",
    "gated dropout": "return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0)",
    "gated by a statement": "rate = 0.0\n"
    "if self.training:\n"
    "    rate = self.dropout\n"
    "return F.scaled_dot_product_attention(q, k, v, dropout_p=rate)",
    "gated by gradients": "rate = self.dropout if torch.is_grad_enabled() else 0.0\n"
    "return F.scaled_dot_product_attention(q, k, v, dropout_p=rate)",
    "told the mode": "return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout, training=self.training)",
    "no dropout": "return F.scaled_dot_product_attention(q, k, v, dropout_p=0.0)",
    "a rate from outside": "return F.scaled_dot_product_attention(q, k, v, dropout_p=lengths)",
    "one of the two": "return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)",
    "causal where there is no mask": "kept = mask\nif mask is not None:\n    kept = mask[:, :, :, :s]\n"
    "causal = True if kept is None and t > 1 else False\nreturn F.scaled_dot_product_attention(q, k, v, attn_mask=kept, is_causal=causal)",
    "causal alone": "return F.scaled_dot_product_attention(q, k, v, attn_mask=None, is_causal=True)",
    "a mask that points the right way": "return F.scaled_dot_product_attention(q, k, v, attn_mask=~self.later[:t, :s])",
    "a triangle made boolean": "return F.scaled_dot_product_attention(q, k, v, attn_mask=self.past[:t, :s].bool())",
    "a triangle made additive": "mask = self.past[:t, :s].masked_fill(self.past[:t, :s] == 0, float('-inf'))\n"
    "return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)",
    "a triangle turned round": "mask = (torch.triu(torch.ones(t, s)) == 1).transpose(0, 1)\n"
    "return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)",
    "filled where later": "return logits.masked_fill(self.later[:t, :s], float('-inf')).softmax(-1) @ v",
    "filled where not past": "return logits.masked_fill(self.past[:t, :s] == 0, float('-inf')).softmax(-1) @ v",
    "filled where one minus the past": "return logits.masked_fill((1 - self.past[:t, :s]).bool(), float('-inf')).softmax(-1) @ v",
    "backwards, itself included": "m = torch.triu(torch.ones(t, s, dtype=torch.bool))\n"
    "return F.scaled_dot_product_attention(q, k, v, attn_mask=m)",
    "what came before is filled": "m = torch.tril(torch.ones(t, s), diagonal=-1).bool()\n"
    "return logits.masked_fill(m, -1e9).softmax(-1) @ v",
    "behind the left padding": "m = torch.arange(s)[None, :] >= s - lengths[:, None]\n"
    "return F.scaled_dot_product_attention(q, k, v, attn_mask=m[:, None, None])",
    "from a place on": "m = torch.arange(s) >= t\nreturn F.scaled_dot_product_attention(q, k, v, attn_mask=m)",
    "the start of a window": "i = torch.arange(t)\nm = i[None, :] > i[:, None] - 8\n"
    "return F.scaled_dot_product_attention(q, q, v, attn_mask=m)",
    "kept where before the length": "keep = torch.arange(s)[None, :] < lengths[:, None]\n"
    "return F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None])",
}


@pytest.mark.parametrize(("code", "body"), [(code, body) for code, bodies in REPORTED.items() for body in bodies])
def test_reported(code: str, body: str) -> None:
    assert code in codes(module(body))
    beside = {found.code for found in findings(module(body)) if not found.code.startswith("ATT1") and not found.preview}
    assert beside <= {code}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT.keys())
def test_silent(body: str) -> None:
    assert [finding.message for finding in findings(module(body)) if not finding.code.startswith("ATT1") and not finding.preview] == []


@pytest.mark.parametrize(("code", "body"), [(code, body) for code, bodies in REPORTED.items() for body in bodies])
def test_a_fix_takes_the_finding_away(code: str, body: str) -> None:
    before = module(body)
    if all(finding.fix is None for finding in findings(before) if finding.code == code):
        return
    after = fixed(before, code)
    compile(after, "fixed.py", "exec")
    assert code not in codes(after)


def test_the_axes_are_named() -> None:
    (finding,) = findings(module("return logits.softmax(-2) @ v"))
    assert "over the queries `t`" in finding.message
    assert "over the keys `s`" in finding.message


def test_several_softmaxes_that_share_a_layer_are_reported_where_it_is_called() -> None:
    text = module("self.act = nn.Softmax(dim=1)\nreturn self.act(logits) @ v")
    (finding,) = findings(text)
    assert text.splitlines()[finding.span.start.row - 1].strip() == "return self.act(logits) @ v"


def test_a_mask_whose_shape_a_caller_shows() -> None:
    text = """
    import torch


    def attend(q, k, v, mask):
        w = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1)
        return (w * mask) @ v


    x = torch.randn(2, 5, 8)
    print(attend(x, x, x, torch.ones(5, 5)))
    """
    assert codes(text) == ["ATT302"]
    assert codes(text.replace("torch.ones(5, 5)", "torch.ones(5, 1)")) == []


def test_a_helper_of_any_name_is_followed_from_its_caller() -> None:
    text = """
    import numpy as np


    def shares(z):
        raised = np.exp(z)
        return raised / np.sum(raised, axis=-1, keepdims=True)


    def attend(x, wq, wk, wv):
        q, k, v = x @ wq, x @ wk, x @ wv
        return shares(q @ k.T / np.sqrt(k.shape[-1])) @ v
    """
    assert codes(text) == ["ATT203"]
    assert codes(fixed(text, "ATT203")) == []


def test_the_maximum_of_numpy_is_no_pair() -> None:
    text = """
    import numpy as np


    def attend(q, k, v):
        s = q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-1])
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) @ v
    """
    assert codes(text) == []


def test_the_maximum_is_taken_over_the_axis_that_the_sum_names() -> None:
    text = """
    import numpy as np


    def shares(z, axis=-1):
        raised = np.exp(z)
        return raised / raised.sum(axis, keepdims=True)


    def attend(x, wq, wk, wv):
        q, k, v = x @ wq, x @ wk, x @ wv
        return shares(q @ k.T / np.sqrt(k.shape[-1])) @ v
    """
    assert "np.exp(z - np.max(z, axis=axis, keepdims=True))" in fixed(text, "ATT203")
