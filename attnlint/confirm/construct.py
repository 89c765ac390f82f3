"""Objects of the linted tree, built with small constructor arguments; defaults are kept where they do no harm."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import errno
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

from attnlint.confirm import sizes as names
from attnlint.confirm.hints import Hint, gather, parse_function
from attnlint.confirm.inputs import number, setting, settings_object
from attnlint.confirm.namespace import Space
from attnlint.confirm.sizes import Sizes

KEEP, OVERRIDE = "keep", "override"
_TOO_LARGE = 1 << 13
_OBJECT = re.compile(r"(.*_)?(config|cfg|conf|args|hparams|opts?|params|hp|configs|arguments|hyper.*)")
_INNER = re.compile(r"(?!d_?model$)(.*_)?(fn|module|net|layer|block|sublayer|model|backbone|encoder|decoder|norm)")


class CannotBuild(Exception):
    """An object could not be made; the message says why."""


def absent_names(space: Space) -> frozenset[str]:
    """Attributes that the code only asks for with a default, as `getattr(config, "window", None)`: they stay absent."""
    asked: set[str] = set()
    read: set[str] = set()
    for node in ast.walk(space.module):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("getattr", "hasattr")
            and len(node.args) >= 2
        ):
            if (
                isinstance(node.args[1], ast.Constant)
                and isinstance(node.args[1].value, str)
                and (node.func.id == "hasattr" or len(node.args) > 2)
            ):
                asked.add(node.args[1].value)
        elif isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            read.add(node.attr)
    return frozenset(asked - read)


def build(cls: type, sizes: Sizes, policy: str, space: Space, depth: int = 0) -> Any:
    """An instance of a class of the tree. Raises CannotBuild."""
    try:
        signature = inspect.signature(cls)
    except (TypeError, ValueError) as error:
        raise CannotBuild(f"{cls.__name__}: its constructor has no signature ({error})") from error
    parameters = list(signature.parameters.values())
    hints = _hints(cls, space)
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        hint = hints.get(parameter.name, Hint(parameter.name))
        given, value = _argument(parameter, hint, sizes, policy, space, depth)
        if not given:
            continue
        if parameter.kind == parameter.POSITIONAL_ONLY:
            positional.append(value)
        else:
            keywords[parameter.name] = value
    try:
        return cls(*positional, **keywords)
    except (Exception, SystemExit) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise CannotBuild("writes more output than is allowed") from error
        raise CannotBuild(
            f"{cls.__name__}({', '.join(f'{k}={_brief(v)}' for k, v in keywords.items())}) raises {describe(error)}"
        ) from error


def build_in_part(cls: type, sizes: Sizes, space: Space) -> Any:
    """An object whose constructor ran as far as it goes: numbers that it set stand, what it could not make is missing."""
    try:
        instance = build(cls, sizes, OVERRIDE, space)
    except CannotBuild:
        instance = _run_constructor(cls, sizes, space)
    prepare(instance, 0)
    return instance


def _run_constructor(cls: type, sizes: Sizes, space: Space) -> Any:
    """Each statement of `__init__` on its own; those that raise are passed over."""
    initialiser = inspect.getattr_static(cls, "__init__")
    code = getattr(initialiser, "__code__", None)
    tree = parse_function(code.co_filename, code.co_firstlineno, "__init__") if code is not None else None
    instance: Any = object.__new__(cls)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(instance, torch.nn.Module):
        torch.nn.Module.__init__(instance)
    if tree is None:
        return instance
    hints = _hints(cls, space)
    names_: dict[str, Any] = {tree.args.args[0].arg: instance}
    for parameter in list(inspect.signature(initialiser).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        hint = hints.get(parameter.name, Hint(parameter.name))
        with contextlib.suppress(CannotBuild):
            given, value = _argument(parameter, hint, sizes, OVERRIDE, space, 1)
            names_[parameter.name] = value if given else parameter.default
    for statement in tree.body:
        try:
            code_object = compile(ast.Module([statement], []), space.path, "exec")
            exec(code_object, space, names_)
        except (Exception, SystemExit):
            continue
    return instance


def _hints(cls: type, space: Space) -> dict[str, Hint]:
    initialiser = getattr(cls, "__init__", None)
    code = getattr(initialiser, "__code__", None)
    if code is None:
        return {}
    tree = parse_function(code.co_filename, code.co_firstlineno, "__init__")
    if tree is None:
        return {}
    hints = gather(tree, None, space)
    tested = _tested_attributes(cls)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for name, value in _pairs(node):
                if name in tested and isinstance(value, ast.Name) and value.id in hints:
                    hints[value.id].truth = True
    return hints


def _pairs(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """(attribute of self, what it is set to)."""
    for target in node.targets:
        if isinstance(target, ast.Attribute):
            yield target.attr, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
            for one, value in zip(target.elts, node.value.elts, strict=True):
                if isinstance(one, ast.Attribute):
                    yield one.attr, value


def _tested_attributes(cls: type) -> set[str]:
    """Attributes of self that methods of a class use as conditions."""
    found: set[str] = set()
    for method in vars(cls).values():
        code = getattr(method, "__code__", None)
        tree = parse_function(code.co_filename, code.co_firstlineno, code.co_name) if code is not None else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, (ast.If, ast.IfExp)):
                tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
                for test in tests:
                    inner = test.operand if isinstance(test, ast.UnaryOp) else test
                    if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id == "self":
                        found.add(inner.attr)
    return found


def _argument(parameter: inspect.Parameter, hint: Hint, sizes: Sizes, policy: str, space: Space, depth: int) -> tuple[bool, Any]:
    """(whether it is given, its value)."""
    name, default = parameter.name, parameter.default
    role = names.role_of(name)
    if default is not inspect.Parameter.empty:
        if isinstance(default, bool) or not isinstance(default, (int, float, tuple)):
            return False, None
        if role == names.RATE and isinstance(default, float):
            return True, 0.0
        if isinstance(default, int) and (policy == OVERRIDE or default > _TOO_LARGE) and role in names.DIMENSIONS:
            return True, names.number(role, sizes)
        return False, None
    annotation = parameter.annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    cls = _class_of(annotation, text, name, space)
    if cls is not None and depth < 3:
        return True, build(cls, sizes, policy, space, depth + 1)
    if isinstance(text, str) and re.fullmatch(r"int|float", text):
        return True, number(name, sizes)
    if text == "bool":
        return True, False
    if hint.is_object or _OBJECT.fullmatch(name):
        return True, settings_object(sizes, absent_names(space))
    if hint.called and role != names.LAYER:
        return True, _identity(True)
    if hint.divides and names.is_unnamed(name):
        return True, sizes.heads
    if hint.truth and names.is_unnamed(name):
        return True, False
    if _INNER.fullmatch(name) and role == "model":
        return True, _identity(False)
    if hint.items == 2 or (role == "grid" and _subscripted(hint)):
        return True, (sizes.grid[0][0], sizes.grid[0][0])
    return True, setting(name, sizes)


def _subscripted(hint: Hint) -> bool:
    return hint.least_rank > 0 or hint.items is not None


def _identity(as_function: bool) -> Any:
    torch = sys.modules.get("torch")
    if torch is None or as_function:
        return _AnyLayer() if torch is None else _module_identity()
    return _module_identity()


def _module_identity() -> Any:
    import torch

    class Handing(torch.nn.Module):
        """Hands its first argument on, and builds itself: stands for a layer or for a layer's class."""

        def forward(self, first: Any = None, *rest: Any, **named: Any) -> Any:
            return first if isinstance(first, torch.Tensor) else Handing()

    return Handing()


