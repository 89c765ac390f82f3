"""Shapes held against NumPy: a symbolic shape says which labelled axes an array has, and the real operation must agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlint.domain import shapes as sh
from attnlint.domain.algebra import AXIS, CONFIG, ONE, Facts, Monomial, Symbol, add
from attnlint.domain.shapes import Axis, Lead, Shape

pytestmark = pytest.mark.fast

NAMES = ("p", "q", "r", "s", "t")
PRIMES = dict(zip(NAMES, (2, 3, 5, 7, 11), strict=True))


def dim(name: str, kind: str = "parameter") -> Monomial:
    return Monomial.of(Symbol(name, name, kind))


B, T, S, N, H, W = (dim(name, AXIS) for name in ("b", "t", "s", "n", "h", "w"))
HEADS, D, C, HIDDEN = dim("heads"), dim("d"), dim("c"), dim("hidden", CONFIG)
THREE = Monomial.number(3)


def shape(*sizes: Monomial, lead: str | None = None) -> Shape:
    return Shape(tuple(sh.sized(size, f"axis{index}") for index, size in enumerate(sizes)), lead)


def number(size: Monomial) -> int:
    value = size.coefficient * math.prod(PRIMES[symbol.name] ** int(exponent) for symbol, exponent in size.powers)
    return round(value)


def numbers(found: Shape) -> tuple[int, ...]:
    return tuple(number(axis.size) for axis in found.axes)


def labels(found: Shape) -> list[str]:
    """The single labels in the order in which a shape says they are stored."""
    return [name for axis in found.axes for atom in axis.atoms for name in NAMES if any(s.name == name for s in atom.size.symbols)]


def laid_out(order: list[str], sizes: tuple[int, ...]) -> np.ndarray:
    """The array whose labels stand in NAMES' order, with its labels brought into this order."""
    fine = np.arange(math.prod(PRIMES.values())).reshape(tuple(PRIMES.values()))
    return fine.transpose([NAMES.index(name) for name in order]).reshape(sizes)


def grouped(draw: st.DrawFn, names: list[str]) -> list[Monomial]:
    """Neighbouring labels as products."""
    sizes: list[Monomial] = []
    for index, name in enumerate(names):
        if index and draw(st.booleans()):
            sizes[-1] = sizes[-1] * dim(name)
        else:
            sizes.append(dim(name))
    return sizes


@st.composite
def start(draw: st.DrawFn) -> tuple[Shape, np.ndarray]:
    sizes = grouped(draw, list(NAMES))
    found = shape(*sizes)
    return found, laid_out(list(NAMES), numbers(found))


# --- properties against NumPy


@settings(max_examples=60)
@given(start(), st.data())
def test_views_and_permutes_keep_every_label(begin: tuple[Shape, np.ndarray], data: st.DataObject) -> None:
    found, array = begin
    for _ in range(data.draw(st.integers(1, 4))):
        order = data.draw(st.permutations(range(len(found.axes))))
        moved = sh.permute(found, order)
        assert moved is not None
        found, array = moved, array.transpose(order)
        sizes = grouped(data.draw, labels(found))
        one_open = data.draw(st.integers(-1, len(sizes) - 1))
        targets = [None if index == one_open else size for index, size in enumerate(sizes)]
        viewed = sh.reshape(found, targets, Facts())
        assert viewed is not None and viewed.scrambled is None
        array = array.reshape([-1 if target is None else number(target) for target in targets])
        found = viewed.shape
        assert numbers(found) == array.shape
        assert np.array_equal(array, laid_out(labels(found), array.shape))


