"""Text from files and their names made harmless for where it is printed: terminals, CI logs, XML."""

from __future__ import annotations

import json
import re
from typing import Any

# Control characters (terminal escapes begin with them), line separators, and the marks that reorder text.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]|##(?=\\[)")
_XML_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def visible(text: str, tab: str | None = None) -> str:
    """The text with every character that a terminal or a CI log would act on written as an escape; `tab` stands for tabs."""
    if text.isascii() and text.isprintable() and "##[" not in text:
        return text

    def spelled(match: re.Match[str]) -> str:
        char = match.group()
        if char == "##":
            return "#\\x23"
        if char == "\t" and tab is not None:
            return tab
        return _escape(char)

    return _UNSAFE.sub(spelled, text)


def json_text(value: Any, indent: int | None = None) -> str:
    """The value as JSON in ASCII, in which no CI log finds a command."""
    return json.dumps(value, indent=indent).replace("##[", "#\\u0023[")


def xml_safe(text: str) -> str:
    """The text without the characters that XML 1.0 forbids."""
    return _XML_UNSAFE.sub(lambda match: _escape(match.group()), text)


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is no text
        return f"\\x{code - 0xDC00:02x}"
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return named.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
