"""Bytes-level screen: may this file hold an attention site? Errs on the side of yes, reads nothing but bytes, imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from attnlint.syntax.words import CALLS, NO_ATTENTION, holds, may_apply

# Any of these is reason enough to interpret the file: a softmax by name, or a fused attention kernel.
SOFTMAX_TOKENS = (b"softmax", b"Softmax", b"SoftMax", b"SOFTMAX", b"soft_max", b"softMax", b"logsumexp", b"log_sum_exp")
KERNEL_TOKENS = (
    b"scaled_dot_product",
    b"dot_product_attention",
    b"flash_attn",
    b"flash_attention",
    b"FlashAttention",
    b"flash_mha",
    b"efficient_attention",
    b"flex_attention",
    b"varlen_attn",
    b"attention_interface",
    b"pallas",
    b"attention_forward",
    b"sageattn",
    b"fused_attention",
    b"splash_attention",
    b"sm_scale",
    b"natten",
    b"na1d(",
    b"na2d(",
    b"na3d(",
)
# `exp` alone is everywhere; a softmax written by hand inside attention also needs a product.
EXPONENTIAL_TOKENS = (b"exp(", b"exp2(", b"exp_(", b".exp", b"import exp")
PRODUCT_TOKENS = (b"@", b"matmul", b"einsum", b"bmm", b"dot", b".mm(", b"mm(", b"inner(", b"contract(", b"batch_dot", b".sum(", b"sum(")

_DEFINITION = re.compile(rb"^(async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
_METHOD = re.compile(rb"^[ \t]+(?:async[ \t]+)?def[ \t]", re.MULTILINE)
_MATRICES = re.compile(
    r"\s@\s|matmul|einsum|bmm|\b(?:scaled_dot_product|dot_product|flash|memory_efficient|flex)_attention\(|flash_attn\w*_func\("
)
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]*(\([^)]*\)|[^\r\n#(]+)", re.MULTILINE)
_AS = re.compile(rb"\bas\s+\w+")
_CODE = re.compile(rb"ATT[0-9]")
_WORD = re.compile(rb"\w+")


def may_hold_attention(data: bytes) -> bool:
    """Whether the bytes of a source file (Python, notebook or Markdown) can hold an attention site of their own."""
    if any(token in data for token in SOFTMAX_TOKENS) or any(token in data for token in KERNEL_TOKENS):
        return True
    return any(token in data for token in EXPONENTIAL_TOKENS) and any(token in data for token in PRODUCT_TOKENS)


def mentions_suppression(data: bytes) -> bool:
    """Whether a file's bytes can hold a suppression that must be looked at even where nothing is found."""
    return b"attnlint:" in data or (b"ATT" in data and _CODE.search(data) is not None and b"noqa" in data.lower())


def leading_names(data: bytes) -> frozenset[bytes]:
    """The top-level functions and classes of a file that hold attention, or lead to one that does: other files may call or extend them.

    A function leads to what it names, a class to what it inherits from; whatever is named for attention counts as well. A class holds
    attention where a softmax is applied to a product: many have a softmax for other ends.
    """
    found = list(_DEFINITION.finditer(data))
    starts = [*(one.start() for one in found), len(data)]
    bodies = [(one[2], one[1] == b"class", data[one.start() : end]) for one, end in zip(found, starts[1:], strict=True)]
    leading = {name for name, is_class, body in bodies if _leads(name.decode("utf-8", "replace"), is_class, body)}
    left = [(name, _bases(body) if is_class else body) for name, is_class, body in bodies if name not in leading]
    while leading and left:
        named = re.compile(rb"\b(?:" + b"|".join(map(re.escape, sorted(leading))) + rb")\b")
        more = {name for name, text in left if named.search(text) is not None}
        if not more:
            break
        leading |= more
        left = [(name, text) for name, text in left if name not in more]
    return frozenset(leading)


def _leads(name: str, is_class: bool, body: bytes) -> bool:
    if NO_ATTENTION.search(name) is not None:
        return False
    if CALLS.search(name) is not None:
        return True
    if not may_hold_attention(body):
        return False
    parts = _METHOD.split(body) if is_class else [body]
    texts = (part.decode("utf-8", "replace") for part in parts if may_hold_attention(part))
    return any(holds(text) and may_apply(text) and (not is_class or _MATRICES.search(text) is not None) for text in texts)


def _bases(body: bytes) -> bytes:
    """What stands behind the name of a class, to the colon."""
    return body.partition(b"(")[2].partition(b":")[0]


def imported_modules(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Level (0 absolute) and dotted parts of everything that an import statement could name a module by."""
    if b"import" not in data:
        return
    for module, names in _IMPORT.findall(data):
        level = len(module) - len(module.lstrip(b"."))
        base = module[level:].decode("utf-8", "replace").split(".") if module[level:] else []
        for name in re.findall(rb"[\w.]+", _AS.sub(b"", names)):
            yield level, [*base, *(part for part in name.decode("utf-8", "replace").split(".") if part)]


def imported_names(data: bytes) -> frozenset[bytes]:
    """What the import statements of a file bring in, by the names that it has where it comes from."""
    if b"import" not in data:
        return frozenset()
    words: set[bytes] = set()
    for module, names in _IMPORT.findall(data):
        if b"*" in names or not module:
            words.update(_WORD.findall(module or names)[-1:])
        words.update(_WORD.findall(_AS.sub(b"", names)))
    return frozenset(words)


@dataclass(frozen=True)
class Look:
    """What a first look at a file's bytes says: whether it may hold a site, and the names by which files are tied together.

    `names` are the definitions of a file that hold attention or lead to it, or what a file without any brings in from others.
    """

    holds: bool
    suppresses: bool
    names: frozenset[bytes]


def look(data: bytes) -> Look:
    """The first look; it depends on the bytes alone."""
    may_hold = may_hold_attention(data)
    return Look(may_hold, mentions_suppression(data), leading_names(data) if may_hold else imported_names(data))
