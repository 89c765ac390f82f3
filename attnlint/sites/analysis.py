"""The analysis of one file: which definitions are evaluated, and which of the recorded sites stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial

from attnlint.domain.algebra import PARAMETER, Facts
from attnlint.domain.record import SiteRecord
from attnlint.domain.values import (
    Argument,
    ClassValue,
    Concat,
    Elementwise,
    Function,
    Instance,
    Items,
    Leaf,
    ShapeOf,
    Sum,
    Tensor,
    Value,
    assumed,
    condition_text,
)
from attnlint.evaluate.calls import FORWARD_METHODS
from attnlint.evaluate.interpreter import Interpreter
from attnlint.evaluate.state import BudgetExceeded
from attnlint.sites.judge import judge
from attnlint.sites.scales import of_width_alone
from attnlint.sites.sites import AttentionSite, Because, Test, unknown
from attnlint.syntax.project import Project
from attnlint.syntax.scope import Import, ModuleScope, Statement, Unit
from attnlint.syntax.words import CALLS, EXPONENTIAL, NO_ATTENTION, holds, may_apply, multiplies

MAX_CALLER_ROUNDS = 3
CONSTRUCTORS = ("__init__", "setup", "build", "reset_parameters")
_WORD = re.compile(r"\w+")


class Analysis:
    """Everything found in one file."""

    def __init__(self, scope: ModuleScope, project: Project, faults: Sequence[Test]) -> None:
        self.scope = scope
        self.faults = faults
        self.interpreter = Interpreter(scope, project)
        self.sites: list[AttentionSite] = []
        self.open_calls: list[AttentionSite] = []  # calls of an attention function that stay unknown where others are settled
        self.entries: set[int] = set()  # nodes of the methods that were entered with symbols for arguments
        self.evaluated = 0

    def run(self) -> list[AttentionSite]:
        """Evaluate what may hold a site, then its callers while some site still depends on them."""
        scope = self.scope
        texts = {statement.index: scope.words(statement.first, statement.last) for statement in scope.statements}
        definitions = [s for s in scope.statements if s.kind in ("class", "function")]
        direct = [s for s in definitions if holds(texts[s.index]) or self._imported_calls(texts[s.index])]
        done: set[int] = set()
        met: set[int] = set()  # classes whose methods were entered for the sake of what they call
        script = [s for s in scope.statements if s.kind not in ("class", "function", "import")]
        for statement in direct:
            self._definition(statement, self._imported_calls(texts[statement.index]), caller=False)
            done.add(statement.index)
        helpers = self._silent_helpers(direct, texts)
        for _ in range(MAX_CALLER_ROUNDS):
            names, bare = self._open_names()
            names |= _kept_under(names, script, texts)
            mentions, applies = _any_of(names), _any_of(bare | helpers)
            words = names | bare | helpers
            helpers = set()
            callers = [
                s
                for s in definitions
                if (s.index not in done and (mentions(texts[s.index]) or (applies(texts[s.index]) and multiplies(texts[s.index]))))
                or (s.kind == "class" and s.index not in met and s.index in done and mentions(texts[s.index]))
            ]
            if not callers:
                break
            for statement in callers:
                self._definition(statement, words)
                done.add(statement.index)
                met.add(statement.index)
        holders = {name for s in definitions if s.index in done for name in s.names}
        uses = _any_of(holders, r"[(.]")
        if any(may_apply(texts[s.index]) or uses(texts[s.index]) for s in script):
            self._entry(1, self._script)
        judged = [_certain(site) for record in self.interpreter.records if (site := judge(record, self.faults)) is not None]
        self.sites = merge(judged)
        self.open_calls = _open_calls(judged, self.sites)
        siblings: list[AttentionSite] = []  # one list for all, so that each finds itself in it; paths that no caller takes count, too
        self.sites = [replace(site, siblings=siblings) for site in self.sites]
        siblings += self.sites
        siblings += [site for site in judged if site.record.standalone and site.verdict in ("correct", "intended")]
        return self.sites

    def _imported_calls(self, text: str) -> set[str]:
        """The names that a definition uses, imported from the tree, that lead to attention there."""
        return {name for name, used in self._leading.items() if used.search(text) is not None}

    @cached_property
    def _leading(self) -> dict[str, re.Pattern[str]]:
        """What is imported from the tree and leads to attention there, by whatever name, or is named for it, and how it is used."""
        project, path = self.interpreter.project, self.scope.path
        found: dict[str, str] = {}
        met: set[str] = set()
        for name, target in self.scope.imports.items():
            leads = project.index.leads(path, target, met)
            if leads is True or (_is_spoken(name, target) and project.resolve(path, target) is not None):
                found[name] = re.escape(name)
            elif isinstance(leads, frozenset):
                found.update({one: rf"{re.escape(name)}\.{re.escape(one)}" for one in leads})
        for star in self.scope.star_imports:
            leads = project.index.leads(path, star, met)
            found.update({one: re.escape(one) for one in leads} if isinstance(leads, frozenset) else {})
        self.interpreter.dependencies |= met - {path}
        return {name: re.compile(rf"\b{used}\b") for name, used in found.items()}

    def _open_names(self) -> tuple[set[str], set[str]]:
        """Names of functions and classes whose sites depend on what callers pass, and of those that only apply a softmax to it."""
        names: set[str] = set()
        bare: set[str] = set()
        decided: dict[tuple[int, tuple[str, ...]], bool] = {}
        unsettled: list[tuple[SiteRecord, AttentionSite | None]] = []
        for record in self.interpreter.records:
            if record.scope is not self.scope:
                continue
            site = judge(record, self.faults)
            unclear = is_open(record, site)
            place = (_place(record), record.call_chain)
            decided[place] = decided.get(place, True) and not unclear
            if unclear:
                unsettled.append((record, site))
        for record, site in unsettled:
            chain = record.call_chain
            if any(decided.get((_place(record), chain[start:])) for start in range(1, len(chain))):
                continue  # seen from nearer callers nothing is open
            found = {caller.split(".")[0] for caller in (record.qualname, *chain)} - {""}
            if site is None:
                bare |= found
            else:
                names |= found
        return names, bare

    def _silent_helpers(self, direct: list[Statement], texts: dict[int, str]) -> set[str]:
        """Functions that exponentiate and divide, and have left no site: by itself their argument may be a number."""
        met = {chain.split(".")[0] for record in self.interpreter.records for chain in record.call_chain}
        return {
            name
            for statement in direct
            if statement.kind == "function" and EXPONENTIAL.search(texts[statement.index]) and "/" in texts[statement.index]
            for name in statement.names
            if name not in met
        }

    # --- entries

    def _unit(self, statement: Statement) -> Unit | None:
        try:
            return self.scope.unit(statement)
        except RecursionError:
            self.interpreter.notes.append(f"line {statement.first}: not analysed: it nests too deeply")
            return None

    def _definition(self, statement: Statement, calls: Collection[str], caller: bool = True) -> None:
        if self._unit(statement) is None:
            return
        for name in statement.names:
            self.interpreter.begin()
            value = self.interpreter.global_value(self.scope, name)
            if isinstance(value, Function):
                self._entry(statement.first, partial(self._function, value))
            elif isinstance(value, ClassValue) and value.scope is self.scope:
                self._entry(statement.first, partial(self._class, value, calls, caller))

    def _entry(self, row: int, evaluate: Callable[[], object]) -> None:
        """Evaluate one entry within its budget; what is left out is said, and the rest goes on."""
        interpreter = self.interpreter
        reason = "it needs more steps than are granted (the setting `max-steps` grants more)"
        if interpreter.grant():
            try:
                evaluate()
                return
            except BudgetExceeded:
                pass
            except RecursionError:
                reason = "expressions nest too deeply"
        interpreter.frames.clear()
        interpreter.module_frame = None
        where = f"line {row}: " if row else ""
        self.interpreter.notes.append(f"{where}not analysed to the end: {reason}")

    def _function(self, function: Function) -> None:
        self.evaluated += 1
        interpreter = self.interpreter
        interpreter.facts = Facts()
        interpreter.call_function(function, [], {}, None, None, standalone=True)
        self._nested()

    def _nested(self) -> None:
        """Functions defined inside others that nobody called: handed to a scan, returned, or registered."""
        interpreter = self.interpreter
        for node, (function, _) in list(interpreter.nested.items()):
            if node in interpreter.entered or not holds(interpreter.function_text(function)):
                continue
            self._entry(_row(function), partial(interpreter.call_function, function, [], {}, None, None, standalone=True))
        interpreter.nested.clear()

    def _class(self, cls: ClassValue, calls: Collection[str], caller: bool) -> None:
        """`__init__` first, so that `self.*` is known; then every method that may hold a site, with symbols for arguments.

        Of a `caller`, which is met for the sake of what it `calls`, the methods count that its own file defines.
        """
        self.evaluated += 1
        interpreter = self.interpreter
        for name, node in cls.inner.items():
            inner = interpreter.make_class(node, cls.scope, cls.unit, cls.closure, f"{cls.qualname}.{name}")
            self._class(inner, calls, caller)
        interpreter.facts = Facts()
        instance = interpreter.instantiate(cls, [], {}, None, standalone=True)
        if not isinstance(instance, Instance):
            return
        facts = interpreter.facts
        made = interpreter.journal.open()
        for function in self._methods(cls, calls, caller):
            interpreter.facts = facts.copy()
            interpreter.journal.undo(made)
            instance.prepared = False
            name = function.qualname.rpartition(".")[2]
            if name in FORWARD_METHODS:
                self._build(instance, function)
            self.entries.add(id(function.node))
            receiver = instance if function.kind != "class" else cls
            self._entry(_row(function), partial(interpreter.call_function, function, [], {}, None, receiver, standalone=True))
        self._nested()

    def _build(self, instance: Instance, forward: Function) -> None:
        """Keras: the variables of `build` exist before `call`, made for the shape of its first argument."""
        build = self.interpreter.find_method(instance.cls, "build")
        if build is not None and self.interpreter.find_method(instance.cls, "call") is not None:
            instance.prepared = True
            shape = self._input_shape(build, forward)
            self.interpreter.call_function(build, [shape] if shape is not None else [], {}, None, instance, standalone=True)

    def _input_shape(self, build: Function, forward: Function) -> Value | None:
        """The shape of what `call` is given first; a list of shapes where it takes a list apart."""
        interpreter = self.interpreter
        built, called = interpreter.parameters_of(build)[1:2], interpreter.parameters_of(forward)[1:2]
        if not built or not called:
            return None
        key = f"{forward.scope.path}:{forward.qualname}.{called[0]}"
        text = interpreter.function_text(build)
        if re.search(rf"{re.escape(built[0])}\[\d\]\[", text):
            items = (Argument(f"{called[0]}[{i}]", f"{key}[{i}]", PARAMETER, "tensor") for i in range(4))
            return Items(tuple(ShapeOf(tensor) for item in items if (tensor := interpreter.as_tensor(item)) is not None))
        tensor = interpreter.as_tensor(Argument(called[0], key, PARAMETER, "tensor"))
        return ShapeOf(tensor) if tensor is not None else None

    def _methods(self, cls: ClassValue, calls: Collection[str], caller: bool) -> list[Function]:
        """Methods to enter: those that call others come first, so that helpers are met with arguments bound."""
        interpreter = self.interpreter
        found: dict[str, Function] = {}
        for ancestor in reversed(interpreter.lineage(cls)):
            if isinstance(ancestor, ClassValue):
                found.update(ancestor.methods)
        if caller:
            found = {name: function for name, function in found.items() if function.scope is self.scope}
        holding = {name for name, function in found.items() if self._holds(function)}
        words = {name: set(_WORD.findall(interpreter.function_text(function))) for name, function in found.items()}
        wanted = holding.union(calls, _attributes_of(calls, found, interpreter)) if calls else holding
        callers = {name for name in found if name not in holding and name not in CONSTRUCTORS and _reaches(name, wanted, words)}
        entered = holding | callers | {name for name in FORWARD_METHODS if caller or self._makes_one(name, holding, cls, found)}
        entries = [
            function
            for name, function in found.items()
            if name != "__init__" and name in entered and function.kind in ("function", "static", "class")
        ]
        if caller:
            entries = [function for function in entries if id(function.node) not in self.entries]

        def turn(function: Function) -> tuple[bool, bool]:
            name = function.qualname.rpartition(".")[2]
            return name not in FORWARD_METHODS, name not in callers

        return sorted(entries, key=turn)

    def _makes_one(self, name: str, holding: set[str], cls: ClassValue, methods: dict[str, Function]) -> bool:
        """Whether a method that names none that holds a site may lead to one all the same: a constructor makes what holds it."""
        if name not in methods or name in holding or not holding:
            return True
        return any(
            made in ancestor.methods and self.interpreter.may_hold(ancestor.methods[made])
            for ancestor in self.interpreter.lineage(cls)
            if isinstance(ancestor, ClassValue)
            for made in CONSTRUCTORS
        )

    def _holds(self, function: Function) -> bool:
        """Whether a method may hold a site; of one that is inherited from another file only what applies a softmax to a product."""
        return self.interpreter.may_hold(function) and (function.scope is self.scope or self.interpreter.applies(function))

    def _script(self) -> None:
        """Top-level statements in order, as a program of their own."""
        interpreter = self.interpreter
        interpreter.begin()
        interpreter.facts = Facts()
        frame = interpreter.activation(self.scope, None, "", context=f"{self.scope.path}:")
        interpreter.module_frame = frame
        interpreter.frames.append(frame)
        try:
            for statement in self.scope.statements:
                if statement.kind in ("class", "function", "import"):
                    continue
                unit = self._unit(statement)
                if unit is None:
                    continue
                frame.unit = unit
                try:
                    interpreter.execute_block(unit.module.body)
                except RecursionError:
                    del interpreter.frames[1:]
                    interpreter.notes.append(f"line {statement.first}: not analysed: expressions nest too deeply")
                frame.dead = False
        finally:
            interpreter.frames.clear()
            interpreter.module_frame = None


def _certain(site: AttentionSite) -> AttentionSite:
    """A site; a fault on a path that perhaps no run takes is none that is proved."""
    condition = assumed(site.record.path) if site.verdict == "faulty" else None
    if condition is None:
        return site
    verdict = unknown(f"it is known to be wrong only where a run meets this: {condition}")
    return site.judged(replace(verdict, because=Because.ASSUMED))


def _is_spoken(name: str, target: Import) -> bool:
    """Whether an import is named for attention."""
    spoken = CALLS.search(name) or CALLS.search(target.attribute or "")
    return spoken is not None and NO_ATTENTION.search(target.attribute or name) is None


def _row(function: Function) -> int:
    return function.rows[0] if function.rows is not None else 0


def _reaches(name: str, wanted: Collection[str], words: dict[str, set[str]]) -> bool:
    """Whether a method names what is wanted, or another method that does."""
    reached = [name]
    for one in reached:
        if not words[one].isdisjoint(wanted):
            return True
        reached += [other for other in words if other in words[one] and other not in reached]
    return False


def _kept_under(names: set[str], script: list[Statement], texts: dict[int, str]) -> set[str]:
    """What a file's own tables and variables are called that hold one of some functions: `KERNELS = {"eager": attend}`."""
    mentions = _any_of(names)
    return {name for s in script if mentions(texts[s.index]) for name in s.names} - names


