"""Expressions: expression nodes to abstract values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

from attnlint.domain.algebra import AXIS, CONFIG, OPAQUE, PARAMETER, Monomial, Symbol, subtract
from attnlint.domain.axes import OPEN_CUT, rank_symbol
from attnlint.domain.heap import Part, some_piece
from attnlint.domain.journal import MISSING
from attnlint.domain.shapes import axis_of, materialise, select, with_rank
from attnlint.domain.values import (
    EMPTY_PATH,
    IN_PART,
    NONE,
    Argument,
    Bool,
    Bound,
    BoundMethod,
    Choice,
    ClassValue,
    Condition,
    External,
    Flag,
    Function,
    Instance,
    Items,
    Layer,
    Leaf,
    Mapping,
    NoneValue,
    Partial,
    Path,
    Rest,
    Scalar,
    ShapeOf,
    Super,
    Tensor,
    Text,
    Unknown,
    Value,
    combine_paths,
    options_of,
)
from attnlint.domain.values import (
    Sequence as SequenceValue,
)
from attnlint.evaluate import arithmetic, sharing
from attnlint.evaluate.powers import called
from attnlint.evaluate.state import Engine
from attnlint.evaluate.tensors import identity_of
from attnlint.evidence import polarity
from attnlint.evidence.signs import counts_heads
from attnlint.syntax import nodes as cst

EACH_PLACE = "each place"  # the name of an index that goes through all sizes of a shape
MAX_UNROLLED = 16  # items of a known sequence that a comprehension or loop visits one by one

# tests that become a condition, and whether they hold where the condition does
_TESTS: dict[type[cst.BaseCompOp], tuple[str, bool]] = {
    cst.Is: ("is", True),
    cst.IsNot: ("is", False),
    cst.Equal: ("==", True),
    cst.NotEqual: ("==", False),
    cst.In: ("in", True),
    cst.NotIn: ("in", False),
}
_BINARY = {
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "FloorDivide": "//",
    "Modulo": "%",
    "Power": "**",
    "MatrixMultiply": "@",
    "BitAnd": "&",
    "BitOr": "|",
    "BitXor": "^",
    "LeftShift": "<<",
    "RightShift": ">>",
}

_TESTED_NAMES = re.compile(r"(?<![\w.])(?:self\.)?[^\W\d]\w*")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
# calls that give another answer each time
_ANOTHER_EACH_TIME = re.compile(
    r"\b(rand\w*|next|pop|popleft|time|perf_counter|input|choice|bernoulli|uniform|getrandbits|read|recv|get_nowait)\("
)
_LARGEST = 3.4028234663852886e38
_NUMERIC = frozenset(
    {"torch", "numpy", "math", "jax.numpy", "mlx.core", "paddle", "tensorflow.experimental.numpy", "sys", "sys.float_info", "cupy"}
)
_INFINITIES = {"inf": math.inf, "Inf": math.inf, "infty": math.inf, "PINF": math.inf, "NINF": -math.inf, "maxsize": 2.0**63, "max": 1.7e308}
_TENSOR_ATTRIBUTES = frozenset({"shape", "T", "mT", "H", "mH", "dtype", "device", "ndim", "requires_grad", "is_cuda"})


class Expressions(Engine):
    """Evaluation of expressions. Each `_eval_X` handles the node class X."""

    _dispatch: dict[type, Callable[[Any, Any], Value]]

    def evaluate(self, node: cst.CSTNode) -> Value:
        self.step()
        handler = self._dispatch.get(type(node))
        if handler is None:
            return Unknown(f"{type(node).__name__} is not interpreted")
        return handler(self, node)

    # --- literals

    def _eval_Integer(self, node: cst.Integer) -> Value:
        try:
            number = float(node.evaluated_value)
        except OverflowError:
            return Unknown("a number out of range")
        return Scalar(Monomial.number(number), self.origin(node), written_one=number == 1)

    def _eval_Float(self, node: cst.Float) -> Value:
        number = node.evaluated_value
        return Scalar(Monomial.number(number), self.origin(node), written_one=number == 1)

    def _eval_SimpleString(self, node: cst.SimpleString) -> Value:
        value = node.evaluated_value
        return Text(value) if isinstance(value, str) else Unknown("bytes")

    def _eval_FormattedString(self, node: cst.FormattedString) -> Value:
        """An equation put together: `f"b h i d, {keys} -> b h i j"`."""
        held = [part for part in node.parts if isinstance(part, cst.FormattedStringExpression)]
        if not all(part.plain for part in held):
            return Unknown("a formatted string")

        def join(*values: Value) -> Value:
            found = iter(values)
            texts: list[str] = []
            for part in node.parts:
                value = next(found) if isinstance(part, cst.FormattedStringExpression) else None
                if value is None:
                    texts.append(part.value if isinstance(part, cst.FormattedStringText) else "")
                elif isinstance(value, Text):
                    texts.append(value.value)
                elif isinstance(value, Scalar) and value.value.is_number:
                    texts.append(str(value.value))
                else:
                    return Unknown("a formatted string")
            return Text("".join(texts))

        return self.distribute([self.evaluate(part.expression) for part in held], join)

    def _eval_Ellipsis(self, node: cst.Ellipsis) -> Value:
        return External("builtins.Ellipsis")

    # --- names

    def _eval_Name(self, node: cst.Name) -> Value:
        return self.lookup(node.value, node)

    def lookup(self, name: str, node: cst.CSTNode | None = None) -> Value:
        """The value of a name: locals, closures, globals of the module, builtins."""
        frame = self.frame
        found = self.raw(name)
        if found is not None:
            return sharing.current(self, self.narrow(found))
        if name == "None":
            return NONE
        if name in ("True", "False"):
            return Bool(name == "True")
        module_frame = self.module_frame
        if module_frame is not None and module_frame.scope is frame.scope and (found := module_frame.locals.get(name)) is not None:
            return sharing.current(self, self.narrow(found))
        found = self.global_value(frame.scope, name)
        if found is not None:
            return self.narrow(found)
        if counts_heads(name):
            return Argument(
                name, f"{frame.scope.path}:{name}", OPAQUE, reason=f"`{name}` is not defined in {frame.scope.path.rpartition('/')[2]}"
            )
        return External(f"builtins.{name}")

    def raw(self, name: str) -> Value | None:
        """What a local name, or one of an enclosing function, is bound to."""
        frame = self.frame
        if name in frame.globals:
            return None
        found = frame.locals.get(name)
        return frame.closure.get(name) if found is None and frame.closure is not None else found

    def global_value(self, scope: Any, name: str) -> Value | None:
        raise NotImplementedError

    def bind(self, name: str, value: Value) -> None:
        raise NotImplementedError

    # --- containers

    def _items(self, elements: Sequence[cst.BaseElement], mutable: bool) -> Value:
        values = [sharing.held(self.evaluate(element.value)) for element in elements]
        values = [sharing.current(self, value) for value in values]
        starred = [index for index, element in enumerate(elements) if isinstance(element, cst.StarredElement)]
        spread = {index: self._spread(values[index]) for index in starred}
        if not any(spread[index] is None and isinstance(values[index], Choice) for index in starred):
            return self._gathered(values, spread, mutable)
        # how many there are differs between the paths
        return self.distribute(
            [values[index] for index in starred],
            lambda *chosen: self._gathered(values, dict(zip(starred, map(self._spread, chosen), strict=True)), mutable),
        )

    def _gathered(self, values: list[Value], spread: dict[int, list[Value] | None], mutable: bool) -> Value:
        """The items of a display, with those that are spread in their place."""
        items: list[Value] = []
        for index, value in enumerate(values):
            expanded = spread.get(index, [value])
            if expanded is None:
                return SequenceValue(Unknown("a starred sequence of unknown length"))
            items.extend(expanded)
        return Items(tuple(items), mutable)

    def _spread(self, value: Value) -> list[Value] | None:
        value = self.forced(value)
        if isinstance(value, Items):
            return list(value.items)
        if isinstance(value, ShapeOf):
            lead = value.tensor.shape.lead
            return [Rest(lead or "", 0), *(Scalar(axis.size) for axis in value.tensor.shape.axes)]
        if isinstance(value, Choice):
            spread = [(path, self._spread(option)) for path, option in value.options]
            known = [(path, items) for path, items in spread if items is not None]
            if len(known) == len(spread) and len({len(items) for _, items in known}) == 1:
                return [self.choose([(path, items[index]) for path, items in known]) for index in range(len(known[0][1]))]
        return None

    def _eval_Tuple(self, node: cst.Tuple) -> Value:
        return self._items(node.elements, False)

    def _eval_List(self, node: cst.List) -> Value:
        return self._items(node.elements, True)

    def _eval_Set(self, node: cst.Set) -> Value:
        return self._items(node.elements, False)

    def _eval_Dict(self, node: cst.Dict) -> Value:
        items: dict[str, Value] = {}
        rest: Value | None = None
        for element in node.elements:
            value = sharing.held(self.evaluate(element.value))
            if isinstance(element, cst.StarredDictElement):
                if isinstance(value, Mapping):
                    items.update(value.items)
                    rest = rest or value.rest
                else:
                    rest = Unknown("a dictionary that is not followed")
            elif isinstance(element, cst.DictElement):
                key = self.evaluate(element.key)
                text = key_text(key)
                if text is None:
                    rest = value if rest is None else rest
                else:
                    items[text] = value
        return Mapping(items, rest)

    # --- operators

    def _eval_BinaryOperation(self, node: cst.BinaryOperation) -> Value:
        # a chain of ten thousand terms is a deep left spine: walk it without recursion
        spine = [node]
        while isinstance(spine[-1].left, cst.BinaryOperation):
            spine.append(spine[-1].left)
        value = self.evaluate(spine[-1].left)
        for operation in reversed(spine):
            right = self.evaluate(operation.right)
            self.step()
            value = self.binary(
                _BINARY.get(type(operation.operator).__name__, "?"), value, right, operation, operation.left, operation.right
            )
        return value

    def binary(
        self, operator: str, left: Value, right: Value, node: cst.CSTNode, left_node: cst.CSTNode | None, right_node: cst.CSTNode | None
    ) -> Value:
        left = sharing.current(self, left)
        return sharing.new(
            self.distribute((left, right), lambda a, b: arithmetic.binary(self, operator, a, b, node, left_node, right_node))
        )

    def _eval_UnaryOperation(self, node: cst.UnaryOperation) -> Value:
        value = self.evaluate(node.expression)
        if isinstance(node.operator, cst.Not):
            truth = self.truth(value)
            if truth is not None:
                return Bool(not truth)
            # a flag that is handed on
            if isinstance(value, (Argument, Unknown)) and isinstance(node.expression, (cst.Name, cst.Attribute)):
                when_true, when_false = self.conditions(node.expression)
                if (known := self.decided(when_true, when_false)) is not None:
                    return Bool(not known)
                return self.choose([(when_true, Bool(False)), (when_false, Bool(True))])
            return self._condition(node) if isinstance(node.expression, cst.BooleanOperation) else Unknown("a condition")
        if isinstance(node.operator, cst.Minus):
            return sharing.new(self.distribute((value,), lambda option: arithmetic.negate(self, option, node)))
        if isinstance(node.operator, cst.BitInvert):
            return self.distribute((value,), _inverted)
        return value

    def _eval_Comparison(self, node: cst.Comparison) -> Value:
        left = self.evaluate(node.left)
        if len(node.comparisons) != 1:
            for comparison in node.comparisons:
                self.evaluate(comparison.comparator)
            return Unknown("a condition")
        operator = node.comparisons[0].operator
        right = self.evaluate(node.comparisons[0].comparator)
        found = self.distribute((left, right), lambda a, b: arithmetic.compare(self, type(operator).__name__, a, b, node))
        undecided = any(isinstance(option, Unknown) for _, option in options_of(found))
        return self._condition(node) if undecided and type(operator) in _TESTS else found

    def _eval_BooleanOperation(self, node: cst.BooleanOperation) -> Value:
        spine = [node]
        while isinstance(spine[-1].left, cst.BooleanOperation):
            spine.append(spine[-1].left)
        left_node: cst.BaseExpression = spine[-1].left
        value = self.evaluate(left_node)
        for operation in reversed(spine):
            wants_true = isinstance(operation.operator, cst.Or)
            truth = self.truth(value)
            if truth is not None:
                if truth == wants_true:
                    continue
                value = self.evaluate(operation.right)
            else:
                when_true, when_false = self.conditions(operation.left)
                kept, other = (when_true, when_false) if wants_true else (when_false, when_true)
                if self.consistent(other):
                    right = self._perhaps(other, kept, operation.right)
                    if isinstance(value, Unknown) and isinstance(right, (Unknown, Bool)):
                        value = self._condition(operation)
                    else:
                        value = self.choose([(kept, value), (other, right)]) if self.consistent(kept) else right
        return value

    def _condition(self, node: cst.BaseExpression) -> Value:
        when_true, when_false = self.conditions(node)
        return Condition(f"the condition `{self.printed(node)}`", when_true, when_false)

    def _eval_IfExp(self, node: cst.IfExp) -> Value:
        test = self.evaluate(node.test)
        truth = self.truth(test)
        when_true, when_false = self.conditions(node.test)
        if truth is None:
            truth = self.decided(when_true, when_false)
        if truth is not None:
            return self.evaluate(node.body if truth else node.orelse)

        def given(branch: bool, chosen: cst.BaseExpression) -> Callable[[], Value]:
            def run() -> Value:
                with self.given(node.test, branch):
                    return self.evaluate(chosen)

            return run

        return self.alternatives([(when_true, given(True, node.body)), (when_false, given(False, node.orelse))])

    def _perhaps(self, path: Path, otherwise: Path, node: cst.BaseExpression) -> Value:
        """An expression that is evaluated on a path alone."""
        found: list[Value] = []

        def run() -> Value:
            found.append(self.evaluate(node))
            return found[0]

        self.alternatives([(path, run), (otherwise, lambda: NONE)])
        return found[0]

    def _eval_NamedExpr(self, node: cst.NamedExpr) -> Value:
        value = sharing.held(self.evaluate(node.value))
        if isinstance(node.target, cst.Name):
            self.bind(node.target.value, value)
        return value

    def _eval_Await(self, node: cst.Await) -> Value:
        return self.evaluate(node.expression)

    def _eval_Yield(self, node: cst.Yield) -> Value:
        if isinstance(node.value, cst.From):
            self.frame.yields.append(self.item_of(self.evaluate(node.value.item)))
        elif node.value is not None:
            self.frame.yields.append(self.evaluate(node.value))
        return Unknown("what a generator is sent")

    # --- truth and conditions

    def truth(self, value: Value) -> bool | None:
        """Whether a condition holds, where that is certain."""
        if isinstance(value, Bool):
            return value.value
        if isinstance(value, NoneValue):
            return False
        if isinstance(value, Scalar) and value.value.is_number and value.default_of is None:
            return value.value.coefficient != 0
        if isinstance(value, Scalar) and any(exponent < 0 or exponent.denominator > 1 for _, exponent in value.value.powers):
            return True  # the root or the reciprocal of a size
        if isinstance(value, Text):
            return bool(value.value)
        if isinstance(value, (Instance, Layer, Function, ClassValue, BoundMethod)):
            return True
        if isinstance(value, Items):
            return bool(value.items)
        if isinstance(value, Choice):
            truths = {self.truth(option) for _, option in value.options}
            return truths.pop() if len(truths) == 1 else None
        return None

    def conditions(self, test: cst.BaseExpression) -> tuple[Path, Path]:
        """What is known where a test holds, and where it does not, as texts that compare between places."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            when_true, when_false = self.conditions(test.expression)
            return when_false, when_true
        if isinstance(test, cst.BooleanOperation):
            left, right = self.conditions(test.left), self.conditions(test.right)
            key = self.condition_stem(test)
            both = isinstance(test.operator, cst.And)
            parts = left[0] | right[0] if both else left[1] | right[1]
            self.refuted[key, not both] = (self._certain(parts),)
            certain, open_ = parts | {(key, both)}, frozenset({(key, not both)})
            return (certain, open_) if both else (open_, certain)
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            comparison = test.comparisons[0]
            asked = _TESTS.get(type(comparison.operator))
            if asked is not None:
                positive, wanted = asked
                texts = self._texts(comparison.comparator, positive)
                if texts is not None:
                    paths = self._words(test.left, texts, positive, comparison)
                    return paths if wanted else paths[::-1]
                key = f"{self.condition_stem(test.left)} {positive} {self.printed(comparison.comparator)}"
                if positive == "==":
                    self._note_equality(key, test.left, comparison.comparator)
                return frozenset({(key, wanted)}), frozenset({(key, not wanted)})
        held = self._tested(test)
        key = self.condition_stem(test)
        if isinstance(held, Choice) and any(isinstance(option, (Bool, Condition, Flag)) for _, option in held.options):
            return self._of_options(held, key)
        if isinstance(held, Condition):
            return held.when_true, held.when_false
        return frozenset({(key, True)}), frozenset({(key, False)})

    def _tested(self, test: cst.BaseExpression) -> Value | None:
        """What a name or an attribute of the object is bound to, where a test asks for it."""
        if isinstance(test, cst.Name):
            return self.raw(test.value)
        receiver = self.frame.receiver
        if (
            isinstance(test, cst.Attribute)
            and isinstance(test.value, cst.Name)
            and test.value.value == "self"
            and isinstance(receiver, Instance)
        ):
            return receiver.attributes.get(test.attr.value)
        return None

    def _of_options(self, held: Choice, key: str) -> tuple[Path, Path]:
        """`fused = a and b`, or set in one branch alone, and tested later: the paths on which it is set say what the test says."""
        when: dict[bool, list[Path]] = {True: [], False: []}
        open_ = False
        for path, option in held.options:
            truth = self.truth(option)
            asked = None if truth is not None else self._conditions_of(option)
            open_ = open_ or (truth is None and asked is None)
            if truth is not None:
                when[truth].append(path)
            elif asked is not None:
                for truth, more in zip((True, False), asked, strict=True):
                    if (both := combine_paths(path, more)) is not None:
                        when[truth].append(both)
        if not open_ and len(when[True]) == 1 and len(when[False]) == 1:
            return when[True][0], when[False][0]
        # each way of being false rules out that it is true
        result = []
        for truth in (True, False):
            self.refuted[key, truth] = tuple(path for path in when[not truth] if path)
            single = when[truth][0] if len(when[truth]) == 1 and not open_ else EMPTY_PATH
            result.append(single | {(key, truth)})
        return result[0], result[1]

    def _conditions_of(self, value: Value) -> tuple[Path, Path] | None:
        """What is known where a value is true, and where it is not: of one that is made of conditions, or known by a name."""
        if isinstance(value, Condition):
            return value.when_true, value.when_false
        if not isinstance(value, (Flag, Argument)):
            return None
        name = value.name if isinstance(value, Argument) else value.key.partition("\x00")[0]
        key = self.stem_of(self.identity(value), name)
        return frozenset({(key, True)}), frozenset({(key, False)})

    def _texts(self, node: cst.BaseExpression, operator: str) -> list[str] | None:
        """The word that something is compared with, or those that it is asked to be one of."""
        if operator == "==" and isinstance(node, cst.SimpleString):
            elements: list[cst.BaseExpression] = [node]
        elif operator == "in" and isinstance(node, (cst.List, cst.Tuple, cst.Set)):
            elements = [element.value for element in node.elements]
        else:
            return None
        words = [word.evaluated_value for word in elements if isinstance(word, cst.SimpleString)]
        texts = [word for word in words if isinstance(word, str)]  # and no bytes
        return texts if len(texts) == len(elements) and texts else None

    def _words(self, left: cst.BaseExpression, texts: list[str], operator: str, comparison: cst.ComparisonTarget) -> tuple[Path, Path]:
        """What a test for one of some words says of what the name holds now, which may differ between paths."""
        return self.one_of_words(self._tested(left), self.condition_stem(left), texts, self.printed(comparison.comparator), operator)

    def pattern_words(self, pattern: cst.MatchPattern) -> list[str] | None:
        """The words that a pattern names."""
        patterns = pattern.patterns if isinstance(pattern, cst.MatchOr) else [pattern]
        words = [
            one.value.evaluated_value for one in patterns if isinstance(one, cst.MatchValue) and isinstance(one.value, cst.SimpleString)
        ]
        texts = [word for word in words if isinstance(word, str)]
        return texts if len(texts) == len(patterns) and texts else None

    def one_of_words(self, held: Value | None, stem: str, texts: list[str], printed: str, operator: str = "in") -> tuple[Path, Path]:
        """What it says that something is one of some words, and that it is none."""
        whole = self._one_of(stem, texts, operator, printed)
        if not isinstance(held, Choice):
            return whole
        open_ = [(path, option) for path, option in held.options if isinstance(option, Argument)]
        certain = {option.value in texts for _, option in held.options if isinstance(option, Text)}
        if len(open_) != 1 or any(not isinstance(option, (Argument, Text)) for _, option in held.options):
            return whole
        ((path, option),) = open_
        found = []
        of_option = self.stem_of(self.identity(option), option.name)
        for truth, told in zip((True, False), self._one_of(of_option, texts, operator, printed), strict=True):
            ((key, _),) = whole[1] if operator == "==" or len(texts) == 1 else ((f"{stem} in {printed}", truth),)
            self.refuted[key, not truth] = (path | self._certain(told),)
            found.append(frozenset({(key, truth)}) if truth in certain else path | told | {(key, truth)})
        return found[0], found[1]

    def _one_of(self, stem: str, texts: list[str], operator: str, printed: str) -> tuple[Path, Path]:
        """`x == "a"` and `x in ("a", "b")`: x is none of the other words that it is compared with elsewhere."""
        compared = self.compared.setdefault(stem, [])
        compared += [text for text in dict.fromkeys(texts) if text not in compared]
        others = frozenset((f'{stem} == "{text}"', False) for text in compared if text not in texts)
        none = frozenset((f'{stem} == "{text}"', False) for text in texts)
        if operator == "==" or len(texts) == 1:
            ((key, _),) = none
            return others | {(key, True)}, none
        key = f"{stem} in {printed}"
        self.refuted[key, True] = (none,)
        return others | {(key, True)}, none | {(key, False)}

    @contextmanager
    def given(self, test: cst.BaseExpression, branch: bool) -> Iterator[None]:
        """Evaluate a branch that a parameter's default does not lead to: there the parameter is something else."""
        held = self.frame.locals
        before = {name: held[name] for name in self._refuted_defaults(test, branch)}
        for name in before:
            text = f"{name} that is given"
            held[name] = Scalar(Monomial.of(Symbol(f"{self.frame.context}:{text}", name, PARAMETER)))
        after = {name: held[name] for name in before}
        yield
        for name, value in before.items():
            if self.frame.locals.get(name) is after[name]:
                self.frame.locals[name] = value

    def _refuted_defaults(self, test: cst.BaseExpression, branch: bool) -> list[str]:
        """The names that still hold their default, a number that sends the test the other way."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self._refuted_defaults(test.expression, not branch)
        if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And) is branch:
            return [*self._refuted_defaults(test.left, branch), *self._refuted_defaults(test.right, branch)]
        if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or not isinstance(test.left, cst.Name):
            return []
        name, comparison = test.left.value, test.comparisons[0]
        held = self.frame.locals.get(name)
        if not (isinstance(held, Scalar) and held.default_of and isinstance(comparison.comparator, (cst.Integer, cst.Float))):
            return []
        plain = Scalar(held.value)
        truth = self.truth(arithmetic.compare(self, type(comparison.operator).__name__, plain, self.evaluate(comparison.comparator), test))
        return [name] if truth is not None and truth is not branch else []

    def _certain(self, path: Path) -> Path:
        """Without the tests that are made of several: they are ruled out by what they are made of."""
        return frozenset((text, truth) for text, truth in path if (text, not truth) not in self.refuted)

    def _note_equality(self, key: str, left: cst.BaseExpression, right: cst.BaseExpression) -> None:
        """`if self.rotary_dim == self.head_dim`: two sizes that are one where the test holds."""
        if not all(isinstance(side, (cst.Name, cst.Attribute)) for side in (left, right)):
            return
        pair = [self.as_scalar(value) for side in (left, right) if isinstance(value := self.evaluate(side), (Scalar, Argument))]
        if len(pair) == 2 and all(one is not None and one.value.symbols for one in pair):
            self.equalities[key] = (pair[0].value, pair[1].value)  # type: ignore[union-attr]

    def printed(self, node: cst.CSTNode) -> str:
        return " ".join(self.code(node).split())

    def condition_stem(self, node: cst.CSTNode) -> str:
        """What is tested, by what the names in it hold: the same of `causal` and `self.causal`, another one once a name is bound anew."""
        text = self.printed(node)
        held = self._tested(node) if isinstance(node, (cst.Name, cst.Attribute)) else None
        if held is not None:
            return self.stem_of(self.identity(held), text)
        parts = [text]
        for found in dict.fromkeys(_TESTED_NAMES.findall(_QUOTED.sub("''", text))):
            value = self.raw(found) if "." not in found else None
            receiver = self.frame.receiver
            if found.startswith("self.") and isinstance(receiver, Instance):
                attribute = found.partition(".")[2]
                value = receiver.attributes.get(attribute)
                parts.append(f"{receiver.key}.{attribute}")
            if value is not None:
                parts.append(self.identity(value))
        if _ANOTHER_EACH_TIME.search(text):
            parts.append(self.fresh("asked"))
        return self.stem_of("|".join(parts), text)

    def stem_of(self, identity: str, text: str) -> str:
        """A condition's key: how it is written where it is met first, and what tells it apart."""
        return self.stems.setdefault(identity, f"{text}\x00{identity}")

    def identity(self, value: Value) -> str:
        """What tells the value of a test from others: two that are equal for certain have the same."""
        if isinstance(value, (Argument, Layer, Instance)):
            return f"key {value.key}"
        if isinstance(value, Flag):
            return f"key {value.key.partition(chr(0))[2]}"
        if isinstance(value, Tensor) and isinstance(value.content, Leaf):
            return f"key {value.content.key}"
        if isinstance(value, Scalar):
            return f"number {value.value.coefficient} {[(symbol.key, str(power)) for symbol, power in value.value.powers]}"
        if isinstance(value, (Bool, Text)):
            return repr(value)
        if isinstance(value, External):
            return f"external {value.name}"
        if isinstance(value, Tensor):
            return f"tensor {self.number_of(value.content)}"
        return f"value {self.number_of(value)}"

    # --- attributes

    def _eval_Attribute(self, node: cst.Attribute) -> Value:
        value = self.evaluate(node.value)
        if node.attr.value in ("min", "max") and _is_extreme(node.value):
            return Scalar(Monomial.number(_LARGEST if node.attr.value == "max" else -_LARGEST), self.origin(node))
        return self.attribute(value, node.attr.value, node)

    def attribute(self, value: Value, name: str, node: cst.CSTNode | None) -> Value:
        return self.distribute((value,), lambda option: self._attribute(option, name, node))

    def object_key(self, value: Value) -> str | None:
        """What tells an object apart whose attributes are written, where it is no object of the tree."""
        if isinstance(value, (Argument, Layer)):
            return value.key
        if isinstance(value, External):
            return f"external {value.name}"
        if isinstance(value, ClassValue):
            return f"class {value.scope.path}:{value.qualname}"
        return f"function {self.number_of(value.node)}" if isinstance(value, Function) else None

    def _attribute(self, value: Value, name: str, node: cst.CSTNode | None) -> Value:
        if self.written and (key := self.object_key(value)) is not None and (found := self.written.get((key, name))) is not None:
            return sharing.current(self, self.narrow(found))
        if isinstance(value, Instance):
            return self.instance_attribute(value, name, node)
        if isinstance(value, Tensor):
            return self._tensor_attribute(value, name, node)
        if isinstance(value, Argument):
            if value.kind != CONFIG or value.hint == "tensor":
                wants_tensor = name in _TENSOR_ATTRIBUTES or self._is_method(name, node)
                if wants_tensor and value.hint != "scalar":
                    tensor = self.as_tensor(value)
                    if tensor is not None:
                        return self._tensor_attribute(tensor, name, node)
            if value.kind == CONFIG and (
                name in _TENSOR_ATTRIBUTES or (self._is_method(name, node) and name not in ("get", "pop", "update"))
            ):
                tensor = self.as_tensor(value)
                if tensor is not None:
                    return self._tensor_attribute(tensor, name, node)
            return self.member(value, name, f"{value.name}.{name}")
        if isinstance(value, External):
            infinity = _INFINITIES.get(name) if value.name in _NUMERIC else None
            return External(f"{value.name}.{name}") if infinity is None else Scalar(Monomial.number(infinity), self.origin(node))
        if isinstance(value, ClassValue):
            return self.class_attribute(value, name, node)
        if isinstance(value, Super):
            return self.super_attribute(value, name, node)
        if isinstance(value, Layer):
            return self.layer_attribute(value, name, node)
        if isinstance(value, Mapping):
            if name in value.items:
                return value.items[name]
            return Bound(value, name)
        if isinstance(value, Items) and len(value.items) == 2 and name in ("values", "indices"):  # what max and topk return
            return value.items[name == "indices"]
        if isinstance(value, (Items, SequenceValue, Text, ShapeOf)):
            return Bound(value, name)
        if isinstance(value, Scalar):
            return value if name == "value" else Bound(value, name)  # a size of TensorFlow 1 holds its number
        if isinstance(value, Function) and name == "__name__":
            return Text(value.qualname.rpartition(".")[2])
        if isinstance(value, Partial) and name == "func":
            return value.function
        if isinstance(value, Unknown):
            if self.is_tensor_method(name) or name in _TENSOR_ATTRIBUTES:
                return self._tensor_attribute(self.opaque_tensor(value.reason, node=node), name, node)
            return Unknown(value.reason)
        special = self.other_attribute(value, name, node)
        return special if special is not None else Unknown(f"attribute {name} of {type(value).__name__}")

    def _is_method(self, name: str, node: cst.CSTNode | None) -> bool:
        """Whether an attribute is a method of tensors that is called here, or a property: `config.dim` is neither."""
        return self.is_tensor_method(name) and (node is None or id(node) in self.called or self.is_tensor_property(name))

    def is_tensor_property(self, name: str) -> bool:
        raise NotImplementedError

    def member(self, value: Argument, name: str, printed: str) -> Argument:
        """An attribute of something that was handed in: a setting of a configuration object."""
        printed = printed.removeprefix("self.")
        return Argument(printed, f"config:{printed}", CONFIG if value.kind != OPAQUE else OPAQUE, reason=value.reason)

    def _tensor_attribute(self, value: Tensor, name: str, node: cst.CSTNode | None) -> Value:
        if name == "shape":
            return self.shape_value(value)
        if name in ("dtype", "device", "requires_grad", "is_cuda", "itemsize", "layout"):
            return External(f"tensor.{name}")
        if name in ("ndim",):
            rank = value.shape.rank
            return Scalar(Monomial.number(rank)) if rank is not None else Unknown("the rank of a tensor")
        result = self.tensor_property(value, name, node)
        return result if result is not None else Bound(value, name)

    def shape_value(self, value: Tensor) -> Value:
        if value.shape.rank is None:
            return ShapeOf(value)
        return Items(tuple(Scalar(axis.size) for axis in value.shape.axes))

    # hooks of the other parts

    def is_tensor_method(self, name: str) -> bool:
        raise NotImplementedError

    def tensor_property(self, value: Tensor, name: str, node: cst.CSTNode | None) -> Value | None:
        raise NotImplementedError

    def layer_attribute(self, value: Layer, name: str, node: cst.CSTNode | None) -> Value:
        raise NotImplementedError

    def instance_attribute(self, value: Instance, name: str, node: cst.CSTNode | None) -> Value:
        raise NotImplementedError

    def class_attribute(self, value: ClassValue, name: str, node: cst.CSTNode | None) -> Value:
        raise NotImplementedError

    def super_attribute(self, value: Super, name: str, node: cst.CSTNode | None) -> Value:
        raise NotImplementedError

    def other_attribute(self, value: Value, name: str, node: cst.CSTNode | None) -> Value | None:
        return None

    # --- subscripts

    def _eval_Subscript(self, node: cst.Subscript) -> Value:
        value = self.evaluate(node.value)
        return self.distribute((value,), lambda option: self._subscript(option, node))

    def _subscript(self, value: Value, node: cst.Subscript) -> Value:
        match node.value:
            case cst.Attribute(attr=cst.Name(value="at")) if isinstance(value, Tensor):
                return value.but(notes=value.notes | {IN_PART})  # `x.at[i].set(y)` is all of x
        elements = node.slice
        if isinstance(value, External):
            if value.name.startswith("builtins.") or value.name.partition(".")[0] in ("typing", "collections", "jaxtyping"):
                return value
            return self.external_item(value, node)
        single = elements[0].slice if len(elements) == 1 else None
        if isinstance(value, (ShapeOf, Items)) and isinstance(single, cst.Slice):
            return self._slice(value, single)
        if isinstance(single, cst.Index) and not isinstance(single.value, (cst.Tuple, cst.Ellipsis)):
            index = self.evaluate(single.value)
            if isinstance(index, Choice):
                return self.distribute((index,), lambda option: self.item(value, option, node))
            found = self.item(value, index, node)
            if found is not None and not (isinstance(found, Unknown) and isinstance(value, (Tensor, Argument))):
                return found
        tensor = self.as_tensor(value) if isinstance(value, (Tensor, Argument, Unknown)) else None
        if tensor is not None and not (isinstance(value, Argument) and value.kind == CONFIG and isinstance(single, cst.Index)):
            indices: list[Any] = []
            for element in elements:
                part = element.slice
                if isinstance(part, cst.Index) and isinstance(part.value, cst.Tuple):
                    indices += [cst.Index(inner.place, inner.value) for inner in part.value.elements]
                else:
                    indices.append(part)
            return self._cut(tensor, self._index_tensor(tensor, indices, node), indices)
        if isinstance(value, SequenceValue):
            return value.item if isinstance(single, cst.Index) else value
        if isinstance(value, Argument):
            return Argument(f"{value.name}[…]", f"{value.key}[{self.code(node)}]", value.kind)
        return Unknown("an item that is not followed")

    def external_item(self, value: External, node: cst.Subscript) -> Value:
        return Unknown(f"an item of {value.name}")

    def item(self, value: Value, index: Value, node: cst.CSTNode) -> Value:
        """`value[index]` for one plain index."""
        if isinstance(value, (Argument, Unknown, SequenceValue)) or (isinstance(value, Mapping) and value.rest is not None):
            self.risks += 1
        number = whole_number(index)
        if isinstance(value, Items):
            if number is not None:
                if any(isinstance(item, Rest) for item in value.items[: number + 1 if number >= 0 else None]) and number >= 0:
                    return Scalar(self.opaque_symbol(node))
                try:
                    found = value.items[number]
                except IndexError:
                    self.raises("IndexError")
                    return Unknown("an index out of range")
                return Scalar(self.opaque_symbol(node)) if isinstance(found, Rest) else found
            if not value.items:
                return Unknown("an item of an empty list")
            return self._one_item(index, node, [(str(i), item) for i, item in enumerate(value.items)])
        if isinstance(value, ShapeOf):
            if number is None and isinstance(index, Scalar):
                behind = subtract(index.value, rank_symbol(value.tensor.shape))
                number = int(behind.coefficient) if behind.is_number and behind.coefficient < 0 else None
            if number is not None:
                place = axis_of(value.tensor.shape, number)
                if place is not None:
                    return Scalar(place[1].size, self.origin(node))
            return self.size_at(value, index) or Scalar(self.opaque_symbol(node))
        if isinstance(value, SequenceValue):
            return self.one_of(value, node)
        if isinstance(value, Mapping):
            text = key_text(index)
            if text is not None and text in value.items:
                return value.items[text]
            if value.rest is not None:
                return value.rest
            if text is None and value.items:
                return self._one_item(index, node, list(value.items.items()))
            if text is not None:
                self.raises("KeyError")
            return Unknown("an item of a dictionary that is not followed")
        if isinstance(value, Tensor):
            if number is not None and not isinstance(index, Tensor):
                return self._piece(value, self._select(value, 0), _first_axis(value), number)
            return Unknown("an index of a tensor")
        if isinstance(value, Argument):
            text = key_text(index)
            if isinstance(index, Text) and text is not None:
                return self.member(value, text, f"{value.name}.{text}")
            if value.hint == "tensor" and number is not None:
                tensor = self.as_tensor(value)
                return self.piece_at(tensor, number) if tensor is not None else Unknown("an item")
            if number is not None:
                return Argument(f"{value.name}[{number}]", f"{value.key}[{number}]", value.kind, hint=value.hint)
            return Unknown("an item")
        if isinstance(value, Instance):
            method = self.instance_attribute(value, "__getitem__", node)
            if isinstance(method, BoundMethod):
                return self.call(method, [index], {}, node)
            return Unknown("an item of an object")
        if isinstance(value, Layer):
            return self.layer_item(value, index, node)
        if isinstance(value, Unknown):
            return value
        return Unknown("an item that is not followed")

    def _one_item(self, index: Value, node: cst.CSTNode, items: list[tuple[str, Value]]) -> Value:
        """An item at a place that is not known: on exclusive paths each of them."""
        stem = self.stem_of(f"index {self.identity(index)}", self.printed(node))
        keys = [f"{stem} == {place}" for place, _ in items]
        paths = [frozenset((key, key == own) for key in keys[:8]) for own in keys[:8]]
        return self.choose([(path, item) for path, (_, item) in zip(paths, items, strict=False)])

    def raises(self, name: str) -> None:
        """What is evaluated raises an exception for certain, which the code may catch."""
        raise NotImplementedError

    def layer_item(self, value: Layer, index: Value, node: cst.CSTNode) -> Value:
        return Unknown("an item of a layer")

    def _slice(self, value: Value, part: cst.Slice) -> Value:
        lower = whole_number(self.evaluate(part.lower)) if part.lower is not None else None
        upper = whole_number(self.evaluate(part.upper)) if part.upper is not None else None
        if (part.lower is not None and lower is None) or (part.upper is not None and upper is None) or part.step is not None:
            return SequenceValue(Unknown("a slice of unknown length"))
        if isinstance(value, Items):
            return Items(value.items[lower:upper], value.mutable)
        assert isinstance(value, ShapeOf)
        shape = value.tensor.shape
        if lower is not None and lower < 0:
            deep = materialise(shape, -lower)
            axes = (
                deep.axes[len(deep.axes) + lower :]
                if upper is None
                else deep.axes[len(deep.axes) + lower : len(deep.axes) + upper]
                if upper < 0
                else None
            )
            return Items(tuple(Scalar(axis.size) for axis in axes)) if axes is not None else SequenceValue(Unknown("a slice of a shape"))
        if lower in (None, 0):
            if upper is None:
                return value
            if upper < 0:
                deep = materialise(shape, -upper)
                known = deep.axes[: len(deep.axes) + upper]
                return Items((Rest(deep.lead or "", 0), *(Scalar(axis.size) for axis in known)))
            return Items(tuple(self.item(value, Scalar(Monomial.number(i)), part) for i in range(upper)))
        if upper is not None and upper < 0:
            deep = materialise(shape, -upper)
            return Items((Rest((deep.lead or "") + f"[{lower}:]", 0), *(Scalar(axis.size) for axis in deep.axes[: len(deep.axes) + upper])))
        return SequenceValue(Unknown("a slice of a shape"))

    def _select(self, tensor: Tensor, index: int) -> Value:
        if tensor.shape.lead is not None:  # an unknown rank stays unknown, and the trailing axes stay where they are
            return tensor
        shape = select(tensor.shape, index)
        return tensor.but(shape=shape if shape is not None else self._unknown_shape(tensor))

    def piece_at(self, tensor: Tensor, number: int) -> Value:
        """The item of a tensor at a place, apart from the others where it is handed in or not followed."""
        return self._piece(tensor, self.one_apart(self._select(tensor, 0), number), _first_axis(tensor), number)

    def _piece(self, whole: Tensor, found: Value, cut: str, number: int) -> Value:
        """`x[2]`: a piece of x, which is apart from `x[1]`."""
        if not isinstance(found, Tensor) or whole.held is None:
            return found
        part = Part(cut, Monomial.number(number), Monomial.number(number + 1)) if number >= 0 else some_piece()
        return found.but(held=sharing.piece(whole.held, part))

    def _cut(self, whole: Tensor, found: Value, indices: list[Any]) -> Value:
        """Where `x[a:b, ..., c]` lies in x; a tensor as an index gives a copy."""
        if not isinstance(found, Tensor) or whole.held is None:
            return found
        ellipsis = next((i for i, part in enumerate(indices) if isinstance(part, cst.Index) and isinstance(part.value, cst.Ellipsis)), None)
        parts: list[Part] = []
        for position, part in enumerate(indices):
            if _is_new_axis(part) or position == ellipsis:
                continue
            place = position if ellipsis is None or position < ellipsis else position - len(indices)
            cut = f"axis {place} of {len(whole.shape.axes) if whole.shape.lead is None else whole.shape.lead}"
            if isinstance(part, cst.Slice):
                if part.lower is None and part.upper is None and part.step is None:
                    continue
                low, high = (self.as_scalar(self.evaluate(bound)) if bound is not None else None for bound in (part.lower, part.upper))
                ends = [one.value for one in (low, high) if one is not None]
                if part.step is not None or any(end.is_number and end.coefficient < 0 for end in ends):
                    parts.append(some_piece())
                else:
                    parts.append(Part(cut, low.value if low is not None else Monomial.number(0), high.value if high is not None else None))
                continue
            number = whole_number(index := self.evaluate(part.value))
            if number is None and not isinstance(index, Scalar):
                return sharing.new(found)
            known = number is not None and number >= 0
            parts.append(Part(cut, Monomial.number(number), Monomial.number(number + 1)) if known and number is not None else some_piece())
        return found.but(held=sharing.piece(whole.held, *parts))

    def _unknown_shape(self, tensor: Tensor) -> Any:
        from attnlint.domain.shapes import unknown

        return unknown(self.fresh(tensor.name or "t"))

    def _index_tensor(self, tensor: Tensor, indices: list[Any], node: cst.CSTNode) -> Value:
        """Basic and advanced indexing, from the left or, behind an ellipsis, from the right."""
        from attnlint.domain.shapes import Atom, Axis, Shape

        shape = tensor.shape
        history = (*tensor.history, origin) if (origin := self.origin(node)) else tensor.history
        position = 0
        least = False  # whether the rank is taken to be the least that the indices allow
        ellipsis = next((i for i, part in enumerate(indices) if isinstance(part, cst.Index) and isinstance(part.value, cst.Ellipsis)), None)
        consuming = [
            part
            for part in indices
            if not _is_new_axis(part) and not (isinstance(part, cst.Index) and isinstance(part.value, cst.Ellipsis))
        ]
        if shape.lead is not None:
            if ellipsis is None:
                if len(consuming) == 1 and isinstance(consuming[0], cst.Slice):
                    return tensor.but(history=history)  # x[a:b] of the first axis of an unknown rank
                least = len(consuming) >= max(3, len(shape.axes))
                shape = with_rank(shape, max(len(consuming), len(shape.axes))) if len(consuming) >= 3 else shape
                if shape.lead is not None:
                    new_axes = sum(1 for part in indices if _is_new_axis(part))
                    if new_axes or all(isinstance(part, cst.Slice) for part in consuming):
                        if (
                            all(isinstance(part, cst.Slice) and part.lower is None and part.upper is None for part in consuming)
                            and not new_axes
                        ):
                            return tensor.but(history=history)
                        shape = with_rank(shape, max(len(consuming), len(shape.axes)))
                        least = True
                    else:
                        return tensor.but(shape=shape if not shape.axes else self._unknown_shape(tensor), history=history)
            else:
                behind = [part for part in indices[ellipsis + 1 :] if not _is_new_axis(part)]
                shape = materialise(shape, len(behind))
        axes = list(shape.axes)
        rank = len(axes)
        if ellipsis is not None:
            before = [part for part in indices[:ellipsis] if not _is_new_axis(part)]
            behind_count = sum(1 for part in indices[ellipsis + 1 :] if not _is_new_axis(part))
            if shape.lead is not None and before:
                return tensor.but(shape=self._unknown_shape(tensor), history=history)
            skipped = rank - len(before) - behind_count
        else:
            skipped = 0
        result: list[Axis] = []
        masks = tensor.masks
        for part in indices:
            if isinstance(part, cst.Index) and isinstance(part.value, cst.Ellipsis):
                result.extend(axes[position : position + max(0, skipped)])
                position += max(0, skipped)
                continue
            if _is_new_axis(part):
                result.append(Axis(()))
                continue
            if position >= rank:
                return tensor.but(shape=self._unknown_shape(tensor), history=history)
            axis = axes[position]
            position += 1
            if isinstance(part, cst.Slice):
                if part.lower is None and part.upper is None and (part.step is None or whole_number(self.evaluate(part.step)) == -1):
                    result.append(axis)
                else:
                    result.append(self._sliced(axis, part, node, OPEN_CUT if least and position == rank else "slice"))
                continue
            index = self.evaluate(part.value)
            handed = isinstance(index, Argument) and index.hint == "tensor"
            if handed or isinstance(index, (Tensor, SequenceValue, Items, Unknown)):
                size = Monomial.of(Symbol(self.fresh("index"), "index", AXIS))
                result.append(Axis((Atom(size, self.fresh("index")),)))
        result.extend(axes[position:])
        return tensor.but(shape=Shape(tuple(result), shape.lead), masks=masks, history=history)

    def _sliced(self, axis: Any, part: cst.Slice, node: cst.CSTNode, key: str = "slice") -> Any:
        from attnlint.domain.shapes import Atom, Axis

        lower = self.as_scalar(self.evaluate(part.lower)) if part.lower is not None else None
        upper = self.as_scalar(self.evaluate(part.upper)) if part.upper is not None else None
        step = whole_number(self.evaluate(part.step)) if part.step is not None else 1
        size: Monomial | None = None
        low = lower.value if lower is not None else Monomial.number(0)
        if step is not None and step > 1 and low.is_number and 0 <= low.coefficient < step:
            low = Monomial.number(0)  # `x[1::2]` has as many entries as `x[::2]`, where they come in pairs
        if step is not None and step >= 1:
            if upper is None:
                size = subtract(axis.size, low) if not (low.is_number and low.coefficient < 0) else low * Monomial.number(-1)
            elif upper.value.is_number and upper.value.coefficient < 0:
                size = subtract(axis.size, low * Monomial.number(1) if low.is_number and low.coefficient == 0 else low)
                size = subtract(size, upper.value * Monomial.number(-1))
            else:
                size = subtract(upper.value, low) if not (low.is_number and low.coefficient == 0) else upper.value
            if size is not None and step > 1:
                size = size * Monomial.number(1 / step)
        if size is None or (size.is_number and size.coefficient <= 0) or math.isnan(size.coefficient):
            size = Monomial.of(Symbol(self.fresh("slice"), f"a slice of {axis.size}", OPAQUE))
        return Axis((Atom(size, self.fresh(key)),))

    # --- comprehensions and lambdas

    def _eval_ListComp(self, node: cst.ListComp) -> Value:
        return self._comprehension(node.elt, node.for_in, True)

    def _eval_GeneratorExp(self, node: cst.GeneratorExp) -> Value:
        return self._comprehension(node.elt, node.for_in, False)

    def _eval_SetComp(self, node: cst.SetComp) -> Value:
        return self._comprehension(node.elt, node.for_in, False)

    def _eval_DictComp(self, node: cst.DictComp) -> Value:
        collected: dict[str, Value] = {}
        rest: list[Value] = []

        def visit() -> None:
            key = key_text(self.evaluate(node.key))
            value = self.evaluate(node.value)
            if key is None:
                rest.append(value)
            else:
                collected[key] = value

        self._iterate(node.for_in, visit)
        return Mapping(collected, rest[0] if rest else None)

    def _comprehension(self, element: cst.BaseExpression, for_in: cst.CompFor, mutable: bool) -> Value:
        return self.distribute((self.evaluate(for_in.iter),), lambda iterable: self._collected(element, for_in, mutable, iterable))

    def _collected(self, element: cst.BaseExpression, for_in: cst.CompFor, mutable: bool, iterable: Value) -> Value:
        values: list[Value] = []
        exact = self._iterate(for_in, lambda: values.append(self.evaluate(element)), iterable)
        if exact:
            return Items(tuple(values), mutable)
        if len(values) == 1 and not for_in.ifs and (sizes := self._all_sizes(values[0])) is not None:
            return sizes
        return SequenceValue(values[0] if values else Unknown("an empty comprehension"))

    def _iterate(self, for_in: cst.CompFor, visit: Callable[[], None], iterable: Value | None = None) -> bool:
        """Run `visit` for every item of a comprehension; False where the items are not known one by one."""
        iterable = self.evaluate(for_in.iter) if iterable is None else iterable
        items = self.items_of(iterable)
        exact = items is not None and len(items) <= MAX_UNROLLED and not for_in.ifs
        saved = {name: self.frame.locals.get(name, MISSING) for name in _bound_by(for_in.target)}
        for item in items if exact and items is not None else [self.item_of(iterable)]:
            self.assign_target(for_in.target, item, None)
            for condition in for_in.ifs:
                self.evaluate(condition.test)
            if for_in.inner_for_in is not None:
                exact = self._iterate(for_in.inner_for_in, visit) and exact
            else:
                visit()
        for name, value in saved.items():
            self.frame.locals.put(name, value)
        return exact

    def items_of(self, value: Value) -> list[Value] | None:
        """The items of an iterable one by one, where they are known."""
        value = self.forced(value)
        if isinstance(value, Items) and not any(isinstance(item, Rest) for item in value.items):
            return list(value.items)
        if isinstance(value, Choice):
            return None
        if isinstance(value, Mapping) and value.rest is None:
            return [Text(key) for key in value.items]
        if isinstance(value, Tensor) and value.shape.lead is None and value.shape.axes:
            size = value.shape.axes[0].size
            if size.is_number and 1 <= size.coefficient <= 4:
                return [self._piece(value, self._select(value, 0), _first_axis(value), i) for i in range(int(size.coefficient))]
        if isinstance(value, Layer):
            return self.layer_items(value)
        return None

    def layer_items(self, value: Layer) -> list[Value] | None:
        return None

    def one_of(self, value: SequenceValue, node: cst.CSTNode | None) -> Value:
        """An item at some place of a sequence all of whose items look alike: a number that is not followed is another one at each place."""
        item = value.item
        if isinstance(item, Scalar) and any(symbol.kind == OPAQUE for symbol in item.value.symbols):
            return Scalar(self.opaque_symbol(node, None if node is not None else self.fresh("an item")))
        return item

    def one_apart(self, value: Value, place: int) -> Value:
        """An item of what is handed in, or not followed, apart from its other items: `keys, values = past` are two tensors."""
        if isinstance(value, Tensor) and isinstance(value.content, Leaf) and value.content.kind in ("argument", "opaque"):
            return value.but(content=replace(value.content, key=f"{value.content.key}[{place}]"))
        return value

    def size_at(self, value: ShapeOf, index: Value) -> Scalar | None:
        """`shape[i]` while all sizes are gone through: what stands for each of them."""
        symbols = index.value.symbols if isinstance(index, Scalar) else ()
        if len(symbols) != 1 or symbols[0].name != EACH_PLACE:
            return None
        shape = value.tensor.shape
        symbol = Symbol(f"size of {identity_of(value.tensor)}, {shape.lead}, {len(shape.axes)} at {symbols[0].key}", "a size", OPAQUE)
        self.each_size[symbol.key] = value
        return Scalar(Monomial.of(symbol))

    def _all_sizes(self, value: Value) -> Value | None:
        """The shape of which a comprehension collects every size, as it is known before the program runs or when it does."""
        found = [
            (path, self.each_size.get(option.value.symbols[0].key))
            for path, option in options_of(value)
            if isinstance(option, Scalar) and len(option.value.symbols) == 1
        ]
        shapes = [(path, shape) for path, shape in found if shape is not None]
        return self.choose(shapes) if len(shapes) == len(options_of(value)) else None

    def item_of(self, value: Value) -> Value:
        """One item that stands for all of an iterable."""
        value = self.forced(value)
        if isinstance(value, Choice):
            return self.distribute((value,), self.item_of)
        if isinstance(value, SequenceValue):
            return value.item
        if isinstance(value, Items):
            return value.items[0] if value.items else Unknown("an item of an empty sequence")
        if isinstance(value, Tensor):
            return self._piece(value, self._select(value, 0), "", -1)
        if isinstance(value, Argument):
            return Argument(f"{value.name}[i]", f"{value.key}[i]", value.kind, hint=value.hint, reason=value.reason)
        if isinstance(value, Layer):
            items = self.layer_items(value)
            return items[0] if items else Unknown("an item of a layer list")
        return Unknown(value.reason) if isinstance(value, Unknown) else Unknown("an item of what is iterated")

    def assign_target(self, target: cst.BaseExpression, value: Value, node: cst.CSTNode | None) -> None:
        raise NotImplementedError

    def _eval_Lambda(self, node: cst.Lambda) -> Value:
        frame = self.frame
        assert frame.unit is not None
        qualname = f"{frame.qualname}.<lambda>" if frame.qualname else "<lambda>"
        return Function(node, frame.scope, frame.unit, qualname, self.closure_of(frame), defaults=self.defaults_of(node))

    def defaults_of(self, node: cst.FunctionDef | cst.Lambda) -> dict[str, Value]:
        raise NotImplementedError

    def closure_of(self, frame: Any) -> dict[str, Value]:
        raise NotImplementedError

    def _eval_Call(self, node: cst.Call) -> Value:
        raise NotImplementedError


