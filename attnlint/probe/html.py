"""The report as a page that stands alone: figures over depth, a table that sorts, and a card for each attention, faults first."""

# ruff: noqa: E501  (mark-up reads better unbroken)
from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from attnlint.probe import figures, text
from attnlint.probe.values import Head, Map, Samples, Site

if TYPE_CHECKING:
    from attnlint.probe.report import Report

STYLE = """
th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid}th[aria-sort=ascending] button::after{content:" ▲"}th[aria-sort=descending] button::after{content:" ▼"}
th[data-text],td.text{text-align:left}section.fault{border-color:var(--bad);color:inherit}details{margin:.5rem 0}summary{cursor:pointer;color:var(--soft)}
.big{font-size:1.6rem;font-weight:600;line-height:1.2}.facts{display:flex;flex-wrap:wrap;gap:.4rem 2rem;margin:.6rem 0}.facts div{min-width:5rem}.facts small{display:block;color:var(--soft)}
"""
SCRIPT = """
document.querySelectorAll("th button").forEach(function(b){b.addEventListener("click",function(){
var th=b.parentNode,row=th.parentNode,i=Array.prototype.indexOf.call(row.children,th),body=th.closest("table").tBodies[0];
var down=th.getAttribute("aria-sort")==="ascending";Array.prototype.forEach.call(row.children,function(o){o.removeAttribute("aria-sort")});
th.setAttribute("aria-sort",down?"descending":"ascending");
Array.prototype.slice.call(body.rows).sort(function(p,q){var x=p.cells[i].dataset.value,y=q.cells[i].dataset.value,n=Number(x)-Number(y);
if(x===""||y==="")return x===y?0:x===""?1:-1;var c=isNaN(n)?x.localeCompare(y):n;return down?-c:c}).forEach(function(r){body.appendChild(r)})})})
"""
_ORDER = {"fault": 0, "skipped": 1, "declared": 2, "ok": 3}


def page(report: Report) -> str:
    """The whole document. It loads nothing; its script sorts the table."""
    sites = report.sites
    ordered = sorted(enumerate(sites), key=lambda pair: (_ORDER.get(pair[1].status, 4), pair[0]))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>attnlint probe</title><style>{figures.STYLE}{STYLE}</style></head><body><h1>{escape(text.summary(report))}</h1>"
        '<p class="soft">Each attention by place: the scale that softmax saw q·k with, measured, beside 1/√d_k or what was declared.</p>'
        f"{_depth(sites)}{_table([site for _, site in ordered])}{''.join(_card(i, site) for i, site in ordered)}"
        f"<script>{SCRIPT}</script></body></html>\n"
    )


def _depth(sites: Sequence[Site]) -> str:
    """Entropy and the largest logit over the attentions, where there are several."""
    if len(sites) < 2:
        return ""
    entropy = figures.over_depth([s.entropy for s in sites], [_span(s.heads, "entropy") for s in sites], "entropy over ln of the keys", 1.0)
    logits = figures.over_depth([s.max_logit for s in sites], [_span(s.heads, "max_logit") for s in sites], "largest logit")
    if not entropy + logits:
        return ""
    caption = "<figcaption>a dot for each attention in the order in which they ran, a bar from its lowest head to its highest</figcaption>"
    return f'<h3>Over depth</h3><div class="pair"><figure>{entropy}{caption}</figure><figure>{logits}</figure></div>'


def _span(heads: Sequence[Head], name: str) -> tuple[float, float] | None:
    values = [value for head in heads if (value := getattr(head, name)) is not None]
    return (min(values), max(values)) if values else None


_COLUMNS = (
    "status",
    "module",
    "place",
    "calls",
    "d_k",
    "scale",
    "expected",
    "ratio",
    "entropy",
    "largest logit",
    "largest weight",
    "saturated",
    "ref. error",
)


def _table(sites: Sequence[Site]) -> str:
    if not sites:
        return ""
    head = "".join(f'<th{" data-text" if i < 3 else ""}><button type="button">{name}</button></th>' for i, name in enumerate(_COLUMNS))
    body = "".join(f"<tr>{_row(site)}</tr>" for site in sites)
    return f'<h3>Attentions</h3><div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(site: Site) -> str:
    status = f"{site.status}: {site.kind}" if site.kind else site.status
    words = (f"{_ORDER.get(site.status, 4)} {status}", site.name, f"{text.short(site.file)}:{site.line:06d}")
    shown = (
        f'<span class="{escape(site.status)}">{escape(status)}</span>',
        escape(site.name),
        escape(f"{text.short(site.file)}:{site.line}"),
    )
    cells = [f'<td class="text" data-value="{escape(word)}">{cell}</td>' for word, cell in zip(words, shown, strict=True)]
    numbers = (
        site.calls,
        site.head_dim,
        site.scale,
        site.expected,
        site.ratio,
        site.entropy,
        site.max_logit,
        site.max_weight,
        site.saturated,
        site.reference_error,
    )
    cells += [f'<td data-value="{"" if n is None else n}">{n if isinstance(n, int) else text.number(n)}</td>' for n in numbers]
    return "".join(cells)


