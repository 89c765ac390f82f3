"""Who uses a number or an expression: a fix may change it only where everyone who does has the same fault."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attnlint.domain.values import Origin, Product, Sum, Tensor
from attnlint.evaluate.powers import SCALE_ARGUMENTS, called
from attnlint.sites import places
from attnlint.sites.sites import AttentionSite, PlacedFactor
from attnlint.syntax import nodes as cst


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
    target = _target_of(origin)
    named = operand is not None and isinstance(operand.node, cst.NamedExpr) and operand.node.target is target
    if operand is None or (inside(operand.node, origin.node) and not named) or places.is_handed_over(origin):
        return True
    if target is None:
        return False
    return _read_for_logits_alone(site, origin, target, _used(site))


def _read_for_logits_alone(site: AttentionSite, origin: Origin, target: cst.Name | cst.Attribute, used: Sequence[cst.CSTNode]) -> bool:
    """Whether every place that reads a name or an attribute scales logits with this fault, if need be under another name."""
    known = set(map(id, used))
    reads = _reads(origin, target)
    beside = [Origin(origin.unit, node) for node in reads if id(node) not in known]
    return (bool(reads) or _is_bound_within(target, used)) and all(
        _is_renamed(site, read, used) or _is_given_to_helper(site, read, known) or scales_beside(site, read) for read in beside
    )


def _is_bound_within(target: cst.CSTNode, used: Sequence[cst.CSTNode]) -> bool:
    """`logits * (scale := d ** -1)`: the name is bound where the number is applied."""
    return any(isinstance(node, cst.NamedExpr) and node.target is target for node in used)


def _is_renamed(site: AttentionSite, read: Origin, used: Sequence[cst.CSTNode]) -> bool:
    """`scale = self.scale`, where that name in turn is read for the logits alone."""
    match next(places.ancestors(read), None):
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]):
            return _function_of_local(read) is not None and _read_for_logits_alone(site, read, name, used)
    return False


def _is_given_to_helper(site: AttentionSite, read: Origin, known: set[int]) -> bool:
    """`scores(q, k, self.scale)`, where the function of that name does nothing with its parameter but scale these logits."""
    operand = site.culprit.factor.operand if site.culprit is not None else None
    helper = places.function_of(operand) if operand is not None else None
    if operand is None or not isinstance(operand.node, cst.Name) or not isinstance(helper, cst.FunctionDef):
        return False
    match list(places.ancestors(read))[:2]:
        case [cst.Arg(), cst.Call() as call] if called(call) == helper.name.value and helper is not places.function_of(read):
            reads = _reads_in(helper.body, operand.node.value)
            return all(id(node) in known for node in reads if isinstance(node, cst.Name))
    return False


def _used(site: AttentionSite) -> list[cst.CSTNode]:
    """The numbers that sites with this very fault apply, to the product or to a share of the logits, and those that they are handed."""
    used: list[cst.CSTNode] = []
    for other in (site, *(other for other in site.siblings if other.verdict == "faulty" and other.kind == site.kind)):
        used += [placed.factor.operand.node for placed in other.factors if placed.factor.operand is not None]
        used += [argument.value for call in other.record.call_sites if isinstance(call.node, cst.Call) for argument in call.node.args]
        used += _of_terms(other.record.logits)
    return used


def _of_terms(logits: Tensor | None) -> Iterator[cst.CSTNode]:
    """The numbers that scale the shares of the logits, and what is multiplied there."""
    pending = [logits] if logits is not None else []
    for tensor in pending:
        yield from (factor.operand.node for factor in tensor.factors if factor.operand is not None)
        match tensor.content:
            case Sum(terms=terms):
                pending += terms
            case Product(left=left, right=right):
                pending += (left, right)


def is_overridden(operand: Origin) -> bool:
    """Whether a subclass in the file gives the attribute another value but keeps the method, so that what applies it serves both."""
    method = places.function_of(operand)
    if not isinstance(operand.node, cst.Attribute) or not isinstance(method, cst.FunctionDef):
        return False
    scope, name = operand.unit.scope, operand.node.attr.value
    below = _kin(operand)[1]
    texts = [scope.statement_text(one) for one in scope.statements if one.kind == "class" and below & set(one.names)]
    texts = [text for text in texts if not re.search(rf"\bdef {re.escape(method.name.value)}\b", text)]
    return any(_sets(text, name) or re.search(rf"^\s+(?:def\s+)?{re.escape(name)}\s*[:=(]", text, re.MULTILINE) for text in texts)


def leaves_behind(site: AttentionSite, operand: Origin) -> bool:
    """Whether something beside the product is scaled by the same attribute, and would not be in step any more with another number here."""
    function = places.function_of(operand)
    if not isinstance(operand.node, cst.Attribute) or not isinstance(function, cst.FunctionDef):
        return False
    known = set(map(id, _used(site)))
    found = _reads_in(function.body, operand.node.attr.value)
    reads = [node for node in found if isinstance(node, cst.Attribute) and id(node) not in known]
    return any(scales_beside(site, Origin(operand.unit, node)) for node in reads)


def scales_beside(site: AttentionSite, read: Origin) -> bool:
    """Whether a number scales an operand of the product once more on the way to the softmax: in a share of the logits, or the fused way."""
    product = site.product.origin if site.product is not None else None
    function = places.function_of(read)
    if product is None or product.unit is not read.unit or places.function_of(product) is not function:
        return False
    operands = {node.value for node in names(product.node)} - {"self"}
    match next(places.ancestors(read), None):
        case cst.BinaryOperation(operator=cst.Multiply() | cst.Divide(), left=left, right=right):
            other = right if left is read.node else left
            shared = isinstance(other, (cst.Name, cst.BinaryOperation)) and operands & {node.value for node in names(other)}
            return bool(shared) and _leads_to_softmax(site, read)
        case cst.Arg(keyword=cst.Name(value=keyword)):
            call = next((node for node in places.ancestors(read) if isinstance(node, cst.Call)), None)
            return keyword in _KEYWORDS and call is not None and bool(operands & {node.value for node in names(call)})
    return False


def _leads_to_softmax(site: AttentionSite, read: Origin) -> bool:
    """Whether what a statement makes is read, if need be through other names, by the statement of the softmax."""
    anchor = site.record.anchor
    function = places.function_of(read)
    if anchor is None or function is None or anchor.unit is not read.unit:
        return False
    lines = [node for node in cst.walk(function) if isinstance(node, cst.BaseSmallStatement)]
    holding = [line for line in lines if inside(line, anchor.node)]
    wanted = {node.value for line in holding for node in names(line)}
    reached = set(map(id, holding))
    for _ in lines:
        more = [line for line in lines if id(line) not in reached and wanted & _bound_by(line)]
        if not more:
            break
        reached |= set(map(id, more))
        wanted |= {node.value for line in more for node in names(line)}
    return any(id(node) in reached for node in places.ancestors(read))


def _bound_by(line: cst.BaseSmallStatement) -> set[str]:
    match line:
        case cst.Assign(targets=targets):
            return {node.value for target in targets for node in names(target.target)}
        case cst.AnnAssign(target=target) | cst.AugAssign(target=target):
            return {node.value for node in names(target)}
    return set()


def names(node: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that an expression reads; what stands behind a dot is none."""
    if isinstance(node, cst.Name):
        yield node
    elif isinstance(node, cst.Attribute):
        yield from names(node.value)
    else:
        for child in node.children:
            yield from names(child)


