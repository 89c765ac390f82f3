"""Fixes of a wrong scale: which expression is rewritten to what. No fix where none is certain.

The right expression is a name in scope that is proved equal to the contraction dimension, else a quotient of two such names,
else an axis of the query or key. Every fix is unsafe: a checkpoint was trained with the scale as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import wraps

import libcst as cst

from attnlint.domain.algebra import CONFIG, LEARNED, OPAQUE, PARAMETER, Monomial, power_of
from attnlint.domain.values import Leaf, Origin, Product, scale_of
from attnlint.evaluate.powers import HALF, SCALE_ARGUMENTS, called, split
from attnlint.evaluate.tensors import others_of, products_of
from attnlint.fixes import available, misreading, printer, uses
from attnlint.fixes.printer import Change
from attnlint.fixes.trees import NoTree, code, expression_of, lowered, node_of
from attnlint.model import Fix
from attnlint.sites import places
from attnlint.sites.judge import operand_of
from attnlint.sites.naming import size_like
from attnlint.sites.sites import AttentionSite, PlacedFactor
from attnlint.syntax import nodes

_UNSAFE = "unsafe: a model trained with the wrong scale changes"
_INVERSE = {
    "mul": "div",
    "mul_": "div_",
    "multiply": "divide",
    "div": "mul",
    "div_": "mul_",
    "divide": "multiply",
    "true_divide": "multiply",
}
_NO_SCALE_ARGUMENT = ("flax", "paddle")
_WITH_ALPHA = {"baddbmm", "addbmm", "addmm"}


def _where_parsed(fix: Callable[[AttentionSite], Fix | None]) -> Callable[[AttentionSite], Fix | None]:
    """No fix where LibCST does not parse what is to be rewritten."""

    @wraps(fix)
    def made(site: AttentionSite) -> Fix | None:
        try:
            return fix(site)
        except NoTree:
            return None

    return made


# --- the fixes of the rules


@_where_parsed
def scale_product(site: AttentionSite) -> Fix | None:
    """ATT101: multiply the product by d_k^-1/2, by a name that was made for it where there is one."""
    if site.expected is None or site.product is None or site.product.origin is None:
        return None
    if site.record.kernel is not None:
        return _give_scale(site, site.product.origin)
    target = _unscaled_logits(site)
    shares = _unscaled_shares(site)
    if target is None or shares is None:
        return None
    targets = [target, *(share for share in shares if target.node is site.product.origin.node)]
    operands = [_scale_operand(site, one) for one in targets]
    if any(operand is None for operand in operands):
        return None
    return _fix(site, target, [_scaled(one, *operand) for one, operand in zip(targets, operands, strict=True) if operand is not None])


@_where_parsed
def correct_number(site: AttentionSite) -> Fix | None:
    """ATT102, 103, 109: rewrite the number where it is made, or, where others use it as well, where it is applied."""
    culprit = site.culprit
    needed = _needed(site, culprit)
    if culprit is None or needed is None or _is_a_setting(site, culprit):
        return None
    where = places.wrong_number(culprit)
    operand = culprit.factor.operand
    candidates = [where] if where is not None and uses.is_own(site, where) else []
    if operand is not None and (where is None or operand.node is not where.node) and not uses.disagrees(site, operand):
        candidates += [operand] if not uses.is_overridden(operand) else []
    for origin in candidates:
        if not _serves_all(site, origin, needed) or (origin is operand and origin is not where and uses.leaves_behind(site, origin)):
            continue
        new = _respelled(site, origin, needed)
        if new is not None and (fix := _fix(site, where or origin, [printer.replace(origin, new)])) is not None:
            return fix
    return None


@_where_parsed
def turn(site: AttentionSite) -> Fix | None:
    """ATT104: multiply instead of divide, or write the inverse of the number."""
    culprit = site.culprit
    if culprit is None:
        return None
    where = places.inverted(culprit)
    operand, application = culprit.factor.operand, culprit.factor.application
    named = operand is not None and isinstance(operand.node, (nodes.Name, nodes.Attribute))
    here = where is not None and operand is not None and where.node is operand.node
    root = isinstance(operand.node, nodes.Call) and split(operand.node)[1] == HALF if operand is not None else False
    if not (here and (named or root)):
        fix = correct_number(site)
        if fix is not None:
            return fix
    if (
        application is None
        or where is None
        or uses.disagrees(site, application)
        or not _right_after(site, [culprit], culprit.factor.value.power(Fraction(-1)))
    ):
        return correct_number(site) if named or root else None
    change = _flipped(application, operand, culprit.factor.division)
    if change is None:
        return correct_number(site) if root else None
    return _fix(site, where, [change])


@_where_parsed
def drop(site: AttentionSite) -> Fix | None:
    """ATT105: take one of the two factors away; a fused kernel is told not to scale."""
    culprit, other = places.pair(site)
    where = places.second_application(site)
    if culprit is None or where is None:
        return None
    if culprit.factor.via == "default":
        fix = _give_scale(site, where, cst.Float("1.0")) if _right_but_for_settings(site, [culprit]) else None
        return fix or _dropped(site, where, [other])
    if where is not places.applied(culprit):  # a helper scales what its caller has scaled
        return _dropped(site, where, [other])
    return _dropped(site, where, [culprit, other])


def _right_but_for_settings(site: AttentionSite, without: Sequence[PlacedFactor]) -> bool:
    """Whether d_k^-1/2 is left once some factors are gone, with nothing beside it but configured or learned factors."""
    if site.expected is None or site.contraction is None:
        return False
    rest = site.facts.normalise(_net([placed for placed in site.factors if placed not in without]) / site.expected)
    sizes = set(site.facts.normalise(site.contraction).symbols)
    return rest.is_one or (bool(rest.powers) and not sizes & set(rest.symbols))


@_where_parsed
def move_before_softmax(site: AttentionSite) -> Fix | None:
    """ATT106: the factor on the weights goes to the logits."""
    culprit = site.culprit
    if culprit is None or site.product is None or site.product.origin is None or site.record.kernel is not None:
        return None
    return _moved(site, culprit)


@_where_parsed
def free_bias(site: AttentionSite) -> Fix | None:
    """ATT108: the factor on the sum goes to the product alone."""
    return _moved(site, site.culprit) if site.culprit is not None and site.record.kernel is None else None


@_where_parsed
def parenthesise(site: AttentionSite) -> Fix | None:
    """ATT107: the parentheses that were meant, where they give the right scale; else the right number."""
    culprit = site.culprit
    found = places.misread_part(culprit) if culprit is not None else None
    if culprit is None or found is None:
        return None
    unit, part = found
    origin = Origin(unit, part.node)
    place = available.place(site, origin)
    needed = _needed(site, culprit)
    written = misreading.spelled(unit, part).meant
    meant = written.with_changes(lpar=[], rpar=[])
    if culprit.factor.application is not None and part.node is culprit.factor.application.node:  # `scores / d ** 1 / 2`
        tail = meant.right if isinstance(meant.operator, (cst.Divide, cst.Multiply)) else None
        value = place.evaluate(lowered(tail)) if tail is not None else None
        rest = [placed for placed in site.factors if not uses.within(part.node, placed)]
        if value is None or site.expected is None:
            return None
        if isinstance(meant.operator, cst.Divide):
            value = value.power(Fraction(-1))
        if not site.facts.equal(_net(rest) * value, site.expected):
            return None
        return _fix(site, origin, [printer.replace(origin, written)])
    whole = _number_origin(culprit)
    if whole is not None and needed is not None and not uses.disagrees(site, origin):
        value = place.evaluate(lowered(meant))
        if value is not None and part.node is whole.node and site.facts.equal(value, needed):
            return _fix(site, origin, [printer.replace(origin, written)])
        inner = _with(node_of(whole), node_of(origin), written) if whole.node is not part.node else None
        value = place.evaluate(lowered(inner)) if inner is not None else None
        if value is not None and site.facts.equal(value, needed):
            return _fix(site, origin, [printer.replace(origin, written)])
        new = _respelled(site, whole, needed)
        return _fix(site, origin, [printer.replace(whole, new)]) if new is not None else None
    return None


# --- what a number has to be


def _net(factors: Sequence[PlacedFactor]) -> Monomial:
    net = Monomial()
    for placed in factors:
        net = net * placed.factor.value
    return net


def _needed(site: AttentionSite, culprit: PlacedFactor | None) -> Monomial | None:
    """What the number of a factor has to be for the net scale to be right, all else as it is; where it is used twice, each time."""
    if culprit is None or site.expected is None:
        return None
    made = _number_origin(culprit)
    same = [placed for placed in site.factors if placed is culprit or (made is not None and _number_origin_node(placed) is made.node)]
    if any(placed.factor.division != culprit.factor.division for placed in same):
        return None
    rest = _net([placed for placed in site.factors if placed not in same])
    needed = (site.expected / rest).power(Fraction(1, len(same)))
    return needed.power(Fraction(-1)) if culprit.factor.division else needed


def _serves_all(site: AttentionSite, origin: Origin, needed: Monomial) -> bool:
    """Whether every faulty site that applies an expression as it is needs the same power of what it sums over there."""
    exponent = _exponent(site, needed)
    for other in (*site.siblings, *site.others):
        for placed in other.factors if other.verdict == "faulty" and other is not site else ():
            if placed.factor.operand is not None and placed.factor.operand.node is origin.node:
                own = _needed(other, placed)
                if own is None or _exponent(other, own) != exponent:
                    return False
    return True


def _exponent(site: AttentionSite, needed: Monomial) -> Fraction | None:
    """e with needed = d_k^e."""
    if site.contraction is None:
        return None
    exponent = power_of(site.facts.normalise(needed), site.facts.normalise(site.contraction))
    if exponent is None and site.facts.normalise(site.contraction).is_number:
        return _numeric_exponent(site, needed)
    return exponent


def _number_origin(placed: PlacedFactor) -> Origin | None:
    factor = placed.factor
    definition = factor.definition
    if definition is not None and isinstance(definition.node, nodes.BaseExpression) and not places.is_size(placed):
        return definition
    return factor.operand


def _number_origin_node(placed: PlacedFactor) -> nodes.CSTNode | None:
    found = _number_origin(placed)
    return found.node if found is not None else None


def _right_after(site: AttentionSite, without: Sequence[PlacedFactor], instead: Monomial | None = None) -> bool:
    """Whether the net scale is right once some factors are gone, or replaced by another."""
    if site.expected is None:
        return False
    net = _net([placed for placed in site.factors if placed not in without])
    return site.facts.equal(net * instead if instead is not None else net, site.expected)


def _respelled(site: AttentionSite, origin: Origin, needed: Monomial) -> cst.BaseExpression | None:
    """The expression with the value `needed`, in the spelling that it has where that can be kept."""
    node = origin.node
    if site.contraction is None or not isinstance(node, nodes.BaseExpression):
        return None
    if isinstance(node, nodes.NamedExpr):
        return _of_named(site, origin, needed)
    exponent = _exponent(site, needed)
    if exponent is None:
        return None
    place = available.place(site, origin)
    inner, power = split(node)
    whole, base = expression_of(origin), expression_of(Origin(origin.unit, inner))
    size = base if _base_holds(site, origin, power) else place.size(site.contraction)
    if size is None:
        return None
    if printer.precedence(printer.bare(size)) == printer.precedence(cst.Name("x")) and not isinstance(size, (cst.Integer, cst.Float)):
        size = printer.bare(size)
    if power == exponent and base is not whole:
        return _rebased(whole, base, size)
    match whole:
        case cst.BinaryOperation(operator=cst.Power(), left=left) if left is base:
            right = cst.ensure_type(printer.power(cst.Name("x"), exponent), cst.BinaryOperation).right
            kept = printer.at_least(size, printer.precedence(whole.with_changes(lpar=[], rpar=[])) + 1)
            return whole.with_changes(left=kept, right=right) if exponent != 1 else None
        case cst.Call() if power == HALF and exponent == -HALF and base is not whole:
            return printer.product(cst.Integer("1"), _rebased(whole, base, size), divide=True)
    return printer.power(size, exponent)


def _of_named(site: AttentionSite, origin: Origin, needed: Monomial) -> cst.BaseExpression | None:
    """`(d := q.shape[-1]) ** 0.5`: a power of what is named there, where one is right, so that others read what they have read."""
    culprit = site.culprit
    if culprit is None or culprit.factor.operand is None or culprit.factor.operand.node is not origin.node:
        return None
    made = culprit.factor.value.power(Fraction(-1)) if culprit.factor.division else culprit.factor.value
    exponent = power_of(site.facts.normalise(needed), site.facts.normalise(made))
    return printer.power(printer.grouped(expression_of(origin)), exponent) if exponent is not None else None


def _base_holds(site: AttentionSite, origin: Origin, power: Fraction) -> bool:
    """Whether the base of the culprit's number is the contraction dimension already, so that only the power is wrong."""
    culprit = site.culprit
    if culprit is None or site.contraction is None or not power or isinstance(origin.node, (nodes.Integer, nodes.Float)):
        return False
    if not any(one is not None and one.node is origin.node for one in (culprit.factor.operand, culprit.factor.definition)):
        return False
    if site.facts.normalise(site.contraction).is_number and isinstance(split(origin.node)[0], (nodes.Integer, nodes.Float)):  # type: ignore[arg-type]
        return False
    made = culprit.factor.value.power(Fraction(-1)) if culprit.factor.division else culprit.factor.value
    return site.facts.equal(made.power(1 / power), site.contraction)


