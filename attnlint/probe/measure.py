"""The numbers of one attention: regression of what softmax saw on q·k, and the float64 reference beside it.

Everything is taken on a sample of rows (all keys of a row), walked back from the softmax input to the product through the events of
the trace: moves, factors, addends, masks, soft-cap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlint.probe.contraction import contraction
from attnlint.probe.facts import (
    FILL_MASKS_BELOW,
    Add,
    Arrays,
    Fill,
    Joined,
    Move,
    PartFill,
    Product,
    Run,
    Scale,
    SoftCap,
    Term,
    Track,
    ZeroTriangle,
    coarser,
    product_of,
)
from attnlint.probe.positions import Lost, Position, moved, piece, sample, take, within
from attnlint.probe.trace import Trace
from attnlint.probe.values import Factor, Samples, Statistics

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]

FEWEST = 32
MASKED_BELOW = -1e4
ADDEND_MASKS_BELOW = -50.0
SAMPLE = 64
FULL_STATISTICS = 1 << 16
"""Entries over which the statistics are taken on evenly spread rows, half as many entries, instead of on all."""


class Walked:
    """Logits traced back to the product: `value` should be proportional to q·k where `keep`; `gain` and `addends` lead forward again."""

    def __init__(self, value: F64, keep: Any, position: Position) -> None:
        self.value, self.keep, self.position = value, keep, position
        self.gain: Any = 1.0
        self.addends: Any = 0.0
        self.uneven = False
        self.capped = False

    def only(self, inside: Any) -> None:
        if inside is not True:
            self.keep = self.keep & inside


def _walk(arrays: Arrays, track: Track, value: F64, live: Any, position: Position, product: Product) -> Walked:
    import numpy as np

    walked = Walked(value if live.all() else np.where(live, value, 0.0), live, position)
    for event in reversed(track.events):
        if isinstance(event, Move):
            walked.only(within(position, event.at)[1])
            position = moved(position, event.at, event.source)
        elif isinstance(event, Scale):
            if isinstance(event.value, float):
                walked.value = walked.value / event.value if event.value else walked.value
                walked.gain = walked.gain * event.value
            else:
                array, divide = event.value if isinstance(event.value, tuple) else (event.value, False)
                if not arrays.numeric(array):
                    raise Lost("a multiplier has no values")
                if not isinstance(event.value, tuple):
                    continue  # a 0/1 mask: that the zeros stay is what the regression is to show
                factor = take(arrays, array, position, event.at)
                with np.errstate(divide="ignore", invalid="ignore"):
                    factor = 1.0 / factor if divide else factor
                    walked.value = np.where(factor != 0, walked.value / np.where(factor == 0, 1.0, factor), 0.0)
                walked.gain = walked.gain * factor
                walked.uneven = True
        elif isinstance(event, Add):
            if not arrays.numeric(event.array):
                raise Lost("an addend has no values")
            addend = take(arrays, event.array, position, event.at) * event.alpha
            walked.only(np.isfinite(addend) & (addend * walked.gain > ADDEND_MASKS_BELOW))
            addend = np.where(walked.keep, addend, 0.0)
            walked.value = walked.value - addend
            walked.addends = walked.addends + addend * walked.gain
        elif isinstance(event, Fill):
            if not arrays.numeric(event.mask):
                raise Lost("a mask has no values")
            hit = take(arrays, event.mask, position, event.at) != 0
            hit = ~hit if event.negate else hit
            fill = event.value if isinstance(event.value, float) else take(arrays, event.value, position, event.at)
            walked.only(~(hit & (np.asarray(fill) <= FILL_MASKS_BELOW)))
        elif isinstance(event, PartFill):
            if event.value is None or event.value <= FILL_MASKS_BELOW:
                walked.only(np.logical_not(within(position, event.region)[1]))
        elif isinstance(event, SoftCap):
            walked.only(np.abs(walked.value) < 0.999)
            walked.value = np.arctanh(np.clip(walked.value, -0.999, 0.999))
            walked.capped = True
        elif isinstance(event, Joined):
            position, inside = piece(position, event.at, event.axis, event.start, event.source)
            walked.only(inside)
        elif isinstance(event, ZeroTriangle):
            continue
    walked.only(within(position, product.geometry)[1])
    walked.position = position
    return walked


def _raw(arrays: Arrays, product: Product, position: Position) -> F64:
    """q·k of the sampled entries in float64."""
    if product.q is None or not (arrays.numeric(product.q) and arrays.numeric(product.k)):
        raise Lost("q and k have no values")
    letters = (product.q_letters, product.k_letters, product.out_letters)
    return contraction(position, product.geometry, letters, (product.q_shape, product.k_shape)).compute(arrays, product)


ROUNDING = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}


class Fit(NamedTuple):
    """A regression: slope, R², the slope's relative standard error, and whether what is left over is no more than rounding."""

    slope: float
    r_squared: float
    error: float
    rounding: bool


