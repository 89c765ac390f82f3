"""Notebooks kept as Python files: scripts in `# %%` cells, whose lines may be magics.

Every row stays where it is, so that positions and edits are those of the file.
"""

from __future__ import annotations

import itertools
import re

from attnlint.text.notebook import without_magics
from attnlint.text.source import PythonDocument, syntax_problem

_CELL = re.compile(r"^#[ \t]*(?:%%|In\[)", re.MULTILINE)
PERCENT = re.compile(rb"^#[ \t]*(?:%%|In\[)", re.MULTILINE)


class PercentDocument(PythonDocument):
    """A script in cells. Where it does not parse as it stands, its magics are blanked out, cell by cell."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        if not self.problems and syntax_problem(self.program) is not None:
            starts = [0, *(match.start() for match in _CELL.finditer(self.program)), len(self.program)]
            cells = [self.program[start:stop] for start, stop in itertools.pairwise(starts)]
            self.program = "".join(map(without_magics, cells))
            self.rows = self.program.split("\n")
