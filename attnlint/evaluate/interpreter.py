"""The interpreter: framework calls looked up in the tables, and attention sites recorded where logits meet softmax."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from attnlint.domain import shapes
from attnlint.domain.algebra import CONFIG, Monomial
from attnlint.domain.record import Call as CallOf
from attnlint.domain.record import SiteRecord
from attnlint.domain.values import (
    HANDED_ON,
    IN_PART,
    NONE,
    Argument,
    Bool,
    Bound,
    BoundMethod,
    Choice,
    ClassValue,
    Exponential,
    External,
    Factor,
    Function,
    Instance,
    Items,
    Layer,
    Leaf,
    Mapping,
    NoneValue,
    Origin,
    Output,
    Product,
    Scalar,
    ShapeOf,
    Sum,
    Tensor,
    Text,
    Unknown,
    Value,
    Weights,
    options_of,
)
from attnlint.domain.values import (
    Sequence as SequenceValue,
)
from attnlint.evaluate import arithmetic, layers, sharing, tensors
from attnlint.evaluate.calls import BASE_LAYER, made_for_call
from attnlint.evaluate.expressions import key_text
from attnlint.evaluate.operations import Call, Op, bind, passthrough_argument
from attnlint.evaluate.state import Frame
from attnlint.evaluate.statements import Statements
from attnlint.evidence import signs
from attnlint.evidence.signs import counts_heads
from attnlint.frameworks.effects import LAYOUT_IN_PLACE, SHARES, WRITES
from attnlint.frameworks.registry import REGISTRY
from attnlint.frameworks.table import Kernel
from attnlint.syntax import nodes as cst

_THIRD_IS_OUT = frozenset({"multiply", "divide", "true_divide", "add", "subtract", "matmul", "power", "maximum", "minimum"})


class Interpreter(Statements):
    """The abstract interpreter of one file; results are the `records` it leaves."""

    @cached_property
    def _frameworks(self) -> dict[str, tuple[str, ...]]:
        return {}

    # --- framework knowledge

    def knows_external(self, dotted: str) -> bool:
        name = REGISTRY.canonical(dotted)
        return name in REGISTRY.functions or name in REGISTRY.layers or name in REGISTRY.kernels

    def knows_layer(self, dotted: str) -> bool:
        row = REGISTRY.layers.get(REGISTRY.canonical(dotted))
        return row is not None and row[0].kind != "parameter"

    def is_tensor_method(self, name: str) -> bool:
        if name in REGISTRY.methods or name in REGISTRY.properties:
            return True
        return bool(self.frames) and REGISTRY.kernel_method(name, self.frameworks()) is not None

    def is_tensor_property(self, name: str) -> bool:
        return name in REGISTRY.properties

    def is_module_method(self, name: str) -> bool:
        return name in REGISTRY.module_methods

    def tensor_property(self, value: Tensor, name: str, node: cst.CSTNode | None) -> Value | None:
        row = REGISTRY.properties.get(name)
        if row is None or node is None:
            return None
        return sharing.sharing(name, value, row.meaning(self, Call(name, {"input": value}, {}, node, row.settings, self)), name)

    def call_operation(self, dotted: str, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        found = REGISTRY.functions.get(dotted)
        if found is None:
            return self.opaque_tensor(f"`{dotted}` is not in the tables", node=node)
        return self._operate(dotted.rpartition(".")[2], found[0], arguments, keywords, node, None)

    def _operate(
        self,
        name: str,
        row: Op,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        node: cst.CSTNode,
        receiver_node: cst.CSTNode | None,
    ) -> Value:
        values, nodes = bind(row, arguments, keywords, node, receiver_node)
        values = {key: self.lifted(self.forced(value)) for key, value in values.items()}
        names = list(values)

        out = values.get("out")
        if name in _THIRD_IS_OUT and out is None and len(arguments) == 3 and not row.settings.get("three"):
            out = arguments[2]

        def run(*chosen: Value) -> Value:
            given = dict(zip(names, chosen, strict=True))
            result = row.meaning(self, Call(name, given, nodes, node, row.settings, self))
            return self._placed(name, given, result, given.get("out", out), node)

        return self.distribute([values[key] for key in names], run)

    def _placed(self, name: str, given: dict[str, Value], result: Value, out: Value | None, node: cst.CSTNode) -> Value:
        """The result of an operation in the memory that it is written to, or that it shares with its first argument."""
        first = given.get("input", given.get("receiver"))
        if isinstance(first, Argument):
            first = self.as_tensor(first)
        target: Value | None = None
        if given.get("inplace") == Bool(True):
            target = first
        elif out is not None and not isinstance(out, NoneValue):
            target = self.as_tensor(out) if isinstance(out, Argument) else out
        elif name in WRITES or (name.endswith("_") and not name.endswith("__")):
            target = first
        if name in LAYOUT_IN_PLACE and isinstance(target, Tensor) and isinstance(result, Tensor):
            if target.held is not None and name != "requires_grad_":
                sharing.lose(self, target, "its layout is changed in place")
                return sharing.held(sharing.new(result))
            return result.but(held=target.held)
        if isinstance(target, Choice):
            sharing.lose(self, target, sharing.MAYBE_TOUCHED)
            return sharing.new(result)
        if isinstance(target, Tensor):
            return sharing.changed(self, target, result)
        if isinstance(result, Argument) and result.hint == "tensor" and name not in SHARES:
            return sharing.new(self.as_tensor(result) or result)  # a copy of what is handed in
        cut = f"{name} {self.printed(node.args[-1].value)}" if isinstance(node, cst.Call) and node.args else name
        return sharing.sharing(name, first, result, cut)

    def call_external(self, callee: External, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        name = REGISTRY.canonical(callee.name)
        kernel = REGISTRY.kernels.get(name)
        if kernel is not None:
            return self._fused(name, kernel[0], kernel[1], arguments, keywords, node)
        function = REGISTRY.functions.get(name)
        if function is not None:
            return self._operate(name.rpartition(".")[2], function[0], arguments, keywords, node, None)
        row = REGISTRY.layers.get(name)
        if row is not None:
            count, keys = len(arguments), list(keywords)
            return self.distribute(
                [self.lifted(value) for value in (*arguments, *keywords.values())],
                lambda *chosen: self._make_layer(name, chosen[:count], dict(zip(keys, chosen[count:], strict=True)), node),
            )
        tail = name.rpartition(".")[2]
        if name.startswith("tensor."):
            return Unknown(f"`{tail}` of a tensor")
        return self.call_unknown(tail, arguments, keywords, node, f"`{tail}` is outside the linted tree", callee)

    def _make_layer(self, name: str, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        row, _ = REGISTRY.layers[name]
        settings: dict[str, Value] = {}
        position = 0
        for parameter in row.parameters:
            if parameter.startswith("*"):
                settings[parameter[1:]] = Items(tuple(arguments[position:]))
                break
            if position < len(arguments):
                settings[parameter] = arguments[position]
                position += 1
        for key, value in keywords.items():
            settings[row.aliases.get(key, key)] = value
        for key, fixed in row.settings.items():
            settings.setdefault(key, Text(fixed) if isinstance(fixed, str) else Scalar(Monomial.number(fixed)))
        tail = name.rpartition(".")[2]
        origin = self.origin(node)
        if row.kind == "parameter":
            return self._parameter(settings.get("input"), node)
        if row.kind in ("linear", "conv"):
            for key in ("out_features", "out_channels", "in_features", "in_channels"):
                scalar = self.as_scalar(settings[key]) if isinstance(settings.get(key), (Scalar, Argument)) else None
                if scalar is not None:
                    self.note_dims(scalar.value)
        return Layer(row.kind, settings, self.fresh(tail), tail, origin, tail)

    def _parameter(self, value: Value | None, node: cst.CSTNode) -> Value:
        shape = (
            value.shape
            if isinstance(value, Tensor)
            else shapes.Shape(())
            if isinstance(value, Scalar)
            else shapes.unknown(self.fresh("parameter"))
        )
        return Tensor(shape, Leaf("parameter", self.fresh("parameter")), history=tensors.one(self.origin(node)))

    def call_bound(self, callee: Bound, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        receiver, name = callee.receiver, callee.method
        receiver_node = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
        if isinstance(receiver, Tensor) and IN_PART in receiver.notes and name != "set":
            receiver = receiver.but(notes=receiver.notes - {IN_PART})
            if name == "get":
                return self.opaque_tensor("a part of a tensor", node=node)
            if name in ("add", "subtract", "min", "max", "maximum", "minimum"):
                return tensors.then(self, receiver, node)
            return tensors.then(self, receiver, node, uncertain="a part of it is scaled in place")
        if isinstance(receiver, Tensor):
            row = REGISTRY.method(name, self.frameworks())
            if row is not None:
                return self._operate(name, row, [receiver, *arguments], keywords, node, receiver_node)
            if (fused := REGISTRY.kernel_method(name, self.frameworks())) is not None:
                kernel, framework = REGISTRY.kernels[fused]
                return self._fused(fused, kernel, framework, [receiver, *arguments], keywords, node, receiver_node)
            return self.opaque_tensor(f"the method `{name}` of a tensor is not followed", node=node)
        if isinstance(receiver, Instance) and name.startswith("super:"):
            receiver.attributes[BASE_LAYER] = self.call_external(External(name.removeprefix("super:")), arguments, keywords, node)
            return NONE
        if isinstance(receiver, Instance):
            row = REGISTRY.module_methods.get(name)
            if row is not None:
                return self._operate(name, row, [receiver, *arguments], keywords, node, receiver_node)
            return self.call_unknown(name, arguments, keywords, node, f"`{name}` is not defined in the linted tree", receiver)
        if isinstance(receiver, Mapping):
            return self._mapping_method(receiver, name, arguments, node)
        if isinstance(receiver, (Items, SequenceValue)):
            if name in ("index", "count"):
                return Unknown("an index")
            if name == "pop":
                return self.item_of(receiver)
            if name in ("copy", "as_list"):
                return receiver
            return NONE
        if isinstance(receiver, ShapeOf):
            if name == "numel":
                return Unknown("a number of elements")
            if name == "as_list":
                return receiver
            return Unknown(f"`{name}` of a shape")
        if isinstance(receiver, Scalar):
            row = REGISTRY.method(name, self.frameworks())
            if row is not None:
                return self._operate(name, row, [receiver, *arguments], keywords, node, receiver_node)
            return receiver
        if isinstance(receiver, Text):
            return Unknown("a text")
        if isinstance(receiver, Layer):
            return self._layer_method(receiver, name, arguments, keywords, node)
        if name == "apply" and isinstance(receiver, (ClassValue,)):
            return self.opaque_tensor("a custom autograd function", node=node)
        return self.call_unknown(name, arguments, keywords, node, f"`{name}` is not followed", receiver)

    def _mapping_method(self, receiver: Mapping, name: str, arguments: Sequence[Value], node: cst.CSTNode) -> Value:
        if name in ("get", "pop", "setdefault") and arguments:
            text = key_text(arguments[0])
            if text is not None and text in receiver.items:
                return receiver.items[text]
            if receiver.rest is not None:
                return receiver.rest
            if text is None and receiver.items:
                return self.item(receiver, arguments[0], node)
            return arguments[1] if len(arguments) > 1 else NONE
        if name == "values":
            return Items(tuple(receiver.items.values())) if receiver.rest is None else SequenceValue(receiver.rest)
        if name == "keys":
            return Items(tuple(Text(key) for key in receiver.items))
        if name == "items":
            return Items(tuple(Items((Text(key), value)) for key, value in receiver.items.items()))
        if name == "copy":
            return receiver
        return Unknown("a dictionary")

    # --- layers

    def layer_attribute(self, value: Layer, name: str, node: cst.CSTNode | None) -> Value:
        setting = layers.SETTING_NAMES.get(name)
        if setting is not None and setting in value.settings:
            return value.settings[setting]
        if name in value.settings and value.kind not in ("list", "dict", "sequential"):
            return value.settings[name]
        if value.kind == "attention" and (kept := layers.attention_attribute(self, value, name)) is not None:
            return kept
        if name in ("weight", "kernel"):
            return layers.weight_of(self, value)
        if name == "bias":
            key = f"{value.key}.bias"
            return Tensor(shapes.unknown(key), Leaf("parameter", key), name="bias")
        if value.kind == "dict":
            items = value.settings.get("items")
            if isinstance(items, Mapping) and name in items.items:
                return items.items[name]
        return Bound(value, name)

    def _layer_method(self, receiver: Layer, name: str, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        row = REGISTRY.module_methods.get(name)
        initialised = name == "apply" and arguments and isinstance(arguments[0], (Function, BoundMethod))
        if row is not None and row.meaning is passthrough_argument and (name != "apply" or initialised):
            return receiver  # `nn.Linear(d, d).to(device)`
        if name in ("forward", "__call__", "call", "apply"):
            return self.call_layer(receiver, arguments, keywords, node)
        items = receiver.settings.get("items")
        if receiver.kind == "dict" and isinstance(items, Mapping):
            return self._mapping_method(items, name, arguments, node)
        return NONE

    def layer_items(self, value: Layer) -> list[Value] | None:
        items = value.settings.get("items")
        if isinstance(items, Items):
            if len(items.items) == 1 and isinstance(items.items[0], Items):
                items = items.items[0]
            if len(items.items) == 1 and isinstance(items.items[0], SequenceValue):
                return None
            if len(items.items) == 1 and isinstance(items.items[0], Mapping):
                return list(items.items[0].items.values())
            return list(items.items)
        return None

    def item_of(self, value: Value) -> Value:
        if isinstance(value, Layer) and value.kind in ("list", "sequential"):
            items = value.settings.get("items")
            if isinstance(items, Items) and len(items.items) == 1:
                items = items.items[0]
            if isinstance(items, SequenceValue):
                return items.item
        return super().item_of(value)

    def layer_item(self, value: Layer, index: Value, node: cst.CSTNode) -> Value:
        items = value.settings.get("items")
        if value.kind == "dict" and isinstance(items, Mapping):
            return self.item(items, index, node)
        known = self.layer_items(value)
        if known is not None:
            return self.item(Items(tuple(known)), index, node)
        return self.item_of(value)

    def call_layer(self, layer: Layer, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        behaviour = layers.BEHAVIOURS.get(layer.kind)
        if behaviour is None:
            return self.opaque_tensor(f"the layer {layer.class_name} is not followed", node=node)
        names = list(keywords)
        before, self.paths_disagree = self.paths_disagree, any(layers.disagree(self, value) for value in arguments[:1])

        def run(*chosen: Value) -> Value:
            result = behaviour(self, layer, list(chosen[: len(arguments)]), dict(zip(names, chosen[len(arguments) :], strict=True)), node)
            first = chosen[0] if chosen else None
            if layer.settings.get("inplace") == Bool(True) and isinstance(first, Tensor):
                return sharing.changed(self, first, result)
            return sharing.sharing(layer.kind, first, result, "")

        try:
            return self.distribute([*arguments, *(keywords[name] for name in names)], run)
        finally:
            self.paths_disagree = before

    def check_merge(self, tensor: Tensor) -> None:
        """A scrambled merge of the output is a matter of the site whose output it is."""

    # --- calls that cannot be followed

    def call_unknown(
        self, name: str, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode, reason: str | None, callee: Value
    ) -> Value:
        if not name and isinstance(node, cst.Call):
            name = self.code(node.func).rpartition(".")[2][:60]
        everything = [*arguments, *keywords.values()]
        if any(isinstance(value, Choice) for value in arguments):
            count = len(arguments)
            return self.distribute(arguments, lambda *chosen: self.call_unknown(name, list(chosen[:count]), keywords, node, reason, callee))
        self.risks += 1
        operands = [value for value in arguments if isinstance(value, Tensor)]
        reason = reason or f"`{name}` is not followed"
        if name == "get_interface" or (name == "get" and len(arguments) == 2):
            functions = [value for value in arguments if isinstance(value, (Function,))]
            if functions:
                return functions[-1]
        tensor_keywords = [value for value in keywords.values() if isinstance(value, Tensor)]
        if not operands and not tensor_keywords:
            if (interface := self._interface(name, arguments, keywords, node)) is not None:
                return interface
            if isinstance(callee, (Argument, External)) and not everything:
                return Argument(f"{name}()", f"call:{self.frame.context}:{name}", "opaque", reason=reason)
            if any(isinstance(value, Argument) for value in everything):
                return Argument(f"{name}(…)", f"call:{self.fresh(name)}", "opaque", reason=reason)
            return Unknown(reason)
        if name.endswith("Parameter") and operands:
            return self._parameter(operands[0], node)  # a framework's own kind of parameter
        if signs.ROTARY_CALL.search(name) or name in signs.CACHE_CALLS:
            # rotary embeddings and caches hand their tensors back, turned or lengthened
            notes = {"handed back"} if name in signs.CACHE_CALLS else set()
            # a key may come from a cache
            held = [self.as_tensor(value) if isinstance(value, (Argument, Unknown)) else value for value in arguments]
            given = [value for value in held if isinstance(value, Tensor)] if name not in signs.CACHE_CALLS else operands
            turned = [
                tensor.but(history=(*tensor.history, *tensors.one(self.origin(node))), notes=tensor.notes | notes) for tensor in given[:2]
            ]
            named = [tensor for tensor in turned if not signs.ANGLES.search(tensor.name or "")]
            if named:
                told = signs.CACHE_CALLS.get(name)
                self.by_name[id(node)] = signs.claimed(name, told) if told is not None else signs.ROTARY_CALL.of(name)
                if name in signs.CACHE_CALLS or len(named) > 1:
                    return Items(tuple(self._lengthened(tensor) if name in signs.CACHE_CALLS else tensor for tensor in named))
                return named[0]
        if signs.SOFTMAX_CALL.search(name):
            self.by_name[id(node)] = signs.SOFTMAX_CALL.of(name)
            return self._softmax_by_name(arguments, keywords, node)
        main = next((tensor for tensor in operands if arithmetic.interest(tensor.content) >= 2), None)
        if signs.MASKING_CALL.search(name) and main is not None and isinstance(main.content, (Product, Sum)):
            self.by_name[id(node)] = signs.MASKING_CALL.of(name)
            return tensors.then(self, main, node)  # masks change neither shape nor scale
        if signs.KEEPING_CALL.search(name) and operands:
            self.by_name[id(node)] = signs.KEEPING_CALL.of(name)
            return tensors.then(self, operands[0], node)
        interface = self._interface(name, arguments, keywords, node)
        if interface is not None:
            return interface
        if main is not None and len(operands) <= 2 and isinstance(main.content, Weights):
            return tensors.then(self, main, node)
        if main is not None and len(operands) <= 2 and isinstance(main.content, Output):
            return tensors.then(self, main, node, shape=shapes.unknown(self.fresh(name)))  # it may have merged the heads
        return self.opaque_tensor(reason, name=None, node=node)

    def _softmax_by_name(self, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        """A softmax that is imported from outside the tree is one by its name."""
        logits = next((keywords[key] for key in ("logits", "input", "inputs", "x", "scores") if key in keywords), None)
        axis = next((keywords[key] for key in ("axis", "dim") if key in keywords), Scalar(Monomial.number(-1)))
        given = arguments[0] if arguments else logits
        if given is None:
            return self.opaque_tensor("a softmax without logits", node=node)
        return self.call_operation("tensorflow.nn.softmax", [given, axis], {}, node)

    def _lengthened(self, tensor: Tensor) -> Tensor:
        return tensor

    def _interface(self, name: str, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value | None:
        """A call of an attention function that is not in the tree, with its scale spelled out: a kernel by its signature."""
        scale_name = next((key for key in (*signs.SCALE_ARGUMENTS, *signs.SOFTMAX_SCALE_ARGUMENTS) if key in keywords), None)
        if scale_name is None and (handed := self._handed_scale(arguments, node)) is not None:
            return handed
        if scale_name is None or not (signs.ATTENTION_CALL.search(name or "") or scale_name in signs.SOFTMAX_SCALE_ARGUMENTS):
            return None
        named = {
            key: keywords[other]
            for key, other in (("query", "query"), ("key", "key"), ("value", "value"), ("query", "q"), ("key", "k"), ("value", "v"))
            if other in keywords
        }
        if "query" not in named:
            named = self._operands_by_name(arguments, node)
        operands = [
            value
            for value in arguments
            if isinstance(value, (Tensor, Argument)) and not (isinstance(value, Argument) and value.kind == CONFIG)
        ]
        if len(operands) >= 3 and "query" not in named:
            named = dict(zip(("query", "key", "value"), operands[-3:] if len(operands) == 3 else operands[:3], strict=True))
        if "query" not in named or "key" not in named or isinstance(keywords[scale_name], NoneValue):
            return None
        scale_node = (
            next((a.value for a in node.args if a.keyword is not None and a.keyword.value == scale_name), None)
            if isinstance(node, cst.Call)
            else None
        )
        split = self._split_by_callee(named, keywords, node)
        return self._kernel_by_signature(name, {**split, "scale": keywords[scale_name]}, scale_node, node) if split is not None else None

    def _split_by_callee(self, named: dict[str, Value], keywords: dict[str, Value], node: cst.CSTNode) -> dict[str, Value] | None:
        """Operands as a kernel sees them that is told the number of heads: one whose heads are not split yet is split there.

        None where it is not known whether they are.
        """
        counted = next((key for key in keywords if counts_heads(key)), None)
        if counted is None:
            return named
        heads = keywords[counted]
        fewer = next((value for key, value in keywords.items() if "kv" in key and "head" in key), heads)
        split: dict[str, Value] = {}
        for role, value in named.items():
            ranks = {option.shape.rank for _, option in options_of(value) if isinstance(option, Tensor)}
            if not ranks or ranks == {4}:
                split[role] = value
            elif ranks == {3}:
                sizes = Items((heads if role == "query" else fewer, Scalar(Monomial.number(-1))))
                self.by_name[id(node)] = signs.HEAD_COUNT.of(counted)
                split[role] = self.call_operation("torch.unflatten", [value, Scalar(Monomial.number(-1)), sizes], {}, node)
            else:
                return None
        return split

    def _operands_by_name(self, arguments: Sequence[Value], node: cst.CSTNode) -> dict[str, Value]:
        """Positional arguments that are called q, k and v where they are handed on."""
        found: dict[str, Value] = {}
        if not isinstance(node, cst.Call) or any(one.star for one in node.args):
            return found
        for argument, value in zip(node.args, arguments, strict=False):
            match argument.value:
                case cst.Name(value=name) if name in signs.OPERANDS and isinstance(value, (Tensor, Argument)):
                    found.setdefault(signs.OPERANDS[name], value)
        return found

    def _handed_scale(self, arguments: Sequence[Value], node: cst.CSTNode) -> Value | None:
        """A call that hands on `q`, `k` and a `softmax_scale` by position: a kernel whose code is elsewhere."""
        if not isinstance(node, cst.Call):
            return None
        named = self._operands_by_name(arguments, node)
        if not {"query", "key"} <= set(named):
            return None
        for argument, value in zip(node.args, arguments, strict=False):
            match argument.value:
                case cst.Name(value=name) if (
                    name in signs.SOFTMAX_SCALE_ARGUMENTS and argument.keyword is None and not isinstance(value, NoneValue)
                ):
                    return self._kernel_by_signature(self.code(node.func), {**named, "scale": value}, argument.value, node)
        return None

    def _kernel_by_signature(self, name: str, values: dict[str, Value], scale_node: cst.CSTNode | None, node: cst.CSTNode) -> Value:
        nodes: dict[str, cst.CSTNode] = {"scale": scale_node} if scale_node is not None else {}
        names = list(values)

        def run(*chosen: Value) -> Value:
            output = self.record_kernel(name, dict(zip(names, chosen, strict=True)), nodes, node, False, "torch")
            if isinstance(output, Tensor) and isinstance(output.content, Output):
                output.content.site.notes.add("interface")
            return output

        return self.distribute(list(values.values()), run)

    # --- fused kernels

    def _fused(
        self,
        name: str,
        kernel: Kernel,
        framework: str,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        node: cst.CSTNode,
        receiver_node: cst.CSTNode | None = None,
    ) -> Value:
        if not kernel.judged:
            return self.opaque_tensor("the output of an attention layer", node=node)
        keywords = {kernel.aliases.get(key, _KERNEL_NAMES.get(key, key)): value for key, value in keywords.items()}
        row = Op(_never, tuple(kernel.parameters.split()))
        values, nodes = bind(row, arguments, keywords, node, receiver_node)
        if isinstance(node, cst.Call):
            for argument in node.args:
                if argument.keyword is not None:
                    key = kernel.aliases.get(argument.keyword.value, _KERNEL_NAMES.get(argument.keyword.value, argument.keyword.value))
                    nodes.setdefault(key, argument.value)
        if kernel.packed:
            values = self._unpacked_operands(kernel.packed, values)
        if "scale" not in values and made_for_call(keywords.get("**")):
            values["scale"] = Unknown(HANDED_ON)
        names = list(values)

        def run(*chosen: Value) -> Value:
            return self.record_kernel(name, dict(zip(names, chosen, strict=True)), nodes, node, kernel.unscaled, framework)

        return self.distribute([values[key] for key in names], run)

    def _unpacked_operands(self, packed: str, values: dict[str, Value]) -> dict[str, Value]:
        """`qkv` and `kv` tensors hold their parts on an axis of their own."""
        tensor = self.as_tensor(values.get(packed, Unknown("no operand")))
        if tensor is None:
            return values
        parts = ("query", "key", "value") if packed == "qkv" else ("key", "value")
        return {**{key: value for key, value in values.items() if key != packed}, **{part: tensor.but(name=part) for part in parts}}

    def record_kernel(
        self, name: str, values: dict[str, Value], nodes: dict[str, cst.CSTNode], node: cst.CSTNode, unscaled: bool, framework: str
    ) -> Value:
        query = self.as_tensor(values.get("query", Unknown("no query")), nodes.get("query"))
        key = self.as_tensor(values.get("key", Unknown("no key")), nodes.get("key"))
        value = self.as_tensor(values.get("value", Unknown("no value")), nodes.get("value"))
        if query is None or key is None:
            return self.opaque_tensor(f"the operands of {name} are not followed", node=node)
        query, key = tensors.as_operand(self, query), tensors.as_operand(self, key)
        found_q, found_k = shapes.axis_of(query.shape, -1), shapes.axis_of(key.shape, -1)
        axis_q = found_q[1] if found_q is not None else shapes.UNIT
        axis_k = found_k[1] if found_k is not None else shapes.UNIT
        size = shapes.better(axis_q, axis_k).size
        product = Product(query, key, size, (axis_q,), (axis_k,), self.origin(node))
        self.note_product(product)
        scale = values.get("scale")
        factor: Factor
        if scale is None or isinstance(scale, NoneValue):
            default = Monomial() if unscaled else size.power(_MINUS_HALF)
            factor = Factor(default, self.origin(node), self.origin(node), via="default")
        else:
            scalar = self.as_scalar(scale, nodes.get("scale"))
            learned = arithmetic.scalar_of(self, scale) if isinstance(scale, Tensor) else None
            scalar = (
                learned or scalar or Scalar(self.opaque_symbol(nodes.get("scale"), None if nodes.get("scale") is not None else "scale"))
            )
            factor = Factor(
                scalar.value,
                self.origin(nodes.get("scale")) or self.origin(node),
                self.origin(node),
                False,
                scalar.origin,
                scalar.default_of,
                scalar.written_one,
                "kernel",
            )
        bias = values.get("attn_mask") or values.get("attn_bias")
        halves = isinstance(bias, Tensor) and tensors.products_of(bias)
        uncertain = "the mask holds a product of its own, which is scaled with this one" if halves else None
        logits = Tensor(shapes.unknown(self.fresh("logits")), product, factors=(factor,), uncertain=uncertain)
        site = self._record("kernel", logits, node, framework)
        site.kernel = name.rpartition(".")[2]
        site.arguments = values
        site.argument_origins = {key: origin for key, inner in nodes.items() if (origin := self.origin(inner)) is not None}
        site.value = value
        shape = query.shape
        if value is not None and shape.axes and value.shape.axes:
            shape = shapes.Shape((*shape.axes[:-1], value.shape.axes[-1]), shape.lead)
        return Tensor(shape, Output(site), history=tensors.one(self.origin(node)))

    # --- softmax

    def record_softmax(self, tensor: Tensor, axis: Any, node: cst.CSTNode | None, **details: object) -> SiteRecord:
        site = self._record("softmax", tensor, node, self._framework())
        site.axis = axis
        for key, value in details.items():
            if key in ("implicit_axis", "axis_origin", "dtype", "stable"):
                setattr(site, key, value)
        if details.get("log"):
            site.notes.add("log")
        return site

    def site_of_exponential(self, content: Exponential, tensor: Tensor) -> SiteRecord:
        known = self.exponentials.get(id(content))
        if known is None:
            node = content.origin.node if content.origin is not None else None
            known = self._record("softmax", content.of, node, self._framework())
            known.softmax = content.origin
            known.exponential = content.origin
            known.stable = content.shifted
            known.online = True
            self.exponentials[id(content)] = known
            self.kept_contents.append(content)
        return known

    def _framework(self) -> str:
        found = self.frameworks()
        return found[0] if found else "torch"

    def frameworks(self) -> tuple[str, ...]:
        """The frameworks that the module being evaluated imports: they say what a method of a tensor means."""
        scope = self.frame.scope
        known = self._frameworks.get(scope.path)
        if known is None:
            imports = (*scope.imports.values(), *scope.star_imports)
            packages = {found.module.partition(".")[0] for found in imports if not found.level}
            known = self._frameworks[scope.path] = REGISTRY.frameworks_of(packages)
        return known

    def _record(self, kind: str, logits: Tensor, node: cst.CSTNode | None, framework: str) -> SiteRecord:
        """A new site, anchored in the function that holds the product."""
        stack = self.frames
        products = tensors.products_of(logits)
        index = len(stack) - 1
        if products:
            formed = self.stacks.get(id(products[0][1]))
            if formed is not None:
                common = 0
                while common < min(len(formed), len(stack)) and formed[common] is stack[common]:
                    common += 1
                if common:
                    index = common - 1
        frame = stack[index]
        softmax = self.origin(node)
        anchor = softmax if index == len(stack) - 1 else (stack[index + 1].call_site or softmax)
        path: frozenset[tuple[str, bool]] = self.current_path()
        site = SiteRecord(
            kind,
            logits,
            softmax,
            anchor,
            frame.qualname,
            frame.scope,
            path,
            self.facts,
            self.defaults,
            self.dims,
            call_chain=tuple(inner.qualname for inner in stack),
            call_sites=tuple(inner.call_site for inner in stack if inner.call_site is not None),
            calls=tuple(
                CallOf(inner.call_site, outer.qualname) for outer, inner in pairwise(stack[: index + 1]) if inner.call_site is not None
            ),
            standalone=frame.standalone or frame.body is None,
            owner=frame.owner,
            function=frame.function,
            framework=framework,
            by_name=self.by_name,
        )
        site.names_in_scope = self._names_in_scope(frame)
        site.equal = tuple(self.equalities[text] for text, truth in sorted(path) if truth and text in self.equalities)
        if index and frame.call_site is not None and signs.ATTENTION_CALL.search(frame.qualname.rpartition(".")[2]):
            site.called_at, site.called_from = frame.call_site, stack[index - 1].qualname
        self.records.append(site)
        return site

    def _names_in_scope(self, frame: Frame) -> dict[str, Value]:
        """Numbers that a fix could name: locals, and attributes of the object."""
        names: dict[str, Value] = {}
        for name, value in frame.locals.items():
            if isinstance(value, (Scalar, Argument, Tensor)):
                names[name] = value
        first = self.parameters_of(frame.function)[:1] if frame.function is not None else []
        if isinstance(frame.receiver, Instance) and first:
            for name, value in frame.receiver.attributes.items():
                if isinstance(value, (Scalar, Argument)):
                    names[f"{first[0]}.{name}"] = value
        return names

    def learn_rank(self, tensor: Tensor, shape: shapes.Shape) -> None:
        """A permute of all axes tells the rank of the tensor, wherever it is held."""
        if self.frames:
            self._learn_rank(tensor, shape)


def _never(engine: Any, call: Call) -> Value:
    raise AssertionError("a kernel's row is only bound")


from fractions import Fraction  # noqa: E402

_MINUS_HALF = Fraction(-1, 2)

# what kernels call their parameters
_KERNEL_NAMES = {
    "q": "query",
    "k": "key",
    "v": "value",
    "softmax_scale": "scale",
    "sm_scale": "scale",
    "causal": "is_causal",
    "attn_bias": "attn_mask",
    "p": "dropout_p",
    "mask": "attn_mask",
}

Interpreter._dispatch = {
    getattr(cst, name.removeprefix("_eval_")): getattr(Interpreter, name)
    for name in dir(Interpreter)
    if name.startswith("_eval_") and hasattr(cst, name.removeprefix("_eval_"))
}

__all__ = ["Bool", "Interpreter", "Origin", "Sum"]
