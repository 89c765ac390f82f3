"""What the evaluation leaves where logits meet softmax: the record of one softmax or fused kernel, as met on one path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlint.domain.algebra import Facts, Monomial
    from attnlint.domain.shapes import Axis
    from attnlint.domain.values import Factor, Mask, Origin, Path, Tensor, Value
    from attnlint.syntax.scope import ModuleScope


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a function of the linted tree, and the function that it stands in ("" in a script)."""

    origin: Origin
    qualname: str


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
    calls: tuple[Call, ...] = ()  # those that lead to the function that holds the product, the nearest one last
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
    by_name: dict[int | str, str] = field(default_factory=dict)  # what the evaluation took by name, by node or by symbol
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
