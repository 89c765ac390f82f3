"""q·k of sampled entries once more, in float64, however the axes of the two operands are laid out."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlint.probe.positions import REMEMBERED, Index, Lost, Position, runs_over, within
from attnlint.probe.values import Geometry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attnlint.probe.facts import Arrays, Product

    F64 = NDArray[np.float64]


class _Vectors(NamedTuple):
    """How vectors over the contraction, as the last axis, are read from an operand."""

    where: Index
    order: tuple[int, ...]
    contracted: int

    def read(self, arrays: Arrays, array: Any) -> F64:
        found: F64 = arrays.take(array, self.where).transpose(self.order)
        return found if self.contracted == 1 else found.reshape(*found.shape[: found.ndim - self.contracted], -1)


class Contraction(NamedTuple):
    """How q·k of the sampled entries is computed: the entries' shape, and what is read of q and of k.

    In the usual case one operand does not depend on the key, and the other depends on the row only through its batch: `row` (0 for
    q, 1 for k) is the one by rows, and `group` says for each row of which batch it is, None where there is one, a count where each
    batch has that many rows in turn. Else `row` is None, and each entry has vectors of its own.
    """

    shape: tuple[int, int]
    sides: tuple[_Vectors, _Vectors]
    row: int | None = None
    group: Any = None

    def compute(self, arrays: Arrays, product: Product) -> F64:
        import numpy as np

        vectors = [side.read(arrays, array) for side, array in zip(self.sides, (product.q, product.k), strict=True)]
        if self.row is None:
            return np.broadcast_to(np.einsum("...d,...d->...", *vectors), self.shape)
        rows, blocks = vectors[self.row], vectors[1 - self.row]
        blocks = blocks.reshape(-1, *blocks.shape[-2:]).swapaxes(1, 2)
        if rows.shape[:-1] != self.shape[:1]:
            rows = np.broadcast_to(rows, (self.shape[0], rows.shape[-1]))
        if self.group is None:
            return np.asarray(rows @ blocks[0])
        if isinstance(self.group, int):
            return np.asarray((rows.reshape(len(blocks), self.group, -1) @ blocks).reshape(self.shape))
        result = np.empty(self.shape)
        for number, block in enumerate(blocks):
            members = self.group == number
            result[members] = rows[members] @ block
        return result


@functools.lru_cache(REMEMBERED)
def contraction(position: Position, out: Geometry, letters: tuple[str, str, str], sizes: tuple[tuple[int, ...], ...]) -> Contraction:
    """How to compute the entries at `position` of a product that lies at `out`. `letters` name all axes, `sizes` are those of q and k."""
    import numpy as np

    names, index = letters[:2], within(position, out)[0]
    place = {c: i for i, c in zip(index, letters[2], strict=True) if c != "."}
    contracted = [c for c in names[0] if c in names[1] and c not in place and c != "."]
    if any(c not in place and c not in contracted and c != "." for c in names[0] + names[1]):
        raise Lost("the product sums over an axis of one operand only")
    free = [{c: place[c] for c in name if c in place} for name in names]
    shape = np.broadcast_shapes((1, 1), *[i.shape for i in index])
    for row in (0, 1):
        other = 1 - row
        batch = {c: i for c, i in free[other].items() if i.shape[1] == 1}
        keys = {c: i for c, i in free[other].items() if c not in batch}
        if not keys or any(i.shape[1] > 1 for i in free[row].values()) or any(i.shape[0] > 1 for i in keys.values()):
            continue
        first, group = _groups(batch, shape[0])
        picked = {c: i[first] if i.shape[0] > 1 else i for c, i in batch.items()}
        if len(keys) == 1 and all(runs_over(i, sizes[other][names[other].index(c)]) for c, i in keys.items()):
            picked = {c: i[:, 0] for c, i in picked.items()}
            if len(picked) == 1 and all(runs_over(i, sizes[other][names[other].index(c)]) for c, i in picked.items()):
                picked = dict.fromkeys(picked, slice(None))
            picked |= dict.fromkeys(keys, slice(None))
        else:
            picked |= keys
        order = (*batch, *keys)
        by_row = _vectors(names[row], {c: i[:, 0] for c, i in free[row].items()}, (), contracted)
        sides = by_row, _vectors(names[other], picked, order, contracted)
        return Contraction(shape, sides if row == 0 else sides[::-1], row, group)
    whole = [{c: np.broadcast_to(i, shape) for c, i in side.items()} for side in free]
    return Contraction(shape, (_vectors(names[0], whole[0], (), contracted), _vectors(names[1], whole[1], (), contracted)))


def operand_position(position: Position, out: Geometry, out_letters: str, letters: str, g: Geometry) -> Position:
    """Where the vectors of the sampled entries begin in one operand of the product, which lies at `g` with axes `letters`."""
    import numpy as np

    place = {c: i for i, c in zip(within(position, out)[0], out_letters, strict=True) if c != "."}
    zero = np.zeros((1, 1), np.int64)
    return Position(tuple(place.get(c, zero) if size > 1 else zero for c, size in zip(letters, g.sizes, strict=True)), g)


def _groups(batch: dict[str, Any], rows: int) -> tuple[Any, Any]:
    """The first row of each group of rows that share all these indices, and the groups as a `Contraction` has them."""
    import numpy as np

    number = np.zeros(rows, np.int64)
    for i in batch.values():
        number = number * (int(i.max()) + 1) + i[:, 0]
    _, first, group = np.unique(number, return_index=True, return_inverse=True)
    if len(first) == 1:
        return first, None
    count = rows // len(first)
    return first, count if np.array_equal(group, np.arange(rows) // count) else group


def _vectors(letters: str, picked: dict[str, Any], order: tuple[str, ...], contracted: list[str]) -> _Vectors:
    """`picked` has the indices along the other axes, or slices, which then follow in this order."""
    import numpy as np

    index: Index = tuple(slice(None) if c in contracted else picked.get(c, np.zeros(1, np.int64)) for c in letters)
    arrays = [n for n, i in enumerate(index) if not isinstance(i, slice)]
    lead = max((index[n].ndim for n in arrays), default=0)
    # Where indices stand together NumPy leaves their axes at that place, else it puts them first.
    together = bool(arrays) and arrays[-1] - arrays[0] == len(arrays) - 1
    axes = [c for c, i in zip(letters, index, strict=True) if isinstance(i, slice)]
    start = arrays[0] if together else 0
    at = {c: n if n < start else n + lead for n, c in enumerate(axes)}
    wanted = [*[c for c in order if c in at], *contracted]
    return _Vectors(index, (*range(start, start + lead), *[at[c] for c in wanted]), len(contracted))
