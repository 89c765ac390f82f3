"""What scale is meant, where it is not 1/√d_k."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Expect:
    """A declared scale: `scale` is a number or a function of the head size, `why` a reason for the reader."""

    scale: float | Callable[[int], float]
    why: str = ""

    @classmethod
    def unscaled(cls, why: str) -> Expect:
        """softmax(q·k) as it stands: T5 and its kin fold the scale into the initialisation. Raises ValueError without a reason."""
        if not isinstance(why, str) or not why.strip():
            raise ValueError("Expect.unscaled() wants the reason: write Expect.unscaled('T5 folds the scale into the initialisation')")
        return cls(1.0, why)

    @classmethod
    def mup(cls, multiplier: float = 1.0, why: str = "") -> Expect:
        """multiplier / d, as maximal update parametrisation has it (Yang et al. 2022, Tensor Programs V)."""
        return cls(lambda head_dim: multiplier / head_dim, why or "µP: 1/d")

    def at(self, head_dim: int) -> float:
        """The scale meant at this head size. Raises TypeError or ValueError where it is no positive finite number."""
        value = self.scale(head_dim) if callable(self.scale) else self.scale
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"expect= gave {value!r} for head size {head_dim}: give a number or a function that returns one") from None
        if not math.isfinite(number) or number == 0.0:
            raise ValueError(f"expect= gave {number} for head size {head_dim}: a scale is finite and not zero")
        return number


Expectation = float | Expect | Callable[[int], float] | Mapping[str, Any] | None


def normalise(expect: Any) -> Expect | tuple[tuple[str, Expect | None], ...] | None:
    """Check what a caller passed as `expect=`. Raises TypeError that says what is accepted."""
    if expect is None or isinstance(expect, Expect):
        return expect
    if isinstance(expect, Mapping):
        rows = []
        for pattern, value in expect.items():
            if not isinstance(pattern, str):
                raise TypeError(f"expect= maps patterns of module names to expectations; {pattern!r} is no string")
            inner = normalise(value)
            if isinstance(inner, tuple):
                raise TypeError(f"expect={{{pattern!r}: ...}} maps to another mapping: give a number, a callable or an Expect")
            rows.append((pattern, inner))
        return tuple(rows)
    if isinstance(expect, bool) or not (isinstance(expect, (int, float)) or callable(expect) or hasattr(expect, "__float__")):
        raise TypeError(
            f"expect={expect!r} is not understood: give a number, a callable of the head size, an Expect, "
            "or a mapping from module-name patterns to these"
        )
    made = Expect(expect if callable(expect) else float(expect))
    if not callable(expect):
        made.at(1)
    return made


def resolve(expect: Expect | tuple[tuple[str, Expect | None], ...] | None, module: str) -> Expect | None:
    """The expectation for one module: the first pattern that matches its qualified name wins."""
    if not isinstance(expect, tuple):
        return expect
    for pattern, value in expect:
        if pattern == module or fnmatch.fnmatchcase(module, pattern):
            return value
    return None
