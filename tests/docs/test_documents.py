"""What the documents say is so: their programs run, their commands work, and what is generated is current."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from documents import CONFIRM, CONTRIBUTING, EDITORS, FALSE_ALARMS, INDEX, PROBE, README, ROOT, SETTINGS, Block, blocks

from attnlint.linter import lint_text

TOMLLIB = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
PYPROJECT: dict[str, Any] = TOMLLIB.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BIN = Path(sys.executable).parent


def call(arguments: list[str], cwd: Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    return subprocess.run(
        arguments, cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=timeout, check=False
    )


def by_name(block: Block) -> str:
    return block.name


def between(name: str) -> str:
    """What README shows between two markers, without the fence."""
    found = re.search(rf"<!-- {name}: begin -->\n```text\n(.*?)```\n<!-- {name}: end -->", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_generated_pages_are_current() -> None:
    done = call([sys.executable, "docs/generate.py", "--check"], ROOT)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_check_of_the_generated_pages_fails_where_one_differs(tmp_path: Path) -> None:
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(README, tmp_path)
    page = tmp_path / "docs" / "rules" / "missing-scale.md"
    page.write_text(page.read_text(encoding="utf-8") + "By hand.\n", encoding="utf-8")
    left_over = page.with_name("no-such-rule.md")
    left_over.write_text("# Left over\n", encoding="utf-8")
    done = call([sys.executable, "docs/generate.py", "--check"], tmp_path)
    assert done.returncode == 1
    assert "missing-scale.md: out of date" in done.stdout
    assert "no-such-rule.md: out of date" in done.stdout
    assert call([sys.executable, "docs/generate.py"], tmp_path).returncode == 0
    assert not left_over.exists()
    assert call([sys.executable, "docs/generate.py", "--check"], tmp_path).returncode == 0


def test_the_numbers_that_readme_shows_are_measured() -> None:
    pytest.importorskip("torch")
    shown = between("confirm").splitlines()
    done = call(["attnlint", "confirm", "examples/model.py::SelfAttention"], ROOT)
    assert done.returncode in (0, 1), done.stderr
    # Rounding differs between processors in the last line of the table, the error after the fix.
    assert [line for line in done.stdout.splitlines() if "error against" not in line] == [
        line for line in shown if "error against" not in line
    ]


# What is done with the blocks of each document; a block in a language that is not listed is a block that nothing runs.
RUN = {
    README: {"python", "sh", "console", "text", "yaml", "toml"},
    CONTRIBUTING: {"python", "sh", "text", "toml"},  # test_contributing.py, test_plugins/test_pack.py
    FALSE_ALARMS: {"python"},
    PROBE: {"python", "text"},
    CONFIRM: {"sh"},
    EDITORS: {"console", "json", "javascript", "lua", "elisp", "toml"},  # test_editors.py
    SETTINGS: {"toml"},
    INDEX: {"sh"},
    ROOT / "docs" / "tutorial.md": {"python", "console", "text", "diff"},  # docs/generate.py runs them; test_site.py
    ROOT / "docs" / "mathematics.md": {"text"},
    ROOT / "docs" / "comparison.md": {"toml"},
    ROOT / "docs" / "audit.md": {"sh", "python"},  # tests/audit/test_page.py
}
DOCUMENTS = [README, CONTRIBUTING, *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_block_is_of_a_kind_that_a_test_runs(path: Path) -> None:
    assert {block.language for block in blocks(path)} == RUN.get(path, set())
    fences = re.findall(r"^ *`{3,}(\w*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert fences.count("") * 2 == len(fences), "a block without a language is seen by no test"
    assert not re.search(r"^    \S*(attnlint|pip) ", path.read_text(encoding="utf-8"), re.MULTILINE), (
        "an indented command is run by no test"
    )


PROGRAMS = [one for one in blocks(README, "python") if "print(" in one.text]
FRAGMENTS = [one for one in blocks(README, "python") if "print(" not in one.text]


@pytest.mark.parametrize("block", PROGRAMS, ids=by_name)
def test_a_program_of_readme_runs(block: Block, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "program.py"
    program.write_text(block.text, encoding="utf-8")
    done = call([sys.executable, str(program)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[wrong-dim-scale]" in done.stdout, done.stdout


def test_the_decorator_of_readme_finds_the_fault_of_the_example(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (block,) = [one for one in FRAGMENTS if "@probe" in one.text]
    imported, decorated = block.text.strip().split("\n\n\n")
    decorator, head = decorated.removesuffix(" ...").splitlines()
    example = (ROOT / "examples" / "model.py").read_text(encoding="utf-8")
    assert head in example
    program = example.replace("import math\n", f"import math\n{imported}\n").replace(head, f"{decorator}\n{head}")
    program += "\nSelfAttention(24, 4)(torch.randn(2, 5, 24), torch.ones(5, 5))\n"
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = call([sys.executable, "program.py"], tmp_path)
    assert "AttentionFault: an attention is at fault" in done.stderr and "[wrong-dim-scale]" in done.stderr, done.stderr


def test_an_excerpt_in_readme_is_of_the_example() -> None:
    lines = [line.strip() for line in (ROOT / "examples" / "model.py").read_text(encoding="utf-8").splitlines()]
    excerpts = [one for one in FRAGMENTS if "@probe" not in one.text]
    assert excerpts
    for excerpt in excerpts:
        assert [line for line in excerpt.text.splitlines() if line not in lines] == []


def commands(path: Path) -> list[str]:
    """Every attnlint command that a document shows, one by one."""
    found = []
    for block in blocks(path, "sh", "console"):
        for shown in block.text.splitlines():
            line = shown.removeprefix("$ ").split("  #")[0].strip()
            line = re.split(r" # ", line)[0].strip()
            if line.startswith("attnlint "):
                found.append(line)
    return found


def run_command(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command of a document, by a shell, in a folder that holds the examples."""
    if "confirm" in command and "attention_numpy" not in command:
        pytest.importorskip("torch")
    if " | " in command and shutil.which("bash") is None:
        pytest.skip("no bash")
    shutil.copytree(ROOT / "examples", folder / "examples")
    numpy = (folder / "examples" / "attention_numpy.py").read_text(encoding="utf-8")
    (folder / "better.py").write_text(numpy.replace("/ d_k)", "/ d_k**0.5)"), encoding="utf-8")
    done = call(["bash", "-c", command] if " | " in command else shlex.split(command), folder)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("command", dict.fromkeys(commands(README)))
