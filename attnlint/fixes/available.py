"""What a fix may write at a place: names that are bound there for certain, and the numbers that they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import libcst as cst

from attnlint.domain.algebra import CONFIG, PARAMETER, Monomial, Symbol
from attnlint.domain.ancestry import ancestors, function_of
from attnlint.domain.shapes import Axis
from attnlint.domain.values import Argument, Leaf, Origin, Tensor, Value
from attnlint.evaluate.powers import SCALE_ARGUMENTS, called, number_of, split
from attnlint.fixes.printer import quotient
from attnlint.model import Position
from attnlint.sites.naming import monomial_of, rank, size_like
from attnlint.sites.operands import operand_of
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes
from attnlint.syntax.scope import Unit


@dataclass(frozen=True, eq=False)
class Place:
    """A place in a function, with the names that are bound there and what they hold."""

    site: AttentionSite
    origin: Origin
    numbers: dict[str, Monomial] = field(default_factory=dict)  # source text -> value
    tensors: dict[str, Tensor] = field(default_factory=dict)
    settings: dict[str, Monomial] = field(default_factory=dict)  # of a configuration, where a fix may not write them

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
        """`q.shape[-1]` of an operand that stands in the product under its name, else the width of the layer that made one."""
        product = self.site.product
        if product is None or product.origin is None or not self.site.facts.equal(product.size, wanted):
            return None
        made_here = self.origin.unit is product.origin.unit and function_of(self.origin) is function_of(product.origin)
        sides = ((product.left, product.left_axes), (product.right, product.right_axes))
        for node, (tensor, axes) in zip(operands(product.origin.node), sides, strict=False):
            index, name = _place_of(tensor, axes), self._name_of(node, tensor)
            if made_here and index is not None and name is not None and self._holds_still(name, product.origin):
                return cst.parse_expression(f"{name}.shape[{index}]")
        return self._layer_width(wanted)

    def _name_of(self, node: nodes.BaseExpression, tensor: Tensor) -> str | None:
        """The name of an operand of the product, also beside a factor, which leaves the shape as it is."""
        match node:
            case nodes.Name(value=name):
                return name
            case nodes.BinaryOperation(left=nodes.Name(value=name), operator=nodes.Multiply() | nodes.Divide()):
                held = self.site.record.names_in_scope.get(name)
                made = held.content if isinstance(held, Tensor) else held
                same = isinstance(tensor.content, Leaf) and isinstance(made, (Leaf, Argument)) and made.key == tensor.content.key
                return name if same else None
        return None

    def _holds_still(self, name: str, product: Origin) -> bool:
        """Whether a name is bound at this place and holds there what it holds beside the product."""
        if not isinstance(self.site.record.names_in_scope.get(name), (Tensor, Argument)):
            return False
        unit = self.origin.unit
        spans = sorted((unit.span(self.origin.node), unit.span(product.node)), key=lambda span: span.start)
        first, last = spans[0].start, max(span.end for span in spans)
        holder = function_of(self.origin)
        if holder is None:
            return False
        if isinstance(holder, nodes.Module):
            scope = unit.scope
            statements = [scope.statements[index] for index in scope.bound.get(name, ())]
            return bool(statements) and all(one.last < first.row or one.first > last.row for one in statements)
        places = _bindings(holder).get(name, [])
        before = [one for one in places if one.is_done(unit, first)]
        after = [one for one in places if not one.is_done(unit, first) and unit.span(one.node).start >= last]
        return bool(before) and len(before) + len(after) == len(places) and _certain(self.origin, before)

    def _layer_width(self, wanted: Monomial) -> cst.BaseExpression | None:
        """`self.to_q.out_features`, in a method of the object that holds the layer."""
        product, record = self.site.product, self.site.record
        if product is None or record.function is None or function_of(self.origin) is not record.function.node:
            return None
        for tensor in (product.left, product.right):
            main = operand_of(tensor).main
            layer = main.content.layer if isinstance(main.content, Leaf) else None
            width = monomial_of(layer.settings["out_features"]) if layer is not None and "out_features" in layer.settings else None
            if layer is None or layer.class_name != "Linear" or width is None or not self.site.facts.equal(width, wanted):
                continue
            for origin in main.history:
                match origin.node:
                    case nodes.Call(func=nodes.Attribute(value=nodes.Name(value="self")) as holder) if origin.unit is self.origin.unit:
                        return cst.parse_expression(f"{origin.unit.code(holder)}.out_features")
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

    def evaluate(self, node: nodes.BaseExpression) -> Monomial | None:
        """The number that an expression of sizes holds."""
        literal = number_of(node)
        if literal is not None:
            return Monomial.number(float(literal))
        base, power = split(node)
        if base is not node:
            inner = self.evaluate(base)
            return inner.power(power) if inner is not None else None
        match node:
            case nodes.Name() | nodes.Attribute():
                return self.numbers.get(nodes.dotted(node))
            case nodes.BinaryOperation(operator=nodes.Multiply() | nodes.Divide() | nodes.FloorDivide()):
                left, right = self.evaluate(node.left), self.evaluate(node.right)
                if left is None or right is None:
                    return None
                return left * right if isinstance(node.operator, nodes.Multiply) else left / right
            case nodes.Call(
                func=nodes.Name(value="getattr"), args=[nodes.Arg(value=owner), nodes.Arg(value=nodes.SimpleString() as name), *_]
            ):
                return self.settings.get(f"{nodes.dotted(owner)}.{name.raw_value}") or self._either(*node.args[2:])
            case nodes.Call(func=nodes.Name(value="int"), args=[nodes.Arg(value=only)]):
                return self.evaluate(only)
            case nodes.IfExp():
                return self._either(node.body, node.orelse)
            case nodes.BooleanOperation(operator=nodes.Or()):
                return self._either(node.left, node.right)
            case nodes.Subscript() | nodes.Call():
                return self._axis_size(node)
        return None

    def _either(self, *choices: nodes.BaseExpression | nodes.Arg) -> Monomial | None:
        """What one of some expressions holds where the site sums over just that: it was judged where that one was taken."""
        wanted = self.site.contraction
        for node in choices:
            held = self.evaluate(node.value if isinstance(node, nodes.Arg) else node)
            if held is not None and wanted is not None and self.site.facts.equal(held, wanted):
                return held
        return None

    def _axis_size(self, node: nodes.Subscript | nodes.Call) -> Monomial | None:
        """`q.shape[-1]` and `q.size(-1)`."""
        match node:
            case nodes.Subscript(
                value=nodes.Attribute(value=nodes.Name(value=name), attr=nodes.Name(value="shape")),
                slice=[nodes.SubscriptElement(slice=nodes.Index(value=index))],
            ):
                pass
            case nodes.Call(
                func=nodes.Attribute(value=nodes.Name(value=name), attr=nodes.Name(value="size")), args=[nodes.Arg(value=index)]
            ):
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
        _attributes(found, holder, bound)
    elif function is None and isinstance(holder, nodes.Module) and origin.unit.scope is record.scope:
        scope = record.scope
        for text, value in record.names_in_scope.items():
            indices = scope.bound.get(text, [])
            if len(indices) == 1 and scope.statements[indices[0]].last < here.row and scope.statements[indices[0]].kind == "assign":
                _add(found, text, value)
    elif isinstance(holder, nodes.FunctionDef) and holder.name.value in _CONSTRUCTORS:
        _constructor(found, holder, here)
    return found


_PRODUCTS = {"matmul", "bmm", "mm", "dot", "mul", "multiply", "inner", "einsum", "batch_dot", "tensordot", "matvec", "mv"}


def operands(node: nodes.CSTNode) -> tuple[nodes.BaseExpression, ...]:
    """The two operands of a product, as written."""
    match node:
        case nodes.BinaryOperation(left=left, right=right):
            return left, right
        case nodes.Call(func=nodes.Attribute(value=inner, attr=nodes.Name(value="sum"))) if isinstance(inner, nodes.BinaryOperation):
            return operands(inner)
        case nodes.Call() if called(node) not in _PRODUCTS | set(SCALE_ARGUMENTS):
            return ()
        case nodes.Call(args=[*arguments]) if called(node) == "einsum":
            plain = [one.value for one in arguments if one.keyword is None and not isinstance(one.value, nodes.SimpleString)]
            if len(plain) == 1 and isinstance(plain[0], (nodes.List, nodes.Tuple)):
                return tuple(element.value for element in plain[0].elements)
            return tuple(plain)
        case nodes.Call(args=[nodes.Arg(value=left), nodes.Arg(value=right), *_]):
            return left, right
        case nodes.Call(func=nodes.Attribute(value=left), args=[nodes.Arg(value=right)]):
            return left, right
    return ()


def _place_of(tensor: Tensor, axes: tuple[Axis, ...]) -> int | None:
    """Which axis of a tensor is contracted, counted from the end."""
    if len(axes) != 1:
        return None
    known = tensor.shape.axes
    found = next((i - len(known) for i, axis in enumerate(known) if axis.key == axes[0].key), None)
    if found is None and isinstance(tensor.content, Leaf) and axes[0].key == f"{tensor.content.key}[-1]":
        return -1  # of an argument no more is known than that this axis is its last
    return found


_CONSTRUCTORS = {"__init__", "setup", "build"}


def _add(found: Place, text: str, value: Value) -> None:
    if isinstance(value, Tensor):
        found.tensors[text] = value
        return
    held = monomial_of(value)
    if held is not None:
        found.numbers[text] = held


@dataclass(frozen=True, eq=False)
class _Binding:
    """Where a name is bound: the target, and the assignment or import around it; a parameter and the target of a block have none."""

    node: nodes.CSTNode
    statement: nodes.BaseSmallStatement | None

    def is_done(self, unit: Unit, here: Position) -> bool:
        """Whether it has happened when a place is reached: what is assigned is made before the name is bound."""
        if self.statement is not None:
            return unit.span(self.statement).end <= here
        return isinstance(self.node, nodes.Param) or unit.span(self.node).end.row < here.row


def _bindings(function: nodes.CSTNode) -> dict[str, list[_Binding]]:
    """Every place in a function that binds a name or an attribute of the object, by its text."""
    found: dict[str, list[_Binding]] = {}
    pending: list[tuple[nodes.CSTNode, nodes.BaseSmallStatement | None]] = [(function, None)]
    while pending:
        node, statement = pending.pop()
        if isinstance(node, nodes.BaseSmallStatement):
            statement = node
        for name, at in _bound_by(node):
            found.setdefault(name, []).append(_Binding(at, statement))
        pending += [(child, statement) for child in node.children]
    return found


def _bound_by(node: nodes.CSTNode) -> Iterator[tuple[str, nodes.CSTNode]]:
    """The names that a node itself binds, and where."""
    match node:
        case nodes.AssignTarget() | nodes.AnnAssign() | nodes.AugAssign() | nodes.NamedExpr() | nodes.For():
            yield from _targets(node.target)
        case nodes.AsName():
            yield from _targets(node.name)
        case nodes.Param():
            yield node.name.value, node
        case nodes.ImportAlias():
            yield node.asname or node.name.partition(".")[0], node


def _targets(target: nodes.CSTNode) -> Iterator[tuple[str, nodes.CSTNode]]:
    match target:
        case nodes.Name(value=name):
            yield name, target
        case nodes.Attribute(value=nodes.Name(value=owner), attr=nodes.Name(value=name)):
            yield f"{owner}.{name}", target
        case nodes.Tuple() | nodes.List():
            for element in target.elements:
                yield from _targets(element.value)


def _reaches(origin: Origin, bound: dict[str, list[_Binding]], text: str, here: Position) -> bool:
    """Whether a name holds at a place what it holds at the end of its function: every binding stands before, one of them on every way."""
    if "." in text:
        return text not in bound
    places = bound.get(text)
    if not places:
        return False
    if not all(one.is_done(origin.unit, here) for one in places):
        return False
    return _certain(origin, places)


def _certain(origin: Origin, places: list[_Binding]) -> bool:
    """Whether one of some bindings lies on every way to a place."""
    around = set(map(id, ancestors(origin)))
    return any(isinstance(one.node, nodes.Param) or id(_block(Origin(origin.unit, one.node))) in around for one in places)


def _block(origin: Origin) -> nodes.CSTNode | None:
    """The block of statements that holds a node."""
    return next((node for node in ancestors(origin) if isinstance(node, (nodes.IndentedBlock, nodes.Module))), None)


def _constructor(found: Place, holder: nodes.FunctionDef, here: Position) -> None:
    """In a constructor: its parameters, settings of a configuration that it reads, attributes set so far, and locals."""
    site, origin = found.site, found.origin
    unit = origin.unit
    owner = next((node for node in ancestors(origin) if isinstance(node, nodes.ClassDef)), None)
    if owner is None:
        return
    bound = _bindings(holder)
    given = holder.params
    parameters = [parameter.name.value for parameter in (*given.posonly_params, *given.params, *given.kwonly_params)]
    body = unit.code(holder)
    for name, symbol in _symbols(site, owner.name.value).items():
        top, dot, _ = name.partition(".")
        if top not in parameters[1:] or len(bound.get(top, ())) != 1:
            continue
        found.settings[name] = Monomial.of(symbol)
        if not dot or re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", body):  # `getattr` with a default says that it may be missing
            found.numbers[name] = Monomial.of(symbol)
    receiver = parameters[0] if parameters else "self"
    mine = site.record.owner is not None and site.record.owner.node is owner
    for target, value_node in _plain_assignments(holder):
        if len(bound.get(target, ())) != 1 or unit.span(value_node).end > here:
            continue
        held = found.evaluate(value_node)
        prefix, _, name = target.rpartition(".")
        if held is None and mine and prefix == receiver:
            known = site.record.names_in_scope.get(f"self.{name}")
            held = monomial_of(known) if known is not None else None
        if held is not None:
            found.numbers.setdefault(target, held)


def _attributes(found: Place, method: nodes.CSTNode, bound: dict[str, list[_Binding]]) -> None:
    """In a method: attributes that the constructor of the class sets, and nobody else, which hold one of several sizes."""
    owner = found.site.record.owner
    if owner is None or not isinstance(method, nodes.FunctionDef) or not method.params.params:
        return
    own = [node for node in owner.node.body.body if isinstance(node, nodes.FunctionDef) and node.name.value == "__init__"]
    if len(own) != 1:
        return
    made = Place(found.site, Origin(owner.unit, own[0]))
    _constructor(made, own[0], owner.unit.span(own[0]).end)
    receiver = method.params.params[0].name.value
    everywhere = _bindings(owner.node)
    for text, held in made.numbers.items():
        apart = text.startswith(f"{receiver}.") and text not in bound and len(everywhere.get(text, ())) == 1
        if apart and text not in found.site.record.names_in_scope:
            found.numbers[text] = held


def _symbols(site: AttentionSite, owner: str) -> dict[str, Symbol]:
    """The parameters of a constructor, and settings, that monomials of the site speak of, by name; none that two symbols share."""
    found: dict[str, set[Symbol]] = {}
    held = [monomial_of(value) for value in site.record.names_in_scope.values()]
    for value in (site.contraction, site.scale, site.expected, site.ratio, *held):
        for one in (value, site.facts.normalise(value)) if value is not None else ():
            for symbol in one.symbols:
                own = symbol.kind == PARAMETER and symbol.key.rpartition(".")[2] == symbol.name and f"{owner}." in symbol.key
                if own or (symbol.kind == CONFIG and "." in symbol.name):
                    found.setdefault(symbol.name, set()).add(symbol)
    return {name: next(iter(symbols)) for name, symbols in found.items() if len(symbols) == 1}


def _plain_assignments(holder: nodes.FunctionDef) -> Iterator[tuple[str, nodes.BaseExpression]]:
    """`name = value` and `self.name = value` statements of the function's own body, tuples taken apart."""
    for line in holder.body.body:
        for small in line.body if isinstance(line, nodes.SimpleStatementLine) else ():
            if not isinstance(small, nodes.Assign):
                continue
            for target in small.targets:
                left, right = target.target, small.value
                if isinstance(left, nodes.Tuple) and isinstance(right, nodes.Tuple) and len(left.elements) == len(right.elements):
                    pairs = [(one.value, made.value) for one, made in zip(left.elements, right.elements, strict=True)]
                else:
                    pairs = [(left, right)]
                for name, made in pairs:
                    match name:
                        case nodes.Name(value=text):
                            yield text, made
                        case nodes.Attribute(value=nodes.Name(value=owner), attr=nodes.Name(value=text)):
                            yield f"{owner}.{text}", made
