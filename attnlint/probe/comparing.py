"""`compare`: two implementations on the same inputs, attention by attention: scale, mask, weights, output, and where they first differ."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from attnlint.probe import settings
from attnlint.probe.errors import AttentionFault
from attnlint.probe.facts import Evidence, Run
from attnlint.probe.judge import judge, tolerance
from attnlint.probe.names import owner_and_name
from attnlint.probe.report import Report
from attnlint.probe.taken_in import TakenIn
from attnlint.probe.text import number, short
from attnlint.probe.watching import Session, current_session, use_session


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same. `what` is "attentions", "head_dim", "shape", "q·k", "scale", "mask", "weights" or "output";
    `attention` counts the attentions from 0 in the order in which they ran, None for the output of the whole."""

    what: str
    attention: int | None
    message: str


@dataclass(frozen=True)
class Pair:
    """The same attention of both: names, scales (on q·k before any factor), and how far apart what they computed is.

    `qk`, `logits` and `weights` are the largest absolute differences on the sampled rows, `masked_alike` whether both mask the same
    keys; None where it could not be compared.
    """

    names: tuple[str, str]
    places: tuple[str, str]
    head_dims: tuple[int | None, int | None]
    scales: tuple[float | None, float | None]
    masked_alike: bool | None
    qk: float | None
    logits: float | None
    weights: float | None


@dataclass(frozen=True)
class Comparison:
    """What `compare` found: `same`, the `first` difference in the order of computation, all `differences`, and each pair of attentions.

    `output` is the largest absolute difference of the results, None where they have no arrays in common.
    """

    pairs: tuple[Pair, ...]
    differences: tuple[Difference, ...]
    output: float | None

    @property
    def same(self) -> bool:
        return not self.differences

    @property
    def first(self) -> Difference | None:
        return self.differences[0] if self.differences else None

    def raise_for_differences(self) -> None:
        """Raise AttentionFault, whose message is this comparison in words, where anything differs."""
        if self.differences:
            raise AttentionFault(str(self), self)

    def __str__(self) -> str:
        head = f"{len(self.pairs)} attention{'s' * (len(self.pairs) != 1)} compared: "
        if self.first is None:
            return head + f"the same scale, mask, weights and output (largest difference {number(self.output, 3)})"
        lines = [head + f"first difference: {self.first.message}"]
        lines += [f"  {other.message}" for other in self.differences[1:12]]
        if len(self.differences) > 12:
            lines.append(f"  and {len(self.differences) - 12} more")
        return "\n".join(lines)


def compare(
    a: Callable[..., Any], b: Callable[..., Any], *inputs: Any, inputs_b: Sequence[Any] | None = None, rtol: float | None = None
) -> Comparison:
    """Run two implementations on the same inputs and say where they first differ: in q·k, scale, mask or weights of which attention.

    `a` and `b` are modules or functions, of PyTorch or NumPy; `inputs_b` are b's inputs where they are not a's (another layout,
    another framework). Attentions are paired in the order in which they run. `rtol` is what may differ, relative to the largest
    value (for weights: absolutely); by default 1e-4, for half precision 2e-2. No gradients are recorded; random numbers start from
    the same seed. Raises AttentionFault where one of them runs no attention that can be seen, ValueError with ATTNLINT_PROBE=off.
    """
    if settings.disabled():
        raise ValueError(f"compare() measures, and {settings.VARIABLE}=off forbids it: unset it")
    first, out_a = _observed(a, inputs, "a")
    second, out_b = _observed(b, inputs if inputs_b is None else tuple(inputs_b), "b")
    allowed = rtol if rtol is not None else _allowed([*first, *second])
    differences: list[Difference] = []
    pairs = []
    for i, (x, y) in enumerate(zip(first, second, strict=False)):
        pair, found = _pair(i, x, y, allowed)
        pairs.append(pair)
        differences += found
    if len(first) != len(second):
        differences.append(Difference("attentions", None, f"a runs {len(first)} attentions, b {len(second)}"))
    apart, message = _outputs(out_a, out_b, allowed)
    if message:
        differences.append(Difference("output", None, message))
    return Comparison(tuple(pairs), tuple(differences), apart)


