"""The judge: from a recorded site to a verdict, by the ratio of its net scale to d_k^-1/2."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

import libcst as cst

from attnlint.domain.algebra import AXIS, CONFIG, LEARNED, ONE, OPAQUE, PARAMETER, SUM, Monomial, Symbol, add, power_of
from attnlint.domain.axes import OPEN_CUT, vague
from attnlint.domain.axes import product as multiplied
from attnlint.domain.values import (
    Concat,
    Elementwise,
    Factor,
    Leaf,
    Output,
    Product,
    Scalar,
    Sum,
    Tensor,
    Weights,
    condition_text,
    scale_of,
)
from attnlint.evaluate.arithmetic import is_mask
from attnlint.evaluate.powers import misread
from attnlint.evaluate.tensors import main_term, others_of, products_of
from attnlint.evidence import intent
from attnlint.sites.naming import counts_heads, names_head_size, names_part_of_head
from attnlint.sites.sites import AttentionSite, PlacedFactor, SiteRecord

QUERY_NAME = re.compile(r"(^|_)(q|qs|qh|wq|xq|query|queries|quer\w*|theta|q\w{0,3}|\w*_q|\w*query\w*)$", re.I)
KEY_NAME = re.compile(r"(^|_)(k|ks|kh|wk|xk|key|keys|phi|k\w{0,3}|\w*_k|\w*key\w*)$", re.I)
VALUE_NAME = re.compile(r"^(v|vs|vh|values?|v_\w|\w+_values?)$", re.I)
ATTENTION_NAME = re.compile(r"att(n|ention|end)|(^|_)mha", re.I)

# norms that leave each feature with variance 1, where an L2 norm leaves 1 / d
UNIT_VARIANCE = re.compile(r"layer_?norm|rms|root mean square|standardize", re.I)

HALF = Fraction(1, 2)
LOG2_E = 1.4426950408889634
_FEW = 4  # coordinates, segments, or the three of query, key and value: fewer entries than any head has features


@dataclass(frozen=True, eq=False)
class Operand:
    """One side of the product: the tensor whose features are contracted, and every factor on it."""

    tensor: Tensor
    factors: tuple[Factor, ...]
    main: Tensor  # the term that carries the data


def judge(record: SiteRecord) -> AttentionSite | None:
    """The judged site, or None where the softmax is no attention."""
    if record.logits is None or "log" in record.notes:
        return None
    candidates = [(carrier, product) for carrier, product in _wide(products_of(record.logits)) if _is_attention(record, product)]
    if not candidates:
        return _untraced(record)
    sites = [_judge_product(record, carrier, product, len(candidates)) for carrier, product in candidates]
    order = {"correct": 0, "intended": 1, "faulty": 2, "unknown": 3}
    best = min(sites, key=lambda site: order[site.verdict])
    if best.verdict not in ("correct", "intended") and (width := _common_width(sites)) is not None:
        best.contraction, best.expected, best.ratio = width, width.power(-HALF), ONE
        best.verdict, best.kind, best.reason, best.culprit = "correct", None, "the products are scaled as one over all their features", None
    if len(candidates) > 1 and best.verdict == "faulty":
        best = next((site for site in sites if site.verdict == "faulty"), best)
        count = Monomial.number(len(candidates))
        if best.ratio is not None and best.ratio.equals(count.power(-HALF)):
            best.verdict, best.reason, best.kind = "intended", f"the sum of {len(candidates)} products is scaled as one", None
        elif any(site.verdict == "unknown" for site in sites) and not of_width_alone(best):
            best.verdict, best.kind, best.reason = "unknown", None, "one of the products of the sum is not followed"
    best.terms = tuple((term, scale_of(term.factors)) for term in others_of(record.logits))
    if best.verdict == "correct":
        _bias(best)
    return best


def _common_width(sites: list[AttentionSite]) -> Monomial | None:
    """The features of all products of a sum together, where they have the scale of one product: q·k + p·r is [q, p]·[k, r]."""
    first = sites[0]
    if len(sites) < 2 or first.scale is None or any(site.scale is None or not first.facts.equal(site.scale, first.scale) for site in sites):
        return None
    width = add(*(first.facts.normalise(site.contraction) for site in sites if site.contraction is not None))
    return width if first.facts.equal(first.scale, width.power(-HALF)) else None


def _wide(products: list[tuple[Tensor, Product]]) -> list[tuple[Tensor, Product]]:
    """Without products over two segments or three coordinates, which are added to a product over features."""
    if all(product.size.is_number for _, product in products):
        return products
    return [(carrier, product) for carrier, product in products if not (product.size.is_number and product.size.coefficient <= _FEW)]


def _bias(site: AttentionSite) -> None:
    """A right scale that a finite bias gets along with the product: the bias fades as heads grow wider.

    Masks of -inf or -1e9 lose nothing by it, and what an argument holds is not known. Beside a term that multiplies the query or
    key by positions, a table is the positions' own share: Transformer-XL scales the sum of all of them by design.
    """
    if site.contraction is None or _has_position_term(site):
        return
    contraction = site.facts.normalise(site.contraction)
    for term, _ in site.terms:
        shared = [placed for placed in site.factors if any(factor is placed.factor for factor in term.factors)]
        value = site.facts.normalise(scale_of(tuple(placed.factor for placed in shared)))
        power = power_of(value, contraction)
        is_scale = (power is not None and power < 0) or (
            contraction.is_number and value.equals(contraction.power(-HALF)) and not value.is_one
        )
        if is_scale and _finite_bias(term):
            _fault(site, "scaled-mask-or-bias", next(placed for placed in reversed(shared) if not placed.factor.value.is_one))
            site.term = term
            return


def _has_position_term(site: AttentionSite) -> bool:
    """Whether the logits hold a second product, or one of data with a table of positions."""
    logits = site.record.logits
    return (logits is not None and len(_wide(products_of(logits))) > 1) or any(
        isinstance(term.content, Leaf) and term.content.kind == "projection" for term, _ in site.terms
    )


def of_width_alone(site: AttentionSite) -> bool:
    """Whether the ratio is a power of the summed width: whatever else is added to the product, that much of it is wrong."""
    if site.ratio is None or site.contraction is None:
        return False
    width = dict(site.facts.normalise(site.contraction).powers)
    exponents = {exponent / width[symbol] if symbol in width else None for symbol, exponent in site.ratio.powers}
    return len(exponents) == 1 and None not in exponents and len(site.ratio.powers) == len(width)


def _finite_bias(term: Tensor) -> bool:
    """A trained table, or distances under trained or buffered slopes; nothing that is masked or called a mask."""
    content = term.content
    if not isinstance(content, Leaf) or term.masks or is_mask(term):
        return False
    if content.kind in ("parameter", "embedding"):
        return True
    return content.kind in ("constant", "array") and any(
        symbol.kind == LEARNED for factor in term.factors for symbol in factor.value.symbols
    )


# --- what is attention


def operand_of(tensor: Tensor) -> Operand:
    """See through additions to a query (relative position biases) and modulations to the data behind."""
    main, factors = tensor, tensor.factors
    for _ in range(6):
        if isinstance(main.content, Sum):
            term = main_term(main.content)
            if term is None:
                break
            factors = (*term.factors, *factors)
            main = term
        else:
            break
    return Operand(tensor, factors, main)


def _leaf_kind(tensor: Tensor) -> str:
    content = operand_of(tensor).main.content
    if isinstance(content, Leaf):
        return content.kind
    if isinstance(content, Concat):
        kinds = [_leaf_kind(part) for part in content.parts]
        return next((kind for kind in ("projection", "array", "argument", "opaque") if kind in kinds), "opaque")
    if isinstance(content, Elementwise):
        kinds = [_leaf_kind(content.left), _leaf_kind(content.right)]
        return next((kind for kind in ("projection", "array", "argument") if kind in kinds), "opaque")
    if isinstance(content, Output):
        return "projection"
    if isinstance(content, (Weights, Product)):
        return "product"
    return "opaque"


def _is_attention(record: SiteRecord, product: Product) -> bool:
    left, right = _leaf_kind(product.left), _leaf_kind(product.right)
    if "product" in (left, right) or "constant" in (left, right):
        return False
    weight = ("parameter", "buffer", "embedding")
    if left in weight and right in weight:
        return False
    if left in weight or right in weight:
        return False
    if record.kernel is not None:
        return True
    if product.size.is_one or _of_keys_and_values(record, product):
        return False
    named = names_say_attention(record, product)
    if record.value is not None:
        return True
    return named


def _of_keys_and_values(record: SiteRecord, product: Product) -> bool:
    """Efficient attention: keys and values are multiplied first, and the query, a softmax of its own, picks from what that gives."""
    left, right = product.left.name or "", product.right.name or ""
    summed_up = (KEY_NAME.search(left) and VALUE_NAME.search(right)) or (VALUE_NAME.search(left) and KEY_NAME.search(right))
    return bool(summed_up) and (record.value is None or QUERY_NAME.search(record.value.name or "") is not None)


def names_say_attention(record: SiteRecord, product: Product) -> bool:
    """Whether operands are called query and key, or the code around is called attention."""
    left, right = product.left.name or "", product.right.name or ""
    if (QUERY_NAME.search(left) and KEY_NAME.search(right)) or (KEY_NAME.search(left) and QUERY_NAME.search(right)):
        return True
    return bool(ATTENTION_NAME.search(record.qualname))


def _untraced(record: SiteRecord) -> AttentionSite | None:
    """A softmax whose logits could not be followed, where its weights meet values all the same."""
    logits = record.logits
    if logits is None or record.value is None or products_of(logits):
        return None
    reason = logits.content.reason if isinstance(logits.content, Leaf) else None
    if isinstance(logits.content, Leaf) and logits.content.kind in ("parameter", "buffer", "constant", "embedding", "recurrent"):
        return None
    bare = record.hand_written and not record.stable and isinstance(logits.content, Leaf) and logits.content.kind == "projection"
    if (
        isinstance(logits.content, Leaf)
        and logits.content.kind in ("projection", "array")
        and logits.content.layer is not None
        and not bare
    ):
        return None
    if not ATTENTION_NAME.search(record.qualname) and reason is None and not bare:
        return None
    return AttentionSite(
        record, None, None, None, None, None, None, None, (), "unknown", reason=reason or "the logits are no product that is followed"
    )


# --- the verdict


def _sides(record: SiteRecord, product: Product) -> tuple[Tensor, Tensor]:
    """Which operand is the query and which the key: by the softmax axis, else by names, else left and right."""
    if record.axis is not None:
        key = record.axis.key
        in_left = any(axis.key == key for axis in product.left.shape.axes)
        in_right = any(axis.key == key for axis in product.right.shape.axes)
        if in_left != in_right:
            return (product.right, product.left) if in_left else (product.left, product.right)
    if KEY_NAME.search(product.left.name or "") and QUERY_NAME.search(product.right.name or ""):
        return product.right, product.left
    return product.left, product.right


def _judge_product(record: SiteRecord, carrier: Tensor, product: Product, count: int) -> AttentionSite:
    query, key = _sides(record, product)
    facts = record.facts
    q, k = operand_of(query), operand_of(key)
    placed = [PlacedFactor(f, "query") for f in q.factors] + [PlacedFactor(f, "key") for f in k.factors]
    placed += [PlacedFactor(f, "kernel" if record.kernel else "logits") for f in carrier.factors]
    placed = [p for p in placed if not p.factor.value.equals(Monomial.number(-1))]
    net = ONE
    for one in placed:
        net = net * one.factor.value
    contraction = product.size
    expected = facts.normalise(contraction).power(-HALF)
    ratio = facts.normalise(net) / expected
    site = AttentionSite(
        record, query, key, product, contraction, net, contraction.power(-HALF), ratio, tuple(placed), "unknown", path=path_text(record)
    )
    _decide(site, q, k, carrier)
    return site


def _is_right(ratio: Monomial) -> bool:
    """1, or log2(e) before an exponential to the base 2; kernels write it with the digits of float32."""
    return ratio.is_one or (ratio.is_number and abs(ratio.coefficient - LOG2_E) < 1e-6)


def _summed_sizes(site: AttentionSite) -> list[Monomial]:
    """The size of what is summed over, as each operand has it whose axes are known."""
    if site.product is None:
        return []
    return [multiplied(axis.size for axis in axes) for axes in (site.product.left_axes, site.product.right_axes) if axes]


def _root_of_an_operand(site: AttentionSite) -> bool:
    """Whether the scale is the root of the summed axis as one of the operands has it: the product runs, so the other has it, too."""
    scale = site.scale
    return scale is not None and any(
        size.powers and _is_right(site.facts.normalise(scale / size.power(-HALF))) for size in _summed_sizes(site)
    )


def _is_open_cut(site: AttentionSite) -> bool:
    """Whether the size that is summed over is that of a cut, of a tensor of which only so many axes are known as are cut."""
    product, facts = site.product, site.facts
    assert product is not None
    summed = (*product.left_axes, *product.right_axes)
    cuts = [axis for axis in summed if any(atom.key.startswith(OPEN_CUT) for atom in axis.atoms)]
    seen = any(not vague(axis.size) for axis in summed if axis not in cuts)
    return not seen and any(facts.equal(axis.size, product.size) for axis in cuts)


def _other_size(site: AttentionSite) -> Monomial | None:
    """The size of the summed axes in an operand that gives them another one than the contraction has; such a product cannot run.

    `d` against `d / h` is one: it could only be equal with one head. Two names may well hold the same number.
    """
    assert site.contraction is not None
    for size in _summed_sizes(site):
        ratio = site.facts.normalise(size / site.contraction)
        certain = all(symbol.kind in (PARAMETER, CONFIG) for symbol in ratio.symbols)
        if certain and not ratio.is_one and len({exponent > 0 for _, exponent in ratio.powers}) <= 1:
            return size
    return None


def path_text(record: SiteRecord) -> str | None:
    """The conditions of a path, readable: `self.scale is set, not fused`."""
    parts = []
    known = {text.rpartition(" == ")[0] for text, truth in record.path if truth and " == " in text}
    for text, truth in sorted(record.path):
        if not truth and text.rpartition(" == ")[0] in known:
            continue  # it is another word
        shown = condition_text(text)
        if len(shown) > 60:
            shown = shown[:57] + "…"
        parts.append(shown if truth else f"not ({shown})" if " " in shown else f"not {shown}")
    return ", ".join(dict.fromkeys(parts)) or None


def _free(symbol: Symbol, record: SiteRecord) -> bool:
    """A symbol that acts as a factor of its own: a parameter or setting that no axis has as its size."""
    if symbol.kind == SUM:
        inner = [one for term in symbol.terms for one in term.symbols]
        return bool(inner) and all(_free(one, record) for one in inner)
    return symbol.kind in (PARAMETER, CONFIG) and symbol.key not in record.dims


def _without(value: Monomial, symbols: set[Symbol]) -> Monomial:
    return Monomial(value.coefficient, tuple(item for item in value.powers if item[0] not in symbols))


def _decide(site: AttentionSite, q: Operand, k: Operand, carrier: Tensor) -> None:
    record, ratio = site.record, site.ratio
    assert ratio is not None and site.scale is not None and site.contraction is not None
    if not math.isfinite(ratio.coefficient):
        _set(site, "unknown", "a size or factor is no number")
        return
    if _is_right(ratio) or _root_of_an_operand(site):
        _set(site, "correct", None)
        return
    if site.contraction.is_number and site.contraction.coefficient <= _FEW and site.scale.powers:
        _set(site, "unknown", f"the axis that is seen to be summed over has {site.contraction} entries, which are no features")
        return
    if len(site.contraction.powers) == 1 and counts_heads(site.contraction.symbols[0].name) and site.scale.powers:
        _set(site, "unknown", f"the axis that is seen to be summed over counts heads: {site.contraction}")
        return
    if _is_open_cut(site):
        _set(site, "unknown", "what is cut of a tensor whose axes are not known may be another axis than that of the features")
        return
    uncertain = carrier.uncertain or q.tensor.uncertain or k.tensor.uncertain or q.main.uncertain or k.main.uncertain
    if uncertain:
        _set(site, "unknown", uncertain)
        return
    if (other := _other_size(site)) is not None:
        _set(site, "unknown", f"query and key do not have the size that is summed in common: {site.contraction} and {other}")
        return
    for operand in (q, k):
        content = operand.main.content
        if isinstance(content, Concat):
            _set(site, "unknown", "parts with different scales are joined along the features")
            return
    learned = {symbol for symbol in ratio.symbols if symbol.kind == LEARNED}
    names = ", ".join(sorted(symbol.name for symbol in learned))
    if learned and _without(ratio, learned).is_one:
        _set(site, "correct", f"with a further learned factor: {names}")
        return
    normed = [q.tensor.normalised, k.tensor.normalised]
    normed = normed if all(normed) else [q.main.normalised, k.main.normalised]
    if all(normed):
        if not all(UNIT_VARIANCE.search(how or "") for how in normed) or not _another_width(site, learned):
            _set(site, "intended", f"query and key are normalised ({normed[0]}): the scale is a temperature")
        return
    if learned:
        _set(site, "intended", f"a learned temperature: {names}")
        return
    norms = [name for name in carrier.nonlinear if "norm" in name.lower()]
    if norms:
        _set(site, "intended", f"the logits are normalised ({norms[0]})")
        return
    if carrier.nonlinear:
        caps = [name for name in carrier.nonlinear if name in ("tanh", "clamp", "clip")]
        if len(caps) != len(carrier.nonlinear):
            _set(site, "unknown", f"the logits pass through {carrier.nonlinear[0]}")
            return
        if caps and "tanh" in caps and not (ratio.is_number or _pure(ratio, record)):
            _set(site, "unknown", "the logits are capped")
            return
    if record.kernel is not None and q.tensor.normalised:
        _set(site, "intended", "the query is normalised")
        return
    contents = q.main.content, k.main.content
    if any(isinstance(one, Elementwise) for one in contents):
        _set(site, "unknown", "query or key is multiplied element by element")
        return
    if _absorbed(site, q, k):
        _set(site, "intended", "the key projection is absorbed into the query: the root is of the width that it had")
        return
    if _of_all_heads(site):
        _fault(site, "wrong-dim-scale")
        return
    if (kind := _power_of_head_size(site)) is not None:
        _fault(site, kind, _factor_with(site, set(site.contraction.symbols)))
        return
    opaque = [symbol for symbol in ratio.symbols if symbol.kind == OPAQUE]
    reasons = [one.reason for one in contents if isinstance(one, Leaf) and one.kind == "opaque" and one.reason]
    sizes = record.facts.normalise(site.contraction).symbols
    free = {symbol for symbol in ratio.symbols if _free(symbol, record) and symbol not in sizes}
    if free and not opaque:
        rest = _without(ratio, free)
        _configured(site, free, rest)
        return
    if opaque and not reasons and not site.scale.is_one and of_width_alone(site):
        _faulty(site)  # whatever that width is, this power of it is another one
        return
    if opaque:
        factor_text = ", ".join(symbol.name for symbol in opaque)
        _set(site, "unknown", reasons[0] if reasons else f"`{factor_text}` is not followed")
        return
    if site.scale.is_one or not site.factors:
        if _precedence(site):
            return
        _missing(site, q, k, reasons)
        return
    borrowed = any(symbol.kind in (AXIS, OPAQUE) for symbol in site.contraction.symbols)
    if reasons and borrowed and not set(ratio.symbols) <= set(site.contraction.symbols):
        _set(site, "unknown", reasons[0])  # what a tensor that is not followed is viewed as says nothing certain of its width
        return
    if reasons and not _pure(ratio, record):
        _set(site, "unknown", reasons[0])
        return
    if ratio.is_number:
        _numeric(site)
        return
    if (balance := _balance(site)) is not None:
        _set(site, "correct", f"with a further factor of two widths: {balance}")
        return
    if not conclusive(site):
        _set(site, "unknown", f"whether {site.ratio} is 1 cannot be derived: the axis that is summed over is not followed")
        return
    _faulty(site)


def _another_width(site: AttentionSite, learned: set[Symbol]) -> bool:
    """Names the fault of a scale by a width, where query and key have features of unit variance: q·k has variance d_k as ever.

    Without a scale, or with a number, the gains of the norms may set the temperature; the root of another width sets none.
    """
    assert site.scale is not None and site.contraction is not None
    found = site.scale, site.ratio
    width = site.facts.normalise(site.contraction)
    net = site.facts.normalise(site.scale)
    apart = learned | {symbol for symbol in net.symbols if _free(symbol, site.record)}
    site.scale = _without(net, apart - set(width.symbols))
    site.ratio = site.scale * width.power(HALF)
    plain = site.ratio.powers and site.ratio.coefficient == 1  # a number beside it may be the temperature
    if plain and set(width.symbols) & set(site.scale.symbols) and conclusive(site):
        _faulty(site)
    if site.verdict != "faulty" or site.kind == "unrooted-scale":  # 1 / d keeps the logits of such features below 1
        _set(site, "unknown", None)
        site.scale, site.ratio, site.culprit = *found, None
    return site.verdict == "faulty"


def _absorbed(site: AttentionSite, q: Operand, k: Operand) -> bool:
    """Latent attention: keys and values are one latent, and the query went through the keys' projection, from the width under the root."""
    record, asked, held = site.record, q.main.content, k.main.content
    given = record.value.content if record.value is not None else None
    if not (isinstance(asked, Leaf) and isinstance(held, Leaf) and isinstance(given, Leaf) and asked.key != held.key):
        return False
    if given.key != held.key:
        return _values_of_latent(site, held, given)
    before = asked.source
    if before is None or site.scale is None or not isinstance(before.content, Leaf):
        return False
    axes = before.shape.axes
    heads = 4  # axes of a query whose heads are split; an input that is handed in without them had no keys to be multiplied with before
    if before.content.kind not in ("projection", "opaque") and not (before.content.kind == "argument" and len(axes) >= heads):
        return False
    return bool(axes) and site.facts.equal(site.scale, axes[-1].size.power(-HALF))


