"""Fixes of wrong scales over the corpus of labelled programs, and where none is offered."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent.parent / "cases"
KINDS = (
    "missing-scale",
    "wrong-dim-scale",
    "unrooted-scale",
    "inverted-scale",
    "double-scale",
    "scale-after-softmax",
    "scale-precedence",
    "scaled-mask-or-bias",
    "constant-scale",
)
CHECK = ("check", "--isolated", "--no-cache", "--select", ",".join(KINDS), "--output-format", "json")


def faulty() -> list[Path]:
    def has_scale_fault(path: Path) -> bool:
        return any(f"expect: {kind} " in path.read_text() for kind in KINDS)

    return [path for path in sorted(CASES.glob("*/*.py")) if has_scale_fault(path)]


# no certain fix: which expression is to be changed, or to what, is not in the file
UNFIXED = {
    "torch/missing_where_one_of_several_flags_is_forgotten": "the product is right wherever the flag is set that is not forgotten",
    "keras/missing_dot_objects": "the operands stand in a list that a layer object takes",
    "tensorflow/wrongdim_sizes_before_and_while_it_runs": "the function that scales has no name for the size of a head",
    "torch/missing_where_a_subclass_leaves_it_out": "the function that forms the product is right for the base class",
    "torch/missing_where_the_kernel_is_changed_too_late": "a factor at the product would scale the other path twice",
    "torch/missing_on_one_of_many_paths": "whether the products with positions are to be scaled along is not in the file",
    "torch/missing_helper_default_one": "the helper that lacks the factor is right for its other callers",
    "torch/double_on_one_of_three_paths": "the function that scales is handed the module, which one of its callers may fill in otherwise",
    "torch/wrongdim_constructor_argument_of_instance": "the class that scales is right for who hands it the size of a head",
    "torch/wrongdim_latent_keys_absorbed_root_of_width": "the width that the keys would have has no name",
    "numpy/missing_script_integers": "the product stands beside random integers whose size has no name",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A copy of the faulty programs of the corpus, all fixed, and the findings left by file."""
    from inprocess import run_attnlint

    root = tmp_path_factory.mktemp("corpus")
    for path in faulty():
        copy = root / path.relative_to(CASES)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    before = os.getcwd()
    os.chdir(root)
    try:
        done = run_attnlint(*CHECK, "--fix", "--unsafe-fixes", root)
    finally:
        os.chdir(before)
    assert "not fixed" not in done.err
    left = {str(Path(one["filename"]).resolve()): one["message"] for one in json.loads(done.out)}
    return root, left


