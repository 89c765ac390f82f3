"""ATT105: 1/√d_k applied twice."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint import fixes
from attnlint.rule import Report, ScaleRule
from attnlint.sites import derivation, places
from attnlint.sites.scales import FOLLOWED, default_beside_root, doubled, fault, numbers
from attnlint.sites.sites import AttentionSite, Verdict


class DoubleScale(ScaleRule):
    """
    ## What it does
    Checks that the scale is applied once: not on the query and again on the logits, not on both operands with the full root, and not
    before a fused kernel that scales by itself.

    ## Why is this bad
    Two factors of `1/√d_k` make `1/d_k`: the logits are too small by √d_k. It comes of refactoring, when a product is replaced by
    `scaled_dot_product_attention` and the query goes on being scaled, or when a helper that scales gets a scaled query. `d_k ** -0.25`
    on both operands is right, and so is a kernel that is given `scale=1.0`.

    ## Example
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.head_dim = heads, width // heads
            self.scale = self.head_dim**-0.5
            self.qkv = nn.Linear(width, 3 * width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
            q = q * self.scale
            logits = (q @ k.transpose(-2, -1)) * self.scale
            weights = torch.softmax(logits, dim=-1)
            return (weights @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.head_dim = heads, width // heads
            self.scale = self.head_dim**-0.5
            self.qkv = nn.Linear(width, 3 * width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
            q = q * self.scale
            logits = q @ k.transpose(-2, -1)
            weights = torch.softmax(logits, dim=-1)
            return (weights @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Unsafe. The model computes something else afterwards, and a checkpoint was trained with the other scale. A fused kernel is given a
    scale of 1.0, so that what comes before it stands.

    ## References
    PyTorch, torch.nn.functional.scaled_dot_product_attention: scale defaults to 1/√E.
    """

    code = "ATT105"
    name = "double-scale"

    @classmethod
    def test(cls, site: AttentionSite) -> Verdict | None:
        """Two factors of which one alone would be right."""
        if site.form == "configured":
            return fault(site, cls.name) if default_beside_root(site) else None
        if site.form not in FOLLOWED and numbers(site) is None:
            return None
        found = doubled(site)
        return Verdict("faulty", None, cls.name, found[0], found[1]) if found is not None else None

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.kind != self.name or site.culprit is None:
            return
        place = places.second_application(site)
        if place is not None:
            yield Report(place, derivation.twice(site), fixes.repair.drop(site))
