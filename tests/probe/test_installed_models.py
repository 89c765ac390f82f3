"""A model in which a probe is installed can be copied, saved, scripted, traced and exported like any other; nested tensors end nothing."""

from __future__ import annotations

import io
import pickle

import pytest
import torch
from torch import nn

from attnlint import probe


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = self.query(x) @ self.key(x).transpose(-2, -1) / 4.0
        return torch.softmax(logits, -1) @ x


def saved(model: nn.Module) -> nn.Module:
    stream = io.BytesIO()
    torch.save(model, stream)
    stream.seek(0)
    return torch.load(stream, weights_only=False)


X = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))
WAYS = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "save": saved,
    "script": torch.jit.script,
    "trace": lambda model: torch.jit.trace(model, X),
    "export": lambda model: torch.export.export(model, (X,)).module(),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_made_of_a_model_computes_the_same_and_holds_no_probe(way):
    model = Plain()
    expected = model(X)
    handle = probe.install(model, calls=20)  # tracing calls a model several times
    left = handle.calls_left
    made = WAYS[way](model)
    assert handle.active
    taken = left - handle.calls_left
    torch.testing.assert_close(made(X), expected, rtol=0, atol=1e-6)
    assert left - handle.calls_left == taken  # what was made counts no call of the original
    model(X)
    assert [site.status for site in handle.report.sites] == ["ok"]
    handle.remove()
    assert "forward" not in model.__dict__


def test_a_model_with_a_forward_of_its_own_keeps_it_through_pickle():
    model = Plain()
    model.forward = torch.nn.functional.relu
    probe.install(model, calls=1)
    assert torch.equal(pickle.loads(pickle.dumps(model))(X), torch.relu(X))


class Fused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.layer(x).unflatten(-1, (2, 8)).transpose(1, 2)
        return nn.functional.scaled_dot_product_attention(q, q, q)


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_under_a_watch_give_what_they_give_without(inference):
    model = Fused()
    rows = [torch.randn(3, 16), torch.randn(5, 16)]
    x = torch.nested.nested_tensor(rows, layout=torch.jagged)
    with torch.inference_mode(inference):
        expected = model(x)
        with probe.watch(model):
            found = model(x)
            model(torch.stack([rows[0], rows[1][:3]]))  # what follows is watched as ever
    for ours, theirs in zip(found.unbind(), expected.unbind(), strict=True):
        assert torch.equal(ours, theirs)
