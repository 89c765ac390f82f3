"""Every rule's documentation is true: the Example is reported, its fix is right, and Use instead is silent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documented import Documented, documented

DOCUMENTED = documented()
SCALE = [one for one in DOCUMENTED if one.code.startswith("ATT10")]


def by_code(one: Documented) -> str:
    return one.code


def findings(attnlint: Callable[..., Any], path: Path) -> list[tuple[str, bool]]:
    found = attnlint("check", "--isolated", "--no-cache", "--preview", "--select", "ATT", "--output-format", "json", path).json
    return [(one["code"], one["fix"] is not None) for one in found]


def fixed(attnlint: Callable[..., Any], path: Path, source: str) -> str:
    path.write_text(source)
    attnlint("check", "--isolated", "--no-cache", "--preview", "--select", "ATT", "--fix", "--unsafe-fixes", path)
    return path.read_text()


@pytest.mark.parametrize("one", DOCUMENTED, ids=by_code)
def test_the_example_is_reported_and_nothing_else_is(one: Documented, attnlint: Any, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(one.wrong)
    assert findings(attnlint, path) == [(one.code, one.fixable)]


@pytest.mark.parametrize("one", DOCUMENTED, ids=by_code)
def test_what_to_use_instead_is_silent(one: Documented, attnlint: Any, tmp_path: Path) -> None:
    path = tmp_path / "instead.py"
    path.write_text(one.right)
    assert findings(attnlint, path) == []


@pytest.mark.parametrize("one", [one for one in DOCUMENTED if one.fixable], ids=by_code)
def test_the_fix_leaves_no_finding_and_no_more_to_fix(one: Documented, attnlint: Any, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    once = fixed(attnlint, path, one.wrong)
    assert once != one.wrong
    assert findings(attnlint, path) == []
    assert fixed(attnlint, path, once) == once


def run(source: str) -> Any:
    """The output of the example's module, its parameters the same for every spelling."""
    torch = pytest.importorskip("torch")
    space: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, "example", "exec"), space)
    torch.manual_seed(1)
    module = space["Attention"](24, 4).double()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    with torch.no_grad():
        return module(torch.randn(2, 5, 24, dtype=torch.float64))


@pytest.mark.parametrize("one", SCALE, ids=by_code)
def test_the_fixed_example_computes_what_use_instead_computes(one: Documented, attnlint: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    wrong, right = run(one.wrong), run(one.right)
    repaired = run(fixed(attnlint, tmp_path / "example.py", one.wrong))
    assert not torch.allclose(wrong, right, atol=1e-3)
    assert torch.allclose(repaired, right, rtol=0, atol=1e-12)
