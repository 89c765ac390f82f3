"""`attnlint check`: what is reported, how it is printed, and the exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from samples import CLEAN, COLUMN, FAULTY, PLAIN, ROW, WRONG

EXPRESSION = WRONG[1:-1]


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_json_holds_every_field_of_the_contract(attnlint, tmp_path):
    write(tmp_path, model=FAULTY)
    result = attnlint("check", "model.py", "--output-format", "json")
    assert result.status == 1
    (finding,) = result.json
    assert finding["code"] == "ATT102"
    assert finding["name"] == "wrong-dim-scale"
    assert finding["filename"] == "model.py"
    assert finding["cell"] is None
    assert finding["location"] == {"row": ROW, "column": COLUMN + 1}
    assert finding["end_location"] == {"row": ROW, "column": COLUMN + 1 + len(EXPRESSION)}
    assert finding["severity"] == "error"
    assert set(finding["site"]) == {"query", "key", "contraction", "scale", "expected", "ratio", "qualname", "evidence"}
    assert finding["site"]["qualname"] == "SelfAttention.forward"
    assert finding["confirmation"] is None
    assert finding["noqa_row"] == ROW
    assert finding["url"] is None or "OWNER" not in finding["url"]
    assert finding["message"]


def test_full_output_shows_the_row_the_caret_and_the_derivation(attnlint, tmp_path):
    write(tmp_path, model=FAULTY)
    result = attnlint("model.py")
    assert result.status == 1
    lines = result.out.splitlines()
    assert lines[0].startswith(f"model.py:{ROW}:{COLUMN + 1}: ATT102 wrong-dim-scale: ")
    assert lines[1] == "   |"
    assert lines[2] == f"{ROW} | {FAULTY.splitlines()[ROW - 1]}"
    assert lines[3] == "   | " + " " * COLUMN + "^" * len(EXPRESSION)
    labels = [line[5:].split("  ")[0].strip() for line in lines[4:] if line.startswith("   = ")]
    assert labels[0].startswith("query") and any(label.startswith("net scale") for label in labels)
    assert all(line.startswith("   = ") for line in lines[4 : 4 + len(labels)])
    assert "Found 1 finding." in lines


def test_concise_output_is_one_line_a_finding(attnlint, tmp_path):
    write(tmp_path, model=FAULTY)
    result = attnlint("model.py", "--output-format", "concise", "--quiet")
    (line,) = result.out.splitlines()
    assert line.startswith(f"model.py:{ROW}:{COLUMN + 1}: ATT102 wrong-dim-scale: ")


def test_json_lines(attnlint, tmp_path):
    write(tmp_path, a=FAULTY, b=FAULTY)
    result = attnlint("check", ".", "--output-format", "json-lines")
    assert [json.loads(line)["filename"] for line in result.out.splitlines()] == ["a.py", "b.py"]


def test_the_word_check_may_be_left_out(attnlint, tmp_path):
    write(tmp_path, model=FAULTY)
    assert attnlint("model.py").out == attnlint("check", "model.py").out
    assert attnlint("--output-format", "json", "model.py").out == attnlint("check", "--output-format", "json", "model.py").out


def test_a_clean_tree_is_status_0_and_names_no_fault(attnlint, tmp_path):
    write(tmp_path, model=CLEAN, plain=PLAIN)
    result = attnlint(".")
    assert (result.status, result.out, result.err) == (0, "1 attention in 1 file: 1 proved\n", "")


def test_without_a_path_the_current_folder_is_checked(attnlint, tmp_path):
    write(tmp_path, model=FAULTY)
    assert attnlint("check", "--output-format", "json").json[0]["filename"] == "model.py"


def test_no_arguments_show_the_help(attnlint):
    result = attnlint()
    assert result.status == 2
    assert "check" in result.out and "sites" in result.out


def test_exit_zero(attnlint, tmp_path):
    write(tmp_path, model=FAULTY)
    result = attnlint("model.py", "--exit-zero")
    assert result.status == 0
    assert "ATT102" in result.out


def test_a_missing_path_is_status_2_and_the_rest_is_checked(attnlint, tmp_path):
    write(tmp_path, model=FAULTY)
    result = attnlint("gone.py", "model.py", "--output-format", "concise")
    assert result.status == 2
    assert "gone.py: no such file or directory" in result.err
    assert "ATT102" in result.out


def test_a_missing_path_stays_status_2_with_exit_zero(attnlint):
    assert attnlint("gone.py", "--exit-zero").status == 2


def test_a_folder_without_python_is_status_0_with_a_warning(attnlint, tmp_path):
    (tmp_path / "docs").mkdir()
    result = attnlint("docs", "--output-format", "json")
    assert result.status == 0
    assert result.json == []
    assert "no Python files found" in result.err


def test_findings_come_sorted_by_path_row_and_column(attnlint, tmp_path):
    twice = FAULTY + FAULTY.replace("SelfAttention", "Second")
    write(tmp_path, b=twice, a=FAULTY + "x = 1  # attnlint: ignore[ATT101]\n", sub__c=FAULTY)
    result = attnlint("sub", "b.py", "a.py", "--output-format", "json")
    order = [(one["filename"], one["location"]["row"]) for one in result.json]
    assert order == sorted(order)
    assert len(order) == 5
    assert result.json[1]["code"] < result.json[0]["code"]


def test_a_file_named_twice_is_checked_once(attnlint, tmp_path):
    write(tmp_path, model=FAULTY)
    assert len(attnlint("model.py", ".", str(tmp_path / "model.py"), "--output-format", "json").json) == 1


def test_a_syntax_error_is_a_finding_at_its_place_and_the_rest_is_checked(attnlint, tmp_path):
    write(tmp_path, bad="x = 1\ndef f(:\n    pass\n", model=FAULTY)
    result = attnlint(".", "--output-format", "json")
    assert result.status == 1
    assert [(one["code"], one["name"], one["filename"]) for one in result.json] == [
        ("ATT002", "syntax-error", "bad.py"),
        ("ATT102", "wrong-dim-scale", "model.py"),
    ]
    assert result.json[0]["location"]["row"] == 2


def test_a_syntax_error_that_is_not_selected_is_still_said(attnlint, tmp_path):
    write(tmp_path, bad="def f(:\n")
    result = attnlint(".", "--select", "ATT1", "--output-format", "json")
    assert (result.status, result.json) == (0, [])
    assert "bad.py" in result.err and "does not parse" in result.err


def test_standard_input(attnlint):
    result = attnlint("-", "--output-format", "json", stdin=FAULTY.encode())
    assert result.status == 1
    assert result.json[0]["filename"] == "<stdin>"
    named = attnlint("check", "-", "--stdin-filename", "pkg/model.py", "--output-format", "json", stdin=FAULTY.encode())
    assert named.json[0]["filename"] == "pkg/model.py"


def test_standard_input_beside_paths_is_an_error(attnlint):
    result = attnlint("-", "model.py", stdin=b"")
    assert result.status == 2
    assert "standard input" in result.err


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("--select", "ATT102"), True),
        (("--select", "ATT1"), True),
        (("--select", "ATT"), True),
        (("--select", "ALL"), True),
        (("--select", "wrong-dim-scale"), True),
        (("--select", "ATT002"), False),
        (("--ignore", "ATT102"), False),
        (("--ignore", "wrong-dim-scale"), False),
        (("--ignore", "ATT1"), False),
        (("--select", "ATT102", "--ignore", "ATT1"), True),
        (("--select", "ATT1", "--ignore", "ATT102"), False),
        (("--select", "ATT102", "--ignore", "ATT102"), False),
        (("--select", "ATT002", "--extend-select", "ATT102"), True),
        (("--select", "ATT002,ATT102"), True),
        (("--per-file-ignores", "model.py:ATT102"), False),
        (("--per-file-ignores", "other.py:ATT102"), True),
        (("--per-file-ignores", "*.py:wrong-dim-scale"), False),
        (("--per-file-ignores", "!model.py:ATT102"), True),
    ],
)
def test_selection(attnlint, tmp_path, arguments, reported):
    write(tmp_path, model=FAULTY)
    result = attnlint("check", "model.py", *arguments, "--output-format", "json")
    assert result.status == int(reported)
    assert bool(result.json) == reported


@pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select"])
def test_an_unknown_rule_is_status_2_even_where_nothing_is_found(attnlint, tmp_path, option):
    write(tmp_path, plain=PLAIN)
    result = attnlint("plain.py", option, "wrong-dim-scales")
    assert result.status == 2
    assert "unknown rule `wrong-dim-scales`" in result.err
    assert "did you mean `wrong-dim-scale`" in result.err


def test_an_unknown_option_is_status_2(attnlint):
    assert attnlint("check", "--selct", "ATT1").status == 2
    assert attnlint("check", "--output-format", "xml").status == 2


def test_statistics(attnlint, tmp_path):
    write(tmp_path, a=FAULTY, b=FAULTY, bad="def f(:\n")
    result = attnlint(".", "--statistics")
    assert result.status == 1
    assert [line.split()[:3] for line in result.out.splitlines()] == [["2", "ATT102", "wrong-dim-scale"], ["1", "ATT002", "syntax-error"]]
    rows = attnlint(".", "--statistics", "--output-format", "json").json
    assert [(row["code"], row["count"]) for row in rows] == [("ATT102", 2), ("ATT002", 1)]


def test_output_file(attnlint, tmp_path):
    write(tmp_path, model=FAULTY)
    result = attnlint("model.py", "--output-format", "json", "--output-file", "report.json")
    assert (result.status, result.out) == (1, "")
    assert json.loads((tmp_path / "report.json").read_text())[0]["code"] == "ATT102"
    unwritable = attnlint("model.py", "--output-file", "no/such/folder/report.txt")
    assert unwritable.status == 2
    assert "no/such/folder/report.txt" in unwritable.err


def test_the_environment_sets_the_output_format_and_the_command_line_wins(attnlint, tmp_path, monkeypatch):
    write(tmp_path, model=FAULTY)
    monkeypatch.setenv("ATTNLINT_OUTPUT_FORMAT", "json")
    assert attnlint("model.py").json[0]["code"] == "ATT102"
    assert attnlint("model.py", "--output-format", "concise", "-q").out.count("\n") == 1
    monkeypatch.setenv("ATTNLINT_OUTPUT_FORMAT", "yaml")
    wrong = attnlint("model.py")
    assert wrong.status == 2
    assert "ATTNLINT_OUTPUT_FORMAT" in wrong.err


def test_colours(attnlint, tmp_path, monkeypatch):
    write(tmp_path, model=FAULTY)
    assert "\x1b[" not in attnlint("model.py").out  # not a terminal
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in attnlint("model.py").out
    assert "\x1b[" not in attnlint("model.py", "--output-format", "json").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in attnlint("model.py").out
    assert "\x1b[" in attnlint("model.py", "--color", "always").out


def test_a_machine_format_prints_its_document_and_nothing_else(attnlint, tmp_path):
    write(tmp_path, plain=PLAIN)
    for name, empty in (("json", "[]\n"), ("json-lines", ""), ("github", ""), ("gitlab", "[]\n")):
        assert attnlint("plain.py", "--output-format", name).out == empty


def test_quiet_and_verbose(attnlint, tmp_path):
    write(tmp_path, model=FAULTY)
    assert "Found" not in attnlint("model.py", "--quiet").out
    verbose = attnlint("model.py", "--verbose", "--no-cache")
    assert "find files" in verbose.err and "interpret" in verbose.err and "model.py" in verbose.err


def test_sites_lists_every_verdict(attnlint, tmp_path):
    write(tmp_path, bad=FAULTY, good=CLEAN)
    result = attnlint("sites", ".", "--output-format", "json")
    assert result.status == 0
    assert [(one["filename"], one["verdict"]) for one in result.json] == [("bad.py", "faulty"), ("good.py", "correct")]
    keys = [
        "filename",
        "cell",
        "location",
        "end_location",
        "qualname",
        "query",
        "key",
        "contraction",
        "scale",
        "expected",
        "ratio",
        "verdict",
        "reason",
        "path",
        "via",
        "evidence",
    ]
    assert list(result.json[0]) == keys
    assert result.json[1]["ratio"] == "1"
    rows = attnlint("sites", ".", "--statistics", "--output-format", "json").json
    assert {row["verdict"]: row["count"] for row in rows} == {"correct": 1, "faulty": 1}
    assert "1 correct" in attnlint("sites", ".").out


SHARED_HELPER = """\
import torch
from torch import nn


