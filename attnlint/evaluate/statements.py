"""Statements: evaluated in order, and what they bind."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from attnlint.domain.algebra import AXIS, Monomial, Symbol
from attnlint.domain.journal import Places
from attnlint.domain.shapes import Shape, with_rank
from attnlint.domain.values import (
    FILLED,
    NONE,
    Argument,
    Choice,
    Condition,
    Instance,
    Items,
    Layer,
    Leaf,
    Mapping,
    Mask,
    Output,
    Rest,
    Scalar,
    ShapeOf,
    Tensor,
    Unknown,
    Value,
    options_of,
    scale_of,
)
from attnlint.domain.values import (
    Sequence as SequenceValue,
)
from attnlint.evaluate import arithmetic, flow, sharing, tensors
from attnlint.evaluate.calls import Calls
from attnlint.evaluate.expressions import key_text, named
from attnlint.evaluate.state import same, scale_key
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


WRITTEN_IN_PART = "a part of it is written in place"


def _filled(holder: Value, value: Value) -> Value:
    """A buffer after an assignment to a part of it: what is read from it is what was written."""
    if not isinstance(holder, Tensor) or not isinstance(value, Tensor):
        return holder
    if FILLED in holder.notes and not is_fixed(value) and not scale_of(holder.factors).equals(scale_of(value.factors)):
        return holder.but(uncertain="parts with different scales are written side by side")
    if not isinstance(holder.content, Leaf) or holder.content.kind not in ("constant", "buffer", "array", "opaque"):
        if scale_key(holder) != scale_key(value) and not is_fixed(value):
            return holder.but(uncertain=holder.uncertain or WRITTEN_IN_PART)
        return holder
    shape = holder.shape if holder.shape.axes else value.shape
    return value.but(shape=shape, name=holder.name, notes=value.notes | {FILLED})


def _copied(holder: Tensor, value: Tensor) -> Tensor:
    """A tensor that is overwritten with another one."""
    shape = holder.shape if holder.shape.axes else value.shape
    return value.but(shape=shape, name=holder.name, notes=value.notes | {FILLED} if isinstance(holder.content, Leaf) else value.notes)


def _is_all(part: cst.CSTNode) -> bool:
    """`:` and `...`"""
    if isinstance(part, cst.Slice):
        return part.lower is None and part.upper is None and part.step is None
    return isinstance(part, cst.Index) and isinstance(part.value, cst.Ellipsis)


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
            flow.branch(self, node)
        elif isinstance(node, (cst.For, cst.While)):
            flow.repeat(self, node)
        elif isinstance(node, cst.With):
            flow.manage(self, node)
        elif isinstance(node, (cst.Try, cst.TryStar)):
            flow.attempt(self, node)
        elif isinstance(node, cst.FunctionDef):
            self._define_function(node)
        elif isinstance(node, cst.ClassDef):
            frame = self.frame
            assert frame.unit is not None
            qualname = f"{frame.qualname}.{node.name.value}" if frame.qualname else node.name.value
            frame.locals[node.name.value] = self.make_class(node, frame.scope, frame.unit, self.closure_of(frame), qualname)
        elif isinstance(node, cst.Match):
            flow.match(self, node)
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
            value = sharing.held(value)
            for target in node.targets:
                self.assign_target(target.target, value, node.value)
        elif isinstance(node, cst.AnnAssign):
            if node.value is not None:
                self.assign_target(node.target, self.evaluate(node.value), node.value)
        elif isinstance(node, cst.AugAssign):
            self._augmented(node)
        elif isinstance(node, cst.Expr):
            if isinstance(node.value, cst.Call) and isinstance(node.value.func, cst.Attribute) and node.value.func.attr.value == "copy_":
                self._copy_into(node.value.func.value, node.value)
            else:
                self.evaluate(node.value)
        elif isinstance(node, cst.Return):
            value = self.evaluate(node.value) if node.value is not None else NONE
            if not self.frame.dead:
                flow.leave(self, sharing.held(value))
        elif isinstance(node, (cst.Break, cst.Continue)):
            flow.jump(self, isinstance(node, cst.Break))
        elif isinstance(node, cst.Raise):
            raised = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
            flow.throw(self, self.printed(raised).rpartition(".")[2] if isinstance(raised, (cst.Name, cst.Attribute)) else None)
        elif isinstance(node, cst.Assert):
            self._assert(node)
        elif isinstance(node, cst.Global):
            self.frame.globals.update(name.name.value for name in node.names)
        elif isinstance(node, cst.Nonlocal):
            self._declare_nonlocal([name.name.value for name in node.names])
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

    def raises(self, name: str) -> None:
        if self.attempts:
            flow.throw(self, name)

    def _import(self, node: cst.Import | cst.ImportFrom) -> None:
        from attnlint.syntax.scope import Import

        frame = self.frame
        self.risks += 1
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
            self.bind(target.value, value)
        elif isinstance(target, (cst.Tuple, cst.List)):
            self._unpack(target, value)
        elif isinstance(target, cst.Attribute):
            holder, name = self.evaluate(target.value), target.attr.value
            value = named(sharing.held(value), name)
            self.distribute((holder,), lambda one: self.set_attribute(one, name, value))
        elif isinstance(target, cst.Subscript):
            self._assign_item(target, value)
        elif isinstance(target, cst.StarredElement):
            self.assign_target(target.value, value, node)

    def bind(self, name: str, value: Value) -> None:
        """Give a name a value, in the scope that the name belongs to."""
        frame = self.frame
        value = named(sharing.held(value), name)
        if name in frame.globals:
            module = self.module_frame
            if module is not None and module.scope is frame.scope:
                module.locals[name] = value
            else:
                self.written[frame.scope.path, name] = value
        else:
            frame.nonlocals.get(name, frame.locals)[name] = value

    def _declare_nonlocal(self, names: Sequence[str]) -> None:
        frame = self.frame
        maps: list[Any] = frame.closure.maps if isinstance(frame.closure, ChainMap) else []
        for name in names:
            owner = next((places for places in maps if name in places), None)
            if isinstance(owner, Places):
                frame.nonlocals[name] = owner

    def set_attribute(self, holder: Value, name: str, value: Value) -> Value:
        """`holder.name = value` for a holder without choices."""
        if isinstance(holder, Instance):
            holder.attributes[name] = self.stored(value, name)
        elif isinstance(holder, Mapping):  # a namespace
            sharing.store(self, holder, Mapping({**holder.items, name: value}, holder.rest))
        elif isinstance(holder, Tensor):
            if name == "data":
                sharing.changed(self, holder, value if isinstance(value, Tensor) else self.opaque_tensor("what is put into a tensor"))
        elif (key := self.object_key(holder)) is not None:
            self.written[key, name] = value
        return NONE

    def _augmented(self, node: cst.AugAssign) -> None:
        """`x *= c`: in place where x is an array that can be changed, else x gets a new value."""
        target = node.target
        before, right = self.evaluate(target), self.evaluate(node.value)
        operator = _AUGMENTED.get(type(node.operator).__name__, "?")
        in_place = sharing.in_place(self)

        def augmented(old: Value, other: Value) -> Value:
            result = arithmetic.binary(self, operator, old, other, node, target, node.value)
            if isinstance(old, Items) and old.mutable and isinstance(result, (Items, SequenceValue)):
                return sharing.store(self, old, result)
            if isinstance(old, Argument) and isinstance(result, Tensor):
                old = self.as_tensor(old) or old
            if not isinstance(old, Tensor) or in_place is False:
                return sharing.new(result)
            if in_place is None:
                sharing.lose(self, old, "it may be changed in place, under another name")
                return sharing.new(result)
            return sharing.changed(self, old, result)

        result = self.distribute((sharing.current(self, before), right), augmented)
        if isinstance(target, cst.Subscript) and any(
            isinstance(option, Tensor) and option.held is not None for _, option in options_of(result)
        ):
            return  # a view: what it is a view of has learned of it
        self.assign_target(target, result, node)

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
        value = self.forced(value)
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
            return [self.piece_at(value, place) for place in range(count)]
        if isinstance(value, SequenceValue):
            return [self.one_of(value, None) for _ in range(count)]
        if isinstance(value, Layer):
            items = self.layer_items(value) or []
            return [*items[:count], *(Unknown("an item of a layer list") for _ in range(count - len(items)))]
        return [Unknown(value.reason if isinstance(value, Unknown) else "an item of what is unpacked") for _ in range(count)]

    def _filled(self, items: list[Value], count: int) -> list[Value]:
        """`b, n, c, h = *x.shape, heads`: the number of targets says how many axes x has."""
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

    def _learn_rank(self, tensor: Tensor, shape: Shape) -> None:
        """`b, t, c = x.shape` tells the rank of x, wherever it is held, and of all that has the leading axes of x."""
        lead = tensor.shape.lead
        if lead is None or shape.rank is None:
            return
        leading = shape.rank - len(tensor.shape.axes)
        for name, held in self.frame.locals.items():
            known = self.as_tensor(held) if isinstance(held, Argument) and held.key == lead else held
            if isinstance(known, Tensor) and known.shape.lead == lead:
                same_axes = known.shape == tensor.shape
                self.frame.locals[name] = known.but(shape=shape if same_axes else with_rank(known.shape, leading + len(known.shape.axes)))

    def _assign_item(self, target: cst.Subscript, value: Value) -> None:
        holder = self.evaluate(target.value)
        index_node = target.slice[0].slice if len(target.slice) == 1 else None
        index = self.evaluate(index_node.value) if isinstance(index_node, cst.Index) else None
        whole = all(_is_all(element.slice) for element in target.slice)
        value = sharing.held(value)
        index = self._mask_index(target, index) or index or NONE
        self.distribute((holder, value, index), lambda one, given, where: self._put(one, where, whole, given, target))

    def _put(self, holder: Value, index: Value, whole: bool, value: Value, target: cst.Subscript) -> Value:
        """`holder[index] = value`, without choices."""
        if isinstance(holder, Argument) and (whole or isinstance(value, Tensor)) and holder.hint == "tensor":
            holder = self.as_tensor(holder) or holder
        if isinstance(holder, Mapping):
            text = key_text(index)
            after = Mapping({**holder.items, text: value}, holder.rest) if text is not None else Mapping(holder.items, holder.rest or value)
            self._keep(holder, after, target)
        elif isinstance(holder, Tensor):
            self._write(holder, index, whole, value, target)
        elif isinstance(holder, Items):
            text = key_text(index)
            number = int(text) if text is not None and text.lstrip("-").isdigit() else None
            if whole and isinstance(value, Items):
                self._keep(holder, Items(value.items, True), target)
            elif number is not None and -len(holder.items) <= number < len(holder.items):
                items = list(holder.items)
                items[number] = value
                self._keep(holder, Items(tuple(items), True), target)
            elif number is None:
                self._keep(holder, SequenceValue(Unknown("an item of a list that is written to at a place that is not known")), target)
        elif isinstance(holder, SequenceValue) and not same(holder.item, value):
            self._keep(holder, SequenceValue(Unknown("an item of a list that is written to")), target)
        return NONE

    def _keep(self, holder: Items | Mapping | SequenceValue, after: Items | Mapping | SequenceValue, target: cst.Subscript) -> None:
        latest = sharing.store(self, holder, after)
        if holder.cell is None:
            self.rebind(target.value, latest)

    def _write(self, holder: Tensor, index: Value, whole: bool, value: Value, target: cst.Subscript) -> None:
        """Write to a tensor: to all of it, to where a mask is True, or to a part."""
        after: Value
        last = target.slice[-1].slice
        compared = isinstance(index, Condition) and isinstance(last, cst.Index) and isinstance(last.value, cst.Comparison)
        if compared or (isinstance(index, Tensor) and (index.dtype == "bool" or arithmetic.is_mask(index))):
            if isinstance(value, Tensor) and not is_fixed(value) and not scale_of(holder.factors).equals(scale_of(value.factors)):
                after = holder.but(uncertain=holder.uncertain or WRITTEN_IN_PART)
            else:
                if len(target.slice) > 1 and isinstance(index, Tensor) and holder.shape.axes:  # it lies along the last axis
                    index = index.but(shape=Shape(holder.shape.axes[-1:]))
                after = tensors.masked(self, holder, Mask("fill", value, self.origin(target), index), None)
        elif whole:
            after = _copied(holder, value) if isinstance(value, Tensor) else holder
            if not isinstance(value, Tensor) and scale_of(holder.factors).powers:
                after = self.opaque_tensor("a tensor that is filled with a number", holder.name)
        else:
            after = _filled(holder, value)
        if after is holder:
            return
        after = sharing.changed(self, holder, after)
        if holder.held is None:
            self.rebind(target.value, after)

    def _mask_index(self, target: cst.Subscript, index: Value | None) -> Value | None:
        """What `logits[mask] = value`, `logits[logits == 0] = value` and `weights[..., mask] = value` are masked with."""
        last = target.slice[-1].slice
        if not isinstance(last, cst.Index):
            return None
        if len(target.slice) > 1:
            if not all(isinstance(one.slice, cst.Index) and isinstance(one.slice.value, cst.Ellipsis) for one in target.slice[:-1]):
                return None
            index = self.evaluate(last.value)
        if index is None or isinstance(last.value, cst.Comparison):
            return index
        found = [self.as_tensor(one) if isinstance(one, Argument) else one for _, one in options_of(index)]
        masks = [isinstance(one, Tensor) and (one.dtype == "bool" or arithmetic.is_mask(one)) for one in found]
        return (found[0] if len(found) == 1 else index) if all(masks) else None

    def _copy_into(self, target: cst.BaseExpression, call: cst.Call) -> None:
        """`buffer[..., :n].copy_(x)` writes what `buffer[..., :n] = x` does."""
        arguments, keywords = self.evaluate_arguments(call)
        value = arguments[0] if arguments else keywords.get("src", NONE)
        if isinstance(target, cst.Subscript):
            self._assign_item(target, value)
            return

        def copied(holder: Value, given: Value) -> Value:
            if isinstance(holder, Argument):
                holder = self.as_tensor(holder) or holder
            if not isinstance(holder, Tensor) or not isinstance(given, Tensor):
                return holder
            after = sharing.changed(self, holder, _copied(holder, given))
            if holder.held is None:
                self.rebind(target, after)
            return after

        self.distribute((self.evaluate(target), value), copied)
