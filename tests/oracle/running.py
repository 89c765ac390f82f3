"""Runs a program for every setting of its parameters, with a recorder in place of softmax, and measures the scale of what it sees."""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .draft import BATCH, HEAD, LENGTH, MODEL
from .grammar import Program

CLOSE = 1e-6
MASKED = -1e8


@dataclass(frozen=True)
class Run:
    """One run. `ratios` has for each softmax, by the function it stands in, what multiplies q·k·d_k^-½ (None: no one factor does)."""

    setting: Mapping[str, object]
    ratios: tuple[tuple[str, float | None], ...]
    others: str  # every result besides the attention's output, to the last bit

    @property
    def right(self) -> bool:
        return all(ratio is not None and abs(ratio - 1) < CLOSE for _, ratio in self.ratios)


def runs(program: Program, files: Mapping[str, str] | None = None) -> list[Run]:
    """Every run of a program, or of other texts of its files."""
    return [_run(program, files or program.files, setting) for setting in settings(program)]


def settings(program: Program) -> list[dict[str, object]]:
    """Each combination of what the parameters may be; "default" leaves one out."""
    names = [one.name for one in program.parameters]
    found = []
    for values in itertools.product(*(one.values for one in program.parameters)):
        found.append({name: value for name, value in zip(names, values, strict=True) if value != "default"})
    return found[:64]


def _run(program: Program, files: Mapping[str, str], setting: Mapping[str, object]) -> Run:
    printed = io.StringIO()
    recorded: list[tuple[str, Any]] = []
    with contextlib.redirect_stdout(printed), loaded(files, program.backend) as module:
        where = _functions(files["model.py"])
        with _recording(program.backend, module, recorded, where):
            recorded.clear()
            printed.truncate(0)
            if program.entry == "function":
                arrays = [getattr(module, name) for name in ("x", "w_q", "w_k", "w_v")]
                products = _products(arrays[0], arrays[1], arrays[2], 1)
                result = getattr(module, program.name)(*[_copied(one) for one in arrays], **setting)
            else:
                model, x = _made(program, module)
                products = _products(x, *_weights(program, model), program.heads)
                result = model(_copied(x), **setting)
    ratios = tuple((name, _ratio(_array(logits), products)) for name, logits in recorded)
    further = result[1:] if isinstance(result, tuple) else ()
    return Run(dict(setting), ratios, repr([_bits(one) for one in further]) + printed.getvalue())


@contextlib.contextmanager
def loaded(files: Mapping[str, str], backend: str) -> Iterator[types.ModuleType]:
    """The module `model` of these files, executed; the modules beside it can be imported meanwhile."""
    before = {}
    names = [name.removesuffix(".py") for name in files]
    for name in names:
        before[name] = sys.modules.pop(name, None)
    with _quiet(backend):
        try:
            for name in sorted(names, key=lambda name: name == "model"):
                module = types.ModuleType(name)
                sys.modules[name] = module
                exec(compile(files[name + ".py"], name + ".py", "exec", dont_inherit=True), module.__dict__)
            yield module
        finally:
            for name, old in before.items():
                sys.modules.pop(name, None)
                if old is not None:
                    sys.modules[name] = old


@contextlib.contextmanager
def _quiet(backend: str) -> Iterator[None]:
    if backend == "numpy":
        np.random.seed(0)
        yield
        return
    import torch

    old = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(old)


