"""Reads the fenced blocks of the project's documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
FALSE_ALARMS = ROOT / "docs" / "false-alarms.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PROBE = ROOT / "docs" / "probe.md"
CONFIRM = ROOT / "docs" / "confirm.md"
EDITORS = ROOT / "docs" / "editors.md"
SETTINGS = ROOT / "docs" / "settings.md"
INDEX = ROOT / "docs" / "index.md"

_BLOCK = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>\w+)\n(?P<body>.*?)^(?P=indent)(?P=fence)$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text without the indent, and the row where it starts."""

    path: Path
    language: str
    text: str
    row: int

    @property
    def name(self) -> str:
        return f"{self.path.name}:{self.row}"


def blocks(path: Path, *languages: str) -> list[Block]:
    """The blocks of a document in these languages; without any, all of them."""
    text = path.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        indent = len(match["indent"])
        body = "".join(line[indent:] if line.strip() else "\n" for line in match["body"].splitlines(keepends=True))
        found.append(Block(path, match["language"], body, text[: match.start()].count("\n") + 2))
    return [block for block in found if not languages or block.language in languages]
