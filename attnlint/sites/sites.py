"""Attention sites: a record of the evaluation, measured and judged. What rules look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from attnlint.domain.algebra import AXIS, Facts, Monomial
from attnlint.sites.operands import Operand, operand_of

if TYPE_CHECKING:
    from attnlint.domain.record import Call, SiteRecord
    from attnlint.domain.values import Factor, Product, Tensor

HALF = Fraction(1, 2)

Status = Literal["correct", "faulty", "intended", "unknown"]

# Of what the ratio of a site is made that is not settled yet: it decides which scale rules may speak.
#   named       heads or the size of one head, known by their names alone
#   configured  a parameter or setting that is no size of an axis
#   width       a power of the summed width, which itself is not followed
#   opaque      something that is not followed
#   unscaled    nothing: no factor was met
#   number      a number
#   symbols     sizes
#   right       nothing: the scale is right, and a rule may still object to what got it
Form = Literal["named", "configured", "width", "opaque", "unscaled", "number", "symbols", "right"]


class Because(Enum):
    """Reasons that other code asks for."""

    BILINEAR = "one product for keys that are projected and keys that are not"
    CONFIGURED = "callers that are seen may configure the factor"
    ASSUMED = "a fault on a path that perhaps no run takes"
    LOST = "a factor may be lost"
    UNSCALED = "a function that is handed query and key leaves the scale out"


@dataclass(frozen=True, eq=False)
class PlacedFactor:
    """A factor of the net scale and what it was applied to: query, key, logits, kernel, weights or output."""

    factor: Factor
    target: str


@dataclass(frozen=True, eq=False)
class Verdict:
    """What one test says of a site.

    `contraction` and `scale` stand in for those of the site where the verdict rests on others; `evidence` says what was taken by name.
    """

    status: Status
    reason: str | None = None
    kind: str | None = None  # the scale rule that a fault belongs to
    culprit: PlacedFactor | None = None  # the factor at fault
    other: PlacedFactor | None = None  # for a double scale, the factor beside the culprit
    term: Tensor | None = None  # the bias that is scaled along, where that is the fault
    because: Because | None = None
    contraction: Monomial | None = None
    scale: Monomial | None = None
    evidence: tuple[str, ...] = ()


def correct(reason: str | None = None) -> Verdict:
    return Verdict("correct", reason)


def intended(reason: str | None, because: Because | None = None) -> Verdict:
    return Verdict("intended", reason, because=because)


def unknown(reason: str | None, because: Because | None = None) -> Verdict:
    return Verdict("unknown", reason, because=because)


@dataclass(frozen=True, eq=False)
class AttentionSite:
    """A judged site. Monomials are as written; `ratio` is reduced by all facts."""

    record: SiteRecord
    query: Tensor | None
    key: Tensor | None
    product: Product | None
    contraction: Monomial | None
    scale: Monomial | None
    expected: Monomial | None
    ratio: Monomial | None
    factors: tuple[PlacedFactor, ...]
    verdict: Status = "unknown"
    kind: str | None = None  # the scale rule that a fault belongs to
    reason: str | None = None
    because: Because | None = None
    path: str | None = None
    carrier: Tensor | None = None  # the term of the logits that holds the product
    form: Form | None = None
    culprit: PlacedFactor | None = None  # the factor at fault
    other: PlacedFactor | None = None  # for a double scale, the factor beside the culprit
    terms: tuple[tuple[Tensor, Monomial], ...] = ()  # additive terms with the scale each got
    term: Tensor | None = None  # the bias that is scaled along, where that is the fault
    evidence: tuple[str, ...] = ()  # what the verdict takes by name
    via: Call | None = None  # the call that the site is judged for, where its function has callers
    siblings: Sequence[AttentionSite] = ()  # every judged site of the file
    others: tuple[AttentionSite, ...] = ()  # the same place as met on other paths and from other callers

    def judged(self, verdict: Verdict) -> AttentionSite:
        """The site with what a test says of it."""
        site = self
        if verdict.contraction is not None or verdict.scale is not None:
            contraction, scale = verdict.contraction or self.contraction, verdict.scale or self.scale
            assert contraction is not None and scale is not None
            ratio = self.facts.normalise(scale) / self.facts.normalise(contraction).power(-HALF)
            site = replace(self, contraction=contraction, scale=scale, expected=contraction.power(-HALF), ratio=ratio)
        return replace(
            site,
            verdict=verdict.status,
            kind=verdict.kind,
            reason=verdict.reason,
            because=verdict.because,
            culprit=verdict.culprit,
            other=verdict.other,
            term=verdict.term,
            evidence=tuple(dict.fromkeys((*self.evidence, *verdict.evidence))),
        )

    @cached_property
    def facts(self) -> Facts:
        return self.record.facts

    @cached_property
    def width(self) -> Monomial:
        """The contraction dimension, reduced by all facts."""
        assert self.contraction is not None
        return self.facts.normalise(self.contraction)

    @cached_property
    def net(self) -> Monomial:
        """The net scale, reduced by all facts."""
        assert self.scale is not None
        return self.facts.normalise(self.scale)

    @cached_property
    def operands(self) -> tuple[Operand, Operand]:
        """Query and key, seen through what is added to them."""
        assert self.query is not None and self.key is not None
        return operand_of(self.query), operand_of(self.key)

    @property
    def operand_sizes(self) -> Iterator[Monomial]:
        """The sizes of the pieces that the axes of query and key are made of."""
        operands = (tensor for tensor in (self.query, self.key) if tensor is not None)
        return (atom.size for tensor in operands for axis in tensor.shape.axes for atom in axis.atoms)

    @property
    def splits_heads(self) -> bool:
        """Whether what is summed is a whole width over a number that another axis of query or key has: one head's share."""
        if self.contraction is None:
            return False
        heads = Monomial(1.0, tuple((symbol, -exponent) for symbol, exponent in self.contraction.powers if exponent < 0))
        counted = any(symbol.kind != AXIS for symbol in heads.symbols)  # positions of an argument are no heads
        return counted and any(self.facts.equal(size, heads) for size in self.operand_sizes)


Test = Callable[[AttentionSite], "Verdict | None"]
