"""What PyTorch does around an attention: compile, jit, export, vmap, checkpoints, half types, meta tensors, threads, ranks."""

from __future__ import annotations

import gc
import math
import threading
import weakref

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
import zoo  # noqa: E402
from torch import nn  # noqa: E402

from attnlint import probe  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def x():
    return torch.randn(zoo.B, zoo.T, zoo.C)


class Plain(nn.Module):
    """One head, no tricks: scripts, traces and exports."""

    def __init__(self, scale: float = 24**-0.5) -> None:
        super().__init__()
        self.q, self.k, self.scale = nn.Linear(24, 24), nn.Linear(24, 24), scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.matmul(self.q(x), self.k(x).transpose(1, 2)) * self.scale, -1) @ x


def only(report):
    assert report.internal_errors == []
    (site,) = report.sites
    return site


def stance():
    return torch._dynamo.eval_frame._stance.stance


# --- compile ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [zoo.Plain, zoo.WholeWidth, zoo.FusedDefault])
def test_a_compiled_model_is_measured_and_still_compiles(make, x):
    torch._dynamo.reset()
    model = make()
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(model, backend=backend, fullgraph=True)
    with probe.watch(compiled) as report:
        inside = compiled(x)
    site = only(report)
    assert site.module == make.__name__
    assert site.ratio == pytest.approx(zoo.H**-0.5 if make is zoo.WholeWidth else 1.0, rel=1e-4)
    assert graphs == [] and stance() == "default"
    assert torch.allclose(compiled(x), inside, atol=1e-6)
    assert len(graphs) == 1, "the model stayed eager after the probe"


def test_names_in_a_compiled_model_are_those_of_the_model(x):
    model = torch.compile(nn.Sequential(zoo.Plain()), backend="eager")
    with probe.watch(model) as report:
        model(x)
    assert only(report).module == "0"


