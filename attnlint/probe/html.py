"""The report as a page that stands alone: a table, and for each site its logits' histogram and its weights' map in inline SVG."""

# ruff: noqa: E501  (style sheets and figures read better unbroken)
from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from attnlint.probe import text
from attnlint.probe.values import Site

if TYPE_CHECKING:
    from attnlint.probe.report import Report

STYLE = """
:root{color-scheme:light dark;--ink:#1d2433;--soft:#5b6472;--line:#d8dde6;--page:#fff;--bad:#b3261e;--good:#1b6e3c;--bar:#3558a6}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#9aa4b2;--line:#353c48;--page:#14181f;--bad:#ff8a80;--good:#7bd88f;--bar:#8fb0ff}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);margin:2rem auto;max-width:72rem;padding:0 1rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:.3rem .55rem;border-bottom:1px solid var(--line);text-align:left}
.wide{overflow-x:auto}h2{margin:2rem 0 .3rem;font-size:1.05rem}.fault{color:var(--bad);font-weight:600}.ok,.declared{color:var(--good)}
pre{white-space:pre-wrap;border-left:3px solid var(--line);padding-left:.8rem;color:var(--soft)}figure{display:inline-block;margin:.5rem 1.5rem .5rem 0;max-width:100%}
figcaption{color:var(--soft);font-size:.85rem}svg{max-width:100%;height:auto}svg text{fill:var(--soft);font:11px system-ui,sans-serif}
"""


def page(report: Report) -> str:
    """The whole document."""
    sites = report.sites
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td class="{html.escape(site.status)}">{html.escape(cell)}</td>'
            if text.HEADINGS[i] == "status"
            else f"<td>{html.escape(cell)}</td>"
            for i, cell in enumerate(text.cells(site))
        )
        + "</tr>"
        for site in sites
    )
    head = "".join(f"<th>{html.escape(h)}</th>" for h in text.HEADINGS)
    table = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>' if sites else ""
    parts = [_section(site) for site in sites]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>attnlint probe</title><style>{STYLE}</style></head><body><h1>{html.escape(text.summary(report))}</h1>"
        f"{table}{''.join(parts)}</body></html>\n"
    )


def _section(site: Site) -> str:
    title = f"{site.name} · {text.short(site.file)}:{site.line}"
    body = (
        f"<pre>{html.escape(text.fault(site))}</pre>" if site.status == "fault" else f"<p>{html.escape(site.note)}</p>" if site.note else ""
    )
    return f'<section><h2 class="{html.escape(site.status)}">{html.escape(title)}</h2>{body}{plots(site)}</section>'


def plots(site: Site) -> str:
    """Both figures of a site; a sentence where no samples were kept."""
    if site.samples is None:
        return "<p>No plot: watch with keep_samples=True, on tensors that have values.</p>"
    return (
        f"<figure>{histogram(site.samples.logits)}<figcaption>what softmax saw: the logits, less their row's mean</figcaption></figure>"
        f"<figure>{heat_map(site.samples.weights)}<figcaption>the weights: a row for each query; one bright cell a row is saturation</figcaption></figure>"
    )


def histogram(logits: Any, bins: int = 31) -> str:
    """An SVG histogram of row-centred logits; masked entries are left out."""
    import numpy as np

    live = np.isfinite(logits)
    count = live.sum(-1, keepdims=True)
    mean = np.where(live, logits, 0.0).sum(-1, keepdims=True) / np.maximum(count, 1)
    values = (logits - mean)[live]
    width, height, pad = 360, 200, 26
    if values.size == 0:
        return f'<svg viewBox="0 0 {width} {height}" width="{width}"><text x="20" y="40">no unmasked logits</text></svg>'
    reach = max(float(np.abs(values).max()), 1e-6)
    counts, _ = np.histogram(values, bins=bins, range=(-reach, reach))
    top = max(int(counts.max()), 1)
    step = (width - 2 * pad) / bins
    bars = "".join(
        f'<rect x="{pad + i * step:.1f}" y="{height - pad - n / top * (height - 2 * pad):.1f}" width="{step - 1:.1f}" '
        f'height="{n / top * (height - 2 * pad):.1f}" fill="var(--bar,#3558a6)"/>'
        for i, n in enumerate(counts)
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img"><title>histogram of the logits</title>{bars}'
        f'<path d="M{pad},{height - pad}H{width - pad}" stroke="currentColor" opacity=".4"/>'
        f'<text x="{pad}" y="{height - 8}">{-reach:.3g}</text><text x="{width / 2}" y="{height - 8}" text-anchor="middle">0</text>'
        f'<text x="{width - pad}" y="{height - 8}" text-anchor="end">{reach:.3g}</text>'
        f'<text x="{pad}" y="14">standard deviation {float(values.std()):.3g}</text></svg>'
    )


def heat_map(weights: Any) -> str:
    """An SVG map of weights, (rows, keys)."""
    rows, keys = weights.shape
    cell = max(2, min(12, 320 // max(rows, keys, 1)))
    squares = "".join(
        f'<rect x="{j * cell}" y="{i * cell}" width="{cell}" height="{cell}" fill="{_colour(float(weights[i, j]))}"/>'
        for i in range(rows)
        for j in range(keys)
    )
    return (
        f'<svg viewBox="0 0 {keys * cell} {rows * cell}" width="{keys * cell}" role="img"><title>map of the weights</title>{squares}</svg>'
    )


def _colour(p: float) -> str:
    """Dark blue at 0 to yellow at 1; the root keeps small weights apart."""
    t = max(0.0, min(1.0, p)) ** 0.5
    return f"rgb({round(20 + 235 * t)},{round(24 + 186 * t)},{round(82 - 22 * t)})"
