"""ATT102: the root of something other than the contraction dimension."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.engine.sites import AttentionSite
from attnlint.rule import Report, Rule


class WrongDimScale(Rule):
    """Placeholder docs."""

    code = "ATT102"
    name = "wrong-dim-scale"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        if site.kind != self.name or site.culprit is None:
            return
        factor = site.culprit.factor
        origin = factor.definition or factor.operand or factor.application
        if origin is not None:
            yield Report(origin, f"the scale is {site.scale}, but q·k sums over {site.contraction}")
