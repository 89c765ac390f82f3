"""Archives as a package index has them: wheels and sdists. Members are read as they stream by; nothing is unpacked."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, cast

import fsspec

from attnlint.audit.units import LARGEST, Text, Unit, too_large, wanted

ZIPS = (".whl", ".zip", ".egg")
TARS = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
ENDINGS = (*ZIPS, *TARS)


def is_archive(name: str) -> bool:
    return name.endswith(ENDINGS)


def texts(unit: Unit) -> Iterator[Text]:
    """The programs of an archive. Raises OSError where it is none, or ends too early."""
    with fsspec.open(unit.address, "rb") as file:
        try:
            yield from _zip(file) if unit.name.endswith(ZIPS) else _tar(file)
        except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise OSError(f"not an archive that can be read: {error}") from None


def _zip(file: Any) -> Iterator[Text]:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.is_dir() or not wanted(member.filename):
                continue
            with archive.open(member) as stream:
                yield _member(member.filename, member.file_size, stream)


def _tar(file: Any) -> Iterator[Text]:
    with tarfile.open(fileobj=file, mode="r|*") as archive:
        for member in archive:
            cast("Any", archive).members = []  # or the archive would remember all that went by
            if not member.isreg() or not wanted(member.name):
                continue
            stream = archive.extractfile(member)
            if stream is not None:
                yield _member(member.name, member.size, stream)


def _member(name: str, size: int, stream: IO[bytes]) -> Text:
    if size > LARGEST:
        return Text("", name, None, too_large(size))
    data = stream.read(LARGEST + 1)  # what a header says of a size need not be so
    return Text("", name, None, too_large(len(data))) if len(data) > LARGEST else Text("", name, data)
