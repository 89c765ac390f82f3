"""Verdicts of sites whose scale is meant as it is: a temperature, a declared exception, a design that has another scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attnlint.domain.algebra import AXIS, CONFIG, LEARNED, OPAQUE, Monomial, power_of
from attnlint.domain.values import Leaf
from attnlint.evidence.signs import UNIT_VARIANCE
from attnlint.sites import intent
from attnlint.sites.operands import kind_of
from attnlint.sites.scales import (
    FOLLOWED,
    conclusive,
    configured_symbols,
    constant_for_another_head,
    doubled,
    is_free,
    is_power,
    misread_factor,
    of_constructor,
    scaled_after,
    tried_out,
    without,
)
from attnlint.sites.sites import HALF, AttentionSite, Because, Test, Verdict, intended, unknown

_SPLIT = 4  # axes of a query whose heads are split; what is handed in without them had no keys to be multiplied with before


def normalised(site: AttentionSite, faults: Sequence[Test]) -> Verdict | None:
    """Query and key are normalised: the scale is a temperature, unless it is the root of another width."""
    q, k = site.operands
    norms = [q.tensor.normalised, k.tensor.normalised]
    norms = norms if all(norms) else [q.main.normalised, k.main.normalised]
    if not all(norms):
        return None
    if all(UNIT_VARIANCE.search(how or "") for how in norms) and (fault := _another_width(site, faults)) is not None:
        return fault
    return intended(f"query and key are normalised ({norms[0]}): the scale is a temperature")


def _another_width(site: AttentionSite, faults: Sequence[Test]) -> Verdict | None:
    """The fault of a scale by a width, where query and key have features of unit variance: q·k has variance d_k as ever.

    Without a scale, or with a number, the gains of the norms may set the temperature; the root of another width sets none.
    """
    assert site.ratio is not None
    gains = {symbol for symbol in site.ratio.symbols if symbol.kind == LEARNED}
    gains |= {symbol for symbol in site.net.symbols if is_free(symbol, site.record)}
    scale = without(site.net, gains - set(site.width.symbols))
    ratio = scale * site.width.power(HALF)
    plain = ratio.powers and ratio.coefficient == 1  # a number beside it may be the temperature
    bare = replace(site, scale=scale, ratio=ratio, form="symbols")
    if not plain or not set(site.width.symbols) & set(scale.symbols) or not conclusive(bare):
        return None
    verdict = next((found for test in faults if (found := test(bare)) is not None), None)
    if verdict is None or verdict.status != "faulty" or verdict.kind == "unrooted-scale":  # 1 / d keeps such logits below 1
        return None
    return replace(verdict, scale=scale)


def learned(site: AttentionSite) -> Verdict | None:
    assert site.ratio is not None
    names = sorted(symbol.name for symbol in site.ratio.symbols if symbol.kind == LEARNED)
    return intended(f"a learned temperature: {', '.join(dict.fromkeys(names))}") if names else None


def normed_logits(site: AttentionSite) -> Verdict | None:
    assert site.carrier is not None
    norms = [name for name in site.carrier.nonlinear if "norm" in name.lower()]
    return intended(f"the logits are normalised ({norms[0]})") if norms else None


def normalised_query(site: AttentionSite) -> Verdict | None:
    q, _ = site.operands
    return intended("the query is normalised") if site.record.kernel is not None and q.tensor.normalised else None


def absorbed(site: AttentionSite) -> Verdict | None:
    """Latent attention: the keys are one latent, and the query went through the keys' projection, from the width under the root."""
    if not _is_absorbed(site):
        return None
    return intended("the key projection is absorbed into the query: the root is of the width that it had")


def _is_absorbed(site: AttentionSite) -> bool:
    record, (q, k) = site.record, site.operands
    asked, held = q.main.content, k.main.content
    given = record.value.content if record.value is not None else None
    if not (isinstance(asked, Leaf) and isinstance(held, Leaf) and isinstance(given, Leaf) and asked.key != held.key):
        return False
    if given.key != held.key:
        return _values_of_latent(site, held, given)
    width = width_before(site)
    return width is not None and site.scale is not None and site.facts.equal(site.scale, width.power(-HALF))