def _numeric_exponent(site: AttentionSite, needed: Monomial) -> Fraction | None:
    """e with needed = d^e for a numeric head size, of the powers that a scale can be."""
    if site.contraction is None or not site.facts.normalise(needed).is_number:
        return None
    for exponent in (-HALF, HALF, Fraction(-1, 4), Fraction(1, 4)):
        if site.facts.normalise(site.contraction).power(exponent).equals(site.facts.normalise(needed)):
            return exponent
    return None


def _rebased(node: cst.BaseExpression, base: cst.BaseExpression, size: cst.BaseExpression) -> cst.BaseExpression:
    """A power with another base. The new base gets parentheses, unless it is atomic or stands among a call's arguments."""
    if base is node:
        return size
    safe = size if printer.precedence(size) >= printer.precedence(cst.Name("x")) or _is_argument(node, base) else printer.grouped(size)
    if base.lpar and not safe.lpar and isinstance(size, cst.BinaryOperation):
        safe = printer.grouped(safe)
    return _with(node, base, safe)


def _with(node: cst.CSTNode, old: cst.CSTNode, new: cst.CSTNode) -> cst.BaseExpression:
    """An expression with a part of it replaced."""
    made = node.deep_replace(old, new)
    assert isinstance(made, cst.BaseExpression)
    return made


