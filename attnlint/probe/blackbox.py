"""`measure_scale`: the scale of a black box, from its output alone: no hooks, any framework, compiled or custom kernels.

With one-hot rows as values the output is the weights. ln(w_ij / w_il) = s (q_i·k_j - q_i·k_l) + bias differences; the difference of
two batch elements takes away biases that depend on positions alone (ALiBi, masks), and the slope on q·k is the scale.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnlint.probe.expect import Expectation, normalise, resolve
from attnlint.probe.judge import tolerance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]

FRAMEWORKS = ("torch", "numpy", "jax")


@dataclass(frozen=True)
class Measurement:
    """What a black box applies: `scale`, and `ratio` to what is expected (1/√head_dim unless declared).

    `row_sum` is the mean sum of a row of weights: 1 for softmax, less with a sink, another number where weights or output are scaled.
    `status` and `kind` are those of a report's site.
    """

    scale: float | None
    expected: float
    ratio: float | None
    r_squared: float | None
    head_dim: int
    row_sum: float | None
    status: str
    kind: str | None
    note: str = ""


def _names(framework: str | None) -> tuple[str, ...]:
    if framework is None:
        return ("torch", "numpy") if "torch" in sys.modules else ("numpy",)
    if framework not in FRAMEWORKS:
        raise ValueError(f"framework={framework!r} is not known: use one of {', '.join(FRAMEWORKS)}, or leave it out")
    return (framework,)


def _run(fn: Callable[..., Any], framework: str, arrays: tuple[F64, ...], dtype: str) -> F64:
    import numpy as np

    if framework == "numpy":
        out = fn(*(a.astype(dtype) for a in arrays))
    elif framework == "torch":
        torch = importlib.import_module("torch")
        given = [torch.from_numpy(np.ascontiguousarray(a)).to(getattr(torch, dtype)) for a in arrays]
        with torch.no_grad():
            out = fn(*given)
    else:
        numpy_like = importlib.import_module("jax.numpy")
        out = fn(*(numpy_like.asarray(a, dtype=dtype) for a in arrays))
    if isinstance(out, (tuple, list)):
        out = out[0]
    if hasattr(out, "detach"):
        out = out.detach().cpu().double().numpy()
    return np.asarray(out, dtype=np.float64)


def _oriented(out: F64, shape: tuple[int, int, int, int]) -> F64:
    """The output as (batch, heads, tokens, head_dim); heads may come last but one, or merged with the width."""
    import numpy as np

    batch, heads, tokens, width = shape
    if out.shape == shape:
        return out
    if out.shape == (batch, tokens, heads, width):
        return np.swapaxes(out, 1, 2)
    if out.shape == (batch, tokens, heads * width):
        return np.swapaxes(out.reshape(batch, tokens, heads, width), 1, 2)
    if out.shape == (batch * heads, tokens, width):
        return out.reshape(shape)
    raise ValueError(
        f"fn returned shape {out.shape} for q, k, v of shape {shape} (batch, heads, tokens, head_dim): return the output in that shape"
    )


def _weights(fn: Callable[..., Any], framework: str, q: F64, k: F64, dtype: str) -> F64:
    """The weights (batch, heads, tokens, tokens), read through one-hot values, head_dim tokens at a time."""
    import numpy as np

    batch, heads, tokens, width = q.shape
    pieces = []
    for start in range(0, tokens, width):
        v = np.zeros_like(q)
        n = min(width, tokens - start)
        v[:, :, range(start, start + n), range(n)] = 1.0
        pieces.append(_oriented(_run(fn, framework, (q, k, v), dtype), q.shape)[..., :n])
    del batch, heads
    return np.concatenate(pieces, -1)


def _slope(weights: F64, raw: F64) -> tuple[float, float] | None:
    """Slope and R² of log weights on q·k: rows centred, then two batch elements subtracted where their patterns of zeros agree."""
    import numpy as np

    live = (weights > 1e-12) & np.isfinite(weights)
    both = live[0] & live[1]
    count = both.sum(-1, keepdims=True)
    usable = both & (count > 1)
    if int(usable.sum()) < 8:
        return None
    logs = np.log(np.where(live, weights, 1.0))
    y, x = logs[0] - logs[1], raw[0] - raw[1]

    def centred(a: F64) -> F64:
        kept = np.where(usable, a, 0.0)
        return np.where(usable, kept - kept.sum(-1, keepdims=True) / np.maximum(count, 1), 0.0)

    y, x = centred(y), centred(x)
    xx = float((x * x).sum())
    yy = float((y * y).sum())
    if xx == 0.0:
        return None
    slope = float((x * y).sum()) / xx
    rest = float(((y - slope * x) ** 2).sum())
    return slope, (1.0 - rest / yy if yy > 0 else 0.0)


def measure_scale(
    fn: Callable[..., Any],
    head_dim: int,
    heads: int = 1,
    framework: str | None = None,
    *,
    tokens: int = 11,
    expect: Expectation = None,
    dtype: str = "float32",
    seed: int = 0,
) -> Measurement:
    """Measure the scale of `fn(q, k, v) -> output`, arrays of shape (batch, heads, tokens, head_dim).

    The arrays are PyTorch's where it is loaded and `fn` accepts them, else NumPy's; `framework` ("torch", "numpy", "jax") settles it.
    Raises ValueError on bad sizes or an output of another shape, and what `fn` raises where no framework's arrays suit it.
    """
    import numpy as np

    if head_dim < 1 or heads < 1 or tokens < 3:
        raise ValueError(f"head_dim={head_dim}, heads={heads}, tokens={tokens}: sizes are 1 or more, tokens 3 or more")
    source = np.random.default_rng(seed)
    shape = (2, heads, tokens, head_dim)
    q, k = source.standard_normal(shape), source.standard_normal(shape)
    # Rounded to the dtype first, so that the products here are of the numbers that fn gets.
    first, refusals = None, []
    for name in _names(framework):
        try:
            first = _measure(fn, name, q * head_dim**-0.25, k * head_dim**-0.25, dtype)
            chosen = name
            break
        except Exception as error:
            refusals.append((name, error))
    if first is None:
        if len(refusals) == 1:
            raise refusals[0][1]
        tried = "; ".join(f"{name}: {type(error).__name__}: {error}" for name, error in refusals)
        raise ValueError(f"fn accepts neither of the arrays tried ({tried}); say which it takes with framework=") from refusals[-1][1]
    found, sums = first
    expected = _expected(expect, head_dim)
    if found is None:
        return Measurement(None, expected, None, None, head_dim, sums, "skipped", None, "the weights are one-hot, masked or do not vary")
    # Once more where logits have a spread of about 1: that is where the logarithms are sharpest.
    slope, _ = found
    if slope:
        gain = float(np.clip(abs(slope) ** -0.5, 1e-2, 1e2))
        again, sums_again = _measure(fn, chosen, q * head_dim**-0.25 * gain, k * head_dim**-0.25 * gain, dtype)
        if again is not None:
            found, sums = again, sums_again
    return _verdict(found, sums, expect, expected, head_dim, dtype)


def _expected(expect: Expectation, head_dim: int) -> float:
    known = resolve(normalise(expect), "")
    return head_dim**-0.5 if known is None else known.at(head_dim)


def _measure(fn: Callable[..., Any], framework: str, q: F64, k: F64, dtype: str) -> tuple[tuple[float, float] | None, float | None]:
    import numpy as np

    q, k = _rounded(q, framework, dtype), _rounded(k, framework, dtype)
    weights = _weights(fn, framework, q, k, dtype)
    sums = weights.sum(-1)
    raw = np.matmul(q, np.swapaxes(k, -1, -2))
    return _slope(weights, raw), float(np.median(sums)) if np.isfinite(sums).all() else None


def _rounded(a: F64, framework: str, dtype: str) -> F64:
    if dtype == "bfloat16":
        import numpy as np

        bits = a.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)
    return a.astype(dtype).astype("float64")


def _verdict(
    found: tuple[float, float], row_sum: float | None, expect: Expectation, expected: float, head_dim: int, dtype: str
) -> Measurement:
    from attnlint.probe.facts import Run
    from attnlint.probe.frames import Line, Place
    from attnlint.probe.judge import Reading, name_kind

    scale, r_squared = found
    ratio = scale / expected
    tol = max(tolerance(dtype), 1e-3)
    good = "ok" if expect is None else "declared"
    if r_squared < 0.99:
        note = f"R² = {r_squared:.4f}: the logarithms of the weights are no affine function of q·k"
        return Measurement(scale, expected, ratio, r_squared, head_dim, row_sum, "fault", "not-affine", note)
    off = row_sum is not None and row_sum > 1e-6 and abs(row_sum - 1) > max(tol, 1e-2)
    note = f"rows of weights sum to {row_sum:.4g}" if off else ""
    if abs(ratio - 1) <= tol:
        scaled_after = (
            off and row_sum is not None and any(abs(row_sum / n - 1) < 1e-2 for n in (head_dim**-0.5, head_dim**0.5, 1 / head_dim))
        )
        if scaled_after and expect is None:
            return Measurement(scale, expected, ratio, r_squared, head_dim, row_sum, "fault", "scale-after-softmax", note)
        return Measurement(scale, expected, ratio, r_squared, head_dim, row_sum, good, None, note)
    nowhere = Line("", 0)
    run = Run("black box", Place(nowhere, nowhere, ()))
    run.terms = ((head_dim, ()),)
    run.dtype = dtype
    kind, fits = name_kind(run, Reading(head_dim, scale, expected, ratio, 0))
    if off and kind == "missing-scale":
        kind = "scale-after-softmax"
    note = "; ".join(filter(None, [note, "fits: " + ", ".join(fits) if fits else ""]))
    return Measurement(scale, expected, ratio, r_squared, head_dim, row_sum, "fault", kind, note)
