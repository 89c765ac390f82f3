"""Where the sampled entries lie, as indices into one array after the other on the way back from softmax to the product.

An index is a list with one integer array for each axis. As long as the axes can be kept apart these are (rows, 1) and (1, keys), a
handful of numbers for all entries; only where one axis depends on both are they written out as (rows, keys).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from attnlint.probe.values import Geometry

if TYPE_CHECKING:
    from attnlint.probe.trace import Arrays

ENTRIES = 8192
GROUPS = 8


class Lost(Exception):
    """Entries cannot be traced back; the message says why."""


@functools.lru_cache(maxsize=64)
def sample(sizes: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    """An index of a sample of rows with all their keys along `axis`: few batches, evenly spread. Not to be written to."""
    import numpy as np

    keys = sizes[axis]
    others = [i for i in range(len(sizes)) if i != axis]
    batch = others[:-1]
    groups = 1
    for i in batch:
        groups *= sizes[i]
    queries = sizes[others[-1]] if others else 1
    few = min(groups, GROUPS if groups * queries * keys > ENTRIES else groups)
    rows = max(1, min(queries, ENTRIES // max(1, keys * few)))
    if few * rows < 2 and groups * queries > 1:
        few, rows = min(groups, 2), min(queries, 2)
    group = (np.arange(few, dtype=np.int64) * groups) // few
    row = (np.arange(rows, dtype=np.int64) * queries) // rows
    group, row = np.repeat(group, rows), np.tile(row, few)
    index: list[Any] = [None] * len(sizes)
    rest = group
    for i in reversed(batch):
        index[i] = (rest % sizes[i])[:, None]
        rest = rest // sizes[i]
    if others:
        index[others[-1]] = row[:, None]
    index[axis] = np.arange(keys, dtype=np.int64)[None, :]
    return tuple(index)


def runs_over(i: Any, size: int) -> bool:
    """Whether the index is that of a whole axis, from its first entry to its last."""
    import numpy as np

    return bool(i.size == size and i.flat[0] == 0 and i.flat[-1] == size - 1 and (i.ravel() == np.arange(size)).all())


def take(arrays: Arrays, a: Any, index: list[Any]) -> Any:
    """The entries of an array that broadcasts against the index: float64, to be broadcast against (rows, keys)."""
    import numpy as np

    sizes = arrays.geometry(a).sizes
    zero = np.zeros((1, 1), np.int64)
    aligned = [zero] * (len(sizes) - len(index)) + list(index[max(len(index) - len(sizes), 0) :])
    picked = [zero if size == 1 else i for size, i in zip(sizes, aligned, strict=True)]
    along = [n for n, i in enumerate(picked) if i.shape[1] > 1]
    if len(along) != 1 or not runs_over(picked[along[0]], sizes[along[0]]):
        return arrays.take(a, picked)
    # All keys of some rows: whole stretches of memory instead of entry after entry.
    axis = along[0]
    whole = [slice(None) if n == axis else i[:, 0] for n, i in enumerate(picked)]
    found = arrays.take(a, whole)
    return found[None, :] if found.ndim == 1 else found.T if axis == 0 else found


def _unravel(offset: Any, g: Geometry) -> tuple[list[Any], bool, Any]:
    """Indices in `g` of offsets from its first entry, whether all lie in it, and which do. Axes without a step get index 0."""
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
    inside = rest == 0
    return index, bool(inside.all()), inside


def _narrow(i: Any) -> Any:
    """The same index, written out along one axis only where the other does not change it."""
    if i.shape[1] > 1 and (i == i[:, :1]).all():
        return i[:, :1]
    if i.shape[0] > 1 and (i == i[:1]).all():
        return i[:1]
    return i


class Position:
    """Indices of the sampled entries into one geometry. Offsets are worked out only where the geometry changes otherwise."""

    def __init__(self, index: list[Any], geometry: Geometry) -> None:
        self.index, self.geometry = index, geometry

    def within(self, g: Geometry) -> tuple[list[Any], Any]:
        """Indices of the entries in `g`, and which of them lie in it at all."""
        import numpy as np

        if g == self.geometry:
            return list(self.index), True
        by_row: Any = np.full((1, 1), self.geometry.offset - g.offset, np.int64)
        by_key: Any = np.zeros((1, 1), np.int64)
        for i, size, stride in zip(self.index, self.geometry.sizes, self.geometry.strides, strict=True):
            if size > 1 and i.shape[1] == 1:
                by_row = by_row + i * stride
            elif size > 1:
                by_key = by_key + i * stride
        if by_key.shape[0] == 1:
            apart = self._apart(by_row, by_key, g)
            if apart is not None:
                return apart, True
        index, _, inside = _unravel(by_row + by_key, g)
        return [_narrow(i) for i in index], inside

    @staticmethod
    def _apart(by_row: Any, by_key: Any, g: Geometry) -> list[Any] | None:
        """Rows and keys looked up each for itself: the indices of a sum of offsets are the sums, as long as none runs over its axis."""
        first, all_rows, _ = _unravel(by_row, g)
        second, all_keys, _ = _unravel(by_key, g)
        if not (all_rows and all_keys):
            return None
        index = []
        for a, b, size in zip(first, second, g.sizes, strict=True):
            highest = int(a.max()), int(b.max())
            if sum(highest) >= size:
                return None
            index.append(a if not highest[1] else b if not highest[0] else a + b)
        return index

    def move(self, index: list[Any], source: Geometry) -> None:
        """On to the storage of `source`, against which `index` broadcasts."""
        import numpy as np

        rank = len(source.sizes)
        given = index[max(len(index) - rank, 0) :]
        zero = np.zeros((1, 1), np.int64)
        aligned = [zero] * (rank - len(given)) + given
        self.index = [i if size > 1 else zero for i, size in zip(aligned, source.sizes, strict=True)]
        self.geometry = source
