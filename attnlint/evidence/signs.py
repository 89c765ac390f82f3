"""What names say: one row a heuristic, with what it claims, how strong that is, and why.

Strong: the field calls nothing else so. Usual: most code does. Weak: it breaks a tie, where the code itself says nothing.
A name may say what is attention at all and which operand is the query, and it may silence a report. Where it supplies something
that a verdict stands on (a size, an axis, that a call keeps what it is given), the evaluation notes it, and the site carries it as
`evidence`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Strength = Literal["strong", "usual", "weak"]


@dataclass(frozen=True)
class Sign:
    """A pattern over names, what a name that it finds claims, how strong the claim is, and why."""

    pattern: re.Pattern[str]
    claims: str
    strength: Strength
    why: str

    def search(self, name: str) -> re.Match[str] | None:
        """Where the pattern is found in a name, None where it is not."""
        return self.pattern.search(name)

    def of(self, name: str) -> str:
        """The claim about a name, as a site shows it: "`n_heads` counts heads, by its name"."""
        return claimed(name, self.claims)


def claimed(name: str, claims: str) -> str:
    return f"`{name}` {claims}, by its name"


def _sign(pattern: str, claims: str, strength: Strength, why: str, flags: int = re.I) -> Sign:
    return Sign(re.compile(pattern, flags), claims, strength, why)


# --- what is attention, and which side is which

QUERY = _sign(
    r"(^|_)(q|qs|qh|wq|xq|query|queries|quer\w*|theta|q\w{0,3}|\w*_q|\w*query\w*)$",
    "is a query",
    "usual",
    "Vaswani et al., 2017; theta is the query of non-local blocks (Wang et al., 2018)",
)
KEY = _sign(
    r"(^|_)(k|ks|kh|wk|xk|key|keys|phi|k\w{0,3}|\w*_k|\w*key\w*)$",
    "is a key",
    "usual",
    "Vaswani et al., 2017; phi is the key of non-local blocks (Wang et al., 2018)",
)
VALUE = _sign(r"^(v|vs|vh|values?|v_\w|\w+_values?)$", "is a value", "usual", "Vaswani et al., 2017")
ATTENTION = _sign(r"att(n|ention|end)|(^|_)mha", "is attention", "usual", "what functions and classes of attention are called")
ATTENTION_CALL = _sign(r"attention|attn|flash|sdpa|mhs?a", "is attention", "usual", "what kernels and their wrappers are called")
ROUTER = _sign(r"moe|expert|gating|rout|dispatch", "routes to experts", "usual", "Shazeer et al., 2017: its softmax is no attention")

# --- sizes

HEAD_COUNT = _sign(
    r"^(n|num|number_of|n_attn|num_attn|n_attention|num_attention)?_?heads?$|^nheads?$|^num_attention_heads$|^n_?head$",
    "counts heads",
    "strong",
    "the settings of GPT-2, BERT, Llama and their kin",
)
HEAD_SIZE = _sign(
    r"^(q|k|qk|query|key|attn|attention)?_?head_?(dim|size|width)$|^(dim|size|d)_?(per_)?head$|^d_?(k|qk|head)$|^(key|qk)_(dim|depth)_per_head$",
    "is the size of a head",
    "strong",
    "d_k of Vaswani et al., 2017, and head_dim of most code since",
)
HEAD_PART = _sign(r"_head_?dim$", "is the size of a head or of a part of one", "strong", "qk_rope_head_dim of DeepSeek-V2, 2024", 0)
HEADS_IN_WORDS = _sign(r"head|^n?_?h$|^self\.h$", "counts heads", "weak", "for a message alone")
SIZE = _sign(
    r"head_?(dim|size|width|channels|features)|(dim|size|d)_?(per_)?head|(^|_)d_?(k|q|qk|h|kv|head)$|"
    r"(^|_)(qk|key|query|inner|hidden)_?(dim|size|width|channels)",
    "is a size of attention",
    "usual",
    "which of several names for one number a message and a fix prefer",
)
ORDINARY_SIZE = _sign(r"dim|size|width|channel|inner|depth|features|^d$|^d_", "is a size", "usual", "which name a message and a fix prefer")
NO_SIZE = _sign(r"scal|norm|temp|factor|batch|len", "is no size", "usual", "which name a message and a fix leave alone")
SCALE_NAME = _sign(r"scal|norm|temp|factor|divisor|coef", "holds a scale", "usual", "it says nothing of which size it is the root")
LENGTH = _sign(r"len|size|count|num|valid|end$|^n(_|$)", "is a length", "usual", "masks of padding compare positions with a length")

# --- what a value is, where the code does not show it

SCALAR = _sign(
    r"(^|_)(scale|scales|scaling|temperature|temper|temp|tau|beta|gamma|alpha|coeff|factor|norm_factor|divisor|multiplier|mult|d_k|dk|dim|"
    r"head_dim|num_heads|heads|n_heads|eps|epsilon|sm_scale|softmax_scale|inv_norm|mscale|cap|softcap|d_model|size|width|depth)$",
    "is a number",
    "usual",
    "a parameter without an annotation that is multiplied: a tensor or a number",
    0,
)
MASK = _sign(
    r"mask|keep|visible|valid|allowed|causal|tril|triu|pad", "is a mask", "usual", "a parameter that is added to logits or multiplies them"
)
ROTATION = _sign(r"cos|sin$|sine|freq|rotary", "is a table of angles", "usual", "RoFormer (Su et al., 2021): it is no temperature")
WEIGHT = _sign(r"^(w|W)(_?[qkvoQKVO0-9]\w*|_\w+)?$|weight", "is a matrix of weights", "usual", "a parameter W of a function", re.ASCII)
WEIGHTS_OF_ATTENTION = _sign(r"att|alpha|prob|soft", "is what a softmax gave", "usual", "such weights are no matrix of weights")

# --- what a call of code that is not in the tree does

ROTARY_CALL = _sign(
    r"rot|rope",
    "turns pairs of features and keeps sizes and lengths",
    "strong",
    "RoFormer (Su et al., 2021): a rotation keeps every scale",
)
ANGLES = _sign(r"cos|sin|freq|pos", "holds angles or positions", "usual", "what a rotary embedding is given beside query and key", 0)
KEEPING_CALL = _sign(
    r"^_*(maybe_)?(contiguous|checkpoint_name|with_sharding_constraint|wsc|shard|constrain|logical_constraint|dropout|identity|to_device|cast|"
    r"repeat_kv|expand_kv|repeat_interleave)",
    "hands on the tensor that it is given",
    "strong",
    "wrappers of layout, sharding, precision and repeated heads",
)
MASKING_CALL = _sign(
    r"(add|apply|maybe|fill|with)_\w*mask|masked?_(fill|scores|logits|out|attn|attention)",
    "masks logits and leaves their scale",
    "usual",
    "helpers that add a mask",
)
SOFTMAX_CALL = _sign(r"^_?(stable_|masked_|safe_)?softmax$", "is a softmax over the last axis", "strong", "its copies keep the name")
CACHE_CALLS = dict.fromkeys(
    ("update", "append", "update_cache", "concat_cache"), "hands back the keys that it is given, lengthened"
)  # of caches of keys and values, as in transformers

# parameters of attention functions
SCALE_ARGUMENTS = ("scaling", "scale", "attn_scale")
SOFTMAX_SCALE_ARGUMENTS = ("softmax_scale", "sm_scale")  # nothing but the factor before a softmax is called so
OPERANDS = {"q": "query", "query": "query", "k": "key", "key": "key", "v": "value", "value": "value"}

# --- what words around a site say

UNIT_VARIANCE = _sign(
    r"layer_?norm|rms|root mean square|standardize", "leaves each feature with variance 1", "strong", "where an L2 norm leaves 1 / d"
)
UNDER_MAIN = _sign(
    r"""__name__\s*==\s*["']__main__["']""", "is a trial of what others import", "strong", "the Python tutorial, section 6.1.1", 0
)


def last(text: str) -> str:
    """The last part of a dotted name."""
    return text.rpartition(".")[2]


def counts_heads(name: str) -> bool:
    """Whether a name can only be one for the number of heads."""
    return HEAD_COUNT.search(last(name)) is not None


def names_head_size(name: str) -> bool:
    """Whether a name can only be one for the size of a head."""
    return HEAD_SIZE.search(last(name)) is not None


def names_part_of_head(name: str) -> bool:
    """Whether a name is one for the size of a head or of a part of one, such as `qk_rope_head_dim`."""
    return names_head_size(name) or HEAD_PART.search(last(name)) is not None


def claim(name: str) -> str:
    """What a verdict that rests on the name of a size takes it for."""
    return (HEAD_COUNT if counts_heads(name) else HEAD_SIZE if names_head_size(name) else HEAD_PART).of(name)
