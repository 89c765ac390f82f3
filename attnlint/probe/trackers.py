"""Where a monitor's records go: TensorBoard, Weights & Biases, MLflow, JSON lines; and callbacks for the trainers that drive a run.

Nothing is imported for the user: a library is looked up among those that the program has loaded.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from attnlint.probe.expect import Expectation
from attnlint.probe.monitor import FIGURES, Monitor, Record, Sink, Thresholds

__all__ = ["json_lines", "lightning_callback", "mlflow", "tensorboard", "transformers_callback", "wandb"]


def _loaded(*names: str) -> Any:
    """The first of these modules that the program has imported. Raises RuntimeError where it has none of them."""
    for name in names:
        if name in sys.modules:
            return sys.modules[name]
    raise RuntimeError(f"{names[0]} is not imported: write `import {names[0]}` before, attnlint imports no library for you")


def metrics(records: Sequence[Record], heads: bool = False, prefix: str = "attention") -> Iterator[tuple[str, float]]:
    """(name, value) of every finite figure: `attention/<module>/<figure>`, with `heads` also `attention/<module>/head_<n>/<figure>`."""
    seen: dict[str, int] = {}
    for record in records:
        if record.head is not None and not heads:
            continue
        part = "" if record.head is None else f"/head_{record.head}"
        for figure in FIGURES:
            value = getattr(record, figure)
            if value is None or not math.isfinite(value):
                continue
            name = f"{prefix}/{record.module}{part}/{figure}"
            seen[name] = seen.get(name, 0) + 1
            yield (name if seen[name] == 1 else f"{name}_{seen[name]}"), float(value)


class json_lines:
    """A sink that appends each record as a line of JSON to a file, made with its folders where it is not there."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        folder = os.path.dirname(os.fspath(path))
        if folder:
            os.makedirs(folder, exist_ok=True)
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115  (open for as long as the monitor is)

    def __call__(self, records: Sequence[Record]) -> None:
        self._file.writelines(json.dumps(record.as_dict()) + "\n" for record in records)
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def tensorboard(writer: Any, *, heads: bool = False) -> Sink:
    """A sink for a `SummaryWriter` (of torch.utils.tensorboard or tensorboardX): one scalar a figure."""
    if not hasattr(writer, "add_scalar"):
        raise TypeError(f"tensorboard() got a {type(writer).__name__}: give a SummaryWriter")

    def sink(records: Sequence[Record]) -> None:
        for name, value in metrics(records, heads):
            writer.add_scalar(name, value, records[0].step)
        if hasattr(writer, "flush"):
            writer.flush()

    return sink


def wandb(run: Any = None, *, heads: bool = False) -> Sink:
    """A sink for a run of Weights & Biases, the current one by default. The step is the metric `attention/step`: the run's own goes on."""
    given = run if run is not None else _loaded("wandb").run
    if given is None:
        raise RuntimeError("wandb has no current run: call wandb.init(...) before, or give the run")
    given.define_metric("attention/step")
    given.define_metric("attention/*", step_metric="attention/step")

    def sink(records: Sequence[Record]) -> None:
        given.log({**dict(metrics(records, heads)), "attention/step": records[0].step})

    return sink


def mlflow(run_id: str | None = None, *, heads: bool = False) -> Sink:
    """A sink for the active run of MLflow, or the one with this id."""
    module = _loaded("mlflow")

    def sink(records: Sequence[Record]) -> None:
        given = {"".join(c if c.isalnum() or c in "_-./ " else "_" for c in name): value for name, value in metrics(records, heads)}
        module.log_metrics(given, step=records[0].step, run_id=run_id)

    return sink


def transformers_callback(
    every: int = 100,
    *,
    to: Sequence[Sink] | Sink = (),
    expect: Expectation = None,
    thresholds: Thresholds | None = None,
) -> Any:
    """A `transformers.TrainerCallback` that monitors the model that is trained: the first forward of every `every`-th step.

    `callback.monitor` is the monitor once training has begun. Raises RuntimeError where transformers is not imported.
    """
    base = _loaded("transformers").TrainerCallback

    class AttentionCallback(base):  # type: ignore[misc, valid-type]
        monitor: Monitor | None = None

        def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
            self.monitor = Monitor(model, None, to=to, expect=expect, thresholds=thresholds)

        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if self.monitor is not None and state.global_step % every == 0:
                self.monitor.arm(state.global_step)

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if self.monitor is not None:
                self.monitor.close()

    return AttentionCallback()


def lightning_callback(
    every: int = 100,
    *,
    to: Sequence[Sink] | Sink = (),
    expect: Expectation = None,
    thresholds: Thresholds | None = None,
) -> Any:
    """A Lightning `Callback` that monitors the LightningModule: the training step of every `every`-th batch, up to the backward pass.

    `callback.monitor` is the monitor once training has begun. Raises RuntimeError where neither lightning.pytorch nor
    pytorch_lightning is imported.
    """
    base = _loaded("lightning.pytorch", "pytorch_lightning").Callback

    class AttentionCallback(base):  # type: ignore[misc, valid-type]
        monitor: Monitor | None = None
        block: Any = None

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self.monitor = Monitor(pl_module, None, to=to, expect=expect, thresholds=thresholds)

        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
            if self.monitor is not None and trainer.global_step % every == 0 and self.block is None:
                self.block = self.monitor.sample(trainer.global_step)
                self.block.__enter__()

        def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
            self._leave()

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            self._leave()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            self._leave()
            self.on_train_end(trainer, pl_module)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            if self.monitor is not None:
                self.monitor.close()

        def _leave(self) -> None:
            block, self.block = self.block, None
            if block is not None:
                block.__exit__(None, None, None)

    return AttentionCallback()
