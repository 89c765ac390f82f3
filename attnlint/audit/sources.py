"""From what a user names to units: a folder is taken apart into the repositories, archives, tables and packages that lie in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import fsspec

from attnlint.audit import archives, mirrors, tables
from attnlint.audit.units import LARGEST, Text, Unit, digest, too_large, wanted
from attnlint.config import DEFAULT_EXCLUDE, ConfigError

PROJECT = frozenset((".git", "pyproject.toml", "setup.py", "setup.cfg", "__init__.py"))
EXCLUDED = frozenset(DEFAULT_EXCLUDE)


@dataclass(frozen=True)
class Entry:
    """One entry of a folder: `version` changes when the content does, as far as the file system tells."""

    name: str
    path: str
    is_folder: bool
    size: int
    version: str


def entries(fs: Any, folder: str) -> list[Entry]:
    """What lies in a folder, by name; links to folders, pipes and devices are left out."""
    found = []
    for info in fs.ls(folder, detail=True):
        kind = info["type"]
        path = info["name"].rstrip("/")
        if kind not in ("file", "directory") or (kind == "directory" and info.get("islink")) or path == folder.rstrip("/"):
            continue
        found.append(Entry(path.rpartition("/")[2], path, kind == "directory", info.get("size") or 0, version_of(info)))
    return sorted(found, key=lambda entry: entry.name)


def version_of(info: dict[str, Any]) -> str:
    """What tells one version of a file from the next, whichever file system it is."""
    told = next(
        (str(info[name]) for name in ("ETag", "etag", "sha256", "mtime", "LastModified", "updated", "created") if info.get(name)), ""
    )
    return f"{info.get('size')}:{told}"


def units(source: str, columns: tables.Columns) -> Iterator[Unit]:
    """The units of a source. Raises ConfigError where there is nothing of that name, or no way to read it."""
    try:
        fs, path = fsspec.core.url_to_fs(source)
    except (ImportError, ValueError) as error:
        raise ConfigError(f"{source}: cannot be opened: {error}") from None
    try:
        info = fs.info(path)
        if info["type"] == "directory":
            yield from _folder(source, fs, path.rstrip("/"), "", columns)
            return
    except (OSError, ValueError) as error:
        raise ConfigError(f"{source}: cannot be read: {error}; give a folder, a mirror, an archive, a table or an fsspec address") from None
    entry = Entry(path.rpartition("/")[2], path, False, info.get("size") or 0, version_of(info))
    found = list(_file(source, fs, entry, entry.name, columns))
    if not found and wanted(path):
        found = [Unit(source, "files", fs.unstrip_protocol(path), entry.name, entry.version, entry.size)]
    if not found:
        raise ConfigError(f"{source}: neither Python, an archive ({', '.join(archives.ENDINGS)}) nor a table ({', '.join(tables.ENDINGS)})")
    yield from found


def _folder(source: str, fs: Any, path: str, name: str, columns: tables.Columns) -> Iterator[Unit]:
    inside = entries(fs, path)
    names = {entry.name for entry in inside}
    if mirrors.is_mirror(names):
        yield mirrors.unit(source, fs.unstrip_protocol(path), name or path.rpartition("/")[2])
        return
    special = any(entry.is_folder and _holds_repository(fs, entry) for entry in inside) or any(
        archives.is_archive(entry.name) or tables.is_table(entry.name) for entry in inside
    )
    programs = [entry for entry in inside if not entry.is_folder and wanted(entry.name)]
    if names & PROJECT or (programs and not special):
        yield _whole(source, fs, path, name)
        return
    if programs:
        print_of = digest([(entry.name, entry.version) for entry in programs])
        yield Unit(source, "files", fs.unstrip_protocol(path), name, print_of, sum(entry.size for entry in programs))
    for entry in inside:
        below = f"{name}/{entry.name}" if name else entry.name
        if not entry.is_folder:
            yield from _file(source, fs, entry, below, columns)
        elif entry.name not in EXCLUDED:
            yield from _folder(source, fs, entry.path, below, columns)


def _holds_repository(fs: Any, entry: Entry) -> bool:
    if entry.name in EXCLUDED:
        return False
    inside = {one.name for one in entries(fs, entry.path)}
    return ".git" in inside or mirrors.is_mirror(inside)


def _file(source: str, fs: Any, entry: Entry, name: str, columns: tables.Columns) -> Iterator[Unit]:
    address = fs.unstrip_protocol(entry.path)
    if archives.is_archive(entry.name):
        yield Unit(source, "archive", address, name, entry.version, entry.size)
    elif tables.is_table(entry.name):
        yield from tables.units(source, fs, address, name, entry.version, entry.size, columns)


def _whole(source: str, fs: Any, path: str, name: str) -> Unit:
    versions, size = [], 0
    for entry in walk(fs, path):
        versions.append((entry.path[len(path) :], entry.version))
        size += entry.size
    return Unit(source, "folder", fs.unstrip_protocol(path), name, digest(versions), size)


def walk(fs: Any, folder: str) -> Iterator[Entry]:
    """The programs below a folder, always in the same order; what the linter passes over by name is passed over here."""
    pending = [folder]
    while pending:
        for entry in entries(fs, pending.pop()):
            if entry.name in EXCLUDED:
                continue
            if entry.is_folder:
                pending.append(entry.path)
            elif wanted(entry.name):
                yield entry


def texts(unit: Unit) -> Iterator[Text]:
    """The texts of a unit, always in the same order. Raises OSError or ValueError where the unit as a whole cannot be read."""
    if unit.kind == "mirror":
        yield from mirrors.texts(unit)
    elif unit.kind == "archive":
        yield from archives.texts(unit)
    elif unit.kind in ("parquet", "json-lines"):
        yield from tables.texts(unit)
    else:
        fs, path = fsspec.core.url_to_fs(unit.address)
        path = path.rstrip("/")
        if unit.kind == "folder":
            found = walk(fs, path)
        elif fs.isdir(path):
            found = (entry for entry in entries(fs, path) if not entry.is_folder and wanted(entry.name))
        else:
            folder, _, name = path.rpartition("/")
            found = iter([Entry(name, path, False, fs.size(path), "")])
            path = folder
        for entry in found:
            yield _read(fs, entry, entry.path[len(path) + 1 :])


def _read(fs: Any, entry: Entry, name: str) -> Text:
    if entry.size > LARGEST:
        return Text("", name, None, too_large(entry.size))
    try:
        return Text("", name, fs.cat_file(entry.path))
    except OSError as error:
        return Text("", name, None, f"cannot be read: {error.strerror or error}")
