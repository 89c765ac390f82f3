"""ATT103: 1/d_k, or another power than the root."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint import fixes
from attnlint.domain.algebra import power_of
from attnlint.rule import Report, ScaleRule
from attnlint.sites import derivation, naming, places
from attnlint.sites.scales import FOLLOWED, doubled, fault, fault_by_head_size, is_power
from attnlint.sites.sites import HALF, AttentionSite, Verdict


class UnrootedScale(ScaleRule):
    """
    ## What it does
    Checks that the logits are divided by the root of the contraction dimension, not by the dimension itself or another power of it.

    ## Why is this bad
    The standard deviation of q·k is √d_k. Divided by d_k the logits are too small by √d_k: with d_k = 64 by a factor of 8, so that all
    keys get nearly the same weight. µP's `1/d` is meant, and silent where the code says so.

    ## Example
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.head_dim = heads, width // heads
            self.qkv = nn.Linear(width, 3 * width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
            logits = q @ k.transpose(-2, -1) / self.head_dim
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
            self.qkv = nn.Linear(width, 3 * width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
            logits = q @ k.transpose(-2, -1) / self.head_dim**0.5
            weights = torch.softmax(logits, dim=-1)
            return (weights @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Unsafe. The model computes something else afterwards, and a checkpoint was trained with the other scale.

    ## References
    Vaswani et al., Attention Is All You Need, 2017, section 3.2.1. Yang et al., Tensor Programs V, 2022, for the `1/d` that is meant.
    """

    code = "ATT103"
    name = "unrooted-scale"

    @classmethod
    def test(cls, site: AttentionSite) -> Verdict | None:
        """The inverse of d_k, or another negative power of it."""
        if site.form == "named":
            return fault_by_head_size(site, cls.name)
        if site.form == "number":
            return fault(site, cls.name) if is_power(site, -1.0) and doubled(site) is None else None
        if site.form not in FOLLOWED or doubled(site) is not None:
            return None
        power = power_of(site.net, site.width)
        if power is not None:
            return fault(site, cls.name) if power <= 0 else None
        shared = any(symbol in site.net.symbols for symbol in site.width.symbols)
        unrooted = shared and not site.net.is_number and all(exponent <= -1 for _, exponent in site.net.powers)
        return fault(site, cls.name) if unrooted and site.net.root().equals(site.width.power(-HALF)) else None

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.kind != self.name or site.culprit is None:
            return
        place = places.wrong_number(site.culprit)
        if place is not None:
            size = naming.contraction_words(site)
            message = f"{derivation.headline(site, site.culprit)}, but q·k sums over {size}: divide by {naming.root(size)}"
            yield Report(place, message, fixes.repair.correct_number(site))
