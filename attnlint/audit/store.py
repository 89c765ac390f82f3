"""The folder that an audit writes to, on any file system that fsspec knows. A file is there whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Store:
    """The folder, by its address, so that it can be sent to workers."""

    address: str

    def _at(self, name: str) -> tuple[Any, str]:
        fs, root = fsspec.core.url_to_fs(self.address)
        return fs, f"{root.rstrip('/')}/{name}"

    def read(self, name: str) -> bytes:
        """Raises FileNotFoundError."""
        fs, path = self._at(name)
        return bytes(fs.cat_file(path))

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """A Parquet file, read by this thread alone: they are small, and there are many."""
        file = pq.ParquetFile(pa.BufferReader(self.read(name)), pre_buffer=False)
        return file.read(columns=None if columns is None else list(columns), use_threads=False)

    def write(self, name: str, data: bytes) -> None:
        """Writes a file beside its place first, where the file system has names to change; object stores put whole objects anyway."""
        fs, path = self._at(name)
        protocols = (fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol
        if not {"file", "local"} & set(protocols):
            fs.pipe_file(path, data)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        beside = f"{path}.{uuid.uuid4().hex}.part"
        with open(beside, "wb") as file:
            file.write(data)
        os.replace(beside, path)

    def names(self, folder: str) -> list[str]:
        """Every file below a folder, by its name from the store."""
        fs, path = self._at(folder)
        root = self._at("")[1]
        fs.invalidate_cache()
        return sorted(found[len(root) :] for found in fs.find(path)) if fs.exists(path) else []

    def remove(self, name: str) -> None:
        fs, path = self._at(name)
        fs.rm_file(path)
