"""Make text from elsewhere safe to show: a terminal obeys control characters, whoever wrote them."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

__all__ = [
    "first_line",
    "json_text",
    "on_its_line",
    "one_line",
    "printable",
    "without_query",
    "without_secrets",
]

# Besides the control characters of ASCII and Latin-1: what reorders text or hides in it, line separators, surrogates,
# tags, and what is reserved for private use inside programs. Joiners stay: scripts and emoji need them.
_HIDDEN = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff"
)
_UNSAFE = re.compile(f"[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f{_HIDDEN}]")
_UNSAFE_IN_JSON = re.compile(f"[\\x7f-\\x9f{_HIDDEN}]")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def printable(text: str) -> str:
    """Write what a terminal would obey, and what hides or reorders text, as escapes; keep line ends and tabs."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def on_its_line(text: str) -> str:
    """Make a text printable that has a line of its own in a list: what would begin another is written as an escape."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def one_line(text: str) -> str:
    """Make a text printable and put it on one line."""
    return printable(" ".join(text.split()))


def first_line(text: str | None) -> str:
    """Give the first line of a text that is not empty, printable."""
    lines = (text or "").strip().splitlines()
    return one_line(lines[0]) if lines else ""


def json_text(value: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Write a value as JSON in which no control character is left and no hidden one: they are escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only, default=str)
    return _UNSAFE_IN_JSON.sub(_escape_in_json, text)


def _escape_in_json(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if ord(match[0]) > 0x7F else "\\u007f"


def without_query(path: str) -> str:
    """Give a path or URL as it may be shown: of its query, where tokens are put, only that there is one."""
    bare, question, _ = path.partition("?")
    return f"{bare}?..." if question else bare


def without_secrets(url: str) -> str:
    """Give a URL as it may be shown: without a password, a query and a fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "this URL"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
