"""ATT303: a mask that is the same for every key of a row."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.domain.values import Mask, Scalar, Tensor
from attnlint.evaluate.tensors import others_of
from attnlint.rule import Report, Rule
from attnlint.sites.roles import carrier_of, code, guessed, is_sure, positions
from attnlint.sites.sites import AttentionSite


class MaskWrongAxis(Rule):
    """
    ## What it does
    Checks that what hides logits differs from key to key: the padding of the keys stands on the axis that softmax goes over.

    ## Why is this bad
    A mask that is the same for all keys of a query hides none of them: the row of a padded query becomes NaN, or a plain mean, and every
    other row goes on reading the padded keys. With as many queries as keys nothing fails. Padded queries may be masked as well, where
    another mask hides the keys.

    ## Example
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, size):
            super().__init__()
            self.q, self.k, self.v = nn.Linear(width, size), nn.Linear(width, size), nn.Linear(width, size)

        def forward(self, x, keep):
            q, k, v = self.q(x), self.k(x), self.v(x)
            logits = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
            logits = logits.masked_fill(~keep[:, :, None], -1e9)
            return torch.softmax(logits, dim=-1) @ v
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, size):
            super().__init__()
            self.q, self.k, self.v = nn.Linear(width, size), nn.Linear(width, size), nn.Linear(width, size)

        def forward(self, x, keep):
            q, k, v = self.q(x), self.k(x), self.v(x)
            logits = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
            logits = logits.masked_fill(~keep[:, None, :], -1e9)
            return torch.softmax(logits, dim=-1) @ v
    ```

    ## Fix safety
    No fix: which axis the mask came with is for its author to say.

    ## References
    Vaswani et al., Attention Is All You Need, 2017, section 3.2.3: masked connections are set to minus infinity.
    """

    code = "ATT303"
    name = "mask-wrong-axis"
    preview = True

    def check(self, site: AttentionSite) -> Iterable[Report]:
        carrier = carrier_of(site)
        if carrier is None or site.record.axis is None or not is_sure(site) or guessed(site):
            return
        logits = site.record.logits
        if logits is None or others_of(logits):
            return  # what is added may hide the keys
        place = positions(carrier.shape, [site.record.axis])
        if not place:
            return
        masks = [mask for mask in carrier.masks if hides(mask)]
        if not masks or not all(_same_for_all_keys(mask, carrier, place) for mask in masks):
            return
        where = masks[0].origin
        if where is not None:
            yield Report(
                where,
                f"`{code(where)}` hides whole rows: the mask is the same for all keys, and hides none of them",
            )


def hides(mask: Mask) -> bool:
    """Whether a mask sets logits to a very negative number, or to one that is not known."""
    if mask.kind not in ("fill", "where"):
        return False
    value = mask.value
    return not (isinstance(value, Scalar) and value.value.is_number and value.value.coefficient > -100)


def _same_for_all_keys(mask: Mask, carrier: Tensor, keys: frozenset[int]) -> bool:
    """Whether the mask is known to have size 1 where the keys lie, and to have another axis of its own."""
    if not isinstance(mask.mask, Tensor):
        return False
    axes = mask.mask.shape.axes
    known = all(-place <= len(axes) and axes[place].size.is_one for place in keys)
    queries = [place for place in (-1, -2) if place not in keys]
    wide = mask.mask.shape.lead is not None or any(-place <= len(axes) and not axes[place].size.is_one for place in queries)
    return known and wide and not any(axis.size.is_one for axis in carrier.shape.axes[-2:])
