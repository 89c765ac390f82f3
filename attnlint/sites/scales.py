"""What the net scale of a site is made of: the questions that several tests of a verdict, and several scale rules, ask of it."""

from __future__ import annotations

from attnlint.domain.algebra import AXIS, CONFIG, LEARNED, ONE, OPAQUE, PARAMETER, SUM, Monomial, Symbol, power_of
from attnlint.domain.axes import product as multiplied
from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Factor, Leaf, Scalar
from attnlint.evaluate.powers import misread
from attnlint.evidence.signs import claim, counts_heads, names_head_size, names_part_of_head
from attnlint.sites import intent
from attnlint.sites.operands import kind_of
from attnlint.sites.sites import HALF, AttentionSite, Form, PlacedFactor, Verdict
from attnlint.syntax import nodes as cst

LOG2_E = 1.4426950408889634
FOLLOWED: tuple[Form, ...] = ("width", "symbols")  # a ratio of sizes that is proved to differ from 1

# --- the form of a ratio


def form_of(site: AttentionSite) -> Form:
    """Of what the ratio is made."""
    assert site.ratio is not None and site.scale is not None
    opaque = opaque_symbols(site)
    by_shape = not opaque and not configured_symbols(site) and not lost_reasons(site) and conclusive(site)
    if (head_count_under_root(site) is not None and not by_shape) or another_power_of_head_size(site) is not None:
        return "named"
    if opaque:
        whole = not lost_reasons(site) and not site.scale.is_one and of_width_alone(site)
        return "width" if whole else "opaque"  # whatever that width is, this power of it is another one
    if configured_symbols(site):
        return "configured"
    if site.scale.is_one or not site.factors:
        return "unscaled"
    return "number" if site.ratio.is_number else "symbols"


def opaque_symbols(site: AttentionSite) -> list[Symbol]:
    """The symbols of the ratio that are not followed."""
    assert site.ratio is not None
    return [symbol for symbol in site.ratio.symbols if symbol.kind == OPAQUE]


def configured_symbols(site: AttentionSite) -> set[Symbol]:
    """The symbols of the ratio that act as factors of their own: parameters and settings that no axis has as its size."""
    assert site.ratio is not None
    return {symbol for symbol in site.ratio.symbols if is_free(symbol, site.record) and symbol not in site.width.symbols}


def is_free(symbol: Symbol, record: SiteRecord) -> bool:
    """Whether a symbol acts as a factor of its own: a parameter or setting that no axis has as its size."""
    if symbol.kind == SUM:
        inner = [one for term in symbol.terms for one in term.symbols]
        return bool(inner) and all(is_free(one, record) for one in inner)
    return symbol.kind in (PARAMETER, CONFIG) and symbol.key not in record.dims


def without(value: Monomial, symbols: set[Symbol]) -> Monomial:
    return Monomial(value.coefficient, tuple(item for item in value.powers if item[0] not in symbols))


def lost_reasons(site: AttentionSite) -> list[str]:
    """Why what query and key hold is not followed."""
    contents = [operand.main.content for operand in site.operands]
    return [one.reason for one in contents if isinstance(one, Leaf) and one.kind == "opaque" and one.reason]


def of_width_alone(site: AttentionSite) -> bool:
    """Whether the ratio is a power of the summed width: whatever else is added to the product, that much of it is wrong."""
    if site.ratio is None or site.contraction is None:
        return False
    width = dict(site.width.powers)
    exponents = {exponent / width[symbol] if symbol in width else None for symbol, exponent in site.ratio.powers}
    return len(exponents) == 1 and None not in exponents and len(site.ratio.powers) == len(width)


# --- sizes that are known by their names alone


def head_count_under_root(site: AttentionSite) -> Symbol | None:
    """The number of heads, by its name, where it is what is one too many under the root, wherever it comes from.

    Where the code sets that number is not seen; that it counts heads, and is no temperature, is what its name says.
    """
    ratio = site.ratio
    if ratio is None or len(ratio.powers) != 1 or ratio.coefficient != 1:
        return None
    (symbol, exponent) = ratio.powers[0]
    applied = site.scale is not None and symbol in site.scale.symbols
    known = applied and exponent == -HALF and symbol.kind in (PARAMETER, CONFIG, OPAQUE) and counts_heads(symbol.name)
    return symbol if known else None


