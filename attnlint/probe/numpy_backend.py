"""The NumPy back end: an array subclass that tells the trace what each ufunc and array function does.

Inside a `watch` block `probe.array(x)` gives such an array, and `probe.call(f, *arrays)` runs a function on them. Values are
NumPy's own; `np.asarray` and libraries that call it strip the subclass, and what they compute is not observed.
"""

from __future__ import annotations

import math
import string
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from attnlint.probe.facts import Info
from attnlint.probe.taken_in import TakenIn
from attnlint.probe.trace import Trace
from attnlint.probe.values import Geometry


def _base(a: Any) -> Any:
    """The array that owns the memory: a view's chain of bases ends there."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


class NumpyArrays:
    """NumPy's arrays as the trace reads them."""

    module_type: type | None = None

    def key(self, a: Any) -> int:
        return id(_base(a))

    def guard(self, a: Any, gone: Callable[[], None]) -> Any:
        return weakref.ref(_base(a), gone)  # type: ignore[arg-type]

    def geometry(self, a: Any) -> Geometry:
        root = _base(a)
        size = a.itemsize or 1
        start = a.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return Geometry(tuple(a.shape), tuple(s // size for s in a.strides), start // size)

    def covers(self, a: Any) -> bool:
        root = _base(a)
        return a is root or bool(a.nbytes >= root.nbytes)

    def numeric(self, a: Any) -> bool:
        return a.dtype.kind in "fiub"

    def take(self, a: Any, index: Sequence[Any]) -> Any:
        plain = np.asarray(a)
        return np.asarray(plain[tuple(index)] if len(index) else plain, dtype=np.float64)

    def dtype(self, a: Any) -> str:
        return str(a.dtype)

    def is_parameter(self, a: Any) -> bool:
        return False

    def trainable(self, a: Any) -> bool:
        return False

    def constant(self, a: Any) -> float | None:
        plain = np.asarray(a)
        if plain.dtype.kind not in "fiub" or plain.size == 0 or plain.size > 1 << 20:
            return None
        low, high = plain.min(), plain.max()
        return float(low) if low == high else None

    def zero_one(self, a: Any) -> bool:
        plain = np.asarray(a)
        if plain.dtype.kind == "b":
            return True
        zeros = plain == 0
        return bool(zeros.any()) and bool((zeros | (plain == 1)).all())

    def row_tops(self, a: Any, axis: int) -> Any:
        return np.asarray(np.asarray(a).max(axis), dtype=np.float64)

    def first_bad(self, a: Any) -> tuple[int, ...] | None:
        bad = ~np.isfinite(np.asarray(a))
        return tuple(int(i) for i in np.argwhere(bad)[0]) if bad.any() else None

    def row_sums(self, weights: Any, axis: int) -> Any:
        return np.asarray(weights, dtype=np.float64).sum(axis)


_ARRAYS = NumpyArrays()


def _trace() -> Trace | None:
    from attnlint.probe.watching import current

    session = current()
    return session.numpy() if session is not None else None


class TracedArray(np.ndarray):
    """An array whose operations are reported to the open block of this thread. Values and dtypes are NumPy's own."""

    scalar = False
    """Whether NumPy has a scalar here, not an array without axes."""

    def __array_finalize__(self, obj: Any) -> None:
        return

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        plain = [_strip(x) for x in inputs]
        if out is not None:
            kwargs["out"] = tuple(_strip(o) for o in out)
        if isinstance(kwargs.get("where"), TracedArray):
            kwargs["where"] = _strip(kwargs["where"])
        result = getattr(ufunc, method)(*plain, **kwargs)
        if result is NotImplemented:
            return result
        if out is not None:
            wrapped: Any = out if len(out) > 1 else out[0]
        else:
            wrapped = tuple(_wrap(r) for r in result) if isinstance(result, tuple) else _wrap(result)
        trace = _trace()
        if trace is not None:
            _quietly(lambda: _observe_ufunc(trace, ufunc.__name__, method, inputs, wrapped, kwargs))
        return wrapped

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        handler = FUNCTIONS.get(func.__name__)
        trace = _trace()
        if handler is None or trace is None:
            # NumPy's own composition of traced operations: linalg.norm, average, tensordot, ...
            return super().__array_function__(func, types, args, kwargs)
        arguments, named = _strip_all(args), _strip_all(kwargs)
        result = _wrap_all(func(*arguments, **named))
        _quietly(lambda: handler(trace, args, kwargs, result))
        return result

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_strip_all(key), _strip(value))
        trace = _trace()
        if trace is not None:
            _quietly(lambda: _observe_assignment(trace, self, key, value))

    def __getitem__(self, key: Any) -> Any:
        picked = super().__getitem__(_strip_all(key))
        if not isinstance(picked, np.ndarray) and isinstance(picked, np.generic):
            picked = _wrap(picked)
        trace = _trace()
        if trace is not None and isinstance(picked, TracedArray) and _base(picked) is not _base(self):
            _quietly(lambda: trace.spread(self, picked, "picked by index"))
        return picked

    def _copied(self, made: Any) -> Any:
        trace = _trace()
        if trace is not None and isinstance(made, TracedArray) and _base(made) is not _base(self):
            _quietly(lambda: _copied(trace, self, made))
        return made

    def copy(self, order: Any = "C") -> Any:
        return self._copied(super().copy(order))

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        return self._copied(super().astype(*args, **kwargs))

    def reshape(self, *args: Any, **kwargs: Any) -> Any:
        return _reshaped(self, super().reshape(*args, **kwargs))

    def flatten(self, order: Any = "C") -> Any:
        return _reshaped(self, super().flatten(order))

    def ravel(self, order: Any = "C") -> Any:
        return _reshaped(self, super().ravel(order))

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        return np.repeat(self, repeats, axis=axis)

    def fill(self, value: Any) -> None:
        self[...] = value

    def dot(self, other: Any, out: Any = None) -> Any:
        return np.dot(self, other)

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        made = _wrap(np.asarray(self).clip(min, max, **kwargs))
        return self._copied(made)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        return np.mean(self, *args, **kwargs)

    def take(self, *args: Any, **kwargs: Any) -> Any:
        return np.take(self, *args, **kwargs)

    def __format__(self, spec: str) -> str:
        return format(self[()].item(), spec) if self.ndim == 0 else super().__format__(spec)

    def __hash__(self) -> int:  # type: ignore[override]
        if self.ndim == 0:
            return hash(self.view(np.ndarray)[()])
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()


def _quietly(observe: Callable[[], Any]) -> None:
    """The trace never raises into the program; what went wrong is kept for `report.internal_errors`."""
    from attnlint.probe.watching import current

    try:
        observe()
    except Exception as error:
        session = current()
        if session is not None:
            for report in session.reports:
                if len(report.internal_errors) < 16:
                    report.internal_errors.append(error)


def _strip(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, TracedArray) else x


def _strip_all(x: Any) -> Any:
    if isinstance(x, TracedArray):
        return _strip(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(_strip_all(i) for i in x))
    if isinstance(x, (list, tuple)):
        return type(x)(_strip_all(i) for i in x)
    if isinstance(x, dict):
        return {k: _strip_all(v) for k, v in x.items()}
    return x


def _wrap(x: Any) -> Any:
    if isinstance(x, TracedArray):
        return x
    if isinstance(x, np.ndarray):
        return x.view(TracedArray) if x.dtype.kind in "fiubc" else x
    if isinstance(x, np.generic) and x.dtype.kind == "f":
        made = np.asarray(x).view(TracedArray)
        made.scalar = True
        return made
    return x


def _wrap_all(x: Any) -> Any:
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(_wrap_all(i) for i in x))
    if isinstance(x, (list, tuple)):
        return type(x)(_wrap_all(i) for i in x)
    if isinstance(x, dict):
        return {k: _wrap_all(v) for k, v in x.items()}
    return _wrap(x)


