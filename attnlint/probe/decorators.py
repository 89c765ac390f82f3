"""`install`: check the first calls of a model without touching its code, then get out of the way."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any

from attnlint.probe import actions, settings
from attnlint.probe.expect import Expectation, normalise
from attnlint.probe.report import Report
from attnlint.probe.settings import OnFault
from attnlint.probe.watching import watch

# --- install --------------------------------------------------------------------------------------------------------------------

_OF_FUNCTIONS = frozenset(("__globals__", "__code__", "__closure__", "__defaults__", "__kwdefaults__", "__annotations__", "__qualname__"))
_dispatchers: weakref.WeakKeyDictionary[Any, _Dispatcher] = weakref.WeakKeyDictionary()


class Handle:
    """One installed probe: `report` holds what its calls measured; `remove()` takes it out before its time."""

    def __init__(self, model: Any, calls: int, on_fault: str, expect: Any) -> None:
        self.report = Report(model, expect)
        self.calls_left = calls
        self.on_fault = on_fault
        self.expect = expect
        self._model = weakref.ref(model)

    @property
    def active(self) -> bool:
        model = self._model()
        dispatcher = _dispatchers.get(model) if model is not None else None
        return dispatcher is not None and self in dispatcher.handles

    def due(self) -> bool:
        """Whether the call that is about to run is measured."""
        return True

    def take(self, report: Report) -> None:
        """One call was measured."""
        self.report.absorb(report)
        self.calls_left -= 1

    def remove(self) -> None:
        """Take this probe out of the model; a second time it does nothing."""
        model = self._model()
        dispatcher = _dispatchers.get(model) if model is not None else None
        if dispatcher is not None:
            dispatcher.remove(self)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.remove()


def _original_forward(model: Any, own: Any) -> Callable[..., Any]:
    """The model's forward as it was, without a strong reference to the model where it is a plain method."""
    if own is not None:
        return own
    kind = type(model)
    if inspect.isfunction(inspect.getattr_static(kind, "forward", None)):
        reference = weakref.ref(model)

        def call(*args: Any, **kwargs: Any) -> Any:
            return kind.forward(reference(), *args, **kwargs)

        return functools.update_wrapper(call, kind.forward)
    return model.forward  # a scripted or traced module makes its forward on demand


class _Forward:
    """Stands in for a model's forward. A copy of the model, deep or unpickled, gets its own plain forward: the probe stays with the
    original.

    To what reads functions (`torch.jit.script`, `torch.export`) it is the function that it stands in for.
    """

    def __init__(self, dispatcher: _Dispatcher) -> None:
        self._dispatcher = dispatcher
        self.__wrapped__ = dispatcher.call
        self.__name__ = "forward"
        self.__doc__ = getattr(dispatcher.call, "__doc__", None)
        model = dispatcher.model()
        plain = None if dispatcher.had_own else inspect.getattr_static(type(model), "forward", None)
        self._plain = plain if inspect.isfunction(plain) else None
        if self._plain is not None:
            self.__signature__ = inspect.signature(self._plain.__get__(model))

    def __getattr__(self, name: str) -> Any:
        plain = self.__dict__.get("_plain")
        if plain is None or name not in _OF_FUNCTIONS:
            raise AttributeError(name)
        return getattr(plain, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return _Forward if self.__dict__.get("_plain") is None else types.FunctionType

    def __reduce__(self) -> tuple[Any, ...]:
        if self._plain is not None:
            return self._plain.__get__, (self._dispatcher.model(),)
        return copy.copy, (self._dispatcher.call,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._dispatcher.run(args, kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        model = self._dispatcher.model()
        made = memo.get(id(model))
        if made is None or self._dispatcher.had_own:
            return self._dispatcher.call
        return type(made).forward.__get__(made)


class _Dispatcher:
    """The forward that stands in for a model's own while probes are installed in it."""

    def __init__(self, model: Any) -> None:
        self.model = weakref.ref(model)
        self.handles: list[Handle] = []
        own = model.__dict__
        self.had_own = "forward" in own
        self.own = own.get("forward")
        self.call: Callable[..., Any] = _original_forward(model, self.own if self.had_own else None)
        self.forward = _Forward(self)
        model.__dict__["forward"] = self.forward

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if actions.compiling() or settings.disabled():
            return self.call(*args, **kwargs)
        handles = [handle for handle in self.handles if handle.due()]
        if not handles:
            return self.call(*args, **kwargs)
        model = self.model()
        blocks = []
        for handle in handles:
            block = watch(model)
            block.expectation = handle.expect
            blocks.append((handle, block, block.__enter__()))
        try:
            result = self.call(*args, **kwargs)
        finally:
            kinds = sys.exc_info()
            for _, block, _ in reversed(blocks):
                block.__exit__(*kinds)
        for handle, _, report in blocks:
            handle.take(report)
            if handle.calls_left <= 0:
                self.remove(handle)
        for handle, _, report in blocks:
            actions.act(report, settings.action(handle.on_fault))
        return result

    def remove(self, handle: Handle) -> None:
        if handle in self.handles:
            self.handles.remove(handle)
        if not self.handles:
            self.restore()

    def restore(self) -> None:
        model = self.model()
        if model is None:
            return
        _dispatchers.pop(model, None)
        if model.__dict__.get("forward") is not self.forward:
            return  # someone put another forward over ours; ours passes calls through from now on
        if self.had_own:
            model.__dict__["forward"] = self.own
        else:
            model.__dict__.pop("forward", None)


def install(model: Any, calls: int = 3, on_fault: OnFault = "report", expect: Expectation = None) -> Handle:
    """Check the next `calls` calls of a model without touching its code; after the last one the model is as it was.

    `on_fault` is "report" (read `handle.report`), "warn" or "raise", both within the call. Handles may be removed in any order.
    Raises TypeError where `model` is no torch.nn.Module.
    """
    settings.check_calls(calls)
    settings.check_on_fault(on_fault)
    known = normalise(expect)
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        raise TypeError(
            f"install() got a {type(model).__name__}: give a torch.nn.Module; for a function use @probe.checked, for a block probe.watch()"
        )
    handle = Handle(model, calls, on_fault, known)
    if settings.disabled():
        handle.report.disabled = True
        handle.calls_left = 0
        return handle
    return attach(model, handle)


def attach(model: Any, handle: Handle) -> Handle:
    """Put a probe into a model: its forward asks the handle before each call whether it is measured."""
    dispatcher = _dispatchers.get(model)
    if dispatcher is None or model.__dict__.get("forward") is not dispatcher.forward:
        dispatcher = _Dispatcher(model)
        _dispatchers[model] = dispatcher
    dispatcher.handles.append(handle)
    return handle
