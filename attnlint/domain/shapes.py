"""What tensor operations do to a shape: permutes, cuts, joins, broadcasts and products.

Every function is total: None where nothing can be said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from attnlint.domain.algebra import Monomial, add
from attnlint.domain.axes import (
    UNIT,
    Atom,
    Axis,
    Block,
    Lead,
    Shape,
    argument_axis,
    axis_of,
    better,
    cut,
    join,
    materialise,
    product,
    sized,
    unknown,
    usual_rank,
    vague,
    with_rank,
)
from attnlint.domain.views import Reshaped, Scramble, reshape

__all__ = [
    "UNIT",
    "Atom",
    "Axis",
    "Block",
    "Contraction",
    "Lead",
    "Reshaped",
    "Scramble",
    "Shape",
    "argument_axis",
    "axis_of",
    "better",
    "broadcast",
    "chunk",
    "concat",
    "cut",
    "dot_last",
    "expand",
    "join",
    "materialise",
    "matmul",
    "permute",
    "product",
    "reduce",
    "repeat",
    "reshape",
    "select",
    "sized",
    "split",
    "squeeze",
    "stack",
    "swap",
    "tensordot",
    "unknown",
    "unsqueeze",
    "usual_rank",
    "vague",
    "with_rank",
]

_MAX_PARTS = 256  # chunk counts beyond this are not attention heads but data


@dataclass(frozen=True)
class Contraction:
    """A sum of products: the shape that is left, the summed size (d_k), and the summed axes of each side."""

    shape: Shape
    size: Monomial
    left: tuple[Axis, ...]
    right: tuple[Axis, ...]


def _place(shape: Shape, index: int) -> tuple[Shape, int] | None:
    """A shape in which the axis is explicit, and its position there; None for an axis inside an unknown block."""
    if shape.lead is not None and index >= 0:
        return None
    found = axis_of(shape, index)
    return found and (found[0], index % len(found[0].axes))


def _with_axes(shape: Shape, axes: Sequence[Axis]) -> Shape:
    return Shape(tuple(axes), shape.lead)


def _replace(shape: Shape, position: int, *axes: Axis) -> Shape:
    return _with_axes(shape, (*shape.axes[:position], *axes, *shape.axes[position + 1 :]))


# --- order


def permute(shape: Shape, order: Sequence[int]) -> Shape | None:
    """Axes in a new order; the order itself tells an unknown rank."""
    shape = with_rank(shape, len(order))
    if shape.lead is not None or len(order) != len(shape.axes):
        return None
    positions = [index + len(order) if index < 0 else index for index in order]
    if sorted(positions) != list(range(len(order))):
        return None
    return Shape(tuple(shape.axes[position] for position in positions))


def swap(shape: Shape, i: int, j: int) -> Shape | None:
    """Exchange two axes."""
    if shape.lead is not None:
        if i >= 0 or j >= 0:
            return None
        shape = materialise(shape, max(-i, -j))
    first, second = _place(shape, i), _place(shape, j)
    if first is None or second is None:
        return None
    axes = list(shape.axes)
    axes[first[1]], axes[second[1]] = axes[second[1]], axes[first[1]]
    return _with_axes(shape, axes)


# --- axes that come and go


def unsqueeze(shape: Shape, index: int) -> Shape | None:
    """A new axis of size 1 that has this index afterwards."""
    if shape.lead is not None:
        if index >= 0:
            return Shape(shape.axes, f"unsqueeze({shape.lead})") if index == 0 else None
        shape = materialise(shape, -index - 1)
    position = index if index >= 0 else len(shape.axes) + 1 + index
    if not 0 <= position <= len(shape.axes):
        return None
    return _with_axes(shape, (*shape.axes[:position], UNIT, *shape.axes[position:]))


def select(shape: Shape, index: int) -> Shape | None:
    """One entry along an axis: the axis is gone."""
    if shape.lead is not None and index == 0:
        block = Block.parse(shape.lead)
        return Shape(shape.axes, str(Block(block.base, block.skip + 1, block.drop)))
    found = _place(shape, index)
    return found and _replace(*found)


def squeeze(shape: Shape, index: int) -> Shape | None:
    """Drop an axis of size 1. An axis that says it has another size stays; one that may be 1 is taken to be."""
    found = _place(shape, index)
    if found is None:
        return None
    size = found[0].axes[found[1]].size
    return _replace(*found) if size.is_one or vague(size) else found[0]


def reduce(shape: Shape, indices: Sequence[int], keepdims: bool = False) -> Shape | None:
    """Sum, mean or maximum over some axes."""
    if shape.lead is not None and indices:
        if any(index >= 0 for index in indices):
            return None
        shape = materialise(shape, -min(indices))
    places = [_place(shape, index) for index in indices]
    gone = {place[1] for place in places if place is not None}
    if None in places or len(gone) != len(indices):
        return None
    axes = [UNIT if position in gone else axis for position, axis in enumerate(shape.axes) if keepdims or position not in gone]
    return _with_axes(shape, axes)


# --- stretching


def broadcast(a: Shape, b: Shape) -> Shape:
    """The result of an elementwise operation. Where one rank is unknown, the longer known one is taken to hold it (scores + mask)."""
    count = max(len(a.axes), len(b.axes))
    first, second = materialise(a, count), materialise(b, count)
    axes = []
    for position in range(-count, 0):
        pair = [shape.axes[position] for shape in (first, second) if -position <= len(shape.axes)]
        axes.append(better(*pair) if len(pair) == 2 else pair[0])
    return Shape(tuple(axes), _common_lead(a, b, first.lead, second.lead))


def _common_lead(a: Shape, b: Shape, first: str | None, second: str | None) -> str | None:
    if first is None or second is None:
        known, other, lead = (a, b, second) if first is None else (b, a, first)
        return None if len(known.axes) > len(other.axes) else lead
    return first if len(a.axes) >= len(b.axes) else second


def expand(shape: Shape, sizes: Sequence[Monomial | None]) -> Shape | None:
    """Stretch axes of size 1; None (or -1) keeps an axis. New axes may come in front."""
    shape = materialise(shape, len(sizes))
    if shape.lead is None and len(sizes) < len(shape.axes):
        return None
    axes = list(shape.axes)
    missing = max(0, len(sizes) - len(axes))
    axes = [UNIT] * missing + axes
    offset = len(axes) - len(sizes)
    for position, size in enumerate(sizes):
        axis = axes[offset + position]
        if axis.size.is_one and size is not None and size.coefficient > 0:
            axes[offset + position] = sized(size, f"expand({shape.lead or ''}{shape}):{position}")
    return Shape(tuple(axes)) if len(sizes) >= len(axes) else _with_axes(shape, axes)


def repeat(shape: Shape, index: int, times: Monomial) -> Shape | None:
    """Every entry of an axis `times` times (repeat_interleave): the copies are the fast part of the axis."""
    found = _place(shape, index)
    if found is None:
        return None
    shape, position = found
    axis = shape.axes[position]
    copies = sized(times, f"repeat({axis.key})")
    return _replace(shape, position, Axis(axis.atoms + copies.atoms))


# --- cutting and joining


def split(shape: Shape, index: int, sizes: Sequence[Monomial]) -> list[Shape] | None:
    """Cut an axis into parts of these sizes. Equal parts along the axis' first atom keep the other atoms."""
    found = _place(shape, index)
    if found is None or not sizes or len(sizes) > _MAX_PARTS:
        return None
    shape, position = found
    axis = shape.axes[position]
    if len(sizes) == 1:
        return [shape]
    if all(size.equals(sizes[0]) for size in sizes) and axis.size.equals(sizes[0] * Monomial.number(len(sizes))):
        return chunk(shape, index, len(sizes))
    return [_replace(shape, position, sized(size, f"{axis.key}#{part}/{len(sizes)}")) for part, size in enumerate(sizes)]


