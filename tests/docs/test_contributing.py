"""Follows CONTRIBUTING.md's 'How to add a rule' step by step, in a copy of the project that is installed in an environment of its own."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from documents import CONTRIBUTING, blocks
from environments import Environment, copy_project

COPIED = (
    *("pyproject.toml", "setup.py", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "action.yml", ".pre-commit-hooks.yaml"),
    *("attnlint", "rules", "docs", "examples", "tests/conftest.py", "tests/inprocess.py", "tests/environments.py"),
    *("tests/docs", "tests/rules"),
)

pytestmark = pytest.mark.slow


def test_how_to_add_a_rule_works_as_written(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project", *COPIED)
    environment = Environment(tmp_path / "environment")
    environment.install(project, "--editable")

    def step(command: str) -> str:
        done = environment.run(*shlex.split(command), cwd=project)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    # Steps 1 and 3 say which files to write, in the first line of each program.
    for block in blocks(CONTRIBUTING, "python"):
        first, rest = block.text.split("\n", 1)
        (project / first.removeprefix("# ")).write_text(rest, encoding="utf-8")
    shown = [line for block in blocks(CONTRIBUTING, "sh") for line in block.text.splitlines() if "&&" not in line]
    assert [line.split()[0] for line in shown] == ["attnlint", "attnlint", "python", "python"]
    explain, lint, test, generate = shown

    # 2. Try it.
    assert step(explain).startswith("# shouting-query (ATT901)")
    example = "from attnlint.testing import *; from attnlint.rules.att901_shouting_query import *; print(examples(ShoutingQuery).{})"
    for name, attribute, status in (("example.py", "wrong", 1), ("instead.py", "right", 0)):
        (project / name).write_text(step(f"python -c '{example.format(attribute)}'"), encoding="utf-8")
        done = environment.run(*shlex.split(lint.replace("example.py", name)), cwd=project)
        assert (done.returncode, done.stdout.count("ATT901 shouting-query: the query is named `Q`")) == (status, status), done.stderr
        (project / name).unlink()

    # 3. Test it: its own tests, and those that hold every rule to its documentation.
    (project / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow: x\n    ecosystem: x\n", encoding="utf-8")
    tested = step(test)
    assert " passed" in tested and "ATT901" in step(test.replace("-q", "-v --co"))

    # 4. Its page and the tables.
    assert environment.run("python", "docs/generate.py", "--check", cwd=project).returncode == 1
    step(generate)
    assert "# shouting-query (ATT901)" in (project / "docs" / "rules" / "shouting-query.md").read_text(encoding="utf-8")
    assert "[shouting-query](docs/rules/shouting-query.md) (preview)" in (project / "README.md").read_text(encoding="utf-8")
    assert step(f"{generate} --check") == ""

    # 5. The changelog: its test fails until the rule is named. The linters of `.ci/run` take the files as they stand here.
    named = ["python", "-m", "pytest", "-q", "tests/docs/test_documents.py", "-k", "changelog"]
    assert environment.run(*named, cwd=project).returncode == 1
    changes = project / "CHANGELOG.md"
    changes.write_text(changes.read_text(encoding="utf-8") + "- ATT901 shouting-query (preview)\n", encoding="utf-8")
    assert environment.run(*named, cwd=project).returncode == 0
    step("ruff check rules tests/rules")
    step("ruff format --check rules tests/rules")
