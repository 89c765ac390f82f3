"""ATT106: the weights or the output are scaled, not the logits."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint import fixes
from attnlint.rule import Report, ScaleRule
from attnlint.sites import derivation, naming, places
from attnlint.sites.scales import fault, scaled_after
from attnlint.sites.sites import AttentionSite, PlacedFactor, Verdict


class ScaleAfterSoftmax(ScaleRule):
    """
    ## What it does
    Checks that `1/√d_k` is applied before the softmax, where the logits go in unscaled and the weights or the output are scaled
    instead.

    ## Why is this bad
    Softmax is not linear: scaled afterwards, the weights of a query add up to `1/√d_k` instead of 1, so that the output shrinks, and
    the logits that went in unscaled have saturated it already.

    ## Example
    ```python
    import math

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
            logits = q @ k.transpose(-2, -1)
            weights = torch.softmax(logits, dim=-1) / math.sqrt(self.head_dim)
            return (weights @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Use instead
    ```python
    import math

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
            logits = (q @ k.transpose(-2, -1)) / math.sqrt(self.head_dim)
            weights = torch.softmax(logits, dim=-1)
            return (weights @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Unsafe. The model computes something else afterwards, and a checkpoint was trained with the other scale.

    ## References
    Vaswani et al., Attention Is All You Need, 2017, equation 1: the root stands inside the softmax.
    """

    code = "ATT106"
    name = "scale-after-softmax"

    @classmethod
    def test(cls, site: AttentionSite) -> Verdict | None:
        """Nothing before the softmax, and the root of a size behind it."""
        late = scaled_after(site) if site.form == "unscaled" else None
        return fault(site, cls.name, PlacedFactor(late, "weights")) if late is not None else None

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.kind != self.name or site.culprit is None:
            return
        place = places.applied(site.culprit)
        if place is not None:
            size = naming.contraction_words(site)
            verb = "divides" if site.culprit.factor.division else "multiplies"
            message = f"`{derivation.code(place)}` {verb} what comes out of the softmax; the logits, which sum over {size}, go in unscaled"
            yield Report(place, message, fixes.repair.move_before_softmax(site))
