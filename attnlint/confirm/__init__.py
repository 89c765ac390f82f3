"""The confirmation: a finding is a claim about numbers; here its code is run, before and after its fix, in a process of its own.

Linted code runs in that process and nowhere else. Importing this package imports neither PyTorch, NumPy nor LibCST.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnlint.model import Finding

__all__ = ["confirm_finding", "main"]


def confirm_finding(finding: Finding, program: str, path: str) -> dict[str, object]:
    """What running a finding's code says: `status`, `reason`, `before` and `after`, as the JSON report prints them.

    `program` is the text that the finding's rows refer to (of a notebook, its program), `path` the file it comes from. Never raises for
    what the code does: a crash, a hang or an exit is the reason of a `not-confirmed`.
    """
    from attnlint.confirm.confirmation import confirm

    return confirm(finding, program, path).as_dict()


def main(arguments: Sequence[str]) -> int:
    """`attnlint confirm`: returns the exit status."""
    from attnlint.confirm.command import main as run

    return run(arguments)