@pytest.mark.parametrize("path", faulty(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_fixed_program_is_clean_and_differs_in_few_rows(path: Path, corpus: tuple[Path, dict[str, str]]) -> None:
    root, left = corpus
    copy = root / path.relative_to(CASES)
    message = left.get(str(copy.resolve()))
    if f"{path.parent.name}/{path.stem}" in UNFIXED:
        assert message is not None
        return
    assert message is None
    old, new = path.read_text().splitlines(), copy.read_text().splitlines()
    if old == new:
        pytest.skip("not reported in the first place, which the test of the corpus speaks of")
    compile(copy.read_text(), str(copy), "exec")
    changed = [row for row in difflib.ndiff(old, new) if row.startswith(("- ", "+ "))]
    assert 1 <= len(changed) <= 4


def fix_of(attnlint: Callable[..., Any], source: str) -> tuple[str, str]:
    """The fixed text, and what is reported of the text as it was."""
    path = Path("model.py")
    path.write_bytes(source.encode())
    concise = attnlint(*CHECK[:-1], "concise", path).out
    attnlint(*CHECK, "--fix", "--unsafe-fixes", path)
    return path.read_bytes().decode(), concise


HEAD = """import math
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        {init}
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        {logits}
        return (torch.softmax(logits, dim=-1) @ v).transpose(1, 2).reshape(b, t, c)
"""


def model(logits: str, init: str = "self.width = width") -> str:
    return HEAD.format(logits=logits.replace("\n", "\n        "), init=init)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("logits = q @ k.mT", "logits = (q @ k.mT) * self.head_dim ** -0.5"),
        ("logits = -(q @ k.mT) * -1", "logits = -((q @ k.mT) * self.head_dim ** -0.5) * -1"),
        ("logits = q @ k.mT / self.width ** 0.5", "logits = q @ k.mT / self.head_dim ** 0.5"),
        ("logits = q @ k.mT / math.sqrt(  c  )  # width", "logits = q @ k.mT / math.sqrt(  self.head_dim  )  # width"),
        (
            "logits = (q / torch.sqrt(torch.tensor(float(c)))) @ k.mT",
            "logits = (q / torch.sqrt(torch.tensor(float(self.head_dim)))) @ k.mT",
        ),
        ("logits = q @ k.mT / self.head_dim", "logits = q @ k.mT / self.head_dim ** 0.5"),
        ("logits = q @ k.mT * (1 / self.head_dim)", "logits = q @ k.mT * (self.head_dim ** -0.5)"),
        ("logits = q @ k.mT\nlogits /= self.head_dim", "logits = q @ k.mT\nlogits /= self.head_dim ** 0.5"),
        ("logits = q @ k.mT * math.sqrt(self.head_dim)", "logits = q @ k.mT / math.sqrt(self.head_dim)"),
        ("logits = torch.mul(q @ k.mT, math.sqrt(self.head_dim))", "logits = torch.div(q @ k.mT, math.sqrt(self.head_dim))"),
        ("logits = math.sqrt(self.head_dim) * (q @ k.mT)", "logits = 1 / math.sqrt(self.head_dim) * (q @ k.mT)"),
        ("logits = q @ k.mT * self.head_dim ** 0.5", "logits = q @ k.mT * self.head_dim ** -0.5"),
        ("logits = q @ k.mT / 8", "logits = q @ k.mT / self.head_dim ** 0.5"),
        ("logits = torch.div(q @ k.mT, c ** 0.5)", "logits = torch.div(q @ k.mT, self.head_dim ** 0.5)"),
        ("logits = q @ k.mT / self.head_dim ** 1 / 2", "logits = q @ k.mT / self.head_dim ** (1 / 2)"),
        ("logits = q @ k.mT * self.head_dim ** -1 / 2", "logits = q @ k.mT * self.head_dim ** (-1 / 2)"),
    ],
)
def test_the_expression_at_fault_is_rewritten_and_every_other_byte_kept(attnlint: Callable[..., Any], wrong: str, right: str) -> None:
    fixed, concise = fix_of(attnlint, model(wrong))
    assert fixed == model(right), concise


ROOT = "self.scale = self.head_dim ** -0.5"


@pytest.mark.parametrize(
    ("init", "wrong", "right"),
    [
        (ROOT, "logits = q @ k.mT", "logits = (q @ k.mT) * self.scale"),
        ("self.root = math.sqrt(self.head_dim)", "logits = q @ k.mT", "logits = (q @ k.mT) / self.root"),
        (ROOT, "logits = q @ k.mT / self.scale", "logits = q @ k.mT * self.scale"),
        (ROOT, "logits = q @ k.mT\nlogits.div_(self.scale)", "logits = q @ k.mT\nlogits.mul_(self.scale)"),
        (ROOT, "logits = q @ k.mT\nlogits /= self.scale", "logits = q @ k.mT\nlogits *= self.scale"),
        (ROOT, "q = q * self.scale\nlogits = q @ k.mT * self.scale", "q = q * self.scale\nlogits = q @ k.mT"),
        (ROOT, "q = q * self.scale\nlogits = q @ k.mT\nlogits *= self.scale", "q = q * self.scale\nlogits = q @ k.mT"),
        (ROOT, "q = q * self.scale\nlogits = q @ k.mT\nlogits = logits * self.scale", "q = q * self.scale\nlogits = q @ k.mT"),
        (ROOT, "logits = self.scale * (self.scale * q @ k.mT)", "logits = self.scale * q @ k.mT"),
    ],
)
def test_a_scale_that_the_class_holds_is_used(attnlint: Callable[..., Any], init: str, wrong: str, right: str) -> None:
    fixed, concise = fix_of(attnlint, model(wrong, init))
    assert fixed == model(right, init), concise


