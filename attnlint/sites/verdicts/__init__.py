"""The tests of a verdict, in the order in which they are asked: the first that answers decides."""

from __future__ import annotations

from collections.abc import Iterable

from attnlint.sites.sites import AttentionSite, Test, Verdict
from attnlint.sites.verdicts import lost, meant, right

# before it is known what the ratio is made of
FIRST: tuple[Test, ...] = (
    lost.no_number,
    lost.lost_factors,
    right.right,
    lost.too_few_entries,
    lost.axis_of_heads,
    lost.open_cut,
    lost.no_common_size,
    lost.joined_features,
    right.learned_beside_root,
)

# between what the operands and the logits went through, and the scale rules
BEFORE_RULES: tuple[Test, ...] = (
    meant.learned,
    meant.normed_logits,
    lost.nonlinear,
    meant.normalised_query,
    lost.modulated,
    meant.absorbed,
    right.configured_beside_root,
    lost.opaque_factor,
    meant.unscaled,
    lost.tried_by_main,
    lost.lost_operand,
    right.balanced,
    lost.inconclusive,
    meant.averaged,
    meant.parametrised,
)

# what is left where no scale rule calls it a fault
AFTER_RULES: tuple[Test, ...] = (meant.configured, meant.further_constant, lost.left_to_caller)


def first(site: AttentionSite, tests: Iterable[Test]) -> Verdict | None:
    """What the first test says that answers."""
    return next((verdict for test in tests if (verdict := test(site)) is not None), None)
