"""What was added to the logits, and by how much it was scaled together with q·k: the claim of scaled-mask-or-bias."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MASK_BELOW = -1e4


@contextmanager
def watching(found: dict[tuple[str, int], float]) -> Iterator[None]:
    """Notes for each product (file, row) the factor that a term added to its logits got afterwards, masks left out."""
    from attnlint.probe.trace import Trace

    original = Trace.measure

    def measure(self: Any, track: Any, x: Any, axis: int, weights: Any, op: str, gain: float = 1.0) -> Any:
        run = original(self, track, x, axis, weights, op, gain)
        factor = addend_factor(self.arrays, track.events)
        if factor is not None:
            place = (run.place.user.file, run.place.user.line)
            if place not in found or abs(factor - 1) > abs(found[place] - 1):
                found[place] = factor
        return run

    Trace.measure = measure  # type: ignore[method-assign]
    try:
        yield
    finally:
        Trace.measure = original  # type: ignore[method-assign]


def addend_factor(arrays: Any, events: Any) -> float | None:
    """The factor furthest from 1 that an added array got after it was added; None where nothing but masks was added."""
    worst: float | None = None
    for index, event in enumerate(events):
        if type(event).__name__ != "Add" or not is_bias(event.array):
            continue
        factor = float(event.alpha)
        for later in events[index + 1 :]:
            if type(later).__name__ == "Scale":
                value = later.value if isinstance(later.value, float) else None
                if value is None and not isinstance(later.value, tuple):
                    value = arrays.constant(later.value)
                if value is None:
                    return worst
                factor *= float(value)
        if worst is None or abs(factor - 1) > abs(worst - 1):
            worst = factor
    return worst


def is_bias(array: Any) -> bool:
    """Whether an added array holds numbers that are meant, and is no mask of zeros and very low values."""
    import numpy as np

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        if array.is_meta:
            return False
        array = array.detach().double().cpu().numpy()
    values = np.asarray(array, dtype=float)
    return bool(((values != 0) & np.isfinite(values) & (values > MASK_BELOW)).any())