def _attributes_of(calls: Collection[str], methods: dict[str, Function], interpreter: Interpreter) -> set[str]:
    """The attributes in which a class keeps one of some functions, not called: `self.attend = attend`."""
    kept = re.compile(rf"self\.(\w+)\s*(?::[^=\n]+)?=[^=\n][^\n]*?\b(?:{'|'.join(map(re.escape, sorted(calls)))})\b(?!\s*\()")
    return {name for function in methods.values() for name in kept.findall(interpreter.function_text(function))}


def _any_of(names: set[str], behind: str = "") -> Callable[[str], bool]:
    """Whether a text holds one of some names as a word, with a pattern behind it."""
    if not names:
        return lambda text: False
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b{behind}")
    return lambda text: pattern.search(text) is not None


def _place(record: SiteRecord) -> int:
    return id(record.softmax.node) if record.softmax is not None else 0


def is_open(record: SiteRecord, site: AttentionSite | None) -> bool:
    """Whether callers may still change what is known of a record, judged: an operand or the scale is an argument."""
    if site is None:  # a softmax helper, whose logits are an argument
        return record.logits is not None and _of_argument(record.logits)
    if left_to_callers(site) or site.ratio is None:
        return True
    operands = [tensor for tensor in (site.query, site.key) if tensor is not None]
    if site.kind == "wrong-dim-scale" and _of_two_widths(site):
        return True
    if site.verdict == "unknown":
        return any(symbol.kind == PARAMETER for symbol in site.ratio.symbols) or any(map(_of_argument, operands))
    return any(isinstance(tensor.content, Leaf) and tensor.content.kind == "argument" for tensor in operands)