def test_a_command_of_readme_works(command: str, tmp_path: Path) -> None:
    (tmp_path / "attnlint-known.json").write_text('{"version": 1, "findings": []}', encoding="utf-8")
    done = run_command(command, tmp_path)
    assert (
        done.stdout
        or re.search(r"(wrote|fixed|would fix) [1-9]", done.stderr)
        or list(tmp_path.glob("*[.-]quality*"))
        or list(tmp_path.glob("attnlint.*"))
    ), command


CONFIRMED = {
    "--fixed": "and 1 after the fix",
    "--report": "confirmed",
    "--output-format": '"status": "confirmed"',
    "--fix ": "fixed 1 finding",
}


@pytest.mark.parametrize("command", dict.fromkeys(commands(CONFIRM)))
def test_a_command_of_the_page_on_the_confirmation_works(command: str, tmp_path: Path) -> None:
    done = run_command(command, tmp_path)
    said = next((text for option, text in CONFIRMED.items() if option in command), "= confirmed" if "check" in command else "1 confirmed")
    assert said in done.stdout + done.stderr
    if "--report" in command:
        assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!")


def test_inline_commands_name_what_there_is() -> None:
    """Commands within a sentence: their sub-command and every option exist."""
    from attnlint.cli import COMMANDS
    from attnlint.completion import options

    for path in DOCUMENTS:
        for command in re.findall(r"`attnlint ([^`]+)`", path.read_text(encoding="utf-8")):
            first, *words = command.replace(",", " ").split()
            name = first if first in COMMANDS else "check"
            unknown = [word for word in words if word.startswith("--") and word not in options(name)]
            assert not unknown, f"{path.name}: `attnlint {command}`"


def test_readme_sets_up_with_two_commands_and_the_first_shows_four_faults() -> None:
    setup = [line for block in blocks(README, "sh") for line in block.text.splitlines() if "&&" in line]
    assert len(setup) == 2
    assert setup[0].endswith("attnlint examples/")
    assert "'.[dev]'" in setup[1] and "-m pytest" in setup[1]
    done = call(["attnlint", "--no-cache", "--isolated", "--output-format", "concise", "examples/"], ROOT)
    assert done.returncode == 1
    assert [line.split()[1] for line in done.stdout.splitlines() if ": ATT" in line] == ["ATT103", "ATT102", "ATT101", "ATT105"]


