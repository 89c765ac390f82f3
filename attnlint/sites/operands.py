"""The two sides of a product: what their data are made of, behind everything that is added to them or multiplies them."""

from __future__ import annotations

from dataclasses import dataclass

from attnlint.domain.values import Concat, Elementwise, Factor, Leaf, Output, Product, Sum, Tensor, Weights
from attnlint.evaluate.tensors import main_term

_DEEPEST = 6  # additions within additions


@dataclass(frozen=True, eq=False)
class Operand:
    """One side of the product: the tensor whose features are contracted, and every factor on it."""

    tensor: Tensor
    factors: tuple[Factor, ...]
    main: Tensor  # the term that carries the data


def operand_of(tensor: Tensor) -> Operand:
    """See through additions to a query (relative position biases) to the term that carries the data."""
    main, factors = tensor, tensor.factors
    for _ in range(_DEEPEST):
        if not isinstance(main.content, Sum) or (term := main_term(main.content)) is None:
            break
        factors = (*term.factors, *factors)
        main = term
    return Operand(tensor, factors, main)


def kind_of(tensor: Tensor) -> str:
    """What the data of an operand come from: the kind of its leaf, "product", or "opaque" where that is not known."""
    content = operand_of(tensor).main.content
    if isinstance(content, Leaf):
        return content.kind
    if isinstance(content, Concat):
        kinds = [kind_of(part) for part in content.parts]
        return next((kind for kind in ("projection", "array", "argument", "opaque") if kind in kinds), "opaque")
    if isinstance(content, Elementwise):
        kinds = [kind_of(content.left), kind_of(content.right)]
        return next((kind for kind in ("projection", "array", "argument") if kind in kinds), "opaque")
    if isinstance(content, Output):
        return "projection"
    return "product" if isinstance(content, (Weights, Product)) else "opaque"
