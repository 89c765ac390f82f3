"""ATT104: multiplied by the root instead of divided by it."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.fixes import places, repair
from attnlint.rule import Report, Rule
from attnlint.sites import derivation, naming
from attnlint.sites.sites import AttentionSite


class InvertedScale(Rule):
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

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.kind != self.name or site.culprit is None:
            return
        place = places.inverted(site.culprit)
        if place is not None:
            size = naming.contraction_words(site)
            message = f"{derivation.headline(site, site.culprit)}, but q·k sums over {size}: divide by {naming.root(size)}"
            yield Report(place, message, repair.turn(site))
