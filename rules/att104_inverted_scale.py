"""ATT104: multiplied by the root instead of divided by it."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint import fixes
from attnlint.domain.algebra import power_of
from attnlint.rule import Report, ScaleRule
from attnlint.sites import derivation, naming, places
from attnlint.sites.scales import (
    FOLLOWED,
    configured_symbols,
    default_beside_root,
    doubled,
    fault,
    fault_by_head_size,
    is_power,
    without,
)
from attnlint.sites.sites import AttentionSite, PlacedFactor, Verdict


class InvertedScale(ScaleRule):
    """
    ## What it does
    Checks that the logits are not multiplied by √d_k, as when something is divided by an attribute that holds `d_k ** -0.5`.

    ## Why is this bad
    An attribute called `scale` may hold the factor or the divisor. With the wrong one the logits are d_k times too large: softmax
    becomes an argmax, and no gradient flows through the weights.

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
            logits = q @ k.transpose(-2, -1) / self.scale
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
            logits = q @ k.transpose(-2, -1) * self.scale
            weights = torch.softmax(logits, dim=-1)
            return (weights @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Unsafe. The model computes something else afterwards, and a checkpoint was trained with the other scale.

    ## References
    Vaswani et al., Attention Is All You Need, 2017, equation 1.
    """

    code = "ATT104"
    name = "inverted-scale"

    @classmethod
    def test(cls, site: AttentionSite) -> Verdict | None:
        """A positive power of d_k, whatever else is configured beside it, or a negative factor: neither is meant as a temperature."""
        if site.form == "named":
            return fault_by_head_size(site, cls.name)
        if site.form == "configured" and site.ratio is not None:
            rest = without(site.ratio, configured_symbols(site))
            grows = rest.powers and rest.equals(site.width) and not default_beside_root(site)
            return fault(site, cls.name) if grows else None
        if site.form in ("number", *FOLLOWED) and site.net.coefficient < 0:
            return fault(site, cls.name, _negative(site))
        if site.form == "number":
            return fault(site, cls.name) if is_power(site, 0.5, 1.0) else None
        if site.form not in FOLLOWED or doubled(site) is not None or site.net.is_number:
            return None
        power = power_of(site.net, site.width)
        if power is not None:
            return fault(site, cls.name) if power > 0 else None
        grows = all(exponent > 0 for _, exponent in site.net.powers) and not set(site.net.symbols).isdisjoint(site.width.symbols)
        return fault(site, cls.name) if grows else None

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.kind != self.name or site.culprit is None:
            return
        place = places.inverted(site.culprit)
        if place is not None:
            size = naming.contraction_words(site)
            message = f"{derivation.headline(site, site.culprit)}, but q·k sums over {size}: divide by {naming.root(size)}"
            yield Report(place, message, fixes.repair.turn(site))


def _negative(site: AttentionSite) -> PlacedFactor | None:
    """The factor that turns the order of the logits round."""
    return next((placed for placed in site.factors if placed.factor.value.coefficient < 0), None)