@settings(max_examples=200)
@given(start(), st.data())
def test_a_scramble_is_one_and_anything_else_is_right_or_made_up(begin: tuple[Shape, np.ndarray], data: st.DataObject) -> None:
    found, array = begin
    names = data.draw(st.permutations(NAMES))
    targets = grouped(data.draw, names)
    viewed = sh.reshape(found, targets, Facts())
    assert viewed is not None
    real = array.reshape([number(target) for target in targets])
    assert numbers(viewed.shape) == real.shape
    if viewed.scrambled is not None:
        assert not np.array_equal(real, laid_out(names, real.shape))
        assert viewed.scrambled.expected != viewed.scrambled.found
    elif not any("view(" in atom.key for axis in viewed.shape.axes for atom in axis.atoms) and not _turned(found, labels(viewed.shape)):
        assert np.array_equal(real, laid_out(labels(viewed.shape), real.shape))


def _turned(source: Shape, order: list[str]) -> bool:
    """Whether an atom p · q is read as q · p: a product does not say which factor is the outer one."""
    owned = [[name for name in order if name in str(axis.size)] for axis in source.axes]
    return any(names != sorted(names) for names in owned)


@given(start(), st.data())
def test_a_view_there_and_back_is_the_same_shape(begin: tuple[Shape, np.ndarray], data: st.DataObject) -> None:
    found, _ = begin
    there = sh.reshape(found, grouped(data.draw, list(NAMES)), Facts())
    assert there is not None
    back = sh.reshape(there.shape, [axis.size for axis in found.axes], Facts())
    assert back is not None and back.shape == found and back.scrambled is None


@given(start(), st.data())
def test_permutes_and_swaps_invert(begin: tuple[Shape, np.ndarray], data: st.DataObject) -> None:
    found, array = begin
    order = data.draw(st.permutations(range(len(found.axes))))
    moved = sh.permute(found, order)
    assert moved is not None and sh.permute(moved, [int(i) for i in np.argsort(order)]) == found
    i, j = (data.draw(st.integers(-len(found.axes), len(found.axes) - 1)) for _ in range(2))
    swapped = sh.swap(found, i, j)
    assert swapped is not None and numbers(swapped) == array.swapaxes(i, j).shape
    assert sh.swap(swapped, i, j) == found


@given(start(), st.data())
def test_axes_come_and_go_as_in_numpy(begin: tuple[Shape, np.ndarray], data: st.DataObject) -> None:
    found, array = begin
    index = data.draw(st.integers(-array.ndim - 1, array.ndim))
    wider = sh.unsqueeze(found, index)
    assert wider is not None and numbers(wider) == np.expand_dims(array, index).shape
    assert sh.squeeze(wider, index) == found
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    assert sh.squeeze(found, axis) == found
    gone = sh.select(found, axis)
    assert gone is not None and numbers(gone) == np.take(array, 0, axis).shape
    for keep in (True, False):
        less = sh.reduce(found, (axis,), keepdims=keep)
        assert less is not None and numbers(less) == array.sum(axis, keepdims=keep).shape


@given(start(), st.data())
def test_parts_and_wholes_are_numpys(begin: tuple[Shape, np.ndarray], data: st.DataObject) -> None:
    found, array = begin
    index = data.draw(st.integers(-array.ndim, array.ndim - 1))
    twice = sh.concat([found, found], index)
    assert twice is not None and numbers(twice) == np.concatenate([array, array], index).shape
    halves = sh.chunk(twice, index, 2)
    assert halves is not None and [numbers(half) for half in halves] == [array.shape, array.shape]
    place = data.draw(st.integers(-array.ndim - 1, array.ndim))
    pile = sh.stack([found, found, found], place)
    assert pile is not None and numbers(pile) == np.stack([array] * 3, place).shape
    assert sh.select(pile, place) == found


@given(st.lists(st.sampled_from([*NAMES, "1"]), max_size=4), st.data())
def test_broadcasts_are_numpys(names: list[str], data: st.DataObject) -> None:
    def ones(kept: list[str]) -> Shape:
        return shape(*(ONE if name == "1" or data.draw(st.booleans()) else dim(name) for name in kept))

    first, second = ones(names), ones(names[data.draw(st.integers(0, len(names))) :])
    assert numbers(sh.broadcast(first, second)) == np.broadcast_shapes(numbers(first), numbers(second))
    assert numbers(sh.broadcast(second, first)) == numbers(sh.broadcast(first, second))