def test_the_number_is_corrected_where_it_is_made_if_nothing_else_reads_it(attnlint: Callable[..., Any]) -> None:
    source = model("logits = q @ k.mT * self.scale", "self.scale = width ** -0.5")
    assert fix_of(attnlint, source)[0] == model("logits = q @ k.mT * self.scale", "self.scale = self.head_dim ** -0.5")


def test_a_number_that_something_else_reads_is_left_and_the_application_corrected(attnlint: Callable[..., Any]) -> None:
    reads_it = "\n    def describe(self):\n        return self.scale\n"
    source = model("logits = q @ k.mT * self.scale", "self.scale = width ** -0.5") + reads_it
    fixed, _ = fix_of(attnlint, source)
    assert fixed == model("logits = q @ k.mT * self.head_dim ** -0.5", "self.scale = width ** -0.5") + reads_it


def test_a_name_that_is_bound_later_or_on_one_way_only_is_not_used(attnlint: Callable[..., Any]) -> None:
    plain = model("if t > 1:\n    d_k = c // self.heads\n{0}\nhead_dim = c // self.heads")
    plain = plain.replace("self.heads, self.head_dim = heads, width // heads", "self.heads = heads").replace(
        "self.head_dim)", "c // self.heads)"
    )
    fixed, concise = fix_of(attnlint, plain.replace("{0}", "logits = q @ k.mT"))
    assert fixed == plain.replace("{0}", "logits = (q @ k.mT) * (self.width // self.heads) ** -0.5"), concise


def test_windows_line_ends_and_indentation_of_a_call_over_several_rows_are_kept(attnlint: Callable[..., Any]) -> None:
    call = (
        "q = q * self.head_dim ** -0.5\nreturn F.scaled_dot_product_attention(\n    q,\n    k,  # keys\n    v,\n"
        ").transpose(1, 2).reshape(b, t, c)\nlogits = 0"
    )
    source = model(call).replace("\n", "\r\n")
    fixed, concise = fix_of(attnlint, source)
    assert "ATT105" in concise
    assert fixed == source.replace("            v,\r\n", "            v,\r\n            scale=1.0,\r\n")


def test_a_second_run_changes_nothing(attnlint: Callable[..., Any]) -> None:
    once, _ = fix_of(attnlint, model("logits = q @ k.mT / self.width ** 0.5"))
    assert fix_of(attnlint, once) == (once, "1 attention in 1 file: 1 proved\n")


def test_scales_are_changed_only_where_unsafe_fixes_are_allowed(attnlint: Callable[..., Any]) -> None:
    source = model("logits = q @ k.mT / self.width ** 0.5")
    Path("model.py").write_text(source)
    found = attnlint(*CHECK, "--fix", "model.py").json
    assert [one["fix"]["applicability"] for one in found] == ["unsafe"]
    assert Path("model.py").read_text() == source


def test_statements_that_share_a_row_bind_their_names_one_after_the_other(attnlint: Callable[..., Any]) -> None:
    row = "d = c // self.heads; q, k, v = self.qkv(x).view(b, t, 3, self.heads, d).permute(2, 0, 3, 1, 4); {0}; d = 1"
    fixed, concise = fix_of(
        attnlint, model(row.format("logits = q @ k.mT / c ** 0.5; d = t")).replace(", self.head_dim = heads, w", " = heads  # w")
    )
    assert "/ d ** 0.5" not in fixed, concise
    source = model(row.removesuffix("; d = 1").format("logits = q @ k.mT / c ** 0.5")).replace(
        ", self.head_dim = heads, w", " = heads  # w"
    )
    assert fix_of(attnlint, source)[0] == source.replace("/ c ** 0.5", "/ d ** 0.5")


OTHER = """

class Other(nn.Module{base}):
    def __init__(self, width):
        super().__init__()
        self.scale = width ** -0.5
        scale = 2.0
        self.apply(lambda one: one.register_buffer("weight", torch.ones(1) * scale))

    def forward(self, x):
        return x * self.scale
"""


