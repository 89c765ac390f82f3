"""The table: what is known of each storage, written there view by view, and how it moves on to the next array."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from attnlint.probe.facts import EMPTY, MAX_TERMS, Arrays, ExpPart, Info, Move, Term, Weights, magnitude
from attnlint.probe.values import Geometry


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


class Table:
    """Knowledge by storage. Views need no entry: they share a storage, and where they lie in it says which entries they hold."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.table: dict[int, Entry] = {}
        self._origins = itertools.count(1)

    def clear(self) -> None:
        self.table.clear()

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
        if info.gains:
            changes["gains"] = (*info.gains, Move(self.arrays.geometry(out), self.arrays.geometry(x)))
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
            return Weights(weights.run, after.strides[place], after.sizes[place], self._across(weights, x, before, after))
        return self._inside(weights, before, after)

    def _across(self, weights: Weights, x: Any, before: Geometry, after: Geometry) -> tuple[tuple[int, int], ...]:
        """The axes along which softmax should have run, where they lie in `after`."""
        found = []
        for stride, size in weights.across:
            axis = self.axis_of(x, stride, size)
            if axis is not None and len(before.sizes) - axis <= len(after.sizes):
                place = axis - len(before.sizes)
                found.append((after.strides[place], after.sizes[place]))
        return tuple(found)

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

    def merge(self, infos: Sequence[Info], *, plain: bool, lost: str) -> Info:
        """What is known of an array put together from several. Equal factors stay; the positions of logits are lost."""
        first = infos[0]
        for info in infos:
            if info.track is not None or info.weights is not None:
                first = info
                break
        factors = first.factors
        totals = {magnitude(info.factors) for info in infos}
        mixed = len(totals) > 1
        if mixed:
            factors = max((info.factors for info in infos), key=len)
        track = first.track
        if track is not None:
            terms: list[Term] = list(track.terms)
            seen = {(t.product.place.user, t.product.head_dim, magnitude(t.factors)) for t in terms}
            for info in infos:
                for term in info.track.terms if info.track else ():
                    sign = (term.product.place.user, term.product.head_dim, magnitude(term.factors))
                    if sign not in seen and len(terms) < MAX_TERMS:
                        seen.add(sign)
                        terms.append(term)
            track = track._replace(terms=tuple(terms), lost=track.lost or lost, events=())
        normalised = first.normalised if all(info.normalised for info in infos) and not plain else ""
        return first._replace(
            factors=factors, track=track, normalised=normalised, inexact=True, outer=None, table=None, weights=None, exponential=None
        )


def _alike(a: Info, b: Info) -> bool:
    if (a.track is None) != (b.track is None) or magnitude(a.factors) != magnitude(b.factors):
        return False
    if a.track is None or b.track is None:
        return True
    first, second = a.track.terms[0], b.track.terms[0]
    return first.product.place.user == second.product.place.user and magnitude(first.factors) == magnitude(second.factors)
