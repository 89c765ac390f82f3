"""PyTorch's tensors as the trace reads them: storages, geometry, values. Every read runs below all dispatch modes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from attnlint.probe.values import Geometry

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

        with torch._C._DisableTorchDispatch():
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
        return (type(a) is not torch.Tensor and isinstance(a, torch.nn.Parameter)) or a.untyped_storage()._cdata in self.parameters

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

    def row_tops(self, a: Any, axis: int) -> Any:
        """The largest entry along an axis, NaN where there is one: float64, without that axis."""
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            return a.detach().amax(axis).double().cpu().numpy()

    def first_bad(self, a: Any) -> tuple[int, ...] | None:
        """The index of the first NaN or infinity."""
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            t = a.detach()
            if not t.is_floating_point() or not t.numel():
                return None
            total = t.sum(dtype=torch.float32 if t.dtype in (torch.float16, torch.bfloat16) else t.dtype)
            if bool(torch.isfinite(total)):
                return None
            bad = torch.isfinite(t).logical_not_().nonzero()
            return tuple(int(i) for i in bad[0]) if len(bad) else None

    def row_sums(self, weights: Any, axis: int) -> Any:
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            return weights.detach().float().sum(axis).cpu().numpy()
