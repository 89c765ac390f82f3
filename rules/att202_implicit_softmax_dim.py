"""ATT202: a softmax of PyTorch that is given no axis."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.domain.values import Origin
from attnlint.fixes import edits
from attnlint.model import Edit, Fix
from attnlint.rule import Report, Rule
from attnlint.sites.roles import argument, code, roles, value_positions
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst


class ImplicitSoftmaxDim(Rule):
    """
    ## What it does
    Checks that a softmax over attention logits is told its axis, where the framework would choose one by the number of axes.

    ## Why is this bad
    Without `dim`, PyTorch takes axis 0 of one or three axes and axis 1 of any other number: of logits `(batch, queries, keys)` it
    normalises over the batch, of `(batch, heads, queries, keys)` over the heads. The choice is deprecated and only warns.

    ## Example
    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, head_dim):
            super().__init__()
            self.head_dim = head_dim
            self.q, self.k, self.v = nn.Linear(width, head_dim), nn.Linear(width, head_dim), nn.Linear(width, width)

        def forward(self, x):
            logits = torch.bmm(self.q(x), self.k(x).transpose(1, 2)) / self.head_dim**0.5
            return torch.bmm(F.softmax(logits), self.v(x))
    ```

    ## Use instead
    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, head_dim):
            super().__init__()
            self.head_dim = head_dim
            self.q, self.k, self.v = nn.Linear(width, head_dim), nn.Linear(width, head_dim), nn.Linear(width, width)

        def forward(self, x):
            logits = torch.bmm(self.q(x), self.k(x).transpose(1, 2)) / self.head_dim**0.5
            return torch.bmm(F.softmax(logits, dim=-1), self.v(x))
    ```

    ## Fix safety
    Safe where the logits have two axes, of which PyTorch takes the last anyway; else unsafe: the softmax goes over another axis afterwards.

    ## References
    PyTorch, `torch.nn.functional.softmax`: the implicit dimension choice is deprecated.
    """

    code = "ATT202"
    name = "implicit-softmax-dim"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        record = site.record
        if not record.implicit_axis or record.softmax is None or record.logits is None:
            return
        rank = record.logits.shape.rank
        values = value_positions(record)
        place = next(iter(values)) if len(values) == 1 else -1
        layer = record.axis_origin if record.axis_origin is not None and isinstance(record.axis_origin.node, cst.Call) else None
        origin = layer or record.softmax
        takes = (
            f"PyTorch takes axis {0 if rank in (1, 3) else 1} of {rank} axes"
            if rank is not None
            else "PyTorch chooses by the number of axes"
        )
        summed = f", the values are summed over {roles(site, values)} (axis {place})" if values else ""
        edit = _edit(origin, place)
        safe = rank == 2 and place == -1
        fix = Fix("safe" if safe else "unsafe", f"Add dim={place}", (edit,)) if edit is not None else None
        yield Report(origin, f"`{code(origin)}` has no axis: {takes}{summed}; write dim={place}", fix)


def _edit(origin: Origin, place: int) -> Edit | None:
    node = origin.node
    given = argument(node, "dim")
    if given is not None:
        return edits.replace(Origin(origin.unit, given.value), str(place))
    if isinstance(node, cst.Call) and any(isinstance(one.value, cst.Name) and one.value.value == "None" for one in node.args):
        return None
    return edits.add_argument(origin, f"dim={place}")
