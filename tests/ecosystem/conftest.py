"""The ecosystem check runs where it is asked for: `pytest tests/ecosystem -m ecosystem`."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "ecosystem: models of transformers and timm (minutes; needs these packages)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "ecosystem" in (config.getoption("markexpr") or ""):
        return
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="asked for with -m ecosystem"))
