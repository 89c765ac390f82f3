"""`attnlint explain`: why the logits are divided by √d_k, measured: variance, largest weight, saturation, entropy, Jacobian."""

from __future__ import annotations

from attnlint.config import ConfigError


def main() -> int:
    """Print the table and the plot of the reference attention. Returns the exit status: 2 where NumPy is missing."""
    from attnlint.reference import why_sqrt_d_text

    try:
        text = why_sqrt_d_text()
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise ConfigError(
            "`attnlint explain` computes with NumPy, which is not here; install it with: pip install 'attnlint[probe]'"
        ) from None
    print(text)
    return 0
