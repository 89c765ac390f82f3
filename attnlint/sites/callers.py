"""Callers of a shared attention function: which of them a fault is due to, and the argument that it stands in."""

from __future__ import annotations

from dataclasses import dataclass

from attnlint.domain.ancestry import ancestors
from attnlint.domain.values import Origin
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst


@dataclass(frozen=True, eq=False)
class Blamed:
    """The expression at a caller that a fault is due to, and what a message says of it."""

    origin: Origin
    words: str


def blamed(site: AttentionSite, origin: Origin, path: str) -> Blamed | None:
    """Where a fault of a shared function stands that one caller causes: the argument that it hands over, else the call.

    None where the fault is the function's own, or already stands at the caller. `path` is the linted file: a function of another file
    may be right for callers that are not seen.
    """
    call = site.via.origin if site.via is not None else None
    if call is None or site.verdict != "faulty" or not _is_inside(site, origin):
        return _of_another_file(site, origin, path)
    others = [other.via.origin for other in site.others if other.verdict == "correct" and other.via is not None]
    right = [other for other in others if other.node is not call.node]
    if site.culprit is None:
        right = [other for other in right if _given(site, other) != _given(site, call)]  # it leaves out what they hand over
    if right or (origin.unit.scope.path != path and call.unit.scope.path == path):
        return _argument(site, call, origin)
    return None


def _of_another_file(site: AttentionSite, origin: Origin, path: str) -> Blamed | None:
    called_at = site.record.called_at
    if origin.unit.scope.path == path or called_at is None or called_at.unit.scope.path != path:
        return None
    return Blamed(called_at, "")


def _is_inside(site: AttentionSite, origin: Origin) -> bool:
    """Whether an expression stands in the function that holds the product."""
    function = site.record.function
    return function is not None and origin.unit is function.unit and any(node is function.node for node in ancestors(origin))


def _argument(site: AttentionSite, call: Origin, origin: Origin) -> Blamed:
    """The argument of a call that gives the function what its faulty expression is made of."""
    if site.culprit is None:
        return Blamed(call, "")
    made = [one.node for one in (site.culprit.factor.operand, site.culprit.factor.definition) if one is not None]
    names = {name for node in made or [origin.node] for name in _names(node)}
    for parameter, value in _bound(site, call):
        if parameter in names:
            given = " ".join(call.unit.code(value).split())
            return Blamed(Origin(call.unit, value), "" if given == parameter else f"; here `{parameter}` is `{given}`")
    return Blamed(call, "")


def _given(site: AttentionSite, call: Origin) -> set[str]:
    """The parameters that a call gives a value to."""
    return {parameter for parameter, _ in _bound(site, call)}


def _names(node: cst.CSTNode) -> list[str]:
    """The names that an expression reads, in order."""
    if isinstance(node, cst.Name):
        return [node.value]
    if isinstance(node, cst.Attribute):
        return _names(node.value)
    return [name for child in node.children for name in _names(child)]


def _bound(site: AttentionSite, call: Origin) -> list[tuple[str, cst.BaseExpression]]:
    """The parameters of the function that holds the product, with the arguments that a call gives them."""
    function, node = site.record.function, call.node
    if function is None or not isinstance(node, cst.Call) or any(one.star == "*" for one in node.args):
        return []
    parameters = [one.name.value for one in (*function.node.params.posonly_params, *function.node.params.params)]
    if function.owner is not None and function.kind != "static":
        del parameters[:1]
    positional = [one.value for one in node.args if one.keyword is None and not one.star]
    named = [(one.keyword.value, one.value) for one in node.args if one.keyword is not None]
    return [*zip(parameters, positional, strict=False), *named]
