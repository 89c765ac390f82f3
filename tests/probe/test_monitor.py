"""A monitor over a training run: when it measures, what its records say, what it warns of, and what it leaves behind."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import zoo  # noqa: E402
from torch import nn  # noqa: E402

from attnlint import probe  # noqa: E402
from attnlint.probe import trackers  # noqa: E402


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(zoo.B, zoo.T, zoo.C)


def train(model, x, steps):
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        loss = model(x).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def test_every_so_many_forwards_by_layer_and_head(x):
    model = nn.Sequential(zoo.Plain(), zoo.Plain())
    with probe.Monitor(model, every=4) as monitor:
        train(model, x, 9)
    assert sorted({record.step for record in monitor.records}) == [0, 4, 8]
    assert {record.module for record in monitor.records} == {"0", "1"}
    assert sorted(record.head for record in monitor.records if record.step == 4 and record.module == "1" and record.head is not None) == [
        *range(zoo.H)
    ]
    whole = [record for record in monitor.records if record.head is None]
    assert len(whole) == 6 and all(record.status == "ok" and record.ratio == pytest.approx(1, rel=1e-4) for record in whole)
    heads = [r for r in monitor.records if r.step == 0 and r.module == "0" and r.head is not None]
    assert whole[0].max_logit == max(r.max_logit for r in heads)
    assert whole[0].entropy == pytest.approx(sum(r.entropy for r in heads) / zoo.H, rel=1e-6)
    assert "step 8" in str(monitor) and str(monitor).count("entropy") == 2


def test_training_is_bit_identical_and_the_model_is_left_as_it_was(x):
    torch.manual_seed(3)
    first = zoo.Plain()
    second = zoo.Plain()
    second.load_state_dict(first.state_dict())
    monitor = probe.Monitor(second, every=2)
    assert train(first, x, 5) == train(second, x, 5)
    monitor.close()
    monitor.close()
    assert "forward" not in second.__dict__
    count = len(monitor.records)
    second(x)
    assert len(monitor.records) == count
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_only_what_is_asked_for(x):
    model = zoo.Plain()
    monitor = probe.Monitor(model, every=None)
    model(x)
    assert not monitor.records
    monitor.arm(17)
    model(x)
    model(x)
    assert {record.step for record in monitor.records} == {17}
    with monitor.sample(step=30):
        model.out(model.merge(model.attend(*(model.split(layer(x)) for layer in (model.q, model.k, model.v)))))
    assert {record.step for record in monitor.records} == {17, 30}


def test_records_are_kept_up_to_a_number_and_are_plain(x):
    model = zoo.Plain()
    with probe.Monitor(model, every=1, keep=7) as monitor:
        for _ in range(3):
            model(x)
    assert len(monitor.records) == 7
    document = json.dumps([record.as_dict() for record in monitor.records], allow_nan=False)
    assert json.loads(document)[-1]["module"] == "Plain"


def sharpened(factor):
    """The scale is right, the weights of q have grown."""
    torch.manual_seed(0)
    model = zoo.Plain()
    with torch.no_grad():
        model.q.weight[: 2 * zoo.D] *= factor
    return model


def test_a_collapse_is_said_once_with_its_heads(x):
    model = sharpened(2000.0)
    with pytest.warns(probe.AttentionFaultWarning) as seen, probe.Monitor(model, every=1):
        for _ in range(3):
            model(x)
    said = [str(w.message) for w in seen if w.category is probe.AttentionFaultWarning]
    assert len(said) == 3, said
    assert any("step 0, Plain: entropy collapse" in s and "head 0" in s and "head 1" in s and "head 2" not in s for s in said)
    assert any("logits past the limit (100)" in s for s in said)
    assert any("saturation (more than 0.9 of the rows)" in s for s in said)


def test_a_fault_is_said_once_and_thresholds_may_be_off(x):
    model = zoo.Missing()
    with pytest.warns(probe.AttentionFaultWarning, match=r"step 0, Missing: fault: missing-scale, ratio 3\.464") as seen:
        monitor = probe.Monitor(model, every=1, thresholds=probe.Thresholds(max_logit=None, entropy=None, saturated=None))
        model(x)
        model(x)
    assert len(seen) == 1
    monitor.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with probe.Monitor(model, every=1, expect=1.0, thresholds=probe.Thresholds(max_logit=None)) as monitor:
            model(x)
    assert monitor.records[0].status == "declared"


def test_it_goes_with_other_probes_and_with_a_compiled_model(x):
    model = zoo.Plain()
    monitor = probe.Monitor(model, every=2)
    handle = probe.install(model, calls=1)
    model(x)
    model(x)
    monitor.close()
    assert handle.report.sites[0].calls == 1 and {r.step for r in monitor.records} == {0} and "forward" not in model.__dict__
    torch._dynamo.reset()
    compiled = torch.compile(zoo.Plain(), backend="eager", fullgraph=True)
    with probe.Monitor(compiled, every=2) as monitor:
        for _ in range(4):
            compiled(x)
    assert sorted({r.step for r in monitor.records}) == [0, 2]


def test_bad_arguments_and_off(x, monkeypatch):
    with pytest.raises(TypeError, match=r"torch\.nn\.Module"):
        probe.Monitor(lambda x: x)
    with pytest.raises(ValueError, match="every=0"):
        probe.Monitor(zoo.Plain(), every=0)
    monkeypatch.setenv("ATTNLINT_PROBE", "off")
    model = zoo.Plain()
    with probe.Monitor(model, every=1) as monitor:
        model(x)
    assert not monitor.records


# --- sinks, each with the real library -------------------------------------------------------------------------------------------


def test_json_lines(x, tmp_path):
    path = tmp_path / "new" / "attention.jsonl"
    model = zoo.Plain()
    with probe.Monitor(model, every=1, to=trackers.json_lines(path)) as monitor:
        model(x)
        model(x)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len(monitor.records) == 2 * (1 + zoo.H)
    assert rows[-1] == monitor.records[-1].as_dict() and rows[-1]["head"] == zoo.H - 1


def test_tensorboard(x, tmp_path):
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    model = nn.Sequential(zoo.Plain(), zoo.Plain())
    writer = SummaryWriter(str(tmp_path))
    with probe.Monitor(model, every=3, to=[trackers.tensorboard(writer, heads=True)]) as monitor:
        for _ in range(4):
            model(x)
    writer.close()
    events = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0})
    events.Reload()
    scalars = events.Scalars("attention/1/entropy")
    mine = [r.entropy for r in monitor.records if r.module == "1" and r.head is None]
    assert [event.step for event in scalars] == [0, 3] and [event.value for event in scalars] == pytest.approx(mine, rel=1e-6)
    assert "attention/0/head_4/max_logit" in events.Tags()["scalars"]
    with pytest.raises(TypeError, match="SummaryWriter"):
        trackers.tensorboard(object())


def test_weights_and_biases_offline(x, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="Weights & Biases is not installed")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with pytest.raises(RuntimeError, match=r"wandb\.init"):
        trackers.wandb()
    run = wandb.init(mode="offline", dir=str(tmp_path), project="test")
    try:
        model = zoo.Plain()
        with probe.Monitor(model, every=2, to=trackers.wandb()) as monitor:
            for _ in range(3):
                model(x)
        summary = dict(run.summary)
    finally:
        run.finish()
    assert summary["attention/step"] == 2
    assert summary["attention/Plain/max_logit"] == pytest.approx([r for r in monitor.records if r.head is None][-1].max_logit)


def test_mlflow_offline(x, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(tmp_path.as_uri())
    mlflow.set_experiment("attention")
    with mlflow.start_run() as run:
        model = zoo.Plain()
        with probe.Monitor(model, every=2, to=trackers.mlflow()) as monitor:
            for _ in range(3):
                model(x)
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "attention/Plain/entropy")
    assert [(m.step, m.value) for m in history] == [(r.step, pytest.approx(r.entropy)) for r in monitor.records if r.head is None]


@pytest.fixture(scope="module", autouse=True)
def torchvision_operators() -> None:
    """A torchvision beside another build of torch than its own imports only where its operators are declared."""
    if importlib.util.find_spec("torchvision") is not None:
        sys.path.insert(0, str(Path(__file__).parents[1] / "ecosystem"))
        import tiny

        tiny.declare_torchvision_operators()


def test_the_callback_of_transformers(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    config = transformers.GPT2Config(n_layer=2, n_head=3, n_embd=24, vocab_size=40, n_positions=16, attn_implementation="eager")
    model = transformers.GPT2LMHeadModel(config)
    rows = [{"input_ids": ids, "labels": ids} for ids in torch.randint(0, 40, (12, 9))]
    arguments = transformers.TrainingArguments(
        str(tmp_path), per_device_train_batch_size=2, max_steps=5, report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True
    )
    seen = []
    callback = trackers.transformers_callback(every=2, to=seen.extend)
    transformers.Trainer(model, arguments, train_dataset=rows, callbacks=[callback]).train()
    assert sorted({r.step for r in seen}) == [0, 2, 4] and list(callback.monitor.records) == seen
    assert {r.module for r in seen} == {"transformer.h.0.attn", "transformer.h.1.attn"}
    assert all(r.status == "ok" for r in seen) and {r.head for r in seen} == {None, 0, 1, 2}
    model(rows[0]["input_ids"][None])
    assert len(callback.monitor.records) == len(seen), "the monitor is out of the model after training"


def test_the_callback_of_lightning(x, tmp_path):
    lightning = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = zoo.Plain()

        def training_step(self, batch, index):
            return self.model(batch).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    module = Module()
    callback = trackers.lightning_callback(every=3)
    trainer = lightning.Trainer(
        max_steps=5,
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        default_root_dir=str(tmp_path),
    )
    trainer.fit(module, torch.utils.data.DataLoader(x.repeat(4, 1, 1), batch_size=zoo.B))
    assert sorted({r.step for r in callback.monitor.records}) == [0, 3]
    assert {r.module for r in callback.monitor.records} == {"model"}
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


def test_no_library_is_imported_for_the_user(monkeypatch):
    for name in ("wandb", "mlflow", "transformers", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)
    for make in (trackers.wandb, trackers.mlflow, trackers.transformers_callback, trackers.lightning_callback):
        with pytest.raises(RuntimeError, match=r"is not imported: write `import"):
            make()


def test_a_figure_that_is_no_number_is_not_logged():
    record = probe.Record(0, "m", None, "fault", "non-finite", math.nan, math.inf, None, 3.0, 0.5, 0.0)
    assert dict(trackers.metrics([record])) == {"attention/m/max_logit": 3.0, "attention/m/max_weight": 0.5, "attention/m/saturated": 0.0}
    assert record.as_dict()["ratio"] is None
