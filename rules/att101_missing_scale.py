"""ATT101: q·k reaches softmax with a net scale of 1."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from attnlint import fixes
from attnlint.domain.algebra import CONFIG, PARAMETER
from attnlint.rule import Report, ScaleRule
from attnlint.sites import naming, places
from attnlint.sites.operands import kind_of
from attnlint.sites.roles import is_sure
from attnlint.sites.scales import fault, lost_reasons, scaled_after
from attnlint.sites.sites import AttentionSite, Because, Verdict


class MissingScale(ScaleRule):
    """
    ## What it does
    Checks that the logits are scaled by `1/√d_k` somewhere between the projections and the softmax, where d_k is the dimension that q·k
    sums over.

    ## Why is this bad
    The dot product of two vectors with d_k independent components of unit variance has variance d_k. Unscaled logits are √d_k too
    large: softmax saturates, nearly all weight falls on one key and the gradient vanishes. The scale may stand anywhere (on the query,
    the key, the logits, in a helper or a caller), and designs that leave it out on purpose stay silent when the code shows it: a
    comment, an initialisation that holds the root, normalised q and k, unprojected keys.

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
            logits = q @ k.transpose(-2, -1)
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
            logits = (q @ k.transpose(-2, -1)) * self.head_dim**-0.5
            weights = torch.softmax(logits, dim=-1)
            return (weights @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Unsafe. A model trained without the scale has learned larger or smaller projections to match; with the scale it computes something
    else.

    ## References
    Vaswani et al., Attention Is All You Need, 2017, section 3.2.1 and its footnote on the variance of a dot product.
    """

    code = "ATT101"
    name = "missing-scale"

    @classmethod
    def test(cls, site: AttentionSite) -> Verdict | None:
        """Net scale 1, where query and key are seen being made for this attention."""
        if site.form != "unscaled" or scaled_after(site) is not None:
            return None
        kinds = {kind_of(operand.tensor) for operand in site.operands}
        if kinds <= {"array", "projection"}:
            return fault(site, cls.name)
        given = "argument" in kinds and kinds <= {"argument", "projection"} and site.record.kernel is None
        return fault(site, cls.name) if given and not lost_reasons(site) and _split_here(site) else None

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.because is Because.UNSCALED and site.record.kernel is None and site.product is not None and is_sure(site):
            if site.product.origin is not None:
                size = naming.contraction_words(site)
                message = f"q·k sums over {size} and reaches softmax unscaled; no caller is seen that scales the query or the key"
                yield Report(site.product.origin, message, preview=True)
            return
        if site.kind != self.name or site.product is None or site.product.origin is None:
            return
        size = naming.contraction_words(site)
        message = f"q·k sums over {size} and reaches softmax unscaled: the logits are {naming.root(size)} too large"
        one = next((placed for placed in site.factors if places.is_literal_one(placed)), None)
        where = places.wrong_number(one) if one is not None else None
        if one is None or where is None:
            yield Report(site.product.origin, message, fixes.repair.scale_product(site))
            return
        yield Report(where, f"{message}; the factor is 1", fixes.repair.correct_number(replace(site, culprit=one)))


def _split_here(site: AttentionSite) -> bool:
    """Whether heads are split from a whole width in this function: the query and key are made for this attention."""
    assert site.contraction is not None
    kinds = {symbol.kind for symbol in site.contraction.symbols}
    signs = {exponent for _, exponent in site.contraction.powers}
    # `reshape(b * heads, -1, d_k)` may be given heads that are split already
    return kinds <= {PARAMETER, CONFIG} and signs == {1, -1} and site.splits_heads
