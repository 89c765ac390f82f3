"""A module of the linted tree whose names are made when they are first looked up, so that only what a case needs is executed."""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import importlib.util
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attnlint.confirm import stubs

_FLAGS = __future__.annotations.compiler_flag
# never looked for in the linted tree: a case measured with another torch than the installed one would say nothing
INSTALLED_FIRST = frozenset({"torch", "numpy", "scipy", "einops", "math", "typing", *sys.stdlib_module_names})


def bound_names(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds in the scope it stands in."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        return
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)
        return
    for child in _same_scope(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, (ast.Store, ast.Del)):
            yield child.id
        elif child is not node and isinstance(child, _BINDING):
            yield from bound_names(child)


_BINDING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield child
        elif not isinstance(child, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            yield from _same_scope(child)


class Tree:
    """The modules of one version of the linted tree: the texts given, and the files that their imports lead to."""

    def __init__(self, roots: Sequence[str], texts: Mapping[str, str]) -> None:
        self.roots = tuple(roots)
        self.texts = dict(texts)
        self.spaces: dict[str, Space] = {}
        self.missing: dict[str, str] = {}  # imported names that there is nothing of, and why
        self.used_stubs: dict[str, None] = {}

    def space(self, path: str) -> Space:
        """The module of a file. Raises SyntaxError or OSError where it cannot be read."""
        if path not in self.spaces:
            text = self.texts.get(path)
            if text is None:
                import tokenize

                with tokenize.open(path) as stream:
                    text = stream.read()
            self.spaces[path] = Space(self, path, text)
        return self.spaces[path]

    def file_of(self, importer: str, name: str, level: int) -> str | None:
        """The file of the tree that an import names, or None for what lies outside."""
        parts = [part for part in name.split(".") if part]
        here = os.path.dirname(importer)
        if level:
            for _ in range(level - 1):
                here = os.path.dirname(here)
            return _file(os.path.join(here, *parts))
        if parts and parts[0] in INSTALLED_FIRST:
            return None
        for base in dict.fromkeys((_top(here), here, *self.roots)):
            if found := _file(os.path.join(base, *parts)):
                return found
        return None


def _top(directory: str) -> str:
    while os.path.isfile(os.path.join(directory, "__init__.py")) and os.path.dirname(directory) != directory:
        directory = os.path.dirname(directory)
    return directory


def _file(stem: str) -> str | None:
    for candidate in (stem + ".py", os.path.join(stem, "__init__.py")):
        if os.path.isfile(candidate):
            return candidate
    return stem if os.path.isdir(stem) else None


class Space(dict[str, Any]):
    """The globals of one module. Looking a name up executes the top-level statements that bind it, and nothing else.

    Works because CPython looks globals up with `__getitem__` where they are no plain dictionary.
    """

    def __init__(self, tree: Tree, path: str, text: str) -> None:
        super().__init__()
        self.tree = tree
        self.path = path
        self.module = ast.parse(text, path) if not os.path.isdir(path) else ast.Module([], [])
        self.statements = self.module.body
        self.bindings: dict[str, list[ast.stmt]] = {}
        self.stars: list[ast.ImportFrom] = []
        self.running: set[str] = set()
        self.done: set[int] = set()
        self.strict = False  # inside a `try`, a missing import is the ImportError that the code waits for
        for statement in self.statements:
            for name in bound_names(statement):
                self.bindings.setdefault(name, []).append(statement)
            if isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names):
                self.stars.append(statement)
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
        name = "attnlint_case_" + "".join(c if c.isalnum() else "_" for c in os.path.basename(path).removesuffix(".py"))
        provided = dict(vars(builtins))
        provided["__import__"] = self._import
        self.update({"__name__": name, "__file__": path, "__builtins__": provided, "__package__": None, "__doc__": None})
        self.proxy = Proxy(self, name)
        sys.modules[name] = self.proxy

    def __missing__(self, name: str) -> Any:
        if name in self.running:
            raise KeyError(name)
        statements = self.bindings.get(name)
        if statements is None:
            return self._from_stars(name)
        self.running.add(name)
        try:
            for statement in statements:
                self._bind(statement, name)
        finally:
            self.running.discard(name)
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        raise KeyError(name)

    def _from_stars(self, name: str) -> Any:
        if not self.stars or name in self.running or hasattr(builtins, name):
            raise KeyError(name)
        self.running.add(name)
        try:
            for statement in self.stars:
                value = self.source(statement.module or "", statement.level)
                if value is not None and hasattr(value, name):
                    self[name] = getattr(value, name)
                    return self[name]
        finally:
            self.running.discard(name)
        raise KeyError(name)

    def source(self, module: str, level: int) -> Any:
        """What a module name of an import statement leads to, or None."""
        found = self.tree.file_of(self.path, module, level)
        if found is not None:
            return self.tree.space(found).proxy
        if level:
            return None
        try:
            return importlib.import_module(module)
        except Exception:
            return None

    def _bind(self, statement: ast.stmt, name: str) -> None:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                if name == (alias.asname or (alias.name.split(".")[0] if isinstance(statement, ast.Import) else alias.name)):
                    single: ast.stmt = (
                        ast.Import([alias])
                        if isinstance(statement, ast.Import)
                        else ast.ImportFrom(statement.module, [alias], statement.level)
                    )
                    self.execute([ast.copy_location(single, statement)])
            return
        if id(statement) in self.done:
            return
        self.done.add(id(statement))
        self.execute([statement])

    def execute(self, statements: Sequence[ast.stmt]) -> None:
        """Execute statements of this module, in its globals."""
        before = self.strict
        for statement in statements:
            self.strict = before or isinstance(statement, ast.Try)
            try:
                for name in _class_level_names(statement):
                    with contextlib.suppress(KeyError):
                        self[name]
                code = compile(ast.Module([statement], []), self.path, "exec", _FLAGS, dont_inherit=True)
                exec(code, self)
            finally:
                self.strict = before

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = None,
        level: int = 0,
    ) -> Any:
        top = name.split(".", maxsplit=1)[0]
        found = self.tree.file_of(self.path, name if fromlist or level else top, level)
        if found is not None:
            return self.tree.space(found).proxy
        if not level:
            try:
                module = importlib.import_module(name)
                if not fromlist:
                    return sys.modules[top]
                for part in fromlist:
                    if part != "*" and not hasattr(module, part):
                        try:
                            importlib.import_module(f"{name}.{part}")
                        except ImportError:
                            if self.strict:
                                raise ImportError(f"cannot import name {part!r} from {name!r}") from None
                            return stubs.WithStubs(module, self.tree.used_stubs)
                return module
            except Exception as error:
                if self.strict:
                    raise ImportError(f"No module named {name!r}") from None
                self.tree.missing[top] = f"{type(error).__name__}: {error}"
        elif self.strict:
            raise ImportError(f"No module named {'.' * level}{name!r}")
        known = stubs.stand_in(name)
        if known is not None:
            return known
        return stubs.Stub(name if fromlist else top, self.tree.used_stubs)


