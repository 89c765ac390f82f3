"""The trace: what is known of each array while a program runs, whichever framework computes it.

A back end reports operations in these terms (scale, add, product, softmax, ...); the trace keeps for every storage the scalar
factors since its origin, the product q·k behind logits with the events since, and the softmax behind weights. Views need no
event: they share a storage, and where they lie in it says which entries they hold.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from attnlint.probe import frames
from attnlint.probe.frames import Line, Place
from attnlint.probe.values import Factor, Geometry, Samples, Statistics

FILL_MASKS_BELOW = -30.0
"""A fill of this or less takes a key out of the softmax; anything above leaves it in (the multiplicative-mask fault)."""
MAX_TERMS = 8


class Arrays(Protocol):
    """What the trace asks of a framework's arrays."""

    module_type: type | None

    def key(self, a: Any) -> int: ...
    def guard(self, a: Any, gone: Callable[[], None]) -> Any: ...
    def geometry(self, a: Any) -> Geometry: ...
    def covers(self, a: Any) -> bool: ...
    def numeric(self, a: Any) -> bool: ...
    def take(self, a: Any, index: Sequence[Any]) -> Any: ...
    def dtype(self, a: Any) -> str: ...
    def is_parameter(self, a: Any) -> bool: ...
    def trainable(self, a: Any) -> bool: ...
    def constant(self, a: Any) -> float | None: ...
    def zero_one(self, a: Any) -> bool: ...
    def rows(self, a: Any, axis: int, every: int) -> Any: ...
    def row_sums(self, weights: Any, axis: int) -> Any: ...


# --- what happened to logits between the product and softmax, in order ------------------------------------------------------


class Scale(NamedTuple):
    at: Geometry
    value: Any  # a float, or an array that differs from entry to entry


class Add(NamedTuple):
    at: Geometry
    array: Any
    alpha: float


class Fill(NamedTuple):
    """Entries where `mask` (or its negation) holds became `value`, a float or an array."""

    at: Geometry
    mask: Any
    negate: bool
    value: Any


class PartFill(NamedTuple):
    """All entries of one region became `value` (None: unknown)."""

    region: Geometry
    value: float | None


class ZeroTriangle(NamedTuple):
    at: Geometry
    upper: bool
    diagonal: int


class SoftCap(NamedTuple):
    at: Geometry


class Move(NamedTuple):
    """A new storage whose entries correspond, index by index and broadcast, to those of `source` in the storage before."""

    at: Geometry
    source: Geometry


class Joined(NamedTuple):
    """A new storage in which the piece of interest lies at `start` along `axis`."""

    at: Geometry
    axis: int
    start: int
    source: Geometry


class Product:
    """One contraction of two arrays, neither of them a parameter."""

    __slots__ = (
        "dtype",
        "geometry",
        "head_dim",
        "k",
        "k_info",
        "k_letters",
        "k_shape",
        "op",
        "out_letters",
        "place",
        "q",
        "q_info",
        "q_letters",
        "q_shape",
        "versions",
    )

    def __init__(self, op: str, place: Place, q: Any, k: Any, letters: tuple[str, str, str], head_dim: int) -> None:
        self.op, self.place, self.q, self.k = op, place, q, k
        self.q_letters, self.k_letters, self.out_letters = letters
        self.head_dim = head_dim
        self.q_info = self.k_info = EMPTY
        self.q_shape: tuple[int, ...] = ()
        self.k_shape: tuple[int, ...] = ()
        self.dtype = "float32"
        self.geometry = Geometry((), (), 0)


class Term(NamedTuple):
    product: Product
    factors: tuple[Factor, ...]  # on the logits, since the product


class Track(NamedTuple):
    """Logits: the products in them, and what has happened to the entries since the first one."""

    terms: tuple[Term, ...]
    events: tuple[Any, ...] = ()
    lost: str = ""  # why entries can no longer be traced to the product's
    zeroed: str = ""  # where entries were multiplied by 0 or filled with about 0
    capped: bool = False
    mixed: str = ""  # a learned layer over the logits
    learned: bool = False
    opaque: str = ""  # an operation that the trace does not know
    uneven: bool = False  # a multiplier that differs from entry to entry


class Exponential:
    """exp(logits) whose sum and product with the values are still to come."""

    __slots__ = ("axis", "contracted", "logits", "run", "summed", "track")

    def __init__(self, logits: Any, track: Track) -> None:
        self.logits, self.track = logits, track
        self.summed = self.contracted = False
        self.axis: int | None = None
        self.run: Run | None = None


class Weights(NamedTuple):
    run: Run
    stride: int
    size: int


class ExpPart(NamedTuple):
    exponential: Exponential
    stride: int  # of the summed axis, once known; -1 before
    size: int


class Info(NamedTuple):
    """What is known of an array. All fields have a neutral default: an array without any is fresh data."""

    origin: Any = None
    factors: tuple[Factor, ...] = ()
    parameter: bool = False  # a parameter, a view of one or a cast of one
    trainable: bool = False
    learned: bool = False  # computed from parameters alone
    random: bool = False
    normalised: str = ""  # "l2", "rms" or "layer"
    norm_of: Any = None
    norm_form: str = ""  # "square", "sum", "norm", "inverse"
    table: Any = None  # what it was multiplied by entry by entry (rope's cosine or sine)
    track: Track | None = None
    weights: Weights | None = None
    weight_sum: Run | None = None
    exponential: ExpPart | None = None
    exp_sum: tuple[Exponential, ...] = ()
    exp_output: tuple[Exponential, ...] = ()  # exponentials times values, not divided by their sum yet
    log_sum: tuple[Track, int] | None = None
    log_weights: Weights | None = None
    outer: Outer | None = None
    output_of: tuple[Run, ...] = ()
    inexact: bool = False
    unpadded: int | None = None


class Outer(NamedTuple):
    """An elementwise product of two broadcast arrays, before the sum that makes it a contraction."""

    a: Any
    b: Any
    a_info: Info
    b_info: Info
    place: Place
    version: tuple[Any, Any] = (None, None)


EMPTY = Info()


class Run:
    """One attention that ran, as measured. Numbers only, but for `reference` and what its judge drops."""

    __slots__ = (
        "capped",
        "done",
        "dropped_mass",
        "dtype",
        "head_dim",
        "k_shape",
        "keys",
        "learned",
        "logit_slope",
        "logits_shape",
        "masked_after",
        "mixed",
        "normalised",
        "notes",
        "op",
        "opaque",
        "output_factors",
        "place",
        "product_geometry",
        "q_shape",
        "queries",
        "r_squared",
        "reference",
        "samples",
        "slope_error",
        "statistics",
        "terms",
        "trainable",
        "weight_factors",
        "zeroed",
    )

    def __init__(self, op: str, place: Place) -> None:
        self.op, self.place = op, place
        self.terms: tuple[tuple[int, tuple[Factor, ...]], ...] = ()
        self.head_dim: int | None = None
        self.q_shape: tuple[int, ...] = ()
        self.k_shape: tuple[int, ...] = ()
        self.logits_shape: tuple[int, ...] = ()
        self.queries = self.keys = 0
        self.dtype = "float32"
        self.logit_slope: float | None = None  # softmax input on the product as it was computed
        self.r_squared: float | None = None
        self.slope_error = 0.0  # relative standard error of the slope
        self.statistics = Statistics()
        self.reference: Callable[[float], float | None] | None = None
        self.samples: Samples | None = None
        self.normalised = self.learned = self.capped = self.trainable = False
        self.zeroed = self.mixed = self.opaque = ""
        self.notes: list[str] = []
        self.weight_factors: list[Factor] = []
        self.output_factors: list[Factor] = []
        self.masked_after: Line | None = None
        self.dropped_mass = False
        self.done = False


