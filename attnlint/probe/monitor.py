"""`Monitor`: figures by layer and head over a training run, as plain records, at almost no cost between samples."""

from __future__ import annotations

import math
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

from attnlint.probe import actions, settings
from attnlint.probe.decorators import Handle, attach
from attnlint.probe.expect import Expectation, normalise
from attnlint.probe.report import Report
from attnlint.probe.values import Site
from attnlint.probe.watching import watch

Sink = Callable[[Sequence["Record"]], object]


@dataclass(frozen=True)
class Record:
    """One attention, or one head of it (`head` counts from 0, None for all heads), at one step.

    `ratio` is the measured scale over the expected one; `entropy` the mean row entropy over ln of the unmasked keys (0 to 1);
    `max_logit` the largest logit; `max_weight` the mean over rows of the largest weight; `saturated` the share of rows whose largest
    weight exceeds 0.99. Figures that cannot be had are None.
    """

    step: int
    module: str
    head: int | None
    status: str
    kind: str | None
    scale: float | None
    ratio: float | None
    entropy: float | None
    max_logit: float | None
    max_weight: float | None
    saturated: float | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: what is no finite number is None."""
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(self).items()}


FIGURES = ("ratio", "entropy", "max_logit", "max_weight", "saturated")


@dataclass(frozen=True)
class Thresholds:
    """Beyond which figures a monitor warns, once for each layer and figure; None switches one off.

    `entropy`: a head's entropy at or under it has collapsed (Zhai et al. 2023, "Stabilizing Transformer Training by Preventing
    Attention Entropy Collapse"). `max_logit`: a logit over it (100, as Kimi K2's QK-clip has it, 2025). `saturated`: a share of rows
    over it has one key each. `faults`: whether a fault of scale, mask or numbers warns too.
    """

    entropy: float | None = 0.02
    max_logit: float | None = 100.0
    saturated: float | None = 0.9
    faults: bool = True


class Monitor:
    """Measures every `every`-th forward of a model, and hands the figures on.

    `to` takes sinks: functions of a list of records (`attnlint.probe.trackers` has TensorBoard, Weights & Biases, MLflow, JSON
    lines). `records` keeps the last `keep` of them. `every=None` measures only what `arm(step)` or `sample(step)` ask for. The model's
    code and its modules' hooks stay as they are; `close()` takes the monitor out. With ATTNLINT_PROBE=off nothing is measured.
    Raises TypeError where `model` is no torch.nn.Module, ValueError on a bad `every` or `keep`.
    """

    def __init__(
        self,
        model: Any,
        every: int | None = 100,
        *,
        to: Sequence[Sink] | Sink = (),
        expect: Expectation = None,
        thresholds: Thresholds | None = None,
        keep: int = 100_000,
    ) -> None:
        if every is not None:
            settings.check_calls(every, "every")
        settings.check_calls(keep, "keep")
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(model, torch.nn.Module):
            raise TypeError(f"Monitor() got a {type(model).__name__}: give the torch.nn.Module that is trained")
        self.every, self.step = every, 0
        self.thresholds = thresholds if thresholds is not None else Thresholds()
        self.records: deque[Record] = deque(maxlen=keep)
        self.report: Report | None = None
        self.sinks: tuple[Sink, ...] = tuple(to) if isinstance(to, Sequence) else (to,)
        self._expect = normalise(expect)
        self._warned: set[tuple[str, str]] = set()
        self._armed = False
        self._model = weakref.ref(model)
        self._handle = attach(model, _Sampler(model, self))

    def arm(self, step: int | None = None) -> None:
        """Measure the next forward, as that of `step`."""
        self._armed = True
        if step is not None:
            self.step = step

    @contextmanager
    def sample(self, step: int | None = None) -> Iterator[Report]:
        """Measure a block of code, as that of `step`: where the forward does not go through the model's own `forward`."""
        if step is not None:
            self.step = step
        block = watch(self._model())
        block.expectation = self._expect
        with block as report:
            yield report
        self.take(report)

    def due(self) -> bool:
        """Whether the forward that is about to run is measured; counts it."""
        armed, self._armed = self._armed, False
        if self.every is None:
            return armed
        due = armed or self.step % self.every == 0
        self.step += 1
        return due

    def take(self, report: Report, step: int | None = None) -> None:
        """Take in what one block measured: records, warnings, sinks."""
        if report.disabled:
            return
        self.report = report
        made = [record for site in report.sites for record in records_of(site, self.step if step is None else step)]
        self.records.extend(made)
        if made:
            self._warn(made)
            for sink in self.sinks:
                sink(made)

    def close(self) -> None:
        """Take the monitor out of the model, and close sinks that can be closed; a second time it does nothing."""
        self._handle.remove()
        sinks, self.sinks = self.sinks, ()
        for sink in sinks:
            close = getattr(sink, "close", None)
            if close is not None:
                close()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _warn(self, made: Sequence[Record]) -> None:
        told = {record.module for record in made if record.head is not None}
        by_site: dict[tuple[str, str], list[str]] = {}
        for record in made:
            for what, message in troubles(record, self.thresholds, told):
                by_site.setdefault((record.module, what), []).append(message)
        for key, messages in by_site.items():
            if key not in self._warned:
                self._warned.add(key)
                shown = ", ".join(messages[:6]) + (f" and {len(messages) - 6} more" if len(messages) > 6 else "")
                actions.warn(f"step {made[0].step}, {key[0]}: {key[1]}: {shown}")

    def __str__(self) -> str:
        latest: dict[str, Record] = {record.module: record for record in self.records if record.head is None}
        if not latest:
            return "attnlint monitor: no sample yet"
        lines = [f"attnlint monitor: step {max(r.step for r in latest.values())}"]
        width = max(len(name) for name in latest)
        for name, record in latest.items():
            figures = "  ".join(f"{f} {_shown(getattr(record, f))}" for f in FIGURES)
            lines.append(f"  {name.ljust(width)}  {record.status.ljust(8)}  {figures}")
        return "\n".join(lines)


