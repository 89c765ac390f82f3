"""ATT108: an additive bias is scaled along with the product."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from attnlint import fixes
from attnlint.domain.algebra import LEARNED, power_of
from attnlint.domain.values import Leaf, Tensor, scale_of
from attnlint.evaluate.arithmetic import is_mask
from attnlint.evaluate.tensors import products_of
from attnlint.rule import Report, ScaleRule
from attnlint.sites import derivation, places
from attnlint.sites.recognise import of_features
from attnlint.sites.scales import fault
from attnlint.sites.sites import HALF, AttentionSite, PlacedFactor, Verdict


class ScaledMaskOrBias(ScaleRule):
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

    @classmethod
    def test(cls, site: AttentionSite) -> Verdict | None:
        """A right scale that a finite bias gets along with the product: the bias fades as heads grow wider.

        Masks of -inf or -1e9 lose nothing by it, and what an argument holds is not known. Beside a term that multiplies the query or
        key by positions, a table is the positions' own share: Transformer-XL scales the sum of all of them by design.
        """
        if site.form != "right" or _has_position_term(site):
            return None
        for term, _ in site.terms:
            shared = [placed for placed in site.factors if any(factor is placed.factor for factor in term.factors)]
            if _is_scale(site, shared) and _is_finite_bias(term):
                culprit = next(placed for placed in reversed(shared) if not placed.factor.value.is_one)
                return replace(fault(site, cls.name, culprit), term=term)
        return None

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.kind != self.name or site.culprit is None:
            return
        place = places.applied(site.culprit)
        if place is not None:
            what = derivation.quantity(site, site.culprit)
            message = f"the bias `{derivation.bias_name(site)}` is {what} along with q·k: the scale belongs to q·k alone"
            yield Report(place, message, fixes.repair.free_bias(site))


def _is_scale(site: AttentionSite, shared: Sequence[PlacedFactor]) -> bool:
    """Whether what product and bias share is a negative power of d_k."""
    value = site.facts.normalise(scale_of(tuple(placed.factor for placed in shared)))
    power = power_of(value, site.width)
    if power is not None and power < 0:
        return True
    return site.width.is_number and value.equals(site.width.power(-HALF)) and not value.is_one


def _has_position_term(site: AttentionSite) -> bool:
    """Whether the logits hold a second product, or one of data with a table of positions."""
    logits = site.record.logits
    return (logits is not None and len(of_features(products_of(logits))) > 1) or any(
        isinstance(term.content, Leaf) and term.content.kind == "projection" for term, _ in site.terms
    )


def _is_finite_bias(term: Tensor) -> bool:
    """A trained table, or distances under trained or buffered slopes; nothing that is masked or called a mask."""
    content = term.content
    if not isinstance(content, Leaf) or term.masks or is_mask(term):
        return False
    if content.kind in ("parameter", "embedding"):
        return True
    return content.kind in ("constant", "array") and any(
        symbol.kind == LEARNED for factor in term.factors for symbol in factor.value.symbols
    )
