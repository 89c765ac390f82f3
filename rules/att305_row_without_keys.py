"""ATT305: a mask that leaves the first query without a key."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Scalar, Tensor
from attnlint.evidence.polarity import BEFORE, ONWARD
from attnlint.rule import Report, Rule
from attnlint.sites.roles import carrier_of, code, is_sure
from attnlint.sites.sites import AttentionSite

_DIRECTED = re.compile(r"back|bw|revers|right|anti|direction|futur", re.I)
_BACKWARDS = re.compile(r"back|bw|revers|right|anti|direction", re.I)
_REPAIRS = re.compile(r"nan_to_num|is_?nan|fill_diag|\beye\b|\bany\(|\ball\(", re.I)


class RowWithoutKeys(Rule):
    """
    ## What it does
    Checks that every query sees a key: a causal mask that hides the query itself leaves the first one with none.

    ## Why is this bad
    Softmax over a row of minus infinities is 0 / 0: the first position becomes NaN, and with it the loss. Filled with a large negative
    number instead, the row becomes a plain mean over all keys, also those to come.

    ## Example
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, size):
            super().__init__()
            self.q, self.k, self.v = nn.Linear(width, size), nn.Linear(width, size), nn.Linear(width, size)

        def forward(self, x):
            q, k, v = self.q(x), self.k(x), self.v(x)
            logits = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
            n = x.shape[1]
            hidden = torch.triu(torch.ones(n, n, dtype=torch.bool))
            logits = logits.masked_fill(hidden, float("-inf"))
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

        def forward(self, x):
            q, k, v = self.q(x), self.k(x), self.v(x)
            logits = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
            n = x.shape[1]
            hidden = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
            logits = logits.masked_fill(hidden, float("-inf"))
            return torch.softmax(logits, dim=-1) @ v
    ```

    ## Fix safety
    No fix: whether the position itself is to be seen, or the row is to be left out, is for its author to say.

    ## References
    PyTorch issue 41508: `nn.MultiheadAttention` gives NaN where all keys of a query are masked.
    """

    code = "ATT305"
    name = "row-without-keys"
    preview = True

    def check(self, site: AttentionSite) -> Iterable[Report]:
        record = site.record
        if _DIRECTED.search(record.qualname) or not is_sure(site) or _is_repaired(record):
            return
        if record.kernel is not None:
            given, origin = record.arguments.get("attn_mask"), record.argument_origins.get("attn_mask")
            if isinstance(given, Tensor) and given.dtype == "bool" and not given.masks and BEFORE in given.notes and origin is not None:
                yield Report(origin, _words(code(origin), "NaN"))
            return
        carrier = carrier_of(site)
        for mask in carrier.masks if carrier is not None else ():
            if (
                not isinstance(mask.mask, Tensor)
                or mask.origin is None
                or mask.mask.dtype != "bool"
                or _BACKWARDS.search(mask.mask.name or "")
            ):
                continue
            hidden = (mask.kind == "fill" and ONWARD in mask.mask.notes) or (mask.kind == "where" and BEFORE in mask.mask.notes)
            if hidden and isinstance(mask.value, Scalar) and mask.value.value.is_number and mask.value.value.coefficient < -100:
                infinite = mask.value.value.coefficient == -math.inf
                yield Report(mask.origin, _words(code(mask.origin), "NaN" if infinite else "a plain mean over all keys"))
                return


def _words(text: str, becomes: str) -> str:
    return f"`{text}` hides every position from itself as well: the first query has no key left and becomes {becomes}"


def _is_repaired(record: SiteRecord) -> bool:
    """Whether the function takes NaN away again, or fills the diagonal."""
    function = record.function
    return function is not None and _REPAIRS.search(function.unit.code(function.node)) is not None
