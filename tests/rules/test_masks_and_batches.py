"""Masks on the wrong axis or in the wrong order, rows without keys, mixed batches, dropout: reported, and silent on what is close."""

from __future__ import annotations

import pytest

from attnlint.testing import findings
from rules.att303_mask_wrong_axis import MaskWrongAxis
from rules.att304_mask_head_order import MaskHeadOrder
from rules.att305_row_without_keys import RowWithoutKeys
from rules.att403_mixed_batch import MixedBatch
from rules.att504_dropout_in_eval import DropoutInEval

SINGLE = """import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, size, rate=0.1):
        super().__init__()
        self.rate = rate
        self.q, self.k, self.v = nn.Linear(width, size), nn.Linear(width, size), nn.Linear(width, size)

    def forward(self, x, keep=None):
        q, k, v = self.q(x), self.k(x), self.v(x)
        n = x.shape[1]
        logits = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        {mask}
        weights = torch.softmax(logits, dim=-1)
        {after}
        return weights @ v
"""
FOLDED = """import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def fold(self, z):
        b, n, _ = z.shape
        return z.view(b, n, self.heads, self.size).{fold}.reshape(-1, n, self.size)

    def forward(self, x, mask):
        b, n, c = x.shape
        q, k, v = self.fold(self.q(x)), self.fold(self.k(x)), self.fold(self.v(x))
        logits = torch.bmm(q, k.transpose(1, 2)) / self.size**0.5
        {mask}
        out = torch.bmm(torch.softmax(logits, dim=-1), v)
        return out{merge}.reshape(b, n, c)
"""


def single(mask: str = "", after: str = "") -> str:
    return SINGLE.format(mask=mask.replace("\n", "\n        ") or "pass", after=after.replace("\n", "\n        ") or "pass")


def folded(mask: str = "pass", fold: str = "transpose(1, 2)", merge: str = ".view(b, self.heads, n, self.size).transpose(1, 2)") -> str:
    fold = fold.replace("reshape(-1", "reshape(b * self.heads")
    return FOLDED.format(mask=mask, fold=fold, merge=merge).replace("reshape(-1, n", "reshape(b * self.heads, n")


@pytest.mark.parametrize(
    "mask",
    [
        "logits = logits.masked_fill(~keep[:, :, None], -1e9)",
        "logits = logits.masked_fill(keep.unsqueeze(-1) == 0, float('-inf'))",
        "logits = torch.where(keep[:, :, None], logits, -1e9)",
        "logits = logits.masked_fill(keep[:, :, None].logical_not(), torch.finfo(logits.dtype).min)",
    ],
)
def test_a_mask_of_whole_rows_hides_no_key(mask: str) -> None:
    (found,) = findings(single(mask), MaskWrongAxis)
    assert "hides whole rows" in found.message


@pytest.mark.parametrize(
    "mask",
    [
        "logits = logits.masked_fill(~keep[:, None, :], -1e9)",
        "logits = logits.masked_fill(~keep[:, None, :], -1e9)\nlogits = logits.masked_fill(~keep[:, :, None], -1e9)",
        "logits = logits.masked_fill(~(keep[:, None, :] & keep[:, :, None]), -1e9)",
        "logits = logits.masked_fill(keep, -1e9)",
        "logits = logits + (1 - keep[:, None, :]) * -1e9\nlogits = logits.masked_fill(keep[:, :, None] == 0, -1e9)",
        "logits = logits.masked_fill(~keep[:, :, None], 0.0)",
    ],
)
def test_a_mask_that_knows_the_keys_or_is_not_known_is_silent(mask: str) -> None:
    assert findings(single(mask), MaskWrongAxis) == []


@pytest.mark.parametrize(
    "mask",
    [
        "logits = logits.masked_fill(mask.repeat(self.heads, 1, 1) == 0, -1e9)",
        "mask = mask.repeat(self.heads, 1, 1)\n        logits = logits.masked_fill(mask == 0, -1e9)",
        "mask = torch.tile(mask, (self.heads, 1, 1))\n        logits = logits.masked_fill(mask.bool(), -1e9)",
    ],
)
def test_a_mask_that_is_tiled_where_the_rows_are_interleaved(mask: str) -> None:
    (found,) = findings(folded(mask), MaskHeadOrder)
    assert "another order" in found.message


def test_a_mask_that_is_interleaved_where_the_rows_are_tiled() -> None:
    source = folded(
        "logits = logits.masked_fill(mask.repeat_interleave(self.heads, dim=0), -1e9)",
        fold="permute(2, 0, 1, 3)",
        merge=".view(self.heads, b, n, self.size).permute(1, 2, 0, 3)",
    )
    assert len(findings(source, MaskHeadOrder)) == 1


