"""The numbers of one attention: regression of what softmax saw on q·k, and the float64 reference beside it.

Everything is taken on a sample of rows (all keys of a row), walked back from the softmax input to the product through the events of
the trace: moves, factors, addends, masks, soft-cap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attnlint.probe.contraction import contraction, operand_position
from attnlint.probe.facts import (
    FILL_MASKS_BELOW,
    Add,
    Arrays,
    Dropped,
    Evidence,
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
from attnlint.probe.heads import HeadAxis, figures, head_axis, letters_of, roles_of, rows_of
from attnlint.probe.health import logits_trouble
from attnlint.probe.positions import Lost, Position, gain_at, moved, piece, sample, take, within
from attnlint.probe.regression import ROUNDING, Fit, regress
from attnlint.probe.samples import samples_of, with_product
from attnlint.probe.trace import Trace
from attnlint.probe.values import Factor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]

MASKED_BELOW = -1e4
ADDEND_MASKS_BELOW = -50.0


class Walked:
    """Logits traced back to the product: `value` should be proportional to q·k where `keep`; `gain` and `addends` lead forward again."""

    def __init__(self, value: F64, keep: Any, position: Position) -> None:
        self.value, self.keep, self.position = value, keep, position
        self.gain: Any = 1.0
        self.addends: Any = 0.0
        self.uneven = False
        self.capped = False
        self.dropped = False
        self.by_row: Any = None  # a multiplier that is one number a row, and may differ from head to head

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
                if factor.shape[-1] == 1:
                    walked.by_row = factor if walked.by_row is None else walked.by_row * factor
                else:
                    walked.uneven = True
        elif isinstance(event, Dropped):
            noise = take(arrays, event.noise, position, event.at) * event.gain
            walked.only(noise != 0)
            walked.value = walked.value / np.where(noise == 0, 1.0, noise)
            walked.gain = walked.gain * noise
            walked.dropped = True
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


def row_softmax(x: F64) -> F64:
    from attnlint.reference import softmax

    return softmax(x)


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


def measure(trace: Trace, track: Track, x: Any, axis: int, weights: Any, op: str, gain: float = 1.0) -> Run:
    """Measure one softmax over logits, x times `gain`. Never fails for want of numbers: what cannot be had stays None, with a note."""
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
        _measure_numbers(trace, track, x, axis, weights, run, product, gain)
    except Lost as reason:
        run.notes.append(f"no regression: {reason}")
    return run


def _measure_numbers(trace: Trace, track: Track, x: Any, axis: int, weights: Any, run: Run, product: Product, gain: float) -> None:
    import numpy as np

    arrays = trace.arrays
    g = arrays.geometry(x)
    if not g.numel:
        raise Lost("no entries")
    heads = head_axis(g, axis, roles_of(letters_of(track, g), product.q_letters, product.k_letters), run.place.modules)
    start = sample(g, axis, *heads)
    logits = take(arrays, x, start, g) if gain == 1.0 else take(arrays, x, start, g) * gain
    live = (logits > MASKED_BELOW) & (logits < np.inf)
    if weights is not None:
        p = take(arrays, weights, sample(arrays.geometry(weights), axis, *heads), arrays.geometry(weights))
    else:
        p = row_softmax(np.where(np.isfinite(logits) | (logits < 0), logits, -np.inf))
    rows = rows_of(p, _counted(logits))
    run.statistics = rows.statistics()
    tops = arrays.row_tops(x, axis) * gain
    run.non_finite = logits_trouble(tops, weights is not None, arrays, product, run.dtype)
    known = tops[np.isfinite(tops) & (tops > MASKED_BELOW)]
    run.max_logit = float(known.max()) if known.size else None
    head = heads_of(start, heads)
    if trace.wants_samples():
        run.samples = samples_of(logits, p, live, _row_numbers(start, axis), run.queries, head)
    if trace.keeps_evidence:
        run.evidence = Evidence(_row_numbers(start, axis), None, logits, p, live)
    fit: Fit | None = None
    walked: Walked | None = None
    try:
        if track.lost:
            raise Lost(track.lost)
        walked = _walk(arrays, track, logits, live, start, product)
        fit = _regression(arrays, track, walked, run, product, logits, p, (head, heads.number or 0))
    finally:
        if head is not None and heads.number is not None:
            slopes = _head_slopes(fit, walked, head, heads.number, run, track)
            run.heads = figures(rows, head, heads.number, _tops_by_head(tops, axis, heads), slopes)


def _row_numbers(start: Position, axis: int) -> Any:
    """Each sampled row's number over all axes but softmax's: the same however batch and heads are laid out."""
    import numpy as np

    number: Any = 0
    for i, index in enumerate(start.index):
        if i != axis:
            number = number * start.geometry.sizes[i] + index[:, 0]
    return np.broadcast_to(number, (np.broadcast_shapes(*[i.shape for i in start.index])[0],))


def _counted(logits: F64) -> Any:
    """The keys that count in a row's entropy: not masked by a large negative number, however it was added."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        return logits > np.maximum(logits.max(-1, keepdims=True) - 1000.0, MASKED_BELOW)


def heads_of(start: Position, heads: HeadAxis) -> Any:
    """Each sampled row's head, None where heads cannot be told apart."""
    import numpy as np

    if heads.axis is None or heads.number is None:
        return None
    rows = np.broadcast_shapes(*[i.shape for i in start.index])[0]
    return np.broadcast_to(start.index[heads.axis][:, 0], (rows,)) % heads.number


