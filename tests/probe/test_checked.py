"""What a decorated function, method or class meets: NumPy arrays, subclasses, coroutines, generators, compilers."""

from __future__ import annotations

import asyncio
import typing
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from attnlint import probe

RNG = np.random.default_rng(0)
X = RNG.standard_normal((7, 12))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def right(q, k, v):
    return softmax(q @ k.T / np.sqrt(q.shape[-1])) @ v


def wrong(q, k, v):
    return softmax(q @ k.T) @ v


# --- NumPy -----------------------------------------------------------------------------------------------------------------------


def test_plain_arrays_are_seen_and_come_back_plain():
    attend = probe.checked(calls=1)(right)
    out = attend(X, X + 1, X)
    assert type(out) is np.ndarray and out.tobytes() == right(X, X + 1, X).tobytes()
    with pytest.raises(probe.AttentionFault, match=r"wrong\(\) \[missing-scale\]"):
        probe.checked(calls=1)(wrong)(X, X + 1, X)


def test_a_scalar_stays_a_scalar_and_an_array_without_axes_an_array():
    @probe.checked(calls=1)
    def attend(x, zero):
        out = right(x, x, x)
        return {"top": out.max(), "zero": zero, "list": [out.mean(), out]}

    zero = np.array(2.5)
    made = attend(X, zero)
    assert type(made["top"]) is np.float64 and made["zero"] is zero
    assert type(made["list"][0]) is np.float64 and type(made["list"][1]) is np.ndarray


class Layer:
    """Holds its weights as people write it: in attributes, a list and a dict, and keeps what it computed."""

    def __init__(self, attend):
        self.query, self.rest = RNG.standard_normal((12, 12)), [RNG.standard_normal((12, 12)), RNG.standard_normal((12, 12))]
        self.memory = {"keys": RNG.standard_normal((9, 12))}
        self.attend, self.trail = attend, []

    @probe.checked(calls=1)
    def forward(self, x):
        self.last = self.attend(x @ self.query, x @ self.rest[0], x @ self.rest[1])
        self.trail.append(self.last)
        return self.last

    @probe.checked(calls=1)
    def recall(self):
        return self.attend(self.memory["keys"], self.memory["keys"], self.memory["keys"])


def test_attributes_of_the_instance_are_seen_and_stay_the_very_arrays():
    layer = Layer(right)
    before = (layer.query, *layer.rest, layer.memory["keys"])
    copies = [a.copy() for a in before]
    layer.forward(X)
    layer.recall()
    after = (layer.query, *layer.rest, layer.memory["keys"])
    assert all(a is b for a, b in zip(before, after, strict=True))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(after, copies, strict=True))
    assert type(layer.last) is np.ndarray and type(layer.trail[0]) is np.ndarray
    for call in (lambda layer: layer.forward(X), lambda layer: layer.recall()):
        with pytest.raises(probe.AttentionFault, match="missing-scale"):
            call(Layer(wrong))


@dataclass(frozen=True)
class Weights:
    query: np.ndarray
    key: np.ndarray


class Pair(NamedTuple):
    keys: np.ndarray
    values: np.ndarray


def test_lists_dicts_tuples_and_dataclasses_among_the_arguments():
    weights, cache, pair = Weights(X, X + 1), [X], Pair(X, X)

    @probe.checked(calls=1)
    def attend(weights, cache, pair, *, options):
        out = right(weights.query, weights.key, pair.values) + right(cache[0], options["keys"], X)
        cache.append(out)
        return out

    options = {"keys": X, "name": "plain"}
    out = attend(weights, cache, pair, options=options)
    assert weights.query is X and cache[0] is X and options["keys"] is X and pair.keys is X
    assert cache[1] is out or type(cache[1]) is np.ndarray
    assert type(out) is np.ndarray