def test_stances_of_two_threads_end_as_they_began(x):
    before = stance()
    first_in, second_out = threading.Event(), threading.Event()
    seen = {}

    def first():
        with probe.watch() as report:
            first_in.set()
            second_out.wait(10)
            seen["stance"] = stance()
            zoo.Plain()(x)
        seen["first"] = len(report.sites)

    def second():
        first_in.wait(10)
        with probe.watch() as report:
            zoo.WholeWidth()(x)
        seen["second"] = [s.kind for s in report.sites]
        second_out.set()

    threads = [threading.Thread(target=f) for f in (first, second)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert seen == {"stance": "force_eager", "first": 1, "second": ["wrong-dim-scale"]}
    assert stance() == before


def test_the_stance_comes_back_after_an_error(x):
    with pytest.raises(ZeroDivisionError), probe.watch():
        raise ZeroDivisionError
    assert stance() == "default"


def test_work_of_another_thread_is_not_observed(x):
    model = zoo.Plain()
    with probe.watch(model) as report:
        thread = threading.Thread(target=model, args=(x,))
        thread.start()
        thread.join()
    assert report.status == "not-observed" and report.sites == []


def test_flex_attention():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = (torch.randn(2, 3, 16, 8) for _ in range(3))
    causal = create_block_mask(lambda b, h, i, j: i >= j, None, None, 16, 16, device="cpu")
    rows = [
        ({}, 1.0, "ok"),
        ({"block_mask": causal}, 1.0, "ok"),
        ({"score_mod": lambda s, b, h, i, j: s + 0.1 * (i - j)}, 1.0, "ok"),
        ({"score_mod": lambda s, b, h, i, j: 10 * torch.tanh(s / 10)}, 1.0, "ok"),
        ({"scale": 1.0}, math.sqrt(8), "fault"),
        ({"score_mod": lambda s, b, h, i, j: s * 8**-0.5}, 8**-0.5, "fault"),
    ]
    for arguments, ratio, status in rows:
        plain = flex_attention(q, k, v, **arguments)
        with probe.watch() as report:
            seen = flex_attention(q, k, v, **arguments)
        assert torch.equal(plain, seen)
        site = only(report)
        assert (site.ratio, site.status) == (pytest.approx(ratio, rel=1e-4), status), str(report)


# --- jit, export, transforms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [24**-0.5, 1.0])
@pytest.mark.parametrize("how", ["script", "trace", "export"])
def test_scripted_traced_and_exported_modules(how, scale):
    x = torch.randn(2, 7, 24)
    model = Plain(scale)
    made = {
        "script": lambda: torch.jit.script(model),
        "trace": lambda: torch.jit.trace(model, x),
        "export": lambda: torch.export.export(model, (x,)).module(),
    }[how]()
    for _ in range(3):
        plain = made(x)
        with probe.watch(made) as report:
            assert torch.equal(made(x), plain)
        site = only(report)
        assert site.ratio == pytest.approx(scale * 24**0.5, rel=1e-4) and "the values decide" not in site.note
        assert how == "export" or site.module == "Plain"


def test_attentions_of_one_exported_graph_are_told_apart():
    model, x = torch.export.export(nn.Sequential(Plain(), Plain(1.0)), (torch.randn(2, 7, 24),)).module(), torch.randn(2, 7, 24)
    with probe.watch(model) as report:
        model(x)
    assert [(site.status, site.calls) for site in report.sites] == [("ok", 1), ("fault", 1)]


def test_vmap_and_functional_transforms():
    q, k, v = (torch.randn(2, 3, 16, 8) for _ in range(3))

    def attend(q, k, v):
        return torch.softmax(q @ k.T / 8**0.5, -1) @ v

    mapped = torch.vmap(torch.vmap(attend))
    for run in (
        lambda: mapped(q, k, v),
        lambda: torch.func.grad(lambda q: mapped(q, k, v).sum())(q),
        lambda: torch.func.jvp(lambda q: mapped(q, k, v), (q,), (q,)),
    ):
        with probe.watch() as report:
            run()
        assert only(report).ratio == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_and_backward_passes_count_once(reentrant, x):
    from torch.utils.checkpoint import checkpoint

    model = zoo.Plain()
    with probe.watch(model) as report:
        checkpoint(model, x.requires_grad_(), use_reentrant=reentrant).sum().backward()
    assert only(report).calls == 1


def test_gradients_are_untouched(x):
    model = zoo.Rope()
    model(x).sum().backward()
    plain = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    with probe.watch(model):
        model(x).sum().backward()
    assert all(torch.equal(a, p.grad) for a, p in zip(plain, model.parameters(), strict=True))


# --- types and devices -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(
    ("make", "ratio"),
    [
        (zoo.Plain, 1),
        (zoo.MaskedFill, 1),
        (zoo.HandWrittenSoftmax, 1),
        (zoo.FusedDefault, 1),
        (zoo.WholeWidth, zoo.H**-0.5),
        (zoo.Missing, zoo.root),
    ],
)
def test_other_dtypes(make, ratio, dtype, x):
    model = make().to(dtype)
    if make is zoo.MaskedFill and dtype is torch.float16:
        pytest.skip("-1e9 does not fit float16")
    with probe.watch(model) as report:
        model(x.to(dtype))
    site = only(report)
    tolerance = {torch.float16: 5e-3, torch.bfloat16: 1e-2, torch.float64: 1e-3}[dtype]
    assert site.tolerance == tolerance and site.ratio == pytest.approx(ratio, rel=tolerance)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype, x):
    for make, ratio in ((zoo.Plain, 1.0), (zoo.Rope, 1.0), (zoo.ScaledQuery, 1.0), (zoo.OverD, 1 / zoo.root)):
        model = make()
        with probe.watch(model) as report, torch.autocast("cpu", dtype=dtype):
            model(x)
        site = only(report)
        assert site.ratio == pytest.approx(ratio, rel=1e-2) and "the values decide" not in site.note


def test_a_factor_outlives_the_cast_of_autocast(x):
    with probe.watch() as report, torch.autocast("cpu", dtype=torch.bfloat16):
        (x * zoo.C**-0.5 @ x.mT).softmax(-1) @ x
    site = only(report)
    assert site.dtype == "bfloat16" and site.status == "ok" and site.factors[0].on == "query"


