"""The PyTorch back end: a dispatch mode that tells the trace what each ATen operation does. It changes no result and never raises."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attnlint.probe.facts import Info
from attnlint.probe.torch_arrays import TorchArrays
from attnlint.probe.torch_kernels import KERNELS, bind
from attnlint.probe.trace import Trace

Handler = Callable[["Call"], None]


class Call:
    """One operation as a handler sees it."""

    __slots__ = ("args", "arrays", "func", "kwargs", "name", "out", "trace")

    def __init__(
        self, trace: Trace, arrays: TorchArrays, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> None:
        self.trace, self.arrays, self.func, self.name = trace, arrays, func, name
        self.args, self.kwargs, self.out = args, kwargs, out

    def arg(self, i: int, name: str, default: Any = None) -> Any:
        if i < len(self.args):
            return self.args[i]
        return self.kwargs.get(name, default)


def _is_tensor(a: Any) -> bool:
    return isinstance(a, torch.Tensor)


# --- handlers, one for each family of operations -------------------------------------------------------------------------------


def _mul(c: Call) -> None:
    x, y = c.args[0], c.arg(1, "other")
    if not _is_tensor(x):
        x, y = y, x
    if _is_tensor(y):
        if y.is_complex() and x.is_complex():
            _complex(c, x, y)
            return
        c.trace.multiply(x, y, c.out, "mul")
    else:
        c.trace.scale(x, c.out, abs(y) if isinstance(y, complex) else float(y), "mul")


def _complex(c: Call, x: torch.Tensor, y: torch.Tensor) -> None:
    if y.numel() > x.numel():
        x, y = y, x
    modulus = None
    if c.arrays.numeric(y):
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            low, high = torch.aminmax(y.detach().abs())
            first, last = float(low), float(high)
        modulus = first if last - first <= 1e-3 * max(last, 1e-30) else None
    c.trace.rotate(x, y, c.out, modulus)


def _div(c: Call) -> None:
    x, y = c.args[0], c.arg(1, "other")
    if c.kwargs.get("rounding_mode") is not None:
        return
    if not _is_tensor(x):
        return
    if _is_tensor(y):
        c.trace.multiply(x, y, c.out, "div", divide=True)
    else:
        c.trace.scale(x, c.out, 1.0 / float(y) if y else float("inf"), "div")


def _neg(c: Call) -> None:
    c.trace.scale(c.args[0], c.out, -1.0, "neg")


def _add(c: Call) -> None:
    _sum_of(c, 1.0)


def _sub(c: Call) -> None:
    _sum_of(c, -1.0)


def _sum_of(c: Call, sign: float) -> None:
    x, y = c.args[0], c.arg(1, "other")
    alpha = float(c.kwargs.get("alpha", c.args[2] if len(c.args) > 2 else 1)) * sign
    if not _is_tensor(x):
        x, y = y, x
    if not _is_tensor(y):
        c.trace.carry(x, c.out)
        return
    c.trace.add(x, y, c.out, alpha)


def _rsub(c: Call) -> None:
    x, y = c.args[0], c.arg(1, "other")
    if _is_tensor(y):
        c.trace.add(y, x, c.out, -1.0)
    elif (info := c.trace.get(x)) is not None and not info.random and (info.learned or info.track is not None):
        c.trace.scale(x, c.out, -1.0, "rsub")


def _addcmul(c: Call) -> None:
    base, x = c.args[0], c.args[1]
    info = c.trace.get(base)
    if info is not None and info.track is not None:
        after = c.trace.moved(info, base, c.out)
        if after.track is not None:
            c.trace.put(c.out, after._replace(track=after.track._replace(opaque="addcmul")))
        return
    # rope in one step: base * 1 + x * y with base already a product with the cosine
    a, b = info, c.trace.get(x)
    origin_x = c.trace.origin(x, b)
    if a is not None and a.origin == origin_x:
        c.trace.put(c.out, Info(origin=a.origin, factors=a.factors, normalised=a.normalised))


_LETTERS = {"mm": ("id", "dj", "ij"), "bmm": ("bid", "bdj", "bij"), "dot": ("d", "d", ""), "vdot": ("d", "d", ""), "mv": ("id", "d", "i")}


def _product(c: Call) -> None:
    q, k = c.args[0], c.arg(1, "mat2")
    if k is None:
        k = c.kwargs.get("vec2", c.kwargs.get("tensor", c.kwargs.get("vec")))
    kind = c.name.rstrip("_")
    c.trace.product(q, k, c.out, kind, _LETTERS[kind])


def _added_product(c: Call) -> None:
    """beta * base + alpha * (a @ b): addmm, baddbmm, addmv; alpha is where PyTorch's own attention used to keep its scale."""
    base, a, b = c.args[0], c.arg(1, "mat1", c.kwargs.get("batch1")), c.arg(2, "mat2", c.kwargs.get("batch2"))
    if b is None:
        b = c.kwargs.get("vec")
    if a is None:
        a = c.kwargs.get("mat")
    if c.trace.is_layer(a, b):
        return
    beta, alpha = float(c.kwargs.get("beta", 1)), float(c.kwargs.get("alpha", 1))
    kind = {"addmm": "mm", "baddbmm": "bmm", "addmv": "mv"}[c.name.rstrip("_")]
    base_info = c.trace.get(base) if beta != 0 else None
    base_values = base
    if c.trace.same_storage(base, c.out) and beta != 0:
        base_values = None
    if c.trace.product(a, b, c.out, c.name.rstrip("_"), _LETTERS[kind]) is None:
        return
    if alpha != 1.0:
        c.trace.scale(c.out, c.out, alpha, f"{c.name.rstrip('_')} alpha=")
    if beta == 0:
        return
    if base_values is None:
        info = c.trace.get(c.out)
        if info is not None and info.track is not None:
            terms = (*info.track.terms, *(base_info.track.terms if base_info and base_info.track else ()))
            c.trace.put(c.out, info._replace(track=info.track._replace(lost="accumulated in place", terms=terms)))
        return
    c.trace.add(c.out, base, c.out, beta)