def chunk(shape: Shape, index: int, count: int) -> list[Shape] | None:
    """Cut an axis into `count` equal parts: qkv of size 3 · heads · head_dim gives three of heads · head_dim."""
    found = _place(shape, index)
    if found is None or not 1 <= count <= _MAX_PARTS:
        return None
    shape, position = found
    if count == 1:
        return [shape]
    axis = shape.axes[position]
    number = Monomial.number(count)
    first = axis.atoms[0] if axis.atoms else None
    parts: list[Axis] = []
    for part in range(count):
        if first is None:
            return None
        if first.size.equals(number):
            parts.append(Axis(axis.atoms[1:]))
        else:
            name = f"{first.key}#{part}/{count}"
            parts.append(Axis(sized(first.size / number, name).atoms + axis.atoms[1:]))
    return [_replace(shape, position, part) for part in parts]


_CHUNK = re.compile(r"^(?P<parent>.*)#(?P<part>\d+)/(?P<count>\d+)$", re.DOTALL)


def concat(shapes: Sequence[Shape], index: int) -> Shape | None:
    """Join along an axis: its size is the sum."""
    if not shapes:
        return None
    if len(shapes) == 1:
        return shapes[0]
    places = [_place(shape, index) for shape in shapes]
    found = [place for place in places if place is not None]
    if len(found) < len(places):
        return None
    if len({len(shape.axes) for shape, _ in found}) > 1 and any(shape.lead is None for shape, _ in found):
        ranks = {len(shape.axes) for shape, _ in found if shape.lead is None}
        if len(ranks) > 1:
            return None
        return (
            concat([with_rank(shape, *ranks) for shape in shapes], index)
            if all(r >= len(s.axes) for r in ranks for s, _ in found)
            else None
        )
    parts = [shape.axes[position] for shape, position in found]
    size = add(*(axis.size for axis in parts))
    rest = [_replace(shape, position, UNIT) for shape, position in found]
    whole = rest[0]
    for other in rest[1:]:
        whole = broadcast(whole, other)
    return _replace(whole, index % len(whole.axes), sized(size, _joined_key([axis.key for axis in parts])))


