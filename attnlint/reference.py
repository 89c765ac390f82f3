"""The reference attention: scaled dot-product attention, its gradients and its statistics in float64 NumPy.

Everything here follows Vaswani et al., "Attention Is All You Need" (2017), equation 1: softmax(q kᵀ · scale) v with
scale = d_k^(-1/2). It is written for clarity, not speed: it is what fused kernels, models and the probe are compared with.

Shapes: q is (..., T, d), k is (..., S, d), v is (..., S, e); leading axes broadcast as NumPy's do. With grouped queries the head
axis (-3) of q is a multiple of that of k and v, and each key head serves that many neighbouring query heads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = [
    "Attention",
    "Gradients",
    "Statistics",
    "WhyRow",
    "attention",
    "gradients",
    "logits",
    "softmax",
    "statistics",
    "why_sqrt_d",
    "why_sqrt_d_svg",
    "why_sqrt_d_text",
]

SATURATED = 0.99
"""A row of weights whose largest entry exceeds this counts as saturated: the softmax has become a choice."""


@dataclass(frozen=True, eq=False)
class Attention:
    """What one attention computed: `output` (..., T, e), `weights` (..., T, S), `logits` (..., T, S) as softmax saw them."""

    output: Array
    weights: Array
    logits: Array
    scale: float


@dataclass(frozen=True, eq=False)
class Gradients:
    """Gradients of sum(output * upstream), each in the shape of its argument; `bias` is None where no float bias was given."""

    q: Array
    k: Array
    v: Array
    bias: Array | None


@dataclass(frozen=True)
class Statistics:
    """How far softmax is from both of its ends, uniform and one-hot. Means over the rows that have an unmasked key.

    `max_weight`: mean of the rows' largest weight. `saturated`: share of rows (0 to 1) whose largest weight exceeds 0.99.
    `entropy`: mean of the rows' entropy over ln of their unmasked keys (0 to 1; rows with one key left out, None if there is no other).
    `jacobian`: mean of 1 - sum p², the trace of the softmax Jacobian diag(p) - p pᵀ. `logit_variance`: mean over rows of the
    variance of the unmasked logits, None without logits.
    """

    max_weight: float
    saturated: float
    entropy: float | None
    jacobian: float
    logit_variance: float | None


def _f64(value: ArrayLike) -> Array:
    import numpy as np

    return np.asarray(value, dtype=np.float64)


def softmax(x: ArrayLike, axis: int = -1) -> Array:
    """Softmax along `axis`, the row's maximum subtracted first. A row that is masked altogether gives zeros, as PyTorch's kernels do."""
    import numpy as np

    values = _f64(x)
    top = values.max(axis=axis, keepdims=True)
    raised = np.exp(values - np.where(np.isfinite(top), top, 0.0))
    total = raised.sum(axis=axis, keepdims=True)
    return raised / np.where(total == 0.0, 1.0, total)


def _grouped(q: Array, k: Array, v: Array) -> tuple[Array, Array, int]:
    """Repeat key and value heads so that every query head has its own; the factor of repetition comes back too."""
    import numpy as np

    if q.ndim < 3 or k.ndim < 3 or q.shape[-3] == k.shape[-3] or k.shape[-3] == 1:
        return k, v, 1
    if q.shape[-3] % k.shape[-3]:
        raise ValueError(
            f"{q.shape[-3]} query heads are no multiple of {k.shape[-3]} key heads (q {q.shape}, k {k.shape}): "
            "grouped queries need a whole number of query heads for each key head"
        )
    groups = q.shape[-3] // k.shape[-3]
    return np.repeat(k, groups, axis=-3), np.repeat(v, groups, axis=-3), groups


def _check(q: Array, k: Array, v: Array) -> None:
    if q.ndim < 2 or k.ndim < 2 or v.ndim < 2:
        raise ValueError(f"q, k and v need two axes or more, (..., tokens, head_dim); they have shapes {q.shape}, {k.shape}, {v.shape}")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must share their last axis, the contraction: q {q.shape}, k {k.shape}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v must have as many tokens as each other: k {k.shape}, v {v.shape}")


def logits(
    q: ArrayLike,
    k: ArrayLike,
    *,
    scale: float | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    causal: bool = False,
) -> Array:
    """What softmax sees, (..., T, S): q kᵀ · scale + bias, with minus infinity where a key is masked. Arguments as `attention`'s."""
    import numpy as np

    query, key = _f64(q), _f64(k)
    factor = query.shape[-1] ** -0.5 if scale is None else float(scale)
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) * factor
    if bias is not None:
        scores = scores + _f64(bias)
    if mask is not None:
        given = np.asarray(mask)
        if given.dtype == np.bool_:
            scores = np.where(given, scores, -np.inf)
        elif np.issubdtype(given.dtype, np.floating):
            scores = scores + given.astype(np.float64)
        else:
            raise TypeError(
                f"mask has dtype {given.dtype}: give a boolean mask (True keeps the key) or a floating one (added to the logits); "
                "an integer mask says neither, so write `mask.astype(bool)`"
            )
    if causal:
        keep = np.tril(np.ones(scores.shape[-2:], dtype=bool))
        scores = np.where(keep, scores, -np.inf)
    return scores


