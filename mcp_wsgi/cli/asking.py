"""Ask the person at the terminal what a server asks. Where there is no terminal, the answer is no.

What the server says is foreign text: each line of it begins with a bar, so that it cannot pass for a question of this
program, nor of another.
"""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..server.reasons import shorten
from .output import Output
from .text import one_line, printable

if TYPE_CHECKING:
    from ..client import ElicitAnswer, ElicitQuestion

__all__ = ["Asker"]

_TRIES = 5
_BAR = "| "
#: How much of what a server says is shown at a time: lines, characters of a label, and choices.
_MOST_LINES, _LONGEST_LABEL, _MOST_CHOICES = 40, 60, 100


class _Cancelled(Exception):  # noqa: N818 - a way out, not an error
    """The person has left."""


class Asker:
    """Answer elicitations.

    Args:
        output: What may show a bar at the time, which has to wait.
        server: Who asks.
    """

    def __init__(self, output: Output, server: str) -> None:
        self._output = output
        self._server = shorten(one_line(server), 120)

    def __call__(self, question: ElicitQuestion) -> ElicitAnswer:
        """Ask a question, all on standard error and input."""
        from ..client import ElicitAnswer

        if not sys.stdin.isatty():
            _say(f"The server asks: {shorten(one_line(question.message), 300)} (declined: there is no terminal)")
            return ElicitAnswer("decline")
        with self._output.paused():
            try:
                _say(f"\n{self._server} asks. Behind the bars are its words; give it no password or token.")
                _quote(question.message)
                if question.mode == "url":
                    return self._ask_url(question)
                return self._ask_form(question)
            except _Cancelled:
                _say("Cancelled.")
                return ElicitAnswer("cancel")

    def _ask_url(self, question: ElicitQuestion) -> ElicitAnswer:
        from ..client import ElicitAnswer

        url = question.url or ""
        host = _host(url)
        if host is None:
            _say(f"It wants you to open what is no address of a web page (declined): {shorten(one_line(url), 100)}")
            return ElicitAnswer("decline")
        _say("It wants you to open this address. Look who it belongs to first; nothing opens it for you:\n")
        _say(f"    {url}\n\nIt belongs to: {host}")
        return ElicitAnswer("accept" if _agreed("Have you opened it") else "decline")

    def _ask_form(self, question: ElicitQuestion) -> ElicitAnswer:
        from ..client import ElicitAnswer

        if not _agreed("Do you want to answer"):
            return ElicitAnswer("decline")
        properties = question.schema.get("properties")
        required = question.schema.get("required")
        content: dict[str, Any] = {}
        for name, field in properties.items() if isinstance(properties, Mapping) else ():
            if isinstance(field, Mapping):
                needed = isinstance(required, list) and name in required
                found = _ask_field(name, field, needed=needed)
                if found is not None:
                    content[name] = found
        return ElicitAnswer("accept", content)


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)


def _quote(text: str) -> None:
    """Show what the server says, broken into lines here: where the terminal did so, no bar would be."""
    width = max(20, shutil.get_terminal_size().columns - len(_BAR) - 1)
    # Characters of other scripts may be two columns wide.
    width = width if text.isascii() else width // 2
    lines = [each for line in printable(text).strip().splitlines() for each in textwrap.wrap(line, width) or [""]]
    for line in lines[:_MOST_LINES]:
        _say(f"{_BAR}{line}")
    if len(lines) > _MOST_LINES:
        _say(f"({len(lines) - _MOST_LINES} more lines are not shown)")


def _host(url: str) -> str | None:
    """Give the host of a URL as it is looked up; ``None`` where it is not the URL of a web page, or hides something."""
    if printable(url) != url or len(url.split()) != 1:
        return None
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except ValueError:
        return None
    return name if name and parts.scheme in ("http", "https") else None


