"""The packages that attnlint knows: one row each, from which the tables, the linted tree and the confirmation take their lists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """A package by the name that is imported.

    `table` is its module in `attnlint.frameworks`; `arrays` says that it has arrays of its own, which a module of a package may hand on
    (`from ..compat import keras`), `copied` that trees hold copies of its source, which are read, and `confirmed` that the confirmation
    runs code that uses it.
    """

    name: str
    table: str | None = None
    arrays: bool = False
    copied: bool = False
    confirmed: bool = True


# the first table that knows a method keeps it where a module's own imports say nothing
PACKAGES = (
    Package("math", "python"),
    Package("functools", "python"),
    Package("typing"),
    Package("torch", "torch", arrays=True),
    Package("numpy", "numpy", arrays=True),
    Package("einops", "einops"),
    Package("jax", "jax", arrays=True, confirmed=False),
    Package("flax", "flax", confirmed=False),
    Package("haiku", "haiku", confirmed=False),
    Package("equinox", "equinox", confirmed=False),
    Package("tensorflow", "tensorflow", arrays=True, confirmed=False),
    Package("keras", "keras", arrays=True, confirmed=False),
    Package("mlx", "mlx", confirmed=False),
    Package("paddle", "paddle", confirmed=False),
    Package("tinygrad", "tinygrad", confirmed=False),
    Package("natten", "natten", copied=True),
    Package("timm", "timm", copied=True),
)

TABLES = tuple(dict.fromkeys(one.table for one in PACKAGES if one.table is not None))
FRAMEWORKS = frozenset(one.name for one in PACKAGES if not one.copied)
ARRAYS = frozenset(one.name for one in PACKAGES if one.arrays)
NOT_CONFIRMED = frozenset(one.name for one in PACKAGES if not one.confirmed)