def _shown(value: float | None) -> str:
    return "–".ljust(8) if value is None else f"{value:.4g}".ljust(8)


def records_of(site: Site, step: int) -> list[Record]:
    """A site's records: all heads together, then each head."""
    common = (site.status, site.kind)
    whole = (site.scale, site.ratio, site.entropy, site.max_logit, site.max_weight, site.saturated)
    return [
        Record(step, site.name, None, *common, *whole),
        *(
            Record(step, site.name, h.head, *common, h.scale, h.ratio, h.entropy, h.max_logit, h.max_weight, h.saturated)
            for h in site.heads
        ),
    ]


def troubles(record: Record, limits: Thresholds, by_head: set[str]) -> list[tuple[str, str]]:
    """What is to be said of a record: (what, where and how much). A layer whose heads are known is judged head by head."""
    found = []
    if limits.faults and record.head is None and record.status == "fault":
        found.append(("fault", f"{record.kind}, ratio {_shown(record.ratio).strip()}"))
    if record.head is None and record.module in by_head:
        return found
    who = "all heads" if record.head is None else f"head {record.head}"
    if limits.entropy is not None and record.entropy is not None and record.entropy <= limits.entropy:
        found.append((f"entropy collapse (at most {limits.entropy:g})", f"{who} {record.entropy:.3g}"))
    if limits.max_logit is not None and record.max_logit is not None and record.max_logit > limits.max_logit:
        found.append((f"logits past the limit ({limits.max_logit:g})", f"{who} {record.max_logit:.4g}"))
    if limits.saturated is not None and record.saturated is not None and record.saturated > limits.saturated:
        found.append((f"saturation (more than {limits.saturated:g} of the rows)", f"{who} {record.saturated:.3g}"))
    return found


class _Sampler(Handle):
    """The monitor's place in the model: asked before each forward, told after those that it wants."""

    def __init__(self, model: Any, monitor: Monitor) -> None:
        super().__init__(model, sys.maxsize, "report", monitor._expect)
        self.monitor = monitor
        self._step = 0

    def due(self) -> bool:
        self._step = self.monitor.step
        return self.monitor.due()

    def take(self, report: Report) -> None:
        self.monitor.take(report, self._step)
