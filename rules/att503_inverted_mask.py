"""ATT503: a 0/1 mask handed on to what takes it for its opposite."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Leaf, Mask, Origin, Scalar, Tensor, Value
from attnlint.evidence.polarity import FUTURE, HIDES, KEPT, LOOKS, PADDING, PAST
from attnlint.fixes import edits
from attnlint.model import Fix
from attnlint.rule import Report, Rule
from attnlint.sites.roles import carrier_of, code
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst

_DIRECTED = re.compile(r"back|bw|revers|right|anti|direction|futur", re.I)
_BACKWARDS = re.compile(r"back|bw|revers|right|anti|direction", re.I)  # what a mask is called; `future` says where it is True
_WORDS = {PAST: "at the past", FUTURE: "in the future", PADDING: "at the padding", KEPT: "at what is to be kept"}


class InvertedMask(Rule):
    """
    ## What it does
    Checks that a boolean mask is True where its receiver takes True to be.

    `scaled_dot_product_attention` attends where its `attn_mask` is True, `masked_fill` fills where its mask is True, `where` keeps
    the logits where its condition is True. A mask is reported only where the code that builds it shows what it means: a triangle of
    ones, positions compared with one another or with lengths. Who sees itself and what comes after reads backwards on purpose, and
    stays silent.

    ## Why is this bad
    `nn.MultiheadAttention` ignores where a mask is True, `scaled_dot_product_attention` attends there. A mask of one meaning in the
    place of the other shows the model just what it must not see. And a triangle of floating-point ones is no boolean mask: it is added
    to the logits.

    ## Example
    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(width, 3 * width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            return y.transpose(1, 2).reshape(b, t, c)
    ```

    ## Use instead
    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(width, 3 * width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=~mask)
            return y.transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Unsafe: the model sees other positions afterwards, and a checkpoint was trained with what it saw before.

    ## References
    PyTorch, `torch.nn.functional.scaled_dot_product_attention`: a value of True indicates that the element should take part in attention.
    PyTorch, `torch.nn.MultiheadAttention`: a True value indicates that the key is ignored.
    """

    code = "ATT503"
    name = "inverted-mask"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        record = site.record
        if _DIRECTED.search(record.qualname):
            return
        if record.kernel is not None:
            yield from _of_kernel(record)
            return
        carrier = carrier_of(site)
        if carrier is None:
            return
        for mask in carrier.masks:
            if mask.origin is not None and (words := _of_fill(mask)) is not None:
                yield Report(mask.origin, words, _fix_fill(mask))
                return


def _of_kernel(record: SiteRecord) -> Iterable[Report]:
    mask, origin = record.arguments.get("attn_mask"), record.argument_origins.get("attn_mask")
    if not isinstance(mask, Tensor) or origin is None or mask.factors or mask.masks or _BACKWARDS.search(mask.name or ""):
        return
    text = code(origin)
    if mask.dtype == "bool":
        for note in sorted(mask.notes & HIDES):
            fix = Fix("unsafe", "Hand on the opposite mask", (edits.wrap(origin, "~", "")[0],)) if _plain(origin.node) else None
            yield Report(origin, f"`{text}` is True {_WORDS[note]}: `{record.kernel}` attends where its mask is True, write `~{text}`", fix)
            return
    elif (
        record.kernel == "scaled_dot_product_attention"
        and mask.dtype is None
        and mask.notes & {"ones", "ones_like"}
        and mask.notes & (HIDES | LOOKS)
        and isinstance(mask.content, Leaf)
    ):
        fix = (
            Fix("unsafe", "Make it a boolean mask", (edits.wrap(origin, "", ".bool()")[1],))
            if _plain(origin.node) and mask.notes & LOOKS
            else None
        )
        yield Report(
            origin,
            f"`{text}` holds ones and zeros as numbers: `{record.kernel}` adds it to the logits and hides nothing, make it boolean",
            fix,
        )


def _of_fill(mask: Mask) -> str | None:
    """What is wrong with a fill of very negative numbers: it falls on what is to be seen."""
    if (
        mask.kind not in ("fill", "where")
        or not isinstance(mask.mask, Tensor)
        or not _negative(mask.value)
        or _BACKWARDS.search(mask.mask.name or "")
    ):
        return None
    if mask.kind == "fill" and mask.mask.dtype == "bool":
        for note in sorted(mask.mask.notes & LOOKS):
            return f"`{code(mask.origin)}` fills the logits where the mask is True, and it is True {_WORDS[note]}: invert it"
    if mask.kind == "where":
        for note in sorted(mask.mask.notes & HIDES):
            return f"`{code(mask.origin)}` keeps the logits where the mask is True, and it is True {_WORDS[note]}: invert it"
    return None


def _negative(value: Value | None) -> bool:
    return isinstance(value, Scalar) and value.value.is_number and value.value.coefficient < -100


def _fix_fill(mask: Mask) -> Fix | None:
    origin = mask.origin
    if origin is None or mask.kind != "fill" or not isinstance(origin.node, cst.Call) or not origin.node.args:
        return None
    given = origin.node.args[0].value
    if not _plain(given):
        return None
    return Fix("unsafe", "Fill where the opposite mask is True", (edits.wrap(Origin(origin.unit, given), "~", "")[0],))


def _plain(node: cst.CSTNode) -> bool:
    """An expression that binds more tightly than `~`, and than an attribute access behind it."""
    return isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
