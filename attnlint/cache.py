"""The cache: what the engine said of a file, by its content, the version and the content of every file that the verdict rests on.

One JSON file a version in `.attnlint_cache`, which git ignores by a file of its own. A cache that cannot be read is as good as
none; two runs at once each replace the file in one step and keep what the other has written.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attnlint import screen
from attnlint._version import __version__
from attnlint.text.atomic import replace_file, sweep
from attnlint.text.files import read

if TYPE_CHECKING:
    from attnlint.analysis import Outcome
    from attnlint.registry import RuleMeta
    from attnlint.runner import Job

FOLDER = ".attnlint_cache"
LAYOUT = 3
MAX_ENTRIES = 100_000
_OWN = re.compile(r"[0-9a-f]{24}\.json|\.attnlint-.*\.tmp")
_IGNORE = "# made by attnlint\n*\n"
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache of attnlint; it may be deleted at any time.\n"


def digest(data: bytes) -> str:
    """The name of a content."""
    return hashlib.sha256(data).hexdigest()


class Cache:
    """Outcomes by file. `salt` is what all of them rest on: version, interpreter, the engine's own files and the plug-ins."""

    def __init__(self, folder: str, roots: Sequence[str], plugins: Sequence[str], max_steps: int = 0) -> None:
        self._folder = folder
        self._salt = _salt(plugins)
        self._roots = digest("\0".join([*roots, str(max_steps)]).encode("utf-8", "surrogateescape"))[:16]
        self._path = os.path.join(folder, f"{self._salt[:24]}.json")
        self._files: dict[str, Any] = {}
        self._plain: set[str] = set()
        self._looks: dict[str, Any] = {}
        self._rules: list[Any] | None = None
        self._new_files: dict[str, Any] = {}
        self._new_plain: set[str] = set()
        self._new_looks: dict[str, Any] = {}
        self._new_rules: list[Any] | None = None
        self._digests: dict[str, str] = {}
        self._tree = Tree(roots)
        self._read()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError):
            stored = json.loads(read(self._path))
            if stored["salt"] == self._salt and isinstance(stored["files"], dict) and isinstance(stored["looks"], dict):
                self._files, self._looks = stored["files"], stored["looks"]
                self._plain, self._rules = set(stored["plain"]), stored["rules"]

    def look(self, content: str, data: bytes) -> screen.Look:
        """The first look at a content."""
        known = self._looks.get(content)
        try:
            if known is not None:
                holds, suppresses, names = known
                return screen.Look(bool(holds), bool(suppresses), frozenset(name.encode("utf-8", "surrogateescape") for name in names))
        except (TypeError, ValueError, AttributeError):
            pass
        look = screen.look(data)
        self._new_looks[content] = [look.holds, look.suppresses, sorted(name.decode("utf-8", "surrogateescape") for name in look.names)]
        return look

    def know(self, absolute: str, content: str) -> None:
        """Tells the digest of a file that was read anyway."""
        self._digests[absolute] = content

    def _digest_of(self, absolute: str) -> str:
        """The digest of a dependency's content, empty where there is no such file."""
        if absolute not in self._digests:
            try:
                self._digests[absolute] = digest(read(absolute))
            except (OSError, ValueError):
                self._digests[absolute] = ""
        return self._digests[absolute]

    def get(self, job: Job) -> Outcome | None:
        """What is known of a file with this content, None where that is nothing or rests on what has changed since."""
        from attnlint.analysis import Outcome

        if not job.interpret and job.digest in self._plain:
            return Outcome(job.absolute)
        entry = self._files.get(self._key(job))
        if entry is None:
            return None
        from attnlint.text.codec import Malformed, load_problem, load_result

        try:
            if entry["digest"] != job.digest:
                return None
            if any(self._digest_of(path) != content for path, content in entry["dependencies"].items()):
                return None
            if any(self._tree.holds(folder, name) for folder, name in entry["absent"]):
                return None
            dependencies = tuple(entry["dependencies"])
            problems = tuple(load_problem(one) for one in entry["problems"])
            notes = tuple(str(note) for note in entry["notes"])
            return Outcome(job.absolute, load_result(entry["result"], dependencies), problems, notes, dependencies=dependencies)
        except (Malformed, KeyError, TypeError, AttributeError):
            return None

    def put(self, job: Job, outcome: Outcome) -> None:
        """Keeps an outcome; one with an error is tried again in the next run."""
        if outcome.error is not None:
            return
        if not job.interpret and not outcome.problems and not outcome.notes:
            self._new_plain.add(job.digest)
            return
        from attnlint.text.codec import dump_problem, dump_result

        needed = {path: self._digest_of(path) for path in map(os.path.abspath, outcome.dependencies)}
        absent = set().union(*(self._tree.absent(path) for path in (job.absolute, *needed))) if job.interpret else set()
        self._new_files[self._key(job)] = {
            "digest": job.digest,
            "dependencies": needed,
            "absent": sorted(absent),
            "problems": [dump_problem(one) for one in outcome.problems],
            "notes": list(outcome.notes),
            "result": dump_result(outcome.result),
        }

    def _key(self, job: Job) -> str:
        return f"{self._roots}:{int(job.interpret)}:{job.absolute}"

    def rules(self) -> tuple[RuleMeta, ...] | None:
        """The rules as they were when last loaded."""
        from attnlint.registry import RuleMeta

        try:
            known = self._rules
            if not known:
                return None
            return tuple(RuleMeta(str(code), str(name), bool(preview), bool(on), str(docs)) for code, name, preview, on, docs in known)
        except (TypeError, ValueError):
            return None

    def keep_rules(self, rules: Iterable[RuleMeta]) -> None:
        rows = [[one.code, one.name, one.preview, one.default_on, one.docs] for one in rules]
        if rows != self._rules:
            self._new_rules = rows

    def save(self) -> None:
        """Writes what is new, together with what another run has written meanwhile. A folder that cannot be written is no error."""
        if not (self._new_files or self._new_plain or self._new_looks or self._new_rules):
            return
        self._read()
        files = {**self._files, **self._new_files}
        if len(files) > MAX_ENTRIES:
            files = self._new_files
        looks = {**self._looks, **self._new_looks}
        document = {
            "salt": self._salt,
            "rules": self._new_rules or self._rules,
            "plain": sorted(self._plain | self._new_plain)[:MAX_ENTRIES],
            "looks": looks if len(looks) <= MAX_ENTRIES else self._new_looks,
            "files": files,
        }
        with contextlib.suppress(Exception):
            prepare(self._folder)
            replace_file(self._path, json.dumps(document, separators=(",", ":")).encode("utf-8"), follow=False)
            _drop_old(self._folder, self._path)
            sweep(entry.path for entry in os.scandir(self._folder) if entry.name.startswith(".attnlint-"))


