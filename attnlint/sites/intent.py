"""Intent: what in the code says that a net scale of 1 is meant."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from attnlint.domain.values import ClassValue, Factor, Leaf, Sum, Tensor, condition_text
from attnlint.evaluate.arithmetic import is_mask
from attnlint.evaluate.powers import called
from attnlint.evaluate.tensors import SQUASHED, is_weight, others_of
from attnlint.evidence.signs import counts_heads
from attnlint.syntax import nodes as cst

if TYPE_CHECKING:
    from attnlint.domain.record import SiteRecord
    from attnlint.sites.sites import AttentionSite

_SCALE_COMMENT = re.compile(
    r"#[^\n]{0,300}?(\bno (scal|1/sqrt)|unscaled|not scaled|without scal|no need (to|for) scal|"
    r"(not|n't|never) (us|appl|need|hav)\w*[^\n]{0,30}\bscal|"
    r"scal\w* (is |are |was |already |has )?(been )?(fold|absorb|merg|bak|includ|appl|init|done|learn)\w*"
    r"|already (scal|carr|appl)|fold(s|ed)?\b[^\n]*(scal|sqrt|init)|absorb\w*[^\n]*(scal|sqrt)|takes? over\b[^\n]*scal)",
    re.I,
)
# a scale that stands there commented out: `# Q /= np.sqrt(self.d_k)`, `# scores = scores / math.sqrt(d)`
_COMMENTED_OUT = re.compile(r"^\s*#\s*[\w.]+\s*([/*]=|=\s*[\w.]+\s*[/*])\s*[^\n]*(sqrt\(|\*\*\s*\(?-?0?\.5|\bscal\w*\b)", re.I | re.M)
_SWITCH = re.compile(r"^(self\.|config\.|\w+\.)*\w*(scale|scaling|scaled|normali[sz]e)\w*$", re.I)
_ONE = re.compile(r"scal\w* == 1(\.0*)?$", re.I)
_SIZE = r"(?![\w.]*layer)[A-Za-z_][\w.]*"  # the root of a number of layers is a rule of depth
_PRODUCT_ROOT = re.compile(
    rf"\(\s*\(?\s*{_SIZE}\s*\*\s*{_SIZE}\s*\)?\s*\*\*\s*-\s*0?\.5|rsqrt\(\s*{_SIZE}\s*\*\s*{_SIZE}"
    rf"|1(\.0)?\s*/\s*(math|np)\.sqrt\(\s*{_SIZE}\s*\*\s*{_SIZE}"
)
_GIVEN = ("argument", "opaque", "recurrent", "embedding")  # what keys are that nothing projected
_NORMED_IN_WORDS = re.compile(
    r"\b(q|k|qk|query|key|queries|keys)\b.*\b(rms|l2|layer)?_?-?norm(ed|alis|aliz)\w*.*\bscal"
    r"|\bscal\w*.*\b(q|k|qk|query|key|queries|keys)\b.*\bnorm(ed|alis|aliz)",
    re.I,
)
_MEANT_IN_WORDS = re.compile(r"\b(net scale|undo|cancel|compensat|counteract|on purpose|by design|intentional|deliberate)", re.I)
_SCALE_WORD = re.compile(r"scal|sqrt|√|root", re.I)
_CUTS = {"split", "chunk", "unbind", "tensor_split", "array_split", "split_with_sizes", "unstack"}
_QUERY_WORD = re.compile(r"\b(q|wq|to_q|q_\w+|\w+_q|query\w*|\w+_query)\b", re.I)
_BUCKETS = re.compile(r"relative_position_bucket|relative_attention_num_buckets")
_INIT_WORD = re.compile(r"normal|uniform|init|std", re.I)


# the parametrisation whose logits are scaled by 1 / d (Yang et al., Tensor Programs V, 2022), in the words in which people speak of it
_WIDTH_SCALED = re.compile(
    r"\b(?:mu|µ|μ)[-_ ]?(?:p\b|p(?:ar|trans|attn)|transfer|param)|maximal[- ]update|tensor programs|infinite[- ]width|width[- ]independen"
    r"|\b(?:not|instead of|rather than|in place of|unlike)\b[^\n]{0,30}(?:sqrt|root|√|\*\*\s*-?0?\.5|\^\s*-?(?:0?\.5|1/2))",
    re.I,
)
_WIDTH_FLAG = re.compile(r"(?:^|[^a-z])(?:use_?)?(?:mu_?p|mu_?param\w*|mu_?transfer|maximal_update\w*)(?:$|[^a-z])", re.I)
_WIDTH_PACKAGE = re.compile(r"^[ \t]*(?:from|import)[ \t]+(?:mup|mutransformers)\b", re.M)


def width_parametrised(site: AttentionSite) -> str | None:
    """What in the code says that the logits are to be divided by d_k itself: a setting, its package, a comment, a docstring."""
    record = site.record
    for text, truth in sorted(record.path):
        if truth and _WIDTH_FLAG.search(condition_text(text)):
            return f"`{condition_text(text)}` asks for a scale of 1/d"
    if _WIDTH_PACKAGE.search(record.scope.text):
        return "the file imports the package of a parametrisation that scales by 1/d"
    told = [comment for placed in site.factors for comment in _told_of(placed.factor)]
    told += [_docstring(one.node) for one in (record.function, record.owner) if one is not None]
    return "the code says that 1/d is meant" if any(_WIDTH_SCALED.search(text) for text in told) else None


def _told_of(factor: Factor) -> Iterator[str]:
    """The comments beside the places where a number is made and applied, and right above them."""
    for made in (factor.definition, factor.operand, factor.application):
        if made is not None:
            lines, row = made.unit.scope.lines, made.unit.span(made.node).start.row
            yield " ".join(line.partition("#")[2].strip() for line in reversed([lines[row - 1], *_comments_above(lines[: row - 1], 4)]))


def _docstring(node: cst.CSTNode) -> str:
    match node:
        case cst.FunctionDef(body=body) | cst.ClassDef(body=body):
            match body.body[:1]:
                case [cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString(evaluated_value=str() as text)), *_])]:
                    return text
    return ""


def non_local(site: AttentionSite, query: Tensor, key: Tensor) -> bool:
    """Whether query and key are convolutions of a feature map, without heads: such blocks leave the product as it is, or average it."""
    heads = site.splits_heads or any(map(counts_heads, site.record.names_in_scope))
    return _conv(query) and _conv(key) and not heads


BILINEAR = "the keys are the input itself, unprojected, of which the query is a projection: a bilinear score"


def initialiser_holds_root(text: str) -> bool:
    """Whether the weights of the query start with a deviation of (width · head size)^-1/2, as T5 has it."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if "*" not in line or (".5" not in line and "sqrt" not in line):
            continue
        if len(line) < 400 and _PRODUCT_ROOT.search(line):
            around = "\n".join(one[:400] for one in lines[max(0, number - 3) : number + 3])
            if _INIT_WORD.search(around) and _QUERY_WORD.search(around):
                return True
    return False


