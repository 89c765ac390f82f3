"""Products and rearrangements written as patterns: einsum's letters, and einops' words, composites and ellipsis."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from attnlint.domain.algebra import Facts, Monomial
from attnlint.domain.axes import UNIT, Axis, Shape, better, join, materialise, opaque_size, product, sized, vague, with_rank
from attnlint.domain.shapes import Contraction, broadcast
from attnlint.domain.views import reshape

ELLIPSIS = "..."
_TOKEN = re.compile(r"\.\.\.|…|[A-Za-z_]\w*|\d+|[()]")


@dataclass(frozen=True)
class Equation:
    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


@dataclass(frozen=True)
class Roles:
    """The labels of a product of two, by what becomes of them (in the order in which they stand)."""

    contracted: tuple[str, ...]
    batch: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]


# --- einsum


def einsum(equation: str, shapes: Sequence[Shape], facts: Facts) -> Contraction | Shape | None:
    """One operand gives its new shape, two their product; more, or a pattern that does not fit, give None."""
    parsed = _parse_einsum(equation)
    return None if parsed is None else _evaluate(parsed, shapes, facts)


def einsum_roles(equation: str) -> Roles | None:
    """Which letters are summed over, kept from both sides, or from one; None unless there are two operands."""
    parsed = _parse_einsum(equation)
    if parsed is None or len(parsed.inputs) != 2:
        return None
    left, right = parsed.inputs
    both = [label for label in left if label in right]
    return Roles(
        tuple(label for label in both if label not in parsed.output),
        tuple(label for label in both if label in parsed.output),
        tuple(label for label in left if label not in right),
        tuple(label for label in right if label not in left),
    )


def _parse_einsum(equation: str) -> Equation | None:
    text = "".join(equation.split())
    before, arrow, after = text.partition("->")
    inputs = [_letters(term) for term in before.split(",")]
    known = [term for term in inputs if term is not None]
    if len(known) < len(inputs):
        return None
    output = _letters(after) if arrow else _implicit(known)
    return None if output is None else _checked(known, output)


def _letters(term: str) -> tuple[str, ...] | None:
    labels = tuple(re.findall(r"\.\.\.|[A-Za-z]", term))
    return labels if "".join(labels) == term and labels.count(ELLIPSIS) <= 1 else None


def _implicit(inputs: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Without an arrow the labels that stand once are kept, in the alphabet's order, after an ellipsis."""
    labels = [label for term in inputs for label in term]
    once = sorted(label for label in set(labels) if label != ELLIPSIS and labels.count(label) == 1)
    return (*([ELLIPSIS] if ELLIPSIS in labels else []), *once)


def _checked(inputs: Sequence[tuple[str, ...]], output: tuple[str, ...]) -> Equation | None:
    known = {label for term in inputs for label in term}
    if len(set(output)) < len(output) or not set(output) <= known:
        return None
    return Equation(tuple(inputs), output)


def _evaluate(equation: Equation, shapes: Sequence[Shape], facts: Facts) -> Contraction | Shape | None:
    if len(shapes) != len(equation.inputs) or not 1 <= len(shapes) <= 2:
        return None
    bound = [_bind(labels, shape) for labels, shape in zip(equation.inputs, shapes, strict=True)]
    operands = [operand for operand in bound if operand is not None]
    if len(operands) < len(bound):
        return None
    axes: dict[str, Axis] = {}
    rest = Shape()
    for position, operand in enumerate(operands):
        rest = operand.rest if not position else broadcast(rest, operand.rest)
        for label, axis in operand.axes.items():
            if label in axes:
                _learn(axes[label].size, axis.size, facts)
                axes[label] = better(axes[label], axis)
            else:
                axes[label] = axis
    shape = _lay_out(equation.output, axes, rest)
    if shape is None or len(operands) == 1:
        return shape
    left, right = operands
    summed = [label for label in left.axes if label in right.axes and label not in equation.output]
    size = product(axes[label].size for label in summed)
    return Contraction(shape, size, tuple(left.axes[label] for label in summed), tuple(right.axes[label] for label in summed))


def _learn(a: Monomial, b: Monomial, facts: Facts) -> None:
    if not a.is_one and not b.is_one and (vague(a) or vague(b)):
        facts.learn(a, b)


