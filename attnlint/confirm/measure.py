"""Running a case under the probe, and picking the attention that the finding is about."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attnlint.confirm import biases


@dataclass(frozen=True)
class Target:
    """The attention that a finding is about: the rows of its product and softmax in one file.

    `rows` are those of the statements at the site, `kind` is the fault claimed.
    """

    path: str
    rows: tuple[tuple[int, int], ...]
    kind: str = ""
    varied: bool = True  # lengths of queries and keys may differ

    def holds(self, path: str, row: int) -> bool:
        return path == self.path and any(first <= row <= last for first, last in self.rows)

    @property
    def masks(self) -> bool:
        """Whether the fault shows only where a mask hides something."""
        return "mask" in self.kind and self.kind != "scaled-mask-or-bias"

    def unseen(self) -> str:
        rows = ", ".join(str(first) for first, _ in self.rows)
        return f"runs, but no q·k of line {rows} was seen to reach a softmax whose weights then average values over its axis"


@dataclass(frozen=True)
class Reading:
    """One measured site, as plain values, with a sample of its logits and weights."""

    figures: Mapping[str, Any]
    logits: tuple[tuple[float, ...], ...] = ()
    weights: tuple[tuple[float, ...], ...] = ()

    @property
    def ratio(self) -> float | None:
        value = self.figures.get("ratio")
        return float(value) if value is not None else None


def measured(call: Callable[[], Any], target: Target, library: str, values: dict[str, Any]) -> list[Reading]:
    """What the probe measured at the target during a call. For NumPy the arrays among `values` are tracked from here on."""
    from attnlint import probe

    added: dict[tuple[str, int], float] = {}
    if library == "torch":
        import torch

        with torch.no_grad(), biases.watching(added), probe.watch(keep_samples=True) as report:
            use_weights(call())
    else:
        with biases.watching(added), probe.watch(keep_samples=True) as report:
            for name, value in values.items():
                values[name] = tracked(value)
            use_weights(call())
    if report.internal_errors:
        raise RuntimeError(f"the probe failed: {report.internal_errors[0]}")
    return chosen(report, target, added)


def use_weights(result: Any, depth: int = 0) -> None:
    """Averages random values with the weights that the code hands back: an attention is seen where its weights meet values."""
    if isinstance(result, (list, tuple)) and depth < 3:
        for one in result:
            use_weights(one, depth + 1)
        return
    if isinstance(result, dict) and depth < 3:
        use_weights(list(result.values()), depth + 1)
        return
    if not hasattr(result, "shape") or len(result.shape) < 2 or "float" not in str(result.dtype):
        return
    for axis in (-1, -2):
        total = result.sum(axis)
        if bool(((total > 0.999) & (total < 1.001)).all()):
            rows = result if axis == -1 else result.swapaxes(-1, -2)
            rows @ _values_for(rows)
            return


def _values_for(weights: Any) -> Any:
    shape = (*weights.shape[:-2], weights.shape[-1], 5)
    if type(weights).__module__.startswith("torch"):
        import torch

        return torch.ones(shape, dtype=weights.dtype).cumsum(-1)
    import numpy as np

    return np.cumsum(np.ones(shape), -1)


def tracked(value: Any) -> Any:
    """A NumPy array as one that the probe follows; anything else as it is."""
    import numpy as np

    from attnlint import probe

    if type(value) is np.ndarray and value.ndim and value.dtype.kind in "fiu":
        return probe.array(value)
    if isinstance(value, (list, tuple)):
        return type(value)(tracked(item) for item in value)
    return value


def chosen(report: Any, target: Target, added: Mapping[tuple[str, int], float] | None = None) -> list[Reading]:
    """The readings at the target's rows, with the factor that an added bias got."""
    found = [site for site in report.sites if target.holds(site.file, site.line)]
    return [_reading(site, (added or {}).get((site.file, site.line))) for site in found if _finite(site)]


def _finite(site: Any) -> bool:
    return site.ratio is None or math.isfinite(site.ratio)


def _reading(site: Any, bias_scale: float | None) -> Reading:
    figures = {name: _plain(value) for name, value in site.as_dict().items()}
    figures["bias_scale"] = bias_scale
    samples = site.samples
    if samples is None:
        return Reading(figures)
    return Reading(figures, _rows(samples.logits, 32), _rows(samples.weights, 16))


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def _rows(array: Any, count: int) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(f"{x:.6g}") if math.isfinite(x) else -math.inf for x in row) for row in array[:count].tolist())