def attention(module, q, k, v):
    if module.upcast and module.by_layer:
        q, k = q.float() * module.scale, k.float()
    elif module.upcast:
        q, k = q.float(), k.float() * module.scale
    else:
        q = q * module.scale
    return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v


class Known(nn.Module):
    def __init__(self, width, upcast, by_layer):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.scale, self.upcast, self.by_layer = width**-0.5, upcast, by_layer

    def forward(self, x):
        return attention(self, self.q(x), self.k(x), self.v(x))


class Open(Known):
    def forward(self, x):
        q, k = self.prepared(x)
        return attention(self, q, k, self.v(x))
"""


def test_sites_lists_a_call_that_stays_unknown_beside_one_that_is_settled(attnlint, tmp_path):
    write(tmp_path, model=SHARED_HELPER)
    verdicts = {one["qualname"]: one["verdict"] for one in attnlint("sites", "model.py", "--output-format", "json").json}
    assert verdicts == {"attention": "correct", "Known.forward": "correct", "Open.forward": "unknown"}
    assert attnlint("check", "model.py").status == 0


def test_the_output_is_the_same_in_every_process(tmp_path):
    write(tmp_path, model=SHARED_HELPER)
    command = [sys.executable, "-m", "attnlint", "sites", "--isolated", "--no-cache", "--output-format", "json", "model.py"]
    outputs = {
        subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONHASHSEED": str(seed)}, capture_output=True, check=True).stdout
        for seed in range(6)
    }
    assert len(outputs) == 1


def test_sites_reads_standard_input(attnlint):
    assert attnlint("sites", "-", "--output-format", "json", stdin=CLEAN.encode()).json[0]["verdict"] == "correct"


def test_sites_of_a_missing_path_is_status_2(attnlint):
    assert attnlint("sites", "gone.py").status == 2


def test_rule_explains_one_and_all(attnlint):
    one = attnlint("rule", "ATT102")
    assert one.status == 0
    assert one.out.startswith("# wrong-dim-scale (ATT102)")
    assert attnlint("rule", "wrong-dim-scale").out == one.out
    every = attnlint("rule", "--all", "--output-format", "json").json
    codes = [row["code"] for row in every]
    assert codes == sorted(codes) and {"ATT001", "ATT002", "ATT102"} <= set(codes)
    for row in every:
        assert row["summary"] and row["sections"]["What it does"] and row["sections"]["Why is this bad"], row["code"]
    unknown = attnlint("rule", "ATT999")
    assert unknown.status == 2
    assert "unknown rule `ATT999`" in unknown.err
    assert attnlint("rule").status == 2


BARE = """
import sys, json
before = set(sys.modules)
sys.argv = ["attnlint", *json.loads(sys.argv[1])]
from attnlint.cli import main
status = main()
heavy = [name for name in ("libcst", "torch", "numpy", "jax", "tensorflow", "multiprocessing", "attnlint.rule") if name in sys.modules]
sys.stderr.write(json.dumps([status, heavy]))
"""


@pytest.mark.parametrize("options", [[], ["--select", "ATT"], ["--output-format", "json"], ["--no-cache"], ["--isolated"]])
def test_a_file_without_attention_loads_nothing_heavy(tmp_path, options):
    write(tmp_path, plain=PLAIN)
    done = subprocess.run(
        [sys.executable, "-c", BARE, json.dumps(["check", "plain.py", *options])], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stderr) == [0, []]


ATTENTION = """
import math
import torch


