"""Suppression comments in their three forms, those that suppress nothing, and writing them."""

from __future__ import annotations

import pytest
from samples import FAULTY, PLAIN, ROW

LINE = FAULTY.splitlines()[ROW - 1]
INDENT = LINE[: len(LINE) - len(LINE.lstrip())]


def codes(result) -> list[str]:
    return [one["code"] for one in result.json]


def commented(comment: str) -> str:
    return FAULTY.replace(LINE, f"{LINE}  {comment}")


def above(*comments: str) -> str:
    return FAULTY.replace(LINE, "\n".join([*(INDENT + comment for comment in comments), LINE]))


SPREAD = f"""\
{INDENT}weights = torch.softmax(
{INDENT}    energy{{0}}
{INDENT}    / (self.embed_size ** (1 / 2)),{{1}}
{INDENT}    dim=-1,{{2}}
{INDENT}){{3}}"""


@pytest.mark.parametrize(
    "source",
    [
        commented("# attnlint: ignore[ATT102]"),
        commented("# attnlint: ignore[wrong-dim-scale] the released weights were trained so"),
        commented("#attnlint:ignore[ att102 , missing-scale ]").replace(", missing-scale ", ""),
        commented("# attnlint: ignore"),
        commented("# attnlint: ignore[*]").replace("[*]", " for good"),
        commented("# TODO: look again  # attnlint: ignore[ATT102]"),
        commented("# noqa: ATT102"),
        commented("# noqa"),
        commented("# noqa: E501,ATT102"),
        commented("# NOQA: E501 ATT102"),
        above("# attnlint: ignore[ATT102] why"),
        above("# attnlint: ignore[ATT102] why", "# and another remark"),
        "# attnlint: ignore-file\n" + FAULTY,
        "# attnlint: ignore-file[wrong-dim-scale] generated\n" + FAULTY,
        FAULTY + "# attnlint: ignore-file[ATT102]\n",
        *(
            FAULTY.replace(LINE, SPREAD.format(*("  # attnlint: ignore[ATT102]" if row == place else "" for row in range(4))))
            for place in range(4)
        ),
        FAULTY.replace(LINE, f"{INDENT}# attnlint: ignore[ATT102]\n" + SPREAD.format("", "", "", "")),
    ],
)
def test_a_suppression_suppresses(attnlint, tmp_path, source):
    (tmp_path / "model.py").write_text(source)
    result = attnlint("model.py", "--output-format", "json")
    assert (result.status, codes(result)) == (0, [])


@pytest.mark.parametrize(
    "source",
    [
        commented("# noqa: E501"),
        FAULTY.replace(LINE, f"{LINE}\n{INDENT}# noqa: ATT202").replace("# noqa: ATT202", "pass"),
        FAULTY.replace("import torch\n", 'import torch\nNOTE = "# attnlint: ignore-file"\n'),
        FAULTY.replace(LINE, f'{INDENT}"""\n{INDENT}# attnlint: ignore[ATT102]\n{INDENT}"""\n{LINE}'),
    ],
)
def test_what_is_no_suppression_suppresses_nothing(attnlint, tmp_path, source):
    (tmp_path / "model.py").write_text(source)
    assert codes(attnlint("model.py", "--output-format", "json")) == ["ATT102"]


