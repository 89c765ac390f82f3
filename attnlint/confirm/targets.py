"""From a finding to what can be run: the attention it is about, and the functions, classes or statements that reach it."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from attnlint.confirm.namespace import position
from attnlint.confirm.sizes import SCALE, role_of
from attnlint.model import Finding

MAX_ENTRIES = 7
_SCALE_PARAMETER = re.compile(r"(.*_)?(scale|scaling|temperature|temp|tau|norm_factor|softmax_scale|sm_scale|d_?k|head_dim|scalar)", re.I)


@dataclass(frozen=True)
class Place:
    """A definition around a row: `name` dotted, `owner` the class it is a method of, `outer` the function that holds it, if any."""

    name: str
    node: ast.AST
    owner: str | None
    nested: bool


def definitions(tree: ast.Module) -> list[Place]:
    """All functions and methods with their dotted names."""
    found: list[Place] = []

    def walk(node: ast.AST, prefix: str, owner: str | None, nested: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.append(Place(f"{prefix}{child.name}", child, owner, nested))
                walk(child, f"{prefix}{child.name}.", None, True)
            elif isinstance(child, ast.ClassDef):
                walk(child, f"{prefix}{child.name}.", f"{prefix}{child.name}", nested)
            else:
                walk(child, prefix, owner, nested)

    walk(tree, "", None, False)
    return found


def around(places: list[Place], row: int) -> Place | None:
    """The outermost function or method that holds a row."""
    holding = [p for p in places if position(p.node)[0] <= row <= position(p.node)[1] and not p.nested]
    return holding[0] if holding else None


def statement_rows(tree: ast.Module, row: int) -> tuple[int, int]:
    """First and last row of the innermost simple statement that holds a row."""
    best: tuple[int, int] | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            first, last = node.lineno, node.end_lineno or node.lineno
            if first <= row <= last and (best is None or last - first < best[1] - best[0]):
                best = (first, last)
    return best or (row, row)


def site_rows(finding: Finding) -> list[int]:
    """The rows of the site: its product first, then its softmax or kernel."""
    rows = []
    site = finding.site
    if site is not None:
        rows += [step.row for step in site.derivation if step.label == "product" and step.row is not None]
        rows.append(site.span.start.row)
    return rows or [finding.span.start.row]


def entries(tree: ast.Module, finding: Finding) -> list[tuple[str, str, bool]]:
    """(kind, name, whether it leaves the scale to its caller) of what to run: where the finding stands, the site, callers, subclasses."""
    places = definitions(tree)
    found: dict[tuple[str, str], None] = {}
    late: dict[tuple[str, str], None] = {}
    wanted: list[Place] = []
    for row in dict.fromkeys([finding.span.start.row, *site_rows(finding)]):
        place = around(places, row)
        if place is not None:
            if place.owner is not None and place.name.endswith(".__init__"):
                place = replace(place, name=f"{place.owner}.forward")
            if all(one.name != place.name for one in wanted):
                wanted.append(place)
        elif (kind := _class_around(tree, row)) is None:
            found[("script", "")] = None
        else:
            found[("method", f"{kind}.forward")] = None
    for place in wanted:
        if place.owner is not None:
            first, second = (late, found) if _open_class(tree, place.owner) else (found, late)
            for maker in _makers(tree, places, place.owner):
                second[maker] = None
            first[("method", place.name)] = None
            for heir in _heirs(tree, place.owner):
                late[("method", f"{heir}.{place.name.rpartition('.')[2]}")] = None
        elif _leaves_scale_open(place.node):
            for caller in _callers(tree, places, place):
                found[caller] = None
            late[("function", place.name)] = None
        else:
            found[("function", place.name)] = None
            for caller in _callers(tree, places, place):
                late[caller] = None
    for one in late:
        found[one] = None
    if not found:
        found[("script", "")] = None
    chosen = [(kind, name, _is_open(tree, places, kind, name)) for kind, name in list(found)[:MAX_ENTRIES]]
    place = around(places, site_rows(finding)[0])
    return [*chosen, ("slice", place.name, True)] if place is not None else chosen


def _is_open(tree: ast.Module, places: list[Place], kind: str, name: str) -> bool:
    if kind == "method":
        return _open_class(tree, name.rpartition(".")[0])
    return any(place.name == name and _requires_scale(place.node) for place in places)


def _open_class(tree: ast.Module, owner: str) -> bool:
    """Whether a class takes its scale as a constructor argument without a default."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == owner:
            return any(isinstance(one, ast.FunctionDef) and one.name == "__init__" and _requires_scale(one) for one in node.body)
    return False


def _requires_scale(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    arguments = [*node.args.posonlyargs, *node.args.args]
    required = arguments[: len(arguments) - len(node.args.defaults)]
    required += [a for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is None]
    return any(role_of(a.arg) == SCALE for a in required)


def _class_around(tree: ast.Module, row: int) -> str | None:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and position(node)[0] <= row <= position(node)[1]:
            return node.name
    return None


def _leaves_scale_open(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    arguments = [*node.args.posonlyargs, *node.args.args]
    required = arguments[: len(arguments) - len(node.args.defaults)] if node.args.defaults else arguments
    required += [a for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is None]
    optional = [a for a in (*arguments, *node.args.kwonlyargs) if a not in required]
    return any(_SCALE_PARAMETER.fullmatch(a.arg) for a in (*required, *optional))


def _callers(tree: ast.Module, places: list[Place], target: Place) -> Iterator[tuple[str, str]]:
    """Functions and methods of the module that name a function, and the script where it does."""
    name = target.name
    for place in places:
        if place.nested or place is target or place.name == name:
            continue
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(place.node)):
            yield ("method", place.name) if place.owner is not None else ("function", place.name)
    if any(
        isinstance(n, ast.Name) and n.id == name
        for s in tree.body
        if not isinstance(s, (ast.ClassDef, ast.FunctionDef))
        for n in ast.walk(s)
    ):
        yield ("script", "")


def _heirs(tree: ast.Module, owner: str) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and b.id == owner for b in node.bases):
            yield node.name
            yield from _heirs(tree, node.name)


def _makers(tree: ast.Module, places: list[Place], owner: str) -> Iterator[tuple[str, str]]:
    """Classes whose methods build an object of a class."""
    for node in tree.body:
        made = {n.func.id for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        if isinstance(node, ast.ClassDef) and node.name != owner and owner in made:
            yield ("method", f"{node.name}.forward")


def path_flags(finding: Finding) -> dict[str, bool]:
    """Attributes that the site's path depends on, and how: `self.flash` for `not self.flash` is False."""
    path = finding.site.path if finding.site is not None else None
    found = {name: not negation for negation, name in re.findall(r"(not )?\bself\.(\w+)", path or "")}
    found.pop("training", None)  # cases run in evaluation mode
    return found


def shifted(before: str, after: str, row: int) -> int:
    """The row of the fixed text that a row of the original became."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if i1 <= row - 1 < i2:
            if tag == "equal":
                return row - i1 + j1
            return min(max(j1, row - i1 + j1), max(j1, j2 - 1)) + 0 if j2 <= j1 else min(row - i1 + j1, j2)
    return row
