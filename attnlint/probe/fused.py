"""Fused kernels: the scale is an argument, q and k are there to be read, the logits never exist outside.

The second measurement is the output: the scale at which the float64 reference comes closest to what the kernel returned
(one Gauss-Newton step from the scale it was given).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attnlint.probe import frames
from attnlint.probe.facts import EMPTY, Evidence, Info, Product, Run, coarser, operand
from attnlint.probe.heads import MOST, figures, rows_of
from attnlint.probe.health import output_trouble
from attnlint.probe.measure import MASKED_BELOW, _normalised, operand_scale, row_softmax
from attnlint.probe.positions import Lost, Position, gain_at, offsets, spread
from attnlint.probe.regression import ROUNDING
from attnlint.probe.samples import samples_of, with_product
from attnlint.probe.torch_kernels import Kernel
from attnlint.probe.trace import Trace
from attnlint.probe.values import Factor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attnlint.probe.facts import Arrays

    F64 = NDArray[np.float64]

MOST_READ = 1 << 22
"""Entries of k that are read at most; of more heads than that allows, evenly chosen ones."""


def observe_kernel(trace: Trace, kernel: Kernel, name: str, bound: dict[str, Any], out: Any) -> None:
    """One call of a known kernel is one attention that ran."""
    query, key, value = bound[kernel.query], bound[kernel.key], bound[kernel.value]
    place = frames.place(trace.arrays.module_type)
    run = Run(name, place)
    result = out[0] if isinstance(out, (tuple, list)) else out
    if kernel.heads:
        _whole_layer(trace, kernel, run, query, bound)
        trace.finish(run)
        return
    a, b = trace.get(query) or EMPTY, trace.get(key) or EMPTY
    head_dim = int(query.shape[-1])
    for info in (a, b):
        if info.unpadded is not None:
            head_dim = min(head_dim, info.unpadded)
    run.head_dim = head_dim
    run.q_shape, run.k_shape = tuple(query.shape), tuple(key.shape)
    axes = {c: i for i, c in enumerate(kernel.layout)} if len(kernel.layout) == query.dim() else {c: i for i, c in enumerate("bhtd")}
    tokens, heads = axes.get("t", -2), axes.get("h")
    run.queries, run.keys = int(query.shape[tokens]), int(key.shape[tokens])
    run.logits_shape = (
        *tuple(n for n in ((query.shape[0], query.shape[heads]) if heads is not None and query.dim() > 2 else ())),
        run.queries,
        run.keys,
    )
    run.dtype = coarser(trace.arrays.dtype(query), trace.arrays.dtype(key))
    given = bound.get(kernel.scale) if kernel.scale else None
    scale = float(given) if given is not None else float(query.shape[-1]) ** -0.5
    where = frames.user_line()
    own = Factor(scale, where.file, where.line, f"{name} {'scale=' if given is not None else 'default scale'}", "kernel")
    factors = (
        *(Factor(f.value, f.file, f.line, f.op, "query", f.learned) for f in a.factors),
        *(Factor(f.value, f.file, f.line, f.op, "key", f.learned) for f in b.factors),
        own,
    )
    run.terms = ((head_dim, factors),)
    probe = Product(name, place, None, None, ("", "", ""), head_dim)
    probe.q_info, probe.k_info = operand(a), operand(b)
    run.normalised = _normalised(probe)
    run.learned = any(f.learned for f in factors)
    if a.inexact or b.inexact:
        run.notes.append("part of q or k was put together from pieces; the factors are those of the pieces")
    try:
        _numbers(trace, kernel, run, bound, (query, key, value), (a, b), result, scale)
    except Lost as reason:
        run.notes.append(f"kernel: by its arguments alone ({reason})")
    trace.finish(run)
    trace.put(result, Info(origin=trace.new_origin(), output_of=(run,)))


def _whole_layer(trace: Trace, kernel: Kernel, run: Run, query: Any, bound: dict[str, Any]) -> None:
    """A kernel that projects, attends and projects again: its scale is fixed at 1/√(embed_dim / heads)."""
    heads, width = int(bound[kernel.heads]), int(bound["embed_dim"])
    head_dim = width // heads
    where = frames.user_line()
    run.head_dim = head_dim
    tokens = int(query.shape[1]) if not query.is_nested and query.dim() == 3 else 0
    batch = int(query.shape[0]) if not query.is_nested else 0
    run.q_shape = run.k_shape = (batch, heads, tokens, head_dim)
    run.logits_shape = (batch, heads, tokens, tokens)
    run.queries = run.keys = tokens
    run.dtype = trace.arrays.dtype(query)
    run.terms = ((head_dim, (Factor(head_dim**-0.5, where.file, where.line, f"{run.op} default scale", "kernel"),)),)
    run.notes.append("kernel: q, k and the weights exist inside a fused kernel only; no figures")


def _numbers(
    trace: Trace,
    kernel: Kernel,
    run: Run,
    bound: dict[str, Any],
    qkv: tuple[Any, Any, Any],
    infos: tuple[Info, Info],
    out: Any,
    scale: float,
) -> None:
    import numpy as np

    arrays = trace.arrays
    query, key, value = qkv
    a, k_info = infos
    if not all(arrays.numeric(t) for t in qkv):
        raise Lost("no values on this device")
    if kernel.layout == "thd" or query.dim() != 4:
        raise Lost("packed sequences")
    b, h, t = ("bhtd".index(c) if kernel.layout == "bhtd" else kernel.layout.index(c) for c in "bht")
    batches, heads, queries, keys = query.shape[b], query.shape[h], query.shape[t], key.shape[t]
    groups, count = spread(batches * heads, heads, queries, keys)
    groups = groups[:: max(1, len(groups) * keys * query.shape[3] // MOST_READ)]
    ratio = max(1, heads // max(1, key.shape[h]))

    def matrix(tensor: Any, which: int, head: int, at: Any) -> F64:
        index: list[Any] = [None] * 4
        index[b] = np.full((1, 1), which % tensor.shape[b])
        index[h] = np.full((1, 1), head)
        index[t] = np.asarray(at)[:, None]
        index[3] = np.arange(tensor.shape[3])[None, :]
        return np.asarray(arrays.take(tensor, index))

    mask = bound.get(kernel.mask) if kernel.mask else None
    if mask is not None and not arrays.numeric(mask):
        raise Lost("the mask has no values")
    causal = bool(bound.get(kernel.causal)) if kernel.causal else bool(bound.get("custom_mask_type"))
    dropped = float(bound.get(kernel.dropout) or 0.0) if kernel.dropout else 0.0
    readable = dropped == 0.0 and arrays.numeric(out) and out.dim() == 4 and out.shape[3] == value.shape[3] and out.shape[t] == queries
    every = np.arange(keys)
    blocks = []
    for n, offset in zip(groups, offsets(len(groups), queries), strict=True):
        batch, head = int(n) // heads, int(n) % heads
        row = (np.arange(count) * queries + offset) // count
        gain = 1.0
        for info, tensor, its in ((a, query, head), (k_info, key, head // ratio)):
            if info.gains:
                gain *= _gain(arrays, info, tensor, {b: batch % tensor.shape[b], h: its})
        raw = matrix(query, batch, head, row) @ matrix(key, batch, head // ratio, every).T
        add = _addend(trace, mask, batch, head, row, keys)
        if causal:
            add = np.where(every[None, :] <= row[:, None], add, -np.inf)
        seen = (matrix(out, batch, head, row), matrix(value, batch, head // ratio, every)) if readable else None
        blocks.append(_Block(head, raw, add, seen, int(n) * queries + row, gain))
    _figures(trace, run, blocks, heads, scale)
    run.non_finite = run.non_finite or _no_key(arrays, mask) or output_trouble(arrays, out)
    if readable and not run.non_finite:
        _from_output(run, blocks, scale)
    elif not readable:
        run.notes.append("kernel: dropout hides the output; the scale is its argument")
    if any(block.gain != 1.0 for block in blocks):
        _by_head(run, blocks, run.logit_slope if run.logit_slope is not None else scale)


def _gain(arrays: Arrays, info: Info, tensor: Any, at: dict[int, int]) -> float:
    """The multiplier of one head's q or k, where each head has its own."""
    import numpy as np

    index = tuple(np.full((1, 1), at.get(axis, 0), np.int64) for axis in range(tensor.dim()))
    return float(np.asarray(gain_at(arrays, info.gains, Position(index, arrays.geometry(tensor)))).ravel()[0])


