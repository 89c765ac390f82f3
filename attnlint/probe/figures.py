"""Figures as inline SVG, and the look of every page: one palette, one legend, light and dark. Loads nothing, needs no library."""

# ruff: noqa: E501  (style sheets and figures read better unbroken)
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root{color-scheme:light dark;--ink:#1b2330;--soft:#586273;--line:#d5dbe5;--page:#fff;--panel:#f6f8fb;--bad:#b3261e;--good:#176b3a;--warn:#8a5a00;
--before:#c4572f;--after:#2f63c4}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#9aa4b2;--line:#343b47;--page:#13171d;--panel:#1a1f27;--bad:#ff8a80;--good:#7bd88f;--warn:#f0c060;
--before:#ff9b73;--after:#8fb0ff}}
*{box-sizing:border-box}
body{font:15px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--page);margin:2rem auto;max-width:72rem;padding:0 1.2rem}
h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.1rem;margin:0;overflow-wrap:anywhere}h3{font-size:.95rem;margin:1.2rem 0 .4rem}
section{border:1px solid var(--line);border-radius:8px;padding:1rem 1.2rem;margin:1.4rem 0}
.badge{display:inline-block;border-radius:99px;padding:0 .6rem;margin-right:.5rem;font-size:.85rem;border:1px solid currentColor;white-space:nowrap}
.confirmed,.fault{color:var(--bad)}.refuted,.ok,.declared{color:var(--good)}.skipped{color:var(--warn)}.not-confirmed{color:var(--soft)}
p{margin:.5rem 0;overflow-wrap:anywhere}.soft{color:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}th:first-child,td:first-child,.text{text-align:left}
.pair{display:flex;flex-wrap:wrap;gap:1.2rem}figure{margin:0;flex:1 1 20rem;min-width:0}.small{gap:.7rem}.small figure{flex:0 0 7.5rem}
figcaption{font-size:.87rem;color:var(--soft);margin-top:.4rem}
svg{display:block;width:100%;max-width:26rem;height:auto}svg text{fill:var(--soft);font:11px system-ui,sans-serif}
pre{background:var(--panel);border-radius:6px;padding:.6rem .8rem;overflow-x:auto;font-size:.85rem;margin:.5rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
"""

WIDTH, HEIGHT, PAD = 380, 200, 28
BINS = 30
LEVELS = 48

Rows = Sequence[Sequence[float | None]]

# Viridis (Nathaniel Smith and Stéfan van der Walt, CC0) at 9 evenly spaced places: equal steps look equal, also without colour vision.
_VIRIDIS = (
    (68, 1, 84),
    (71, 44, 122),
    (59, 81, 139),
    (44, 113, 142),
    (33, 144, 141),
    (39, 173, 129),
    (92, 200, 99),
    (170, 220, 50),
    (253, 231, 37),
)


def colour(share: float) -> str:
    """The palette at a share from 0 to 1."""
    place = min(1.0, max(0.0, share)) * (len(_VIRIDIS) - 1)
    i = min(int(place), len(_VIRIDIS) - 2)
    mixed = (round(a + (b - a) * (place - i)) for a, b in zip(_VIRIDIS[i], _VIRIDIS[i + 1], strict=True))
    return "#" + "".join(f"{c:02x}" for c in mixed)


def shade(weight: float, keys: int) -> float:
    """Where a weight lies on the palette: 0 at 0, 1 at 1, and even weights (1 of `keys`) well off the dark end."""
    if not math.isfinite(weight):
        return 0.0
    return math.log1p(max(0.0, weight) * 4 * keys) / math.log1p(4 * keys)


def heat_map(rows: Sequence[Sequence[float]], name: str, *, queries: int | None = None, keys: int | None = None, axes: bool = True) -> str:
    """A map of weights: a row for each query, a column for each key, dark at 0 and yellow at 1, with its axes.

    `queries` and `keys` are the true numbers where the map is drawn from more than it shows.
    """
    across, down = max((len(row) for row in rows), default=0), len(rows)
    if not across:
        return ""
    total = keys or across
    cell = max(2, min(26, 320 // max(across, down)))
    left, top = (30, 18) if axes else (0, 0)
    width, height = across * cell + left + 2, down * cell + top + 2
    paths = "".join(
        f'<path fill="{colour(level / (LEVELS - 1))}" d="{"".join(cells)}"/>' for level, cells in sorted(_cells(rows, total, cell).items())
    )
    text = ""
    if axes:
        text = (
            f'<text x="{left}" y="12">key 0</text><text x="{width - 2}" y="12" text-anchor="end">{total - 1}</text>'
            f'<text x="{left - 4}" y="{top + 10}" text-anchor="end">0</text>'
            f'<text x="{left - 4}" y="{height - 2}" text-anchor="end">{(queries or down) - 1}</text>'
            f'<text transform="translate({left - 12} {top + (height - top) / 2}) rotate(-90)" text-anchor="middle">query</text>'
        )
    return (
        f'<svg viewBox="0 0 {width} {height}" style="max-width:{width}px" role="img" aria-label="map of the weights{" " + escape(name) if name else ""}">'
        f'{text}<g transform="translate({left} {top})" shape-rendering="crispEdges">{paths}</g></svg>'
    )


def _cells(rows: Sequence[Sequence[float]], keys: int, cell: int) -> dict[int, list[str]]:
    """Squares by level of the palette; neighbours of one level are drawn as one."""
    found: dict[int, list[str]] = {}
    for i, row in enumerate(rows):
        levels = [round(shade(weight, keys) * (LEVELS - 1)) for weight in row]
        start = 0
        for j in range(1, len(levels) + 1):
            if j == len(levels) or levels[j] != levels[start]:
                run = (j - start) * cell
                found.setdefault(levels[start], []).append(f"M{start * cell} {i * cell}h{run}v{cell}h-{run}z")
                start = j
    return found


def legend(keys: int) -> str:
    """What the colours of a map of weights mean: a bar from 0 to 1, with the weight that even weights have."""
    width, pad = 300, 14
    bars = "".join(
        f'<rect x="{pad + i * (width / LEVELS):.1f}" y="16" width="{width / LEVELS + 0.6:.1f}" height="10" fill="{colour(i / (LEVELS - 1))}"/>'
        for i in range(LEVELS)
    )
    marks, last = "", -100.0
    for weight, label in ((0.0, "0"), (1 / keys, f"1/{keys} even"), (0.1, "0.1"), (0.25, "0.25"), (0.5, "0.5"), (1.0, "1")):
        x = pad + shade(weight, keys) * width
        if x - last > 34 or weight in (0.0, 1 / keys):
            last = x + (22 if weight == 1 / keys else 0)
            marks += (
                f'<path d="M{x:.1f} 26v4" stroke="currentColor" opacity=".5"/><text x="{x:.1f}" y="41" text-anchor="middle">{label}</text>'
            )
    return f'<svg viewBox="0 0 {width + 2 * pad} 46" style="max-width:{width + 2 * pad}px" role="img" aria-label="legend of the weights"><text x="{pad}" y="11">weight</text>{bars}{marks}</svg>'


# --- distributions ---------------------------------------------------------------------------------------------------------------


def centred(rows: Rows) -> list[float]:
    """Each logit less the mean of its row; masked entries are left out."""
    found: list[float] = []
    for row in rows:
        live = [value for value in row if value is not None and math.isfinite(value) and value > -1e4]
        if live:
            mean = sum(live) / len(live)
            found += [value - mean for value in live]
    return found


def spread(rows: Rows) -> float:
    """The largest distance of a logit from its row's mean."""
    return max((abs(value) for value in centred(rows)), default=0.0)


def _counts(values: Iterable[float], reach: float) -> list[int]:
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, max(0, int((value + reach) / (2 * reach) * BINS)))] += 1
    return counts


