"""ATT403: rows of several samples that a view makes into one."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.rule import Report, Rule
from attnlint.sites.roles import code, is_sure, least
from attnlint.sites.sites import AttentionSite


class MixedBatch(Rule):
    """
    ## What it does
    Checks that batch and heads, folded into one axis, are read again in the order in which they were folded.

    ## Why is this bad
    A view keeps the order of the elements. `(batch * heads)` viewed as `(heads, batch)` gives a sample the heads of other samples: the
    loss still falls, and what is computed for a sample depends on what stands beside it in the batch.

    ## Example
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.size = heads, width // heads
            self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

        def fold(self, z):
            b, n, _ = z.shape
            return z.view(b, n, self.heads, self.size).transpose(1, 2).reshape(b * self.heads, n, self.size)

        def forward(self, x):
            b, n, c = x.shape
            q, k, v = self.fold(self.q(x)), self.fold(self.k(x)), self.fold(self.v(x))
            weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / self.size**0.5, dim=-1)
            out = torch.bmm(weights, v).view(self.heads, b, n, self.size)
            return out.permute(1, 2, 0, 3).reshape(b, n, c)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.size = heads, width // heads
            self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

        def fold(self, z):
            b, n, _ = z.shape
            return z.view(b, n, self.heads, self.size).transpose(1, 2).reshape(b * self.heads, n, self.size)

        def forward(self, x):
            b, n, c = x.shape
            q, k, v = self.fold(self.q(x)), self.fold(self.k(x)), self.fold(self.v(x))
            weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / self.size**0.5, dim=-1)
            out = torch.bmm(weights, v).view(b, self.heads, n, self.size)
            return out.transpose(1, 2).reshape(b, n, c)
    ```

    ## Fix safety
    No fix: the view and the permutation behind it have to change together.

    ## References
    PyTorch, `torch.Tensor.view`: the elements keep their order.
    """

    code = "ATT403"
    name = "mixed-batch"
    preview = True

    def check(self, site: AttentionSite) -> Iterable[Report]:
        record = site.record
        if least(site) or not is_sure(site):
            return
        met = [one for side in (site.query, site.key, record.value) if side is not None for one in side.scrambled]
        for entry, origin in (*met, *record.merges):
            kind, _, layouts = entry.partition(": ")
            if kind == "rows" and origin is not None:
                lie, _, said = layouts.partition(" → ")
                yield Report(
                    origin, f"`{code(origin)}` mixes rows of several samples: the elements lie as {lie}, the view takes them for {said}"
                )
                return
