"""Bars as inline SVG: one row a name, its parts by verdict; readable in light and dark, and by a screen reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, ROW, LABEL, NUMBER = 760, 26, 250, 70
SHORTEST = 1.5  # pixels, so that one of a million is still seen


def stacked(rows: Sequence[tuple[str, Mapping[str, int]]], order: Sequence[str], name: str) -> str:
    """A bar a row, made of one part for each word of `order`; the longest bar fills the width."""
    totals = [sum(parts.values()) for _, parts in rows]
    most = max(totals, default=0)
    if not most:
        return '<p class="none">none</p>'
    scale = (WIDTH - LABEL - NUMBER) / most
    drawn = []
    for index, ((label, parts), total) in enumerate(zip(rows, totals, strict=True)):
        y = index * ROW
        drawn.append(f'<text x="{LABEL - 10}" y="{y + 17}" text-anchor="end"><title>{escape(label)}</title>{escape(_short(label))}</text>')
        x = float(LABEL)
        for word in order:
            count = parts.get(word, 0)
            if count:
                width = max(SHORTEST, count * scale)
                drawn.append(_part(word, x, y + 4, width, ROW - 9, f"{label}: {count:,} {word}"))
                x += width
        drawn.append(f'<text class="number" x="{x + 7:.1f}" y="{y + 17}">{total:,}</text>')
    height = len(rows) * ROW + 2
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(name)}">{"".join(drawn)}</svg>'


def share(parts: Mapping[str, int], order: Sequence[str], name: str) -> str:
    """One bar over the whole width, with the share of each part written in it or beside it."""
    total = sum(parts.values())
    if not total:
        return '<p class="none">none</p>'
    drawn, x = [], 0.0
    for word in order:
        count = parts.get(word, 0)
        if not count:
            continue
        width = WIDTH * count / total
        drawn.append(_part(word, x, 0, max(SHORTEST, width - 1), 44, f"{count:,} {word} ({100 * count / total:.1f} %)"))
        if width > 118:
            drawn.append(f'<text class="inside {escape(word)}" x="{x + 10:.1f}" y="27">{escape(word)} {100 * count / total:.0f} %</text>')
        x += width
    return f'<svg viewBox="0 0 {WIDTH} 46" role="img" aria-label="{escape(name)}">{"".join(drawn)}</svg>'


def legend(order: Sequence[str], parts: Mapping[str, int]) -> str:
    """What each colour stands for, with its count."""
    items = "".join(f'<li><i class="{escape(word)}"></i>{escape(word)} <b>{parts.get(word, 0):,}</b></li>' for word in order)
    return f'<ul class="legend">{items}</ul>'


def _part(word: str, x: float, y: int, width: float, height: int, told: str) -> str:
    """One coloured part of a bar, which says what it is when it is pointed at."""
    place = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"'
    return f'<rect class="{escape(word)}" {place}><title>{escape(told)}</title></rect>'


def _short(label: str, most: int = 36) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"
