"""Attention sites: what the interpreter records where logits meet softmax, and what the judge makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attnlint.domain.algebra import AXIS, Facts, Monomial

if TYPE_CHECKING:
    from attnlint.domain.shapes import Axis
    from attnlint.domain.values import Factor, Mask, Origin, Path, Product, Tensor, Value
    from attnlint.syntax.scope import ModuleScope


@dataclass(eq=False)
class SiteRecord:
    """One softmax or fused kernel as met on one path. It goes on filling up while its weights are followed to the values."""

    kind: str  # "softmax" | "kernel"
    logits: Tensor | None
    softmax: Origin | None  # the softmax or kernel expression
    anchor: Origin | None  # the same, seen from the function that holds the product
    qualname: str
    scope: ModuleScope
    path: Path
    known: Facts  # goes on filling up with the evaluation
    defaults: dict[str, Value]
    dims: set[str]
    axis: Axis | None = None
    implicit_axis: bool = False  # softmax was given no axis
    axis_origin: Origin | None = None
    call_chain: tuple[str, ...] = ()
    call_sites: tuple[Origin, ...] = ()
    standalone: bool = False  # no caller was evaluated: arguments are symbols
    hand_written: bool = False
    stable: bool = True
    online: bool = False
    exponential: Origin | None = None
    exponential_masks: tuple[Mask, ...] = ()
    normalised_at: Origin | None = None
    summed_at: Origin | None = None  # the denominator of a hand-written softmax
    renormalised: bool = False
    dtype: str | None = None
    kernel: str | None = None
    arguments: dict[str, Value] = field(default_factory=dict)  # of a kernel, by parameter name
    argument_origins: dict[str, Origin] = field(default_factory=dict)
    value: Tensor | None = None
    value_axes: tuple[Axis, ...] = ()
    value_origin: Origin | None = None
    weights_at_value: Tensor | None = None
    after: list[tuple[Factor, bool]] = field(default_factory=list)  # factors on the weights, or (True) on the output
    after_masks: list[Mask] = field(default_factory=list)
    merges: list[tuple[str, Origin | None]] = field(default_factory=list)  # scrambled merges of the output
    owner: Any = None  # the class whose method this is
    function: Any = None
    framework: str = "torch"
    notes: set[str] = field(default_factory=set)
    called_at: Origin | None = None  # the call of the attention function that holds the product
    called_from: str = ""
    names_in_scope: dict[str, Value] = field(default_factory=dict)
    equal: tuple[tuple[Monomial, Monomial], ...] = ()  # sizes that a test on the path compares: they are one there

    @property
    def facts(self) -> Facts:
        """What is known of sizes on the path of the site."""
        if not self.equal:
            return self.known
        facts = self.known.copy()
        for a, b in self.equal:
            facts.learn(a, b, tested=True)
        return facts

    def meet_value(self, value: Tensor, axes: tuple[Axis, ...], weights: Tensor, origin: Origin | None) -> None:
        if self.value is None:
            self.value, self.value_axes, self.value_origin, self.weights_at_value = value, axes, origin, weights

    def scaled_after(self, factor: Factor, output: bool) -> None:
        self.after.append((factor, output))

    def masked_after(self, mask: Mask) -> None:
        self.after_masks.append(mask)


@dataclass(eq=False)
class AttentionSite:
    """A judged site: what rules look at. Monomials are as written; `ratio` is reduced by all facts."""

    record: SiteRecord
    query: Tensor | None
    key: Tensor | None
    product: Product | None
    contraction: Monomial | None
    scale: Monomial | None
    expected: Monomial | None
    ratio: Monomial | None
    factors: tuple[PlacedFactor, ...]
    verdict: str
    kind: str | None = None  # the scale rule that a fault belongs to
    reason: str | None = None
    path: str | None = None
    culprit: PlacedFactor | None = None  # the factor at fault
    other: PlacedFactor | None = None  # for a double scale, the factor beside the culprit
    terms: tuple[tuple[Tensor, Monomial], ...] = ()  # additive terms with the scale each got
    term: Tensor | None = None  # the bias that is scaled along, where that is the fault
    siblings: tuple[AttentionSite, ...] = ()  # every judged site of the file

    others: tuple[AttentionSite, ...] = ()  # the same place as met on other paths and from other callers

    @property
    def facts(self) -> Facts:
        return self.record.facts

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


@dataclass(frozen=True, eq=False)
class PlacedFactor:
    """A factor of the net scale and what it was applied to: query, key, logits, kernel, weights or output."""

    factor: Factor
    target: str