@given(st.lists(st.sampled_from(NAMES), max_size=2), st.booleans(), st.booleans())
def test_matmul_is_numpys(batch: list[str], vector_left: bool, vector_right: bool) -> None:
    left = [dim("q")] if vector_left else [*(dim(name) for name in batch), dim("p"), dim("q")]
    right = [dim("q")] if vector_right else [*(dim(name) for name in batch), dim("q"), dim("r")]
    a, b = shape(*left), shape(*right)
    product = sh.matmul(a, b)
    assert product is not None and product.size == dim("q")
    assert numbers(product.shape) == np.matmul(np.ones(numbers(a)), np.ones(numbers(b))).shape
    assert product.left == (a.axes[-1],) and product.right == (b.axes[-1 if vector_right else -2],)


# --- scrambled heads, and what only looks like them


@pytest.mark.parametrize(
    ("source", "targets", "kind"),
    [
        ((B, T, HEADS * D), [B, HEADS, T, D], "split"),
        ((B, T, HEADS * D), [B, HEADS, None, D], "split"),
        ((B, T, HEADS * D), [B * HEADS, None, D], "split"),
        ((B, T, HIDDEN), [B, HEADS, T, HIDDEN / HEADS], "split"),
        ((B, T, HIDDEN), [B, HEADS, T, D], "split"),
        ((B, T, THREE * HEADS * D), [B, THREE, HEADS, T, D], "split"),
        ((B, T, Monomial.number(512)), [B, Monomial.number(8), T, Monomial.number(64)], "split"),
        ((B, HEADS, T, D), [B, T, HEADS * D], "merge"),
        ((B, HEADS, T, D), [B, T, None], "merge"),
        ((B, HEADS, T, D), [B, None, HEADS * D], "merge"),
        ((B, HEADS, T, HIDDEN / HEADS), [B, T, HIDDEN], "merge"),
    ],
)
def test_scrambled_heads(source: tuple[Monomial, ...], targets: list[Monomial | None], kind: str) -> None:
    viewed = sh.reshape(shape(*source), targets, Facts())
    assert viewed is not None and viewed.scrambled is not None
    assert viewed.scrambled.kind == kind


def test_a_scramble_names_both_layouts() -> None:
    split = sh.reshape(shape(B, T, HEADS * D), [B, HEADS, T, D], Facts())
    merge = sh.reshape(shape(B, HEADS, T, D), [B, T, HEADS * D], Facts())
    assert split is not None and split.scrambled == sh.Scramble("split", "(b, t, heads, d)", "(b, heads, t, d)")
    assert merge is not None and merge.scrambled == sh.Scramble("merge", "(b, t, heads, d)", "(b, heads, t, d)")


@pytest.mark.parametrize(
    ("source", "targets", "result"),
    [
        ((T, B, HEADS * D), [T, B * HEADS, D], "(t, b · heads, d)"),
        ((B, HEADS * D, N), [B, HEADS, D, N], "(b, heads, d, n)"),
        ((B, THREE * HEADS * D, N), [B, THREE, HEADS, D, N], "(b, 3, heads, d, n)"),
        ((B, C, H, W), [B, C, H * W], "(b, c, h · w)"),
        ((B, C, H, W), [B, C, None], "(b, c, h · w)"),
        ((B, HIDDEN, H, W), [B, HEADS, HIDDEN / HEADS, None], "(b, heads, hidden · heads^-1, h · w)"),
        ((B, HEADS, HIDDEN / HEADS, H, W), [B, HIDDEN, None], "(b, hidden, h · w)"),
        ((B, HEADS, T, D), [B * HEADS, T, D], "(b · heads, t, d)"),
        ((B, T, C), [B, H, W, C], "(b, h, w, c)"),
        ((B, H, W, C), [B, H / D, D, W / D, D, C], "(b, h · d^-1, d, w · d^-1, d, c)"),
        ((B, HEADS, T, add(S, ONE)), [B, HEADS, add(S, ONE), T], "(b, heads, (s + 1), t)"),  # relative positions, shifted
        ((B, T, HIDDEN), [B, None, D], "(b, hidden · t · d^-1, d)"),  # -1 may hold heads
    ],
)
def test_not_scrambled(source: tuple[Monomial, ...], targets: list[Monomial | None], result: str) -> None:
    facts = Facts()
    viewed = sh.reshape(shape(*source), targets, facts)
    assert viewed is not None and viewed.scrambled is None
    assert str(viewed.shape) == result
    assert facts.equal(HIDDEN, HIDDEN) and not facts.equal(HIDDEN, D) and not facts.equal(T, HEADS)


