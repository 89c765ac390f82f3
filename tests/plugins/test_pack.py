"""A team's own rules: the pack beside this file is built, installed next to attnlint in an environment of its own, and used."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from environments import Environment
from samples import CLEAN, FAULTY

PACK = Path(__file__).parent / "pack"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with attnlint and the pack, both installed from wheels."""
    folder = tmp_path_factory.mktemp("pack")
    made = Environment(folder / "environment")
    made.install_attnlint()
    shutil.copytree(PACK, folder / "pack")
    made.install(folder / "pack")
    return made


def test_the_pack_is_found_by_its_entry_point(environment: Environment, tmp_path: Path) -> None:
    shown = environment.run("attnlint", "rule", "OWN001", cwd=tmp_path)
    assert shown.stdout.startswith("# hand-written-attention (OWN001)"), shown.stderr
    (tmp_path / "model.py").write_text(CLEAN)
    found = environment.run("attnlint", "model.py", "--output-format", "concise", cwd=tmp_path)
    assert found.returncode == 1, found.stderr
    assert [line.split()[1] for line in found.stdout.splitlines() if ": " in line] == ["OWN001"]


def test_its_rules_are_selected_ignored_and_suppressed_like_others(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(FAULTY)

    def codes(*arguments: str) -> list[str]:
        done = environment.run("attnlint", "model.py", "--output-format", "concise", *arguments, cwd=tmp_path)
        assert done.returncode in (0, 1), done.stderr
        return sorted(line.split()[1] for line in done.stdout.splitlines() if "model.py:" in line)

    assert codes() == ["ATT102", "OWN001"]
    assert codes("--select", "OWN") == ["OWN001"]
    assert codes("--ignore", "hand-written-attention") == ["ATT102"]
    (tmp_path / "model.py").write_text(FAULTY.replace("energy = q @", "# attnlint: ignore[OWN001] on its way out\n        energy = q @"))
    assert codes() == ["ATT102"]


def test_no_page_of_ours_is_named_for_a_rule_of_theirs(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(CLEAN)
    for form in ("json", "sarif"):
        done = environment.run("attnlint", "model.py", "--output-format", form, cwd=tmp_path)
        assert "OWN001" in done.stdout, done.stderr
        assert "docs/rules/hand-written-attention" not in done.stdout


def test_the_helper_for_authors_holds_a_rule_to_its_documentation(environment: Environment, tmp_path: Path) -> None:
    program = (
        "from attnlint.testing import check_rule\n"
        "from house_rules.own001_hand_written_attention import HandWrittenAttention as Rule\n"
        "check_rule(Rule)\n"
        "Rule.__doc__ = Rule.__doc__.replace('F.scaled_dot_product_attention(q, k, v)', '(q @ k.mT / 8).softmax(-1) @ v')\n"
        "try:\n"
        "    check_rule(Rule)\n"
        "except AssertionError as error:\n"
        "    print(error)\n"
    )
    done = environment.run("python", "-c", program, cwd=tmp_path)
    assert done.stdout.startswith("OWN001: `Use instead` is reported in line 5: attention is written out"), done.stderr


def test_a_pack_that_cannot_be_imported_is_named(environment: Environment, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(PACK, broken)
    (broken / "src" / "house_rules" / "own002_broken.py").write_text("import a_module_that_is_not_there\n")
    other = Environment(tmp_path / "environment")
    other.install_attnlint()
    other.install(broken)
    (tmp_path / "model.py").write_text(FAULTY)
    done = other.run("attnlint", "model.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "a_module_that_is_not_there" in done.stderr and "Traceback" not in done.stderr, done.stderr
