"""watch, checked, install, expect, the environment, the fixture, the report: the contract, point by point."""

from __future__ import annotations

import copy
import inspect
import json
import re
import shutil
import subprocess
import sys
import warnings

import pytest

torch = pytest.importorskip("torch")

import zoo  # noqa: E402
from torch import nn  # noqa: E402

from attnlint import probe  # noqa: E402
from attnlint.probe import figures  # noqa: E402

pytest_plugins = ["pytester"]


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(zoo.B, zoo.T, zoo.C)


def attend(q, k, v):
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


def unscaled(q, k, v):
    return torch.softmax(q @ k.mT, -1) @ v


# --- expect ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expect", "status", "ratio"),
    [
        (probe.Expect.unscaled("as T5"), "declared", 1.0),
        (1.0, "declared", 1.0),
        (1, "declared", 1.0),
        (lambda d: 1.0, "declared", 1.0),
        (probe.Expect.mup(), "fault", float(zoo.D)),
        (lambda d: d**-0.25, "fault", zoo.D**0.25),
        ({"Missing": 1.0}, "declared", 1.0),
        ({"Miss*": probe.Expect(1.0)}, "declared", 1.0),
        ({"other*": 1.0}, "fault", zoo.root),
        ({"*": None}, "fault", zoo.root),
    ],
)
def test_expectations(expect, status, ratio, x):
    with probe.watch(zoo.Missing(), expect) as report:
        zoo.Missing()(x)
    assert report.sites == []
    model = zoo.Missing()
    with probe.watch(model, expect=expect) as report:
        model(x)
    (site,) = report.sites
    assert (site.status, site.ratio) == (status, pytest.approx(ratio, rel=1e-4))
    assert site.expected == pytest.approx(site.scale / site.ratio)


def test_mup_and_an_unmet_declaration(x):
    for make, expect, status in ((zoo.OverD, probe.Expect.mup(), "declared"), (zoo.Plain, probe.Expect.unscaled("a test"), "fault")):
        model = make()
        with probe.watch(model, expect=expect) as report:
            model(x)
        assert report.sites[0].status == status


def test_patterns_name_modules(x):
    model = nn.ModuleDict({"encoder": zoo.Missing(), "decoder": zoo.Plain()})
    model.forward = lambda x: model["decoder"](model["encoder"](x))
    with probe.watch(model, expect={"enc*": probe.Expect.unscaled("a test")}) as report:
        model(x)
    assert {s.module: s.status for s in report.sites} == {"encoder": "declared", "decoder": "ok"}


@pytest.mark.parametrize("wrong", ["text", object(), True, {1: 2.0}, {"a": {"b": 1.0}}, [1.0]])
def test_what_is_no_expectation(wrong):
    with pytest.raises(TypeError, match="expect="):
        probe.watch(expect=wrong)


@pytest.mark.parametrize("reason", ["", " ", None])
def test_unscaled_wants_a_reason(reason):
    with pytest.raises(ValueError, match="wants the reason"):
        probe.Expect.unscaled(reason)
    with pytest.raises(TypeError, match="why"):
        probe.Expect.unscaled()


@pytest.mark.parametrize("wrong", [0, float("nan"), float("inf")])
def test_what_is_no_scale(wrong):
    with pytest.raises(ValueError, match="finite"):
        probe.watch(expect=wrong)


# --- watch -----------------------------------------------------------------------------------------------------------------------


def test_a_model_is_a_module():
    with pytest.raises(TypeError, match=r"probe\.call"):
        probe.watch(attend)


def test_without_attention(x):
    with probe.watch() as report:
        nn.Linear(zoo.C, 2)(x)
    assert report.sites == [] and report.status == "not-observed" and not report.ok
    with pytest.raises(probe.AttentionFault, match="silence is not success") as caught:
        report.raise_for_faults()
    assert caught.value.report is report


def test_errors_of_the_forward_pass_through_and_the_block_closes(x):
    class Broken(nn.Module):
        def forward(self, x):
            attend(x, x, x)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), probe.watch() as report:
        Broken()(x)
    assert len(report.sites) == 1
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


# --- checked ---------------------------------------------------------------------------------------------------------------------


