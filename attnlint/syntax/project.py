"""The linted tree: resolves imports to files inside the linted roots and their package, and reads them lazily.

Installed packages are never read, and nothing is executed.
"""

from __future__ import annotations

import os
import re
import tokenize
from collections import OrderedDict
from collections.abc import Iterator, Mapping

from attnlint.packages import FRAMEWORKS
from attnlint.syntax.index import Index
from attnlint.syntax.scope import Import, ModuleScope

_STAR = re.compile(rb"import[ \t\\\r\n]*\*")
_KEPT_MODULES = 3000  # parsed layouts held at once; bounds the memory of a run over a large tree


def _parents(directory: str) -> Iterator[str]:
    while (parent := os.path.dirname(directory)) != directory:
        yield parent
        directory = parent


class Project:
    """Files that may be read to judge a site: those below `roots`, and the rest of the packages that the roots lie in.

    What lies in a folder is seen from everywhere, what lies beside a file that is given by itself from there alone.
    `max_steps` is what the evaluation of one file is granted.
    """

    def __init__(self, roots: list[str] | tuple[str, ...], max_steps: int = 300_000) -> None:
        self.max_steps = max_steps
        self.roots = tuple(os.path.abspath(root) for root in roots)
        files = {root for root in self.roots if os.path.isfile(root)}
        self._open = tuple(root for root in self.roots if root not in files)
        self._near = {os.path.dirname(file) for file in files}
        self._modules: OrderedDict[str, ModuleScope | None] = OrderedDict()
        self._tops: dict[str, str] = {}
        self.index = Index(self.resolve)
        self._exists: dict[str, bool] = {}

    def with_texts(self, texts: Mapping[str, str]) -> Project:
        """The same tree with other texts in some files. Nothing that was read of it is shared, since values hang on it."""
        made = Project(self.roots)
        made._modules.update({path: ModuleScope.read(path, text) for path, text in texts.items()})
        return made

    def module_at(self, path: str) -> ModuleScope | None:
        """The laid-out module of a file, or None where it cannot be read or parsed."""
        if path in self._modules:
            self._modules.move_to_end(path)
            return self._modules[path]
        scope: ModuleScope | None
        try:
            with tokenize.open(path) as stream:
                scope = ModuleScope.read(path, stream.read())
            scope.parsed.clear()  # few of its statements are ever needed, and those are parsed again
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            scope = None
        self._modules[path] = scope
        while len(self._modules) > _KEPT_MODULES:
            self._modules.popitem(last=False)
        return scope

    def may_bind(self, path: str, name: str) -> bool:
        """Whether a file may bind a name: a look at its bytes, for the many that `from … import *` leads to and that do not."""
        if path in self._modules or not name.isascii():
            return True
        try:
            with open(path, "rb") as stream:
                data = stream.read()
        except OSError:
            return True  # the reader will say so
        named = rb"(?<![.\w])" + re.escape(name).encode() + rb"(?!\w)"  # `.name` binds nothing
        return re.search(named, data) is not None or _STAR.search(data) is not None

    def resolve(self, importer: str, target: Import) -> tuple[str, str | None] | None:
        """The file that an import names, and the attribute left to look up in it; None for what lies outside the tree."""
        directory = os.path.dirname(os.path.abspath(importer))
        if target.level:
            for _ in range(target.level - 1):
                directory = os.path.dirname(directory)
            bases = [directory]
        else:
            top = self.top_of(directory)
            name = target.module.partition(".")[0]
            if name in FRAMEWORKS and os.path.relpath(directory, top).split(os.sep)[0] != name:
                return None  # the tables know it: a file of that name, or its source in another root, is not what is meant
            # a file given by itself opens its directory to its neighbours only: `layers/tensorflow.py` is nobody else's `tensorflow`
            above = [base for base in _parents(directory) if base in self._near or self._is_package(base, name, directory)]
            bases = [top, *self._open, *above, directory]
        parts = [part for part in target.module.split(".") if part]
        for base in dict.fromkeys(bases):
            package = self._file(os.path.join(base, *parts))
            if target.attribute is not None and (found := self._file(os.path.join(base, *parts, target.attribute))):
                if package is not None and self._binds(package, importer, target.attribute):
                    return package, target.attribute  # a function that is called as its file is
                return found, None
            if package is not None:
                return package, target.attribute
        return None

    @staticmethod
    def _is_package(base: str, name: str, directory: str) -> bool:
        """Whether a folder lies in the package of that name below `base`: one without `__init__.py` is a package, too."""
        package = os.path.join(base, name)
        return directory == package or directory.startswith(package + os.sep)

    def _binds(self, package: str, importer: str, name: str) -> bool:
        """Whether a package itself binds a name that one of its files has, too; to the package's own imports it is the file."""
        if os.path.abspath(importer) == package or not self.may_bind(package, name):
            return False
        scope = self.module_at(package)
        target = scope.imports.get(name) if scope is not None else None
        if target is None:
            return scope is not None and name in scope.bound
        return target.module.rpartition(".")[2] == name  # `from .attend import attend`; `from . import attend` is the file

    def top_of(self, directory: str) -> str:
        """The directory that holds the outermost package around `directory`."""
        known = self._tops.get(directory)
        if known is None:
            current = directory
            while self._is_file(os.path.join(current, "__init__.py")):
                parent = os.path.dirname(current)
                if parent == current:
                    break
                current = parent
            known = self._tops[directory] = current
        return known

    def _is_file(self, path: str) -> bool:
        known = self._exists.get(path)
        if known is None:
            known = self._exists[path] = os.path.isfile(path)
        return known

    def _file(self, stem: str) -> str | None:
        for candidate in (stem + ".py", os.path.join(stem, "__init__.py")):
            if self._is_file(candidate) and self._allowed(candidate):
                return candidate
        return None

    def _allowed(self, path: str) -> bool:
        """Installed packages are not read unless they are what is linted."""
        marker = f"{os.sep}site-packages{os.sep}"
        return marker not in path or any(marker in root + os.sep for root in self.roots)
