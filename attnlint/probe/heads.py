"""Figures head by head: which axis of the logits counts the heads, which sampled row belongs to which, and what each head measures."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlint.probe.facts import Joined, Move, Track
from attnlint.probe.positions import REMEMBERED, Lost, Position, moved, piece, within
from attnlint.probe.values import Geometry, Statistics

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]

MOST = 256
"""More heads than these are not told apart."""
_COUNTS = ("num_heads", "n_heads", "n_head", "heads", "nhead", "num_attention_heads", "nheads", "num_q_heads")


# --- axes ------------------------------------------------------------------------------------------------------------------------


def letters_of(track: Track, g: Geometry) -> tuple[str, ...]:
    """For each axis of the logits at `g` the letter of the product's axis that runs along it; "" where that cannot be told."""
    product = track.terms[0].product
    if track.lost:
        return ("",) * len(g.sizes)
    path = tuple(event for event in reversed(track.events) if isinstance(event, (Move, Joined)))
    return _letters(g, path, product.geometry, product.out_letters)


@functools.lru_cache(REMEMBERED)
def _letters(g: Geometry, path: tuple[Move | Joined, ...], target: Geometry, out_letters: str) -> tuple[str, ...]:
    import numpy as np

    first = np.zeros((1, 1), np.int64)
    found = []
    for axis, size in enumerate(g.sizes):
        step = np.array([[0, 1 if size > 1 else 0]], np.int64)
        position = Position(tuple(step if i == axis else first for i in range(len(g.sizes))), g)
        try:
            for event in path:
                if isinstance(event, Move):
                    position = moved(position, event.at, event.source)
                else:
                    position, _ = piece(position, event.at, event.axis, event.start, event.source)
            index = within(position, target)[0]
        except Lost:
            return ("",) * len(g.sizes)
        along = [c for i, c in zip(index, out_letters, strict=True) if c != "." and i.shape[1] > 1 and i[0, 0] != i[0, -1]]
        found.append(along[-1] if along else "")
    return tuple(found)


class HeadAxis(NamedTuple):
    """The axis of the logits that counts the heads, and how many there are: less than its size where it counts batches too."""

    axis: int | None
    number: int | None


def head_axis(g: Geometry, axis: int, roles: Sequence[str], modules: tuple[Any, ...]) -> HeadAxis:
    """The last axis of the logits that q and k share, else the one before the queries. `roles` is that of each axis, "" if unknown."""
    others = [i for i in range(len(g.sizes)) if i != axis]
    shared = [i for i in others if i < len(roles) and roles[i] == "shared" and g.sizes[i] > 1]
    found = shared[-1] if shared else others[-2] if len(others) > 1 and not any(roles) else None
    return HeadAxis(None, None) if found is None else HeadAxis(found, _count(g.sizes, found, modules))


def roles_of(letters: Sequence[str], q_letters: str, k_letters: str) -> tuple[str, ...]:
    """What each axis is: "shared" by both operands, of the "query" or of the "key"; "" where it is not known."""
    return tuple("" if not c else "shared" if c in q_letters and c in k_letters else "query" if c in q_letters else "key" for c in letters)


def _count(sizes: Sequence[int], axis: int, modules: tuple[Any, ...]) -> int | None:
    """How many heads lie along an axis: its size, or what the module says where heads and batch are one axis; None where unknown."""
    size = sizes[axis]
    if len(sizes) >= 4:
        return size if size <= MOST else None
    for module in modules:
        for name in _COUNTS:
            heads = getattr(module, name, None)
            if isinstance(heads, int) and not isinstance(heads, bool) and 0 < heads <= size and size % heads == 0:
                return heads if heads <= MOST else None
    return None


# --- figures ---------------------------------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """What each sampled row of weights says: arrays with an entry for each row, NaN where a row has no unmasked key."""

    top: F64
    entropy: F64
    squares: F64

    def statistics(self) -> Statistics:
        """Means over the rows."""
        import numpy as np

        known = np.isfinite(self.top)
        if not known.any():
            return Statistics()
        top = self.top[known]
        several = np.isfinite(self.entropy)
        entropy = float(self.entropy[several].mean()) if several.any() else None
        return Statistics(float(top.mean()), float((top > 0.99).mean()), entropy, 1.0 - float(self.squares[known].mean()))


def rows_of(p: Any, live: Any) -> Rows:
    """The figures of rows of weights (rows, keys); `live` are their unmasked keys, True for all."""
    import numpy as np

    keys = np.full(len(p), p.shape[-1]) if live is True or live.all() else live.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        top = np.where(keys > 0, p.max(-1), np.nan).astype(np.float64)
        squares = np.einsum("ij,ij->i", p, p)
        spread = -np.einsum("ij,ij->i", p, np.log(np.maximum(p, np.finfo(p.dtype).tiny)))
        entropy = np.where(keys > 1, spread / np.log(np.maximum(keys, 2)), np.nan)
    return Rows(top, entropy, squares)


class HeadFigures(NamedTuple):
    """One head of one call, as measured: `logit_slope` is the slope of its softmax input on q·k as it was computed, or None."""

    head: int
    logit_slope: float | None
    slope_error: float
    entropy: float | None
    max_logit: float | None
    max_weight: float | None
    saturated: float | None


def figures(rows: Rows, head: Any, heads: int, tops: Any, slopes: Sequence[tuple[float | None, float]]) -> tuple[HeadFigures, ...]:
    """Figures by head. `head` is each row's head, `tops` each head's largest logit or None, `slopes` each head's slope and its error."""
    import numpy as np

    known = np.isfinite(rows.top)
    several = np.isfinite(rows.entropy)

    def means(values: Any, of: Any) -> list[float | None]:
        number = np.bincount(head[of], minlength=heads)
        total = np.bincount(head[of], weights=values[of], minlength=heads)
        return [float(t / n) if n else None for t, n in zip(total, number, strict=True)]

    top, saturated, entropy = means(rows.top, known), means((rows.top > 0.99) * 1.0, known), means(rows.entropy, several)
    return tuple(
        HeadFigures(i, *slopes[i], entropy[i], None if tops is None or not np.isfinite(tops[i]) else float(tops[i]), top[i], saturated[i])
        for i in range(heads)
    )
