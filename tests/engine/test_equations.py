"""Patterns held against NumPy's einsum and einops on small arrays whose sizes are all different."""

from __future__ import annotations

import einops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlint.domain import equations
from attnlint.domain import shapes as sh
from attnlint.domain.algebra import AXIS, ONE, Facts, Monomial, Symbol
from attnlint.domain.shapes import Contraction, Shape

pytestmark = pytest.mark.fast

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 6}


def dim(name: str, kind: str = "parameter") -> Monomial:
    return Monomial.of(Symbol(name, name, kind))


B, N = dim("b", AXIS), dim("n", AXIS)
HEADS, D = dim("h"), dim("d")


def shape(*sizes: Monomial, lead: str | None = None) -> Shape:
    return Shape(tuple(sh.sized(size, str(size)) for size in sizes), lead)


def of(letters: str | list[str]) -> Shape:
    return shape(*(dim(letter) for letter in letters))


def array(letters: str | list[str]) -> np.ndarray:
    return np.arange(float(np.prod([SIZES[letter] for letter in letters]))).reshape([SIZES[letter] for letter in letters])


def numbers(found: Shape) -> tuple[int, ...]:
    return tuple(int(np.prod([SIZES[symbol.name] for symbol in axis.size.symbols])) for axis in found.axes)


letters = st.lists(st.sampled_from(sorted(SIZES)), min_size=1, max_size=4, unique=True)


@given(letters, letters, st.data(), st.booleans())
def test_a_product_of_two_is_numpys(left: list[str], right: list[str], data: st.DataObject, spaced: bool) -> None:
    both = sorted({*left, *right})
    output = data.draw(st.lists(st.sampled_from(both), unique=True))
    separator = " " if spaced else ""
    equation = f"{separator.join(left)},{separator}{separator.join(right)}{separator}->{separator}{separator.join(output)}"
    found = equations.einsum(equation, [of(left), of(right)], Facts())
    assert isinstance(found, Contraction)
    assert numbers(found.shape) == np.einsum(equation, array(left), array(right)).shape
    summed = [letter for letter in left if letter in right and letter not in output]
    assert found.size == sh.product(dim(letter) for letter in summed)
    assert [axis.key for axis in found.left] == [axis.key for axis in found.right] == summed
    roles = equations.einsum_roles(equation)
    assert roles is not None and roles.contracted == tuple(summed)
    assert {*roles.contracted, *roles.batch, *roles.left, *roles.right} == set(both)


@given(letters, st.data())
def test_one_operand_gives_a_shape(names: list[str], data: st.DataObject) -> None:
    output = data.draw(st.lists(st.sampled_from(names), unique=True))
    equation = f"{''.join(names)}->{''.join(output)}"
    found = equations.einsum(equation, [of(names)], Facts())
    assert isinstance(found, Shape) and numbers(found) == np.einsum(equation, array(names)).shape


@pytest.mark.parametrize("equation", ["abd,abe", "...ad,...ed->...ae", "... a d, ... e d", "Abd,AbE->AdE".lower()])
def test_implicit_outputs_and_ellipses_are_numpys(equation: str) -> None:
    left, right = (term.replace("...", "bc").replace(" ", "") for term in equation.split("->", maxsplit=1)[0].split(","))
    found = equations.einsum(equation, [of(left), of(right)], Facts())
    assert isinstance(found, Contraction)
    assert numbers(found.shape) == np.einsum(equation, array(left), array(right)).shape


def test_upper_and_lower_case_are_two_letters() -> None:
    found = equations.einsum("bd,bD->dD", [shape(B, D), shape(B, HEADS)], Facts())
    assert isinstance(found, Contraction) and str(found.shape) == "(d, h)" and found.size == B


def test_an_outer_product_sums_over_nothing() -> None:
    found = equations.einsum("a,b->ab", [of("a"), of("b")], Facts())
    assert isinstance(found, Contraction) and (found.size, found.left, found.right) == (ONE, (), ())


def test_a_letter_takes_the_size_that_says_more() -> None:
    facts = Facts()
    found = equations.einsum("bqd,bkd->bqk", [sh.unknown("q"), shape(B, N, D)], facts)
    assert isinstance(found, Contraction) and found.size == D
    assert str(found.shape.axes[1].size) == "q.shape[1]"
    assert facts.equal(found.left[0].size, D)


def test_unknown_leading_axes_stay_under_an_ellipsis() -> None:
    found = equations.einsum("...id,...jd->...ij", [sh.unknown("q"), sh.unknown("k")], Facts())
    assert isinstance(found, Contraction) and found.shape.lead == "q[:-2]"
    assert [axis.key for axis in found.shape.axes] == ["q[-2]", "k[-2]"]


@pytest.mark.parametrize(
    ("equation", "operands"), [("ab,bc,cd->ad", 3), ("ab->abz", 1), ("ab->aa", 1), ("a b", 1), ("ab,bc->ac", 1), ("a.b->a", 1), ("", 2)]
)
def test_what_does_not_fit_is_none(equation: str, operands: int) -> None:
    assert equations.einsum(equation, [of("abc")] * operands, Facts()) is None


# --- einops


def labelled(names: list[str]) -> np.ndarray:
    return array(names)