def test_arrays_of_a_closure_are_seen():
    def make(keys):
        @probe.checked(calls=1)
        def attend():
            return wrong(keys, keys, keys)

        return attend, lambda: keys

    attend, keys = make(X)
    with pytest.raises(probe.AttentionFault, match="missing-scale"):
        attend()
    assert keys() is X


def test_a_write_into_an_argument_is_the_callers_as_ever():
    @probe.checked(calls=1)
    def attend(q, k, v):
        q *= 12**-0.5
        return softmax(q @ k.T) @ v

    q = X.copy()
    attend(q, X, X)
    assert np.array_equal(q, X * 12**-0.5)


def test_an_error_leaves_plain_arrays_behind():
    layer = Layer(right)
    layer.attend = lambda q, k, v: 1 / 0
    with pytest.raises(ZeroDivisionError):
        layer.forward(X)
    assert type(layer.query) is np.ndarray and type(layer.rest[0]) is np.ndarray


# --- classes ---------------------------------------------------------------------------------------------------------------------


def test_a_subclass_that_writes_its_own_forward_is_checked():
    @probe.checked(calls=1)
    class Base:
        def forward(self, x):
            return right(x, x, x)

    class Wrong(Base):
        def forward(self, x):
            return wrong(x, x, x)

    class Wrapping(Base):
        def forward(self, x):
            return super().forward(x) + 1

    with pytest.raises(probe.AttentionFault, match="missing-scale"):
        Wrong().forward(X)
    model = Wrapping()
    model.forward(X)
    model.forward(X[:, :0])  # nothing is left to check: a call without attention passes