def _values_of_latent(site: AttentionSite, held: Leaf, given: Leaf) -> bool:
    """Whether the keys are one latent for all heads that the values are made of, and the root is of what a head's values have."""
    latent, value = given.source, site.record.value
    if (
        latent is None
        or value is None
        or not isinstance(latent.content, Leaf)
        or latent.content.key != held.key
        or held.kind != "projection"
    ):
        return False
    if not (latent.shape.axes and value.shape.axes) or site.contraction is None or site.scale is None:
        return False
    whole = site.facts.equal(latent.shape.axes[-1].size, site.contraction)
    return whole and site.facts.equal(site.scale, value.shape.axes[-1].size.power(-HALF))


def _of_all_heads(site: AttentionSite) -> bool:
    """Whether the number that is one too many under the root is the number of heads, by its name, wherever it comes from.

    Where the code sets that number is not seen; that it counts heads, and is no temperature, is what its name says.
    """
    ratio = site.ratio
    if ratio is None or len(ratio.powers) != 1 or ratio.coefficient != 1:
        return False
    (symbol, exponent) = ratio.powers[0]
    applied = site.scale is not None and symbol in site.scale.symbols
    return applied and exponent == -HALF and symbol.kind in (PARAMETER, CONFIG, OPAQUE) and counts_heads(symbol.name)


