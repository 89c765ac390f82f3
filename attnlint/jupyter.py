"""What jupyterlab-lsp is told of the language server, by entry point: installed beside it, attnlint lints notebooks in JupyterLab."""

from __future__ import annotations

import sys
from typing import Any


def spec(_application: Any) -> dict[str, dict[str, Any]]:
    """The language server's specification, version 2; empty where pygls is not installed, so that no server is started in vain."""
    from importlib.util import find_spec

    if find_spec("pygls") is None:
        return {}
    return {
        "attnlint": {
            "version": 2,
            "display_name": "attnlint",
            "argv": [sys.executable, "-m", "attnlint", "server"],
            "languages": ["python"],
            "mime_types": ["text/python", "text/x-python", "text/x-ipython"],
            "requires_documents_on_disk": False,
        }
    }
