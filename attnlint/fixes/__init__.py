"""Fixes: what is written in the place of a fault. The parts that need LibCST are loaded when the first fault is met."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlint.fixes import available, misreading, repair

_LOADED_LATE = ("available", "misreading", "repair")


def __getattr__(name: str) -> Any:
    if name in _LOADED_LATE:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["available", "misreading", "repair"]
