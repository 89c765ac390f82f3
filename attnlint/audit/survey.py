"""The first round: reads every text of a partition once, and notes its digest and whether an attention site may be in it."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from attnlint import screen
from attnlint._version import __version__
from attnlint.audit import sources
from attnlint.audit.store import Store
from attnlint.audit.units import Unit, digest, safe

FORM = 1  # changes when a survey is written otherwise
FOLDER = ".audit/survey"
SCHEMA = pa.schema(
    [
        ("unit", pa.int32()),
        ("ordinal", pa.int64()),  # which text of the unit, from 0
        ("group", pa.string()),
        ("path", pa.string()),
        ("size", pa.int64()),
        ("digest", pa.binary(16)),
        ("interpret", pa.bool_()),  # an attention site may be in it
        ("reason", pa.string()),  # why it could not be read
    ]
)


@dataclass
class _Row:
    """A text as the survey notes it."""

    unit: int
    ordinal: int
    group: str
    path: str
    size: int = 0
    digest: bytes | None = None
    interpret: bool = False
    reason: str | None = None


def key_of(units: Sequence[Unit]) -> str:
    """The name of a partition's survey: the same as long as its units are."""
    return digest(FORM, __version__, [unit.as_json() for unit in units])


def survey(units: Sequence[Unit], store: Store) -> str:
    """Surveys a partition and keeps what is found. Returns its key."""
    key = key_of(units)
    rows = [row for number, unit in enumerate(units) for row in _survey_unit(number, unit)]
    columns = {name: [getattr(row, name) for row in rows] for name in SCHEMA.names}
    told = SCHEMA.with_metadata({"units": json.dumps([unit.as_json() for unit in units])})
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns, schema=told), buffer, compression="zstd")
    store.write(f"{FOLDER}/{key}.parquet", buffer.getvalue())
    return key


def _survey_unit(number: int, unit: Unit) -> Iterator[_Row]:
    """A text without attention of its own is interpreted where it brings in some of another text of its group."""
    rows: list[_Row] = []
    names: list[frozenset[bytes]] = []
    holders: dict[str, set[bytes]] = {}
    try:
        for ordinal, text in enumerate(sources.texts(unit)):
            row = _Row(number, ordinal, text.group, safe(text.path), reason=text.reason)
            rows.append(row)
            looked: frozenset[bytes] = frozenset()
            if text.data is not None:
                look = screen.look(text.data)
                row.size, row.interpret, looked = len(text.data), look.holds, look.names
                row.digest = hashlib.blake2b(text.data, digest_size=16).digest()
                if look.holds:
                    module = os.path.splitext(row.path.rpartition("/")[2])[0]
                    holders.setdefault(text.group, set()).update(look.names, [module.encode("utf-8", "surrogateescape")])
            names.append(looked)
    except (OSError, ValueError) as error:
        yield _Row(number, len(rows), "", unit.name, reason=f"cannot be read{' further' if rows else ''}: {error}")
    for row, brought in zip(rows, names, strict=False):
        row.interpret = row.interpret or not holders.get(row.group, set()).isdisjoint(brought)
        row.group = row.group.encode("utf-8", "replace").decode()
        row.path = row.path.encode("utf-8", "replace").decode()
        yield row


def read(store: Store, key: str) -> tuple[list[Unit], pa.Table]:
    """The units of a partition, and a row for every text."""
    table = store.table(f"{FOLDER}/{key}.parquet")
    units = [Unit.from_json(value) for value in json.loads(table.schema.metadata[b"units"])]
    return units, table
