"""Reshapes as row-major regroupings of atoms, and the proof that one mixes up axes instead of regrouping them.

Source pieces and target sizes are matched from the left and from the right; a piece is cut where a target divides it. What stays in the
middle is resolved by the volume, by position (batch, sequence, features), or found to be a reordering no regrouping can yield.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from attnlint.engine.algebra import AXIS, ONE, OPAQUE, Facts, Monomial
from attnlint.engine.axes import Atom, Axis, Block, Lead, Shape, cut, join, materialise, opaque_size, product, sized, vague, with_rank

Target = Monomial | Lead | None


@dataclass(frozen=True)
class Scramble:
    """Which layout the sizes say (`expected`) and which the elements have (`found`)."""

    kind: str  # "split": one source axis is torn apart around another; "merge": pieces that are not neighbours become one axis
    expected: str
    found: str


@dataclass(frozen=True)
class Reshaped:
    shape: Shape
    scrambled: Scramble | None = None


@dataclass(frozen=True)
class _Piece:
    size: Monomial
    atom: int  # which source atom it is cut from; -1: made up, because the match failed
    axis: int = -1


@dataclass(frozen=True)
class _Goal:
    size: Monomial | None
    target: int


@dataclass(frozen=True)
class _Match:
    """Placed pieces from both ends (with the target they go to), and what is still open between them."""

    left: tuple[tuple[int, _Piece], ...]
    source: tuple[_Piece, ...]
    goals: tuple[_Goal, ...]
    right: tuple[tuple[int, _Piece], ...]

    @property
    def closed(self) -> bool:
        return not self.source and not self.goals

    def close(self, placed: Sequence[tuple[int, _Piece]]) -> _Match:
        return _Match(self.left + tuple(placed), (), (), self.right)


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
        count = _prefix(shape, wanted)
        if count is None:
            return None
        return _closed(shape, [axis.size for axis in shape.axes[:count]] + sizes, facts)
    block = Block.parse(shape.lead)
    if block.base == wanted.base and block.skip == wanted.skip:
        if wanted.drop > block.drop:
            shape = materialise(shape, len(shape.axes) + wanted.drop - block.drop)
        else:
            sizes = [*(wanted.axis(-position).size for position in range(block.drop - wanted.drop, 0, -1)), *sizes]
    inner = _closed(Shape(shape.axes), sizes, facts)
    return inner and Reshaped(Shape(inner.shape.axes, shape.lead), inner.scrambled)


def _prefix(shape: Shape, wanted: Block) -> int | None:
    """How many leading axes of a shape are the leading axes of the wanted tensor."""
    count = 0
    while count < len(shape.axes) and shape.axes[count].key == wanted.axis(count).key:
        count += 1
    return count or None


def _open(shape: Shape, sizes: list[Monomial | None], facts: Facts) -> Reshaped | None:
    """Match from the right; what is left over belongs to the unknown axes."""
    if not sizes:
        return None
    if not shape.axes and len(sizes) >= 4 and sizes[-1] is None:
        shape = materialise(shape, 1)
    if shape.axes and _is_batch(sizes[0]):
        return _closed(with_rank(shape, _usual_rank(shape)), sizes, facts)
    count, kept = _features(shape, sizes, facts)
    if count is None:
        return Reshaped(Shape(tuple(_block_axis(shape, sizes, index) for index in range(len(sizes)))))
    tail = _closed(Shape(shape.axes[kept:]), sizes[len(sizes) - count :], facts)
    if tail is None:
        return None
    front = sizes[: len(sizes) - count]
    block = Shape(shape.axes[:kept], shape.lead)
    return Reshaped(Shape(tuple(_block_axis(block, front, index) for index in range(len(front))) + tail.shape.axes), tail.scrambled)


def _is_batch(size: Monomial | None) -> bool:
    return size is not None and len(size.powers) == 1 and size.powers[0][0].kind == AXIS and size.powers[0][0].key.endswith("[0]")


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
    if count := _run(sizes[::-1], whole, facts):
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
    key = f"{lead}:rest({', '.join(map(str, sizes))})"
    return sized(opaque_size(key, f"{lead}.rest"), key)


def _is_position(size: Monomial) -> bool:
    """Whether a size is plainly a batch or sequence position of an argument."""
    return bool(size.symbols) and all(symbol.kind == AXIS for symbol in size.symbols)


# --- shapes of known rank


def _closed(shape: Shape, sizes: Sequence[Monomial | None], facts: Facts) -> Reshaped | None:
    atoms: list[Atom] = []
    pieces: list[_Piece] = []
    for position, axis in enumerate(shape.axes):
        for atom in axis.atoms:
            if not atom.size.is_one:
                pieces.append(_Piece(atom.size, len(atoms), position))
                atoms.append(atom)
    if pieces and sizes and sizes[0] is not None and _is_batch(sizes[0]) and _is_batch(pieces[0].size):
        facts.learn(pieces[0].size, sizes[0])  # keys viewed with the queries' batch size
    goals = tuple(_Goal(size, index) for index, size in enumerate(sizes))
    start = _Match((), tuple(pieces), goals, ())
    match = _both_ends(start, facts)
    if not match.closed:
        solved = _learn_volume(match, facts)
        if solved is None:
            return None
        match = _both_ends(_solve(match, facts) if solved else match, facts)
    if not match.closed:
        match = _by_volume(match, facts) or match
    scrambled = None
    if not match.closed:
        scrambled = _scramble(match, facts)
        aligned = None if scrambled else _by_position(match, facts)
        match = aligned or replace(match, left=match.left + tuple(_made_up(match, facts)))
    return Reshaped(_assemble(match, atoms, len(sizes), shape), scrambled)


def _both_ends(match: _Match, facts: Facts) -> _Match:
    left, source, goals = _from_left(match.source, match.goals, facts)
    right, source, goals = _from_left(source[::-1], goals[::-1], facts)
    return _Match(match.left + left, source[::-1], goals[::-1], right[::-1] + match.right)


def _from_left(
    source: tuple[_Piece, ...], goals: tuple[_Goal, ...], facts: Facts
) -> tuple[tuple[tuple[int, _Piece], ...], tuple[_Piece, ...], tuple[_Goal, ...]]:
    """Place pieces while each target is proved to be made of the next ones. The lists may be reversed: so is what comes back."""
    placed: list[tuple[int, _Piece]] = []
    rest, open_goals = list(source), list(goals)
    while open_goals and (wanted := open_goals[0].size) is not None:
        if wanted.is_one:
            open_goals.pop(0)
            continue
        if not rest:
            break
        goal, piece = open_goals[0], rest[0]
        if count := _run([goal.size for goal in open_goals], piece.size, facts):
            placed += [(goal.target, replace(piece, size=goal.size)) for goal in open_goals[:count] if goal.size is not None]
            del open_goals[:count], rest[0]
        elif count := _run([piece.size for piece in rest], wanted, facts):
            placed += [(goal.target, piece) for piece in rest[:count]]
            del rest[:count], open_goals[0]
        elif _divides(piece.size, wanted, facts):
            placed.append((goal.target, rest.pop(0)))
            open_goals[0] = replace(goal, size=facts.normalise(wanted / piece.size))
        elif _divides(wanted, piece.size, facts):
            placed.append((goal.target, replace(piece, size=wanted)))
            open_goals.pop(0)
            rest[0] = replace(piece, size=facts.normalise(piece.size / wanted))
        else:
            break
    return tuple(placed), tuple(rest), tuple(open_goals)


def _run(sizes: Sequence[Monomial | None], whole: Monomial, facts: Facts) -> int:
    """How many of the next sizes multiply to exactly this one; 0 where none do."""
    total = ONE
    for count, size in enumerate(sizes[:4], 1):
        if size is None:
            break
        total = total * size
        if facts.equal(total, whole):
            return count
    return 0


def _divides(part: Monomial, whole: Monomial, facts: Facts) -> bool:
    return ONE.divides(facts.normalise(whole / part))


def _known(goals: Sequence[_Goal]) -> list[Monomial]:
    return [goal.size for goal in goals if goal.size is not None]


def _volume(match: _Match, facts: Facts) -> Monomial:
    """What the open source holds more than the open known targets."""
    return facts.normalise(product(piece.size for piece in match.source) / product(_known(match.goals)))


def _learn_volume(match: _Match, facts: Facts) -> bool | None:
    """Both sides hold equally many elements: learn it where it says something about sizes. None: it is a contradiction.

    Two different axes of arguments would only be played off against each other, so then nothing is learned.
    """
    ratio = _volume(match, facts)
    if len(_known(match.goals)) < len(match.goals):
        return True
    if ratio.is_number and not ratio.is_one:
        return None
    if vague(ratio) > 1:
        return False
    return ratio.is_one or facts.learn(ratio, ONE)


def _solve(match: _Match, facts: Facts) -> _Match:
    """Give -1 its size where that is a whole product of what is open."""
    ratio = _volume(match, facts)
    if not ONE.divides(ratio) or len(match.source) < 2:
        return match
    return replace(match, goals=tuple(replace(goal, size=ratio) if goal.size is None else goal for goal in match.goals))


def _by_volume(match: _Match, facts: Facts) -> _Match | None:
    """One open target takes all that is left; one open piece is cut into all the targets."""
    if len(match.goals) == 1 and match.source:
        return match.close([(match.goals[0].target, piece) for piece in match.source])
    if len(match.source) == 1 and match.goals:
        ratio, piece = _volume(match, facts), match.source[0]
        sizes = [ratio if goal.size is None else goal.size for goal in match.goals]
        return match.close(
            [(goal.target, replace(piece, size=size)) for goal, size in zip(match.goals, sizes, strict=True) if not size.is_one]
        )
    if not match.source and all(goal.size is None for goal in match.goals):
        return match.close([])
    return None


def _by_position(match: _Match, facts: Facts) -> _Match | None:
    """Axes of arguments keep their place (batch, sequence), and the features behind them are regrouped."""
    lead = 0
    while lead < len(match.source) and _is_position(match.source[lead].size):
        lead += 1
    features, goals = match.source[lead:], match.goals
    if not features or len(goals) <= lead or any(_is_position(piece.size) for piece in features):
        return None
    for piece, goal in zip(match.source, goals[:lead], strict=False):
        if goal.size is not None and not _may_be(piece, goal, match):
            return None
    rest = goals[lead:]
    if any(goal.size is None for goal in goals[:lead]):
        if any(_is_position(size) for size in _known(rest)):
            return None
        ratio = facts.normalise(product(piece.size for piece in features) / product(_known(rest)))
        if len(features) == len(rest) == 1 and not ratio.is_one:
            return None  # -1 may hold a factor of the features
        if not facts.learn(ratio, ONE):
            return None
    inner = _both_ends(_Match((), features, rest, ()), facts)
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


def _may_be(piece: _Piece, goal: _Goal, match: _Match) -> bool:
    """Whether a target can name an axis of an argument: neither stands elsewhere on the other side."""
    assert goal.size is not None
    others = {symbol for other in match.source if other != piece for symbol in other.size.symbols}
    elsewhere = {symbol for other in match.goals if other != goal and other.size for symbol in other.size.symbols}
    alone = len(goal.size.symbols) == 1 and not others & set(goal.size.symbols) and not elsewhere & set(piece.size.symbols)
    return alone or (goal.size.is_number and not elsewhere & set(piece.size.symbols))


def _made_up(match: _Match, facts: Facts) -> list[tuple[int, _Piece]]:
    ratio = _volume(match, facts)
    sizes = [(goal.target, ratio if goal.size is None else goal.size) for goal in match.goals]
    return [(target, _Piece(size, -1)) for target, size in sizes if not size.is_one]


def _assemble(match: _Match, atoms: list[Atom], count: int, shape: Shape) -> Shape:
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


# --- scrambles


def _scramble(match: _Match, facts: Facts) -> Scramble | None:
    """Prove that the open targets are the open pieces in another order, with an axis torn apart or pasted together by it."""
    order = _reordering(match, facts)
    if order is None:
        return None
    source = [piece for _, piece in match.left] + sorted((piece for _, piece in order), key=lambda piece: piece.atom) + _tail(match)
    target = [*match.left, *order, *match.right]
    before, after = _text([piece.size for piece in source]), _text([piece.size for _, piece in target])
    if _torn([(piece.axis, piece.atom) for _, piece in target]):
        return Scramble("split", before, after)
    if _torn([(target_of, 0) for target_of in _targets_in_source_order(target)]):
        return Scramble("merge", after, before)
    return None


def _tail(match: _Match) -> list[_Piece]:
    return [piece for _, piece in match.right]


def _text(sizes: Sequence[Monomial]) -> str:
    return f"({', '.join(map(str, sizes))})"


def _reordering(match: _Match, facts: Facts) -> list[tuple[int, _Piece]] | None:
    ratio = _volume(match, facts)
    open_pieces = list(match.source)
    order: list[tuple[int, _Piece]] = []
    for goal in match.goals:
        wanted = ratio if goal.size is None else goal.size
        while not wanted.is_one:
            found = _take(open_pieces, wanted, facts)
            if found is None:
                return None
            order.append((goal.target, found))
            wanted = facts.normalise(wanted / found.size)
    sizes = [facts.normalise(piece.size) for _, piece in order]
    known = all(symbol.kind != OPAQUE for size in sizes for symbol in size.symbols) and sum(size.is_number for size in sizes) <= 1
    distinct = all(not size.equals(other) for index, size in enumerate(sizes) for other in sizes[:index])
    return order if known and distinct and not open_pieces else None


def _take(pieces: list[_Piece], wanted: Monomial, facts: Facts) -> _Piece | None:
    """Take from the open pieces one that is, divides, or holds the wanted size."""
    for index, piece in enumerate(pieces):
        if facts.equal(piece.size, wanted):
            return pieces.pop(index)
    for index, piece in enumerate(pieces):
        if _divides(wanted, piece.size, facts):
            pieces[index] = replace(piece, size=facts.normalise(piece.size / wanted))
            return replace(piece, size=wanted)
    for index, piece in enumerate(pieces):
        if _divides(piece.size, wanted, facts):
            return pieces.pop(index)
    return None


def _torn(owners: Sequence[tuple[int, int]]) -> bool:
    """Whether one owner's pieces stand apart with another's between them."""
    seen: list[int] = []
    for owner, _ in owners:
        if owner in seen and seen[-1] != owner:
            return True
        seen.append(owner)
    return False


def _targets_in_source_order(target: Sequence[tuple[int, _Piece]]) -> list[int]:
    return [owner for owner, _ in sorted(target, key=lambda item: item[1].atom)]