_KEYWORDS = {*SCALE_ARGUMENTS.values(), "scale", "scaling", "softmax_scale"}


def _target_of(origin: Origin) -> cst.Name | cst.Attribute | None:
    """The name or attribute that is assigned the number made at a place."""
    for node in places.ancestors(origin):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as target)]):
                return target
            case cst.AnnAssign(target=cst.Name() | cst.Attribute() as target) | cst.NamedExpr(target=cst.Name() as target):
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
    function = _function_of_local(origin)
    if function is not None:  # nobody else sees it
        return [node for node in _reads_in(function.body, name) if isinstance(node, cst.Name)]
    found = _reads_in(origin.unit.module, name)
    attribute = any(isinstance(node, cst.Attribute) and node.attr.value == name for node in cst.walk(origin.unit.module))
    kin = set().union(*_kin(origin)) if attribute else set()
    around = re.compile(rf"\.{re.escape(name)}\b" if attribute else rf"\b{re.escape(name)}\b")
    for statement in scope.statements:
        if statement.first == origin.unit.first_row:
            continue
        text = scope.statement_text(statement)
        if attribute and statement.kind == "class" and _sets(text, name):
            # objects of a class apart have their own; a subclass that gives it another value reads nothing by that
            apart = r"\b" if not kin & set(statement.names) else r"(?:\s*:[^=\n]+)?\s*=(?!=)"
            text = re.sub(rf"\bself\.{re.escape(name)}{apart}", "", text)
        if around.search(text):
            return []
    if isinstance(target, cst.Attribute):  # a local of the same name is another number
        return [node for node in found if isinstance(node, cst.Attribute)]
    return found