class _Ran(NamedTuple):
    run: Run
    name: str
    scale: float | None


def _allowed(runs: Sequence[_Ran]) -> float:
    return 2e-2 if any(run.run.dtype in ("float16", "bfloat16") for run in runs) else 1e-4


def _observed(f: Callable[..., Any], inputs: tuple[Any, ...], which: str) -> tuple[list[_Ran], Any]:
    """All attentions of one call in the order in which they ran, and its result."""
    session = Session()
    session.runs = []
    report = Report()
    before = current_session()
    use_session(session)
    try:
        session.open(report)
        taken = TakenIn(f, inputs, {})
        given, _ = taken.enter()
        try:
            with _steady():
                result = taken.plain(f(*given))
        finally:
            taken.leave()
    finally:
        session.close(report)
        use_session(before)
    if not session.runs:
        raise AttentionFault(f"compare(): {which} ran no attention that the probe can see. {report.message()}", report)
    return [_ran(run) for run in session.runs], result


def _steady() -> AbstractContextManager[Any]:
    """Without gradients and from one seed, where PyTorch is loaded."""
    torch = sys.modules.get("torch")
    return _without_gradients(torch) if torch is not None and hasattr(torch, "random") else nullcontext()


class _without_gradients:
    def __init__(self, torch: Any) -> None:
        self.parts = (torch.no_grad(), torch.random.fork_rng(devices=[]))
        self.torch = torch

    def __enter__(self) -> None:
        for part in self.parts:
            part.__enter__()
        self.torch.random.default_generator.manual_seed(0)

    def __exit__(self, *error: object) -> None:
        for part in reversed(self.parts):
            part.__exit__(*error)


def _ran(run: Run) -> _Ran:
    name = owner_and_name(run.place.modules)[1] or (f"{run.place.function}()" if run.place.function else "(no module)")
    return _Ran(run, name, judge(run, None).scale)


def _pair(i: int, x: _Ran, y: _Ran, allowed: float) -> tuple[Pair, list[Difference]]:
    where = f"attention {i} ({x.name} at {_place(x)}, {y.name} at {_place(y)})"
    found: list[Difference] = []

    def differs(what: str, message: str) -> None:
        found.append(Difference(what, i, f"{where}: {message}"))

    if x.run.head_dim != y.run.head_dim:
        differs("head_dim", f"d_k is {x.run.head_dim} in a, {y.run.head_dim} in b")
    common = _common(x.run.evidence, y.run.evidence)
    qk = logits = weights = None
    alike: bool | None = None
    if isinstance(common, str):
        differs("shape", common)
    scale = _scales(x, y)
    if isinstance(common, tuple):
        first, second = common
        qk = _apart(first.raw, second.raw)
        if qk is not None and qk > allowed * max(_size(first.raw), 1e-6):
            differs("q·k", f"q·k differ by up to {number(qk, 3)} before any scale: what comes before this attention is not the same")
        if scale:
            differs("scale", scale)
        alike = bool((first.live == second.live).all())
        if not alike:
            differs("mask", _mask_message(first, second))
        logits = _apart(first.logits, second.logits)
        weights = _apart(first.weights, second.weights)
        if weights is not None and not weights <= allowed:
            differs("weights", f"the weights differ by up to {number(weights, 3)}")
    elif scale:
        differs("scale", scale)
    pair = Pair((x.name, y.name), (_place(x), _place(y)), (x.run.head_dim, y.run.head_dim), (x.scale, y.scale), alike, qk, logits, weights)
    return pair, found