def _is_argument(node: cst.CSTNode, base: cst.CSTNode) -> bool:
    if isinstance(node, cst.Arg) and node.value is base:
        return True
    return any(_is_argument(child, base) for child in node.children)


# --- changes


def _scale_operand(site: AttentionSite, target: Origin) -> tuple[cst.BaseExpression, bool] | None:
    """What to multiply (or, True, divide) the logits by at a place."""
    if site.expected is None or site.contraction is None:
        return None
    place = available.place(site, target)
    named = place.factor(site.expected)
    if named is not None:
        return named
    size = place.size(site.contraction)
    return (printer.power(size, -HALF), False) if size is not None else None


def _unscaled_logits(site: AttentionSite) -> Origin | None:
    """The product, where every other site that uses it lacks its scale as well; else the argument of this softmax."""
    product = site.product
    if product is None or product.origin is None:
        return None
    if not uses.disagrees(site, product.origin):
        return product.origin
    record = site.record
    logits, anchor = record.logits, record.anchor
    if anchor is None or logits is None or not isinstance(logits.content, Product) or logits.masks or uses.disagrees(site, anchor):
        return None
    match anchor.node:
        case nodes.Call(args=[nodes.Arg(value=nodes.Name() as argument), *_]):
            return Origin(anchor.unit, argument)
    return None


