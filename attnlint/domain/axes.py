"""Symbolic shapes as values: axes made of atoms that keep their identity, and leading axes whose number is unknown.

An unknown block is written like the slice it is: `x` is every axis of `x`, `x[:-2]` all but the last two, `x[1:]` all but the
first. Axes counted from its end have the key `x[-1]`, from its start `x[0]`, so equal positions give equal symbols.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce as fold

from attnlint.domain.algebra import AXIS, ONE, OPAQUE, Monomial, Symbol

_BLOCK = re.compile(r"^(?P<base>.+)\[(?P<skip>\d*):(?:-(?P<drop>\d+))?\]$")
_PART = re.compile(r"^(?P<parent>.*)\|(?P<sizes>[^|]*)\|(?P<index>\d+)$", re.DOTALL)
_MAX_RANK = 64  # nothing real has more axes; a larger count is a misread number


OPEN_CUT = "open cut"  # the stem of the key of an axis that is cut where how many axes there are is not known: it may be any


@dataclass(frozen=True)
class Atom:
    """An indivisible piece of an axis; the key survives permutes and views."""

    size: Monomial
    key: str


@dataclass(frozen=True)
class Axis:
    """Row-major pieces; none at all is an axis of size 1."""

    atoms: tuple[Atom, ...] = ()

    @property
    def size(self) -> Monomial:
        return product(atom.size for atom in self.atoms)

    @property
    def key(self) -> str:
        return "·".join(atom.key for atom in self.atoms) or "1"


UNIT = Axis()


@dataclass(frozen=True)
class Shape:
    """Known trailing axes, after an unknown number of others where `lead` names them."""

    axes: tuple[Axis, ...] = ()
    lead: str | None = None

    @property
    def rank(self) -> int | None:
        return None if self.lead is not None else len(self.axes)

    @property
    def size(self) -> Monomial:
        """The product of the known axes."""
        return product(axis.size for axis in self.axes)

    def __str__(self) -> str:
        sizes = [str(axis.size) for axis in self.axes]
        return f"({', '.join(sizes if self.lead is None else ['…', *sizes])})"


@dataclass(frozen=True)
class Lead:
    """In the target of a reshape: all the leading axes of tensor `key` except its last `drop`."""

    key: str
    drop: int


@dataclass(frozen=True)
class Block:
    """What a lead's text says: the axes `base.shape[skip:-drop]`."""

    base: str
    skip: int = 0
    drop: int = 0

    @staticmethod
    def parse(lead: str) -> Block:
        found = _BLOCK.match(lead)
        return Block(found["base"], int(found["skip"] or 0), int(found["drop"] or 0)) if found else Block(lead)

    def __str__(self) -> str:
        if not self.skip and not self.drop:
            return self.base
        return f"{self.base}[{self.skip or ''}:{-self.drop if self.drop else ''}]"

    def axis(self, index: int) -> Axis:
        """The axis at a position of the block, from its start or (negative) from its end."""
        return argument_axis(self.base, index + self.skip if index >= 0 else index - self.drop)


def product(sizes: Iterable[Monomial]) -> Monomial:
    return fold(Monomial.__mul__, sizes, ONE)


def argument_axis(base: str, index: int) -> Axis:
    key = f"{base}[{index}]"
    return Axis((Atom(Monomial.of(Symbol(key, f"{printed_name(base)}.shape[{index}]", AXIS)), key),))


def printed_name(base: str) -> str:
    """What messages call a tensor: `x` for the argument `model.py:Attention.forward.x`, `q` for `q#12`."""
    if base.startswith("unsqueeze(") and base.endswith(")"):
        return f"unsqueeze({printed_name(Block.parse(base[10:-1]).base)})"
    return base.rpartition(":")[2].rpartition(".")[2].partition("#")[0] or base


def sized(size: Monomial, key: str) -> Axis:
    """A new axis: no atom where the size is 1."""
    return UNIT if size.is_one else Axis((Atom(size, key),))


def opaque_size(key: str, name: str) -> Monomial:
    """A size nothing is known of."""
    return Monomial.of(Symbol(key, name, OPAQUE))


