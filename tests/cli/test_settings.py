"""Settings: where they come from, which wins, and what is said of wrong ones."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from samples import FAULTY, PLAIN

from attnlint import __version__, config

ROOT = Path(__file__).parents[2]


def codes(result) -> list[str]:
    return [one["code"] for one in result.json]


def check(attnlint, *arguments: str) -> list[str]:
    return codes(attnlint("check", *arguments, "--no-cache", "--output-format", "json"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.attnlint]\nignore = ["ATT102"]\n'),
        ("pyproject.toml", '[tool]\nattnlint = { ignore = ["wrong-dim-scale"] }\n'),
        ("attnlint.toml", 'ignore = ["ATT102"]\n'),
        (".attnlint.toml", 'select = ["ATT2"]\n'),
        ("attnlint.toml", '[per-file-ignores]\n"sub/*" = ["ATT1"]\n'),
        ("attnlint.toml", '[per-file-ignores]\n"sub" = ["ATT1"]\n'),
        ("attnlint.toml", 'exclude = ["sub"]\n'),
        ("attnlint.toml", 'extend-exclude = ["sub/mod*"]\n'),
        ("attnlint.toml", 'extend-exclude = ["**/model.py"]\n'),
    ],
)
def test_settings_are_read_from_the_nearest_file(attnlint, tmp_path, name, text):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "model.py").write_text(FAULTY)
    assert check(attnlint, ".") == ["ATT102"]
    (tmp_path / name).write_text(text)
    assert check(attnlint, ".") == []
    assert check(attnlint, "--isolated", ".") == ["ATT102"]
    (tmp_path / "sub" / "attnlint.toml").write_text("")  # nearer, and says nothing
    if "exclude" not in text:
        assert check(attnlint, ".") == ["ATT102"]


def test_a_pyproject_without_our_table_is_passed_over(attnlint, tmp_path):
    (tmp_path / "attnlint.toml").write_text('ignore = ["ATT102"]\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "sub" / "model.py").write_text(FAULTY)
    assert check(attnlint, ".") == []


def test_the_command_line_wins(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    (tmp_path / "attnlint.toml").write_text('select = ["ATT2"]\noutput-format = "json"\nexit-zero = true\n')
    assert codes(attnlint("model.py")) == []
    assert attnlint("model.py", "--select", "ATT102").status == 0
    assert attnlint("model.py", "--select", "ATT102", "--no-exit-zero").status == 1
    assert attnlint("model.py", "--select", "ATT102", "--output-format", "concise", "-q").out.startswith("model.py:")


def test_config_names_a_file_or_a_setting(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    (tmp_path / "attnlint.toml").write_text('select = ["ATT2"]\n')
    (tmp_path / "other.toml").write_text('select = ["ATT1"]\n')
    assert check(attnlint, "model.py", "--config", "other.toml") == ["ATT102"]
    assert check(attnlint, "model.py", "--config", 'select = ["ATT1"]') == ["ATT102"]
    missing = attnlint("model.py", "--config", "gone.toml")
    assert missing.status == 2
    assert "gone.toml" in missing.err


def test_extend_starts_from_another_file(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    (tmp_path / "base.toml").write_text('ignore = ["ATT102"]\npreview = true\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "attnlint.toml").write_text('extend = "../base.toml"\nselect = ["ATT1"]\n')
    (tmp_path / "sub" / "model.py").write_text(FAULTY)
    assert check(attnlint, "sub") == []
    values = attnlint("config", "sub", "--output-format", "json").json["settings"]
    assert (values["ignore"], values["select"], values["preview"]) == (["ATT102"], ["ATT1"], True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('slect = ["ATT1"]\n', "unknown setting `slect`; did you mean `select`?"),
        ("select = 3\n", "`select` must be a list of strings"),
        ('select = ["ATT1", 2]\n', "`select` must be a list of strings"),
        ('preview = "yes"\n', "`preview` must be true or false"),
        ("jobs = -1\n", "`jobs` must be a whole number"),
        ('output-format = "xml"\n', "`output-format` must be one of full, concise"),
        ('per-file-ignores = ["a"]\n', "`per-file-ignores` must be a table"),
        ('select = ["ATT1"\n', "not valid TOML"),
        ('extend = "gone.toml"\n', "gone.toml: cannot read the configuration file"),
        ('extend = "attnlint.toml"\n', "`extend` goes in a circle"),
        ('select = ["no-such-rule"]\n', "unknown rule `no-such-rule`"),
        ('[per-file-ignores]\n"a.py" = ["no-such-rule"]\n', "unknown rule `no-such-rule`"),
        ('required-version = ">=99"\n', "requires attnlint >=99"),
        ('required-version = "new"\n', "`required-version` must be a version"),
        ("\xff", "not valid TOML"),
    ],
)
def test_a_wrong_setting_is_status_2_and_names_itself(attnlint, tmp_path, text, said):
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "attnlint.toml").write_bytes(text.encode("latin-1"))
    result = attnlint("plain.py")
    assert result.status == 2
    assert said in result.err
    assert "Traceback" not in result.err
    assert "attnlint.toml" in result.err


def test_an_unknown_setting_in_pyproject_is_named_with_its_table(attnlint, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.attnlint]\nselct = []\n")
    result = attnlint(".")
    assert result.status == 2
    assert "unknown setting `tool.attnlint.selct`" in result.err


@pytest.mark.parametrize(
    ("wanted", "current", "allowed"),
    [
        ("0.1.0", "0.1.0", True),
        ("==0.1", "0.1.0", True),
        (">=0.1,<2", "1.9", True),
        (">=0.1,<2", "2.0", False),
        ("~=1.4", "1.9", True),
        ("~=1.4", "2.0", False),
        ("1.*", "1.7", True),
        ("!=1.7", "1.7", False),
        (">1.7", "1.7.0", False),
    ],
)
def test_required_version(wanted, current, allowed):
    if allowed:
        config.check_version(wanted, "x", current)
    else:
        with pytest.raises(config.ConfigError, match="requires attnlint"):
            config.check_version(wanted, "x", current)


def test_required_version_of_this_one(attnlint, tmp_path):
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "attnlint.toml").write_text(f'required-version = "=={__version__}"\n')
    assert attnlint("plain.py").status == 0


def test_exclusion(attnlint, tmp_path):
    for name in ("model.py", "venv/model.py", "node_modules/a/model.py", "pkg/site-packages/model.py", "build/model.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FAULTY)
    names = [one["filename"] for one in attnlint(".", "--output-format", "json").json]
    assert names == ["model.py"]
    assert [one["filename"] for one in attnlint(".", "--extend-exclude", "model.py", "--output-format", "json").json] == []
    assert len(attnlint(".", "--exclude", "build", "--output-format", "json").json) == 4
    assert check(attnlint, "venv/model.py") == ["ATT102"]
    assert check(attnlint, "venv/model.py", "--force-exclude") == []
    assert check(attnlint, "venv", "--force-exclude") == []
    assert check(attnlint, "venv") == ["ATT102"]


def test_standard_input_may_be_excluded(attnlint):
    arguments = ("-", "--stdin-filename", "venv/model.py", "--output-format", "json")
    assert codes(attnlint(*arguments, stdin=FAULTY.encode())) == ["ATT102"]
    assert codes(attnlint(*arguments, "--force-exclude", stdin=FAULTY.encode())) == []


def test_gitignore(attnlint, tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("generated/\n*.tmp.py\n!keep.tmp.py\n/only_here.py\n")
    for name in ("generated/a.py", "b.tmp.py", "keep.tmp.py", "only_here.py", "sub/only_here.py", "sub/ignored.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(FAULTY)
    (tmp_path / "sub" / ".gitignore").write_text("ignored.py\n")

    def names(*arguments: str) -> list[str]:
        return [one["filename"] for one in attnlint(*arguments, "--output-format", "json").json]

    assert names(".") == ["keep.tmp.py", "sub/only_here.py"]
    assert names("sub") == ["sub/only_here.py"]
    assert names("generated") == ["generated/a.py"]
    assert names("b.tmp.py") == ["b.tmp.py"]
    assert len(names(".", "--no-respect-gitignore")) == 6


def test_extend_include(attnlint, tmp_path):
    (tmp_path / "script").write_text(FAULTY)
    assert attnlint(".").status == 0
    assert check(attnlint, ".", "--extend-include", "script") == ["ATT102"]
    assert check(attnlint, "script") == ["ATT102"]


def test_config_prints_the_effective_settings_as_toml(attnlint, tmp_path):
    (tmp_path / "attnlint.toml").write_text('ignore = ["ATT2"]\n[per-file-ignores]\n"a*.py" = ["ATT1"]\n')
    result = attnlint("config")
    assert result.status == 0
    table = config.parse_toml(result.out.encode(), "config")
    values = config.check_values(table, "config")
    assert values["ignore"] == ("ATT2",)
    assert values["per-file-ignores"] == {"a*.py": ("ATT1",)}
    assert "attnlint.toml" in result.out.splitlines()[0]


def test_the_schema_is_the_one_in_the_documentation(attnlint):
    printed = attnlint("config", "--schema").out
    assert (ROOT / "docs" / "settings.schema.json").read_text() == printed
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft7Validator(json.loads(printed))
    validator.check_schema(json.loads(printed))
    assert validator.is_valid({"select": ["ATT1"], "per-file-ignores": {"a": ["ATT1"]}, "jobs": 2, "output-format": "sarif"})
    for wrong in ({"slect": []}, {"select": "ATT1"}, {"jobs": -1}, {"output-format": "xml"}, {"preview": 1}):
        assert not validator.is_valid(wrong)
        with pytest.raises(config.ConfigError):
            config.check_values(wrong, "x")


def test_plugins_of_a_tree_that_is_only_linted_are_not_loaded(attnlint, tmp_path, monkeypatch):
    home, theirs = tmp_path / "home", tmp_path / "theirs"
    home.mkdir()
    theirs.mkdir()
    (theirs / "evil_pack.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (theirs / "attnlint.toml").write_text('plugins = ["evil_pack"]\n')
    (theirs / "model.py").write_text(FAULTY)
    monkeypatch.syspath_prepend(str(theirs))
    monkeypatch.chdir(home)
    assert check(attnlint, str(theirs)) == ["ATT102"]
    assert not (tmp_path / "ran").exists()
    assert "evil_pack" not in sys.modules


def test_the_users_own_plugins_are_loaded(attnlint, tmp_path, monkeypatch):
    (tmp_path / "own_pack.py").write_text(
        "from attnlint.rule import Report, Rule\n"
        "class Noted(Rule):\n"
        '    """## What it does\n    Notes every site.\n    """\n'
        '    code = "OWN001"\n    name = "noted"\n'
        "    def check(self, site):\n"
        "        where = site.record.anchor or site.record.softmax\n"
        '        yield Report(where, "noted")\n'
    )
    (tmp_path / "attnlint.toml").write_text('plugins = ["own_pack"]\nextend-select = ["OWN"]\n')
    (tmp_path / "model.py").write_text(FAULTY)
    monkeypatch.syspath_prepend(str(tmp_path))
    refused = attnlint("model.py")
    assert refused.status == 2
    assert "unknown rule `OWN`" in refused.err and "(own_pack) are loaded with --allow-plugins only" in refused.err
    assert "own_pack" not in sys.modules
    assert check(attnlint, "model.py", "--config", "attnlint.toml").count("OWN001") == 1  # a file that is named is meant
    monkeypatch.setenv("ATTNLINT_ALLOW_PLUGINS", "0")
    assert sorted(check(attnlint, "model.py", "--allow-plugins")) == ["ATT102", "OWN001"]
    monkeypatch.setenv("ATTNLINT_ALLOW_PLUGINS", "1")
    assert sorted(check(attnlint, "model.py")) == ["ATT102", "OWN001"]
    assert sorted(codes(attnlint("model.py", "--output-format", "json"))) == ["ATT102", "OWN001"]
    assert sorted(codes(attnlint("model.py", "--output-format", "json"))) == ["ATT102", "OWN001"]
    assert check(attnlint, "model.py", "--ignore", "noted") == ["ATT102"]


def test_running_as_a_module_does_not_import_from_the_linted_folder(tmp_path):
    import subprocess

    for name in ("libcst", "json", "argparse", "difflib", "tokenize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "model.py").write_text(FAULTY)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "attnlint", "model.py", "--no-cache", "--output-format", "concise"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert not (tmp_path / "ran").exists()