def test_the_programs_of_the_page_on_the_probe_run_and_print_what_it_shows(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    programs = [block.text for block in blocks(PROBE, "python") if not block.text.startswith("# ")]
    (tmp_path / "model.py").write_text("\nprint('=====')\n".join(programs), encoding="utf-8")
    done = call([sys.executable, "model.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    first, drawn, _, installed, monitored, compared, compiled, arrays, measured, _ = done.stdout.split("=====\n")
    (shown,) = blocks(PROBE, "text")

    def steady(text: str) -> list[str]:  # what softmax makes of random weights is rounded differently by other processors
        return [line for line in text.replace(f"{tmp_path.resolve()}{os.sep}", "").splitlines() if not line.startswith("  here:")]

    assert steady(first) == steady(shown.text)
    assert "  here: mean largest weight" in first and "  here: mean largest weight" in shown.text
    assert drawn == "4 heads, head 3 has ratio 0.5\n" and "map of the weights" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert installed == "fault [2]\n", "two calls were measured, and no more"
    assert monitored == "[0, 100] 0 3\n" and len((tmp_path / "attention.jsonl").read_text(encoding="utf-8").splitlines()) == 2 * 5
    assert compared.startswith("False scale True\n1 attention compared: first difference: attention 0 (ours() at model.py:")
    assert compiled == "fault 0\n"
    assert arrays == "ndarray\n"
    assert measured == "scale 0.125, ratio 1\n"
    assert "Warning" not in done.stderr, done.stderr


def test_the_trainers_callback_of_the_page_on_the_probe(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    (block,) = [one for one in blocks(PROBE, "python") if one.text.startswith("# trainer.py")]
    done = call([sys.executable, "-c", block.text], tmp_path)
    assert done.stdout == "True\n", done.stderr


def test_the_pytest_module_of_the_page_on_the_probe_passes_and_would_fail(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (block,) = [one for one in blocks(PROBE, "python") if one.text.startswith("# test_")]
    (tmp_path / "test_right.py").write_text(block.text, encoding="utf-8")
    (tmp_path / "test_wrong.py").write_text(
        block.text.replace("scale=1.0", "scale=2.0").replace("16, 8))", "16, 8), scale=3.0)"), encoding="utf-8"
    )
    done = call([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."], tmp_path)
    assert "2 failed, 2 passed" in done.stdout, done.stdout
    assert "FAILED test_wrong.py::test_the_scale_is_right" in done.stdout
    assert "FAILED test_wrong.py::test_the_scale_is_what_is_meant" in done.stdout


@pytest.mark.parametrize(
    "block", [one for one in blocks(FALSE_ALARMS, "python") if "softmax" in one.text or "scaled_dot" in one.text], ids=by_name
)
def test_a_design_of_the_page_on_false_alarms_is_silent(block: Block, tmp_path: Path) -> None:
    program = tmp_path / "model.py"
    program.write_text(block.text, encoding="utf-8")
    done = call(["attnlint", "--no-cache", "--isolated", "--output-format", "concise", str(program)], tmp_path)
    assert (done.returncode, done.stdout.count("ATT")) == (0, 0), done.stdout
    if "# attnlint: ignore" in block.text:
        # Without the comment the same program is reported, so the comment is what makes it silent.
        bare = re.sub(r"# attnlint: ignore.*", "# as it stands", block.text)
        assert [finding.name for finding in lint_text(bare, "model.py").findings] == ["wrong-dim-scale"]


def test_the_declarations_of_the_page_on_false_alarms_run(tmp_path: Path) -> None:
    (block,) = [one for one in blocks(FALSE_ALARMS, "python") if "probe.Expect" in one.text]
    done = call([sys.executable, "-c", block.text], tmp_path)
    assert done.stdout.split() == ["1.0", str(1 / 64)]


EVERY_PAGE = [README, CONTRIBUTING, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def links(path: Path) -> list[tuple[Path, str]]:
    """The files that a page links to, each with the heading that it names."""
    found = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", path.read_text(encoding="utf-8"))
    return [((path.parent / target).resolve() if target else path, anchor) for target, anchor in found]


@pytest.mark.parametrize("path", EVERY_PAGE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in links(path):
        assert target.exists(), f"{path.name}: {target}"
        if anchor:
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, f"{path.name}: #{anchor}"


def test_every_page_is_reached_from_the_index() -> None:
    reached, ahead = set(), [INDEX]
    while ahead:
        page = ahead.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            ahead += [target for target, _ in links(page)]
    assert set(EVERY_PAGE) - reached == set()


def test_the_settings_that_documents_show_are_settings(tmp_path: Path) -> None:
    for number, block in enumerate([*blocks(README, "toml"), *blocks(SETTINGS, "toml")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "pyproject.toml").write_text(block.text, encoding="utf-8")
        done = call(["attnlint", "config", "--output-format", "json"], folder)
        assert done.returncode == 0, done.stderr
        assert '"extend-exclude": [\n      "third_party"' in done.stdout


def test_the_changelog_names_every_rule() -> None:
    from attnlint.registry import rules

    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [rule.code for rule in rules() if rule.code.startswith("ATT") and f"{rule.code} {rule.name}" not in " ".join(text.split())] == []


def yaml_of(block: Block) -> Any:
    return pytest.importorskip("yaml").safe_load(block.text)


def test_the_hook_of_readme_is_one_that_there_is() -> None:
    (hook,) = [yaml_of(block) for block in blocks(README, "yaml") if "repos:" in block.text]
    known = {one["id"] for one in pytest.importorskip("yaml").safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    assert {one["id"] for one in hook["repos"][0]["hooks"]} <= known
    assert known == {name for name in known if f"`{name}`" in README.read_text(encoding="utf-8")}


@pytest.mark.parametrize("block", [one for one in blocks(README, "yaml") if "jobs:" in one.text], ids=by_name)
def test_a_workflow_of_readme_does_what_it_says(block: Block, tmp_path: Path) -> None:
    """The steps of the workflow through the action's own script; what is uploaded is what was written."""
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    action = pytest.importorskip("yaml").safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    steps = yaml_of(block)["jobs"]["attnlint"]["steps"]
    (given,) = [step["with"] for step in steps if step["uses"].endswith("/attnlint@main")]
    assert set(given) <= set(action["inputs"])
    inputs = {name: given.get(name, described.get("default", "")) for name, described in action["inputs"].items()}
    (step,) = [one for one in action["runs"]["steps"] if one.get("name") == "Run attnlint"]
    shutil.copytree(ROOT / "examples", tmp_path / "src")
    (tmp_path / "temp" / "attnlint" / "bin").mkdir(parents=True)
    (tmp_path / "temp" / "attnlint" / "bin" / "attnlint").symlink_to(BIN / "attnlint")
    variables = {name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text) for name, text in step["env"].items()}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={**os.environ, **variables, "RUNNER_TEMP": str(tmp_path / "temp")},
        capture_output=True,
        text=True,
        check=False,
    )
    uploads = [step["with"]["sarif_file"] for step in steps if "upload-sarif" in step["uses"]]
    if uploads:
        assert done.returncode == 0, done.stderr
        assert len(json.loads((tmp_path / uploads[0]).read_text(encoding="utf-8"))["runs"][0]["results"]) == 4
    else:
        assert done.returncode == 1, done.stderr
        assert done.stdout.count("::error ") == 4


@pytest.mark.parametrize("block", [one for one in blocks(README, "yaml") if "artifacts:" in one.text], ids=by_name)
def test_a_pipeline_of_readme_writes_what_it_hands_over(block: Block, tmp_path: Path) -> None:
    (job,) = yaml_of(block).values()
    install, *script = job["script"]
    assert re.fullmatch(r"pip install git\+https://github.com/[\w.-]+/attnlint", install)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for line in script:
        assert call(shlex.split(line), tmp_path).returncode == 1, "a job with findings fails; `when: always` keeps its artifacts"
    assert job["artifacts"]["when"] == "always"
    ((kind, name),) = job["artifacts"]["reports"].items()
    text = (tmp_path / name).read_text(encoding="utf-8")
    if kind == "codequality":
        assert len(json.loads(text)) == 4
    else:
        assert ElementTree.fromstring(text).get("failures") == "4"