def _softmax(c: Call) -> None:
    c.trace.softmax(c.args[0], c.out, int(c.arg(1, "dim")), "softmax")


def _log_softmax(c: Call) -> None:
    c.trace.softmax(c.args[0], c.out, int(c.arg(1, "dim")), "log_softmax", log=True)


def _exp(c: Call) -> None:
    c.trace.exp(c.args[0], c.out, 2.0 if c.name.startswith("exp2") else math.e)


def _log_sum_exp(c: Call) -> None:
    axes = c.arg(1, "dim")
    c.trace.log_sum_exp(c.args[0], c.out, [axes] if isinstance(axes, int) else axes)


def _sum(c: Call) -> None:
    _reduce(c, mean=False)


def _mean(c: Call) -> None:
    _reduce(c, mean=True)


def _reduce(c: Call, mean: bool) -> None:
    axes = c.arg(1, "dim")
    if axes is None:
        axes = list(range(c.args[0].dim()))
    axes = [axes] if isinstance(axes, int) else list(axes)
    keepdim = bool(c.arg(2, "keepdim", False))
    c.trace.summed(c.args[0], c.out, axes, mean=mean, keepdim=keepdim)


def _carry(c: Call) -> None:
    x = c.args[0]
    out = c.out[0] if isinstance(c.out, (tuple, list)) else c.out
    if _is_tensor(x) and _is_tensor(out):
        c.trace.carry(x, out)


def _dropout(c: Call) -> None:
    p = c.arg(1, "p", 0.5)
    if isinstance(c.out, (tuple, list)) and len(c.out) > 1 and isinstance(p, float) and p < 1.0 and c.arg(2, "train", True):
        c.trace.dropped(c.args[0], c.out[0], c.out[1], 1.0 / (1.0 - p))
    else:
        _carry(c)


def _spread(c: Call) -> None:
    x = c.args[0]
    if _is_tensor(x) and _is_tensor(c.out):
        c.trace.spread(x, c.out, f"rearranged by {c.name}")


def _repeat(c: Call) -> None:
    info = c.trace.get(c.args[0])
    if info is not None and info.track is None and info.weights is None:
        c.trace.put(c.out, info._replace(parameter=info.parameter, outer=None, table=None if info.table is None else c.out))
        return
    if info is None and c.arrays.is_parameter(c.args[0]):
        c.trace.put(c.out, Info(parameter=True))
        return
    c.trace.spread(c.args[0], c.out, f"repeated by {c.name}")


def _cat(c: Call) -> None:
    c.trace.join(list(c.args[0]), c.out, int(c.arg(1, "dim", 0)))


