"""What the fixes change, measured: the fixed examples run, and compute what attention is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.rules_beside.checking import examples, fixed, run

torch = pytest.importorskip("torch")

WIDTH, HEADS, BATCH, LENGTH = 24, 3, 2, 5


def model_of(text: str, *arguments: object) -> Any:
    torch.manual_seed(0)
    return run(text, "example")["Attention"](*arguments).eval()


def inputs() -> Any:
    return torch.randn(BATCH, LENGTH, WIDTH, generator=torch.Generator().manual_seed(1))


def of_qkv(model: Any, x: Any, **options: Any) -> Any:
    """Multi-head attention of a model's fused projection, by the framework's own kernel."""
    q, k, v = model.qkv(x).view(BATCH, LENGTH, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, **options).transpose(1, 2).reshape(BATCH, LENGTH, WIDTH)


def of_parts(model: Any, x: Any, **options: Any) -> Any:
    q, k, v = (f(x).view(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2) for f in (model.q, model.k, model.v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, **options).transpose(1, 2).reshape(BATCH, LENGTH, WIDTH)


def of_one_head(model: Any, x: Any, **options: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(model.q(x), model.k(x), model.v(x), **options)


@pytest.mark.parametrize(
    ("code", "sizes", "expected"),
    [
        ("ATT201", (WIDTH, HEADS), of_qkv),
        ("ATT202", (WIDTH, WIDTH // HEADS), of_one_head),
        ("ATT402", (WIDTH, HEADS), of_qkv),
        ("ATT501", (WIDTH, HEADS), of_qkv),
        ("ATT503", (WIDTH, HEADS), lambda model, x: of_qkv(model, x, is_causal=True)),
        ("ATT502", (WIDTH, HEADS), lambda model, x: of_qkv(model, x, is_causal=True)),
    ],
)
@torch.no_grad()
def test_the_fixed_example_computes_attention(code: str, sizes: tuple[int, ...], expected: Callable[[Any, Any], Any]) -> None:
    wrong = examples(code)["Example"]
    model, x = model_of(fixed(wrong, code), *sizes), inputs()
    torch.testing.assert_close(model(x), expected(model, x))
    if code == "ATT502":
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), pytest.raises(RuntimeError):
            model_of(wrong, *sizes)(x)
    else:
        assert not torch.allclose(model_of(wrong, *sizes)(x), expected(model, x))


@torch.no_grad()
def test_the_transposed_key_compares_queries_with_keys() -> None:
    wrong = examples("ATT401")["Example"]
    x = inputs()
    model = model_of(fixed(wrong, "ATT401"), WIDTH, HEADS)
    torch.testing.assert_close(model(x), of_parts(model, x))
    with pytest.raises(RuntimeError):
        model_of(wrong, WIDTH, HEADS)(x)


@torch.no_grad()
def test_the_filled_mask_hides_what_the_product_did_not() -> None:
    wrong = examples("ATT301")["Example"]
    x, mask = inputs(), torch.ones(LENGTH, LENGTH).tril()
    model = model_of(fixed(wrong, "ATT301"), WIDTH, WIDTH // HEADS)
    torch.testing.assert_close(model(x, mask), of_one_head(model, x, is_causal=True))
    assert not torch.allclose(model_of(wrong, WIDTH, WIDTH // HEADS)(x, mask), of_one_head(model, x, is_causal=True))


def test_the_subtracted_maximum_changes_no_weight_and_holds_for_large_logits() -> None:
    wrong = run(examples("ATT203")["Example"], "wrong")["attention"]
    right = run(fixed(examples("ATT203")["Example"], "ATT203"), "right")["attention"]
    generator = np.random.default_rng(0)
    q, k, v = (generator.normal(size=(BATCH, LENGTH, 8)) for _ in range(3))
    np.testing.assert_allclose(right(q, k, v), wrong(q, k, v))
    with np.errstate(over="ignore", invalid="ignore"):
        assert not np.isfinite(wrong(1e3 * q, k, v)).all()
    assert np.isfinite(right(1e3 * q, k, v)).all()


@torch.no_grad()
def test_dropout_of_the_fixed_example_is_still_there_in_training() -> None:
    model, x = model_of(fixed(examples("ATT501")["Example"], "ATT501"), WIDTH, HEADS), inputs()
    assert torch.equal(model(x), model(x))
    model.train()
    assert not torch.equal(model(x), model(x))