def test_checked_function(x):
    calls = []

    @probe.checked(calls=2)
    def f(q, k, v):
        calls.append(1)
        return unscaled(q, k, v)

    for _ in range(2):
        with pytest.raises(probe.AttentionFault, match="missing-scale"):
            f(x, x + 1, x)
    assert torch.equal(f(x, x + 1, x), unscaled(x, x + 1, x)) and len(calls) == 3
    assert f.__name__ == "f" and f.__wrapped__ is not None


def test_each_call_is_judged_by_itself(x):
    @probe.checked(calls=3)
    def f(x, scale):
        return torch.softmax(x @ x.mT * scale, -1) @ x

    f(x, zoo.C**-0.5)
    with pytest.raises(probe.AttentionFault):
        f(x, 1.0)
    f(x, zoo.C**-0.5)
    f(x, 1.0)


def test_bare_decorator_and_a_call_without_attention(x):
    @probe.checked
    def f(x):
        return x

    with pytest.raises(probe.AttentionFault, match="no attention"):
        f(x)


def test_checked_class_counts_by_instance(x):
    @probe.checked(calls=1)
    class Wrong(zoo.Missing):
        pass

    assert isinstance(Wrong, type) and Wrong.__name__ == "Wrong"
    for _ in range(2):
        model = Wrong()
        with pytest.raises(probe.AttentionFault):
            model(x)
        model(x)
    zoo.Missing()(x)  # the superclass is as it was


def test_checked_method_counts_by_instance(x):
    class Model(zoo.Base):
        @probe.checked(calls=1)
        def forward(self, x):
            return super().forward(x)

        def attend(self, q, k, v):
            return unscaled(q, k, v)

    first, second = Model(), Model()
    for model in (first, second):
        with pytest.raises(probe.AttentionFault):
            model(x)
        model(x)
    with pytest.raises(probe.AttentionFault):
        copy.deepcopy(first)(x)


def test_checked_static_method_and_plain_class(x):
    class Tools:
        @staticmethod
        @probe.checked(calls=1)
        def f(q, k, v):
            return unscaled(q, k, v)

    with pytest.raises(probe.AttentionFault):
        Tools.f(x, x, x)
    Tools.f(x, x, x)

    @probe.checked(calls=1)
    class Callable:
        def __call__(self, x):
            return unscaled(x, x, x)

    with pytest.raises(probe.AttentionFault):
        Callable()(x)


