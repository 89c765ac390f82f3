"""All tables together: a dotted name or method to its row."""

from __future__ import annotations

import re
from importlib import import_module

from attnlint.evaluate.operations import Op
from attnlint.frameworks.table import Kernel, LayerRow, Table
from attnlint.packages import ARRAYS, TABLES


def _tables() -> list[Table]:
    found = []
    for name in TABLES:
        try:
            found.append(import_module(f"attnlint.frameworks.{name}").TABLE)
        except ModuleNotFoundError as error:
            if error.name != f"attnlint.frameworks.{name}":
                raise
    return found


class Registry:
    """Look-ups over the tables.

    Frameworks give methods of one name different meanings (`x.transpose(0, 2, 1)`, `x.max(1)`): a module's own imports
    decide; where they say nothing, the first table that knows a method keeps it.
    """

    def __init__(self, tables: list[Table]) -> None:
        self.functions: dict[str, tuple[Op, str]] = {}
        self.layers: dict[str, tuple[LayerRow, str]] = {}
        self.kernels: dict[str, tuple[Kernel, str]] = {}
        self.kernel_methods: dict[tuple[str, str], str] = {}  # framework and method -> the kernel
        self.methods: dict[str, Op] = {}
        self.own_methods: dict[str, dict[str, Op]] = {table.name: table.methods for table in tables if table.methods}
        self.packages: dict[str, str] = {}
        self.properties: dict[str, Op] = {}
        self.module_methods: dict[str, Op] = {}
        self.renames: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        for table in tables:
            for prefix, rows in table.roots.items():
                for name, row in rows.items():
                    self.functions.setdefault(f"{prefix}.{name}", (row, table.name))
            for prefix, layers in table.layers.items():
                for name, layer_row in layers.items():
                    self.layers.setdefault(f"{prefix}.{name}", (layer_row, table.name))
            for name, kernel in table.kernels.items():
                self.kernels.setdefault(name, (kernel, table.name))
                if kernel.method is not None:
                    self.kernel_methods[table.name, kernel.method] = name
            for name, row in table.methods.items():
                self.methods.setdefault(name, row)
            for name, row in table.properties.items():
                self.properties.setdefault(name, row)
            for name, row in table.module_methods.items():
                self.module_methods.setdefault(name, row)
            self.renames.update(table.renames)
            self.helpers.update(table.helpers)
            for prefix in (*table.roots, *table.layers, *table.renames):
                self.packages.setdefault(prefix.partition(".")[0], table.name)
        self._order = [table.name for table in tables]

    def frameworks_of(self, packages: set[str]) -> tuple[str, ...]:
        """The tables whose methods a module that imports these packages means, likeliest first (NumPy last: it is a helper elsewhere)."""
        named = {self.packages[package] for package in packages if package in self.packages}
        if named & {"flax", "haiku", "equinox"}:
            named.add("jax")
        with_methods = [name for name in self._order if name in named and name in self.own_methods]
        return tuple(sorted(with_methods, key=lambda name: name == "numpy"))

    def method(self, name: str, frameworks: tuple[str, ...]) -> Op | None:
        """The row of a tensor's method in a module that uses these frameworks."""
        for framework in frameworks:
            row = self.own_methods[framework].get(name)
            if row is not None:
                return row
        return self.methods.get(name)

    def kernel_method(self, name: str, frameworks: tuple[str, ...]) -> str | None:
        """The kernel that is a method of its query in a module that uses these frameworks."""
        return next((found for one in frameworks if (found := self.kernel_methods.get((one, name))) is not None), None)

    def canonical(self, dotted: str) -> str:
        """The name that the tables have for what a dotted name stands for."""
        for prefix, target in self.renames.items():
            if dotted == prefix or dotted.startswith(prefix + "."):
                return target + dotted[len(prefix) :]
        if dotted.startswith(".") and (found := _HANDED_ON.search(dotted)) is not None:
            return self.canonical(found["name"])
        return self.helpers.get(dotted.rpartition(".")[2], dotted)


# a framework that a package's own module hands on: `from ..compat import keras`
_HANDED_ON = re.compile(rf"\.(?P<name>(?:{'|'.join(sorted(ARRAYS))})\..+)$")

REGISTRY = Registry(_tables())
