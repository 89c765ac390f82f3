"""Calls: functions, methods, classes and objects of the linted tree, evaluated with their arguments bound."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from attnlint.domain.algebra import OPAQUE, PARAMETER, Monomial
from attnlint.domain.journal import MISSING, Places
from attnlint.domain.values import (
    HANDED_ON,
    NONE,
    Argument,
    Bool,
    Bound,
    BoundMethod,
    Choice,
    ClassValue,
    External,
    Factor,
    Flag,
    Function,
    Generator,
    Instance,
    Items,
    Layer,
    Leaf,
    Mapping,
    Native,
    Partial,
    Scalar,
    Sum,
    Super,
    Tensor,
    Text,
    Unknown,
    Value,
)
from attnlint.domain.values import (
    Sequence as SequenceValue,
)
from attnlint.evaluate import sharing
from attnlint.evaluate.expressions import Expressions, key_text, named
from attnlint.evaluate.state import (
    MAX_DEPTH,
    MAX_FOREIGN_LINES,
    MAX_FOREIGN_TABLE,
    MAX_STEPS_ASIDE,
    MAX_STEPS_OF_CALL,
    CallTooLong,
    Exit,
    Frame,
)
from attnlint.evidence import signs
from attnlint.syntax import nodes as cst
from attnlint.syntax.scope import Import, ModuleScope, Statement, Unit
from attnlint.syntax.words import applies, holds

# decorators that leave a function as it is, or that are known by what they make of it
_TRANSPARENT = frozenset(
    {
        *("property", "cached_property", "staticmethod", "classmethod", "setter", "getter", "deleter", "abstractmethod", "override"),
        *("no_grad", "inference_mode", "enable_grad", "compile", "jit", "script", "wraps", "lru_cache", "cache", "njit", "checked"),
    }
)
_YIELD = re.compile(r"(?<![\w.])yield\b")


def _is_generator(text: str) -> bool:
    return _YIELD.search(text) is not None


FORWARD_METHODS = ("forward", "call", "__call__", "construct")
OF_CALLER = "**kwargs of an unknown caller"
BASE_LAYER = "<base layer>"  # the attribute that holds what a derived layer inherits
_TENSOR_ANNOTATION = re.compile(r"Tensor|ndarray|Array\b|Float\[|Num\[|Variable")
_SCALAR_ANNOTATION = re.compile(r"\b(int|float|bool|str)\b")


class ModuleValue(Value):
    """A module of the linted tree."""

    def __init__(self, scope: ModuleScope) -> None:
        self.scope = scope


def made_for_call(extra: Value | None) -> bool:
    """Whether what is handed on as `**mapping` was made for the call, and holds what it wants; an open `**kwargs` may be empty."""
    return extra is not None and not (isinstance(extra, Unknown) and extra.reason == OF_CALLER)


def _applied_in(factor: Factor, method: Function) -> bool:
    """Whether a factor is applied by the code of a method."""
    origin = factor.application
    if origin is None or origin.unit is not method.unit:
        return False
    inner, outer = origin.unit.span(origin.node), method.unit.span(method.node)
    return outer.start <= inner.start and inner.end <= outer.end


class Calls(Expressions):
    """Names of modules, functions, classes and objects, and what calling them gives."""

    # --- globals

    def global_value(self, scope: ModuleScope, name: str) -> Value | None:
        """The value of a module's global, evaluated on demand; None where the module binds no such name."""
        key = (scope.path, name)
        known = self.written.get(key) or self.globals.get(key)
        if known is not None:
            return sharing.current(self, known)
        if key in self.resolving:
            return None
        self.resolving.add(key)
        try:
            value = self._global(scope, name)
        finally:
            self.resolving.discard(key)
        if value is not None:
            value = self.globals[key] = sharing.held(value)
        return value

    def _global(self, scope: ModuleScope, name: str) -> Value | None:
        indices = scope.bound.get(name)
        if indices:
            for index in reversed(indices):
                statement = scope.statements[index]
                if scope is not self.scope and not self.worth_parsing(scope, statement):
                    return External(f"{name}")
                try:
                    unit = scope.unit(statement)
                except RecursionError:
                    self.notes.append(f"{scope.path}:{statement.first}: not parsed")
                    return Unknown("a definition that nests too deeply")
                if statement.kind in ("class", "function"):
                    for node in unit.module.body:
                        if isinstance(node, cst.ClassDef) and node.name.value == name:
                            return self.make_class(node, scope, unit, None, name)
                        if isinstance(node, cst.FunctionDef) and node.name.value == name:
                            return self.make_function(node, scope, unit, None, name, None, (statement.first, statement.last))
                frame = self.activation(scope, unit, "", context=f"{scope.path}:")
                self.frames.append(frame)
                try:
                    self.execute_block(unit.module.body)
                finally:
                    self.frames.pop()
                found = frame.locals.get(name)
                if found is not None:
                    return found
        target = scope.imports.get(name)
        if target is not None:
            return self.imported(scope, target)
        for star in scope.star_imports:
            resolved = self.project.resolve(scope.path, star)
            if resolved is not None and resolved[1] is None and not self.project.may_bind(resolved[0], name):
                self.dependencies.add(resolved[0])
            elif resolved is not None and resolved[1] is None and (module := self.project.module_at(resolved[0])) is not None:
                self.dependencies.add(resolved[0])
                if (value := self.global_value(module, name)) is not None:
                    return value
            elif resolved is None and self.knows_external(dotted := f"{star.module}.{name}"):
                return External(dotted)
        return None

    def knows_external(self, dotted: str) -> bool:
        raise NotImplementedError

    def imported(self, scope: ModuleScope, target: Import) -> Value:
        """What an import statement brings: a value of the tree, or a dotted external name."""
        resolved = self.project.resolve(scope.path, target)
        if resolved is not None:
            path, attribute = resolved
            module = self.project.module_at(path)
            if module is not None and path != scope.path:
                self.dependencies.add(path)
                if attribute is None:
                    return ModuleValue(module)
                value = self.global_value(module, attribute)
                if value is not None:
                    return value
                return Argument(
                    attribute, f"{path}:{attribute}", OPAQUE, reason=f"`{attribute}` is not defined in {path.rpartition('/')[2]}"
                )
        dotted = "." * target.level + target.module
        return External(f"{dotted}.{target.attribute}" if target.attribute else dotted)

    def other_attribute(self, value: Value, name: str, node: cst.CSTNode | None) -> Value | None:
        if isinstance(value, ModuleValue):
            found = self.global_value(value.scope, name)
            if found is not None:
                return found
            resolved = self.project.resolve(value.scope.path, Import("", name, 1))
            if resolved is not None and resolved[1] is None and (module := self.project.module_at(resolved[0])) is not None:
                self.dependencies.add(resolved[0])
                return ModuleValue(module)
            return Argument(
                name, f"{value.scope.path}:{name}", OPAQUE, reason=f"`{name}` is not defined in {value.scope.path.rpartition('/')[2]}"
            )
        if isinstance(value, BoundMethod) and name == "__func__":
            return value.function
        if isinstance(value, (Function, BoundMethod, Partial, Native)):
            return Bound(value, name)
        return None

    # --- functions

    def closure_of(self, frame: Frame) -> Any:
        if frame.body is None:  # a module: its names are globals
            return frame.closure
        return ChainMap(frame.locals, *(frame.closure.maps if isinstance(frame.closure, ChainMap) else ()))

    def make_function(
        self,
        node: cst.FunctionDef,
        scope: ModuleScope,
        unit: Unit,
        closure: Any,
        qualname: str,
        owner: ClassValue | None,
        rows: tuple[int, int] | None = None,
    ) -> Function:
        kind = "function"
        wrappers = []
        for decorator in node.decorators:
            text = unit.code(decorator.decorator)
            name = text.split("(")[0].rpartition(".")[2]
            if name not in _TRANSPARENT:
                wrappers.append(decorator.decorator)
            if name in ("property", "cached_property"):
                kind = "property"
            elif name == "staticmethod":
                kind = "static"
            elif name == "classmethod":
                kind = "class"
            elif name == "setter":
                kind = "setter"
        defaults = self.defaults_of(node) if closure is not None and self.frames else None
        return Function(node, scope, unit, qualname, closure, owner, kind, rows=rows, wrappers=tuple(wrappers), defaults=defaults)

    def defaults_of(self, node: cst.FunctionDef | cst.Lambda) -> dict[str, Value]:
        """The defaults of a function that is being defined."""
        parameters = node.params
        given = (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)
        return {one.name.value: sharing.held(self.evaluate(one.default)) for one in given if one.default is not None}

    def parameters_of(self, function: Function) -> list[str]:
        parameters = function.node.params
        return [p.name.value for p in (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)]

    def call_function(
        self,
        function: Function,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        node: cst.CSTNode | None,
        receiver: Value | None = None,
        standalone: bool = False,
    ) -> Value:
        """Evaluate a function with its arguments bound. `standalone` makes symbols of all that is not given."""
        if len(self.frames) >= MAX_DEPTH:
            return self.opaque_result("calls nest too deeply", arguments, node)
        if function.wrappers:
            return self._call_decorated(function, arguments, keywords, node, receiver, standalone)
        if self.frames and function.scope is not self.scope and not self.worth_following(function):
            return self.opaque_result(f"`{function.qualname}` of another file is long and holds no attention", arguments, node)
        if sum(1 for frame in self.frames if frame.function is not None and frame.function.node is function.node) >= 2:
            return self.opaque_result("a recursive call", arguments, node)
        if not standalone and self.frames and self._yields(function):
            self.entered.add(id(function.node))
            return Generator(partial(self.call_body, function, arguments, keywords, node, receiver))
        return self.call_body(function, arguments, keywords, node, receiver, standalone)

    def _yields(self, function: Function) -> bool:
        """Whether a function is a generator."""
        key = (_is_generator, id(function.node))
        known = self.said.get(key)
        if known is None:
            known = self.said[key] = _is_generator(self.function_text(function)) and "contextmanager" not in " ".join(
                function.unit.code(one.decorator) for one in getattr(function.node, "decorators", ())
            )
        return known

    def forced(self, value: Value) -> Value:
        if isinstance(value, Choice) and any(isinstance(option, Generator) for _, option in value.options):
            return self.distribute((value,), self.forced)
        if not isinstance(value, Generator):
            return value
        key = ("generator", str(self.number_of(value)))
        known = self.written.get(key)
        if known is None:
            known = value.run()
            self.written[key] = known
        return sharing.current(self, known)

    def call_body(
        self,
        function: Function,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        node: cst.CSTNode | None,
        receiver: Value | None = None,
        standalone: bool = False,
    ) -> Value:
        """Evaluate the body of a function with its arguments bound."""
        self.entered.add(id(function.node))
        call_site = self.origin(node) if self.frames and node is not None else None
        parent = self.frames[-1].context if self.frames else ""
        context = function.qualname if standalone else f"{parent}>{function.qualname}#{self.number_of(node)}"
        frame = self.activation(
            function.scope,
            function.unit,
            function.qualname,
            closure=function.closure,
            function=function,
            receiver=receiver,
            owner=function.owner,
            call_site=call_site,
            body=function.node,
            standalone=standalone,
            context=context,
        )
        foreign = function.scope is not self.scope
        if foreign and id(function.node) in self.too_long:
            return self.opaque_result("a call that is given up", arguments, node)
        before = (self.call_limit, self.call_records, self.in_loop)
        if foreign:
            depth = sum(1 for other in self.frames if other.function is not None and other.scope is not self.scope)
            aside = depth > 0 and not self.applies(function)  # what another file's code calls for its own ends
            self.call_limit = min(self.call_limit, self.steps + (MAX_STEPS_ASIDE if aside else max(1_000, MAX_STEPS_OF_CALL >> depth)))
            self.call_records = len(self.records)
        # defaults and the body are evaluated in the frame of the definition
        self.frames.append(frame)
        attempts = len(self.attempts)
        frame.mark = self.journal.open()
        frame.locals.reset()  # younger than the mark: nobody takes back what a call binds
        try:
            self._bind(function, frame, arguments, keywords, receiver, standalone)
            if isinstance(function.node, cst.Lambda):
                return self.evaluate(function.node.body)
            self.execute_block(function.node.body.body)
            self._returned(frame)
        except CallTooLong:
            if not foreign:
                raise
            self.too_long.add(id(function.node))
            self.in_loop = before[2]
            del self.frames[self.frames.index(frame) + 1 :]
            del self.attempts[attempts:]
            self.journal.undo(frame.mark)
            frame.dead = True
            frame.returns = [Exit(frame.path, Unknown("a call that is given up"), {})]
        finally:
            self.journal.close(frame.mark)
            self.frames.pop()
            self.call_limit, self.call_records = before[:2]
        if frame.yields:
            return Items(tuple(frame.yields)) if len(frame.yields) <= 4 else SequenceValue(frame.yields[0])
        if not frame.returns:
            if self.frames:
                self.frame.dead = True  # a function that only raises
            return Unknown("a function that only raises")
        return self.choose([(one.path, one.value) for one in frame.returns])

    def _call_decorated(
        self,
        function: Function,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        node: cst.CSTNode | None,
        receiver: Value | None,
        standalone: bool,
    ) -> Value:
        """Call what the decorators of the tree make of a function; those of installed packages are taken to call it as it is."""
        plain = replace(function, wrappers=())
        callee: Value = plain
        frame = self.activation(function.scope, function.unit, function.qualname, closure=function.closure, context=function.qualname)
        self.frames.append(frame)
        try:
            for decorator in reversed(function.wrappers):
                wrap = self.evaluate(decorator)
                if isinstance(wrap, (Function, BoundMethod, ClassValue, Partial, Instance)):
                    callee = self._call(wrap, [callee], {}, decorator)
        finally:
            self.frames.pop()
        if not isinstance(callee, Function):
            if not isinstance(callee, (BoundMethod, Partial, Instance)):
                return self.call_function(plain, arguments, keywords, node, receiver, standalone)
            return self._call(callee, [*([receiver] if receiver is not None else []), *arguments], keywords, node or plain.node)
        if callee.node is plain.node:
            return self.call_function(plain, arguments, keywords, node, receiver, standalone)
        if standalone:
            given = self._symbols(plain, receiver is not None and function.kind != "static")
            return self.call_function(callee, given, {}, node, receiver)
        return self.call_function(callee, arguments, keywords, node, receiver)

    def _symbols(self, function: Function, bound: bool) -> list[Value]:
        """What an unknown caller hands to the positional parameters of a function."""
        parameters = function.node.params
        positional = [*parameters.posonly_params, *parameters.params][1 if bound else 0 :]
        frame = self.activation(function.scope, function.unit, function.qualname, closure=function.closure, context=function.qualname)
        self.frames.append(frame)
        try:
            return [self._missing(function, one, True, None) for one in positional]
        finally:
            self.frames.pop()

    def _returned(self, frame: Frame) -> None:
        """The end of a call: what was written on the ways out of it holds on their paths."""
        assert frame.mark is not None
        exits = frame.returns
        if not frame.dead:
            exits.append(Exit(frame.path, NONE, self.journal.changes(frame.mark)))
        elif not exits:
            self.journal.undo(frame.mark)
            return
        if any(one.changes for one in exits):
            self.journal.undo(frame.mark)
            self.join([(one.path, one.changes) for one in exits])

    def worth_parsing(self, scope: ModuleScope, statement: Statement) -> bool:
        """A definition of another file: short, or one that may hold a site itself, unlike long tables and whole models."""
        lines = statement.last - statement.first
        if lines <= MAX_FOREIGN_TABLE or (statement.kind in ("class", "function") and lines <= 2 * MAX_FOREIGN_LINES):
            return True
        return statement.kind in ("class", "function") and holds(scope.words(statement.first, statement.last))

    def worth_following(self, function: Function) -> bool:
        """A function of another file: short, or one that may hold a site itself."""
        lines = function.rows[1] - function.rows[0] if function.rows is not None else self.function_text(function).count("\n")
        return lines <= MAX_FOREIGN_LINES // (1 + sum(frame.scope is not self.scope for frame in self.frames)) or self.may_hold(function)

    def applies(self, function: Function) -> bool:
        """Whether the words of a function say that it applies a softmax, or a kernel, to a product or operands."""
        return self._says(applies, function)

    def may_hold(self, function: Function) -> bool:
        """Whether the words of a function leave it open that it holds a site."""
        return self._says(holds, function)

    def _says(self, test: Callable[[str], bool], function: Function) -> bool:
        key = (test, id(function.node))
        known = self.said.get(key)
        if known is None:
            known = self.said[key] = test(self.function_text(function))
        return known

    def _bind(
        self,
        function: Function,
        frame: Frame,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        receiver: Value | None,
        standalone: bool,
    ) -> None:
        parameters = function.node.params
        positional = [*parameters.posonly_params, *parameters.params]
        values = list(arguments)
        if receiver is not None and function.kind != "static":
            values.insert(0, receiver)
        keywords = dict(keywords)
        extra = keywords.pop("**", None)
        for parameter in positional:
            name = parameter.name.value
            if values:
                frame.locals[name] = self._handed(values.pop(0), name)
            elif name in keywords:
                frame.locals[name] = self._handed(keywords.pop(name), name)
            else:
                frame.locals[name] = self._missing(function, parameter, standalone, extra)
        if isinstance(parameters.star_arg, cst.Param):
            frame.locals[parameters.star_arg.name.value] = (
                Items(tuple(map(sharing.held, values))) if not standalone else SequenceValue(Unknown("*args of an unknown caller"))
            )
        for parameter in parameters.kwonly_params:
            name = parameter.name.value
            if name in keywords:
                frame.locals[name] = self._handed(keywords.pop(name), name)
            else:
                frame.locals[name] = self._missing(function, parameter, standalone, extra)
        if parameters.star_kwarg is not None:
            frame.locals[parameters.star_kwarg.name.value] = Mapping(keywords, Unknown(OF_CALLER) if standalone or extra else None)

    def _handed(self, value: Value, name: str) -> Value:
        """An argument as the parameter holds it."""
        return self.narrow(named(sharing.held(value), name))

    def _missing(self, function: Function, parameter: cst.Param, standalone: bool, extra: Value | None) -> Value:
        name = parameter.name.value
        default: Value | None = None
        if parameter.default is not None:
            kept = function.defaults
            default = sharing.current(self, kept[name]) if kept is not None and name in kept else self.evaluate(parameter.default)
            if not standalone and extra is None:
                if isinstance(default, Scalar):
                    return Scalar(default.value, default.origin, default_of=name)
                return default
        annotation = function.unit.code(parameter.annotation.annotation) if parameter.annotation is not None else ""
        hint = self._hint(function, name, annotation)
        owner = function.owner.qualname if function.owner is not None and function.qualname.endswith("__init__") else function.qualname
        key = f"{function.scope.path}:{owner}.{name}"
        if isinstance(default, Bool):
            return Flag(f"the flag `{name}`", f"{name}\x00{key}")
        origin = self.origin(parameter)
        cls = self.annotated_class(function, parameter)
        if cls is not None and standalone:
            return cls
        if made_for_call(extra):
            return Argument(name, key, PARAMETER, hint, default, origin, HANDED_ON)
        return Argument(name, key, PARAMETER, hint, default, origin)

    def annotated_class(self, function: Function, parameter: cst.Param) -> Value | None:
        """An object of the class of settings that a parameter is annotated with: its fields are not known, what it makes of them is."""
        if parameter.annotation is None:
            return None
        match parameter.annotation.annotation:
            case cst.Name() | cst.Attribute() as named_class:
                cls = self.evaluate(named_class)
            case _:
                return None
        if not isinstance(cls, ClassValue) or not cls.fields or self.find_method(cls, "__init__") is not None:
            return None
        if any(isinstance(base, External) for base in self.lineage(cls)):
            return None
        made = self.instantiate(cls, [], {}, None, standalone=True)
        if isinstance(made, Instance):
            for name, value in list(made.attributes.items()):
                if isinstance(value, Argument):
                    made.attributes[name] = replace(value, name=f"{parameter.name.value}.{value.name}")
        return made

    def _hint(self, function: Function, name: str, annotation: str) -> str | None:
        """Whether a parameter is a tensor or a number, by its annotation and its use in the body."""
        if annotation:
            if _TENSOR_ANNOTATION.search(annotation):
                return "tensor"
            if _SCALAR_ANNOTATION.search(annotation):
                return "scalar"
        key = (id(function.node), name)
        known = self.hints.get(key)
        if known is not None:
            return known or None
        text = self.function_text(function)
        hint = ""
        word = rf"(?<![\w.]){re.escape(name)}\b"
        if re.search(rf"^[ \t]*\(?\w+(, *\w+)+\)? = {re.escape(name)}[ \t]*$", text, re.M):  # `x, memory = inputs`: several tensors
            self.hints[key] = ""
            return None
        if re.search(
            rf"{word}\s*\.\s*(shape|size|view|reshape|transpose|permute|dtype|device|T|mT|dim|ndim|chunk|split|unbind|unsqueeze|squeeze|new_\w+|contiguous|masked_fill|float|to|flatten|expand)\b",
            text,
        ):
            hint = "tensor"
        elif re.search(rf"{word}\s*\*\*|sqrt\(\s*{word}|{word}\s*//|//\s*{word}|cast\(\s*{word}|float\(\s*{word}", text):
            hint = "scalar"
        elif re.search(rf"{word}\s*@|@\s*{word}|(matmul|bmm|einsum|dot)\([^()]*{word}|self\.\w+\(\s*{word}\s*[,)]", text):
            hint = "tensor"
        elif function.qualname.rpartition(".")[2] in FORWARD_METHODS:
            hint = "" if signs.SCALAR.search(name) else "tensor"
        self.hints[key] = hint
        return hint or None

    def function_text(self, function: Function) -> str:
        """What the code of a function says, without its documentation where that is known."""
        text = self.texts.get(id(function.node))
        if text is None:
            text = function.scope.words(*function.rows) if function.rows is not None else function.unit.code(function.node)
            self.texts[id(function.node)] = text
        return text

    # --- classes

    def make_class(self, node: cst.ClassDef, scope: ModuleScope, unit: Unit, closure: Any, qualname: str) -> ClassValue:
        cls = ClassValue(node, scope, unit, node.name.value, qualname, closure=closure)
        self._collect(cls, node.body.body, {})
        return cls

    def _collect(self, cls: ClassValue, body: Sequence[cst.CSTNode], met: dict[str, int]) -> None:
        """What a class body binds; `met` counts the definitions of each method so far, which tells their rows."""
        for statement in body:
            if isinstance(statement, cst.FunctionDef):
                qualname = f"{cls.qualname}.{statement.name.value}"
                count = met[qualname] = met.get(qualname, 0) + 1
                rows = cls.scope.functions.get(qualname, ())
                place = rows[count - 1] if count <= len(rows) else None
                function = self.make_function(statement, cls.scope, cls.unit, cls.closure, qualname, cls, place)
                if function.kind != "setter":
                    cls.methods[statement.name.value] = function
            elif isinstance(statement, cst.ClassDef):
                cls.inner[statement.name.value] = statement
            elif isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                        cls.fields.append((small.target.value, small.annotation, small.value))
                        if small.value is not None:
                            cls.assigned[small.target.value] = small.value
                    elif isinstance(small, cst.Assign):
                        for target in small.targets:
                            if isinstance(target.target, cst.Name):
                                cls.assigned[target.target.value] = small.value
                            elif isinstance(target.target, cst.Tuple) and isinstance(small.value, cst.Tuple):
                                for element, value in zip(target.target.elements, small.value.elements, strict=False):
                                    if isinstance(element.value, cst.Name):
                                        cls.assigned[element.value.value] = value.value
            elif isinstance(statement, cst.If) and isinstance(statement.body, cst.IndentedBlock):
                self._collect(cls, statement.body.body, met)

    def lineage(self, cls: ClassValue) -> list[Value]:
        """The class and its bases, nearest first, each once (depth first, the last occurrence kept)."""
        known = self.lineages.get(id(cls))
        if known is not None:
            return known
        self.lineages[id(cls)] = [cls]  # a cyclic base ends here
        order: list[Value] = [cls]
        for argument in cls.node.bases:
            base = self.in_definition(cls, argument.value)
            for ancestor in self.lineage(base) if isinstance(base, ClassValue) else [base]:
                if isinstance(ancestor, ClassValue):
                    if ancestor in order:
                        order.remove(ancestor)
                    order.append(ancestor)
                else:
                    order.append(ancestor)
        self.lineages[id(cls)] = order
        return order

    def in_definition(self, cls: ClassValue, node: cst.CSTNode) -> Value:
        """Evaluate an expression of a class body."""
        frame = self.activation(cls.scope, cls.unit, cls.qualname, closure=cls.closure, context=cls.qualname)
        self.frames.append(frame)
        try:
            return self.evaluate(node)
        finally:
            self.frames.pop()

    def base_layer(self, cls: ClassValue, after: ClassValue | None = None) -> str | None:
        """The framework's layer that a class is derived from, where the tables know it: `class Scaled(nn.Linear)`."""
        order = self.lineage(cls)
        order = order[order.index(after) + 1 :] if after in order else order
        return next((base.name for base in order if isinstance(base, External) and self.knows_layer(base.name)), None)

    def knows_layer(self, dotted: str) -> bool:
        raise NotImplementedError

    def find_method(self, cls: ClassValue, name: str, after: ClassValue | None = None) -> Function | None:
        order = self.lineage(cls)
        if after is not None:
            order = order[order.index(after) + 1 :] if after in order else []
        for ancestor in order:
            if isinstance(ancestor, ClassValue) and name in ancestor.methods:
                return ancestor.methods[name]
        return None

    def instantiate(
        self, cls: ClassValue, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode | None, standalone: bool = False
    ) -> Value:
        """A new object: `__init__` is evaluated, or the annotated fields bound (dataclasses, Flax, Equinox), then `setup`."""
        instance = Instance(cls, Places(self.journal), key=f"{cls.qualname}" if standalone else self.fresh(cls.qualname))
        instance.attributes.owner = instance
        initialiser = self.find_method(cls, "__init__")
        if initialiser is not None:
            self.call_function(initialiser, arguments, keywords, node, instance, standalone)
        elif (base := self.base_layer(cls)) is not None and node is not None:
            instance.attributes[BASE_LAYER] = self.call(External(base), arguments, keywords, node)
        else:
            self._bind_fields(instance, arguments, keywords, standalone)
        for hook in ("__post_init__", "setup"):
            method = self.find_method(cls, hook)
            if method is not None and initialiser is None:
                self.call_function(method, [], {}, node, instance)
        return instance

    def _bind_fields(self, instance: Instance, arguments: Sequence[Value], keywords: dict[str, Value], standalone: bool) -> None:
        values = list(arguments)
        for ancestor in reversed(self.lineage(instance.cls)):
            if not isinstance(ancestor, ClassValue):
                continue
            for name, annotation, default in ancestor.fields:
                text = ancestor.unit.code(annotation.annotation) if annotation is not None else ""
                if "ClassVar" in text:
                    continue
                if values:
                    instance.attributes[name] = values.pop(0)
                elif name in keywords:
                    instance.attributes[name] = keywords[name]
                elif default is not None and not standalone:
                    value = self.in_definition(ancestor, default)
                    instance.attributes[name] = Scalar(value.value, value.origin, default_of=name) if isinstance(value, Scalar) else value
                else:
                    known = self.in_definition(ancestor, default) if default is not None else None
                    if isinstance(known, Bool):
                        instance.attributes[name] = Unknown(f"the flag `{name}`")
                        continue
                    hint = "tensor" if _TENSOR_ANNOTATION.search(text) else "scalar" if _SCALAR_ANNOTATION.search(text) else None
                    instance.attributes[name] = Argument(
                        name, f"{instance.cls.scope.path}:{instance.cls.qualname}.{name}", PARAMETER, hint, known
                    )
        for name, value in keywords.items():
            instance.attributes.setdefault(name, value)

    def instance_attribute(self, value: Instance, name: str, node: cst.CSTNode | None) -> Value:
        found = value.attributes.get(name)
        if found is not None:
            return sharing.current(self, self.narrow(found))
        for ancestor in self.lineage(value.cls):
            if not isinstance(ancestor, ClassValue):
                continue
            method = ancestor.methods.get(name)
            if method is not None:
                if method.kind == "property":
                    return self.call_function(method, [], {}, node, value)
                if method.kind == "static":
                    return method
                return BoundMethod(method, value if method.kind != "class" else value.cls)
            if name in ancestor.assigned:
                return self.in_definition(ancestor, ancestor.assigned[name])
            if name in ancestor.inner:
                return self.make_class(ancestor.inner[name], ancestor.scope, ancestor.unit, ancestor.closure, f"{ancestor.qualname}.{name}")
        if name == "__class__":
            return value.cls
        held = value.attributes.get(BASE_LAYER)
        if held is not None and isinstance(node, cst.Attribute):
            found = self._attribute(held, name, node)
            if not isinstance(found, Bound):
                return found
        if name == "training":
            return External("module.training")
        if self.is_module_method(name):
            return Bound(value, name)
        kind = OPAQUE
        return Argument(
            name, f"{value.cls.scope.path}:{value.cls.qualname}.{name}", kind, reason=f"`self.{name}` is not set in the linted tree"
        )

    def inherited(self, owner: Instance, name: str) -> Any:
        """An attribute of the class, which an object has where it has none of its own."""
        for ancestor in self.lineage(owner.cls):
            if isinstance(ancestor, ClassValue) and name in ancestor.assigned:
                return self.in_definition(ancestor, ancestor.assigned[name])
        return MISSING

    def is_module_method(self, name: str) -> bool:
        raise NotImplementedError

    def class_attribute(self, value: ClassValue, name: str, node: cst.CSTNode | None) -> Value:
        if name == "__name__":
            return Text(value.name)
        if name == "apply" and (forward := self.find_method(value, "forward")) is not None and self._is_autograd(value):
            return Partial(forward, (Unknown("the context of an autograd function"),), {})
        for ancestor in self.lineage(value):
            if not isinstance(ancestor, ClassValue):
                continue
            method = ancestor.methods.get(name)
            if method is not None:
                return BoundMethod(method, value) if method.kind == "class" else method
            if name in ancestor.assigned:
                return self.in_definition(ancestor, ancestor.assigned[name])
            if name in ancestor.inner:
                return self.make_class(ancestor.inner[name], ancestor.scope, ancestor.unit, ancestor.closure, f"{ancestor.qualname}.{name}")
        return Argument(
            name, f"{value.scope.path}:{value.qualname}.{name}", OPAQUE, reason=f"`{value.name}.{name}` is not set in the linted tree"
        )

    def _is_autograd(self, cls: ClassValue) -> bool:
        """Whether a class is a function with a backward pass of its own, which is called through `apply`."""
        return any(isinstance(base, External) and base.name.endswith("autograd.Function") for base in self.lineage(cls))

    def super_attribute(self, value: Super, name: str, node: cst.CSTNode | None) -> Value:
        method = self.find_method(value.receiver.cls, name, value.after)
        if method is not None:
            if method.kind == "property":
                return self.call_function(method, [], {}, node, value.receiver)
            return BoundMethod(method, value.receiver)
        if name == "__init__":
            known = self.base_layer(value.receiver.cls, value.after)
            return Bound(value.receiver, f"super:{known}") if known is not None else Native(lambda *arguments: NONE, "super().__init__")
        if name in FORWARD_METHODS and (held := value.receiver.attributes.get(BASE_LAYER)) is not None:
            return held
        if self.is_module_method(name):
            return Bound(value.receiver, name)
        if name in ("build", "setup"):
            return Native(lambda *arguments: NONE, name)
        return Unknown(f"`{name}` of a base class outside the linted tree")

    # --- calls

    def _eval_Call(self, node: cst.Call) -> Value:
        function_node = node.func
        if isinstance(function_node, cst.Name) and function_node.value == "super":
            return self._super(node)
        if isinstance(function_node, cst.Attribute):
            self.called.add(id(function_node))
            target = self._mutated(node, function_node)
            if target is not None:
                return target
        callee = self.evaluate(function_node)
        arguments, keywords = self.evaluate_arguments(node)
        return self.call(callee, arguments, keywords, node)

    def evaluate_arguments(self, node: cst.Call) -> tuple[list[Value], dict[str, Value]]:
        arguments: list[Value] = []
        keywords: dict[str, Value] = {}
        for argument in node.args:
            value = self.evaluate(argument.value)
            if argument.star == "*":
                expanded = self._spread(value)
                if expanded is None:
                    items = self.items_of(value)
                    expanded = items if items is not None else [SequenceValue(self.item_of(value))]
                arguments += expanded
            elif argument.star == "**":
                if isinstance(value, Mapping):
                    keywords.update(value.items)
                    if value.rest is not None:
                        keywords["**"] = value.rest
                else:
                    keywords["**"] = value
            elif argument.keyword is not None:
                keywords[argument.keyword.value] = value
            else:
                arguments.append(value)
        return arguments, keywords

    def _super(self, node: cst.Call) -> Value:
        frame = next((frame for frame in reversed(self.frames) if frame.owner is not None), None)
        if frame is None or not isinstance(frame.receiver, Instance) or frame.owner is None:
            return Unknown("super() outside a method")
        return Super(frame.receiver, frame.owner)

    def _mutated(self, node: cst.Call, function: cst.Attribute) -> Value | None:
        """Methods that change a list or dictionary in place: the name is bound to the new value."""
        name = function.attr.value
        if name not in ("append", "extend", "update", "insert", "add_module", "setdefault", "add"):
            return None
        holder = self.evaluate(function.value)
        if not isinstance(holder, (Items, SequenceValue, Mapping)) and not (isinstance(holder, Layer) and holder.kind == "list"):
            return None
        arguments, keywords = self.evaluate_arguments(node)
        result: Value | None = None
        if name in ("append", "add") and arguments:
            if isinstance(holder, Items):
                result = SequenceValue(arguments[0]) if self.in_loop else Items((*holder.items, arguments[0]), True)
            elif isinstance(holder, Layer):
                items = holder.settings.get("items")
                known = items.items if isinstance(items, Items) else ()
                new: Value = SequenceValue(arguments[0]) if self.in_loop else Items((*known, arguments[0]))
                result = Layer("list", {"items": new}, holder.key, holder.name, holder.origin, holder.class_name)
            else:
                result = SequenceValue(arguments[0])
        elif name == "extend" and arguments:
            if isinstance(holder, Items) and isinstance(arguments[0], Items):
                result = Items((*holder.items, *arguments[0].items), True)
            else:
                result = SequenceValue(self.item_of(arguments[0]))
        elif name == "update" and isinstance(holder, Mapping):
            merged = dict(holder.items)
            rest = holder.rest
            for argument in arguments:
                if isinstance(argument, Mapping):
                    merged.update(argument.items)
                else:
                    rest = Unknown("a dictionary that is not followed")
            merged.update({key: value for key, value in keywords.items() if key != "**"})
            result = Mapping(merged, rest)
        if result is None:
            return None
        latest = sharing.store(self, holder, result) if isinstance(holder, (Items, SequenceValue, Mapping)) else result
        if latest is result:
            self.rebind(function.value, result)
        return NONE

    def rebind(self, target: cst.BaseExpression, value: Value) -> None:
        """Give a name or attribute a new value; other targets hold views, which are left alone."""
        if isinstance(target, (cst.Name, cst.Attribute)):
            self.assign_target(target, value, None)

    def call(self, callee: Value, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        if isinstance(callee, Choice):
            known = [(path, option) for path, option in callee.options if not isinstance(option, (Unknown, Argument))]
            if known and len(known) < len(callee.options) and any(isinstance(option, (Function, BoundMethod)) for _, option in known):
                # an implementation chosen at run time: what can be followed is judged, the rest stays unknown
                return self.distribute(
                    (Choice(tuple(known)) if len(known) > 1 else known[0][1],), lambda option: self._call(option, arguments, keywords, node)
                )
        return self.distribute((callee,), lambda option: self._call(option, arguments, keywords, node))

    def _call(self, callee: Value, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        self.step()
        if isinstance(callee, Function):
            return self.call_function(callee, arguments, keywords, node)
        if isinstance(callee, BoundMethod):
            return self.call_function(callee.function, arguments, keywords, node, callee.receiver)
        if isinstance(callee, ClassValue):
            return self.instantiate(callee, arguments, keywords, node)
        if isinstance(callee, Instance):
            return self.call_instance(callee, arguments, keywords, node)
        if isinstance(callee, External):
            return self.call_external(callee, arguments, keywords, node)
        if isinstance(callee, Bound):
            return self.call_bound(callee, arguments, keywords, node)
        if isinstance(callee, Layer):
            return self.call_layer(callee, arguments, keywords, node)
        if isinstance(callee, Partial):
            return self.call(callee.function, (*callee.arguments, *arguments), {**callee.keywords, **keywords}, node)
        if isinstance(callee, Native):
            return callee.call(*arguments)
        if isinstance(callee, Argument) and isinstance(callee.default, (External, Native)):
            return self._call(callee.default, arguments, keywords, node)  # an initialiser, say, which another one may stand for
        reason = callee.reason if isinstance(callee, (Unknown, Argument)) and callee.reason else None
        name = callee.name if isinstance(callee, Argument) else ""
        return self.call_unknown(name, arguments, keywords, node, reason, callee)

    def call_instance(self, instance: Instance, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        for name in FORWARD_METHODS:
            method = self.find_method(instance.cls, name)
            if method is not None:
                self.prepare(instance, arguments, node)
                result = self.call_function(method, arguments, keywords, node, instance)
                return self._own_projection(result, method)
        held = instance.attributes.get(BASE_LAYER)
        if held is not None:
            return self.call(held, arguments, keywords, node)
        return self.call_unknown(instance.cls.name, arguments, keywords, node, f"`{instance.cls.name}` defines no forward", instance)

    def _own_projection(self, result: Value, method: Function) -> Value:
        """The output of a layer that multiplies what it is given by a weight of its own, without the root of its input width.

        A weight that starts with variance 1 is divided by that root, at its product instead of at its start: it is no scale of
        anything that is done with the output.
        """
        if self.may_hold(method):
            return result
        return self.distribute((result,), lambda option: self._without_root(option, method) if isinstance(option, Tensor) else option)

    def _without_root(self, tensor: Tensor, method: Function) -> Tensor:
        content = tensor.content
        if isinstance(content, Sum):  # with a bias
            terms = tuple(self._without_root(term, method) for term in content.terms)
            return tensor.but(content=Sum(terms)) if any(a is not b for a, b in zip(terms, content.terms, strict=True)) else tensor
        if not isinstance(content, Leaf) or content.kind != "projection" or content.layer is not None or not tensor.factors:
            return tensor
        product = self.projections.get(content.key)
        if product is None:
            return tensor
        root = product.size.power(Fraction(-1, 2))
        kept = tuple(factor for factor in tensor.factors if not (_applied_in(factor, method) and self.facts.equal(factor.value, root)))
        return tensor.but(factors=kept) if len(kept) < len(tensor.factors) else tensor

    def prepare(self, instance: Instance, arguments: Sequence[Value], node: cst.CSTNode | None) -> None:
        """Keras calls `build` with the shape of the first input before the first call."""
        if instance.prepared:
            return
        instance.prepared = True
        build = self.find_method(instance.cls, "build")
        if build is None or self.find_method(instance.cls, "call") is None:
            return
        first = arguments[0] if arguments else None
        shape: Value = Unknown("the shape of the input")
        if isinstance(first, Argument):
            first = self.as_tensor(first)
        if isinstance(first, Tensor):
            shape = self.shape_value(first)
        elif isinstance(first, Items):
            tensors = [self.as_tensor(item) for item in first.items]
            shape = Items(tuple(self.shape_value(tensor) if tensor is not None else Unknown("a shape") for tensor in tensors))
        self.call_function(build, [shape], {}, node, instance)

    def opaque_result(self, reason: str, arguments: Sequence[Value], node: cst.CSTNode | None) -> Value:
        if any(isinstance(value, (Tensor, Choice)) for value in arguments) and self.frames:
            return self.opaque_tensor(reason, node=node)
        return Unknown(reason)

    def call_external(self, callee: External, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        raise NotImplementedError

    def call_bound(self, callee: Bound, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        raise NotImplementedError

    def call_layer(self, layer: Layer, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        raise NotImplementedError

    def call_unknown(
        self, name: str, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode, reason: str | None, callee: Value
    ) -> Value:
        raise NotImplementedError

    def execute_block(self, body: Sequence[cst.CSTNode]) -> None:
        raise NotImplementedError


__all__ = ["FORWARD_METHODS", "Calls", "ModuleValue", "Monomial", "key_text"]
