"""ATT108: an additive bias is scaled along with the product."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.fixes import places, repair
from attnlint.rule import Report, Rule
from attnlint.sites import derivation
from attnlint.sites.sites import AttentionSite


class ScaledMaskOrBias(Rule):
    """
    ## What it does
    Checks that a finite bias (a learned table, an embedding of distances, ALiBi slopes) is added to the scaled product, not to the
    product before both are scaled. Masks of minus infinity or -1e9 lose nothing by a scale and stay silent, and so do biases that are
    arguments.

    ## Why is this bad
    The scale brings q·k to unit variance. A bias that is scaled along is too small by √d_k: slopes lose their length, a learned table
    needs values √d_k times as large, and its share changes with the head size. Sums of two products (Transformer-XL) are scaled as one
    by design, and so is a table of positions that is added to them.

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
            self.table = nn.Parameter(torch.zeros(heads, 256, 256))

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
            bias = self.table[:, :t, :t]
            logits = (q @ k.transpose(-2, -1) + bias) * self.scale
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
            self.table = nn.Parameter(torch.zeros(heads, 256, 256))

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
            bias = self.table[:, :t, :t]
            logits = (q @ k.transpose(-2, -1)) * self.scale + bias
            weights = torch.softmax(logits, dim=-1)
            return (weights @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Unsafe. The bias counts for more afterwards, and a trained table was learned with the scale on it.

    ## References
    Press et al., Train Short, Test Long, 2022: slopes are added after the scale. Liu et al., Swin Transformer, 2021, equation 4.
    """

    code = "ATT108"
    name = "scaled-mask-or-bias"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.kind != self.name or site.culprit is None:
            return
        place = places.applied(site.culprit)
        if place is not None:
            what = derivation.quantity(site, site.culprit)
            message = f"the bias `{derivation.bias_name(site)}` is {what} along with q·k: the scale belongs to q·k alone"
            yield Report(place, message, repair.free_bias(site))
