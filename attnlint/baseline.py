"""The baseline: findings that are known and not reported, by path, code and the text of the statement, so that moved lines stay known."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
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
    """What is new, how many findings were known, and how many entries no longer occur."""

    new: tuple[Diagnostic, ...]
    known: int
    gone: int


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
    """Takes the known findings out; an entry covers as many findings as it counts. Entries of files not looked at are not gone."""
    folder = os.path.dirname(os.path.abspath(path))
    left = Counter(entries)
    new = []
    for one in diagnostics:
        entry = key(one, folder)
        if left[entry] > 0:
            left[entry] -= 1
        else:
            new.append(one)
    seen = {os.path.relpath(absolute, folder).replace(os.sep, "/") for absolute in looked_at}
    gone = sum(count for (name, _, _), count in left.items() if name in seen)
    return Compared(tuple(new), len(diagnostics) - len(new), gone)


def write(path: str, diagnostics: Sequence[Diagnostic], looked_at: Iterable[str]) -> int:
    """Writes the present findings; entries of files that this run did not look at stay. Returns how many entries there are."""
    folder = os.path.dirname(os.path.abspath(path))
    seen = {os.path.relpath(absolute, folder).replace(os.sep, "/") for absolute in looked_at}
    entries = Counter(
        {entry: count for entry, count in (read(path) if os.path.exists(path) else Counter[Key]()).items() if entry[0] not in seen}
    )
    entries.update(key(one, folder) for one in diagnostics)
    rows: list[dict[str, Any]] = [
        {"path": name, "code": code, "statement": statement, "count": count} for (name, code, statement), count in sorted(entries.items())
    ]
    replace_file(
        path, (json.dumps({"version": VERSION, "findings": rows}, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    )
    return sum(entries.values())