def another_power_of_head_size(site: AttentionSite) -> tuple[str, Monomial] | None:
    """The fault of a scale that is another power than -1/2 of what is called the size of a head, and that size.

    No axis is tied to that name. Whatever the summed axis is, the root of the head size belongs below the line; other factors beside it
    may be temperatures.
    """
    found = {symbol: exponent for symbol, exponent in site.net.powers if symbol.kind in (PARAMETER, CONFIG) or _sum_of_head_sizes(symbol)}
    heads = [symbol for symbol in found if counts_heads(symbol.name)]
    named = [symbol for symbol in found if names_head_size(symbol.name) or _sum_of_head_sizes(symbol)]
    if len(named) == 1 and not heads:
        size = Monomial.of(named[0])
    elif not named and len(heads) == 1 and len(found) == 2:  # `dim // num_heads`
        size = Monomial.of(next(symbol for symbol in found if symbol not in heads)) / Monomial.of(heads[0])
    else:
        return None
    exponents = {found[symbol] * exponent for symbol, exponent in size.powers}
    if len(exponents) != 1 or set(site.width.symbols) & set(size.symbols):
        return None
    exponent = exponents.pop()
    if exponent == HALF:
        return "inverted-scale", size
    return ("unrooted-scale", size) if exponent == -1 else None


def _sum_of_head_sizes(symbol: Symbol) -> bool:
    """Latent attention: the features of a head with and without positions, summed."""
    parts = [part for term in symbol.terms for part in term.symbols]
    return bool(parts) and all(part.kind in (PARAMETER, CONFIG) and names_part_of_head(part.name) for part in parts)


def fault_by_head_size(site: AttentionSite, kind: str) -> Verdict | None:
    """The fault of that kind where it rests on what a name says of the size of a head."""
    found = another_power_of_head_size(site) if site.form == "named" else None
    if found is None or found[0] != kind:
        return None
    size = found[1]
    named = (*size.symbols, *(part for symbol in size.symbols for term in symbol.terms for part in term.symbols))
    told = tuple(claim(one.name) for one in named if counts_heads(one.name) or names_part_of_head(one.name))
    return fault(site, kind, factor_with(site, set(size.symbols)), contraction=size, evidence=told)


# --- factors


def own_factors(site: AttentionSite) -> list[PlacedFactor]:
    """The factors that are not 1."""
    return [placed for placed in site.factors if not site.facts.normalise(placed.factor.value).is_one]


def factor_with(site: AttentionSite, symbols: set[Symbol]) -> PlacedFactor | None:
    """The first factor that holds one of some symbols, else the last one."""
    for placed in site.factors:
        if any(symbol in symbols for symbol in placed.factor.value.symbols):
            return placed
    return site.factors[-1] if site.factors else None


def literal_factor(site: AttentionSite) -> PlacedFactor | None:
    """The factor that is a bare number in the source."""
    for placed in site.factors:
        node = placed.factor.definition.node if placed.factor.definition is not None else None
        if isinstance(node, (cst.Float, cst.Integer)) and not placed.factor.value.is_one:
            return placed
        if isinstance(node, cst.BinaryOperation) and _only_numbers(node):
            return placed
    return None


def _only_numbers(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.BinaryOperation):
        return _only_numbers(node.left) and _only_numbers(node.right)
    if isinstance(node, cst.UnaryOperation):
        return _only_numbers(node.expression)
    return isinstance(node, (cst.Float, cst.Integer))


def misread_factor(site: AttentionSite) -> PlacedFactor | None:
    """The factor whose expression is another power than it reads."""
    for placed in site.factors:
        factor = placed.factor
        for origin in (factor.definition, factor.operand, factor.application):
            if origin is not None and misread(origin.node, arguments=origin is not factor.application) is not None:
                return placed
    return None


def doubled(site: AttentionSite) -> tuple[PlacedFactor, PlacedFactor | None] | None:
    """Of two factors of which one alone would be right, the one that is one too many, and the other."""
    own = own_factors(site)
    if len(own) < 2 or site.contraction is None or site.scale is None:
        return None
    expected = site.width.power(-HALF)
    for placed in reversed(own):
        value = site.facts.normalise(placed.factor.value)
        rest = site.net / value
        twice = rest / expected, value / expected  # each is d_k^-1/2 but for a number
        alone = rest.equals(expected) or (expected.powers and all(one.is_number for one in twice))
        if not alone or not _shrinks(site, value):
            continue
        if value.is_number and expected.is_number and not value.equals(expected):
            continue  # a right scale beside a constant
        if placed.factor.via == "default":  # the kernel scales by itself: what comes before is one too many
            return placed, next((one for one in reversed(own) if one is not placed), placed)
        return placed, next((one for one in own if one is not placed), None)
    return None


def _shrinks(site: AttentionSite, value: Monomial) -> bool:
    if value.is_number:
        return value.coefficient < 1
    power = power_of(value, site.width)
    return (power is not None and power < 0) or all(exponent < 0 for _, exponent in value.powers)


def default_beside_root(site: AttentionSite) -> bool:
    """A kernel that scales by itself, after a query that carries d_k^-1/2 besides a configured factor."""
    assert site.ratio is not None
    if not any(placed.factor.via == "default" for placed in site.factors):
        return False
    return without(site.ratio, configured_symbols(site)).equals(site.width.power(-HALF))