def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    scale: float | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    causal: bool = False,
) -> Attention:
    """Scaled dot-product attention in float64.

    `scale` defaults to d^(-1/2) of the contraction. `mask` is boolean (True keeps a key, as PyTorch's) or floating (added after the
    scale); `bias` is added after the scale as well, both broadcast to (..., T, S). `causal` keeps keys up to the query's own index,
    counted from the first of both, as PyTorch's `is_causal` does. Raises ValueError on shapes that do not fit and TypeError on an
    integer mask.
    """
    import numpy as np

    query, key, value = _f64(q), _f64(k), _f64(v)
    _check(query, key, value)
    key, value, _ = _grouped(query, key, value)
    factor = query.shape[-1] ** -0.5 if scale is None else float(scale)
    scores = logits(query, key, scale=factor, mask=mask, bias=bias, causal=causal)
    weights = softmax(scores)
    return Attention(np.matmul(weights, value), weights, scores, factor)


def _unbroadcast(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Sum a gradient over the axes along which its argument was broadcast."""
    extra = gradient.ndim - len(shape)
    reduced = gradient.sum(axis=tuple(range(extra))) if extra else gradient
    ones = tuple(i for i, n in enumerate(shape) if n == 1 and reduced.shape[i] != 1)
    return (reduced.sum(axis=ones, keepdims=True) if ones else reduced).reshape(shape)


def _ungroup(gradient: Array, groups: int, heads: int) -> Array:
    if groups == 1:
        return gradient
    split = gradient.reshape(*gradient.shape[:-3], heads, groups, *gradient.shape[-2:])
    return split.sum(axis=-3)


def gradients(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    upstream: ArrayLike | None = None,
    *,
    scale: float | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    causal: bool = False,
) -> Gradients:
    """Gradients of sum(output * upstream) in q, k, v and bias, by the chain rule through the softmax Jacobian diag(p) - p pᵀ.

    `upstream` has the shape of the output and defaults to ones. The other arguments are those of `attention`.
    """
    import numpy as np

    query, key, value = _f64(q), _f64(k), _f64(v)
    done = attention(query, key, value, scale=scale, mask=mask, bias=bias, causal=causal)
    wide_key, wide_value, groups = _grouped(query, key, value)
    above = np.ones_like(done.output) if upstream is None else _f64(upstream)
    if above.shape != done.output.shape:
        raise ValueError(f"upstream has shape {above.shape}, the output {done.output.shape}: give one number for each output")
    d_value = np.matmul(np.swapaxes(done.weights, -1, -2), above)
    d_weights = np.matmul(above, np.swapaxes(wide_value, -1, -2))
    d_logits = done.weights * (d_weights - (d_weights * done.weights).sum(axis=-1, keepdims=True))
    d_query = np.matmul(d_logits, wide_key) * done.scale
    d_key = np.matmul(np.swapaxes(d_logits, -1, -2), query) * done.scale
    heads = key.shape[-3] if key.ndim >= 3 else 1
    return Gradients(
        q=_unbroadcast(d_query, query.shape),
        k=_unbroadcast(_ungroup(d_key, groups, heads), key.shape),
        v=_unbroadcast(_ungroup(d_value, groups, heads), value.shape),
        bias=None if bias is None else _unbroadcast(d_logits, np.shape(bias)),
    )


def statistics(weights: ArrayLike, scores: ArrayLike | None = None) -> Statistics:
    """The statistics of rows of weights (..., T, S); `scores` are the logits of the same shape, minus infinity where masked.

    Without `scores` a key counts as masked where its weight is exactly zero. A row without any unmasked key is left out.
    Raises ValueError where no row is left.
    """
    import numpy as np

    p = _f64(weights)
    p = p.reshape(-1, p.shape[-1])
    given = None if scores is None else np.broadcast_to(_f64(scores), np.shape(weights)).reshape(p.shape)
    live = p > 0 if given is None else np.isfinite(given)
    keys = live.sum(axis=-1)
    if not (keys > 0).any():
        raise ValueError("no row has an unmasked key: there is nothing to describe")
    p, live, keys = p[keys > 0], live[keys > 0], keys[keys > 0]
    top = p.max(axis=-1)
    several = keys > 1
    entropy: float | None = None
    if several.any():
        logs = np.log(np.where(p > 0, p, 1.0))
        entropy = float((-(p * logs).sum(axis=-1)[several] / np.log(keys[several])).mean())
    variance: float | None = None
    if given is not None:
        rows = given[np.isfinite(given).any(axis=-1)]
        kept = np.where(live, rows, 0.0)
        mean = kept.sum(axis=-1) / keys
        variance = float(((np.where(live, rows - mean[:, None], 0.0) ** 2).sum(axis=-1) / keys).mean())
    return Statistics(
        max_weight=float(top.mean()),
        saturated=float((top > SATURATED).mean()),
        entropy=entropy,
        jacobian=float((1.0 - (p * p).sum(axis=-1)).mean()),
        logit_variance=variance,
    )


@dataclass(frozen=True)
class WhyRow:
    """One line of the answer to 'why √d_k': a head size, a scale by name, and what softmax makes of it."""

    head_dim: int
    scale: str
    statistics: Statistics


# attnlint: ignore[unrooted-scale] the wrong scales are here to be compared
SCALES: dict[str, Any] = {"1": lambda d: 1.0, "1/sqrt(d)": lambda d: d**-0.5, "1/d": lambda d: 1.0 / d}


def why_sqrt_d(head_dims: Sequence[int] = (16, 32, 64, 128, 256, 512, 1024), tokens: int = 128, seed: int = 0) -> tuple[WhyRow, ...]:
    """What softmax sees for q and k of independent N(0, 1) entries, unscaled, over √d and over d.

    The variance of q·k is the sum of d products of variance 1 (Vaswani et al. 2017, footnote 4): d unscaled, 1 over √d, 1/d over d.
    """
    import numpy as np

    rows = []
    for d in head_dims:
        source = np.random.default_rng([seed, d])
        q, k = source.standard_normal((4, tokens, d)), source.standard_normal((4, tokens, d))
        for name, of in SCALES.items():
            scores = logits(q, k, scale=of(d))
            rows.append(WhyRow(d, name, statistics(softmax(scores), scores)))
    return tuple(rows)


def why_sqrt_d_text(rows: Sequence[WhyRow] | None = None) -> str:
    """The table of `why_sqrt_d` in plain text, with a bar for the mean largest weight."""
    rows = why_sqrt_d() if rows is None else rows
    head = f"{'d':>5}  {'scale':<9}  {'var logits':>10}  {'max weight':>10}  {'saturated':>9}  {'entropy':>7}  {'1-sum p2':>8}  max weight"
    lines = [head, "-" * len(head)]
    for row in rows:
        s = row.statistics
        bar = "█" * max(1, round(20 * s.max_weight))
        lines.append(
            f"{row.head_dim:>5}  {row.scale:<9}  {s.logit_variance or 0.0:>10.4g}  {s.max_weight:>10.3f}  {s.saturated:>9.1%}  "
            f"{s.entropy or 0.0:>7.3f}  {s.jacobian:>8.3f}  {bar}"
        )
    return "\n".join(lines)


def why_sqrt_d_svg(rows: Sequence[WhyRow] | None = None) -> str:
    """A self-contained SVG: entropy over ln T against the head size, one line for each scale."""
    rows = why_sqrt_d() if rows is None else rows
    dims = sorted({row.head_dim for row in rows})
    width, height, pad = 520, 260, 44
    low, high = math.log2(dims[0]), math.log2(dims[-1])

    def at(row: WhyRow) -> tuple[float, float]:
        x = pad + (math.log2(row.head_dim) - low) / max(high - low, 1e-9) * (width - 2 * pad)
        y = height - pad - (row.statistics.entropy or 0.0) * (height - 2 * pad)
        return x, y

    colours = {"1": "#b3261e", "1/sqrt(d)": "#1b6e3c", "1/d": "#3558a6"}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="11">',
        "<title>Entropy of the attention weights against the head size</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<path d="M{pad},{pad} V{height - pad} H{width - pad}" fill="none" stroke="#555"/>',
        f'<text x="{pad}" y="{pad - 14}" fill="#333">row entropy / ln T (1 is uniform, 0 is one-hot)</text>',
        f'<text x="{width / 2}" y="{height - 8}" fill="#333" text-anchor="middle">head size d</text>',
    ]
    for d in dims:
        x = pad + (math.log2(d) - low) / max(high - low, 1e-9) * (width - 2 * pad)
        parts.append(f'<text x="{x:.1f}" y="{height - pad + 15}" fill="#555" text-anchor="middle">{d}</text>')
    for name, colour in colours.items():
        line = [row for row in rows if row.scale == name]
        if not line:
            continue
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(at, line))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = at(line[-1])
        parts.append(f'<text x="{x - 4:.1f}" y="{y - 6:.1f}" fill="{colour}" text-anchor="end">scale {name}</text>')
    return "\n".join([*parts, "</svg>"])