def _unscaled_shares(site: AttentionSite) -> list[Origin] | None:
    """The other products of a sum that lack the scale as well (relative positions); None where one cannot be scaled along."""
    logits, product = site.record.logits, site.product
    if logits is None or product is None or product.origin is None:
        return []
    found: dict[int, Origin] = {}
    for carrier, other in products_of(logits):
        net = scale_of((*carrier.factors, *operand_of(other.left).factors, *operand_of(other.right).factors))
        if other is product or not site.facts.normalise(net).is_one:
            continue
        if not site.facts.equal(other.size, product.size):
            continue  # coordinates or segments
        origin = other.origin
        if origin is None or origin.unit.scope is not product.origin.unit.scope or uses.disagrees(site, origin):
            return None
        found[id(origin.node)] = origin
    found.pop(id(product.origin.node), None)
    asked = {node.value for node in uses.names(product.origin.node)}
    for term in others_of(logits):
        content, last = term.content, term.history[-1] if term.history else None
        if not isinstance(content, Leaf) or content.kind not in ("opaque", "projection") or last is None:
            continue
        if not asked & {node.value for node in uses.names(last.node)}:
            continue
        source = content.source
        if source is None or not source.shape.axes or not site.facts.equal(source.shape.axes[-1].size, product.size):
            return None  # what is not followed may be a product of the query, too
        if last.unit.scope is not product.origin.unit.scope or not available.operands(last.node):
            return None
        found[id(last.node)] = last  # a product with a table of positions
    return list(found.values())


