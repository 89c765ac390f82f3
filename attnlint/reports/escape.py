"""Text from files and their names made harmless for where it is printed: terminals, CI logs, XML."""

from __future__ import annotations

import json
import re
from typing import Any

# Control characters (terminal escapes begin with them), line separators, the marks that reorder text, and what nobody sees (soft hyphens,
# fillers, tags, selectors beyond those of pictures); and how a line of a CI's log begins that is a command: `##[`, `##vso[`, `##teamcity[`.
_COMMAND = re.compile(r"##(?=\w*\[)")
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]|" + _COMMAND.pattern
)
_XML_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def visible(text: str, tab: str | None = None) -> str:
    """The text with every character that a terminal or a CI log would act on written as an escape; `tab` stands for tabs."""
    if text.isascii() and text.isprintable() and "##" not in text:
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
    return _COMMAND.sub(r"#\\u0023", json.dumps(value, indent=indent))


def xml_safe(text: str) -> str:
    """The text without the characters that XML 1.0 forbids."""
    return _XML_UNSAFE.sub(lambda match: _escape(match.group()), text)


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is no text
        return f"\\x{code - 0xDC00:02x}"
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return named.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