def test_an_attribute_of_the_same_name_in_a_class_apart_is_another_number(attnlint: Callable[..., Any]) -> None:
    source = model("logits = q @ k.mT * self.scale", "self.scale = width ** -0.5") + OTHER.format(base="")
    fixed, _ = fix_of(attnlint, source)
    assert fixed == source.replace("self.scale = width ** -0.5", "self.scale = self.head_dim ** -0.5", 1)


def test_an_attribute_that_a_subclass_reads_is_left_and_the_application_corrected(attnlint: Callable[..., Any]) -> None:
    derived = OTHER.format(base="").replace("nn.Module", "Attention")
    source = model("logits = q @ k.mT * self.scale", "self.scale = width ** -0.5") + derived
    fixed, _ = fix_of(attnlint, source)
    assert fixed == source.replace("k.mT * self.scale", "k.mT * self.head_dim ** -0.5")


def test_a_local_name_is_not_taken_for_the_attribute_called_like_it(attnlint: Callable[..., Any]) -> None:
    local = "\n    def begin(self):\n        scale = 0.02\n        nn.init.normal_(self.qkv.weight, std=scale)\n"
    source = model("logits = q @ k.mT * self.scale", "self.scale = width ** -0.5") + local
    assert fix_of(attnlint, source)[0] == source.replace("self.scale = width", "self.scale = self.head_dim")


@pytest.mark.parametrize(
    "beside",
    [
        "logits = q @ k.mT * self.scale + self.shift((q * self.scale) @ self.positions.mT)",
        "if self.fused:\n    return self.kernel(q, k, v, scale=self.scale)\nlogits = q @ k.mT * self.scale",
        "scale = self.scale\nlogits = q @ k.mT * scale",
    ],
    ids=["a share of the logits", "the fused way", "another name"],
)
def test_what_is_scaled_beside_the_product_stays_in_step_with_it(attnlint: Callable[..., Any], beside: str) -> None:
    source = model(beside, "self.scale = width ** -0.5")
    assert fix_of(attnlint, source)[0] == source.replace("self.scale = width", "self.scale = self.head_dim")


@pytest.mark.parametrize(
    ("made", "wrong", "right"),
    [
        ("width // heads if size is None else size", "self.d * self.heads", "self.d"),
        ("size or width // heads", "self.d * self.heads", "self.d"),
        ("int(width / heads)", "width", "self.d"),
    ],
)
def test_a_head_size_that_is_given_or_derived_is_called_by_its_name(
    attnlint: Callable[..., Any], made: str, wrong: str, right: str
) -> None:
    plain = model("logits = q @ k.mT * self.scale", "self.scale = {0} ** -0.5")
    plain = plain.replace("self.heads, self.head_dim = heads, width // heads", f"self.heads = heads\n        self.d = {made}")
    plain = plain.replace("width, heads)", "width, heads, size=None)").replace("self.head_dim", "self.d")
    plain = plain.replace("3 * width", "3 * heads * self.d").replace("b, t, c)", "b, t, -1)")
    wrong = wrong if wrong == "width" else f"({wrong})"
    assert fix_of(attnlint, plain.replace("{0}", wrong))[0] == plain.replace("{0}", right)


def test_a_setting_that_may_be_missing_is_named_in_methods_as_the_constructor_names_it(attnlint: Callable[..., Any]) -> None:
    plain = model("logits = q @ k.mT / math.sqrt({0})").replace("width, heads)", "config)").replace("width", "config.hidden_size")
    plain = plain.replace(
        "self.heads, self.head_dim = heads, config.hidden_size // heads",
        'self.heads = config.heads\n        self.head_dim = getattr(config, "head_dim", config.hidden_size // self.heads)',
    ).replace("nn.Linear(config.hidden_size, 3 * config.hidden_size)", "nn.Linear(config.hidden_size, 3 * self.heads * self.head_dim)")
    source = plain.replace("{0}", "self.head_dim * self.heads").replace("b, t, c)", "b, t, -1)")
    assert fix_of(attnlint, source)[0] == source.replace("self.head_dim * self.heads)\n", "self.head_dim)\n")