def histogram(rows: Rows, reach: float, name: str, beside: Rows | None = None) -> str:
    """The distribution of logits over -reach to reach as bars; `beside` is another one, drawn as a line over them."""
    values = centred(rows)
    if not values:
        return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><text x="20" y="40">no unmasked logits</text></svg>'
    reach = max(reach, 1e-9)
    counts, others = _counts(values, reach), _counts(centred(beside), reach) if beside is not None else []
    top, step, high, base = max(*counts, *others, 1), (WIDTH - 2 * PAD) / BINS, HEIGHT - 2 * PAD, HEIGHT - PAD
    bars = "".join(
        f'<rect x="{PAD + i * step:.1f}" y="{base - high * n / top:.1f}" width="{step - 1:.1f}" height="{high * n / top:.1f}"/>'
        for i, n in enumerate(counts)
        if n
    )
    line = ""
    if others:
        points = "".join(f"V{base - high * n / top:.1f}H{PAD + (i + 1) * step:.1f}" for i, n in enumerate(others))
        line = f'<path d="M{PAD} {base}{points}V{base}" fill="none" stroke="var(--after)" stroke-width="2"/>'
    deviation = math.sqrt(sum(value * value for value in values) / len(values))
    said = f"standard deviation {deviation:.3g}"
    if beside is not None and (second := centred(beside)):
        said += f", the reference's {math.sqrt(sum(v * v for v in second) / len(second)):.3g}"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="distribution of the logits {escape(name)}">'
        f'<g fill="var(--{"after" if name == "after" else "before"})" opacity="{0.75 if others else 1}">{bars}</g>{line}'
        f'<path d="M{PAD} {base}H{WIDTH - PAD}" stroke="currentColor" opacity=".4"/>'
        f'<text x="{PAD}" y="{HEIGHT - 9}">{-reach:.3g}</text><text x="{WIDTH / 2}" y="{HEIGHT - 9}" text-anchor="middle">0</text>'
        f'<text x="{WIDTH - PAD}" y="{HEIGHT - 9}" text-anchor="end">{reach:.3g}</text>'
        f'<text x="{PAD}" y="15">{said}</text></svg>'
    )