def _power_of_head_size(site: AttentionSite) -> str | None:
    """The fault of a scale that is another power than -1/2 of what is called the size of a head, where no axis is tied to that name.

    Whatever the summed axis is, the root of the head size belongs below the line; other factors beside it may be temperatures.
    """
    assert site.ratio is not None and site.scale is not None and site.contraction is not None
    sizes = set(site.facts.normalise(site.contraction).symbols)
    net = site.facts.normalise(site.scale).powers
    found = {symbol: exponent for symbol, exponent in net if symbol.kind in (PARAMETER, CONFIG) or _sum_of_head_sizes(symbol)}
    heads = [symbol for symbol in found if counts_heads(symbol.name)]
    named = [symbol for symbol in found if names_head_size(symbol.name) or _sum_of_head_sizes(symbol)]
    if len(named) == 1 and not heads:
        size = Monomial.of(named[0])
    elif not named and len(heads) == 1 and len(found) == 2:  # `dim // num_heads`
        size = Monomial.of(next(symbol for symbol in found if symbol not in heads)) / Monomial.of(heads[0])
    else:
        return None
    exponents = {found[symbol] * exponent for symbol, exponent in size.powers}
    if len(exponents) != 1 or sizes & set(size.symbols):
        return None
    exponent = exponents.pop()
    kind = "inverted-scale" if exponent == HALF else "unrooted-scale" if exponent == -1 else None
    if kind is not None:
        site.contraction = size
        site.expected = site.contraction.power(-HALF)
        site.ratio = site.facts.normalise(site.scale) / site.expected
    return kind


