"""Reshapes as row-major regroupings of atoms, for known and unknown ranks.

What the match from both ends leaves open is resolved by the volume, found to be scrambled, or resolved by position
(batch, sequence, features).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from attnlint.domain.algebra import AXIS, CONFIG, ONE, PARAMETER, Facts, Monomial
from attnlint.domain.axes import Atom, Axis, Block, Lead, Shape, cut, join, materialise, opaque_size, product, sized, vague, with_rank
from attnlint.domain.matching import Goal, Match, Piece, both_ends, known_sizes, run, volume
from attnlint.domain.scrambles import Scramble, prove_scramble

Target = Monomial | Lead | None
_ALL = ":all"  # ends the key of the one axis that was made of all leading axes


@dataclass(frozen=True)
class Reshaped:
    shape: Shape
    scrambled: Scramble | None = None


def reshape(shape: Shape, targets: Sequence[Target], facts: Facts) -> Reshaped | None:
    """The shape after `view`, `reshape` or an unpacked axis; None where it cannot be, or nothing can be said."""
    if sum(target is None for target in targets) > 1 or any(isinstance(target, Lead) for target in targets[1:]):
        return None
    sizes = [target for target in targets if not isinstance(target, Lead)]
    if targets and isinstance(targets[0], Lead):
        return _after_lead(shape, targets[0], sizes, facts)
    if shape.lead is not None:
        return _open(shape, sizes, facts)
    return _closed(shape, sizes, facts)


# --- shapes with unknown leading axes


def _after_lead(shape: Shape, lead: Lead, sizes: list[Monomial | None], facts: Facts) -> Reshaped | None:
    wanted = Block.parse(lead.key)
    wanted = replace(wanted, drop=wanted.drop + lead.drop)
    if shape.lead is None:
        if shape.axes and shape.axes[0].key == f"{wanted}{_ALL}":  # what made one axis of them all is taken back
            inner = _closed(Shape(shape.axes[1:]), sizes, facts)
            return inner and Reshaped(Shape(inner.shape.axes, str(wanted)), inner.scrambled)
        count = _leading(shape, wanted)
        return _closed(shape, [*(wanted.axis(index).size for index in range(count)), *sizes], facts) if count else None
    block = Block.parse(shape.lead)
    if block.base == wanted.base and block.skip == wanted.skip:
        if wanted.drop > block.drop:
            shape = materialise(shape, len(shape.axes) + wanted.drop - block.drop)
        else:
            sizes = [*(wanted.axis(-position).size for position in range(block.drop - wanted.drop, 0, -1)), *sizes]
    inner = _closed(Shape(shape.axes), sizes, facts)
    return inner and Reshaped(Shape(inner.shape.axes, shape.lead), inner.scrambled)


def _leading(shape: Shape, wanted: Block) -> int:
    """How many axes the wanted block has, told by those of its axes that the shape still holds, in whatever order; 0: not known."""
    names = {wanted.axis(index).key: index for index in range(len(shape.axes))}
    found = [names[atom.key] for axis in shape.axes for atom in axis.atoms if atom.key in names]
    if len(found) == len(shape.axes):  # the tensor itself
        return max(0, len(found) - wanted.drop)
    return max(found, default=-1) + 1


def _open(shape: Shape, sizes: list[Monomial | None], facts: Facts) -> Reshaped | None:
    """Match from the right; what is left over belongs to the unknown axes."""
    if not sizes:
        return None
    if not shape.axes and ((len(sizes) >= 4 and sizes[-1] is None) or _keeps_the_last(shape, sizes)):
        shape = materialise(shape, 1)
    if shape.axes and (_is_batch(sizes[0]) or _is_batch_of_heads(sizes)):
        ranked = with_rank(shape, 2 if _is_of_features(shape, sizes[1:]) else _usual_rank(shape))
        found = _closed(ranked, sizes, facts)
        # more than batch, sequence and features is a guess, and proves nothing
        return found if found is None or len(ranked.axes) <= 3 else Reshaped(found.shape)
    count, kept = _features(shape, sizes, facts)
    if count is None:
        return Reshaped(Shape(tuple(_block_axis(shape, sizes, index) for index in range(len(sizes)))))
    tail = _closed(Shape(shape.axes[kept:]), sizes[len(sizes) - count :], facts)
    if tail is None:
        return None
    front = sizes[: len(sizes) - count]
    block = Shape(shape.axes[:kept], shape.lead)
    return Reshaped(Shape(tuple(_block_axis(block, front, index) for index in range(len(front))) + tail.shape.axes), tail.scrambled)


def _keeps_the_last(shape: Shape, sizes: list[Monomial | None]) -> bool:
    """`x.view(-1, x.size(-1))`: one axis of all that come before the last."""
    last = Block.parse(shape.lead or "").axis(-1).size
    return len(sizes) == 2 and sizes[0] is None and sizes[1] is not None and sizes[1].equals(last)


def _is_batch(size: Monomial | None) -> bool:
    return size is not None and len(size.powers) == 1 and size.powers[0][0].kind == AXIS and size.powers[0][0].key.endswith("[0]")


def _is_batch_of_heads(sizes: Sequence[Monomial | None]) -> bool:
    """`(batch · heads, -1, d)`: what -1 stands for lies behind the batch."""
    if len(sizes) != 3 or sizes[0] is None or sizes[1] is not None:
        return False
    places = [(symbol, exponent) for symbol, exponent in sizes[0].powers if symbol.kind == AXIS]
    return len(places) == 1 and places[0][0].key.endswith("[0]") and places[0][1] == 1 and vague(sizes[0]) == 1 and len(sizes[0].powers) > 1


def _is_of_features(shape: Shape, sizes: Sequence[Monomial | None]) -> bool:
    """Whether the features alone are cut into what stands behind the batch, so that there is no sequence.

    `(n, 3 · d)` into `(n, 3, heads, -1)`, and `(n, d)` into `(n, heads, -1)`.
    """
    known = [size for size in sizes if size is not None]
    if len(shape.axes) != 1 or not known or None in sizes[:-1] or any(_is_position(size) for size in known):
        return False
    features = shape.axes[0].size
    if known[0].is_number:
        return len(known) > 1 and not known[0].is_one and known[0].divides(Monomial(features.coefficient))
    settings = all(symbol.kind in (PARAMETER, CONFIG) for symbol in known[0].symbols)
    return len(sizes) == 2 and len(known) == 1 and settings and not known[0].equals(features)


def _usual_rank(shape: Shape) -> int:
    """The rank of a tensor whose first axis the code takes for the batch: a sequence follows, unless that is explicit."""
    sequence = len(shape.axes) > 2 or (len(shape.axes) == 2 and _is_position(shape.axes[0].size))
    return len(shape.axes) + (1 if sequence else 2)


def _features(shape: Shape, sizes: list[Monomial | None], facts: Facts) -> tuple[int | None, int]:
    """How many trailing targets the features (the known axes from the second number on) turn into; None where that is open."""
    kept = 0
    while kept < len(shape.axes) and _is_position(shape.axes[kept].size) and len(shape.axes) > 1:
        kept += 1
    features = shape.axes[kept:]
    if not features:
        return (0, 0) if not shape.axes else (None, 0)
    whole = product(axis.size for axis in features)
    if count := run(sizes[::-1], whole, facts):
        return count, kept
    if any(_is_position(axis.size) for axis in features[1:]):
        return None, 0
    last = max((index for index, size in enumerate(sizes) if size is None or _is_position(size)), default=-1)
    behind = len(sizes) - 1 - last
    if last >= 0 and (behind > 1 or (behind == 1 and len(features) > 1)):
        return behind, kept
    if sizes[-1] is None and len(sizes) == 3:
        return 1, kept
    if len(sizes) >= 4 and len(features) == 1 and all(size is None or not _is_position(size) for size in sizes[2:]) and last != 2:
        return len(sizes) - 2, kept  # batch and sequence come first
    return None, 0


def _block_axis(shape: Shape, sizes: Sequence[Monomial | None], index: int) -> Axis:
    """The target at an index as part of the unknown axes; -1 alone is all of them, else the axis at its position."""
    size, lead = sizes[index], shape.lead or ""
    block = Block.parse(lead)
    if size is not None:
        own = block.axis(index)
        return own if size.equals(own.size) else sized(size, f"{lead}:{index}")
    if len(sizes) > 1 and index < 2 and not shape.axes:
        return block.axis(index)
    key = f"{lead}{_ALL}" if len(sizes) == 1 else f"{lead}:rest({', '.join(map(str, sizes))})"
    return sized(opaque_size(key, f"{lead}.rest"), key)


def _is_position(size: Monomial) -> bool:
    """Whether a size is plainly a batch or sequence position of an argument."""
    return bool(size.symbols) and all(symbol.kind == AXIS for symbol in size.symbols)


# --- shapes of known rank


def _closed(shape: Shape, sizes: Sequence[Monomial | None], facts: Facts) -> Reshaped | None:
    atoms: list[Atom] = []
    pieces: list[Piece] = []
    for position, axis in enumerate(shape.axes):
        for atom in axis.atoms:
            if not atom.size.is_one:
                pieces.append(Piece(atom.size, len(atoms), position))
                atoms.append(atom)
    if pieces and sizes and sizes[0] is not None and _is_batch(sizes[0]) and _is_batch(pieces[0].size):
        facts.learn(pieces[0].size, sizes[0])  # keys viewed with the queries' batch size
    goals = tuple(Goal(size, index) for index, size in enumerate(sizes))
    start = Match((), tuple(pieces), goals, ())
    match = both_ends(start, facts)
    if not match.closed:
        solved = _learn_volume(match, facts)
        if solved is None:
            return None
        match = both_ends(_solve(match, facts) if solved else match, facts)
    if not match.closed:
        match = _by_volume(match, facts) or match
    scrambled = None
    if not match.closed:
        scrambled = prove_scramble(match, facts)
        aligned = None if scrambled else _by_position(match, facts)
        match = aligned or replace(match, left=match.left + tuple(_made_up(match, facts)))
    return Reshaped(_assemble(match, atoms, len(sizes), shape), scrambled)


def _learn_volume(match: Match, facts: Facts) -> bool | None:
    """Both sides hold equally many elements: learn it where it says something about sizes. None: it is a contradiction.

    An axis of an argument may be the product of the others (t = h · w). Else it would only be played off against them: nothing is learned.
    """
    ratio = volume(match, facts)
    if len(known_sizes(match.goals)) < len(match.goals):
        return True
    if ratio.is_number and not ratio.is_one:
        return None
    if vague(ratio) and not _is_one_against_all(ratio):
        return False
    if len(ratio.powers) == 2 and all(symbol.kind in (PARAMETER, CONFIG) for symbol in ratio.symbols):
        return False  # a view ties settings to their product; that two of them are one is said elsewhere, or not at all
    return ratio.is_one or facts.learn(ratio, ONE)


def _is_one_against_all(ratio: Monomial) -> bool:
    """Whether a single vague symbol is a product of all the others."""
    side = [exponent for symbol, exponent in ratio.powers if vague(Monomial.of(symbol))]
    others = [exponent for symbol, exponent in ratio.powers if not vague(Monomial.of(symbol))]
    return len(side) == 1 and all(exponent * side[0] < 0 for exponent in others)


def _solve(match: Match, facts: Facts) -> Match:
    """Give -1 its size where that is a whole product of what is open."""
    ratio = volume(match, facts)
    if not ONE.divides(ratio) or len(match.source) < 2:
        return match
    return replace(match, goals=tuple(replace(goal, size=ratio) if goal.size is None else goal for goal in match.goals))


def _by_volume(match: Match, facts: Facts) -> Match | None:
    """One open target takes all that is left; one open piece is cut into all the targets."""
    if len(match.goals) == 1 and match.source:
        return match.close([(match.goals[0].target, piece) for piece in match.source])
    if len(match.source) == 1 and match.goals:
        ratio, piece = volume(match, facts), match.source[0]
        sizes = [ratio if goal.size is None else goal.size for goal in match.goals]
        return match.close(
            [(goal.target, replace(piece, size=size)) for goal, size in zip(match.goals, sizes, strict=True) if not size.is_one]
        )
    if not match.source and all(goal.size is None for goal in match.goals):
        return match.close([])
    return None


def _by_position(match: Match, facts: Facts) -> Match | None:
    """Axes of arguments keep their place (batch, sequence), and the features behind them are regrouped."""
    lead = 0
    while lead < len(match.source) and _is_position(match.source[lead].size):
        lead += 1
    features, goals = match.source[lead:], match.goals
    if not features or len(goals) <= lead or any(_is_position(piece.size) for piece in features):
        return None
    for piece, goal in zip(match.source, goals[:lead], strict=False):
        if goal.size is not None and not _may_be(piece, goal.size, match):
            return None
    rest = goals[lead:]
    if all(goal.size is not None for goal in rest):
        if any(_is_position(size) for size in known_sizes(rest)):
            return None
        ratio = facts.normalise(product(piece.size for piece in features) / product(known_sizes(rest)))
        if len(features) == len(rest) == 1 and not ratio.is_one:
            return None  # -1 may hold a factor of the features
        if not facts.learn(ratio, ONE):
            return None
    inner = both_ends(Match((), features, rest, ()), facts)
    if not inner.closed:
        found = _by_volume(inner, facts)
        if found is None:
            return None
        inner = found
    placed = [(g.target, p if g.size is None else replace(p, size=g.size)) for p, g in zip(match.source, goals[:lead], strict=False)]
    for piece, goal in zip(match.source, goals[:lead], strict=False):
        if goal.size is not None and _is_position(goal.size):
            facts.learn(piece.size, goal.size)
    return match.close([*placed, *inner.left, *inner.right])


def _may_be(piece: Piece, size: Monomial, match: Match) -> bool:
    """Whether a target can name an axis of an argument: neither stands elsewhere on the other side."""
    others = {symbol for other in match.source if other != piece for symbol in other.size.symbols}
    elsewhere = {symbol for other in known_sizes(match.goals) if other != size for symbol in other.symbols}
    return len(size.symbols) <= 1 and others.isdisjoint(size.symbols) and elsewhere.isdisjoint(piece.size.symbols)


def _made_up(match: Match, facts: Facts) -> list[tuple[int, Piece]]:
    ratio = volume(match, facts)
    sizes = [(goal.target, ratio if goal.size is None else goal.size) for goal in match.goals]
    return [(target, Piece(size, -1)) for target, size in sizes if not size.is_one]


def _assemble(match: Match, atoms: list[Atom], count: int, shape: Shape) -> Shape:
    placed = match.left + match.right
    lost = {piece.atom for piece in match.source}  # of these not every piece found a place
    parts = {index: iter(cut(atom, [piece.size for _, piece in placed if piece.atom == index])) for index, atom in enumerate(atoms)}
    grouped: list[list[Atom]] = [[] for _ in range(count)]
    for target, piece in placed:
        if piece.atom < 0:
            source = ",".join(axis.key for axis in shape.axes)
            grouped[target].append(Atom(piece.size, f"view({source}):{target}"))
        else:
            atom = next(parts[piece.atom])
            if piece.atom in lost:
                atom = replace(atom, key=f"{atoms[piece.atom].key}:part({piece.size})")
            grouped[target].append(replace(atom, size=piece.size))
    return Shape(tuple(join(group) for group in grouped))
