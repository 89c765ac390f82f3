"""attnlint proves with which scale softmax sees q·k, and reports where that is not 1/√d_k.

`lint`, `sites` and `lint_paths` are the stable Python interface; what they give back is frozen, typed and can be pickled. Each name
is loaded when it is first asked for: `import attnlint` loads neither LibCST nor a framework.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from attnlint._version import __version__

if TYPE_CHECKING:
    from attnlint.config import ConfigError
    from attnlint.interface import Edit, Finding, Fix, Report, Settings, Site, lint, lint_paths, sites
    from attnlint.model import Caller, Position, Step

__all__ = [
    "Caller",
    "ConfigError",
    "Edit",
    "Finding",
    "Fix",
    "Position",
    "Report",
    "Settings",
    "Site",
    "Step",
    "__version__",
    "lint",
    "lint_paths",
    "sites",
]
_HOMES = {"Caller": "attnlint.model", "ConfigError": "attnlint.config", "Position": "attnlint.model", "Step": "attnlint.model"}


class _Sites(ModuleType):
    """The package `attnlint.sites`, which can be called: the function of that name belongs to the interface."""

    def __call__(self, source: str | bytes, path: str = "stdin.py", settings: Settings | None = None) -> tuple[Site, ...]:
        """Every attention site of a source text: `attnlint.interface.sites`."""
        from attnlint.interface import sites as listed

        return listed(source, path, settings)


class _Attnlint(ModuleType):
    """This package: what it is given under the name `sites`, by whoever imports that first, can be called."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "sites" and isinstance(value, ModuleType):
            value.__class__ = _Sites
        super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "sites":
        return import_module("attnlint.sites")
    if name not in __all__:
        raise AttributeError(f"module 'attnlint' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "attnlint.interface")), name)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext attnlint`: findings under each cell that was run, and the magic `%attnlint`."""
    from attnlint.ipython import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext attnlint`."""
    from attnlint.ipython import unload

    unload(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Attnlint
