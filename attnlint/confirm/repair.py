"""What an error message says of the inputs that caused it: the next values to try."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from attnlint.confirm.inputs import Array, Constant

_LINEAR = re.compile(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)")
_MATMUL = re.compile(r"size (\d+) is different from (\d+)|shapes \(.*?(\d+),?\) and \((\d+),.*not aligned")
_NORM = re.compile(r"normalized_shape=\[(\d+)\], expected input with shape \[\*, (\d+)\], but got input of size\s*\[([\d, ]+)\]")
_CHANNELS = re.compile(r"to have (\d+) channels, but got (\d+) channels")
_UNPACK = re.compile(r"(?:not enough|too many) values to unpack \(expected (\d+)(?:, got (\d+))?\)")
_VIEW = re.compile(
    r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)|cannot reshape array of size (\d+) into shape \(?([\d, ]+)\)?"
)
_CONV = re.compile(r"Expected (\d)D \(unbatched\) or (\d)D \(batched\) input")
_SAME = re.compile(
    r"must match|match|Expected size for first two dimensions|could not be broadcast|shape mismatch|is invalid for input|cannot reshape"
    r"|Sizes of tensors|einsum|can only concatenate|expanded size"
)
_INTEGER = re.compile(r"must be (Long|int)|arrays used as indices|expected scalar type Long|tensors used as indices")

State = Mapping[str, Any]


def repairs(state: State, message: str, tables: Mapping[str, int]) -> list[dict[str, Any]]:
    """States that the message suggests instead of this one, the likeliest first."""
    found: list[dict[str, Any]] = []

    def size(dimension: Any) -> int:
        return tables[dimension] if isinstance(dimension, str) else int(dimension)

    def change(wrong: int, right: int, axis: int = -1) -> None:
        for name, value in state.items():
            if isinstance(value, Array) and len(value.shape) >= (2 if axis == 1 else 1) and size(value.shape[axis]) == wrong and right > 0:
                shape = list(value.shape)
                shape[axis] = right
                found.append({**state, name: Array(tuple(shape), value.fill, value.below)})
        if len(found) > 1:  # all of them at once, as of q, k and v
            together = dict(state)
            for one in found:
                together.update({name: value for name, value in one.items() if value != state.get(name)})
            found.insert(0, together)

    def change_rank(rank: int) -> None:
        for name, value in state.items():
            if isinstance(value, Array) and value.fill == "normal" and len(value.shape) != rank:
                for shape in _of_rank(value.shape, rank):
                    found.append({**state, name: Array(shape, value.fill)})

    if match := _LINEAR.search(message):
        change(int(match[2]), int(match[3]))
    elif match := _NORM.search(message):
        change(int(match[3].split(",")[-1]), int(match[2]))
    elif match := _CHANNELS.search(message):
        change(int(match[2]), int(match[1]), axis=1)
    elif match := _UNPACK.search(message):
        change_rank(int(match[1]))
    elif match := _CONV.search(message):
        change_rank(int(match[2]))
    elif match := _MATMUL.search(message):
        numbers = [int(one) for one in match.groups() if one]
        if len(numbers) == 2:
            change(numbers[1], numbers[0])
            change(numbers[0], numbers[1])
    if match := _VIEW.search(message):
        target = [int(one) for one in re.findall(r"-?\d+", match[1] or match[4] or "")]
        count = int(match[2] or match[3])
        wanted = 1
        for one in target:
            wanted *= one
        if wanted > 0 and -1 not in target:
            for name, value in state.items():
                if isinstance(value, Array) and value.shape and value.fill == "normal":
                    last = size(value.shape[-1])
                    if (last * wanted) % count == 0 and last * wanted // count != last:
                        found.append({**state, name: value.with_last(last * wanted // count)})
    if _INTEGER.search(message):
        for name, value in state.items():
            if isinstance(value, Array) and value.fill == "normal":
                found.append({**state, name: Array(("B", "T"), "ids", 7)})
    if "NoneType" in message:
        for name, value in state.items():
            if isinstance(value, Constant) and value.value is None:
                found += [{**state, name: Array(shape, "true")} for shape in (("B", 1, 1, "S"), ("T", "S"), ("B", "S"))]
    return found


def _of_rank(shape: Sequence[Any], rank: int) -> list[tuple[Any, ...]]:
    last = shape[-1] if shape else "C"
    shapes: dict[int, list[tuple[Any, ...]]] = {
        2: [("T", last)],
        3: [("B", "T", last)],
        4: [("B", "H", "T", "D"), ("B", last, "Y", "Z"), ("B", "M", "T", last), ("B", "Y", "Z", last)],
        5: [("B", last, 2, "Y", "Z")],
    }
    return shapes.get(rank, [])


def is_about_lengths(message: str) -> bool:
    """Whether equal lengths of queries and keys may be what the code needs."""
    return bool(_SAME.search(message))