# --- over depth ------------------------------------------------------------------------------------------------------------------


def over_depth(values: Sequence[float | None], spans: Sequence[tuple[float, float] | None], name: str, top: float | None = None) -> str:
    """One figure over the attentions in the order in which they ran: a dot each, and a bar from its lowest head to its highest."""
    known = [v for v in values if v is not None and math.isfinite(v)]
    if not known:
        return ""
    ends = [end for span in spans if span is not None for end in span if math.isfinite(end)]
    high = top if top is not None else max(*known, *ends, 1e-9) * 1.05
    low = min(0.0, *known, *ends)
    left = PAD + 18
    step = (WIDTH - left - PAD) / max(len(values) - 1, 1)

    def y(value: float) -> float:
        return HEIGHT - PAD - (min(max(value, low), high) - low) / (high - low) * (HEIGHT - 2 * PAD)

    parts, line = [], ""
    for i, (value, span) in enumerate(zip(values, spans, strict=True)):
        x = left + i * step if len(values) > 1 else WIDTH / 2
        if span is not None and all(map(math.isfinite, span)):
            parts.append(f'<path d="M{x:.1f} {y(span[0]):.1f}V{y(span[1]):.1f}" stroke="var(--after)" stroke-width="5" opacity=".3"/>')
        if value is not None and math.isfinite(value):
            parts.append(f'<circle cx="{x:.1f}" cy="{y(value):.1f}" r="3.2" fill="var(--after)"/>')
            line += f"{'L' if line else 'M'}{x:.1f} {y(value):.1f}"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(name)} over depth">'
        f'<path d="M{left} {PAD}V{HEIGHT - PAD}H{WIDTH - PAD}" fill="none" stroke="currentColor" opacity=".4"/>'
        f'<path d="{line}" fill="none" stroke="var(--after)" opacity=".6"/>{"".join(parts)}'
        f'<text x="{PAD}" y="15">{escape(name)}</text><text x="{left - 4}" y="{PAD + 8}" text-anchor="end">{high:.3g}</text>'
        f'<text x="{left - 4}" y="{HEIGHT - PAD}" text-anchor="end">{low:.3g}</text>'
        f'<text x="{left}" y="{HEIGHT - 9}">first attention</text><text x="{WIDTH - PAD}" y="{HEIGHT - 9}" text-anchor="end">last (of {len(values)})</text></svg>'
    )
