"""The nodes around the place that a value comes from."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from attnlint.domain.values import Origin


def function_of(origin: Origin) -> cst.CSTNode | None:
    """The innermost function (or class, or lambda) around a node; the module where there is none."""
    return next((node for node in ancestors(origin) if isinstance(node, (cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.Module))), None)


def ancestors(origin: Origin) -> Iterator[cst.CSTNode]:
    """The nodes around a node, the innermost first."""
    chain = _way_to(origin.unit.module, origin.node)
    yield from reversed(chain[:-1])


def _way_to(root: cst.CSTNode, target: cst.CSTNode) -> list[cst.CSTNode]:
    trail: list[tuple[cst.CSTNode, int]] = []
    pending: list[tuple[cst.CSTNode, int]] = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        del trail[depth:]
        trail.append((node, depth))
        if node is target:
            return [one for one, _ in trail]
        pending += [(child, depth + 1) for child in node.children if not isinstance(child, cst.BaseParenthesizableWhitespace)]
    return []
