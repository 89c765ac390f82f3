"""transformers and timm: no crash, the same outputs, and every flag explained in the table beside this file."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))

import table  # noqa: E402
import tiny  # noqa: E402

from attnlint import probe  # noqa: E402

pytestmark = [pytest.mark.ecosystem, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="session")
def transformers():
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")
    tiny.declare_torchvision_operators()
    found = pytest.importorskip("transformers")
    logging.getLogger("transformers").setLevel(logging.CRITICAL)
    torch.set_num_threads(1)
    return found


@pytest.fixture(scope="session")
def timm():
    tiny.declare_torchvision_operators()
    torch.set_num_threads(1)
    return pytest.importorskip("timm", exc_type=ImportError)


def tensors(output):
    if isinstance(output, torch.Tensor):
        return [output]
    parts = output.values() if hasattr(output, "values") else output if isinstance(output, (tuple, list)) else ()
    return [t for part in parts for t in tensors(part)]


def examine(name, model, run, attention=""):
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(3)
        plain = tensors(run())
        torch.manual_seed(3)
        with probe.watch(model) as report:
            seen = tensors(run())
    assert len(plain) == len(seen) > 0
    assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(plain, seen, strict=True)), "the probe changed the outputs"
    assert report.internal_errors == []
    expected, why = table.FLAGS.get(f"{name}-{attention}", table.FLAGS.get(name, ("ok", "")))
    assert report.status == expected, f"{name}: {report}\nexplained as: {why or 'nothing'}"


@pytest.mark.parametrize(
    ("model_type", "attention"), [(t, a) for t in table.BOTH for a in ("eager", "sdpa")] + [(t, "eager") for t in table.EAGER]
)
def test_transformers(transformers, model_type, attention):
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    if model_type not in CONFIG_MAPPING:
        pytest.skip(f"transformers {transformers.__version__} has no {model_type}")
    try:
        model = tiny.build(model_type, attention)
        given = tiny.inputs(model)
        with torch.no_grad():
            model(**given)
    except Exception as error:
        pytest.skip(f"no tiny {model_type} in transformers {transformers.__version__}: {type(error).__name__}")
    examine(model_type, model, lambda: model(**given), attention)


@pytest.mark.parametrize("name", table.TIMM)
def test_timm(timm, name):
    if name not in timm.list_models():
        pytest.skip(f"timm {timm.__version__} has no {name}")
    torch.manual_seed(0)
    model = timm.create_model(name).eval()
    x = torch.randn(1, *model.default_cfg.get("input_size", (3, 224, 224)))
    examine(name, model, lambda: model(x))


def test_the_check_is_wide_enough():
    assert len(table.BOTH) + len(table.EAGER) >= 100 and len(table.TIMM) >= 40
    known = {*table.BOTH, *table.EAGER, *table.TIMM}
    named = {name.removesuffix("-eager") for name in table.FLAGS}
    assert named <= known, sorted(named - known)
