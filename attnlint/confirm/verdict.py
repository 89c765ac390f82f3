"""What a finding claims, and whether readings bear it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

TOLERANCE = 2e-3
RATIO_RULES = frozenset(
    {"missing-scale", "wrong-dim-scale", "unrooted-scale", "inverted-scale", "double-scale", "scale-precedence", "constant-scale"}
)
MASK_RULES = frozenset({"multiplicative-mask", "mask-after-softmax"})
KIND_RULES = MASK_RULES | {"scale-after-softmax"}
BIAS = "scaled-mask-or-bias"
MEASURED = RATIO_RULES | KIND_RULES | {BIAS}


def off(figures: Mapping[str, Any]) -> bool | None:
    """Whether the ratio is not 1 within tolerance; None where there is no ratio."""
    ratio = figures.get("ratio")
    return None if ratio is None else abs(ratio - 1) > max(TOLERANCE, figures.get("tolerance") or 0.0)


def bears_out(figures: Mapping[str, Any], kind: str) -> bool:
    """Whether one reading shows a fault of this kind."""
    if kind == BIAS:
        return figures.get("bias_scale") is not None and abs(figures["bias_scale"] - 1) > TOLERANCE
    if kind == "scale-after-softmax":
        return figures.get("kind") == kind or bool(off(figures))
    if kind in KIND_RULES:
        return figures.get("kind") == kind
    return bool(off(figures))


def clears(figures: Mapping[str, Any], kind: str) -> bool:
    """Whether one reading is free of it."""
    if kind == BIAS and bears_out(figures, kind):
        return False
    if kind in MASK_RULES:
        return figures.get("kind") != kind
    if kind in KIND_RULES and figures.get("kind") == kind:
        return False
    return off(figures) is False


def judge(kind: str, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]] | None, cases: int) -> tuple[str, str]:
    """(status, reason) from the figures at both lengths, before and after the fix. `cases` is how many assignments were measured."""
    shown = [figures for figures in before if bears_out(figures, kind)]
    if not shown:
        known = [figures for figures in before if off(figures) is not None]
        if not known:
            return "not-confirmed", "the scale could not be measured: " + (
                str(before[0].get("note") or "no figures") if before else "no figures"
            )
        if kind in RATIO_RULES:
            return "refuted", f"the measured scale is the expected one: ratio {known[0]['ratio']:.4g} at d = {known[0].get('head_dim')}" + (
                f", under {cases} assignments of sizes" if cases > 1 else ""
            )
        if kind == BIAS and (plain := [f for f in before if f.get("bias_scale") is not None]):
            return "refuted", f"what is added to q·k is not scaled: its factor is {plain[0]['bias_scale']:.4g}"
        return "not-confirmed", f"the probe does not see a {kind} here"
    ratio = shown[0].get("ratio")
    measured = f"measured ratio {ratio:.4g}" if ratio is not None else f"measured {kind}"
    if kind in MASK_RULES:
        measured = f"measured a {kind}"
    if kind == BIAS:
        measured = f"what is added to q·k is multiplied by {shown[0]['bias_scale']:.4g}"
    if after is None:
        return "confirmed", f"{measured}; there is no fix to compare with"
    if not after:
        return "not-confirmed", f"{measured}; the fixed code was not measured"
    left = [figures for figures in after if not clears(figures, kind)]
    if left:
        now = left[0].get("ratio")
        return (
            "not-confirmed",
            f"{measured}, and {f'{now:.4g}' if now is not None else 'unknown'} after the fix: the fix does not make it 1",
        )
    if kind == BIAS:
        return "confirmed", f"{measured}, and by 1 after the fix"
    if kind in MASK_RULES:
        return "confirmed", f"measured a {kind}, and none after the fix"
    return "confirmed", f"{measured}, and {after[0]['ratio']:.4g} after the fix"
