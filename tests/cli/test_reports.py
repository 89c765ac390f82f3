"""Machine formats, and that nothing of a file can act on the terminal or the CI log that shows it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from xml.etree import ElementTree

import pytest
from samples import COLUMN, FAULTY, ROW, WRONG

FORMATS = ["full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit"]
IDLE = "x = 1  # attnlint: ignore[ATT101]\n"


def test_github(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    (line,) = attnlint("model.py", "--output-format", "github").out.splitlines()
    assert line.startswith(f"::error title=attnlint (ATT102),file=model.py,line={ROW},col={COLUMN + 1},endLine={ROW},endColumn=")
    assert f"::model.py:{ROW}:{COLUMN + 1}: ATT102 wrong-dim-scale: " in line


def test_gitlab(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    (entry,) = attnlint("model.py", "--output-format", "gitlab").json
    assert entry["check_name"] == "ATT102"
    assert entry["location"]["lines"]["begin"] == ROW
    assert entry["location"]["path"] == "model.py"
    assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
    (tmp_path / "model.py").write_text("# moved\n" + FAULTY + FAULTY.replace("SelfAttention", "Other"))
    moved, second = attnlint("model.py", "--output-format", "gitlab").json
    assert moved["fingerprint"] == entry["fingerprint"] != second["fingerprint"]


def test_junit(attnlint, tmp_path):
    (tmp_path / "a.py").write_text(FAULTY)
    (tmp_path / "b.py").write_text("def f(:\n")
    root = ElementTree.fromstring(attnlint(".", "--output-format", "junit").out)
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "2", "2")
    assert [suite.get("name") for suite in root] == ["a.py", "b.py"]
    failure = root[0][0][0]
    assert failure.get("type") == "ATT102"
    assert f"line {ROW}, column {COLUMN + 1}" in failure.text
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("x = 1\n")
    passed = ElementTree.fromstring(attnlint(".", "--output-format", "junit").out)
    assert (passed.get("tests"), passed.get("failures")) == ("1", "0")


def sarif_of(attnlint, *paths: str) -> dict:
    return json.loads(attnlint(*paths, "--output-format", "sarif").out)


def test_sarif(attnlint, tmp_path):
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "sub dir" / "modèl.py").write_text(FAULTY)
    (tmp_path / "idle.py").write_text(IDLE)
    log = sarif_of(attnlint, ".")
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["ATT001", "ATT102"]
    assert all("## What it does" in rule["help"]["text"] and "OWNER" not in rule.get("helpUri", "") for rule in rules)
    idle, wrong = run["results"]
    assert (idle["level"], wrong["level"]) == ("warning", "error")
    assert rules[wrong["ruleIndex"]]["id"] == "ATT102"
    place = wrong["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "sub%20dir/mod%C3%A8l.py", "uriBaseId": "SRCROOT"}
    assert place["region"]["startLine"] == ROW and place["region"]["startColumn"] == COLUMN + 1
    assert "net scale" in wrong["message"]["text"]
    replacement = idle["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert replacement["deletedRegion"]["startColumn"] == len("x = 1") + 1
    assert replacement["insertedContent"] == {"text": ""}


def test_sarif_regions_of_a_notebook_are_those_of_the_file(attnlint, tmp_path):
    source = "s = '√ \\\\ \\t'\n" + IDLE
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source.splitlines(keepends=True)}]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False)
    (tmp_path / "n.ipynb").write_text(text, encoding="utf-8")
    (result,) = sarif_of(attnlint, "n.ipynb")["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    row = text.splitlines()[region["startLine"] - 1]
    assert row[region["startColumn"] - 1 :].startswith("# attnlint: ignore[ATT101]")
    assert result["locations"][0]["logicalLocations"] == [{"name": "cell 1"}]
    deleted = result["fixes"][0]["artifactChanges"][0]["replacements"][0]["deletedRegion"]
    assert (
        text.splitlines()[deleted["startLine"] - 1][deleted["startColumn"] - 1 : deleted["endColumn"] - 1] == "  # attnlint: ignore[ATT101]"
    )


@pytest.fixture(scope="session")
def sarif_schema(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The published schema, as a package of the npm registry holds it."""
    if shutil.which("npm") is None:
        pytest.skip("the schema comes from the npm registry, and npm is not here")
    folder = tmp_path_factory.mktemp("schema")
    command = ["npm", "pack", "--silent", "@microsoft/jest-sarif@1.0.0-beta.0"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    archives = list(folder.glob("*.tgz"))
    if done.returncode or not archives:
        pytest.skip(f"the npm registry cannot be reached: {done.stderr[-200:]}")
    with tarfile.open(archives[0]) as archive:
        member = archive.extractfile("package/lib/schemas/sarif-2.1.0-rtm.5.json")
        assert member is not None
        return json.load(member)


def test_sarif_is_valid_by_the_published_schema(attnlint, tmp_path, sarif_schema):
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.validators.validator_for(sarif_schema)(sarif_schema)
    (tmp_path / "model.py").write_text(FAULTY)
    (tmp_path / "idle.py").write_text(IDLE)
    (tmp_path / "bad.py").write_text("def f(:\n")
    log = sarif_of(attnlint, ".")
    assert len(log["runs"][0]["results"]) == 3
    assert [error.message for error in validator.iter_errors(log)] == []
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert list(validator.iter_errors(log))
    (tmp_path / "empty").mkdir()
    assert list(validator.iter_errors(sarif_of(attnlint, "empty"))) == []


ESCAPE = "\x1b[2J\x1b]0;owned\x07"
HOSTILE = [
    ("a\x1b[31mred.py", "terminal escapes"),
    ("::error file=x::y.py", "a workflow command"),
    ("two\nlines.py", "a line end"),
    ("##[error]x.py", "an old workflow command"),
    ("##vso[task.setvariable variable=PATH]x.py", "an Azure command"),
    ("##teamcity[buildStop]x.py", "a TeamCity command"),
    ("tag\U000e0041soft\xad\u115fshy.py", "what nobody sees"),
    ("right\u202eleft.py", "reordered text"),
    ("100%0A::set-output name=a::b,c.py", "percent signs"),
    ("quo\"te<&>'.py", "markup"),
]


@pytest.mark.parametrize("name", [name for name, _ in HOSTILE], ids=[why for _, why in HOSTILE])
@pytest.mark.parametrize("form", FORMATS)
def test_hostile_file_names_and_sources_are_shown_and_do_not_act(attnlint, tmp_path, name, form):
    wrong = f"{WRONG}, dim=-1)  # {ESCAPE} ##[add-path]/tmp ##vso[task.x] ##teamcity[y] \u202e \U000e0041\xad ]]>"
    (tmp_path / name).write_text(FAULTY.replace(f"{WRONG}, dim=-1)", wrong), encoding="utf-8")
    out = attnlint(".", "--output-format", form).out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u115f\u202e\U000e0041]", out)
    assert not re.search(r"##\w*\[", out)
    commands = [line for line in out.splitlines() if line.lstrip().startswith("::")]
    if form == "github":
        assert len(commands) == 1 and commands[0].startswith("::error title=attnlint (ATT102),file=")
        _, properties, message = commands[0].split("::", 2)
        shown = dict(part.split("=", 1) for part in properties.removeprefix("error ").split(","))
        assert list(shown) == ["title", "file", "line", "col", "endLine", "endColumn"]
        assert shown["line"] == str(ROW) and message
    else:
        assert commands == []
    if form in ("json", "sarif", "gitlab"):
        json.loads(out)
    elif form == "junit":
        ElementTree.fromstring(out)
    elif form == "json-lines":
        (line,) = out.splitlines()
        assert json.loads(line)["filename"] == name
    elif form == "concise":
        assert len(out.splitlines()) in (2, 3)  # the finding, how many there are, how many can be fixed


