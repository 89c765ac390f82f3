"""Coroutines and generators under a check: measured while their own code runs, not while they wait for others."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any

from attnlint.probe.report import Report
from attnlint.probe.taken_in import TakenIn
from attnlint.probe.watching import Session, current_session, use_session

if TYPE_CHECKING:
    from attnlint.probe.checking import Check


class Steps:
    """A block that is open for one step of a coroutine at a time: another task's attention is not taken for this one's."""

    def __init__(self, check: Check, taken: TakenIn) -> None:
        self.check, self.taken = check, taken
        self.report = Report(None, check.expect)
        self._session = Session()
        self._before: Session | None = None
        self._opened = False

    def __enter__(self) -> None:
        self._before = current_session()
        use_session(self._session)
        if self._opened:
            self._session.resume()
        else:
            self._opened = True
            self._session.open(self.report)
        self.taken.enter()

    def __exit__(self, *error: object) -> None:
        self.taken.leave()
        self._session.suspend()
        use_session(self._before)

    def judge(self) -> None:
        """After the last step: raise or warn, also where no attention ran."""
        self._session.close(self.report)
        self.report.close()
        self.check.act(self.report)

    def judge_so_far(self) -> None:
        """Between two steps: raise or warn as soon as there is a fault."""
        if self.report.faults:
            self.judge()


def wrap(fn: Callable[..., Any], check: Check) -> Callable[..., Any]:
    """The function of the same kind that stands in for a coroutine function or a generator function."""
    if inspect.iscoroutinefunction(fn):
        return _coroutine_wrapper(fn, check)
    return _async_generator_wrapper(fn, check) if inspect.isasyncgenfunction(fn) else _generator_wrapper(fn, check)


def _begin(check: Check, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Steps, Any] | None:
    """The steps of this call, and the coroutine or generator with arrays taken in; None where it is not to be checked."""
    owner = check.owner(args)
    if not check.due(owner):
        return None
    check.counter.spend(owner)
    taken = TakenIn(fn, args, kwargs)
    given, named = taken.enter()
    running = fn(*given, **named)  # none of its code runs yet
    taken.leave()
    return Steps(check, taken), running


def _coroutine_wrapper(fn: Callable[..., Any], check: Check) -> Callable[..., Any]:
    @functools.wraps(fn)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        begun = _begin(check, fn, args, kwargs)
        if begun is None:
            return await fn(*args, **kwargs)
        steps, coroutine = begun
        result = await _Driven(steps, coroutine)
        steps.judge()
        return result

    return wrapper


class _Driven:
    """Awaits an awaitable step by step, each within the block."""

    def __init__(self, steps: Steps, awaitable: Awaitable[Any]) -> None:
        self.steps, self.awaitable = steps, awaitable

    def __await__(self) -> Generator[Any, Any, Any]:
        running = self.awaitable.__await__()
        return (yield from _driven(self.steps, running))


def _driven(steps: Steps, running: Any, each: Callable[[Any], Any] | None = None) -> Generator[Any, Any, Any]:
    """`yield from running`, with the block open only while `running` itself runs; `each` sees what it yields."""
    sent: Any = None
    error: BaseException | None = None
    while True:
        with steps:
            try:
                made = running.send(sent) if error is None and hasattr(running, "send") else _advance(running, error)
            except StopIteration as stop:
                return steps.taken.plain(stop.value)
        if each is not None:
            made = each(made)
        sent, error = None, None
        try:
            sent = yield made
        except GeneratorExit:
            running.close()
            raise
        except BaseException as raised:
            error = raised


def _advance(running: Any, error: BaseException | None) -> Any:
    return next(running) if error is None else running.throw(error)


def _generator_wrapper(fn: Callable[..., Any], check: Check) -> Callable[..., Any]:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        begun = _begin(check, fn, args, kwargs)
        if begun is None:
            return (yield from fn(*args, **kwargs))
        steps, running = begun
        judged = _Once(steps)
        try:
            result = yield from _driven(steps, running, judged.each)
        finally:
            running.close()
        judged.last()
        return result

    return wrapper


class _Once:
    """Judges a generator at its first fault, else at its end."""

    def __init__(self, steps: Steps) -> None:
        self.steps, self.done = steps, False

    def each(self, made: Any) -> Any:
        if not self.done and self.steps.report.faults:
            self.done = True
            self.steps.judge_so_far()
        return self.steps.taken.plain(made)

    def last(self) -> None:
        if not self.done:
            self.done = True
            self.steps.judge()


def _async_generator_wrapper(fn: Callable[..., Any], check: Check) -> Callable[..., Any]:
    @functools.wraps(fn)
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        begun = _begin(check, fn, args, kwargs)
        steps, running = begun if begun is not None else (None, fn(*args, **kwargs))
        judged = _Once(steps) if steps is not None else None
        step: Callable[..., Any] = running.asend
        sent: Any = None
        try:
            while True:
                try:
                    made = await (step(sent) if steps is None else _Driven(steps, step(sent)))
                except StopAsyncIteration:
                    break
                if judged is not None:
                    made = judged.each(made)
                step, sent = running.asend, None
                try:
                    sent = yield made
                except GeneratorExit:
                    raise
                except BaseException as raised:
                    step, sent = running.athrow, raised
        finally:
            await running.aclose()
        if judged is not None:
            judged.last()

    return wrapper