def explained(factor: Factor) -> str | None:
    """The reason that a comment beside a number, or right above it, gives for another power: normalised operands, or what it is to undo."""
    made = factor.definition or factor.operand
    if made is None:
        return None
    lines, row = made.unit.scope.lines, made.unit.span(made.node).start.row
    comments = [lines[row - 1], *_comments_above(lines[: row - 1], 4)]
    told = " ".join(line.partition("#")[2].strip() for line in reversed(comments))
    if _NORMED_IN_WORDS.search(told):
        return "a comment says that query and key are normalised"
    return "a comment says why" if _MEANT_IN_WORDS.search(told) and _SCALE_WORD.search(told) else None


def _comments_above(lines: list[str], limit: int = 20) -> list[str]:
    """The comments that end a text, from the last one up."""
    above = itertools.takewhile(lambda line: line.lstrip().startswith("#"), reversed(lines[-limit:]))
    return list(above)


def annealed(record: SiteRecord) -> str | None:
    """The test for a configured temperature that the path of a site hangs on."""
    tests = (condition_text(text) for text, _ in sorted(record.path))
    return next((f"a configured temperature: `{test}`" for test in tests if "temperature" in test.lower()), None)


def meant(site: AttentionSite, query: Tensor, key: Tensor, kinds: tuple[str, str]) -> str | None:
    """The reason why an unscaled product is meant, or None."""
    record = site.record
    for text, truth in sorted(record.path):
        if not truth and _SWITCH.search(condition := condition_text(text)):
            return f"the switch `{condition}` leaves the scale out"
        if truth and _ONE.search(condition_text(text)):
            return "a scale of 1 is asked for"
    if "recurrent" in kinds:
        return "states of a recurrent network are attended to, as in Luong's attention"
    value = record.value
    held, given = key.content, value.content if value is not None else None
    one = isinstance(held, Leaf) and isinstance(given, Leaf) and given.key == held.key
    same = one and isinstance(held, Leaf) and held.kind in _GIVEN
    whole = site.key.content if site.key is not None else held
    mixed = isinstance(whole, Sum) and whole is given and sum(not is_weight(term) for term in whole.terms) > 1  # no bias of a projection
    whole_key = not _is_piece(key)
    if (same and whole_key) or mixed:
        return "the keys are the values themselves, unprojected"
    asked = query.content
    among = isinstance(asked, Leaf) and isinstance(held, Leaf) and asked.key == held.key and whole_key and not _is_piece(query)
    if among and isinstance(given, Leaf) and given.kind in ("argument", "array", "constant"):
        return "one tensor is compared with itself, and what is read is given: a memory"
    if isinstance(held, Leaf) and held.kind == "argument" and _made_of(query, held.key):
        return BILINEAR
    if one and query.shape.lead is None and sum(not axis.size.is_one for axis in query.shape.axes) == 1:
        return "one vector is compared with the values themselves: a pooling"
    if SQUASHED in key.notes:
        return "the keys pass through tanh, as in additive attention"
    if any(placed.factor.written_one for placed in site.factors):
        return "a factor of 1 is written out"
    if non_local(site, query, key):
        return "convolutions over a feature map, as in non-local blocks"
    text = record.scope.text
    function = record.function
    if function is not None:
        body = function.unit.code(function.node)
        if _SCALE_COMMENT.search(body):
            return "a comment says so"
        if _left_out(body):
            return "a scale stands there, commented out"
    owner = record.owner
    if owner is not None and _SCALE_COMMENT.search(_with_comments(owner)):
        return "a comment says so"
    added = others_of(record.logits) if record.logits is not None else []
    biased = not all(map(is_mask, added))  # by what another class of the file may look up
    if owner is not None and _BUCKETS.search(text if biased else owner.unit.code(owner.node)):
        return "learned biases of position buckets, as in T5, which folds the scale into its initialisation"
    if initialiser_holds_root(text):
        return "the factor is folded into the initialisation"
    return None