def scaled_after(site: AttentionSite) -> Factor | None:
    """The root of a size that the weights or the output are divided by: a scale that came too late.

    What grows is none: ConvS2S undoes an average.
    """
    return next((factor for factor, _ in site.record.after if _is_root_of(site, factor.value)), None)


def _is_root_of(site: AttentionSite, value: Monomial) -> bool:
    value = site.facts.normalise(value)
    if any(exponent == -HALF for _, exponent in value.powers):
        return True
    plain = site.width.is_number and value.is_number and not value.is_one
    return plain and abs(value.coefficient - site.width.coefficient**-0.5) < 1e-9


# --- numbers


def is_right(ratio: Monomial) -> bool:
    """1, or log2(e) before an exponential to the base 2; kernels write it with the digits of float32."""
    return ratio.is_one or (ratio.is_number and abs(ratio.coefficient - LOG2_E) < 1e-6)


def numbers(site: AttentionSite) -> tuple[float, float] | None:
    """Width and net scale of a site where both are numbers."""
    if site.form != "number" or site.scale is None or not (site.width.is_number and site.scale.is_number):
        return None
    size, net = site.width.coefficient, site.scale.coefficient
    return (size, net) if size > 0 and 0 < abs(net) < float("inf") else None


def is_power(site: AttentionSite, *exponents: float) -> bool:
    """Whether width and net scale are numbers, and the scale is one of some powers of the width."""
    found = numbers(site)
    return found is not None and any(abs(found[1] - found[0] ** one) < 1e-9 * max(1.0, found[0] ** one) for one in exponents)


def fits_another_head(site: AttentionSite, constant: Monomial) -> bool:
    """Whether a literal such as 1/8 is d^-1/2 of one head size, where the head size is another or can be."""
    if site.contraction is None or not constant.is_number or not constant.coefficient > 0:  # nor where it is not a number
        return False
    inverse = 1.0 / constant.coefficient**2
    whole = round(inverse)
    if whole < 4 or abs(inverse - whole) > 1e-3 * whole or whole % 4:
        return False
    if site.width.is_number:
        return abs(site.width.coefficient - whole) > 1e-6 * whole
    inner = [one for symbol in site.width.symbols for term in symbol.terms for one in term.symbols]
    return not any(symbol.kind in (AXIS, OPAQUE) for symbol in (*site.width.symbols, *inner))


def constant_for_another_head(site: AttentionSite) -> PlacedFactor | None:
    """The literal that is the scale of another head size, where width, net scale and every factor are numbers."""
    if numbers(site) is None or site.scale is None or not fits_another_head(site, site.scale):
        return None
    return literal_factor(site) if all(placed.factor.value.is_number for placed in site.factors) else None


def tried_out(site: AttentionSite, literal: PlacedFactor) -> bool:
    """Whether arrays that no layer made meet a plain number: a demonstration or a test, for which any number does."""
    if site.query is None or site.key is None:
        return False
    made = literal.factor.definition
    plain = made is not None and isinstance(made.node, (cst.Float, cst.Integer))  # `128**-0.5` is the root of a size
    return plain and {kind_of(site.query), kind_of(site.key)} == {"array"}


def configured_number(site: AttentionSite) -> Monomial | None:
    """What a configured factor is by the defaults of its constructor, a number; None where it has none or a function is given it."""
    assert site.ratio is not None
    number = ONE
    for symbol in configured_symbols(site):
        default = site.record.defaults.get(symbol.key)
        if not isinstance(default, Scalar) or not default.value.is_number:
            return None
        number = number * default.value.power(site.ratio.exponent_of(symbol))
    return number if of_constructor(site) else None


def of_constructor(site: AttentionSite) -> bool:
    """Whether the configured factors are parameters of a constructor or attributes of the class."""
    return all(".__init__" in symbol.key or _is_class_key(symbol, site.record) for symbol in configured_symbols(site))


def _is_class_key(symbol: Symbol, record: SiteRecord) -> bool:
    owner = record.owner
    if owner is None:
        return False
    names = (owner.qualname, *(getattr(base, "qualname", "") for base in getattr(owner, "bases", ())))
    return any(symbol.key.startswith(f"{record.scope.path}:{name}.") for name in names)


# --- what is proved


def is_pure(ratio: Monomial) -> bool:
    return all(symbol.kind in (PARAMETER, CONFIG, AXIS) for symbol in ratio.symbols)


def summed_sizes(site: AttentionSite) -> list[Monomial]:
    """The size of what is summed over, as each operand has it whose axes are known."""
    if site.product is None:
        return []
    return [multiplied(axis.size for axis in axes) for axes in (site.product.left_axes, site.product.right_axes) if axes]