class _AnyLayer:
    def __call__(self, first: Any = None, *rest: Any, **named: Any) -> Any:
        return first


def _class_of(annotation: Any, text: Any, name: str, space: Space) -> type | None:
    """The class of the tree that a parameter is annotated with, or the one configuration class of its module."""
    if (
        isinstance(text, str)
        and re.fullmatch(r"[A-Za-z_]\w*", text)
        and text not in ("int", "float", "bool", "str", "list", "dict", "tuple")
    ):
        try:
            found = space[text]
        except Exception:
            found = None
        if isinstance(found, type) and getattr(found, "__module__", "").startswith("attnlint_case") and not _is_module(found):
            return found
    if _OBJECT.fullmatch(name):
        classes = [
            node.name
            for node in space.statements
            if isinstance(node, ast.ClassDef) and re.search(r"config|conf|args|params|settings|hyper", node.name, re.I)
        ]
        if len(classes) == 1:
            try:
                found = space[classes[0]]
            except Exception:
                return None
            if isinstance(found, type) and (dataclasses.is_dataclass(found) or "__init__" in vars(found) or vars(found)):
                return found
    return None


def _is_module(cls: type) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(cls, torch.nn.Module)


def prepare(instance: Any, seed: int) -> None:
    """Evaluation mode, and parameters drawn so that projections keep unit variance and tables kept at zero take part."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(instance, torch.nn.Module):
        return
    instance.eval()
    generator = torch.Generator().manual_seed(seed)
    layers = {id(p) for m in instance.modules() if type(m).__name__.startswith(("Linear", "Conv")) for p in m.parameters(recurse=False)}
    with torch.no_grad():
        for parameter in instance.parameters():
            if parameter.dim() < 2 or not parameter.is_floating_point() or parameter.is_meta:
                continue
            fan = parameter[0].numel() if id(parameter) in layers else parameter.shape[-2]
            still = bool((parameter == parameter.flatten()[0]).all()) if parameter.numel() else False
            if id(parameter) in layers or (still and parameter.numel() > 4) or not bool(torch.isfinite(parameter).all()):
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * max(1, fan) ** -0.5)


def describe(error: BaseException) -> str:
    """An exception in one line."""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    if isinstance(error, MemoryError) or "allocate memory" in text:
        return f"{kind}: it needs more memory than it is granted (--memory grants more)"
    return f"{kind}: {text[:160]}" if text else kind


def _brief(value: Any) -> str:
    text = repr(value) if isinstance(value, (int, float, str, bool, tuple, type(None))) else type(value).__name__
    return text if len(text) < 30 else text[:27] + "…"
