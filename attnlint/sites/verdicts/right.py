"""Verdicts of sites that are right, and of those that are but for a factor of their own."""

from __future__ import annotations

from attnlint.domain.algebra import LEARNED, Monomial
from attnlint.sites.scales import configured_symbols, is_right, summed_sizes, without
from attnlint.sites.sites import HALF, AttentionSite, Verdict, correct


def right(site: AttentionSite) -> Verdict | None:
    """The net scale is d_k^-1/2."""
    assert site.ratio is not None
    return correct() if is_right(site.ratio) or _root_of_an_operand(site) else None


def _root_of_an_operand(site: AttentionSite) -> bool:
    """Whether the scale is the root of the summed axis as one of the operands has it: the product runs, so the other has it, too."""
    scale = site.scale
    return scale is not None and any(
        size.powers and is_right(site.facts.normalise(scale / size.power(-HALF))) for size in summed_sizes(site)
    )


def learned_beside_root(site: AttentionSite) -> Verdict | None:
    """d_k^-1/2 with a trained factor."""
    assert site.ratio is not None
    learned = {symbol for symbol in site.ratio.symbols if symbol.kind == LEARNED}
    if learned and without(site.ratio, learned).is_one:
        return correct(f"with a further learned factor: {', '.join(sorted(symbol.name for symbol in learned))}")
    return None


def configured_beside_root(site: AttentionSite) -> Verdict | None:
    """d_k^-1/2 with a parameter or setting."""
    if site.form != "configured" or site.ratio is None:
        return None
    free = configured_symbols(site)
    if not without(site.ratio, free).is_one:
        return None
    return correct(f"with a further configured factor: {', '.join(sorted(symbol.name for symbol in free))}")


def balanced(site: AttentionSite) -> Verdict | None:
    """d_k^-1/2 with the quotient of two widths, which evens out the variance of low-rank projections."""
    if site.form != "symbols" or (balance := _balance(site)) is None:
        return None
    return correct(f"with a further factor of two widths: {balance}")


def _balance(site: AttentionSite) -> Monomial | None:
    ratio = site.ratio
    assert ratio is not None and site.expected is not None
    exponents = [exponent for _, exponent in ratio.powers]
    if sum(exponents) != 0 or len(exponents) < 2 or set(ratio.symbols) & set(site.width.symbols):
        return None
    root = any(site.facts.equal(placed.factor.value, site.expected) for placed in site.factors)
    apart = any(site.facts.equal(placed.factor.value, ratio) for placed in site.factors)
    return ratio if root and apart else None
