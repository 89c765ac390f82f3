"""ATT301: logits that a mask sets to zero, or to another ordinary number, before softmax."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Leaf, Mask, Origin, Product, Scalar, Sum, Tensor, Value, scale_of
from attnlint.evaluate.arithmetic import BROKEN, RANDOM, is_mask
from attnlint.evaluate.powers import number_of
from attnlint.evidence.polarity import NOTES, is_zero_one
from attnlint.fixes import edits
from attnlint.model import Fix
from attnlint.rule import Report, Rule
from attnlint.sites.roles import code, is_sure, positions
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst

_MASK = re.compile(r"mask|tril|triu|causal", re.I)
_OTHER = re.compile(r"drop|soft|weight|score|head", re.I)
_HIDING = 100.0
_ORDINARY = 1e-2  # fills of a smaller size stand for nothing but a zero or a slip of the sign


class MultiplicativeMask(Rule):
    """
    ## What it does
    Checks that masked logits become very negative, not zero: no product with a 0/1 mask, no `tril` of the logits, no fill with 0 or a
    tiny number.

    ## Why is this bad
    Softmax gives a logit of zero the weight `exp(0) = 1` over the sum, often more than the positions that are visible. The mask hides
    nothing. A product with a mask is right where the masked logits get a very negative number as well, as in `s * m - 1e9 * (1 - m)`.

    ## Example
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, head_dim):
            super().__init__()
            self.head_dim = head_dim
            self.q, self.k, self.v = nn.Linear(width, head_dim), nn.Linear(width, head_dim), nn.Linear(width, width)

        def forward(self, x, mask):
            logits = self.q(x) @ self.k(x).transpose(-2, -1) / self.head_dim**0.5
            logits = logits * mask
            return torch.softmax(logits, dim=-1) @ self.v(x)
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

        def forward(self, x, mask):
            logits = self.q(x) @ self.k(x).transpose(-2, -1) / self.head_dim**0.5
            logits = logits.masked_fill(mask == 0, float("-inf"))
            return torch.softmax(logits, dim=-1) @ self.v(x)
    ```

    ## Fix safety
    Unsafe: the weights change, and a row of which every key is masked becomes NaN, where it was a plain mean.

    ## References
    Vaswani et al., Attention Is All You Need, 2017, section 3.2.3: masked connections are set to minus infinity.
    """

    code = "ATT301"
    name = "multiplicative-mask"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        logits = site.record.logits
        if logits is None or site.product is None or not is_sure(site) or (site.record.renormalised and site.record.after_masks):
            return  # what is masked and normalised after softmax may hold any logit before it
        masks, compensated = _masks(logits, site.product)
        if compensated or any(_hides(mask) for mask in masks):
            return
        for mask in masks:
            if _of_rows(site.record, mask) or _repairs(mask) or (mask in logits.masks and _has_mask_term(logits)):
                continue
            if mask.origin is not None and (what := _fault(mask)) is not None:
                yield Report(mask.origin, f"{what}: softmax gives exp(0) = 1 to what should have no weight", _fix(mask))
                return


def _masks(tensor: Tensor, product: Product) -> tuple[tuple[Mask, ...], bool]:
    """The masks on the way from the product to softmax, and whether terms are added after one of them."""
    if not isinstance(tensor.content, Sum):
        return tensor.masks, False
    for term in tensor.content.terms:
        if term.content is product or (isinstance(term.content, Sum)):
            inner, added = _masks(term, product)
            beside = any(other is not term and not _adds_little(other) for other in tensor.content.terms)
            return (*inner, *tensor.masks), added or (bool(inner) and beside)
    return tensor.masks, False


def _adds_little(term: Tensor) -> bool:
    """A share of a mask too small to hide anything: `1e-9 * (1 - mask)`."""
    net = scale_of(term.factors)
    return is_mask(term) and net.is_number and abs(net.coefficient) < _HIDING


def _of_rows(record: SiteRecord, mask: Mask) -> bool:
    """A mask that is the same for every key: whole rows are set to one number, and come out as a plain mean."""
    if not isinstance(mask.mask, Tensor) or record.logits is None:
        return False
    places = positions(record.logits.shape, [record.axis]) if record.axis is not None else frozenset()
    axes = mask.mask.shape.axes
    return bool(places) and all(-place <= len(axes) and axes[place].size.is_one for place in places)


def _repairs(mask: Mask) -> bool:
    """A mask of what is NaN or infinite takes accidents away, a random one drops logits: neither hides keys."""
    return isinstance(mask.mask, Tensor) and bool(mask.mask.notes & (RANDOM | {BROKEN}))


def _has_mask_term(logits: Tensor) -> bool:
    """Whether a mask was added before: what is then set to 0 are the rows that it leaves without keys."""
    return isinstance(logits.content, Sum) and any(_MASK.search(term.name or "") for term in logits.content.terms)


def _hides(mask: Mask) -> bool:
    """A fill with a very negative number, or with one that is not known."""
    if mask.kind not in ("fill", "where") or _is_zeros(mask.value) or _is_times_own_zero(mask):
        return False
    return not isinstance(mask.value, Scalar) or not mask.value.value.is_number or not abs(mask.value.value.coefficient) <= _ORDINARY


def _is_zeros(value: Value | None) -> bool:
    return isinstance(value, Tensor) and isinstance(value.content, Leaf) and bool(value.notes & {"zeros", "zeros_like"})


def _is_times_own_zero(mask: Mask) -> bool:
    """`where(mask == 0, mask * -1e9, logits)`: where the mask is 0, so is the product."""
    call = mask.origin.node if mask.origin is not None and mask.kind == "fill" else None
    if not isinstance(call, cst.Call) or len(call.args) != 3:
        return False
    match call.args[0].value, call.args[1].value:
        case (
            cst.Comparison(left=held, comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=number)]),
            cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right),
        ):
            return number_of(number) == 0 and (held.deep_equals(left) or held.deep_equals(right))
    return False


def _fault(mask: Mask) -> str | None:
    text = code(mask.origin)
    if _is_times_own_zero(mask):
        return f"`{text}` multiplies the fill by a mask that is 0 there, and sets masked logits to 0"
    if mask.kind == "triangle":
        return f"`{text}` sets logits to 0"
    if mask.kind in ("fill", "where"):
        number = mask.value.value.coefficient if isinstance(mask.value, Scalar) else 0.0
        return f"`{text}` sets masked logits to {number:g}"
    if mask.kind == "multiply" and _is_zero_one(mask.mask):
        return f"`{text}` multiplies masked logits by 0"
    return None


def _is_zero_one(value: Value | None) -> bool:
    """A mask by its type, or by its name."""
    if not isinstance(value, Tensor) or value.notes & RANDOM:
        return False
    if value.notes & {"ones", "ones_like"} and not value.notes & NOTES:
        return False  # it hides nothing
    if value.dtype == "bool" or is_zero_one(value):
        return True
    names = [value.name or ""]
    if isinstance(value.content, Leaf):
        names.append(value.content.key.rpartition(".")[2])
    if isinstance(value.content, Sum):  # 1 - mask
        names += [term.name or "" for term in value.content.terms]
    return any(_MASK.search(name) and not _OTHER.search(name) for name in names)


def _fix(mask: Mask) -> Fix | None:
    """Fill with minus infinity, where the mask and the logits are written so that it can be said in place."""
    origin = mask.origin
    if origin is None or not edits.is_torch(origin):
        return None
    node = origin.node
    if mask.kind == "fill" and isinstance(mask.value, Scalar) and isinstance(node, cst.Call):
        number = node.args[-1].value if node.args else None
        if isinstance(number, (cst.Float, cst.Integer)):
            return Fix("unsafe", "Fill with minus infinity", (edits.replace(Origin(origin.unit, number), 'float("-inf")'),))
    if (
        mask.kind == "multiply"
        and isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Multiply)
        and isinstance(node.left, cst.Name)
    ):
        right = origin.unit.code(node.right)
        if not isinstance(node.right, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or origin.unit.is_grouped(node):
            return None
        return Fix(
            "unsafe", "Fill with minus infinity", (edits.replace(origin, f'{node.left.value}.masked_fill({right} == 0, float("-inf"))'),)
        )
    return None