def _by_head(run: Run, blocks: list[_Block], slope: float) -> None:
    """Multipliers of q or k that differ from head to head are part of the heads' scales; no one scale is that of all."""
    gains = {block.head: block.gain for block in blocks}
    run.heads = tuple(f._replace(logit_slope=slope * gains[f.head]) if f.head in gains else f for f in run.heads)
    run.logit_slope, run.uneven = None, not run.heads
    run.notes.append("q·k is multiplied by numbers that differ from head to head")


class _Block(NamedTuple):
    """Sampled rows of one head of one batch: q·k, what is added to the logits, and the output there with all values."""

    head: int
    raw: F64
    add: F64
    seen: tuple[F64, F64] | None
    row: Any  # the rows' numbers over batch, heads and queries
    gain: float  # a multiplier of q or k that this head has for itself


def _no_key(arrays: Arrays, mask: Any) -> str:
    """A row of the mask that leaves no key."""
    import numpy as np

    if mask is None or mask.dim() == 0 or not mask.numel():
        return ""
    tops = arrays.row_tops(mask, mask.dim() - 1)
    none = tops == 0 if arrays.dtype(mask) == "bool" else tops == -np.inf
    return f"a row without any key: the mask leaves none in row {[int(i) for i in np.argwhere(none)[0]]}" if none.any() else ""


