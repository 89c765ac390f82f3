"""Tables with a text a row, as public data sets of code have them: Parquet by row group, JSON lines by a range of bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from attnlint.audit.units import LARGEST, Text, Unit, too_large, wanted
from attnlint.config import ConfigError

PARQUET = (".parquet", ".pq")
PLAIN = (".jsonl", ".ndjson")
PACKED = tuple(ending + packing for ending in PLAIN for packing in (".gz", ".bz2", ".xz", ".zst"))
ENDINGS = (*PARQUET, *PLAIN, *PACKED)
RANGE = 32 << 20  # bytes of JSON lines in one unit
ROWS = 256  # rows of Parquet held at once

CONTENT = ("content", "text", "code", "source")
PATH = ("path", "max_stars_repo_path", "file_path", "filename", "file_name", "name")
REPOSITORY = ("repo_name", "max_stars_repo_name", "repository", "repository_name", "repo")


@dataclass(frozen=True)
class Columns:
    """The columns of a table, where the user names them; else the usual names are tried."""

    content: str | None = None
    path: str | None = None
    repository: str | None = None

    def among(self, names: Sequence[str], table: str) -> tuple[str, str, str | None]:
        """The columns for content, path and repository. Raises ConfigError where one that is needed is not there."""

        def find(what: str, said: str | None, usual: Sequence[str], needed: bool) -> str | None:
            found = next((name for name in ((said,) if said else usual) if name in names), None)
            if found is None and (needed or said):
                tried = said or ", ".join(usual)
                raise ConfigError(f"{table}: no column for the {what} ({tried}); name one of {', '.join(names)} with --{what}-column")
            return found

        content = find("content", self.content, CONTENT, True)
        path = find("path", self.path, PATH, True)
        assert content is not None and path is not None
        return content, path, find("repository", self.repository, REPOSITORY, False)


def is_table(name: str) -> bool:
    return name.endswith(ENDINGS)


def units(source: str, fs: Any, address: str, name: str, version: str, size: int, columns: Columns) -> Iterator[Unit]:
    """The pieces of a table. Raises ConfigError where it cannot be read or lacks a column."""
    if name.endswith(PARQUET):
        try:
            with fsspec.open(address, "rb") as file:
                metadata = pq.read_metadata(file)
        except (OSError, pa.ArrowException) as error:
            raise ConfigError(f"{name}: cannot be read as Parquet: {error}") from None
        chosen = columns.among(metadata.schema.to_arrow_schema().names, name)
        for group in range(metadata.num_row_groups):
            weight = metadata.row_group(group).total_byte_size
            yield Unit(source, "parquet", address, name, version, weight, (group, group + 1), chosen)
        return
    first = _first_row(address)
    if first is None:
        return
    chosen = columns.among(list(first), name)
    if name.endswith(PACKED):
        yield Unit(source, "json-lines", address, name, version, size, None, chosen)
        return
    for start in range(0, size, RANGE):
        yield Unit(source, "json-lines", address, name, version, min(RANGE, size - start), (start, start + RANGE), chosen)


def _first_row(address: str) -> dict[str, Any] | None:
    try:
        with fsspec.open(address, "rb", compression="infer") as file:
            line = file.readline()
            first = json.loads(line) if line.strip() else None
    except (OSError, ValueError, EOFError, RecursionError) as error:
        raise ConfigError(f"{address}: cannot be read as JSON lines: {error}") from None
    if first is not None and not isinstance(first, dict):
        raise ConfigError(f"{address}: its first line is no JSON object with a column for the content and one for the path")
    return first


def texts(unit: Unit) -> Iterator[Text]:
    """The programs of a piece. Its rows of one repository are one group; where no repository is named, each row is alone."""
    rows = _parquet(unit) if unit.kind == "parquet" else _json_lines(unit)
    for number, (content, path, repository) in enumerate(rows):
        name = path if isinstance(path, str) and path else f"row-{number}.py"
        if not wanted(name):
            continue
        group = repository if isinstance(repository, str) and repository else f"row {number}"
        if not isinstance(content, (str, bytes)):
            yield Text(group, name, None, "its content is no text")
            continue
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        yield Text(group, name, data) if len(data) <= LARGEST else Text(group, name, None, too_large(len(data)))


def _parquet(unit: Unit) -> Iterator[tuple[object, object, object]]:
    content, path, repository = unit.columns
    assert unit.part is not None
    wanted_columns = [name for name in (content, path, repository) if name]
    with fsspec.open(unit.address, "rb") as file:
        try:
            table = pq.ParquetFile(file)
            for batch in table.iter_batches(ROWS, row_groups=[unit.part[0]], columns=wanted_columns):
                for row in batch.to_pylist():
                    yield row[content], row[path], row.get(repository)
        except pa.ArrowException as error:
            raise OSError(f"cannot be read as Parquet: {error}") from None


def _json_lines(unit: Unit) -> Iterator[tuple[object, object, object]]:
    """Rows that start in the unit's range of bytes."""
    content, path, repository = unit.columns
    with fsspec.open(unit.address, "rb", compression="infer") as file:
        if unit.part is not None and unit.part[0]:
            file.seek(unit.part[0] - 1)
            _line(file)
        while unit.part is None or file.tell() < unit.part[1]:
            line = _line(file)
            if not line:
                return
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict):
                yield row.get(content), row.get(path), row.get(repository)


def _line(file: Any) -> bytes:
    """A line of any length; of one that is too long to be a text only the start is kept."""
    line: bytes = file.readline(8 * LARGEST)
    rest = line
    while rest and not rest.endswith(b"\n"):
        rest = file.readline(1 << 20)
    return line
