"""PyTorch's tensors as the trace reads them: storages, geometry, values. Every read runs below all dispatch modes."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from attnlint.probe.values import Geometry, Statistics

FULL_STATISTICS = 1 << 16
"""Entries over which the statistics are taken on evenly spread rows, half as many entries, instead of on all."""
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_dtype_names: dict[torch.dtype, str] = {}


class TorchArrays:
    module_type: type | None = torch.nn.Module

    def __init__(self) -> None:
        self.parameters: set[int] = set()

    def key(self, a: Any) -> int:
        return a.untyped_storage()._cdata

    def guard(self, a: Any, gone: Callable[[], None]) -> Any:
        return weakref.ref(a.untyped_storage(), gone)  # type: ignore[arg-type]

    def geometry(self, a: Any) -> Geometry:
        return Geometry(tuple(a.shape), a.stride(), a.storage_offset())

    def covers(self, a: Any) -> bool:
        return a.numel() * a.element_size() >= a.untyped_storage().nbytes()

    def numeric(self, a: Any) -> bool:
        kind = type(a)
        if kind not in _PLAIN and getattr(kind, "__torch_dispatch__", None) is not torch._C._disabled_torch_dispatch_impl:
            return False
        return not a.is_meta and a.layout is torch.strided and not a.is_quantized

    def take(self, a: Any, index: Sequence[Any]) -> Any:
        import numpy as np

        with torch._C._DisableTorchDispatch(), torch.no_grad():
            t = a.detach()
            if t.device.type == "cpu" and t.dtype in (torch.float32, torch.float64, torch.bool, torch.int64, torch.int32, torch.uint8):
                values = t.resolve_neg().numpy()
                return np.asarray(values[tuple(index)] if index else values, dtype=np.float64)
            at = tuple(i if isinstance(i, slice) else torch.from_numpy(np.array(i)).to(t.device) for i in index)
            picked = t[at] if at else t
            if picked.is_complex():
                picked = picked.abs()
            return picked.double().cpu().numpy()

    def dtype(self, a: Any) -> str:
        name = _dtype_names.get(a.dtype)
        if name is None:
            name = _dtype_names[a.dtype] = str(a.dtype).removeprefix("torch.")
        return name

    def is_parameter(self, a: Any) -> bool:
        return isinstance(a, torch.nn.Parameter) or a.untyped_storage()._cdata in self.parameters

    def trainable(self, a: Any) -> bool:
        return bool(a.requires_grad)

    def constant(self, a: Any) -> float | None:
        if not self.numeric(a) or a.numel() == 0 or a.numel() > 1 << 20:
            return None
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            if a.is_complex():
                return None
            if a.numel() == 1:
                return float(a.detach().reshape(()).item())
            low, high = torch.aminmax(a.detach())
            first, last = float(low.item()), float(high.item())
            return first if first == last else None

    def zero_one(self, a: Any) -> bool:
        """Whether some entries are 0 and the others 1."""
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            t = a.detach()
            if t.dtype == torch.bool:
                return True
            if not (t.is_floating_point() or t.dtype in (torch.int64, torch.int32, torch.uint8, torch.int8)):
                return False
            t = t.flatten()[: 1 << 20] if t.numel() > 1 << 20 else t
            zeros = t == 0
            return bool(zeros.any().item()) and bool((zeros | (t == 1)).all().item())

    def statistics(self, logits: Any, weights: Any, axis: int) -> Statistics | None:
        """The statistics of all rows, or of evenly spread ones where there are many; None leaves them to the sample."""
        if not weights.is_floating_point() or weights.shape != logits.shape or not weights.numel():
            return None
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            every = weights.numel() // (FULL_STATISTICS // 2) + 1 if weights.numel() > FULL_STATISTICS else 1
            p, x = (t.detach().movedim(axis, -1).reshape(-1, t.shape[axis])[::every] for t in (weights, logits))
            p = p.float()
            top, squares = p.amax(-1).double(), (p * p).sum(-1).double()
            entropy = -(p * p.clamp_min(torch.finfo(p.dtype).tiny).log()).sum(-1).double()
            low, high = torch.aminmax(x)
            if float(low) > max(float(high) - 1000.0, -1e4):  # no key is masked
                several = p.shape[-1] > 1
                spread = entropy / math.log(p.shape[-1]) if several else entropy[:0]
            else:
                floor = torch.maximum(x.amax(-1, keepdim=True) - 1000.0, torch.full((), -1e4, dtype=x.dtype, device=x.device))
                keys = (x > floor).sum(-1)
                rows, some = keys > 0, keys > 1
                top, squares, spread = top[rows], squares[rows], entropy[some] / keys[some].double().log()
            if not len(top):
                return Statistics()
            figures = torch.stack([top.mean(), (top > 0.99).double().mean(), 1.0 - squares.mean(), spread.mean()]).tolist()
            return Statistics(figures[0], figures[1], figures[3] if len(spread) else None, figures[2])

    def row_sums(self, weights: Any, axis: int) -> Any:
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            return weights.detach().float().sum(axis).cpu().numpy()
