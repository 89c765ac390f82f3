"""The baseline: findings that are known and not reported, by path, code and the text of the statement, so that moved lines stay known."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from attnlint.config import ConfigError
from attnlint.session import Diagnostic
from attnlint.text import files
from attnlint.text.atomic import replace_file

VERSION = 1
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Compared:
    """What is new, how many findings were known, and the entries that no longer occur, with how often."""

    new: tuple[Diagnostic, ...]
    known: int
    gone: Counter[Key]
    left: Counter[Key]


def key(one: Diagnostic, folder: str) -> Key:
    """Path from the baseline's folder, code, and the statement's text with white space made even."""
    path = os.path.relpath(one.absolute, folder).replace(os.sep, "/")
    return path, one.finding.code, statement_text(one)


def statement_text(one: Diagnostic) -> str:
    return " ".join(one.document.slice(one.statement).split())


def read(path: str) -> Counter[Key]:
    """The entries of a baseline. Raises ConfigError where it cannot be read."""
    try:
        document = json.loads(files.read(path))
        if document["version"] != VERSION:
            raise ConfigError(f"baseline {path}: version {document['version']!r} is not {VERSION}; write it anew with --update-baseline")
        entries: Counter[Key] = Counter()
        for entry in document["findings"]:
            entries[str(entry["path"]), str(entry["code"]), str(entry["statement"])] += int(entry.get("count", 1))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"baseline {path}: cannot be read: {reason}; write it with --update-baseline") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ConfigError(f"baseline {path}: not a baseline of attnlint; write it anew with --update-baseline") from None
    return entries


def compare(diagnostics: Sequence[Diagnostic], entries: Counter[Key], path: str, looked_at: Iterable[str]) -> Compared:
    """Takes the known findings out; an entry covers as many findings as it counts.

    An entry whose file is not there any more goes with the same statement elsewhere: a file that was renamed keeps its entries. Gone
    are the entries of files that were looked at, and of files that are not there.
    """
    folder = os.path.dirname(os.path.abspath(path))
    left = Counter(entries)
    unmatched = _matched(diagnostics, left, lambda one: key(one, folder))
    missing = {name for name, _, _ in left if not os.path.exists(os.path.join(folder, name))}
    moved: dict[tuple[str, str], list[Key]] = {}
    for entry in sorted(left):
        if entry[0] in missing:
            moved.setdefault(entry[1:], []).extend([entry] * left[entry])
    new = _matched(unmatched, left, lambda one: next((entry for entry in moved.get(key(one, folder)[1:], ()) if left[entry] > 0), None))
    seen = {os.path.relpath(absolute, folder).replace(os.sep, "/") for absolute in looked_at}
    gone = Counter({entry: count for entry, count in left.items() if count > 0 and (entry[0] in seen or entry[0] in missing)})
    return Compared(tuple(new), len(diagnostics) - len(new), gone, left)


def _matched(diagnostics: Iterable[Diagnostic], left: Counter[Key], entry_of: Callable[[Diagnostic], Key | None]) -> list[Diagnostic]:
    """The findings that no entry covers; what covers one is taken from `left`."""
    new = []
    for one in diagnostics:
        entry = entry_of(one)
        if entry is not None and left[entry] > 0:
            left[entry] -= 1
        else:
            new.append(one)
    return new


def write(path: str, diagnostics: Sequence[Diagnostic], looked_at: Iterable[str]) -> int:
    """Writes the present findings; entries of files that this run did not look at stay. Returns how many entries there are."""
    folder = os.path.dirname(os.path.abspath(path))
    kept: Counter[Key] = Counter()
    if os.path.exists(path):
        compared = compare(diagnostics, read(path), path, looked_at)
        seen = {os.path.relpath(absolute, folder).replace(os.sep, "/") for absolute in looked_at}
        kept = Counter({entry: count for entry, count in compared.left.items() if entry[0] not in seen and entry not in compared.gone})
    kept.update(key(one, folder) for one in diagnostics)
    return _write(path, kept)


def prune(path: str, diagnostics: Sequence[Diagnostic], looked_at: Iterable[str]) -> int:
    """Takes out the entries that are no longer found, and adds none. Returns how many were taken out."""
    entries = read(path)
    gone = compare(diagnostics, entries, path, looked_at).gone
    if gone:
        _write(path, entries - gone)
    return sum(gone.values())


def _write(path: str, entries: Counter[Key]) -> int:
    rows: list[dict[str, Any]] = [
        {"path": name, "code": code, "statement": statement, "count": count}
        for (name, code, statement), count in sorted(entries.items())
        if count > 0
    ]
    replace_file(
        path, (json.dumps({"version": VERSION, "findings": rows}, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    )
    return sum(entries.values())
