"""The numbers of one attention: regression of what softmax saw on q·k, and the float64 reference beside it.

Everything is taken on a sample of rows (all keys of a row), walked back from the softmax input to the product through the events of
the trace: moves, factors, addends, masks, soft-cap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlint.probe.positions import Lost, Position, runs_over, sample, take
from attnlint.probe.trace import (
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
    Trace,
    Track,
    ZeroTriangle,
    product_of,
)
from attnlint.probe.values import Factor, Samples, Statistics

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]

FEWEST = 32
MASKED_BELOW = -1e4
ADDEND_MASKS_BELOW = -50.0
SAMPLE = 64


class Walked:
    """Logits traced back to the product: `value` should be proportional to q·k where `keep`; `gain` and `addends` lead forward again."""

    def __init__(self, value: F64, keep: Any) -> None:
        self.value, self.keep = value, keep
        self.gain: Any = 1.0
        self.addends: Any = 0.0
        self.uneven = False
        self.capped = False
        self.index: list[Any] = []


def _walk(trace: Trace, track: Track, value: F64, live: Any, position: Position, product: Product) -> Walked:
    import numpy as np

    walked = Walked(value if live.all() else np.where(live, value, 0.0), live.copy())
    for event in reversed(track.events):
        if isinstance(event, Move):
            index, inside = position.within(event.at)
            walked.keep &= inside
            position.move(index, event.source)
        elif isinstance(event, Scale):
            if isinstance(event.value, float):
                walked.value = walked.value / event.value if event.value else walked.value
                walked.gain = walked.gain * event.value
            else:
                array, divide = event.value if isinstance(event.value, tuple) else (event.value, False)
                if not trace.arrays.numeric(array):
                    raise Lost("a multiplier has no values")
                if not isinstance(event.value, tuple):
                    continue  # a 0/1 mask: that the zeros stay is what the regression is to show
                index, _ = position.within(event.at)
                factor = take(trace.arrays, array, index)
                with np.errstate(divide="ignore", invalid="ignore"):
                    factor = 1.0 / factor if divide else factor
                    walked.value = np.where(factor != 0, walked.value / np.where(factor == 0, 1.0, factor), 0.0)
                walked.gain = walked.gain * factor
                walked.uneven = True
        elif isinstance(event, Add):
            if not trace.arrays.numeric(event.array):
                raise Lost("an addend has no values")
            index, _ = position.within(event.at)
            addend = take(trace.arrays, event.array, index) * event.alpha
            walked.keep &= np.isfinite(addend) & (addend * walked.gain > ADDEND_MASKS_BELOW)
            addend = np.where(walked.keep, addend, 0.0)
            walked.value = walked.value - addend
            walked.addends = walked.addends + addend * walked.gain
        elif isinstance(event, Fill):
            index, _ = position.within(event.at)
            if not trace.arrays.numeric(event.mask):
                raise Lost("a mask has no values")
            hit = take(trace.arrays, event.mask, index) != 0
            hit = ~hit if event.negate else hit
            fill = event.value if isinstance(event.value, float) else take(trace.arrays, event.value, index)
            walked.keep &= ~(hit & (np.asarray(fill) <= FILL_MASKS_BELOW))
        elif isinstance(event, PartFill):
            _, inside = position.within(event.region)
            if event.value is None or event.value <= FILL_MASKS_BELOW:
                walked.keep &= ~inside
        elif isinstance(event, SoftCap):
            walked.keep &= np.abs(walked.value) < 0.999
            walked.value = np.arctanh(np.clip(walked.value, -0.999, 0.999))
            walked.capped = True
        elif isinstance(event, Joined):
            index, _ = position.within(event.at)
            along = index[event.axis] - event.start
            size = event.source.sizes[event.axis]
            walked.keep &= (along >= 0) & (along < size)
            index[event.axis] = np.clip(along, 0, size - 1)
            position.move(index, event.source)
        elif isinstance(event, ZeroTriangle):
            continue
    index, inside = position.within(product.geometry)
    walked.keep &= inside
    walked.index = index
    return walked


def _raw(trace: Trace, product: Product, index: list[Any]) -> F64:
    """q·k of the sampled entries in float64."""
    import numpy as np

    arrays = trace.arrays
    if product.q is None or not (arrays.numeric(product.q) and arrays.numeric(product.k)):
        raise Lost("q and k have no values")
    place = {c: i for i, c in zip(index, product.out_letters, strict=True) if c != "."}
    contracted = [c for c in product.q_letters if c in product.k_letters and c not in product.out_letters and c != "."]
    sides = [(product.q, product.q_letters), (product.k, product.k_letters)]
    if any(c not in place and c not in contracted and c != "." for _, letters in sides for c in letters):
        raise Lost("the product sums over an axis of one operand only")
    shape = np.broadcast_shapes((1, 1), *[i.shape for i in index])
    for query, key in ((sides[0], sides[1]), (sides[1], sides[0])):
        batch = {c: place[c] for c in key[1] if c in place and place[c].shape[1] == 1}
        keys = {c: place[c] for c in key[1] if c in place and c not in batch}
        # The usual case: one operand does not depend on the key's index, the other depends on the row only through its batch.
        if not keys or any(place[c].shape[1] > 1 for c in query[1] if c in place) or any(i.shape[0] > 1 for i in keys.values()):
            continue
        vectors = _vectors(arrays, query, {c: place[c][:, 0] for c in query[1] if c in place}, contracted)
        vectors = np.broadcast_to(vectors, (shape[0], vectors.shape[-1]))
        first, group = _groups(list(batch.values()))
        if len(keys) == 1 and all(runs_over(i, arrays.geometry(key[0]).sizes[key[1].index(c)]) for c, i in keys.items()):
            picked = {c: i[first, 0] if i.shape[0] > 1 else i[0] for c, i in batch.items()} | dict.fromkeys(keys, slice(None))
        else:
            picked = {c: i[first] if i.shape[0] > 1 else i for c, i in batch.items()} | keys
        blocks = _vectors(arrays, key, picked, contracted)
        blocks = blocks.reshape(-1, *blocks.shape[-2:]).swapaxes(1, 2)
        if len(blocks) == 1:
            return np.asarray(vectors @ blocks[0])
        count = shape[0] // len(blocks)
        if np.array_equal(group, np.repeat(np.arange(len(blocks)), count)):
            return np.asarray((vectors.reshape(len(blocks), count, -1) @ blocks).reshape(shape))
        result = np.empty(shape)
        for number, block in enumerate(blocks):
            members = group == number
            result[members] = vectors[members] @ block
        return result
    a, b = (_vectors(arrays, side, {c: np.broadcast_to(i, shape) for c, i in place.items()}, contracted) for side in sides)
    return np.broadcast_to(np.einsum("...d,...d->...", a, b), shape)


def _groups(batch: list[Any]) -> tuple[Any, Any]:
    """The first row of each group of rows that share all these indices, and which group each row is of."""
    import numpy as np

    number = np.zeros(1, np.int64)
    for i in batch:
        number = number * (int(i.max()) + 1) + i[:, 0]
    _, first, group = np.unique(number, return_index=True, return_inverse=True)
    return first, group


def _vectors(arrays: Arrays, side: tuple[Any, str], picked: dict[str, Any], contracted: list[str]) -> F64:
    """Vectors over the contraction, as the last axis. `picked` has the indices along the other axes, or a slice, which comes before it."""
    import numpy as np

    array, letters = side
    index = [slice(None) if c in contracted else picked.get(c, np.zeros(1, np.int64)) for c in letters]
    found = arrays.take(array, index)
    sliced = [c for c, i in zip(letters, index, strict=True) if isinstance(i, slice)]
    lead = found.ndim - len(sliced)
    if lead:
        # Where the picked axes stand together NumPy leaves them at their place, else it puts them first.
        at = [n for n, i in enumerate(index) if not isinstance(i, slice)]
        if at[0] and at[-1] - at[0] == len(at) - 1:
            found = np.moveaxis(found, range(at[0], at[0] + lead), range(lead))
    order = [sliced.index(c) for c in (*[c for c in sliced if c not in contracted], *contracted)]
    found = found.transpose(*range(lead), *[lead + n for n in order])
    return found.reshape(*found.shape[: found.ndim - len(contracted)], -1) if len(contracted) != 1 else found


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


def statistics_of(p: F64, live: Any) -> Statistics:
    """The statistics of sampled rows."""
    import numpy as np

    keys = live.sum(-1)
    rows = keys > 0
    if not rows.any():
        return Statistics()
    p, keys = p[rows], keys[rows]
    top = p.max(-1)
    several = keys > 1
    entropy = None
    if several.any():
        logs = np.log(np.where(p > 0, p, 1.0))
        entropy = float((-(p * logs).sum(-1)[several] / np.log(keys[several])).mean())
    return Statistics(float(top.mean()), float((top > 0.99).mean()), entropy, float((1.0 - (p * p).sum(-1)).mean()))


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
    run.dtype = _coarser(run.dtype, arrays.dtype(x))
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
    index = list(sample(g.sizes, axis))
    logits = take(arrays, x, index)
    live = (logits > MASKED_BELOW) & (logits < np.inf)
    p = take(arrays, weights, index) if weights is not None else row_softmax(np.where(np.isfinite(logits) | (logits < 0), logits, -np.inf))
    p = np.asarray(p, np.float64).reshape(logits.shape)
    if trace.wants_samples():
        run.samples = _samples(logits, p, live)
    run.statistics = (arrays.statistics(x, weights, axis) if weights is not None else None) or statistics_of(p, live)
    if track.lost:
        run.notes.append(f"no regression: {track.lost}")
        return
    walked = _walk(trace, track, logits, live, Position(index, g), product)
    letter = _axis_letter(walked.index, product)
    if letter is not None:
        describe_again = letter in product.q_letters and letter not in product.k_letters
        if describe_again:
            run.notes.clear()
            describe(run, track, product, letter)
    raw = _raw(trace, product, walked.index)
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


def _axis_letter(index: list[Any], product: Product) -> str | None:
    """Which axis of the product varies along the keys of a row."""
    for i, c in zip(index, product.out_letters, strict=True):
        if c != "." and i.ndim == 2 and i.shape[1] > 1 and i[0, 0] != i[0, -1]:
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

    def error(expected: float) -> float | None:
        wanted = np.where(walked.keep, walked.addends + raw * (expected / operands), logits)
        wanted = np.where(live, wanted, -np.inf)
        with np.errstate(invalid="ignore", over="ignore"):
            return float(np.abs(row_softmax(wanted) - p).max())

    return error


def _coarser(a: str, b: str) -> str:
    order = {"bfloat16": 2, "float16": 1}
    return a if order.get(a, 0) >= order.get(b, 0) else b