def _figures(trace: Trace, run: Run, blocks: list[_Block], heads: int, scale: float) -> None:
    """What softmax makes of the logits, which exist here only: of all sampled rows and of each head."""
    import numpy as np

    x = np.concatenate([block.raw * scale + block.add for block in blocks])
    live = np.isfinite(x) & (x > MASKED_BELOW)
    p = row_softmax(x)
    rows = rows_of(p, live)
    run.statistics = rows.statistics()
    if np.isnan(x).any() or (x == np.inf).any():
        run.non_finite = "NaN or infinity in q or k"
    run.max_logit = float(x[live].max()) if live.any() else None
    head = np.repeat([block.head for block in blocks], [len(block.raw) for block in blocks])
    if heads <= MOST:
        tops = np.full(heads, -np.inf)
        np.maximum.at(tops, head, np.where(live, x, -np.inf).max(-1))
        run.heads = figures(rows, head, heads, tops, [(None, 0.0)] * heads)
    raw = np.concatenate([block.raw for block in blocks])
    operands = operand_scale(run.terms)
    numbers = np.concatenate([b.row for b in blocks])
    if trace.wants_samples():
        run.samples = samples_of(x, p, live, numbers, run.queries, head if heads <= MOST else None)
        if operands:
            run.samples = with_product(run.samples, raw / operands, np.concatenate([b.add for b in blocks]))
    if trace.keeps_evidence:
        run.evidence = Evidence(numbers, raw / operands if operands else None, x, p, live)
    run.reference = _reference(raw, np.concatenate([b.add for b in blocks]), p, run)


def _addend(trace: Trace, mask: Any, batch: int, head: int, row: Any, keys: int) -> F64:
    import numpy as np

    if mask is None:
        return np.zeros((len(row), keys))
    sizes = tuple(mask.shape)
    wanted: list[Any] = [np.full((1, 1), batch), np.full((1, 1), head), np.asarray(row)[:, None], np.arange(keys)[None, :]]
    index = [np.zeros((1, 1), np.int64) if size == 1 else wanted[4 - len(sizes) + i] for i, size in enumerate(sizes)]
    taken = trace.arrays.take(mask, index)
    if trace.arrays.dtype(mask) == "bool":
        taken = np.where(taken != 0, 0.0, -np.inf)
    return np.broadcast_to(taken, (len(row), keys))


class _Step(NamedTuple):
    """One Gauss-Newton step of the scale: its numerator and denominator by block, what is left over, and the output's spread."""

    top: Any
    bottom: Any
    rest: float
    total: float


def _step_from(blocks: list[_Block], scale: float) -> _Step:
    import numpy as np

    tops, bottoms, rest, total = [], [], 0.0, 0.0
    for block in blocks:
        if block.seen is None:
            continue
        out, value = block.seen
        x = block.raw * scale + block.add
        ok = np.isfinite(x).any(-1)
        p = row_softmax(x)
        miss = (out - p @ value)[ok]
        slope = ((p * (block.raw - (p * block.raw).sum(-1, keepdims=True))) @ value)[ok]
        tops.append(float((miss * slope).sum()))
        bottoms.append(float((slope * slope).sum()))
        rest += float((miss * miss).sum())
        spread_ = (out - out.mean(-1, keepdims=True))[ok]
        total += float((spread_ * spread_).sum())
    return _Step(np.array(tops), np.array(bottoms), rest, total)


def _from_output(run: Run, blocks: list[_Block], scale: float) -> None:
    """The scale at which the reference meets the kernel's output, and how well it does; of each head too."""
    import numpy as np

    guess = scale
    for _ in range(4):
        step = _step_from(blocks, guess)
        bottom = float(step.bottom.sum())
        if bottom <= 1e-20 or not np.isfinite(bottom):
            run.notes.append("kernel: the output does not depend on the scale here; the scale is its argument")
            return
        change = float(step.top.sum()) / bottom
        if step.rest <= 1e-3 * max(step.total, 1e-30) and abs(change) <= 1e-6 * abs(guess):
            break
        if abs(change) > abs(guess):
            break
        guess += change
    rounding = ROUNDING.get(run.dtype, ROUNDING["float32"]) * 4
    size = sum(float((block.seen[0] * block.seen[0]).sum()) for block in blocks if block.seen is not None)
    run.slope_error = max(rounding * (size / bottom) ** 0.5, (step.rest / bottom) ** 0.5) / abs(guess) if guess else float("inf")
    if run.slope_error > 2e-2:
        run.notes.append("kernel: the output hardly depends on the scale here; the scale is its argument")
        return
    run.logit_slope = guess
    run.r_squared = 1.0 - step.rest / step.total if step.total > 0 else 1.0
    if run.r_squared < 0.99:
        run.notes.append(f"kernel: its output is not the reference's (R² {run.r_squared:.3f}); the scale is its argument")
        run.logit_slope, run.r_squared = None, None


def _reference(raw: F64, add: F64, p: F64, run: Run) -> Any:
    import numpy as np

    operands = 1.0
    for factor in run.terms[0][1]:
        if factor.on in ("query", "key"):
            if factor.value is None:
                return None
            operands *= factor.value
    if operands == 0.0:
        return None

    def error(expected: float) -> float | None:
        return float(np.abs(row_softmax(raw * (expected / operands) + add) - p).max())

    return error
