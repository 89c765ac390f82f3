"""Statements: evaluated in order; both arms of an `if` are followed and joined, loops run once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from attnlint.domain.algebra import AXIS, Monomial, Symbol
from attnlint.domain.values import (
    EMPTY_PATH,
    FILLED,
    NONE,
    Argument,
    Choice,
    Instance,
    Items,
    Layer,
    Leaf,
    Mapping,
    Mask,
    Output,
    Path,
    Rest,
    Scalar,
    ShapeOf,
    Tensor,
    Unknown,
    Value,
    scale_of,
)
from attnlint.domain.values import (
    Sequence as SequenceValue,
)
from attnlint.evaluate import arithmetic
from attnlint.evaluate.calls import Calls
from attnlint.evaluate.expressions import MAX_UNROLLED, key_text, named
from attnlint.evaluate.tensors import is_fixed
from attnlint.syntax import nodes as cst

_ITEM = cst.Name(cst.NOWHERE, "x")  # stands for an item in a target, which has no place of its own
_ROOT_IN_WORDS = re.compile(r"sqrt\(|\*\*\s*\(?-?\s*(0?\.5|1\s*/\s*2)")
_AUGMENTED = {
    "AddAssign": "+",
    "SubtractAssign": "-",
    "MultiplyAssign": "*",
    "DivideAssign": "/",
    "FloorDivideAssign": "//",
    "PowerAssign": "**",
    "MatrixMultiplyAssign": "@",
    "ModuloAssign": "%",
    "BitAndAssign": "&",
    "BitOrAssign": "|",
}


def _filled(holder: Value, value: Value) -> Value:
    """A buffer after an assignment to a part of it: what is read from it is what was written."""
    if not isinstance(holder, Tensor) or not isinstance(value, Tensor):
        return holder
    if FILLED in holder.notes and not is_fixed(value) and not scale_of(holder.factors).equals(scale_of(value.factors)):
        return holder.but(uncertain="parts with different scales are written side by side")
    if not isinstance(holder.content, Leaf) or holder.content.kind not in ("constant", "buffer", "array", "opaque"):
        return holder
    shape = holder.shape if holder.shape.axes else value.shape
    return value.but(shape=shape, name=holder.name, notes=value.notes | {FILLED})


class Statements(Calls):
    """Execution of statements in the current frame."""

    def execute_block(self, body: Sequence[cst.CSTNode]) -> None:
        frame = self.frame
        for statement in body:
            if frame.dead:
                return
            self.execute(statement)

    def execute(self, node: cst.CSTNode) -> None:
        self.step()
        if isinstance(node, cst.SimpleStatementLine):
            for small in node.body:
                if self.frame.dead:
                    return
                self._small(small)
        elif isinstance(node, cst.If):
            self._if(node)
        elif isinstance(node, (cst.For, cst.While)):
            self._loop(node)
        elif isinstance(node, cst.With):
            self._with(node)
        elif isinstance(node, (cst.Try, cst.TryStar)):
            self._try(node)
        elif isinstance(node, cst.FunctionDef):
            self._define_function(node)
        elif isinstance(node, cst.ClassDef):
            frame = self.frame
            assert frame.unit is not None
            qualname = f"{frame.qualname}.{node.name.value}" if frame.qualname else node.name.value
            frame.locals[node.name.value] = self.make_class(node, frame.scope, frame.unit, self.closure_of(frame), qualname)
        elif isinstance(node, cst.Match):
            self._match(node)
        elif isinstance(node, cst.IndentedBlock):
            self.execute_block(node.body)
        elif isinstance(node, cst.BaseSmallStatement):  # of a body on the row of its condition: `if mask is None: return x`
            self._small(node)

    def _define_function(self, node: cst.FunctionDef) -> None:
        frame = self.frame
        assert frame.unit is not None
        qualname = f"{frame.qualname}.<locals>.{node.name.value}" if frame.qualname else node.name.value
        function = self.make_function(node, frame.scope, frame.unit, self.closure_of(frame), qualname, frame.owner)
        frame.locals[node.name.value] = function
        if frame.scope is self.scope and frame.body is not None:
            self.nested.setdefault(id(node), (function, frame))

    # --- simple statements

    def _is_explained(self, node: cst.CSTNode) -> bool:
        """Whether a comment beside or above says why; a root in it is the scale that is missing, no reason why there is none."""
        unit = self.frame.unit
        return unit is not None and any(_ROOT_IN_WORDS.search(comment) is None for comment in unit.comments(node))

    def _small(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.Assign):
            value = self.evaluate(node.value)
            literal = isinstance(node.value, (cst.Integer, cst.Float)) and self.frame.function is not None
            if literal and isinstance(value, Scalar) and value.written_one and not self._is_explained(node):
                # a 1 that is computed with says that it is meant as a constant, a default, an argument, or with a comment that says why
                value = replace(value, written_one=False)
            for target in node.targets:
                self.assign_target(target.target, value, node.value)
        elif isinstance(node, cst.AnnAssign):
            if node.value is not None:
                self.assign_target(node.target, self.evaluate(node.value), node.value)
        elif isinstance(node, cst.AugAssign):
            current = self.evaluate(node.target)
            right = self.evaluate(node.value)
            operator = _AUGMENTED.get(type(node.operator).__name__, "?")
            self.assign_target(node.target, self.binary(operator, current, right, node, node.target, node.value), node)
        elif isinstance(node, cst.Expr):
            if isinstance(node.value, cst.Call) and isinstance(node.value.func, cst.Attribute) and node.value.func.attr.value == "copy_":
                self._copy_into(node.value.func.value, node.value)
            else:
                self.evaluate(node.value)
        elif isinstance(node, cst.Return):
            value = self.evaluate(node.value) if node.value is not None else Unknown("nothing")
            self.frame.returns.append((self.frame.path, value))
            self.frame.dead = True
        elif isinstance(node, cst.Raise):
            self.frame.dead = True
        elif isinstance(node, cst.Assert):
            self._assert(node)
        elif isinstance(node, cst.Global):
            self.frame.globals.update(name.name.value for name in node.names)
        elif isinstance(node, (cst.Import, cst.ImportFrom)):
            self._import(node)
        elif isinstance(node, cst.Del):
            pass

    def _assert(self, node: cst.Assert) -> None:
        """`assert head_dim * heads == d_model` is a fact; any other assertion is a condition that holds from here on."""
        test = node.test
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1 and isinstance(test.comparisons[0].operator, cst.Equal):
            left, right = self.evaluate(test.left), self.evaluate(test.comparisons[0].comparator)
            pairs = [(left, right)]
            if isinstance(left, Items) and isinstance(right, Items) and len(left.items) == len(right.items):
                pairs = list(zip(left.items, right.items, strict=True))
            for a, b in pairs:
                if isinstance(a, (Scalar, Argument)) and isinstance(b, (Scalar, Argument)):
                    x, y = self.as_scalar(a), self.as_scalar(b)
                    if x is not None and y is not None and (x.value.symbols or y.value.symbols) and not y.value.equals(Monomial.number(0)):
                        self.facts.learn(x.value, y.value)
            return
        if self.truth(self.evaluate(test)) is None:
            self.frame.path = self.frame.path | self.conditions(test)[0]

    def _import(self, node: cst.Import | cst.ImportFrom) -> None:
        from attnlint.syntax.scope import Import

        frame = self.frame
        if isinstance(node, cst.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                module = alias.name if alias.asname is not None else top
                frame.locals[alias.asname or top] = self.imported(frame.scope, Import(module, None))
            return
        for alias in node.names:
            if alias.name != "*":
                frame.locals[alias.asname or alias.name] = self.imported(frame.scope, Import(node.module, alias.name, node.level))

    # --- assignment

    def assign_target(self, target: cst.BaseExpression, value: Value, node: cst.CSTNode | None) -> None:
        if isinstance(target, cst.Name):
            self.frame.locals[target.value] = named(value, target.value)
        elif isinstance(target, (cst.Tuple, cst.List)):
            self._unpack(target, value)
        elif isinstance(target, cst.Attribute):
            holder = self.evaluate(target.value)
            if isinstance(holder, Instance):
                value = named(value, target.attr.value)
                holder.attributes[target.attr.value] = self.stored(value, target.attr.value)
        elif isinstance(target, cst.Subscript):
            self._assign_item(target, value)
        elif isinstance(target, cst.StarredElement):
            self.assign_target(target.value, value, node)

    def stored(self, value: Value, name: str) -> Value:
        """A value kept on an object: an array that is made there is a weight."""
        if isinstance(value, Tensor) and isinstance(value.content, Leaf) and value.content.kind == "array":
            return value.but(notes=value.notes | {"weight"})
        return value

    def _unpack(self, target: cst.Tuple | cst.List, value: Value) -> None:
        elements = target.elements
        count = len(elements)
        star = next((i for i, element in enumerate(elements) if isinstance(element, cst.StarredElement)), None)
        if isinstance(value, Choice):
            unpacked = [(path, self.unpacked(option, count, star)) for path, option in value.options if self.consistent(path)]
            for i, element in enumerate(elements):
                self.assign_target(element.value, self.choose([(path, items[i]) for path, items in unpacked]), None)
            return
        for element, item in zip(elements, self.unpacked(value, count, star), strict=True):
            self.assign_target(element.value, item, None)

    def unpacked(self, value: Value, count: int, star: int | None = None) -> list[Value]:
        """`count` values from one."""
        if isinstance(value, Items):
            items = list(value.items)
            if star is None and len(items) - 1 <= count and sum(1 for item in items if isinstance(item, Rest)) == 1:
                items = self._filled(items, count)
            if star is not None and len(items) >= count - 1:
                behind = count - star - 1
                middle = Items(tuple(items[star : len(items) - behind]), True)
                return [*items[:star], middle, *items[len(items) - behind :]]
            if len(items) == count:
                return items
            return [*items[:count], *(Unknown("an item of a shorter sequence") for _ in range(count - len(items)))]
        if isinstance(value, ShapeOf):
            return self._unpack_shape(value, count, star)
        if isinstance(value, Argument) and star is None:
            return [self.item(value, Scalar(Monomial.number(i)), _ITEM) for i in range(count)]
        if isinstance(value, Tensor) and isinstance(value.content, Output) and value.content.site.kernel is not None:
            return [value, *(Unknown("what a kernel returns beside its output") for _ in range(count - 1))]
        if isinstance(value, Tensor):
            found = self.item_of(value)
            return [self.one_apart(found, place) for place in range(count)]
        if isinstance(value, SequenceValue):
            return [self.one_of(value, None) for _ in range(count)]
        if isinstance(value, Layer):
            items = self.layer_items(value) or []
            return [*items[:count], *(Unknown("an item of a layer list") for _ in range(count - len(items)))]
        return [Unknown(value.reason if isinstance(value, Unknown) else "an item of what is unpacked") for _ in range(count)]

    def _filled(self, items: list[Value], count: int) -> list[Value]:
        """`b, n, c, h = *x.shape, heads`: the number of targets says how many axes x has."""
        from attnlint.domain.shapes import Shape
        from attnlint.evaluate.operations import ranked

        place = next(i for i, item in enumerate(items) if isinstance(item, Rest))
        rest = items[place]
        assert isinstance(rest, Rest)
        missing = count - (len(items) - 1)
        if rest.drop or not rest.key or missing == 0:
            sizes: list[Value] = [Scalar(self.opaque_symbol(None, f"a size of {rest.key}")) for _ in range(missing)]
            return [*items[:place], *sizes, *items[place + 1 :]]
        for name, held in list(self.frame.locals.items()):
            known = self.as_tensor(held) if isinstance(held, (Tensor, Argument)) else None
            if known is not None and known.shape.lead == rest.key:
                self.frame.locals[name] = known.but(shape=ranked(self, known.shape, missing + len(known.shape.axes)))
        shape = ranked(self, Shape((), rest.key), missing)
        return [*items[:place], *(Scalar(axis.size) for axis in shape.axes), *items[place + 1 :]]

    def _unpack_shape(self, value: ShapeOf, count: int, star: int | None) -> list[Value]:
        tensor = value.tensor
        if star is not None:
            before = [self.item(value, Scalar(Monomial.number(i)), _ITEM) for i in range(star)]
            behind = [self.item(value, Scalar(Monomial.number(i - (count - star - 1))), _ITEM) for i in range(count - star - 1)]
            return [*before, SequenceValue(Scalar(Monomial.of(Symbol(self.fresh("size"), "size", AXIS)))), *behind]
        from attnlint.evaluate.operations import ranked

        shape = ranked(self, tensor.shape, count)
        if shape.rank is None:  # fewer sizes than axes are known: not the shape that was thought
            return [Scalar(self.opaque_symbol(None, f"{tensor.name}.shape[{i}]")) for i in range(count)]
        self._learn_rank(tensor, shape)
        return [Scalar(axis.size) for axis in shape.axes]

    def _learn_rank(self, tensor: Tensor, shape: object) -> None:
        """`b, t, c = x.shape` tells the rank of x, wherever it is held."""
        for name, held in self.frame.locals.items():
            if isinstance(held, Tensor) and held.shape == tensor.shape:
                self.frame.locals[name] = held.but(shape=shape)
            elif isinstance(held, Argument) and held.key == tensor.shape.lead:
                known = self.as_tensor(held)
                if known is not None:
                    self.frame.locals[name] = known.but(shape=shape)

    def _assign_item(self, target: cst.Subscript, value: Value) -> None:
        holder = self.evaluate(target.value)
        index_node = target.slice[0].slice if len(target.slice) == 1 else None
        index = self.evaluate(index_node.value) if isinstance(index_node, cst.Index) else None
        if isinstance(holder, Mapping):
            text = key_text(index) if index is not None else None
            self.rebind(
                target.value,
                Mapping({**holder.items, text: value}, holder.rest) if text is not None else Mapping(holder.items, holder.rest or value),
            )
        elif isinstance(holder, Tensor):
            if isinstance(index, Tensor) and (index.dtype == "bool" or arithmetic.is_mask(index)):
                mask = Mask("fill", value, self.origin(target), index)
                self.rebind(target.value, holder.but(masks=(*holder.masks, mask)))
            else:
                self.rebind(target.value, self.distribute((holder, value), _filled))
        elif isinstance(holder, Choice):
            self.rebind(target.value, self.distribute((holder, value), _filled))
        elif isinstance(holder, Items):
            text = key_text(index) if index is not None else None
            number = int(text) if text is not None and text.lstrip("-").isdigit() else None
            if number is not None and -len(holder.items) <= number < len(holder.items):
                items = list(holder.items)
                items[number] = value
                self.rebind(target.value, Items(tuple(items), True))

    def _copy_into(self, target: cst.BaseExpression, call: cst.Call) -> None:
        """`buffer[..., :n].copy_(x)` writes what `buffer[..., :n] = x` does."""
        arguments, keywords = self.evaluate_arguments(call)
        value = arguments[0] if arguments else keywords.get("src", NONE)
        if isinstance(target, cst.Subscript):
            self._assign_item(target, value)
        else:
            self.rebind(target, self.distribute((self.evaluate(target), value), _filled))

    # --- branches

    def _snapshot(self) -> tuple[dict[str, Value], dict[str, Value] | None]:
        frame = self.frame
        receiver = frame.receiver
        return dict(frame.locals), dict(receiver.attributes) if isinstance(receiver, Instance) else None

    def _restore(self, state: tuple[dict[str, Value], dict[str, Value] | None]) -> None:
        frame = self.frame
        frame.locals.clear()
        frame.locals.update(state[0])
        if state[1] is not None and isinstance(frame.receiver, Instance):
            frame.receiver.attributes.clear()
            frame.receiver.attributes.update(state[1])

    def _if(self, node: cst.If) -> None:
        truth = self.truth(self.evaluate(node.test))
        when_true, when_false = self.conditions(node.test)
        if truth is None:
            truth = self.decided(when_true, when_false)
        if truth is True:
            self.execute_block(node.body.body)
            return
        if truth is False:
            self._else(node)
            return
        frame = self.frame
        path = frame.path
        before = self._snapshot()
        frame.path = path | when_true
        with self.given(node.test, True):
            self.execute_block(node.body.body)
        then_state, then_dead, then_path = self._snapshot(), frame.dead, frame.path
        self._restore(before)
        frame.dead, frame.path = False, path | when_false
        with self.given(node.test, False):
            self._else(node)
        else_dead, else_path = frame.dead, frame.path
        if then_dead and else_dead:
            return
        if then_dead:
            return  # what follows runs on the other path alone, which the frame's path now says
        if else_dead:
            self._restore(then_state)
            frame.dead, frame.path = False, then_path
            return
        frame.path = path
        self._join(then_state, self._snapshot(), then_path - path, else_path - path)

    def _else(self, node: cst.If) -> None:
        if isinstance(node.orelse, cst.If):
            self._if(node.orelse)
        elif isinstance(node.orelse, cst.Else):
            self.execute_block(node.orelse.body.body)

    def _join(
        self,
        a: tuple[dict[str, Value], dict[str, Value] | None],
        b: tuple[dict[str, Value], dict[str, Value] | None],
        path_a: Path,
        path_b: Path,
    ) -> None:
        merged = self._join_names(a[0], b[0], path_a, path_b)
        attributes = self._join_names(a[1], b[1], path_a, path_b) if a[1] is not None and b[1] is not None else None
        self._restore((merged, attributes))

    def _join_names(self, a: dict[str, Value], b: dict[str, Value], path_a: Path, path_b: Path) -> dict[str, Value]:
        result = dict(b)
        for name, value in a.items():
            other = b.get(name)
            if other is value:
                continue
            result[name] = value if other is None else self.choose([(path_a, value), (path_b, other)])
        return result

    # --- loops and the rest

    def _loop(self, node: cst.For | cst.While) -> None:
        frame = self.frame
        outer = self.in_loop
        if isinstance(node, cst.For):
            iterable = self.evaluate(node.iter)
            items = self.items_of(iterable)
            if items is not None and len(items) <= MAX_UNROLLED // 2 and items:
                for item in items:
                    self.assign_target(node.target, item, None)
                    self.execute_block(node.body.body)
                    if frame.dead:
                        return
                return
            self.in_loop = True
            self.assign_target(node.target, self.item_of(iterable), None)
        else:
            self.evaluate(node.test)
            self.in_loop = True
        returns = len(frame.returns)
        self.execute_block(node.body.body)
        self.in_loop = outer
        if frame.dead and len(frame.returns) > returns:
            frame.dead = False  # the loop may end without the return
        frame.dead = False
        if node.orelse is not None:
            self.execute_block(node.orelse.body.body)

    def _with(self, node: cst.With) -> None:
        for item in node.items:
            value = self.evaluate(item.item)
            if item.asname is not None and isinstance(item.asname.name, cst.BaseExpression):
                self.assign_target(item.asname.name, value, None)
        self.execute_block(node.body.body)

    def _try(self, node: cst.Try | cst.TryStar) -> None:
        frame = self.frame
        self.execute_block(node.body.body)
        if frame.dead:
            # the handlers may be what goes on
            returned = bool(frame.returns)
            if not returned:
                frame.dead = False
                for handler in node.handlers:
                    self.execute_block(handler.body.body)
                    break
        elif node.orelse is not None:
            self.execute_block(node.orelse.body.body)
        if node.finalbody is not None and not frame.dead:
            self.execute_block(node.finalbody.body.body)

    def _match(self, node: cst.Match) -> None:
        self.evaluate(node.subject)
        frame = self.frame
        before, path = self._snapshot(), frame.path
        states = []
        subject = self._text(node.subject)
        for i, case in enumerate(node.cases):
            self._restore(before)
            arm: Path = frozenset({(f"{subject} is {self._text(case.pattern)}", True)}) if i else EMPTY_PATH
            frame.path, frame.dead = path | arm, False
            self.execute_block(case.body.body)
            if not frame.dead:
                states.append((self._snapshot(), arm))
        frame.path = path
        frame.dead = not states
        if states:
            self._restore(states[0][0])
            for state, arm in states[1:]:
                self._join(state, self._snapshot(), arm, EMPTY_PATH)
