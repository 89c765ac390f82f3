"""What the rules' examples do, measured by the probe: the wrong one and the right one with the same weights on the same input."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

from attnlint.registry import RuleMeta
from attnlint.rule import all_rules
from attnlint.testing import examples

WIDTH, HEADS, LENGTH = 256, 8, 128  # d_k is 32, a size for which every example has the fault, 8.0 of constant-scale too


@dataclass(frozen=True)
class Effect:
    """The figures of one program."""

    scale: float
    ratio: float
    max_weight: float
    saturated: float
    entropy: float
    jacobian: float
    error: float
    output: float


def available() -> bool:
    """Whether what measures is installed here."""
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "numpy"))


def effect(code: str) -> Effect:
    """Runs the class `Attention` of an example. Queries and keys get unit variance, which is what the scale is meant for."""
    import torch

    from attnlint import probe

    space: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, "example", "exec"), space)
    torch.manual_seed(0)
    model = space["Attention"](WIDTH, HEADS).double()
    for name, parameter in model.named_parameters():
        # Weights of layers keep the variance of what they get; biases of layers are zero, learned tables of biases are not.
        torch.nn.init.zeros_(parameter) if name.endswith(".bias") else torch.nn.init.normal_(
            parameter, std=parameter.shape[-1] ** -0.5 if parameter.dim() == 2 else 1.0
        )
    x = torch.randn(2, LENGTH, WIDTH, dtype=torch.float64)
    with torch.no_grad(), probe.watch(model) as report:
        output = model(x)
    (site,) = report.sites
    return Effect(
        site.scale, site.ratio, site.max_weight, site.saturated, site.entropy, site.jacobian, site.reference_error, float(output.std())
    )


def table(rule: RuleMeta) -> str:
    """The measured effect of a scale rule as Markdown: its `Example` beside its `Use instead`."""
    (found,) = [one for one in all_rules() if one.code == rule.code]
    code = examples(found)
    before, after = effect(code.wrong), effect(code.right)
    rows = [
        ("scale that softmax sees", f"{before.scale:.4g}", f"{after.scale:.4g}"),
        ("ratio to 1/√d_k (1 is right)", f"{before.ratio:.4g}", f"{after.ratio:.4g}"),
        ("mean largest weight of a row", f"{before.max_weight:.3f}", f"{after.max_weight:.3f}"),
        ("rows with a weight over 0.99", f"{before.saturated:.1%}", f"{after.saturated:.1%}"),
        ("entropy over ln T", f"{before.entropy:.3f}", f"{after.entropy:.3f}"),
        ("softmax Jacobian, 1 − Σp²", f"{before.jacobian:.3f}", f"{after.jacobian:.3f}"),
        ("largest error of a weight against float64", _error(before.error), _error(after.error)),
        ("standard deviation of the output", f"{before.output:.3f}", f"{after.output:.3f}"),
    ]
    lines = [
        f"Both examples with the same weights on the same input: {HEADS} heads of d_k = {WIDTH // HEADS}, T = {LENGTH} tokens, queries and",
        "keys of unit variance, in float64, measured by the [probe](../probe.md).",
        "",
        "| | Example | Use instead |",
        "| --- | --- | --- |",
        *(f"| {label} | {left} | {right} |" for label, left, right in rows),
    ]
    return "\n".join(lines)


def _error(value: float) -> str:
    """To the digits that do not depend on the processor."""
    return "under 1e-12" if value < 1e-12 else f"{value:.2g}"
