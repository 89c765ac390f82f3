"""`check --confirm`: hands each finding to the confirmation, which runs its code before and after the fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attnlint.config import ConfigError
from attnlint.session import Diagnostic


def confirm(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings with what their confirmation says. Raises ConfigError where the confirmation is not installed."""
    try:
        from attnlint.confirm import confirm_finding
    except ImportError as error:
        raise ConfigError(f"--confirm is not available here ({error}); install it with: pip install 'attnlint[probe]'") from None
    confirmed = []
    for one in diagnostics:
        if one.finding.site is None:
            confirmed.append(one)
            continue
        verdict = confirm_finding(one.finding, one.document.program, one.absolute)
        confirmed.append(replace(one, finding=replace(one.finding, confirmation=dict(verdict))))
    return confirmed