def _of_two_widths(site: AttentionSite) -> bool:
    """Whether the fault is the root of one given width in place of another one: callers may give both the same number."""
    scale, contraction = site.scale, site.contraction
    if scale is None or contraction is None or len(scale.powers) != 1:
        return False
    (width,) = scale.symbols
    return width.kind == PARAMETER and width not in site.facts.normalise(contraction).symbols


def left_to_callers(site: AttentionSite) -> bool:
    """A factor that is configured: callers that are seen configure it."""
    return site.because is Because.CONFIGURED


def _of_argument(tensor: Tensor) -> bool:
    """Whether what a tensor holds is an argument, or could not be followed and may hang on one."""
    content = tensor.content
    if isinstance(content, Sum):
        return any(_of_argument(term) for term in content.terms)
    if isinstance(content, Concat):
        return any(_of_argument(part) for part in content.parts)
    if isinstance(content, Elementwise):
        return _of_argument(content.left)
    return isinstance(content, Leaf) and content.kind in ("argument", "opaque")


def merge(sites: Iterable[AttentionSite]) -> list[AttentionSite]:
    """One site a place, path and caller: what is proved for a caller stands over what a function alone leaves open."""
    groups: dict[tuple[int, int], list[AttentionSite]] = {}
    for site in sites:
        applied = site.record.softmax
        formed = site.product.origin if site.product is not None else None
        key = (id(applied.node) if applied is not None else 0, id(formed.node) if formed is not None else 0)
        groups.setdefault(key, []).append(site)
    kept: list[AttentionSite] = []
    followed = {softmax for (softmax, product), found in groups.items() if product and any(site.verdict != "unknown" for site in found)}
    for (softmax, product), found in groups.items():
        if not product and softmax in followed and all(site.record.standalone and site.verdict == "unknown" for site in found):
            continue  # what is an argument here is a product at callers
        group = [site for site in found if site.verdict != "faulty" or not _refuted(site, found)]
        kept += _of_place([replace(site, others=tuple(other for other in group if other is not site)) for site in group])
    return kept


