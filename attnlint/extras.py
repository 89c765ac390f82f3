"""What the optional parts need besides attnlint, named by package: right wherever attnlint itself was installed from."""

from __future__ import annotations

PACKAGES = {"probe": "numpy rich", "server": "'pygls>=2.0'", "audit": "'distributed>=2024.8' pyarrow fsspec"}


def remedy(extra: str) -> str:
    """The command that installs what a part lacks, beside the attnlint that is there."""
    return f"install what it needs with: pip install {PACKAGES[extra]}"
