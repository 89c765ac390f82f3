"""The cache: what the engine said of a file, by its content, the version and the content of every file that the verdict rests on."""

from __future__ import annotations


def find(paths: list[str]) -> list[str]:
    raise NotImplementedError


def remove(folder: str) -> bool:
    raise NotImplementedError
