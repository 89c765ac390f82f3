"""What the optional parts need besides attnlint, named by package: right wherever attnlint itself was installed from."""

from __future__ import annotations

PACKAGES = {"probe": "numpy rich", "server": "'pygls>=2.0'", "audit": "'dask>=2024.8' 'distributed>=2024.8' 'fsspec>=2024.6' 'pyarrow>=15'"}


def remedy(extra: str) -> str:
    """The command that installs what a part lacks, beside the attnlint that is there."""
    return f"install what it needs with: pip install {PACKAGES[extra]}"
