"""The stable Python interface: what it gives back, that it can be sent elsewhere, and that importing it costs nothing."""

from __future__ import annotations

import dataclasses
import json
import pickle
import subprocess
import sys

import pytest
from samples import COLUMN, FAULTY, ROW, WRONG

import attnlint

RIGHT = """\
import torch


def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, dim=-1) @ v
"""


def test_a_fault_has_its_place_its_site_and_its_fix():
    (finding,) = attnlint.lint(FAULTY, path="model.py").findings
    assert (finding.code, finding.name, finding.filename) == ("ATT102", "wrong-dim-scale", "model.py")
    assert (finding.start.row, finding.start.column, finding.cell) == (ROW, COLUMN + 1, None)
    assert finding.site is not None and finding.site.verdict == "faulty"
    assert finding.fix is not None and finding.fix.applicability == "unsafe"
    (edit,) = finding.fix.edits
    line = FAULTY.splitlines()[ROW - 1]
    assert WRONG in line and line[edit.start.column - 1 : edit.end.column - 1] in line
    assert [step.label for step in finding.derivation]


def test_sites_of_a_right_text():
    (site,) = attnlint.sites(RIGHT)
    assert (site.verdict, site.query, site.key, site.qualname) == ("correct", "q", "k", "attend")
    assert attnlint.lint(RIGHT).findings == ()


def test_sites_stays_a_function_and_a_package():
    from attnlint.sites.sites import AttentionSite

    assert AttentionSite.__module__ == "attnlint.sites.sites"
    assert attnlint.sites(RIGHT) == attnlint.lint(RIGHT).sites
    code = "import attnlint.sites.sites as s, attnlint; assert s.AttentionSite; assert attnlint.sites('x = 1') == ()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_settings_select_and_bad_ones_are_named():
    settings = attnlint.Settings(ignore=("wrong-dim-scale",))
    assert attnlint.lint(FAULTY, settings=settings).findings == ()
    with pytest.raises(attnlint.ConfigError, match="ATT999"):
        attnlint.lint(FAULTY, settings=attnlint.Settings(select=("ATT999",)))
    by_file = attnlint.Settings(per_file_ignores=(("model.py", ("ATT1",)),))
    assert attnlint.lint(FAULTY, path="model.py", settings=by_file).findings == ()
    assert attnlint.lint(FAULTY, path="other.py", settings=by_file).findings != ()


def test_settings_of_a_configuration_file(tmp_path):
    (tmp_path / "attnlint.toml").write_text('select = ["ATT102"]\nextend-ignore = ["ATT2"]\npreview = true\n')
    assert attnlint.Settings.read(str(tmp_path / "model.py")) == attnlint.Settings(select=("ATT102",), ignore=("ATT2",), preview=True)


def test_suppressions_are_counted():
    lines = FAULTY.splitlines()
    lines[ROW - 1] += "  # attnlint: ignore[wrong-dim-scale] measured"
    text = "\n".join(lines) + "\n"
    report = attnlint.lint(text)
    assert report.findings == () and report.suppressed == 1


def test_what_does_not_parse_is_a_finding():
    (finding,) = attnlint.lint("import torch\ndef f(:\n    torch.softmax(q @ k)\n").findings
    assert (finding.code, finding.start.row) == ("ATT002", 2)


def test_a_coding_cookie_of_a_text_is_honoured():
    text = "# -*- coding: latin-1 -*-\nname = 'é'\n" + FAULTY
    (finding,) = attnlint.lint(text).findings
    assert finding.start.row == ROW + 2


def test_a_notebook_has_cells():
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": text} for text in ("x = 1", FAULTY)]
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (finding,) = attnlint.lint(data, path="model.ipynb").findings
    assert (finding.cell, finding.start.row) == (2, ROW)
    assert finding.site is not None and finding.site.cell == 2


KERNEL = """\
import torch


def scaled_attention(q, k, v, scale):
    return torch.softmax(q @ k.transpose(-2, -1) * scale, dim=-1) @ v
"""
CALLER = """\
import torch.nn as nn
from kernel import scaled_attention


class Head(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k = self.q(x), self.k(x)
        return scaled_attention(q, k, x, q.shape[-1])
"""


def test_files_are_seen_together(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "model.py").write_text(CALLER)
    report = attnlint.lint_paths([tmp_path])
    assert (report.files, report.errors) == (2, ())
    assert [finding.code for finding in report.findings] == ["ATT104"], report
    assert attnlint.lint_paths([tmp_path / "kernel.py"]).findings == ()


def test_results_are_frozen_and_can_be_pickled():
    report = attnlint.lint(FAULTY)
    assert pickle.loads(pickle.dumps(report)) == report
    assert pickle.loads(pickle.dumps(attnlint.Settings(preview=True))) == attnlint.Settings(preview=True)
    assert hash(report) == hash(attnlint.lint(FAULTY))
    for value in (report, report.sites[0], report.findings[0], attnlint.Settings()):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, dataclasses.fields(value)[0].name, None)


def test_every_public_name_is_there():
    assert all(getattr(attnlint, name) is not None for name in attnlint.__all__)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        attnlint.nothing_of_the_kind  # noqa: B018


def test_importing_is_light():
    code = (
        "import sys, attnlint; assert attnlint.__version__\n"
        "heavy = {'libcst', 'torch', 'numpy', 'jax', 'tensorflow', 'dask', 'argparse', 'attnlint.interface'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "attnlint.lint('x = 1')\n"
        "heavy = {'torch', 'numpy', 'jax', 'tensorflow', 'dask', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