def _read(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        print(file=sys.stderr)
        raise _Cancelled
    return line.strip()


def _agreed(question: str) -> bool:
    for _ in range(_TRIES):
        answer = _read(f"{question}? [y]es, [n]o, [c]ancel: ").lower()
        if answer in ("y", "yes"):
            return True
        if answer in ("n", "no"):
            return False
        if answer in ("c", "cancel"):
            break
    raise _Cancelled


def _ask_field(name: str, field: Mapping[str, Any], *, needed: bool) -> Any:
    """Ask for one field until the answer fits it; ``None`` where it is left out."""
    from ..client.forms import check_form

    title = field.get("title")
    label = _BAR + shorten(one_line(title if isinstance(title, str) and title else name), _LONGEST_LABEL)
    if isinstance(field.get("description"), str):
        _quote(shorten(one_line(field["description"]), 300))
    choices = _choices(field)
    for number, (_, shown) in enumerate(choices[:_MOST_CHOICES], 1):
        _quote(f"{number}. {shorten(shown, 200)}")
    if len(choices) > _MOST_CHOICES:
        _say(f"({len(choices) - _MOST_CHOICES} more choices are not shown)")
    for _ in range(_TRIES):
        text = _read(f"{label}{_hint(field, needed=needed, choices=bool(choices))}: ")
        if not text:
            if "default" in field:
                return field["default"]
            if not needed:
                return None
            _say("  This is needed.")
            continue
        try:
            value = _value(text, field, choices)
            check_form({"properties": {name: field}}, {name: value})
        except ValueError as error:
            _say(f"  That does not fit: {shorten(one_line(str(error)), 200)}")
        else:
            return value
    raise _Cancelled


def _hint(field: Mapping[str, Any], *, needed: bool, choices: bool) -> str:
    parts = []
    kind = field.get("type")
    if kind == "boolean":
        parts.append("y/n")
    elif choices:
        parts.append("numbers, with commas" if kind == "array" else "number")
    elif kind in ("integer", "number"):
        parts.append(str(kind))
    elif isinstance(field.get("format"), str):
        parts.append(one_line(field["format"])[:30])
    if "default" in field:
        parts.append(f"Enter: {shorten(one_line(_shown(field['default'])), 60)}")
    elif not needed:
        parts.append("Enter: leave out")
    return f" ({'; '.join(parts)})" if parts else ""


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _choices(field: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Give the values that may be chosen, each with what to show."""
    source = field.get("items") if field.get("type") == "array" else field
    if not isinstance(source, Mapping):
        return []
    values = source.get("enum")
    if isinstance(values, list):
        names = source.get("enumNames")
        titles = names if isinstance(names, list) and len(names) == len(values) else values
        return [(str(value), one_line(str(title))) for value, title in zip(values, titles, strict=True)]
    for word in ("oneOf", "anyOf"):
        parts = source.get(word)
        if isinstance(parts, list):
            found = [part for part in parts if isinstance(part, Mapping) and "const" in part]
            return [(str(part["const"]), one_line(str(part.get("title", part["const"])))) for part in found]
    return []


def _value(text: str, field: Mapping[str, Any], choices: list[tuple[str, str]]) -> Any:
    kind = field.get("type")
    if kind == "boolean":
        known = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
        if text.lower() not in known:
            raise ValueError("y or n")
        return known[text.lower()]
    if kind in ("integer", "number"):
        try:
            return int(text) if text.lstrip("+-").isdecimal() else float(text)
        except ValueError:
            raise ValueError("expected a number") from None
    if kind == "array":
        return [_chosen(part.strip(), choices) for part in text.split(",") if part.strip()]
    return _chosen(text, choices) if choices else text


def _chosen(text: str, choices: list[tuple[str, str]]) -> str:
    """Take the number of a choice, what is shown of it, or the choice itself."""
    for value, shown in choices:
        if text in (value, shown):
            return value
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= len(choices):
        return choices[int(text) - 1][0]
    return text