@pytest.mark.parametrize("targets", [[B, T, HEADS, D], [B, None, HEADS, D], [B, T, HEADS, None]])
def test_a_view_of_the_features_learns_their_factors(targets: list[Monomial | None]) -> None:
    facts = Facts()
    viewed = sh.reshape(shape(B, T, HIDDEN), targets, facts)
    assert viewed is not None and len(viewed.shape.axes) == 4
    assert facts.equal(viewed.shape.axes[-1].size * HEADS, HIDDEN)
    assert viewed.shape.axes[0] == Axis((sh.Atom(B, "axis0"),))


def test_axes_of_arguments_are_not_learned_to_be_settings() -> None:
    facts = Facts()
    sh.reshape(shape(B, T, HIDDEN), [B, HEADS, T, D], facts)
    assert not facts.equal(T, HEADS) and facts.equal(HIDDEN, HEADS * D)


def test_axes_of_two_arguments_are_matched_by_position_and_not_played_off_against_the_features() -> None:
    facts = Facts()
    viewed = sh.reshape(shape(N, S, HIDDEN), [B, T, HEADS, D], facts)
    assert viewed is not None and [axis.key for axis in viewed.shape.axes[:2]] == ["axis0", "axis1"]
    assert facts.equal(HIDDEN, HEADS * D) and facts.equal(N, B) and facts.equal(S, T)


def test_a_sequence_named_by_a_setting_leaves_the_features_to_be_learned() -> None:
    facts = Facts()
    viewed = sh.reshape(shape(B, T, HIDDEN), [B, dim("length"), HEADS, D], facts)
    assert viewed is not None and viewed.shape.axes[1].key == "axis1"
    assert facts.equal(HIDDEN, HEADS * D) and not facts.equal(T, dim("length"))


def test_an_axis_that_stands_elsewhere_is_not_renamed() -> None:
    facts = Facts()
    sh.reshape(shape(B, T, HIDDEN), [T, None, HEADS, D], facts)
    assert not facts.equal(B, T)


@pytest.mark.parametrize(
    ("last", "targets"),
    [
        (S * S * D, [B, S, S, T, D]),
        (Monomial.number(96), [B, THREE, Monomial.number(8), T, Monomial.number(4)]),
    ],
)
def test_a_scramble_of_sizes_that_are_not_all_different_is_not_reported(last: Monomial, targets: list[Monomial | None]) -> None:
    viewed = sh.reshape(shape(B, T, last), targets, Facts())
    assert viewed is not None and viewed.scrambled is None


def test_an_axis_that_may_be_one_is_squeezed() -> None:
    assert str(sh.squeeze(shape(B, T, D), 1)) == "(b, d)"


def test_sizes_that_cannot_fit_are_refused() -> None:
    assert sh.reshape(shape(B, T, Monomial.number(512)), [B, T, Monomial.number(8), Monomial.number(63)], Facts()) is None
    assert sh.reshape(shape(B, T), [None, None], Facts()) is None


# --- unknown ranks


