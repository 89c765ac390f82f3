"""What a finding claims, and whether readings bear it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

TOLERANCE = 2e-3
RATIO_RULES = frozenset(
    {"missing-scale", "wrong-dim-scale", "unrooted-scale", "inverted-scale", "double-scale", "scale-precedence", "constant-scale"}
)
KIND_RULES = frozenset({"scale-after-softmax", "multiplicative-mask", "mask-after-softmax"})
MEASURED = RATIO_RULES | KIND_RULES | {"scaled-mask-or-bias"}


def off(figures: Mapping[str, Any]) -> bool | None:
    """Whether the ratio is not 1 within tolerance; None where there is no ratio."""
    ratio = figures.get("ratio")
    return None if ratio is None else abs(ratio - 1) > max(TOLERANCE, figures.get("tolerance") or 0.0)


def bears_out(figures: Mapping[str, Any], kind: str) -> bool:
    """Whether one reading shows a fault of this kind."""
    if kind == "scale-after-softmax":
        return figures.get("kind") == kind or bool(off(figures))
    if kind in KIND_RULES:
        return figures.get("kind") == kind
    return bool(off(figures))


def clears(figures: Mapping[str, Any], kind: str) -> bool:
    """Whether one reading is free of it."""
    if kind in KIND_RULES and figures.get("kind") == kind:
        return False
    return off(figures) is False


def judge(kind: str, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]] | None, cases: int) -> tuple[str, str]:
    """(status, reason) from the figures at both lengths, before and after the fix. `cases` is how many assignments were measured."""
    shown = [figures for figures in before if bears_out(figures, kind)]
    if not shown:
        known = [figures for figures in before if off(figures) is not None]
        if not known:
            return "not-confirmed", "the scale could not be measured: " + (str(before[0].get("note") or "no figures") if before else "no figures")
        if kind in RATIO_RULES:
            return "refuted", f"the measured scale is the expected one: ratio {known[0]['ratio']:.4g} at d = {known[0].get('head_dim')}" + (
                f", under {cases} assignments of sizes" if cases > 1 else ""
            )
        return "not-confirmed", f"the probe does not see a {kind} here"
    ratio = shown[0].get("ratio")
    measured = f"measured ratio {ratio:.4g}" if ratio is not None else f"measured {kind}"
    if after is None:
        return "confirmed", f"{measured}; there is no fix to compare with"
    if not after:
        return "not-confirmed", f"{measured}; the fixed code was not measured"
    left = [figures for figures in after if not clears(figures, kind)]
    if left:
        now = left[0].get("ratio")
        return "not-confirmed", f"{measured}, and {f'{now:.4g}' if now is not None else 'unknown'} after the fix: the fix does not make it 1"
    return "confirmed", f"{measured}, and {after[0]['ratio']:.4g} after the fix"
