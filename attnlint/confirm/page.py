"""Confirmations as one page that stands alone: figures, logits' distribution and maps of the weights, before and after the fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from attnlint.confirm.plots import heat_map, histogram, spread
from attnlint.confirm.table import LINES, NOTE, number

if TYPE_CHECKING:
    from attnlint.confirm.command import Row
    from attnlint.confirm.confirmation import Shown

STYLE = """
:root{color-scheme:light dark;--ink:#1b2330;--soft:#586273;--line:#d5dbe5;--page:#fff;--panel:#f6f8fb;
--bad:#b3261e;--good:#176b3a;--before:#c4572f;--after:#2f63c4}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#9aa4b2;--line:#343b47;--page:#13171d;--panel:#1a1f27;
--bad:#ff8a80;--good:#7bd88f;--before:#ff9b73;--after:#8fb0ff}}
*{box-sizing:border-box}
body{font:15px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--page);margin:2rem auto;max-width:64rem;padding:0 1.2rem}
h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.1rem;margin:0;overflow-wrap:anywhere}h3{font-size:.95rem;margin:1.2rem 0 .4rem}
section{border:1px solid var(--line);border-radius:8px;padding:1rem 1.2rem;margin:1.4rem 0}
.badge{display:inline-block;border-radius:99px;padding:0 .6rem;margin-right:.5rem;font-size:.85rem;border:1px solid currentColor}
.confirmed{color:var(--bad)}.refuted{color:var(--good)}.not-confirmed{color:var(--soft)}
p{margin:.5rem 0;overflow-wrap:anywhere}.soft{color:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--line);text-align:right}th:first-child,td:first-child{text-align:left}
.pair{display:flex;flex-wrap:wrap;gap:1.2rem}figure{margin:0;flex:1 1 20rem;min-width:0}
figcaption{font-size:.87rem;color:var(--soft);margin-top:.4rem}
svg{display:block;width:100%;max-width:26rem;height:auto}svg text{fill:var(--soft);font:11px system-ui,sans-serif}
pre{background:var(--panel);border-radius:6px;padding:.6rem .8rem;overflow-x:auto;font-size:.85rem;margin:.5rem 0}
.gone{color:var(--bad)}.new{color:var(--good)}
"""


def page(rows: Sequence[Row]) -> str:
    """The whole document. It loads nothing and runs no script."""
    counts = {status: sum(row.confirmation.status == status for row in rows) for status in ("confirmed", "refuted", "not-confirmed")}
    summary = ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "no finding"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>attnlint confirm</title><style>{STYLE}</style></head><body><h1>Findings, run</h1><p>{escape(summary)}</p>"
        '<p class="soft">'
        f"Each finding's code was run on random inputs, before and after its fix, beside a float64 reference attention."
        f" {escape(NOTE)}</p>"
        f"{''.join(map(_section, rows))}</body></html>\n"
    )


def _section(row: Row) -> str:
    c = row.confirmation
    parts = [
        f'<section><h2><span class="badge {c.status}">{c.status}</span>{escape(row.where)}</h2>',
        f"<p>{escape(row.finding.code)} {escape(row.finding.name)}: {escape(row.finding.message)}</p>",
        f'<p class="soft">{escape(_sentence(row))}</p>',
    ]
    if c.before is not None:
        parts.append(_table(c.before, c.after))
        parts.append(_plots(c.before, c.after))
    parts.append(_change(row))
    parts.append("</section>")
    return "".join(parts)


def _sentence(row: Row) -> str:
    c = row.confirmation
    said = c.reason[:1].upper() + c.reason[1:] + "."
    if c.case.get("entry"):
        said += f" What ran: {c.case['entry']}"
        if c.case.get("stand_ins"):
            said += f", with stand-ins for {', '.join(c.case['stand_ins'])}"
        said += "."
    return said


def _table(before: Shown, after: Shown | None) -> str:
    head = "<tr><th></th><th>before</th>" + ("<th>after</th>" if after is not None else "") + "</tr>"
    body = []
    for name, label in LINES:
        cells = f"<td>{escape(label)}</td><td>{number(before.figures.get(name), name)}</td>"
        if after is not None:
            cells += f"<td>{number(after.figures.get(name), name)}</td>"
        body.append(f"<tr>{cells}</tr>")
    factor = before.figures.get("factor")
    written = f'<p class="soft">The scale as written: {escape(str(factor))}</p>' if factor else ""
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{"".join(body)}</tbody></table></div>{written}'


def _plots(before: Shown, after: Shown | None) -> str:
    shown = [("before", before), *([("after", after)] if after is not None else [])]
    shown = [(name, one) for name, one in shown if one.logits]
    if not shown:
        return '<p class="soft">No plot: the values were not kept.</p>'
    reach = max((spread(one.logits) for _, one in shown), default=1.0)
    histograms = "".join(
        f"<figure>{histogram(one.logits, reach, name)}<figcaption>{name}: what softmax saw, less each row's mean</figcaption></figure>"
        for name, one in shown
    )
    maps = "".join(
        f"<figure>{heat_map(one.weights, name)}<figcaption>{name}: the weights, a row for each query, dark is 1</figcaption></figure>"
        for name, one in shown
    )
    return f'<h3>Logits</h3><div class="pair">{histograms}</div><h3>Weights</h3><div class="pair">{maps}</div>'


def _change(row: Row) -> str:
    """The fix as a difference, or the lines that the finding is about."""
    from attnlint.confirm.confirmation import apply_edits

    program = row.document.program
    fixed = row.fixed
    if fixed is None and row.finding.fix is not None:
        fixed = apply_edits(program, row.finding.fix.edits)
    if fixed is None:
        first, last = row.finding.span.start.row, row.finding.span.end.row
        lines = program.split("\n")[first - 1 : last]
        return f"<h3>Code</h3><pre>{escape(chr(10).join(lines))}</pre>"
    changes = difflib.unified_diff(program.splitlines(), fixed.splitlines(), lineterm="", n=2)
    return f"<h3>Fix</h3><pre>{''.join(_coloured(list(changes)[2:]))}</pre>"


def _coloured(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        kind = {"-": "gone", "+": "new"}.get(line[:1])
        text = escape(line)
        yield (f'<span class="{kind}">{text}</span>' if kind else text) + "\n"
