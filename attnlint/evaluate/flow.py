"""Control flow: branches, loops, exceptions and patterns, and how what they leave behind is joined.

A block has several ways out: its end, `return`, `break`, `continue` and exceptions. Each carries the path that leads there and what
was written on it, and what follows is evaluated once, for all of them joined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attnlint.domain.algebra import AXIS, OPAQUE, Monomial, Symbol
from attnlint.domain.heap import Effect
from attnlint.domain.journal import MISSING, Changes, Mark, apply
from attnlint.domain.values import (
    EMPTY_PATH,
    EXCEPTION,
    LOOP_RUNS,
    NONE,
    Choice,
    Effects,
    Items,
    Mapping,
    Path,
    Scalar,
    Tensor,
    Text,
    Unknown,
    Value,
    options_of,
)
from attnlint.domain.values import (
    Sequence as SequenceValue,
)
from attnlint.evaluate import sharing
from attnlint.evaluate.state import Attempt, Exit, Loop, same, scale_key
from attnlint.syntax import nodes as cst

if TYPE_CHECKING:
    from attnlint.evaluate.statements import Statements

MAX_UNROLLED = 8  # iterations that are evaluated one by one
IN_LOOP = "it is changed in a loop whose iterations are not told apart"
INTERRUPTED = "an exception may leave it as it was, or changed"
SWALLOWS = re.compile(r"(^|\.)(suppress|raises)$")  # context managers behind which the program goes on after an exception
End = tuple[Path, Changes]


# --- ways out


def leave(engine: Statements, value: Value) -> None:
    """`return`"""
    frame = engine.frame
    frame.returns.append(Exit(frame.path, value, engine.journal.changes(frame.mark) if frame.mark is not None else {}))
    frame.dead = True


def jump(engine: Statements, out_of_loop: bool) -> None:
    """`break` and `continue`"""
    frame = engine.frame
    frame.dead = True
    if frame.loops:
        loop = frame.loops[-1]
        (loop.breaks if out_of_loop else loop.continues).append(Exit(frame.path, NONE, engine.journal.changes(loop.mark)))


def throw(engine: Statements, name: str | None) -> None:
    """`raise`, here or in a call that never returns."""
    frame = engine.frame
    frame.dead = True
    if engine.attempts:
        attempt = engine.attempts[-1]
        path: Path = frozenset().union(*(one.path for one in engine.frames[attempt.depth - 1 :]))
        attempt.raised.append((name, Exit(path, NONE, engine.journal.changes(attempt.mark))))


def settle(engine: Statements, path: Path, ends: Sequence[End]) -> None:
    """Go on after exclusive blocks, with what each that ends has written."""
    frame = engine.frame
    frame.dead = not ends
    if not ends:
        frame.path = path
    elif len(ends) == 1:
        apply(ends[0][1])
        frame.path = ends[0][0]  # what follows runs on this path alone
    else:
        frame.path = path
        engine.join([(end - path, changes) for end, changes in ends])


def arms(engine: Statements, choices: Sequence[tuple[Path, Callable[[], None]]]) -> None:
    """Exclusive blocks, each under a condition."""
    frame = engine.frame
    path = frame.path
    ends: list[End] = []
    mark = engine.journal.open()
    try:
        for condition, run in choices:
            frame.path, frame.dead = path | condition, False
            run()
            changes = engine.journal.taken_back(mark)
            if not frame.dead:
                ends.append((frame.path, changes))
    finally:
        engine.journal.close(mark)
    settle(engine, path, ends)


# --- if, match, with


def branch(engine: Statements, node: cst.If) -> None:
    truth = engine.truth(engine.evaluate(node.test))
    when_true, when_false = engine.conditions(node.test)
    if truth is None:
        truth = engine.decided(when_true, when_false)

    def orelse() -> None:
        if isinstance(node.orelse, cst.If):
            branch(engine, node.orelse)
        elif isinstance(node.orelse, cst.Else):
            engine.execute_block(node.orelse.body.body)

    if truth is not None:
        if truth:
            engine.execute_block(node.body.body)
        else:
            orelse()
        return

    def given(taken: bool, run: Callable[[], None]) -> Callable[[], None]:
        def block() -> None:
            with engine.given(node.test, taken):
                run()

        return block

    arms(engine, [(when_true, given(True, lambda: engine.execute_block(node.body.body))), (when_false, given(False, orelse))])


def match(engine: Statements, node: cst.Match) -> None:
    """The first case whose pattern fits; where none does, none of them runs."""
    subject = engine.evaluate(node.subject)
    stem = engine.condition_stem(node.subject)
    refused: Path = EMPTY_PATH
    choices: list[tuple[Path, Callable[[], None]]] = []
    for case in node.cases:
        fits = _fits(engine, case.pattern, subject) if case.guard is None else None
        if fits is False:
            continue
        told: tuple[Path, Path]
        words = engine.pattern_words(case.pattern) if case.guard is None and fits is None else None
        if words is not None:
            told = engine.one_of_words(subject, stem, words, engine.printed(case.pattern))
        elif case.guard is not None or fits is None:
            key = f"{stem} is {engine.printed(case.pattern)}" + ("" if case.guard is None else f" if {engine.printed(case.guard)}")
            told = frozenset({(key, True)}), frozenset({(key, False)})
        else:
            told = EMPTY_PATH, EMPTY_PATH

        def run(case: cst.MatchCase = case) -> None:
            _capture(engine, case.pattern, subject)
            engine.execute_block(case.body.body)

        choices.append((refused | told[0], run))
        if fits is True and case.guard is None:
            break
        refused = refused | told[1]
    else:
        choices.append((refused, lambda: None))
    if len(choices) == 1:
        choices[0][1]()
    else:
        arms(engine, choices)


def _fits(engine: Statements, pattern: cst.MatchPattern, subject: Value) -> bool | None:
    """Whether a pattern certainly fits, or certainly does not."""
    if isinstance(pattern, cst.MatchAs):
        return True if pattern.pattern is None else _fits(engine, pattern.pattern, subject)
    if isinstance(pattern, cst.MatchOr):
        found = [_fits(engine, one, subject) for one in pattern.patterns]
        return True if True in found else False if all(one is False for one in found) else None
    if isinstance(pattern, cst.MatchSingleton | cst.MatchValue) and not isinstance(subject, Choice):
        wanted = engine.evaluate(pattern.value)
        if isinstance(wanted, Text) and isinstance(subject, Text):
            return wanted.value == subject.value
        if isinstance(wanted, Scalar) and isinstance(subject, Scalar) and wanted.value.is_number and subject.value.is_number:
            return wanted.value.equals(subject.value) if subject.default_of is None else None
        if wanted is NONE or subject is NONE:
            return True if wanted is subject else None
    if isinstance(pattern, cst.MatchSequence) and isinstance(subject, Items):
        if any(isinstance(one, cst.MatchStar) for one in pattern.patterns):
            return None
        if len(pattern.patterns) != len(subject.items):
            return False
        found = [_fits(engine, one, item) for one, item in zip(pattern.patterns, subject.items, strict=True)]
        return False if False in found else True if all(found) else None
    return None


def _capture(engine: Statements, pattern: cst.MatchPattern | None, subject: Value) -> None:
    """Bind the names of a pattern."""
    if isinstance(pattern, cst.MatchAs):
        _capture(engine, pattern.pattern, subject)
        if pattern.name is not None:
            engine.assign_target(pattern.name, subject, None)
    elif isinstance(pattern, cst.MatchStar) and pattern.name is not None:
        engine.assign_target(pattern.name, Unknown("the rest of what is matched"), None)
    elif isinstance(pattern, cst.MatchSequence):
        known = subject.items if isinstance(subject, Items) and len(subject.items) == len(pattern.patterns) else None
        for index, one in enumerate(pattern.patterns):
            _capture(engine, one, known[index] if known is not None else Unknown("an item of what is matched"))
    elif isinstance(pattern, cst.MatchMapping):
        for key, one in zip(pattern.keys, pattern.patterns, strict=True):
            text = engine.evaluate(key)
            found = subject.items.get(text.value) if isinstance(subject, Mapping) and isinstance(text, Text) else None
            _capture(engine, one, found or Unknown("an item of what is matched"))
    elif isinstance(pattern, cst.MatchClass):
        for one in pattern.patterns:
            _capture(engine, one, Unknown("an attribute of what is matched"))
        for name, one in zip(pattern.keywords, pattern.keyword_patterns, strict=True):
            _capture(engine, one, engine.attribute(subject, name, None))


def manage(engine: Statements, node: cst.With) -> None:
    """`with`: the body runs once; behind `suppress` it may have been left anywhere."""
    swallows = False
    for item in node.items:
        value = engine.evaluate(item.item)
        called = item.item.func if isinstance(item.item, cst.Call) else item.item
        swallows = swallows or SWALLOWS.search(engine.printed(called)) is not None
        if item.asname is not None and isinstance(item.asname.name, cst.BaseExpression):
            engine.assign_target(item.asname.name, value, None)
    if swallows:
        _guarded(engine, node.body.body, [(None, lambda: None)], lambda: None, engine.row_of(node))
    else:
        engine.execute_block(node.body.body)


# --- loops


def repeat(engine: Statements, node: cst.For | cst.While) -> None:
    def orelse() -> None:
        if node.orelse is not None:
            engine.execute_block(node.orelse.body.body)

    if isinstance(node, cst.For):
        iterable = engine.evaluate(node.iter)
        items = engine.items_of(iterable)
        if items is not None and len(items) <= MAX_UNROLLED:
            _one_by_one(engine, node, items, orelse)
            return
        empty = items is None and not _counts_axis(iterable)
        _over_and_over(engine, node, lambda: engine.assign_target(node.target, engine.item_of(iterable), None), orelse, empty)
        return
    _while(engine, node, orelse)


def _counts_axis(iterable: Value) -> bool:
    """Whether a loop goes over an axis of a tensor, which has an entry at least."""
    if isinstance(iterable, SequenceValue) and iterable.length is not None:
        length = iterable.length
        return length.coefficient >= 1 and all(symbol.kind == AXIS for symbol in length.symbols)
    return isinstance(iterable, Tensor)


def _one_by_one(engine: Statements, node: cst.For, items: Sequence[Value], orelse: Callable[[], None]) -> None:
    """A loop over few items that are known."""
    frame = engine.frame
    path = frame.path
    mark = engine.journal.open()
    loop = Loop(mark)
    frame.loops.append(loop)
    try:
        for item in items:
            engine.assign_target(node.target, sharing.current(engine, item), None)
            engine.execute_block(node.body.body)
            _next(engine, loop, path)
            if frame.dead:
                break
    finally:
        frame.loops.pop()
    _after(engine, loop, path, orelse)


def _next(engine: Statements, loop: Loop, path: Path) -> None:
    """The end of one iteration: what ran through, and what went on with the next one early."""
    frame = engine.frame
    if not loop.continues:
        return
    ends = [(one.path, one.changes) for one in loop.continues]
    loop.continues = []
    if not frame.dead:
        ends.append((frame.path, engine.journal.changes(loop.mark)))
    engine.journal.undo(loop.mark)
    settle(engine, path, ends)


def _after(engine: Statements, loop: Loop, path: Path, orelse: Callable[[], None], further: Sequence[End] = ()) -> None:
    """Behind a loop: `else` where it ran out, and all that was left by `break`."""
    frame = engine.frame
    if not frame.dead:
        orelse()
    if not loop.breaks and not further:
        engine.journal.close(loop.mark)
        return
    ends = [*((one.path, one.changes) for one in loop.breaks), *further]
    if not frame.dead:
        ends.append((frame.path, engine.journal.changes(loop.mark)))
    engine.journal.undo(loop.mark)
    engine.journal.close(loop.mark)
    settle(engine, path, ends)


def _while(engine: Statements, node: cst.While, orelse: Callable[[], None]) -> None:
    """`while`: iteration by iteration as long as the test is decided; from there on for any number of iterations."""
    frame = engine.frame
    path = frame.path
    mark = engine.journal.open()
    loop = Loop(mark)
    frame.loops.append(loop)
    undecided = False
    try:
        for _ in range(MAX_UNROLLED + 1):
            truth = engine.truth(engine.evaluate(node.test))
            if truth is None:
                truth = engine.decided(*engine.conditions(node.test))
            if truth is False or frame.dead:
                break
            if truth is None:
                undecided = True
                break
            engine.execute_block(node.body.body)
            _next(engine, loop, path)
            if frame.dead:
                break
        else:
            undecided = True
    finally:
        frame.loops.pop()
    if undecided and not frame.dead:
        certain = engine.truth(engine.evaluate(node.test)) is True
        _over_and_over(engine, node, lambda: None, orelse, not certain, endless=certain)
        _after(engine, loop, path, lambda: None)
        return
    _after(engine, loop, path, orelse)


def _over_and_over(
    engine: Statements,
    node: cst.For | cst.While,
    start: Callable[[], None],
    orelse: Callable[[], None],
    may_be_empty: bool,
    endless: bool = False,
) -> None:
    """A loop of unknown length: its body is evaluated until what it finds at its head no longer changes.

    What it changes from one iteration to the next is not known inside it and behind it.
    """
    frame, journal = engine.frame, engine.journal
    path = frame.path
    outer, engine.in_loop = engine.in_loop, True
    runs = f"{LOOP_RUNS} {engine.row_of(node)} runs\x00{engine.number_of(node)}"
    first = f"the first iteration at line {engine.row_of(node)}\x00{engine.number_of(node)}"
    mark = journal.open()
    head: Changes = {}
    entered = path | {(runs, True)}
    try:
        for attempt in range(3):
            records, returns, raised = len(engine.records), len(frame.returns), len(engine.attempts[-1].raised) if engine.attempts else 0
            loop = Loop(mark)
            apply(head)
            frame.path, frame.dead = entered, False
            frame.loops.append(loop)
            try:
                start()
                if isinstance(node, cst.While):
                    engine.evaluate(node.test)
                engine.execute_block(node.body.body)
                _next(engine, loop, entered)
            finally:
                frame.loops.pop()
            ended = not frame.dead
            at_end = journal.changes(mark) if ended else {}
            widened = {} if attempt == 2 else _widened(engine, mark, head, at_end, attempt, first)
            if not widened:
                break
            journal.undo(mark)
            head = {**head, **widened}
            del engine.records[records:]
            del frame.returns[returns:]
            if engine.attempts:
                del engine.attempts[-1].raised[raised:]
    finally:
        engine.in_loop = outer
    # ran out after some iterations; where that is not decided, without any
    frame.dead = not ended or endless
    ends: list[End] = []
    if not frame.dead:
        orelse()
        if not frame.dead:
            ends.append((frame.path, journal.changes(mark)))
    journal.undo(mark)
    if may_be_empty:
        frame.path, frame.dead = path | {(runs, False)}, False
        orelse()
        if not frame.dead:
            skipped = journal.changes(mark)
            if ends:
                skipped, ends[0] = _alike(skipped, ends[0][1], ends[0][0])
            ends.append((frame.path, skipped))
        journal.undo(mark)
    ends += [(one.path, one.changes) for one in loop.breaks]
    journal.close(mark)
    settle(engine, path, ends)


def _alike(skipped: Changes, ran: Changes, path: Path) -> tuple[Changes, End]:
    """Where a loop leaves a tensor of the same scale and width behind, it is no matter whether it ran."""
    for place, (places, value) in ran.items():
        before = skipped[place][1] if place in skipped else places.held(place[1])
        if before is MISSING or before is value:
            continue
        alike = (
            isinstance(before, Tensor) and isinstance(value, Tensor) and _as_wide(before, value) and scale_key(before) == scale_key(value)
        )
        if alike or (type(before) is type(value) and isinstance(value, (Items, SequenceValue, Mapping))):
            skipped = {**skipped, place: (places, value)}
    return skipped, (path, ran)


def _as_wide(a: Tensor, b: Tensor) -> bool:
    if not a.shape.axes or not b.shape.axes:
        return True
    return a.shape.axes[-1].size.equals(b.shape.axes[-1].size)


def _widened(engine: Statements, mark: Mark, head: Changes, at_end: Changes, attempt: int, first: str) -> Changes:
    """What the head of a loop has to hold for a further iteration, where that is not what it held for the last one."""
    found: Changes = {}
    before = _before(engine, mark, at_end)
    for place, (places, value) in at_end.items():
        started = before[place]
        held = head[place][1] if place in head else started
        if held is MISSING or value is MISSING or value is held or _settled(held, value):
            continue
        if attempt == 0:
            now = engine.choose([(frozenset({(first, True)}), started), (frozenset({(first, False)}), value)])
            if now is held or same(now, held):
                continue
        else:
            now = _unknown(engine, started)
        found[place] = (places, now)
    return found


def _before(engine: Statements, mark: Mark, at_end: Changes) -> dict:
    """What the places held at a mark."""
    found: dict = {}
    for places, key, value in engine.journal.entries[mark.index :]:
        found.setdefault((id(places), key), getattr(key, "initial", MISSING) if value is MISSING else value)
    return {place: found.get(place, MISSING) for place in at_end}


def _settled(held: Value, value: Value) -> bool:
    """Whether a further iteration finds no more than the last one did."""
    known = [option for _, option in options_of(held)]
    return all(any(_equal(option, one) for one in known) for _, option in options_of(value))


def _equal(a: Value, b: Value) -> bool:
    if isinstance(a, Effects) and isinstance(b, Effects):
        return a.items == b.items
    if isinstance(a, (Items, SequenceValue, Mapping)) and type(a) is type(b):
        return a is b or same(a, b)
    return same(a, b) or (isinstance(a, Tensor) and isinstance(b, Tensor) and _as_wide(a, b) and scale_key(a) == scale_key(b))


def _unknown(engine: Statements, started: Value) -> Value:
    """A value that is another one in each iteration."""
    if isinstance(started, Tensor):
        return started.but(uncertain=started.uncertain or IN_LOOP)
    if isinstance(started, Effects):
        return Effects((*started.items, Effect((), lost=IN_LOOP)))
    if isinstance(started, Scalar):
        name = "a number that a loop changes"
        return Scalar(Monomial.of(Symbol(f"{name} {engine.number_of(started)}", name, OPAQUE)))
    if isinstance(started, Choice):
        return Choice(tuple((path, _unknown(engine, option)) for path, option in started.options))
    return Unknown(IN_LOOP)


# --- exceptions


def attempt(engine: Statements, node: cst.Try) -> None:
    """`try`: the body, or a part of it and a handler; `finally` behind every way out."""
    frame = engine.frame
    row = engine.row_of(node)

    def orelse() -> None:
        if node.orelse is not None:
            engine.execute_block(node.orelse.body.body)

    handlers = [(_caught(engine, handler), _handler(engine, handler)) for handler in node.handlers]
    if node.finalbody is None:
        _guarded(engine, node.body.body, handlers, orelse, row)
        return
    final = node.finalbody.body.body
    path = frame.path
    mark = engine.journal.open()
    pending = _Pending(engine)
    try:
        if handlers:
            _guarded(engine, node.body.body, handlers, orelse, row)
        else:
            engine.execute_block(node.body.body)
        ends: list[End] = [] if frame.dead else [(frame.path, engine.journal.changes(mark))]
        engine.journal.undo(mark)
        pending.through(final, mark)
    finally:
        engine.journal.close(mark)
    settle(engine, path, ends)
    if not frame.dead:
        engine.execute_block(final)


class _Pending:
    """The ways out that a block adds, which lead through `finally`."""

    def __init__(self, engine: Statements) -> None:
        self.engine = engine
        frame = engine.frame
        self.lists: list[tuple[list[Exit], Mark | None]] = [(frame.returns, frame.mark)]
        if frame.loops:
            loop = frame.loops[-1]
            self.lists += [(loop.breaks, loop.mark), (loop.continues, loop.mark)]
        self.counts = [len(exits) for exits, _ in self.lists]

    def through(self, final: Sequence[cst.CSTNode], mark: Mark) -> None:
        engine = self.engine
        frame = engine.frame
        path = frame.path
        for (exits, origin), count in zip(self.lists, self.counts, strict=True):
            for index in range(count, len(exits)):
                one = exits[index]
                apply(one.changes)
                frame.path, frame.dead = one.path, False
                engine.execute_block(final)
                if not frame.dead and origin is not None:
                    value = sharing.current(engine, one.value)
                    exits[index] = Exit(one.path, value, engine.journal.changes(origin))
                engine.journal.undo(mark)
        frame.path = path


def _caught(engine: Statements, handler: cst.ExceptHandler) -> frozenset[str] | None:
    """The names of the exceptions that a handler takes; None where it takes all."""
    kind = handler.type
    if kind is None:
        return None
    kinds = [element.value for element in kind.elements] if isinstance(kind, cst.Tuple) else [kind]
    names = frozenset(engine.printed(one).rpartition(".")[2] for one in kinds)
    return None if names & {"Exception", "BaseException"} else names


def _handler(engine: Statements, handler: cst.ExceptHandler) -> Callable[[], None]:
    def run() -> None:
        name = handler.name.name if handler.name is not None else None
        if isinstance(name, cst.Name):
            engine.assign_target(name, Unknown("an exception"), None)
        engine.execute_block(handler.body.body)

    return run


def _guarded(
    engine: Statements,
    body: Sequence[cst.CSTNode],
    handlers: Sequence[tuple[frozenset[str] | None, Callable[[], None]]],
    orelse: Callable[[], None],
    row: int,
) -> None:
    """A body and what goes on where an exception is raised in it: one that the code raises, or one that any call may raise."""
    frame, journal = engine.frame, engine.journal
    path = frame.path
    key = f"{EXCEPTION} {row}\x00{engine.number_of(body[0]) if body else row}"
    mark = journal.open()
    guard = Attempt(mark, len(engine.frames))
    engine.attempts.append(guard)
    touched: dict = {}
    last_risk = -1
    try:
        for index, statement in enumerate(body):
            if frame.dead:
                break
            position, risks = len(journal.entries), engine.risks
            engine.execute(statement)
            if engine.risks > risks:
                last_risk = index
            for places, place, _ in journal.entries[position:]:
                touched.setdefault((id(places), place), [places, index])[1] = index
    finally:
        engine.attempts.pop()
        ends: list[End] = []
    if not frame.dead:
        frame.path = frame.path if last_risk < 0 else frame.path | {(key, False)}
        orelse()
        if not frame.dead:
            ends.append((frame.path, journal.changes(mark)))
    after = journal.taken_back(mark)
    entries: list[tuple[str | None, Path, Changes]] = [(name, one.path, one.changes) for name, one in guard.raised]
    if last_risk >= 0:
        entries.append((None, path | {(key, True)}, _interrupted(engine, touched, after, last_risk)))
    for raised, entry, changes in entries:
        for caught, run in handlers:
            if raised is not None and caught is not None and raised not in caught:
                continue
            apply(changes)
            frame.path, frame.dead = entry, False
            run()
            if not frame.dead:
                ends.append((frame.path, journal.changes(mark)))
            journal.undo(mark)
            if raised is not None or caught is None or len(handlers) == 1:
                break
    journal.close(mark)
    settle(engine, path, ends)


def _interrupted(engine: Statements, touched: dict, after: Changes, last_risk: int) -> Changes:
    """What a handler finds where an exception was raised somewhere in the body: what may have been written before it is not known."""
    found: Changes = {}
    for place, (places, index) in touched.items():
        before = places.held(place[1])
        if index >= last_risk and places is engine.frame.locals:
            continue  # a name that is bound by, or behind, the last statement that may raise
        if before is MISSING:
            continue
        value = after[place][1] if place in after else before
        if value is not before:
            found[place] = (places, _half(before))
    return found


def _half(before: Value) -> Value:
    if isinstance(before, Tensor):
        return before.but(uncertain=before.uncertain or INTERRUPTED)
    if isinstance(before, Effects):
        return Effects((*before.items, Effect((), lost=INTERRUPTED)))
    return Unknown(INTERRUPTED)
