"""The heap: which tensors share their memory, and what was done in place to it.

A name refers to a tensor, a tensor to a piece of a `Storage`. What is done in place is an `Effect` on the storage, and every
tensor of it learns of the effect when it is read next: an alias and a view as well as the name that was written.

    q = x[0]; k = x[1]; q *= s      # the effect on x[0] is seen by q, not by k, and makes x a tensor that is scaled in part
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from attnlint.domain.algebra import Monomial

if TYPE_CHECKING:
    from attnlint.domain.shapes import Shape
    from attnlint.domain.values import Factor, Mask, Tensor, Value

_serial = itertools.count(1)


@dataclass(frozen=True)
class Part:
    """A piece along one axis: from `low` to `high` of what is named by `cut`; without bounds, some piece."""

    cut: str
    low: Monomial | None = None
    high: Monomial | None = None


Region = tuple[Part, ...]  # pieces of pieces; none at all is the whole
_COPY = "a copy, or none"


def perhaps_copied() -> Part:
    """What `reshape` or `contiguous` gives: it shares its memory, or it is a copy."""
    return Part(f"{_COPY} {next(_serial)}")


def some_piece() -> Part:
    """A piece of which it is not known where it lies."""
    return Part(f"a piece {next(_serial)}")


class Storage:
    """The memory of a tensor. `either` names the tensors that a value may be, where paths that differ in it were joined."""

    __slots__ = ("either", "initial")

    def __init__(self, initial: Value, either: tuple[Held, ...] = ()) -> None:
        self.initial = initial
        self.either = either


class Cell:
    """The identity of a list or dictionary; `initial` is what it held first."""

    __slots__ = ("initial",)

    def __init__(self, initial: Value) -> None:
        self.initial = initial


@dataclass(frozen=True, eq=False)
class Held:
    """Where a tensor lies, and which effects on that storage it shows already."""

    storage: Storage
    region: Region = ()
    seen: frozenset[Effect] = frozenset()


@dataclass(frozen=True, eq=False)
class Effect:
    """Something that was done in place to a region of a storage.

    Factors and masks are added; `written` stands there instead of what was there before, for who looks at it as `shape`;
    `lost` says why it is not known what is there now.
    """

    region: Region
    factors: tuple[Factor, ...] = ()
    masks: tuple[Mask, ...] = ()
    written: Tensor | None = None
    shape: Shape | None = None
    lost: str | None = None


class Overlap(Enum):
    """How the region of an effect meets the region of a tensor."""

    NONE = "none"
    ALL = "all"  # the effect covers all of the tensor
    SOME = "some"  # it covers a part of it
    UNSURE = "unsure"


def overlap(done: Region, seen: Region) -> Overlap:
    """How an effect on `done` meets a tensor that lies at `seen`."""
    for mine, other in zip(done, seen, strict=False):
        if mine == other:
            continue
        return Overlap.NONE if mine.cut == other.cut and _apart(mine, other) else Overlap.UNSURE
    further = (*done[len(seen) :], *seen[len(done) :])
    if any(part.cut.startswith(_COPY) for part in further):
        return Overlap.UNSURE
    return Overlap.SOME if len(done) > len(seen) else Overlap.ALL


def _apart(a: Part, b: Part) -> bool:
    """Whether two pieces of one axis do not meet: one ends where, or before, the other begins."""
    return any(
        end is not None and start is not None and (end.equals(start) or _at_most(end, start))
        for end, start in ((a.high, b.low), (b.high, a.low))
    )


def _at_most(end: Monomial, start: Monomial) -> bool:
    if end.is_number and end.coefficient == 0:
        return True
    if start.is_number and start.coefficient == 0:
        return False
    ratio = start / end
    return ratio.is_number and ratio.coefficient >= 1


SHARED = "what it may share its memory with is changed in place"
IN_PART = "a part of it is changed in place"


def shown(tensor: Tensor, effect: Effect) -> Tensor:
    """A tensor after an effect on its storage."""
    held = tensor.held
    assert held is not None
    how = overlap(effect.region, held.region)
    if how is Overlap.NONE:
        return tensor
    keep: dict[str, Any] = {"held": Held(held.storage, held.region, held.seen | {effect})}
    if effect.lost is not None:
        return tensor.but(uncertain=tensor.uncertain or effect.lost, **keep)
    if how is Overlap.UNSURE:
        return tensor.but(uncertain=tensor.uncertain or SHARED, **keep)
    if effect.written is None:
        if how is Overlap.SOME and effect.factors:
            return tensor.but(uncertain=tensor.uncertain or IN_PART, **keep)
        return tensor.but(factors=(*tensor.factors, *effect.factors), masks=(*tensor.masks, *effect.masks), **keep)
    if how is Overlap.ALL and len(effect.region) == len(held.region) and effect.shape == tensor.shape:
        return effect.written.but(name=tensor.name, **keep)
    return tensor.but(uncertain=tensor.uncertain or IN_PART, **keep)
