"""What the probe raises and warns with."""

from __future__ import annotations


class AttentionFault(AssertionError):
    """An attention applies another scale than the one meant, or a check saw no attention at all. `report` holds the measurements."""

    def __init__(self, message: str, report: object = None) -> None:
        super().__init__(message)
        self.report = report


class AttentionFaultWarning(UserWarning):
    """The same, said as a warning."""