def _joined_key(keys: Sequence[str]) -> str:
    """The key of the axis the parts were cut from, in any order (rotated halves), else a new one."""
    found = [_CHUNK.match(key) for key in keys]
    parts = sorted((match["parent"], int(match["count"]), int(match["part"])) for match in found if match)
    if len(parts) == len(keys) and parts == [(parts[0][0], len(keys), part) for part in range(len(keys))]:
        return parts[0][0]
    return f"cat({', '.join(keys)})"


def stack(shapes: Sequence[Shape], index: int) -> Shape | None:
    """Join along a new axis."""
    if not shapes:
        return None
    whole = shapes[0]
    for other in shapes[1:]:
        whole = broadcast(whole, other)
    found = unsqueeze(whole, index)
    if found is None or (found.lead is not None and index >= 0):
        return None
    position = index % len(found.axes)
    key = f"stack({', '.join(axis.key for axis in whole.axes)})"
    return _replace(found, position, sized(Monomial.number(len(shapes)), key))


# --- products


def matmul(a: Shape, b: Shape) -> Contraction | None:
    """`a @ b`: 1-D operands lose their axis, the axes before the last two are broadcast."""
    if a.rank == 0 or b.rank == 0:
        return None
    first = a if a.rank == 1 else materialise(a, 2)
    second = b if b.rank == 1 else materialise(b, 2)
    left = first.axes[-1]
    right = second.axes[0] if second.rank == 1 else second.axes[-2]
    rows = () if first.rank == 1 else (first.axes[-2],)
    columns = () if second.rank == 1 else (second.axes[-1],)
    front = [Shape(shape.axes[:-2], shape.lead) for shape in (first, second) if shape.rank != 1]
    batch = Shape() if not front else front[0] if len(front) == 1 else broadcast(*front)
    return Contraction(_with_axes(batch, batch.axes + rows + columns), better(left, right).size, (left,), (right,))


def tensordot(a: Shape, b: Shape, axes: int | tuple[Sequence[int], Sequence[int]]) -> Contraction | None:
    """Sum over paired axes, or over the last `axes` of `a` and the first of `b`; no axis is shared as batch."""
    if isinstance(axes, int):
        if axes < 0 or b.lead is not None:
            return None
        axes = (range(-axes, 0), range(axes))
    first, second = list(axes[0]), list(axes[1])
    left, right = _taken(a, first), _taken(b, second)
    if left is None or right is None or len(first) != len(second) or right[0].lead is not None:
        return None
    size = product(better(one, other).size for one, other in zip(left[1], right[1], strict=True))
    return Contraction(_with_axes(left[0], left[0].axes + right[0].axes), size, left[1], right[1])


def _taken(shape: Shape, indices: Sequence[int]) -> tuple[Shape, tuple[Axis, ...]] | None:
    rest = reduce(shape, indices)
    found = [axis_of(shape, index) for index in indices]
    axes = tuple(item[1] for item in found if item is not None)
    return (rest, axes) if rest is not None and len(axes) == len(indices) else None


def dot_last(a: Shape, b: Shape, index: int) -> Contraction | None:
    """`(a * b).sum(index)`: an elementwise product summed over one axis of the result."""
    whole = broadcast(a, b)
    if index >= 0:
        if whole.lead is not None:
            return None
        index -= len(whole.axes)
    rest = reduce(whole, (index,))
    left, right = axis_of(a, index), axis_of(b, index)
    if rest is None or (left is None and right is None):
        return None
    first, second = (found[1] if found is not None else UNIT for found in (left, right))
    return Contraction(rest, better(first, second).size, (first,), (second,))