def width_before(site: AttentionSite) -> Monomial | None:
    """The features that the query had before the keys' projection was multiplied into it, where the keys are the values' latent.

    `(q W)·c` is `q·(W c)`: it sums over what the projected keys would have.
    """
    q, k = site.operands
    asked, held = q.main.content, k.main.content
    given = site.record.value.content if site.record.value is not None else None
    if (
        not (isinstance(asked, Leaf) and isinstance(held, Leaf) and isinstance(given, Leaf))
        or given.key != held.key
        or asked.key == held.key
    ):
        return None
    before = asked.source
    if before is None or not isinstance(before.content, Leaf) or not before.shape.axes:
        return None
    split = before.content.kind == "argument" and len(before.shape.axes) >= _SPLIT
    return before.shape.axes[-1].size if split or before.content.kind in ("projection", "opaque") else None


def _values_of_latent(site: AttentionSite, held: Leaf, given: Leaf) -> bool:
    """Whether the keys are one latent for all heads that the values are made of, and the root is of what a head's values have."""
    latent, value = given.source, site.record.value
    if latent is None or value is None or not isinstance(latent.content, Leaf):
        return False
    if latent.content.key != held.key or held.kind != "projection":
        return False
    if not (latent.shape.axes and value.shape.axes) or site.contraction is None or site.scale is None:
        return False
    whole = site.facts.equal(latent.shape.axes[-1].size, site.contraction)
    return whole and site.facts.equal(site.scale, value.shape.axes[-1].size.power(-HALF))


def unscaled(site: AttentionSite) -> Verdict | None:
    """No scale, and the code shows that none is meant."""
    if site.form != "unscaled" or misread_factor(site) is not None or scaled_after(site) is not None:
        return None
    if any(_undoes_average(site, factor.value) for factor, _ in site.record.after):
        return intended("the output is multiplied by the root of a number of values, as in ConvS2S, which scales no logits")
    q, k = site.operands
    reason = intent.meant(site, q.main, k.main, (kind_of(q.tensor), kind_of(k.tensor)))
    if reason is None:
        return None
    return intended(reason, Because.BILINEAR if reason == intent.BILINEAR else None)


def _undoes_average(site: AttentionSite, value: Monomial) -> bool:
    """Whether an output is multiplied by the root of some length, in numbers or as the axis of a tensor."""
    value = site.facts.normalise(value)
    return bool(value.powers) and all(exponent == HALF and symbol.kind in (AXIS, OPAQUE) for symbol, exponent in value.powers)


def averaged(site: AttentionSite) -> Verdict | None:
    """Non-local blocks average the product: `1 / d`."""
    if site.form not in FOLLOWED or power_of(site.net, site.width) != -1 or misread_factor(site) is not None or doubled(site) is not None:
        return None
    q, k = site.operands
    return intended("convolutions over a feature map, whose product is averaged") if intent.non_local(site, q.main, k.main) else None


def parametrised(site: AttentionSite) -> Verdict | None:
    """µP: a multiple of `1 / d`, where the code says so."""
    if site.form not in (*FOLLOWED, "number") or misread_factor(site) is not None or doubled(site) is not None:
        return None
    net = Monomial(1.0, site.net.powers)
    number = site.net.is_number and site.width.is_number and is_power(site, -1.0)
    if not number and (site.net.coefficient <= 0 or power_of(net, site.width) != -1):
        return None
    reason = intent.width_parametrised(site)
    return intended(reason) if reason is not None else None


# --- what no scale rule calls a fault


def configured(site: AttentionSite) -> Verdict | None:
    """A factor that is a parameter or setting, without d_k^-1/2: a configured temperature."""
    if site.form != "configured":
        return None
    free = configured_symbols(site)
    names = ", ".join(sorted(symbol.name for symbol in free))
    if any(symbol.kind == CONFIG for symbol in free) or of_constructor(site):
        return intended(f"a configured factor: {names}", Because.CONFIGURED)
    return unknown(f"the scale is the parameter `{names}`: no caller in the tree gives it")


def further_constant(site: AttentionSite) -> Verdict | None:
    """A number that no rule calls a fault."""
    assert site.ratio is not None and site.scale is not None
    if site.form in FOLLOWED:
        return intended(f"a constant factor {site.net}")
    if site.form != "number":
        return None
    if (literal := constant_for_another_head(site)) is not None and tried_out(site, literal):
        return intended(f"arrays that a kernel is tried out with, and a number for its scale: {site.scale}")
    return intended(f"d_k^-1/2 with a further constant factor {site.ratio}")
