"""Whether fixes settle what they are offered for: the text that they give is judged again before anybody sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from attnlint.model import Edit, Finding, LintResult
from attnlint.text.source import FixRefused, TextMap

RIGHT = ("correct", "intended")
OPEN = ("unknown",)
Again = Callable[[Mapping[str, str]], LintResult | None]  # new texts by file name -> what is said of them; None where they do not parse


def settled(result: LintResult, texts: Callable[[str], str | None], again: Again) -> LintResult:
    """The result without those fixes that leave their finding, or that make a site wrong that was right.

    All fixes are tried at once; only where that does not hold, the ones at fault are looked for.
    """
    fixable = [finding for finding in result.findings if finding.fix is not None]
    if not fixable:
        return result
    good = {id(finding) for finding in _good(fixable, result, texts, again)}
    if len(good) == len(fixable):
        return result
    return replace(result, findings=tuple(one if one.fix is None or id(one) in good else replace(one, fix=None) for one in result.findings))


def _good(group: Sequence[Finding], before: LintResult, texts: Callable[[str], str | None], again: Again) -> list[Finding]:
    """Those of a group whose fixes hold, found by halving it."""
    together, clashing = _without_clashes(group)
    good: list[Finding] = []
    if _hold(together, before, texts, again):
        good += together
    elif len(together) > 1:
        middle = len(together) // 2
        good += _good(together[:middle], before, texts, again)
        good += _good(together[middle:], before, texts, again)
    return good + (_good(clashing, before, texts, again) if clashing else [])


def _without_clashes(group: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Findings whose edits can be made at once, and the others."""
    together: list[Finding] = []
    clashing: list[Finding] = []
    taken: list[tuple[str, Edit]] = []
    for finding in group:
        assert finding.fix is not None
        own = [(finding.filename, edit) for edit in finding.fix.edits]
        if any(file == other and edit != taken_edit and _overlap(edit, taken_edit) for file, edit in own for other, taken_edit in taken):
            clashing.append(finding)
        else:
            together.append(finding)
            taken += own
    return together, clashing


def _overlap(edit: Edit, other: Edit) -> bool:
    return edit.span.start <= other.span.end and other.span.start <= edit.span.end


def _hold(group: Sequence[Finding], before: LintResult, texts: Callable[[str], str | None], again: Again) -> bool:
    """Whether all findings of a group are gone after their fixes, what was right still is, and nothing is left that cannot be judged."""
    changed: dict[str, str] = {}
    for name in {finding.filename for finding in group}:
        text = texts(name)
        edits = {edit for finding in group if finding.filename == name and finding.fix is not None for edit in finding.fix.edits}
        if text is None:
            return False
        try:
            changed[name] = TextMap(text).edited(sorted(edits, key=lambda edit: edit.span))
        except FixRefused:
            return False
    after = again(changed)
    if after is None:
        return False
    fixed = Counter((finding.code, finding.filename) for finding in group)
    was, now = _codes(before.findings), _codes(after.findings)
    if any(now[key] > was[key] - count for key, count in fixed.items()):
        return False
    kept, left = _sites(before, RIGHT), _sites(after, RIGHT)
    if any(left[key] < count for key, count in kept.items()):
        return False
    open_before, open_after = _sites(before, OPEN), _sites(after, OPEN)
    return all(count <= open_before[key] for key, count in open_after.items())


def _codes(findings: Iterable[Finding]) -> Counter[tuple[str, str]]:
    return Counter((finding.code, finding.filename) for finding in findings)


def _sites(result: LintResult, verdicts: tuple[str, ...]) -> Counter[tuple[str, str]]:
    return Counter((site.filename, site.qualname) for site in result.sites if site.verdict in verdicts)
