"""The numbers of one attention: regression of what softmax saw on q·k, and the float64 reference beside it.

Everything is taken on a sample of rows (all keys of a row), walked back from the softmax input to the product through the events of
the trace: moves, factors, addends, masks, soft-cap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlint.probe.trace import (
    FILL_MASKS_BELOW,
    Add,
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
from attnlint.probe.values import Factor, Geometry, Samples, Statistics

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]

ENTRIES = 8192
GROUPS = 8
FEWEST = 32
MASKED_BELOW = -1e4
ADDEND_MASKS_BELOW = -50.0
SAMPLE = 64


class Lost(Exception):
    """Entries cannot be traced back; the message says why."""


def _unravel(offset: Any, g: Geometry) -> tuple[list[Any], Any]:
    """Indices in `g` of flat storage offsets, and which offsets lie in it at all. Axes of stride 0 get index 0."""
    import numpy as np

    rest = offset - g.offset
    index: list[Any] = [np.zeros_like(rest) for _ in g.sizes]
    order = sorted(range(len(g.sizes)), key=lambda i: -abs(g.strides[i]))
    inside = np.ones(rest.shape, dtype=bool)
    for i in order:
        size, stride = g.sizes[i], g.strides[i]
        if size == 1 or stride == 0:
            continue
        if stride < 0:
            raise Lost("an array is stored backwards")
        step = np.minimum(np.maximum(rest // stride, 0), size - 1)
        index[i] = step
        rest = rest - step * stride
    inside &= rest == 0
    return index, inside


def _ravel(index: list[Any], g: Geometry) -> Any:
    """Flat storage offsets of a broadcast index: aligned on the right, size-one axes at 0."""
    total: Any = g.offset
    rank = len(g.sizes)
    for place in range(1, rank + 1):
        if g.sizes[-place] > 1 and place <= len(index):
            total = total + index[-place] * g.strides[-place]
    return total


class _Position:
    """Where the sampled entries lie: indices into one geometry. Offsets are worked out only where the geometry changes otherwise."""

    def __init__(self, index: list[Any], geometry: Geometry, shape: tuple[int, ...]) -> None:
        self.index, self.geometry, self.shape = index, geometry, shape

    def within(self, g: Geometry) -> tuple[list[Any], Any]:
        """Indices of the entries in `g`, and which of them lie in it at all."""
        import numpy as np

        if g == self.geometry:
            return list(self.index), True
        return _unravel(_ravel(self.index, self.geometry) + np.zeros(self.shape, np.int64), g)

    def move(self, index: list[Any], source: Geometry) -> None:
        """On to the storage of `source`, against which `index` broadcasts."""
        import numpy as np

        rank = len(source.sizes)
        given = index[max(len(index) - rank, 0) :]
        zero = np.zeros((1, 1), np.int64)
        aligned = [zero] * (rank - len(given)) + given
        self.index = [i if size > 1 else zero for i, size in zip(aligned, source.sizes, strict=True)]
        self.geometry = source


def _sample_index(sizes: tuple[int, ...], axis: int) -> list[Any]:
    """Indices of a sample of rows with all their keys, (rows, 1) and (1, keys): few batches, evenly spread."""
    import numpy as np

    keys = sizes[axis]
    others = [i for i in range(len(sizes)) if i != axis]
    batch = others[:-1]
    groups = 1
    for i in batch:
        groups *= sizes[i]
    queries = sizes[others[-1]] if others else 1
    few = min(groups, GROUPS if groups * queries * keys > ENTRIES else groups)
    rows = max(1, min(queries, ENTRIES // max(1, keys * few)))
    if few * rows < 2 and groups * queries > 1:
        few, rows = min(groups, 2), min(queries, 2)
    group = (np.arange(few, dtype=np.int64) * groups) // few
    row = (np.arange(rows, dtype=np.int64) * queries) // rows
    group, row = np.repeat(group, rows), np.tile(row, few)
    index: list[Any] = [None] * len(sizes)
    rest = group
    for i in reversed(batch):
        index[i] = (rest % sizes[i])[:, None]
        rest = rest // sizes[i]
    if others:
        index[others[-1]] = row[:, None]
    index[axis] = np.arange(keys, dtype=np.int64)[None, :]
    return [i if i is not None else np.zeros((1, 1), np.int64) for i in index]


class Walked:
    """Logits traced back to the product: `value` should be proportional to q·k where `keep`; `gain` and `addends` lead forward again."""

    def __init__(self, value: F64, keep: Any) -> None:
        self.value, self.keep = value, keep
        self.gain: Any = 1.0
        self.addends: Any = 0.0
        self.uneven = False
        self.capped = False
        self.index: list[Any] = []


def _take(trace: Trace, a: Any, index: list[Any]) -> Any:
    """Entries of an array that broadcasts against the index."""
    g = trace.arrays.geometry(a)
    rank = len(g.sizes)
    picked = []
    for place in range(rank, 0, -1):
        if place > len(index) or g.sizes[-place] == 1:
            picked.append(0)
        else:
            picked.append(index[-place])
    return trace.arrays.take(a, picked)


def _walk(trace: Trace, track: Track, value: F64, position: _Position, product: Product) -> Walked:
    import numpy as np

    walked = Walked(value, np.isfinite(value) & (value > MASKED_BELOW))
    walked.value = np.where(walked.keep, value, 0.0)
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
                factor = _take(trace, array, index)
                with np.errstate(divide="ignore", invalid="ignore"):
                    factor = 1.0 / factor if divide else factor
                    walked.value = np.where(factor != 0, walked.value / np.where(factor == 0, 1.0, factor), 0.0)
                walked.gain = walked.gain * factor
                walked.uneven = True
        elif isinstance(event, Add):
            if not trace.arrays.numeric(event.array):
                raise Lost("an addend has no values")
            index, _ = position.within(event.at)
            addend = _take(trace, event.array, index) * event.alpha
            walked.keep &= np.isfinite(addend) & (addend * walked.gain > ADDEND_MASKS_BELOW)
            addend = np.where(walked.keep, addend, 0.0)
            walked.value = walked.value - addend
            walked.addends = walked.addends + addend * walked.gain
        elif isinstance(event, Fill):
            index, _ = position.within(event.at)
            if not trace.arrays.numeric(event.mask):
                raise Lost("a mask has no values")
            hit = _take(trace, event.mask, index) != 0
            hit = ~hit if event.negate else hit
            fill = event.value if isinstance(event.value, float) else _take(trace, event.value, index)
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


def _stands_still(i: Any) -> bool:
    """Whether an index is the same for all keys of a row."""
    return i.strides[1] == 0 or bool((i == i[:, :1]).all())


def _raw(trace: Trace, product: Product, index: list[Any]) -> F64:
    """q·k of the sampled entries in float64."""
    import numpy as np

    arrays = trace.arrays
    if product.q is None or not (arrays.numeric(product.q) and arrays.numeric(product.k)):
        raise Lost("q and k have no values")
    place = {c: i for i, c in enumerate(product.out_letters) if c != "."}
    shape = np.broadcast_shapes(*[np.shape(i) for i in index]) if index else (1, 1)
    index = [np.broadcast_to(i, shape) for i in index]
    contracted = [c for c in product.q_letters if c in product.k_letters and c not in product.out_letters and c != "."]
    sides = []
    for array, letters in ((product.q, product.q_letters), (product.k, product.k_letters)):
        free = [c for c in letters if c not in contracted and c != "."]
        unknown = [c for c in free if c not in place]
        if unknown:
            raise Lost("the product sums over an axis of one operand only")
        sides.append((array, letters, [index[place[c]] for c in free], free))

    def block(side: Any, picked: list[Any]) -> Any:
        """As `rows`, read as one slice, where all but one free index stand still and that one runs over its whole axis."""
        array, letters, _, free = side
        full: list[Any] = []
        for c, size in zip(letters, arrays.geometry(array).sizes, strict=True):
            if c in contracted:
                full.append(slice(None))
            elif c == ".":
                full.append(0)
            elif ((at := picked[free.index(c)]) == at[0]).all():
                full.append(int(at[0]))
            elif at.size == size and (at == np.arange(size)).all():
                full.append(slice(None))
            else:
                return None
        if len(contracted) != 1 or sum(isinstance(i, slice) for i in full) != 2:
            return None
        found = arrays.take(array, full)
        kept = [c for c, i in zip(letters, full, strict=True) if isinstance(i, slice)]
        return found if kept[1] == contracted[0] else found.T

    def rows(side: Any, picked: list[Any]) -> Any:
        """Vectors over the contraction at the picked free indices: (n, contraction)."""
        array, letters, _, free = side
        n = max((np.size(p) for p in picked), default=1)
        sizes = [arrays.geometry(array).sizes[letters.index(c)] for c in contracted]
        grid = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), np.int64)
        full = []
        for c in letters:
            if c == ".":
                full.append(np.zeros((1, 1), np.int64))
            elif c in contracted:
                full.append(grid[contracted.index(c)][None, :])
            else:
                full.append(np.reshape(picked[free.index(c)], (-1, 1)))
        return np.broadcast_to(arrays.take(array, full), (n, grid.shape[1]))

    # The usual case: one operand does not depend on the key's index, the other depends on the row only through its batch.
    for query, key in ((sides[0], sides[1]), (sides[1], sides[0])):
        if all(map(_stands_still, query[2])):
            along = [not _stands_still(i) for i in key[2]]
            same = all(i.strides[0] == 0 or (i == i[:1]).all() for i, moves in zip(key[2], along, strict=True) if moves)
            if not same:
                continue
            q_rows = rows(query, [i[:, 0] for i in query[2]])
            batch = np.stack([i[:, 0] for i, moves in zip(key[2], along, strict=True) if not moves], 1) if not all(along) else None
            result = np.empty(shape)
            width = shape[1]
            if batch is None or batch.shape[1] == 0:
                k_rows = rows(key, [i[0] for i in key[2]])
                return q_rows @ np.broadcast_to(k_rows, (width, k_rows.shape[1])).T
            number = np.zeros(len(batch), np.int64)
            for column in batch.T:
                number = number * (column.max() + 1) + column
            for g in np.unique(number):
                members = np.flatnonzero(number == g)
                picked = [i[members[0]] for i in key[2]]
                k_rows = block(key, picked)
                result[members] = q_rows[members] @ (rows(key, picked) if k_rows is None else k_rows).T
            return result
    a = rows(sides[0], [i.reshape(-1) for i in sides[0][2]])
    b = rows(sides[1], [i.reshape(-1) for i in sides[1][2]])
    return np.einsum("nd,nd->n", a, b).reshape(shape)


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

    count = keep.sum(axis=-1, keepdims=True)
    usable = keep & (count > 1)
    if int(usable.sum()) < FEWEST:
        return None
    weight = np.where(count > 0, count, 1)
    y = np.where(usable, value, 0.0)
    x = np.where(usable, raw, 0.0)
    y = np.where(usable, y - y.sum(-1, keepdims=True) / weight, 0.0)
    x = np.where(usable, x - x.sum(-1, keepdims=True) / weight, 0.0)
    xx, yy, xy = float((x * x).sum()), float((y * y).sum()), float((x * y).sum())
    if xx <= 1e-24 * max(1.0, float((raw * raw).max())):
        return None
    slope = xy / xx
    count_all = int(usable.sum())
    noise_sum = float((np.broadcast_to(noise, usable.shape)[usable] ** 2).sum())
    if yy <= 0.0:
        return Fit(slope, 0.0, np.inf, noise_sum > 0.0)
    rest = float(((y - slope * x) ** 2).sum())
    error = (max(rest, noise_sum / 12.0) / count_all / xx) ** 0.5 / abs(slope) if slope else np.inf
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
    index = _sample_index(g.sizes, axis)
    logits = arrays.take(x, index)
    logits = np.broadcast_to(logits, np.broadcast_shapes(logits.shape, (logits.shape[0], g.sizes[axis]))).astype(np.float64)
    live = np.isfinite(logits) & (logits > MASKED_BELOW)
    p = arrays.take(weights, index) if weights is not None else row_softmax(np.where(np.isfinite(logits) | (logits < 0), logits, -np.inf))
    p = np.asarray(p, np.float64).reshape(logits.shape)
    if trace.wants_samples():
        run.samples = _samples(logits, p, live)
    run.statistics = (arrays.statistics(x, weights, axis) if weights is not None else None) or statistics_of(p, live)
    if track.lost:
        run.notes.append(f"no regression: {track.lost}")
        return
    walked = _walk(trace, track, logits, _Position(index, g, logits.shape), product)
    letter = _axis_letter(walked.index, product)
    if letter is not None:
        describe_again = letter in product.q_letters and letter not in product.k_letters
        if describe_again:
            run.notes.clear()
            describe(run, track, product, letter)
    raw = _raw(trace, product, walked.index)
    step = ROUNDING.get(run.dtype, ROUNDING["float32"])
    gain = np.where(np.abs(walked.gain) > 0, np.abs(walked.gain), 1.0)
    noise = step * (np.where(walked.keep, np.abs(logits), 0.0) + np.abs(walked.addends)) / gain
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
