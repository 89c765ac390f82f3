"""Verdicts of sites of which not enough is followed: each says what is missing."""

from __future__ import annotations

import math
from dataclasses import replace

from attnlint.domain.algebra import AXIS, CONFIG, OPAQUE, PARAMETER
from attnlint.domain.axes import OPEN_CUT, vague
from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Concat, Elementwise, condition_text
from attnlint.evidence.signs import UNDER_MAIN, counts_heads
from attnlint.sites.operands import kind_of
from attnlint.sites.recognise import FEW
from attnlint.sites.scales import conclusive, is_pure, lost_reasons, misread_factor, opaque_symbols, scaled_after, summed_sizes
from attnlint.sites.sites import AttentionSite, Because, Verdict, unknown

_CAPS = ("tanh", "clamp", "clip")


def no_number(site: AttentionSite) -> Verdict | None:
    assert site.ratio is not None
    return None if math.isfinite(site.ratio.coefficient) else unknown("a size or factor is no number")


def too_few_entries(site: AttentionSite) -> Verdict | None:
    """What is seen to be summed over is shorter than any head is wide."""
    assert site.contraction is not None and site.scale is not None
    if site.contraction.is_number and site.contraction.coefficient <= FEW and site.scale.powers:
        return unknown(f"the axis that is seen to be summed over has {site.contraction} entries, which are no features")
    return None


def axis_of_heads(site: AttentionSite) -> Verdict | None:
    """What is seen to be summed over counts heads, by its name."""
    assert site.contraction is not None and site.scale is not None
    if len(site.contraction.powers) == 1 and counts_heads(site.contraction.symbols[0].name) and site.scale.powers:
        return unknown(f"the axis that is seen to be summed over counts heads: {site.contraction}")
    return None


def open_cut(site: AttentionSite) -> Verdict | None:
    """The size that is summed over is that of a cut, of a tensor of which only so many axes are known as are cut."""
    product = site.product
    assert product is not None
    summed = (*product.left_axes, *product.right_axes)
    cuts = [axis for axis in summed if any(atom.key.startswith(OPEN_CUT) for atom in axis.atoms)]
    seen = any(not vague(axis.size) for axis in summed if axis not in cuts)
    if seen or not any(site.facts.equal(axis.size, product.size) for axis in cuts):
        return None
    return unknown("what is cut of a tensor whose axes are not known may be another axis than that of the features")


def lost_factors(site: AttentionSite) -> Verdict | None:
    """A factor may have been lost on the way."""
    q, k = site.operands
    tensors = (site.carrier, q.tensor, k.tensor, q.main, k.main)
    reason = next((tensor.uncertain for tensor in tensors if tensor is not None and tensor.uncertain), None)
    return replace(unknown(reason), because=Because.LOST) if reason else None


def no_common_size(site: AttentionSite) -> Verdict | None:
    """Query and key give the summed axis sizes that are never equal; such a product cannot run.

    `d` against `d / h` is one: it could only be equal with one head. Two names may well hold the same number.
    """
    assert site.contraction is not None
    for size in summed_sizes(site):
        ratio = site.facts.normalise(size / site.contraction)
        certain = all(symbol.kind in (PARAMETER, CONFIG) for symbol in ratio.symbols)
        if certain and not ratio.is_one and len({exponent > 0 for _, exponent in ratio.powers}) <= 1:
            return unknown(f"query and key do not have the size that is summed in common: {site.contraction} and {size}")
    return None


def joined_features(site: AttentionSite) -> Verdict | None:
    if any(isinstance(operand.main.content, Concat) for operand in site.operands):
        return unknown("parts with different scales are joined along the features")
    return None


def nonlinear(site: AttentionSite) -> Verdict | None:
    """The logits pass through what is no cap, or a cap meets a scale that is none."""
    assert site.carrier is not None and site.ratio is not None
    through = site.carrier.nonlinear
    caps = [name for name in through if name in _CAPS]
    if len(caps) != len(through):
        return unknown(f"the logits pass through {through[0]}")
    if "tanh" in caps and not (site.ratio.is_number or is_pure(site.ratio)):
        return unknown("the logits are capped")
    return None


def modulated(site: AttentionSite) -> Verdict | None:
    if any(isinstance(operand.main.content, Elementwise) for operand in site.operands):
        return unknown("query or key is multiplied element by element")
    return None


def opaque_factor(site: AttentionSite) -> Verdict | None:
    if site.form != "opaque":
        return None
    reasons = lost_reasons(site)
    return unknown(reasons[0] if reasons else f"`{', '.join(symbol.name for symbol in opaque_symbols(site))}` is not followed")


def tried_by_main(site: AttentionSite) -> Verdict | None:
    """Arrays that the file tries a function with may stand for a query that is scaled."""
    if site.form != "unscaled" or misread_factor(site) is not None or scaled_after(site) is not None:
        return None
    made = {kind_of(operand.tensor) for operand in site.operands} == {"array"}
    if not made or not _is_tried_by_main(site.record):
        return None
    return unknown("no scale is applied here, and the arrays that the file tries it with may stand for a scaled query")


def _is_tried_by_main(record: SiteRecord) -> bool:
    """Whether a function is called under `if __name__ == "__main__"`: a trial of what others import."""
    return bool(record.call_sites) and any(truth and UNDER_MAIN.search(condition_text(text)) for text, truth in record.path)


def lost_operand(site: AttentionSite) -> Verdict | None:
    """What query or key holds is not followed, and the ratio may hang on it."""
    reasons = lost_reasons(site)
    if site.form not in ("number", "symbols") or not reasons:
        return None
    assert site.contraction is not None and site.ratio is not None
    # what a tensor that is not followed is viewed as says nothing certain of its width
    borrowed = any(symbol.kind in (AXIS, OPAQUE) for symbol in site.contraction.symbols)
    if (borrowed and not set(site.ratio.symbols) <= set(site.contraction.symbols)) or not is_pure(site.ratio):
        return unknown(reasons[0])
    return None


def inconclusive(site: AttentionSite) -> Verdict | None:
    """The ratio may yet be 1."""
    if site.form != "symbols" or conclusive(site):
        return None
    return unknown(f"whether {site.ratio} is 1 cannot be derived: the axis that is summed over is not followed")


def left_to_caller(site: AttentionSite) -> Verdict | None:
    """No scale, where query and key are handed in."""
    if site.form != "unscaled":
        return None
    reasons = lost_reasons(site)
    if reasons:
        return unknown(reasons[0])
    return unknown("no scale is applied here; query and key are arguments, so it may be left to the caller", Because.UNSCALED)
