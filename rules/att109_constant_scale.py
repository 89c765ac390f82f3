"""ATT109: a literal that is right for one head size only."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint import fixes
from attnlint.evaluate.powers import number_of
from attnlint.rule import Report, ScaleRule
from attnlint.sites import derivation, naming, places
from attnlint.sites.operands import kind_of
from attnlint.sites.scales import (
    FOLLOWED,
    configured_number,
    configured_symbols,
    constant_for_another_head,
    factor_with,
    fault,
    fits_another_head,
    literal_factor,
    tried_out,
)
from attnlint.sites.sites import AttentionSite, Verdict


class ConstantScale(ScaleRule):
    """
    ## What it does
    Checks for a literal scale such as `/ 8.0` or a default of `0.125` where the head size is computed from settings, or is another
    number.

    ## Why is this bad
    `8` is the root of 64. Configured with another width or number of heads, the same code runs with a scale that is wrong by the root
    of the ratio of the sizes, and no one sees it.

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
            logits = q @ k.transpose(-2, -1) / 8.0
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
    Unsafe. A model of another head size computes something else afterwards; one of the size that the literal is right for computes the
    same.

    ## References
    Vaswani et al., Attention Is All You Need, 2017, section 3.2.1.
    """

    code = "ATT109"
    name = "constant-scale"

    @classmethod
    def test(cls, site: AttentionSite) -> Verdict | None:
        """A number that is d^-1/2 of one head size, where the head size is another or can be."""
        if site.form == "configured":
            number = configured_number(site)
            fits = number is not None and fits_another_head(site, number)
            return fault(site, cls.name, factor_with(site, configured_symbols(site))) if fits else None
        if site.form == "number":
            literal = constant_for_another_head(site)
            return fault(site, cls.name, literal) if literal is not None and not tried_out(site, literal) else None
        if site.form not in FOLLOWED or site.scale is None or not fits_another_head(site, site.net):
            return None
        literal = literal_factor(site)
        return fault(site, cls.name, literal) if literal is not None or not site.scale.powers else None

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.kind != self.name or site.culprit is None:
            return
        place = places.wrong_number(site.culprit)
        if place is not None:
            fitting = derivation.fitting_size(site)
            size = naming.contraction_words(site)
            message = f"`{derivation.code(place)}` is the scale of a head of {fitting}, but q·k sums over {size}"
            trial = all(kind_of(operand.tensor) != "projection" for operand in site.operands) and number_of(place.node) is not None
            yield Report(place, message, fixes.repair.correct_number(site), preview=trial)  # `128**-0.5` is the root of a size
