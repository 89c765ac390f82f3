"""Glob patterns, of `exclude` and of .gitignore, matched in a time that grows with the pattern times the path, whatever they hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

Part = Callable[[str], object] | None  # matches one component of a path; None: any number of them

_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True)
class Glob:
    """A pattern over the components of a path: `*`, `?` and `[…]` stay within one, `**` stands for any number of them."""

    parts: tuple[Part, ...]

    @classmethod
    def read(cls, pattern: str) -> Glob:
        parts: list[Part] = []
        for piece in pattern.split("/"):
            if piece != "**":
                parts.append(_component(piece))
            elif not parts or parts[-1] is not None:
                parts.append(None)
        return cls(tuple(parts))

    def matches(self, path: Sequence[str]) -> bool:
        """Whether the pattern stands for all components of a path. Of several `**` only the last has to be tried anew."""
        parts = self.parts
        at = place = 0
        behind, tried = -1, 0
        while place < len(path):
            if at < len(parts) and (part := parts[at]) is None:
                behind, tried = at + 1, place
                at += 1
            elif at < len(parts) and part is not None and part(path[place]):
                at += 1
                place += 1
            elif behind >= 0:
                tried += 1
                at, place = behind, tried
            else:
                return False
        return all(part is None for part in parts[at:])


@lru_cache(maxsize=4096)
def _component(pattern: str) -> Callable[[str], object]:
    """What matches one component of a path. `fnmatch` writes stars that give nothing back, so that its expressions take linear time."""
    if not any(char in pattern for char in "*?[\\"):
        return pattern.__eq__
    from fnmatch import translate

    single = re.sub(r"\*\*+", "*", pattern).replace("[^", "[!")
    spelled = _ESCAPED.sub(lambda match: f"[{match.group(1)}]" if match.group(1) in "*?[" else match.group(1), single)
    return re.compile(translate(spelled)).match


@dataclass(frozen=True)
class Ignored:
    """One line of a .gitignore file."""

    glob: Glob
    includes: bool  # `!`: what matches is not ignored
    folders_only: bool

    @classmethod
    def read(cls, line: str) -> Ignored | None:
        """The pattern of a line, None where it holds none (gitignore(5))."""
        line = line.rstrip("\r\n")
        while line.endswith(" ") and not line.endswith("\\ "):
            line = line[:-1]
        if not line or line.startswith("#"):
            return None
        includes = line.startswith("!")
        pattern = line[1:] if includes else line
        folders_only = pattern.endswith("/")
        pattern = pattern.rstrip("/")
        if not pattern:
            return None
        anywhere = "/" not in pattern
        if pattern.endswith("/**"):
            pattern += "/*"  # what is inside, not the folder itself
        pattern = pattern.lstrip("/")
        return cls(Glob.read(f"**/{pattern}" if anywhere else pattern), includes, folders_only)


def read_gitignore(text: str) -> tuple[Ignored, ...]:
    """The patterns of a .gitignore file, in order."""
    return tuple(one for line in text.splitlines() if (one := Ignored.read(line)) is not None)


def is_ignored(patterns: Sequence[Ignored], relative: str, is_folder: bool) -> bool | None:
    """Whether a path below the file's folder is ignored; the last pattern that matches decides, None where none does."""
    components = relative.split("/")
    for one in reversed(patterns):
        if (is_folder or not one.folders_only) and one.glob.matches(components):
            return not one.includes
    return None
