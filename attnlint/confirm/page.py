"""Confirmations as one page that stands alone: figures, logits' distribution and maps of the weights, before and after the fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from attnlint.confirm.table import LINES, NOTE, number
from attnlint.probe import figures

if TYPE_CHECKING:
    from attnlint.confirm.command import Row
    from attnlint.confirm.confirmation import Shown

STYLE = (
    figures.STYLE
    + """
body{max-width:64rem}.gone{color:var(--bad)}.new{color:var(--good)}pre{white-space:pre}
"""
)


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
    reach = max((figures.spread(one.logits) for _, one in shown), default=1.0)
    histograms = "".join(
        f"<figure>{figures.histogram(one.logits, reach, name)}"
        f"<figcaption>{name}: what softmax saw, less each row's mean</figcaption></figure>"
        for name, one in shown
    )
    keys = max(len(one.weights[0]) for _, one in shown) or 1
    maps = "".join(
        f"<figure>{figures.heat_map(one.weights, name)}<figcaption>{name}: the weights, a row for each query</figcaption></figure>"
        for name, one in shown
    )
    return f'<h3>Logits</h3><div class="pair">{histograms}</div><h3>Weights</h3><div class="pair">{maps}</div>{figures.legend(keys)}'


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
