"""Operations that keep entries as they are: they move, copy, join, fill or mask them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attnlint.probe import frames
from attnlint.probe.facts import (
    EMPTY,
    FILL_MASKS_BELOW,
    Dropped,
    Fill,
    Info,
    Joined,
    PartFill,
    SoftCap,
    Track,
    Weights,
    ZeroTriangle,
    magnitude,
)
from attnlint.probe.table import Entry, Table, Write


def _filled(track: Track, value: float | None) -> str:
    """Where logits were first filled with a number that masks nothing: by what the track says, else here."""
    if value is None or not value > FILL_MASKS_BELOW:
        return track.zeroed
    return track.zeroed or _here(f"filled with {value:g}")


def _here(what: str) -> str:
    line = frames.user_line()
    return f"{what} at {line.file}:{line.line}"


class Moves(Table):
    """The table, and the operations that only move or mask what is in it."""

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

    def dropped(self, x: Any, out: Any, kept: Any, gain: float) -> None:
        """Dropout with its mask of what was kept, which is multiplied by `gain`."""
        after = self.carry(x, out)
        if after is not None and after.track is not None:
            event = Dropped(self.arrays.geometry(out), kept, gain)
            self.put(out, after._replace(track=after.track._replace(events=(*after.track.events, event))))

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
        totals = {magnitude(i.factors) for i in filled}
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
            zeroed = _filled(after.track, value if isinstance(value, float) else None)
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
        zeroed = _filled(track, value)
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
            event = ZeroTriangle(self.arrays.geometry(out), upper, diagonal)
            zeroed = after.track.zeroed or _here("triu" if upper else "tril")
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
