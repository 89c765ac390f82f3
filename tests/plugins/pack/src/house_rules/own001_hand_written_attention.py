"""OWN001: attention is written out where the house has a kernel for it."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.rule import Report, Rule
from attnlint.sites.sites import AttentionSite


class HandWrittenAttention(Rule):
    """
    ## What it does
    Checks that attention is computed by `scaled_dot_product_attention`, not written out.

    ## Why is this bad
    The kernel scales by itself, keeps no matrix of weights, and is the one that the house maintains.

    ## Example
    ```python
    import torch


    def attend(q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, dim=-1) @ v
    ```

    ## Use instead
    ```python
    from torch.nn import functional as F


    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v)
    ```

    ## Fix safety
    There is no fix: masks and dropout need a decision.

    ## References
    The handbook of the house.
    """

    code = "OWN001"
    name = "hand-written-attention"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.product is not None and site.record.kind == "softmax":
            yield Report(site.product.origin, "attention is written out: call the kernel of the house")
