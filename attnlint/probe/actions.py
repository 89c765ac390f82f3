"""What is done about a report: raise, warn or nothing; and whether torch.compile is tracing at this moment."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from attnlint.probe import frames
from attnlint.probe.errors import AttentionFault, AttentionFaultWarning


def compiling() -> bool:
    """Whether torch.compile is tracing the code that asks."""
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "compiler") and bool(torch.compiler.is_compiling())


def act(report: Any, action: str) -> None:
    """Raise AttentionFault or warn for what one call measured; `action` is "raise", "warn" or "report"."""
    if action == "report":
        return
    message = report.message()
    if not message:
        return
    if action == "raise":
        raise AttentionFault(message, report)
    warn(message)


def warn(message: str) -> None:
    """A warning that points at the user's line."""
    where = frames.user_line()
    warnings.warn_explicit(message, AttentionFaultWarning, where.file or "<unknown>", where.line or 1)
