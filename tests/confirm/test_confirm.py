"""The confirmation through its command: what is run, how, and what is said of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import confirm_programs as programs
import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

Run = Callable[..., Any]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def confirmations(result: Any) -> list[dict[str, Any]]:
    return [row["confirmation"] for row in json.loads(result.out)]


# --- what is measured


def test_a_module_is_built_and_run_before_and_after_its_fix(attnlint: Run, tmp_path: Path) -> None:
    write(tmp_path / "lamp.py", programs.LIGHT)
    write(tmp_path / "fixed.py", programs.LIGHT_FIXED)
    result = attnlint("confirm", "lamp.py", "--fixed", "fixed.py", "--output-format", "json")
    assert result.status == 1
    (found,) = confirmations(result)
    before, after = found["before"], found["after"]
    assert found["status"] == "confirmed"
    assert before["ratio"] != pytest.approx(1, abs=0.05)
    assert before["scale"] == pytest.approx(before["ratio"] * before["expected"])
    assert after["ratio"] == pytest.approx(1, abs=1e-3)
    assert after["reference_error"] < 1e-5 < before["reference_error"]
    assert before["calls"] == after["calls"] == 2  # two lengths
    assert "H·d" in before["factor"]
    assert set(before) >= {"max_weight", "saturated", "entropy", "jacobian"}


def test_a_fix_that_does_not_repair_is_told_from_one_that_does(attnlint: Run, tmp_path: Path) -> None:
    write(tmp_path / "lamp.py", programs.LIGHT)
    for text, words in ((programs.LIGHT_STILL_WRONG, "does not make it 1"), (programs.LIGHT_BROKEN, "AttributeError")):
        write(tmp_path / "fixed.py", text)
        (found,) = confirmations(attnlint("confirm", "lamp.py", "--fixed", "fixed.py", "--output-format", "json"))
        assert found["status"] == "not-confirmed"
        assert words in found["reason"]


def test_a_numpy_function_is_called_with_arrays(attnlint: Run, tmp_path: Path) -> None:
    write(tmp_path / "rows.py", programs.ROWS)
    write(tmp_path / "fixed.py", programs.ROWS.replace("/ k.shape[-1]", "/ np.sqrt(k.shape[-1])"))
    (found,) = confirmations(attnlint("confirm", "rows.py", "--fixed", "fixed.py", "--output-format", "json"))
    assert found["status"] == "confirmed"
    assert found["before"]["ratio"] == pytest.approx(found["before"]["head_dim"] ** -0.5)


def test_of_a_script_only_what_the_attention_needs_is_run(attnlint: Run, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    write(tmp_path / "script.py", programs.SCRIPT.format(trace=trace))
    (found,) = confirmations(attnlint("confirm", "script.py", "--output-format", "json"))
    assert found["status"] == "confirmed"
    assert found["before"]["ratio"] == pytest.approx((8 / 20) ** 0.5)
    assert not trace.exists()


def test_a_missing_package_and_a_configuration_are_stood_in_for(attnlint: Run, tmp_path: Path) -> None:
    write(tmp_path / "reader.py", programs.CONFIGURED)
    (found,) = confirmations(attnlint("confirm", "reader.py", "--output-format", "json"))
    assert found["status"] == "confirmed"
    assert any("framework_that_is_not_there" in name for name in found["case"]["stand_ins"])


def test_modules_of_the_tree_are_followed_and_no_others_of_their_statements(attnlint: Run, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    write(tmp_path / "pack" / "__init__.py", f"open({str(trace)!r}, 'w')\n")
    write(tmp_path / "pack" / "base.py", f"from torch import nn\n\nopen({str(trace)!r}, 'w')\n\n\nclass Base(nn.Module):\n    pass\n")
    write(
        tmp_path / "pack" / "lamp.py",
        programs.LIGHT.replace("from torch import nn", "from torch import nn\n\nfrom .base import Base").replace(
            "Lamp(nn.Module)", "Lamp(Base)"
        ),
    )
    (found,) = confirmations(attnlint("confirm", "pack/lamp.py", "--output-format", "json"))
    assert found["status"] == "confirmed"
    assert not trace.exists()


def test_where_no_call_works_the_statements_from_the_product_to_softmax_are_cut_out(attnlint: Run, tmp_path: Path) -> None:
    write(tmp_path / "tiles.py", programs.TOKENS)
    write(tmp_path / "fixed.py", programs.TOKENS_FIXED)
    (found,) = confirmations(attnlint("confirm", "tiles.py", "--fixed", "fixed.py", "--output-format", "json"))
    assert found["status"] == "confirmed"
    assert "statements between" in found["case"]["entry"]
    assert found["before"]["ratio"] == pytest.approx(found["before"]["head_dim"] ** 0.5 * found["before"]["scale"])


def test_a_cut_whose_sizes_no_fix_bears_out_counts_for_nothing(tmp_path: Path) -> None:
    from attnlint.confirm import confirm_finding

    path = write(tmp_path / "tiles.py", programs.TOKENS)
    found = confirm_finding(finding_at(programs.TOKENS, path), programs.TOKENS, str(path))  # a finding without a fix
    assert found["status"] == "not-confirmed"


def test_a_bias_that_is_scaled_along_is_measured_by_its_factor(attnlint: Run, tmp_path: Path) -> None:
    text = programs.LIGHT.replace(
        "        self.width = width\n",
        "        self.width = width\n        self.table = nn.Parameter(torch.zeros(heads, 16, 16))\n",
    ).replace(
        "scores = q @ k.transpose(-2, -1) / self.width ** 0.5",
        "n = x.shape[1]\n        scores = (q @ k.transpose(-2, -1) + self.table[:, :n, :n]) / self.part ** 0.5",
    )
    write(tmp_path / "table.py", text)
    write(
        tmp_path / "fixed.py",
        text.replace(
            "(q @ k.transpose(-2, -1) + self.table[:, :n, :n]) / self.part ** 0.5",
            "q @ k.transpose(-2, -1) / self.part ** 0.5 + self.table[:, :n, :n]",
        ),
    )
    (found,) = confirmations(attnlint("confirm", "table.py", "--fixed", "fixed.py", "--output-format", "json"))
    assert found["status"] == "confirmed"
    assert re.fullmatch(r"what is added to q·k is multiplied by 0\.\d+, and by 1 after the fix", found["reason"])


# --- targets, output, exit status


def test_targets_name_a_line_or_a_function(attnlint: Run, tmp_path: Path) -> None:
    write(tmp_path / "lamp.py", programs.LIGHT)
    row = next(i for i, line in enumerate(programs.LIGHT.splitlines(), 1) if "self.width **" in line)
    for target in (f"lamp.py:{row}", "lamp.py::Lamp.forward", "lamp.py::Lamp"):
        assert len(confirmations(attnlint("confirm", target, "--output-format", "json"))) == 1
    for target in ("lamp.py:1", "lamp.py::Lamp.split"):
        refused = attnlint("confirm", target)
        assert refused.status == 2
        assert "no finding there" in refused.err and str(row) in refused.err


def test_a_table_says_what_shrinks_and_what_can_grow(attnlint: Run, tmp_path: Path) -> None:
    write(tmp_path / "lamp.py", programs.LIGHT)
    write(tmp_path / "fixed.py", programs.LIGHT_FIXED)
    out = attnlint("confirm", "lamp.py", "--fixed", "fixed.py").out
    assert "softmax Jacobian" in out and "the gradient of q can grow" in out
    assert "vanish" not in out
    assert re.search(r"ratio \(1 is right\) +0\.\d+ +1\n", out)


def test_nothing_found_is_exit_0_and_a_wrong_call_is_exit_2(attnlint: Run, tmp_path: Path) -> None:
    write(tmp_path / "right.py", programs.LIGHT_FIXED)
    assert attnlint("confirm", "right.py").status == 0
    for arguments in (
        ("absent.py",),
        (".",),
        ("right.py", "--fixed", "absent.py"),
        ("right.py", "--timeout", "0"),
        ("right.py", "right.py", "--fixed", "right.py"),
    ):
        refused = attnlint("confirm", *arguments)
        assert refused.status == 2
        assert "Traceback" not in refused.err


def test_a_place_without_a_finding_has_nothing_to_confirm(attnlint: Run, tmp_path: Path) -> None:
    write(tmp_path / "right.py", programs.LIGHT_FIXED)
    write(tmp_path / "meant.py", programs.MEANT)
    for target, reading in (("right.py::Lamp", "correct"), ("meant.py::Lamp.forward", "intended (")):
        result = attnlint("confirm", target)
        assert result.status == 0
        assert "nothing to confirm" in result.out and reading in result.out
        assert json.loads(attnlint("confirm", target, "--output-format", "json").out) == []


def test_with_fix_exactly_what_the_run_proved_is_applied(attnlint: Run, tmp_path: Path) -> None:
    proved = programs.LIGHT.replace("Lamp", "Proved")
    hidden = programs.IN_CONSTRUCTOR.replace("{statement}", "os._exit(3)").replace("Lamp", "Hidden")
    path = write(tmp_path / "pair.py", proved + "\n\n" + hidden)
    assert len(json.loads(attnlint("check", "--output-format", "json", "pair.py").out)) == 2
    result = attnlint("check", "--fix", "--confirm", "pair.py")
    assert result.status == 1  # the other finding stands
    text = path.read_text()
    first, second = text.split("class Hidden")
    assert "self.width ** 0.5" not in first and "self.width ** 0.5" in second
    assert second == hidden.split("class Hidden")[1]
    assert len(json.loads(attnlint("check", "--output-format", "json", "pair.py").out)) == 1


# --- isolation


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("os._exit(3)", "exited with status 3"),
        ("os.abort()", "SIGABRT"),
        ("sys.exit('enough')", "SystemExit"),
        ("if width > 0: raise RuntimeError('on purpose')", "on purpose"),
        ("torch.zeros(1 << 34)", "memory"),
        ("time.sleep(600)", "did not end within 9 seconds"),
        ("socket.create_connection(('127.0.0.1', 9))", "refused"),
        ("os.system('true')", "refused"),
        ("[print('x' * (1 << 20)) for _ in range(200)]", "output"),
    ],
)
def test_whatever_the_code_does_is_a_reason(attnlint: Run, tmp_path: Path, statement: str, words: str) -> None:
    write(tmp_path / "lamp.py", programs.IN_CONSTRUCTOR.replace("{statement}", statement))
    result = attnlint("confirm", "lamp.py", "--output-format", "json", *(["--timeout", "9"] if "sleep" in statement else []))
    assert result.status == 1
    (found,) = confirmations(result)
    assert found["status"] == "not-confirmed"
    assert words in found["reason"]


def test_linted_code_runs_in_no_other_command(attnlint: Run, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    leaves = f"open({str(trace)!r}, 'w').write('ran')"
    text = programs.IN_CONSTRUCTOR.replace("{statement}", leaves) + f"\n\n{leaves}\nmodel = Lamp(32, 4)\n"
    write(tmp_path / "lamp.py", text)
    for arguments in (
        ("lamp.py",),
        ("check", "--fix", "--unsafe-fixes", "--diff", "lamp.py"),
        ("check", "--output-format", "json", "lamp.py"),
        ("sites", "lamp.py"),
    ):
        attnlint(*arguments)
        assert not trace.exists(), arguments
    (found,) = confirmations(attnlint("confirm", "lamp.py", "--output-format", "json"))
    assert "writing to" in found["reason"]  # here it did run, and was kept from writing
    assert not trace.exists()
    exec(compile(text.replace("import torch", "class nn: Module = object", 1).split("class Lamp")[0] + leaves, "trace", "exec"))
    assert trace.exists()  # the statement does leave a trace where nothing holds it


def test_the_environment_of_the_child_holds_no_secret(attnlint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do-not-show")
    write(
        tmp_path / "lamp.py",
        programs.IN_CONSTRUCTOR.replace(
            "{statement}", "if width > 0: raise RuntimeError('token: ' + os.environ.get('SECRET_TOKEN', 'none'))"
        ),
    )
    (found,) = confirmations(attnlint("confirm", "lamp.py", "--output-format", "json"))
    assert "token: none" in found["reason"]


# --- refuted


def finding_at(text: str, path: Path) -> Any:
    """The finding of a faulty text, as if it had been raised on another."""
    from attnlint.linter import lint_text

    (found,) = [f for f in lint_text(text, str(path)).findings if f.name == "wrong-dim-scale"]
    return replace(found, fix=None)


def test_a_finding_that_the_measurement_contradicts_is_refuted(tmp_path: Path) -> None:
    from attnlint.confirm import confirm_finding

    path = write(tmp_path / "lamp.py", programs.LIGHT_FIXED)
    found = confirm_finding(finding_at(programs.LIGHT, path), programs.LIGHT_FIXED, str(path))
    assert found["status"] == "refuted"
    assert "ratio 1 at" in str(found["reason"])


def test_a_finding_of_one_path_is_confirmed_on_it_and_not_refuted_on_another(attnlint: Run, tmp_path: Path) -> None:
    from attnlint.confirm import confirm_finding

    text = programs.TWO_PATHS
    path = write(tmp_path / "paths.py", text)
    (found,) = confirmations(attnlint("confirm", "paths.py", "--output-format", "json"))
    assert found["status"] == "confirmed"

    from attnlint.linter import lint_text

    (finding,) = lint_text(text, str(path)).findings
    assert finding.site is not None and finding.site.path
    right = text.replace("/ self.width", "/ self.part")
    mended = confirm_finding(replace(finding, fix=None), right, str(path))
    assert mended["status"] == "not-confirmed"
    assert "holds where" in str(mended["reason"])


def test_a_scale_that_the_linter_reads_as_meant_is_not_called_faulty(tmp_path: Path) -> None:
    from attnlint.confirm import confirm_finding
    from attnlint.linter import lint_text

    path = write(tmp_path / "meant.py", programs.MEANT)
    read = lint_text(programs.MEANT, str(path))
    assert read.findings == ()
    (site,) = [site for site in read.sites if site.verdict == "intended"]
    made_up = replace(finding_at(programs.LIGHT, path), site=site, span=site.span)
    found = confirm_finding(made_up, programs.MEANT, str(path))
    assert found["status"] == "not-confirmed" and "nothing to confirm" in str(found["reason"])


def test_check_withdraws_what_is_refuted(attnlint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "lamp.py", programs.LIGHT)
    reported = attnlint("check", "--confirm", "--output-format", "json", "lamp.py")
    assert [row["confirmation"]["status"] for row in json.loads(reported.out)] == ["confirmed"]

    from attnlint.confirm import confirm_finding

    # the program that runs is the right one, so the measurement contradicts the finding
    monkeypatch.setattr(
        "attnlint.confirm.confirm_finding",
        lambda finding, program, path: confirm_finding(replace(finding, fix=None), programs.LIGHT_FIXED, path),
    )
    withdrawn = attnlint("check", "--confirm", "--verbose", "lamp.py")
    assert withdrawn.status == 0
    assert "ATT102" not in withdrawn.out
    assert "withdrawn" in withdrawn.err and "ratio 1 at" in withdrawn.err
    assert "withdrawn" not in attnlint("check", "--confirm", "lamp.py").err


# --- the page


@pytest.fixture
def report(attnlint: Run, tmp_path: Path) -> Path:
    write(tmp_path / "lamp.py", programs.LIGHT)
    write(tmp_path / "fixed.py", programs.LIGHT_FIXED)
    assert attnlint("confirm", "lamp.py", "--fixed", "fixed.py", "--report", "report.html").status == 1
    return tmp_path / "report.html"


def test_the_page_stands_alone(report: Path) -> None:
    page = report.read_text(encoding="utf-8")
    assert not re.search(r"<script|<link|<img|<canvas|https?://|url\(", page)
    assert page.count('aria-label="distribution of the logits') == 2
    assert page.count('aria-label="map of the weights') == 2
    assert "self.part ** 0.5" in page and "the gradient of q can grow" in page


def test_the_page_is_drawn_by_a_browser(report: Path, tmp_path: Path) -> None:
    browser = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip("no Chromium is installed; the apt package chromium has it")
    picture = tmp_path / "page.png"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    environment = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run(
        [*command, f"--screenshot={picture}", "--window-size=1000,1700", report.as_uri()],
        check=True,
        capture_output=True,
        env=environment,
        timeout=120,
    )
    colours = _colours(picture)
    assert (196, 87, 47) in colours  # bars of the logits before
    assert (47, 99, 196) in colours  # and after
    assert len([c for c in colours if c[2] > c[0] + 40]) > 20  # the shades of the maps


def _colours(picture: Path) -> set[tuple[int, int, int]]:
    """The colours of a PNG (8 bits, RGB or RGBA)."""
    import struct
    import zlib

    data, at, packed = picture.read_bytes(), 8, b""
    width = height = channels = 0
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, form = struct.unpack(">IIBB", body[:10])
            channels = {2: 3, 6: 4}[form]
            assert depth == 8
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    import numpy as np

    raw = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    above = np.zeros(width * channels, np.uint8)
    found: set[tuple[int, int, int]] = set()
    for row in raw:
        line = _unfilter(int(row[0]), row[1:].copy(), above, channels)
        found |= {tuple(map(int, pixel[:3])) for pixel in np.unique(line.reshape(width, channels), axis=0)}  # type: ignore[misc]
        above = line
    return found


def _unfilter(kind: int, line: Any, above: Any, step: int) -> Any:
    if kind == 0:
        return line
    if kind == 2:
        return line + above
    values, upper = line.tolist(), above.tolist()
    for i in range(len(values)):
        left = values[i - step] if i >= step else 0
        corner = upper[i - step] if i >= step else 0
        if kind == 1:
            add = left
        elif kind == 3:
            add = (left + upper[i]) // 2
        else:
            guess = left + upper[i] - corner
            add = min((abs(guess - left), 0, left), (abs(guess - upper[i]), 1, upper[i]), (abs(guess - corner), 2, corner))[2]
        values[i] = (values[i] + add) & 255
    import numpy as np

    return np.array(values, np.uint8)
