"""The interpreter's state: frames, what was written, exclusive paths and how values of several paths are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from attnlint.domain.algebra import OPAQUE, PARAMETER, Facts, Monomial, Symbol
from attnlint.domain.heap import Held, Storage
from attnlint.domain.journal import MISSING, Changes, Journal, Mark, Places, apply
from attnlint.domain.shapes import Shape, unknown, vague
from attnlint.domain.values import (
    EMPTY_PATH,
    UNTOUCHED,
    Argument,
    Bool,
    Choice,
    ClassValue,
    Effects,
    External,
    Factor,
    Function,
    Items,
    Layer,
    Leaf,
    NoneValue,
    Origin,
    Path,
    Product,
    Rest,
    Scalar,
    ShapeOf,
    Sum,
    Tensor,
    Text,
    Unknown,
    Value,
    combine_paths,
    exclude,
    options_of,
    scale_of,
)
from attnlint.domain.values import (
    Sequence as SequenceValue,
)
from attnlint.evaluate import sharing

if TYPE_CHECKING:
    from attnlint.domain.record import SiteRecord
    from attnlint.syntax import nodes as cst
    from attnlint.syntax.project import Project
    from attnlint.syntax.scope import ModuleScope, Unit

MAX_OPTIONS = 8  # alternatives kept of one value; more paths than this are no longer told apart
MAX_DEPTH = 12  # nested calls
MAX_ENTRIES = 10  # one top-level definition, and all that it calls, is granted this part of the steps of its file
MAX_FOREIGN_TABLE = 40  # lines of an assignment in another file that is evaluated
MAX_FOREIGN_LINES = 150  # a longer function of another file is followed only where it may hold a site itself


MAX_STEPS_ASIDE = 250  # steps of a call in another file, from another file, that holds no attention
MAX_STEPS_OF_CALL = (
    6_000  # of these, for one call of a function of another file that meets no attention; half of it for each such call inside
)


class CallTooLong(Exception):
    """A call of a function of another file goes on for too long to be part of an attention."""


class BudgetExceeded(Exception):
    """A file needs more steps than the interpreter grants it."""


@dataclass(frozen=True, eq=False)
class Exit:
    """A way out of a block: the path that leads there, what is handed out, and what was written since the block was entered."""

    path: Path
    value: Value
    changes: Changes


@dataclass
class Loop:
    """A loop that is being evaluated: the ways out of its body."""

    mark: Mark
    breaks: list[Exit] = field(default_factory=list)
    continues: list[Exit] = field(default_factory=list)


@dataclass
class Attempt:
    """A `try` whose body is being evaluated: where an exception is raised in it, by the name of its class."""

    mark: Mark
    depth: int  # frames that are open
    raised: list[tuple[str | None, Exit]] = field(default_factory=list)


@dataclass
class Frame:
    """One activation: a function call, a class body or a module script."""

    scope: ModuleScope
    unit: Unit | None
    qualname: str
    locals: Places
    closure: dict[str, Value] | None = None
    function: Function | None = None
    receiver: Value | None = None
    owner: ClassValue | None = None
    path: Path = EMPTY_PATH
    mark: Mark | None = None  # the moment of the call
    returns: list[Exit] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    dead: bool = False
    call_site: Origin | None = None
    globals: set[str] = field(default_factory=set)  # names declared `global`
    nonlocals: dict[str, Places] = field(default_factory=dict)  # where the names live that are declared `nonlocal`
    body: cst.CSTNode | None = None
    standalone: bool = False
    context: str = ""  # identity of this activation, for symbols of values it cannot follow


class Engine:
    """State shared by the parts of the interpreter, and the operations on paths. The parts below add evaluation."""

    def __init__(self, scope: ModuleScope, project: Project) -> None:
        self.scope = scope
        self.project = project
        self.facts = Facts()
        self.journal = Journal()
        self.heap = Places(self.journal)  # what was done in place to each storage and container
        self.written = Places(self.journal)  # attributes of what is no object of the tree, and globals that functions write
        self.attempts: list[Attempt] = []
        self.risks = 0  # what was evaluated so far that may raise an exception
        self.storages: dict[str, Storage] = {}  # of arguments, by their keys
        self.frames: list[Frame] = []
        self.records: list[SiteRecord] = []
        self.dependencies: set[str] = set()
        self.by_name: dict[int | str, str] = {}  # what was taken by name: of calls by their node, of symbols by their key
        self.defaults: dict[str, Value] = {}  # symbol key -> default of the parameter
        self.steps = 0
        self.step_limit = self.call_limit = project.max_steps // MAX_ENTRIES
        self.call_records = 0
        self.too_long: set[int] = set()  # functions that were given up, by their node
        self.notes: list[str] = []
        self.module_frame: Frame | None = None
        self.counter = 0
        self.in_loop = False
        self.paths_disagree = False  # a layer is given another width on each path, of which one at least is none of its own
        self.stems: dict[str, str] = {}  # how conditions are written, by what tells them apart
        self.each_size: dict[str, ShapeOf] = {}  # symbols that stand for every size of a shape
        self.globals: dict[tuple[str, str], Value] = {}
        self.resolving: set[tuple[str, str]] = set()
        self.numbers: dict[int, tuple[int, object]] = {}  # of nodes and values, by their `id`; held, so that it stays theirs
        self.hints: dict[tuple[int, str], str] = {}
        self.texts: dict[int, str] = {}
        self.said: dict[tuple[Callable[[str], bool], int], bool] = {}  # what the words of functions say, by test and node
        self.lineages: dict[int, list[Value]] = {}
        self.projections: dict[str, Product] = {}  # products that turned out to make a query or key
        self.stacks: dict[int, tuple[Frame, ...]] = {}  # activation in which a product was formed, by its node
        self.kept: list[Product] = []  # so that the ids above stay theirs
        self.nested: dict[int, tuple[Function, Frame]] = {}  # functions defined inside others, by node
        self.entered: set[int] = set()  # nodes of functions that were called
        self.called: set[int] = set()  # attributes that are called, by their node
        self.equalities: dict[str, tuple[Monomial, Monomial]] = {}  # sizes that a condition compares, by its text
        self.mixed: dict[int, tuple[Tensor, Tensor]] = {}  # what a view mixed up, by its shape, and what it was before
        self.compared: dict[str, list[str]] = {}  # the words that something is compared with, by its text
        self.refuted: dict[tuple[str, bool], tuple[Path, ...]] = {}  # a condition made of others: what rules it out
        self.exponentials: dict[int, SiteRecord] = {}
        self.kept_contents: list[Any] = []
        self.dims: set[str] = set()  # keys of symbols that are used as sizes

    def note_dims(self, value: Monomial) -> None:
        """Remember that the symbols of a monomial name sizes of axes, and so are no free factors."""
        for symbol in value.symbols:
            self.dims.add(symbol.key)
            for term in symbol.terms:
                self.note_dims(term)

    def note_product(self, product: Product) -> None:
        self.stacks[id(product)] = tuple(self.frames)
        self.kept.append(product)

    # --- overridden by the parts

    def object_binary(self, operator: str, left: Value, right: Value, node: cst.CSTNode) -> Value:
        return Unknown("an operation on objects")

    def site_of_exponential(self, content: Any, tensor: Tensor) -> SiteRecord:
        raise NotImplementedError

    def record_softmax(self, tensor: Tensor, axis: Any, node: cst.CSTNode | None, **details: object) -> SiteRecord:
        raise NotImplementedError

    def evaluate(self, node: cst.CSTNode) -> Value:
        raise NotImplementedError

    def call(self, callee: Value, arguments: Sequence[Value], keywords: dict[str, Value], node: cst.CSTNode) -> Value:
        raise NotImplementedError

    def attribute(self, value: Value, name: str, node: cst.CSTNode | None) -> Value:
        raise NotImplementedError

    # --- small helpers

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def step(self, count: int = 1) -> None:
        self.steps += count
        if self.steps > self.call_limit or self.steps > self.step_limit:
            if self.steps > self.step_limit:
                raise BudgetExceeded
            if len(self.records) == self.call_records:
                raise CallTooLong
            self.call_limit = self.step_limit  # an attention was met in there

    def begin(self) -> None:
        """Nothing has been written yet: an entry starts, which knows nothing of the others."""
        self.journal.reset()
        self.heap.reset()
        self.written.reset()
        self.attempts.clear()

    def grant(self) -> bool:
        """Grant the steps of one more entry; False where the file has used up all of its own."""
        most = self.project.max_steps
        self.step_limit = self.call_limit = min(self.steps + most // MAX_ENTRIES, most)
        return self.steps < most

    def activation(self, scope: ModuleScope, unit: Unit | None, qualname: str, **more: Any) -> Frame:
        """A new frame, with nothing bound yet."""
        return Frame(scope, unit, qualname, Places(self.journal), **more)

    def frameworks(self) -> tuple[str, ...]:
        raise NotImplementedError

    def origin(self, node: cst.CSTNode | None) -> Origin | None:
        unit = self.frame.unit
        return Origin(unit, node) if unit is not None and node is not None else None

    def row_of(self, node: cst.CSTNode) -> int:
        """The row that a node starts on."""
        unit = self.frame.unit
        return unit.span(node).start.row if unit is not None else 0

    def code(self, node: cst.CSTNode) -> str:
        unit = self.frame.unit
        return unit.code(node) if unit is not None else ""

    def number_of(self, one: object) -> int:
        """A number for a node or value, the same in every run, as its `id` is not: what is sorted by it comes out in one order."""
        return self.numbers.setdefault(id(one), (len(self.numbers), one))[0]

    def fresh(self, stem: str = "t") -> str:
        self.counter += 1
        return f"{stem}#{self.counter}"

    def opaque_symbol(self, node: cst.CSTNode | None, text: str | None = None) -> Monomial:
        """A symbol for a number that cannot be followed: one a text and activation."""
        text = text if text is not None else (self.code(node) if node is not None else "?")
        short = " ".join(text.split())
        short = short if len(short) <= 40 else short[:37] + "…"
        return Monomial.of(Symbol(f"{self.frame.context}:{text}", short, OPAQUE))

    def opaque_tensor(self, reason: str, name: str | None = None, node: cst.CSTNode | None = None, shape: Shape | None = None) -> Tensor:
        key = self.fresh(name or "t")
        history = ((origin,) if (origin := self.origin(node)) else ()) if self.frames else ()
        return Tensor(shape or unknown(key), Leaf("opaque", key, reason), name=name, history=history)

    # --- typing of arguments by their use

    def as_scalar(self, value: Value, node: cst.CSTNode | None = None) -> Scalar | None:
        """A number, or None where the value cannot be one."""
        if isinstance(value, Scalar):
            return value
        if isinstance(value, Argument):
            if value.default is not None:
                self.defaults.setdefault(value.key, value.default)
            symbol = Symbol(value.key, value.name, value.kind)
            return Scalar(Monomial.of(symbol), value.origin, default_of=None)
        if isinstance(value, Bool):
            return Scalar(Monomial.number(float(value.value)))
        if isinstance(value, Unknown):
            return Scalar(self.opaque_symbol(node, value.reason if node is None else None), self.origin(node))
        if isinstance(value, Items) and len(value.items) == 1:
            return self.as_scalar(value.items[0], node)
        return None

    def as_tensor(self, value: Value, node: cst.CSTNode | None = None) -> Tensor | None:
        """A tensor, or None where the value cannot be one."""
        if isinstance(value, Tensor):
            return value
        if isinstance(value, Argument):
            kind = "argument" if value.kind == PARAMETER else "opaque"
            reason = value.reason or (None if kind == "argument" else f"`{value.name}` is not followed")
            history = (value.origin,) if value.origin else ()
            storage = self.storages.get(value.key)
            if storage is None:
                storage = self.storages[value.key] = Storage(UNTOUCHED)
            leaf = Leaf(kind, value.key, reason)
            return Tensor(unknown(value.key), leaf, name=value.name, history=history, held=Held(storage))
        if isinstance(value, Unknown):
            return self.opaque_tensor(value.reason, node=node)
        return None

    # --- paths

    def consistent(self, path: Path) -> bool:
        if not path:
            return True
        opposite = {(text, not truth) for text, truth in path}
        if not opposite.isdisjoint(path) or not all(opposite.isdisjoint(frame.path) for frame in self.frames):
            return False
        return not self.refuted or not self._refuted(path | self.current_path())

    def decided(self, when_true: Path, when_false: Path) -> bool | None:
        """What the current path says of a test, by what is known where it holds and where it does not."""
        if not self.consistent(when_true):
            return False
        return True if not self.consistent(when_false) else None

    def _refuted(self, path: Path) -> bool:
        """Whether `a or b` is said to hold where neither does, or `a and b` to fail where both hold.

        Where all but one of the tests that would rule it out hold, the last one does not.
        """
        known = set(path)
        open_ = [ruling for test in path for ruling in self.refuted.get(test, ())]
        learned = bool(open_)
        while learned:
            learned = False
            for ruling in open_:
                missing = ruling - known
                if not missing:
                    return True
                ((text, truth), *more) = missing
                if not more and (text, not truth) not in known:
                    known.add((text, not truth))
                    learned = True
        return any((text, not truth) in known for text, truth in known)

    def current_path(self) -> Path:
        path: Path = EMPTY_PATH
        for frame in self.frames:
            path = path | frame.path
        return path

    @contextmanager
    def under(self, path: Path) -> Iterator[None]:
        """Evaluate with more conditions known."""
        frame = self.frame
        before = frame.path
        frame.path = before | path
        try:
            yield
        finally:
            frame.path = before

    def narrow(self, value: Value) -> Value:
        """Drop the options of a choice that the current path excludes."""
        if not isinstance(value, Choice):
            return value
        kept = tuple((path, option) for path, option in value.options if self.consistent(path))
        if len(kept) == len(value.options):
            return value
        if len(kept) == 1:
            return kept[0][1]
        return Choice(kept) if kept else value

    def distribute(self, values: Sequence[Value], function: Callable[..., Value]) -> Value:
        """Apply a function to every consistent combination of the options of its arguments."""
        if not any(isinstance(value, Choice) for value in values):
            return function(*values)
        combinations: list[tuple[Path, tuple[Value, ...]]] = [(EMPTY_PATH, ())]
        for value in values:
            extended = []
            for path, chosen in combinations:
                for option_path, option in options_of(value):
                    both = combine_paths(path, option_path)
                    if both is not None and self.consistent(both):
                        extended.append((both, (*chosen, option)))
            combinations = _samples(
                extended,
                2 * MAX_OPTIONS,
                lambda combination: tuple(map(scale_key, combination[1])),
                lambda combination: all(map(_is_followed, combination[1])),
            )
        if not combinations:
            return Unknown("no path is possible here")
        return self.alternatives([(path, partial(function, *chosen)) for path, chosen in combinations])

    def alternatives(self, arms: Sequence[tuple[Path, Callable[[], Value]]]) -> Value:
        """What exclusive ways of evaluating something give; what each of them writes holds on its own path."""
        if len(arms) == 1:
            path, run = arms[0]
            with self.under(path):
                return run()
        results: list[tuple[Path, Value]] = []
        ends: list[tuple[Path, Changes]] = []
        frame = self.frame
        mark = self.journal.open()
        try:
            for path, run in arms:
                with self.under(path):
                    value = run()
                changes = self.journal.taken_back(mark)
                if not frame.dead:  # else it raises on this path
                    results.append((path, value))
                    ends.append((path, changes))
                frame.dead = False
        finally:
            self.journal.close(mark)
        if not ends:
            frame.dead = True
            return Unknown("it raises on every path")
        self.join(ends)
        return self.choose(results)

    def join(self, ends: Sequence[tuple[Path, Changes]]) -> None:
        """Write what exclusive paths have written, each to hold on its own path."""
        if len(ends) == 1:
            apply(ends[0][1])
            return
        touched = {place: places for _, changes in ends for place, (places, _) in changes.items()}
        for place, places in touched.items():
            key = place[1]
            before = places.held(key)
            if before is MISSING and places.owner is not None:
                before = self.inherited(places.owner, key)
            values = [(path, changes[place][1] if place in changes else before) for path, changes in ends]
            values = [(path, before if value is MISSING else value) for path, value in values]
            bound = [(path, value) for path, value in values if value is not MISSING]
            if not bound:
                places.put(key, MISSING)
            elif all(value is bound[0][1] for _, value in bound):
                places[key] = bound[0][1]
            else:
                places[key] = self.choose(bound)

    def inherited(self, owner: Any, name: str) -> Any:
        """What an object holds where nothing was written to its attribute: that of its class, where there is one."""
        return MISSING

    def forced(self, value: Value) -> Value:
        """What a generator yields, once somebody asks for it."""
        return value

    def lifted(self, value: Value) -> Value:
        """A tuple whose items differ between paths, as tuples that do."""
        if isinstance(value, Items) and any(isinstance(item, Choice) for item in value.items):
            return self.distribute(value.items, lambda *items: Items(items, value.mutable))
        return value

    def choose(self, options: Sequence[tuple[Path, Value]]) -> Value:
        """One value for several paths: equal options become one, tensors that differ by masks alone are merged."""
        flat: list[tuple[Path, Value]] = []
        for path, value in options:
            for inner, option in options_of(value):
                both = combine_paths(path, inner)
                if both is not None:
                    flat.append((both, option))
        if not flat:
            return Unknown("no path is possible here")
        kept = _grouped(flat)
        if len(kept) == 1:
            return kept[0][1]
        if len(kept) > MAX_OPTIONS:
            known = [(path, value) for path, value in kept if not isinstance(value, (Unknown, NoneValue))]
            kept = _samples(known, MAX_OPTIONS, lambda option: scale_key(option[1]), lambda option: _is_followed(option[1])) or kept[:1]
        return Choice(tuple(kept)) if len(kept) > 1 else kept[0][1]


_Option = TypeVar("_Option")


def _samples(options: list[_Option], limit: int, key: Callable[[_Option], object], followed: Callable[[_Option], bool]) -> list[_Option]:
    """So many options that stand for all: of each kind of scale as many as of any other, those first that are followed."""
    if len(options) <= limit:
        return options
    groups: dict[object, list[int]] = {}
    for index, option in enumerate(options):
        groups.setdefault(key(option), []).append(index)
    for group in groups.values():
        group.sort(key=lambda index: not followed(options[index]))
    turns = sorted((turn, group[turn]) for group in groups.values() for turn in range(len(group)))
    return [options[index] for index in sorted(index for _, index in turns[:limit])]


def _is_followed(value: Value) -> bool:
    """Whether it is known what a tensor was made of."""
    if not isinstance(value, Tensor):
        return not isinstance(value, Unknown)
    content = value.content
    if isinstance(content, Product):
        return _is_followed(content.left) and _is_followed(content.right)
    if isinstance(content, Sum):
        return all(map(_is_followed, content.terms))
    return not (isinstance(content, Leaf) and content.kind == "opaque")


def scale_key(value: Value) -> object:
    """What tells values apart by their scale: of products that of their operands, too."""
    if isinstance(value, Tensor):
        content = value.content
        if isinstance(content, Product):
            return Product, scale_of((*value.factors, *content.left.factors, *content.right.factors))
        inner = tuple(map(scale_key, content.terms)) if isinstance(content, Sum) else ()
        return type(content), scale_of(value.factors), inner
    if isinstance(value, (Scalar, Bool, Text)):
        return value.value
    if isinstance(value, Items):
        return Items, tuple(map(scale_key, value.items))
    return value.items if isinstance(value, Effects) else type(value)


def _grouped(options: list[tuple[Path, Value]]) -> list[tuple[Path, Value]]:
    """Equal options as one, under what their paths share: unless that lets in an option of another scale, which each of them excludes."""
    groups: list[tuple[Value, list[tuple[Path, Value]]]] = []
    for path, value in options:
        for index, (held, members) in enumerate(groups):
            merged = None if sharing.copied(held, value) else merge(held, value)
            if merged is not None:
                groups[index] = (sharing.either(held, value, merged), [*members, (path, value)])
                break
        else:
            groups.append((value, [(path, value)]))
    if len(groups) == 1 or len(groups) == len(options):
        return [(frozenset.intersection(*(path for path, _ in members)), value) for value, members in groups]
    scales = [scale_key(value) for value, _ in groups]
    kept: list[tuple[Path, Value]] = []
    for scale, (value, members) in zip(scales, groups, strict=True):
        common = frozenset.intersection(*(path for path, _ in members))
        if len(members) > 1:
            others = [path for other, (_, rivals) in zip(scales, groups, strict=True) if other != scale for path, _ in rivals]
            if any(not exclude(common, other) and all(exclude(path, other) for path, _ in members) for other in others):
                kept += members
                continue
        kept.append((common, value))
    return kept


def same(a: Value | None, b: Value | None) -> bool:
    """Whether two values are the same for all that matters to a verdict."""
    if a is b:
        return True
    if a is None or b is None or type(a) is not type(b):
        return False
    if isinstance(a, NoneValue):
        return True
    if isinstance(a, (Bool, Text)):
        return a == b
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a.value.equals(b.value)
    if isinstance(a, Argument) and isinstance(b, Argument):
        return a.key == b.key
    if isinstance(a, External) and isinstance(b, External):
        return a.name == b.name
    if isinstance(a, Items) and isinstance(b, Items):
        return len(a.items) == len(b.items) and all(same(x, y) for x, y in zip(a.items, b.items, strict=True))
    if isinstance(a, Effects) and isinstance(b, Effects):
        return a.items == b.items
    if isinstance(a, Rest) and isinstance(b, Rest):
        return a.key == b.key and a.drop == b.drop
    if isinstance(a, SequenceValue) and isinstance(b, SequenceValue):
        return same(a.item, b.item)
    if isinstance(a, Layer) and isinstance(b, Layer):
        return a.kind == b.kind and a.settings.keys() == b.settings.keys() and all(same(a.settings[k], b.settings[k]) for k in a.settings)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        merged = merge(a, b)
        return merged is a or merged is b
    return isinstance(a, Unknown) and isinstance(b, Unknown) and a.reason == b.reason


def _same_factors(a: tuple[Factor, ...], b: tuple[Factor, ...]) -> bool:
    return a is b or scale_of(a).equals(scale_of(b))


def _same_content(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, Leaf) and isinstance(b, Leaf):
        return a.kind == b.kind and (a.key == b.key or (a.kind in ("opaque", "constant") and b.kind == a.kind))
    if isinstance(a, Product) and isinstance(b, Product):
        return (
            a.origin is not None
            and b.origin is not None
            and a.origin.node is b.origin.node
            and same(a.left, b.left)
            and same(a.right, b.right)
        )
    return False


def merge(a: Value, b: Value) -> Value | None:
    """One value for both where they differ in nothing but masks and optional terms; None where they must stay apart."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return a if same(a, b) else None
    if a.normalised != b.normalised or a.nonlinear != b.nonlinear or a.uncertain != b.uncertain:
        return None
    if a.shape.rank is not None and b.shape.rank is not None and a.shape.rank != b.shape.rank:
        return None
    if _same_content(a.content, b.content) and _same_factors(a.factors, b.factors):
        if not _compatible(a.shape, b.shape):
            return None
        base = a if len(a.masks) >= len(b.masks) else b
        masks = a.masks if a.masks is b.masks else tuple(dict.fromkeys((*a.masks, *b.masks)))
        norms = base.notes | {
            note for note in (*a.notes, *b.notes) if "norm:" in note or note.startswith("square:")
        }  # of either path's data
        return base if base.masks == masks and norms == base.notes else base.but(masks=masks, notes=norms)
    if isinstance(a.content, Sum) and isinstance(b.content, Sum) and (longer := _same_products(a, b)) is not None:
        return longer
    for whole, part in ((a, b), (b, a)):  # `if mask is not None: scores = scores + mask`
        if isinstance(whole.content, Sum) and not isinstance(part.content, Sum):
            for term in whole.content.terms:
                if _same_content(term.content, part.content) and scale_of((*whole.factors, *term.factors)).equals(scale_of(part.factors)):
                    return whole.but(masks=tuple(dict.fromkeys((*whole.masks, *part.masks))))
    return None


def _same_products(a: Tensor, b: Tensor) -> Tensor | None:
    """Of two sums that hold the same products, each at the same scale, the one with more terms."""
    from attnlint.evaluate.tensors import others_of, products_of

    left, right = products_of(a), products_of(b)
    if not left or len(left) != len(right):
        return None
    for (carrier, product), (other, same_product) in zip(left, right, strict=True):
        if not _same_content(product, same_product) or not _same_factors(carrier.factors, other.factors):
            return None
    return a if len(others_of(a)) >= len(others_of(b)) else b


def _compatible(a: Shape, b: Shape) -> bool:
    if a == b:
        return True
    if not a.axes or not b.axes:
        return not a.axes and not b.axes
    if not a.axes[-1].size.equals(b.axes[-1].size):
        return False  # the width of the features decides: paths are told apart by it
    pairs = zip(reversed(a.axes), reversed(b.axes), strict=False)
    return all(x.size.equals(y.size) or vague(x.size) or vague(y.size) for x, y in pairs)
