"""What an audit sees together: a repository, an archive, a folder, or a piece of a table; and the texts that come out of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

LARGEST = 4 << 20  # bytes of a text; what is larger holds data
WANTED = (".py", ".pyi", ".ipynb")


@dataclass(frozen=True)
class Unit:
    """One unit of a source. `source` is what the user named, `name` says which part of it; `part` is a range of rows or bytes.

    `fingerprint` changes where the content may have changed; `size` is in bytes, as far as known.
    """

    source: str
    kind: str  # "folder" | "files" | "mirror" | "archive" | "parquet" | "json-lines"
    address: str
    name: str
    fingerprint: str
    size: int
    part: tuple[int, int] | None = None
    columns: tuple[str | None, str | None, str | None] = (None, None, None)  # content, path, repository

    def repository(self, group: str) -> str:
        """What a group of its texts is called in the results."""
        return group or self.name or self.source.rstrip("/").rpartition("/")[2]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Unit:
        part = value["part"]
        columns = value["columns"]
        return cls(**{**value, "part": None if part is None else (part[0], part[1]), "columns": (columns[0], columns[1], columns[2])})


@dataclass(frozen=True)
class Text:
    """One text of a unit. Texts of one `group` are seen together; `data` is None where it was not read, and `reason` says why."""

    group: str
    path: str
    data: bytes | None
    reason: str | None = None


def wanted(path: str) -> bool:
    """Whether a path is that of a text which is looked at."""
    return path.endswith(WANTED)


def too_large(size: int) -> str:
    return f"{size} bytes: larger than any program ({LARGEST} bytes)"


def safe(path: str) -> str:
    """A path of an archive, a tree or a table as one below a folder: relative, and never out of it."""
    parts = [part for part in path.replace("\\", "/").replace("\0", "").split("/") if part not in ("", ".", "..")]
    return "/".join(part[:200] for part in parts) or "text.py"


def digest(*parts: object) -> str:
    """A short name for anything that JSON can write."""
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def partitions(units: Iterable[Unit], largest: int = 8 << 20, most: int = 32) -> Iterable[list[Unit]]:
    """Units in pieces of work. Where a piece ends depends on the units themselves, so that a new unit changes one piece, not all."""
    piece: list[Unit] = []
    size = 0
    for unit in units:
        if piece and unit.source != piece[0].source:
            yield piece
            piece, size = [], 0
        piece.append(unit)
        size += unit.size
        last = int(digest(unit.source, unit.name, unit.part)[:4], 16) % (most // 2) == 0
        if size >= largest or len(piece) >= most or (last and size >= largest // 4):
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
