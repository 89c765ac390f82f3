"""The judge: from a record to a site with its verdict, by the ratio of its net scale to d_k^-1/2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attnlint.domain.algebra import ONE, Monomial, add
from attnlint.domain.ancestry import ancestors
from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Factor, Leaf, Product, Tensor, condition_text, scale_of
from attnlint.evaluate.tensors import others_of
from attnlint.sites.operands import Operand, operand_of
from attnlint.sites.recognise import products_in, sides, untraced
from attnlint.sites.scales import form_of, of_width_alone
from attnlint.sites.sites import HALF, AttentionSite, PlacedFactor, Test, Verdict, correct, intended, unknown
from attnlint.sites.verdicts import AFTER_RULES, BEFORE_RULES, FIRST, first
from attnlint.sites.verdicts.meant import normalised, width_before
from attnlint.syntax import nodes as cst

_PREFERRED = {"correct": 0, "intended": 1, "faulty": 2, "unknown": 3}
_NEGATED = Monomial.number(-1)


def judge(record: SiteRecord, faults: Sequence[Test]) -> AttentionSite | None:
    """The judged site, or None where the softmax is no attention. `faults` are the tests of the scale rules, in their order."""
    candidates = products_in(record)
    if not candidates:
        return untraced(record)
    sites = [_judge_product(record, carrier, product, faults) for carrier, product in candidates]
    best = _of_sum(sites)
    assert record.logits is not None
    best = replace(best, terms=tuple((term, scale_of(term.factors)) for term in others_of(record.logits)))
    if best.verdict != "correct":
        return best
    beside = first(replace(best, form="right"), faults)  # the scale is right, and what else gets it may not be
    return best if beside is None else best.judged(beside)


def _of_sum(sites: list[AttentionSite]) -> AttentionSite:
    """The site that stands for a sum of products, each judged by itself."""
    best = min(sites, key=lambda site: _PREFERRED[site.verdict])
    if len(sites) == 1:
        return best
    width = _common_width(sites) if best.verdict not in ("correct", "intended") else None
    if width is not None and best.scale is not None and best.facts.equal(best.scale, width.power(-HALF)):
        one_product = replace(correct("the products are scaled as one over all their features"), contraction=width)
        return best.judged(one_product)
    if best.verdict != "faulty":
        return best
    if best.ratio is not None and best.ratio.equals(Monomial.number(len(sites)).power(-HALF)):
        return best.judged(intended(f"the sum of {len(sites)} products is scaled as one"))
    if any(site.verdict == "unknown" for site in sites) and not of_width_alone(best):
        return best.judged(unknown("one of the products of the sum is not followed"))
    if width is not None and best.scale is not None and any(width_before(site) is not None for site in sites):
        expected = width.power(-HALF)
        return replace(best, contraction=width, expected=expected, ratio=best.facts.normalise(best.scale) / best.facts.normalise(expected))
    return best


def _common_width(sites: list[AttentionSite]) -> Monomial | None:
    """The features of all products of a sum together, where they have one scale: q·k + p·r is [q, p]·[k, r]."""
    first_site = sites[0]
    scale = first_site.scale
    if scale is None or any(site.scale is None or not first_site.facts.equal(site.scale, scale) for site in sites):
        return None
    widths = [width_before(site) or site.contraction for site in sites]
    return add(*(first_site.facts.normalise(width) for width in widths if width is not None))


def _judge_product(record: SiteRecord, carrier: Tensor, product: Product, faults: Sequence[Test]) -> AttentionSite:
    site = _measured(record, carrier, product)
    return site.judged(_verdict(site, faults))


def _beyond_making(operand: Operand) -> list[Factor]:
    """The factors of an operand without the plain number that an array is multiplied with where it is made: small inputs, no scale."""
    content, made = operand.main.content, operand.main.history[:1]
    if not isinstance(content, Leaf) or content.kind != "array" or not made:
        return list(operand.factors)
    return [
        factor
        for factor in operand.factors
        if factor.application is None
        or not factor.value.is_number
        or factor.operand is None
        or not isinstance(factor.operand.node, (cst.Float, cst.Integer))
        or not any(node is factor.application.node for node in ancestors(made[0]))
    ]


def _measured(record: SiteRecord, carrier: Tensor, product: Product) -> AttentionSite:
    """The site of a product with its contraction, net scale and ratio, not yet judged."""
    query, key = sides(record, product)
    placed = [PlacedFactor(factor, "query") for factor in _beyond_making(operand_of(query))]
    placed += [PlacedFactor(factor, "key") for factor in _beyond_making(operand_of(key))]
    placed += [PlacedFactor(factor, "kernel" if record.kernel else "logits") for factor in carrier.factors]
    kept = [one for one in placed if not one.factor.value.equals(_NEGATED)]
    net = ONE
    for one in kept:
        net = net * one.factor.value
    if net.coefficient < 0 and (len(placed) - len(kept)) % 2:
        net = net * _NEGATED  # negated twice
    facts = record.facts
    return AttentionSite(
        record,
        query,
        key,
        product,
        contraction=product.size,
        scale=net,
        expected=product.size.power(-HALF),
        ratio=facts.normalise(net) / facts.normalise(product.size).power(-HALF),
        factors=tuple(kept),
        path=path_text(record),
        carrier=carrier,
        evidence=_taken_by_name(record, (query, key, carrier), product, net),
        via=record.calls[-1] if record.calls and not record.standalone else None,
    )


def _taken_by_name(record: SiteRecord, tensors: Sequence[Tensor], product: Product, net: Monomial) -> tuple[str, ...]:
    """What the evaluation took by name on the way of query, key and logits to the softmax, and of what the scale is made of."""
    told = record.by_name
    if not told:
        return ()
    origins = [origin for tensor in tensors for part in (tensor, operand_of(tensor).main) for origin in part.history]
    origins += [origin for origin in (product.origin, record.softmax) if origin is not None]
    keys: list[int | str] = [id(origin.node) for origin in origins]
    keys += [symbol.key for symbol in (*net.symbols, *product.size.symbols)]
    return tuple(dict.fromkeys(told[key] for key in keys if key in told))


def _verdict(site: AttentionSite, faults: Sequence[Test]) -> Verdict:
    """What the first test says that answers: those of the engine, then those of the scale rules, then what is left."""
    settled = first(site, FIRST) or normalised(site, faults)
    if settled is not None:
        return settled
    site = replace(site, form=form_of(site))
    return first(site, BEFORE_RULES) or first(site, faults) or first(site, AFTER_RULES) or unknown("no rule names the fault of its scale")


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