def test_what_rounding_hides_is_no_fault(x):
    """In bfloat16 the logits vanish beside a bias of hundreds: nothing is regressed, and nothing called out of line."""
    q, k = x.bfloat16(), (x + 1).bfloat16()
    with probe.watch() as report:
        (q @ k.mT * zoo.C**-0.5 + 300 + 40 * torch.rand(zoo.T, zoo.T).bfloat16().round()).softmax(-1) @ q
    site = only(report)
    assert site.status == "ok" and site.slope is None and "lost in the rounding" in site.note


@pytest.mark.parametrize(
    ("make", "ratio"),
    [(zoo.Plain, 1), (zoo.WholeWidth, zoo.H**-0.5), (zoo.ScaledQuery, 1), (zoo.FusedDefault, 1), (zoo.Twice, 1 / zoo.root)],
)
def test_meta_tensors_give_the_factors(make, ratio, x):
    with torch.device("meta"):
        model = make()
    with probe.watch(model) as report:
        model(x.to("meta"))
    site = only(report)
    assert site.ratio == pytest.approx(ratio) and site.slope is None and site.max_weight is None and "meta" in site.note


def test_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        model = zoo.WholeWidth()
        with probe.watch(model) as report:
            model(torch.randn(zoo.B, zoo.T, zoo.C))
    assert only(report).kind == "wrong-dim-scale"


@pytest.mark.parametrize("make", [zoo.Plain, zoo.FusedDefault, zoo.EinsumHeadsInPlace, zoo.MultiheadModule, zoo.RopeComplex])
def test_inference_mode(make, x):
    model = make().eval()
    with torch.inference_mode():
        plain = model(x)
        with probe.watch(model) as report:
            assert torch.equal(model(x), plain)
    assert only(report).ratio == pytest.approx(1.0, rel=1e-5)


# --- PyTorch's own layers --------------------------------------------------------------------------------------------------------


def operations(run):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Names(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(func.overloadpacket.__name__)
            return func(*args, **(kwargs or {}))

    with Names() as mode:
        run()
    return mode.names


def test_the_fast_path_of_multihead_attention_is_kept():
    model = nn.MultiheadAttention(32, 4, batch_first=True).eval()
    x = torch.randn(3, 7, 32)
    with torch.no_grad():
        with probe.watch(model) as report:
            names = operations(lambda: model(x, x, x))
        assert "_native_multi_head_attention" in names
        site = only(report)
        assert (site.head_dim, site.ratio, site.status) == (8, pytest.approx(1.0), "ok")
        assert site.max_weight is None and "fused kernel" in site.note


@pytest.mark.parametrize("padded", [False, True])
def test_the_fast_path_of_the_encoder_is_kept(padded):
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 40, batch_first=True), 2).eval()
    x = torch.randn(3, 7, 32)
    mask = torch.arange(7).expand(3, 7) >= torch.tensor([[5], [7], [6]]) if padded else None
    with torch.no_grad():
        plain = model(x, src_key_padding_mask=mask)
        with probe.watch(model) as report:
            names = operations(lambda: model(x, src_key_padding_mask=mask))
            seen = model(x, src_key_padding_mask=mask)
    assert "_transformer_encoder_layer_fwd" in names and torch.equal(plain, seen)
    assert [s.ratio for s in report.sites] == [pytest.approx(1.0)] * 2 and all(s.calls == 2 for s in report.sites)