def attend(q, k, v):
    b, h, t, d = q.shape
    return torch.softmax(q @ k.transpose(-2, -1) / {root}, dim=-1) @ v
"""


@pytest.mark.parametrize(("root", "status", "loaded"), [("math.sqrt(d)", 0, False), ("d", 1, True)])
def test_libcst_is_loaded_for_a_fix_alone(tmp_path, root, status, loaded):
    write(tmp_path, model=ATTENTION.format(root=root))
    command = [sys.executable, "-c", BARE, json.dumps(["check", "model.py", "--no-cache", "--isolated"])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    ended, heavy = json.loads(done.stderr)
    assert (ended, "libcst" in heavy) == (status, loaded)


def test_importing_the_package_loads_nothing_heavy(tmp_path):
    code = "import sys, attnlint; print([n for n in ('libcst', 'torch', 'numpy', 'jax', 'argparse', 'json') if n in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": repository()}
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def repository() -> str:
    import attnlint

    return str(Path(attnlint.__file__).parents[1])


def test_a_closed_pipe_is_no_traceback(tmp_path):
    for number in range(300):
        (tmp_path / f"m{number:03}.py").write_text("def f(:\n")
    command = f"{sys.executable} -m attnlint check --no-cache . | head -n 1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("m000.py:1:")
    assert "Traceback" not in done.stderr