def _sum_of_head_sizes(symbol: Symbol) -> bool:
    """Latent attention: the features of a head with and without positions, summed."""
    parts = [part for term in symbol.terms for part in term.symbols]
    return bool(parts) and all(part.kind in (PARAMETER, CONFIG) and names_part_of_head(part.name) for part in parts)


def _balance(site: AttentionSite) -> Monomial | None:
    """A factor made of the quotient of two widths beside d_k^-1/2: it evens out the variance of low-rank projections."""
    ratio = site.ratio
    assert ratio is not None and site.expected is not None and site.contraction is not None
    exponents = [exponent for _, exponent in ratio.powers]
    if sum(exponents) != 0 or len(exponents) < 2 or set(ratio.symbols) & set(site.facts.normalise(site.contraction).symbols):
        return None
    root = any(site.facts.equal(placed.factor.value, site.expected) for placed in site.factors)
    apart = any(site.facts.equal(placed.factor.value, ratio) for placed in site.factors)
    return ratio if root and apart else None


def _pure(ratio: Monomial, record: SiteRecord) -> bool:
    return all(symbol.kind in (PARAMETER, CONFIG, AXIS) for symbol in ratio.symbols)


def _set(site: AttentionSite, verdict: str, reason: str | None, kind: str | None = None) -> None:
    site.verdict, site.reason, site.kind = verdict, reason, kind


