"""Fixtures of all tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from inprocess import Result, run_attnlint

# A busy machine is no fault of what is tested. A run that decides about a change draws the same examples each time, so that it
# judges the change; what nobody has met yet is looked for by every run elsewhere.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("suite"), derandomize=True)
settings.load_profile(os.environ.get("ATTNLINT_HYPOTHESIS", "suite"))


@pytest.fixture
def attnlint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs attnlint in an empty folder, without the settings of the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "ATTNLINT_OUTPUT_FORMAT", "ATTNLINT_OUTPUT_FILE", "ATTNLINT_ALLOW_PLUGINS", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    return run_attnlint
