"""ATT304: a mask that is repeated for the heads in another order than the rows lie in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attnlint import fixes
from attnlint.domain.values import Mask, Origin, Tensor
from attnlint.evaluate.powers import called
from attnlint.rule import Report, Rule
from attnlint.sites.roles import carrier_of, code, is_sure, size_name
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst

_REPEATS = ("repeat", "tile", "repeat_interleave")


class MaskHeadOrder(Rule):
    """
    ## What it does
    Checks that a mask is repeated for the heads in the order in which batch and heads are folded into one axis.

    ## Why is this bad
    Rows that are folded as `(batch * heads)` hold all heads of the first sample, then those of the second. `mask.repeat(heads, 1, 1)`
    holds the masks of all samples, and those again: from the second row on a sample is masked with the padding of another. With one
    sample, or samples of one length, nothing shows.

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

        def forward(self, x, mask):
            b, n, c = x.shape
            q, k, v = self.fold(self.q(x)), self.fold(self.k(x)), self.fold(self.v(x))
            logits = torch.bmm(q, k.transpose(1, 2)) / self.size**0.5
            logits = logits.masked_fill(mask.repeat(self.heads, 1, 1) == 0, -1e9)
            out = torch.bmm(torch.softmax(logits, dim=-1), v)
            return out.view(b, self.heads, n, self.size).transpose(1, 2).reshape(b, n, c)
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

        def forward(self, x, mask):
            b, n, c = x.shape
            q, k, v = self.fold(self.q(x)), self.fold(self.k(x)), self.fold(self.v(x))
            logits = torch.bmm(q, k.transpose(1, 2)) / self.size**0.5
            logits = logits.masked_fill(mask.repeat_interleave(self.heads, dim=0) == 0, -1e9)
            out = torch.bmm(torch.softmax(logits, dim=-1), v)
            return out.view(b, self.heads, n, self.size).transpose(1, 2).reshape(b, n, c)
    ```

    ## Fix safety
    No fix: the mask may be folded for other rows as well.

    ## References
    PyTorch, `torch.Tensor.repeat` and `torch.repeat_interleave`: the first repeats the whole, the second each element.
    """

    code = "ATT304"
    name = "mask-head-order"
    preview = True

    def check(self, site: AttentionSite) -> Iterable[Report]:
        carrier = carrier_of(site)
        if carrier is None or not carrier.shape.axes or carrier.shape.lead is not None or not is_sure(site):
            return
        atoms = carrier.shape.axes[0].atoms
        if len(atoms) != 2:
            return
        for mask in carrier.masks:
            if mask.origin is None or not isinstance(mask.mask, Tensor):
                continue
            for origin in _repeats(mask, mask.mask):
                count = _count(origin.node)
                held = fixes.available.place(site, origin).evaluate(count) if count is not None else None
                if held is None or site.facts.equal(atoms[0].size, atoms[1].size):
                    continue
                inner = called(origin.node) == "repeat_interleave" if isinstance(origin.node, cst.Call) else False
                heads = 1 if inner else 0  # where the repeated count lies in the mask's first axis
                if site.facts.equal(held, atoms[1 - heads].size) and not site.facts.equal(held, atoms[heads].size):
                    lie = ", ".join(size_name(site, atom.size) for atom in atoms)
                    yield Report(origin, f"`{code(origin)}` repeats the mask in another order than the rows lie in, which is ({lie})")
                    return


def _repeats(mask: Mask, tensor: Tensor) -> Iterator[Origin]:
    """The calls that repeat the mask along its first axis, in the expression of the mask or before it."""
    assert mask.origin is not None
    pending: list[cst.CSTNode] = [mask.origin.node]
    found: list[Origin] = list(tensor.history)
    while pending:
        node = pending.pop()
        found += [Origin(mask.origin.unit, node)] if isinstance(node, cst.Call) else []
        pending += node.children
    seen: set[int] = set()
    for origin in found:
        if (
            id(origin.node) not in seen
            and isinstance(origin.node, cst.Call)
            and called(origin.node) in ("repeat", "tile", "repeat_interleave")
        ):
            seen.add(id(origin.node))
            yield origin


def _count(node: cst.CSTNode) -> cst.BaseExpression | None:
    """How often the first axis is repeated; None where another one is, too, or that is not plain."""
    if not isinstance(node, cst.Call):
        return None
    numbers = [one.value for one in node.args if one.keyword is None]
    if called(node) == "repeat_interleave":
        if not isinstance(node.func, cst.Attribute) or (isinstance(node.func.value, cst.Name) and node.func.value.value == "torch"):
            numbers = numbers[1:]
        axis = next((one.value for one in node.args if one.keyword is not None and one.keyword.value in ("dim", "axis")), None)
        axis = axis if axis is not None else numbers[1] if len(numbers) > 1 else None
        return numbers[0] if numbers and isinstance(axis, cst.Integer) and axis.evaluated_value == 0 else None
    if numbers and isinstance(numbers[-1], (cst.Tuple, cst.List)):
        numbers = [element.value for element in numbers[-1].elements]
    ones = [isinstance(one, cst.Integer) and one.evaluated_value == 1 for one in numbers]
    return numbers[0] if len(numbers) > 1 and not ones[0] and all(ones[1:]) else None