def _configured(site: AttentionSite, free: set[Symbol], rest: Monomial) -> None:
    """A factor that is a parameter or setting: right beside d_k^-1/2, a configured temperature without it."""
    record = site.record
    names = ", ".join(sorted(symbol.name for symbol in free))
    defaults = {symbol: record.defaults.get(symbol.key) for symbol in free}
    if rest.is_one:
        _set(site, "correct", f"with a further configured factor: {names}")
        return
    if _default_beside_root(site, rest):
        _fault(site, "double-scale")
        return
    if site.contraction is not None and rest.powers and rest.equals(site.facts.normalise(site.contraction)):
        _fault(site, "inverted-scale")  # multiplied by the root: no temperature is meant to grow with the width
        return
    number = ONE
    known = True
    for symbol in free:
        default = defaults[symbol]
        if isinstance(default, Scalar) and default.value.is_number:
            exponent = site.ratio.exponent_of(symbol) if site.ratio is not None else Fraction(1)
            number = number * default.value.power(exponent)
        else:
            known = False
    constructor = all(".__init__" in symbol.key or _is_class_key(symbol, record) for symbol in free)
    if known and constructor and _constant_for_heads(site, rest * number, number):
        _fault(site, "constant-scale", _factor_with(site, free))
        return
    if any(symbol.kind == CONFIG for symbol in free) or constructor:
        _set(site, "intended", f"a configured factor: {names}")
        return
    _set(site, "unknown", f"the scale is the parameter `{names}`: no caller in the tree gives it")