@contextlib.contextmanager
def _recording(backend: str, module: types.ModuleType, recorded: list[tuple[str, Any]], where: dict[int, str]) -> Iterator[None]:
    def record(logits: Any) -> None:
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != "model.py":
            frame = frame.f_back  # type: ignore[assignment]
        recorded.append((where.get(frame.f_lineno, "") if frame is not None else "", _copied(logits)))

    if backend == "numpy":
        real = module.softmax  # type: ignore[attr-defined]

        def softmax(x: Any) -> Any:
            record(x)
            return real(x)

        module.softmax = softmax  # type: ignore[attr-defined]
        yield
        return
    import torch
    from torch.nn import functional

    plain, method, kernel = torch.softmax, torch.Tensor.softmax, functional.scaled_dot_product_attention

    def of_torch(x: Any, *args: Any, **kwargs: Any) -> Any:
        record(x)
        return plain(x, *args, **kwargs)

    def of_kernel(q: Any, k: Any, v: Any, *args: Any, scale: float | None = None, **kwargs: Any) -> Any:
        record(q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale))
        return kernel(q, k, v, *args, scale=scale, **kwargs)

    torch.softmax, torch.Tensor.softmax, functional.scaled_dot_product_attention = of_torch, of_torch, of_kernel  # type: ignore
    try:
        yield
    finally:
        torch.softmax, torch.Tensor.softmax, functional.scaled_dot_product_attention = plain, method, kernel


def _functions(text: str) -> dict[int, str]:
    """The qualified name of the innermost function around each row."""
    found: dict[int, str] = {}

    def visit(node: ast.AST, names: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = (*names, child.name)
                if not isinstance(child, ast.ClassDef):
                    found.update(dict.fromkeys(range(child.lineno, (child.end_lineno or child.lineno) + 1), ".".join(inner)))
                visit(child, inner)
            else:
                visit(child, names)

    visit(ast.parse(text), ())
    return found


def _made(program: Program, module: types.ModuleType) -> tuple[Any, Any]:
    if program.entry == "config":
        model = getattr(module, program.name)(types.SimpleNamespace(hidden_size=MODEL, num_heads=program.heads, head_dim=HEAD))
    else:
        model = getattr(module, program.name)(MODEL, program.heads if program.heads > 1 else HEAD)
    if program.backend == "numpy":
        return model, np.random.default_rng(1).standard_normal((BATCH, LENGTH, MODEL))
    import torch

    return model, torch.randn(BATCH, LENGTH, MODEL)


def _weight(weight: Any) -> Any:
    """A weight that multiplies from the right."""
    return weight.weight.T if hasattr(weight, "weight") else weight


def _weights(program: Program, model: Any) -> list[Any]:
    if not program.packed:
        return [_weight(model.w_q), _weight(model.w_k)]
    packed = _weight(model.w_qkv)
    width = packed.shape[1] // 3
    return [packed[:, :width], packed[:, width : 2 * width]]


def _array(value: Any) -> np.ndarray[Any, Any]:
    return value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)


def _copied(value: Any) -> Any:
    return value.detach().clone() if hasattr(value, "detach") else np.array(value)


def _bits(value: Any) -> str:
    return _array(value).tobytes().hex()


def _products(x: Any, w_q: Any, w_k: Any, heads: int) -> list[np.ndarray[Any, Any]]:
    """q·k·d_k^-½, of all heads and of each."""
    q, k = (_array(x) @ _array(w) for w in (w_q, w_k))
    if heads > 1:
        q, k = (z.reshape(*z.shape[:-1], heads, -1).swapaxes(-3, -2) for z in (q, k))
    whole = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return [whole, *(whole[:, head] for head in range(heads) if heads > 1)]


def _ratio(logits: np.ndarray[Any, Any], products: list[np.ndarray[Any, Any]]) -> float | None:
    """The one factor between what softmax sees and a product, to nine digits; None where there is none."""
    for product in products:
        if logits.size != product.size:
            continue
        allowed = logits > MASKED
        seen, wanted = logits[allowed], product[allowed.reshape(product.shape)]
        ratio = float((seen * wanted).sum() / (wanted * wanted).sum())
        if np.allclose(seen, ratio * wanted, rtol=0, atol=1e-9 * (1 + abs(ratio)) * float(np.abs(wanted).max())):
            return ratio
    return None


Runner = Callable[[Program], list[Run]]