def _first_axis(tensor: Tensor) -> str:
    """What `x[i]` is cut along."""
    return f"axis 0 of {len(tensor.shape.axes) if tensor.shape.lead is None else tensor.shape.lead}"


def _bound_by(target: cst.BaseExpression) -> list[str]:
    """The names that an assignment to a target binds."""
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, cst.StarredElement):
        return _bound_by(target.value)
    return [name for element in target.elements for name in _bound_by(element.value)] if isinstance(target, (cst.Tuple, cst.List)) else []


def _is_new_axis(part: Any) -> bool:
    if not isinstance(part, cst.Index):
        return False
    value = part.value
    if isinstance(value, cst.Name):
        return value.value in ("None", "newaxis")
    return isinstance(value, cst.Attribute) and value.attr.value == "newaxis"


def whole_number(value: Value | None) -> int | None:
    """A plain integer, or None."""
    if (
        isinstance(value, Scalar)
        and value.value.is_number
        and math.isfinite(value.value.coefficient)
        and value.value.coefficient == int(value.value.coefficient)
    ):
        return int(value.value.coefficient)
    return None


def exponent_of(value: Scalar) -> Fraction | None:
    """A rational exponent, where the scalar is a plain number."""
    if not value.value.is_number or not math.isfinite(value.value.coefficient) or abs(value.value.coefficient) > 64:
        return None
    fraction = Fraction(value.value.coefficient).limit_denominator(64)
    return fraction if abs(float(fraction) - value.value.coefficient) < 1e-9 else None


def key_text(value: Value) -> str | None:
    if isinstance(value, Text):
        return value.value
    number = whole_number(value)
    return str(number) if number is not None else None


def _inverted(value: Value) -> Value:
    """`~mask`: the opposite mask."""
    return value.but(notes=polarity.flipped(value.notes)) if isinstance(value, Tensor) and value.notes & polarity.NOTES else value


def named(value: Value, name: str) -> Value:
    """A tensor remembers the name it was last given, for messages."""
    if isinstance(value, Tensor) and value.name != name:
        return value.but(name=name)
    if isinstance(value, Choice):
        return Choice(tuple((path, named(option, name)) for path, option in value.options))
    return value


__all__ = ["EMPTY_PATH", "PARAMETER", "Expressions", "exponent_of", "key_text", "named", "whole_number"]


def _is_extreme(node: cst.BaseExpression) -> bool:
    """`torch.finfo(x.dtype)`, `tf.float32`, `x.dtype`: what holds the least and the largest number of a type."""
    match node:
        case cst.Call():
            return called(node) in ("finfo", "iinfo")
        case cst.Attribute(attr=cst.Name(value=name)):
            return name in ("float16", "float32", "float64", "bfloat16", "dtype")
    return False
