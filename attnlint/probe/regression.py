"""The regression of what softmax saw on q·k: row-centred least squares in float64, of all heads together and of each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]

FEWEST = 32
ROUNDING = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}


class HeadFit(NamedTuple):
    """One head's regression: its slope, R², and the slope's relative standard error."""

    slope: float
    r_squared: float
    error: float


class Fit(NamedTuple):
    """A regression: slope, R², the slope's relative standard error, and whether what is left over is no more than rounding."""

    slope: float
    r_squared: float
    error: float
    rounding: bool
    heads: tuple[HeadFit | None, ...] = ()


def regress(value: F64, raw: F64, keep: Any, noise: Any = 0.0, head: Any = None, heads: int = 0) -> Fit | None:
    """Row-centred least squares of `value` on `raw` where `keep`, None with too little to go on.

    All are (rows, keys); `noise` is the rounding error of each value, `head` each row's head, one of `heads`.
    """
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
    sums = [np.einsum("ij,ij->i", a, b) for a, b in ((x, x), (y, y), (x, y), (noise, noise))]
    xx, yy, xy, noise_sum = (float(s.sum()) for s in sums)
    if xx <= 1e-24 * max(1.0, float(np.einsum("ij,ij->", raw, raw))):
        return None
    slope = xy / xx
    if yy <= 0.0:
        return Fit(slope, 0.0, np.inf, noise_sum > 0.0)
    y -= slope * x
    rest = float(np.einsum("ij,ij->", y, y))
    error = (max(rest, noise_sum / 12.0) / entries / xx) ** 0.5 / abs(slope) if slope else np.inf
    by_head = _by_head(sums, np.where(count > 1, count, 0).ravel(), head, heads) if heads > 1 else ()
    return Fit(slope, 1.0 - rest / yy, error, rest <= 4.0 * noise_sum, by_head)


def _by_head(sums: list[Any], entries: Any, head: Any, heads: int) -> tuple[HeadFit | None, ...]:
    import numpy as np

    columns = [np.bincount(head, weights=s, minlength=heads) for s in (*sums, entries)]
    found: list[HeadFit | None] = []
    for xx, yy, xy, noise, n in zip(*columns, strict=True):
        if n < FEWEST or xx <= 0.0 or yy <= 0.0 or xy == 0.0:
            found.append(None)
            continue
        slope = xy / xx
        rest = max(yy - slope * xy, 0.0)
        found.append(HeadFit(slope, 1.0 - rest / yy, (max(rest, noise / 12.0) / n / xx) ** 0.5 / abs(slope)))
    return tuple(found)