@pytest.mark.parametrize(
    "source",
    [
        folded("logits = logits.masked_fill(mask.repeat_interleave(self.heads, dim=0) == 0, -1e9)"),
        folded("logits = logits.masked_fill(mask.repeat(1, self.heads, 1).view(b * self.heads, 1, n) == 0, -1e9)"),
        folded("logits = logits.masked_fill(mask.repeat(n, 1, 1) == 0, -1e9)"),
        folded(
            "logits = logits.masked_fill(mask.repeat(self.heads, 1, 1) == 0, -1e9)",
            fold="permute(2, 0, 1, 3)",
            merge=".view(self.heads, b, n, self.size).permute(1, 2, 0, 3)",
        ),
    ],
)
def test_a_mask_in_the_order_of_the_rows_is_silent(source: str) -> None:
    assert findings(source, MaskHeadOrder) == []


@pytest.mark.parametrize(
    ("mask", "becomes"),
    [
        ("logits = logits.masked_fill(torch.triu(torch.ones(n, n)).bool(), float('-inf'))", "NaN"),
        ("logits = logits.masked_fill(torch.triu(torch.ones(n, n)).bool(), -torch.inf)", "NaN"),
        ("logits = logits.masked_fill(torch.triu(torch.ones(n, n), diagonal=0) == 1, -1e9)", "a plain mean"),
        ("logits = torch.where(torch.ones(n, n).tril(-1).bool(), logits, float('-inf'))", "NaN"),
    ],
)
def test_a_row_of_which_every_key_is_hidden(mask: str, becomes: str) -> None:
    (found,) = findings(single(mask), RowWithoutKeys)
    assert becomes in found.message


@pytest.mark.parametrize(
    ("mask", "after"),
    [
        ("logits = logits.masked_fill(torch.triu(torch.ones(n, n), diagonal=1).bool(), float('-inf'))", ""),
        ("logits = logits.masked_fill(torch.triu(torch.ones(n, n)).bool(), float('-inf'))", "weights = torch.nan_to_num(weights)"),
        ("logits = torch.where(torch.ones(n, n).tril().bool(), logits, float('-inf'))", ""),
        ("backwards = torch.tril(torch.ones(n, n)).bool()\nlogits = logits.masked_fill(backwards, -1e9)", ""),
        ("logits = logits.masked_fill(torch.tril(torch.ones(n, n), diagonal=-1).bool(), -1e9)", ""),
    ],
)
def test_rows_with_a_key_are_silent(mask: str, after: str) -> None:
    assert findings(single(mask, after), RowWithoutKeys) == []


@pytest.mark.parametrize(
    "merge", [".view(self.heads, b, n, self.size).permute(1, 2, 0, 3)", ".reshape(self.heads, b, n, self.size).permute(1, 2, 0, 3)"]
)
def test_rows_of_several_samples_are_read_as_one(merge: str) -> None:
    (found,) = findings(folded(merge=merge), MixedBatch)
    assert "rows of several samples" in found.message


@pytest.mark.parametrize(
    "source",
    [folded(), folded(fold="permute(2, 0, 1, 3)", merge=".view(self.heads, b, n, self.size).permute(1, 2, 0, 3)")],
)
def test_rows_that_are_read_as_they_lie_are_silent(source: str) -> None:
    assert findings(source, MixedBatch) == []


@pytest.mark.parametrize(
    ("call", "fixed"),
    [
        ("F.dropout(weights, 0.1)", "F.dropout(weights, 0.1, training=self.training)"),
        ("F.dropout(weights, p=self.rate)", "F.dropout(weights, p=self.rate, training=self.training)"),
        ("nn.functional.dropout(weights)", "nn.functional.dropout(weights, training=self.training)"),
    ],
)
def test_weights_that_are_dropped_in_evaluation(call: str, fixed: str) -> None:
    source = single(after=f"weights = {call}")
    (found,) = findings(source, DropoutInEval)
    assert found.fix is not None
    assert found.fix.edits[0].content == fixed.removeprefix(call[:-1]).removesuffix(")")


@pytest.mark.parametrize(
    "after",
    [
        "weights = F.dropout(weights, 0.1, self.training)",
        "weights = F.dropout(weights, 0.1, training=self.training)",
        "weights = F.dropout(weights, self.rate if self.training else 0.0)",
        "if self.training:\n    weights = F.dropout(weights, 0.1)",
        "weights = F.dropout(weights, 0.0)",
        "weights = nn.Dropout(0.1)(weights)",
    ],
)
def test_dropout_that_asks_for_the_mode_is_silent(after: str) -> None:
    assert findings(single(after=after), DropoutInEval) == []