def test_a_subclass_may_be_decorated_otherwise():
    @probe.checked(calls=1)
    class Base:
        def forward(self, x):
            return right(x, x, x)

    @probe.checked(calls=2, on_fault="warn")
    class Loud(Base):
        def forward(self, x):
            return wrong(x, x, x)

    model = Loud()
    for _ in range(2):
        with pytest.warns(probe.AttentionFaultWarning, match="missing-scale"):
            model.forward(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.forward(X)


def test_the_superclass_hook_of_the_user_still_runs():
    seen = []

    @probe.checked(calls=1)
    class Base:
        def __init_subclass__(cls, tag=None, **kwargs):
            super().__init_subclass__(**kwargs)
            seen.append(tag)

        def forward(self, x):
            return right(x, x, x)

    class Sub(Base, tag="mine"):
        pass

    assert seen == ["mine"] and Sub().forward(X).shape == X.shape


def test_a_function_decorated_inside_a_class_body_counts_by_instance():
    class Model:
        forward = probe.checked(calls=1)(lambda self, x: wrong(x, x, x))

        @probe.checked(calls=1)
        def helper(q, k, v):  # called through the class: a function
            return wrong(q, k, v)

    for model in (Model(), Model()):
        with pytest.raises(probe.AttentionFault):
            model.forward(X)
        model.forward(X)
    with pytest.raises(probe.AttentionFault, match="missing-scale"):
        Model.helper(X, X, X)
    Model.helper(X, X, X)


# --- coroutines and generators ---------------------------------------------------------------------------------------------------


def test_a_coroutine_function_is_measured_across_its_waits():
    @probe.checked(calls=1)
    async def attend(x, scale):
        q = x * scale
        await asyncio.sleep(0)
        logits = q @ x.T
        await asyncio.sleep(0)
        return softmax(logits) @ x

    out = asyncio.run(attend(X, 12**-0.5))
    assert type(out) is np.ndarray

    @probe.checked(calls=1)
    async def other(x):
        await asyncio.sleep(0)
        return wrong(x, x, x)

    async def both():
        return await asyncio.gather(other(X), other(X), return_exceptions=True)

    first, second = asyncio.run(both())
    assert isinstance(first, probe.AttentionFault) and type(second) is np.ndarray


def test_another_tasks_attention_is_not_the_coroutines():
    torch = pytest.importorskip("torch")
    x = torch.randn(2, 9, 12)

    @probe.checked(calls=1)
    async def innocent():
        await asyncio.sleep(0)
        out = torch.softmax(x @ x.mT * 12**-0.5, -1) @ x
        await asyncio.sleep(0)
        return out

    async def guilty():
        for _ in range(4):
            await asyncio.sleep(0)
            torch.softmax(x @ x.mT, -1) @ x

    async def both():
        return await asyncio.gather(innocent(), guilty())

    assert asyncio.run(both())[0].shape == x.shape
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


def test_a_generator_fails_at_its_first_fault_and_passes_values_both_ways():
    @probe.checked(calls=1)
    def steps(x):
        scale = yield right(x, x, x)
        while True:
            scale = yield softmax(x @ x.T * scale) @ x

    running = steps(X)
    assert type(next(running)) is np.ndarray
    assert type(running.send(12**-0.5)) is np.ndarray
    with pytest.raises(probe.AttentionFault, match="missing-scale"):
        running.send(1.0)

    later = steps(X)  # the second call is not checked any more
    next(later)
    later.send(1.0)
    later.close()


def test_a_generator_without_attention_says_so_at_its_end():
    @probe.checked(calls=1)
    def steps(n):
        yield from range(n)

    with pytest.raises(probe.AttentionFault, match="no attention"):
        list(steps(3))
    half = probe.checked(calls=1)(steps.__wrapped__)(3)
    assert next(half) == 0
    half.close()  # given up early: nothing to judge


def test_an_async_generator():
    @probe.checked(calls=1)
    async def steps(x):
        yield right(x, x, x)
        await asyncio.sleep(0)
        yield wrong(x, x, x)

    async def main():
        return [type(step) async for step in steps(X)]

    with pytest.raises(probe.AttentionFault, match="missing-scale"):
        asyncio.run(main())
    assert asyncio.run(main()) == [np.ndarray, np.ndarray]


# --- compilers -------------------------------------------------------------------------------------------------------------------


def test_a_module_that_is_compiled_after_decoration_says_once_that_nothing_is_measured():
    torch = pytest.importorskip("torch")

    @probe.checked(calls=2)
    class Bad(torch.nn.Module):
        def forward(self, x):
            return torch.softmax(x @ x.mT, -1) @ x

    torch._dynamo.reset()
    compiled = torch.compile(Bad(), backend="eager", fullgraph=True)
    with pytest.warns(probe.AttentionFaultWarning, match=r"Bad\.forward.*nothing is measured") as seen:
        compiled(torch.randn(2, 5, 8))
        compiled(torch.randn(3, 5, 8))
        compiled(torch.randn(3, 6, 8))
    assert len([w for w in seen if w.category is probe.AttentionFaultWarning]) == 1
    with probe.watch(), pytest.raises(probe.AttentionFault, match="missing-scale"):
        compiled(torch.randn(2, 5, 8))  # a block runs it eagerly: there the check is made


def test_a_scripted_module_and_function_run_as_they_are():
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        @probe.checked(calls=1)
        def forward(self, x):
            return torch.softmax(x @ x.mT, -1) @ x

    @probe.checked(calls=1)
    def attend(x):
        return torch.softmax(x @ x.mT, -1) @ x

    x = torch.randn(2, 5, 8)
    plain = torch.softmax(x @ x.mT, -1) @ x
    assert torch.equal(torch.jit.script(Model())(x), plain)
    scripted = torch.jit.script(attend)
    assert torch.equal(scripted(x), plain)
    with probe.watch() as report:
        scripted(x)
    assert report.sites[0].kind == "missing-scale"


def test_on_fault_is_typed_as_its_three_words():
    from attnlint.probe.settings import OnFault

    assert typing.get_args(OnFault) == ("raise", "warn", "report")
    for function in (probe.checked, probe.install):
        assert typing.get_type_hints(function)["on_fault"] == OnFault
