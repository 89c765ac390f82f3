"""Who uses a number or an expression: a fix may change it only where everyone who does has the same fault."""

from __future__ import annotations

import re

import libcst as cst

from attnlint.domain.values import Origin
from attnlint.evaluate.powers import SCALE_ARGUMENTS, called
from attnlint.fixes import places
from attnlint.sites.sites import AttentionSite, PlacedFactor


def disagrees(site: AttentionSite, origin: Origin) -> bool:
    """Whether another site that is right uses an expression that a fix would change."""
    for other in site.siblings:
        if other is site or other.verdict not in ("correct", "intended"):
            continue
        for placed in other.factors:
            factor = placed.factor
            if any(one is not None and one.node is origin.node for one in (factor.operand, factor.application, factor.definition)):
                return True
        if other.product is not None and other.product.origin is not None and other.product.origin.node is origin.node:
            return True
        if other.record.anchor is not None and other.record.anchor.node is origin.node:
            return True
    return False


def is_own(site: AttentionSite, origin: Origin) -> bool:
    """Whether the number made at a place is used for the logits of sites with this very fault alone."""
    if disagrees(site, origin):
        return False
    culprit = site.culprit
    assert culprit is not None
    operand = culprit.factor.operand
    if operand is None or inside(operand.node, origin.node) or places.is_handed_over(origin):
        return True
    target = _target_of(origin)
    if target is None:
        return False
    used = _used(site)
    known = set(map(id, used))
    reads = _reads(origin, target)
    here = places.function_of(operand)
    names = {node.value for node in used if isinstance(node, cst.Name)}
    beside = [node for node in reads if id(node) not in known]
    return bool(reads) and all(_scales(Origin(operand.unit, node), here, names) for node in beside)


def _used(site: AttentionSite) -> list[cst.CSTNode]:
    """The numbers that sites with this very fault apply, and those that they are handed."""
    used: list[cst.CSTNode] = []
    for other in (site, *(other for other in site.siblings if other.verdict == "faulty" and other.kind == site.kind)):
        used += [placed.factor.operand.node for placed in other.factors if placed.factor.operand is not None]
        used += [argument.value for call in other.record.call_sites if isinstance(call.node, cst.Call) for argument in call.node.args]
    return used


def leaves_behind(site: AttentionSite, operand: Origin) -> bool:
    """Whether something beside the product is scaled by the same attribute, and would not be in step any more with another number here."""
    function = places.function_of(operand)
    if not isinstance(operand.node, cst.Attribute) or not isinstance(function, cst.FunctionDef):
        return False
    finder = _Reads(operand.node.attr.value)
    function.body.visit(finder)
    known = set(map(id, _used(site)))
    reads = [node for node in finder.found if isinstance(node, cst.Attribute) and id(node) not in known]
    return any(_scales(Origin(operand.unit, node), function, set()) for node in reads)


def _scales(read: Origin, function: cst.CSTNode | None, names: set[str]) -> bool:
    """Whether a number is what scales in a function: under another name, in a position's share of the logits, or in the fused way."""
    if function is None or places.function_of(read) is not function:
        return False
    around = list(places.ancestors(read))
    for node in around:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]) if name in names:
                return True
    match around[:1]:
        case [cst.BinaryOperation(operator=cst.Multiply() | cst.Divide())]:
            return True
        case [cst.Arg(keyword=cst.Name(value=keyword))]:
            return keyword in _KEYWORDS
    return False


_KEYWORDS = {*SCALE_ARGUMENTS.values(), "scale", "scaling", "softmax_scale"}


def _target_of(origin: Origin) -> cst.Name | cst.Attribute | None:
    """The name or attribute that is assigned the number made at a place."""
    for node in places.ancestors(origin):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as target)]):
                return target
            case cst.AnnAssign(target=cst.Name() | cst.Attribute() as target):
                return target
            case cst.BaseStatement():
                return None
            case cst.Call() if called(node) != "register_buffer" and len(node.args) > 1:
                return None
    return None


