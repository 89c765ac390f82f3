"""Intent: what in the code says that a net scale of 1 is meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attnlint.engine.values import Leaf, Tensor

if TYPE_CHECKING:
    from attnlint.engine.sites import AttentionSite

_SCALE_COMMENT = re.compile(
    r"#[^\n]*(\bno (scal|1/sqrt)|unscaled|not scaled|without scal|no need (to|for) scal|scal\w* (is |are |was |already |has )?(been )?(fold|absorb|merg|bak|includ|appl|init|done|learn)\w*"
    r"|already (scal|carr|appl)|fold(s|ed)?\b[^\n]*(scal|sqrt|init)|absorb\w*[^\n]*(scal|sqrt))",
    re.I,
)
_INITIALISER = re.compile(
    r"(\bq\b|\w*query\w*|\w*q_proj\w*|\bwq\b|\bto_q\b)[\w.\[\]]*\s*(\.data)?\s*\.?\s*(normal_|uniform_|initializer|,)[^\n]*\n?[^\n]*\(\s*\(*[\w.]+\s*\*\s*[\w.]+\)*\s*\*\*\s*-\s*0?\.5"
    r"|normal_?\(\s*[\w.]*\bq\w*\.weight[^\n]*\n?[^\n]*\(\s*[\w.]+\s*\*\s*[\w.]+\s*\)\s*\*\*\s*-\s*0?\.5"
    r"|(q|query)\w*init\w*\s*=[^\n]*\(\s*\(*[\w.]+\s*\*\s*[\w.]+\)*\s*\*\*\s*-\s*0?\.5",
    re.I,
)

_BUCKETS = re.compile(r"relative_position_bucket|relative_attention_num_buckets")


def meant(site: AttentionSite, query: Tensor, key: Tensor, kinds: tuple[str, str]) -> str | None:
    """The reason why an unscaled product is meant, or None."""
    record = site.record
    if "recurrent" in kinds:
        return "states of a recurrent network are attended to, as in Luong's attention"
    value = record.value
    if value is not None and isinstance(key.content, Leaf) and key.content.kind in ("argument", "opaque", "recurrent", "embedding"):
        if isinstance(value.content, Leaf) and value.content.key == key.content.key:
            return "the keys are the values themselves, unprojected"
    if any(placed.factor.written_one for placed in site.factors):
        return "a factor of 1 is written out"
    if _conv(query) and _conv(key):
        return "convolutions over a feature map, as in non-local blocks"
    text = record.scope.text
    function = record.function
    if function is not None:
        body = function.unit.code(function.node)
        if _SCALE_COMMENT.search(body):
            return "a comment says so"
    owner = record.owner
    if owner is not None and _SCALE_COMMENT.search(owner.unit.code(owner.node)):
        return "a comment says so"
    if owner is not None and _BUCKETS.search(owner.unit.code(owner.node)):
        return "learned biases of position buckets, as in T5, which folds the scale into its initialisation"
    if _INITIALISER.search(text):
        return "the factor is folded into the initialisation"
    return None


def _conv(tensor: Tensor) -> bool:
    return isinstance(tensor.content, Leaf) and tensor.content.layer is not None and tensor.content.layer.kind == "conv"