def test_a_whole_transformer():
    model = nn.Transformer(32, 4, 1, 1, 40, batch_first=True)
    with probe.watch(model) as report:
        model(torch.randn(3, 7, 32), torch.randn(3, 9, 32))
    assert [s.module for s in report.sites] == [
        "encoder.layers.0.self_attn",
        "decoder.layers.0.self_attn",
        "decoder.layers.0.multihead_attn",
    ]
    assert all(s.status == "ok" for s in report.sites)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"is_causal": True},
        {"attn_mask": torch.ones(7, 9).tril().bool()},
        {"attn_mask": torch.randn(7, 9)},
        {"attn_mask": torch.randn(2, 1, 7, 9)},
        {"scale": 16**-0.5},
        {"dropout_p": 0.1},
        {"enable_gqa": True},
        {"attn_mask": torch.randn(7, 9, requires_grad=True)},
    ],
)
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("width", [16, 5])  # values of another width than the keys take PyTorch's way without a kernel
def test_fused_attention_with_every_argument(arguments, grad, width):
    heads = 2 if "enable_gqa" in arguments else 4
    q, k, v = torch.randn(2, 4, 7, 16, requires_grad=grad), torch.randn(2, heads, 9, 16), torch.randn(2, heads, 9, width)
    torch.manual_seed(1)
    plain = F.scaled_dot_product_attention(q, k, v, **arguments)
    torch.manual_seed(1)
    with probe.watch() as report:
        seen = F.scaled_dot_product_attention(q, k, v, **arguments)
    assert torch.equal(plain, seen)
    site = only(report)
    assert site.ratio == pytest.approx(1.0, rel=1e-4) and site.status == "ok" and site.head_dim == 16
    assert "the values decide" not in site.note
    if "dropout_p" in arguments:
        assert "dropout" in site.note or site.slope == pytest.approx(site.scale)
    else:
        assert site.slope == pytest.approx(site.scale, rel=1e-4) and site.r_squared > 0.9999
    wrong = {**arguments, "scale": 1.0}
    with probe.watch() as report:
        F.scaled_dot_product_attention(q, k, v, **wrong)
    site = only(report)
    assert site.kind == "missing-scale" and "the values decide" not in site.note
    decomposed = width == 5 or "dropout_p" in arguments or getattr(arguments.get("attn_mask"), "requires_grad", False)
    assert site.op.startswith("_scaled_dot") != decomposed


def test_the_figures_of_a_fused_kernel_are_the_references():
    from attnlint import reference

    q, k, v = torch.randn(2, 3, 7, 16), torch.randn(2, 3, 9, 16), torch.randn(2, 3, 9, 16)
    with probe.watch() as report:
        F.scaled_dot_product_attention(q, k, v, scale=1.0, is_causal=True)
    site = only(report)
    done = reference.attention(q, k, v, scale=1.0, causal=True)
    expected = reference.statistics(done.weights, done.logits)
    assert site.max_weight == pytest.approx(expected.max_weight) and site.entropy == pytest.approx(expected.entropy)
    assert site.slope == pytest.approx(1.0, rel=1e-3) and site.r_squared > 0.999
    assert site.reference_error == pytest.approx(abs(done.weights - reference.attention(q, k, v, causal=True).weights).max(), rel=1e-6)


def test_kernels_by_name_and_unknown_ones():
    with torch.library._scoped_library("flash_attn", "DEF") as library, torch.library._scoped_library("mine", "DEF") as own:
        library.define(
            "_flash_attn_forward(Tensor q, Tensor k, Tensor v, float dropout_p, float softmax_scale, bool causal) -> (Tensor, Tensor)"
        )

        def kernel(q, k, v, dropout_p, softmax_scale, causal):
            out = F.scaled_dot_product_attention(
                *(t.transpose(1, 2) for t in (q, k, v)), scale=softmax_scale, is_causal=causal, dropout_p=dropout_p
            )
            return out.transpose(1, 2).contiguous(), q.new_zeros(1)

        library.impl("_flash_attn_forward", kernel, "CPU")
        own.define("attend(Tensor q, Tensor k, Tensor v) -> Tensor")
        own.impl("attend", F.scaled_dot_product_attention, "CPU")
        q = torch.randn(2, 7, 3, 8)
        for scale, ratio in ((8**-0.5, 1.0), (1.0, 8**0.5)):
            with probe.watch() as report:
                torch.ops.flash_attn._flash_attn_forward(q, q + 1, q, 0.0, scale, True)
            site = only(report)
            assert site.ratio == pytest.approx(ratio, rel=1e-4) and site.slope == pytest.approx(scale, rel=1e-4)
        with probe.watch() as report:
            torch.ops.flash_attn._flash_attn_forward(q, q + 1, q, 0.5, 8**-0.5, True)
        site = only(report)
        assert site.status == "ok" and site.slope is None and "dropout hides the output" in site.note
        with probe.watch() as report:
            torch.ops.mine.attend(q * 1.5, q, q)
        assert report.sites == []
        with pytest.raises(probe.AttentionFault, match=r"mine::attend.*measure_scale"):
            report.raise_for_faults()