def regress(value: F64, raw: F64, keep: Any, noise: Any = 0.0) -> Fit | None:
    """Row-centred least squares of `value` on `raw`, None with too little to go on. `noise` is the rounding error of each value."""
    import numpy as np

    whole = bool(keep.all())
    count = np.full((len(keep), 1), keep.shape[-1]) if whole else keep.sum(axis=-1, keepdims=True)
    usable = keep & (count > 1)
    entries = int(count[count > 1].sum())
    if entries < FEWEST:
        return None

    def chosen(a: Any) -> F64:
        return a if whole else np.where(usable, a, 0.0)

    y, x, noise = chosen(value), chosen(raw), chosen(np.broadcast_to(noise, keep.shape))
    weight = np.maximum(count, 1)
    y = chosen(y - y.sum(-1, keepdims=True) / weight)
    x = chosen(x - x.sum(-1, keepdims=True) / weight)
    xx, yy, xy = float(np.vdot(x, x)), float(np.vdot(y, y)), float(np.vdot(x, y))
    if xx <= 1e-24 * max(1.0, float(np.vdot(raw, raw))):
        return None
    slope = xy / xx
    noise_sum = float(np.vdot(noise, noise))
    if yy <= 0.0:
        return Fit(slope, 0.0, np.inf, noise_sum > 0.0)
    y -= slope * x
    rest = float(np.vdot(y, y))
    error = (max(rest, noise_sum / 12.0) / entries / xx) ** 0.5 / abs(slope) if slope else np.inf
    return Fit(slope, 1.0 - rest / yy, error, rest <= 4.0 * noise_sum)


def row_softmax(x: F64) -> F64:
    from attnlint.reference import softmax

    return softmax(x)


def statistics_of(p: Any, live: Any) -> Statistics:
    """The statistics of rows of weights; `live` are their unmasked keys."""
    import numpy as np

    keys = np.full(len(p), p.shape[-1]) if live is True or live.all() else live.sum(-1)
    if not keys.all():
        p, keys = p[keys > 0], keys[keys > 0]
    if not len(p):
        return Statistics()
    top, squares = p.max(-1), np.einsum("ij,ij->i", p, p)
    entropy = None
    several = keys > 1
    if several.any():
        spread = -np.einsum("ij,ij->i", p, np.log(np.maximum(p, np.finfo(p.dtype).tiny)))
        entropy = float((spread[several] / np.log(keys[several])).mean())
    return Statistics(float(top.mean(dtype=np.float64)), float((top > 0.99).mean()), entropy, 1.0 - float(squares.mean(dtype=np.float64)))


def _statistics(arrays: Arrays, x: Any, weights: Any, axis: int) -> Statistics:
    """The statistics of all rows, or of evenly spread ones where there are many."""
    import numpy as np

    entries = arrays.geometry(x).numel
    every = entries // (FULL_STATISTICS // 2) + 1 if entries > FULL_STATISTICS else 1
    logits, p = arrays.rows(x, axis, every), arrays.rows(weights, axis, every)
    if logits.min() > max(logits.max() - 1000.0, MASKED_BELOW):
        return statistics_of(p, True)
    return statistics_of(p, logits > np.maximum(logits.max(-1, keepdims=True) - 1000.0, MASKED_BELOW))


def _samples(x: F64, p: F64, live: Any) -> Samples:
    import numpy as np

    rows = min(len(x), SAMPLE)
    return Samples(np.where(live, x, -np.inf)[:rows, :SAMPLE].copy(), p[:rows, :SAMPLE].copy())


def describe(run: Run, track: Track, product: Product, axis_letter: str | None) -> None:
    """Copy what the judge needs out of the trace: no array goes with it."""
    swap = axis_letter is not None and axis_letter in product.q_letters and axis_letter not in product.k_letters
    run.head_dim = product.head_dim
    run.q_shape, run.k_shape = (product.k_shape, product.q_shape) if swap else (product.q_shape, product.k_shape)
    run.dtype = product.dtype
    terms = []
    for part, term in enumerate(track.terms):
        p = term.product
        first, second = (p.k_info, p.q_info) if swap else (p.q_info, p.k_info)
        factors = (
            *(_placed(f, "query", part) for f in first.factors),
            *(_placed(f, "key", part) for f in second.factors),
            *(_placed(f, "logits", part) for f in term.factors),
        )
        terms.append((p.head_dim, factors))
    run.terms = tuple(terms)
    run.normalised = bool(_normalised(product))
    run.learned = track.learned or any(f.learned for _, factors in terms for f in factors)
    run.trainable = run.learned
    run.capped, run.zeroed, run.mixed, run.opaque = track.capped, track.zeroed, track.mixed, track.opaque
    if product.q_info.inexact or product.k_info.inexact:
        run.notes.append("part of q or k was put together from pieces; the factors are those of the pieces")
    if track.uneven:
        run.notes.append("the logits are multiplied by numbers that differ from entry to entry")


def _normalised(product: Product) -> bool:
    a, b = product.q_info, product.k_info
    if not (a.normalised and b.normalised):
        return False
    # One normalised input on both sides is a pre-norm without projections, not a norm of q and k.
    return a.normalised == "l2" or a.normalised != b.normalised or a.origin is None or a.origin != b.origin


