"""What a function's text says of its parameters: ranks, sizes of axes, masks, flags. Layers are asked at run time for their widths."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 4
_ARRAY_METHODS = frozenset(
    [
        *("view", "reshape", "transpose", "permute", "unsqueeze", "squeeze", "flatten", "unflatten", "swapaxes", "expand", "contiguous"),
        *("chunk", "split", "unbind", "repeat", "repeat_interleave", "matmul", "bmm", "dot", "mul", "div", "softmax", "masked_fill"),
        *("masked_fill_", "type_as", "to", "float", "half", "new_zeros", "size", "dim", "mT", "T", "shape", "ndim", "device", "dtype"),
    ]
)
_ARRAY_FUNCTIONS = frozenset(  # of torch, torch.nn.functional and numpy; the first argument is an array
    [
        *("split", "chunk", "cat", "concat", "concatenate", "stack", "roll", "pad", "einsum", "matmul", "bmm", "dot", "linear", "softmax"),
        *("normalize", "layer_norm", "transpose", "reshape", "permute", "swapaxes", "unsqueeze", "flatten", "sum", "mean", "masked_fill"),
    ]
)
_EINOPS = frozenset({"rearrange", "reduce", "repeat"})


@dataclass
class Hint:
    """What is known of one parameter."""

    name: str
    rank: int | None = None
    axes: tuple[str, ...] = ()  # the names that its axes are unpacked to, or the letters of a pattern
    least_rank: int = 0
    last: list[int] = field(default_factory=list)  # possible sizes of the last axis
    channels: int | None = None  # the size of axis 1
    integer: int | None = None  # indices below this number
    array: bool = False
    none_checked: bool = False  # the code asks whether it is None
    truth: bool = False  # used as a condition
    called: bool = False
    items: int | None = None  # unpacked into so many
    attributes: set[str] = field(default_factory=set)  # read as those of an object
    masked: bool = False  # used as the condition of a masked_fill or where
    added: bool = False
    number: bool = False  # a number in arithmetic with numbers, or an argument of view
    second: bool = False  # the right operand of a product
    layer_class: str = ""
    divides: bool = False  # another number is divided by it

    @property
    def is_object(self) -> bool:
        return bool(self.attributes) and not self.array and self.rank is None


Layers = Callable[[str], Any]


def gather(function: ast.FunctionDef | ast.Lambda, owner: Any, scope: Any, depth: int = 0) -> dict[str, Hint]:
    """Hints on the parameters of a function. `owner` is the built object of a method (None otherwise), `scope` the module's names."""
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    reader = _Reader({name: Hint(name) for name in names}, owner, scope, depth, names[0] if owner is not None and names else "")
    body = function.body if isinstance(function.body, list) else [function.body]
    for statement in body:
        reader.visit(statement)
    return reader.hints


def transposes_whole(function: ast.AST) -> bool:
    """Whether a function transposes with `.T` or `.t()`, which matrices are given to."""
    return any(
        isinstance(node, ast.Attribute) and (node.attr == "T" or (node.attr == "t" and isinstance(node.ctx, ast.Load)))
        for node in ast.walk(function)
    )