def test_products_written_with_keywords(x):
    q, k = x, x.mT + 1
    with probe.watch() as report:
        scores = torch.baddbmm(input=torch.zeros(1, 1, zoo.T), batch1=q, batch2=k, beta=1, alpha=zoo.C**-0.5)
        F.softmax(input=scores, dim=-1) @ x
    site = only(report)
    assert site.status == "ok" and site.ratio == pytest.approx(1.0, rel=1e-4)


def test_the_fused_dropout_of_a_device_keeps_the_weights(x):
    with probe.watch() as report:
        weights, _ = torch.native_dropout((x @ x.mT).softmax(-1), 0.3, True)
        weights @ x
    assert only(report).kind == "missing-scale"


def test_an_error_of_the_trace_stays_out_of_the_forward(monkeypatch, x):
    from attnlint.probe.trace import Trace

    def broken(*_, **__):
        raise RuntimeError("mine")

    model = zoo.Plain()
    plain = model(x)
    monkeypatch.setattr(Trace, "softmax", broken)
    with probe.watch(model) as report:
        assert torch.equal(model(x), plain)
    assert [str(error) for error in report.internal_errors] == ["mine"] and not report.ok


def test_where_factors_and_values_differ_the_values_decide(x):
    """A step that the trace does not know scales the logits: the factors alone would call a missing scale."""

    def attend(weight):
        scores = x @ x.mT
        return torch.lerp(torch.zeros_like(scores), scores, weight).softmax(-1) @ x

    with probe.watch() as report:
        attend(zoo.C**-0.5)
    site = only(report)
    assert site.status == "ok" and site.ratio == pytest.approx(1.0, rel=1e-4) and "the values decide" in site.note
    with probe.watch() as report:
        attend(1 / zoo.C)
    assert only(report).kind == "unrooted-scale"