class Write(NamedTuple):
    region: Geometry | None
    info: Info


class Entry:
    __slots__ = ("guard", "info", "writes")

    def __init__(self, info: Info, guard: Any) -> None:
        self.info, self.guard = info, guard
        self.writes: list[Write] = []


def _extent(g: Geometry) -> tuple[int, int]:
    low = high = g.offset
    for size, stride in zip(g.sizes, g.strides, strict=True):
        if stride >= 0:
            high += (size - 1) * stride
        else:
            low += (size - 1) * stride
    return low, high


def product_of(factors: Sequence[Factor]) -> float | None:
    """The product of the factors' values, None where one is unknown."""
    total = 1.0
    for factor in factors:
        if factor.value is None:
            return None
        total *= factor.value
    return total


class Trace:
    """All that is known of one thread's arrays. `deliver` gets each attention that ran."""

    def __init__(self, arrays: Arrays, deliver: Callable[[Run], None], wants_samples: Callable[[], bool]) -> None:
        self.arrays = arrays
        self.deliver = deliver
        self.wants_samples = wants_samples
        self.table: dict[int, Entry] = {}
        self._origins = itertools.count(1)
        self.softmaxes = 0
        self.opaque_calls: set[str] = set()

    def clear(self) -> None:
        self.table.clear()

    # --- the table ----------------------------------------------------------------------------------------------------------

    def get(self, a: Any) -> Info | None:
        entry = self.table.get(self.arrays.key(a))
        if entry is None:
            return None
        if not entry.writes:
            return entry.info
        return self._read_writes(a, entry)

    def _read_writes(self, a: Any, entry: Entry) -> Info:
        here = self.arrays.geometry(a)
        low, high = _extent(here)
        met: list[Info] = []
        for write in reversed(entry.writes):
            if write.region is None:
                met.append(write.info)
                continue
            if write.region.sizes == here.sizes and write.region.strides == here.strides and write.region.offset == here.offset:
                if not met:
                    return write.info
                met.append(write.info)
                break
            first, last = _extent(write.region)
            if first <= high and last >= low and not self._disjoint(write.region, here):
                met.append(write.info)
                if first <= low and last >= high and write.region.numel >= here.numel and len(met) == 1:
                    break
        if not met:
            return entry.info
        return self.merge(met, plain=entry.info is EMPTY, lost="written in place, piece by piece")

    @staticmethod
    def _disjoint(a: Geometry, b: Geometry) -> bool:
        """Slices of the same tensor along its last axes: interleaved, but without a common entry."""
        if len(a.sizes) != len(b.sizes) or a.strides != b.strides or a.offset == b.offset:
            return False
        distance = abs(a.offset - b.offset)
        first = a if a.offset < b.offset else b
        for size, stride in sorted(zip(first.sizes, first.strides, strict=True), key=lambda pair: -pair[1]):
            if stride <= 0:
                return False
            steps = distance // stride
            if steps >= size:
                return True
            distance -= steps * stride
        return distance != 0

    def origin(self, a: Any, info: Info | None) -> Any:
        if info is not None and info.origin is not None:
            return info.origin
        return ("storage", self.arrays.key(a))

    def new_origin(self) -> int:
        return next(self._origins)

    def put(self, a: Any, info: Info) -> None:
        """Say what `a` now holds. A view that covers only part of its storage is a write into it."""
        key = self.arrays.key(a)
        entry = self.table.get(key)
        if self.arrays.covers(a) or (entry is None and info is EMPTY):
            self._new_entry(key, a, info)
            return
        if entry is None:
            entry = self._new_entry(key, a, EMPTY)
        region: Geometry | None = self.arrays.geometry(a)
        if entry.writes:
            last = entry.writes[-1]
            if last.region == region:
                entry.writes[-1] = Write(region, info)
                return
            if len(entry.writes) > 32 and _alike(last.info, info):
                entry.writes[-1] = Write(None, info)
                return
        entry.writes.append(Write(region, info))

    def _new_entry(self, key: int, a: Any, info: Info) -> Entry:
        table = self.table

        def gone(_: object = None, key: int = key) -> None:
            table.pop(key, None)

        old = table.get(key)
        guard = old.guard if old is not None else self.arrays.guard(a, gone)
        entry = table[key] = Entry(info, guard)
        return entry

    def forget(self, a: Any) -> None:
        self.table.pop(self.arrays.key(a), None)

    def same_storage(self, a: Any, b: Any) -> bool:
        return self.arrays.key(a) == self.arrays.key(b)

    # --- moving knowledge from one array to the next -------------------------------------------------------------------------

    def moved(self, info: Info, x: Any, out: Any) -> Info:
        """`info` of `x` as it is of `out`, whose entries correspond to those of `x` (broadcast)."""
        if info.outer is not None:
            info = info._replace(outer=None)
        if self.same_storage(x, out):
            return info
        changes: dict[str, Any] = {}
        if info.track is not None:
            event = Move(self.arrays.geometry(out), self.arrays.geometry(x))
            changes["track"] = info.track._replace(events=(*info.track.events, event))
        if info.weights is not None:
            changes["weights"] = self._moved_axis(info.weights, x, out)
        if info.log_weights is not None:
            changes["log_weights"] = self._moved_axis(info.log_weights, x, out)
        if info.exponential is not None and info.exponential.stride >= 0:
            part = info.exponential
            moved = self._moved_axis(Weights(part.exponential.run, part.stride, part.size), x, out)  # type: ignore[arg-type]
            changes["exponential"] = ExpPart(part.exponential, moved.stride, moved.size) if moved else None
        return info._replace(**changes) if changes else info

    def _moved_axis(self, weights: Weights, x: Any, out: Any) -> Weights | None:
        before, after = self.arrays.geometry(x), self.arrays.geometry(out)
        axis = self.axis_of(x, weights.stride, weights.size)
        if axis is not None:
            place = axis - len(before.sizes)
            if -place > len(after.sizes):
                return None
            return Weights(weights.run, after.strides[place], after.sizes[place])
        return self._inside(weights, before, after)

    @staticmethod
    def _inside(weights: Weights, before: Geometry, after: Geometry, places: Sequence[int] | None = None) -> Weights | None:
        """The axis lies within a merged axis of `before`: where it lies in `after`, whose axis `places[i]` is the i-th of `before`."""
        for i, (size, stride) in enumerate(zip(before.sizes, before.strides, strict=True)):
            if stride > 0 and weights.stride % stride == 0 and (weights.stride // stride) * weights.size <= size:
                place = i - len(before.sizes) if places is None else places[i]
                if -len(after.sizes) <= place < len(after.sizes) and after.sizes[place] == size:
                    return Weights(weights.run, after.strides[place] * (weights.stride // stride), weights.size)
        return None

    def axis_of(self, a: Any, stride: int, size: int) -> int | None:
        """Which axis of the view `a` is the one with this stride in the storage; None where it was merged or lost."""
        g = self.arrays.geometry(a)
        single = None
        for i in range(len(g.sizes) - 1, -1, -1):
            if g.strides[i] == stride and g.sizes[i] <= size:
                if g.sizes[i] > 1:
                    return i
                single = i if single is None else single
        if single is not None:
            return single
        return len(g.sizes) - 1 if size == 1 and g.sizes and g.sizes[-1] == 1 else None

    def carry(self, x: Any, out: Any) -> Info | None:
        """An operation that keeps the entries as they are: a cast, a copy, dropout."""
        info = self.get(x)
        if info is None:
            if self.same_storage(x, out):
                return None
            if self.arrays.is_parameter(x):
                info = Info(parameter=True, trainable=self.arrays.trainable(x))
            else:
                info = Info(origin=self.origin(x, None))
        if info is EMPTY:
            return None
        after = self.moved(info, x, out)
        self.put(out, after)
        return after

    def spread(self, x: Any, out: Any, why: str) -> None:
        """Entries of `x` at other places in `out` (index, gather, repeat, roll): factors stay, positions are lost."""
        info = self.get(x)
        if info is None:
            return
        track = info.track
        if track is not None:
            track = track._replace(lost=track.lost or why, events=())
        weights = None
        if info.weights is not None:
            axis = self.axis_of(x, info.weights.stride, info.weights.size)
            g, o = self.arrays.geometry(x), self.arrays.geometry(out)
            if axis is not None and len(g.sizes) == len(o.sizes):
                weights = Weights(info.weights.run, o.strides[axis], o.sizes[axis])
        self.put(
            out,
            info._replace(
                track=track, weights=weights, exponential=None, exp_sum=(), exp_output=(), outer=None, table=None, parameter=False
            ),
        )

    def merge(self, infos: Sequence[Info], *, plain: bool, lost: str) -> Info:
        """What is known of an array put together from several. Equal factors stay; the positions of logits are lost."""
        first = infos[0]
        for info in infos:
            if info.track is not None or info.weights is not None:
                first = info
                break
        factors = first.factors
        totals = {_magnitude(info.factors) for info in infos}
        mixed = len(totals) > 1
        if mixed:
            factors = max((info.factors for info in infos), key=len)
        track = first.track
        if track is not None:
            terms: list[Term] = list(track.terms)
            seen = {(t.product.place.user, t.product.head_dim, _magnitude(t.factors)) for t in terms}
            for info in infos:
                for term in info.track.terms if info.track else ():
                    sign = (term.product.place.user, term.product.head_dim, _magnitude(term.factors))
                    if sign not in seen and len(terms) < MAX_TERMS:
                        seen.add(sign)
                        terms.append(term)
            track = track._replace(terms=tuple(terms), lost=track.lost or lost, events=())
        normalised = first.normalised if all(info.normalised for info in infos) and not plain else ""
        return first._replace(
            factors=factors, track=track, normalised=normalised, inexact=True, outer=None, table=None, weights=None, exponential=None
        )

    # --- scalars --------------------------------------------------------------------------------------------------------------

    def factor(self, value: float | None, op: str, learned: bool = False) -> Factor:
        where = frames.user_line()
        return Factor(value, where.file, where.line, op, learned=learned)

    def scale(self, x: Any, out: Any, value: float | None, op: str, *, learned: bool = False, inherited: tuple[Factor, ...] = ()) -> None:
        """out = x * value. `inherited` are the factors that made `value`, where they are known one by one."""
        info = self.get(x) or Info(origin=self.origin(x, None))
        if info.parameter:
            info = info._replace(parameter=False, learned=True)
        if info.norm_form in ("norm", "inverse", "sum", "square"):
            self.put(out, self.moved(info, x, out))
            return
        if value == 1.0 and not learned:
            self.put(out, self.moved(info, x, out))
            return
        if info.exp_sum or info.exp_output or info.exponential is not None:
            self.put(out, self.moved(info, x, out))
            return
        factor = self.factor(value, op, learned)
        after = self.moved(info, x, out)
        if info.weights is not None:
            if not info.random:
                info.weights.run.weight_factors.append(factor)
            self.put(out, after)
            return
        if after.track is not None and info.track is not None:
            event = Scale(self.arrays.geometry(out), value if value is not None else math.nan)
            track = after.track
            terms = tuple(Term(t.product, (*t.factors, factor)) for t in track.terms)
            lost = track.lost or ("" if value is not None else "a factor has no value")
            after = after._replace(
                track=track._replace(terms=terms, events=(*track.events, event), lost=lost, learned=track.learned or learned)
            )
        for run in info.output_of:
            run.output_factors.append(factor)
        after = after._replace(factors=(*after.factors, factor), origin=after.origin or self.origin(x, None))
        self.put(out, after)

    # --- sums -------------------------------------------------------------------------------------------------------------------

    def add(self, x: Any, y: Any, out: Any, alpha: float) -> None:
        """out = x + alpha * y, both arrays."""
        a, b = self.get(x), self.get(y)
        if a is None and b is None:
            return
        a, b = a or Info(origin=self.origin(x, None)), b or Info(origin=self.origin(y, None))
        if a.log_weights is None and b.log_sum is not None and a.track is not None and alpha == -1.0:
            self._log_softmax_by_hand(a, b, x, out)
            return
        if a.track is None and b.track is not None:
            if abs(alpha) == 1.0 or b.track.lost:
                info = b if alpha == 1.0 else b._replace(track=self._scaled_track(b.track, alpha))
                self._add_to_track(info, y, x, a, out, 1.0, sign=alpha)
            else:
                info = b._replace(track=self._scaled_track(b.track, alpha))
                self._add_to_track(info, y, x, a, out, 1.0, sign=alpha)
            return
        if a.track is not None:
            self._add_to_track(a, x, y, b, out, alpha)
            return
        if a.exp_sum or b.exp_sum or a.exp_output or b.exp_output:
            sums, outputs = (*a.exp_sum, *b.exp_sum), (*a.exp_output, *b.exp_output)
            self.put(out, Info(origin=self.new_origin(), exp_sum=_unique(sums), exp_output=_unique(outputs)))
            return
        if a.weights is not None or b.weights is not None:
            keep, source = (a, x) if a.weights is not None else (b, y)
            self.put(out, self.moved(keep, source, out))
            return
        if a.output_of or b.output_of:
            if a.output_of and b.output_of:
                self.put(out, Info(origin=self.new_origin(), output_of=(*a.output_of, *b.output_of)[:16]))
            elif self.same_storage(x, out):
                self.forget(out)
            return
        if a.norm_form and (b is EMPTY or not b.norm_form) and self.arrays.geometry(y).numel == 1:
            self.put(out, self.moved(a, x, out))
            return
        self._add_data(a, b, x, y, out)

    def _scaled_track(self, track: Track, alpha: float) -> Track:
        if alpha == 1.0:
            return track
        factor = self.factor(alpha, "sub" if alpha < 0 else "add alpha=")
        at = Geometry((), (), 0)
        return track._replace(
            terms=tuple(Term(t.product, (*t.factors, factor)) for t in track.terms), events=(*track.events, Scale(at, alpha))
        )

    def _add_to_track(self, info: Info, x: Any, y: Any, other: Info, out: Any, alpha: float, sign: float = 1.0) -> None:
        """x holds logits, y is added to them."""
        after = self.moved(info, x, out)
        track = after.track
        if track is None:
            return
        inplace = self.same_storage(x, out)
        at = self.arrays.geometry(out if not inplace else x)
        terms = track.terms
        if other.track is not None:
            extra = other.track if alpha == 1.0 else self._scaled_track(other.track, alpha)
            known = {id(t.product) for t in terms}
            terms = (*terms, *(t for t in extra.terms if id(t.product) not in known))[:MAX_TERMS]
            if track.lost and not other.track.lost and self._traceable(other.track) and not inplace:
                # The second part can still be traced to its product while the first cannot: measure on that one.
                second = self.moved(other, y, out).track
                if second is not None and alpha == 1.0:
                    track = second
                    terms = (*second.terms, *(t for t in terms if id(t.product) not in {id(s.product) for s in second.terms}))[:MAX_TERMS]
                    y = x
        track = track._replace(
            terms=terms,
            events=(*track.events, Add(at, y, alpha)),
            zeroed=track.zeroed or (other.track.zeroed if other.track else ""),
            learned=track.learned or (other.track.learned if other.track else False),
        )
        self.put(out, after._replace(track=track, factors=after.factors, table=None))

    @staticmethod
    def _traceable(track: Track) -> bool:
        return not track.lost

    def _add_data(self, a: Info, b: Info, x: Any, y: Any, out: Any) -> None:
        """Two halves of one array put together again (rope), or the end of a chain of factors."""
        inplace = self.same_storage(x, out)
        same = a.origin is not None and a.origin == b.origin
        if not same or (self.same_storage(x, y) and a.table is None):
            if (a.learned and b.learned) or ((a.learned or a.parameter) and self.arrays.geometry(y).numel == 1):
                self.put(out, Info(learned=True, factors=()))
            elif inplace:
                self.forget(out)
            return
        if a.table is not None and b.table is not None:
            amplitude = self._amplitude(a.table, b.table)
            shared = self._common(a.factors, b.factors)
            if amplitude is not None and abs(amplitude - 1.0) > 1e-6:
                tables = [f for f in (*a.factors, *b.factors) if f.on == "table"]
                named = tables[0] if tables else self.factor(amplitude, "rope table")
                base = tuple(f for f in shared if f.on != "table")
                shared = (*base, Factor(amplitude, named.file, named.line, named.op))
            elif amplitude is not None:
                shared = tuple(f for f in shared if f.on != "table")
            self.put(out, Info(origin=a.origin, factors=shared, normalised=a.normalised and b.normalised and a.normalised))
            return
        if _magnitude(a.factors) == _magnitude(b.factors):
            normalised = a.normalised if a.normalised == b.normalised else ""
            self.put(out, Info(origin=a.origin, factors=a.factors, normalised=normalised))
        elif inplace:
            self.forget(out)

    @staticmethod
    def _common(a: tuple[Factor, ...], b: tuple[Factor, ...]) -> tuple[Factor, ...]:
        """The factors that both halves share: signs of a rotation drop out."""
        first = tuple(f for f in a if f.value is None or abs(f.value) != 1.0)
        second = tuple(f for f in b if f.value is None or abs(f.value) != 1.0)
        if len(first) == len(second):
            return first
        return min(first, second, key=len)

    def _amplitude(self, cosine: Any, sine: Any) -> float | None:
        """√(cos² + sin²) where it is one number everywhere: the factor that a rope table carries."""
        import numpy as np

        if not (self.arrays.numeric(cosine) and self.arrays.numeric(sine)):
            return None
        a, b = self.arrays.geometry(cosine), self.arrays.geometry(sine)
        if a.sizes != b.sizes or not a.numel:
            return None
        n = min(a.numel, 512)
        flat = (np.arange(n) * a.numel) // n
        index = np.unravel_index(flat, a.sizes) if a.sizes else ()
        values = np.sqrt(self.arrays.take(cosine, index) ** 2 + self.arrays.take(sine, index) ** 2)
        middle = float(np.median(values))
        if middle == 0.0 or float(np.abs(values - middle).max()) > 2e-2 * middle:
            return None
        return 1.0 if abs(middle - 1.0) < 2e-3 else middle

    # --- masks ------------------------------------------------------------------------------------------------------------------

    def fill(self, x: Any, out: Any, mask: Any, value: Any, *, negate: bool = False) -> None:
        """out = value where mask (or not mask, with `negate`), else x."""
        info = self.get(x)
        if info is None:
            return
        after = self.moved(info, x, out)
        if info.weights is not None:
            self._masked_weights(info.weights, x, out)
            self.put(out, after)
            return
        if after.track is not None:
            where = frames.user_line()
            zeroed = after.track.zeroed
            if isinstance(value, float) and value > FILL_MASKS_BELOW:
                zeroed = zeroed or f"filled with {value:g} at {where.file}:{where.line}"
            event = Fill(self.arrays.geometry(out), mask, negate, value)
            after = after._replace(track=after.track._replace(events=(*after.track.events, event), zeroed=zeroed))
        self.put(out, after)

    def fill_all(self, region: Any, value: float | None) -> None:
        """Every entry of `region`, a view or a whole array, becomes `value`."""
        key = self.arrays.key(region)
        entry = self.table.get(key)
        if entry is None:
            return
        if self.arrays.covers(region):
            self.table.pop(key, None)
            return
        if entry.info.track is not None:
            self._part_fill(entry, region, value)
        elif entry.info.weights is not None:
            return

    def _part_fill(self, entry: Entry, region: Any, value: float | None) -> None:
        track = entry.info.track
        if track is None:
            return
        where = frames.user_line()
        zeroed = track.zeroed
        if value is not None and value > FILL_MASKS_BELOW:
            zeroed = zeroed or f"filled with {value:g} at {where.file}:{where.line}"
        event = PartFill(self.arrays.geometry(region), value)
        entry.info = entry.info._replace(track=track._replace(events=(*track.events, event), zeroed=zeroed))

    def triangle(self, x: Any, out: Any, upper: bool, diagonal: int) -> None:
        info = self.get(x)
        if info is None:
            return
        after = self.moved(info, x, out)
        if info.weights is not None:
            self._masked_weights(info.weights, x, out)
        elif after.track is not None:
            where = frames.user_line()
            name = "triu" if upper else "tril"
            event = ZeroTriangle(self.arrays.geometry(out), upper, diagonal)
            zeroed = after.track.zeroed or f"{name} at {where.file}:{where.line}"
            after = after._replace(track=after.track._replace(events=(*after.track.events, event), zeroed=zeroed))
        self.put(out, after)

    def _masked_weights(self, weights: Weights, x: Any, out: Any) -> None:
        """Weights masked after softmax: a fault where that takes mass away that nothing puts back."""
        run = weights.run
        axis = self.axis_of(x, weights.stride, weights.size)
        if run.masked_after is not None or axis is None or not self.arrays.numeric(out) or self.same_storage(x, out):
            return
        before, after = self.arrays.row_sums(x, axis), self.arrays.row_sums(out, axis)
        if before is None or after is None or before.shape != after.shape:
            return
        partly = (after < before - 1e-2) & ((after > 1e-6) | (after < -1.0))  # a fill with -inf leaves no sum at all
        if partly.any():
            run.masked_after = frames.user_line()

    # --- elementwise products ----------------------------------------------------------------------------------------------------

    def multiply(self, x: Any, y: Any, out: Any, op: str, *, divide: bool = False) -> None:
        """out = x * y or x / y, both arrays of more than one number or with knowledge of their own."""
        a, b = self.get(x), self.get(y)
        gx, gy = self.arrays.geometry(x), self.arrays.geometry(y)
        # A norm of the same data: normalised, whatever the shapes.
        if b is not None and b.norm_form and self._normalises(a, x, b, divide):
            base = a or Info(origin=self.origin(x, None))
            kind = "rms" if b.normalised == "rms" else "l2"
            self.put(out, self.moved(base, x, out)._replace(normalised=kind, factors=(), norm_of=None, norm_form=""))
            return
        if not divide and a is not None and a.norm_form and self._normalises(b, y, a, divide):
            self.multiply(y, x, out, op)
            return
        if not divide and self.same_storage(x, y) and gx == gy:
            if a is not None and (a.track is not None or a.weights is not None):
                self.opaque(x, out, "square")
                return
            self.put(out, Info(norm_of=self.origin(x, a), norm_form="square"))
            return
        if a is not None and a.exponential is not None and b is not None and a.exponential.exponential in b.exp_sum:
            self._weights_by_hand(a.exponential, x, out)
            return
        if a is not None and a.exp_output and b is not None and b.exp_sum:
            runs = self._divided(a.exp_output, b.exp_sum)
            if runs:
                self.put(out, Info(origin=self.new_origin(), output_of=runs))
                return
        if not divide and b is not None and b.exp_output and a is not None and a.exp_sum:
            runs = self._divided(b.exp_output, a.exp_sum)
            if runs:
                self.put(out, Info(origin=self.new_origin(), output_of=runs))
                return
        if a is not None and a.weights is not None and b is not None and b.weight_sum is a.weights.run:
            a.weights.run.masked_after = None
            a.weights.run.weight_factors.clear()
            self.put(out, self.moved(a, x, out))
            return
        if not divide and b is not None and b.exponential is not None and a is not None and b.exponential.exponential in a.exp_sum:
            self._weights_by_hand(b.exponential, y, out)
            return
        # One number, or the same number everywhere.
        small, small_info, big = (y, b, x) if divide or gy.numel <= gx.numel else (x, a, y)
        g_small, g_big = self.arrays.geometry(small), self.arrays.geometry(big)
        tracked = self.get(big)
        if g_small.numel == 1 and self._number(small, small_info, big, out, op, divide):
            return
        if (tracked is not None and (tracked.track is not None or tracked.weights is not None)) or g_small.numel * 4 <= g_big.numel:
            if self._uniform(small, small_info, big, tracked, out, op, divide):
                return
        elif small_info is None and tracked is None and g_small.sizes == g_big.sizes and all(g_small.strides) and all(g_big.strides):
            return  # a gate: two arrays of data, entry by entry
        self._entrywise(x, y, a, b, out, op, divide)

    def _normalises(self, info: Info | None, x: Any, norm: Info, divide: bool) -> bool:
        if norm.norm_of is None or norm.norm_of != self.origin(x, info):
            return False
        return norm.norm_form == "norm" if divide else norm.norm_form == "inverse"

    def _is_learned(self, a: Any, info: Info | None) -> bool:
        return (info is not None and (info.learned or info.parameter)) or self.arrays.is_parameter(a)

    def _number(self, small: Any, info: Info | None, big: Any, out: Any, op: str, divide: bool) -> bool:
        value = self.arrays.constant(small)
        learned = self._is_learned(small, info)
        if learned and self.arrays.is_parameter(small) and not self.arrays.trainable(small):
            learned = True
        if info is not None and (info.track is not None or info.random):
            return False
        if value is not None and divide:
            value = 1.0 / value if value else math.inf
        self.scale(big, out, value, op, learned=learned)
        return True

    def _uniform(self, small: Any, info: Info | None, big: Any, tracked: Info | None, out: Any, op: str, divide: bool) -> bool:
        if info is not None and (info.track is not None or info.weights is not None or info.outer is not None):
            return False
        learned = self._is_learned(small, info)
        geometry = self.arrays.geometry(small)
        if learned:
            # One learned number a head is a temperature; one a feature is a gain, unless it was computed for the purpose.
            per_feature = bool(geometry.sizes) and geometry.sizes[-1] > 1
            if per_feature and not (info is not None and info.learned):
                return False
            value = self.arrays.constant(small)
            if value is not None and divide:
                value = 1.0 / value if value else math.inf
            self.scale(big, out, value, op, learned=True)
            return True
        if geometry.numel > 1 << 20 or not self.arrays.numeric(small):
            return False
        value = self.arrays.constant(small)
        if value is None or value == 0.0 or (info is not None and info.random):
            return False
        self.scale(big, out, 1.0 / value if divide else value, op)
        return True

    def _entrywise(self, x: Any, y: Any, a: Info | None, b: Info | None, out: Any, op: str, divide: bool) -> None:
        track_side = a if a is not None and a.track is not None else b if b is not None and b.track is not None and not divide else None
        if track_side is not None:
            main, other, other_info = (x, y, b) if track_side is a else (y, x, a)
            after = self.moved(track_side, main, out)
            if after.track is None:
                return
            where = frames.user_line()
            track = after.track
            if other_info is not None and other_info.track is not None:
                track = track._replace(lost=track.lost or "the logits are multiplied by logits", events=())
            elif other_info is not None and other_info.random:
                pass
            elif self.arrays.numeric(other) and self.arrays.zero_one(other):
                event = Scale(self.arrays.geometry(out), other)
                track = track._replace(
                    zeroed=track.zeroed or f"multiplied by a 0/1 mask at {where.file}:{where.line}", events=(*track.events, event)
                )
            else:
                event = Scale(self.arrays.geometry(out), (other, divide))
                track = track._replace(
                    uneven=True, learned=track.learned or self._is_learned(other, other_info), events=(*track.events, event)
                )
            self.put(out, after._replace(track=track, table=None))
            return
        weight_side = (
            a if a is not None and a.weights is not None else b if b is not None and b.weights is not None and not divide else None
        )
        if weight_side is not None and weight_side.weights is not None:
            main, other, other_info = (x, y, b) if weight_side is a else (y, x, a)
            after = self.moved(weight_side, main, out)
            random = other_info is not None and other_info.random
            grown = self.arrays.geometry(out).numel > self.arrays.geometry(main).numel
            if not grown and not random and self.arrays.numeric(other) and self.arrays.zero_one(other):
                self._masked_weights(weight_side.weights, main, out)
            if grown:
                after = after._replace(outer=Outer(x, y, a or EMPTY, b or EMPTY, frames.place(self.arrays.module_type)))
            self.put(out, after)
            return
        exp_side = a if a is not None and a.exponential is not None else b if b is not None and b.exponential is not None else None
        if exp_side is not None:
            main = x if exp_side is a else y
            after = self.moved(exp_side, main, out)
            if self.arrays.geometry(out).numel > self.arrays.geometry(main).numel:
                after = after._replace(outer=Outer(x, y, a or EMPTY, b or EMPTY, frames.place(self.arrays.module_type)))
            self.put(out, after)
            return
        gx, gy, go = self.arrays.geometry(x), self.arrays.geometry(y), self.arrays.geometry(out)
        broadcast = gx.numel != go.numel or gy.numel != go.numel or 0 in gx.strides or 0 in gy.strides
        learned = self._is_learned(x, a), self._is_learned(y, b)
        if all(learned):
            self.put(out, Info(learned=True))
            return
        random = (a is not None and a.random) or (b is not None and b.random)
        outer = None
        both = go.numel not in (gx.numel, gy.numel)
        if broadcast and not divide and not any(learned) and not random and len(go.sizes) >= 2:
            expanded = 0 in gx.strides or 0 in gy.strides
            if both or expanded or gx.numel * 64 >= go.numel <= 64 * gy.numel:
                outer = Outer(x, y, a or EMPTY, b or EMPTY, frames.place(self.arrays.module_type))
        main, info, other, other_info = (x, a, y, b) if divide or gx.numel >= gy.numel else (y, b, x, a)
        if a is not None and b is None and gx.numel == gy.numel and not divide:
            main, info, other, other_info = x, a, y, b
        info = info or Info(origin=self.origin(main, None))
        if info.log_sum is not None:
            return
        for side, source in ((a, x), (b, y)):
            if side is not None and (side.exp_sum or side.exp_output) and not (divide and source is y):
                self.put(out, Info(origin=self.new_origin(), exp_sum=side.exp_sum, exp_output=side.exp_output))
                return
        extra: tuple[Factor, ...] = ()
        if other_info is not None and other_info.factors and not divide and other_info.track is None:
            extra = tuple(_on(f, "table") for f in other_info.factors)
        after = self.moved(info, main, out)
        self.put(
            out,
            after._replace(
                table=other if not divide else None,
                outer=outer,
                factors=(*after.factors, *extra),
                origin=after.origin or self.origin(main, None),
                output_of=after.output_of,
                norm_form="",
            ),
        )

    def rotate(self, x: Any, y: Any, out: Any, modulus: float | None) -> None:
        """A complex product with numbers of one modulus: rope written with complex numbers."""
        info = self.get(x) or Info(origin=self.origin(x, None))
        after = self.moved(info, x, out)
        if modulus is not None and abs(modulus - 1.0) > 2e-3:
            after = after._replace(factors=(*after.factors, self.factor(modulus, "complex rope table")))
        self.put(out, after._replace(origin=after.origin or self.origin(x, None)))

    # --- products ----------------------------------------------------------------------------------------------------------------

    def is_layer(self, q: Any, k: Any) -> bool:
        """Whether the product of two arrays is a linear layer of data, the commonest of all: nothing of it is of interest."""
        a, b = self.get(q) or EMPTY, self.get(k) or EMPTY
        if not (a.parameter or b.parameter or self.arrays.is_parameter(k) or self.arrays.is_parameter(q)):
            return False
        return not any(i.track is not None or i.weights is not None or i.exponential is not None for i in (a, b))

    def product(
        self,
        q: Any,
        k: Any,
        out: Any,
        op: str,
        letters: tuple[str, str, str],
        *,
        place: Place | None = None,
        infos: tuple[Info, Info] | None = None,
    ) -> Info | None:
        """out = contraction of q and k. `letters` name the axes of q, k and out, one character an axis, '.' for a size-one axis."""
        a, b = infos if infos is not None else (self.get(q) or EMPTY, self.get(k) or EMPTY)
        sizes_q, sizes_k = self.arrays.geometry(q).sizes, self.arrays.geometry(k).sizes
        contracted = [c for c in letters[0] if c in letters[1] and c not in letters[2] and c != "."]
        for info, x, other, names in ((a, q, k, letters[0]), (b, k, q, letters[1])):
            if info.weights is not None or info.exponential is not None:
                self._contract(info, x, other, (names, letters[2]), contracted, out)
                return None
        parameter_q, parameter_k = a.parameter or self.arrays.is_parameter(q), b.parameter or self.arrays.is_parameter(k)
        if parameter_q or parameter_k:
            mixed = a if a.track is not None else b if b.track is not None else None
            if mixed is not None and mixed.track is not None:
                where = frames.user_line()
                self.put(
                    out,
                    Info(
                        origin=self.new_origin(),
                        track=mixed.track._replace(
                            lost=mixed.track.lost or "mixed by a learned layer", mixed=f"{where.file}:{where.line}", events=()
                        ),
                    ),
                )
            return None
        head_dim = 1
        for c in contracted:
            head_dim *= sizes_q[letters[0].index(c)]
        if head_dim < 2:
            return None
        for info, names in ((a, letters[0]), (b, letters[1])):
            if info.unpadded is not None and len(contracted) == 1 and names.endswith(contracted[0]):
                head_dim = min(head_dim, info.unpadded)
        made = Product(op, place or frames.place(self.arrays.module_type), q, k, letters, head_dim)
        made.q_info, made.k_info = _operand(a), _operand(b)
        made.q_shape, made.k_shape = sizes_q, sizes_k
        made.dtype = _coarser(self.arrays.dtype(q), self.arrays.dtype(k))
        made.geometry = self.arrays.geometry(out)
        info = Info(origin=self.new_origin(), track=Track((Term(made, ()),)))
        self.put(out, info)
        return info

    def _contract(self, info: Info, x: Any, other: Any, names: tuple[str, str], contracted: list[str], out: Any) -> None:
        """Weights (or their exponentials) meet the values: an attention ran if the sum is over softmax's axis."""
        if info.weights is not None:
            axis = self.axis_of(x, info.weights.stride, info.weights.size)
            if axis is not None and (names[0][axis] in contracted or info.weights.size == 1):
                self.finish(info.weights.run)
                self.put(out, Info(origin=self.new_origin(), output_of=(info.weights.run,)))
            elif self.arrays.is_parameter(other) or (self.get(other) or EMPTY).learned or (self.get(other) or EMPTY).parameter:
                self._mixed_weights(info.weights, x, names, out)
            return
        part = info.exponential
        if part is None:
            return
        if part.stride >= 0:
            axis = self.axis_of(x, part.stride, part.size)
            if axis is None or names[0][axis] not in contracted:
                return
        part.exponential.contracted = True
        self.put(out, Info(origin=self.new_origin(), exp_output=(part.exponential,)))

    def _mixed_weights(self, weights: Weights, x: Any, names: tuple[str, str], out: Any) -> None:
        """A learned layer over the heads of the weights: they stay weights, along the same keys."""
        before, after = self.arrays.geometry(x), self.arrays.geometry(out)
        places = [names[1].index(c) if c in names[1] and c != "." else -len(after.sizes) - 1 for c in names[0]]
        axis = self.axis_of(x, weights.stride, weights.size)
        if axis is not None and places[axis] >= 0:
            self.put(out, Info(weights=Weights(weights.run, after.strides[places[axis]], after.sizes[places[axis]])))
            return
        moved = self._inside(weights, before, after, places)
        if moved is not None:
            self.put(out, Info(weights=moved))

    def _divided(self, outputs: tuple[Exponential, ...], sums: tuple[Exponential, ...]) -> tuple[Run, ...]:
        """Values weighted by exponentials, divided by the sum of these: softmax after the fact."""
        runs = []
        for exponential in outputs:
            if exponential in sums and exponential.run is not None:
                self.finish(exponential.run)
                runs.append(exponential.run)
        return tuple(runs)

    def summed(self, x: Any, out: Any, axes: Sequence[int], *, mean: bool = False, keepdim: bool = False) -> None:
        """out = sum (or mean) of x over `axes`."""
        info = self.get(x)
        if info is None:
            return
        g = self.arrays.geometry(x)
        axes = tuple(sorted(axis % len(g.sizes) for axis in axes)) if g.sizes else ()
        if info.norm_form == "square":
            self.put(out, Info(norm_of=info.norm_of, norm_form="sum", normalised="rms" if mean else ""))
            return
        if info.outer is not None and not mean:
            self._outer_sum(info, x, out, axes, keepdim)
            return
        if info.exponential is not None:
            exponential = info.exponential.exponential
            if len(axes) == 1:
                if exponential.run is None:
                    exponential.axis = axes[0] - len(g.sizes)
                exponential.summed = True
                stride, size = g.strides[axes[0]], g.sizes[axes[0]]
                entry = self.table.get(self.arrays.key(x))
                if entry is not None and not entry.writes:
                    entry.info = info._replace(exponential=ExpPart(exponential, stride, size))
                self._measure_exponential(exponential)
                self.put(out, Info(exp_sum=(exponential,)))
            return
        if info.weights is not None and len(axes) == 1:
            axis = self.axis_of(x, info.weights.stride, info.weights.size)
            if axis == axes[0]:
                self.put(out, Info(weight_sum=info.weights.run))

    def _outer_sum(self, info: Info, x: Any, out: Any, axes: tuple[int, ...], keepdim: bool) -> None:
        outer = info.outer
        if outer is None:
            return
        sizes = self.arrays.geometry(x).sizes
        alphabet = "abcdefghijklmnopqrstuvwxyz"
        names = alphabet[: len(sizes)]

        def letters(a: Any) -> str:
            g = self.arrays.geometry(a)
            base = names[len(names) - len(g.sizes) :]
            return "".join(
                "." if (size == 1 and sizes[len(sizes) - len(g.sizes) + i] != 1) or (stride == 0 and size > 1) else base[i]
                for i, (size, stride) in enumerate(zip(g.sizes, g.strides, strict=True))
            )

        if keepdim:
            result = "".join("." if i in axes else c for i, c in enumerate(names))
        else:
            result = "".join(c for i, c in enumerate(names) if i not in axes)
        self.product(
            outer.a,
            outer.b,
            out,
            "mul and sum",
            (letters(outer.a), letters(outer.b), result),
            place=outer.place,
            infos=(outer.a_info, outer.b_info),
        )

    # --- softmax -----------------------------------------------------------------------------------------------------------------

    def softmax(self, x: Any, out: Any, axis: int, op: str, *, log: bool = False) -> None:
        info = self.get(x)
        self.softmaxes += 1
        if info is None or info.track is None:
            return
        g = self.arrays.geometry(x)
        axis %= max(len(g.sizes), 1)
        run = self.measure(info.track, x, axis, out if not log else None, op)
        o = self.arrays.geometry(out)
        found = Weights(run, o.strides[axis], o.sizes[axis])
        self.put(out, Info(log_weights=found) if log else Info(weights=found))

    def exp(self, x: Any, out: Any) -> None:
        info = self.get(x)
        if info is None:
            return
        if info.log_weights is not None:
            moved = self.moved(info, x, out)
            self.put(out, Info(weights=moved.log_weights))
        elif info.track is not None:
            if self.same_storage(x, out):
                info = info._replace(track=info.track._replace(lost="exponentiated in place", events=()))
            exponential = Exponential(x, info.track)  # type: ignore[arg-type]
            self.put(out, Info(exponential=ExpPart(exponential, -1, 0)))
        elif info.learned or info.parameter:
            self.put(out, Info(learned=True))

    def log_sum_exp(self, x: Any, out: Any, axes: Sequence[int]) -> None:
        info = self.get(x)
        if info is not None and info.track is not None and len(axes) == 1:
            self.put(out, Info(log_sum=(info.track, axes[0] % len(self.arrays.geometry(x).sizes))))

    def _log_softmax_by_hand(self, a: Info, b: Info, x: Any, out: Any) -> None:
        if a.track is None or b.log_sum is None:
            return
        axis = b.log_sum[1]
        run = self.measure(a.track, x, axis, None, "x - logsumexp(x)")
        o = self.arrays.geometry(out)
        self.put(out, Info(log_weights=Weights(run, o.strides[axis], o.sizes[axis])))

    def _measure_exponential(self, exponential: Exponential) -> None:
        if exponential.run is not None or exponential.axis is None:
            return
        sizes = self.arrays.geometry(exponential.logits).sizes
        exponential.run = self.measure(exponential.track, exponential.logits, len(sizes) + exponential.axis, None, "exp / sum")
        exponential.logits = None
        exponential.track = Track(())

    def _weights_by_hand(self, part: ExpPart, x: Any, out: Any) -> None:
        exponential = part.exponential
        self._measure_exponential(exponential)
        if exponential.run is None:
            return
        stride, size = part.stride, part.size
        if stride < 0:
            g = self.arrays.geometry(x)
            axis = len(g.sizes) + (exponential.axis if exponential.axis is not None else -1)
            stride, size = g.strides[axis], g.sizes[axis]
        moved = self._moved_axis(Weights(exponential.run, stride, size), x, out) if not self.same_storage(x, out) else None
        self.put(out, Info(weights=moved or Weights(exponential.run, stride, size)))

    def measure(self, track: Track, x: Any, axis: int, weights: Any, op: str) -> Run:
        from attnlint.probe.measure import measure

        return measure(self, track, x, axis, weights, op)

    def finish(self, run: Run) -> None:
        if not run.done:
            run.done = True
            self.deliver(run)

    # --- the rest ----------------------------------------------------------------------------------------------------------------

    def soft_cap(self, x: Any, out: Any) -> None:
        info = self.get(x)
        if info is None or info.track is None:
            return
        after = self.moved(info, x, out)
        if after.track is not None:
            event = SoftCap(self.arrays.geometry(out))
            self.put(out, after._replace(track=after.track._replace(events=(*after.track.events, event), capped=True)))

    def join(self, parts: Sequence[Any], out: Any, axis: int) -> None:
        """Concatenation along `axis`; empty parts count for nothing."""
        parts = [p for p in parts if self.arrays.geometry(p).numel]
        infos = [self.get(p) for p in parts]
        if all(info is None for info in infos) or not parts:
            return
        rank = len(self.arrays.geometry(out).sizes)
        axis %= max(rank, 1)
        known = [i for i in infos if i is not None]
        tracked = [i for i, info in enumerate(infos) if info is not None and info.track is not None]
        if tracked:
            index = tracked[0]
            info = infos[index]
            merged = self.merge([i for i in known if i.track is not None], plain=False, lost="") if len(tracked) > 1 else info
            if info is None or info.track is None or merged is None or merged.track is None:
                return
            start = sum(self.arrays.geometry(p).sizes[axis] for p in parts[:index])
            event = Joined(self.arrays.geometry(out), axis, start, self.arrays.geometry(parts[index]))
            track = info.track._replace(terms=merged.track.terms, events=(*info.track.events, event))
            self.put(out, info._replace(track=track, table=None, outer=None))
            return
        weighty = [i for i, info in enumerate(infos) if info is not None and info.weights is not None]
        if weighty:
            info = infos[weighty[0]]
            if info is None or info.weights is None:
                return
            where = self.axis_of(parts[weighty[0]], info.weights.stride, info.weights.size)
            if where is not None:
                o = self.arrays.geometry(out)
                self.put(out, info._replace(weights=Weights(info.weights.run, o.strides[where], o.sizes[where])))
            return
        outputs = tuple(run for info in known for run in info.output_of)
        if outputs:
            self.put(out, Info(origin=self.new_origin(), output_of=outputs[:64]))
            return
        origins = {self.origin(p, i) for p, i in zip(parts, infos, strict=True)}
        origin = origins.pop() if len(origins) == 1 else self.new_origin()
        filled = [i if i is not None else Info(origin=self.origin(p, None)) for p, i in zip(parts, infos, strict=True)]
        self._join_data(parts, filled, infos, out, axis, rank, origin)

    def _join_data(
        self, parts: Sequence[Any], filled: list[Info], infos: Sequence[Info | None], out: Any, axis: int, rank: int, origin: Any
    ) -> None:
        totals = {_magnitude(i.factors) for i in filled}
        table = filled[0].table if all(i.table is not None for i in filled) else None
        factors = filled[0].factors
        if len(totals) > 1:
            features = axis == rank - 1
            scaled = [i for i in filled if i.factors]
            if features:
                # Different factors on different features (a rotated part with a factor of its own): the product is no single scale.
                sizes = [self.arrays.geometry(p).sizes[axis] for p in parts]
                widest = max(range(len(parts)), key=lambda i: sizes[i])
                factors = filled[widest].factors
            else:
                factors = scaled[0].factors
        normalised = filled[0].normalised if all(i.normalised for i in filled) else ""
        learned = all(i.learned or i.parameter or self.arrays.is_parameter(p) for p, i in zip(parts, filled, strict=True))
        signs_differ = table is None and any(f.value == -1.0 for i in filled for f in i.factors)
        if signs_differ:
            factors = tuple(f for f in factors if f.value != -1.0)
        self.put(out, Info(origin=origin, factors=factors, normalised=normalised, learned=learned, table=table, inexact=len(totals) > 1))

    def copy_into(self, target: Any, source: Any) -> None:
        """target[...] = source, in place."""
        info = self.get(source)
        key = self.arrays.key(target)
        entry = self.table.get(key)
        covers = self.arrays.covers(target)
        if info is None or info is EMPTY:
            if entry is None:
                return
            if covers:
                self.table.pop(key, None)
            elif entry.info.track is not None:
                self._part_fill(entry, target, self.arrays.constant(source) if self.arrays.geometry(source).numel == 1 else None)
            elif entry.writes:
                entry.writes.append(Write(self.arrays.geometry(target), Info(origin=self.origin(source, None))))
            return
        if entry is not None and self.same_storage(target, source):
            return
        self.put(target, self.moved(info._replace(parameter=False), source, target))

    def opaque(self, x: Any, out: Any, op: str, *, learned: bool = False) -> None:
        """An operation the trace does not know, from logits or weights to an array of the same shape."""
        info = self.get(x)
        if info is None:
            return
        if info.track is not None:
            after = self.moved(info, x, out)
            if after.track is None:
                return
            track = after.track._replace(opaque=after.track.opaque or op)
            if learned:
                track = track._replace(mixed=op, lost=track.lost or "mixed by a learned layer", events=())
            self.put(out, after._replace(track=track))
        elif info.weights is not None:
            self.put(out, self.moved(info, x, out))


def _unique(items: tuple[Exponential, ...]) -> tuple[Exponential, ...]:
    return tuple(dict.fromkeys(items))[-64:]


def _operand(info: Info) -> Info:
    """What a product keeps of its operand: nothing that holds an array."""
    return Info(
        origin=info.origin,
        factors=info.factors,
        normalised=info.normalised,
        learned=info.learned,
        inexact=info.inexact,
        trainable=info.trainable,
    )


def _on(factor: Factor, on: str) -> Factor:
    return Factor(factor.value, factor.file, factor.line, factor.op, on, factor.learned, factor.part)


def _magnitude(factors: Sequence[Factor]) -> float | None:
    total = product_of(factors)
    return None if total is None else float(f"{abs(total):.6g}")


def _alike(a: Info, b: Info) -> bool:
    if (a.track is None) != (b.track is None) or _magnitude(a.factors) != _magnitude(b.factors):
        return False
    if a.track is None or b.track is None:
        return True
    first, second = a.track.terms[0], b.track.terms[0]
    return first.product.place.user == second.product.place.user and _magnitude(first.factors) == _magnitude(second.factors)


_COARSENESS = {"bfloat16": 2, "float16": 1}


def _coarser(a: str, b: str) -> str:
    return a if _COARSENESS.get(a, 0) >= _COARSENESS.get(b, 0) else b
