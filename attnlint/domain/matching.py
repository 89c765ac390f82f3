"""Row-major matching of source pieces with target sizes, from both ends, as far as it is proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from attnlint.domain.algebra import ONE, Facts, Monomial
from attnlint.domain.axes import product


@dataclass(frozen=True)
class Piece:
    size: Monomial
    atom: int  # which source atom it is cut from; -1: made up, because the match failed
    axis: int = -1


@dataclass(frozen=True)
class Goal:
    size: Monomial | None
    target: int


@dataclass(frozen=True)
class Match:
    """Placed pieces from both ends (with the target they go to), and what is still open between them."""

    left: tuple[tuple[int, Piece], ...]
    source: tuple[Piece, ...]
    goals: tuple[Goal, ...]
    right: tuple[tuple[int, Piece], ...]

    @property
    def closed(self) -> bool:
        return not self.source and not self.goals

    def close(self, placed: Sequence[tuple[int, Piece]]) -> Match:
        return Match(self.left + tuple(placed), (), (), self.right)


def both_ends(match: Match, facts: Facts) -> Match:
    left, source, goals = _from_left(match.source, match.goals, facts)
    right, source, goals = _from_left(source[::-1], goals[::-1], facts)
    return Match(match.left + left, source[::-1], goals[::-1], right[::-1] + match.right)


def _from_left(
    source: tuple[Piece, ...], goals: tuple[Goal, ...], facts: Facts
) -> tuple[tuple[tuple[int, Piece], ...], tuple[Piece, ...], tuple[Goal, ...]]:
    """Place pieces while each target is proved to be made of the next ones. The lists may be reversed: so is what comes back."""
    placed: list[tuple[int, Piece]] = []
    rest, open_goals = list(source), list(goals)
    while open_goals and (wanted := open_goals[0].size) is not None:
        if wanted.is_one:
            open_goals.pop(0)
            continue
        if not rest:
            break
        goal, piece = open_goals[0], rest[0]
        if count := run([goal.size for goal in open_goals], piece.size, facts):
            placed += [(goal.target, replace(piece, size=goal.size)) for goal in open_goals[:count] if goal.size is not None]
            del open_goals[:count], rest[0]
        elif count := run([piece.size for piece in rest], wanted, facts):
            placed += [(goal.target, piece) for piece in rest[:count]]
            del rest[:count], open_goals[0]
        elif divides(piece.size, wanted, facts):
            placed.append((goal.target, rest.pop(0)))
            open_goals[0] = replace(goal, size=facts.normalise(wanted / piece.size))
        elif divides(wanted, piece.size, facts):
            placed.append((goal.target, replace(piece, size=wanted)))
            open_goals.pop(0)
            rest[0] = replace(piece, size=facts.normalise(piece.size / wanted))
        else:
            break
    return tuple(placed), tuple(rest), tuple(open_goals)


def run(sizes: Sequence[Monomial | None], whole: Monomial, facts: Facts) -> int:
    """How many of the next sizes multiply to exactly this one; 0 where none do."""
    total = ONE
    for count, size in enumerate(sizes[:4], 1):
        if size is None:
            break
        total = total * size
        if facts.equal(total, whole):
            return count
    return 0


def divides(part: Monomial, whole: Monomial, facts: Facts) -> bool:
    return ONE.divides(facts.normalise(whole / part))


def known_sizes(goals: Sequence[Goal]) -> list[Monomial]:
    return [goal.size for goal in goals if goal.size is not None]


def volume(match: Match, facts: Facts) -> Monomial:
    """What the open source holds more than the open known targets."""
    return facts.normalise(product(piece.size for piece in match.source) / product(known_sizes(match.goals)))