def _of_place(group: list[AttentionSite]) -> list[AttentionSite]:
    """The sites of one place: one set of paths for each caller that is seen, else what the function alone shows."""
    alone = [site for site in group if site.record.standalone]
    callers: dict[int, list[AttentionSite]] = {}
    for site in group:
        if not site.record.standalone:
            callers.setdefault(id(site.via.origin.node) if site.via is not None else 0, []).append(site)
    if not callers:
        return _distinct(alone)
    proved = any(site.verdict != "unknown" for sites in callers.values() for site in sites)
    by_itself = [site for site in alone if site.verdict != "unknown" and not (proved and left_to_callers(site))]
    if not proved:
        told = [site for site in group if _is_told(site)]
        return _distinct([*by_itself, *told]) if by_itself else _distinct([site for sites in callers.values() for site in sites])
    kept: list[AttentionSite] = [site for site in by_itself if _by_default(site)] + [site for site in alone if _is_told(site)]
    for sites in callers.values():
        settled = _distinct([_as_alone(site, by_itself) for site in sites if site.verdict != "unknown" or _is_told(site)])
        # a call of what is called attention is listed where it stands
        kept += settled or [replace(site, via=sites[0].via) for site in by_itself] or [one for one in sites if one.record.called_at is None]
    return _distinct(kept)


