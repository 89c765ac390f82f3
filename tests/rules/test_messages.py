"""What a finding says: the user's own names, the derivation with its lines, and the fix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LETTERS = """import torch
import torch.nn as nn


class LetterAttention(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.embed_size, self.heads, self.head_dim = embed_size, heads, embed_size // heads
        self.to_queries = nn.Linear(embed_size, embed_size)
        self.to_keys = nn.Linear(embed_size, embed_size)
        self.to_values = nn.Linear(embed_size, embed_size)

    def forward(self, values, keys, queries):
        N, q_len, k_len = queries.shape[0], queries.shape[1], keys.shape[1]
        v = self.to_values(values).reshape(N, k_len, self.heads, self.head_dim)
        k = self.to_keys(keys).reshape(N, k_len, self.heads, self.head_dim)
        q = self.to_queries(queries).reshape(N, q_len, self.heads, self.head_dim)
        energy = torch.einsum("aqhd,akhd->ahqk", [q, k])
        attention = torch.softmax(energy / (self.embed_size ** (1 / 2)), dim=3)
        return torch.einsum("ahqk,akhd->aqhd", attention, v).reshape(N, q_len, self.embed_size)
"""

FULL = """model.py:19:45: ATT102 wrong-dim-scale: the logits are divided by √embed_size, but q·k sums over head_dim
   |
19 |         attention = torch.softmax(energy / (self.embed_size ** (1 / 2)), dim=3)
   |                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^
   = query     to_queries(queries) → reshape(N, q_len, heads, head_dim)          line 17
   = key       to_keys(keys) → reshape(N, k_len, heads, head_dim)                line 16
   = product   torch.einsum("aqhd,akhd->ahqk", [q, k]) sums over d = head_dim    line 18
   = factor    ÷ (self.embed_size ** (1 / 2)) on the logits: embed_size^-1/2     line 19
   = net scale embed_size^-1/2, expected head_dim^-1/2: the logits are too small by √heads
   = fix       self.head_dim ** (1 / 2) (unsafe: a model trained with the wrong scale changes)
"""


def squeezed(text: str) -> list[str]:
    """Rows with runs of blanks before a line number made one: how wide a column is says nothing."""
    return [" ".join(row.split()) for row in text.splitlines()]


def test_the_full_message_can_be_refuted_at_a_glance(attnlint: Callable[..., Any]) -> None:
    Path("model.py").write_text(LETTERS)
    out = attnlint("check", "--isolated", "--no-cache", "--select", "ATT102", "model.py").out
    assert squeezed(out)[: len(FULL.splitlines())] == squeezed(FULL)


def test_the_json_names_sizes_as_the_source_does(attnlint: Callable[..., Any]) -> None:
    Path("model.py").write_text(LETTERS)
    (found,) = attnlint("check", "--isolated", "--no-cache", "--select", "ATT102", "--output-format", "json", "model.py").json
    wanted = {
        "query": "q",
        "key": "k",
        "contraction": "head_dim",
        "scale": "embed_size^-1/2",
        "expected": "head_dim^-1/2",
        "ratio": "heads^-1/2",
        "qualname": "LetterAttention.forward",
    }
    assert {key: found["site"][key] for key in wanted} == wanted


HEAD = """import math
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.scale = self.head_dim ** -0.5
        self.qkv = nn.Linear(width, 3 * width)
        self.table = nn.Parameter(torch.zeros(heads, 64, 64))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        {body}
"""


@pytest.mark.parametrize(
    ("body", "row", "column", "message"),
    [
        (
            "return torch.softmax(q @ k.mT, -1) @ v",
            18,
            30,
            "ATT101 missing-scale: q·k sums over head_dim and reaches softmax unscaled: the logits are √head_dim too large",
        ),
        (
            "return torch.softmax(q @ k.mT / c ** 0.5, -1) @ v",
            18,
            41,
            "ATT102 wrong-dim-scale: the logits are divided by √c, but q·k sums over head_dim",
        ),
        (
            "return torch.softmax(q @ k.mT / self.head_dim, -1) @ v",
            18,
            41,
            "ATT103 unrooted-scale: the logits are divided by head_dim, but q·k sums over head_dim: divide by √head_dim",
        ),
        (
            "return torch.softmax(q @ k.mT / self.scale, -1) @ v",
            18,
            41,
            "ATT104 inverted-scale: the logits are multiplied by √head_dim, but q·k sums over head_dim: divide by √head_dim",
        ),
        (
            "q = q * self.scale\n        return torch.softmax(q @ k.mT * self.scale, -1) @ v",
            19,
            41,
            "ATT105 double-scale: q·k is scaled twice: by `self.scale` on the query (line 18) and again by `self.scale` on the logits",
        ),
        (
            "q = q * self.scale\n        return F.scaled_dot_product_attention(q, k, v)",
            19,
            16,
            "ATT105 double-scale: scaled_dot_product_attention divides by √head_dim itself, after `self.scale` on the query (line 18)",
        ),
        (
            "return torch.softmax(q @ k.mT, -1) / math.sqrt(self.head_dim) @ v",
            18,
            46,
            "ATT106 scale-after-softmax: `math.sqrt(self.head_dim)` divides what comes out of the softmax; "
            "the logits, which sum over head_dim, go in unscaled",
        ),
        (
            "return torch.softmax(q @ k.mT / (self.head_dim ** 1 / 2), -1) @ v",
            18,
            42,
            "ATT107 scale-precedence: `self.head_dim ** 1 / 2` is `(self.head_dim ** 1) / 2`, "
            "so the net scale is 2 · head_dim^-1; q·k sums over head_dim",
        ),
        (
            "return torch.softmax((q @ k.mT + self.table[:, :t, :t]) * self.scale, -1) @ v",
            18,
            67,
            "ATT108 scaled-mask-or-bias: the bias `table` is divided by √head_dim along with q·k: the scale belongs to q·k alone",
        ),
        (
            "return torch.softmax(q @ k.mT / 8.0, -1) @ v",
            18,
            41,
            "ATT109 constant-scale: `8.0` is the scale of a head of 64, but q·k sums over head_dim",
        ),
    ],
)
def test_each_fault_is_told_at_its_place_in_the_users_words(
    attnlint: Callable[..., Any], body: str, row: int, column: int, message: str
) -> None:
    Path("model.py").write_text(HEAD.format(body=body))
    out = attnlint("check", "--isolated", "--no-cache", "--select", "ATT1", "--output-format", "concise", "model.py").out
    assert out.splitlines()[0] == f"model.py:{row}:{column}: {message}"