def _scales(x: _Ran, y: _Ran) -> str:
    """What to say where the scales differ."""
    a, b = x.scale, y.scale
    if a is None or b is None or abs(a - b) <= _scale_tolerance(x, y) * abs(b):
        return ""
    over = f" (a over b: {number(a / b, 6)})" if b else ""
    return f"the scale is {number(a, 6)} in a, {number(b, 6)} in b{over}"


def _place(ran: _Ran) -> str:
    return f"{short(ran.run.place.user.file)}:{ran.run.place.user.line}"


def _scale_tolerance(x: _Ran, y: _Ran) -> float:
    return max(tolerance(x.run.dtype), tolerance(y.run.dtype), 8 * x.run.slope_error, 8 * y.run.slope_error)


def _common(a: Evidence | None, b: Evidence | None) -> tuple[Evidence, Evidence] | str | None:
    """Both on the rows that both were sampled at; why not where shapes differ, None where nothing was kept."""
    import numpy as np

    if a is None or b is None:
        return None
    if a.logits.shape[-1] != b.logits.shape[-1]:
        return f"softmax runs over {a.logits.shape[-1]} keys in a, {b.logits.shape[-1]} in b"
    _, i, j = np.intersect1d(a.rows, b.rows, return_indices=True)
    if not len(i):
        return "no row in common: another number of heads, queries or batch elements"
    return _picked(a, i), _picked(b, j)


def _picked(evidence: Evidence, rows: Any) -> Evidence:
    return Evidence(*(None if part is None else part[rows] for part in evidence))


def _apart(a: Any, b: Any) -> float | None:
    """The largest absolute difference of finite entries; NaN in one alone counts as infinity."""
    import numpy as np

    if a is None or b is None or a.shape != b.shape:
        return None
    if (np.isnan(a) != np.isnan(b)).any():
        return float("inf")
    both = np.isfinite(a) & np.isfinite(b)
    return float(np.abs(a[both] - b[both]).max()) if both.any() else 0.0


def _size(a: Any) -> float:
    import numpy as np

    finite = a[np.isfinite(a)]
    return float(np.abs(finite).max()) if finite.size else 0.0


def _mask_message(a: Evidence, b: Evidence) -> str:
    import numpy as np

    only_a, only_b = int((b.live & ~a.live).sum()), int((a.live & ~b.live).sum())
    row, key = (int(n) for n in np.argwhere(a.live != b.live)[0])
    where = f"first in row {int(a.rows[row])}, key {key}"
    return f"the masks differ: {only_a} of {a.live.size} sampled entries are masked in a alone, {only_b} in b alone; {where}"


def _outputs(a: Any, b: Any, allowed: float) -> tuple[float | None, str]:
    """How far apart the results are, and what to say where that is too far."""
    first, second = _arrays(a), _arrays(b)
    if not first or not second:
        return None, ""
    if len(first) != len(second):
        return None, f"the output has {len(first)} arrays in a, {len(second)} in b"
    worst, message = 0.0, ""
    for n, (x, y) in enumerate(zip(first, second, strict=True)):
        if x.shape != y.shape:
            return None, f"the output's array {n} has shape {list(x.shape)} in a, {list(y.shape)} in b"
        apart = _apart(x, y) or 0.0
        if not message and apart > allowed * max(_size(x), 1e-6):
            message = f"the output differs by up to {number(apart, 3)}, where its largest value is {number(_size(x), 3)}"
        worst = max(worst, apart)
    return worst, message


def _arrays(result: Any) -> list[Any]:
    """The arrays of numbers in a result, as float64."""
    import numpy as np

    if hasattr(result, "detach"):
        result = result.detach().cpu().double().numpy() if result.dtype.is_floating_point else None
    if isinstance(result, np.ndarray):
        return [np.asarray(result, dtype=np.float64)] if result.dtype.kind == "f" else []
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, (tuple, list)):
        return [array for part in result for array in _arrays(part)]
    return []