def test_warn_and_report(x):
    @probe.checked(calls=1, on_fault="warn")
    def f(x):
        return unscaled(x, x, x)

    with pytest.warns(probe.AttentionFaultWarning, match="missing-scale") as seen:
        f(x)
    assert seen[0].filename == __file__

    @probe.checked(calls=1, on_fault="report")
    def g(x):
        return unscaled(x, x, x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g(x)


@pytest.mark.parametrize("arguments", [{"calls": 0}, {"calls": True}, {"on_fault": "explode"}])
def test_bad_arguments(arguments):
    with pytest.raises(ValueError, match=r"calls=|on_fault="):
        probe.checked(**arguments)
    with pytest.raises(ValueError, match=r"calls=|on_fault="):
        probe.install(zoo.Plain(), **arguments)


def test_checked_steps_aside_while_compiling(x):
    @probe.checked(calls=1)
    def f(x):
        return unscaled(x, x, x)

    torch._dynamo.reset()
    assert torch.equal(torch.compile(f, backend="eager", fullgraph=True)(x), unscaled(x, x, x))
    with pytest.raises(probe.AttentionFault):
        f(x)

    @probe.checked(calls=1)
    class Wrong(zoo.Missing):
        pass

    model = Wrong()
    torch.compile(model, backend="eager", fullgraph=True)(x)


def test_a_spent_check_compiles_no_graph_anew(x):
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    @probe.checked(calls=1, on_fault="report")
    def f(x):
        return unscaled(x, x, x)

    def model(x):
        return f(x)

    torch._dynamo.reset()
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    compiled(x)
    f(x)
    compiled(x)
    assert len(graphs) == 1


# --- install ---------------------------------------------------------------------------------------------------------------------


def test_install_takes_itself_out(x):
    model = zoo.Missing()
    plain = model(x)
    handle = probe.install(model, calls=2)
    assert handle.active and torch.equal(model(x), plain)
    model(x)
    assert not handle.active and "forward" not in model.__dict__
    model(x)
    (site,) = handle.report.sites
    assert (site.calls, site.faults, site.kind, site.module) == (2, 2, "missing-scale", "Missing")


def test_install_acts_within_the_call(x):
    model = zoo.Missing()
    probe.install(model, calls=1, on_fault="raise")
    with pytest.raises(probe.AttentionFault):
        model(x)
    assert "forward" not in model.__dict__
    probe.install(model, calls=1, on_fault="warn")
    with pytest.warns(probe.AttentionFaultWarning):
        model(x)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_handles_may_go_in_any_order(order, x):
    model = zoo.Missing()
    handles = [probe.install(model, calls=9, expect=e) for e in (None, 1.0, {"x": 1.0})]
    model(x)
    for i in order:
        handles[i].remove()
        handles[i].remove()
        model(x)
    assert "forward" not in model.__dict__
    assert sorted(h.report.sites[0].calls for h in handles) == [1, 2, 3]
    assert [h.report.sites[0].status for h in handles] == ["fault", "declared", "fault"]


def test_an_own_forward_of_the_instance_comes_back(x):
    model = zoo.Plain()
    mine = lambda x: attend(x, x, x)  # noqa: E731
    model.forward = mine
    handle = probe.install(model, calls=1)
    model(x)
    assert model.forward is mine and handle.report.sites[0].head_dim == zoo.C


def test_copies_and_signatures_of_an_installed_model(x):
    model = zoo.Plain()
    handle = probe.install(model, calls=5)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.out.weight.zero_()
        other.out.bias.zero_()
    assert not other(x).any() and model(x).any()
    assert handle.report.sites[0].calls == 1
    assert list(inspect.signature(model.forward).parameters)[-2:] == ["x", "memory"]


def test_install_in_compiled_and_scripted_models(x):
    torch._dynamo.reset()
    compiled = torch.compile(zoo.WholeWidth(), backend="eager", fullgraph=True)
    handle = probe.install(compiled, calls=1)
    compiled(x)
    compiled(x)
    assert handle.report.sites[0].kind == "wrong-dim-scale"
    scripted = torch.jit.trace(zoo.Plain(), x)
    handle = probe.install(scripted, calls=1)
    scripted(x)
    scripted(x)
    assert handle.report.sites[0].calls == 1


def test_install_wants_a_module():
    with pytest.raises(TypeError, match="checked"):
        probe.install(attend)


# --- the environment -------------------------------------------------------------------------------------------------------------


def test_off_silences_everything(monkeypatch, x):
    @probe.checked(calls=1)
    def before(x):
        return unscaled(x, x, x)

    monkeypatch.setenv("ATTNLINT_PROBE", "off")
    model = zoo.Missing()
    with probe.watch(model) as report:
        model(x)
    assert report.disabled and report.sites == [] and report.ok
    report.raise_for_faults()
    assert "disabled" in str(report) and json.loads(report.to_json())["disabled"] is True
    before(x)
    assert probe.checked(attend) is attend and probe.checked(calls=2)(zoo.Missing) is zoo.Missing
    handle = probe.install(model)
    assert handle.report.disabled and "forward" not in model.__dict__


@pytest.mark.parametrize(("value", "on_fault"), [("raise", "report"), ("warn", "raise")])
def test_the_environment_overrides(monkeypatch, value, on_fault, x):
    @probe.checked(calls=1, on_fault=on_fault)
    def f(x):
        return unscaled(x, x, x)

    model = zoo.Missing()
    probe.install(model, calls=1, on_fault=on_fault)
    monkeypatch.setenv("ATTNLINT_PROBE", value)
    for run in (lambda: f(x), lambda: model(x)):
        if value == "raise":
            with pytest.raises(probe.AttentionFault):
                run()
        else:
            with pytest.warns(probe.AttentionFaultWarning):
                run()


def test_another_value_is_an_error(monkeypatch):
    monkeypatch.setenv("ATTNLINT_PROBE", "loud")
    with pytest.raises(ValueError, match="off, warn, raise"), probe.watch():
        pass


# --- pytest ----------------------------------------------------------------------------------------------------------------------


def test_the_fixture(pytester):
    pytester.makepyfile(
        """
        import pytest, torch
        from attnlint import probe

        x = torch.randn(2, 7, 12)

        def attend(scale):
            return torch.softmax(x @ x.mT * scale, -1) @ x

        def test_right(attention_probe):
            attend(12 ** -0.5)
            assert attention_probe.report.sites[0].status == "ok"

        def test_wrong(attention_probe):
            attend(1.0)

        def test_silent(attention_probe):
            pass

        @pytest.mark.attention_expect(probe.Expect.unscaled("toy"))
        def test_declared(attention_probe):
            attend(1.0)
            assert attention_probe.report.sites[0].status == "declared"

        @pytest.mark.attention_expect(1 / 12)
        def test_declared_otherwise(attention_probe):
            attend(1.0)
        """
    )
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "--strict-markers", "-rf")
    result.assert_outcomes(passed=2, failed=3)
    text = result.stdout.str()
    assert "missing-scale" in text and "no attention ran" in text


