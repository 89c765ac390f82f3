"""Judges small programs by their text, as every front end does."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from attnlint.linter import lint_text

Judged = Callable[[str], set[str]]


@pytest.fixture
def judged() -> Judged:
    """A program to what is said of it: `correct`, `intended` or `unknown` of its sites, and the name of every finding."""

    def judge(text: str) -> set[str]:
        result = lint_text(textwrap.dedent(text), "program.py")
        assert not result.notes
        verdicts = {(site.reason or "") if site.verdict == "faulty" else site.verdict for site in result.sites}
        return verdicts | {finding.name for finding in result.findings if not finding.preview}

    return judge