def test_equal_positions_give_equal_axes() -> None:
    x = sh.unknown("x")
    once, last = sh.axis_of(x, -1) or (x, Axis())
    again, second = sh.axis_of(once, -2) or (x, Axis())
    assert (last.key, second.key) == ("x[-1]", "x[-2]")
    assert again == sh.materialise(x, 2) == sh.materialise(once, 2)
    starts = [sh.axis_of(again, 0), sh.axis_of(x, 0), sh.axis_of(x, 1)]
    assert [axis[1].key for axis in starts if axis is not None] == ["x[0]", "x[0]", "x[1]"]
    first = sh.axis_of(x, 0)
    assert first is not None and str(first[1].size) == "x.shape[0]"
    assert sh.with_rank(once, 3).axes[0] == first[1] and sh.with_rank(once, 3).axes[-1] == last
    rest = sh.select(x, 0)
    assert rest is not None and sh.axis_of(rest, 0) == (rest, sh.with_rank(x, 2).axes[1])
    found = sh.axis_of(rest, -1)
    assert found is not None and found[1] == last


def projected(size: Monomial = HIDDEN, name: str = "x") -> Shape:
    return Shape((sh.sized(size, "projection"),), f"{name}[:-1]")


def test_views_with_the_callers_leading_axes() -> None:
    viewed = sh.reshape(projected(), [Lead("x", 1), None, D], Facts())
    assert viewed is not None and viewed.shape.lead == "x[:-1]" and str(viewed.shape) == "(…, hidden · d^-1, d)"
    back = sh.reshape(viewed.shape, [Lead("x", 1), None], Facts())
    assert back is not None and back.shape == projected()
    ranked = sh.with_rank(viewed.shape, 4)
    swapped = sh.swap(ranked, 1, 2)
    assert swapped is not None
    good, bad = (sh.reshape(found, [Lead("x", 1), None], Facts()) for found in (ranked, swapped))
    assert good is not None and good.shape.axes[-1].key == "projection"
    assert bad is not None and bad.scrambled is not None and bad.scrambled.kind == "merge"
    whole = sh.reshape(sh.with_rank(sh.unknown("x"), 3), [Lead("x", 1), HEADS, None], Facts())
    assert whole is not None and [axis.key for axis in whole.shape.axes[:2]] == ["x[0]", "x[1]"] and len(whole.shape.axes) == 4


def test_views_of_an_unknown_rank_match_from_the_right() -> None:
    facts = Facts()
    batch = sh.axis_of(sh.unknown("x"), 0)
    assert batch is not None
    viewed = sh.reshape(projected(), [batch[1].size, None, HEADS, D], facts)
    assert viewed is not None and viewed.scrambled is None
    assert str(viewed.shape) == "(x.shape[0], x.shape[1], heads, d)" and facts.equal(HIDDEN, HEADS * D)
    for source, targets in ((projected(HEADS * D), [HEADS, None, D]), (projected(HEADS * D, "y"), [HEADS, None, D])):
        scrambled = sh.reshape(source, [batch[1].size, *targets], Facts())
        assert scrambled is not None and scrambled.scrambled is not None


def test_an_ambiguous_view_of_an_unknown_rank_learns_nothing() -> None:
    facts = Facts()
    sh.reshape(projected(), [B, HEADS, None, D], facts)
    assert not facts.equal(HIDDEN, D) and not facts.equal(HIDDEN, HEADS * D)


def test_operations_on_unknown_ranks() -> None:
    x, y = sh.unknown("x"), sh.unknown("y")
    turned = sh.swap(y, -2, -1)
    assert turned is not None and sh.swap(x, 1, 2) is None
    product = sh.matmul(x, turned)
    assert product is not None and product.shape.lead == "x[:-2]"
    assert [axis.key for axis in (*product.shape.axes, *product.left, *product.right)] == ["x[-2]", "y[-2]", "x[-1]", "y[-1]"]
    known = shape(B, HEADS, T, S)
    assert sh.broadcast(known, sh.unknown("mask")).rank == 4 == sh.broadcast(sh.unknown("mask"), known).rank
    assert sh.broadcast(product.shape, shape(T, S)).lead == "x[:-2]"
    assert sh.permute(x, (0, 2, 1, 3)) == sh.swap(sh.with_rank(x, 4), 1, 2)


