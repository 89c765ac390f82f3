"""What an editor shows over an attention site: query, key, contraction, scales, verdict, and the derivation, as Markdown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence

from attnlint.model import Site, Step
from attnlint.session import Diagnostic

# What a site's quantities are called, in the order of the derivation.
QUANTITIES = (
    ("query", "query"),
    ("key", "key"),
    ("contraction", "contraction"),
    ("net scale", "scale"),
    ("expected", "expected"),
    ("ratio", "ratio"),
)
_SPECIAL = re.compile(r"([\\`*\[\]<>|~&]|(?<!\w)_|_(?!\w))")


def markdown(sites: Sequence[Site], found: Iterable[Diagnostic], where: Callable[[int], str]) -> str:
    """One section a site. `where` names a program row as the editor's user sees it ("line 12")."""
    by_site: dict[Site, list[Diagnostic]] = {}
    for one in found:
        if one.finding.site is not None:
            by_site.setdefault(one.finding.site, []).append(one)
    return "\n\n---\n\n".join(_section(site, by_site.get(site, ()), where) for site in sites)


def _section(site: Site, found: Sequence[Diagnostic], where: Callable[[int], str]) -> str:
    title = f"**Attention** in {code(site.qualname)}" if site.qualname else "**Attention**"
    if site.path:
        title += f", where {plain(site.path)}"
    rows = [f"- {label}: {code(value)}" for label, attribute in QUANTITIES if (value := getattr(site, attribute)) is not None]
    rows.append(f"- verdict: **{plain(site.verdict)}**")
    if site.via is not None:
        rows.append(f"- called in {code(site.via.qualname or 'the script')}, line {site.via.row}")
    rows += [f"- by name: {plain(told)}" for told in site.evidence]
    if site.reason:
        rows.append(f"- reason: {plain(site.reason)}")
    parts = [title, "\n".join(rows)]
    for one in found:
        finding = one.finding
        name = f"{finding.code} {finding.name}"
        explained = f"\n\n{code(f'attnlint rule {finding.name}')} explains the rule." if one.rule and not one.rule.url else ""
        parts.append(f"{f'[{name}]({one.rule.url})' if one.rule and one.rule.url else name}: {plain(finding.message)}{explained}")
    if site.derivation:
        steps = [
            f"{number}. {plain(step.label)}: {code(step.text)}" + (f" ({_place(site, step, where)})" if step.row is not None else "")
            for number, step in enumerate(site.derivation, 1)
        ]
        parts.append("Derivation:\n\n" + "\n".join(steps))
    return "\n\n".join(parts)


def _place(site: Site, step: Step, where: Callable[[int], str]) -> str:
    """The row of a step; one of another file names that file."""
    assert step.row is not None
    if step.filename is None or os.path.abspath(step.filename) == os.path.abspath(site.filename):
        return where(step.row)
    return f"{plain(os.path.relpath(step.filename, os.path.dirname(site.filename) or '.'))}, line {step.row}"


def code(text: str) -> str:
    """A code span that holds any text."""
    flat = " ".join(text.split())
    fence = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{space}{flat}{space}{fence}"


def plain(text: str) -> str:
    """The text without meaning for Markdown; what the text itself puts between backticks stays code."""
    flat = " ".join(text.split())
    pieces = flat.split("`")
    if len(pieces) % 2 == 0:
        return _SPECIAL.sub(r"\\\1", flat)
    return "".join(code(piece) if index % 2 and piece else _SPECIAL.sub(r"\\\1", piece) for index, piece in enumerate(pieces))
