"""ATT402: a view that mixes up heads and positions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attnlint.domain.values import Origin, condition_text
from attnlint.fixes import edits
from attnlint.model import Edit, Fix, Position, Span
from attnlint.rule import Report, Rule
from attnlint.sites.roles import code, is_sure, least, ways
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst

_DECODES = re.compile(r"decod(e|es|ing)(?![a-z])|incremental", re.I)
_NO_CACHE = re.compile(r"(past|cache)\w* is None", re.I)


class ScrambledHeads(Rule):
    """
    ## What it does
    Checks that heads are split off by a view of the features followed by a transpose, and merged by a transpose followed by a view.

    ## Why is this bad
    `view` and `reshape` keep the order of the elements. `(batch, positions, heads * d)` viewed as `(batch, heads, positions, d)` makes
    up each "head" of all features of some positions; `(batch, heads, positions, d)` viewed as `(batch, positions, heads * d)` makes up
    each position of several positions of one head. Nothing fails, and the model attends across positions that a causal mask should
    hide.

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
            weights = torch.softmax(q @ k.transpose(-2, -1) / self.head_dim**0.5, dim=-1)
            return (weights @ v).reshape(b, t, c)
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
    Unsafe: the model computes something else afterwards, and a checkpoint was trained with the mixed-up heads. Offered for the merge
    alone; where the split is at fault, the views of query, key and value and the merge have to change together.

    ## References
    PyTorch, `torch.Tensor.view`: the elements keep their order.
    """

    code = "ATT402"
    name = "scrambled-heads"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        record = site.record
        if site.product is not None and not is_sure(site):
            return
        operands = (("query", site.query), ("key", site.key), ("value", record.value))
        for what, tensor in operands:
            for text, origin in tensor.scrambled if tensor is not None else ():
                kind, _, layouts = text.partition(": ")
                if kind in ("split", "merge") and origin is not None:
                    yield Report(
                        origin, f"`{code(origin)}` mixes up the {what}'s heads and positions: the elements lie as {_layouts(layouts)}"
                    )
                    return
        for text, origin in record.merges if not (least(site) or "interface" in record.notes) else ():
            kind, _, layouts = text.partition(": ")
            if kind in ("split", "merge") and origin is not None and not _one_position(site, origin):
                yield Report(
                    origin,
                    f"`{code(origin)}` mixes up heads and positions of the output: the elements lie as {_layouts(layouts, merge=True)}",
                    _fix(origin, layouts),
                )
                return


def _one_position(site: AttentionSite, merge: Origin) -> bool:
    """Whether a merge is met only where tokens are decoded one by one, with a cache at hand: one position lies as it has to."""
    met = [way.record for way in ways(site) if any(origin is not None and origin.node is merge.node for _, origin in way.record.merges)]
    return bool(met) and all(
        any((_DECODES if truth else _NO_CACHE).search(condition_text(key)) for key, truth in record.path) for record in met
    )


def _layouts(text: str, merge: bool = False) -> str:
    """Which layout the sizes say, and which the elements have."""
    said, _, lie = text.partition(" → ")
    return f"{lie}, the view takes them for {said}" if merge else f"{said}, the view takes them for {lie}"


def _fix(origin: Origin, layouts: str) -> Fix | None:
    """Swap heads and positions before they are merged."""
    node = origin.node
    _, _, lie = layouts.partition(" → ")
    if not (isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and edits.is_torch(origin)) or lie.count(",") != 3:
        return None
    if node.func.attr.value not in ("view", "reshape"):
        return None
    attribute = origin.unit.span(node.func.attr)
    place = Span(Position(attribute.start.row, attribute.start.column), attribute.end)
    return Fix("unsafe", "Swap heads and positions before the merge", (Edit("transpose(1, 2).reshape", place),))