# --- pieces


def test_queries_keys_and_values_cut_from_one_projection_keep_their_heads() -> None:
    for cut in (sh.chunk(shape(B, T, THREE * HIDDEN), -1, 3), sh.split(shape(B, T, THREE * HIDDEN), -1, [HIDDEN] * 3)):
        assert cut is not None and [part.axes[-1].size for part in cut] == [HIDDEN] * 3
        assert len({part.axes[-1].key for part in cut}) == 3
    parts = sh.split(shape(B, T, HIDDEN), -1, [D, HEADS])
    assert parts is not None and [str(part) for part in parts] == ["(b, t, d)", "(b, t, heads)"]


def test_rotated_halves_are_the_axis_again() -> None:
    whole = shape(B, T, D)
    halves = sh.chunk(whole, -1, 2)
    assert halves is not None
    assert sh.concat([halves[1], halves[0]], -1) == whole


def test_expand_and_repeat() -> None:
    assert str(sh.expand(shape(B, ONE, D), [B, HEADS, None])) == "(b, heads, d)"
    assert str(sh.expand(shape(ONE, D), [B, T, D])) == "(b, t, d)"
    repeated = sh.repeat(shape(B, HEADS, T, D), 1, C)
    assert repeated is not None and str(repeated) == "(b, c · heads, t, d)"


def test_sums_over_an_elementwise_product() -> None:
    found = sh.dot_last(shape(B, T, ONE, D), shape(B, ONE, S, D), -1)
    assert found is not None and str(found.shape) == "(b, t, s)" and found.size == D
    found = sh.tensordot(shape(B, T, D), shape(S, D), ([2], [1]))
    assert found is not None and str(found.shape) == "(b, t, s)" and found.size == D
    found = sh.tensordot(shape(B, T, D), shape(D, S), 1)
    assert found is not None and str(found.shape) == "(b, t, s)" and found.size == D


@given(
    st.lists(st.sampled_from([ONE, B, T, HIDDEN, D, THREE, Monomial.number(0), Monomial.number(-1)]), max_size=4),
    st.lists(st.sampled_from([None, ONE, B, T, HEADS, D, HIDDEN / HEADS, Monomial.number(-1), Monomial.number(0)]), max_size=5),
    st.sampled_from([None, "x", "x[:-1]", "x[1:]"]),
    st.lists(st.integers(-9, 9), max_size=5),
)
def test_odd_input_is_never_an_error(sizes: list[Monomial], targets: list[Monomial | None], lead: str | None, indices: list[int]) -> None:
    found = shape(*sizes, lead=lead)
    sh.reshape(found, targets, Facts())
    sh.reshape(found, [Lead("x", 1), *targets], Facts())
    sh.permute(found, indices)
    sh.reduce(found, indices)
    sh.expand(found, targets)
    sh.matmul(found, sh.unknown("y"))
    sh.matmul(sh.unknown("y"), found)
    sh.tensordot(found, found, (indices, indices))
    sh.concat([found, sh.unknown("y"), shape(B, T)], 0)
    for index in indices:
        for operation in (sh.axis_of, sh.with_rank, sh.materialise, sh.unsqueeze, sh.squeeze, sh.select):
            operation(found, index)
        sh.swap(found, index, -1)
        sh.split(found, index, sizes)
        sh.chunk(found, index, index)
        sh.concat([found, found], index)
        sh.stack([found, found], index)
        sh.dot_last(found, sh.unknown("y"), index)
        sh.tensordot(found, found, index)
        sh.repeat(found, index, D)
