"""`attnlint explain`: why the logits are divided by √d_k, measured: variance, largest weight, saturation, entropy, Jacobian."""

from __future__ import annotations

import sys


def main() -> int:
    """Print the table and the plot of the reference attention. Returns the exit status: 2 where NumPy is missing."""
    try:
        from attnlint.reference import why_sqrt_d_text
    except ImportError:
        print("attnlint explain: needs NumPy; install it with `pip install attnlint[probe]`", file=sys.stderr)
        return 2
    print(why_sqrt_d_text())
    return 0
