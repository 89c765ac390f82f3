"""Building and running cases, inside the child process: a function called, an object's forward, or the statements of a script."""

from __future__ import annotations

import errno
import heapq
import inspect
import itertools
import re
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from attnlint.confirm import construct, slices
from attnlint.confirm.hints import Hint, gather, parse_function, transposes_whole
from attnlint.confirm.inputs import DEFAULT, Guide, candidates, letters, make
from attnlint.confirm.measure import Reading, Target, measured
from attnlint.confirm.namespace import Space, Tree
from attnlint.confirm.repair import is_about_lengths, repairs
from attnlint.confirm.sizes import ASSIGNMENTS, Sizes
from attnlint.confirm.verdict import bears_out

SEED = 20
MAX_TRIES = 120  # of inputs, for the first assignment of sizes; a third of it for the others
FORWARD = ("forward", "__call__", "call", "attend", "apply_attention", "run")


class NoCase(Exception):
    """No runnable case of this kind; the message says why."""


@dataclass(frozen=True)
class Entry:
    """What to run: kind "function" or "method" (`name` is `Class.method`), "script", or "slice"."""

    kind: str
    path: str
    name: str

    def __str__(self) -> str:
        return {"script": "the script's statements", "slice": f"the statements between q, k and softmax of {self.name}"}.get(
            self.kind, self.name
        )


@dataclass(frozen=True)
class Recipe:
    """How a case was built, so that the fixed code is built and run in the same way."""

    entry: Entry
    sizes: Sizes
    policy: str = construct.KEEP
    state: Mapping[str, Any] = field(default_factory=dict)
    same: bool = False
    flags: Mapping[str, bool] = field(default_factory=dict)
    method: str = ""

    @property
    def title(self) -> str:
        """What is run, for a reader."""
        owner = self.entry.name.rpartition(".")[0]
        return f"{owner}.{self.method}" if self.method and owner else str(self.entry)


@dataclass
class Bench:
    """One version of the code, and what is looked for in it."""

    tree: Tree
    target: Target
    library: str
    deadline: float  # of the wall clock, as time.time() gives it
    processor: float = float("inf")  # seconds of processor time, so that a busy machine finds what an idle one finds
    tries: int = MAX_TRIES
    reasons: dict[str, None] = field(default_factory=dict)

    def note(self, entry: Entry, reason: str) -> None:
        self.reasons[f"{entry}: {reason}"] = None

    def late(self) -> bool:
        return time.time() > self.deadline or time.process_time() > self.processor


def seed_everything() -> None:
    import random

    random.seed(SEED)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(SEED)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(SEED)


# --- one run of a recipe


def run(bench: Bench, recipe: Recipe) -> list[Reading]:
    """The target's readings at both lengths (one where the code is bound to a length). Raises whatever the code raises at the first."""
    if recipe.entry.kind == "script":
        return slices.run_script(bench.tree.space(recipe.entry.path), bench.target, bench.library, seed_everything)
    if recipe.entry.kind == "slice":
        return _run_slice(bench, recipe)
    call = callable_of(bench, recipe)
    readings = []
    for which in (0, 1):
        try:
            readings += _once(bench, recipe, call, which)
        except (Exception, SystemExit):
            if which == 0:
                raise
    return readings


def _once(bench: Bench, recipe: Recipe, call: Any, which: int) -> list[Reading]:
    import numpy as np

    table = letters(recipe.sizes, which, recipe.same)
    random = np.random.default_rng(SEED)
    seed_everything()
    values = {name: make(value, table, random, bench.library, recipe.sizes) for name, value in recipe.state.items() if value is not DEFAULT}
    return measured(lambda: call(values), bench.target, bench.library, values)


def callable_of(bench: Bench, recipe: Recipe) -> Any:
    """A function of the values by parameter name. Raises CannotBuild, NoCase, or what the code raises."""
    space = bench.tree.space(recipe.entry.path)
    seed_everything()
    if recipe.entry.kind == "function":
        function = _lookup(space, recipe.entry.name)
        return lambda values: _apply(function, values)
    owner_name, _, _ = recipe.entry.name.rpartition(".")
    cls = _lookup(space, owner_name)
    instance = construct.build(cls, recipe.sizes, recipe.policy, space)
    construct.prepare(instance, SEED)
    for name, value in recipe.flags.items():
        setattr(instance, name, value)
    method = getattr(instance, recipe.method)
    caller = instance if recipe.method in ("forward", "__call__") and callable(instance) else method

    def call(values: Mapping[str, Any]) -> Any:
        return _apply(caller, values, method)

    call.owner = instance  # type: ignore[attr-defined]
    return call