def _stack(c: Call) -> None:
    axis = int(c.arg(1, "dim", 0)) % c.out.dim()
    with torch._C._DisableTorchDispatch():
        parts = [p.unsqueeze(axis) for p in c.args[0]]
    c.trace.join(parts, c.out, axis)


def _copy(c: Call) -> None:
    c.trace.copy_into(c.args[0], c.args[1])


def _fill_all(c: Call) -> None:
    value = 0.0 if c.name == "zero_" else c.args[1]
    if _is_tensor(value):
        value = c.arrays.constant(value)
    c.trace.fill_all(c.args[0], None if value is None else float(value))


def _masked_fill(c: Call) -> None:
    value = c.args[2]
    number = c.arrays.constant(value) if _is_tensor(value) else float(value)
    c.trace.fill(c.args[0], c.out, c.args[1], number if number is not None else value)


def _where(c: Call) -> None:
    if len(c.args) < 3:
        return
    condition, a, b = c.args[:3]
    ia = c.trace.get(a) if _is_tensor(a) else None
    ib = c.trace.get(b) if _is_tensor(b) else None
    a_big = ia is not None and (ia.track is not None or ia.weights is not None)
    b_big = ib is not None and (ib.track is not None or ib.weights is not None)
    if a_big or (ia is not None and not b_big):
        value = c.arrays.constant(b) if _is_tensor(b) and b.numel() == 1 else b
        c.trace.fill(a, c.out, condition, float(value) if isinstance(value, (int, float)) else value, negate=True)
    elif b_big or ib is not None:
        value = c.arrays.constant(a) if _is_tensor(a) and a.numel() == 1 else a
        c.trace.fill(b, c.out, condition, float(value) if isinstance(value, (int, float)) else value)


def _triangle(c: Call) -> None:
    c.trace.triangle(c.args[0], c.out, c.name.startswith("triu"), int(c.arg(1, "diagonal", 0)))


def _tanh(c: Call) -> None:
    c.trace.soft_cap(c.args[0], c.out)


def _clamp(c: Call) -> None:
    info = c.trace.get(c.args[0])
    if info is None:
        if c.arrays.is_parameter(c.args[0]):
            c.trace.put(c.out, Info(learned=True))
        return
    c.trace.carry(c.args[0], c.out)


def _larger(c: Call) -> None:
    """maximum(logits, floor): a clamp by tensors."""
    for x in c.args[:2]:
        info = c.trace.get(x)
        if info is not None and (info.track is not None or info.norm_form):
            c.trace.carry(x, c.out)
            return
    _learned(c)


def _power(c: Call) -> None:
    x, exponent = c.args[0], c.args[1]
    if _is_tensor(exponent) and not _is_tensor(x):
        if float(x) > 1.0:  # 2 ** logits
            c.trace.exp(exponent, c.out, float(x))
        return
    if _is_tensor(exponent):
        exponent = c.arrays.constant(exponent)
    if not _is_tensor(x) or exponent is None:
        return
    info = c.trace.get(x)
    if info is not None and (info.track is not None or info.weights is not None):
        c.trace.opaque(x, c.out, "pow")
        return
    if exponent == 2:
        if (info is not None and (info.learned or info.parameter)) or c.arrays.is_parameter(x):
            _learned(c)
        else:
            c.trace.put(c.out, Info(norm_of=c.trace.origin(x, info), norm_form="square"))
        return
    if info is not None and info.norm_form:
        _norm_step(c, {0.5: "root", -0.5: "inverse root", -1.0: "reciprocal"}.get(float(exponent), ""))
        return
    _learned(c)


def _norm_step(c: Call, step: str) -> None:
    info = c.trace.get(c.args[0])
    if info is None:
        return
    form = {
        ("sum", "root"): "norm",
        ("sum", "inverse root"): "inverse",
        ("norm", "reciprocal"): "inverse",
        ("inverse", "reciprocal"): "norm",
    }.get((info.norm_form, step), "")
    if form:
        c.trace.put(c.out, info._replace(norm_form=form))
    elif info.exp_sum and step == "reciprocal":
        c.trace.put(c.out, info)
    else:
        _learned(c)


def _root(c: Call) -> None:
    _norm_step(c, "root")
    _learned(c)


def _inverse_root(c: Call) -> None:
    _norm_step(c, "inverse root")
    _learned(c)


def _reciprocal(c: Call) -> None:
    _norm_step(c, "reciprocal")
    _learned(c)