def _class_level_names(statement: ast.stmt) -> set[str]:
    """Names that class bodies read: CPython looks these up in the globals without asking `__missing__`."""
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.ClassDef):
            pending: list[ast.AST] = list(node.body)
            while pending:
                one = pending.pop()
                if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    pending += [*one.decorator_list, *one.args.defaults, *(d for d in one.args.kw_defaults if d is not None)]
                elif isinstance(one, ast.Name):
                    found.add(one.id)
                elif not isinstance(one, ast.Lambda):
                    pending += ast.iter_child_nodes(one)
    return found


class Proxy(types.ModuleType):
    """What an import of a module of the tree gives: attributes are looked up in its globals, then among its submodules."""

    def __init__(self, space: Space, name: str) -> None:
        super().__init__(name)
        object.__setattr__(self, "_space", space)

    def __getattr__(self, name: str) -> Any:
        space: Space = object.__getattribute__(self, "_space")
        try:
            return space[name]
        except KeyError:
            pass
        if name.startswith("__"):
            raise AttributeError(name)
        folder = space.path if os.path.isdir(space.path) else os.path.dirname(space.path)
        if os.path.isdir(space.path) or os.path.basename(space.path) == "__init__.py":
            found = _file(os.path.join(folder, name))
            if found is not None:
                return space.tree.space(found).proxy
        raise AttributeError(f"{space.path} has no {name!r}")


def position(node: ast.AST) -> tuple[int, int]:
    """First and last row of a node, decorators included."""
    first: int = getattr(node, "lineno", 0)
    for decorator in getattr(node, "decorator_list", ()):
        first = min(first, decorator.lineno)
    return first, getattr(node, "end_lineno", None) or first


Finder = Callable[[str], Any]