def _is_told(site: AttentionSite) -> bool:
    """Whether it is told what stays unknown beside paths that are settled: what happens there was seen, and not how it ends."""
    return site.because in (Because.ASSUMED, Because.LOST)


def _as_alone(site: AttentionSite, by_itself: Iterable[AttentionSite]) -> AttentionSite:
    """What is found of a function alone, where a caller's site says the same of the same path: in the function's own words."""
    conditions = _conditions(site)
    same = next((one for one in by_itself if one.verdict == site.verdict and _conditions(one) <= conditions), None)
    return site if same is None else replace(same, via=site.via)


def _by_default(site: AttentionSite) -> bool:
    """A fault where no scale is given, made of the summed width alone (`if scale is None: scale = 1 / d`): no caller mends it."""
    if site.verdict != "faulty" or site.record.function is None:
        return False
    unset = {f"{parameter.name.value} is None" for parameter in site.record.function.node.params.params}
    given_none = any(truth and condition_text(text) in unset for text, truth in site.record.path)
    return given_none and of_width_alone(site)


def _open_calls(judged: Iterable[AttentionSite], kept: Iterable[AttentionSite]) -> list[AttentionSite]:
    """Of the calls of attention functions that no kept site stands for, one unknown site each."""
    shown = {id(site.record.called_at.node) for site in kept if site.record.called_at is not None}
    found: dict[int, AttentionSite] = {}
    for site in judged:
        if site.record.called_at is not None and site.verdict == "unknown":
            found.setdefault(id(site.record.called_at.node), site)
    return [site for node, site in found.items() if node not in shown]