def _copied(trace: Trace, x: Any, out: Any) -> None:
    if x.shape == out.shape:
        trace.carry(x, out)


def _reshaped(x: Any, out: Any) -> Any:
    """A reshape that had to copy: entries are in C order, so it is a copy of the same shape seen through a view."""
    trace = _trace()
    if trace is None or not isinstance(out, TracedArray) or _base(out) is _base(x):
        return out

    def observe() -> None:
        flat = _base(out)
        if flat.size == x.size:
            trace.carry(x, np.asarray(flat).reshape(x.shape))

    _quietly(observe)
    return out


# --- ufuncs ----------------------------------------------------------------------------------------------------------------------


def _array(x: Any) -> Any:
    return x if isinstance(x, np.ndarray) else np.asarray(x)


def _number(x: Any) -> float | None:
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return float(x)
    if isinstance(x, (np.generic, np.ndarray)) and np.ndim(x) == 0 and not isinstance(x, TracedArray) and np.asarray(x).dtype.kind in "fiu":
        return float(x)
    return None


def _multiply(trace: Trace, x: Any, y: Any, out: Any, op: str) -> None:
    for a, b in ((x, y), (y, x)):
        value = _number(b)
        if value is not None:
            if isinstance(a, np.ndarray):
                trace.scale(a, out, value, op)
            return
    trace.multiply(_array(x), _array(y), out, op)


