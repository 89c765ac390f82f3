"""The nodes around the place that a value comes from."""

from __future__ import annotations

from collections.abc import Iterator

from attnlint.domain.values import Origin
from attnlint.syntax.nodes import CSTNode


def function_of(origin: Origin) -> CSTNode | None:
    """The innermost function (or class, or lambda) around a node; the module where there is none."""
    return origin.unit.function_around(origin.node)


def ancestors(origin: Origin) -> Iterator[CSTNode]:
    """The nodes around a node, the innermost first."""
    return origin.unit.ancestors(origin.node)
