"""The probe: measure in a running program the scale that each attention really applies.

Importing this package imports neither PyTorch nor NumPy; names are looked up when they are used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlint.probe import trackers
    from attnlint.probe.blackbox import Measurement, measure_scale
    from attnlint.probe.checking import checked
    from attnlint.probe.comparing import Comparison, compare
    from attnlint.probe.decorators import install
    from attnlint.probe.errors import AttentionFault, AttentionFaultWarning
    from attnlint.probe.expect import Expect
    from attnlint.probe.monitor import Monitor, Record, Thresholds
    from attnlint.probe.numpy_backend import array, call
    from attnlint.probe.report import Report
    from attnlint.probe.values import Factor, Site
    from attnlint.probe.watching import watch

_HOMES = {
    "AttentionFault": "errors",
    "AttentionFaultWarning": "errors",
    "Comparison": "comparing",
    "Expect": "expect",
    "Factor": "values",
    "Measurement": "blackbox",
    "Monitor": "monitor",
    "Record": "monitor",
    "Report": "report",
    "Site": "values",
    "Thresholds": "monitor",
    "array": "numpy_backend",
    "call": "numpy_backend",
    "checked": "checking",
    "compare": "comparing",
    "install": "decorators",
    "measure_scale": "blackbox",
    "watch": "watching",
}

__all__ = [
    "AttentionFault",
    "AttentionFaultWarning",
    "Comparison",
    "Expect",
    "Factor",
    "Measurement",
    "Monitor",
    "Record",
    "Report",
    "Site",
    "Thresholds",
    "array",
    "call",
    "checked",
    "compare",
    "install",
    "measure_scale",
    "trackers",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name == "trackers":
        return importlib.import_module(f"{__name__}.trackers")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