def _divide(trace: Trace, x: Any, y: Any, out: Any, op: str) -> None:
    value = _number(y)
    if value is not None:
        if isinstance(x, np.ndarray):
            trace.scale(x, out, 1.0 / value if value else float("inf"), op)
    elif isinstance(x, np.ndarray):
        trace.multiply(x, _array(y), out, op, divide=True)
    elif isinstance(y, np.ndarray):
        info = trace.get(y)
        if info is not None and (info.exp_sum or info.norm_form == "norm"):
            trace.put(out, info._replace(norm_form="inverse") if info.norm_form else info)


def _add(trace: Trace, x: Any, y: Any, out: Any, alpha: float) -> None:
    if _number(y) is not None and isinstance(x, np.ndarray):
        trace.carry(x, out)
    elif _number(x) is not None and isinstance(y, np.ndarray):
        if alpha == 1.0:
            trace.carry(y, out)
        elif (info := trace.get(y)) is not None and info.track is not None:
            trace.scale(y, out, alpha, "subtract")
    else:
        trace.add(_array(x), _array(y), out, alpha)


def _matmul_letters(q: Any, k: Any) -> tuple[str, str, str]:
    """Axis letters of np.matmul, broadcast batches included."""
    batch = max(q.ndim, k.ndim, 2) - 2
    names = string.ascii_lowercase[:batch]

    def side(a: Any, last: str) -> str:
        own = a.ndim - 2
        return "".join("." if a.shape[i] == 1 else names[batch - own + i] for i in range(own)) + last

    if q.ndim == 1 and k.ndim == 1:
        return "z", "z", ""
    if q.ndim == 1:
        return "z", side(k, "zy"), names + "y"
    if k.ndim == 1:
        return side(q, "xz"), "z", names + "x"
    return side(q, "xz"), side(k, "zy"), names + "xy"


def _observe_ufunc(trace: Trace, name: str, method: str, inputs: Any, out: Any, kwargs: Any) -> None:
    if method == "reduce":
        _observe_reduce(trace, name, inputs[0], out, kwargs)
        return
    if method == "outer":
        return
    if method != "__call__" or not isinstance(out, np.ndarray):
        return
    where = kwargs.get("where")
    if where is not None and where is not True:
        trace.forget(out)
        return
    x = inputs[0]
    y = inputs[1] if len(inputs) > 1 else None
    if name == "multiply":
        _multiply(trace, x, y, out, "multiply")
    elif name in ("divide", "true_divide"):
        _divide(trace, x, y, out, "divide")
    elif name == "add":
        _add(trace, x, y, out, 1.0)
    elif name == "subtract":
        _add(trace, x, y, out, -1.0)
    elif name == "negative":
        trace.scale(x, out, -1.0, "negative")
    elif name == "matmul":
        q, k = _array(x), _array(y)
        trace.product(q, k, out, "matmul", _matmul_letters(q, k))
    elif name == "vecdot":
        _vecdot(trace, _array(x), _array(y), out)
    elif name in ("exp", "exp2"):
        trace.exp(x, out, 2.0 if name == "exp2" else math.e)
    elif name in ("power", "float_power") and not isinstance(x, np.ndarray):
        if isinstance(y, np.ndarray) and float(x) > 1.0:  # 2 ** logits
            trace.exp(y, out, float(x))
    elif name == "tanh":
        trace.soft_cap(x, out)
    elif name in ("square", "power"):
        _power(trace, x, 2.0 if name == "square" else _number(y), out)
    elif name in ("sqrt", "reciprocal"):
        _norm_step(trace, x, out, name)
    elif name in ("maximum", "minimum", "fmax", "fmin", "copyto", "positive", "clip"):
        _bounded(trace, inputs, out)
    elif name in ("log", "absolute", "expm1", "log1p", "sign", "floor", "rint", "float_power", "remainder"):
        info = trace.get(x) if isinstance(x, np.ndarray) else None
        if info is not None and (info.track is not None or info.weights is not None):
            if name == "log" and info.exp_sum:
                return
            trace.opaque(x, out, name)
        elif info is not None and trace.same_storage(x, out):
            trace.forget(out)
        elif info is not None and info.exp_sum and name == "log":
            part = info.exp_sum[-1]
            if part.axis is not None:
                trace.put(out, Info(exp_sum=info.exp_sum))