def rank_symbol(shape: Shape) -> Monomial:
    """What stands for the number of axes of a shape of which it is not known."""
    return opaque_size(f"rank of {shape.lead}, {len(shape.axes)}", f"the rank of {printed_name(shape.lead or '')}")


def vague(size: Monomial) -> int:
    """How many symbols of a size say nothing about it: axes of arguments, and opaque values."""
    return sum(symbol.kind in (AXIS, OPAQUE) or bool(symbol.terms and any(map(vague, symbol.terms))) for symbol in size.symbols)


def better(first: Axis, second: Axis) -> Axis:
    """Of two axes that must have one size, that which says more; the first of equals. An axis of size 1 is stretched."""
    if first.size.is_one:
        return second
    if second.size.is_one:
        return first
    return second if vague(second.size) < vague(first.size) else first


# --- cutting an atom, and joining what was cut


def cut(atom: Atom, sizes: Sequence[Monomial]) -> tuple[Atom, ...]:
    """Cut an atom into row-major factors, named so that `join` finds the atom again."""
    if len(sizes) < 2:
        return (atom,)
    text = "×".join(str(size) for size in sizes).replace("|", "/")
    return tuple(Atom(size, f"{atom.key}|{text}|{index}") for index, size in enumerate(sizes))


def join(atoms: Iterable[Atom]) -> Axis:
    """An axis of these pieces, where all the factors of a cut atom that stand in order become that atom again."""
    kept: list[Atom] = []
    for atom in atoms:
        kept.append(atom)
        while (whole := _whole(kept)) is not None:
            kept[-whole[0] :] = [whole[1]]
    return Axis(tuple(kept))


def _whole(atoms: list[Atom]) -> tuple[int, Atom] | None:
    last = _PART.match(atoms[-1].key)
    if last is None:
        return None
    count = last["sizes"].count("×") + 1
    expected = [f"{last['parent']}|{last['sizes']}|{index}" for index in range(count)]
    if len(atoms) < count or [atom.key for atom in atoms[-count:]] != expected:
        return None
    return count, Atom(product(atom.size for atom in atoms[-count:]), last["parent"])


# --- finding axes


def unknown(name: str) -> Shape:
    """The shape of a tensor of which only the name is known."""
    return Shape((), name)


def materialise(shape: Shape, count: int) -> Shape:
    """At least `count` trailing axes explicit; a shape of known rank stays as it is."""
    missing = min(count, _MAX_RANK) - len(shape.axes)
    if shape.lead is None or missing <= 0:
        return shape
    block = Block.parse(shape.lead)
    new = tuple(block.axis(-position) for position in range(missing, 0, -1))
    return Shape(new + shape.axes, str(Block(block.base, block.skip, block.drop + missing)))


def axis_of(shape: Shape, index: int) -> tuple[Shape, Axis] | None:
    """The axis at an index, and the shape with that axis explicit; None where there is none."""
    if shape.lead is None:
        return (shape, shape.axes[index]) if -len(shape.axes) <= index < len(shape.axes) else None
    if abs(index) > _MAX_RANK:
        return None
    if index >= 0:
        return shape, Block.parse(shape.lead).axis(index)
    shape = materialise(shape, -index)
    return shape, shape.axes[index]


def usual_rank(shape: Shape, least: int = 0) -> int:
    """The rank to assume where axes are counted from the front of an unknown rank.

    What was cut off the end of an input leaves its batch and positions, so `x.shape[:-1]` stands for two axes.
    """
    if shape.lead is None:
        return len(shape.axes)
    block = Block.parse(shape.lead)
    return max(least, max(0, 3 - block.skip - block.drop) + len(shape.axes) if block.drop or block.skip else 0)


def with_rank(shape: Shape, rank: int) -> Shape:
    """A shape of unknown rank with exactly `rank` axes; unchanged where that is impossible or the rank is known."""
    missing = rank - len(shape.axes)
    if shape.lead is None or missing < 0 or rank > _MAX_RANK:
        return shape
    block = Block.parse(shape.lead)
    return Shape(tuple(block.axis(index) for index in range(missing)) + shape.axes)
