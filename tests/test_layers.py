"""The layers of the package: each imports only from those below it, no module imports itself by way of others, and no list grows."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

from attnlint import screen
from attnlint.frameworks.registry import REGISTRY
from attnlint.packages import PACKAGES, TABLES
from attnlint.syntax import words

ROOT = Path(__file__).parent.parent
LAYERS = ("text", "syntax", "domain", "evidence", "frameworks", "evaluate", "sites", "fixes")
# what is still to be turned round: these lists only get shorter
UPWARD = {("frameworks", "evaluate")}
CIRCLES = [
    "cli commands completion confirm confirm.command confirming",
    "evaluate.arithmetic evaluate.expressions evaluate.layers evaluate.layers_keras evaluate.operations evaluate.state evaluate.tensors",
    "probe.measure probe.trace",
    "probe.numpy_backend probe.taken_in probe.watching",
    "text.markdown text.notebook text.scripts text.source",
]


def modules() -> dict[str, Path]:
    """Every module of the package, by its dotted name."""
    found = {}
    for folder, prefix in ((ROOT / "attnlint", "attnlint"), (ROOT / "rules", "attnlint.rules")):
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((prefix, *(part for part in parts if part != "__init__")))] = path
    return found


MODULES = modules()


def imports(path: Path) -> Iterator[str]:
    """The modules of the package that a module imports where it is loaded, and those that a function of it does; none for types alone."""
    pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in pending:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pending += node.orelse
                continue
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name in MODULES)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                inner = [f"{module}.{alias.name}" for alias in names]
                yield from (name for name in inner if name in MODULES)
                if module in MODULES and any(name not in MODULES for name in inner):
                    yield module
        pending += ast.iter_child_nodes(node)


GRAPH = {name: set(imports(path)) - {name} for name, path in MODULES.items()}


def layer_of(module: str) -> int | None:
    part = module.split(".")[1] if module.count(".") else ""
    return LAYERS.index(part) if part in LAYERS else None


def upward() -> set[tuple[str, str]]:
    """The pairs of layers of which the first imports from the second, which is above it."""
    return {
        (LAYERS[own], LAYERS[there])
        for module, others in GRAPH.items()
        if (own := layer_of(module)) is not None
        for other in others
        if (there := layer_of(other)) is not None and there > own
    }


def circles() -> list[str]:
    """The sets of modules that import each other, however many steps it takes."""
    reach: dict[str, set[str]] = {}
    for start, others in GRAPH.items():
        seen: set[str] = set()
        pending = list(others)
        for one in pending:
            if one not in seen:
                seen.add(one)
                pending += GRAPH.get(one, ())
        reach[start] = seen
    groups = {frozenset(other for other in reach[module] if module in reach[other]) for module in GRAPH if module in reach[module]}
    return sorted(" ".join(sorted(module.removeprefix("attnlint.") for module in group)) for group in groups)


def test_no_layer_imports_from_one_above_it():
    assert upward() == UPWARD


def test_no_module_imports_itself_by_way_of_others():
    assert circles() == CIRCLES


def test_every_table_is_in_the_list_of_packages():
    files = {path.stem for path in (ROOT / "attnlint" / "frameworks").glob("*.py")} - {"__init__", "table", "registry", "effects"}
    assert files == set(TABLES)
    assert all(importlib.import_module(f"attnlint.frameworks.{name}").TABLE.name == name for name in TABLES)
    assert len({one.name for one in PACKAGES}) == len(PACKAGES)


def test_the_screen_lets_every_kernel_through():
    for name, (kernel, _) in REGISTRY.kernels.items():
        if kernel.judged:
            module, _, function = name.rpartition(".")
            assert screen.may_hold_attention(f"from {module} import {function}\n{function}(q, k, v)".encode()), name
            assert words.holds(f"{function}(q, k, v)") or "mha" in function, name