def _apply(function: Any, values: Mapping[str, Any], signature_of: Any = None) -> Any:
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for parameter in inspect.signature(signature_of or function).parameters.values():
        if parameter.name not in values:
            continue
        if (
            parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            and not keywords
            and len(positional) == _place(signature_of or function, parameter.name)
        ):
            positional.append(values[parameter.name])
        else:
            keywords[parameter.name] = values[parameter.name]
    return function(*positional, **keywords)


def _place(function: Any, name: str) -> int:
    return list(inspect.signature(function).parameters).index(name)


def _lookup(space: Space, dotted: str) -> Any:
    first, *rest = dotted.split(".")
    try:
        value = space[first]
    except KeyError:
        raise NoCase(f"`{first}` is not defined when its module is executed") from None
    for name in rest:
        try:
            value = getattr(value, name)
        except AttributeError:
            raise NoCase(f"`{dotted}` is made while the code runs, and cannot be called from outside") from None
    return value


# --- the search


def search(bench: Bench, entry: Entry, flags: Mapping[str, bool]) -> Iterator[tuple[Recipe, list[Reading]]]:
    """Recipes of an entry under which the target was measured, at most one for each assignment of sizes."""
    if entry.kind == "script":
        recipe = Recipe(entry, ASSIGNMENTS[0])
        try:
            readings = run(bench, recipe)
        except (Exception, SystemExit) as error:
            bench.note(entry, _raised(error))
            return
        if readings:
            yield recipe, readings
        else:
            bench.note(entry, bench.target.unseen())
        return
    if entry.kind == "slice":
        yield from _slice_search(bench, entry)
        return
    for count, (sizes, policy) in enumerate(_variants(entry)):
        if bench.late():
            return
        bench.tries = MAX_TRIES if count == 0 else MAX_TRIES // 3
        found = _search_one(bench, Recipe(entry, sizes, policy), flags)
        if found is not None:
            yield found


def _variants(entry: Entry) -> Iterator[tuple[Sizes, str]]:
    if entry.kind == "function":
        for sizes in ASSIGNMENTS:
            yield sizes, construct.KEEP
        return
    for policy in (construct.KEEP, construct.OVERRIDE):
        for sizes in ASSIGNMENTS:
            yield sizes, policy


def _raised(error: BaseException) -> str:
    if isinstance(error, (NoCase, slices.NoSlice, construct.CannotBuild)):
        return str(error)
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return "writes more output than is allowed"
    return f"raises {construct.describe(error)}"


def _search_one(bench: Bench, recipe: Recipe, flags: Mapping[str, bool]) -> tuple[Recipe, list[Reading]] | None:
    for method in _methods(bench, recipe):
        base = replace(recipe, method=method)
        try:
            call = callable_of(bench, base)
        except (Exception, SystemExit) as error:
            bench.note(recipe.entry, _raised(error))
            return None
        owner = getattr(call, "owner", None)
        wanted = {name: value for name, value in flags.items() if isinstance(getattr(owner, name, None), bool)}
        first: tuple[Recipe, list[Reading]] | None = None
        for plan in [wanted, {}] if wanted else [{}]:
            found = _inputs_search(bench, replace(base, flags=plan))
            if found is not None and any(bears_out(reading.figures, bench.target.kind) for reading in found[1]):
                return found
            first = first or found
        if first is not None:
            return first
    return None


def _methods(bench: Bench, recipe: Recipe) -> list[str]:
    if recipe.entry.kind != "method":
        return [""]
    owner_name, _, name = recipe.entry.name.rpartition(".")
    try:
        cls = _lookup(bench.tree.space(recipe.entry.path), owner_name)
    except (Exception, SystemExit) as error:
        bench.note(recipe.entry, _raised(error))
        return []
    found = [one for one in FORWARD[:3] if _own(cls, one)]
    if name and name not in found and name != "__init__" and hasattr(cls, name):
        found.append(name)
    return list(dict.fromkeys(found))


def _own(cls: type, name: str) -> bool:
    method = getattr(cls, name, None)
    module = getattr(method, "__module__", None) or ""
    return method is not None and inspect.isfunction(method) and not module.startswith("torch")