def conclusive(site: AttentionSite) -> bool:
    """Whether the ratio is proved to differ from 1: its symbols can take values that make it differ, whatever else holds.

    Parameters and settings are free. The size of an axis of an argument may equal anything, except that two
    axes of one tensor of known rank differ.
    """
    ratio = site.ratio
    assert ratio is not None and site.contraction is not None
    kinds = {symbol.kind for symbol in ratio.symbols}
    tails = [symbol.name.rpartition(".")[2] for symbol in ratio.symbols]
    if len(set(tails)) < len(tails):
        return False  # two symbols of one name, `config.heads` and `heads`, may well be one quantity
    if OPAQUE in kinds or LEARNED in kinds or _one_head_twice(ratio):
        return False
    if SUM in kinds and (proved := _of_sums(site, ratio)) is not None:
        return proved
    if AXIS not in kinds:
        return True
    # a power of the contraction itself, or of a part that a setting makes any number; an axis alone may be what it has to be
    if of_width_alone(site) or (set(ratio.symbols) <= set(site.width.symbols) and kinds & {PARAMETER, CONFIG}):
        return True
    return all(_is_apart(symbol, site) for symbol in ratio.symbols if symbol.kind == AXIS)


def _of_sums(site: AttentionSite, ratio: Monomial) -> bool | None:
    """What a ratio that holds a sum proves; None where its other symbols decide."""
    sums = [symbol for symbol in ratio.symbols if symbol.kind == SUM]
    if any(one.kind in (OPAQUE, AXIS, LEARNED) for symbol in sums for term in symbol.terms for one in term.symbols):
        return len(ratio.symbols) == 1 and ratio.symbols[0] in site.width.symbols
    if len(sums) > 1:
        return False  # two sums of parts: a product over absorbed projections
    if any(symbol.kind == CONFIG for symbol in ratio.symbols):
        return False  # a setting may be defined as just that sum: qk_head_dim = qk_nope_head_dim + qk_rope_head_dim
    return None


def _is_apart(symbol: Symbol, site: AttentionSite) -> bool:
    """Whether the axis that a symbol is the size of is another one than all else in the ratio."""
    assert site.ratio is not None
    if symbol in site.width.symbols:
        others = [other for other in site.ratio.symbols if other != symbol]
        return bool(others) and all(_other_axis_of_same(symbol, other) for other in others)
    return _is_position(symbol, site)


def _one_head_twice(ratio: Monomial) -> bool:
    """Whether a ratio sets the size of a head, by its name, against a width shared among heads: `head_dim` and `width // heads`."""
    powers = dict(ratio.powers)
    named = [symbol for symbol in powers if names_head_size(symbol.name) and symbol.kind == CONFIG]
    heads = [symbol for symbol in powers if counts_heads(symbol.name)]
    if len(powers) != 3 or len(named) != 1 or len(heads) != 1:
        return False
    width = next(symbol for symbol in powers if symbol not in (*named, *heads))
    return powers[named[0]] == powers[heads[0]] == -powers[width]


def _other_axis_of_same(a: Symbol, b: Symbol) -> bool:
    return (
        b.kind == AXIS
        and a.key.rpartition("[")[0] == b.key.rpartition("[")[0]
        and a.key != b.key
        and "[-" not in a.key
        and "[-" not in b.key
    )


def _is_position(symbol: Symbol, site: AttentionSite) -> bool:
    """An axis symbol that is seen as another axis than the contracted one of query or key."""
    product = site.product
    if product is None:
        return False
    contracted = {axis.key for axis in (*product.left_axes, *product.right_axes)}
    return any(
        symbol in site.facts.normalise(axis.size).symbols
        for tensor in (product.left, product.right)
        for axis in tensor.shape.axes
        if axis.key not in contracted
    )


# --- faults


def fault(
    site: AttentionSite,
    kind: str,
    culprit: PlacedFactor | None = None,
    contraction: Monomial | None = None,
    evidence: tuple[str, ...] = (),
) -> Verdict:
    """A fault of that kind, unless the code says why the number is what it is.

    Without a culprit it is the last factor that is not plain.
    """
    culprit = culprit or _last_of_its_own(site)
    told = intent.explained(culprit.factor) if culprit is not None else None
    number = site.scale is not None and site.scale.is_number
    why = told or (intent.annealed(site.record) if number else None)
    if why is not None:
        return Verdict("intended", why, contraction=contraction)
    return Verdict("faulty", None, kind, culprit, contraction=contraction, evidence=evidence)


def _last_of_its_own(site: AttentionSite) -> PlacedFactor | None:
    own = [placed for placed in site.factors if not placed.factor.value.is_one and placed.factor.via != "default"]
    return own[-1] if own else (site.factors[-1] if site.factors else None)
