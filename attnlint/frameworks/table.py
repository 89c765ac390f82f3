"""The form of a framework table: rows that say what each operation, layer and fused kernel is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from attnlint.evaluate.operations import Op


@dataclass(frozen=True)
class LayerRow:
    """A layer class: its kind (what calling it does) and the parameters of its constructor, in order."""

    kind: str
    parameters: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)  # keywords that stand for a parameter of another name


def layer(kind: str, parameters: str = "", aliases: str = "", **settings: Any) -> LayerRow:
    """A row; `aliases` are pairs `keyword=parameter`."""
    pairs = dict(pair.split("=") for pair in aliases.split())
    return LayerRow(kind, tuple(parameters.split()), settings, pairs)


@dataclass(frozen=True)
class Kernel:
    """A fused attention. It scales by d^-1/2 of the last axis of its query unless `scale` is given.

    `unscaled` marks a kernel whose default scale is 1, `method` is the name under which it is a method of its query.
    """

    parameters: str
    packed: str | None = None
    judged: bool = True
    unscaled: bool = False
    aliases: dict[str, str] = field(default_factory=dict)
    method: str | None = None


@dataclass(frozen=True)
class Table:
    """All that is known of one framework. Keys of `roots` and `layers` are module prefixes, of `kernels` full names."""

    name: str
    roots: dict[str, dict[str, Op]] = field(default_factory=dict)
    methods: dict[str, Op] = field(default_factory=dict)
    properties: dict[str, Op] = field(default_factory=dict)
    module_methods: dict[str, Op] = field(default_factory=dict)
    layers: dict[str, dict[str, LayerRow]] = field(default_factory=dict)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    renames: dict[str, str] = field(default_factory=dict)  # prefix -> the prefix it stands for
    helpers: dict[str, str] = field(default_factory=dict)  # last name of what a package imports from itself -> the function that it is
