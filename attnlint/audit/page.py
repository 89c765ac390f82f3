"""The summary of an audit as a page to look at, and as Markdown to paste."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from attnlint._version import __version__
from attnlint.audit import charts
from attnlint.audit.summary import VERDICTS, Summary

if TYPE_CHECKING:
    from attnlint.audit.audit import Counts

LONGEST = 12  # rows of a chart
WORST = 20

STYLE = """\
:root { --paper: #fdfdfb; --ink: #1d2129; --faint: #6a7280; --line: #e3e4e0;
  --correct: #3d8f73; --intended: #7aa6c9; --unknown: #c9c7be; --faulty: #c8502f; --finding: #c8502f; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181d; --ink: #e6e6e1; --faint: #9aa1ad; --line: #2c3038;
  --correct: #4fae8d; --intended: #6c97ba; --unknown: #55585f; --faulty: #e0714f; --finding: #e0714f; } }
body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
max-width: 820px; margin: 3em auto; padding: 0 1.5em }
h1 { font-size: 1.7em; margin: 0 0 .2em }
h2 { font-size: 1.15em; margin: 2.6em 0 .6em }
p.lead, p.note { color: var(--faint); margin: .2em 0 1.2em }
svg { width: 100%; height: auto; display: block }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif }
svg text.number { fill: var(--faint) }
svg text.inside { fill: #fff; font-weight: 600 } svg text.inside.unknown { fill: var(--ink) }
rect.correct { fill: var(--correct) } rect.intended { fill: var(--intended) } rect.unknown { fill: var(--unknown) }
rect.faulty { fill: var(--faulty) } rect.finding { fill: var(--finding) }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .3em 1.6em; padding: 0; margin: .8em 0 0 }
ul.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .45em; border-radius: 2px; background: var(--unknown) }
ul.legend i.correct { background: var(--correct) } ul.legend i.intended { background: var(--intended) }
ul.legend i.faulty { background: var(--faulty) }
dl { display: grid; grid-template-columns: repeat(6, auto); gap: 1em; margin: 1.6em 0 }
dt { color: var(--faint); font-size: .85em } dd { margin: 0; font-size: 1.5em; font-variant-numeric: tabular-nums }
table { border-collapse: collapse; width: 100%; font-size: .92em }
th { text-align: left; color: var(--faint); font-weight: 500 }
th, td { padding: .4em .6em .4em 0; overflow-wrap: anywhere; border-bottom: 1px solid var(--line); vertical-align: top }
td.number { text-align: right; padding-right: 1.2em; width: 3.5em }
@media (max-width: 640px) { dl { grid-template-columns: repeat(3, auto) } }
td code { font-size: .9em; overflow-wrap: anywhere }
"""


def html(sources: Sequence[str], counts: Counts, summary: Summary) -> str:
    """The page, complete in itself: nothing is loaded from elsewhere."""
    sites = sum(summary.verdicts.values())
    findings = sum(summary.rules.values())
    figures = {
        "texts": f"{counts.texts:,}",
        "copies among them": _percent(counts.texts - counts.distinct, counts.texts),
        "may hold attention": f"{counts.candidates:,}",
        "attention sites": f"{sites:,}",
        "findings": f"{findings:,}",
        "not analysed": f"{summary.not_analysed:,}",
    }
    told = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures.items())
    body = [
        "<h1>With which scale softmax sees q·k</h1>",
        f'<p class="lead">{escape(_listed(sources))} · {counts.units:,} units · attnlint {__version__}</p>',
        f"<dl>{told}</dl>",
        "<h2>Sites by verdict</h2>",
        charts.share(summary.verdicts, VERDICTS, "sites by verdict"),
        charts.legend(VERDICTS, summary.verdicts),
        "<h2>Findings by rule</h2>",
        charts.stacked([(name, {"finding": count}) for name, count in summary.rules.most_common(25)], ("finding",), "findings by rule"),
        "<h2>Sites by framework</h2>",
        charts.stacked(_by_first(summary.frameworks), VERDICTS, "sites by framework"),
        "<h2>The commonest ways to scale</h2>",
        '<p class="note">What is multiplied or divided between the product and the softmax, where the product was followed.</p>',
        charts.stacked(_by_first(summary.ways), VERDICTS, "the commonest ways to scale"),
        "<h2>Why a site stays unknown</h2>",
        _table(("sites", "reason"), summary.reasons.most_common(LONGEST)),
        "<h2>Most findings</h2>",
        _worst(summary),
        "<h2>Not analysed</h2>",
        _table(("texts", "reason"), summary.troubles.most_common(LONGEST)),
    ]
    head = f"<meta charset=utf-8><meta name=viewport content='width=device-width'><title>attnlint audit</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>{''.join(body)}</body></html>\n"


def _listed(sources: Sequence[str]) -> str:
    return ", ".join(sources[:4]) + (f" and {len(sources) - 4} more" if len(sources) > 4 else "")


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def _by_first(counter: Counter[tuple[str, str]], most: int = LONGEST) -> list[tuple[str, Mapping[str, int]]]:
    """Counts by the first word, each taken apart by the second; the largest first."""
    groups: dict[str, Counter[str]] = {}
    for (name, verdict), count in counter.items():
        groups.setdefault(name, Counter())[verdict] += count
    ordered = sorted(groups.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return [(name, parts) for name, parts in ordered[:most]]


def _sums(counter: Counter[tuple[str, str]]) -> list[tuple[str, int]]:
    return [(name, sum(parts.values())) for name, parts in _by_first(counter)]


def _table(heads: tuple[str, str], rows: Sequence[tuple[str, int]]) -> str:
    if not rows:
        return '<p class="note">none</p>'
    lines = "".join(f'<tr><td class="number">{count:,}</td><td>{escape(reason)}</td></tr>' for reason, count in rows)
    return f"<table><tr><th>{heads[0]}</th><th>{heads[1]}</th></tr>{lines}</table>"


def _worst(summary: Summary) -> str:
    if not summary.repositories:
        return '<p class="note">none</p>'
    lines = []
    for repository, count in summary.repositories.most_common(WORST):
        where, message = summary.examples.get(repository, ("", ""))
        first = f"<code>{escape(where)}</code><br>{escape(message)}"
        lines.append(f'<tr><td class="number">{count:,}</td><td>{escape(repository)}</td><td>{first}</td></tr>')
    return f"<table><tr><th>findings</th><th>unit</th><th>the first of them</th></tr>{''.join(lines)}</table>"


def markdown(sources: Sequence[str], counts: Counts, summary: Summary) -> str:
    """The same in tables."""
    sites = sum(summary.verdicts.values())
    parts = [
        f"# Audit of {_listed(sources)}",
        f"attnlint {__version__}: {counts.texts:,} texts of {counts.units:,} units, "
        f"{_percent(counts.texts - counts.distinct, counts.texts)} copies; "
        f"{counts.candidates:,} may hold attention. {sites:,} sites, {sum(summary.rules.values()):,} findings, "
        f"{counts.suppressed:,} suppressed, {summary.not_analysed:,} texts not analysed.",
        _section("Sites by verdict", "verdict", "sites", [(word, summary.verdicts[word]) for word in VERDICTS]),
        _section("Findings by rule", "rule", "findings", summary.rules.most_common()),
        _section("Sites by framework", "framework", "sites", _sums(summary.frameworks)),
        _section("The commonest ways to scale", "way", "sites", _sums(summary.ways)),
        _section("Why a site stays unknown", "reason", "sites", summary.reasons.most_common(LONGEST)),
        _section("Most findings", "unit", "findings", summary.repositories.most_common(WORST)),
        _section("Not analysed", "reason", "texts", summary.troubles.most_common(LONGEST)),
    ]
    return "\n\n".join(parts) + "\n"


def _section(title: str, name: str, count: str, rows: Sequence[tuple[str, int]]) -> str:
    if not rows:
        return f"## {title}\n\nNone."
    lines = [f"| {name} | {count} |", "| --- | ---: |", *(f"| {_cell(word)} | {number:,} |" for word, number in rows)]
    return f"## {title}\n\n" + "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
