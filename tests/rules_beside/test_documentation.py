"""The documentation of every rule beside the scale: the wrong example is reported, the right one is not, the fix makes one of the other."""

from __future__ import annotations

import inspect

import pytest

from attnlint.registry import HEADINGS, sections
from tests.rules_beside.checking import CODES, codes, examples, findings, fixed, rule

FIXED = ("ATT201", "ATT202", "ATT203", "ATT301", "ATT401", "ATT402", "ATT501", "ATT502", "ATT503")


@pytest.mark.parametrize("code", CODES)
def test_the_example_is_reported_and_nothing_else_is(code: str) -> None:
    assert codes(examples(code)["Example"]) == [code]


@pytest.mark.parametrize("code", CODES)
def test_what_to_use_instead_is_silent(code: str) -> None:
    assert codes(examples(code)["Use instead"]) == []


@pytest.mark.parametrize("code", FIXED)
def test_the_fix_makes_the_example_silent_and_is_offered_once(code: str) -> None:
    once = fixed(examples(code)["Example"], code)
    assert once != examples(code)["Example"]
    assert codes(once) == []
    assert fixed(once, code) == once


@pytest.mark.parametrize("code", [code for code in FIXED if code != "ATT502"])
def test_the_fix_writes_what_the_documentation_says(code: str) -> None:
    assert fixed(examples(code)["Example"], code) == examples(code)["Use instead"]


@pytest.mark.parametrize("code", [code for code in CODES if code not in FIXED])
def test_rules_without_a_certain_fix_offer_none(code: str) -> None:
    assert all(finding.fix is None for finding in findings(examples(code)["Example"]))


@pytest.mark.parametrize("code", CODES)
def test_every_heading_stands_there_in_order(code: str) -> None:
    found = sections(inspect.getdoc(rule(code)) or "")
    assert tuple(found) == HEADINGS
    assert all(text.strip() for text in found.values())


@pytest.mark.parametrize("code", CODES)
def test_the_message_quotes_the_code(code: str) -> None:
    finding = findings(examples(code)["Example"])[0]
    assert "`" in finding.message or "softmax normalises over" in finding.message
    assert finding.preview is (code == "ATT204")