def _tops_by_head(tops: Any, axis: int, heads: HeadAxis) -> Any:
    """Each head's largest logit, from the rows' (the axes of the logits without softmax's)."""
    import numpy as np

    if heads.axis is None or heads.number is None:
        return None
    first = np.moveaxis(tops, heads.axis - (heads.axis > axis), 0)
    first = np.where(np.isfinite(first) & (first > MASKED_BELOW), first, -np.inf)
    return first.reshape(-1, heads.number, first[0].size).max((0, 2)) if first.size else None


def _head_slopes(fit: Fit | None, walked: Walked | None, head: Any, count: int, run: Run, track: Track) -> list[tuple[float | None, float]]:
    """Each head's slope of softmax's input on q·k as it was computed, and its relative error."""
    import numpy as np

    none: list[tuple[float | None, float]] = [(None, 0.0)] * count
    factors = product_of(track.terms[0].factors)
    if fit is None or walked is None or walked.uneven or factors is None or len(fit.heads) != count:
        return none
    gains = np.ones(count)
    if walked.by_row is not None:
        by_row = np.broadcast_to(walked.by_row[:, 0], head.shape)
        number = np.maximum(np.bincount(head, minlength=count), 1)
        gains = np.bincount(head, weights=by_row, minlength=count) / number
        if np.abs(by_row - gains[head]).max() > 1e-6 * np.abs(by_row).max():
            return none
    return [
        (float(found.slope * factors * gain), float(found.error)) if found is not None and found.r_squared >= 0.99 else (None, 0.0)
        for found, gain in zip(fit.heads, gains, strict=True)
    ]


def _operand_gain(arrays: Arrays, walked: Walked, product: Product, side: int) -> None:
    """Multipliers of q or k that differ from head to head: they count in the scale, and are in q·k already."""
    letters = (product.q_letters, product.k_letters)[side]
    position = operand_position(
        walked.position, product.geometry, product.out_letters, letters, arrays.geometry((product.q, product.k)[side])
    )
    factor = gain_at(arrays, product.gains[side], position)
    if factor.shape[-1] != 1:
        walked.uneven = True
    else:
        walked.by_row = factor if walked.by_row is None else walked.by_row * factor


def _regression(
    arrays: Arrays, track: Track, walked: Walked, run: Run, product: Product, logits: F64, p: F64, heads: tuple[Any, int]
) -> Fit | None:
    """The slope of what softmax saw on q·k, with R²; None, and a note, where it cannot be had."""
    import numpy as np

    letter = _axis_letter(walked.position, product)
    if letter is not None and letter in product.q_letters and letter not in product.k_letters:
        run.notes.clear()
        describe(run, track, product, letter)
    raw = _raw(arrays, product, walked.position)
    operands = operand_scale(run.terms)
    if run.evidence is not None and operands:
        run.evidence = run.evidence._replace(raw=raw / operands)
    if run.samples is not None and operands and not (walked.uneven or walked.capped or walked.dropped):
        run.samples = with_product(run.samples, raw / operands, walked.addends)
    for side in (0, 1):
        if product.gains[side]:
            _operand_gain(arrays, walked, product, side)
    step = ROUNDING.get(run.dtype, ROUNDING["float32"])
    gain = np.where(walked.gain == 0, 1.0, walked.gain)
    with np.errstate(invalid="ignore"):
        noise = (np.abs(logits) + np.abs(walked.addends)) * (step / np.abs(gain))
        noise = np.where(np.isfinite(noise), noise, 0.0)
    found = regress(walked.value, raw, walked.keep, noise, *heads)
    if found is None:
        run.notes.append("no regression: fewer than 32 unmasked entries, or keys that do not differ")
        return None
    if found.r_squared < 0.99 and found.rounding:
        run.notes.append("no regression: q·k is lost in the rounding of what is added to it")
        return None
    run.r_squared, run.slope_error = found.r_squared, found.error
    logit_factors = product_of(track.terms[0].factors)
    uneven = walked.uneven or walked.by_row is not None
    if logit_factors is None and not uneven:
        raise Lost("a factor has no value")
    if uneven:
        run.uneven = not walked.uneven and heads[0] is None
        run.notes.append(f"q·k is multiplied by numbers that differ from {'entry to entry' if walked.uneven else 'row to row'}")
    else:
        run.logit_slope = found.slope * (logit_factors if logit_factors is not None else 1.0)
    run.reference = _reference(run, logits, p, walked, raw, track)
    return found


def _axis_letter(position: Position, product: Product) -> str | None:
    """Which axis of the product varies along the keys of a row."""
    for i, c in zip(within(position, product.geometry)[0], product.out_letters, strict=True):
        if c != "." and i.shape[1] > 1 and i[0, 0] != i[0, -1]:
            return c
    return None


def _reference(run: Run, logits: F64, p: F64, walked: Walked, raw: F64, track: Track) -> Callable[[float], float | None] | None:
    """The error of the weights against the reference at a scale that is still to be named."""
    import numpy as np

    if walked.uneven or walked.capped or walked.dropped or (track.zeroed and run.r_squared is not None and run.r_squared > 1.1):
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
