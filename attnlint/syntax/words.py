"""What the words of a definition say before it is evaluated: that it may hold an attention site, apply a softmax, or multiply."""

from __future__ import annotations

import re

# a softmax by name, or a fused kernel
SOFTMAX = re.compile(
    r"softmax|scaled_dot_product|(?<![\"'])(?<!\bis_)flash_att(?:n|ention)(?!\w*\s*=\s*(?:True|False)\b)|memory_efficient_attention|dot_product_attention|(?<![\"'])flex_attention"
    r"|logsumexp|sageattn|attention_interface|\bsm_scale|\bnatten|\bna1d\(|\bna2d\(|\bna3d\(",
    re.I,
)
# one of these stands in whatever SOFTMAX finds: plain searches are many times as fast as one that minds no case
_STEMS = (
    "softmax",
    "dot_product",
    "flash_att",
    "efficient_att",
    "flex_att",
    "logsumexp",
    "sageattn",
    "attention_interface",
    "sm_scale",
    "natten",
    "na1d(",
    "na2d(",
    "na3d(",
)
EXPONENTIAL = re.compile(r"\bexp2?_?\(")
# a definition that may call one in another file
CALLS = re.compile(r"attention|attn|softmax|sdpa|mhs?a", re.I)
# what speaks of attention and is none
NO_ATTENTION = re.compile(r"^_*is_|(attention|attn|sdpa)\w*mask|kwargs$|config$|outputs?$|seq_?lens?$|OutputWith", re.I)
_SUMS = re.compile(r"sum\w*\(")
_CALL = re.compile(
    r"(softmax|scaled_dot_product|flash_attn|flash_attention|efficient_attention|dot_product_attention|flex_attention|logsumexp|sageattn|\bexp)\w*\(",
    re.I,
)
_PRODUCT = re.compile(
    r"\s@\s|matmul|einsum|bmm|\bmm\(|\bdot\(|batch_dot|tensordot|\*[^\n]*\bsum\(|\bsum\([^\n]*\*|att(?:entio)?n\w*\(\s*q|scaled_dot_product|\binner\("
)


def holds(words: str) -> bool:
    """Whether a definition may hold a site: a softmax written out also needs a product, or a quotient by a sum."""
    lower = words.lower()
    if any(stem in lower for stem in _STEMS) and SOFTMAX.search(words) is not None:
        return True
    if "exp" not in words or EXPONENTIAL.search(words) is None:
        return False
    return multiplies(words) or ("/" in words and _SUMS.search(words) is not None)


def may_apply(words: str) -> bool:
    """Whether a softmax, an exponential or a kernel is called."""
    return _CALL.search(words) is not None


def multiplies(words: str) -> bool:
    """Whether there is a matrix product, in one of its spellings."""
    return _PRODUCT.search(words) is not None


def applies(words: str) -> bool:
    """Whether a softmax, or a kernel, is applied to a product or to operands."""
    return may_apply(words) and multiplies(words)
