"""The algebra held against plain numbers: every operation on monomials is the operation on the values they stand for."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlint.domain.algebra import AXIS, CONFIG, ONE, OPAQUE, SUM, Facts, Monomial, Symbol, add, format_monomial, format_number, subtract

pytestmark = pytest.mark.fast

NAMES = ("a", "b", "c", "d")
VALUES = {"a": 2.0, "b": 3.0, "c": 5.0, "d": 7.0}


def size(name: str, kind: str = "parameter") -> Monomial:
    return Monomial.of(Symbol(name, name, kind))


def evaluate(value: Monomial, values: dict[str, float] = VALUES) -> float:
    total = value.coefficient
    for symbol, exponent in value.powers:
        base = sum(evaluate(term, values) for term in symbol.terms) if symbol.kind == SUM else values[symbol.key]
        total *= base ** float(exponent)
    return total


exponents = st.sampled_from([Fraction(-1), Fraction(1), Fraction(2), Fraction(1, 2), Fraction(-1, 2)])
coefficients = st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0, 8.0, 64.0])


@st.composite
def monomials(draw: st.DrawFn) -> Monomial:
    value = Monomial.number(draw(coefficients))
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=3)):
        value = value * size(name).power(draw(exponents))
    return value


@st.composite
def signed_sums(draw: st.DrawFn) -> Monomial:
    return add(*(term * Monomial.number(draw(st.sampled_from([1, -1]))) for term in draw(st.lists(monomials(), min_size=1, max_size=3))))


@given(monomials(), monomials())
def test_products_and_quotients_are_those_of_numbers(x: Monomial, y: Monomial) -> None:
    assert evaluate(x * y) == pytest.approx(evaluate(x) * evaluate(y))
    assert evaluate(x / y) == pytest.approx(evaluate(x) / evaluate(y))
    assert (x * y).equals(y * x) and (x * y / y).equals(x)
    assert evaluate(x.root()) == pytest.approx(math.sqrt(evaluate(x)))


@given(signed_sums(), signed_sums(), signed_sums())
def test_sums_are_those_of_numbers_however_they_are_grouped(x: Monomial, y: Monomial, z: Monomial) -> None:
    assert evaluate(add(x, y)) == pytest.approx(evaluate(x) + evaluate(y), abs=1e-9)
    assert add(x, y).equals(add(y, x))
    assert add(add(x, y), z).equals(add(x, add(y, z)))
    assert subtract(add(x, y), y).equals(x)


@given(st.lists(monomials(), min_size=1, max_size=4), coefficients)
def test_a_factor_may_be_pulled_out_of_a_sum(terms: list[Monomial], factor: float) -> None:
    number = Monomial.number(factor)
    assert add(*(term * number for term in terms)).equals(add(*terms) * number)


@given(monomials(), monomials())
def test_a_part_divides_its_multiples_only(x: Monomial, y: Monomial) -> None:
    whole = all(exponent > 0 and exponent.denominator == 1 for _, exponent in y.powers) and y.coefficient >= 1
    assert x.divides(x * y) == (whole and y.coefficient == int(y.coefficient))


def test_zero_loses_its_symbols() -> None:
    assert (Monomial.number(0) * size("a")).equals(Monomial.number(0))
    assert subtract(size("a"), size("a")).equals(Monomial.number(0))
    assert add(Monomial.number(0.1), Monomial.number(0.2), Monomial.number(-0.3)).equals(Monomial.number(0))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e200, 1e-200, 10**400, 0, -0.5])
def test_odd_numbers_are_no_errors(value: float) -> None:
    number = Monomial.number(value)
    add(number, size("a"))
    number.divides(number * size("a"))
    number.root()
    ONE.divides(number)
    assert isinstance(format_monomial(number), str)
    assert not Monomial.number(math.nan).equals(Monomial.number(math.nan))


def test_an_infinite_value_equals_no_finite_one() -> None:
    assert not Monomial.number(math.inf).equals(Monomial.number(2))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.125, "1/8"), (8.0, "8"), (2**-0.5, "2^-1/2"), (2**0.5, "2^1/2"), (1e-200, "1e-200"), (1e200, "1e+200"), (math.nan, "undefined")],
)
def test_numbers_print_exactly_where_they_are_exact(value: float, text: str) -> None:
    assert format_number(value) == text


def test_monomials_print_as_they_are_written() -> None:
    assert str(Monomial.number(8) * size("head_dim").power(Fraction(-1, 2))) == "8 · head_dim^-1/2"
    assert str(add(size("nope"), size("rope"))) == "(nope + rope)"
    assert str(subtract(size("nope"), size("rope"))) == "(nope - rope)"


# --- facts


def test_a_learned_product_makes_its_quotients_equal() -> None:
    facts = Facts()
    heads, head_dim, hidden = size("heads"), size("head_dim"), size("hidden")
    assert facts.learn(heads * head_dim, hidden)
    assert facts.equal(hidden / heads, head_dim)
    assert facts.equal(add(hidden, ONE), add(heads * head_dim, ONE))
    assert heads.divides(facts.normalise(hidden)) and head_dim.divides(facts.normalise(hidden))
    assert not facts.equal(heads, head_dim)


def test_the_symbol_that_says_least_is_replaced() -> None:
    for kind in (AXIS, OPAQUE, CONFIG):
        facts = Facts()
        assert facts.learn(size("a"), size("z", kind))
        assert facts.normalise(size("z", kind)) == size("a")


def test_a_contradiction_is_not_learned() -> None:
    facts = Facts()
    assert not facts.learn(Monomial.number(8), Monomial.number(9))
    assert not facts.learn(size("a"), Monomial.number(-1))
    assert facts.learn(size("a"), Monomial.number(8))
    assert not facts.learn(size("a"), Monomial.number(9))


@given(st.lists(st.tuples(monomials(), monomials()), max_size=5), monomials())
def test_what_is_learned_holds_and_normal_forms_are_final(pairs: list[tuple[Monomial, Monomial]], probe: Monomial) -> None:
    facts = Facts()
    learned = [(x, y) for x, y in pairs if facts.learn(x, y)]
    assert all(facts.equal(x, y) for x, y in learned)
    assert facts.normalise(facts.normalise(probe)).equals(facts.normalise(probe))
    assert facts.copy().equal(probe, facts.normalise(probe))


def test_a_copy_learns_alone() -> None:
    facts = Facts()
    facts.copy().learn(size("a"), size("b"))
    assert not facts.equal(size("a"), size("b"))


def test_a_product_of_sums_is_multiplied_out() -> None:
    a, b, c, d = (size(name) for name in NAMES)
    assert add(add(a, b) * add(c, d), ONE).equals(add(a * c, a * d, b * c, b * d, ONE))


def test_a_symbol_is_not_defined_by_itself() -> None:
    facts = Facts()
    assert not facts.learn(size("a"), add(size("a"), size("b")))
    assert facts.normalise(size("a")) == size("a")
