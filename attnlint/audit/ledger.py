"""Which content was met before, kept on disk so that memory stays flat: a text is linted where it is met first, and counted elsewhere."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterable
from types import TracebackType


class Ledger:
    """The digests of all texts met so far; on the disk of whoever makes it, until it is closed."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="attnlint-audit-")
        self._data = sqlite3.connect(os.path.join(self._folder.name, "digests"), isolation_level=None)
        for line in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
            self._data.execute(f"PRAGMA {line}")
        self._data.execute("CREATE TABLE met (digest BLOB PRIMARY KEY) WITHOUT ROWID")

    def first(self, digests: Iterable[bytes]) -> list[bool]:
        """For each of these, whether it is met for the first time now."""
        self._data.execute("BEGIN")
        found = [self._data.execute("INSERT OR IGNORE INTO met VALUES (?)", (one,)).rowcount == 1 for one in digests]
        self._data.execute("COMMIT")
        return found

    def __len__(self) -> int:
        (count,) = self._data.execute("SELECT count(*) FROM met").fetchone()
        return int(count)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._data.close()
        self._folder.cleanup()
