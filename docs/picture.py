"""A picture of the terminal: what attnlint really prints, colours and all, drawn by rich."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Callable, Sequence

WIDTH = 122  # columns; the widest row of what is shown
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"


def available() -> bool:
    """Whether what draws is installed here."""
    return importlib.util.find_spec("rich") is not None


def draw(commands: Sequence[str], run: Callable[[str], str]) -> str:
    """The commands with what each prints (`run` gives it, with ANSI colours) as an SVG that refers to nothing outside itself."""
    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False)
    for number, command in enumerate(commands):
        if number:
            console.print()
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")), no_wrap=True, crop=False)
        console.print(Text.from_ansi(run(command).rstrip("\n")), no_wrap=True, crop=False)
    # A picture in a page is not allowed to fetch fonts, and this one should not try.
    form = re.sub(r"    @font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace("Fira Code, monospace", FONTS)
    drawn = console.export_svg(title="attnlint", theme=MONOKAI, code_format=form, unique_id="attnlint")
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"