def _vecdot(trace: Trace, q: Any, k: Any, out: Any) -> None:
    rank = max(q.ndim, k.ndim) - 1
    names = string.ascii_lowercase[:rank]

    def side(a: Any) -> str:
        own = a.ndim - 1
        return "".join("." if a.shape[i] == 1 else names[rank - own + i] for i in range(own)) + "z"

    trace.product(q, k, out, "vecdot", (side(q), side(k), names))


def _power(trace: Trace, x: Any, exponent: float | None, out: Any) -> None:
    if not isinstance(x, np.ndarray):
        return
    info = trace.get(x)
    if info is not None and (info.track is not None or info.weights is not None):
        trace.opaque(x, out, "power")
    elif exponent == 2.0:
        trace.put(out, Info(norm_of=trace.origin(x, info), norm_form="square"))
    elif exponent in (0.5, -0.5):
        _norm_step(trace, x, out, "sqrt" if exponent == 0.5 else "inverse")


def _norm_step(trace: Trace, x: Any, out: Any, step: str) -> None:
    info = trace.get(x) if isinstance(x, np.ndarray) else None
    if info is None:
        return
    if info.track is not None or info.weights is not None:
        trace.opaque(x, out, step)
        return
    form = {
        ("sum", "sqrt"): "norm",
        ("sum", "inverse"): "inverse",
        ("norm", "reciprocal"): "inverse",
        ("inverse", "reciprocal"): "norm",
    }.get((info.norm_form, step))
    if form:
        trace.put(out, info._replace(norm_form=form))
    elif info.exp_sum and step == "reciprocal":
        trace.put(out, info)


def _bounded(trace: Trace, inputs: Any, out: Any) -> None:
    for x in inputs:
        if isinstance(x, np.ndarray):
            info = trace.get(x)
            if info is not None and x.shape == out.shape:
                if info.track is not None and _number(inputs[-1]) == 0.0:
                    trace.opaque(x, out, "maximum")
                else:
                    trace.carry(x, out)
                return


def _axes(axis: Any, ndim: int) -> list[int]:
    if axis is None:
        return list(range(ndim))
    return [int(a) for a in axis] if isinstance(axis, (tuple, list)) else [int(axis)]


def _observe_reduce(trace: Trace, name: str, x: Any, out: Any, kwargs: Any) -> None:
    if not (isinstance(x, np.ndarray) and isinstance(out, np.ndarray)):
        return
    axes = _axes(kwargs.get("axis", 0), x.ndim)
    if name == "add":
        trace.summed(x, out, axes, keepdim=bool(kwargs.get("keepdims")))
    elif name == "logaddexp":
        trace.log_sum_exp(x, out, axes)


def _observe_assignment(trace: Trace, target: Any, key: Any, value: Any) -> None:
    info = trace.get(target)
    view = np.ndarray.__getitem__(target, _strip_all(key))
    number = _number(value)
    if isinstance(view, np.ndarray) and _base(view) is _base(target):
        if number is not None:
            trace.fill_all(view, number)
        elif isinstance(value, np.ndarray):
            source = value if value.shape == view.shape else np.broadcast_to(value, view.shape)
            trace.copy_into(view, source)
        return
    if isinstance(key, tuple) and all(isinstance(k, (int, np.integer)) for k in key) and len(key) == target.ndim:
        cell = target[tuple(slice(int(k), int(k) + 1 if k != -1 else None) for k in key)]
        if isinstance(value, np.ndarray):
            trace.copy_into(cell, value.reshape(cell.shape))
        elif number is not None:
            trace.fill_all(cell, number)
        return
    mask = key if isinstance(key, np.ndarray) and key.dtype == bool and key.shape == target.shape else None
    if info is None:
        return
    if mask is not None and number is not None:
        trace.fill(target, target, np.array(mask), number)
    elif number is not None and number <= -30.0:
        trace.carry(target, target)
    elif info.track is not None:
        trace.opaque(target, target, "assignment by index")


