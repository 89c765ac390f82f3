"""The symbolic algebra: monomials over dimension symbols, opaque sums, and facts that unify symbols.

A monomial is `c · ∏ sᵢ^eᵢ` with a number `c`, symbols `sᵢ` and rational exponents `eᵢ`; sizes of axes, scale factors and
ratios are all monomials. A sum of different monomials (`nope_dim + rope_dim`) is one opaque symbol compared by structure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

# How much a symbol is known to be independent of others. Two different PARAMETER or CONFIG symbols can differ, since a user sets them;
# an AXIS of an argument or an OPAQUE value may well equal any other symbol, so an inequality with one proves nothing.
PARAMETER = "parameter"  # an argument of a constructor or function
CONFIG = "config"  # an attribute of a configuration object
AXIS = "axis"  # the size of one axis of a tensor that was handed in
OPAQUE = "opaque"  # a value the interpreter could not follow
LEARNED = "learned"  # a trained or buffered factor
SUM = "sum"  # a sum of monomials

# Solving a fact replaces the symbol that says least; of settings that which is a product of the others (d_model = heads · head_dim),
# so that divisibility shows, then a configuration's before a parameter.
_ELIMINATION = {OPAQUE: (0, 0), AXIS: (1, 0), CONFIG: (2, 0), PARAMETER: (2, 1)}


@dataclass(frozen=True)
class Symbol:
    """A named quantity. `key` is its identity, `name` what messages print; a SUM also holds its terms."""

    key: str
    name: str = field(compare=False)
    kind: str = field(compare=False, default=PARAMETER)
    terms: tuple[Monomial, ...] = field(compare=False, default=())

    def __repr__(self) -> str:
        return self.name


_HUGE = 1e300  # keeps a tolerance finite


def _close(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= 1e-9 * min(max(abs(a), abs(b)), _HUGE)


def _is_whole(value: float) -> bool:
    return math.isfinite(value) and _close(value, round(value))


@dataclass(frozen=True)
class Monomial:
    """`coefficient · ∏ symbol^exponent`; `powers` is sorted by symbol key and holds no zero exponent."""

    coefficient: float = 1.0
    powers: tuple[tuple[Symbol, Fraction], ...] = ()

    # --- construction

    @staticmethod
    def number(value: float) -> Monomial:
        try:
            return Monomial(float(value))
        except OverflowError:  # a whole number too large for a float
            return Monomial(math.nan)

    @staticmethod
    def of(symbol: Symbol) -> Monomial:
        return Monomial(1.0, ((symbol, Fraction(1)),))

    # --- arithmetic

    def __mul__(self, other: Monomial) -> Monomial:
        if self.coefficient == 0 or other.coefficient == 0:  # 0 · x is 0
            return Monomial(self.coefficient * other.coefficient)
        if not other.powers:
            return Monomial(self.coefficient * other.coefficient, self.powers)
        if not self.powers:
            return Monomial(self.coefficient * other.coefficient, other.powers)
        merged = dict(self.powers)
        for symbol, exponent in other.powers:
            merged[symbol] = merged.get(symbol, Fraction(0)) + exponent
        return Monomial(self.coefficient * other.coefficient, _sorted_powers(merged.items()))

    def __truediv__(self, other: Monomial) -> Monomial:
        return self * other.power(Fraction(-1))

    def power(self, exponent: Fraction) -> Monomial:
        """Raise to a rational power; a non-positive coefficient under a root, and 1/0, give nan (never equal to anything)."""
        if self.coefficient == 1 and exponent:
            return Monomial(self.coefficient, tuple((symbol, power * exponent) for symbol, power in self.powers))
        try:
            coefficient = self.coefficient ** float(exponent)
        except (ZeroDivisionError, OverflowError):
            coefficient = math.nan
        if isinstance(coefficient, complex):
            coefficient = math.nan
        return Monomial(coefficient, tuple((symbol, power * exponent) for symbol, power in self.powers) if exponent else ())

    def root(self) -> Monomial:
        return self.power(Fraction(1, 2))

    # --- tests

    @property
    def is_number(self) -> bool:
        return not self.powers

    def equals(self, other: Monomial) -> bool:
        return self.powers == other.powers and _close(self.coefficient, other.coefficient)

    @property
    def is_one(self) -> bool:
        return not self.powers and _close(self.coefficient, 1.0)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(symbol for symbol, _ in self.powers)

    def exponent_of(self, symbol: Symbol) -> Fraction:
        return dict(self.powers).get(symbol, Fraction(0))

    def divides(self, other: Monomial) -> bool:
        """Whether other / self is a whole monomial: no negative or fractional exponent, a whole coefficient."""
        quotient = other / self
        return all(exponent > 0 and exponent.denominator == 1 for _, exponent in quotient.powers) and (
            quotient.coefficient >= 1 and _is_whole(quotient.coefficient)
        )

    def replace(self, substitute: Callable[[Symbol], Monomial | None]) -> Monomial:
        """Replace symbols by monomials (None keeps a symbol)."""
        found = [substitute(symbol) for symbol, _ in self.powers]
        if not any(found):
            return self
        kept = tuple(item for item, other in zip(self.powers, found, strict=True) if other is None)
        result = Monomial(self.coefficient, kept)
        for (_, exponent), other in zip(self.powers, found, strict=True):
            if other is not None:
                result = result * other.power(exponent)
        return result

    def __str__(self) -> str:
        return format_monomial(self)


ONE = Monomial()


def power_of(value: Monomial, base: Monomial) -> Fraction | None:
    """e with value = base^e, for a base that is no number."""
    if not base.powers:
        return None
    symbol, exponent = base.powers[0]
    power = value.exponent_of(symbol) / exponent
    return power if power and base.power(power).equals(value) else None


def _sorted_powers(items: Iterable[tuple[Symbol, Fraction]]) -> tuple[tuple[Symbol, Fraction], ...]:
    return tuple(sorted(((symbol, exponent) for symbol, exponent in items if exponent), key=lambda item: item[0].key))


def _format_exponent(exponent: Fraction) -> str:
    return "" if exponent == 1 else f"^{exponent}"


def format_number(value: float) -> str:
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    if _is_whole(value) and abs(value) < 1e15:
        return str(round(value))
    if 1e-9 < value < 1e15:
        squared = value * value
        fraction = Fraction(value).limit_denominator(4096)
        if _close(float(fraction), value):
            return str(fraction)
        fraction = Fraction(squared).limit_denominator(4096)
        if _close(float(fraction), squared):
            root = _format_root(fraction)
            if root:
                return root
    return f"{value:.6g}"


def _format_root(fraction: Fraction) -> str | None:
    if fraction.numerator == 1:
        return f"{fraction.denominator}^-1/2"
    if fraction.denominator == 1:
        return f"{fraction.numerator}^1/2"
    return f"({fraction})^1/2"


@lru_cache(maxsize=4096)
def format_monomial(value: Monomial) -> str:
    """Print as `8 · head_dim^-1/2`; exact fractions and roots where the coefficient is one."""
    if value.powers and _close(value.coefficient, -1.0):
        return f"-{format_monomial(value * Monomial(-1.0))}"
    parts = [] if _close(value.coefficient, 1.0) and value.powers else [format_number(value.coefficient)]
    positive = [item for item in value.powers if item[1] > 0]
    negative = [item for item in value.powers if item[1] < 0]
    parts += [f"{symbol.name}{_format_exponent(exponent)}" for symbol, exponent in positive + negative]
    return " · ".join(parts)


# --- sums


def add(*terms: Monomial) -> Monomial:
    """Add monomials. Like terms merge; what stays different becomes one SUM symbol with common factors pulled out."""
    flat: list[Monomial] = []
    for term in terms:
        flat.extend(_expand(term))
    merged: dict[tuple[tuple[Symbol, Fraction], ...], list[float]] = {}
    for term in flat:
        merged.setdefault(term.powers, []).append(term.coefficient)
    totals = ((powers, sum(parts), max(map(abs, parts))) for powers, parts in merged.items())
    kept = [Monomial(total, powers) for powers, total, largest in totals if not abs(total) <= 1e-12 * largest]  # rounding is not a rest
    if any(not math.isfinite(term.coefficient) for term in kept):
        return Monomial(math.nan)
    if not kept:
        return Monomial.number(0)
    if len(kept) == 1:
        return kept[0]
    common = _common_factor(kept)
    inner = sorted((term / common for term in kept), key=_term_order)
    lead = inner[0].coefficient
    if lead < 0:  # x - y and y - x share one symbol
        common, inner = common * Monomial(-1.0), [term * Monomial(-1.0) for term in inner]
    text = " + ".join(format_monomial(term) for term in inner).replace("+ -", "- ")
    key = "sum:" + "+".join(f"{term.coefficient:.12g}*" + "*".join(f"{s.key}^{e}" for s, e in term.powers) for term in inner)
    return common * Monomial.of(Symbol(key, f"({text})", SUM, tuple(inner)))


def _term_order(term: Monomial) -> tuple[bool, tuple[tuple[str, Fraction], ...]]:
    return (len(term.powers) == 0, tuple((symbol.key, exponent) for symbol, exponent in term.powers))


def _expand(term: Monomial) -> list[Monomial]:
    """A sum to the first power, times a common factor, is its terms."""
    for symbol, exponent in term.powers:
        if symbol.kind == SUM and exponent == 1:
            rest = Monomial(term.coefficient, tuple(item for item in term.powers if item[0] != symbol))
            return [part for inner in symbol.terms for part in _expand(rest * inner)]
    return [term]


def _common_factor(terms: list[Monomial]) -> Monomial:
    shared: dict[Symbol, Fraction] = dict(terms[0].powers)
    for term in terms[1:]:
        powers = dict(term.powers)
        shared = {
            symbol: min(exponent, powers[symbol]) if exponent > 0 else max(exponent, powers[symbol])
            for symbol, exponent in shared.items()
            if symbol in powers and (exponent > 0) == (powers[symbol] > 0)
        }
    return Monomial(_common_number([term.coefficient for term in sorted(terms, key=_term_order)]), _sorted_powers(shared.items()))


def _common_number(numbers: list[float]) -> float:
    """What to pull out of a sum, so that `(a + b) / 2` and `a / 2 + b / 2` are one: the greatest common fraction, else the first number."""
    fractions = [Fraction(number).limit_denominator(4096) for number in numbers]
    if all(fraction and _close(float(fraction), number) for fraction, number in zip(fractions, numbers, strict=True)):
        return math.gcd(*(fraction.numerator for fraction in fractions)) / math.lcm(*(fraction.denominator for fraction in fractions))
    return abs(numbers[0])


def subtract(a: Monomial, b: Monomial) -> Monomial:
    return add(a, b * Monomial(-1.0))


# --- facts


class Facts:
    """Equalities between symbols, learned from assertions, views and layers: `head_dim · heads = d_model`."""

    def __init__(self) -> None:
        self._known: dict[Symbol, Monomial] = {}  # what they say holds no symbol that is itself a key
        self._sums: dict[Symbol, Monomial | None] = {}  # of sums, until the next fact

    def copy(self) -> Facts:
        other = Facts()
        other._known = dict(self._known)
        return other

    def normalise(self, value: Monomial) -> Monomial:
        """Replace every symbol that a fact defines, inside sums too."""
        return value.replace(self._substitute)

    def _substitute(self, symbol: Symbol) -> Monomial | None:
        if symbol.kind != SUM:
            return self._known.get(symbol)
        if symbol not in self._sums:
            terms = [self.normalise(term) for term in symbol.terms]
            changed = any(new is not old for new, old in zip(terms, symbol.terms, strict=True))
            self._sums[symbol] = add(*terms) if changed else None
        return self._sums[symbol]

    def equal(self, a: Monomial, b: Monomial) -> bool:
        """Whether the two are proved equal."""
        return a.equals(b) or self.normalise(a).equals(self.normalise(b))

    def learn(self, a: Monomial, b: Monomial, tested: bool = False) -> bool:
        """Take `a = b` as a fact where it can be solved for a symbol; False where it contradicts or cannot be solved.

        Where the code has `tested` it, a setting may have to be 1.
        """
        ratio = self.normalise(a / b)
        if ratio.is_one:
            return True
        best = None
        for symbol, exponent in ratio.powers:
            rank = _ELIMINATION.get(symbol.kind)
            if rank is None:
                continue
            solution = (Monomial(ratio.coefficient, tuple(item for item in ratio.powers if item[0] != symbol))).power(-1 / exponent)
            if math.isnan(solution.coefficient) or solution.coefficient <= 0 or _mentions(solution, symbol):
                continue
            if solution.is_one and symbol.kind in (PARAMETER, CONFIG) and not tested:
                continue  # a setting that had to be 1 would not be one: the two sizes were never the same
            whole = all(power.denominator == 1 for _, power in solution.powers)
            order = (rank[0], not ONE.divides(solution), rank[1])
            if whole and (best is None or order < best[0]):
                best = (order, symbol, solution)
        if best is None:
            return False
        _, symbol, solution = best
        self._known[symbol] = solution
        self._sums.clear()
        self._known = {known: self.normalise(value) for known, value in self._known.items()}
        return True


def _mentions(value: Monomial, symbol: Symbol) -> bool:
    return any(found == symbol or any(_mentions(term, symbol) for term in found.terms) for found in value.symbols)
