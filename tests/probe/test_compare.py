"""Two implementations side by side: the same, and where each kind of mistake of a port first shows."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from attnlint import probe  # noqa: E402

B, H, T, D = 2, 3, 9, 8


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Layer(nn.Module):
    def __init__(self, how="by hand", scale=D**-0.5, causal=True):
        super().__init__()
        torch.manual_seed(0)
        self.qkv, self.out = nn.Linear(H * D, 3 * H * D), nn.Linear(H * D, H * D)
        self.how, self.scale, self.causal = how, scale, causal

    def forward(self, x):
        q, k, v = self.qkv(x).view(B, T, 3, H, D).permute(2, 0, 3, 1, 4)
        mask = torch.ones(T, T, dtype=torch.bool).tril()
        if self.how == "fused":
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, scale=self.scale)
        elif self.how == "folded":
            q, k, v = (z.reshape(B * H, T, D) for z in (q * self.scale, k, v))
            y = ((q @ k.mT).masked_fill(~mask, -torch.inf).softmax(-1) @ v).view(B, H, T, D)
        else:
            logits = q @ k.mT * self.scale
            y = (logits.masked_fill(~mask, -1e9) if self.causal else logits).softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(B, T, H * D))


@pytest.fixture
def x():
    torch.manual_seed(1)
    return torch.randn(B, T, H * D)


@pytest.mark.parametrize("how", ["by hand", "fused", "folded"])
def test_the_same_however_it_is_written(how, x):
    found = probe.compare(Layer(), Layer(how), x)
    assert found.same, str(found)
    (pair,) = found.pairs
    assert pair.masked_alike and pair.qk < 1e-5 and pair.weights < 1e-6 and found.output < 1e-6
    assert "the same scale, mask, weights and output" in str(found)
    found.raise_for_differences()


@pytest.mark.parametrize("how", ["by hand", "fused", "folded"])
def test_a_port_that_lost_its_scale(how, x):
    found = probe.compare(Layer(), Layer(how, scale=1.0), x)
    assert found.first.what == "scale" and found.first.attention == 0
    assert found.pairs[0].scales == pytest.approx((D**-0.5, 1.0), rel=1e-3)
    assert [d.what for d in found.differences] == ["scale", "weights", "output"]
    with pytest.raises(probe.AttentionFault, match=r"first difference: attention 0 \(Layer at .*the scale is 0\.353553 in a, 1 in b"):
        found.raise_for_differences()


def test_a_port_that_lost_its_mask(x):
    found = probe.compare(Layer(), Layer(causal=False), x)
    assert found.first.what == "mask" and "masked in a alone, 0 in b alone; first in row 0, key 1" in str(found)


def test_what_comes_before_the_attention(x):
    other = Layer()
    with torch.no_grad():
        other.qkv.weight[0] += 1
    found = probe.compare(nn.Sequential(Layer(), Layer()), nn.Sequential(Layer(), other), x)
    assert (found.first.what, found.first.attention) == ("q·k", 1) and "1 at " in found.first.message
    with torch.no_grad():
        last = Layer()
        last.out.bias += 1
    assert [d.what for d in probe.compare(Layer(), last, x).differences] == ["output"]


def test_another_number_of_heads_and_of_layers(x):
    found = probe.compare(Layer(), nn.Sequential(Layer(), Layer()), x)
    assert {d.what for d in found.differences} == {"attentions", "output"}
    narrow = lambda q: F.scaled_dot_product_attention(*(z.unflatten(-1, (2, 12)).transpose(1, 2) for z in (q, q, q)))  # noqa: E731
    found = probe.compare(lambda q: F.scaled_dot_product_attention(q, q, q), narrow, x)
    assert found.first.what == "head_dim" and "d_k is 24 in a, 12 in b" in str(found)


def test_a_numpy_program_beside_a_torch_one(x):
    def ours(q, k, v):
        return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v

    def theirs(q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    arrays = [np.random.default_rng(i).standard_normal((B, H, T, D)) for i in range(3)]
    found = probe.compare(theirs, ours, *map(torch.from_numpy, arrays), inputs_b=arrays)
    assert found.same, str(found)
    found = probe.compare(theirs, lambda q, k, v: softmax(q @ k.swapaxes(-1, -2)) @ v, *map(torch.from_numpy, arrays), inputs_b=arrays)
    assert found.first.what == "scale"


def test_dropout_starts_from_the_same_seed_and_leaves_the_generator_alone(x):
    model = nn.Sequential(Layer(), nn.Dropout(0.5))
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    assert probe.compare(model, model, x).same
    assert torch.equal(torch.random.get_rng_state(), before)


def test_half_precision_is_allowed_its_rounding(x):
    found = probe.compare(Layer(), Layer().bfloat16(), x, inputs_b=[x.bfloat16()])
    assert found.same, str(found)


def test_what_cannot_be_compared(x, monkeypatch):
    with pytest.raises(probe.AttentionFault, match=r"b ran no attention"):
        probe.compare(Layer(), nn.Linear(H * D, 1), x)
    monkeypatch.setenv("ATTNLINT_PROBE", "off")
    with pytest.raises(ValueError, match="ATTNLINT_PROBE=off"):
        probe.compare(Layer(), Layer(), x)
