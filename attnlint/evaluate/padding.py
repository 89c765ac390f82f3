"""Sequences without their padding: batch and length folded into one axis of tokens, and taken apart again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlint.domain import shapes
from attnlint.domain.algebra import AXIS, Monomial, Symbol
from attnlint.domain.values import Items, Unknown, Value
from attnlint.evaluate import tensors

if TYPE_CHECKING:
    from attnlint.evaluate.interpreter import Interpreter
    from attnlint.evaluate.operations import Call


def unpad(engine: Interpreter, call: Call) -> Value:
    """The tokens that a mask keeps, and what tells where they were: indices, bounds, the longest length, the lengths used."""
    tensor = call.tensor()
    shape = shapes.select(tensor.shape, 0)
    if shape is not None and shape.lead is None and shape.axes:
        name = engine.fresh("tokens")
        shape = shapes.Shape((shapes.sized(Monomial.of(Symbol(name, "tokens", AXIS)), name), *shape.axes[1:]))
    kept = tensors.then(engine, tensor, call.node, shape=shape or shapes.unknown(engine.fresh("tokens")))
    return Items((kept, *(Unknown("where the tokens were") for _ in range(4))))


def pad(engine: Interpreter, call: Call) -> Value:
    """Tokens put back into a batch of padded sequences."""
    tensor = call.tensor()
    batch, length = call.scalar("batch"), call.scalar("length")
    axes = tensor.shape.axes
    if tensor.shape.lead is not None or not axes or batch is None or length is None:
        shape = shapes.Shape(axes, engine.fresh("padded")) if tensor.shape.lead is not None else shapes.unknown(engine.fresh("padded"))
    else:
        first = (shapes.sized(size.value, engine.fresh("padded")) for size in (batch, length))
        shape = shapes.Shape((*first, *axes[1:]))
    return tensors.then(engine, tensor, call.node, shape=shape)
