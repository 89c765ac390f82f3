"""Bytes-level screen: may this file hold an attention site? Errs on the side of yes, reads nothing but bytes, imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    b"sdpa",
    b"xformers",
    b"sageattn",
    b"fused_attention",
    b"splash_attention",
)
# `exp` alone is everywhere; a softmax written by hand inside attention also needs a product.
EXPONENTIAL_TOKENS = (b"exp(", b"exp2(", b"exp_(", b".exp", b"import exp")
PRODUCT_TOKENS = (b"@", b"matmul", b"einsum", b"bmm", b"dot", b".mm(", b"mm(", b"inner(", b"contract(", b"batch_dot", b".sum(", b"sum(")

_DEFINITION = re.compile(rb"^(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]*(\([^)]*\)|[^\r\n#(]+)", re.MULTILINE)
_AS = re.compile(rb"\bas\s+\w+")
_WORD = re.compile(rb"\w+")


def may_hold_attention(data: bytes) -> bool:
    """Whether the bytes of a source file (Python, notebook or Markdown) can hold an attention site of their own."""
    if any(token in data for token in SOFTMAX_TOKENS) or any(token in data for token in KERNEL_TOKENS):
        return True
    return any(token in data for token in EXPONENTIAL_TOKENS) and any(token in data for token in PRODUCT_TOKENS)


def defined_names(data: bytes) -> set[bytes]:
    """The top-level functions and classes of a file; other files may call or extend them."""
    return set(_DEFINITION.findall(data))


def imported_modules(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Level (0 absolute) and dotted parts of everything that an import statement could name a module by."""
    if b"import" not in data:
        return
    for module, names in _IMPORT.findall(data):
        level = len(module) - len(module.lstrip(b"."))
        base = module[level:].decode("utf-8", "replace").split(".") if module[level:] else []
        for name in re.findall(rb"[\w.]+", _AS.sub(b"", names)):
            yield level, [*base, *(part for part in name.decode("utf-8", "replace").split(".") if part)]


def imported_names(data: bytes) -> set[bytes]:
    """Every word of every import statement: modules and names alike."""
    if b"import" not in data:
        return set()
    words: set[bytes] = set()
    for module, names in _IMPORT.findall(data):
        words.update(_WORD.findall(module))
        words.update(_WORD.findall(names))
    return words