def test_loading_the_plugin_is_light():
    code = "import sys, attnlint.probe.pytest_plugin, attnlint.probe; print(sorted({'torch', 'numpy', 'libcst', 'jax'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- the report ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def report(x):
    model = nn.Sequential(zoo.Plain(), zoo.WholeWidth(), zoo.CosineFixed())
    with probe.watch(model, keep_samples=True) as made:
        model(x)
    return made


def test_the_message_in_full(report):
    with pytest.raises(probe.AttentionFault) as caught:
        report.raise_for_faults()
    text = str(caught.value)
    for part in (
        r"1 of 3 attention sites at fault",
        r"^1 \[wrong-dim-scale\] .*zoo\.py:\d+, 1 call$",
        r"measured scale 0\.129099, expected 0\.288675 \(ratio 0\.447214, tolerance 0\.001 in float32\)",
        r"d_k = 12, from q \[15, 14, 12\] and k \[15, 12, 14\]",
        r"slope 0\.129099, R² 1\.000000",
        r"1/√\(H·d\) with H = 5, H·d = 60",
        r"0\.129099 on the logits \(div\) at .*zoo\.py:\d+",
        r"mean largest weight .*rows over 0\.99 .*entropy/ln T .*1 - Σp² .*off the float64 reference by",
        r"fix: take the root of the contracted dimension: 12 \*\* -0\.5 = 0\.288675; if it is meant, declare it: expect=",
    ):
        assert re.search(part, text, re.M), (part, text)
    assert "vanish" not in text


def test_the_table(report):
    text = str(report)
    assert "1 fault" in text and "1 ok" in text and "1 skipped" in text
    rows = [line.split()[0] for line in text.splitlines() if "zoo.py:" in line]
    assert rows == ["0", "1", "2"]


def test_the_table_on_a_terminal(report, monkeypatch):
    rich = pytest.importorskip("rich")
    assert rich
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    text = str(report)
    assert "\x1b[" in text and "wrong-dim-scale" in text
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in str(report) and "\x1b[1;31m" not in str(report)


def test_json(report):
    document = json.loads(report.to_json())
    assert document["status"] == "fault" and len(document["sites"]) == 3
    site = document["sites"][1]
    assert site["kind"] == "wrong-dim-scale" and site["factors"][0]["on"] == "logits" and site["ratio"] == pytest.approx(zoo.H**-0.5)
    assert set(site) >= {
        "module",
        "calls",
        "head_dim",
        "scale",
        "expected",
        "ratio",
        "status",
        "kind",
        "factors",
        "slope",
        "r_squared",
        "max_weight",
        "saturated",
        "entropy",
        "reference_error",
    }


