"""Confirmations as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlint.confirm.command import Row
    from attnlint.confirm.confirmation import Shown

LINES: tuple[tuple[str, str], ...] = (
    ("scale", "measured scale"),
    ("expected", "expected scale"),
    ("ratio", "ratio (1 is right)"),
    ("max_weight", "mean largest weight"),
    ("saturated", "rows over 0.99"),
    ("entropy", "entropy over ln T"),
    ("jacobian", "softmax Jacobian, 1 − Σp²"),
    ("reference_error", "error against float64"),
)
NOTE = "What shrinks under saturation is the softmax Jacobian; the gradient of q can grow."


def number(value: Any, name: str = "") -> str:
    """A figure with as many digits as it is worth; a dash where there is none."""
    if value is None:
        return "–"
    if name == "saturated":
        return f"{100 * value:.1f} %"
    if name == "reference_error":
        return f"{value:.1e}"
    return f"{value:.4g}"


def render(rows: Sequence[Row]) -> str:
    """All confirmations, with the figures before and after side by side."""
    if not rows:
        return "Nothing to confirm: no finding.\n"
    parts = []
    for row in rows:
        c = row.confirmation
        parts.append(f"{row.where}: {row.finding.code} {row.finding.name}: {c.status}: {c.reason}\n")
        if c.case.get("entry"):
            extra = f", with stand-ins for {', '.join(c.case['stand_ins'])}" if c.case.get("stand_ins") else ""
            parts.append(f"  ran {c.case['entry']}{extra}\n")
        if c.before is not None:
            parts.append(_figures(c.before, c.after))
        parts.append("\n")
    counts = {status: sum(row.confirmation.status == status for row in rows) for status in ("confirmed", "refuted", "not-confirmed")}
    parts.append(", ".join(f"{count} {status}" for status, count in counts.items() if count) + "\n")
    if any(row.confirmation.before is not None for row in rows):
        parts.append(NOTE + "\n")
    return "".join(parts)


def _figures(before: Shown, after: Shown | None) -> str:
    first = max(len(label) for _, label in LINES)
    lines = [f"  {'':<{first}}  {'before':>10}" + (f"  {'after':>10}" if after is not None else "")]
    for name, label in LINES:
        line = f"  {label:<{first}}  {number(before.figures.get(name), name):>10}"
        if after is not None:
            line += f"  {number(after.figures.get(name), name):>10}"
        lines.append(line)
    if before.figures.get("factor"):
        lines.append(f"  {'scale as written':<{first}}  {before.figures['factor']}")
    d = before.figures.get("head_dim")
    calls = f"{before.calls} before" + (f", {after.calls} after" if after is not None else "")
    lines.append(f"  {'calls':<{first}}  {calls}" + (f"; d = {d}" if d is not None else ""))
    return "\n".join(lines) + "\n"
