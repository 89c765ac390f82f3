"""The probe's values: a scalar factor with its place, and a site of a report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple


class Geometry(NamedTuple):
    """Where an array lies in its storage: sizes, strides and offset, all in elements."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @property
    def numel(self) -> int:
        n = 1
        for size in self.sizes:
            n *= size
        return n


@dataclass(frozen=True)
class Factor:
    """One scalar that multiplies q, k, the logits, the weights or the output.

    `value` is None where it cannot be read (a tensor on the meta device). `on` is "query", "key", "logits", "kernel", "weights" or
    "output"; for a sum of products `part` is the number of the product, counted from 0.
    """

    value: float | None
    file: str
    line: int
    op: str
    on: str = ""
    learned: bool = False
    part: int = 0

    def describe(self) -> str:
        shown = "a learned value" if self.value is None and self.learned else "unknown" if self.value is None else f"{self.value:.6g}"
        learned = " (learned)" if self.learned and self.value is not None else ""
        return f"{shown}{learned} on the {self.on or 'tensor'} ({self.op}) at {self.file}:{self.line}"


@dataclass(frozen=True)
class Head:
    """One head of an attention, counted from 0: means over its sampled rows, `max_logit` over all of them.

    `scale` and `ratio` are what was measured for this head, None where that could not be had.
    """

    head: int
    scale: float | None
    ratio: float | None
    entropy: float | None
    max_logit: float | None
    max_weight: float | None
    saturated: float | None


@dataclass(frozen=True)
class Site:
    """One attention site of a report: everything refers to q·k before any scaling of q or k.

    `scale` is what was applied, `expected` what is meant, `ratio` the first over the second. `slope` is the scale found by regression
    (times the factors on q and k), `r_squared` that regression's. `max_weight` is the mean over rows of the largest weight,
    `saturated` the share of rows whose largest weight exceeds 0.99, `entropy` the mean row entropy over ln of the unmasked keys,
    `jacobian` the mean of 1 - sum p² (the trace of the softmax Jacobian), `reference_error` the largest absolute difference of the
    weights from the float64 reference at the expected scale, `max_logit` the largest unmasked logit. `heads` has the figures of
    each head where heads can be told apart. `function` is the user's function; `name` is the module, or else that function.
    A figure that cannot be had is None, with the reason in `note`.
    """

    module: str
    file: str
    line: int
    calls: int
    head_dim: int | None
    scale: float | None
    expected: float | None
    ratio: float | None
    status: str
    kind: str | None
    factors: tuple[Factor, ...] = ()
    slope: float | None = None
    r_squared: float | None = None
    max_weight: float | None = None
    saturated: float | None = None
    entropy: float | None = None
    jacobian: float | None = None
    reference_error: float | None = None
    tolerance: float = 1e-3
    query_shape: tuple[int, ...] = ()
    key_shape: tuple[int, ...] = ()
    dtype: str = ""
    op: str = ""
    note: str = ""
    faults: int = 0
    function: str = ""
    max_logit: float | None = None
    heads: tuple[Head, ...] = ()
    samples: Samples | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """How reports call the site: its module, else the function that computes it."""
        return self.module or (f"{self.function}()" if self.function else "(no module)")

    def as_dict(self) -> dict[str, Any]:
        """Plain values only, as `Report.to_json` writes them; samples are left out."""
        values = {name: value for name, value in self.__dict__.items() if name != "samples"}
        values["factors"] = [asdict(factor) for factor in self.factors]
        values["heads"] = [asdict(head) for head in self.heads]
        values["query_shape"], values["key_shape"] = list(self.query_shape), list(self.key_shape)
        return values


@dataclass(frozen=True, eq=False)
class Map:
    """One head's weights to be looked at: `weights` (rows, keys), float64 NumPy, drawn from `queries` by `keys` of them."""

    head: int | None
    weights: Any
    queries: int
    keys: int


@dataclass(frozen=True, eq=False)
class Samples:
    """At most 64 rows of 64 keys of one head, float64 NumPy: the logits as softmax saw them (-inf where masked), and the weights.

    `raw` is q·k before any factor and `added` what was added to the logits, None where they cannot be had: the reference's logits at
    scale s are s * raw + added. `maps` are small maps of the weights, one a head.
    """

    logits: Any
    weights: Any
    raw: Any = None
    added: Any = None
    maps: tuple[Map, ...] = ()
    picked: Any = None


@dataclass(frozen=True)
class Statistics:
    """What softmax made of the logits, over the rows that have an unmasked key."""

    max_weight: float | None = None
    saturated: float | None = None
    entropy: float | None = None
    jacobian: float | None = None
