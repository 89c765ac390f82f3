"""Values that are no numbers: the first place of a NaN or an infinity, and rows that no key is left for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlint.probe.facts import Arrays, Product

_LARGEST = {"float16": 65504.0}


def logits_trouble(tops: Any, every_row_needs_a_key: bool, arrays: Arrays, product: Product, dtype: str) -> str:
    """What is wrong with logits whose rows' largest entries are `tops` (queries last); "" where nothing is."""
    import numpy as np

    wrong = np.isnan(tops) | (tops == np.inf)
    if every_row_needs_a_key:
        wrong |= tops == -np.inf
    if not wrong.any():
        return ""
    place = [int(i) for i in np.argwhere(wrong)[0]]
    value = float(tops[tuple(place)])
    if value == -np.inf:
        return f"a row without any key: every logit of row {place} is -inf, its weights are NaN or 0"
    what = "NaN" if np.isnan(value) else "infinity"
    found = f"{what} in the logits, first in row {place}"
    for name, operand in (("query", product.q), ("key", product.k)):
        bad = arrays.first_bad(operand) if operand is not None and arrays.numeric(operand) else None
        if bad is not None:
            return f"{found}; the {name} has one already, first at {list(bad)}"
    if dtype in _LARGEST:
        return f"{found}: {dtype} holds numbers up to {_LARGEST[dtype]:g}, the products are larger"
    return found


def output_trouble(arrays: Arrays, out: Any) -> str:
    """The first NaN or infinity of an attention's output; "" where there is none."""
    if not arrays.numeric(out):
        return ""
    bad = arrays.first_bad(out)
    return f"NaN or infinity in the output, first at {list(bad)}" if bad is not None else ""
