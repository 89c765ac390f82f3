"""Reports in words: the message of a fault, and the table."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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


class Column(NamedTuple):
    """A column of the table: its heading, whether it is text, and how soon it goes where there is no room (0: never)."""

    heading: str
    is_text: bool
    goes: int
    cell: Callable[[Site], str]


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


COLUMNS = (
    Column("module", True, 0, lambda s: s.name),
    Column("place", True, 2, lambda s: f"{short(s.file)}:{s.line}"),
    Column("status", True, 0, lambda s: f"{s.status}: {s.kind}" if s.kind else s.status),
    Column("ratio", False, 0, lambda s: number(s.ratio)),
    Column("scale", False, 1, lambda s: number(s.scale)),
    Column("expected", False, 3, lambda s: number(s.expected)),
    Column("d_k", False, 4, lambda s: str(s.head_dim or "–")),
    Column("calls", False, 6, lambda s: str(s.calls)),
    Column("entropy", False, 5, lambda s: number(s.entropy, 3)),
    Column("max logit", False, 5, lambda s: number(s.max_logit, 4)),
    Column("max w", False, 8, lambda s: number(s.max_weight, 3)),
    Column("satur.", False, 7, lambda s: _share(s.saturated)),
    Column("ref. error", False, 9, lambda s: number(s.reference_error, 2)),
)
GAP = 2


def fitting(sites: Sequence[Site], width: int | None) -> tuple[Column, ...]:
    """The columns that fit into a terminal of this width: the least telling ones go first. None: all."""
    kept = list(COLUMNS)
    while width is not None and _wide(kept, sites) > width:
        last = max(kept, key=lambda column: column.goes)
        if last.goes == 0:
            break
        kept.remove(last)
    return tuple(kept)


def _wide(columns: Sequence[Column], sites: Sequence[Site]) -> int:
    return sum(max(len(c.heading), *(len(c.cell(s)) for s in sites)) + GAP for c in columns) - GAP


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


def plain_table(report: Report, width: int | None = None) -> str:
    """The table as text, in the order in which the attentions ran; no line is wider than `width` where that is given."""
    sites = report.sites
    if report.disabled or not sites:
        return summary(report)
    columns = fitting(sites, width)
    rows = [[column.cell(site) for column in columns] for site in sites]
    widths = [max(len(c.heading), *(len(row[i]) for row in rows)) for i, c in enumerate(columns)]

    def line(values: Sequence[str]) -> str:
        told = (v.ljust(w) if c.is_text else v.rjust(w) for v, w, c in zip(values, widths, columns, strict=True))
        return _cut("  ".join(told).rstrip(), width)

    head = [line([c.heading for c in columns]), _cut("  ".join("-" * w for w in widths), width)]
    return "\n".join([summary(report), *head, *map(line, rows), *_notes(report, width)])


def _cut(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else line[: max(width - 1, 1)] + "…"


def _notes(report: Report, width: int | None) -> list[str]:
    notes = [f"{site.name}: {site.note}" for site in report.sites if site.note]
    return [line for note in notes for line in textwrap.wrap(note, (width or 140) - 2, initial_indent="  ", subsequent_indent="    ")]


def rich_table(report: Report, width: int | None = None) -> Any:
    """A rich renderable; raises ImportError where rich is absent."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    sites = report.sites
    if report.disabled or not sites:
        return Text(summary(report))
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, GAP, 0, 0), pad_edge=False)
    colours = {"ok": "green", "declared": "cyan", "skipped": "yellow", "fault": "bold red"}
    columns = fitting(sites, width)
    for column in columns:
        table.add_column(column.heading, justify="left" if column.is_text else "right", overflow="fold", no_wrap=not column.is_text)
    for site in sites:
        styled = (Text(c.cell(site), style=colours.get(site.status, "") if c.heading in ("status", "ratio") else "") for c in columns)
        table.add_row(*styled)
    return Group(Text(summary(report), style="bold"), table, *(Text(note, style="dim") for note in _notes(report, width)))


def render(report: Report) -> str:
    """The table: with rich's lines and colours on a terminal, plain elsewhere or without rich. NO_COLOR is honoured."""
    stream = sys.stdout
    try:
        terminal = stream.isatty()
    except (AttributeError, ValueError):
        terminal = False
    if not terminal:
        return plain_table(report)
    wide = shutil.get_terminal_size().columns
    try:
        from rich.console import Console
    except ImportError:
        return plain_table(report, wide)
    import io

    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=True, width=wide, no_color="NO_COLOR" in os.environ)
    console.print(rich_table(report, wide))
    return "\n".join(line.rstrip() for line in buffer.getvalue().rstrip("\n").split("\n"))
