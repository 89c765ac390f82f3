"""`checked` and `install`: check the first calls of a forward, a function or a model, then get out of the way."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, overload

from attnlint.probe import frames, settings
from attnlint.probe.errors import AttentionFault, AttentionFaultWarning
from attnlint.probe.expect import Expectation, normalise
from attnlint.probe.report import Report
from attnlint.probe.watching import watch

T = TypeVar("T", bound=Callable[..., Any])


def _compiling() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "compiler") and bool(torch.compiler.is_compiling())


def _act(report: Report, action: str) -> None:
    """Raise or warn for what one call measured."""
    if action == "report":
        return
    message = report.message()
    if not message:
        return
    if action == "raise":
        raise AttentionFault(message, report)
    where = frames.user_line()
    warnings.warn_explicit(message, AttentionFaultWarning, where.file or "<unknown>", where.line or 1)


# --- checked ------------------------------------------------------------------------------------------------------------------


class _Counter:
    """How many calls are left to check: for a function, or for each instance of a class."""

    __slots__ = ("calls", "left", "per_instance")

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.left = calls
        self.per_instance: dict[int, Any] = {}

    def instance(self, owner: Any) -> list[Any]:
        """[calls left, weak reference] of one instance."""
        key = id(owner)
        known = self.per_instance.get(key)
        if known is not None and (known[1] is None or known[1]() is owner):
            return known
        table = self.per_instance
        try:
            reference: Any = weakref.ref(owner, lambda _: table.pop(key, None))
        except TypeError:
            reference = None
        fresh = [self.calls, reference]
        table[key] = fresh
        return fresh


def _is_method_of(owner: Any, name: str, wrapper: Any) -> bool:
    return any(wrapper is _function(cls.__dict__.get(name)) for cls in type(owner).__mro__)


def _function(attribute: Any) -> Any:
    return getattr(attribute, "__func__", attribute)


def _wrap_function(fn: Callable[..., Any], calls: int, on_fault: str, expect: Any) -> Callable[..., Any]:
    counter = _Counter(calls)
    parent = getattr(fn, "__qualname__", "").rpartition(".")[0]
    maybe_method = bool(parent) and not parent.endswith("<locals>")
    name = getattr(fn, "__name__", "")

    def check(args: tuple[Any, ...], kwargs: dict[str, Any], spend: Callable[[], None]) -> Any:
        if _compiling() or settings.disabled():
            return fn(*args, **kwargs)
        with watch(expect=expect) as report:
            result = fn(*args, **kwargs)
        spend()
        _act(report, settings.action(on_fault))
        return result

    if maybe_method:
        counts = counter.per_instance
        by_function = [calls]

        @functools.wraps(fn)
        def method(*args: Any, **kwargs: Any) -> Any:
            known = counts.get(id(args[0])) if args else None
            if known is not None and known[0] <= 0 and (known[1] is None or known[1]() is args[0]):
                return fn(*args, **kwargs)
            if args and _is_method_of(args[0], name, method):
                own = counter.instance(args[0])

                def spend_own() -> None:
                    own[0] -= 1

                return check(args, kwargs, spend_own) if own[0] > 0 else fn(*args, **kwargs)
            if by_function[0] <= 0:
                return fn(*args, **kwargs)

            def spend() -> None:
                by_function[0] -= 1

            return check(args, kwargs, spend)

        wrapper: Callable[..., Any] = method
    else:
        left = [calls]

        @functools.wraps(fn)
        def function(*args: Any, **kwargs: Any) -> Any:
            if left:
                if left[0] > 0:
                    return check(args, kwargs, spend_one)
                left.clear()
            return fn(*args, **kwargs)

        def spend_one() -> None:
            if left:
                left[0] -= 1
                if left[0] <= 0:
                    left.clear()

        wrapper = function
    # torch.compile looks this up and traces the function itself: the check steps aside.
    wrapper._torchdynamo_inline = fn  # type: ignore[attr-defined]
    return wrapper


def _wrap_class(cls: type, calls: int, on_fault: str, expect: Any) -> type:
    for name in ("forward", "__call__"):
        found = inspect.getattr_static(cls, name, None)
        if found is not None and inspect.isfunction(found) and not _torch_default(found):
            break
    else:
        raise TypeError(f"@checked on {cls.__name__}: it has neither a forward nor a __call__ to check; decorate the function that attends")
    original: Callable[..., Any] = found
    if name not in cls.__dict__:
        # An inherited forward is checked for this class alone: the superclass stays as it was.
        inherited = original

        @functools.wraps(inherited)
        def own(self: Any, *args: Any, **kwargs: Any) -> Any:
            return inherited(self, *args, **kwargs)

        own.__qualname__ = f"{cls.__qualname__}.{name}"
        original = own
    wrapper = _wrap_function(original, calls, on_fault, expect)
    setattr(cls, name, wrapper)
    return cls


def _torch_default(function: Any) -> bool:
    return getattr(function, "__name__", "") == "_forward_unimplemented"


@overload
def checked(target: T, /) -> T: ...
@overload
def checked(*, calls: int = 3, on_fault: str = "raise", expect: Expectation = None) -> Callable[[T], T]: ...


def checked(target: Any = None, /, *, calls: int = 3, on_fault: str = "raise", expect: Expectation = None) -> Any:
    """Check the first `calls` calls of a function, a method or a class with a forward, each by itself; after that it costs nothing.

    Calls are counted per function, and per instance where a class or a method is decorated. `on_fault` is "raise" (AttentionFault,
    also where no attention ran), "warn" or "report" (measure, say nothing). With ATTNLINT_PROBE=off the very object comes back.
    Under torch.compile nothing is checked: run the checked calls before compiling.
    """
    settings.check_calls(calls)
    settings.check_on_fault(on_fault)
    known = normalise(expect)

    def decorate(obj: Any) -> Any:
        if settings.disabled():
            return obj
        if isinstance(obj, type):
            return _wrap_class(obj, calls, on_fault, known)
        if isinstance(obj, staticmethod):
            return staticmethod(_wrap_function(obj.__func__, calls, on_fault, known))
        if isinstance(obj, classmethod):
            return classmethod(_wrap_function(obj.__func__, calls, on_fault, known))
        if not callable(obj):
            raise TypeError(f"@checked decorates a function, a method or a class, not {type(obj).__name__}")
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(obj, torch.nn.Module):
            raise TypeError("@checked decorates classes and functions; for a model that exists already use probe.install(model)")
        return _wrap_function(obj, calls, on_fault, known)

    return decorate if target is None else decorate(target)


# --- install --------------------------------------------------------------------------------------------------------------------

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
    """Stands in for a model's forward. A deep copy of the model gets its own plain forward: the probe stays with the original."""

    def __init__(self, dispatcher: _Dispatcher) -> None:
        self._dispatcher = dispatcher
        self.__wrapped__ = dispatcher.call
        self.__name__ = "forward"
        self.__doc__ = getattr(dispatcher.call, "__doc__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._dispatcher.run(args, kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        model = self._dispatcher.model()
        copy = memo.get(id(model))
        if copy is None or self._dispatcher.had_own:
            return self._dispatcher.call
        return type(copy).forward.__get__(copy)


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
        if _compiling() or settings.disabled():
            return self.call(*args, **kwargs)
        model = self.model()
        handles = list(self.handles)
        blocks = []
        for handle in handles:
            block = watch(model, expect=None)
            block._expect = handle.expect
            blocks.append((handle, block, block.__enter__()))
        try:
            result = self.call(*args, **kwargs)
        finally:
            kinds = sys.exc_info()
            for _, block, _ in reversed(blocks):
                block.__exit__(*kinds)
        for handle, _, report in blocks:
            handle.report.absorb(report)
            handle.calls_left -= 1
            if handle.calls_left <= 0:
                self.remove(handle)
        for handle, _, report in blocks:
            _act(report, settings.action(handle.on_fault))
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


def install(model: Any, calls: int = 3, on_fault: str = "report", expect: Expectation = None) -> Handle:
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
    dispatcher = _dispatchers.get(model)
    if dispatcher is None or model.__dict__.get("forward") is not dispatcher.forward:
        dispatcher = _Dispatcher(model)
        _dispatchers[model] = dispatcher
    dispatcher.handles.append(handle)
    return handle