def _vector_norm(c: Call) -> None:
    x = c.args[0]
    order = c.arg(1, "ord", c.kwargs.get("p", 2))
    if order is None or float(order) == 2.0:
        c.trace.put(c.out, Info(norm_of=c.trace.origin(x, c.trace.get(x)), norm_form="norm"))


def _layer_norm(c: Call) -> None:
    out = c.out[0] if isinstance(c.out, (tuple, list)) else c.out
    kind = "rms" if "rms" in c.name else "layer"
    c.trace.put(out, Info(origin=c.trace.new_origin(), normalised=kind))


def _pad(c: Call) -> None:
    x, pad = c.args[0], c.args[1]
    info = c.trace.get(x)
    value = float(c.arg(2, "value", 0) or 0)
    last = bool(pad) and (pad[0] != 0 or pad[1] != 0)
    if info is not None and (info.track is not None or info.weights is not None):
        c.trace.spread(x, c.out, "padded")
    elif value == 0 and last and len(pad) >= 2 and not any(pad[2:]) and pad[0] == 0 and pad[1] > 0:
        base = info or Info(origin=c.trace.origin(x, None))
        c.trace.put(c.out, base._replace(unpadded=x.shape[-1], outer=None, table=None))
    elif info is not None:
        c.trace.spread(x, c.out, "padded")


def _index_put(c: Call) -> None:
    value = c.args[2]
    number = c.arrays.constant(value) if _is_tensor(value) and value.numel() == 1 else None
    indices = c.args[1]
    target = c.args[0]
    info = c.trace.get(target)
    mask = indices[0] if len(indices) == 1 and _is_tensor(indices[0]) and indices[0].dtype == torch.bool else None
    if info is not None and info.track is not None:
        if mask is not None and number is not None and mask.shape == target.shape:
            with torch._C._DisableTorchDispatch():
                kept = mask.clone()
            c.trace.fill(target, c.out, kept, number)
        elif number is not None and number <= -30.0:
            c.trace.carry(target, c.out)
        else:
            c.trace.opaque(target, c.out, "index_put")
        return
    if info is not None and info.weights is not None:
        c.trace.carry(target, c.out)
        return
    given = c.trace.get(value) if _is_tensor(value) else None
    if given is not None and given is not info:
        merged = [given] if info is None or not info.factors else [given, info]
        c.trace.put(c.out, c.trace.merge(merged, plain=False, lost="written by index"))


def _index_copy(c: Call) -> None:
    """index_copy_(dim, index, source), scatter_(dim, index, source): a cache that is written in place."""
    source = c.args[-1] if _is_tensor(c.args[-1]) else c.arg(3, "source", c.kwargs.get("src"))
    if not _is_tensor(source):
        return
    given, info = c.trace.get(source), c.trace.get(c.args[0])
    if given is not None:
        merged = [given] if info is None else [given, info]
        c.trace.put(c.out, c.trace.merge(merged, plain=False, lost="written by index"))


def _random(c: Call) -> None:
    out = c.out[0] if isinstance(c.out, (tuple, list)) else c.out
    if _is_tensor(out):
        c.trace.put(out, Info(random=True))


def _random_carry(c: Call) -> None:
    """A comparison or cast of random numbers makes a random mask."""
    for x in c.args[:2]:
        if _is_tensor(x):
            info = c.trace.get(x)
            if info is not None and info.random and _is_tensor(c.out):
                c.trace.put(c.out, Info(random=True))
                return


