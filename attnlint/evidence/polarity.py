"""Which way a 0/1 mask points: whether it is 1 (or True) where a query may look, or where it may not.

The knowledge is a note of the tensor: `true:past` (a lower triangle with its diagonal), `true:future` (an upper one without),
`true:kept` (positions before a length), `true:padding` (those behind it). Triangles with the diagonal on the other side, `true:before`
and `true:onward`, prove nothing: who looks at itself and ahead reads backwards on purpose, and no row is left without a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlint.domain.values import Argument, Bool, Leaf, Scalar, Tensor, Value
from attnlint.evidence.signs import LENGTH

if TYPE_CHECKING:
    from attnlint.domain.axes import Shape

PAST, FUTURE, KEPT, PADDING = "true:past", "true:future", "true:kept", "true:padding"
BEFORE, ONWARD = "true:before", "true:onward"
LOOKS, HIDES = frozenset({PAST, KEPT}), frozenset({FUTURE, PADDING})
NOTES = LOOKS | HIDES | {BEFORE, ONWARD}
_OPPOSITE = {PAST: FUTURE, FUTURE: PAST, KEPT: PADDING, PADDING: KEPT, BEFORE: ONWARD, ONWARD: BEFORE}
_MIRRORED = {"LessThan": "GreaterThan", "GreaterThan": "LessThan", "LessThanEqual": "GreaterThanEqual", "GreaterThanEqual": "LessThanEqual"}


def is_zero_one(tensor: Tensor) -> bool:
    """Whether a tensor that points somewhere holds ones and zeros: a triangle of ones, or a comparison made a number."""
    return bool(tensor.notes & NOTES) and "full" not in tensor.notes and not tensor.factors


def flipped(notes: frozenset[str]) -> frozenset[str]:
    """The notes of the opposite mask: `~m`, `1 - m`, `m == 0`."""
    return frozenset(_OPPOSITE.get(note, note) for note in notes)


def without(notes: frozenset[str]) -> frozenset[str]:
    """The notes after an operation that may turn the mask round, such as a transpose."""
    return notes - NOTES


def of_triangle(name: str, diagonal: int | None) -> frozenset[str]:
    """`tril` keeps what is not in the future, `triu` what is not in the past, up to the diagonal."""
    if name.startswith("tril") and diagonal is not None and diagonal <= 0:
        return frozenset({PAST if diagonal == 0 else BEFORE})
    if name.startswith("triu") and diagonal is not None and diagonal >= 0:
        return frozenset({FUTURE if diagonal > 0 else ONWARD})
    return frozenset()


def of_comparison(operator: str, a: Value, b: Value) -> frozenset[str]:
    """What a comparison says: of a mask with a number, of positions with one another, of positions with lengths."""
    if isinstance(b, Tensor) and not isinstance(a, Tensor):
        return of_comparison(_MIRRORED.get(operator, operator), b, a)
    if not isinstance(a, Tensor):
        return frozenset()
    number = _number(b)
    if number is not None:
        known = a.notes & NOTES
        same = _keeps(operator, number)
        return known if same else flipped(known) if same is False else frozenset()
    if not isinstance(b, Tensor):
        return _of_length(operator, b) if "arange" in a.notes else frozenset()
    if "arange" in a.notes and "arange" in b.notes:
        rows = _rows_first(a.shape, b.shape)
        if rows is None:
            return frozenset()
        if not rows:
            operator = _MIRRORED.get(operator, operator)
        points = {"GreaterThanEqual": PAST, "GreaterThan": BEFORE, "LessThan": FUTURE, "LessThanEqual": ONWARD}
        return frozenset({points[operator]} if operator in points else ())
    if "arange" in a.notes:
        return _of_length(operator, b)
    if "arange" in b.notes:
        return _of_length(_MIRRORED.get(operator, operator), a)
    return frozenset()


def _of_length(operator: str, length: Value) -> frozenset[str]:
    """`position < length` is kept, `position >= length` is padding; of a start or a difference it would be the other way round."""
    match length:
        case Tensor(content=Leaf(key=key), factors=(), name=name):
            names = [name or "", key.rpartition(".")[2]]
        case Argument(key=key):
            names = [key.rpartition(".")[2]]
        case Scalar(value=value) if len(value.powers) == 1:
            names = [value.powers[0][0].name.rpartition(".")[2]]
        case _:
            names = []
    if not any(LENGTH.search(name) for name in names):
        return frozenset()
    return frozenset({KEPT} if operator == "LessThan" else {PADDING} if operator == "GreaterThanEqual" else ())


def _number(value: Value) -> float | None:
    if isinstance(value, Bool):
        return float(value.value)
    return value.value.coefficient if isinstance(value, Scalar) and value.value.is_number else None


def _keeps(operator: str, number: float) -> bool | None:
    """Whether the comparison of a 0/1 mask with a number is the mask (True), its opposite (False), or neither."""
    zero, one = _holds(operator, 0.0, number), _holds(operator, 1.0, number)
    return None if zero == one else one


def _holds(operator: str, left: float, right: float) -> bool:
    return {
        "Equal": left == right,
        "NotEqual": left != right,
        "LessThan": left < right,
        "GreaterThan": left > right,
        "LessThanEqual": left <= right,
        "GreaterThanEqual": left >= right,
    }.get(operator, False)


def _rows_first(a: Shape, b: Shape) -> bool | None:
    """Whether a counts rows (queries) and b columns (keys), by which of them has a last axis of size 1."""
    if len(b.axes) < 1 or len(a.axes) < 1:
        return None
    a_one, b_one = a.axes[-1].size.is_one, b.axes[-1].size.is_one
    return None if a_one == b_one else a_one
