"""Qualified names of modules, found without hooks."""

from __future__ import annotations

import weakref
from typing import Any

_WRAPPED = "_orig_mod"  # what torch.compile calls the module that it wraps

_cache: dict[int, tuple[Any, dict[int, str]]] = {}


def class_name(module: Any) -> str:
    """The class of a root module; of a compiled one, the class of what was compiled."""
    children = getattr(module, "_modules", None)
    inner = children.get(_WRAPPED) if isinstance(children, dict) else None  # a scripted module has another mapping
    return class_name(inner) if inner is not None else _original_name(module)


def _original_name(module: Any) -> str:
    name = getattr(module, "original_name", None)  # a scripted module knows the class that it was made from
    return name if isinstance(name, str) and name else type(module).__name__


def members(root: Any) -> dict[int, str]:
    """id → qualified name of every module under `root`; the first name wins, the root's is empty."""
    found: dict[int, str] = {}
    for name, module in root.named_modules():
        found.setdefault(id(module), ".".join(part for part in name.split(".") if part != _WRAPPED))
    return found


def owner_and_name(modules: tuple[Any, ...]) -> tuple[int | None, str]:
    """The innermost running module and its name under the outermost one; ("", no owner) outside any module."""
    if not modules:
        return None, ""
    owner, root = modules[0], modules[-1]
    if owner is root:
        return id(owner), class_name(owner)
    for candidate in reversed(modules):
        table = _members_cached(candidate)
        name = table.get(id(owner))
        if name is None:
            table = _members_fresh(candidate)
            name = table.get(id(owner))
        if name:
            return id(owner), name
        if name == "":
            return id(owner), class_name(owner)
    return id(owner), class_name(owner)


def _members_cached(root: Any) -> dict[int, str]:
    known = _cache.get(id(root))
    if known is not None and known[0]() is root:
        return known[1]
    return _members_fresh(root)


def _members_fresh(root: Any) -> dict[int, str]:
    key = id(root)
    table = members(root)
    _cache[key] = (weakref.ref(root, lambda _: _cache.pop(key, None)), table)
    return table