def _inputs_search(bench: Bench, recipe: Recipe) -> tuple[Recipe, list[Reading]] | None:
    """Tries inputs in the order of their likelihood, led by the errors that they cause."""
    space = bench.tree.space(recipe.entry.path)
    call = callable_of(bench, recipe)
    owner = getattr(call, "owner", None)
    function = getattr(owner, recipe.method) if owner is not None else _lookup(space, recipe.entry.name)
    function = inspect.unwrap(function)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        bench.note(recipe.entry, "has no signature")
        return None
    parameters = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    code = getattr(function, "__code__", None) or getattr(getattr(function, "__func__", None), "__code__", None)
    tree = parse_function(code.co_filename, code.co_firstlineno, code.co_name) if code is not None else None
    hints = gather(tree, owner, space) if tree is not None else {}
    guide = Guide(recipe.sizes, owner, construct.absent_names(space), parameters, tree is not None and transposes_whole(tree))
    options = {p.name: candidates(p, hints.get(p.name, Hint(p.name)), guide, bench.target.masks) for p in parameters}
    order = list(options)
    counter = itertools.count()
    queue: list[tuple[float, int, dict[str, Any], bool]] = []
    seen: set[str] = set()

    def push(cost: float, state: dict[str, Any], same: bool) -> None:
        key = repr((sorted(state.items()), same))
        if key not in seen:
            seen.add(key)
            heapq.heappush(queue, (cost, next(counter), state, same))

    varied = bench.target.varied
    start = {name: options[name][0] for name in order}
    push(0.0, start, not varied)
    indices: dict[str, list[Any]] = {name: list(values) for name, values in options.items()}
    tries = 0
    ran = False
    last = ""
    while queue and tries < bench.tries and not bench.late():
        cost, _, state, same = heapq.heappop(queue)
        tries += 1
        candidate = replace(recipe, state=state, same=same)
        try:
            readings = run(bench, candidate)
        except (Exception, SystemExit) as error:
            message = f"{type(error).__name__}: {error}"
            last = last or _raised(error)
            table = letters(recipe.sizes, 0, same)
            for step, other in enumerate(repairs(state, message, table)):
                push(cost + 0.2 + 0.1 * step, other, same)
            if not same and is_about_lengths(message):
                push(cost + 0.15, state, True)
        else:
            if readings:
                return candidate, readings
            ran = True
        for name in order:
            values = indices[name]
            at = next((i for i, value in enumerate(values) if value == state[name]), None)
            if at is not None and at + 1 < len(values):
                push(cost + 1.0 + 0.1 * at, {**state, name: values[at + 1]}, same)
        if not same:
            push(cost + 1.5, state, True)
        alike = _alike(order, state, indices)
        if alike is not None:
            push(cost + 0.9, alike, same)
    if ran:
        bench.note(recipe.entry, bench.target.unseen())
    elif last:
        bench.note(recipe.entry, last)
    return None


def _alike(order: list[str], state: Mapping[str, Any], indices: Mapping[str, list[Any]]) -> dict[str, Any] | None:
    """q, k and v take the next of their shapes together."""
    moved = dict(state)
    count = 0
    for name in order:
        values = indices[name]
        at = next((i for i, value in enumerate(values) if value == state[name]), None)
        if (
            at is not None
            and at + 1 < len(values)
            and re.match(r"(q|k|v|x)|.*(query|key|value)", name, re.I)
            and type(values[at]).__name__ == "Array"
        ):
            moved[name] = values[at + 1]
            count += 1
    return moved if count > 1 else None


def _slice_search(bench: Bench, entry: Entry) -> Iterator[tuple[Recipe, list[Reading]]]:
    """The statements between q, k and softmax, with an object whose sizes are all those of the assignment."""
    for sizes in ASSIGNMENTS:
        recipe = Recipe(entry, sizes, construct.OVERRIDE)
        try:
            readings = run(bench, recipe)
        except (Exception, SystemExit) as error:
            bench.note(entry, _raised(error))
            continue
        if readings:
            yield recipe, readings


def _run_slice(bench: Bench, recipe: Recipe) -> list[Reading]:
    space = bench.tree.space(recipe.entry.path)
    readings: list[Reading] = []
    for which in (0, 1):
        seed_everything()
        owner = None
        owner_name = recipe.entry.name.rpartition(".")[0]
        if owner_name and isinstance(cls := _lookup(space, owner_name), type):
            owner = construct.build_in_part(cls, recipe.sizes, space)
        cut = slices.function_slice(space, recipe.entry.name, bench.target, owner)
        values = cut.values(recipe.sizes, letters(recipe.sizes, which, False), bench.library, SEED)
        readings += measured(lambda cut=cut, values=values: cut.call(values), bench.target, bench.library, values)  # type: ignore[misc]
    return readings
