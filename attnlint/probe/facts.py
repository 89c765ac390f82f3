"""What is known of arrays and of what happened to them: factors, products with the events since, softmax's weights, a measured run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from attnlint.probe.frames import Line, Place
from attnlint.probe.values import Factor, Geometry, Samples, Statistics

if TYPE_CHECKING:
    from attnlint.probe.heads import HeadFigures

FILL_MASKS_BELOW = -30.0
"""A fill of this or less takes a key out of the softmax; anything above leaves it in (the multiplicative-mask fault)."""
MAX_TERMS = 8


class Arrays(Protocol):
    """What the trace asks of a framework's arrays."""

    module_type: type | None

    def key(self, a: Any) -> int: ...
    def guard(self, a: Any, gone: Callable[[], None]) -> Any: ...
    def geometry(self, a: Any) -> Geometry: ...
    def covers(self, a: Any) -> bool: ...
    def numeric(self, a: Any) -> bool: ...
    def take(self, a: Any, index: Sequence[Any]) -> Any: ...
    def dtype(self, a: Any) -> str: ...
    def is_parameter(self, a: Any) -> bool: ...
    def trainable(self, a: Any) -> bool: ...
    def constant(self, a: Any) -> float | None: ...
    def zero_one(self, a: Any) -> bool: ...
    def row_tops(self, a: Any, axis: int) -> Any: ...
    def first_bad(self, a: Any) -> tuple[int, ...] | None: ...
    def row_sums(self, weights: Any, axis: int) -> Any: ...


# --- what happened to logits between the product and softmax, in order ------------------------------------------------------


class Scale(NamedTuple):
    at: Geometry
    value: Any  # a float, or an array that differs from entry to entry


class Add(NamedTuple):
    at: Geometry
    array: Any
    alpha: float


class Fill(NamedTuple):
    """Entries where `mask` (or its negation) holds became `value`, a float or an array."""

    at: Geometry
    mask: Any
    negate: bool
    value: Any


class PartFill(NamedTuple):
    """All entries of one region became `value` (None: unknown)."""

    region: Geometry
    value: float | None


class ZeroTriangle(NamedTuple):
    at: Geometry
    upper: bool
    diagonal: int


class SoftCap(NamedTuple):
    at: Geometry


class Dropped(NamedTuple):
    """Dropout: entries were multiplied by those of `noise` times `gain`, 0 for the ones that were dropped."""

    at: Geometry
    noise: Any
    gain: float


class Move(NamedTuple):
    """A new storage whose entries correspond, index by index and broadcast, to those of `source` in the storage before."""

    at: Geometry
    source: Geometry


class Joined(NamedTuple):
    """A new storage in which the piece of interest lies at `start` along `axis`."""

    at: Geometry
    axis: int
    start: int
    source: Geometry


class Product:
    """One contraction of two arrays, neither of them a parameter."""

    __slots__ = (
        "dtype",
        "gains",
        "geometry",
        "head_dim",
        "k",
        "k_info",
        "k_letters",
        "k_shape",
        "op",
        "out_letters",
        "place",
        "q",
        "q_info",
        "q_letters",
        "q_shape",
        "versions",
    )

    def __init__(self, op: str, place: Place, q: Any, k: Any, letters: tuple[str, str, str], head_dim: int) -> None:
        self.op, self.place, self.q, self.k = op, place, q, k
        self.q_letters, self.k_letters, self.out_letters = letters
        self.head_dim = head_dim
        self.q_info = self.k_info = EMPTY
        self.gains: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())
        self.q_shape: tuple[int, ...] = ()
        self.k_shape: tuple[int, ...] = ()
        self.dtype = "float32"
        self.geometry = Geometry((), (), 0)


class Term(NamedTuple):
    product: Product
    factors: tuple[Factor, ...]  # on the logits, since the product


class Track(NamedTuple):
    """Logits: the products in them, and what has happened to the entries since the first one."""

    terms: tuple[Term, ...]
    events: tuple[Any, ...] = ()
    lost: str = ""  # why entries can no longer be traced to the product's
    zeroed: str = ""  # where entries were multiplied by 0 or filled with about 0
    capped: bool = False
    mixed: str = ""  # a learned layer over the logits
    learned: bool = False
    opaque: str = ""  # an operation that the trace does not know
    uneven: bool = False  # a multiplier that differs from entry to entry


class Exponential:
    """exp(logits) whose sum and product with the values are still to come."""

    __slots__ = ("axis", "contracted", "gain", "logits", "run", "summed", "track")

    def __init__(self, logits: Any, track: Track, gain: float = 1.0) -> None:
        self.logits, self.track, self.gain = logits, track, gain  # exp(logits * gain): ln 2 for powers of two
        self.summed = self.contracted = False
        self.axis: int | None = None
        self.run: Run | None = None


class Weights(NamedTuple):
    """Weights that softmax made along the axis of this stride and size; `across` are the axes along which it should not have."""

    run: Run
    stride: int
    size: int
    across: tuple[tuple[int, int], ...] = ()


class ExpPart(NamedTuple):
    exponential: Exponential
    stride: int  # of the summed axis, once known; -1 before
    size: int


