"""A program under construction: which names hold what, how its framework spells an operation, and what stands around the body."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

Lines = list[str]
MODEL, HEADS, HEAD, LENGTH, BATCH = 24, 3, 8, 5, 2


def block(head: str, body: Iterable[str]) -> Lines:
    """A compound statement of one clause."""
    rows = [row for line in (list(body) or ["pass"]) for row in line.split("\n")]
    return [head, *("    " + row if row else "" for row in rows)]


@dataclass(frozen=True)
class Factor:
    """A scale factor as the code has it: `name` is multiplied with, or divided by where it is a `root`."""

    text: str
    divides: bool = False

    @property
    def multiplier(self) -> str:
        """An expression to multiply with, fit to stand beside any operator."""
        if self.divides:
            return f"(1.0 / {self.text})"
        return self.text if self.text.startswith("(") or " " not in self.text else f"({self.text})"

    @property
    def divisor(self) -> str | None:
        return self.text if self.divides else None


@dataclass(frozen=True)
class Parameter:
    """A parameter of the attention that a run may set: its default as text, and the values that runs give it."""

    name: str
    default: str
    values: tuple[object, ...]


class Dialect:
    """How a framework spells what the mechanisms need."""

    name: str
    imports: tuple[str, ...]

    def transposed(self, rng: random.Random, z: str) -> str:
        raise NotImplementedError

    def sqrt(self, rng: random.Random, z: str) -> str:
        raise NotImplementedError

    def copy(self, rng: random.Random, z: str) -> str:
        """A tensor of the same values in memory of its own."""
        raise NotImplementedError

    def view(self, rng: random.Random, z: str) -> str:
        """A tensor on the same memory, all of it, in another or the same arrangement."""
        raise NotImplementedError

    def in_place(self, rng: random.Random, z: str, f: Factor) -> str:
        """A statement that scales the memory of `z`."""
        raise NotImplementedError

    def scaled(self, rng: random.Random, z: str, f: Factor) -> str:
        """An expression: a new tensor, `z` scaled."""
        raise NotImplementedError


class NumPy(Dialect):
    name = "numpy"
    module = "np"
    imports = ("import numpy as np",)
    softmax = "softmax({0})"
    type_name = "np.ndarray"

    def transposed(self, rng: random.Random, z: str) -> str:
        return rng.choice([f"{z}.swapaxes(-1, -2)", f"np.swapaxes({z}, -1, -2)", f"{z}.swapaxes(-2, -1)"])

    def sqrt(self, rng: random.Random, z: str) -> str:
        return f"np.sqrt({z})"

    def copy(self, rng: random.Random, z: str) -> str:
        return rng.choice([f"{z}.copy()", f"np.array({z})", f"np.copy({z})", f"{z} + 0.0", f"{z}.astype(np.float64)", f"{z} * 1.0"])

    def view(self, rng: random.Random, z: str) -> str:
        forms = ["{0}[:]", "{0}[...]", "{0}.swapaxes(-1, -2)", "{0}.T", "np.asarray({0})", "{0}[None]", "{0}[..., ::-1]", "{0}.view()"]
        return rng.choice(forms).format(z)

    def in_place(self, rng: random.Random, z: str, f: Factor) -> str:
        m = f.multiplier
        forms = [f"{z} *= {m}", f"{z} *= {m}", f"{z}[...] *= {m}", f"{z}[:] = {z} * {m}", f"{z}[...] = {z} * {m}"]
        forms += [f"np.multiply({z}, {m}, out={z})", f"np.copyto({z}, {z} * {m})", f"{z}[:] *= {m}"]
        if f.divides:
            forms += [f"{z} /= {f.text}", f"{z} /= {f.text}", f"np.divide({z}, {f.text}, out={z})"]
        return rng.choice(forms)

    def scaled(self, rng: random.Random, z: str, f: Factor) -> str:
        m = f.multiplier
        forms = [f"{z} * {m}", f"{z} * {m}", f"{m} * {z}", f"np.multiply({z}, {m})"]
        if f.divides:
            forms = [f"{z} / {f.text}", f"{z} / {f.text}", f"np.divide({z}, {f.text})"]
        return rng.choice(forms)


class Torch(Dialect):
    name = "torch"
    module = "torch"
    imports = ("import torch", "from torch import nn")
    softmax = "torch.softmax({0}, dim=-1)"
    type_name = "torch.Tensor"

    def transposed(self, rng: random.Random, z: str) -> str:
        return rng.choice([f"{z}.transpose(-2, -1)", f"{z}.transpose(-1, -2)", f"torch.transpose({z}, -2, -1)", f"{z}.mT"])

    def sqrt(self, rng: random.Random, z: str) -> str:
        return f"math.sqrt({z})"

    def copy(self, rng: random.Random, z: str) -> str:
        return rng.choice([f"{z}.clone()", f"torch.clone({z})", f"{z} + 0.0", f"{z}.detach().clone()", f"{z} * 1.0"])

    def view(self, rng: random.Random, z: str) -> str:
        forms = ["{0}[:]", "{0}[...]", "{0}.transpose(-1, -2)", "{0}.mT", "{0}.view({0}.shape)", "{0}[None]", "{0}.unsqueeze(0)"]
        return rng.choice([*forms, "{0}.detach()", "{0}.view_as({0})"]).format(z)

    def in_place(self, rng: random.Random, z: str, f: Factor) -> str:
        m = f.multiplier
        forms = [f"{z} *= {m}", f"{z} *= {m}", f"{z}.mul_({m})", f"{z}.mul_({m})", f"{z}[...] *= {m}", f"{z}[:] = {z} * {m}"]
        forms += [f"torch.mul({z}, {m}, out={z})", f"{z}.copy_({z} * {m})"]
        if f.divides:
            forms += [f"{z} /= {f.text}", f"{z}.div_({f.text})", f"{z}.div_({f.text})"]
        return rng.choice(forms)

    def scaled(self, rng: random.Random, z: str, f: Factor) -> str:
        m = f.multiplier
        forms = [f"{z} * {m}", f"{z} * {m}", f"{m} * {z}", f"{z}.mul({m})", f"torch.mul({z}, {m})"]
        if f.divides:
            forms = [f"{z} / {f.text}", f"{z} / {f.text}", f"{z}.div({f.text})", f"torch.div({z}, {f.text})"]
        return rng.choice(forms)


@dataclass
class Draft:
    """What a mechanism may use and add to. The tensor that a mechanism scales is named by its text; the body is returned as lines."""

    rng: random.Random
    dialect: NumPy | Torch
    in_class: bool
    multi_head: bool
    imports: Lines = field(default_factory=list)
    helpers: list[Lines] = field(default_factory=list)  # definitions above the attention
    other: dict[str, list[Lines]] = field(default_factory=dict)  # definitions in modules beside it
    init: Lines = field(default_factory=list)
    methods: list[Lines] = field(default_factory=list)
    class_body: Lines = field(default_factory=list)
    bases: list[tuple[str, list[Lines]]] = field(default_factory=list)
    subclass: list[Lines] = field(default_factory=list)  # methods of a class below, which then is the one that is run
    decorators: Lines = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)
    extras: Lines = field(default_factory=list)  # further results that are returned
    mechanisms: list[str] = field(default_factory=list)
    depth: int = 0
    condition: str | None = None  # under which the last mechanism that scales on some paths only scales
    prologue: Lines = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    stage: str = "q"  # which tensor is scaled: q, k or the logits

    def name(self, *wishes: str) -> str:
        """A name that nothing else has."""
        wish = self.rng.choice(wishes)
        candidate, number = wish, 1
        while candidate in self.taken:
            number += 1
            candidate = f"{wish}{number}"
        self.taken.add(candidate)
        return candidate

    def need(self, line: str) -> None:
        if line not in self.imports:
            self.imports.append(line)

    def flag(self) -> str:
        """A parameter that runs set to True and False."""
        for one in self.parameters:
            if one.values == (False, True) and self.rng.random() < 0.4:
                return one.name
        name = self.name("causal", "training", "fast", "stable", "debug", "prescaled", "use_cache")
        self.parameters.append(Parameter(name, self.rng.choice(["False", "True"]), (False, True)))
        return name

    def helper(self, lines: Lines) -> None:
        self.helpers.append(lines)

    def helper_somewhere(self, name: str, lines: Lines) -> None:
        """A function at the top of the module, or in a module beside it."""
        if self.rng.random() < 0.7:
            self.helpers.append(lines)
        else:
            module = self.rng.choice(["utils", "common", "ops"])
            self.other.setdefault(module, []).append(lines)
            self.need(f"from {module} import {name}")

    def scaled(self, z: str, f: Factor) -> str:
        return self.dialect.scaled(self.rng, z, f)

    def in_place(self, z: str, f: Factor) -> str:
        return self.dialect.in_place(self.rng, z, f)

    def view(self, z: str) -> str:
        return self.dialect.view(self.rng, z)

    def copy(self, z: str) -> str:
        return self.dialect.copy(self.rng, z)

    def apply(self, z: str, f: Factor) -> str:
        """The plainest statement that leaves `z` scaled."""
        return f"{z} = {self.scaled(z, f)}"

    def as_value(self, f: Factor) -> str:
        return f.multiplier

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def pick(self, options: Sequence[str]) -> str:
        return self.rng.choice(list(options))


Mechanism = Callable[[Draft, str, Factor], Lines]


@dataclass(frozen=True)
class Entry:
    """A way to write a scaling. `effect`: "once" scales on every path, "none" only looks like it, "some" on some paths or not once.

    "pair" scales q and k both.
    """

    name: str
    page: str
    effect: str
    write: Mechanism
    nested: bool  # may stand inside of another block
    only: str | None  # the dialect

    @property
    def key(self) -> str:
        return f"{self.page}: {self.name}"


REGISTRY: list[Entry] = []


def mechanism(page: str, effect: str = "once", nested: bool = True, only: str | None = None) -> Callable[[Mechanism], Mechanism]:
    def register(write: Mechanism) -> Mechanism:
        name = write.__name__.replace("_", " ").strip()  # type: ignore[attr-defined]
        REGISTRY.append(Entry(name, page, effect, write, nested, only))
        return write

    return register
