"""The verdict on one attention that ran: which scale, whether it is the one meant, and which fault it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from attnlint.probe.expect import Expect
from attnlint.probe.facts import Run, product_of
from attnlint.probe.measure import operand_scale
from attnlint.probe.values import Factor, Head

TOLERANCE = {"float16": 5e-3, "bfloat16": 1e-2}
TOLERANCE_ELSE = 1e-3
R_SQUARED_LEAST = 0.99


def tolerance(dtype: str) -> float:
    """The tolerance on |ratio - 1| by dtype: worst slope errors of right code stay five times under it."""
    return TOLERANCE.get(dtype, TOLERANCE_ELSE)


@dataclass(frozen=True)
class Verdict:
    status: str
    kind: str | None
    head_dim: int | None
    scale: float | None
    expected: float | None
    ratio: float | None
    slope: float | None
    factors: tuple[Factor, ...]
    notes: tuple[str, ...] = field(default=())
    heads: tuple[Head, ...] = field(default=())


@dataclass(frozen=True)
class Reading:
    """One way to read the site: a part of a sum of products, or all of them together."""

    head_dim: int
    scale: float | None
    expected: float
    ratio: float | None
    part: int

    @property
    def distance(self) -> float:
        return math.inf if self.ratio is None or self.ratio <= 0 else abs(math.log(self.ratio))


def _expected(head_dim: int, expect: Expect | None) -> float:
    return head_dim**-0.5 if expect is None else expect.at(head_dim)


def _reading(head_dim: int, scale: float | None, expect: Expect | None, part: int) -> Reading:
    expected = _expected(head_dim, expect)
    return Reading(head_dim, scale, expected, None if scale is None else scale / expected, part)


def _measured_slope(run: Run) -> float | None:
    operands = operand_scale(run.terms)
    return None if run.logit_slope is None or operands is None else run.logit_slope * operands


def judge(run: Run, expect: Expect | None) -> Verdict:
    """The verdict. Two measurements: the product of the factors, and the slope; where they differ the values decide."""
    tol = tolerance(run.dtype)
    notes = list(run.notes)
    slope = _measured_slope(run)
    scales = [product_of(factors) for _, factors in run.terms]
    heads = _heads_of(run, scales[0])
    odd = None if run.learned or run.normalised or len(run.terms) > 1 else _odd_head(heads, run, expect, tol, notes)
    if odd is not None:
        scales[0] = slope = odd
    elif run.uneven:
        scales[0] = None
    elif slope is not None and run.r_squared is not None and run.r_squared >= R_SQUARED_LEAST:
        if scales[0] is None:
            scales[0] = slope
        elif scales[0] == 0 or abs(slope / scales[0] - 1) > max(tol, 8 * run.slope_error):
            notes.append(f"the factors that were seen give {scales[0]:.6g}, the values {slope:.6g}: the values decide")
            scales[0] = slope
    elif slope is None and scales[0] is not None and not any("kernel" in n for n in notes):
        notes.append("by provenance: from the factors alone")
    readings = [_reading(d, s, expect, i) for i, ((d, _), s) in enumerate(zip(run.terms, scales, strict=True))]
    if len(readings) > 1 and len({round(s, 9) for s in scales if s is not None}) == 1 and None not in scales:
        readings.append(_reading(sum(d for d, _ in run.terms), scales[0], expect, 0))
    best = min(readings, key=lambda r: r.distance)
    if len(run.terms) > 1:
        parts = ", ".join(f"{r.scale:.6g} at d={r.head_dim}" for r in readings[: len(run.terms)] if r.scale is not None)
        notes.append(f"a sum of {len(run.terms)} products ({parts})")
    factors = tuple(f for _, fs in run.terms for f in fs)
    status, kind = _status(run, best, expect, tol, notes, one_line=odd is not None)
    return Verdict(
        status,
        kind,
        best.head_dim,
        best.scale,
        best.expected,
        best.ratio,
        slope if len(run.terms) == 1 or best.part == 0 else None,
        (*factors, *run.weight_factors, *run.output_factors),
        tuple(dict.fromkeys(notes)),
        tuple(replace(head, ratio=head.scale / best.expected) if head.scale is not None else head for head in heads),
    )


def _heads_of(run: Run, scale: float | None) -> tuple[Head, ...]:
    """The heads' figures; the scale of a head whose own slope could not be measured is that of all."""
    operands = operand_scale(run.terms) if run.terms else None
    uneven = len({f.logit_slope is None for f in run.heads}) > 1 or (run.logit_slope is None and run.r_squared is not None)
    return tuple(
        Head(
            f.head,
            f.logit_slope * operands if f.logit_slope is not None and operands is not None else None if uneven else scale,
            None,
            f.entropy,
            f.max_logit,
            f.max_weight,
            f.saturated,
        )
        for f in run.heads
    )