def _placed(factor: Factor, on: str, part: int) -> Factor:
    return Factor(factor.value, factor.file, factor.line, factor.op, on, factor.learned, part)


def operand_scale(terms: tuple[tuple[int, tuple[Factor, ...]], ...], part: int = 0) -> float | None:
    """The product of the factors on q and k of one part."""
    return product_of([f for f in terms[part][1] if f.on in ("query", "key")])


def measure(trace: Trace, track: Track, x: Any, axis: int, weights: Any, op: str) -> Run:
    """Measure one softmax over logits. Never fails for want of numbers: what cannot be had stays None, with a note."""
    arrays = trace.arrays
    term: Term = track.terms[0]
    product = term.product
    run = Run(product.op if op in ("softmax", "log_softmax") else op, product.place)
    sizes = arrays.geometry(x).sizes
    run.logits_shape = sizes
    run.keys = sizes[axis] if sizes else 1
    others = [n for i, n in enumerate(sizes) if i != axis]
    run.queries = others[-1] if others else 1
    describe(run, track, product, None)
    run.dtype = coarser(run.dtype, arrays.dtype(x))
    if not arrays.numeric(x):
        run.notes.append("no values to measure (meta, fake or distributed tensors): by the factors alone")
        return run
    try:
        _measure_numbers(trace, track, x, axis, weights, run, product)
    except Lost as reason:
        run.notes.append(f"no regression: {reason}")
    return run


def _measure_numbers(trace: Trace, track: Track, x: Any, axis: int, weights: Any, run: Run, product: Product) -> None:
    import numpy as np

    arrays = trace.arrays
    g = arrays.geometry(x)
    if not g.numel:
        raise Lost("no entries")
    start = sample(g, axis)
    logits = take(arrays, x, start, g)
    live = (logits > MASKED_BELOW) & (logits < np.inf)
    if weights is not None:
        p = take(arrays, weights, sample(arrays.geometry(weights), axis), arrays.geometry(weights))
    else:
        p = row_softmax(np.where(np.isfinite(logits) | (logits < 0), logits, -np.inf))
    if trace.wants_samples():
        run.samples = _samples(logits, p, live)
    run.statistics = statistics_of(p, live) if weights is None else _statistics(arrays, x, weights, axis)
    if track.lost:
        run.notes.append(f"no regression: {track.lost}")
        return
    walked = _walk(arrays, track, logits, live, start, product)
    letter = _axis_letter(walked.position, product)
    if letter is not None:
        describe_again = letter in product.q_letters and letter not in product.k_letters
        if describe_again:
            run.notes.clear()
            describe(run, track, product, letter)
    raw = _raw(arrays, product, walked.position)
    step = ROUNDING.get(run.dtype, ROUNDING["float32"])
    gain = np.where(walked.gain == 0, 1.0, walked.gain)
    with np.errstate(invalid="ignore"):
        noise = (np.abs(logits) + np.abs(walked.addends)) * (step / np.abs(gain))
    found = regress(walked.value, raw, walked.keep, noise)
    if found is None:
        run.notes.append("no regression: fewer than 32 unmasked entries, or keys that do not differ")
        return
    if found.r_squared < 0.99 and found.rounding:
        run.notes.append("no regression: q·k is lost in the rounding of what is added to it")
        return
    slope, run.r_squared, run.slope_error = found.slope, found.r_squared, found.error
    logit_factors = product_of(track.terms[0].factors)
    if logit_factors is None and not walked.uneven:
        raise Lost("a factor has no value")
    if not walked.uneven:
        run.logit_slope = slope * (logit_factors if logit_factors is not None else 1.0)
    run.reference = _reference(run, logits, p, walked, raw, track)


def _axis_letter(position: Position, product: Product) -> str | None:
    """Which axis of the product varies along the keys of a row."""
    for i, c in zip(within(position, product.geometry)[0], product.out_letters, strict=True):
        if c != "." and i.shape[1] > 1 and i[0, 0] != i[0, -1]:
            return c
    return None


def _reference(run: Run, logits: F64, p: F64, walked: Walked, raw: F64, track: Track) -> Callable[[float], float | None] | None:
    """The error of the weights against the reference at a scale that is still to be named."""
    import numpy as np

    if walked.uneven or walked.capped or (track.zeroed and run.r_squared is not None and run.r_squared > 1.1):
        return None
    operands = operand_scale(run.terms)
    if not operands:
        return None
    live = np.isfinite(logits)
    if not live.any():
        return None

    whole = bool(walked.keep.all() and live.all())

    def error(expected: float) -> float | None:
        wanted = walked.addends + raw * (expected / operands)
        if not whole:
            wanted = np.where(live, np.where(walked.keep, wanted, logits), -np.inf)
        with np.errstate(invalid="ignore", over="ignore"):
            return float(np.abs(row_softmax(wanted) - p).max())

    return error
