"""What is kept of an attention to be looked at: a few rows of its first head, and a small map of each head's weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlint.probe.values import Map, Samples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]

SAMPLE = 64
MAP = 48
MOST_MAPS = 16


def samples_of(logits: F64, weights: F64, live: Any, rows: Any, queries: int, head: Any) -> Samples:
    """At most 64 rows of 64 keys of the first head, and maps of the first 16 heads in the first batch element that was read of each.

    All arrays are (rows, keys); `rows` numbers the rows over batch, heads and queries, `head` says which head each is of, or None.
    """
    import numpy as np

    group = rows // max(queries, 1)
    picked = np.flatnonzero(group == group[0])[:SAMPLE]
    maps = []
    for h in range(min(MOST_MAPS, int(head.max()) + 1) if head is not None else 1):
        mine = np.flatnonzero(head == h) if head is not None else np.arange(len(rows))
        if len(mine):
            mine = mine[group[mine] == group[mine[0]]]
            maps.append(Map(h if head is not None else None, _pooled(weights[mine]), queries, logits.shape[-1]))
    shown = np.where(live, logits, -np.inf)[picked, :SAMPLE].copy()
    return Samples(shown, weights[picked, :SAMPLE].copy(), None, None, tuple(maps), picked)


def with_product(samples: Samples, raw: F64, added: Any) -> Samples:
    """The samples with q·k before any factor, and with what was added to the logits: what the reference at any scale is made of."""
    import numpy as np

    whole = np.broadcast_to(added, raw.shape)
    return Samples(
        samples.logits,
        samples.weights,
        raw[samples.picked, :SAMPLE].copy(),
        whole[samples.picked, :SAMPLE].copy(),
        samples.maps,
        samples.picked,
    )


def _pooled(weights: F64) -> F64:
    """At most 48 by 48 cells: evenly drawn rows, and the largest weight of neighbouring keys."""
    import numpy as np

    rows = weights[(np.arange(min(len(weights), MAP)) * len(weights)) // min(len(weights), MAP)]
    keys = rows.shape[1]
    if keys <= MAP:
        return rows.copy()
    edges = (np.arange(MAP) * keys) // MAP
    return np.maximum.reduceat(rows, edges, axis=1)
