"""ATT502: a fused kernel that is told to be causal and given a mask as well."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.domain.values import Argument, Bool, NoneValue, Tensor
from attnlint.evidence.polarity import FUTURE, PAST
from attnlint.fixes import edits
from attnlint.model import Fix
from attnlint.rule import Report, Rule
from attnlint.sites.roles import code
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst


class SdpaCausalAndMask(Rule):
    """
    ## What it does
    Checks that `scaled_dot_product_attention` is not given `is_causal=True` together with a mask.

    ## Why is this bad
    The two exclude each other, and which kernel happens to run decides what comes of it: the mathematical one raises an error, the
    fused one of the CPU applies both. Code that works on one machine fails on another. Where the mask is causal itself, `is_causal`
    alone says the same and is faster; where it hides padding, both have to be merged into one mask.

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
            mask = torch.triu(torch.full((t, t), float("-inf")), diagonal=1)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=True)
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
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return y.transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Safe where the mask is a triangle that is built here: `is_causal` says the same, and `None` takes the mask's place. No fix for any
    other mask.

    ## References
    PyTorch, `torch.nn.functional.scaled_dot_product_attention`: an error is thrown if both `attn_mask` and `is_causal` are set.
    """

    code = "ATT502"
    name = "sdpa-causal-and-mask"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        record = site.record
        mask, causal = record.arguments.get("attn_mask"), record.arguments.get("is_causal")
        if record.kernel != "scaled_dot_product_attention" or record.softmax is None or not (isinstance(causal, Bool) and causal.value):
            return
        if mask is None or not isinstance(mask, (Tensor, Argument)):
            return
        if isinstance(mask, Argument) and isinstance(mask.default, NoneValue):
            return  # whoever calls it may never give one
        if any("None" in text and "mask" in text for text, _ in record.path):
            return  # a path that asks whether there is a mask
        origin = record.argument_origins.get("attn_mask") or record.softmax
        built = isinstance(mask, Tensor) and _is_causal(mask)
        fix = (
            Fix("safe", "Leave it to is_causal", (edits.replace(origin, "None"),)) if built and isinstance(origin.node, cst.Name) else None
        )
        flag = record.argument_origins.get("is_causal") or record.softmax
        yield Report(
            flag,
            f"`{record.kernel}` is causal and gets the mask `{code(origin)}` as well: merge them into one mask, or leave one out",
            fix,
        )


def _is_causal(mask: Tensor) -> bool:
    """A plain triangle that hides the future: True at the past, or minus infinity in the future."""
    if mask.shape.rank != 2 or mask.factors or mask.masks:
        return False
    return PAST in mask.notes if mask.dtype == "bool" else "full" in mask.notes and FUTURE in mask.notes
