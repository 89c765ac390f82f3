import pytest

from attnlint.linter import lint_text
from attnlint.syntax.scope import ModuleScope

MODEL = """
import torch
from shapes import *


def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) * scale_of(q), dim=-1) @ v
"""
HELPER = "def scale_of(x):\n    return {power}\n"


@pytest.fixture
def read(monkeypatch):
    """The names of the files that are laid out."""
    names = []
    lay_out = ModuleScope.read.__func__

    def note(cls, path, text):
        names.append(path.rpartition("/")[2])
        return lay_out(cls, path, text)

    monkeypatch.setattr(ModuleScope, "read", classmethod(note))
    return names


@pytest.mark.parametrize(
    "helpers",
    [
        {"shapes.py": "HELPER"},
        {"shapes.py": "from there import *\n", "there.py": "HELPER"},
        {"shapes.py": "from there import (\n    size,\n    scale_of,\n)\n", "there.py": "HELPER"},
        {"shapes.py": "from there import\\\n   *\n", "there.py": "HELPER"},
    ],
)
def test_a_name_is_found_through_star_imports(tmp_path, helpers):
    verdicts = []
    for power in ("x.shape[-1] ** -0.5", "x.shape[-1] ** 0.5"):
        for name, text in helpers.items():
            (tmp_path / name).write_text(text.replace("HELPER", HELPER.format(power=power)))
        (site,) = lint_text(MODEL, str(tmp_path / "model.py")).sites
        verdicts.append(site.verdict)
    assert verdicts == ["correct", "faulty"]


def test_a_file_that_does_not_name_what_is_looked_for_is_not_laid_out(tmp_path, read):
    (tmp_path / "shapes.py").write_text("from others import *\nfrom there import *\n")
    (tmp_path / "others.py").write_text("import there\n\nsize = there.scale_of\nunscale_of = scale_of_all = 1\n")
    (tmp_path / "there.py").write_text(HELPER.format(power="x.shape[-1] ** -0.5"))
    result = lint_text(MODEL, str(tmp_path / "model.py"))
    assert [site.verdict for site in result.sites] == ["correct"]
    assert read == ["model.py", "shapes.py", "there.py"]
    assert [path.rpartition("/")[2] for path in result.dependencies] == ["others.py", "shapes.py", "there.py"]


KERNELS = {
    "kernels/__init__.py": "from .attention import attention\n",
    "kernels/attention.py": "import torch\n\n\ndef attention(q, k, v):\n"
    "    return torch.softmax(q @ k.mT * q.shape[-1] ** POWER, dim=-1) @ v\n",
    "kernels/plain/__init__.py": "from . import attention\n",
    "kernels/plain/attention.py": "POWER = -1\n",
}
MODEL_OF_KERNELS = """
import torch
from kernels import attention
from kernels.plain import attention as module


def layer(x, q, k, v):
    return attention(q(x), k(x), v(x))


def other(q, k, v):
    return torch.softmax(q @ k.mT * q.shape[-1] ** module.POWER, dim=-1) @ v
"""


@pytest.mark.parametrize(("power", "verdict"), [("-0.5", "correct"), ("0.5", "faulty")])
def test_a_function_is_found_that_is_called_as_its_file_is(tmp_path, power, verdict):
    for name, text in KERNELS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.replace("POWER, dim", f"({power}), dim"))
    (tmp_path / "model.py").write_text(MODEL_OF_KERNELS)
    found = {site.qualname: site.verdict for site in lint_text(MODEL_OF_KERNELS, str(tmp_path / "model.py")).sites}
    assert found == {"attention": verdict, "layer": verdict, "other": "faulty"}