def _refuted(fault: AttentionSite, group: list[AttentionSite]) -> bool:
    """Whether nearer callers, who leave nothing open, prove the place right under conditions that hold on the path of the fault."""
    chain = fault.record.call_chain
    conditions = _conditions(fault)
    if fault.kind == "wrong-dim-scale" and any(
        site.verdict == "correct" and _factors(site) == _factors(fault) and _is_same_call(site, fault) for site in group
    ):
        return True  # one expression is right for a width that is seen on some paths: on the others a shape was lost
    if fault.kind == "missing-scale" and any(site.because is Because.BILINEAR for site in group):
        return True  # one product for keys that are projected and keys that are not: it was written for both
    return any(
        site.verdict == "correct"
        and len(site.record.call_chain) < len(chain)
        and site.record.call_chain == chain[len(chain) - len(site.record.call_chain) :]
        and _conditions(site) <= conditions
        and not is_open(site.record, site)
        for site in group
    )


def _is_same_call(a: AttentionSite, b: AttentionSite) -> bool:
    """Whether two sites are met in the same way: alone, or through the same calls."""
    calls = zip(a.record.calls, b.record.calls, strict=False)
    return len(a.record.calls) == len(b.record.calls) and all(one.origin.node is other.origin.node for one, other in calls)


def _factors(site: AttentionSite) -> list[tuple[int, ...]]:
    """Where the factors of a site are applied and made."""
    factors = [placed.factor for placed in site.factors]
    places = [(factor.application, factor.definition or factor.operand) for factor in factors]
    return sorted(tuple(id(origin.node) for origin in place if origin is not None) for place in places)


def _conditions(site: AttentionSite) -> set[tuple[str, bool]]:
    return {(condition_text(text), truth) for text, truth in site.record.path}


def _distinct(sites: list[AttentionSite]) -> list[AttentionSite]:
    """Paths with the same verdict and the same numbers are one."""
    seen: dict[tuple[object, ...], AttentionSite] = {}
    for site in sites:
        anchor = site.record.anchor
        culprit = site.culprit.factor.application if site.culprit is not None else None
        key = (
            id(anchor.node) if anchor is not None else 0,
            site.verdict,
            site.kind,
            str(site.ratio) if site.verdict != "unknown" else site.reason,
            id(culprit.node) if culprit is not None else 0,
            id(site.via.origin.node) if site.via is not None else 0,
        )
        if key not in seen:
            seen[key] = site
    found = list(seen.values())
    if len(found) > 1 and any(site.verdict != "unknown" for site in found):
        return [site for site in found if site.verdict != "unknown"] + [site for site in found if site.verdict == "unknown"][:1]
    return found