class _Reader(ast.NodeVisitor):
    def __init__(self, hints: dict[str, Hint], owner: Any, scope: Any, depth: int, self_name: str) -> None:
        self.hints = hints
        self.owner = owner
        self.scope = scope
        self.depth = depth
        self.self_name = self_name
        self.alias: dict[str, str] = {}  # names that hold a parameter, or what an elementwise layer made of it
        self.dead: set[str] = set()

    def of(self, node: ast.AST) -> Hint | None:
        if not isinstance(node, ast.Name) or node.id in self.dead:
            return None
        return self.hints.get(self.alias.get(node.id, node.id))

    # --- assignments

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._assign(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self._assign(node.target, node.value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            shaped = self._shape_of(value)
            names = [t.id if isinstance(t, ast.Name) else "_" for t in target.elts]
            starred = any(isinstance(t, ast.Starred) for t in target.elts)
            if shaped is not None:
                shaped.array = True
                if starred:
                    shaped.least_rank = max(shaped.least_rank, len(names) - 1)
                elif shaped.rank is None:
                    shaped.rank, shaped.axes = len(names), tuple(names)
                return
            hint = self.of(value)
            if hint is not None and not starred:
                hint.items = len(names)
            if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                for t, v in zip(target.elts, value.elts, strict=True):
                    self._assign(t, v)
                return
            for name in names:
                self.dead.add(name)
            return
        if not isinstance(target, ast.Name):
            return
        kept = self._keeps(value)
        if kept is not None:
            self.alias[target.id] = kept.name
            self.dead.discard(target.id)
        elif target.id in self.hints or target.id in self.alias:
            self.dead.add(target.id)

    def _keeps(self, value: ast.expr) -> Hint | None:
        """The parameter that an expression still is, in rank and sizes: itself, normalised, scaled or cast."""
        if isinstance(value, ast.Name):
            return self.of(value)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr in ("contiguous", "float", "to", "clone", "detach", "type_as", "half", "double", "cuda"):
                return self._keeps(value.func.value)
            layer = self._layer(value.func)
            if layer is not None and value.args and type(layer).__name__ in _SAME:
                return self._keeps(value.args[0])
        if isinstance(value, ast.BinOp):
            if isinstance(value.op, (ast.Mult, ast.Div)) and self.of(value.left) is not None and not isinstance(value.right, ast.Name):
                return self._keeps(value.left)
            if isinstance(value.op, ast.Add):
                return self._keeps(value.left)
        if isinstance(value, ast.IfExp):
            return self._keeps(value.body) or self._keeps(value.orelse)
        return None

    def _shape_of(self, node: ast.expr) -> Hint | None:
        """The parameter whose whole shape an expression is."""
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return self._keeps(node.value)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("size", "get_shape")
            and not node.args
        ):
            return self._keeps(node.func.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("list", "tuple") and node.args:
            return self._shape_of(node.args[0])
        return None

    # --- uses

    def visit_Attribute(self, node: ast.Attribute) -> None:
        hint = self.of(node.value)
        if hint is not None:
            if node.attr in _ARRAY_METHODS:
                hint.array = True
            else:
                hint.attributes.add(node.attr)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        base = node.value
        shaped = self._shape_of(base)
        index = _constant(node.slice)
        if shaped is not None:
            shaped.array = True
            if isinstance(index, int):
                shaped.least_rank = max(shaped.least_rank, index + 1 if index >= 0 else -index)
        hint = self.of(base)
        if hint is not None:
            if isinstance(index, str):
                hint.attributes.add(index)
            elif isinstance(node.slice, ast.Tuple):
                hint.array = True
                count = sum(not (isinstance(e, ast.Constant) and e.value in (None, ...)) for e in node.slice.elts)
                hint.least_rank = max(hint.least_rank, count)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        hint = self.of(node.left)
        if hint is not None:
            other = node.comparators[0]
            if isinstance(other, ast.Constant) and other.value is None:
                hint.none_checked = True
            elif isinstance(other, ast.Constant) and other.value == 0:
                hint.masked = True
        self.generic_visit(node)

    def _condition(self, test: ast.expr) -> None:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._condition(test.operand)
        elif isinstance(test, ast.BoolOp):
            for value in test.values:
                self._condition(value)
        else:
            hint = self.of(test)
            if hint is not None:
                hint.truth = True

    def visit_If(self, node: ast.If) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Invert):
            hint = self.of(node.operand)
            if hint is not None:
                hint.masked = True
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.MatMult):
            self._product(node.left, node.right)
        elif isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            for hint in (left, right):
                if hint is not None:
                    hint.number = True
            if right is not None:
                right.divides = True
        elif isinstance(node.op, ast.Add) and right is not None:
            right.added = True
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        hint = self.of(node.value)
        if hint is not None and isinstance(node.op, ast.Add):
            hint.added = True
        self.generic_visit(node)

    def _product(self, left: ast.expr, right: ast.expr) -> None:
        first, second = self._keeps(left), self.of(right)
        if first is not None:
            first.array = True
            width = self._attribute_shape(right)
            if width is not None:
                first.last.append(width[0] if len(width) > 1 else width[-1])
        if second is not None:
            second.array = second.second = True

    def _attribute_shape(self, node: ast.expr) -> tuple[int, ...] | None:
        value = self._value(node)
        shape = getattr(value, "shape", None)
        return tuple(shape) if shape is not None and len(shape) >= 1 else None

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute):
            self._method(node, function)
        elif isinstance(function, ast.Name):
            hint = self.of(function)
            if hint is not None:
                hint.called = True
            self._named(node, function.id)
        self.generic_visit(node)

    def _method(self, node: ast.Call, function: ast.Attribute) -> None:
        name = function.attr
        receiver = self._keeps(function.value)
        numbers = [value for argument in node.args if isinstance(value := _constant(argument), int)]
        if receiver is not None and name in _ARRAY_METHODS:
            receiver.array = True
            if name in ("transpose", "swapaxes", "size") and numbers:
                receiver.least_rank = max([receiver.least_rank, *(n + 1 if n >= 0 else -n for n in numbers)])
            if name == "permute" or (name == "transpose" and len(node.args) > 2):
                count = len(node.args[0].elts) if node.args and isinstance(node.args[0], ast.Tuple) else len(node.args)
                receiver.rank = receiver.rank or (count if count > 1 else None)
        if name in ("masked_fill", "masked_fill_") and node.args:
            hint = self.of(node.args[0])
            if hint is not None:
                hint.masked = True
        if name == "where" and node.args and (hint := self.of(node.args[0])) is not None:
            hint.masked = True
        if name in ("view", "reshape", "unflatten"):
            for argument in node.args:
                for piece in [argument, *(argument.elts if isinstance(argument, (ast.Tuple, ast.List)) else [])]:
                    if (hint := self.of(piece)) is not None:
                        hint.number = True
        if name in ("matmul", "bmm", "dot") and len(node.args) >= 2:
            self._product(node.args[0], node.args[1])
            if name == "bmm":
                for argument in node.args[:2]:
                    if (hint := self._keeps(argument)) is not None:
                        hint.rank = hint.rank or 3
        elif name in ("matmul", "bmm", "dot") and node.args:
            self._product(function.value, node.args[0])
        if name == "einsum":
            self._einsum(node)
        if name in ("linear",) and len(node.args) >= 2:
            shape = self._attribute_shape(node.args[1])
            if shape and (hint := self._keeps(node.args[0])) is not None:
                hint.array = True
                hint.last.append(shape[-1])
        if name in _ARRAY_FUNCTIONS and isinstance(function.value, ast.Name) and function.value.id not in self.hints and node.args:
            first = node.args[0]
            for one in first.elts if isinstance(first, (ast.List, ast.Tuple)) else [first]:
                if (hint := self._keeps(one)) is not None:
                    hint.array = True
        self._keyword_masks(node)
        target = self._layer(function)
        if target is not None:
            self._into(target, node, f"self.{name}")
        elif isinstance(function.value, ast.Name) and function.value.id == self.self_name:
            self._into_method(node, name)

    def _keyword_masks(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            if keyword.arg in ("attn_mask", "mask", "attention_mask", "key_padding_mask") and (hint := self.of(keyword.value)) is not None:
                hint.masked = True

    def _named(self, node: ast.Call, name: str) -> None:
        if name in _EINOPS and len(node.args) >= 2:
            pattern = _constant(node.args[1])
            hint = self._keeps(node.args[0])
            if hint is not None and isinstance(pattern, str):
                letters = pattern.split("->")[0].strip()
                pieces = re.findall(r"\([^)]*\)|\S+", letters)
                hint.array = True
                if "..." not in pieces:
                    hint.rank, hint.axes = hint.rank or len(pieces), hint.axes or tuple(pieces)
                else:
                    hint.least_rank = max(hint.least_rank, len(pieces) - 1)
        if name == "einsum":
            self._einsum(node)
        if name in ("isinstance", "len", "range", "min", "max"):
            return
        function = self._function(name)
        if function is not None:
            self._pass_on(node, function, None, None)

    def _einsum(self, node: ast.Call) -> None:
        pattern = _constant(node.args[0]) if node.args else None
        if not isinstance(pattern, str):
            return
        operands = node.args[1:]
        if len(operands) == 1 and isinstance(operands[0], (ast.List, ast.Tuple)):
            operands = list(operands[0].elts)
        parts = pattern.split("->")[0].split(",")
        for text, operand in zip(parts, operands, strict=False):
            letters = text.split() if " " in text.strip() else list(text.strip())
            hint = self._keeps(operand)
            if hint is not None:
                hint.array = True
                if "..." in text:
                    hint.least_rank = max(hint.least_rank, len(letters) - 3 if "." in letters else len(letters) - 1)
                elif hint.rank is None:
                    hint.rank, hint.axes = len(letters), hint.axes or tuple(letters)

    # --- what it is handed to

    def _value(self, node: ast.expr) -> Any:
        if self.owner is None:
            return None
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == self.self_name:
                return _attribute(self.owner, node.attr)
            return _attribute(self._value(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            container = self._value(node.value)
            index = _constant(node.slice)
            try:
                return container[index if index is not None else 0]
            except Exception:
                return None
        return None

    def _layer(self, function: ast.expr) -> Any:
        value = self._value(function)
        return value if value is not None and not inspect.ismethod(value) and callable(value) else None

    def _into(self, layer: Any, node: ast.Call, text: str) -> None:
        """Arguments that go into a built layer: its widths are theirs."""
        layer = _first_of(layer)
        name = type(layer).__name__
        for position, argument in enumerate(node.args):
            hint = self._keeps(argument)
            if hint is None:
                continue
            hint.array = True
            hint.layer_class = hint.layer_class or name
            if hasattr(layer, "in_features") and isinstance(layer.in_features, int):
                hint.last.append(layer.in_features)
            elif name.startswith(("Conv", "BatchNorm", "GroupNorm", "InstanceNorm")):
                hint.channels = hint.channels or next(
                    (int(v) for a in ("in_channels", "num_channels", "num_features") if (v := getattr(layer, a, None))), None
                )
                for dims in (1, 2, 3):
                    if name.endswith(f"{dims}d") and name.startswith(("Conv", "BatchNorm", "Instance")):
                        hint.rank = hint.rank or dims + 2
            elif name in ("LayerNorm", "RMSNorm") and getattr(layer, "normalized_shape", None):
                hint.last.append(int(layer.normalized_shape[-1]))
            elif name == "Embedding":
                hint.integer = layer.num_embeddings
            elif name in ("LSTM", "GRU", "RNN"):
                hint.last.append(layer.input_size)
                hint.rank = hint.rank or 3
            elif name in ("MultiheadAttention",):
                hint.last.append(layer.embed_dim)
                hint.rank = hint.rank or 3
            elif self.depth < MAX_DEPTH:
                inner = _forward_of(layer)
                if inner is not None:
                    self._take(hint, gather(inner, layer, self.scope, self.depth + 1), _parameter(inner, position + 1))

    def _into_method(self, node: ast.Call, name: str) -> None:
        method = getattr(type(self.owner), name, None) if self.owner is not None else None
        tree = _tree_of(method)
        if tree is not None:
            bound = not isinstance(inspect.getattr_static(type(self.owner), name, None), staticmethod)
            self._pass_on(node, tree, self.owner, 1 if bound else 0)

    def _pass_on(self, node: ast.Call, function: ast.FunctionDef | ast.Lambda, owner: Any, shift: int | None) -> None:
        if self.depth >= MAX_DEPTH:
            return
        passed = [(position, self._keeps(argument)) for position, argument in enumerate(node.args)]
        named = [(keyword.arg, self._keeps(keyword.value)) for keyword in node.keywords if keyword.arg]
        if not any(hint for _, hint in (*passed, *named)):
            return
        inner = gather(function, owner, self.scope, self.depth + 1)
        for position, hint in passed:
            if hint is not None:
                self._take(hint, inner, _parameter(function, position + (shift or 0)))
        for name, hint in named:
            if hint is not None:
                self._take(hint, inner, name)

    def _take(self, hint: Hint, inner: dict[str, Hint], name: str | None) -> None:
        other = inner.get(name or "")
        if other is None:
            return
        hint.rank = hint.rank or other.rank
        hint.axes = hint.axes or other.axes
        hint.least_rank = max(hint.least_rank, other.least_rank)
        hint.last += other.last
        hint.channels = hint.channels or other.channels
        hint.integer = hint.integer or other.integer
        for flag in ("array", "masked", "added", "called", "number", "none_checked"):
            setattr(hint, flag, getattr(hint, flag) or getattr(other, flag))
        hint.items = hint.items or other.items

    def _function(self, name: str) -> ast.FunctionDef | ast.Lambda | None:
        try:
            return _tree_of(self.scope[name])
        except Exception:
            return None


_SAME = frozenset({"LayerNorm", "RMSNorm", "Dropout", "Identity", "GroupNorm", "BatchNorm2d", "BatchNorm1d", "GELU", "ReLU"})


def _first_of(layer: Any) -> Any:
    for _ in range(4):
        if type(layer).__name__ in ("Sequential", "ModuleList") and len(layer):
            layer = next((one for one in layer if type(one).__name__ not in ("Dropout", "ReLU", "GELU", "SiLU", "Identity")), layer[0])
        else:
            break
    return layer


def _forward_of(layer: Any) -> ast.FunctionDef | ast.Lambda | None:
    for name in ("forward", "__call__"):
        method = getattr(type(layer), name, None)
        module = getattr(method, "__module__", "") or ""
        if method is not None and not module.startswith("torch"):
            return _tree_of(method)
    return None


def _tree_of(function: Any) -> ast.FunctionDef | ast.Lambda | None:
    """The tree of a function of the tree; None for one of an installed package."""
    function = inspect.unwrap(function) if callable(function) else None
    code = getattr(function, "__code__", None)
    if code is None or "site-packages" in code.co_filename:
        return None
    return parse_function(code.co_filename, code.co_firstlineno, code.co_name)


_parsed: dict[str, dict[tuple[int, str], ast.FunctionDef]] = {}


def parse_function(path: str, row: int, name: str) -> ast.FunctionDef | None:
    """The definition that starts at a row of a file, whose text is the one that was executed."""
    import linecache

    entry = linecache.cache.get(path)
    text = "".join(entry[2]) if entry is not None and len(entry) == 4 else ""
    key = f"{path}:{hash(text)}"
    if key not in _parsed:
        table: dict[tuple[int, str], ast.FunctionDef] = {}
        try:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef):
                    for first in {node.lineno, min([node.lineno, *(d.lineno for d in node.decorator_list)])}:
                        table[first, node.name] = node
        except SyntaxError:
            pass
        _parsed[key] = table
    return _parsed[key].get((row, name))


def _parameter(function: ast.FunctionDef | ast.Lambda, position: int) -> str | None:
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    return names[position] if position < len(names) else None


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def _constant(node: ast.AST) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int) else None
    return None
