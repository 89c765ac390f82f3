"""Names for sizes: a reader knows `head_dim`, not `d_model · heads^-1`."""

from __future__ import annotations

import re
from fractions import Fraction

from attnlint.domain.algebra import AXIS, CONFIG, OPAQUE, PARAMETER, Monomial, Symbol
from attnlint.domain.values import Argument, Scalar, Value
from attnlint.sites.sites import AttentionSite

# what the size of a head is called in the field
_SIZE = re.compile(
    r"head_?(dim|size|width|channels|features)|(dim|size|d)_?(per_)?head|(^|_)d_?(k|q|qk|h|kv|head)$|(^|_)(qk|key|query|inner|hidden)_?(dim|size|width|channels)",
    re.I,
)
_ORDINARY = re.compile(r"dim|size|width|channel|inner|depth|features|^d$|^d_", re.I)
_NOT_A_SIZE = re.compile(r"scal|norm|temp|factor|batch|len", re.I)


# what the number of heads is called
_HEADS = re.compile(
    r"^(n|num|number_of|n_attn|num_attn|n_attention|num_attention)?_?heads?$|^nheads?$|^num_attention_heads$|^n_?head$", re.I
)
# what can only be the size of one head
_HEAD_SIZE = re.compile(
    r"^(q|k|qk|query|key|attn|attention)?_?head_?(dim|size|width)$|^(dim|size|d)_?(per_)?head$|^d_?(k|qk|head)$|^(key|qk)_(dim|depth)_per_head$",
    re.I,
)
_PART_OF_HEAD = re.compile(r"_head_?dim$")


def counts_heads(name: str) -> bool:
    """Whether a name can only be one for the number of heads."""
    return _HEADS.search(_last(name)) is not None


def names_head_size(name: str) -> bool:
    """Whether a name can only be one for the size of a head."""
    return _HEAD_SIZE.search(_last(name)) is not None


def names_part_of_head(name: str) -> bool:
    """Whether a name is one for the size of a head or of a part of one, such as `qk_rope_head_dim`."""
    return names_head_size(name) or _PART_OF_HEAD.search(_last(name)) is not None


def monomial_of(value: Value) -> Monomial | None:
    """The number that a name holds, as a monomial."""
    if isinstance(value, Scalar):
        return value.value
    if isinstance(value, Argument) and value.hint != "tensor" and value.kind != OPAQUE:
        return Monomial.of(Symbol(value.key, value.name, value.kind))
    return None


def size_like(text: str) -> bool:
    """Whether a name is one for a size."""
    return bool(_SIZE.search(_last(text)) or _ORDINARY.search(_last(text))) and not _NOT_A_SIZE.search(_last(text))


def rank(text: str) -> tuple[object, ...]:
    """The order in which names for one number are preferred."""
    last = _last(text)
    return (bool(_NOT_A_SIZE.search(last)), not _SIZE.search(last), not _ORDINARY.search(last), "." not in text, len(text), text)


def _sizes(site: AttentionSite, wanted: Monomial) -> list[str]:
    """Names in scope that hold `wanted`, the best first."""
    found = []
    for text, value in site.record.names_in_scope.items():
        held = monomial_of(value)
        if held is not None and site.facts.equal(held, wanted) and not _NOT_A_SIZE.search(_last(text)):
            found.append(text)
    return sorted(found, key=rank)


def _last(text: str) -> str:
    return text.rpartition(".")[2]


def contraction_name(site: AttentionSite) -> str | None:
    """What the code calls the contraction dimension, one name; None where it has none."""
    if site.contraction is None:
        return None
    plain = site.contraction
    names = [_last(text) for text in _sizes(site, plain) if size_like(text)]
    if plain.is_number:
        return None
    if names and _SIZE.search(names[0]):
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
