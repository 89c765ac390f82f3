"""Figures of heads over the calls of a site: means of the shares, the largest logit, and the scale that is furthest off."""

from __future__ import annotations

import math

from attnlint.probe.values import Head

_MEANS = ("entropy", "max_weight", "saturated")


def largest(a: float | None, b: float | None) -> float | None:
    """The larger of two figures that may be missing."""
    return b if a is None else a if b is None else max(a, b)


class HeadSums:
    """Running figures of each head; calls with another number of heads start anew."""

    def __init__(self) -> None:
        self._heads: list[Head] = []
        self._sums: list[dict[str, tuple[float, int]]] = []

    def copy(self) -> HeadSums:
        made = HeadSums()
        made._heads, made._sums = list(self._heads), [dict(sums) for sums in self._sums]
        return made

    def add(self, heads: tuple[Head, ...]) -> None:
        """The heads of one more call."""
        if not heads:
            return
        self._merge(list(heads), [{name: _pair(getattr(head, name)) for name in _MEANS} for head in heads])

    def absorb(self, other: HeadSums) -> None:
        """The heads of the calls of another report."""
        if other._heads:
            self._merge(other._heads, other._sums)

    def _merge(self, heads: list[Head], sums: list[dict[str, tuple[float, int]]]) -> None:
        if len(heads) != len(self._heads):
            self._heads, self._sums = list(heads), [dict(s) for s in sums]
            return
        for i, (head, more) in enumerate(zip(heads, sums, strict=True)):
            mine = self._heads[i]
            kept = head if _off(head) > _off(mine) else mine
            self._heads[i] = Head(mine.head, kept.scale, kept.ratio, None, largest(mine.max_logit, head.max_logit), None, None)
            for name, (total, number) in more.items():
                before = self._sums[i][name]
                self._sums[i][name] = (before[0] + total, before[1] + number)

    def result(self) -> tuple[Head, ...]:
        return tuple(
            Head(head.head, head.scale, head.ratio, _mean(s["entropy"]), head.max_logit, _mean(s["max_weight"]), _mean(s["saturated"]))
            for head, s in zip(self._heads, self._sums, strict=True)
        )


def _pair(value: float | None) -> tuple[float, int]:
    return (0.0, 0) if value is None else (value, 1)


def _mean(pair: tuple[float, int]) -> float | None:
    return pair[0] / pair[1] if pair[1] else None


def _off(head: Head) -> float:
    """How far a head's scale is from the expected one."""
    return -1.0 if head.ratio is None else abs(math.log(head.ratio)) if head.ratio > 0 else math.inf
