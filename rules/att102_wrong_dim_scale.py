"""ATT102: the root of something other than the contraction dimension."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint import fixes
from attnlint.evidence.signs import claim
from attnlint.rule import Report, ScaleRule
from attnlint.sites import derivation, naming, places
from attnlint.sites.scales import FOLLOWED, fault, fits_another_head, head_count_under_root, literal_factor, numbers
from attnlint.sites.sites import AttentionSite, Verdict


class WrongDimScale(ScaleRule):
    """
    ## What it does
    Checks that the scale is the root of the dimension that q·k sums over, not of the model's width, the input's features, the sequence
    length or the number of heads.

    ## Why is this bad
    With h heads, q·k sums over `width / h` components. Divided by √width the logits are too small by √h, and every head attends almost
    evenly; divided by the root of a length they change with the input. Nothing fails, the model just trains worse. With one head the
    width is the contraction dimension, and the same code is right.

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
            logits = q @ k.transpose(-2, -1) / math.sqrt(c)
            weights = torch.softmax(logits, dim=-1)
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
            logits = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
            weights = torch.softmax(logits, dim=-1)
            return (weights @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Unsafe. The model computes something else afterwards, and a checkpoint was trained with the other scale.

    ## References
    Vaswani et al., Attention Is All You Need, 2017, section 3.2.2: d_k = d_model / h.
    """

    code = "ATT102"
    name = "wrong-dim-scale"
    asked = "last"

    @classmethod
    def test(cls, site: AttentionSite) -> Verdict | None:
        """What is proved to differ from d_k^-1/2, and is nothing else that has a name."""
        if site.form == "named" and (heads := head_count_under_root(site)) is not None:
            return fault(site, cls.name, evidence=(claim(heads.name),))
        literal = literal_factor(site)
        if (found := numbers(site)) is not None:
            size, net = found
            whole = 1.0 / net**2 == round(1.0 / net**2)
            return fault(site, cls.name) if literal is None and (whole or _of_all_heads(site, size, net)) else None
        if site.form not in FOLLOWED or site.scale is None:
            return None
        if not site.net.is_number:
            return fault(site, cls.name)
        axis = literal is None and site.scale.powers and fits_another_head(site, site.net)  # an axis, which is a number here
        return fault(site, cls.name) if axis else None

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.kind != self.name or site.culprit is None:
            return
        place = places.wrong_number(site.culprit)
        if place is not None:
            message = f"{derivation.headline(site, site.culprit)}, but q·k sums over {naming.contraction_words(site)}"
            yield Report(place, message, fixes.repair.correct_number(site))


def _of_all_heads(site: AttentionSite, size: float, net: float) -> bool:
    """Whether the root is of the head size times the size of another axis of the query: of the width of all heads."""
    others = {other.coefficient for other in site.operand_sizes if other.is_number}
    return any(other > 1 and abs(net**-2 - size * other) < 1e-6 * size * other for other in others)
