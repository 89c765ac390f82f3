"""Names for sizes: a reader knows `head_dim`, not `d_model · heads^-1`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from attnlint.engine.algebra import AXIS, CONFIG, OPAQUE, PARAMETER, Monomial, Symbol
from attnlint.engine.sites import AttentionSite
from attnlint.engine.values import Argument, Scalar, Value

# what the size of a head is called in the field
_SIZE = re.compile(
    r"head_?(dim|size|width|channels|features)|(dim|size|d)_?(per_)?head|(^|_)d_?(k|q|qk|h|kv|head)$|(^|_)(qk|key|query|inner|hidden)_?(dim|size|width|channels)",
    re.I,
)
_ORDINARY = re.compile(r"dim|size|width|channel|inner|depth|features|^d$|^d_", re.I)
_NOT_A_SIZE = re.compile(r"scal|norm|temp|factor|batch|len", re.I)


def monomial_of(value: Value) -> Monomial | None:
    """The number that a name holds, as a monomial."""
    if isinstance(value, Scalar):
        return value.value
    if isinstance(value, Argument) and value.hint != "tensor" and value.kind != OPAQUE:
        return Monomial.of(Symbol(value.key, value.name, value.kind))
    return None


def sizes(site: AttentionSite, wanted: Monomial) -> Iterator[str]:
    """Source texts of names in scope that hold `wanted`, the best first."""
    facts = site.facts
    found = []
    for text, value in site.record.names_in_scope.items():
        held = monomial_of(value)
        if held is not None and facts.equal(held, wanted) and not _NOT_A_SIZE.search(text.rpartition(".")[2]):
            found.append(text)
    yield from sorted(
        found, key=lambda text: (not _SIZE.search(_last(text)), not _ORDINARY.search(_last(text)), "." not in text, len(text), text)
    )


def _last(text: str) -> str:
    return text.rpartition(".")[2]


def contraction_name(site: AttentionSite) -> str | None:
    """What the code calls the contraction dimension."""
    if site.contraction is None:
        return None
    plain = site.contraction
    if plain.is_number:
        return str(plain)
    names = [_last(text) for text in sizes(site, plain) if _SIZE.search(_last(text)) or _ORDINARY.search(_last(text))]
    if names and _SIZE.search(names[0]):
        return names[0]
    if _is_plain(plain):
        return str(plain)
    reduced = site.facts.normalise(plain)
    if _is_plain(reduced):
        return str(reduced)
    if names:
        return names[0]
    return str(reduced if len(reduced.powers) < len(plain.powers) or any(symbol.kind == AXIS for symbol in plain.symbols) else plain)


def _is_plain(value: Monomial) -> bool:
    """One parameter or setting as it is."""
    return len(value.powers) == 1 and value.coefficient == 1 and value.powers[0][1] == 1 and value.powers[0][0].kind in (PARAMETER, CONFIG)


def renamed(site: AttentionSite, value: Monomial) -> Monomial:
    """The value with the contraction dimension under the name that the code has for it."""
    name = contraction_name(site)
    if name is None or site.contraction is None or site.contraction.is_number:
        return value
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
        inner = str(value.power(Fraction(2)))
        return f"√{inner}" if " " not in inner and "^" not in inner else f"√({inner})"
    return str(value)
