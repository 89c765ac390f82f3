"""ATT302: attention weights that are masked after softmax and not normalised again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Leaf, Mask, Origin, Scalar, Tensor
from attnlint.evaluate.arithmetic import BROKEN, PRUNED, RANDOM
from attnlint.evaluate.tensors import others_of
from attnlint.rule import Report, Rule
from attnlint.sites.roles import code, is_sure, placement, ways
from attnlint.sites.sites import AttentionSite

_HEADS_IN_WORDS = re.compile(r"#.*\bmask\w*\b.*\bheads?\b|#.*\bheads?\b.*\bmask", re.I)
_OTHER = re.compile(r"drop|head|rand|bernoulli", re.I)


class MaskAfterSoftmax(Rule):
    """
    ## What it does
    Checks that the keys are masked before softmax, or that the rows are normalised again.

    ## Why is this bad
    The hidden keys have taken their share of the sum before they are set to zero: the weights that are left add up to less than one, by
    an amount that depends on what should not be seen. A fill with minus infinity after softmax puts it into the output.
    Masks of whole rows or heads are something else, and so is a mask that was applied before softmax as well.

    ## Example
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, head_dim):
            super().__init__()
            self.head_dim = head_dim
            self.q, self.k, self.v = nn.Linear(width, head_dim), nn.Linear(width, head_dim), nn.Linear(width, width)

        def forward(self, x, padding):
            logits = self.q(x) @ self.k(x).transpose(-2, -1) / self.head_dim**0.5
            weights = torch.softmax(logits, dim=-1)
            weights = weights.masked_fill(padding[:, None, :], 0.0)
            return weights @ self.v(x)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, head_dim):
            super().__init__()
            self.head_dim = head_dim
            self.q, self.k, self.v = nn.Linear(width, head_dim), nn.Linear(width, head_dim), nn.Linear(width, width)

        def forward(self, x, padding):
            logits = self.q(x) @ self.k(x).transpose(-2, -1) / self.head_dim**0.5
            logits = logits.masked_fill(padding[:, None, :], float("-inf"))
            weights = torch.softmax(logits, dim=-1)
            return weights @ self.v(x)
    ```

    ## Fix safety
    No fix: a statement has to move, and other statements may stand between.

    ## References
    Vaswani et al., Attention Is All You Need, 2017, section 3.2.3: illegal connections are masked in the input of the softmax.
    """

    code = "ATT302"
    name = "mask-after-softmax"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if any(one.record.renormalised or _masked_before(one.record) for one in ways(site)):
            return
        for one in ways(site):
            for mask in one.record.after_masks:
                if mask.origin is None or not is_sure(one):
                    continue
                if _ruins(mask):
                    yield Report(
                        mask.origin, f"`{code(mask.origin)}` puts very negative numbers into the weights: it belongs before softmax"
                    )
                    return
                if _hides_keys(one, mask) and not _of_heads_in_words(mask.origin):
                    yield Report(
                        mask.origin,
                        f"`{code(mask.origin)}` hides keys after softmax: the weights left do not add up to 1;"
                        " mask the logits, or normalise again",
                    )
                    return


def _of_heads_in_words(origin: Origin) -> bool:
    """Whether a comment beside the statement, or above it and its condition, says that heads are masked."""
    row = origin.unit.span(origin.node).start.row
    return any(_HEADS_IN_WORDS.search(line) is not None for line in origin.unit.scope.lines[max(0, row - 3) : row])


def _masked_before(record: SiteRecord) -> bool:
    """A mask on the logits, or a term that may be one: the second mask is then harmless."""
    logits = record.logits
    if logits is None or logits.masks or record.exponential_masks:
        return True
    if any(term.masks for term in getattr(logits.content, "terms", ())):
        return True
    return any(not (isinstance(term.content, Leaf) and term.content.kind == "parameter") for term in others_of(logits))


def _ruins(mask: Mask) -> bool:
    return (
        mask.kind in ("fill", "where")
        and isinstance(mask.value, Scalar)
        and mask.value.value.is_number
        and mask.value.value.coefficient < -100
    )


def _hides_keys(site: AttentionSite, mask: Mask) -> bool:
    """Whether the mask is proved to differ from key to key: it is no mask of heads or of whole rows."""
    if mask.kind in ("fill", "where") and not (
        isinstance(mask.value, Scalar) and mask.value.value.is_number and mask.value.value.coefficient == 0
    ):
        return False
    found = placement(site.record)
    if found is None or found.softmax != found.values:
        return False
    if mask.kind == "triangle":
        return found.values <= {-1, -2}
    if not isinstance(mask.mask, Tensor) or _OTHER.search(mask.mask.name or "") or mask.mask.notes & (RANDOM | {PRUNED, BROKEN}):
        return False
    axes = mask.mask.shape.axes
    return any(-place <= len(axes) and not axes[place].size.is_one for place in found.values)
