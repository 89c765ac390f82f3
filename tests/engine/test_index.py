"""The index of the tree: callers, helpers and superclasses in other files are found by any name, also from one file alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

MIX = """\
import torch


def mix(left, right, carried, factor):
    return torch.softmax(left @ right.transpose(-2, -1) * factor, dim=-1) @ carried
"""
BASE = """\
import torch
from torch import nn


class Mixer(nn.Module):
    def mix(self, q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1) * self.factor, dim=-1) @ v
"""
CALLER = """\
from torch import nn

{imports}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.share = heads, width // heads
        self.a, self.b, self.c = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def {method}(self, x):
        n, t, _ = x.shape
        a = self.a(x).view(n, t, self.heads, self.share).transpose(1, 2)
        b = self.b(x).view(n, t, self.heads, self.share).transpose(1, 2)
        c = self.c(x).view(n, t, self.heads, self.share).transpose(1, 2)
        return {call}(a, b, c, {factor})
"""
RIGHT, WRONG = "self.share**-0.5", "self.share**0.5"


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / (name.replace("__", "/").replace("init", "__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def codes(attnlint: Any, *paths: str) -> list[str]:
    result = attnlint("check", *paths, "--no-cache", "--isolated", "--output-format", "json", "--select", "ATT1")
    return [f"{Path(finding['filename']).name} {finding['code']}" for finding in json.loads(result.out)]


IMPORTS = {
    "by name": ("from tools.mixing import mix", "mix"),
    "under another name": ("from tools.mixing import mix as blend", "blend"),
    "of a module": ("from tools import mixing", "mixing.mix"),
    "handed on": ("from tools import mix", "mix"),
    "all of it": ("from tools.mixing import *", "mix"),
}


@pytest.mark.parametrize("how", IMPORTS)
@pytest.mark.parametrize(("factor", "found"), [(RIGHT, []), (WRONG, ["block.py ATT104"])])
@pytest.mark.parametrize("given", [".", "block.py"])
def test_a_helper_is_found_by_any_name(attnlint: Any, tmp_path: Path, how: str, factor: str, found: list[str], given: str) -> None:
    imports, call = IMPORTS[how]
    write(tmp_path, tools__init="from .mixing import mix\n", tools__mixing=MIX)
    write(tmp_path, block=CALLER.format(imports=imports, call=call, factor=factor, method="forward"))
    assert codes(attnlint, given) == found


@pytest.mark.parametrize("method", ["forward", "blend"])
def test_whatever_the_method_is_called(attnlint: Any, tmp_path: Path, method: str) -> None:
    write(tmp_path, mixing=MIX, block=CALLER.format(imports="from mixing import mix", call="mix", factor=WRONG, method=method))
    assert codes(attnlint, ".") == ["block.py ATT104"]


def test_a_package_needs_no_init(attnlint: Any, tmp_path: Path) -> None:
    imports = "from house.tools.mixing import mix"
    write(
        tmp_path, house__tools__mixing=MIX, house__models__block=CALLER.format(imports=imports, call="mix", factor=WRONG, method="forward")
    )
    assert codes(attnlint, "house/models/block.py") == ["block.py ATT104"]
    assert codes(attnlint, ".") == ["block.py ATT104"]


@pytest.mark.parametrize(("power", "found"), [("-0.5", []), ("0.5", ["ATT104"])])
def test_a_superclass_is_found_by_any_name(attnlint: Any, tmp_path: Path, power: str, found: list[str]) -> None:
    own = CALLER.format(imports="from tools.base import Mixer", call="self.mix", factor="", method="forward").replace("nn.Module", "Mixer")
    own = own.replace("(a, b, c, )", "(a, b, c)").replace(
        "heads, width // heads\n", f"heads, width // heads\n        self.factor = self.share**{power}\n"
    )
    write(tmp_path, tools__base=BASE, block=own)
    assert [one.partition(" ")[2] for one in codes(attnlint, "block.py")] == found


def test_what_leads_to_no_attention_is_left_alone(attnlint: Any, tmp_path: Path) -> None:
    write(tmp_path, mixing=MIX.replace("torch.softmax", "torch.tanh").replace(", dim=-1", ""))
    write(tmp_path, block=CALLER.format(imports="from mixing import mix", call="mix", factor=WRONG, method="forward"))
    assert codes(attnlint, ".") == []
