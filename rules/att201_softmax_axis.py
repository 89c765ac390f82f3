"""ATT201: softmax over another axis than the one that is summed with the values."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Origin
from attnlint.fixes import edits
from attnlint.model import Fix
from attnlint.rule import Report, Rule
from attnlint.sites.roles import Placement, argument, code, guessed, is_data, is_sure, placement, roles, two_way, ways
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst


class SoftmaxAxis(Rule):
    """
    ## What it does
    Checks that softmax normalises over the axis that is then summed with the values, wherever that axis stands.

    ## Why is this bad
    Attention is a weighted mean of the values: for every query the weights over the keys add up to one. Softmax over the
    queries, the heads or the batch gives weights that compete across what is never summed, so the output grows and shrinks with
    the number of keys. A softmax over the queries whose weights are normalised over the keys again (slot attention) is right.

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
            weights = torch.softmax(q @ k.transpose(-2, -1) / self.head_dim**0.5, dim=-2)
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
            weights = torch.softmax(q @ k.transpose(-2, -1) / self.head_dim**0.5, dim=-1)
            return (weights @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Unsafe: the model computes something else afterwards, and a checkpoint was trained with the other axis.

    ## References
    Vaswani et al., Attention Is All You Need, 2017, equation 1. Locatello et al., Object-Centric Learning with Slot Attention, 2020,
    for the softmax over queries that is normalised again.
    """

    code = "ATT201"
    name = "softmax-axis"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        for one in ways(site):
            record = one.record
            origin = record.anchor or record.softmax
            if origin is None or record.renormalised or record.online or record.value is None:
                continue
            if not is_sure(one) or guessed(one) or not is_data(record.value):
                continue
            found = placement(record)
            if found is None or not found.apart or two_way(one, site.siblings):  # in this order: the last looks at every site of the file
                continue
            over = roles(one, found.softmax) if found.softmax else f"axis {found.front}"
            yield Report(
                origin,
                f"softmax normalises over {over}, the values are summed over {roles(one, found.values)} in `{code(record.value_origin)}`",
                _fix(record, found),
            )
            return


def _fix(record: SiteRecord, found: Placement) -> Fix | None:
    """Write the right axis where one number says which it is."""
    origin = record.axis_origin
    if origin is None or len(found.values) != 1:
        return None
    place = next(iter(found.values))
    node = origin.node
    if isinstance(node, cst.Call):  # the layer that was made
        given = argument(node, "dim", "axis") or (node.args[0] if node.args else None)
        if given is None:
            return None
        node = given.value
    if not isinstance(node, (cst.Integer, cst.UnaryOperation)):
        return None
    return Fix("unsafe", f"Normalise over axis {place}", (edits.replace(Origin(origin.unit, node), str(place)),))
