"""The second round: lints the texts of a partition that are met there first, each beside the others of its repository."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from attnlint import screen, session
from attnlint._version import __version__
from attnlint.analysis import Outcome
from attnlint.audit import rows, sources
from attnlint.audit import survey as surveys
from attnlint.audit.listing import file_of
from attnlint.audit.nursery import Limits, Nursery
from attnlint.audit.rows import About
from attnlint.audit.store import Store
from attnlint.audit.units import Text, Unit, digest, safe
from attnlint.discover import SourceFile, package_roots
from attnlint.interface import Report, Settings, report_of, resolver_of

FORM = 1  # changes when results are written otherwise
DONE = ".audit/done"


@dataclass(frozen=True)
class Order:
    """What is to be linted of a partition: for each unit the texts, by ordinal, that are met there first."""

    partition: str
    source: str
    texts: tuple[tuple[int, tuple[int, ...]], ...]
    settings: Settings
    limits: Limits

    @property
    def key(self) -> str:
        """The name of the results: the same as long as the texts, the settings and attnlint are."""
        return digest(FORM, __version__, self.partition, self.texts, asdict(self.settings), asdict(self.limits))

    def files(self) -> dict[str, str]:
        """Where the results go, by kind."""
        return {kind: file_of(kind, self.source, self.key) for kind in rows.SCHEMAS}


@dataclass
class Placed:
    """A text as it lies in the scratch folder."""

    file: SourceFile
    content: str
    framework: str | None
    lint: bool
    suppresses: bool


@dataclass
class Result:
    """The rows of a partition, as they come."""

    rows: dict[str, list[dict[str, object]]] = field(default_factory=lambda: {kind: [] for kind in rows.SCHEMAS})
    linted: int = 0
    suppressed: int = 0


def judge(order: Order, store: Store) -> dict[str, int]:
    """Lints what is ordered, writes the rows, and marks the partition as done. Returns counts and the memory used, in bytes."""
    units, _ = surveys.read(store, order.partition)
    nursery = Nursery(order.limits)
    result = Result()
    fingerprint = digest(asdict(order.settings))
    try:
        for number, ordinals in order.texts:
            judge_unit(units[number], frozenset(ordinals), order.settings, fingerprint, nursery, result)
    finally:
        nursery.close()
    files = order.files()
    for kind, found in result.rows.items():
        if found:
            store.write(files[kind], rows.table_bytes(kind, found))
    told = {
        "linted": result.linted,
        "suppressed": result.suppressed,
        **{kind: len(found) for kind, found in result.rows.items()},
        "worker_memory": _resident(),
        "process_memory": nursery.largest,
    }
    store.write(f"{DONE}/{order.key}.json", json.dumps({**told, "files": [files[kind] for kind in files if result.rows[kind]]}).encode())
    return told


def judge_unit(unit: Unit, ordinals: frozenset[int], settings: Settings, fingerprint: str, nursery: Nursery, result: Result) -> None:
    """Lints texts of one unit."""
    scratch = tempfile.mkdtemp(prefix="attnlint-audit-")
    try:
        for (group, folder), placed in _lay_out(unit, ordinals, scratch).items():
            if any(one.lint for one in placed):
                _judge_group(unit.repository(group), folder, placed, settings, fingerprint, nursery, result)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _lay_out(unit: Unit, ordinals: frozenset[int], scratch: str) -> dict[tuple[str, str], list[Placed]]:
    """Writes the texts of a unit below a scratch folder, those of each group in a folder of its own."""
    groups: dict[tuple[str, str], list[Placed]] = {}
    needed = _groups_needed(unit, ordinals)
    for ordinal, text in enumerate(_readable(unit)):
        if text.data is None or text.group not in needed:
            continue
        name = safe(text.path).encode("utf-8", "replace").decode()
        folder, again = os.path.join(scratch, digest(text.group)), 0
        while os.path.lexists(os.path.join(folder, name)):  # a second text of that name is seen by itself
            again += 1
            folder = os.path.join(scratch, digest(text.group, again))
        absolute = os.path.join(folder, *name.split("/"))
        try:
            os.makedirs(os.path.dirname(absolute), exist_ok=True)
            with open(absolute, "wb") as file:
                file.write(text.data)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            folder = os.path.join(scratch, digest(text.group, ordinal, "alone"))
            absolute = os.path.join(folder, os.path.basename(name))
            os.makedirs(folder, exist_ok=True)
            with open(absolute, "wb") as file:
                file.write(text.data)
        content = hashlib.blake2b(text.data, digest_size=16).hexdigest()
        placed = Placed(
            SourceFile(name, absolute),
            content,
            rows.framework_of(text.data),
            ordinal in ordinals,
            screen.mentions_suppression(text.data),
        )
        groups.setdefault((text.group, folder), []).append(placed)
    return groups


def _groups_needed(unit: Unit, ordinals: frozenset[int]) -> set[str]:
    """The groups that hold a text to lint; all others need not be laid out."""
    if unit.kind not in ("parquet", "json-lines"):
        return {""}
    return {text.group for ordinal, text in enumerate(_readable(unit)) if ordinal in ordinals}


def _readable(unit: Unit) -> Iterator[Text]:
    """The texts of a unit, up to where it cannot be read further: the survey has said so."""
    with contextlib.suppress(OSError, ValueError):
        yield from sources.texts(unit)


def _judge_group(
    repository: str, folder: str, placed: Sequence[Placed], settings: Settings, fingerprint: str, nursery: Nursery, result: Result
) -> None:
    resolver = resolver_of(settings, folder)
    files = [one.file for one in placed]
    roots = package_roots(files, [folder])
    chosen = [one for one in placed if one.lint]
    outcomes = [nursery.lint(one.file.absolute, roots, tuple(settings.plugins)) for one in chosen]
    suppressing = [one.file.absolute for one in chosen if one.suppresses]
    report = report_of(outcomes, files, resolver, suppressing, session.Documents())
    by_name = {one.file.path: About(repository, one.framework, one.content, __version__, fingerprint) for one in placed}
    _add(report, by_name, folder, result)
    for one, outcome in zip(chosen, outcomes, strict=True):
        if reason := "; ".join(_trouble(outcome)):
            about = by_name[one.file.path]
            told = {"repository": repository, "path": one.file.path, "reason": reason.replace(folder + os.sep, "")}
            result.rows["not_analysed"].append({**told, **about.values()})
    result.linted += len(chosen)
    result.suppressed += report.suppressed


def _trouble(outcome: Outcome) -> Iterator[str]:
    if outcome.error is not None:
        yield outcome.error
    yield from outcome.notes
    if outcome.problems:
        yield f"does not parse: {outcome.problems[0].message}"


def _add(report: Report, by_name: dict[str, About], folder: str, result: Result) -> None:
    for kind, found in (("sites", _site_rows(report, by_name)), ("findings", _finding_rows(report, by_name))):
        for row in found:
            result.rows[kind].append({name: _without(value, folder) for name, value in row.items()})


def _site_rows(report: Report, by_name: dict[str, About]) -> Iterable[dict[str, object]]:
    return (rows.site_row(site, by_name[site.filename]) for site in report.sites if site.filename in by_name)


def _finding_rows(report: Report, by_name: dict[str, About]) -> Iterable[dict[str, object]]:
    return (rows.finding_row(one, by_name[one.filename]) for one in report.findings if one.filename in by_name)


def _without(value: object, folder: str) -> object:
    """A value in which no path speaks of the scratch folder."""
    return value.replace(folder + os.sep, "") if isinstance(value, str) else value


def _resident() -> int:
    """The memory that this process uses now, in bytes."""
    import psutil

    return int(psutil.Process().memory_info().rss)
