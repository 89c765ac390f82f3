"""The IPython extension: `%load_ext attnlint` shows findings under the cell that was just run, `%attnlint` those of the whole session.

The cells that were run are linted as a notebook is, as one program; a cell that was run again counts as it is now.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from attnlint.config import ConfigError
from attnlint.editor import Judged, Linter, Opened, Text
from attnlint.session import Diagnostic

NAME = "notebook.ipynb"
USAGE = """\
%attnlint          findings of all cells that were run
%attnlint sites    every attention in them, with its scale and verdict
%attnlint probe    measure what the next cell computes
%attnlint off      no findings under a cell that was run; %attnlint on: again"""


class Extension:
    """What one shell has run, and what it is told of it."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.cells: dict[str, tuple[int, str]] = {}  # by the notebook's name of the cell, or its number
        self.linter = Linter()
        self.is_on = True
        self.watching: Any = None
        self.is_armed = False

    def before(self, info: Any) -> None:
        """A cell begins to run: the probe watches it where it was asked to."""
        if self.is_armed and not self._is_own(info.raw_cell):
            from attnlint import probe

            self.is_armed = False
            self.watching = probe.watch()
            self.watching.__enter__()

    def after(self, result: Any) -> None:
        """A cell has run: says what the linter found in it, and what the probe measured."""
        info = result.info
        self._show_measured()
        if info is None or not info.store_history or self._is_own(info.raw_cell):
            return
        number = result.execution_count or self.shell.execution_count
        self.cells[str(getattr(info, "cell_id", None) or number)] = (number, info.raw_cell)
        if self.is_on:
            judged = self.judge()
            self._show(one for one in (judged.diagnostics if judged else ()) if one.start.cell == number)

    def judge(self) -> Judged | None:
        """The cells as they are now, as one program. The number of a cell is that of its input."""
        sources = dict(self.cells.values())
        texts = tuple(Text(f"In[{number}]", "python", sources.get(number, ""), None) for number in range(1, max(sources, default=0) + 1))
        if not texts:
            return None
        self.linter.forget()
        folder = os.getcwd()
        try:
            return self.linter.judge(Opened(NAME, os.path.join(folder, NAME), folder, texts, True))
        except ConfigError as error:
            print(f"attnlint: error: {error}")
            return None

    def magic(self, line: str) -> None:
        """`%attnlint`: see `USAGE`."""
        word = line.strip()
        if word in ("on", "off"):
            self.is_on = word == "on"
        elif word == "probe":
            self.is_armed = True
            print("attnlint: the next cell is measured")
        elif word == "sites":
            self._show_sites()
        elif word:
            print(USAGE)
        elif judged := self.judge():
            if judged.diagnostics:
                self._show(judged.diagnostics)
            else:
                verdicts = [site.verdict for site in judged.sites]
                print(f"Nothing found in {len(self.cells)} cells: {len(verdicts)} attention sites, {verdicts.count('correct')} proved")
        else:
            print("No cell was run since attnlint was loaded")

    def _is_own(self, source: str) -> bool:
        return source.lstrip().startswith(("%attnlint", "%load_ext attnlint", "%reload_ext attnlint"))

    def _show(self, found: Iterable[Diagnostic]) -> None:
        from attnlint.reports.text import Style, full

        for line in full(found, Style(False)):
            print(line.replace(f"{NAME}:cell ", "cell ", 1))

    def _show_sites(self) -> None:
        from attnlint.reports.text import Style, site_lines
        from attnlint.session import SiteView

        if judged := self.judge():
            place = judged.document.place
            views = [SiteView(site, NAME, place(site.span.start), place(site.span.end)) for site in judged.sites]
            for line in site_lines(views, Style(False), True):
                print(line.replace(f"{NAME}:cell ", "cell ", 1))

    def _show_measured(self) -> None:
        if self.watching is not None:
            watching, self.watching = self.watching, None
            watching.__exit__(None, None, None)
            print(watching.report)


_loaded: dict[int, Extension] = {}


def load(shell: Any) -> None:
    """Makes the extension known to a shell; a second time changes nothing."""
    if id(shell) in _loaded:
        return
    extension = _loaded[id(shell)] = Extension(shell)
    shell.events.register("pre_run_cell", extension.before)
    shell.events.register("post_run_cell", extension.after)
    shell.register_magic_function(extension.magic, "line", "attnlint")


def unload(shell: Any) -> None:
    """Takes it out again."""
    extension = _loaded.pop(id(shell), None)
    if extension is not None:
        shell.events.unregister("pre_run_cell", extension.before)
        shell.events.unregister("post_run_cell", extension.after)
        shell.magics_manager.magics["line"].pop("attnlint", None)