@pytest.mark.parametrize(
    "source",
    [
        commented("# attnlint: ignore[missing-scale]"),
        commented("# noqa: ATT101"),
        FAULTY.replace(LINE, f"{LINE}\n{INDENT}# attnlint: ignore[ATT102]\n{INDENT}other = 1"),
        FAULTY.replace("class SelfAttention", "# attnlint: ignore[ATT102]\nclass SelfAttention"),
        FAULTY.replace("    def forward(self, x):", "    def forward(self, x):  # attnlint: ignore[ATT102]"),
    ],
)
def test_a_suppression_elsewhere_or_of_another_rule_is_unused(attnlint, tmp_path, source):
    (tmp_path / "model.py").write_text(source)
    assert sorted(codes(attnlint("model.py", "--output-format", "json"))) == ["ATT001", "ATT102"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # attnlint: ignore[ATT101]\n", "x = 1\n"),
        ("x = 1  # attnlint: ignore[missing-scale] as published\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1  # attnlint: ignore\n", "x = 1\n"),
        ("# attnlint: ignore[ATT101] why\nx = 1\n", "x = 1\n"),
        ("# attnlint: ignore-file\nx = 1\n", "x = 1\n"),
        ("x = 1\n# attnlint: ignore-file[ATT102]\n", "x = 1\n"),
        ("x = 1  # noqa: ATT101\n", "x = 1\n"),
        ("x = 1  # noqa: E501, ATT101\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: ATT101, E501\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: E501, ATT101, F401\n", "x = 1  # noqa: E501, F401\n"),
        ("x = 1  # noqa: ATT101,ATT102,F401\n", "x = 1  # noqa: F401\n"),
        ("x = 1  # noqa: F401 ATT101 ATT102\n", "x = 1  # noqa: F401\n"),
        ("x = 1  # attnlint: ignore[ATT101]  # a remark\n", "x = 1  # a remark\n"),
        ("x = 1  # a remark  # attnlint: ignore[ATT101]\n", "x = 1  # a remark\n"),
        ("def f():\n    # attnlint: ignore[ATT101]\n    return 1\n", "def f():\n    return 1\n"),
        ("x = 1  # attnlint: ignore[no-such-rule]\n", "x = 1\n"),
        ("x = 1  # attnlint: ignore[ATT101]", "x = 1"),
        ("x = 1  # attnlint: ignore[ATT101]\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n"),
    ],
)
def test_an_unused_suppression_is_reported_and_fixed(attnlint, tmp_path, before, after):
    path = tmp_path / "model.py"
    path.write_bytes(before.encode())
    result = attnlint("model.py", "--output-format", "json")
    assert result.status == 1
    assert set(codes(result)) == {"ATT001"}
    assert all(one["fix"]["applicability"] == "safe" for one in result.json)
    assert attnlint("model.py", "--fix").status == 0
    assert path.read_bytes() == after.encode()


def test_only_the_idle_part_of_a_suppression_goes(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(commented("# attnlint: ignore[missing-scale, wrong-dim-scale] trained so"))
    result = attnlint("model.py", "--output-format", "json")
    assert codes(result) == ["ATT001"]
    assert "missing-scale" in result.json[0]["message"]
    assert attnlint("model.py", "--fix").status == 0
    assert path.read_text() == commented("# attnlint: ignore[wrong-dim-scale] trained so")


def test_other_linters_suppressions_are_left_alone(attnlint, tmp_path):
    (tmp_path / "model.py").write_text("import os  # noqa: F401\nimport sys  # noqa\n")
    assert attnlint("model.py").status == 0


def test_a_suppression_of_a_rule_that_is_not_selected_is_in_use(attnlint, tmp_path):
    (tmp_path / "model.py").write_text(commented("# attnlint: ignore[ATT102]"))
    assert attnlint("model.py", "--ignore", "ATT102").status == 0
    assert attnlint("model.py", "--select", "ATT001").status == 0


def test_unused_suppressions_can_be_silenced(attnlint, tmp_path):
    (tmp_path / "model.py").write_text("x = 1  # attnlint: ignore[ATT101]\n")
    assert attnlint("model.py", "--ignore", "unused-suppression").status == 0
    (tmp_path / "model.py").write_text("# attnlint: ignore-file[ATT001]\nx = 1  # attnlint: ignore[ATT101]\n")
    assert attnlint("model.py").status == 0


def test_nothing_is_called_unused_in_a_file_that_does_not_parse(attnlint, tmp_path):
    (tmp_path / "model.py").write_text("x = 1  # attnlint: ignore[ATT101]\ndef f(:\n")
    assert codes(attnlint("model.py", "--output-format", "json")) == ["ATT002"]


def test_add_ignore_writes_suppressions_that_work(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(FAULTY)
    result = attnlint("model.py", "--add-ignore", "the released weights were trained so")
    assert result.status == 0
    assert "added 1 suppression" in result.err
    assert path.read_text() == commented("# attnlint: ignore[wrong-dim-scale] the released weights were trained so")
    assert attnlint("model.py").status == 0


def test_add_ignore_goes_to_the_end_of_the_statement_and_joins_what_is_there(attnlint, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(FAULTY.replace(LINE, SPREAD.format("", "", "", "")))
    attnlint("model.py", "--add-ignore", "known")
    assert path.read_text() == FAULTY.replace(LINE, SPREAD.format("", "", "", "  # attnlint: ignore[wrong-dim-scale] known"))
    path.write_text(commented("# attnlint: ignore[ATT999]"))
    attnlint("model.py", "--add-ignore", "known")
    assert path.read_text() == commented("# attnlint: ignore[ATT999, wrong-dim-scale]")
    assert attnlint("model.py", "--ignore", "ATT001").status == 0


def test_add_ignore_leaves_clean_files_alone(attnlint, tmp_path):
    (tmp_path / "plain.py").write_text(PLAIN)
    assert attnlint("plain.py", "--add-ignore", "why").status == 0
    assert (tmp_path / "plain.py").read_text() == PLAIN