@dataclass
class _Operand:
    axes: dict[str, Axis] = field(default_factory=dict)
    rest: Shape = field(default_factory=Shape)  # what the ellipsis stands for


def _bind(labels: Sequence[str], shape: Shape) -> _Operand | None:
    """Give every label its axis, the ellipsis what is left."""
    named = len(labels) - labels.count(ELLIPSIS)
    if ELLIPSIS not in labels:
        shape = with_rank(shape, named)
        if shape.lead is not None or len(shape.axes) != named:
            return None
        return _Operand(_named(labels, shape.axes))
    before = labels.index(ELLIPSIS)
    after = named - before
    if shape.lead is not None:
        if before:
            return None
        shape = materialise(shape, after)
    if len(shape.axes) < named:
        return None
    end = len(shape.axes) - after
    ends = (*shape.axes[:before], *shape.axes[end:])
    return _Operand(_named([label for label in labels if label != ELLIPSIS], ends), Shape(shape.axes[before:end], shape.lead))


def _named(labels: Sequence[str], axes: Sequence[Axis]) -> dict[str, Axis]:
    named: dict[str, Axis] = {}
    for label, axis in zip(labels, axes, strict=True):
        named[label] = better(named[label], axis) if label in named else axis
    return named


def _lay_out(output: Sequence[str], axes: Mapping[str, Axis], rest: Shape) -> Shape | None:
    laid: list[Axis] = []
    lead: str | None = None
    for label in output:
        if label != ELLIPSIS:
            laid.append(axes[label])
            continue
        if rest.lead is not None and laid:
            return None  # unknown axes can only come first
        laid.extend(rest.axes)
        lead = rest.lead
    return Shape(tuple(laid), lead)


# --- einops: patterns

_Group = tuple[str, ...]  # the words of one axis; more than one, or none, is a composite
_UNIT_WORD = "1"  # in a composite: tells `(...)`, one axis, from `...`


@dataclass(frozen=True)
class _Side:
    groups: tuple[_Group, ...]

    @property
    def words(self) -> list[str]:
        return [word for group in self.groups for word in group if word != _UNIT_WORD]


def _parse_side(text: str) -> _Side | None:
    groups: list[_Group] = []
    current: list[str] | None = None
    if re.sub(r"\s+", "", _TOKEN.sub("", text)):
        return None
    for token in _TOKEN.findall(text):
        if token == "(":
            if current is not None:
                return None
            current = []
        elif token == ")":
            if current is None:
                return None
            groups.append((ELLIPSIS, _UNIT_WORD) if current == [ELLIPSIS] else tuple(current))
            current = None
        else:
            word = ELLIPSIS if token == "…" else token
            if current is not None:
                if word != "1":
                    current.append(word)
            else:
                groups.append(() if word == "1" else (word,))
    side = _Side(tuple(groups))
    names = [word for word in side.words if not word.isdigit()]
    return side if current is None and len(set(names)) == len(names) else None


def _parse_pattern(pattern: str) -> tuple[_Side, _Side] | None:
    before, arrow, after = pattern.partition("->")
    left, right = _parse_side(before), _parse_side(after)
    return (left, right) if arrow and left is not None and right is not None else None


# --- einops: operations


def rearrange(pattern: str, shape: Shape, sizes: Mapping[str, Monomial], facts: Facts) -> Shape | None:
    """einops.rearrange: the same words on both sides."""
    parsed = _parse_pattern(pattern)
    if parsed is None or set(parsed[0].words) != set(parsed[1].words) or any(word.isdigit() for word in parsed[1].words):
        return None
    return _apply(*parsed, shape, sizes, facts)


def einops_reduce(pattern: str, shape: Shape, sizes: Mapping[str, Monomial], facts: Facts) -> Shape | None:
    """einops.reduce: words that are missing on the right are reduced."""
    parsed = _parse_pattern(pattern)
    if parsed is None or not set(parsed[1].words) <= set(parsed[0].words):
        return None
    return _apply(*parsed, shape, sizes, facts)


def einops_repeat(pattern: str, shape: Shape, sizes: Mapping[str, Monomial], facts: Facts) -> Shape | None:
    """einops.repeat: words that are new on the right are copies, their sizes given."""
    parsed = _parse_pattern(pattern)
    if parsed is None or not set(parsed[0].words) <= set(parsed[1].words):
        return None
    return _apply(*parsed, shape, sizes, facts)