def _scaled(target: Origin, operand: cst.BaseExpression, divide: bool) -> Change:
    """The product times the scale; through `alpha=` where one call adds a bias to it."""
    node = expression_of(target)
    if isinstance(node, cst.Call) and called_with_alpha(target):
        value = printer.product(cst.Integer("1"), operand, divide=True) if divide else operand
        return printer.replace(target, _with_argument(node, "alpha", value))
    return printer.replace(target, printer.product(node, operand, divide))


def _with_argument(call: cst.Call, keyword: str, value: cst.BaseExpression) -> cst.Call:
    """The call with a keyword argument more, or with another value for it."""
    arguments = list(call.args)
    for index, argument in enumerate(arguments):
        if argument.keyword is not None and argument.keyword.value == keyword:
            arguments[index] = argument.with_changes(value=value)
            return call.with_changes(args=arguments)
    bare = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    new = cst.Arg(value, keyword=cst.Name(keyword), equal=bare)
    if arguments:
        last = arguments[-1]
        new = new.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
        between = arguments[-2].comma if len(arguments) > 1 else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        if isinstance(between, cst.Comma):
            arguments[-1] = last.with_changes(comma=_without_comment(between), whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*arguments, new])


def _without_comment(comma: cst.Comma) -> cst.Comma:
    """A comma as it stands between arguments, without what is said of the one before it."""
    after = comma.whitespace_after
    if isinstance(after, cst.ParenthesizedWhitespace):
        first = cst.TrailingWhitespace(newline=after.first_line.newline)
        return comma.with_changes(whitespace_after=after.with_changes(first_line=first, empty_lines=[]))
    return comma


def _give_scale(site: AttentionSite, where: Origin, value: cst.BaseExpression | None = None) -> Fix | None:
    """Tell a fused kernel its scale."""
    call, kernel = node_of(where), site.record.kernel or ""
    keyword = SCALE_ARGUMENTS.get(kernel)
    if (
        not isinstance(call, cst.Call)
        or keyword is None
        or site.record.framework in _NO_SCALE_ARGUMENT
        or any(one.star for one in call.args)
    ):
        return None
    if value is None:
        operand = _scale_operand(site, where)
        if operand is None:
            return None
        value = printer.product(cst.Integer("1"), operand[0], divide=True) if operand[1] else operand[0]
    change = printer.replace(where, _with_argument(call, keyword, value))
    return _fix(site, where, [change], f"{keyword}={code(value)}")


