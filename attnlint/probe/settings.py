"""The environment switch ATTNLINT_PROBE, read each time it matters."""

from __future__ import annotations

import os
from typing import Literal, get_args

VARIABLE = "ATTNLINT_PROBE"
VALUES = ("off", "warn", "raise")
OnFault = Literal["raise", "warn", "report"]
ON_FAULT: tuple[str, ...] = get_args(OnFault)


def switch() -> str | None:
    """'off', 'warn', 'raise', or None where the variable is unset or empty. Raises ValueError on another value."""
    value = os.environ.get(VARIABLE, "").strip().lower()
    if not value:
        return None
    if value not in VALUES:
        raise ValueError(f"{VARIABLE}={value!r} is not known: use one of {', '.join(VALUES)}, or unset it")
    return value


def disabled() -> bool:
    return switch() == "off"


def action(on_fault: str) -> str:
    """What to do about a fault: the environment's word, else the caller's."""
    return switch() or on_fault


def check_on_fault(on_fault: str) -> str:
    if on_fault not in ON_FAULT:
        raise ValueError(f"on_fault={on_fault!r} is not known: use one of {', '.join(ON_FAULT)}")
    return on_fault


def check_calls(calls: int, name: str = "calls") -> int:
    """`calls`, where it is a number that counts calls. Raises ValueError that names the argument."""
    if isinstance(calls, bool) or not isinstance(calls, int) or calls < 1:
        raise ValueError(f"{name}={calls!r}: give a whole number, 1 or more")
    return calls