def _card(number: int, site: Site) -> str:
    status = f"{site.status}: {site.kind}" if site.kind else site.status
    facts = (
        ("ratio", f'<span class="big {escape(site.status)}">{text.number(site.ratio)}</span>'),
        ("measured scale", text.number(site.scale, 6)),
        ("expected", text.number(site.expected, 6)),
        ("d_k", str(site.head_dim or "–")),
        ("entropy", text.number(site.entropy, 3)),
        ("largest logit", text.number(site.max_logit, 4)),
        ("rows over 0.99", "–" if site.saturated is None else f"{site.saturated:.1%}"),
    )
    shown = "".join(f"<div><small>{escape(name)}</small>{value}</div>" for name, value in facts)
    note = f'<p class="soft">{escape(site.note)}</p>' if site.note else ""
    said = ""
    if site.status == "fault":
        said = f"<p>{escape(text.remedy(site))}</p><details><summary>the whole measurement</summary><pre>{escape(text.fault(site))}</pre></details>"
    return (
        f'<section class="{escape(site.status)}" id="attention-{number}"><h2><span class="badge {escape(site.status)}">{escape(status)}</span>'
        f'{escape(site.name)}</h2><p class="soft">{escape(text.short(site.file))}:{site.line}, {site.calls} call{"s" * (site.calls != 1)}</p>'
        f'<div class="facts">{shown}</div>{note}{said}{_heads(site)}{plots(site)}</section>'
    )


def _heads(site: Site) -> str:
    """The heads' figures as a table of their own, folded away."""
    if len(site.heads) < 2:
        return ""
    names = ("head", "ratio", "entropy", "largest logit", "largest weight", "saturated")
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(
        f"<tr><td>{h.head}</td>"
        + "".join(f"<td>{text.number(v)}</td>" for v in (h.ratio, h.entropy, h.max_logit, h.max_weight, h.saturated))
        + "</tr>"
        for h in site.heads
    )
    return f'<details><summary>{len(site.heads)} heads</summary><div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>'


def plots(site: Site) -> str:
    """The logits beside the reference's, and maps of the weights; a sentence where no samples were kept."""
    samples = site.samples
    if samples is None:
        return '<p class="soft">No plot: watch with keep_samples=True, on tensors that have values.</p>'
    reference = _reference(samples, site.expected)
    logits = samples.logits.tolist()
    reach = max(figures.spread(logits), figures.spread(reference) if reference is not None else 0.0)
    beside = "; the line is the reference's, at the expected scale" if reference is not None else ""
    first = samples.maps[0] if samples.maps else Map(None, samples.weights, *samples.weights.shape)
    several = len(samples.maps) > 1
    return (
        f'<div class="pair"><figure>{figures.histogram(logits, reach, "as measured", reference)}<figcaption>what softmax saw: the logits of '
        f"{'head 0' if several else 'the rows read'}, less each row's mean{beside}</figcaption></figure>"
        f"<figure>{_map(first, axes=True)}{figures.legend(first.keys)}<figcaption>the weights{' of head 0' if several else ''}: a row for each "
        f"query; one bright cell a row is saturation{_drawn(first)}</figcaption></figure></div>{_multiples(samples.maps) if several else ''}"
    )


def _reference(samples: Samples, expected: float | None) -> list[list[float]] | None:
    if samples.raw is None or samples.added is None or expected is None:
        return None
    import numpy as np

    with np.errstate(invalid="ignore"):
        wanted = samples.raw * expected + samples.added
    found: list[list[float]] = np.where(np.isfinite(samples.logits), wanted, -np.inf).tolist()
    return found


def _map(one: Map, axes: bool) -> str:
    name = "" if one.head is None else f"of head {one.head}"
    return figures.heat_map(one.weights.tolist(), name, queries=one.queries, keys=one.keys, axes=axes)


def _drawn(one: Map) -> str:
    rows, keys = one.weights.shape
    if (rows, keys) == (one.queries, one.keys):
        return ""
    return (
        f" ({rows} of {one.queries} queries; each column the largest of {one.keys / keys:.3g} keys)"
        if keys < one.keys
        else f" ({rows} of {one.queries} queries)"
    )


def _multiples(maps: Sequence[Map]) -> str:
    """The heads side by side."""
    shown = "".join(f"<figure>{_map(one, axes=False)}<figcaption>head {one.head}</figcaption></figure>" for one in maps)
    return f'<h3>Heads</h3><div class="pair small">{shown}</div>'