def _learned(c: Call) -> None:
    """An elementwise function of parameters alone is learned."""
    x = c.args[0] if c.args else None
    if not (_is_tensor(x) and _is_tensor(c.out)):
        return
    info = c.trace.get(x)
    if info is not None and (info.track is not None or info.weights is not None):
        c.trace.opaque(x, c.out, c.name)
    elif (info is not None and (info.learned or info.parameter)) or c.arrays.is_parameter(x):
        c.trace.put(c.out, Info(learned=True))


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("mul", "multiply"), _mul),
    **dict.fromkeys(("div", "divide", "true_divide"), _div),
    "neg": _neg,
    "add": _add,
    "sub": _sub,
    "rsub": _rsub,
    "addcmul": _addcmul,
    **dict.fromkeys(("mm", "bmm", "dot", "vdot", "mv"), _product),
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), _added_product),
    **dict.fromkeys(("_softmax", "_safe_softmax", "softmax"), _softmax),
    **dict.fromkeys(("_log_softmax", "log_softmax"), _log_softmax),
    **dict.fromkeys(("exp", "exp2", "special_exp2"), _exp),
    "logsumexp": _log_sum_exp,
    "sum": _sum,
    "mean": _mean,
    **dict.fromkeys(
        ("clone", "_to_copy", "contiguous", "nan_to_num", "lift_fresh_copy", "alias_copy", "detach_copy", "_conj_physical"), _carry
    ),
    **dict.fromkeys(("native_dropout", "_fused_dropout", "dropout", "alpha_dropout", "feature_dropout"), _dropout),
    **dict.fromkeys(
        (
            "index_select",
            "index",
            "_unsafe_index",
            "gather",
            "roll",
            "flip",
            "take_along_dim",
            "masked_select",
            "permute_copy",
            "embedding",
        ),
        _spread,
    ),
    **dict.fromkeys(("repeat", "repeat_interleave", "expand_copy", "tile"), _repeat),
    **dict.fromkeys(("cat", "concat", "concatenate"), _cat),
    "stack": _stack,
    "copy_": _copy,
    **dict.fromkeys(("fill_", "zero_"), _fill_all),
    "masked_fill": _masked_fill,
    "where": _where,
    **dict.fromkeys(("tril", "triu"), _triangle),
    "tanh": _tanh,
    **dict.fromkeys(("clamp", "clamp_min", "clamp_max", "hardtanh"), _clamp),
    **dict.fromkeys(("maximum", "minimum"), _larger),
    "pow": _power,
    "sqrt": _root,
    "rsqrt": _inverse_root,
    "reciprocal": _reciprocal,
    **dict.fromkeys(("linalg_vector_norm", "norm"), _vector_norm),
    **dict.fromkeys(("native_layer_norm", "_fused_rms_norm", "rms_norm", "layer_norm"), _layer_norm),
    "constant_pad_nd": _pad,
    **dict.fromkeys(("index_put", "_unsafe_index_put", "_index_put_impl"), _index_put),
    **dict.fromkeys(("index_copy", "scatter", "slice_scatter", "select_scatter"), _index_copy),
    **dict.fromkeys(
        ("bernoulli", "bernoulli_", "rand", "rand_like", "uniform_", "exponential_", "randn_like_mask", "native_dropout_mask"), _random
    ),
    **dict.fromkeys(("gt", "lt", "ge", "le", "floor", "to"), _random_carry),
    **dict.fromkeys(("softplus", "sigmoid", "abs", "square", "log", "relu", "log1p", "expm1", "elu", "logit"), _learned),
}


class _Plan:
    """What is done with one operation, found out once."""

    __slots__ = ("composite", "handler", "kernel", "mutable", "name", "taken_apart", "view")

    def __init__(self, func: Any) -> None:
        packet = func.overloadpacket.__name__ if hasattr(func, "overloadpacket") else str(func)
        namespace = getattr(func, "namespace", "")
        self.name = packet
        qualified = f"{namespace}::{packet}"
        overload = getattr(func, "_overloadname", "default")
        self.kernel = KERNELS.get(f"{qualified}.{overload}") or KERNELS.get(qualified)
        self.handler: Handler | None = None
        if namespace in ("aten", "prims"):
            self.handler = HANDLERS.get(packet) or (
                HANDLERS.get(packet[:-1]) if packet.endswith("_") and not packet.endswith("__") else None
            )
        schema = getattr(func, "_schema", None)
        self.mutable = schema is not None and schema.is_mutable
        self.view = packet == "_unsafe_view" or (schema is not None and _is_view(schema))
        self.composite = self.kernel is None and _is_composite(func)
        self.taken_apart = self.composite or not isinstance(func, torch._ops.OpOverload)


def _planned(func: Any) -> _Plan:
    plan = _plans[func] = _Plan(func)
    return plan


def _is_view(schema: Any) -> bool:
    first = schema.arguments[0].alias_info if schema.arguments else None
    return first is not None and not any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)


def _is_composite(func: Any) -> bool:
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
    except (AttributeError, RuntimeError):
        return False


_plans: dict[Any, _Plan] = {}


