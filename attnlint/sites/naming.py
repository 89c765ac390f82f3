"""Names for sizes: a reader knows `head_dim`, not `d_model · heads^-1`."""

from __future__ import annotations

from fractions import Fraction

from attnlint.domain.algebra import AXIS, CONFIG, OPAQUE, PARAMETER, Monomial, Symbol
from attnlint.domain.values import Argument, Scalar, Value
from attnlint.evidence import signs
from attnlint.evidence.signs import last
from attnlint.sites.sites import AttentionSite


def monomial_of(value: Value) -> Monomial | None:
    """The number that a name holds, as a monomial."""
    if isinstance(value, Scalar):
        return value.value
    if isinstance(value, Argument) and value.hint != "tensor" and value.kind != OPAQUE:
        return Monomial.of(Symbol(value.key, value.name, value.kind))
    return None


def size_like(text: str) -> bool:
    """Whether a name is one for a size."""
    return bool(signs.SIZE.search(last(text)) or signs.ORDINARY_SIZE.search(last(text))) and not signs.NO_SIZE.search(last(text))


def rank(text: str) -> tuple[object, ...]:
    """The order in which names for one number are preferred."""
    tail = last(text)
    return (
        bool(signs.NO_SIZE.search(tail)),
        not signs.SIZE.search(tail),
        not signs.ORDINARY_SIZE.search(tail),
        "." not in text,
        len(text),
        text,
    )


def _sizes(site: AttentionSite, wanted: Monomial) -> list[str]:
    """Names in scope that hold `wanted`, the best first."""
    found = []
    for text, value in site.record.names_in_scope.items():
        held = monomial_of(value)
        if held is not None and site.facts.equal(held, wanted) and not signs.NO_SIZE.search(last(text)):
            found.append(text)
    return sorted(found, key=rank)


def contraction_name(site: AttentionSite) -> str | None:
    """What the code calls the contraction dimension, one name; None where it has none."""
    if site.contraction is None:
        return None
    plain = site.contraction
    names = [last(text) for text in _sizes(site, plain) if size_like(text)]
    if plain.is_number:
        return None
    if names and signs.SIZE.search(names[0]):
        return names[0]
    for value in (plain, site.facts.normalise(plain)):
        if _is_plain(value):
            return str(value)
    return names[0] if names else None


def contraction_words(site: AttentionSite) -> str:
    """The contraction dimension in a sentence: its name, else the quotient of sizes that it is."""
    return contraction_name(site) or quotient(_reduced(site, site.contraction)) if site.contraction is not None else "?"


def _reduced(site: AttentionSite, value: Monomial) -> Monomial:
    """With symbols of arguments' axes replaced by settings, where facts know them."""
    reduced = site.facts.normalise(value)
    return reduced if any(symbol.kind == AXIS for symbol in value.symbols) else value


def _is_plain(value: Monomial) -> bool:
    """One parameter or setting as it is."""
    return len(value.powers) == 1 and value.coefficient == 1 and value.powers[0][1] == 1 and value.powers[0][0].kind in (PARAMETER, CONFIG)


def renamed(site: AttentionSite, value: Monomial) -> Monomial:
    """The value with the contraction dimension under the name that the code has for it."""
    name = contraction_name(site)
    if name is None or site.contraction is None:
        return _reduced(site, value)
    base, reduced = site.facts.normalise(site.contraction), site.facts.normalise(value)
    if not base.powers:
        return value
    symbol = Monomial.of(Symbol(f"named:{name}", name))
    best = value
    for inner, exponent in base.powers:
        power = reduced.exponent_of(inner) / exponent
        if power:
            rest = reduced / base.power(power) * symbol.power(power)
            if len(rest.powers) < len(best.powers) or (len(rest.powers) == len(best.powers) == 1 and rest.coefficient == 1):
                best = rest
    return best


def text(site: AttentionSite, value: Monomial | None) -> str | None:
    """A monomial of a site as messages and the JSON print it."""
    return str(renamed(site, value)) if value is not None else None


def rooted(value: Monomial) -> str:
    """A monomial with square roots as a reader writes them: `√heads`."""
    if value.is_number:
        squared = value.coefficient**2
        whole = round(squared)
        if abs(squared - whole) < 1e-9 * max(squared, 1.0) and abs(value.coefficient - round(value.coefficient)) > 1e-9:
            return f"√{whole}"
        return str(value)
    if value.coefficient == 1 and all(exponent.denominator == 2 for _, exponent in value.powers):
        inner = quotient(value.power(Fraction(2)))
        return f"√{inner}" if " " not in inner and "^" not in inner else f"√({inner})"
    return quotient(value)


def quotient(value: Monomial) -> str:
    """`d_model / heads`: what is divided by stands below a stroke."""
    above = Monomial(value.coefficient, tuple(item for item in value.powers if item[1] > 0))
    below = Monomial(1.0, tuple((symbol, -exponent) for symbol, exponent in value.powers if exponent < 0))
    if not below.powers:
        return str(above)
    return f"{above} / ({below})" if len(below.powers) > 1 else f"{above} / {below}"


def root(size: str) -> str:
    """`√head_dim`, `√(d_model / heads)`."""
    return f"√({size})" if " " in size else f"√{size}"
