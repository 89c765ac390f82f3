"""Reports in words: the message of a fault, and the table."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attnlint.probe.values import Site

if TYPE_CHECKING:
    from attnlint.probe.report import Report


def number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else f"{value:.{digits}g}"


def short(path: str) -> str:
    """A path relative to the working directory where it lies under it."""
    if not path or path.startswith("<"):
        return path or "?"
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def nothing_observed(softmaxes: int, opaque: Iterable[str]) -> str:
    """The message of a check that saw no attention."""
    lines = ["no attention ran where the probe could see one: silence is not success."]
    seen = sorted(opaque)
    if seen:
        lines.append(f"  Opaque operations ran: {', '.join(seen)}. Measure such a kernel with probe.measure_scale(fn, head_dim=...).")
    elif softmaxes:
        lines.append(
            f"  {softmaxes} softmax ran, none of them between a product of two computed arrays and a sum over its axis with values."
        )
    lines.append(
        "  Work of another thread, of a compiled graph or on plain NumPy arrays is not observed: run the forward in this block and thread, "
        "before compiling. NumPy arrays are seen as arguments and attributes of a @probe.checked function, through "
        "probe.call(f, *arrays) and probe.array(x); "
        "np.asarray and scipy strip them: measure such a function with probe.measure_scale(fn, head_dim=...)."
    )
    return "\n".join(lines)


def faults(found: Sequence[Site], total: int) -> str:
    """The message of one or more faults."""
    head = f"{len(found)} of {total} attention sites at fault" if total > 1 else "an attention is at fault"
    return "\n\n".join([head + ":", *(fault(site) for site in found)])


def fault(site: Site) -> str:
    """One fault in full: what was measured, which wrong factor it is, every factor with its line, the effect, and the remedy."""
    lines = [f"{site.name} [{site.kind}] {short(site.file)}:{site.line}, {site.calls} call{'s' if site.calls != 1 else ''}"]
    lines.append(
        f"  measured scale {number(site.scale, 6)}, expected {number(site.expected, 6)}"
        + (f" (ratio {number(site.ratio, 6)}, tolerance {site.tolerance:g} in {site.dtype})" if site.ratio is not None else "")
    )
    lines.append(f"  d_k = {site.head_dim}, from q {list(site.query_shape)} and k {list(site.key_shape)} ({site.op})")
    if site.slope is not None and site.r_squared is not None:
        lines.append(f"  regression on q·k: slope {number(site.slope, 6)}, R² {site.r_squared:.6f}")
    if site.note:
        lines.append(f"  {site.note}")
    if site.factors:
        lines.append("  factors met on the way:")
        lines += [f"    {factor.describe()}" for factor in site.factors]
    else:
        lines.append("  factors met on the way: none")
    effect = _effect(site)
    if effect:
        lines.append(f"  here: {effect}")
    lines.append(f"  {remedy(site)}")
    return "\n".join(lines)


def _effect(site: Site) -> str:
    parts = []
    if site.max_weight is not None:
        parts.append(f"mean largest weight {number(site.max_weight, 3)}")
    if site.saturated is not None:
        parts.append(f"rows over 0.99 {site.saturated:.1%}")
    if site.entropy is not None:
        parts.append(f"entropy/ln T {number(site.entropy, 3)}")
    if site.jacobian is not None:
        parts.append(f"1 - Σp² {number(site.jacobian, 3)}")
    if site.reference_error is not None:
        parts.append(f"weights off the float64 reference by up to {number(site.reference_error, 3)}")
    return ", ".join(parts)


_REMEDIES = {
    "missing-scale": "multiply q·k by {root} before softmax",
    "unrooted-scale": "scale by {root}: the root of the head size, once",
    "inverted-scale": "divide by √d_k, do not multiply: {root}",
    "double-scale": "apply {root} once: on q, on the logits or in the kernel, not twice",
    "wrong-dim-scale": "take the root of the contracted dimension: {root}",
    "constant-scale": "compute the scale from the head size: {root}",
    "scale-precedence": "write the scale as {root}; `d ** 1 / 2` reads (d ** 1) / 2",
    "scale-after-softmax": "scale the logits, before softmax: {root}",
    "multiplicative-mask": "mask with masked_fill(mask, float('-inf')) or an additive mask, not by a product",
    "mask-after-softmax": "mask the logits with -inf before softmax, or divide the weights by their row sums again",
    "unexpected-scale": "take the declaration away, or apply what it says",
    "non-finite": "find what made it: a mask must leave every row a key, and half precision has little room for q·k",
    "softmax-axis": "take softmax over the keys, the axis that the values are summed over",
    "not-affine": "let softmax see q·k times a scale plus terms that do not depend on it",
}


def remedy(site: Site) -> str:
    root = f"{site.head_dim} ** -0.5 = {number(site.head_dim**-0.5, 6)}" if site.head_dim else "d_k ** -0.5"
    text = _REMEDIES.get(site.kind or "", "scale by {root}").format(root=root)
    meant = number(site.scale, 6)
    if site.kind == "non-finite":
        return f"fix: {text}"
    return f"fix: {text}; if it is meant, declare it: expect=Expect(scale={meant}, why='...')"


# --- tables -------------------------------------------------------------------------------------------------------------------

HEADINGS = ("module", "place", "calls", "d_k", "scale", "expected", "ratio", "status", "max w", "satur.", "entropy", "1-Σp²", "ref. error")


def cells(site: Site) -> tuple[str, ...]:
    status = f"{site.status}: {site.kind}" if site.kind else site.status
    return (
        site.name,
        f"{short(site.file)}:{site.line}",
        str(site.calls),
        str(site.head_dim or "–"),
        number(site.scale),
        number(site.expected),
        number(site.ratio),
        status,
        number(site.max_weight, 3),
        "–" if site.saturated is None else f"{site.saturated:.1%}",
        number(site.entropy, 3),
        number(site.jacobian, 3),
        number(site.reference_error, 2),
    )


def summary(report: Report) -> str:
    if report.disabled:
        return "attnlint probe: disabled by ATTNLINT_PROBE=off"
    sites = report.sites
    if not sites:
        return "attnlint probe: no attention observed"
    counts: dict[str, int] = {}
    for site in sites:
        counts[site.status] = counts.get(site.status, 0) + 1
    return "attnlint probe: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))


def plain_table(report: Report) -> str:
    rows = [cells(site) for site in report.sites]
    if report.disabled or not rows:
        return summary(report)
    widths = [max(len(h), *(len(row[i]) for row in rows)) for i, h in enumerate(HEADINGS)]

    def line(values: Sequence[str]) -> str:
        return "  ".join(v.ljust(w) for v, w in zip(values, widths, strict=True)).rstrip()

    return "\n".join([summary(report), line(HEADINGS), "  ".join("-" * w for w in widths), *(line(row) for row in rows), *_notes(report)])


def _notes(report: Report) -> list[str]:
    return [f"  {site.module or '(no module)'}: {site.note}" for site in report.sites if site.note]


def rich_table(report: Report) -> Any:
    """A rich renderable; raises ImportError where rich is absent."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if report.disabled or not report.sites:
        return Text(summary(report))
    table = Table(title=summary(report), title_justify="left", header_style="bold")
    colours = {"ok": "green", "declared": "cyan", "skipped": "yellow", "fault": "bold red"}
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("module", "place", "status") else "right", overflow="fold")
    for site in report.sites:
        values = list(cells(site))
        row = [Text(v, style=colours.get(site.status, "") if HEADINGS[i] in ("status", "ratio") else "") for i, v in enumerate(values)]
        table.add_row(*row)
    return Group(table, *(Text(note, style="dim") for note in _notes(report)))


def render(report: Report) -> str:
    """The table: with rich's lines and colours on a terminal, plain elsewhere or without rich. NO_COLOR is honoured."""
    stream = sys.stdout
    try:
        terminal = stream.isatty()
    except (AttributeError, ValueError):
        terminal = False
    if not terminal:
        return plain_table(report)
    try:
        from rich.console import Console
    except ImportError:
        return plain_table(report)
    import io

    buffer = io.StringIO()
    wide = Console(file=stream).width
    console = Console(file=buffer, force_terminal=True, width=max(wide, 100), no_color="NO_COLOR" in os.environ)
    console.print(rich_table(report))
    return buffer.getvalue().rstrip("\n")