def test_absorbed_latent_attention_is_declared():
    """The keys' projection is multiplied into the query: the product contracts over the latent, the scale is that of the head."""

    class Latent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.down, self.up = nn.Linear(zoo.C, 3 * 8), nn.Linear(zoo.C, 20), nn.Parameter(torch.randn(3, 8, 20) * 8**-0.5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, latent = self.q(x).unflatten(-1, (3, 8)), self.down(x)
            absorbed = torch.einsum("bthd,hdl->bthl", q, self.up)
            weights = (torch.einsum("bthl,bsl->bhts", absorbed, latent) * 8**-0.5).softmax(-1)
            return torch.einsum("bhts,bsl->bthl", weights, latent)

    model, x = Latent(), torch.randn(zoo.B, zoo.T, zoo.C)
    with probe.watch(model) as report:
        model(x)
    site = only(report)
    assert (site.head_dim, site.status) == (20, "fault") and site.ratio == pytest.approx((20 / 8) ** 0.5, rel=1e-4)
    with probe.watch(model, expect=8**-0.5) as report:
        model(x)
    assert only(report).status == "declared"


def test_weights_filled_with_infinity_are_masked_too_late(x):
    with probe.watch() as report:
        (x @ x.mT * zoo.C**-0.5).softmax(-1).masked_fill(~zoo.causal(), -torch.inf) @ x
    assert only(report).kind == "mask-after-softmax"


def test_what_is_not_affine_is_said_with_its_operation(x):
    with probe.watch() as report:
        zoo.Rectified()(x)
    assert only(report).kind == "not-affine" and "(through relu)" in only(report).note


def test_a_mask_made_by_a_product_is_no_part_of_the_scores(x):
    chunk = torch.ones(1, zoo.T, 1)
    with probe.watch() as report:
        (x @ x.mT * zoo.C**-0.5 + (chunk @ chunk.mT - 1)).softmax(-1) @ x
    site = only(report)
    assert site.status == "ok" and "a sum of" not in site.note


def test_a_few_entries_leave_the_factors(x):
    with probe.watch() as report:
        (x[:1, :5] @ x[:1, :6].mT * zoo.C**-0.5).softmax(-1) @ x[:1, :6]
        (x[:1, :6] @ x[:1, :6].mT * zoo.C**-0.5).softmax(-1) @ x[:1, :6]
    few, enough = report.sites
    assert few.slope is None and "fewer than 32" in few.note and few.status == "ok"
    assert enough.slope == pytest.approx(zoo.C**-0.5, rel=1e-4)


def test_one_key_leaves_the_factors(x):
    """With one key softmax ignores the scale, and so does any regression."""
    model = zoo.WholeWidth()
    with probe.watch(model) as report:
        model(x, x[:, :1])
    site = only(report)
    assert site.slope is None and site.r_squared is None and site.kind == "wrong-dim-scale"
    assert "keys that do not differ" in site.note and "by provenance" in site.note


# --- sites and memory ------------------------------------------------------------------------------------------------------------


def test_lengths_and_calls_are_one_site(x):
    model = zoo.CrossAttention()
    with probe.watch(model) as report:
        for tokens in (5, 8, 11):
            model(torch.randn(2, tokens, zoo.C))
    assert only(report).calls == 3


def test_shared_modules_are_one_site_and_two_instances_are_two(x):
    shared = zoo.Plain()
    with probe.watch(nn.Sequential(shared, shared)) as report:
        nn.Sequential(shared, shared)(x)
    assert [(s.module, s.calls) for s in report.sites] == [("0", 2)]
    pair = nn.Sequential(zoo.Plain(), zoo.Plain())
    with probe.watch() as report:
        pair(x)
    assert [(s.module, s.calls) for s in report.sites] == [("0", 1), ("1", 1)]


def test_names_of_a_root_and_outside_modules(x):
    with probe.watch() as report:
        zoo.Plain()(x)
        torch.softmax(x @ x.mT / zoo.C**0.5, -1) @ x
    assert [s.module for s in report.sites] == ["Plain", ""]


def test_only_the_models_attentions(x):
    model, other = zoo.Plain(), zoo.Missing()
    with probe.watch(model) as report:
        other(x)
        model(x)
        torch.softmax(x @ x.mT, -1) @ x
    assert only(report).module == "Plain"


def test_a_right_and_a_wrong_call_of_one_site(x):
    class Switch(zoo.Base):
        scaled = True

        def attend(self, q, k, v):
            return (q @ k.mT * (zoo.D**-0.5 if self.scaled else 1.0)).softmax(-1) @ v

    model = Switch()
    with probe.watch(model) as report:
        model(x)
        model.scaled = False
        model(x)
    site = only(report)
    assert (site.calls, site.faults, site.status) == (2, 1, "fault") and "1 of 2 calls" in site.note


def test_channel_attention_is_named_where_the_contraction_grows():
    class Channels(nn.Module):
        def forward(self, x):
            return (x.mT @ x / 8).softmax(-1) @ x.mT

    model = Channels()
    with probe.watch(model) as report:
        model(torch.randn(2, 7, 12))
        model(torch.randn(2, 9, 12))
    site = only(report)
    assert site.status == "fault" and "channel attention" in site.note


def test_nothing_keeps_an_activation_alive(x):
    """Neither the tensors of the model nor the memory of the logits and weights outlives the call."""
    model = zoo.Missing()
    seen: list[weakref.ref] = []
    for layer in (model.q, model.k, model.out):
        layer.register_forward_hook(lambda _, __, out: seen.append(weakref.ref(out)))
    with probe.watch() as report:
        with torch.no_grad():
            out = model(x)
        scores = x @ x.mT
        weights = scores.softmax(-1)
        seen += [weakref.ref(t.untyped_storage()) for t in (scores, weights)]
        assert all(ref() is not None for ref in seen[3:])
        after = weights @ x
        del out, scores, weights, after
        gc.collect()
        assert len(seen) == 5 and all(ref() is None for ref in seen), "alive within the block"
        out = model(x)
    del out
    gc.collect()
    assert all(ref() is None for ref in seen)
    assert len(report.sites) == 2


def test_samples_are_small_and_on_request(x):
    with probe.watch(keep_samples=True) as report:
        zoo.Missing()(x)
    samples = only(report).samples
    assert samples.logits.shape == samples.weights.shape and max(samples.weights.shape) <= 64
    assert samples.weights.sum(-1) == pytest.approx(1.0)
    with probe.watch() as report:
        zoo.Missing()(x)
    assert only(report).samples is None


def test_watches_nest(x):
    right, wrong = zoo.Plain(), zoo.Missing()
    with probe.watch() as outer:
        right(x)
        with probe.watch(wrong) as inner:
            right(x)
            wrong(x)
    assert [s.calls for s in outer.sites] == [1, 1, 1] or [s.calls for s in outer.sites] == [2, 1]
    assert [s.kind for s in inner.sites] == ["missing-scale"]


def test_factors_have_the_file_and_line_of_the_users_code(x):
    import inspect

    with probe.watch() as report:
        zoo.Twice()(x)
    site = only(report)
    lines, start = inspect.getsourcelines(zoo.Twice.attend)
    assert [(f.value, f.on, f.file, f.line) for f in site.factors] == [
        (pytest.approx(zoo.D**-0.5), "query", zoo.__file__, start + 1),
        (pytest.approx(zoo.D**-0.5), "logits", zoo.__file__, start + 1),
    ]
    assert site.file == zoo.__file__ and site.line == start + len(lines) - 1


# --- samples ---------------------------------------------------------------------------------------------------------------------

LAYOUTS = {
    "heads first": ("bhqd,bhkd->bhqk", "bhqd", "bhkd", -1, "bhqk,bhkd->bhqd"),
    "heads last": ("bqhd,bkhd->bqhk", "bqhd", "bkhd", -1, "bqhk,bkhd->bqhd"),
    "tokens first": ("qbhd,kbhd->bhqk", "qbhd", "kbhd", -1, "bhqk,kbhd->qbhd"),
    "keys before queries": ("bhqd,bhkd->bhkq", "bhqd", "bhkd", -2, "bhkq,bhkd->bhqd"),
    "keys in the middle": ("qbhd,kbhd->qkbh", "qbhd", "kbhd", 1, "qkbh,kbhd->qbhd"),
    "one key head": ("bhqd,bkd->bhqk", "bhqd", "bkd", -1, "bhqk,bkd->bhqd"),
    "two contracted axes": ("bhqde,bhkde->bhqk", "bhqde", "bhkde", -1, "bhqk,bhkde->bhqde"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tokens", [(40, 30), (130, 70)], ids=["all entries", "a sample"])
def test_each_layout_is_regressed(layout, tokens):
    product, q_axes, k_axes, axis, values = LAYOUTS[layout]
    sizes = {"b": 3, "h": 5, "q": tokens[0], "k": tokens[1], "d": 16, "e": 2}
    for scale in (32**-0.5 if "e" in q_axes else 0.25, 1.0):  # the second time everything about these shapes is known
        q, k = (torch.randn([sizes[c] for c in axes]) for axes in (q_axes, k_axes))
        with probe.watch() as report:
            torch.einsum(values, (torch.einsum(product, q, k) * scale).softmax(axis), k)
        site = only(report)
        assert site.kind == (None if scale < 1 else "missing-scale")
        assert site.slope == pytest.approx(scale, rel=1e-5) and site.r_squared > 1 - 1e-9
        assert site.reference_error < 1e-5 or scale == 1.0


def test_statistics_of_many_rows_are_those_of_rows_spread_evenly():
    from attnlint import reference

    logits = torch.randn(2, 4, 160, 160) @ torch.randn(2, 4, 160, 160) * 0.02
    logits[1] *= 40.0  # half of the rows are nearly one-hot
    with probe.watch() as report:
        masked = (torch.eye(160) @ logits).masked_fill(torch.ones(160, 160).triu(1) > 0, -torch.inf)
        weights = masked.softmax(-1)
        weights @ torch.randn(2, 4, 160, 8)
    site, expected = only(report), reference.statistics(weights.numpy(), masked.numpy())
    assert site.max_weight == pytest.approx(expected.max_weight, abs=0.05)
    assert site.saturated == pytest.approx(expected.saturated, abs=0.05)
    assert site.entropy == pytest.approx(expected.entropy, abs=0.05)
    assert site.jacobian == pytest.approx(expected.jacobian, abs=0.05)


def test_a_change_of_shape_is_no_unknown_operation():
    x = torch.randn(3, 40, 16)
    with probe.watch() as report:
        torch.ops.aten._unsafe_view(torch.bmm(x, x.mT), (3, 40, 40)).square().softmax(-1) @ x
    assert "_unsafe_view" not in only(report).note
