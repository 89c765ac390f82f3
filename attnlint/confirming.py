"""`check --confirm`: hands each finding to the confirmation, which runs its code before and after the fix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from attnlint.config import ConfigError
from attnlint.extras import remedy
from attnlint.progress import Progress
from attnlint.session import Diagnostic


def confirm(diagnostics: Sequence[Diagnostic], tell: Callable[[str], None] | None, progress: Progress) -> list[Diagnostic]:
    """The findings with what their confirmation says; those that the measurement refutes are withdrawn, and `tell` is told of each.

    `progress` counts the findings. Raises ConfigError where the confirmation is not installed.
    """
    try:
        from attnlint.confirm import confirm_finding
    except ImportError as error:
        raise ConfigError(f"--confirm is not available here ({error}); {remedy('probe')}") from None
    confirmed = []
    for one in diagnostics:
        progress.step()
        if one.finding.site is None:
            confirmed.append(one)
            continue
        verdict = confirm_finding(one.finding, one.document.program, one.absolute)
        if verdict["status"] == "refuted":
            if tell is not None:
                tell(f"{one.path}:{one.start.row}:{one.start.column}: {one.finding.code} withdrawn: {verdict['reason']}")
            continue
        confirmed.append(replace(one, finding=replace(one.finding, confirmation=dict(verdict))))
    return confirmed