def _default_beside_root(site: AttentionSite, rest: Monomial) -> bool:
    """A kernel that scales by itself, after a query that carries d_k^-1/2 besides a configured factor."""
    if site.contraction is None or not any(placed.factor.via == "default" for placed in site.factors):
        return False
    return rest.equals(site.facts.normalise(site.contraction).power(-HALF))


def _is_class_key(symbol: Symbol, record: SiteRecord) -> bool:
    owner = record.owner
    if owner is None:
        return False
    return any(
        symbol.key.startswith(f"{record.scope.path}:{name}.")
        for name in (owner.qualname, *(getattr(b, "qualname", "") for b in getattr(owner, "bases", ())))
    )


def _factor_with(site: AttentionSite, symbols: set[Symbol]) -> PlacedFactor | None:
    for placed in site.factors:
        if any(symbol in symbols for symbol in placed.factor.value.symbols):
            return placed
    return site.factors[-1] if site.factors else None


def _constant_for_heads(site: AttentionSite, ratio: Monomial, constant: Monomial) -> bool:
    """A literal such as 1/8 that is d^-1/2 of one head size, where the head size can be another."""
    if site.contraction is None or not constant.is_number or not constant.coefficient > 0:  # nor where it is not a number
        return False
    inverse = 1.0 / constant.coefficient**2
    whole = round(inverse)
    if whole < 4 or abs(inverse - whole) > 1e-3 * whole or whole % 4:
        return False
    contraction = site.facts.normalise(site.contraction)
    if contraction.is_number:
        return abs(contraction.coefficient - whole) > 1e-6 * whole
    inner = [one for symbol in contraction.symbols for term in symbol.terms for one in term.symbols]
    return not any(symbol.kind in (AXIS, OPAQUE) for symbol in (*contraction.symbols, *inner))


def _numeric(site: AttentionSite) -> None:
    """The ratio is a plain number: a power that does not mean what it reads, a constant for another size, or a further factor."""
    ratio, net = site.ratio, site.scale
    assert ratio is not None and net is not None
    if _precedence(site):
        return
    contraction = site.facts.normalise(site.contraction) if site.contraction is not None else ONE
    if contraction.is_number and net.is_number and contraction.coefficient > 0 and 0 < abs(net.coefficient) < math.inf:
        d = contraction.coefficient
        for power, kind in ((-1.0, "unrooted-scale"), (0.5, "inverted-scale"), (1.0, "inverted-scale")):
            if abs(net.coefficient - d**power) < 1e-9 * max(1.0, d**power):
                if kind == "unrooted-scale" and _double(site):
                    return
                _fault(site, kind)
                return
        if _double(site):
            return
        if net.is_one:
            _missing(site, operand_of(site.query), operand_of(site.key), [])  # type: ignore[arg-type]
            return
        if _constant_for_heads(site, ratio, net) and all(p.factor.value.is_number for p in site.factors):
            literal = _literal_factor(site)
            if literal is not None and _tried_out(site, literal):
                _set(site, "intended", f"arrays that a kernel is tried out with, and a number for its scale: {net}")
                return
            if literal is not None:
                _fault(site, "constant-scale", literal)
                return
        if not _literal_factor(site) and (_all_heads(site, d, net) or 1.0 / net.coefficient**2 == round(1.0 / net.coefficient**2)):
            _fault(site, "wrong-dim-scale")
            return
    _set(site, "intended", f"d_k^-1/2 with a further constant factor {ratio}")


