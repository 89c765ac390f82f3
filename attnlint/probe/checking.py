"""`checked`: the first calls of a function, a method or a class, each judged by itself; then it is out of the way."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, overload

from attnlint.probe import actions, settings, suspended
from attnlint.probe.expect import Expectation, normalise
from attnlint.probe.settings import OnFault
from attnlint.probe.taken_in import TakenIn
from attnlint.probe.watching import watch

T = TypeVar("T", bound=Callable[..., Any])

_running = threading.local()


class Counter:
    """How many calls are left to check: of a function, or of each instance where the function is a method.

    `over` is not empty once a function has none left; `spent` has the ids of the instances that have none left.
    """

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.over: list[bool] = []
        self.spent: set[int] = set()
        self._left = calls
        self._instances: dict[int, tuple[list[int], Any]] = {}

    def left(self, owner: Any) -> int:
        if owner is None:
            return self._left
        return self._instance(owner)[0]

    def spend(self, owner: Any) -> None:
        if owner is None:
            self._left -= 1
            if self._left <= 0 and not self.over:
                self.over.append(True)
            return
        left = self._instance(owner)
        left[0] -= 1
        if left[0] <= 0 and self._instances[id(owner)][1] is not None:
            self.spent.add(id(owner))

    def _instance(self, owner: Any) -> list[int]:
        key = id(owner)
        known = self._instances.get(key)
        if known is not None and (known[1] is None or known[1]() is owner):
            return known[0]

        def gone(_: object, table: dict[int, Any] = self._instances, spent: set[int] = self.spent) -> None:
            table.pop(key, None)
            spent.discard(key)

        try:
            reference: Any = weakref.ref(owner, gone)
        except TypeError:
            reference = None
        fresh = [self.calls]
        self._instances[key] = (fresh, reference)
        return fresh


class Check:
    """One decoration: what is checked, how often, and what is done about a fault."""

    def __init__(self, calls: int, on_fault: str, expect: Any) -> None:
        self.on_fault, self.expect = on_fault, expect
        self.counter = Counter(calls)
        self._methods: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
        self._said: list[bool] = []
        self.wrapper: Any = None

    def owner(self, args: tuple[Any, ...]) -> Any:
        """The instance, where the function is called as a method of its class; None for a function."""
        if not args:
            return None
        kind = type(args[0])
        known = self._methods.get(kind)
        if known is None:
            known = self._methods[kind] = any(_function(value) is self.wrapper for cls in kind.__mro__ for value in vars(cls).values())
        return args[0] if known else None

    def due(self, owner: Any) -> bool:
        """Whether this call is to be checked. A call inside a checked call of the same instance (`super().forward(x)`) is part of it."""
        if settings.disabled() or self.counter.left(owner) <= 0:
            return False
        return owner is None or id(owner) not in _inside()

    def act(self, report: Any) -> None:
        actions.act(report, settings.action(self.on_fault))

    def say_compiled(self) -> None:
        """Once: under torch.compile nothing is measured. Runs while the graph is traced."""
        if self._said or self.counter.over or settings.disabled():
            return
        self._said.append(True)
        name = getattr(self.wrapper, "__qualname__", "the function")
        actions.warn(
            f"@probe.checked on {name}: it runs compiled by torch.compile, where no operation is seen: nothing is measured. "
            "Call it once before compiling, or measure the compiled model in a block: with probe.watch(model) as report: model(x)"
        )


def _inside() -> set[int]:
    active: set[int] | None = getattr(_running, "owners", None)
    if active is None:
        active = _running.owners = set()
    return active


def _function(attribute: Any) -> Any:
    return getattr(attribute, "__func__", attribute)


def _call(check: Check, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One call of a plain function that is not known to be past its checks."""
    owner = check.owner(args)
    if not check.due(owner):
        return fn(*args, **kwargs)
    inside = _inside()
    taken = TakenIn(fn, args, kwargs)
    with watch(expect=check.expect) as report:
        if owner is not None:
            inside.add(id(owner))
        given, named = taken.enter()
        try:
            result = taken.plain(fn(*given, **named))
        finally:
            taken.leave()
            inside.discard(id(owner))
    check.counter.spend(owner)
    check.act(report)
    return result


def _wrap(fn: Callable[..., Any], check: Check) -> Callable[..., Any]:
    """The function that stands in for `fn`; one kind for each kind of function."""
    if inspect.iscoroutinefunction(fn) or inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        check.wrapper = suspended.wrap(fn, check)
    else:
        check.wrapper = _plain_wrapper(fn, check)
    check.wrapper._attnlint_checked = fn
    wrapper: Callable[..., Any] = check.wrapper
    return wrapper


