"""The corpus of small labelled programs: what `attnlint check` and `attnlint sites` must say of each file in tests/cases."""

from __future__ import annotations

import collections
import functools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent / "cases"
GAPS = CASES / "KNOWN_GAPS.txt"
EXPECT = re.compile(r"# case: (?P<name>\S+) expect: (?P<kind>\S+)(?: line: (?P<line>\d+))?(?: alt: (?P<alt>[\d,]+))?$")
PROVED = "# proved: yes"
VERDICT = re.compile(r"# verdict: (?P<verdict>intended|unknown|none)$")


@dataclass(frozen=True)
class Expectation:
    """One finding that a file must get: the rule's name and the rows where it may stand."""

    kind: str
    rows: frozenset[int]


@dataclass(frozen=True)
class Case:
    """One file of the corpus with what its leading comment lines promise."""

    path: Path
    expected: tuple[Expectation, ...]
    proved: bool
    verdict: str | None

    @property
    def key(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"


def read_case(path: Path) -> Case:
    expected: list[Expectation] = []
    proved, verdict, named = False, None, False
    for text in path.read_text(encoding="utf-8").splitlines():
        if not text.startswith("#"):
            break
        if match := EXPECT.match(text):
            assert match["name"] == path.stem, f"{path}: the header names {match['name']}"
            named = True
            if match["kind"] != "clean":
                rows = {int(match["line"])} | {int(row) for row in re.findall(r"\d+", match["alt"] or "")}
                expected.append(Expectation(match["kind"], frozenset(rows)))
        elif text == PROVED:
            proved = True
        elif match := VERDICT.match(text):
            verdict = match["verdict"]
    assert named, f"{path} has no '# case:' line"
    return Case(path, tuple(expected), proved, verdict)


def read_gaps(text: str) -> dict[str, str]:
    """Known gaps as {folder/name: reason}."""
    gaps = {}
    for row in text.splitlines():
        if row.strip() and not row.startswith("#"):
            key, _, reason = row.partition(":")
            gaps[key.strip()] = reason.strip()
    return gaps


ALL = [read_case(path) for path in sorted(CASES.glob("*/*.py"))]
KNOWN_GAPS = read_gaps(GAPS.read_text(encoding="utf-8"))


def parameters() -> Iterator[Any]:
    for case in ALL:
        marks = [pytest.mark.xfail(strict=True, reason=KNOWN_GAPS[case.key])] if case.key in KNOWN_GAPS else []
        yield pytest.param(case, id=case.key, marks=marks)


def run(*arguments: str) -> list[dict[str, Any]]:
    command = shutil.which("attnlint", path=str(Path(sys.executable).parent))
    assert command, "the console script attnlint is not installed beside this Python: pip install -e ."
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), f"attnlint {' '.join(arguments)} failed with {done.returncode}: {done.stderr[-2000:]}"
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def by_file(items: list[dict[str, Any]]) -> dict[Path, list[dict[str, Any]]]:
    grouped: dict[Path, list[dict[str, Any]]] = collections.defaultdict(list)
    for item in items:
        grouped[Path(item["filename"]).resolve()].append(item)
    return grouped


@functools.cache
def findings(folder: Path) -> dict[Path, list[dict[str, Any]]]:
    return by_file(run("check", "--isolated", "--no-cache", "--select", "ATT", "--output-format", "json", str(folder)))


@functools.cache
def sites(folder: Path) -> dict[Path, list[dict[str, Any]]]:
    return by_file(run("sites", "--isolated", "--no-cache", "--output-format", "json", str(folder)))


@pytest.mark.parametrize("case", list(parameters()))
def test_case(case: Case) -> None:
    path = case.path.resolve()
    reported = [(item["name"], item["location"]["row"], item["message"]) for item in findings(case.path.parent)[path]]
    left = list(reported)
    for expectation in case.expected:
        hit = next((item for item in left if item[0] == expectation.kind and item[1] in expectation.rows), None)
        assert hit is not None, f"{case.key}: no {expectation.kind} on {sorted(expectation.rows)}; reported {reported}"
        left.remove(hit)
    assert not left, f"{case.key}: reported without need: {left}"

    if case.proved or case.verdict:
        seen = [(item["verdict"], item["location"]["row"], item.get("reason")) for item in sites(case.path.parent)[path]]
        verdicts = {verdict for verdict, _, _ in seen}
        if case.proved:
            # An override that is given takes the place of the root: that path is a configured temperature.
            assert "correct" in verdicts <= {"correct", "intended"}, f"{case.key}: wanted a proof, got {seen or 'no site'}"
        elif case.verdict == "none":
            assert not seen, f"{case.key}: no attention here, yet {seen}"
        else:
            assert case.verdict in verdicts, f"{case.key}: wanted {case.verdict}, got {seen or 'no site'}"
            assert "faulty" not in verdicts, f"{case.key}: {seen}"


def test_known_gaps_name_cases_that_exist() -> None:
    assert set(KNOWN_GAPS) <= {case.key for case in ALL}


RULES = (
    "missing-scale",
    "wrong-dim-scale",
    "unrooted-scale",
    "inverted-scale",
    "double-scale",
    "scale-after-softmax",
    "scale-precedence",
    "scaled-mask-or-bias",
    "constant-scale",
    "softmax-axis",
    "implicit-softmax-dim",
    "unstable-softmax",
    "multiplicative-mask",
    "mask-after-softmax",
    "wrong-transpose",
    "scrambled-heads",
    "sdpa-dropout-in-eval",
    "sdpa-causal-and-mask",
    "inverted-mask",
)


def test_corpus_covers_every_rule_and_both_halves() -> None:
    """A corpus that lost its faulty or its proved half would still pass file by file."""
    kinds = collections.Counter(expectation.kind for case in ALL for expectation in case.expected)
    assert set(kinds) == set(RULES)
    assert min(kinds.values()) >= 2, kinds
    assert sum(1 for case in ALL if case.expected) > len(ALL) // 4
    assert sum(1 for case in ALL if case.proved) > len(ALL) // 4