def _tried_out(site: AttentionSite, literal: PlacedFactor) -> bool:
    """Whether a kernel is given arrays that no layer made, and a plain number: a demonstration, for which any number does."""
    given = site.record.kernel is not None and site.query is not None and site.key is not None
    made = literal.factor.definition
    plain = made is not None and isinstance(made.node, (cst.Float, cst.Integer))  # `128**-0.5` is the root of a size
    return given and plain and {_leaf_kind(side) for side in (site.query, site.key) if side is not None} == {"array"}


def _all_heads(site: AttentionSite, d: float, net: Monomial) -> bool:
    """Whether the root is of the head size times the size of another axis of the query: of the width of all heads."""
    sizes = {size.coefficient for size in site.operand_sizes if size.is_number}
    return any(size > 1 and abs(net.coefficient**-2 - d * size) < 1e-6 * d * size for size in sizes)


def _literal_factor(site: AttentionSite) -> PlacedFactor | None:
    """The factor that is a bare number in the source."""
    for placed in site.factors:
        definition = placed.factor.definition
        if definition is not None and isinstance(definition.node, (cst.Float, cst.Integer)) and not placed.factor.value.is_one:
            return placed
        if definition is not None and isinstance(definition.node, cst.BinaryOperation) and _only_numbers(definition.node):
            return placed
    return None


def _only_numbers(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.BinaryOperation):
        return _only_numbers(node.left) and _only_numbers(node.right)
    if isinstance(node, cst.UnaryOperation):
        return _only_numbers(node.expression)
    return isinstance(node, (cst.Float, cst.Integer))


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
    if OPAQUE in kinds or LEARNED in kinds:
        return False
    if _one_head_twice(ratio):
        return False
    if SUM in kinds:
        inner = [symbol for symbol in ratio.symbols if symbol.kind == SUM]
        if any(term_symbol.kind in (OPAQUE, AXIS, LEARNED) for symbol in inner for term in symbol.terms for term_symbol in term.symbols):
            return len(ratio.symbols) == 1 and ratio.symbols[0] in site.facts.normalise(site.contraction).symbols
        if len(inner) > 1:
            return False  # two sums of parts: a product over absorbed projections
        if any(symbol.kind == CONFIG for symbol in ratio.symbols):
            return False  # a setting may be defined as just that sum: qk_head_dim = qk_nope_head_dim + qk_rope_head_dim
    contraction = site.facts.normalise(site.contraction)
    if AXIS not in kinds:
        return True
    # a power of the contraction itself, or of a part that a setting makes any number; an axis alone may be what it has to be
    if of_width_alone(site) or (set(ratio.symbols) <= set(contraction.symbols) and kinds & {PARAMETER, CONFIG}):
        return True
    axes = [symbol for symbol in ratio.symbols if symbol.kind == AXIS]
    in_contraction = set(contraction.symbols)
    for symbol in axes:
        if symbol in in_contraction:
            others = [other for other in ratio.symbols if other != symbol]
            if not others or not all(_other_axis_of_same(symbol, other) for other in others):
                return False
        elif not _is_position(symbol, site):
            return False
    return True


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
    for tensor in (product.left, product.right):
        for axis in tensor.shape.axes:
            if axis.key not in contracted and any(found == symbol for found in site.facts.normalise(axis.size).symbols):
                return True
    return False


def _missing(site: AttentionSite, q: Operand, k: Operand, reasons: list[str]) -> None:
    """Net scale 1: a fault where query and key are seen being made for this attention, and nothing says otherwise."""
    record = site.record
    kinds = (_leaf_kind(q.tensor), _leaf_kind(k.tensor))
    if record.after:
        for factor, _ in record.after:
            if _is_root_of(site, factor.value):
                _fault(site, "scale-after-softmax", PlacedFactor(factor, "weights"))
                return
    if any(_undoes_average(site, factor.value) for factor, _ in record.after):
        _set(site, "intended", "the output is multiplied by the root of a number of values, as in ConvS2S, which scales no logits")
        return
    meant = intent.meant(site, q.main, k.main, kinds)
    if meant is not None:
        _set(site, "intended", meant)
        return
    if set(kinds) == {"array"} and _is_tried_by_main(record):
        _set(site, "unknown", "no scale is applied here, and the arrays that the file tries it with may stand for a scaled query")
        return
    if set(kinds) <= {"array", "projection"}:
        _fault(site, "missing-scale")
        return
    if reasons:
        _set(site, "unknown", reasons[0])
        return
    if "argument" in kinds and set(kinds) <= {"argument", "projection"} and _split_here(site) and record.kernel is None:
        _fault(site, "missing-scale")
        return
    _set(site, "unknown", "no scale is applied here; query and key are arguments, so it may be left to the caller")


def _undoes_average(site: AttentionSite, value: Monomial) -> bool:
    """Whether an output is multiplied by the root of some length, in numbers or as the axis of a tensor."""
    value = site.facts.normalise(value)
    return bool(value.powers) and all(exponent == HALF and symbol.kind in (AXIS, OPAQUE) for symbol, exponent in value.powers)


_MAIN = re.compile(r"""__name__\s*==\s*["']__main__["']""")


def _is_tried_by_main(record: SiteRecord) -> bool:
    """Whether a function is called under `if __name__ == "__main__"`: a trial of what others import."""
    return bool(record.call_sites) and any(truth and _MAIN.search(condition_text(text)) for text, truth in record.path)