class Info(NamedTuple):
    """What is known of an array. All fields have a neutral default: an array without any is fresh data."""

    origin: Any = None
    factors: tuple[Factor, ...] = ()
    parameter: bool = False  # a parameter, a view of one or a cast of one
    trainable: bool = False
    learned: bool = False  # computed from parameters alone
    random: bool = False
    normalised: str = ""  # "l2", "rms" or "layer"
    norm_of: Any = None
    norm_form: str = ""  # "square", "sum", "norm", "inverse"
    gains: tuple[Any, ...] = ()  # multipliers that differ from head to head, and moves since: Scale and Move
    table: Any = None  # what it was multiplied by entry by entry (rope's cosine or sine)
    track: Track | None = None
    weights: Weights | None = None
    weight_sum: Run | None = None
    cross_sum: Run | None = None  # weights summed over another axis than softmax's
    exponential: ExpPart | None = None
    exp_sum: tuple[Exponential, ...] = ()
    exp_output: tuple[Exponential, ...] = ()  # exponentials times values, not divided by their sum yet
    log_sum: tuple[Track, int] | None = None
    log_weights: Weights | None = None
    outer: Outer | None = None
    output_of: tuple[Run, ...] = ()
    inexact: bool = False
    unpadded: int | None = None


class Outer(NamedTuple):
    """An elementwise product of two broadcast arrays, before the sum that makes it a contraction."""

    a: Any
    b: Any
    a_info: Info
    b_info: Info
    place: Place
    version: tuple[Any, Any] = (None, None)


EMPTY = Info()


class Evidence(NamedTuple):
    """What one attention computed on its sampled rows, for comparing: float64 arrays (rows, keys), row numbers over all other axes.

    `raw` is q·k before any factor, None where it cannot be had; `live` are the unmasked keys.
    """

    rows: Any
    raw: Any
    logits: Any
    weights: Any
    live: Any


class Run:
    """One attention that ran, as measured. Numbers only, but for `reference` and what its judge drops."""

    __slots__ = (
        "capped",
        "done",
        "dropped_mass",
        "dtype",
        "evidence",
        "head_dim",
        "heads",
        "k_shape",
        "keys",
        "learned",
        "logit_slope",
        "logits_shape",
        "masked_after",
        "max_logit",
        "mixed",
        "non_finite",
        "normalised",
        "notes",
        "op",
        "opaque",
        "output_factors",
        "place",
        "product_geometry",
        "q_shape",
        "queries",
        "r_squared",
        "reference",
        "samples",
        "slope_error",
        "softmax_over",
        "statistics",
        "terms",
        "trainable",
        "uneven",
        "weight_factors",
        "wrong_axis",
        "zeroed",
    )

    def __init__(self, op: str, place: Place) -> None:
        self.op, self.place = op, place
        self.terms: tuple[tuple[int, tuple[Factor, ...]], ...] = ()
        self.head_dim: int | None = None
        self.q_shape: tuple[int, ...] = ()
        self.k_shape: tuple[int, ...] = ()
        self.logits_shape: tuple[int, ...] = ()
        self.queries = self.keys = 0
        self.dtype = "float32"
        self.logit_slope: float | None = None  # softmax input on the product as it was computed
        self.r_squared: float | None = None
        self.slope_error = 0.0  # relative standard error of the slope
        self.statistics = Statistics()
        self.reference: Callable[[float], float | None] | None = None
        self.samples: Samples | None = None
        self.evidence: Evidence | None = None
        self.normalised = self.learned = self.capped = self.trainable = False
        self.zeroed = self.mixed = self.opaque = ""
        self.non_finite = ""  # the first place of a NaN, an infinity or a row without a key
        self.softmax_over = ""  # the axis that softmax ran over, where the values are summed over another
        self.max_logit: float | None = None
        self.heads: tuple[HeadFigures, ...] = ()
        self.notes: list[str] = []
        self.weight_factors: list[Factor] = []
        self.output_factors: list[Factor] = []
        self.masked_after: Line | None = None
        self.dropped_mass = False
        self.wrong_axis = False
        self.uneven = False  # multiplied by numbers that differ from row to row, and heads could not be told apart
        self.done = False


def product_of(factors: Sequence[Factor]) -> float | None:
    """The product of the factors' values, None where one is unknown."""
    total = 1.0
    for factor in factors:
        if factor.value is None:
            return None
        total *= factor.value
    return total


def operand(info: Info) -> Info:
    """What a product keeps of its operand: nothing that holds an array."""
    return Info(
        origin=info.origin,
        factors=info.factors,
        normalised=info.normalised,
        learned=info.learned,
        inexact=info.inexact,
        trainable=info.trainable,
    )


def placed_on(factor: Factor, on: str) -> Factor:
    return Factor(factor.value, factor.file, factor.line, factor.op, on, factor.learned, factor.part)


def magnitude(factors: Sequence[Factor]) -> float | None:
    total = product_of(factors)
    return None if total is None else float(f"{abs(total):.6g}")


_COARSENESS = {"bfloat16": 2, "float16": 1}


def coarser(a: str, b: str) -> str:
    return a if _COARSENESS.get(a, 0) >= _COARSENESS.get(b, 0) else b