def _plain_wrapper(fn: Callable[..., Any], check: Check) -> Callable[..., Any]:
    over, spent, one_call, compiling = check.counter.over, check.counter.spent, _call, actions.compiling

    def say() -> None:
        check.say_compiled()

    say._dynamo_marked_constant = True  # type: ignore[attr-defined]  # torch.compile calls it while it traces, and leaves no trace of it

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if over:
            return fn(*args, **kwargs)
        if args and id(args[0]) in spent:
            return fn(*args, **kwargs)
        if compiling():
            say()
            return fn(*args, **kwargs)
        return one_call(check, fn, args, kwargs)

    def traced(*args: Any, **kwargs: Any) -> Any:
        say()
        return fn(*args, **kwargs)

    # torch.jit.script reads the decorated function's source, and looks its names up where the wrapper has its globals.
    scope = _names(fn) or wrapper.__globals__
    made: Any = types.FunctionType(wrapper.__code__, scope, wrapper.__name__, None, wrapper.__closure__)
    functools.update_wrapper(made, fn)
    made._torchdynamo_inline = traced  # what torch.compile traces instead
    return made


def _names(fn: Any) -> dict[str, Any]:
    """The names that a function's source may use: its module's, and the variables that it closes over."""
    module: dict[str, Any] = getattr(fn, "__globals__", {})
    held = zip(fn.__code__.co_freevars, fn.__closure__, strict=True) if getattr(fn, "__closure__", None) else ()
    closed = {name: cell.cell_contents for name, cell in held if _is_set(cell)}
    return {**module, **closed} if closed else module


def _is_set(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _wrap_class(cls: type, check: Callable[[], Check]) -> type:
    """Check the class's forward, and that of every subclass that writes its own. All count together for each instance."""
    for name in ("forward", "__call__"):
        found = inspect.getattr_static(cls, name, None)
        if found is not None and inspect.isfunction(found) and found.__name__ != "_forward_unimplemented":
            break
    else:
        raise TypeError(f"@checked on {cls.__name__}: it has neither a forward nor a __call__ to check; decorate the function that attends")
    shared = check()
    original: Callable[..., Any] = found
    if name not in cls.__dict__:
        # An inherited forward is checked for this class alone: the superclass stays as it was.
        inherited = getattr(original, "_attnlint_checked", original)

        @functools.wraps(inherited)
        def own(self: Any, *args: Any, **kwargs: Any) -> Any:
            return inherited(self, *args, **kwargs)

        own.__qualname__ = f"{cls.__qualname__}.{name}"
        original = own
    _replace(cls, name, original, shared)
    _follow_subclasses(cls, name, shared, check)
    return cls


def _replace(cls: type, name: str, function: Callable[..., Any], check: Check) -> None:
    setattr(cls, name, _wrap(getattr(function, "_attnlint_checked", function), check))


def _follow_subclasses(cls: type, name: str, shared: Check, check: Callable[[], Check]) -> None:
    before = cls.__dict__.get("__init_subclass__")

    def follow(sub: type, **kwargs: Any) -> None:
        if before is not None:
            before.__get__(None, sub)(**kwargs)
        else:
            super(cls, sub).__init_subclass__(**kwargs)  # type: ignore[arg-type]
        own = sub.__dict__.get(name)
        if inspect.isfunction(own) and not hasattr(own, "_attnlint_checked"):
            of_sub = check()
            of_sub.counter = shared.counter
            _replace(sub, name, own, of_sub)

    cls.__init_subclass__ = classmethod(follow)  # type: ignore[assignment]


@overload
def checked(target: T, /) -> T: ...
@overload
def checked(*, calls: int = 3, on_fault: OnFault = "raise", expect: Expectation = None) -> Callable[[T], T]: ...


def checked(target: Any = None, /, *, calls: int = 3, on_fault: OnFault = "raise", expect: Expectation = None) -> Any:
    """Check the first `calls` calls of a function, a method or a class with a forward, each by itself; after that it costs nothing.

    Calls are counted per function, and per instance where a class or a method is decorated; a subclass's own forward is checked too.
    `on_fault` is "raise" (AttentionFault, also where no attention ran), "warn" or "report" (measure, say nothing). NumPy arrays among
    the arguments, in lists and dicts, in attributes of the instance and in closures are traced for the time of the call; results are
    plain arrays, bit-identical. Coroutines and generators are measured while their own code runs. With ATTNLINT_PROBE=off the very
    object comes back. Under torch.compile nothing is measured, which is said once: run the checked calls before compiling.
    Raises ValueError on bad `calls` or `on_fault`, TypeError on an `expect` or a target that is not understood.
    """
    settings.check_calls(calls)
    settings.check_on_fault(on_fault)
    known = normalise(expect)

    def check() -> Check:
        return Check(calls, on_fault, known)

    def decorate(obj: Any) -> Any:
        if settings.disabled():
            return obj
        if isinstance(obj, type):
            return _wrap_class(obj, check)
        if isinstance(obj, (staticmethod, classmethod)):
            return type(obj)(_wrap(obj.__func__, check()))
        if not callable(obj):
            raise TypeError(f"@checked decorates a function, a method or a class, not {type(obj).__name__}")
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(obj, torch.nn.Module):
            raise TypeError("@checked decorates classes and functions; for a model that exists already use probe.install(model)")
        return _wrap(obj, check())

    return decorate if target is None else decorate(target)
