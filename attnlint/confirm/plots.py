"""Plots as inline SVG: a histogram of logits and a map of weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

WIDTH, HEIGHT, PAD = 360, 190, 26
BINS = 30

Rows = Sequence[Sequence[float | None]]


def centred(rows: Rows) -> Iterator[float]:
    """Each logit less the mean of its row; masked entries are left out."""
    for row in rows:
        live = [value for value in row if value is not None and math.isfinite(value) and value > -1e4]
        if live:
            mean = sum(live) / len(live)
            yield from (value - mean for value in live)


def spread(rows: Rows) -> float:
    """The largest distance of a logit from its row's mean."""
    return max((abs(value) for value in centred(rows)), default=0.0)


def histogram(rows: Rows, reach: float, name: str) -> str:
    """The distribution of the logits over -reach to reach, so that two plots of one reach compare."""
    values = list(centred(rows))
    if not values:
        return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><text x="20" y="40">no unmasked logits</text></svg>'
    reach = max(reach, 1e-9)
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, max(0, int((value + reach) / (2 * reach) * BINS)))] += 1
    top, step, high = max(counts), (WIDTH - 2 * PAD) / BINS, HEIGHT - 2 * PAD
    bars = "".join(
        f'<rect x="{PAD + i * step:.1f}" y="{PAD + high * (1 - n / top):.1f}" width="{step - 1:.1f}" height="{high * n / top:.1f}"/>'
        for i, n in enumerate(counts)
        if n
    )
    deviation = math.sqrt(sum(value * value for value in values) / len(values))
    base = HEIGHT - PAD
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="distribution of the logits {name}">'
        f'<g fill="var(--{name})">{bars}</g><path d="M{PAD} {base}H{WIDTH - PAD}" stroke="currentColor" opacity=".4"/>'
        f'<text x="{PAD}" y="{HEIGHT - 9}">{-reach:.3g}</text><text x="{WIDTH / 2}" y="{HEIGHT - 9}" text-anchor="middle">0</text>'
        f'<text x="{WIDTH - PAD}" y="{HEIGHT - 9}" text-anchor="end">{reach:.3g}</text>'
        f'<text x="{PAD}" y="15">standard deviation {deviation:.3g}</text></svg>'
    )


def heat_map(rows: Sequence[Sequence[float]], name: str) -> str:
    """A square for each weight, from white (0) to a dark blue (1)."""
    keys = max((len(row) for row in rows), default=0)
    if not keys:
        return ""
    cell = max(4, min(26, 340 // max(keys, len(rows))))
    squares = "".join(
        f'<rect x="{j * cell}" y="{i * cell}" width="{cell}" height="{cell}" fill="{colour(weight)}"><title>{weight:.3g}</title></rect>'
        for i, row in enumerate(rows)
        for j, weight in enumerate(row)
    )
    width, height = keys * cell, len(rows) * cell
    return (
        f'<svg viewBox="0 0 {width} {height}" style="max-width:{width}px" role="img" aria-label="map of the weights {name}">{squares}</svg>'
    )


def colour(weight: float) -> str:
    """White for 0, a dark blue for 1; the square root tells small weights apart."""
    share = math.sqrt(min(1.0, max(0.0, weight)))
    red, green, blue = (round(light + (dark - light) * share) for light, dark in ((250, 13), (251, 43), (253, 110)))
    return f"#{red:02x}{green:02x}{blue:02x}"
