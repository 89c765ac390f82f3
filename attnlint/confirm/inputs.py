"""The inputs of a case: for each parameter the values that may fit it, the likeliest first, and random arrays made from them."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnlint.confirm import sizes as names
from attnlint.confirm.hints import Hint
from attnlint.confirm.sizes import Sizes
from attnlint.confirm.stubs import Configuration

Dimension = str | int

_QUERY = re.compile(r"q|.*quer(y|ies).*|q_.*|.*_q|tgt|target|decoder.*|x|text|hidden.*|inputs?_q|st|s_t", re.I)
_KEYS = re.compile(
    r"k|v|.*keys?|.*values?|k_.*|v_.*|.*_k|.*_v|.*kv|mem(ory)?|context|ctx|enc.*|encoder.*|source|src|.*_kv|y|cond.*|image.*|other|regions?",
    re.I,
)
_MASK = re.compile(r".*mask.*|.*(pad|padding)|valid.*|.*bias.*|alibi|.*_lens?|visible|adj", re.I)
_IDS = re.compile(r".*(_ids?|ids|tokens|idx|indices|index)|input_seqs?|log_seqs|tok", re.I)
_WEIGHT = re.compile(r"w|w_?\w{1,2}|weights?_?\w*|\w*_?weights?|proj_?\w*|w_?(q|k|v|o|query|key|value|out).*", re.I)
_IGNORED = re.compile(
    r"(past|cache|layer_past|past_key.*|kv_cache|rel_pos.*|position_bias|head_mask|rotary.*|freqs.*|rope.*|pos_emb.*)", re.I
)
_CALLABLE = re.compile(
    r"(.*_)?(fn|func|function|module|net|layer|block|sublayer|model|attn|attention|backbone|softmax|norm|activation)", re.I
)
_ARRAY_TEXT = re.compile(r"Tensor|ndarray|NDArray|ArrayLike|Array\b|Float\[|FloatTensor")


@dataclass(frozen=True)
class Array:
    """A random array; dimensions are numbers or the letters of `letters`. fill: normal, ids, true, false, zeros, ones, uniform."""

    shape: tuple[Dimension, ...]
    fill: str = "normal"
    below: int = 2

    def with_last(self, size: Dimension) -> Array:
        return Array((*self.shape[:-1], size), self.fill, self.below)


@dataclass(frozen=True)
class Constant:
    value: Any


@dataclass(frozen=True)
class Several:
    items: tuple[Any, ...]


@dataclass(frozen=True)
class Settings:
    """An object whose attributes are made as they are read."""

    absent: frozenset[str]


@dataclass(frozen=True)
class Identity:
    """A callable that hands its first argument on."""


class Default:
    """The parameter is left to its default."""

    def __repr__(self) -> str:
        return "default"


DEFAULT = Default()


def letters(sizes: Sizes, which: int, same: bool) -> dict[str, int]:
    """What the letters stand for in the first (0) or second (1) run: B batch, H heads, T queries, S keys, D head, C model, X context."""
    grid = sizes.grid[which]
    length = sizes.lengths[which]
    return {
        "B": sizes.batch,
        "H": sizes.heads,
        "K": sizes.kv_heads,
        "T": length,
        "S": length if same else sizes.others[which],
        "L": max(sizes.lengths),
        "D": sizes.head,
        "C": sizes.model,
        "X": sizes.context,
        "M": 5,
        "Y": grid[0],
        "Z": grid[1],
    }


def make(value: Any, table: Mapping[str, int], random: Any, library: str, sizes: Sizes) -> Any:
    """The value itself. `random` is a NumPy generator, `library` "torch" or "numpy"."""
    if isinstance(value, Array):
        return _array(value, table, random, library)
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Several):
        return [make(item, table, random, library, sizes) for item in value.items]
    if isinstance(value, Settings):
        return settings_object(sizes, value.absent)
    if isinstance(value, Identity):
        torch = sys.modules.get("torch")
        return torch.nn.Identity() if torch is not None else _first_argument
    raise TypeError(f"no value is made of {value!r}")


def _first_argument(first: Any, *rest: Any, **named: Any) -> Any:
    return first


def _array(value: Array, table: Mapping[str, int], random: Any, library: str) -> Any:
    import numpy as np

    shape = tuple(table[d] if isinstance(d, str) else d for d in value.shape)
    made: Any
    if value.fill == "normal":
        made = random.standard_normal(shape)
    elif value.fill == "weight":
        made = random.standard_normal(shape) / np.sqrt(shape[0])
    elif value.fill == "ids":
        made = random.integers(0, max(1, value.below), shape)
    elif value.fill == "true":
        made = np.ones(shape, bool)
    elif value.fill == "false":
        made = np.zeros(shape, bool)
    elif value.fill == "lower":
        made = np.broadcast_to(np.tril(np.ones(shape[-2:], bool)), shape).copy() if len(shape) > 1 and shape[-2] > 1 else _first_half(shape)
    elif value.fill == "upper":
        made = (
            np.broadcast_to(np.triu(np.ones(shape[-2:], bool), 1), shape).copy()
            if len(shape) > 1 and shape[-2] > 1
            else ~_first_half(shape)
        )
    elif value.fill == "zeros":
        made = np.zeros(shape)
    else:
        made = np.ones(shape)
    if library != "torch":
        return made
    import torch

    array = torch.from_numpy(np.ascontiguousarray(made))
    return array.float() if array.dtype == torch.float64 else array


def _first_half(shape: tuple[int, ...]) -> Any:
    """True for the first half of the last axis: a mask that hides the others."""
    import numpy as np

    made = np.zeros(shape, bool)
    made[..., : (shape[-1] + 1) // 2] = True
    return made


def settings_object(sizes: Sizes, absent: frozenset[str]) -> Configuration:
    """A configuration object for these sizes."""
    return Configuration(lambda name: setting(name, sizes), absent)


def setting(name: str, sizes: Sizes) -> Any:
    """The value of a configuration's attribute, by its name."""
    role = names.role_of(name)
    if role == names.FLAG:
        return False
    if role == names.DEVICE:
        return "cpu"
    if role == names.DTYPE:
        torch = sys.modules.get("torch")
        return torch.float32 if torch is not None else "float32"
    if role == names.TEXT:
        return "eager" if "impl" in name else "none"
    if role == names.ACTIVATION:
        return "relu"
    if role == names.LAYER:
        torch = sys.modules.get("torch")
        return torch.nn.LayerNorm if torch is not None else None
    if role == names.SCALE and re.search("temp|tau|norm", name, re.I):
        return sizes.head**0.5
    return names.number(role, sizes)