# --- array functions ---------------------------------------------------------------------------------------------------------------


def _get(args: Any, kwargs: Any, i: int, name: str, default: Any = None) -> Any:
    return args[i] if i < len(args) else kwargs.get(name, default)


def _f_dot(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    q, k = _array(_get(args, kwargs, 0, "a")), _array(_get(args, kwargs, 1, "b"))
    if not isinstance(out, np.ndarray) or q.ndim == 0 or k.ndim == 0:
        if isinstance(out, np.ndarray):
            _multiply(trace, q, k, out, "dot")
        return
    first, second = string.ascii_lowercase[: q.ndim - 1], string.ascii_uppercase[: k.ndim - 1]
    letters_k = "z" if k.ndim == 1 else second[:-1] + "z" + second[-1:]
    trace.product(q, k, out, "dot", (first + "z", letters_k, first + second))


def _f_inner(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    q, k = _array(args[0]), _array(args[1])
    first, second = string.ascii_lowercase[: q.ndim - 1], string.ascii_uppercase[: k.ndim - 1]
    trace.product(q, k, out, "inner", (first + "z", second + "z", first + second))


def _f_tensordot(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    q, k = _array(args[0]), _array(args[1])
    axes = _get(args, kwargs, 2, "axes", 2)
    if isinstance(axes, int):
        left, right = list(range(q.ndim - axes, q.ndim)), list(range(axes))
    else:
        left = [axes[0]] if isinstance(axes[0], int) else list(axes[0])
        right = [axes[1]] if isinstance(axes[1], int) else list(axes[1])
    names_q, names_k = list(string.ascii_lowercase[: q.ndim]), list(string.ascii_uppercase[: k.ndim])
    for i, j in zip(left, right, strict=True):
        names_k[j] = names_q[i]
    result = [c for i, c in enumerate(names_q) if i not in [n % q.ndim for n in left]]
    result += [c for j, c in enumerate(names_k) if j not in [n % k.ndim for n in right]]
    trace.product(q, k, out, "tensordot", ("".join(names_q), "".join(names_k), "".join(result)))


def _f_einsum(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    if not isinstance(args[0], str) or not isinstance(out, np.ndarray):
        return
    operands = [_array(a) for a in args[1:]]
    spec = args[0].replace(" ", "")
    left, arrow, right = spec.partition("->")
    parts = left.split(",")
    used = set(left + right)
    spare = [c for c in string.ascii_letters if c not in used]
    width = max((a.ndim - len(p.replace("...", "")) for p, a in zip(parts, operands, strict=True) if "..." in p), default=0)
    dots = "".join(spare[:width])
    full = []
    for p, a in zip(parts, operands, strict=True):
        own = a.ndim - len(p.replace("...", ""))
        full.append(p.replace("...", dots[width - own :] if own else ""))
    if not arrow:
        joined = "".join(full)
        right = "..." * bool(width) + "".join(sorted(c for c in set(joined) - set(dots) if joined.count(c) == 1))
    right = right.replace("...", dots)
    names = []
    for p, a in zip(full, operands, strict=True):
        names.append(
            "".join("." if a.shape[i] == 1 and any(c in other for other in full if other is not p) else c for i, c in enumerate(p))
        )
    if len(operands) == 2:
        trace.product(operands[0], operands[1], out, "einsum", (names[0], names[1], right))
    elif len(operands) == 1 and isinstance(operands[0], TracedArray):
        x = operands[0]
        if sorted(full[0]) == sorted(right):
            if _base(out) is not _base(x):
                trace.carry(x.transpose([full[0].index(c) for c in right]), out)
        else:
            trace.summed(x, out, [i for i, c in enumerate(full[0]) if c not in right])


def _f_where(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    if len(args) < 3:
        return
    condition, a, b = args[0], args[1], args[2]
    ia = trace.get(a) if isinstance(a, np.ndarray) else None
    ib = trace.get(b) if isinstance(b, np.ndarray) else None
    condition = np.array(_strip(_array(condition)))
    if ia is not None and (ia.track is not None or ia.weights is not None or ib is None):
        trace.fill(a, out, condition, _fill_value(b), negate=True)
    elif ib is not None:
        trace.fill(b, out, condition, _fill_value(a))


def _fill_value(x: Any) -> Any:
    number = _number(x)
    if number is not None:
        return number
    constant = _ARRAYS.constant(_array(x))
    return constant if constant is not None else _array(x)


def _f_triangle(upper: bool) -> Callable[..., None]:
    def handler(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
        trace.triangle(args[0], out, upper, int(_get(args, kwargs, 1, "k", 0)))

    return handler


def _f_concatenate(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    parts = [_array(p) for p in args[0]]
    axis = _get(args, kwargs, 1, "axis", 0)
    if axis is not None:
        trace.join(parts, out, int(axis))


def _f_stack(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    axis = int(_get(args, kwargs, 1, "axis", 0)) % out.ndim
    trace.join([np.expand_dims(_array(p), axis) for p in args[0]], out, axis)


def _f_stacked(axis: int) -> Callable[..., None]:
    def handler(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
        parts = [_array(p) for p in args[0]]
        if parts and parts[0].ndim == out.ndim:
            trace.join(parts, out, axis if out.ndim > 1 else 0)
        elif parts and parts[0].ndim == out.ndim - 1:
            trace.join([p[None] for p in parts], out, 0)

    return handler


def _f_spread(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    x = args[0]
    if isinstance(x, np.ndarray) and isinstance(out, np.ndarray):
        trace.spread(x, out, "rearranged")


def _f_copy(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    if isinstance(args[0], np.ndarray) and isinstance(out, np.ndarray) and args[0].shape == out.shape and _base(out) is not _base(args[0]):
        trace.carry(args[0], out)


def _f_mean(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    x = args[0]
    if isinstance(out, np.ndarray):
        trace.summed(x, out, _axes(_get(args, kwargs, 1, "axis"), x.ndim), mean=True, keepdim=bool(kwargs.get("keepdims")))


def _f_norm(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    x, order = args[0], _get(args, kwargs, 1, "ord")
    if isinstance(x, np.ndarray) and isinstance(out, np.ndarray) and (order is None or order == 2):
        trace.put(out, Info(norm_of=trace.origin(x, trace.get(x)), norm_form="norm"))


def _f_reshape(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    if isinstance(args[0], TracedArray):
        _reshaped(args[0], out)


def _f_nothing(trace: Trace, args: Any, kwargs: Any, out: Any) -> None:
    """Known, and of no consequence."""


Function = Callable[[Trace, Any, Any, Any], None]

FUNCTIONS: dict[str, Function] = {
    "dot": _f_dot,
    "inner": _f_inner,
    "tensordot": _f_tensordot,
    "einsum": _f_einsum,
    "where": _f_where,
    "tril": _f_triangle(False),
    "triu": _f_triangle(True),
    "concatenate": _f_concatenate,
    "concat": _f_concatenate,
    "stack": _f_stack,
    "vstack": _f_stacked(0),
    "hstack": _f_stacked(1),
    "repeat": _f_spread,
    "tile": _f_spread,
    "roll": _f_spread,
    "take": _f_spread,
    "take_along_axis": _f_spread,
    "pad": _f_spread,
    "copy": _f_copy,
    "ascontiguousarray": _f_copy,
    "nan_to_num": _f_copy,
    "clip": _f_copy,
    "mean": _f_mean,
    "norm": _f_norm,
    "reshape": _f_reshape,
    "ravel": _f_reshape,
}


# --- the door ----------------------------------------------------------------------------------------------------------------------


def array(x: Any, dtype: Any = None) -> Any:
    """`x` as an array whose operations the open block sees; outside a block it computes just the same, unobserved."""
    plain = np.array(x, dtype=dtype)
    return plain.view(TracedArray)


def call(f: Callable[..., Any], *arrays: Any, **kwargs: Any) -> Any:
    """f(*arrays, **kwargs) with its NumPy arrays traced, also in lists, dicts and attributes; the result comes back as plain arrays."""
    taken = TakenIn(f, arrays, kwargs)
    given, named = taken.enter()
    try:
        return taken.plain(f(*given, **named))
    finally:
        taken.leave()


def plain(x: TracedArray) -> Any:
    """A traced array as code without the probe would have it: a plain array over the same memory, or a scalar."""
    made = x.view(np.ndarray)
    return made[()] if x.scalar and not x.ndim else made


__all__ = ["NumpyArrays", "TracedArray", "array", "call", "plain"]
