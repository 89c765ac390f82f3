"""The proof that a view mixes up axes: its sizes are the source's pieces in an order that no regrouping of neighbours yields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from attnlint.domain.algebra import AXIS, OPAQUE, Facts, Monomial, Symbol
from attnlint.domain.axes import Shape
from attnlint.domain.matching import Match, Piece, divides, volume

_UNFOLLOWED = re.compile(r"^\w+#\d+\[")  # the key of an axis of a tensor that nothing is known of


@dataclass(frozen=True)
class Scramble:
    """Which layout the sizes say (`expected`) and which the elements have (`found`)."""

    kind: (
        str  # "split": one axis is torn apart around another; "merge": no neighbours become one axis; "rows": parts exchanged; "transpose"
    )
    expected: str
    found: str


def prove_scramble(match: Match, facts: Facts) -> Scramble | None:
    """Prove that the open targets are the open pieces in another order, with an axis torn apart or pasted together by it."""
    order = _reordering(match, facts)
    if order is None:
        return None
    source = [piece for _, piece in match.left] + sorted((piece for _, piece in order), key=lambda piece: piece.atom)
    target = [*match.left, *order, *match.right]
    source += [piece for _, piece in match.right]
    before, after = _text([piece.size for piece in source]), _text([piece.size for _, piece in target])
    if _torn([piece.axis for _, piece in target]):
        return None if _groups(target) else Scramble("split", before, after)
    if _torn([goal for goal, _ in sorted(target, key=lambda item: item[1].atom)]):
        return Scramble("merge", after, before)
    if _rows_exchanged([piece for _, piece in order]):
        return Scramble("rows", before, after)
    return None


def _rows_exchanged(pieces: Sequence[Piece]) -> bool:
    """Whether the parts of one axis are read in another order than they lie in: `(batch * heads)` as `(heads, batch)`."""
    atoms = [piece.atom for piece in pieces]
    return len({piece.axis for piece in pieces}) == 1 and len(set(atoms)) > 1 and atoms != sorted(atoms)


def read_in_other_order(source: Shape, target: Shape, facts: Facts) -> Scramble | None:
    """Whether a view writes the very axes of its source in another order: rows are read as columns, nothing is transposed."""
    if source.lead is not None or target.lead is not None or len(source.axes) != len(target.axes):
        return None
    before = [facts.normalise(axis.size) for axis in source.axes]
    after = [facts.normalise(axis.size) for axis in target.axes]
    if any(symbol.kind == OPAQUE for size in before for symbol in size.symbols) or sum(size.is_number for size in before) > 1:
        return None
    if any(size.equals(other) for index, size in enumerate(before) for other in before[:index]):
        return None
    if _aliased(before):
        return None
    places = [next((index for index, size in enumerate(before) if size.equals(wanted)), None) for wanted in after]
    if None in places or places == sorted(places, key=lambda place: place or 0):
        return None
    return Scramble("transpose", _text([axis.size for axis in source.axes]), _text([axis.size for axis in target.axes]))


def _text(sizes: Sequence[Monomial]) -> str:
    return f"({', '.join(map(str, sizes))})"


def _reordering(match: Match, facts: Facts) -> list[tuple[int, Piece]] | None:
    ratio = volume(match, facts)
    open_pieces = list(match.source)
    order: list[tuple[int, Piece]] = []
    for goal in match.goals:
        wanted = ratio if goal.size is None else goal.size
        while not wanted.is_one:
            found = _take(open_pieces, wanted, facts)
            if found is None:
                return None
            order.append((goal.target, found))
            wanted = facts.normalise(wanted / found.size)
    sizes = [facts.normalise(piece.size) for _, piece in order]
    known = all(symbol.kind != OPAQUE and not _may_be_one(symbol) for size in sizes for symbol in size.symbols)
    known = known and sum(size.is_number for size in sizes) <= 1 and all(map(_is_size, sizes))
    distinct = all(not size.equals(other) for index, size in enumerate(sizes) for other in sizes[:index])
    return order if known and distinct and not open_pieces and not _aliased(sizes) else None


def _is_size(size: Monomial) -> bool:
    """Whether a piece can be the size of an axis.

    The inverse of a setting, or a share of the width of a tensor that is not followed, is what is left of sizes not understood.
    """
    if not size.powers or all(exponent > 0 for _, exponent in size.powers):
        return True
    unfollowed = any(symbol.kind == AXIS and _UNFOLLOWED.search(symbol.key) for symbol in size.symbols)
    return not unfollowed and any(exponent > 0 for _, exponent in size.powers)


def _may_be_one(symbol: Symbol) -> bool:
    """An axis counted far from the end of a tensor whose rank nothing tells: a bias that is added may have no such axis."""
    index = symbol.key.rpartition("[")[2].rstrip("]")
    return symbol.kind == AXIS and index[:1] == "-" and index[1:].isdigit() and int(index[1:]) > 2


def _aliased(sizes: Sequence[Monomial]) -> bool:
    """Whether two sizes may be one axis of a tensor, counted from its front and from its end."""
    bases: dict[str, set[bool]] = {}
    for size in sizes:
        for symbol in size.symbols:
            base, _, index = symbol.key.rpartition("[")
            if symbol.kind == AXIS and base:
                bases.setdefault(base, set()).add(index.startswith("-"))
    return any(len(ends) > 1 for ends in bases.values())


def _take(pieces: list[Piece], wanted: Monomial, facts: Facts) -> Piece | None:
    """Take from the open pieces one that is, divides, or holds the wanted size."""
    for index, piece in enumerate(pieces):
        if facts.equal(piece.size, wanted):
            return pieces.pop(index)
    for index, piece in enumerate(pieces):
        if divides(wanted, piece.size, facts):
            pieces[index] = replace(piece, size=facts.normalise(piece.size / wanted))
            return replace(piece, size=wanted)
    for index, piece in enumerate(pieces):
        if divides(piece.size, wanted, facts):
            return pieces.pop(index)
    return None


def _groups(target: Sequence[tuple[int, Piece]]) -> bool:
    """Whether neighbouring positions are made one: the front of an axis stays where it is, its rest joins the features, in the last axis.

    Queries and keys that are grouped alike are compared feature by feature all the same.
    """
    last = target[-1][0]
    inside = [piece for goal, piece in target if goal == last]
    moved = [piece for piece in inside if any(other.axis == piece.axis and goal < last for goal, other in target)]
    order = [piece.axis for _, piece in target]
    return len(inside) > len(moved) > 0 and all(
        order[: order.index(piece.axis) + 1] == sorted(order[: order.index(piece.axis) + 1]) for piece in moved
    )


def _torn(owners: Sequence[int]) -> bool:
    """Whether one owner's pieces stand apart with another's between them."""
    seen: list[int] = []
    for owner in owners:
        if owner in seen and seen[-1] != owner:
            return True
        seen.append(owner)
    return False
