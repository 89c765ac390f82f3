"""What an audit found, counted: read back from its results, one file at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from attnlint.audit.store import Store

VERDICTS = ("correct", "intended", "unknown", "faulty")
MOST = 20_000  # kinds counted at once; the rarest go first
_QUOTED = re.compile(r"`[^`]*`|'[^']*'")
_NUMBER = re.compile(r"\d+")


@dataclass
class Summary:
    """Counts over all sites, findings and texts that were not analysed."""

    verdicts: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)  # by "code name"
    frameworks: Counter[tuple[str, str]] = field(default_factory=Counter)  # with the verdict
    ways: Counter[tuple[str, str]] = field(default_factory=Counter)  # with the verdict
    reasons: Counter[str] = field(default_factory=Counter)  # of unknown sites
    repositories: Counter[str] = field(default_factory=Counter)  # findings
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)  # of a repository: a place and a message
    troubles: Counter[str] = field(default_factory=Counter)
    not_analysed: int = 0


def summarise(store: Store, current: Iterable[str]) -> Summary:
    """Counts the results of these partitions."""
    kept = set(current)
    summary = Summary()
    for row in _rows(store, "sites", kept, ("verdict", "reason", "framework", "way")):
        verdict = row["verdict"] or "unknown"
        summary.verdicts[verdict] += 1
        summary.frameworks[row["framework"] or "none imported", verdict] += 1
        if row["way"] is not None:
            summary.ways[row["way"], verdict] += 1
        if verdict == "unknown":
            _count(summary.reasons, kind_of(row["reason"] or "no reason given"))
    for row in _rows(store, "findings", kept, ("repository", "path", "row", "code", "name", "message")):
        summary.rules[f"{row['code']} {row['name']}"] += 1
        repository = row["repository"] or ""
        _count(summary.repositories, repository)
        if len(summary.examples) < MOST:
            summary.examples.setdefault(repository, (f"{row['path']}:{row['row']}", row["message"] or ""))
    for row in _rows(store, "not_analysed", kept, ("reason",)):
        summary.not_analysed += 1
        _count(summary.troubles, kind_of(row["reason"] or ""))
    return summary


def _rows(store: Store, kind: str, kept: set[str], columns: Sequence[str]) -> Iterator[dict[str, str | None]]:
    for name in store.names(kind):
        if name.rpartition("/")[2].partition(".")[0] in kept:
            yield from store.table(name, columns).to_pylist()


def kind_of(reason: str) -> str:
    """A reason without what only its own text has: names and numbers."""
    return _NUMBER.sub("#", _QUOTED.sub("`…`", reason.splitlines()[0] if reason else ""))[:160]


def _count(counter: Counter[str], word: str) -> None:
    """Counts, and lets the rarest go where there are too many kinds: memory stays flat."""
    counter[word] += 1
    if len(counter) > MOST:
        for rare, _ in counter.most_common()[MOST // 2 :]:
            del counter[rare]
