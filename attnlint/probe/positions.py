"""Where the sampled entries lie, as indices into one array after the other on the way back from softmax to the product.

An index is a tuple with one integer array for each axis. As long as the axes can be kept apart these are (rows, 1) and (1, keys), a
handful of numbers for all entries; only where one axis depends on both are they written out as (rows, keys). All of it depends on
shapes alone, so it is worked out once for the layers and calls that have the same ones.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from attnlint.probe.values import Geometry

if TYPE_CHECKING:
    from attnlint.probe.facts import Arrays

ENTRIES = 16384
GROUPS = 16
MOST_HEADS = 256
LEAST_ROWS = 4
FEW_KEYS = 2048
REMEMBERED = 256

Index = tuple[Any, ...]


class Lost(Exception):
    """Entries cannot be traced back; the message says why."""


class Position:
    """Indices of the sampled entries into one geometry; not to be written to."""

    __slots__ = ("geometry", "index")

    def __init__(self, index: Index, geometry: Geometry) -> None:
        self.index, self.geometry = index, geometry


@functools.lru_cache(REMEMBERED)
def sample(g: Geometry, axis: int, heads: int | None = None, count: int | None = None) -> Position:
    """Whole rows along `axis`, drawn evenly over batch, heads and queries, whatever the sizes; all of them where they are few.

    `heads` is the axis that counts the heads, `count` their number, less than its size where batch and heads are one axis.
    """
    import numpy as np

    keys = max(1, g.sizes[axis])
    others = [i for i in range(len(g.sizes)) if i not in (axis, heads)]
    queries = g.sizes[others[-1]] if others else 1
    outer = [*others[:-1], *([heads] if heads is not None else [])]
    groups = _size(g, outer)
    few, rows = spread(groups, count or 1, queries, keys)
    first = np.repeat(few, rows)
    row = (np.arange(rows)[None, :] * queries + offsets(len(few), queries)[:, None]) // rows
    index: list[Any] = [None] * len(g.sizes)
    for i in reversed(outer):
        index[i] = (first % g.sizes[i])[:, None]
        first = first // g.sizes[i]
    if others:
        index[others[-1]] = row.reshape(-1)[:, None]
    index[axis] = np.arange(g.sizes[axis], dtype=np.int64)[None, :]
    return Position(tuple(index), g)


def _size(g: Geometry, axes: list[int]) -> int:
    total = 1
    for i in axes:
        total *= g.sizes[i]
    return total


def spread(groups: int, heads: int, queries: int, keys: int) -> tuple[Any, int]:
    """Which of the groups (batch by head, heads last) are read, and how many rows of each: every head, and no batch more than others."""
    import numpy as np

    if groups * queries * keys <= ENTRIES:
        return np.arange(groups, dtype=np.int64), queries
    batches = groups // heads
    if 1 < heads <= MOST_HEADS:
        each = max(1, min(batches, GROUPS // heads))
        head = np.arange(heads, dtype=np.int64)[:, None]
        batch = (head + (np.arange(each, dtype=np.int64)[None, :] * batches) // each) % batches
        few = np.sort((batch * heads + head).ravel())
    else:
        # A step of about the golden section, without a common divisor: no period of the groups (heads in a batch) is preferred.
        few = np.sort((np.arange(min(groups, GROUPS), dtype=np.int64) * _step(groups)) % groups)
    return few, max(1, min(queries, max(ENTRIES // (keys * len(few)), LEAST_ROWS if keys < FEW_KEYS else 1)))


def _step(n: int) -> int:
    step = max(1, round(n * 0.6180339887))
    while math.gcd(step, n) != 1:
        step += 1
    return step


def offsets(groups: int, queries: int) -> Any:
    """Where the rows of each group begin, so that all groups together see all stretches of the queries."""
    import numpy as np

    return ((np.arange(groups) * 0.6180339887) % 1.0 * queries).astype(np.int64)


@functools.lru_cache(REMEMBERED)
def within(position: Position, g: Geometry) -> tuple[Index, Any]:
    """Indices of the entries in another geometry of the same storage, and which of them lie in it at all: True for all."""
    import numpy as np

    here = position.geometry
    if g == here:
        return position.index, True
    by_row: Any = np.full((1, 1), here.offset - g.offset, np.int64)
    by_key: Any = np.zeros((1, 1), np.int64)
    for i, size, stride in zip(position.index, here.sizes, here.strides, strict=True):
        if size > 1 and i.shape[1] == 1:
            by_row = by_row + i * stride
        elif size > 1:
            by_key = by_key + i * stride
    if by_key.shape[0] == 1:
        apart = _apart(by_row, by_key, g)
        if apart is not None:
            return apart, True
    index, inside = _unravel(by_row + by_key, g)
    return tuple(_narrow(i) for i in index), True if inside.all() else inside


@functools.lru_cache(REMEMBERED)
def moved(position: Position, at: Geometry, source: Geometry) -> Position:
    """On from the entries of `at` to those of `source`, in the storage before, that it was broadcast from."""
    return Position(_aligned(within(position, at)[0], source.sizes), source)


@functools.lru_cache(REMEMBERED)
def piece(position: Position, at: Geometry, axis: int, start: int, source: Geometry) -> tuple[Position, Any]:
    """On to the piece that was put into `at` along `axis`, and which entries come from it."""
    import numpy as np

    index = list(within(position, at)[0])
    along, size = index[axis] - start, source.sizes[axis]
    index[axis] = np.clip(along, 0, size - 1)
    return Position(_aligned(tuple(index), source.sizes), source), (along >= 0) & (along < size)


def take(arrays: Arrays, a: Any, position: Position, at: Geometry) -> Any:
    """The entries of an array that broadcasts against `at`: float64, to be broadcast against (rows, keys)."""
    index, turned = _stretches(position, at, arrays.geometry(a).sizes)
    found = arrays.take(a, index)
    return found.T if turned else found


@functools.lru_cache(REMEMBERED)
def _stretches(position: Position, at: Geometry, sizes: tuple[int, ...]) -> tuple[Index, bool]:
    """How to read these entries, and whether keys come first then: for whole rows stretches of memory, not entry after entry."""
    index = _aligned(within(position, at)[0], sizes)
    along = [n for n, i in enumerate(index) if i.shape[1] > 1]
    if len(index) == 1 or len(along) != 1 or not runs_over(index[along[0]], sizes[along[0]]):
        return index, False
    return tuple(slice(None) if n == along[0] else i[:, 0] for n, i in enumerate(index)), along[0] == 0


def gain_at(arrays: Arrays, gains: tuple[Any, ...], position: Position) -> Any:
    """The product of multipliers (`Scale` events between moves) at the entries of the array that they led to, to be broadcast."""
    total: Any = 1.0
    for event in reversed(gains):
        if hasattr(event, "source"):
            position = moved(position, event.at, event.source)
            continue
        array, divide = event.value
        factor = take(arrays, array, position, event.at)
        total = total / factor if divide else total * factor
    return total


def _aligned(index: Index, sizes: tuple[int, ...]) -> Index:
    """The index into an array of these sizes that broadcasts against what the index is of."""
    import numpy as np

    first = np.zeros((1, 1), np.int64)
    same = (first,) * (len(sizes) - len(index)) + index[max(len(index) - len(sizes), 0) :]
    return tuple(first if size == 1 else i for size, i in zip(sizes, same, strict=True))


def runs_over(i: Any, size: int) -> bool:
    """Whether the index is that of a whole axis, from its first entry to its last."""
    import numpy as np

    return bool(i.size == size and (i.ravel() == np.arange(size)).all())


def _unravel(offset: Any, g: Geometry) -> tuple[list[Any], Any]:
    """Indices in `g` of offsets from its first entry, and which of them lie in it. Axes without a step get index 0."""
    import numpy as np

    rest = offset
    index: list[Any] = [np.zeros((1, 1), np.int64) for _ in g.sizes]
    for i in sorted(range(len(g.sizes)), key=lambda i: -abs(g.strides[i])):
        size, stride = g.sizes[i], g.strides[i]
        if size == 1 or stride == 0:
            continue
        if stride < 0:
            raise Lost("an array is stored backwards")
        index[i] = np.minimum(np.maximum(rest // stride, 0), size - 1)
        rest = rest - index[i] * stride
    return index, rest == 0


def _apart(by_row: Any, by_key: Any, g: Geometry) -> Index | None:
    """Rows and keys looked up each for itself: the indices of a sum of offsets are the sums, as long as none runs over its axis."""
    rows, all_rows = _unravel(by_row, g)
    keys, all_keys = _unravel(by_key, g)
    if not (all_rows.all() and all_keys.all()):
        return None
    index = []
    for a, b, size in zip(rows, keys, g.sizes, strict=True):
        if a.max() + b.max() >= size:
            return None
        index.append(_narrow(a + b))
    return tuple(index)


def _narrow(i: Any) -> Any:
    """The same index, written out along one axis only where the other does not change it."""
    if i.shape[1] > 1 and (i == i[:, :1]).all():
        return i[:, :1]
    if i.shape[0] > 1 and (i == i[:1]).all():
        return i[:1]
    return i
