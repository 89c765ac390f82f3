"""Where in the user's code we are: file and line, and the module whose forward is running. Reads frames; installs no hooks."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any, NamedTuple

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INTERNAL = {"torch", "torch_xla", "functorch", "einops", "opt_einsum", "numpy", "scipy", "jaxtyping", "beartype"}
_STDLIB = (os.sep + "functools.py", os.sep + "contextlib.py", os.sep + "threading.py")
_INTERCEPTORS = {"__torch_dispatch__", "__torch_function__", "__array_ufunc__", "__array_function__"}
_internal: dict[str, bool] = {}


class Line(NamedTuple):
    file: str
    line: int


class Place(NamedTuple):
    """The user's line, the innermost line of Python at all (they differ inside a framework), and the running modules, inner first."""

    user: Line
    raw: Line
    modules: tuple[Any, ...]
    function: str = ""  # the user's function, by name


def _function_name(frame: FrameType) -> str:
    code = frame.f_code
    name: str = getattr(code, "co_qualname", code.co_name)  # a qualified one from Python 3.11 on
    name = name.rpartition("<locals>.")[2]
    return "" if name.startswith("<") else name


def _is_internal(filename: str) -> bool:
    known = _internal.get(filename)
    if known is None:
        parts = filename.replace("\\", "/").split("/")
        packaged = "site-packages" in parts or "dist-packages" in parts
        after = (
            parts[max((i for i, p in enumerate(parts) if p in ("site-packages", "dist-packages")), default=-1) + 1 :] if packaged else []
        )
        known = (
            filename.startswith((_HERE + os.sep, "<frozen", "<eval_with_key", "<__array_function__", "<@beartype"))
            or (bool(after) and after[0].removesuffix(".py") in _INTERNAL)
            or filename.endswith(_STDLIB)
        )
        _internal[filename] = known
    return known


def user_line() -> Line:
    """The innermost line of code outside the frameworks and this package."""
    frame: FrameType | None = sys._getframe(1)
    last = Line("", 0)
    while frame is not None:
        name = frame.f_code.co_filename
        if not _is_internal(name) and frame.f_code.co_name not in _INTERCEPTORS:
            return Line(name, frame.f_lineno)
        last = Line(name, frame.f_lineno)
        frame = frame.f_back
    return last


def _self_of(frame: FrameType) -> Any:
    code = frame.f_code
    if not code.co_argcount:
        return None
    return frame.f_locals.get(code.co_varnames[0])


def place(module_type: type | None) -> Place:
    """Where a product is being computed. `module_type` is torch.nn.Module where PyTorch is loaded."""
    frame: FrameType | None = sys._getframe(1)
    user: Line | None = None
    raw: Line | None = None
    function = ""
    modules: list[Any] = []
    loose: list[Any] = []
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        if code.co_name in _INTERCEPTORS:
            frame = frame.f_back
            continue
        if (
            raw is None
            and not name.startswith(_HERE + os.sep)
            and not name.endswith(
                ("_python_dispatch.py", "torch/_ops.py", "torch/_tensor.py", "torch/_compile.py", "_dynamo/eval_frame.py")
            )
        ):
            raw = Line(name, frame.f_lineno)
        if user is None and not _is_internal(name):
            user = Line(name, frame.f_lineno)
            function = _function_name(frame)
        if module_type is not None and code.co_argcount:
            if code.co_name in ("_call_impl", "forward"):
                owner = _self_of(frame)
                if isinstance(owner, module_type) and not any(owner is m for m in modules):
                    modules.append(owner)
            elif code.co_varnames[0] == "self" and not _is_internal(name):
                owner = _self_of(frame)
                if isinstance(owner, module_type):
                    loose.append(owner)
        frame = frame.f_back
    for owner in loose:
        if not any(owner is m for m in modules):
            modules.append(owner)
    last = Line("", 0)
    return Place(user or raw or last, raw or user or last, tuple(modules), function)
