"""The abstract values of the interpreter: what a name may hold while attention code is evaluated.

Every value is frozen. A tensor keeps its shape, the scale pulled out front as factors, and what lies behind: a leaf, a product
of two tensors, a sum of terms, or the weights of an attention site. `Choice` holds what differs between exclusive paths.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from attnlint.domain.algebra import ONE, Monomial
from attnlint.domain.heap import Cell, Effect, Held
from attnlint.domain.shapes import Axis, Shape

if TYPE_CHECKING:
    from attnlint.domain.journal import Places
    from attnlint.domain.record import SiteRecord
    from attnlint.syntax import nodes as cst
    from attnlint.syntax.scope import ModuleScope, Unit

Path = frozenset[tuple[str, bool]]  # conditions that hold, by their text
EMPTY_PATH: Path = frozenset()


@dataclass(frozen=True, eq=False)
class Origin:
    """The node a value comes from, and the unit of text that holds it."""

    unit: Unit
    node: cst.CSTNode


class Value:
    """Base of all abstract values."""


@dataclass(frozen=True, eq=False)
class Unknown(Value):
    """A value that could not be followed, and why."""

    reason: str


@dataclass(frozen=True, eq=False)
class Flag(Unknown):
    """A boolean that the caller chooses: a test of it is one condition, in whatever function it is handed on to."""

    key: str = ""


@dataclass(frozen=True, eq=False)
class Condition(Unknown):
    """A boolean made of several: what a test of it says of each, in whatever function it is handed on to."""

    when_true: Path = EMPTY_PATH
    when_false: Path = EMPTY_PATH


@dataclass(frozen=True)
class NoneValue(Value):
    pass


@dataclass(frozen=True)
class Bool(Value):
    value: bool


@dataclass(frozen=True)
class Text(Value):
    value: str


@dataclass(frozen=True, eq=False)
class Scalar(Value):
    """A number or dimension: a monomial, and the expression that made it."""

    value: Monomial
    origin: Origin | None = None
    default_of: str | None = None  # the parameter whose default this number is
    written_one: bool = False  # a factor that is spelled out as 1


HANDED_ON = "it is handed on in a mapping that is not followed"


@dataclass(frozen=True, eq=False)
class Argument(Value):
    """A parameter, or an attribute of one, that nobody has typed yet: it becomes a scalar or a tensor by its use."""

    name: str  # as messages print it: `hidden_size`, `config.head_dim`
    key: str  # identity
    kind: str  # algebra.PARAMETER, CONFIG or OPAQUE
    hint: str | None = None  # "tensor" | "scalar" | None
    default: Value | None = None
    origin: Origin | None = None
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class Factor:
    """One scalar that multiplies a tensor: `value` already inverted for a division."""

    value: Monomial
    operand: Origin | None  # the expression multiplied or divided by
    application: Origin | None  # the operation that applies it
    division: bool = False
    definition: Origin | None = None  # where the number was made, when that is elsewhere
    default_of: str | None = None
    written_one: bool = False
    via: str = "multiply"  # "multiply" | "kernel" | "alpha" | "default"


# --- what lies behind a tensor's factors


@dataclass(frozen=True, eq=False)
class Content:
    pass


@dataclass(frozen=True, eq=False)
class Leaf(Content):
    """A tensor with no known inner structure.

    kind: argument, parameter, buffer, projection, embedding, recurrent, array, constant, opaque.
    """

    kind: str
    key: str
    reason: str | None = None
    source: Tensor | None = None  # what a projection was applied to
    layer: Layer | None = None


@dataclass(frozen=True, eq=False)
class Product(Content):
    left: Tensor
    right: Tensor
    size: Monomial
    left_axes: tuple[Axis, ...]
    right_axes: tuple[Axis, ...]
    origin: Origin | None
    pairwise: bool = False  # multiply-then-sum


@dataclass(frozen=True, eq=False)
class Elementwise(Content):
    left: Tensor
    right: Tensor
    origin: Origin | None


@dataclass(frozen=True, eq=False)
class Sum(Content):
    terms: tuple[Tensor, ...]


@dataclass(frozen=True, eq=False)
class Concat(Content):
    """Tensors joined along the axis that is summed over."""

    parts: tuple[Tensor, ...]


@dataclass(frozen=True, eq=False)
class Exponential(Content):
    of: Tensor
    shifted: bool
    origin: Origin | None


@dataclass(frozen=True, eq=False)
class Maximum(Content):
    """A maximum (or logsumexp) over logits, to be subtracted from them."""

    of: Tensor
    log: bool = False
    axis: Axis | None = None


@dataclass(frozen=True, eq=False)
class Total(Content):
    """The sum of an exponential over one axis."""

    of: Tensor
    axis: Axis | None
    origin: Origin | None = None


@dataclass(frozen=True, eq=False)
class Weights(Content):
    site: SiteRecord


@dataclass(frozen=True, eq=False)
class Output(Content):
    site: SiteRecord


@dataclass(frozen=True, eq=False)
class Mask:
    """What a tensor was masked with. kind: fill, where, multiply, triangle, add."""

    kind: str
    value: Value | None
    origin: Origin | None
    mask: Value | None = None


@dataclass(frozen=True, eq=False)
class Tensor(Value):
    shape: Shape
    content: Content
    factors: tuple[Factor, ...] = ()
    masks: tuple[Mask, ...] = ()
    normalised: str | None = None
    nonlinear: tuple[str, ...] = ()
    name: str | None = None
    history: tuple[Origin, ...] = ()
    dtype: str | None = None  # "bool" where the code proves it, "half", "float32"
    notes: frozenset[str] = frozenset()
    scrambled: tuple[tuple[str, Origin | None], ...] = ()
    uncertain: str | None = None  # why factors may be lost
    held: Held | None = None  # where it lies, for what something holds; a result that nobody holds yet lies nowhere

    def but(self, **changes: Any) -> Tensor:
        return replace(self, **changes)


FILLED = "filled"  # the note of a buffer that was written to in part
IN_PART = "in part"  # the note of `x.at[i]`: what is done to it is done to a part of x, and gives all of x


# --- containers


@dataclass(frozen=True, eq=False)
class Rest(Value):
    """In a tuple: an unknown number of leading sizes of a tensor, except the last `drop`."""

    key: str
    drop: int


@dataclass(frozen=True, eq=False)
class Items(Value):
    """A tuple or list whose items are known."""

    items: tuple[Value, ...]
    mutable: bool = False
    cell: Cell | None = None  # the identity of a list


@dataclass(frozen=True, eq=False)
class Sequence(Value):
    """A list, generator or container of unknown length, all of whose items look like `item`."""

    item: Value
    length: Monomial | None = None
    cell: Cell | None = None


@dataclass(frozen=True, eq=False)
class Mapping(Value):
    items: dict[str, Value]
    rest: Value | None = None
    cell: Cell | None = None


@dataclass(frozen=True, eq=False)
class ShapeOf(Value):
    """`x.shape` of a tensor of unknown rank."""

    tensor: Tensor


@dataclass(frozen=True, eq=False)
class Effects(Value):
    """What was done in place to a storage, in order."""

    items: tuple[Effect, ...] = ()


UNTOUCHED = Effects()


# --- things that can be called


@dataclass(frozen=True, eq=False)
class Function(Value):
    node: cst.FunctionDef | cst.Lambda
    scope: ModuleScope
    unit: Unit
    qualname: str
    closure: dict[str, Value] | None = None
    owner: ClassValue | None = None
    kind: str = "function"  # "function" | "static" | "class" | "property"
    wrappers: tuple[cst.BaseExpression, ...] = ()  # decorators that are still to be applied, the outermost first
    defaults: dict[str, Value] | None = None  # of a function inside another: what its parameters default to, since it was defined
    rows: tuple[int, int] | None = None  # where it stands in its file, for a function or method


@dataclass(frozen=True, eq=False)
class BoundMethod(Value):
    function: Function
    receiver: Value


@dataclass(eq=False)
class ClassValue(Value):
    """A class of the linted tree; `bases` holds ClassValues and External ones, in order."""

    node: cst.ClassDef
    scope: ModuleScope
    unit: Unit
    name: str
    qualname: str
    methods: dict[str, Function] = field(default_factory=dict)
    bases: tuple[Value, ...] = ()
    fields: list[tuple[str, Any, Any]] = field(default_factory=list)  # annotated names in the body: name, annotation, default node
    assigned: dict[str, Any] = field(default_factory=dict)  # plain assignments in the body
    inner: dict[str, Any] = field(default_factory=dict)
    closure: dict[str, Value] | None = None


@dataclass(eq=False)
class Instance(Value):
    """An object of a class in the tree. `attributes` changes only while statements that assign to it are evaluated."""

    cls: ClassValue
    attributes: Places
    prepared: bool = False  # build()/setup() has run
    registered: bool = False
    key: str = ""


@dataclass(frozen=True, eq=False)
class External(Value):
    """A dotted name of an installed package: `torch.nn.functional.softmax`."""

    name: str


@dataclass(frozen=True, eq=False)
class Bound(Value):
    """A method of an abstract value that a framework table implements: `x.transpose`."""

    receiver: Value
    method: str


@dataclass(frozen=True, eq=False)
class Layer(Value):
    """A layer object of a framework: kind from its table, `settings` its bound arguments."""

    kind: str
    settings: dict[str, Value]
    key: str
    name: str
    origin: Origin | None = None
    class_name: str = ""


@dataclass(frozen=True, eq=False)
class Partial(Value):
    function: Value
    arguments: tuple[Value, ...]
    keywords: dict[str, Value]


@dataclass(frozen=True, eq=False)
class Native(Value):
    """A function of the engine itself, for helpers such as `super()` proxies and vmapped functions."""

    call: Callable[..., Value]
    name: str = ""


@dataclass(frozen=True, eq=False)
class Generator(Value):
    """A generator that was called: its body runs when somebody asks for what it yields."""

    run: Callable[[], Value]


@dataclass(frozen=True, eq=False)
class Super(Value):
    receiver: Instance
    after: ClassValue


# --- paths


@dataclass(frozen=True, eq=False)
class Choice(Value):
    """What a name holds on exclusive paths."""

    options: tuple[tuple[Path, Value], ...]


NONE = NoneValue()


def combine_paths(a: Path, b: Path) -> Path | None:
    """Both paths at once, or None where they exclude each other."""
    if not a:
        return b
    if not b:
        return a
    return None if exclude(a, b) else a | b


def exclude(a: Path, b: Path) -> bool:
    """Whether two paths cannot be taken together."""
    return any((text, not truth) in a for text, truth in b)


_TESTED = re.compile(r" (is|==|in) .*$", re.DOTALL)


def condition_text(key: str) -> str:
    """A condition of a path as it is written, without the activation that its key names."""
    name, marked, rest = key.partition("\x00")
    tested = _TESTED.search(rest) if marked else None
    return name + (tested[0] if tested else "")


# conditions of which it is not known whether a run can meet them
LOOP_RUNS, EXCEPTION = "the loop at line", "an exception at line"
_IS_WORD = re.compile(r"^(?P<stem>.*) == \"(?P<word>[^\"]*)\"$", re.DOTALL)


def assumed(path: Path) -> str | None:
    """The condition of a path that perhaps no run meets: an exception, a loop that never runs, a word that is none of those asked for."""
    refused: dict[str, int] = {}
    for key, truth in sorted(path):
        if key.startswith(EXCEPTION) or (key.startswith(LOOP_RUNS) and not truth):
            return f"{condition_text(key)}" if truth else f"not: {condition_text(key)}"
        word = _IS_WORD.match(key)
        if word is not None and not truth:
            refused[word["stem"]] = refused.get(word["stem"], 0) + 1
    for stem, count in refused.items():
        asked = any(truth and key.startswith((f"{stem} == ", f"{stem} in ")) for key, truth in path)
        if count > 1 and not asked:
            return f"{condition_text(stem)} is none of the words that it is compared with"
    return None


def options_of(value: Value) -> tuple[tuple[Path, Value], ...]:
    return value.options if isinstance(value, Choice) else ((EMPTY_PATH, value),)


def scale_of(factors: tuple[Factor, ...]) -> Monomial:
    result = ONE
    for factor in factors:
        result = result * factor.value
    return result