def _sets(text: str, name: str) -> bool:
    return re.search(rf"\bself\.{re.escape(name)}(?:\s*:[^=\n]+)?\s*=(?!=)", text) is not None


_HEADER = re.compile(r"^class\s+(\w+)[^(:]*\(([^)]*)\)", re.MULTILINE)


def _kin(origin: Origin) -> tuple[set[str], set[str]]:
    """The classes of a file from which the class that holds a place inherits, itself among them, and those that inherit from it."""
    scope = origin.unit.scope
    texts = [scope.statement_text(statement) for statement in scope.statements if statement.kind == "class"]
    bases = {found[1]: set(re.findall(r"\w+", found[2])) for text in texts if (found := _HEADER.search(text)) is not None}
    owners = {node.name.value for node in places.ancestors(origin) if isinstance(node, cst.ClassDef)}
    above, below = set(owners), set(owners)
    for _ in bases:
        above |= {base for name in above for base in bases.get(name, ())}
        below |= {name for name, own in bases.items() if own & below}
    return above, below - owners


def _function_of_local(origin: Origin) -> cst.FunctionDef | None:
    """The function of whose local variable a place gives the value."""
    local = False
    for node in places.ancestors(origin):
        if isinstance(node, cst.Assign):
            local = all(isinstance(target.target, cst.Name) for target in node.targets)
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            return node if local and isinstance(node, cst.FunctionDef) else None
    return None


def _reads_in(node: cst.CSTNode, name: str) -> list[cst.CSTNode]:
    """Where a name, or an attribute of that name, is read: what is compared with None is not the number."""
    match node:
        case cst.Comparison() if all(isinstance(one.comparator, cst.Name) and one.comparator.value == "None" for one in node.comparisons):
            return []
        case cst.Attribute():
            own: list[cst.CSTNode] = [node] if node.attr.value == name else []
            return [*own, *_reads_in(node.value, name)]
        case cst.Name(value=value):
            return [node] if value == name else []
        case cst.AssignTarget() | cst.AnnAssign() | cst.NamedExpr():
            parts: list[cst.CSTNode | None] = [] if isinstance(node, cst.AssignTarget) else [node.value]
            parts += [node.annotation] if isinstance(node, cst.AnnAssign) else []
            return [*_reads_in_target(node.target, name), *(read for one in parts if one is not None for read in _reads_in(one, name))]
        case cst.Param():
            parts = [node.annotation, node.default]
            return [read for one in parts if one is not None for read in _reads_in(one, name)]
        case cst.Arg():
            return _reads_in(node.value, name)
    return [read for child in node.children for read in _reads_in(child, name)]


def _reads_in_target(node: cst.CSTNode, name: str) -> list[cst.CSTNode]:
    """What is read to find out where an assignment goes to: the target itself is not."""
    match node:
        case cst.Name():
            return []
        case cst.Attribute(value=holder):
            return _reads_in(holder, name)
        case cst.Tuple() | cst.List():
            return [read for element in node.elements for read in _reads_in_target(element.value, name)]
    return _reads_in(node, name)


def inside(outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    return outer is inner or any(inside(child, inner) for child in outer.children)


def within(outer: cst.CSTNode, placed: PlacedFactor) -> bool:
    application = placed.factor.application
    return application is not None and inside(outer, application.node)
