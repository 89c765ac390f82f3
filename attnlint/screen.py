"""Bytes-level screen: may this file hold an attention site? Errs on the side of yes, reads nothing but bytes, imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

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

_DEFINITION = re.compile(rb"^(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]*(\([^)]*\)|[^\r\n#(]+)", re.MULTILINE)
_SPEAKS = re.compile(rb"attention|attn|softmax|sdpa", re.IGNORECASE)
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


def attention_imports(data: bytes) -> set[bytes]:
    """What the import statements of a file bring in that speaks of attention: only its uses can make sites of another file's code."""
    if b"import" not in data or _SPEAKS.search(data) is None:
        return set()
    words: set[bytes] = set()
    for module, names in _IMPORT.findall(data):
        if _SPEAKS.search(names) is not None:
            words.update(_WORD.findall(_AS.sub(b"", names)))
        elif b"*" in names:
            words.update(_WORD.findall(module)[-1:])
    return words


@dataclass(frozen=True)
class Look:
    """What a first look at a file's bytes says: whether it may hold a site, and the names by which files are tied together.

    `names` are the definitions of a file that holds attention, or what another file brings in that speaks of it.
    """

    holds: bool
    suppresses: bool
    names: frozenset[bytes]


def look(data: bytes) -> Look:
    """The first look; it depends on the bytes alone."""
    holds = may_hold_attention(data)
    names = defined_names(data) if holds else attention_imports(data)
    return Look(holds, mentions_suppression(data), frozenset(names))
