"""Every module of the zoo: the exact ratio, the verdict and the kind of each, and outputs that the probe did not touch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import zoo  # noqa: E402

from attnlint import probe  # noqa: E402


def built(make):
    torch.manual_seed(0)
    return make().eval()


@pytest.mark.parametrize("case", zoo.CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("grad", [True, False], ids=["grad", "no_grad"])
def test_module(case, grad):
    model = built(case.make)
    torch.manual_seed(1)
    inputs = case.inputs()
    with torch.set_grad_enabled(grad):
        torch.manual_seed(2)
        plain = model(*inputs)
        torch.manual_seed(2)
        with probe.watch(model) as report:
            seen = model(*inputs)
    assert torch.equal(plain, seen), "the probe changed the forward"
    assert report.internal_errors == []
    sites = report.sites
    assert len(sites) == case.sites, str(report)
    site = sites[0]
    assert (site.status, site.kind) == (case.status, case.kind), str(report)
    assert site.head_dim == case.head_dim
    assert sum(s.calls for s in sites) == case.calls * case.sites
    if case.ratio is not None:
        assert site.ratio == pytest.approx(case.ratio, rel=2e-4), str(report)
    if case.regressed and site.kind not in ("not-affine", "multiplicative-mask") and site.status != "skipped" and "kernel" not in site.note:
        assert site.slope == pytest.approx(site.scale, rel=1e-3), site.note
        assert site.r_squared > 0.999
        assert "the values decide" not in site.note, "a factor on the way was not seen"
        assert ("pieces" in site.note) == (case.name in ("RopeWrittenInPlace", "StaticCache"))
    if case.status == "fault":
        with pytest.raises(probe.AttentionFault, match=case.kind):
            report.raise_for_faults()
    else:
        report.raise_for_faults()


@pytest.mark.parametrize("make", zoo.SILENT, ids=lambda make: make.__name__)
def test_silent(make):
    model = built(make)
    with probe.watch(model) as report:
        model(torch.randn(zoo.B, zoo.T, zoo.C))
    assert report.internal_errors == []
    assert report.sites == []
    with pytest.raises(probe.AttentionFault, match="no attention ran"):
        report.raise_for_faults()


def test_the_zoo_is_large_enough():
    assert len(zoo.CASES) >= 60
    faulty = {case.kind for case in zoo.CASES if case.kind}
    assert faulty >= {
        "missing-scale",
        "wrong-dim-scale",
        "unrooted-scale",
        "inverted-scale",
        "double-scale",
        "constant-scale",
        "scale-precedence",
        "scale-after-softmax",
        "multiplicative-mask",
        "mask-after-softmax",
        "not-affine",
    }
