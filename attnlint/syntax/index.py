"""The index of the tree: which definitions of a file lead to attention, and which imports of another file bring them in, by any name.

It reads bytes, by the rules of the screen, and parses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from attnlint import screen
from attnlint.syntax.scope import Import
from attnlint.text.files import read

MAX_FILES = 5000  # held at once
MAX_HOPS = 4  # files that a name is handed through before it is given up

_FROM = re.compile(r"^[ \t]*from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\r\n#(]+)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([^\r\n#(]+)", re.MULTILINE)
_NAMED = re.compile(r"([\w.]+|\*)(?:\s+as\s+(\w+))?")
_COMMENT = re.compile(r"#[^\r\n]*")


@dataclass(frozen=True)
class FileIndex:
    """What one file defines that leads to attention, and what it brings in."""

    leading: frozenset[str]
    imports: dict[str, Import]  # wherever in the file a name is imported
    stars: tuple[Import, ...]  # modules of which everything is imported

    @classmethod
    def of(cls, path: str) -> FileIndex | None:
        """The index of a file; None where it cannot be read."""
        try:
            data = read(path)
        except (OSError, ValueError):
            return None
        leading = screen.leading_names(data) if screen.may_hold_attention(data) else frozenset()
        found = list(imports_in(data.decode("utf-8", "replace")))
        return cls(
            frozenset(name.decode("utf-8", "replace") for name in leading),
            {name: target for name, target in found if name != "*"},
            tuple(target for name, target in found if name == "*"),
        )


def imports_in(text: str) -> Iterator[tuple[str, Import]]:
    """The names that the import statements of a text bind, and what they stand for; `*` for all of a module."""
    if "import" not in text:
        return
    for dots, module, names in _FROM.findall(text):
        for name, other in _NAMED.findall(_COMMENT.sub("", names)):
            yield (other or name, Import(module, None if name == "*" else name, len(dots)))
    for names in _IMPORT.findall(text):
        for name, other in _NAMED.findall(names):
            yield (other or name.partition(".")[0], Import(name if other else name.partition(".")[0], None))


class Index:
    """The files of a tree, each read once. `resolve` gives the file that an import of another file names."""

    def __init__(self, resolve: Callable[[str, Import], tuple[str, str | None] | None]) -> None:
        self._resolve = resolve
        self._files: dict[str, FileIndex | None] = {}

    def file(self, path: str) -> FileIndex | None:
        if path not in self._files:
            if len(self._files) >= MAX_FILES:
                self._files.clear()
            self._files[path] = FileIndex.of(path)
        return self._files[path]

    def leads(self, importer: str, target: Import, met: set[str], hops: int = 0) -> frozenset[str] | bool:
        """Whether an imported name leads to attention; of a module, which of its names do. `met` gets the files that were looked at."""
        found = self._resolve(importer, target)
        if found is None or hops > MAX_HOPS:
            return False
        path, attribute = found
        met.add(path)
        index = self.file(path)
        if index is None:
            return False
        if attribute is None:
            return index.leading
        if attribute in index.leading:
            return True
        handed_on = index.imports.get(attribute)
        if handed_on is not None:
            return path != importer and bool(self.leads(path, handed_on, met, hops + 1))
        return any(self.leads(path, Import(star.module, attribute, star.level), met, hops + 1) for star in index.stars)