@settings(max_examples=60)
@given(st.permutations(["a", "b", "c", "d"]), st.permutations(["a", "b", "c", "d"]), st.data())
def test_a_rearrangement_is_einops(left: list[str], right: list[str], data: st.DataObject) -> None:
    def side(names: list[str]) -> str:
        start = data.draw(st.integers(0, 2))
        return f"{' '.join(names[:start])} ({' '.join(names[start : start + 2])}) {' '.join(names[start + 2 :])}"

    pattern = f"{side(left)} -> {side(right)}"
    source = [group.strip("()").split() for group in _groups(pattern.split("->", maxsplit=1)[0])]
    tensor = Shape(tuple(sh.sized(sh.product(dim(name) for name in group), "·".join(group)) for group in source))
    given_sizes = {name: SIZES[name] for group in source if len(group) > 1 for name in group[:1]}
    found = equations.rearrange(pattern, tensor, {name: dim(name) for name in given_sizes}, Facts())
    real = einops.rearrange(labelled(left).reshape(numbers(tensor)), pattern, **given_sizes)
    assert found is not None and numbers(found) == real.shape
    order = [symbol for axis in found.axes for atom in axis.atoms for symbol in (s.name for s in atom.size.symbols)]
    if len(order) == len([atom for axis in found.axes for atom in axis.atoms]):
        expected = labelled(left).transpose([left.index(name) for name in order]).reshape(real.shape)
        assert np.array_equal(real, expected)


def _groups(text: str) -> list[str]:
    found: list[str] = []
    inside = False
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word in "()":
            inside = word == "("
            if inside:
                found.append("")
        elif inside:
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def test_heads_out_and_in_again_keep_the_axis() -> None:
    facts = Facts()
    out = equations.rearrange("b n (h d) -> b h n d", shape(B, N, HEADS * D), {"h": HEADS}, facts)
    assert out is not None and str(out) == "(b, h, n, d)"
    assert equations.rearrange("b h n d -> b n (h d)", out, {}, facts) == shape(B, N, HEADS * D)


def test_unpacked_queries_keys_and_values() -> None:
    three = Monomial.number(3)
    found = equations.rearrange("b n (three h d) -> three b h n d", shape(B, N, three * HEADS * D), {"three": three, "h": HEADS}, Facts())
    assert found is not None and str(found) == "(3, b, h, n, d)"


@pytest.mark.parametrize(
    ("pattern", "result"),
    [
        ("b n d -> b 1 n d", "(b, 1, n, d)"),
        ("b n d -> b () n d", "(b, 1, n, d)"),
        ("b ... -> b ...", "(b, n, d)"),
        ("... d -> (...) d", "(b · n, d)"),
        ("b n d -> (b n) d", "(b · n, d)"),
    ],
)
def test_ones_and_ellipses(pattern: str, result: str) -> None:
    assert str(equations.rearrange(pattern, shape(B, N, D), {}, Facts())) == result


def test_a_composite_of_an_unknown_tensor() -> None:
    found = equations.rearrange("b n (h d) -> b h n d", sh.unknown("x"), {"h": HEADS}, Facts())
    assert found is not None
    assert [str(axis.size) for axis in found.axes] == ["x.shape[0]", "h", "x.shape[1]", "x.shape[2] · h^-1"]
    found = equations.rearrange("... n (h d) -> ... h n d", sh.unknown("x"), {"h": HEADS}, Facts())
    assert found is not None and found.lead == "x[:-2]"


def test_a_composite_with_two_unknown_words() -> None:
    found = equations.rearrange("b (h w) -> b h w", shape(B, N), {}, Facts())
    assert found is not None and str(found.axes[1].size) == "h" and found.axes[1].size * found.axes[2].size == N


def test_reductions_and_repeats() -> None:
    assert str(equations.einops_reduce("b n d -> b d", shape(B, N, D), {}, Facts())) == "(b, d)"
    assert str(equations.einops_reduce("b n d -> b () d", shape(B, N, D), {}, Facts())) == "(b, 1, d)"
    assert str(equations.einops_repeat("b n d -> b h n d", shape(B, N, D), {"h": HEADS}, Facts())) == "(b, h, n, d)"
    assert str(equations.einops_repeat("n d -> (h n) d", shape(N, D), {"h": HEADS}, Facts())) == "(h · n, d)"
    assert str(equations.einops_repeat("1 d -> 2 d", shape(ONE, D), {}, Facts())) == "(2, d)"


def test_einops_einsum() -> None:
    query, key = shape(B, HEADS, N, D), shape(B, HEADS, dim("s", AXIS), D)
    found = equations.einops_einsum("batch h i d, batch h j d -> batch h i j", [query, key], Facts())
    assert found is not None and str(found.shape) == "(b, h, n, s)" and found.size == D
    found = equations.einops_einsum("... i d, ... j d -> ... i j", [query, key], Facts())
    assert found is not None and str(found.shape) == "(b, h, n, s)" and found.size == D


@given(
    st.text(alphabet="abh d().,->1", max_size=16),
    st.lists(st.sampled_from([of("ab"), of(""), sh.unknown("x"), shape(B, HEADS * D, lead="y[:-2]")]), max_size=3),
)
def test_odd_patterns_are_never_errors(pattern: str, shapes: list[Shape]) -> None:
    equations.einsum(pattern, shapes, Facts())
    equations.einsum_roles(pattern)
    equations.einops_einsum(pattern, shapes, Facts())
    for tensor in shapes:
        for operation in (equations.rearrange, equations.einops_reduce, equations.einops_repeat):
            operation(pattern, tensor, {"h": HEADS}, Facts())


def test_a_composite_that_was_merged_falls_into_its_parts() -> None:
    merged = equations.rearrange("b h d -> b (h d)", shape(N, HEADS, D), {}, Facts())
    assert merged is not None
    found = equations.rearrange("b (x y) -> b x y", merged, {}, Facts())
    assert found == shape(N, HEADS, D)