class Guide:
    """What is known beside the hints: the built object, the sizes, and whether the function stands alone."""

    def __init__(
        self, sizes: Sizes, owner: Any, absent: frozenset[str], parameters: Sequence[inspect.Parameter], flat: bool = False
    ) -> None:
        self.sizes = sizes
        self.owner = owner
        self.absent = absent
        roles = {names.role_of(p.name) for p in parameters if p.default is inspect.Parameter.empty}
        self.heads_given = "heads" in roles
        self.has_query = any(_QUERY.fullmatch(p.name) for p in parameters)
        self.flat = flat
        self.weights_given = any(_WEIGHT.fullmatch(p.name) for p in parameters)
        self.widths = list(dict.fromkeys(_widths(owner))) if owner is not None else []


def _widths(owner: Any) -> Iterable[int]:
    """Sizes that an input of a built object may have: the inputs of its layers, then its own numbers."""
    modules = getattr(owner, "_modules", None) or {}
    for layer in modules.values():
        for inner in layer.modules() if hasattr(layer, "modules") else ():
            width = getattr(inner, "in_features", None) or getattr(inner, "in_channels", None)
            if isinstance(width, int):
                yield width
                break
    for value in vars(owner).values():
        if isinstance(value, int) and not isinstance(value, bool) and 3 < value < 5000:
            yield value
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and len(shape) == 2 and not modules:
            yield int(shape[0])
    for value in (getattr(owner, "_parameters", None) or {}).values():
        if value is not None and value.dim() >= 2:
            yield int(value.shape[-2])


