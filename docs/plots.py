"""The plots of the page on the mathematics, computed when the site is built: NumPy for the numbers, matplotlib for the picture."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import cache

from attnlint.reference import SCALES, WhyRow, gradients, logits, softmax, statistics, why_sqrt_d

WIDTHS = (16, 32, 64, 128, 256, 512, 1024)
NAMES = {"1": "unscaled", "1/sqrt(d)": "over √d", "1/d": "over d"}
COLOURS = {"1": "#b3261e", "1/sqrt(d)": "#1b6e3c", "1/d": "#3558a6"}


def variance() -> str:
    """Variance of the logits against the head size, one line a scale."""
    return _by_scale("variance of the logits", lambda one: one.logit_variance, logarithmic=True)


def saturation() -> str:
    """Mean largest weight of a row against the head size, one line a scale."""
    return _by_scale("mean largest weight of a row (128 keys)", lambda one: one.max_weight)


def jacobian() -> str:
    """Trace of the softmax Jacobian against the standard deviation of the logits, and the size of the gradient of q."""
    import numpy as np

    source = np.random.default_rng(0)
    d, tokens = 64, 128
    q, k, v = (source.standard_normal((4, tokens, d)) for _ in range(3))
    upstream = source.standard_normal((4, tokens, d))
    scales = np.geomspace(1 / d, 1, 13)
    spread, trace, slope = [], [], []
    for scale in scales:
        scores = logits(q, k, scale=float(scale))
        spread.append(float(scores.std()))
        trace.append(statistics(softmax(scores), scores).jacobian)
        slope.append(float(np.linalg.norm(gradients(q, k, v, upstream, scale=float(scale)).q, axis=-1).mean()))
    figure, axes = _figure("standard deviation of the logits (d = 64; 1 is what √d gives)")
    axes.set_xscale("log")
    axes.plot(spread, trace, color="#6a3d9a", marker="o", label="trace of the softmax Jacobian, 1 − Σp²")
    axes.plot(spread, np.array(slope) / max(slope), color="#ff7f00", marker="s", label="mean norm of the gradient of q, over its largest")
    axes.axvline(1, color="#999", linestyle=":")
    axes.legend(frameon=False, loc="lower center")
    return _svg(figure)


def heads() -> str:
    """Entropy of the weights where d_model = 512 is split into heads: over the root of the head, and of the model."""
    import numpy as np

    width, tokens = 512, 128
    counts = (1, 2, 4, 8, 16, 32)
    source = np.random.default_rng(0)
    entropies: dict[str, list[float]] = {"over √(d_model / heads)": [], "over √d_model": []}
    for count in counts:
        d = width // count
        q, k = (source.standard_normal((8, tokens, d)) for _ in range(2))
        for label, scale in zip(entropies, (d**-0.5, width**-0.5), strict=True):
            scores = logits(q, k, scale=scale)
            entropies[label].append(statistics(softmax(scores), scores).entropy or 0.0)
    figure, axes = _figure("heads that share d_model = 512")
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    for (label, values), colour in zip(entropies.items(), (COLOURS["1/sqrt(d)"], COLOURS["1"]), strict=True):
        axes.plot(counts, values, color=colour, marker="o", label=label)
    axes.set_ylabel("entropy of a row, over ln 128")
    axes.legend(frameon=False)
    return _svg(figure)


PLOTS: dict[str, tuple[Callable[[], str], str]] = {
    "variance": (
        variance,
        "The variance of the logits grows as d where they are unscaled, is 1 over √d, and falls as 1/d over d",
    ),
    "saturation": (
        saturation,
        "The mean largest weight rises towards 1 where the logits are unscaled, and stays over √d",
    ),
    "jacobian": (jacobian, "The trace of the softmax Jacobian falls as the logits spread, while the gradient of q rises first"),
    "heads": (
        heads,
        "Over √d_model the weights become more even the more heads there are; over the root of the head they do not",
    ),
}


@cache
def _rows() -> tuple[WhyRow, ...]:
    return why_sqrt_d(WIDTHS)


def _by_scale(label: str, of: Callable[..., float | None], logarithmic: bool = False) -> str:
    rows = _rows()
    figure, axes = _figure("head size d")
    axes.set_xscale("log", base=2)
    axes.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
    if logarithmic:
        axes.set_yscale("log")
    for name in SCALES:
        values = [of(row.statistics) for row in rows if row.scale == name]
        axes.plot(WIDTHS, values, color=COLOURS[name], marker="o", label=NAMES[name])
    axes.set_ylabel(label)
    axes.legend(frameon=False)
    return _svg(figure)


def _figure(label: str) -> Sequence:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_xlabel(label)
    return figure, axes


def _svg(figure) -> str:
    """The picture, the same in every build."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "attnlint", "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, facecolor="white")
    return text.getvalue()