def einops_einsum(pattern: str, shapes: Sequence[Shape], facts: Facts) -> Contraction | None:
    """einops.einsum: words as labels, two operands."""
    before, arrow, after = pattern.partition("->")
    sides = [_parse_side(term) for term in [*before.split(","), after]]
    terms: list[tuple[str, ...]] = []
    for side in sides:
        if side is None or any(len(group) != 1 for group in side.groups):
            return None
        terms.append(tuple(side.words))
    equation = _checked(terms[:-1], terms[-1]) if arrow else None
    found = equation and _evaluate(equation, shapes, facts)
    return found if isinstance(found, Contraction) else None


def _apply(left: _Side, right: _Side, shape: Shape, sizes: Mapping[str, Monomial], facts: Facts) -> Shape | None:
    taken = _take_apart(left, shape, sizes, facts)
    if taken is None:
        return None
    named, rest = taken
    named[_UNIT_WORD] = UNIT
    for word in right.words:
        if word.isdigit():
            named[word] = sized(Monomial.number(int(word)), f"repeat:{word}")
        elif word not in named and word != ELLIPSIS:
            size = sizes.get(word)
            named[word] = sized(opaque_size(f"repeat:{word}", word) if size is None else size, f"repeat:{word}")
    axes: list[Axis] = []
    lead: str | None = None
    for group in right.groups:
        if group == (ELLIPSIS,):
            if rest.lead is not None and axes:
                return None
            axes.extend(rest.axes)
            lead = rest.lead
        elif ELLIPSIS in group and rest.lead is not None:
            axes.append(_merged_lead(group, named, rest))
        else:
            parts = [axis for word in group for axis in (rest.axes if word == ELLIPSIS else (named[word],))]
            axes.append(join(atom for axis in parts for atom in axis.atoms))
    return Shape(tuple(axes), lead)


def _merged_lead(group: _Group, named: Mapping[str, Axis], rest: Shape) -> Axis:
    """A composite that holds an unknown number of axes."""
    key = f"merged({rest.lead})"
    whole = sized(opaque_size(key, f"{rest.lead}.rest"), key)
    parts = [axis for word in group for axis in ((whole, *rest.axes) if word == ELLIPSIS else (named[word],))]
    return Axis(tuple(atom for axis in parts for atom in axis.atoms))


def _take_apart(left: _Side, shape: Shape, sizes: Mapping[str, Monomial], facts: Facts) -> tuple[dict[str, Axis], Shape] | None:
    """The axis of every word, and what an ellipsis stands for."""
    if any(ELLIPSIS in group and group != (ELLIPSIS,) for group in left.groups) or any(word.isdigit() for word in left.words):
        return None
    labels = [ELLIPSIS if group == (ELLIPSIS,) else str(position) for position, group in enumerate(left.groups)]
    operand = _bind(labels, shape)
    if operand is None:
        return None
    named: dict[str, Axis] = {}
    for position, group in enumerate(left.groups):
        if group == (ELLIPSIS,):
            continue
        axis = operand.axes[str(position)]
        if len(group) == 1:
            named[group[0]] = _given(axis, sizes.get(group[0]), facts)
            continue
        parts = _factors(axis, group, sizes, facts)
        if parts is None:
            return None
        named.update(zip(group, parts, strict=True))
    return named, operand.rest


def _given(axis: Axis, size: Monomial | None, facts: Facts) -> Axis:
    if size is not None:
        _learn(axis.size, size, facts)
        return better(axis, sized(size, axis.key))
    return axis


def _factors(axis: Axis, group: _Group, sizes: Mapping[str, Monomial], facts: Facts) -> tuple[Axis, ...] | None:
    """Cut an axis into a composite's words. One unknown factor is the quotient; of several, all but the last are opaque."""
    if not group:
        return ()
    targets: list[Monomial | None] = [sizes.get(word) for word in group]
    open_words = [position for position, size in enumerate(targets) if size is None]
    if len(open_words) > 1 and len(axis.atoms) == len(group):
        return tuple(Axis((atom,)) for atom in axis.atoms)
    for position in open_words[:-1]:
        targets[position] = opaque_size(f"{axis.key}:{group[position]}", group[position])
    found = reshape(Shape((axis,)), targets, facts)
    return None if found is None else found.shape.axes
