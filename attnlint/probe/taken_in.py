"""Plain NumPy arrays of a call, taken in for its time: traced where the code finds them, and given back as what they were.

Arrays are replaced by views of the same memory: among the arguments, in lists and dicts, in attributes of plain objects, and in the
variables that a function closes over. Afterwards every place holds the very array that it held, or a plain array where the code put
a new one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

DEEPEST = 8
LONGEST = 4096
"""Longer containers hold data of another kind: they are left alone."""
_PLAIN = {int, float, str, bytes, bool, type(None), complex}
_FOREIGN = {"builtins", "torch", "numpy", "jax", "jaxlib", "tensorflow", "keras", "scipy", "pandas", "types", "_io", "threading"}


class TakenIn:
    """The arrays of one call. `enter` and `leave` may be repeated: between two steps of a coroutine the places hold plain arrays."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.cells = list(getattr(fn, "__closure__", None) or ())
        self.roots: tuple[tuple[Any, ...], dict[str, Any]] = (args, kwargs)
        self.originals: dict[int, tuple[Any, Any]] = {}
        self.numpy: Any = sys.modules.get("numpy")

    def enter(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments to call with; containers and attributes hold traced arrays from here on."""
        args, kwargs = self.roots
        if self.numpy is None:
            return args, kwargs
        self._cells(self._in)
        seen: set[int] = set()
        self.roots = tuple(_walk(a, self._in, seen) for a in args), {k: _walk(v, self._in, seen) for k, v in kwargs.items()}
        return self.roots

    def leave(self) -> None:
        """Every place holds plain arrays again."""
        if self.numpy is None:
            return
        self._cells(self._out)
        seen: set[int] = set()
        args, kwargs = self.roots
        self.roots = tuple(_walk(a, self._out, seen) for a in args), {k: _walk(v, self._out, seen) for k, v in kwargs.items()}

    def plain(self, result: Any) -> Any:
        """A result as code without the probe would have it."""
        return result if self.numpy is None else _walk(result, self._out_of_call, set())

    def _cells(self, change: Callable[[Any], Any]) -> None:
        for cell in self.cells:
            try:
                value = cell.cell_contents
            except ValueError:  # a variable that has no value yet
                continue
            made = change(value)
            if made is not value:
                cell.cell_contents = made

    def _in(self, x: Any) -> Any:
        if not isinstance(x, self.numpy.ndarray) or x.dtype.kind not in "fiubc":
            return x
        from attnlint.probe.numpy_backend import TracedArray

        if isinstance(x, TracedArray):
            self.originals[id(x)] = (x, x)  # the caller's own, made by probe.array: it stays where it is
        if type(x) is not self.numpy.ndarray:
            return x
        view = x.view(TracedArray)
        self.originals[id(view)] = (view, x)
        return view

    def _out(self, x: Any) -> Any:
        backend = sys.modules.get("attnlint.probe.numpy_backend")
        if backend is None or not isinstance(x, backend.TracedArray):
            return x
        known = self.originals.get(id(x))
        return known[1] if known is not None else backend.plain(x)

    def _out_of_call(self, x: Any) -> Any:
        backend = sys.modules.get("attnlint.probe.numpy_backend")
        made = self._out(x)
        return made if backend is None or not isinstance(made, backend.TracedArray) else backend.plain(made)


def _walk(x: Any, change: Callable[[Any], Any], seen: set[int], depth: int = 0) -> Any:
    """`x` with its arrays changed: tuples anew, lists, dicts and objects in place."""
    kind = type(x)
    if kind in _PLAIN:
        return x
    made = change(x)
    if made is not x or depth > DEEPEST:
        return made
    if isinstance(x, tuple):
        items = [_walk(i, change, seen, depth + 1) for i in x]
        if all(a is b for a, b in zip(items, x, strict=True)):
            return x
        return kind(*items) if hasattr(x, "_fields") else kind(items)
    if isinstance(x, (list, dict)):
        _in_place(x, list(x.items()) if isinstance(x, dict) else list(enumerate(x)), change, seen, depth)
    elif _is_own(x, kind):
        held = getattr(x, "__dict__", None)
        if isinstance(held, dict):
            _in_place(held, list(held.items()), change, seen, depth)
    return x


def _is_own(x: Any, kind: type) -> bool:
    """Whether an object is an instance of the user's own class: no class, module, function or framework's object."""
    if isinstance(x, type) or kind.__module__.partition(".")[0] in _FOREIGN:
        return False
    torch = sys.modules.get("torch")
    return not (torch is not None and hasattr(torch, "nn") and isinstance(x, torch.nn.Module))


def _in_place(container: Any, items: list[tuple[Any, Any]], change: Callable[[Any], Any], seen: set[int], depth: int) -> None:
    if id(container) in seen or len(items) > LONGEST:
        return
    seen.add(id(container))
    for key, value in items:
        made = _walk(value, change, seen, depth + 1)
        if made is not value:
            container[key] = made