def _flipped(application: Origin, operand: Origin | None, division: bool) -> Change | None:
    """`x / s` for `x * s` and the other way round, in every spelling; none for `s * x`, where `s / x` is something else."""
    node = node_of(application)
    factor = node_of(operand) if operand is not None else None
    name = called(application.node) if isinstance(application.node, nodes.Call) else ""
    operator = cst.Multiply if division else cst.Divide
    match node:
        case cst.BinaryOperation(operator=cst.Multiply() | cst.Divide() as old) if node.right is factor:
            new = operator(whitespace_before=old.whitespace_before, whitespace_after=old.whitespace_after)
            return printer.replace(application, node.with_changes(operator=new))
        case cst.AugAssign(operator=cst.MultiplyAssign() | cst.DivideAssign() as old):
            kind = cst.MultiplyAssign if division else cst.DivideAssign
            new_operator = kind(whitespace_before=old.whitespace_before, whitespace_after=old.whitespace_after)
            return Change(application.unit, node, node.with_changes(operator=new_operator))
        case cst.Call(func=cst.Attribute() as function, args=[*_, cst.Arg(value=last)]) if name in _INVERSE and last is factor:
            inverse = function.with_changes(attr=cst.Name(_INVERSE[name]))
            return printer.replace(application, node.with_changes(func=inverse))
    return None


def _without(placed: PlacedFactor) -> tuple[Origin, nodes.BaseExpression | None] | None:
    """An application and what is left of it without its factor; None for the rest where a whole statement goes."""
    factor = placed.factor
    application, operand = factor.application, factor.operand
    if application is None or operand is None:
        return None
    node = application.node
    match node:
        case nodes.BinaryOperation(operator=nodes.Multiply() | nodes.Divide()) if node.right is operand.node:
            return _unless_itself(application, node.left)
        case nodes.BinaryOperation(operator=nodes.Multiply()) if node.left is operand.node:
            return _unless_itself(application, node.right)
        case nodes.Call(func=nodes.Attribute(value=receiver), args=[nodes.Arg(value=only)]) if (
            called(node) in _INVERSE and only is operand.node
        ):
            line = _line(application)
            return (Origin(application.unit, line), None) if line is not None else (application, receiver)
        case nodes.Call(args=[nodes.Arg(value=first), nodes.Arg(value=second)]) if called(node) in _INVERSE:
            return (application, first) if second is operand.node else (application, second) if first is operand.node else None
        case nodes.AugAssign():
            line = _line(application)
            return (Origin(application.unit, line), None) if line is not None else None
    return None


def _unless_itself(application: Origin, rest: nodes.BaseExpression) -> tuple[Origin, nodes.BaseExpression | None] | None:
    """`q = q * scale` without its factor is no statement at all; None where the statement has to stay."""
    match list(places.ancestors(application))[:2]:
        case [nodes.Assign(targets=[nodes.AssignTarget(target=nodes.Name(value=name))]), nodes.SimpleStatementLine() as line]:
            if isinstance(rest, nodes.Name) and rest.value == name:
                place = Origin(application.unit, line)
                match node_of(place):
                    case cst.SimpleStatementLine(body=[_], trailing_whitespace=cst.TrailingWhitespace(comment=None)):
                        return place, None
                    case cst.SimpleStatementLine():
                        return None
    return application, rest


def _line(application: Origin) -> nodes.SimpleStatementLine | None:
    """The statement line of an expression that is a statement of its own."""
    chain = list(places.ancestors(application))
    if chain and isinstance(chain[0], nodes.Expr):
        chain = chain[1:]
    return chain[0] if chain and isinstance(chain[0], nodes.SimpleStatementLine) else None


def _dropped(site: AttentionSite, where: Origin, candidates: Sequence[PlacedFactor | None]) -> Fix | None:
    """Take away the first of some factors that can be, where the rest is right."""
    for placed in candidates:
        application = placed.factor.application if placed is not None else None
        if placed is None or application is None or uses.disagrees(site, application) or _holds_a_setting(site, placed):
            continue
        if not _right_after(site, [placed]):
            continue
        found = _without(placed)
        if found is not None and (fix := _fix(site, where, [_change(*found)])) is not None:
            return fix
    return None


