"""Stand-ins: for packages that are not installed, and for configuration objects, so that a case runs without them."""

from __future__ import annotations

import sys
from typing import Any


class Stub:
    """Something of a package that is not there: a decorator that leaves alone, a layer that hands its tensor on, a base class."""

    def __init__(self, name: str, used: dict[str, None]) -> None:
        self.__dict__.update(_name=name, _used=used)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(f"{self._name}.{name}", self._used)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        self._used[self._name] = None
        if len(arguments) == 1 and not keywords and (isinstance(arguments[0], type) or _is_function(arguments[0])):
            return arguments[0]
        for value in (*arguments, *keywords.values()):
            if _is_array(value):
                return value
        return Stub(f"{self._name}()", self._used)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        self._used[self._name] = None
        torch = sys.modules.get("torch")
        module = torch.nn.Module if torch is not None else object
        others = [base for base in bases if isinstance(base, type)]
        if module is object or any(issubclass(base, module) for base in others):
            return ()
        return (_tolerant_module(),)

    def __iter__(self) -> Any:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __getitem__(self, key: object) -> Any:
        return self

    def __or__(self, other: object) -> Any:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"<{self._name}, which is not installed>"


_tolerant: list[type] = []


def _tolerant_module() -> type:
    """`torch.nn.Module` that takes any constructor arguments, for a base class outside the tree (`PreTrainedModel`)."""
    if not _tolerant:
        import torch

        class Base(torch.nn.Module):
            def __init__(self, *arguments: Any, **keywords: Any) -> None:
                super().__init__()
                if arguments and not _is_array(arguments[0]):
                    self.config = arguments[0]

            def post_init(self) -> None:
                pass

            def init_weights(self) -> None:
                pass

        _tolerant.append(Base)
    return _tolerant[0]


class WithStubs:
    """An installed module that lacks what the code imports from it (another version): the rest is its own."""

    def __init__(self, module: Any, used: dict[str, None]) -> None:
        self.__dict__.update(_module=module, _used=used)

    def __getattr__(self, name: str) -> Any:
        if hasattr(self._module, name):
            return getattr(self._module, name)
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(f"{self._module.__name__}.{name}", self._used)


def _is_function(value: Any) -> bool:
    import types

    return isinstance(value, (types.FunctionType, types.MethodType, staticmethod, classmethod))


def _is_array(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in ("torch", "numpy") and hasattr(value, "shape")


# --- fused kernels that need a GPU: PyTorch's own in their layout, with the scale that they document (softmax_scale or scale, else 1/√d)


def _flash(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False, **_: Any
) -> Any:
    from torch.nn.functional import scaled_dot_product_attention

    q, k, v = (t.transpose(1, 2) for t in (query, key, value))
    return scaled_dot_product_attention(q, k, v, is_causal=causal, scale=softmax_scale).transpose(1, 2)


def _flash_packed(qkv: Any, dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False, **_: Any) -> Any:
    query, key, value = qkv.unbind(2)
    return _flash(query, key, value, softmax_scale=softmax_scale, causal=causal)


def _flash_kv_packed(q: Any, kv: Any, dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False, **_: Any) -> Any:
    key, value = kv.unbind(2)
    return _flash(q, key, value, softmax_scale=softmax_scale, causal=causal)


def _xformers(query: Any, key: Any, value: Any, attn_bias: Any = None, p: float = 0.0, scale: float | None = None, **_: Any) -> Any:
    from torch.nn.functional import scaled_dot_product_attention

    if query.dim() == 3:
        return scaled_dot_product_attention(query, key, value, scale=scale)
    q, k, v = (t.transpose(1, 2) for t in (query, key, value))
    return scaled_dot_product_attention(q, k, v, scale=scale).transpose(1, 2)


_KERNELS: dict[str, dict[str, Any]] = {
    "flash_attn": {
        "flash_attn_func": _flash,
        "flash_attn_qkvpacked_func": _flash_packed,
        "flash_attn_kvpacked_func": _flash_kv_packed,
    },
    "xformers": {"memory_efficient_attention": _xformers},
}


class _Kernels:
    def __init__(self, table: dict[str, Any]) -> None:
        self._table = table

    def __getattr__(self, name: str) -> Any:
        if name in self._table:
            return self._table[name]
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def stand_in(module: str) -> Any:
    """A module of kernels that are not installed, with plain counterparts of the same scale; None for any other."""
    table = _KERNELS.get(module.partition(".")[0])
    return _Kernels(table) if table is not None else None


class Configuration:
    """A configuration object: every attribute that the code reads has a small value that fits its name and use."""

    def __init__(self, values: Any, absent: frozenset[str]) -> None:
        self.__dict__.update(_values=values, _absent=absent)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in self._absent:
            raise AttributeError(name)
        value = self._values(name)
        self.__dict__[name] = value
        return value

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def get(self, name: str, default: Any = None) -> Any:
        return default if default is not None and name not in self.__dict__ else self[name] if name not in self._absent else default

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name not in self._absent and name in self.__dict__