def candidates(parameter: inspect.Parameter, hint: Hint, guide: Guide, masking: bool = False) -> list[Any]:
    """Values for one parameter, the likeliest first; with `masking` a mask hides something wherever there is one."""
    name = parameter.name
    annotation = parameter.annotation if isinstance(parameter.annotation, str) else getattr(parameter.annotation, "__name__", "")
    annotation = "" if parameter.annotation is inspect.Parameter.empty else annotation or str(parameter.annotation)
    default = parameter.default
    found: list[Any] = []
    if default is not inspect.Parameter.empty:
        found.append(DEFAULT)
        if isinstance(default, bool):
            return [DEFAULT, Constant(not default)]
        if default is not None:
            return found if not hint.array else [*found, *_arrays(name, hint, guide)]
    if _MASK.fullmatch(name) or (hint.masked and not _QUERY.fullmatch(name)):
        optional = default is None or hint.none_checked or hint.truth or "Optional" in annotation or "None" in annotation
        masks = _masks(hint, masking)
        if masking:
            return [*masks, *found, Constant(None)]
        return [*found, Constant(None), *masks] if optional and not found else [*found, *masks, Constant(None)]
    if _IGNORED.fullmatch(name) and not hint.last:
        return [*found, Constant(None), *_arrays(name, hint, guide)[:3]]
    if hint.called and not hint.array:
        return [*found, Identity()]
    if hint.items and not hint.array and hint.items in (2, 3, 4):
        if re.search(r"size|shape|hw|resolution", name):
            return [*found, Constant((guide.sizes.grid[0][0], guide.sizes.grid[0][1])[: hint.items])]
        inner = Hint("x", last=hint.last)
        return [*found, *(Several((one,) * hint.items) for one in _arrays("x", inner, guide)[:6])]
    if "bool" in annotation or (hint.truth and not hint.array and not _ARRAY_TEXT.search(annotation)):
        return [*found, Constant(False), Constant(True)]
    if not _ARRAY_TEXT.search(annotation) and not hint.array:
        if annotation == "str":
            return [*found, Constant("none")]
        if annotation in ("int", "float") or hint.number:
            return [*found, Constant(number(name, guide.sizes))]
        if hint.is_object:
            return [*found, Settings(guide.absent)]
        role = names.role_of(name)
        if (
            role != "model"
            and role not in ("zero", "one", "two")
            and not (_QUERY.fullmatch(name) or _KEYS.fullmatch(name))
            and len(name) > 1
        ):
            return [*found, Constant(setting(name, guide.sizes)), *_arrays(name, hint, guide)]
        if role == "model" and re.fullmatch(r"(d_?model|.*_?dim|embed.*|hidden_size|n_embd|width)", name):
            return [*found, Constant(guide.sizes.model)]
        if len(name) == 1 and role in ("heads", "batch") and guide.owner is None and not hint.rank:
            return [*found, Constant(number(name, guide.sizes)), *_arrays(name, hint, guide)]
    elif annotation in ("int", "float"):
        return [*found, Constant(number(name, guide.sizes))]
    return [*found, *_arrays(name, hint, guide)]


def number(name: str, sizes: Sizes) -> Any:
    value = setting(name, sizes)
    return value if isinstance(value, (int, float)) else sizes.model


def _masks(hint: Hint, masking: bool) -> list[Any]:
    shapes: list[tuple[Dimension, ...]] = [
        ("B", 1, 1, "S"),
        ("B", "S"),
        ("T", "S"),
        ("B", "T", "S"),
        ("B", 1, "T", "S"),
        ("B", "H", "T", "S"),
        ("B", 1, "S"),
    ]
    if hint.rank:
        shapes = [shape for shape in shapes if len(shape) == hint.rank] or shapes
    fills: tuple[str, ...] = ("zeros", "true", "false") if hint.added and not hint.masked else ("true", "false", "zeros")
    if masking:
        fills = ("lower", "upper")
    return [Array(shape, fill) for fill in fills for shape in shapes]


