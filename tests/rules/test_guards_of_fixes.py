"""Where a fix would leave another number than the right one, or take from another what it needs, none is offered."""

from __future__ import annotations

import pytest

from attnlint.linter import lint_text
from attnlint.testing import fixed

FUSED = """import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads, fused=True):
        super().__init__()
        self.heads, self.size, self.fused = heads, width // heads, fused
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        q = q * {factor}
        {manual}
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, c)
"""
MANUAL = """if not self.fused:
            return (torch.softmax(q @ k.mT, dim=-1) @ v).transpose(1, 2).reshape(b, t, c)"""


def test_a_kernel_is_told_one_where_the_query_carries_the_root() -> None:
    source = FUSED.format(factor="self.size**-0.5", manual="pass")
    assert fixed(source) == source.replace("(q, k, v)", "(q, k, v, scale=1.0)")


def test_a_kernel_is_not_told_one_where_the_query_carries_another_number() -> None:
    source = FUSED.format(factor="0.5 * self.size**-0.5", manual="pass")
    (finding,) = lint_text(source, "model.py").findings
    assert (finding.code, finding.fix) == ("ATT105", None)


@pytest.mark.parametrize("factor", ["self.size**-0.5", "(1.0 / self.size**0.5)"])
def test_a_factor_that_the_other_way_needs_stays(factor: str) -> None:
    source = FUSED.format(factor=factor, manual=MANUAL)
    assert fixed(source) == source.replace("(q, k, v)", "(q, k, v, scale=1.0)")


PART = """import jax
import jax.numpy as jnp


def attend(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    logits = q @ jnp.swapaxes(k, -1, -2)
    logits = logits.at[0].{method}(q.shape[-1] ** -0.5)
    return jax.nn.softmax(logits, axis=-1) @ v
"""


@pytest.mark.parametrize("method", ["multiply", "mul"])
def test_logits_that_are_scaled_in_part_are_neither_right_nor_wrong(method: str) -> None:
    (site,) = lint_text(PART.format(method=method), "model.py").sites
    assert site.verdict == "unknown"


MIXED = """import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Parameter(torch.randn(heads, heads))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        logits = torch.einsum("bhij,hg->bgij", q @ k.transpose(-2, -1){scale}, self.mix)
        return (torch.softmax(logits, dim=-1) @ v).transpose(1, 2).reshape(b, t, c)
"""


@pytest.mark.parametrize(("scale", "verdict"), [("", "intended"), (" / self.size**0.5", "correct")])
def test_logits_that_a_learned_matrix_mixes_carry_a_learned_factor(scale: str, verdict: str) -> None:
    (site,) = lint_text(MIXED.format(scale=scale), "model.py").sites
    assert site.verdict == verdict
    assert "mix" in (site.reason or "")
