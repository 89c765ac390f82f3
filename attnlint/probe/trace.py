"""The trace: what is known of each array while a program runs, whichever framework computes it.

A back end reports operations in these terms (scale, add, product, softmax, ...); the trace keeps for every storage the scalar
factors since its origin, the product q·k behind logits with the events since, and the softmax behind weights. `facts` has what is
known, `table` keeps it, `moves` has the operations that keep entries as they are; here are those that compute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from attnlint.probe import frames
from attnlint.probe.facts import (
    EMPTY,
    MAX_TERMS,
    Add,
    Arrays,
    Dropped,
    Exponential,
    ExpPart,
    Info,
    Outer,
    Product,
    Run,
    Scale,
    Term,
    Track,
    Weights,
    coarser,
    magnitude,
    operand,
    placed_on,
)
from attnlint.probe.frames import Place
from attnlint.probe.heads import letters_of, roles_of
from attnlint.probe.health import output_trouble
from attnlint.probe.moves import Moves
from attnlint.probe.values import Factor, Geometry


class Trace(Moves):
    """All that is known of one thread's arrays. `deliver` gets each attention that ran."""

    def __init__(
        self, arrays: Arrays, deliver: Callable[[Run], None], wants_samples: Callable[[], bool], keeps_evidence: bool = False
    ) -> None:
        super().__init__(arrays)
        self.deliver = deliver
        self.wants_samples = wants_samples
        self.keeps_evidence = keeps_evidence
        self.softmaxes = 0
        self.opaque_calls: set[str] = set()

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
            elif (shared := self._factors_of_sum((a, x), (b, y))) is not None:
                self.put(out, Info(origin=self.new_origin(), factors=shared))
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
        if magnitude(a.factors) == magnitude(b.factors):
            normalised = a.normalised if a.normalised == b.normalised else ""
            self.put(out, Info(origin=a.origin, factors=a.factors, normalised=normalised))
        elif inplace:
            self.forget(out)

    def _factors_of_sum(self, a: tuple[Info, Any], b: tuple[Info, Any]) -> tuple[Factor, ...] | None:
        """The factors of a sum of two arrays: those that both have (q·s + b·s), or those of data that a parameter is added to."""
        for (one, _), (other, array) in ((a, b), (b, a)):
            if one.factors and not other.factors and not one.learned and self._is_learned(array, other):
                return one.factors
        first, second = a[0], b[0]
        if not (first.factors and second.factors) or None in (magnitude(first.factors), magnitude(second.factors)):
            return None
        return (second if first.learned else first).factors if magnitude(first.factors) == magnitude(second.factors) else None

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
        if divide and a is not None and a.weights is not None and b is not None and b.cross_sum is a.weights.run:
            # Normalised along the keys after a softmax along the queries (slot attention): a design of its own.
            self.put(out, self.moved(a._replace(weights=a.weights._replace(across=())), x, out))
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
                track = track._replace(events=(*track.events, Dropped(self.arrays.geometry(out), other, 1.0)))
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
        if not any(learned) and not random and self._by_head(other):
            after = self.moved(info, main, out)
            event = Scale(go, (other, divide))
            self.put(out, after._replace(origin=after.origin or self.origin(main, None), gains=(*after.gains, event)))
            return
        extra: tuple[Factor, ...] = ()
        if other_info is not None and other_info.factors and not divide and other_info.track is None:
            extra = tuple(placed_on(f, "table") for f in other_info.factors)
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

    def _by_head(self, multiplier: Any) -> bool:
        """Whether a multiplier of q or k is one number for all features, and not the same everywhere: a scale for each head."""
        g = self.arrays.geometry(multiplier)
        whole = bool(g.sizes) and len(g.sizes) > 1 and (g.sizes[-1] == 1 or g.strides[-1] == 0)
        return whole and g.numel <= 4096 and self.arrays.numeric(multiplier) and self.arrays.constant(multiplier) is None

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
        made.q_info, made.k_info = operand(a), operand(b)
        made.gains = (a.gains, b.gains)
        made.q_shape, made.k_shape = sizes_q, sizes_k
        made.dtype = coarser(self.arrays.dtype(q), self.arrays.dtype(k))
        made.geometry = self.arrays.geometry(out)
        info = Info(origin=self.new_origin(), track=Track((Term(made, ()),)))
        self.put(out, info)
        return info

    def _contract(self, info: Info, x: Any, other: Any, names: tuple[str, str], contracted: list[str], out: Any) -> None:
        """Weights (or their exponentials) meet the values: an attention ran if the sum is over softmax's axis."""
        if info.weights is not None:
            axis = self.axis_of(x, info.weights.stride, info.weights.size)
            if axis is not None and (names[0][axis] in contracted or info.weights.size == 1):
                run = info.weights.run
                run.non_finite = run.non_finite or output_trouble(self.arrays, out)
                self.finish(run)
                self.put(out, Info(origin=self.new_origin(), output_of=(run,)))
            elif self.arrays.is_parameter(other) or (self.get(other) or EMPTY).learned or (self.get(other) or EMPTY).parameter:
                self._mixed_weights(info.weights, x, names, out)
            else:
                self._contract_across(info.weights, x, names[0], contracted, out)
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

    def _contract_across(self, weights: Weights, x: Any, names: str, contracted: list[str], out: Any) -> None:
        """The values are summed along the keys, softmax ran along another axis."""
        for stride, size in weights.across:
            axis = self.axis_of(x, stride, size)
            if axis is not None and names[axis] in contracted:
                weights.run.softmax_over = f"softmax runs over the {weights.run.softmax_over}; the values are summed over another of {size}"
                weights.run.wrong_axis = True
                self.finish(weights.run)
                self.put(out, Info(origin=self.new_origin(), output_of=(weights.run,)))
                return

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
            elif axis is not None:
                self.put(out, Info(cross_sum=info.weights.run))

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
        across = self._wrong_axes(info.track, g, axis, run)
        found = Weights(run, o.strides[axis], o.sizes[axis], tuple((o.strides[i], o.sizes[i]) for i in across))
        self.put(out, Info(log_weights=found) if log else Info(weights=found))

    def _wrong_axes(self, track: Track, g: Geometry, axis: int, run: Run) -> list[int]:
        """Axes of the logits along which the values may be summed while softmax runs along `axis`: then it runs along the wrong one."""
        product = track.terms[0].product
        free = {c for c in product.out_letters if c != "." and (c in product.q_letters) != (c in product.k_letters)}
        roles = roles_of(letters_of(track, g), product.q_letters, product.k_letters)
        if not roles or not roles[axis] or g.sizes[axis] < 2 or len(free) < 2:
            return []
        run.softmax_over = f"{'heads' if roles[axis] == 'shared' else 'queries'}, an axis of {g.sizes[axis]}"
        return [i for i, role in enumerate(roles) if i != axis and role in ("query", "key") and role != roles[axis] and g.sizes[i] > 1]

    def exp(self, x: Any, out: Any, base: float = math.e) -> None:
        """out = base ** x: exp(x ln base)."""
        info = self.get(x)
        if info is None:
            return
        if info.log_weights is not None:
            moved = self.moved(info, x, out)
            self.put(out, Info(weights=moved.log_weights))
        elif info.track is not None:
            if self.same_storage(x, out):
                info = info._replace(track=info.track._replace(lost="exponentiated in place", events=()))
            gain = math.log(base)
            track = info.track
            if base != math.e and track is not None:
                factor = self.factor(gain, f"exponential of base {base:g}")
                terms = tuple(Term(t.product, (*t.factors, factor)) for t in track.terms)
                track = track._replace(terms=terms, events=(*track.events, Scale(self.arrays.geometry(x), gain)))
            exponential = Exponential(x, track, gain)  # type: ignore[arg-type]
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
        axis = len(sizes) + exponential.axis
        exponential.run = self.measure(exponential.track, exponential.logits, axis, None, "exp / sum", exponential.gain)
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

    def measure(self, track: Track, x: Any, axis: int, weights: Any, op: str, gain: float = 1.0) -> Run:
        from attnlint.probe.measure import measure

        return measure(self, track, x, axis, weights, op, gain)

    def finish(self, run: Run) -> None:
        if not run.done:
            run.done = True
            self.deliver(run)


def _unique(items: tuple[Exponential, ...]) -> tuple[Exponential, ...]:
    return tuple(dict.fromkeys(items))[-64:]