def _odd_head(heads: tuple[Head, ...], run: Run, expect: Expect | None, tol: float, notes: list[str]) -> float | None:
    """The scale of the head that is furthest off, where the heads' measured scales are not one and the same."""
    measured = [
        (head, f.slope_error)
        for head, f in zip(heads, run.heads, strict=True)
        if f.logit_slope is not None and head.scale is not None and 8 * f.slope_error < 0.05
    ]
    scales = [head.scale for head, _ in measured if head.scale]
    if run.head_dim is None or not scales:
        return None
    middle = sorted(scales)[len(scales) // 2]
    off = [head for head, error in measured if head.scale and abs(head.scale / middle - 1) > max(tol, 8 * error)]
    uneven = run.logit_slope is None
    if not off and not (uneven and len(scales) == len(heads)):
        return None
    expected = _expected(run.head_dim, expect)
    worst = max(measured, key=lambda pair: _distance(pair[0].scale, expected))[0]
    if off:
        others = [head for head in heads if head.scale is not None and abs(head.scale / expected - 1) > tol]
        named = ", ".join(f"{head.head} ({head.scale:.4g})" for head in (others or off)[:8])
        notes.append(f"the heads' scales differ: head {named} of {len(heads)} (counted from 0); most have {middle:.4g}")
    return worst.scale


def _distance(scale: float | None, expected: float) -> float:
    return abs(math.log(scale / expected)) if scale is not None and scale / expected > 0 else math.inf


def _status(
    run: Run, best: Reading, expect: Expect | None, tol: float, notes: list[str], *, one_line: bool = False
) -> tuple[str, str | None]:
    met = best.ratio is not None and abs(best.ratio - 1) <= tol
    fine = "declared" if expect is not None else "ok"
    if run.masked_after is not None and (run.r_squared is None or run.r_squared >= R_SQUARED_LEAST or run.capped or run.mixed):
        notes.append(f"weights are masked after softmax at {run.masked_after.file}:{run.masked_after.line}; rows no longer sum to 1")
        return "fault", "mask-after-softmax"
    if run.non_finite:
        notes.insert(0, run.non_finite)
        return "fault", "non-finite"
    if run.wrong_axis and not (expect is not None and met):
        notes.insert(0, run.softmax_over)
        return "fault", "softmax-axis"
    affine = one_line or run.r_squared is None or run.r_squared >= R_SQUARED_LEAST or run.capped or run.mixed
    if not affine:
        return _not_affine(run, notes)
    if run.normalised and not met and expect is None:
        shown = "unknown" if best.scale is None else f"{best.scale:.6g}"
        notes.append(f"q and k are normalised: the temperature is {shown}, no verdict")
        return "skipped", None
    if run.learned and expect is None:
        learned = [f for _, fs in run.terms for f in fs if f.learned]
        where = f" at {learned[0].file}:{learned[0].line}" if learned else ""
        notes.append(f"the temperature is learned{where}: no verdict")
        return "skipped", None
    if best.ratio is None:
        notes.append("a factor has no value that could be read: no verdict")
        return "skipped", None
    after = _after_softmax(run, best)
    if met:
        if after is not None and expect is None:
            notes.append(f"scaled once more {after[1]}")
            return "fault", "scale-after-softmax"
        return fine, None
    if run.mixed and expect is None:
        notes.append(f"the logits are mixed by a learned layer ({run.mixed}): no verdict")
        return "skipped", None
    kind, others = name_kind(run, best)
    if expect is not None and best.scale is not None and abs(best.scale * best.head_dim**0.5 - 1) <= tol:
        kind, others = "unexpected-scale", ["1/√d, where another scale was declared"]
    if after is not None and kind == "missing-scale":
        notes.append(f"the scale is applied {after[1]}, where it no longer reaches softmax")
        kind = "scale-after-softmax"
    if others:
        notes.append("fits at these sizes: " + ", ".join(others))
    return "fault", kind


def _not_affine(run: Run, notes: list[str]) -> tuple[str, str]:
    shown = f"R² = {run.r_squared:.4f}"
    if run.zeroed:
        notes.append(f"{shown}: masked entries keep a place in softmax ({run.zeroed}); fill them with -inf")
        return "fault", "multiplicative-mask"
    if run.learned:
        notes.append(f"{shown}: the logits pass through a learned operation")
    cause = f" (through {run.opaque})" if run.opaque else ""
    notes.append(f"{shown}: what softmax saw is no affine function of q·k{cause}")
    return "fault", "not-affine"


def _after_softmax(run: Run, best: Reading) -> tuple[Factor, str] | None:
    """A factor on the weights or the output that is a power of the head size."""
    d = best.head_dim
    named = {d**-0.5, d**0.5, 1.0 / d} if d > 1 else set()
    if best.scale is not None and abs(best.scale - 1.0) < 1e-6 and run.weight_factors:
        total = product_of(run.weight_factors)
        if total is not None:
            first = run.weight_factors[0]
            return first, f"to the weights, after softmax, at {first.file}:{first.line}"
    for factors, what in ((run.weight_factors, "to the weights"), (run.output_factors, "to the output")):
        for factor in factors:
            if factor.value is not None and not factor.learned and any(abs(factor.value / n - 1) < 1e-3 for n in named):
                return factor, f"{what}, after softmax, at {factor.file}:{factor.line}"
    return None


def name_kind(run: Run, best: Reading) -> tuple[str, list[str]]:
    """The commonest fault that explains the scale, and every expression that fits it at this size."""
    s, d, tol = best.scale, best.head_dim, max(tolerance(run.dtype), 1e-4)
    if s is None:
        return "constant-scale", []
    factors = [f for f in run.terms[best.part][1] if f.value is not None]
    fits = [(kind, label) for kind, label, value in _candidates(run, d) if value > 0 and abs(s / value - 1) <= tol]
    labels = list(dict.fromkeys(label for _, label in fits))
    if s < 0:
        return "constant-scale", ["a negative scale"]
    if any(kind == "missing-scale" for kind, _ in fits):
        return "missing-scale", labels
    powers = [f.value for f in factors if f.op.startswith("exponential of base") and f.value is not None]
    if powers and abs(s / powers[0] * math.sqrt(d) - 1) <= tol:
        return "constant-scale", [
            f"1/√d, but powers of {math.exp(powers[0]):g} where softmax has powers of e: multiply by 1/ln of that base"
        ]
    if abs(s * d - 1) <= tol:
        rooted = [f for f in factors if f.value is not None and abs(f.value * math.sqrt(d) - 1) <= tol]
        quarter = [f for f in factors if f.value is not None and abs(f.value * d**0.25 - 1) <= tol]
        if len(rooted) + len(quarter) // 2 >= 2:
            return "double-scale", labels
        return "unrooted-scale", labels
    if _twice(factors, d, tol):
        return "double-scale", [*labels, "1/√d and a further factor"]
    if fits:
        return fits[0][0], labels
    return "constant-scale", [_nearest(s, d)]


def _twice(factors: Sequence[Factor], d: int, tol: float) -> bool:
    """1/√d is there, and a second factor of its own beside it (√d·d^-½ is 1, and is called missing)."""
    rooted = [f for f in factors if f.value is not None and abs(f.value * math.sqrt(d) - 1) <= tol]
    others = [f for f in factors if f not in rooted and f.value is not None and abs(abs(f.value) - 1) > tol]
    return len(rooted) >= 2 or (len(rooted) == 1 and any(f.value is not None and f.value < 1 for f in others))


def _nearest(s: float, d: int) -> str:
    return f"a constant {s:.6g}, right for a head size of {s**-2:.4g}" if s > 0 else f"a constant {s:.6g}"


def _heads(run: Run) -> list[int]:
    """Sizes that may be the number of heads: the axis of the logits before the last two, in every common layout."""
    return [n for n in run.logits_shape[-3:-2] if n > 1]


def _candidates(run: Run, d: int) -> list[tuple[str, str, float]]:
    """(kind, expression, value), the commonest first."""
    rows: list[tuple[str, str, float]] = [
        ("missing-scale", "1 (no scale)", 1.0),
        ("unrooted-scale", "1/d", 1.0 / d),
    ]
    heads = _heads(run)
    attributes = _module_sizes(run)
    named = {size for _, size in attributes}
    for h in heads:
        rows.append(("wrong-dim-scale", f"1/√(H·d) with H = {h}" + (f", H·d = {h * d}" if h * d else ""), (h * d) ** -0.5))
    for name, size in attributes:
        if size > 1 and size != d:
            rows.append(("wrong-dim-scale", f"1/√{size} ({name} of the module)", size**-0.5))
    rows += [
        ("inverted-scale", "√d", d**0.5),
        ("inverted-scale", "d", float(d)),
        ("unrooted-scale", "d^(-1/4)", d**-0.25),
        ("wrong-dim-scale", f"1/√T with T = {run.queries} queries", run.queries**-0.5 if run.queries else 0.0),
        ("wrong-dim-scale", f"1/√S with S = {run.keys} keys", run.keys**-0.5 if run.keys else 0.0),
    ]
    for h in heads:
        rows.append(("wrong-dim-scale", f"1/√H with H = {h}", h**-0.5))
    rows += [
        ("scale-precedence", "1/(2d), as 1 / d ** 1/2 reads", 1.0 / (2 * d)),
        ("scale-precedence", "2/d, as over (d ** 1/2)", 2.0 / d),
        ("scale-precedence", "d/2, as times d ** 1/2", d / 2.0),
        ("wrong-dim-scale", "1/√(d/2)", (d / 2) ** -0.5),
        ("wrong-dim-scale", "1/√(2d)", (2 * d) ** -0.5),
        ("unrooted-scale", "d^(-3/2)", d**-1.5),
        ("unrooted-scale", "d^(-2)", float(d) ** -2),
    ]
    for h in heads:
        rows += [
            ("wrong-dim-scale", f"1/(H·d) with H = {h}", 1.0 / (h * d)),
            ("scale-precedence", f"H·d // H ** -0.5 with H = {h}", float(h * d // h**-0.5)),
            ("scale-precedence", f"d // H ** -0.5 with H = {h}", float(d // h**-0.5)),
            ("inverted-scale", f"√(H·d) with H = {h}", (h * d) ** 0.5),
            ("wrong-dim-scale", f"√(H/d) with H = {h}", (h / d) ** 0.5),
        ]
    for name, size in attributes:
        for other, heads_ in attributes:
            if heads_ > 1 and name != other and size > heads_:
                rows.append(("scale-precedence", f"{size} // {heads_} ** -0.5 ({name}, {other})", float(size // heads_**-0.5)))
        if size > 1:
            rows.append(("wrong-dim-scale", f"1/{size} ({name} of the module)", 1.0 / size if size != d else 0.0))
            rows.append(("inverted-scale", f"√{size} ({name} of the module)", size**0.5 if size != d else 0.0))
    for n in run.logits_shape[:-3]:
        if n > 1:
            rows.append(("wrong-dim-scale", f"1/√({n}·d), an axis of the logits", (n * d) ** -0.5))
    rows += [
        ("wrong-dim-scale", f"1/T with T = {run.queries}", 1.0 / run.queries if run.queries > 1 else 0.0),
        ("wrong-dim-scale", f"1/S with S = {run.keys}", 1.0 / run.keys if run.keys > 1 else 0.0),
    ]
    for n in (8, 16, 32, 40, 48, 56, 64, 72, 80, 88, 96, 128, 160, 192, 256, 384, 512, 768, 1024):
        if n != d and n not in named:
            rows.append(("constant-scale", f"1/√{n}, a literal for a head size of {n}", n**-0.5))
    batch = run.logits_shape[0] if run.logits_shape else 0
    if batch > 1:
        rows.append(("wrong-dim-scale", f"1/√B with B = {batch}", batch**-0.5))
    return rows


def _module_sizes(run: Run) -> list[tuple[str, int]]:
    """Sizes that the module itself names: its integer attributes and the widths of its linear layers."""
    if not run.place.modules:
        return []
    owner = run.place.modules[0]
    found: dict[str, int] = {}
    for name, value in vars(owner).items():
        if isinstance(value, int) and not isinstance(value, bool) and 1 < value < 1 << 20 and not name.startswith("_"):
            found[name] = value
    children = getattr(owner, "_modules", None)
    for name, child in (children if isinstance(children, dict) else {}).items():
        for side in ("in_features", "out_features"):
            value = getattr(child, side, None)
            if isinstance(value, int) and value > 1:
                found.setdefault(f"{name}.{side}", value)
    known: set[int] = set()
    rows = []
    for name, value in found.items():
        if value not in known:
            known.add(value)
            rows.append((name, value))
    return rows
