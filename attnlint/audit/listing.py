"""The list of texts that attention may be in, and of those that could not be read: what the survey says, as rows of the results."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attnlint._version import __version__
from attnlint.audit import rows
from attnlint.audit.store import Store
from attnlint.audit.units import Unit, digest
from attnlint.interface import Settings


def file_of(kind: str, source: str, key: str) -> str:
    """Where rows of a source lie in the results: the folders are named so that readers of Parquet take `source` for a column."""
    return f"{kind}/source={quote(source, safe='')}/{key}.parquet"


def files(key: str, source: str) -> dict[str, str]:
    return {kind: file_of(kind, source, key) for kind in ("texts", "not_analysed")}


def keep(store: Store, key: str, units: Sequence[Unit], table: pa.Table, firsts: Sequence[bool], settings: Settings) -> None:
    """Writes the lists of a partition. `firsts` says of each text that was read whether its content is met for the first time.

    A finding is joined with every copy of its text by digest.
    """
    names = files(key, units[0].source)
    read = pc.is_valid(table["digest"])
    texts = table.filter(read).append_column("duplicate", pa.array([not first for first in firsts], pa.bool_()))
    texts = texts.filter(texts["interpret"])
    if len(texts):
        data = {
            "repository": _repositories(units, texts),
            "path": texts["path"],
            "size": texts["size"],
            "digest": [one.hex() for one in texts["digest"].to_pylist()],
            "duplicate": texts["duplicate"],
        }
        buffer = io.BytesIO()
        pq.write_table(pa.table(data), buffer, compression="zstd")
        store.write(names["texts"], buffer.getvalue())
    unread = table.filter(pc.invert(read))
    if len(unread):
        shared = {"version": __version__, "settings": digest(asdict(settings))}
        triples = zip(_repositories(units, unread), unread["path"].to_pylist(), unread["reason"].to_pylist(), strict=True)
        found = [{"repository": repository, "path": path, "reason": reason, **shared} for repository, path, reason in triples]
        store.write(names["not_analysed"], rows.table_bytes("not_analysed", found))


def _repositories(units: Sequence[Unit], table: pa.Table) -> list[str]:
    of = zip(table["unit"].to_pylist(), table["group"].to_pylist(), strict=True)
    return [units[number].repository(group) for number, group in of]