def test_hostile_names_in_warnings(attnlint, tmp_path):
    (tmp_path / "a\x1b[2J.py").symlink_to("nowhere")
    result = attnlint(".", "gone\x1b[2J.py")
    assert "\x1b" not in result.err
    assert "gone\\x1b[2J.py" in result.err and "a\\x1b[2J.py" in result.err


@pytest.mark.parametrize("prefix", ["", "\t", "é", "日本", "e\u0301"])
def test_the_caret_stands_under_the_expression(attnlint, tmp_path, prefix):
    line = FAULTY.splitlines()[ROW - 1]
    changed = line.replace("weights = ", f'"{prefix}"; weights = ')
    (tmp_path / "model.py").write_text(FAULTY.replace(line, changed), encoding="utf-8")
    lines = attnlint("model.py").out.splitlines()
    shown, caret = lines[2], lines[3]
    width = {"日本": 2, "e\u0301": -1}.get(prefix, 0)
    assert caret.index("^") == shown.index("self.embed_size **") + width
    assert caret.count("^") == len("self.embed_size ** (1 / 2)")


def test_a_long_row_is_cut(attnlint, tmp_path):
    line = FAULTY.splitlines()[ROW - 1]
    (tmp_path / "model.py").write_text(FAULTY.replace(line, line.replace("weights =", f'"{"x" * 5000}"; weights =')))
    lines = attnlint("model.py").out.splitlines()
    assert len(lines[2]) < 300
    assert lines[2][lines[3].index("^") :].startswith("self.embed_size ** (1 / 2)")


def test_names_that_are_no_text(attnlint, tmp_path):
    path = bytes(tmp_path) + b"/caf\xe9.py"
    try:
        with open(path, "wb") as file:
            file.write(FAULTY.encode())
    except OSError:
        pytest.skip("this file system has no such names")
    for form in FORMATS:
        result = attnlint(".", "--output-format", form)
        assert result.status == 1
        assert "caf" in result.out