def _arrays(name: str, hint: Hint, guide: Guide) -> list[Any]:
    """Random arrays that may fit a parameter."""
    if hint.integer is not None or (_IDS.fullmatch(name) and not hint.last and not hint.channels):
        return [
            Array(("B", "T"), "ids", hint.integer or 7),
            Array(("B",), "ids", hint.integer or 7),
            Array(("T",), "ids", hint.integer or 7),
        ]
    keys = bool(_KEYS.fullmatch(name)) and guide.has_query
    length: Dimension = "S" if keys else "T"
    lasts: list[Dimension] = list(dict.fromkeys(hint.last))
    stands_alone = guide.owner is None or not guide.widths
    if not lasts:
        lasts = ["C", "D"] if guide.heads_given or guide.weights_given else ["D", "C"] if stands_alone else [*guide.widths, "D", "C"]
    if hint.second and _WEIGHT.fullmatch(name) and guide.owner is None:
        return [
            Array(("C", "C" if guide.heads_given else "D"), "weight"),
            Array(("C", "C"), "weight"),
            Array(("D", "D"), "weight"),
            Array(("H", "C", "D"), "weight"),
        ]
    shapes: list[tuple[Dimension, ...]] = []
    if hint.channels:
        spatial: dict[int, tuple[Dimension, ...]] = {3: ("T",), 4: ("Y", "Z"), 5: (2, "Y", "Z")}
        for rank in [hint.rank] if hint.rank in spatial else [4, 3, 5]:
            shapes.append(("B", hint.channels, *spatial[rank or 4]))
    named = _by_names(hint, length, lasts)
    if named is not None:
        shapes.append(named)
    for last in lasts[:8]:
        by_rank: dict[int, list[tuple[Dimension, ...]]] = {
            1: [(last,)],
            2: [(length, last), ("B", last)],
            3: [("B", length, last)],
            4: [("B", "H", length, last), ("B", length, "H", last)]
            if stands_alone
            else [("B", "M", length, last), ("B", "Y", "Z", last), ("B", "H", length, last)],
            5: [("B", 2, "Y", "Z", last)],
        }
        if guide.flat and hint.rank is None:
            shapes += [*by_rank[2], *by_rank[3]]
        elif hint.rank in by_rank:
            shapes += by_rank[hint.rank]
            if stands_alone and hint.rank == 3:
                shapes.append(("H", length, last))
        elif stands_alone and not guide.heads_given and not hint.last:
            shapes += [*by_rank[4], *by_rank[3], *by_rank[2]]
        else:
            shapes += [*by_rank[3], *by_rank[2], *by_rank[4]]
    for width in guide.widths[:3] if not hint.last else ():
        if hint.rank in (None, 4):
            shapes.append(("B", width, "Y", "Z"))
        if hint.rank in (None, 3):
            shapes.append(("B", width, length))
    if hint.rank in (None, 1) and guide.owner is not None:
        shapes += [("B", last) for last in lasts[:2]]
    kept = [s for s in dict.fromkeys(shapes) if len(s) >= hint.least_rank] or list(dict.fromkeys(shapes))
    return [Array(shape) for shape in kept]


_AXES: tuple[tuple[str, str], ...] = (
    (r"b|bs|bsz|batch|batch_?size|nb|bz|b_?size|n_?batch(es)?", "B"),
    (r"n?_?heads?|num_?heads?|nh", "H"),
    (
        r"t|l|s|seq|seq_?len(gth)?|len(gth)?|tokens?|n_?tokens|num_?tokens|tgt_?len|src_?len|q_?len|k_?len|time|steps|i|j|m|q|k|lq|lk|tq|tk|slen|num_(patches|nodes|tokens)",
        "T",
    ),
    (r"d|head_?dim|d_?k|dk|hd|dh|d_?head", "D"),
    (r"c|ch|channels?|embed_?dim|width|hidden|dim|d_?model|e|emb|embed|features?|f", "C"),
    (r"n", "N"),
    (r"h|height|hh|x|y", "h"),
    (r"w|ww|width_?px", "w"),
    (r"_", "?"),
)
_AXES_COMPILED = tuple((re.compile(f"(?:{pattern})$", re.I), letter) for pattern, letter in _AXES)


def _by_names(hint: Hint, length: Dimension, lasts: Sequence[Dimension]) -> tuple[Dimension, ...] | None:
    """The shape that the names of the axes say: `b, n, c`, `length, batch, width`, `b h n d`."""
    if hint.channels or not hint.axes or len(hint.axes) < 2:
        return None
    roles = [
        next((letter for pattern, letter in _AXES_COMPILED if pattern.match(axis.strip("()").split()[-1] if " " in axis else axis)), "?")
        for axis in hint.axes
    ]
    image = "w" in roles and "h" in roles
    shape: list[Dimension] = []
    for index, named in enumerate(roles):
        role = named
        if named == "N":
            role = "B" if index == 0 and "B" not in roles and len(roles) > 2 else "T"
        if role == "h":
            shape.append("Y" if image else "H")
        elif role == "w":
            shape.append("Z")
        elif role == "T":
            shape.append(length if length not in shape else "M")
        elif role in ("C", "D"):
            shape.append(lasts[0] if index == len(roles) - 1 or not isinstance(lasts[0], str) else role)
        elif role == "?":
            if index == len(roles) - 1:
                shape.append(lasts[0])
            elif index == 0:
                shape.append("T" if "B" in roles else "B")
            else:
                shape.append(length if length not in shape else "M")
        else:
            shape.append(role)
    if hint.last and shape[-1] != lasts[0] and not image:
        return None
    return tuple(shape)
