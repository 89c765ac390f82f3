"""attnlint proves with which scale softmax sees q·k, and reports where that is not 1/√d_k."""

from attnlint._version import __version__

__all__ = ["__version__"]