def _holds_a_setting(site: AttentionSite, placed: PlacedFactor) -> bool:
    """Whether a factor carries a learned or configured one along, which has to stay."""
    symbols = site.facts.normalise(placed.factor.value).symbols
    return any(one.kind == LEARNED or (one.kind in (PARAMETER, CONFIG) and one.key not in site.record.dims) for one in symbols)


def _is_a_setting(site: AttentionSite, placed: PlacedFactor) -> bool:
    """Whether a factor is a learned or configured number that is no size, such as a temperature, and so no slip of the pen."""
    symbols = placed.factor.value.symbols
    free = [one for one in symbols if one.kind in (LEARNED, PARAMETER, CONFIG, OPAQUE) and one.key not in site.record.dims]
    return site.kind != "constant-scale" and bool(free) and not any(size_like(one.name) for one in symbols)


def _change(origin: Origin, rest: nodes.BaseExpression | None) -> Change:
    """Take a statement away, or leave a part of an expression in its place."""
    if rest is None:
        return Change(origin.unit, node_of(origin), None)
    return printer.replace(origin, expression_of(Origin(origin.unit, rest)))


def _moved(site: AttentionSite, placed: PlacedFactor) -> Fix | None:
    """Take a factor away where it stands and scale the product instead."""
    product = site.product
    where = places.applied(placed)
    found = _without(placed)
    if (
        product is None
        or product.origin is None
        or where is None
        or found is None
        or not isinstance(product.origin.node, nodes.BaseExpression)
    ):
        return None
    target, (origin, rest) = product.origin, found
    if uses.disagrees(site, target) or called_with_alpha(target):
        return None
    operand = _same_operand(site, placed, target) or _scale_operand(site, target)
    if operand is None:
        return None
    if rest is not None and uses.inside(rest, target.node):
        scaled = printer.product(expression_of(target), *operand)
        if rest is target.node:
            return _fix(site, where, [printer.replace(origin, scaled)])
        inner = printer.replace(target, scaled).new
        assert inner is not None
        return _fix(site, where, [printer.replace(origin, _with(expression_of(Origin(origin.unit, rest)), node_of(target), inner))])
    return _fix(site, where, [_change(origin, rest), _scaled(target, *operand)])


def called_with_alpha(target: Origin) -> bool:
    return isinstance(target.node, nodes.Call) and called(target.node) in _WITH_ALPHA


def _same_operand(site: AttentionSite, placed: PlacedFactor, target: Origin) -> tuple[cst.BaseExpression, bool] | None:
    """The factor as it is written, where it is the right one and means the same beside the product."""
    factor = placed.factor
    operand = factor.operand
    if (
        operand is None
        or site.expected is None
        or not site.facts.equal(factor.value, site.expected)
        or not isinstance(operand.node, nodes.BaseExpression)
    ):
        return None
    made = factor.value.power(Fraction(-1)) if factor.division else factor.value
    value = available.place(site, target).evaluate(operand.node)
    return (expression_of(operand), factor.division) if value is not None and site.facts.equal(value, made) else None


def _fix(site: AttentionSite, where: Origin, changes: Sequence[Change], text: str | None = None) -> Fix | None:
    """The fix, where all its edits lie in the file of the finding and its printed text is proved."""
    if any(change.unit.scope is not where.unit.scope or _unbinds(change) for change in changes):
        return None
    edits = printer.edits(changes)
    if not edits:
        return None
    text = text or next((_shown(change.new) for change in reversed(changes) if change.new is not None), None)
    if text is None:
        text = f"without `{_shown(changes[0].old)}`"
    return Fix("unsafe", f"{text if len(text) <= 90 else text[:89] + '…'} ({_UNSAFE})", edits)


def _unbinds(change: Change) -> bool:
    """Whether a name that is bound within an expression would not be bound any more."""
    return bool(set(_names_bound(change.old)) - set(_names_bound(change.new) if change.new is not None else ()))


def _names_bound(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, cst.NamedExpr) and isinstance(node.target, cst.Name):
        yield node.target.value
    for child in node.children:
        yield from _names_bound(child)


def _shown(node: cst.CSTNode) -> str:
    """A node on one line, without parentheses around it."""
    return " ".join(code(printer.bare(node) if isinstance(node, cst.BaseExpression) else node).split())