def test_parentheses_around_a_name_are_not_kept_beside_new_ones(attnlint: Callable[..., Any]) -> None:
    fixed, _ = fix_of(attnlint, model("logits = q @ k.mT / (k.shape[-1])"))
    assert fixed == model("logits = q @ k.mT / (k.shape[-1] ** 0.5)")


def test_comments_in_parentheses_are_kept_once(attnlint: Callable[..., Any]) -> None:
    lines = "logits = (  # before\n    # above\n    {0}q  # the query\n    @ k.mT{1}  # the key\n    # below\n)"
    fixed, _ = fix_of(attnlint, model(lines.format("", "")))
    assert fixed == model(lines.format("(", ") * self.head_dim ** -0.5"))


def test_a_comment_that_would_be_lost_is_a_reason_for_no_fix(attnlint: Callable[..., Any]) -> None:
    twice = "q = q * self.scale{0}\nlogits = (\n    q @ k.mT{0}\n    * self.scale\n)"
    source = model(twice.format("  # as in the paper"), ROOT)
    fixed, concise = fix_of(attnlint, source)
    assert fixed == source
    assert "ATT105" in concise
    assert fix_of(attnlint, model(twice.format(""), ROOT))[0] != model(twice.format(""), ROOT)


def test_rows_inside_an_edit_keep_their_own_line_ends(attnlint: Callable[..., Any]) -> None:
    lines = "logits = (\r\n    q\n    @ k.mT\r\n    / {0}\n)"
    fixed, _ = fix_of(attnlint, model(lines.replace("/ {0}", "* self.head_dim ** 0.5 * 1")))
    assert fixed == model(lines.replace("/ {0}", "* self.head_dim ** -0.5 * 1"))
    lines = "logits = (\r\n    q{0}\n    @ k.mT{1}\r\n    # below\n)"
    fixed, _ = fix_of(attnlint, model(lines.replace("{0}", "").replace("{1}", "")))
    assert fixed.replace("(q", "q").replace(") * self.head_dim ** -0.5", "") == model(lines.replace("{0}", "").replace("{1}", ""))


def test_a_configured_temperature_is_not_overwritten(attnlint: Callable[..., Any]) -> None:
    source = """import jax
from jax import numpy as jnp
from praxis import base_layer


class Attention(base_layer.BaseLayer):
    dim_per_head: int = 0

    def attend(self, query, key, value):
        b, t, n, h = query.shape
        query = query * self.dim_per_head ** -1.0 / self.atten_temp
        s, nk = key.shape[1:3]
        grouped = jnp.reshape(query, (b, t, nk, n // nk, h))
        weights = jax.nn.softmax(jnp.einsum("btkgh,bskh->bkgts", grouped, key), axis=-1)
        return jnp.einsum("bkgts,bskh->btkgh", weights, value).reshape((b, t, n, h))
"""
    fixed, concise = fix_of(attnlint, source)
    assert "ATT103" in concise
    assert "/ self.atten_temp" in fixed


def test_a_number_that_holds_something_else_on_another_way_is_left(attnlint: Callable[..., Any]) -> None:
    lines = "norm = self.head_dim\n{0}logits = q @ k.mT * (1.0 / norm)\n{1}"
    wide = model(
        lines.format(
            "if self.wide:\n    norm = norm * self.heads\n",
            "if self.wide:\n    return torch.softmax(logits * self.heads, dim=-1) @ v",
        )
    )
    fixed, concise = fix_of(attnlint, wide)
    assert concise.count("ATT103") == 2, concise
    assert fixed == wide
    plain = model(lines.format("", ""))
    assert fix_of(attnlint, plain)[0] == plain.replace("(1.0 / norm)", "(norm ** -0.5)")


def test_no_half_of_what_is_scaled_together_is_changed(attnlint: Callable[..., Any]) -> None:
    reads_it = "\n    def describe(self):\n        return self.scale\n"
    together = "logits = q @ k.mT * self.scale + self.shift((q * self.scale) @ self.positions.mT)"
    source = model(together, "self.scale = width ** -0.5") + reads_it
    fixed, concise = fix_of(attnlint, source)
    assert "ATT102" in concise
    assert fixed == source
