"""Which files a run looks at: walks the given paths, honours exclusions and .gitignore, follows no directory links."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnlint.globs import Glob, Ignored, is_ignored, read_gitignore
from attnlint.text.files import read

if TYPE_CHECKING:
    from attnlint.config import Resolver

_WILD = re.compile(r"[*?\[\\]")
_LITERAL = re.compile(r"[*?\[]")  # written so, each stands for itself; a backslash is a separator or, in a name, as rare


@dataclass(frozen=True)
class SourceFile:
    """One file to look at: `path` as the user will see it, `absolute` for everything else."""

    path: str
    absolute: str


@dataclass
class Discovery:
    """The files found, the paths that could not be read (exit status 2), and what was passed over with a word."""

    files: list[SourceFile] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    left_over: list[str] = field(default_factory=list)  # temporary files, perhaps of a run that was killed


class Patterns:
    """Glob patterns as `exclude` has them: a bare name matches any component, one with a slash the path from `base`."""

    def __init__(self, patterns: Sequence[str], base: str) -> None:
        self.base = base
        bare = [pattern.rstrip("/") for pattern in patterns if "/" not in pattern.rstrip("/")]
        self._names = frozenset(name for name in bare if not _WILD.search(name))
        self._name_globs = tuple(Glob.read(name) for name in bare if _WILD.search(name))
        self._paths = tuple(Glob.read(_below(base, one.rstrip("/"))) for one in patterns if "/" in one.rstrip("/"))

    def match(self, absolute: str, name: str | None = None) -> bool:
        """Whether this very path matches; its parents are not looked at."""
        name = name or os.path.basename(absolute)
        if name in self._names or any(glob.matches((name,)) for glob in self._name_globs):
            return True
        if not self._paths:
            return False
        components = absolute.replace(os.sep, "/").split("/")
        return any(glob.matches(components) for glob in self._paths)

    def match_any_part(self, absolute: str) -> bool:
        """Whether the path or a folder above it, up to `base`, matches."""
        current = absolute
        while True:
            if self.match(current):
                return True
            parent = os.path.dirname(current)
            if current in (parent, self.base):
                return False
            current = parent


def _below(base: str, pattern: str) -> str:
    if os.path.isabs(pattern):
        return pattern
    return _LITERAL.sub(r"[\g<0>]", base.replace(os.sep, "/").rstrip("/")) + "/" + pattern.removeprefix("./")


def discover(paths: Sequence[str], resolver: Resolver) -> Discovery:
    """The files under `paths`, sorted, each once. A path that does not exist or cannot be read is an error."""
    found = Discovery()
    by_absolute: dict[str, SourceFile] = {}
    for given in paths:
        for one in _expand(given, resolver, found):
            by_absolute.setdefault(one.absolute, one)
    found.files = _without_second_names(sorted(by_absolute.values(), key=lambda one: (one.path, one.absolute)))
    return found


def _without_second_names(files: list[SourceFile]) -> list[SourceFile]:
    """A symbolic link to a file that is looked at anyway is not looked at twice."""
    real = {one.absolute for one in files}
    kept: dict[str, SourceFile] = {}
    for one in files:
        target = os.path.realpath(one.absolute)
        if target != one.absolute and (target in real or target in kept):
            continue
        kept[target] = one
    return sorted(kept.values(), key=lambda one: (one.path, one.absolute))


def _expand(given: str, resolver: Resolver, found: Discovery) -> Iterator[SourceFile]:
    display = os.path.normpath(given)
    absolute = os.path.abspath(given)
    try:
        mode = os.stat(given).st_mode
    except (OSError, ValueError) as error:
        found.errors.append(f"{given}: {reason(error)}")
        return
    if stat.S_ISDIR(mode):
        if _force_excluded(absolute, resolver, is_dir=True):
            return
        yield from _walk(display, absolute, resolver, found)
    elif stat.S_ISREG(mode):
        if not _force_excluded(absolute, resolver, is_dir=False):
            yield SourceFile(display, absolute)
    else:
        found.errors.append(
            f"{given}: not a regular file; to lint what a pipe delivers, pass it on standard input and give '-' as the path"
        )


def _force_excluded(absolute: str, resolver: Resolver, is_dir: bool) -> bool:
    settings = resolver.for_directory(absolute if is_dir else os.path.dirname(absolute))
    return settings.force_exclude and settings.excluded.match_any_part(absolute)


def _walk(display: str, absolute: str, resolver: Resolver, found: Discovery) -> Iterator[SourceFile]:
    gitignore = GitIgnore.above(absolute) if resolver.for_directory(absolute).respect_gitignore else GitIgnore(())
    pending = [(display, absolute, gitignore)]
    while pending:
        shown, folder, ignore = pending.pop()
        settings = resolver.for_directory(folder)
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            found.errors.append(f"{shown}: {reason(error)}")
            continue
        if settings.respect_gitignore and any(entry.name == ".gitignore" for entry in entries):
            ignore = ignore.within(folder)
        for entry in entries:
            path = entry.name if shown == "." else os.path.join(shown, entry.name)
            where = os.path.join(folder, entry.name)
            try:
                folder_entry = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue
            if folder_entry:
                if not settings.excluded.match(where, entry.name) and not ignore.match(where, is_dir=True):
                    pending.append((path, where, ignore))
                continue
            if entry.name.startswith(".attnlint-") and entry.name.endswith(".tmp"):
                found.left_over.append(where)
                continue
            if not settings.wanted(entry.name, where) or settings.excluded.match(where, entry.name) or ignore.match(where, is_dir=False):
                continue
            if _is_file(entry, path, found):
                yield SourceFile(path, where)


def _is_file(entry: os.DirEntry[str], path: str, found: Discovery) -> bool:
    try:
        mode = os.stat(entry.path).st_mode
    except OSError as error:
        found.warnings.append(f"{path}: skipped: {reason(error)}")
        return False
    if stat.S_ISREG(mode):
        return True
    if not stat.S_ISDIR(mode):
        found.warnings.append(f"{path}: skipped: not a regular file")
    return False


def reason(error: Exception) -> str:
    """What went wrong with a path, in a few words that do not repeat its name."""
    if isinstance(error, OSError):
        return error.strerror.lower() if error.strerror else str(error)
    return str(error)


class GitIgnore:
    """The .gitignore files that bear on a folder, the outermost first; the last pattern that matches decides."""

    def __init__(self, levels: tuple[tuple[str, tuple[Ignored, ...]], ...]) -> None:
        self._levels = levels

    @classmethod
    def above(cls, folder: str) -> GitIgnore:
        """Those of the folders above, up to the repository's top; none where they ignore `folder` itself, which was asked for by name."""
        parents = []
        current = folder
        while not os.path.exists(os.path.join(current, ".git")):
            parent = os.path.dirname(current)
            if parent == current:
                return cls(())
            parents.append(parent)
            current = parent
        ignore = cls(())
        for parent in reversed(parents):
            ignore = ignore.within(parent)
        part = folder
        while part not in (current, os.path.dirname(part)):
            if ignore.match(part, is_dir=True):
                return cls(())
            part = os.path.dirname(part)
        return ignore

    def within(self, folder: str) -> GitIgnore:
        patterns = _read_gitignore(os.path.join(folder, ".gitignore"))
        return GitIgnore((*self._levels, (folder, patterns))) if patterns else self

    def match(self, absolute: str, is_dir: bool) -> bool:
        for base, patterns in reversed(self._levels):
            relative = os.path.relpath(absolute, base).replace(os.sep, "/")
            verdict = is_ignored(patterns, relative, is_dir)
            if verdict is not None:
                return verdict
        return False


def _read_gitignore(path: str) -> tuple[Ignored, ...]:
    try:
        return read_gitignore(read(path).decode("utf-8", "replace"))
    except OSError:
        return ()


def package_roots(files: Sequence[SourceFile], given: Sequence[str]) -> list[str]:
    """Where imports are looked up: each given folder, the parent of each topmost package in it, and beside each file given by itself."""
    absolute = [os.path.abspath(path) for path in given]
    roots = set(absolute)
    alone = {path for path in absolute if not os.path.isdir(path)}
    folders = {os.path.dirname(one.absolute) for one in files if one.absolute not in alone} | (roots - alone)
    known: dict[str, str] = {}
    for folder in folders:
        roots.add(_package_parent(folder, known))
    return sorted(roots)


def _package_parent(folder: str, known: dict[str, str]) -> str:
    trail = []
    current = folder
    while current not in known:
        trail.append(current)
        parent = os.path.dirname(current)
        if parent == current or not os.path.exists(os.path.join(current, "__init__.py")):
            known[current] = current
            break
        current = parent
    for one in trail:
        known[one] = known[current]
    return known[folder]