def _split_here(site: AttentionSite) -> bool:
    """Whether heads are split from a whole width in this function: the query and key are made for this attention."""
    contraction = site.contraction
    if contraction is None:
        return False
    kinds = {symbol.kind for symbol in contraction.symbols}
    signs = {exponent for _, exponent in contraction.powers}
    # `reshape(b * heads, -1, d_k)` may be given heads that are split already
    return kinds <= {PARAMETER, CONFIG} and signs == {Fraction(1), Fraction(-1)} and site.splits_heads


def _is_root_of(site: AttentionSite, value: Monomial) -> bool:
    """d_k^-1/2, or the root of any size below the line: a scale that came too late. What grows is none: ConvS2S undoes an average."""
    value = site.facts.normalise(value)
    return any(exponent == -HALF for _, exponent in value.powers) or (
        site.contraction is not None
        and site.facts.normalise(site.contraction).is_number
        and value.is_number
        and not value.is_one
        and abs(value.coefficient - site.facts.normalise(site.contraction).coefficient ** -0.5) < 1e-9
    )


def _fault(site: AttentionSite, kind: str, culprit: PlacedFactor | None = None) -> None:
    _set(site, "faulty", None, kind)
    site.culprit = culprit or site.culprit or _culprit(site)
    told = intent.explained(site.culprit.factor) if site.culprit is not None else None
    number = site.scale is not None and site.scale.is_number
    if (why := told or (intent.annealed(site.record) if number else None)) is not None:
        _set(site, "intended", why)
        site.culprit = None


def _culprit(site: AttentionSite) -> PlacedFactor | None:
    """The factor at fault: the last one that is no plain one."""
    own = [placed for placed in site.factors if not placed.factor.value.is_one and placed.factor.via != "default"]
    return own[-1] if own else (site.factors[-1] if site.factors else None)


def _faulty(site: AttentionSite) -> None:
    """Name the fault of a proved ratio other than 1."""
    ratio = site.ratio
    assert ratio is not None and site.contraction is not None and site.scale is not None
    if _precedence(site):
        return
    contraction = site.facts.normalise(site.contraction)
    if _double(site):
        return
    net = site.facts.normalise(site.scale)
    power = power_of(net, contraction)
    if power is not None:
        if power > 0:
            _fault(site, "inverted-scale")
        elif power == -1 and intent.non_local(site, operand_of(site.query).main, operand_of(site.key).main):  # type: ignore[arg-type]
            _set(site, "intended", "convolutions over a feature map, whose product is averaged")
        else:
            _fault(site, "unrooted-scale")
        return
    if net.is_number:
        literal = _literal_factor(site)
        if _constant_for_heads(site, ratio, net):
            width = literal is None and site.scale.powers  # an axis, which is a number here
            _fault(site, "wrong-dim-scale" if width else "constant-scale", literal)
        else:
            _set(site, "intended", f"a constant factor {net}")
        return
    if all(exponent > 0 for _, exponent in net.powers) and any(set(net.symbols) & set(contraction.symbols)):
        _fault(site, "inverted-scale")
        return
    if (
        any(symbol in net.symbols for symbol in contraction.symbols)
        and all(exponent <= -1 for _, exponent in net.powers)
        and not net.equals(contraction.power(-HALF))
    ):
        squared = net.root()
        if squared.equals(contraction.power(-HALF)):
            _fault(site, "unrooted-scale")
            return
    _fault(site, "wrong-dim-scale")


def _double(site: AttentionSite) -> bool:
    """Two factors of which one alone would be right."""
    facts = site.facts
    own = [placed for placed in site.factors if not facts.normalise(placed.factor.value).is_one]
    if len(own) < 2 or site.contraction is None or site.scale is None:
        return False
    expected = facts.normalise(site.contraction).power(-HALF)
    total = facts.normalise(site.scale)
    for placed in reversed(own):
        value = facts.normalise(placed.factor.value)
        power = power_of(value, facts.normalise(site.contraction))
        shrinks = (
            value.coefficient < 1
            if value.is_number
            else (power is not None and power < 0) or all(exponent < 0 for _, exponent in value.powers)
        )
        rest = total / value
        twice = rest / expected, value / expected  # each is d_k^-1/2 but for a number
        if not shrinks or not (rest.equals(expected) or (expected.powers and all(one.is_number for one in twice))):
            continue
        if value.is_number and expected.is_number and not value.equals(expected):
            continue  # a right scale beside a constant
        if placed.factor.via == "default":  # the kernel scales by itself: what comes before is one too many
            other = next((one for one in reversed(own) if one is not placed), placed)
            site.other = other
        else:
            site.other = next((one for one in own if one is not placed), None)
        site.culprit = placed
        _set(site, "faulty", None, "double-scale")
        return True
    return False


# --- expressions that are another power than they read


def _precedence(site: AttentionSite) -> bool:
    for placed in site.factors:
        factor = placed.factor
        for origin in (factor.definition, factor.operand, factor.application):
            if (
                origin is not None
                and misread(origin.node, arguments=origin is not factor.application) is not None
                and _blamed(site, placed)
            ):
                site.culprit = placed
                _set(site, "faulty", None, "scale-precedence")
                return True
    return False


def _blamed(site: AttentionSite, placed: PlacedFactor) -> bool:
    return site.ratio is not None and not site.ratio.is_one
