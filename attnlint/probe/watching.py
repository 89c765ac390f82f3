"""`watch`: measure all attentions computed in a block by this thread."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any

from attnlint.probe import settings
from attnlint.probe.expect import Expectation, normalise
from attnlint.probe.facts import Run
from attnlint.probe.report import Report
from attnlint.probe.trace import Trace

_local = threading.local()


class _Stance:
    """torch.compile's stance is process-wide: force eager while any thread watches, and give back what was there when the last stops."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.blocks = 0
        self.before: Any = None

    def enter(self) -> None:
        with self.lock:
            self.blocks += 1
            if self.blocks == 1:
                import torch

                self.before = torch.compiler.set_stance("force_eager")

    def leave(self) -> None:
        with self.lock:
            self.blocks -= 1
            if self.blocks == 0 and self.before is not None:
                before, self.before = self.before, None
                before.__exit__(None, None, None)


_stance = _Stance()


class Session:
    """One thread's tracing, shared by the blocks that are open in it."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.torch_mode: Any = None
        self.numpy_trace: Trace | None = None
        self.torch_trace: Trace | None = None
        self.torch_owner: Report | None = None
        self.suspended = False
        self.runs: list[Run] | None = None  # of a comparison: every run in its order, with evidence

    def deliver(self, run: Run) -> None:
        if self.runs is not None:
            self.runs.append(run)
        for report in self.reports:
            report.accept(run)
        run.reference = None

    def wants_samples(self) -> bool:
        return any(report.keep_samples for report in self.reports)

    def open(self, report: Report) -> None:
        self.reports.append(report)
        self._hook_if_loaded(report)
        if self.torch_mode is not None and report.model is not None:
            self._note_parameters(report.model)

    def _hook_if_loaded(self, report: Report) -> None:
        if self.torch_mode is None and "torch" in sys.modules and hasattr(sys.modules["torch"], "nn"):
            self._hook_torch(report)

    def _hook_torch(self, report: Report) -> None:
        from attnlint.probe.torch_arrays import TorchArrays
        from attnlint.probe.torch_backend import ProbeMode

        arrays = TorchArrays()
        self.torch_trace = Trace(arrays, self.deliver, self.wants_samples, self.runs is not None)
        self.torch_mode = ProbeMode(self.torch_trace, arrays)
        self.torch_owner = report
        _stance.enter()
        try:
            self.torch_mode.__enter__()
        except BaseException:
            _stance.leave()
            self.torch_mode = None
            raise

    def _note_parameters(self, model: Any) -> None:
        for parameter in [p for module in model.modules() for p in module._parameters.values() if p is not None]:
            try:
                self.torch_mode.arrays.parameters.add(parameter.untyped_storage()._cdata)
            except (NotImplementedError, RuntimeError):
                continue

    def close(self, report: Report) -> None:
        self.reports = [r for r in self.reports if r is not report]
        if self.torch_trace is not None:
            report.opaque_calls |= self.torch_trace.opaque_calls
            report.softmaxes += self.torch_trace.softmaxes
            report.internal_errors.extend(self.torch_mode.errors)
        if self.torch_owner is report:
            mode, self.torch_mode, self.torch_owner = self.torch_mode, None, None
            try:
                if not self.suspended:
                    mode.__exit__(None, None, None)
            finally:
                if not self.suspended:
                    _stance.leave()
                self.suspended = False
                if self.torch_trace is not None:
                    self.torch_trace.clear()
                    self.torch_trace = None
        if not self.reports and self.numpy_trace is not None:
            self.numpy_trace.clear()
            self.numpy_trace = None

    def suspend(self) -> None:
        """Stop watching, and keep all that is known: the block goes on in `resume`, perhaps in another thread."""
        if self.torch_mode is not None and not self.suspended:
            self.suspended = True
            try:
                self.torch_mode.__exit__(None, None, None)
            finally:
                _stance.leave()

    def resume(self) -> None:
        if self.suspended:
            _stance.enter()
            self.torch_mode.__enter__()
            self.suspended = False
        elif self.torch_mode is None and self.reports:
            self._hook_if_loaded(self.reports[0])

    def numpy(self) -> Trace:
        if self.numpy_trace is None:
            from attnlint.probe.numpy_backend import NumpyArrays

            self.numpy_trace = Trace(NumpyArrays(), self.deliver, self.wants_samples, self.runs is not None)
        return self.numpy_trace


def current_session() -> Session | None:
    """This thread's session, whether a block is open in it or not."""
    return getattr(_local, "session", None)


def use_session(session: Session | None) -> None:
    """Make this the thread's session: a coroutine brings its own for the time of a step."""
    _local.session = session


def current() -> Session | None:
    """This thread's session, where a block is open."""
    session: Session | None = getattr(_local, "session", None)
    return session if session is not None and session.reports else None


class watch:
    """Measure all attentions computed in the block by this thread: of `model`, or of any code where it is None.

    `with watch(model) as report: model(x)`; read `report.sites`, print it, or call `report.raise_for_faults()`.
    `expect` declares what is meant where it is not 1/√d_k: a number (the scale), a callable of the head size, an `Expect`, or a
    mapping from patterns of module names to these. `keep_samples` keeps a small sample of logits and weights of each site.
    NumPy enters through `probe.array` and `probe.call`. Raises TypeError on a model that is no torch.nn.Module.
    """

    def __init__(self, model: Any = None, expect: Expectation = None, *, keep_samples: bool = False) -> None:
        if model is not None:
            torch = sys.modules.get("torch")
            if torch is None or not isinstance(model, torch.nn.Module):
                raise TypeError(
                    f"watch() got a {type(model).__name__}: give a torch.nn.Module, or nothing to watch any code; "
                    "a NumPy function is called through probe.call(f, *arrays) inside the block"
                )
        self.expectation = normalise(expect)
        self._model = model
        self._keep = keep_samples
        self.report: Report | None = None
        self._session: Session | None = None

    def __enter__(self) -> Report:
        report = Report(self._model, self.expectation, keep_samples=self._keep)
        self.report = report
        if settings.disabled():
            report.disabled = True
            return report
        session: Session | None = getattr(_local, "session", None)
        if session is None:
            session = _local.session = Session()
        self._session = session
        try:
            session.open(report)
        except BaseException:
            session.close(report)
            raise
        return report

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        session, self._session = self._session, None
        if session is not None and self.report is not None:
            session.close(self.report)
            self.report.close()
