"""ATT107: an expression that is another power than it reads."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint import fixes
from attnlint.domain.values import Origin
from attnlint.rule import Report, ScaleRule
from attnlint.sites import naming, places
from attnlint.sites.scales import FOLLOWED, misread_factor
from attnlint.sites.sites import AttentionSite, Verdict


class ScalePrecedence(ScaleRule):
    """
    ## What it does
    Checks scales such as `d ** 1 / 2`, `1 / d ** 1 / 2`, `width // heads ** -0.5` and `d ** (1 // 2)`, whose value is another than a
    reader takes them for.

    ## Why is this bad
    `**` binds tighter than `/` and `//`: `d ** 1 / 2` is d/2, and `width // heads ** -0.5` is width times √heads. `1 // 2` is 0, so
    that `d ** (1 // 2)` is 1. No error is raised, the logits are off by orders of magnitude.

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
            logits = q @ k.transpose(-2, -1) / (self.head_dim ** 1 / 2)
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
            logits = q @ k.transpose(-2, -1) / (self.head_dim ** (1 / 2))
            weights = torch.softmax(logits, dim=-1)
            return (weights @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Unsafe. The model computes something else afterwards, and a checkpoint was trained with the other scale.

    ## References
    The Python Language Reference, section 6.17, operator precedence.
    """

    code = "ATT107"
    name = "scale-precedence"
    asked = "first"

    @classmethod
    def test(cls, site: AttentionSite) -> Verdict | None:
        """A factor that is written as another power than it reads, where the net scale is wrong."""
        if site.form not in ("unscaled", "number", *FOLLOWED):
            return None
        placed = misread_factor(site)
        return Verdict("faulty", None, cls.name, placed) if placed is not None else None

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.kind != self.name or site.culprit is None:
            return
        found = places.misread_part(site.culprit)
        if found is not None:
            unit, part = found
            size = naming.contraction_words(site)
            message = f"{fixes.misreading.shown(unit, part)}, so the net scale is {naming.text(site, site.scale)}; q·k sums over {size}"
            yield Report(Origin(unit, part.node), message, fixes.repair.parenthesise(site))
