"""Fused kernels: the scale is an argument, q and k are there to be read, the logits never exist outside.

The second measurement is the output: the scale at which the float64 reference comes closest to what the kernel returned
(one Gauss-Newton step from the scale it was given).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlint.probe import frames
from attnlint.probe.facts import EMPTY, Info, Product, Run, coarser, operand
from attnlint.probe.measure import ROUNDING, _normalised, _samples, row_softmax, statistics_of
from attnlint.probe.positions import ENTRIES, Lost
from attnlint.probe.torch_kernels import Kernel
from attnlint.probe.trace import Trace
from attnlint.probe.values import Factor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]


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
        _numbers(trace, kernel, run, bound, (query, key, value), result, scale)
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


def _numbers(trace: Trace, kernel: Kernel, run: Run, bound: dict[str, Any], qkv: tuple[Any, Any, Any], out: Any, scale: float) -> None:
    import numpy as np

    arrays = trace.arrays
    query, key, value = qkv
    if not all(arrays.numeric(t) for t in qkv):
        raise Lost("no values on this device")
    if kernel.layout == "thd" or query.dim() != 4:
        raise Lost("packed sequences")
    b, h, t = ("bhtd".index(c) if kernel.layout == "bhtd" else kernel.layout.index(c) for c in "bht")
    batches, heads, queries, keys = query.shape[b], query.shape[h], query.shape[t], key.shape[t]
    few = min(batches * heads, 8)
    rows = max(1, min(queries, ENTRIES // max(1, keys * few)))
    group = (np.arange(few) * batches * heads) // few
    row = (np.arange(rows) * queries) // rows
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
    every = np.arange(keys)
    logits, raws, adds, outs, values = [], [], [], [], []
    for n in group:
        batch, head = int(n) // heads, int(n) % heads
        q, k = matrix(query, batch, head, row), matrix(key, batch, head // ratio, every)
        raw = q @ k.T
        add = _addend(trace, mask, batch, head, row, keys)
        if causal:
            add = np.where(every[None, :] <= row[:, None], add, -np.inf)
        raws.append(raw)
        adds.append(add)
        logits.append(raw * scale + add)
        if dropped == 0.0 and arrays.numeric(out) and out.dim() == 4 and out.shape[3] == value.shape[3] and out.shape[t] == queries:
            outs.append(matrix(out, batch, head, row))
            values.append(matrix(value, batch, head // ratio, every))
    x, live = np.concatenate(logits), np.isfinite(np.concatenate(logits)) & (np.concatenate(logits) > -1e4)
    p = row_softmax(x)
    run.statistics = statistics_of(p, live)
    if trace.wants_samples():
        run.samples = _samples(x, p, live)
    run.reference = _reference(raws, adds, p, run)
    if outs:
        _from_output(run, raws, adds, outs, values, scale)
    else:
        run.notes.append("kernel: dropout hides the output; the scale is its argument")


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


def _from_output(run: Run, raws: list[F64], adds: list[F64], outs: list[F64], values: list[F64], scale: float) -> None:
    """The scale at which the reference meets the kernel's output, and how well it does."""
    import numpy as np

    guess = scale
    for _ in range(4):
        top = bottom = rest = total = 0.0
        for raw, add, out, value in zip(raws, adds, outs, values, strict=True):
            x = raw * guess + add
            ok = np.isfinite(x).any(-1)
            p = row_softmax(x)
            miss = (out - p @ value)[ok]
            centred = p * (raw - (p * raw).sum(-1, keepdims=True))
            slope = (centred @ value)[ok]
            top += float((miss * slope).sum())
            bottom += float((slope * slope).sum())
            rest += float((miss * miss).sum())
            spread = (out - out.mean(-1, keepdims=True))[ok]
            total += float((spread * spread).sum())
        if bottom <= 1e-20 or not np.isfinite(bottom):
            run.notes.append("kernel: the output does not depend on the scale here; the scale is its argument")
            return
        step = top / bottom
        if rest <= 1e-3 * max(total, 1e-30) and abs(step) <= 1e-6 * abs(guess):
            break
        if abs(step) > abs(guess):
            break
        guess += step
    step_size = ROUNDING.get(run.dtype, ROUNDING["float32"]) * 4
    size = sum(float((out * out).sum()) for out in outs)
    run.slope_error = max(step_size * (size / bottom) ** 0.5, (rest / bottom) ** 0.5) / abs(guess) if guess else float("inf")
    if run.slope_error > 2e-2:
        run.notes.append("kernel: the output hardly depends on the scale here; the scale is its argument")
        return
    run.logit_slope = guess
    run.r_squared = 1.0 - rest / total if total > 0 else 1.0
    if run.r_squared < 0.99:
        run.notes.append(f"kernel: its output is not the reference's (R² {run.r_squared:.3f}); the scale is its argument")
        run.logit_slope, run.r_squared = None, None


def _reference(raws: list[F64], adds: list[F64], p: F64, run: Run) -> Any:
    import numpy as np

    operands = 1.0
    for factor in run.terms[0][1]:
        if factor.on in ("query", "key"):
            if factor.value is None:
                return None
            operands *= factor.value
    raw, add = np.concatenate(raws), np.concatenate(adds)
    if operands == 0.0:
        return None

    def error(expected: float) -> float | None:
        return float(np.abs(row_softmax(raw * (expected / operands) + add) - p).max())

    return error
