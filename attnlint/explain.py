"""`attnlint explain`: why the logits are divided by √d_k, measured: variance, largest weight, saturation, entropy, Jacobian.

Computed with the standard library, so that it works wherever attnlint does; `attnlint.reference` does the same, larger, in NumPy.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from attnlint.reference import SATURATED, SCALES, Statistics, WhyRow, why_sqrt_d_text

HEAD_DIMS = (16, 32, 64, 128, 256, 512, 1024)
QUERIES, KEYS = 48, 128
BEFORE = f"""\
Queries and keys whose entries are independent, with mean 0 and variance 1: q·k sums d products of variance 1, so its variance is d.
What softmax makes of {KEYS} keys, mean of {QUERIES} queries:
"""
AFTER = """
Scale 1: the larger d, the nearer softmax comes to choosing a single key, and its Jacobian, through which q and k learn, to zero.
Over √d: the logits have variance 1 whatever d is. Over d: the weights become even, and attention averages.
`max weight` is the mean largest weight of a row, `saturated` the share of rows above 0.99, `entropy` is over ln of the number of keys,
`1-sum p2` the trace of the softmax Jacobian. Vaswani et al., "Attention Is All You Need" (2017), section 3.2.1 and footnote 4."""


def main() -> int:
    """Print the table. Returns the exit status."""
    print(BEFORE)
    print(why_sqrt_d_text(measured()))
    print(AFTER)
    return 0


def measured(head_dims: Sequence[int] = HEAD_DIMS, seed: int = 0) -> list[WhyRow]:
    """What softmax sees for random q and k, unscaled, over √d and over d, at each head size."""
    source = random.Random(seed)
    rows = []
    for d in head_dims:
        keys = [[source.gauss(0, 1) for _ in range(d)] for _ in range(KEYS)]
        queries = ([source.gauss(0, 1) for _ in range(d)] for _ in range(QUERIES))
        products = [[sum(map(float.__mul__, query, key)) for key in keys] for query in queries]
        rows += [WhyRow(d, name, _statistics([[x * of(d) for x in row] for row in products])) for name, of in SCALES.items()]
    return rows


def _statistics(logits: Sequence[Sequence[float]]) -> Statistics:
    weights = [_softmax(row) for row in logits]
    count = len(logits)
    return Statistics(
        max_weight=sum(map(max, weights)) / count,
        saturated=sum(max(row) > SATURATED for row in weights) / count,
        entropy=sum(-sum(p * math.log(p) for p in row if p) / math.log(len(row)) for row in weights) / count,
        jacobian=sum(1 - sum(p * p for p in row) for row in weights) / count,
        logit_variance=sum(_variance(row) for row in logits) / count,
    )


def _softmax(row: Sequence[float]) -> list[float]:
    top = max(row)
    raised = [math.exp(x - top) for x in row]
    total = sum(raised)
    return [x / total for x in raised]


def _variance(row: Sequence[float]) -> float:
    mean = sum(row) / len(row)
    return sum((x - mean) ** 2 for x in row) / len(row)
