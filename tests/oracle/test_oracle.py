"""Programs that are run and linted: what is proved holds in every run, and silence does not buy it.

`python -m tests.oracle` runs more of them and counts by mechanism.
"""

from __future__ import annotations

import collections
import json
import random
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from . import gaps
from .__main__ import described, tally
from .grammar import Program, draw, names
from .promise import judge, program_of
from .running import runs

FLOORS = json.loads((Path(__file__).parent / "floors.json").read_text(encoding="utf-8"))
GAPS = gaps.read()


def mechanisms(backend: str) -> list[object]:
    """Every mechanism; the known gaps are strict, so that one that closes has to leave the list."""
    return [
        pytest.param(name, marks=pytest.mark.xfail(reason=GAPS[backend, name], strict=True, raises=AssertionError), id=name)
        if (backend, name) in GAPS
        else pytest.param(name, id=name)
        for name in names(backend)
    ]


@pytest.mark.fast
@pytest.mark.parametrize("mechanism", mechanisms("numpy"))
def test_mechanism(mechanism: str) -> None:
    assert gaps.broken("numpy", mechanism) == []


@pytest.mark.deep
@pytest.mark.parametrize("mechanism", mechanisms("torch"))
def test_mechanism_in_torch(mechanism: str) -> None:
    assert gaps.broken("torch", mechanism) == []


def test_known_gaps_name_mechanisms() -> None:
    assert {mechanism for backend, mechanism in GAPS if backend == "numpy"} <= set(names("numpy"))
    assert {mechanism for backend, mechanism in GAPS if backend == "torch"} <= set(names("torch"))


@pytest.mark.deep
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_floors(backend: str) -> None:
    """What is proved and reported of a series, and how many programs break a promise, is no worse than it was."""
    total: collections.Counter[str] = collections.Counter()
    for number in range(FLOORS["programs"]):
        total.update(tally(judge(program_of(0, number, backend))))
    figures = {
        "broken": total["broken"] / FLOORS["programs"],
        "proved": total["proved"] / total["right"],
        "reported": total["reported"] / total["wrong"],
    }
    floor = FLOORS[backend]
    assert figures["broken"] <= floor["broken"], figures
    assert figures["proved"] >= floor["proved"], figures
    assert figures["reported"] >= floor["reported"], figures


@st.composite
def programs(draw_one: st.DrawFn, backend: str) -> Program:
    """The same grammar, drawn by hypothesis, which makes a failing program smaller."""
    return draw(draw_one(st.randoms(use_true_random=False)), backend)


@pytest.mark.deep
@settings(max_examples=500)
@given(programs("numpy"))
def test_promise(program: Program) -> None:
    assume(not any(("numpy", mechanism) in GAPS for mechanism in program.mechanisms))
    judged = judge(program)
    assert not judged.broken, described(0, judged)


# the oracle itself ------------------------------------------------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("scaled", "ratio"),
    [("q @ k.T * w_q.shape[1] ** -0.5", 1.0), ("q @ k.T", 8**0.5), ("q @ k.T / w_q.shape[1]", 8**-0.5), ("(q * (q > 0)) @ k.T", None)],
)
def test_the_measured_ratio(backend: str, scaled: str, ratio: float | None) -> None:
    softmax = "torch.softmax(logits, dim=-1)" if backend == "torch" else "softmax(logits)"
    head = "import torch" if backend == "torch" else "import numpy as np\n\n\ndef softmax(x):\n    return np.exp(x)"
    make = "torch.randn" if backend == "torch" else "np.random.randn"
    text = f"""
{head}


def attend(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    logits = {scaled}
    return {softmax} @ v


x, w_q, w_k, w_v = {make}(5, 24), {make}(24, 8), {make}(24, 8), {make}(24, 8)
"""
    function = Program({"model.py": text}, "function", "attend", 1, backend, "", (), ())
    ((where, measured),) = runs(function)[0].ratios
    assert where == "attend"
    assert measured == (None if ratio is None else pytest.approx(ratio))


@pytest.mark.fast
def test_the_same_number_is_the_same_program() -> None:
    assert program_of(3, 5, "numpy") == program_of(3, 5, "numpy")
    assert draw(random.Random(1)) != draw(random.Random(2))