def _with_comments(owner: ClassValue) -> str:
    """The text of a class, with the comments right above it."""
    above = _comments_above(owner.unit.scope.lines[: owner.unit.span(owner.node).start.row - 1])
    return "\n".join((*above, owner.unit.code(owner.node)))


def _left_out(text: str) -> bool:
    """Whether a scale is commented out, and no comment above it says that it is applied elsewhere."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if _COMMENTED_OUT.search(line):
            above = lines[number - 1].strip() if number else ""
            return _COMMENTED_OUT.search(above) is not None or not (above.startswith("#") and _SCALE_WORD.search(above))
    return False


def _made_of(tensor: Tensor, key: str) -> bool:
    """Whether a tensor is a projection of the leaf of that key."""
    content = tensor.content
    for _ in range(4):
        if not isinstance(content, Leaf) or content.source is None:
            return False
        content = content.source.content
        if isinstance(content, Leaf) and content.key == key:
            return True
    return False


def _is_piece(tensor: Tensor) -> bool:
    """Whether a tensor was cut from a wider one, whose other pieces are other features."""
    calls = (origin.node for origin in tensor.history if isinstance(origin.node, cst.Call))
    return any(called(call) in _CUTS for call in calls)


def _conv(tensor: Tensor) -> bool:
    return isinstance(tensor.content, Leaf) and tensor.content.layer is not None and tensor.content.layer.kind == "conv"
