"""What a newcomer sees first: a clean run says what it saw, the rules are a list, and why the root of d_k needs nothing installed."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

import pytest
from samples import CLEAN, FAULTY, PLAIN

from attnlint.registry import rules

UNKNOWN = "import torch\n\n\ndef attend(q, k):\n    return torch.softmax(q @ k.transpose(-2, -1), dim=-1)\n"
MEANT = """\
import torch
from torch.nn.functional import normalize


def attend(q, k, tau):
    return torch.softmax(normalize(q, dim=-1) @ normalize(k, dim=-1).transpose(-2, -1) / tau, dim=-1)
"""


def test_a_clean_run_says_what_it_saw(attnlint, tmp_path):
    for name, text in (("a", CLEAN), ("b", CLEAN + "\n" + UNKNOWN), ("c", MEANT), ("d", PLAIN)):
        (tmp_path / f"{name}.py").write_text(text)
    listed = [site["verdict"] for site in attnlint("sites", ".", "--output-format", "json").json]
    assert sorted(listed) == ["correct", "correct", "intended", "unknown"]
    said = "4 attentions in 3 files: 2 proved, 1 meant, 1 not followed (attnlint sites shows why)\n"
    for form in ("full", "concise"):
        result = attnlint(".", "--output-format", form)
        assert (result.status, result.out) == (0, said)
    assert attnlint(".", "--quiet").out == ""
    assert attnlint("a.py").out == "1 attention in 1 file: 1 proved\n"
    assert attnlint(".", "-o", "out.txt").out == "" and (tmp_path / "out.txt").read_text() == said


def test_nothing_seen_is_told_from_all_right(attnlint, tmp_path):
    (tmp_path / "a.py").write_text(PLAIN)
    (tmp_path / "b.py").write_text("x = 1\n")
    assert attnlint(".").out == "No attention in 2 files: no product of a query and a key that reaches a softmax.\n"
    (tmp_path / "empty").mkdir()
    nothing = attnlint("empty")
    assert (nothing.status, nothing.out) == (0, "") and "no Python files found" in nothing.err


def test_a_fault_that_is_not_reported_is_not_called_right(attnlint, tmp_path):
    (tmp_path / "a.py").write_text(FAULTY)
    said = "1 attention in 1 file: 1 wrong, but known or not to be reported (attnlint sites shows why)\n"
    assert attnlint(".", "--ignore", "ATT102").out == said


def test_a_site_that_two_paths_lead_to_counts_once(attnlint, tmp_path):
    flagged = (
        "import torch\n\n\ndef attend(q, k, fast):\n    scale = q.shape[-1] ** -0.5\n    if fast:\n        q = q * scale\n"
        "    else:\n        k = k * scale\n    return torch.softmax(q @ k.transpose(-2, -1), dim=-1)\n"
    )
    (tmp_path / "a.py").write_text(flagged)
    assert attnlint(".").out == "1 attention in 1 file: 1 proved\n"


@pytest.mark.parametrize("form", ["json", "json-lines", "sarif", "github", "gitlab", "junit"])
def test_a_machine_format_prints_its_document_and_nothing_else(attnlint, tmp_path, form):
    (tmp_path / "a.py").write_text(CLEAN)
    result = attnlint(".", "--output-format", form)
    assert result.status == 0 and "attention in" not in result.out
    if form in ("json", "sarif", "gitlab"):
        assert result.json is not None
    elif form == "junit":
        ElementTree.fromstring(result.out)
    else:
        assert result.out == ""


def test_rules_are_a_list_of_one_line_each(attnlint):
    lines = attnlint("rules").out.splitlines()
    assert [line.split()[:2] for line in lines] == [[rule.code, rule.name] for rule in rules()]
    assert all(len(line) > 40 for line in lines)
    assert [one["code"] for one in attnlint("rules", "--output-format", "json").json] == [rule.code for rule in rules()]


def test_explain_needs_no_package(attnlint):
    program = "import sys; sys.modules['numpy'] = None; from attnlint.cli import main; sys.exit(main(['explain']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()[:1].isdigit()]
    variance = {(row[0], row[1]): float(row[2]) for row in rows}
    for d in (64, 1024):
        assert variance[str(d), "1"] == pytest.approx(d, rel=0.25)
        assert variance[str(d), "1/sqrt(d)"] == pytest.approx(1, rel=0.25)
        assert variance[str(d), "1/d"] == pytest.approx(1 / d, rel=0.25)