class Tree:
    """Which modules are not there: a verdict rests on that too, since a file that comes later may be what an import names."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self._listings: dict[str, frozenset[str]] = {}
        self._absent: dict[str, frozenset[tuple[str, str]]] = {}

    def _listing(self, folder: str) -> frozenset[str]:
        if folder not in self._listings:
            try:
                self._listings[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._listings[folder] = frozenset()
        return self._listings[folder]

    def holds(self, folder: str, name: str) -> bool:
        """Whether a module or package of that name is in a folder by now."""
        listing = self._listing(folder)
        return f"{name}.py" in listing or name in listing

    def absent(self, absolute: str) -> frozenset[tuple[str, str]]:
        """Folder and name of each module that an import of the file could name and that is not there."""
        if absolute not in self._absent:
            try:
                data = read(absolute)
            except (OSError, ValueError):
                data = b""
            self._absent[absolute] = frozenset(self._missing(absolute, data))
        return self._absent[absolute]

    def _missing(self, absolute: str, data: bytes) -> Iterator[tuple[str, str]]:
        here = os.path.dirname(absolute)
        for level, parts in screen.imported_modules(data):
            if level:
                folder = here
                for _ in range(level - 1):
                    folder = os.path.dirname(folder)
                bases = [folder]
            else:
                bases = [here, *self._parents(here), *self._roots]
            for base in dict.fromkeys(bases):
                yield from self._missing_below(base, parts)

    def _parents(self, folder: str) -> Iterator[str]:
        while "__init__.py" in self._listing(folder):
            folder = os.path.dirname(folder)
            yield folder

    def _missing_below(self, folder: str, parts: Sequence[str]) -> Iterator[tuple[str, str]]:
        for part in parts:
            if not self.holds(folder, part):
                yield folder, part
                return
            if part not in self._listing(folder):
                return  # a module: what follows are names in it
            folder = os.path.join(folder, part)
        if "__init__.py" not in self._listing(folder):
            yield folder, "__init__"


def prepare(folder: str) -> None:
    """Makes the folder, with the files that keep git and backups away from it. One that holds something else is left to git and backups."""
    os.makedirs(folder, exist_ok=True)
    if any(not _is_own(folder, name) for name in os.listdir(folder)):
        return
    for name, text in ((".gitignore", _IGNORE), ("CACHEDIR.TAG", _TAG)):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            replace_file(path, text.encode(), follow=False)


def _is_own(folder: str, name: str) -> bool:
    """Whether a file of a cache folder was made here: the folder may be one that holds other things too."""
    if _OWN.fullmatch(name):
        return True
    made = {".gitignore": _IGNORE, "CACHEDIR.TAG": _TAG}.get(name)
    try:
        return made is not None and read(os.path.join(folder, name)) == made.encode()
    except OSError:
        return False


def _drop_old(folder: str, current: str) -> None:
    """Caches of other versions, but the three that were used last."""
    others = []
    for entry in os.scandir(folder):
        if _OWN.fullmatch(entry.name) and entry.name.endswith(".json") and entry.path != current:
            others.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    for _, path in sorted(others, reverse=True)[3:]:
        os.unlink(path)


def _salt(plugins: Sequence[str]) -> str:
    parts = [__version__, str(LAYOUT), sys.version.split()[0], sys.implementation.name]
    home = os.path.dirname(os.path.abspath(__file__))
    folders = [home, os.path.join(os.path.dirname(home), "rules"), *_plugin_folders(plugins)]
    for folder in folders:
        parts += sorted(_stamps(folder))
    return digest("\0".join([*parts, *plugins]).encode("utf-8", "surrogateescape"))


def _plugin_folders(plugins: Sequence[str]) -> list[str]:
    if not plugins:
        return []
    from importlib.util import find_spec

    folders = []
    for name in plugins:
        with contextlib.suppress(ImportError, ValueError, AttributeError):
            spec = find_spec(name)
            if spec is not None and spec.origin:
                folders.append(os.path.dirname(spec.origin))
    return folders


def _stamps(folder: str) -> list[str]:
    """Name, size and time of each Python file of a folder: a new engine must not find the verdicts of an old one."""
    stamps = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(".py"):
                status = entry.stat()
                stamps.append(f"{entry.path}:{status.st_size}:{status.st_mtime_ns}")
            elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith((".", "__")):
                stamps += _stamps(entry.path)
    return stamps


def find(paths: Sequence[str]) -> list[str]:
    """The caches below folders."""
    found = []
    for path in paths:
        for folder, names, _ in os.walk(path):
            if FOLDER in names:
                found.append(os.path.join(folder, FOLDER))
            names[:] = [name for name in names if name not in (FOLDER, ".git", "node_modules")]
    return sorted(found)


def remove(folder: str) -> bool:
    """Deletes what the cache has written into a folder, and the folder where that was all. Returns whether there was something."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        return False
    own = [name for name in os.listdir(folder) if _is_own(folder, name)]
    if not any(name.endswith(".json") or name == "CACHEDIR.TAG" for name in own):
        return False
    for name in own:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, name))
    with contextlib.suppress(OSError):  # it holds other things
        os.rmdir(folder)
    return True