class ProbeMode(TorchDispatchMode):
    """Watches every ATen operation of this thread. Results pass through as they are."""

    supports_higher_order_operators = True

    def __init__(self, trace: Trace, arrays: TorchArrays) -> None:
        super().__init__()
        self.trace, self.arrays = trace, arrays
        self.errors: list[BaseException] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """The block forces eager: the guard that PyTorch would put around every operation is not needed, and costs."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plan = _plans.get(func) or _planned(func)
        if plan.taken_apart:
            return self._composite(func, args, kwargs or {}) if plan.composite else self._higher_order(func, args, kwargs or {})
        out = func(*args, **kwargs) if kwargs else func(*args)
        if plan.view and type(args[0]) is torch.Tensor:
            return out  # it shares its storage, where all that is known is kept: more than half of all operations end here
        if torch._C._current_graph_task_id() == -1:
            try:
                self._observe(plan, func, args, kwargs or {}, out)
            except Exception as error:  # the forward goes on whatever happens here
                if len(self.errors) < 16:
                    self.errors.append(error)
        return out

    def _composite(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Inference mode hands over whole composites (linear, matmul, einsum): take them apart with PyTorch's own kernel."""
        key = torch._C.DispatchKey.CompositeImplicitAutograd
        if any(isinstance(one, torch.Tensor) and one.is_nested for one in args):
            return func(*args, **kwargs)  # its rows have lengths of their own: only its own kernels can compute this
        with self:
            if not torch.is_inference_mode_enabled():
                return func._op_dk(key, *args, **kwargs)
            # Below a mode, views forget that they are views of ordinary tensors, and matmul would then fold otherwise.
            with torch._C._SetExcludeDispatchKeyGuard(torch._C.DispatchKey.ADInplaceOrView, False):
                return func._op_dk(key, *args, **kwargs)

    def _higher_order(self, func: Any, args: Any, kwargs: Any) -> Any:
        """flex_attention, the wrappers of exported graphs, ...: run their eager form with the mode on, so that what is inside is seen."""
        key = torch._C.DispatchKey.CompositeExplicitAutograd
        kernel = getattr(func, "py_kernels", {}).get(key)
        if kernel is None:
            return func(*args, **kwargs)
        with self:
            return kernel(*args, **kwargs)

    def _observe(self, plan: _Plan, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        if plan.kernel is not None:
            from attnlint.probe.fused import observe_kernel

            observe_kernel(self.trace, plan.kernel, plan.name, bind(func._schema, args, kwargs), out)
            return
        if plan.view:
            if isinstance(args[0], torch.nn.Parameter):
                self.arrays.parameters.add(args[0].untyped_storage()._cdata)
            elif isinstance(args[0], torch.Tensor) and isinstance(out, torch.Tensor):
                self._foreign_view(args[0], out)
            return
        if plan.handler is not None:
            plan.handler(Call(self.trace, self.arrays, func, plan.name, args, kwargs, out))
            return
        self._unknown(plan, func, args, kwargs, out)

    def _foreign_view(self, x: torch.Tensor, out: torch.Tensor) -> None:
        """A view of a wrapper subclass has a storage of its own: hand on the factors."""
        if not self.trace.same_storage(x, out):
            info = self.trace.get(x)
            if info is not None:
                track = info.track._replace(lost="not a plain tensor", events=()) if info.track else None
                self.trace.put(out, info._replace(track=track))

    def _unknown(self, plan: _Plan, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """An operation that is in no table: logits of the same shape stay logits, with a mark."""
        if not self.trace.table:
            return
        if getattr(func, "namespace", "aten") not in ("aten", "prims", "profiler", "inductor", "c10d", "_c10d_functional"):
            self.trace.opaque_calls.add(f"{func.namespace}::{plan.name}")
        given = [t for x in args for t in (x if isinstance(x, (list, tuple)) else (x,)) if isinstance(t, torch.Tensor)]
        known = [(t, info) for t in given if (info := self.trace.get(t)) is not None]
        result = out[0] if isinstance(out, (tuple, list)) and out else out
        if not known or not isinstance(result, torch.Tensor):
            return
        if not result.is_floating_point():
            if any(info.random for _, info in known):
                self.trace.put(result, Info(random=True))
            return
        for t, info in known:
            if (info.track is not None or info.weights is not None) and t.shape == result.shape:
                learned = any(map(self.arrays.is_parameter, given)) or any(i.learned or i.parameter for _, i in known)
                self.trace.opaque(t, result, plan.name, learned=learned)
                return
        if plan.mutable and given[0] is args[0] and self.trace.same_storage(args[0], result):
            self.trace.forget(result)