def test_html(report, tmp_path):
    page = report.to_html(str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert page.count('aria-label="distribution of the logits') == 3 and "wrong-dim-scale" in page
    assert page.count('aria-label="map of the weights of head') == 3 * (1 + zoo.H)
    assert page.count('aria-label="legend of the weights"') == 3 and page.count("over depth") >= 2
    order = re.findall(r'<section class="(\w+)"', page)
    assert order == ["fault", "skipped", "ok"], "faults first"
    assert not re.search(r"(src|href)=|https?://", page)
    with probe.watch() as without:
        zoo.Plain()(torch.randn(2, zoo.T, zoo.C)[:1].expand(zoo.B, -1, -1))
    assert "<svg" not in without.to_html() and "keep_samples" in without.to_html()


def test_json_has_no_number_that_json_has_not(x):
    with probe.watch() as made:
        (x @ x.mT / 0.0).softmax(-1) @ x
    document = json.loads(made.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert document["sites"][0]["scale"] is None


def test_the_plots_show_what_softmax_saw():
    """A row for each query and a column for each key; the logits less their row's mean."""
    torch.manual_seed(0)
    q, k = torch.randn(1, 5, 8), torch.randn(1, 9, 8)
    with probe.watch(keep_samples=True) as made:
        weights = (q @ k.mT + 100 * torch.arange(5.0)[:, None]).softmax(-1)
        weights @ k
    page, samples = made.to_html(), made.sites[0].samples
    logits = samples.logits - samples.logits.mean(-1, keepdims=True)
    assert f"standard deviation {(logits**2).mean() ** 0.5:.3g}, the reference's" in page
    assert samples.raw == pytest.approx((q @ k.mT)[0].double().numpy(), rel=1e-5)
    size, drawn = re.search(r'viewBox="0 0 (\d+) \d+"[^>]*aria-label="map of the weights"[^>]*>(.*?)</svg>', page).groups()
    cell = (int(size) - 32) // 9
    levels = {figures.colour(i / (figures.LEVELS - 1)): i for i in range(figures.LEVELS)}
    squares = {}
    for fill, path in re.findall(r'<path fill="(#\w+)" d="([^"]*)"', drawn):
        for x, y, run in re.findall(r"M(\d+) (\d+)h(\d+)v", path):
            squares |= {(int(x) // cell + n, int(y) // cell): levels[fill] for n in range(int(run) // cell)}
    assert len(squares) == 5 * 9
    brightest = [max(range(9), key=lambda j, i=i: squares[j, i]) for i in range(5)]
    assert brightest == weights[0].argmax(-1).tolist()


def test_even_weights_are_told_from_none_and_from_one():
    for keys in (2, 14, 512):
        shades = [figures.shade(p, keys) for p in (0.0, 1 / keys, 1.0)]
        assert shades[0] == 0.0 and shades[2] == 1.0 and 0.2 < shades[1] < 0.8


def test_the_table_of_the_page_sorts_and_its_cards_are_drawn_in_a_browser(report, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium to open the page with")
    click = "<script>document.querySelectorAll('th button')[7].click();document.querySelectorAll('th button')[7].click()</script></body>"
    page = tmp_path / "report.html"
    page.write_text(report.to_html().replace("</body>", click), encoding="utf-8")
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    body = re.search(r"<tbody>(.*?)</tbody>", done.stdout, re.S)
    assert body, done.stderr
    ratios = [float(r) for r in re.findall(r'<tr>(?:<td[^>]*>.*?</td>){7}<td data-value="([\d.]+)"', body[1])]
    assert ratios == sorted((s.ratio for s in report.sites), reverse=True) and 'aria-sort="descending"' in done.stdout


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_the_table_fits_the_terminal(report, monkeypatch, columns):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    text = re.sub(r"\x1b\[[\d;]*m", "", str(report))
    assert max(map(len, text.splitlines())) <= columns, text
    assert "ratio" in text and "wrong-dim-scale" in text.replace("\n", "")
    assert ("max logit" in text) == (columns >= 120)


def test_figures_are_those_of_the_reference(x):
    from attnlint import reference

    model = zoo.Missing()
    with probe.watch(model) as made:
        model(x)
    (site,) = made.sites
    with torch.no_grad():
        q, k = (model.split(layer(x)).double().numpy() for layer in (model.q, model.k))
    wrong = reference.attention(q, k, k, scale=1.0)
    expected = reference.statistics(wrong.weights, wrong.logits)
    assert site.max_weight == pytest.approx(expected.max_weight, rel=1e-5)
    assert site.saturated == pytest.approx(expected.saturated)
    assert site.entropy == pytest.approx(expected.entropy, rel=1e-5)
    assert site.jacobian == pytest.approx(expected.jacobian, rel=1e-5)
    error = abs(wrong.weights - reference.attention(q, k, k).weights).max()
    assert site.reference_error == pytest.approx(error, rel=1e-4)


def test_masked_keys_do_not_count_in_the_entropy(x):
    class Uniform(zoo.Base):
        def attend(self, q, k, v):
            return (q @ k.mT * 0.0 * zoo.D**-0.5).masked_fill(~zoo.causal(), float("-inf")).softmax(-1) @ v

    with probe.watch() as made:
        Uniform()(x)
    assert made.sites[0].entropy == pytest.approx(1.0)
