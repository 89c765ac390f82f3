"""Neighbourhood attention in two calls: every query with the keys in its window, and the weights with their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlint.domain import shapes
from attnlint.domain.algebra import AXIS, Monomial, Symbol
from attnlint.domain.values import Value
from attnlint.evaluate import tensors

if TYPE_CHECKING:
    from attnlint.evaluate.interpreter import Interpreter
    from attnlint.evaluate.operations import Call


def logits(engine: Interpreter, call: Call) -> Value:
    """The features of query and key are summed over, and the axis of the neighbours comes last; a bias is added where one is given."""
    query, key = call.tensor("query"), call.tensor("key")
    left, right = shapes.axis_of(query.shape, -1), shapes.axis_of(key.shape, -1)
    if left is None or right is None:
        return engine.opaque_tensor("a product with neighbours of unknown shapes", node=call.node)
    name = engine.fresh("neighbours")
    count = shapes.sized(Monomial.of(Symbol(name, "neighbours", AXIS)), name)
    shape = shapes.Shape((*left[0].axes[:-1], count), left[0].lead)
    contraction = shapes.Contraction(shape, shapes.better(left[1], right[1]).size, (left[1],), (right[1],))
    product = tensors.contract(engine, query, key, contraction, call.node)
    if call.get("bias") is None:
        return product
    return tensors.sum_of(engine, product, call.tensor("bias").but(shape=product.shape), False, call.node)


def values(engine: Interpreter, call: Call) -> Value:
    """The weights over the neighbours meet their values."""
    weights, value = call.tensor("weights"), call.tensor("value")
    found, last = shapes.axis_of(weights.shape, -1), shapes.axis_of(value.shape, -1)
    if found is None or last is None or tensors.site_of_weights(engine, weights) is None:
        return engine.opaque_tensor("values of neighbours", node=call.node)
    shape = shapes.Shape((*found[0].axes[:-1], last[1]), found[0].lead)
    return tensors.contract(engine, weights, value, shapes.Contraction(shape, found[1].size, (found[1],), ()), call.node)
