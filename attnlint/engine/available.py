"""What a fix may write at a place: names that are bound there for certain, and the numbers that they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import libcst as cst

from attnlint.engine.algebra import AXIS, Monomial, Symbol
from attnlint.engine.naming import monomial_of, rank, size_like
from attnlint.engine.places import ancestors, function_of
from attnlint.engine.powers import number_of, split
from attnlint.engine.printer import quotient
from attnlint.engine.sites import AttentionSite
from attnlint.engine.values import Origin, Tensor, Value
from attnlint.model import Position


@dataclass(frozen=True, eq=False)
class Place:
    """A place in a function, with the names that are bound there and what they hold."""

    site: AttentionSite
    origin: Origin
    numbers: dict[str, Monomial] = field(default_factory=dict)  # source text -> value
    tensors: dict[str, Tensor] = field(default_factory=dict)

    # --- sizes

    def size(self, wanted: Monomial) -> cst.BaseExpression | None:
        """An expression that is proved to hold `wanted`: a name first, then a quotient of two, then an axis of a tensor."""
        facts = self.site.facts
        names = [text for text, held in self.numbers.items() if facts.equal(held, wanted) and (not wanted.is_number or size_like(text))]
        if names:
            return cst.parse_expression(min(names, key=rank))
        return self._quotient(wanted) or self._axis(wanted)

    def _quotient(self, wanted: Monomial) -> cst.BaseExpression | None:
        facts = self.site.facts
        if wanted.is_number:
            return None
        pairs = [
            (above, below)
            for above, upper in self.numbers.items()
            for below, lower in self.numbers.items()
            if above != below and not lower.is_one and upper.powers and facts.equal(upper, lower * wanted)
        ]
        if not pairs:
            return None
        above, below = min(pairs, key=lambda pair: (rank(pair[0]), rank(pair[1])))
        return quotient(cst.parse_expression(above), cst.parse_expression(below))

    def _axis(self, wanted: Monomial) -> cst.BaseExpression | None:
        """`q.shape[-1]` of an operand of the product."""
        product = self.site.product
        if product is None or not self.site.facts.equal(product.size, wanted):
            return None
        for operand, axes in ((product.left, product.left_axes), (product.right, product.right_axes)):
            if len(axes) != 1:
                continue
            found = operand.shape.axes
            index = next((i - len(found) for i, axis in enumerate(found) if axis.key == axes[0].key), None)
            if index is None:
                continue
            for text, tensor in self.tensors.items():
                same = tensor is operand or (tensor.history and operand.history and tensor.history[-1].node is operand.history[-1].node)
                if same and tensor.shape.axes[index:][:1] and tensor.shape.axes[index].key == axes[0].key:
                    return cst.parse_expression(f"{text}.shape[{index}]")
        return None

    def operand_axis(self, product: Origin) -> cst.BaseExpression | None:
        """`q.shape[-1]` of an operand that stands in the product under its name."""
        found = self.site.product
        if (
            found is None
            or found.origin is None
            or found.origin.node is not product.node
            or len(found.left_axes) != 1
            or len(found.right_axes) != 1
        ):
            return None
        for node, tensor, axes in zip(
            _operands(product.node), (found.left, found.right), (found.left_axes, found.right_axes), strict=False
        ):
            known = tensor.shape.axes
            index = next((i - len(known) for i, axis in enumerate(known) if axis.key == axes[0].key), None)
            if isinstance(node, cst.Name) and index is not None:
                return cst.parse_expression(f"{node.value}.shape[{index}]")
        return None

    def factor(self, wanted: Monomial) -> tuple[cst.BaseExpression, bool] | None:
        """A name that holds `wanted`, or (True) its inverse: an attribute that was made for the scale."""
        facts = self.site.facts
        for divide, value in ((False, wanted), (True, wanted.power(Fraction(-1)))):
            names = [text for text, held in self.numbers.items() if facts.equal(held, value) and held.powers]
            if names:
                return cst.parse_expression(min(names, key=rank)), divide
        return None

    # --- values

    def evaluate(self, node: cst.BaseExpression) -> Monomial | None:
        """The number that an expression of sizes holds."""
        literal = number_of(node)
        if literal is not None:
            return Monomial.number(float(literal))
        base, power = split(node)
        if base is not node:
            inner = self.evaluate(base)
            return inner.power(power) if inner is not None else None
        match node:
            case cst.Name() | cst.Attribute():
                return self.numbers.get(self.origin.unit.code(node))
            case cst.BinaryOperation(operator=cst.Multiply() | cst.Divide() | cst.FloorDivide()):
                left, right = self.evaluate(node.left), self.evaluate(node.right)
                if left is None or right is None:
                    return None
                return left * right if isinstance(node.operator, cst.Multiply) else left / right
            case cst.Subscript() | cst.Call():
                return self._axis_size(node)
        return None

    def _axis_size(self, node: cst.Subscript | cst.Call) -> Monomial | None:
        """`q.shape[-1]` and `q.size(-1)`."""
        match node:
            case cst.Subscript(
                value=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="shape")),
                slice=[cst.SubscriptElement(slice=cst.Index(value=index))],
            ):
                pass
            case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="size")), args=[cst.Arg(value=index)]):
                pass
            case _:
                return None
        tensor, at = self.tensors.get(name), number_of(index)
        if tensor is None or at is None or at.denominator != 1 or (at >= 0 and tensor.shape.lead is not None):
            return None
        axes = tensor.shape.axes
        return axes[int(at)].size if -len(axes) <= at < len(axes) else None


def place(site: AttentionSite, origin: Origin) -> Place:
    """What is bound at a place: in the function of the product, at module level, or in a constructor of its class."""
    record = site.record
    holder = function_of(origin)
    here = origin.unit.span(origin.node).start
    found = Place(site, origin)
    function = record.function
    if function is not None and holder is function.node:
        bound = _bindings(holder)
        for text, value in record.names_in_scope.items():
            if _reaches(origin, bound, text, here):
                _add(found, text, value)
    elif function is None and isinstance(holder, cst.Module) and origin.unit.scope is record.scope:
        scope = record.scope
        for text, value in record.names_in_scope.items():
            indices = scope.bound.get(text, [])
            if len(indices) == 1 and scope.statements[indices[0]].last < here.row and scope.statements[indices[0]].kind == "assign":
                _add(found, text, value)
    elif isinstance(holder, cst.FunctionDef) and holder.name.value in _CONSTRUCTORS and record.owner is not None:
        _constructor(found, holder, here)
    return found


def _operands(node: cst.CSTNode) -> tuple[cst.BaseExpression, ...]:
    """The two operands of a product, as written."""
    match node:
        case cst.BinaryOperation(left=left, right=right):
            return left, right
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="einsum")), args=[_, cst.Arg(value=cst.List() | cst.Tuple() as both)]):
            return tuple(element.value for element in both.elements)
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="einsum")), args=[_, *rest]):
            return tuple(argument.value for argument in rest)
        case cst.Call(args=[cst.Arg(value=left), cst.Arg(value=right), *_]):
            return left, right
        case cst.Call(func=cst.Attribute(value=left), args=[cst.Arg(value=right)]):
            return left, right
    return ()


_CONSTRUCTORS = {"__init__", "setup", "build"}


def _add(found: Place, text: str, value: Value) -> None:
    if isinstance(value, Tensor):
        found.tensors[text] = value
        return
    held = monomial_of(value)
    if held is not None:
        found.numbers[text] = held


def _bindings(function: cst.CSTNode) -> dict[str, list[cst.CSTNode]]:
    """Every place in a function that binds a name or an attribute of the object, by its text."""
    finder = _Finder()
    function.visit(finder)
    return finder.found


class _Finder(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: dict[str, list[cst.CSTNode]] = {}

    def _note(self, target: cst.CSTNode) -> None:
        match target:
            case cst.Name(value=name):
                self.found.setdefault(name, []).append(target)
            case cst.Attribute(value=cst.Name(value=owner), attr=cst.Name(value=name)):
                self.found.setdefault(f"{owner}.{name}", []).append(target)
            case cst.Tuple() | cst.List():
                for element in target.elements:
                    self._note(element.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._note(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._note(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._note(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._note(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._note(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._note(node.name)

    def visit_Param(self, node: cst.Param) -> None:
        self.found.setdefault(node.name.value, []).append(node)


def _reaches(origin: Origin, bound: dict[str, list[cst.CSTNode]], text: str, here: Position) -> bool:
    """Whether a name holds at a place what it holds at the end of its function: every binding stands before, one of them on every way."""
    if "." in text:
        return text not in bound
    places = bound.get(text)
    if not places:
        return False
    if not all(isinstance(node, cst.Param) or origin.unit.span(node).end.row < here.row for node in places):
        return False
    around = set(map(id, ancestors(origin)))
    return any(isinstance(node, cst.Param) or id(_block(Origin(origin.unit, node))) in around for node in places)


def _block(origin: Origin) -> cst.CSTNode | None:
    """The block of statements that holds a node."""
    return next((node for node in ancestors(origin) if isinstance(node, (cst.IndentedBlock, cst.Module))), None)


def _constructor(found: Place, holder: cst.FunctionDef, here: Position) -> None:
    """In a constructor: its parameters, the attributes set so far, and locals made of them."""
    site, origin = found.site, found.origin
    unit = origin.unit
    bound = _bindings(holder)
    parameters = [
        parameter.name.value for parameter in (*holder.params.posonly_params, *holder.params.params, *holder.params.kwonly_params)
    ]
    symbols = _symbols(site)
    for name in parameters[1:]:
        if len(bound.get(name, ())) == 1 and (symbol := symbols.get(name)) is not None:
            found.numbers[name] = Monomial.of(symbol)
    receiver = parameters[0] if parameters else "self"
    for text, value in site.record.names_in_scope.items():
        owner, _, name = text.rpartition(".")
        own = f"{receiver}.{name}"
        places = bound.get(own, ())
        if owner and len(places) == 1 and unit.span(places[0]).end.row < here.row and _unconditional(holder, places[0]):
            held = monomial_of(value)
            if held is not None:
                found.numbers[own] = held
    for statement in _plain_assignments(holder):
        target, value_node = statement
        if len(bound.get(target, ())) == 1 and "." not in target and unit.span(value_node).end.row < here.row:
            held = found.evaluate(value_node)
            if held is not None:
                found.numbers.setdefault(target, held)


def _symbols(site: AttentionSite) -> dict[str, Symbol]:
    """The parameters of the constructor that monomials of the site speak of, by name; none that two symbols share."""
    found: dict[str, set[Symbol]] = {}
    owner = site.record.owner
    values = [
        site.contraction,
        site.scale,
        site.expected,
        site.ratio,
        *(monomial_of(value) for value in site.record.names_in_scope.values()),
    ]
    for value in values:
        for one in (value, site.facts.normalise(value)) if value is not None else ():
            for symbol in one.symbols:
                if symbol.kind != AXIS and symbol.key.rpartition(".")[2] == symbol.name and f"{owner.qualname}." in symbol.key:
                    found.setdefault(symbol.name, set()).add(symbol)
    return {name: next(iter(symbols)) for name, symbols in found.items() if len(symbols) == 1}


def _unconditional(holder: cst.FunctionDef, node: cst.CSTNode) -> bool:
    """Whether a target is assigned by a statement of the function's own body."""
    return any(isinstance(line, cst.SimpleStatementLine) and _holds(line, node) for line in holder.body.body)


def _holds(outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    return outer is inner or any(_holds(child, inner) for child in outer.children)


def _plain_assignments(holder: cst.FunctionDef) -> Iterator[tuple[str, cst.BaseExpression]]:
    """`name = value` statements of the function's own body."""
    for line in holder.body.body:
        if isinstance(line, cst.SimpleStatementLine):
            for small in line.body:
                match small:
                    case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                        yield name, value
                    case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() as left)], value=cst.Tuple() as right) if len(
                        left.elements
                    ) == len(right.elements):
                        for target, made in zip(left.elements, right.elements, strict=True):
                            if isinstance(target.value, cst.Name):
                                yield target.value.value, made.value
