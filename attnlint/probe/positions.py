"""Where the sampled entries lie, as indices into one array after the other on the way back from softmax to the product.

An index is a tuple with one integer array for each axis. As long as the axes can be kept apart these are (rows, 1) and (1, keys), a
handful of numbers for all entries; only where one axis depends on both are they written out as (rows, keys). All of it depends on
shapes alone, so it is worked out once for the layers and calls that have the same ones.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from attnlint.probe.values import Geometry

if TYPE_CHECKING:
    from attnlint.probe.facts import Arrays

ENTRIES = 8192
GROUPS = 8
REMEMBERED = 64

Index = tuple[Any, ...]


class Lost(Exception):
    """Entries cannot be traced back; the message says why."""


class Position:
    """Indices of the sampled entries into one geometry; not to be written to."""

    __slots__ = ("geometry", "index")

    def __init__(self, index: Index, geometry: Geometry) -> None:
        self.index, self.geometry = index, geometry


@functools.lru_cache(REMEMBERED)
def sample(g: Geometry, axis: int) -> Position:
    """Some rows with all their keys along `axis`: few batches, evenly spread."""
    import numpy as np

    keys = g.sizes[axis]
    others = [i for i in range(len(g.sizes)) if i != axis]
    batch = others[:-1]
    groups = 1
    for i in batch:
        groups *= g.sizes[i]
    queries = g.sizes[others[-1]] if others else 1
    few = min(groups, GROUPS if groups * queries * keys > ENTRIES else groups)
    rows = max(1, min(queries, ENTRIES // max(1, keys * few)))
    if few * rows < 2 and groups * queries > 1:
        few, rows = min(groups, 2), min(queries, 2)
    group = (np.arange(few, dtype=np.int64) * groups) // few
    row = (np.arange(rows, dtype=np.int64) * queries) // rows
    group, row = np.repeat(group, rows), np.tile(row, few)
    index: list[Any] = [None] * len(g.sizes)
    rest = group
    for i in reversed(batch):
        index[i] = (rest % g.sizes[i])[:, None]
        rest = rest // g.sizes[i]
    if others:
        index[others[-1]] = row[:, None]
    index[axis] = np.arange(keys, dtype=np.int64)[None, :]
    return Position(tuple(index), g)


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