def _reads(origin: Origin, target: cst.Name | cst.Attribute) -> list[cst.CSTNode]:
    """Every place of a file's statement that reads a name or an attribute of that name; none where other statements read it, too."""
    scope = origin.unit.scope
    name = target.attr.value if isinstance(target, cst.Attribute) else target.value
    finder = _Reads(name)
    function = _function_of_local(origin)
    if function is not None:  # nobody else sees it
        function.body.visit(finder)
        return finder.found
    origin.unit.module.visit(finder)
    kin = _kin(origin) if finder.attribute else set()
    around = re.compile(rf"\.{re.escape(name)}\b" if finder.attribute else rf"\b{re.escape(name)}\b")
    for statement in scope.statements:
        if statement.first == origin.unit.first_row:
            continue
        text = scope.statement_text(statement)
        if finder.attribute and statement.kind == "class" and not kin & set(statement.names) and _sets(text, name):
            text = re.sub(rf"\bself\.{re.escape(name)}\b", "", text)  # objects of a class apart have their own
        if around.search(text):
            return []
    if isinstance(target, cst.Attribute):  # a local of the same name is another number
        return [node for node in finder.found if isinstance(node, cst.Attribute)]
    return finder.found


def _sets(text: str, name: str) -> bool:
    return re.search(rf"\bself\.{re.escape(name)}(?:\s*:[^=\n]+)?\s*=(?!=)", text) is not None


_HEADER = re.compile(r"^class\s+(\w+)[^(:]*\(([^)]*)\)", re.MULTILINE)


def _kin(origin: Origin) -> set[str]:
    """The class that holds a place with the classes of its file that it inherits from, and those that inherit from it."""
    scope = origin.unit.scope
    texts = [scope.statement_text(statement) for statement in scope.statements if statement.kind == "class"]
    bases = {found[1]: set(re.findall(r"\w+", found[2])) for text in texts if (found := _HEADER.search(text)) is not None}
    owners = {node.name.value for node in places.ancestors(origin) if isinstance(node, cst.ClassDef)}
    above, below = set(owners), set(owners)
    for _ in bases:
        above |= {base for name in above for base in bases.get(name, ())}
        below |= {name for name, own in bases.items() if own & below}
    return above | below


def _function_of_local(origin: Origin) -> cst.FunctionDef | None:
    """The function of whose local variable a place gives the value."""
    local = False
    for node in places.ancestors(origin):
        if isinstance(node, cst.Assign):
            local = all(isinstance(target.target, cst.Name) for target in node.targets)
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            return node if local and isinstance(node, cst.FunctionDef) else None
    return None


class _Reads(cst.CSTVisitor):
    def __init__(self, name: str) -> None:
        self.name = name
        self.found: list[cst.CSTNode] = []
        self.attribute = False
        self._targets: set[int] = set()

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._target(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._target(node.target)

    def visit_Param(self, node: cst.Param) -> None:
        self._target(node.name)

    def visit_Arg(self, node: cst.Arg) -> None:
        if node.keyword is not None:
            self._target(node.keyword)

    def _target(self, node: cst.CSTNode) -> None:
        self._targets.add(id(node))
        if isinstance(node, (cst.Tuple, cst.List)):
            for element in node.elements:
                self._target(element.value)

    def visit_Comparison(self, node: cst.Comparison) -> bool:
        compared = [one.comparator for one in node.comparisons]
        return not all(isinstance(one, cst.Name) and one.value == "None" for one in compared)  # what is asked there is not the number

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        if node.attr.value == self.name:
            self.attribute = True
            if id(node) not in self._targets:
                self.found.append(node)
        node.value.visit(self)
        return False

    def visit_Name(self, node: cst.Name) -> None:
        if node.value == self.name and id(node) not in self._targets:
            self.found.append(node)


def inside(outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    return outer is inner or any(inside(child, inner) for child in outer.children)


def within(outer: cst.CSTNode, placed: PlacedFactor) -> bool:
    application = placed.factor.application
    return application is not None and inside(outer, application.node)
