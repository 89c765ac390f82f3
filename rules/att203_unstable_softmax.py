"""ATT203: a hand-written softmax that exponentiates the logits as they are."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.domain.algebra import Monomial
from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Leaf, Origin, Product, Sum, Tensor
from attnlint.fixes import edits
from attnlint.model import Edit, Fix
from attnlint.rule import Report, Rule
from attnlint.sites.roles import argument, code
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst

# how the maximum over an axis is written beside the exponential of the same module
_MAXIMA = {
    "torch.exp": "torch.amax({x}, dim={axis}, keepdim=True)",
    "np.exp": "np.max({x}, axis={axis}, keepdims=True)",
    "numpy.exp": "numpy.max({x}, axis={axis}, keepdims=True)",
    "jnp.exp": "jnp.max({x}, axis={axis}, keepdims=True)",
    "tf.exp": "tf.reduce_max({x}, axis={axis}, keepdims=True)",
    "tf.math.exp": "tf.reduce_max({x}, axis={axis}, keepdims=True)",
    "K.exp": "K.max({x}, axis={axis}, keepdims=True)",
    "mx.exp": "mx.max({x}, axis={axis}, keepdims=True)",
    "paddle.exp": "paddle.max({x}, axis={axis}, keepdim=True)",
}


class UnstableSoftmax(Rule):
    """
    ## What it does
    Checks that a softmax written out as `exp(x) / exp(x).sum()` subtracts the maximum of the logits first.

    ## Why is this bad
    `exp` of 89 is infinite in float32, of 12 in float16: one large product of a query with a key turns a whole row into NaN.
    Subtracting the maximum changes no weight, and the largest exponential is 1.

    ## Example
    ```python
    import numpy as np


    def attention(q, k, v):
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        raised = np.exp(scores)
        return raised / raised.sum(axis=-1, keepdims=True) @ v
    ```

    ## Use instead
    ```python
    import numpy as np


    def attention(q, k, v):
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        raised = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
        return raised / raised.sum(axis=-1, keepdims=True) @ v
    ```

    ## Fix safety
    Safe: the weights are the same wherever they were finite.

    ## References
    Blanchard, Higham and Higham, Accurately Computing the Log-Sum-Exp and Softmax Functions, 2021.
    """

    code = "ATT203"
    name = "unstable-softmax"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        record = site.record
        origin = record.exponential
        if origin is None or not record.hand_written or record.stable or record.logits is None:
            return
        if site.query is not None and site.key is not None and site.query.normalised and site.key.normalised:
            return
        if not _as_they_are(record.logits) or (site.product is None and (record.axis is None or record.renormalised)):
            return
        yield Report(origin, f"`{code(origin)}` overflows for large logits: subtract their maximum first", _fix(record, origin))


def _as_they_are(logits: Tensor) -> bool:
    """Whether nothing may have been subtracted from the logits, and nothing bounds them."""
    if logits.nonlinear or logits.uncertain:
        return False
    if isinstance(logits.content, Leaf):  # additive attention: a projection onto a learned vector
        return logits.content.kind == "projection" and (
            "·" in logits.content.key or (logits.content.layer is not None and logits.content.layer.kind == "linear")
        )
    if isinstance(logits.content, Product):
        return True
    if not isinstance(logits.content, Sum):
        return False
    minus = Monomial.number(-1)
    return all(not term.nonlinear and not any(factor.value.equals(minus) for factor in term.factors) for term in logits.content.terms)


def _fix(record: SiteRecord, origin: Origin) -> Fix | None:
    """Subtract the maximum wherever the same exponential is written."""
    call = origin.node
    if not isinstance(call, cst.Call):
        return None
    axis = _axis_text(record.summed_at, origin)
    if axis is None:
        return None
    maximum = _MAXIMA.get(origin.unit.code(call.func))
    if maximum is None or len(call.args) != 1 or not isinstance(call.args[0].value, (cst.Name, cst.Attribute)):
        return None
    text = origin.unit.code(call.args[0].value)
    found: list[Edit] = []
    for node in _same_calls(record.normalised_at or origin, origin):
        found.append(edits.replace(Origin(origin.unit, node.args[0].value), f"{text} - {maximum.format(x=text, axis=axis)}"))
    return Fix("safe", "Subtract the maximum", tuple(found)) if found else None


def _axis_text(total: Origin | None, origin: Origin) -> str | None:
    """The axis as the sum names it: a number, or a name that the exponential beside it sees as well."""
    if total is None or not isinstance(total.node, cst.Call):
        return None
    call = total.node
    given = argument(call, "axis", "dim")
    if given is None:
        plain = [one for one in call.args if one.keyword is None]
        skip = 0 if isinstance(call.func, cst.Attribute) and not _is_module(total, call.func.value) else 1
        given = plain[skip] if len(plain) > skip else None
    if given is None:
        return None
    number = isinstance(given.value, cst.Integer) or (
        isinstance(given.value, cst.UnaryOperation) and isinstance(given.value.expression, cst.Integer)
    )
    if number or (isinstance(given.value, cst.Name) and total.unit is origin.unit):
        return total.unit.code(given.value)
    return None


def _is_module(origin: Origin, node: cst.BaseExpression) -> bool:
    """Whether `node` in `node.sum(…)` is a module, so that the tensor is the first argument."""
    return origin.unit.code(node).split(".")[0] in origin.unit.scope.imports


def _same_calls(whole: Origin, origin: Origin) -> list[cst.Call]:
    """The exponential itself, and those of the same text in the quotient."""
    text = origin.unit.code(origin.node)
    found: list[cst.Call] = [origin.node] if isinstance(origin.node, cst.Call) else []

    def visit(node: cst.CSTNode) -> None:
        if isinstance(node, cst.Call) and node is not origin.node and whole.unit.code(node) == text:
            found.append(node)
        for child in node.children:
            visit(child)

    if whole.unit is origin.unit:
        visit(whole.node)
    return found
