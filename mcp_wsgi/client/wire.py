"""Read members of foreign JSON: what is of the wrong type counts as absent, and nothing is repeated unprinted."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

__all__ = [
    "LOGGER",
    "get_flag",
    "get_integer",
    "get_list",
    "get_mapping",
    "get_number",
    "get_text",
    "json_type",
    "need_list",
    "need_mapping",
    "need_text",
    "plain",
    "read_base64",
    "read_each",
]

#: Warnings of the client side go here.
LOGGER = logging.getLogger("mcp_wsgi.client")

T = TypeVar("T")

#: How many malformed entries of one list are named one by one.
_NAMED = 20
_STANDARD = str.maketrans("-_", "+/", " \t\r\n\f=")


def json_type(value: object) -> str:
    """Name a value's JSON type."""
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), ((int, float), "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def plain(text: str, limit: int = 250) -> str:
    """Write a sentence with foreign parts so that it stays one short and printable line."""
    line = "".join(each if each.isprintable() else "?" for each in text[:limit])
    return line if len(text) <= limit else line[:-3] + "..."


def get_text(raw: Mapping[str, Any], name: str) -> str | None:
    """Give a member that is a string, else ``None``."""
    value = raw.get(name)
    return value if isinstance(value, str) else None


def get_mapping(raw: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Give a member that is an object, else ``None``."""
    value = raw.get(name)
    return value if isinstance(value, dict) else None


def get_list(raw: Mapping[str, Any], name: str) -> list[Any] | None:
    """Give a member that is an array, else ``None``."""
    value = raw.get(name)
    return value if isinstance(value, list) else None


def get_number(raw: Mapping[str, Any], name: str) -> float | None:
    """Give a member that is a number, an ``int`` where it came as one, else ``None``."""
    value = raw.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def get_integer(raw: Mapping[str, Any], name: str) -> int | None:
    """Give a member that is an integer, also one written as ``3.0``, else ``None``."""
    value = raw.get(name)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def get_flag(raw: Mapping[str, Any], name: str) -> bool:
    """Say whether a member is ``true``."""
    return raw.get(name) is True


def need_list(raw: Mapping[str, Any], name: str, what: str) -> list[Any]:
    """Give a member that has to be an array; ``null`` is an empty one, as servers written in Go send it.

    Raises:
        ValueError: It is absent, or something else.
    """
    value = raw.get(name, "")
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f'{what} has no list of "{name}"')
    return value


def need_mapping(raw: object, what: str) -> dict[str, Any]:
    """Give the object that something has to be.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(raw, dict):
        raise ValueError(f"{what} is {json_type(raw)}, not object")
    return raw


def need_text(raw: Mapping[str, Any], name: str, what: str) -> str:
    """Give a member that has to be a string and not empty.

    Raises:
        ValueError: It is not.
    """
    value = raw.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f'{what} has no "{name}"')
    return value


def read_base64(text: object) -> bytes | None:
    """Decode Base64, ``None`` where it is none.

    Broken lines, missing padding and the alphabet for URLs are read as well: servers send them, and their meaning is
    clear.
    """
    if not isinstance(text, str):
        return None
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        plain = text.translate(_STANDARD)
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def read_each(entries: object, read: Callable[[Any], T], what: str) -> list[T]:
    """Read the entries of a list; those that cannot be used are skipped with a warning that says why.

    Args:
        entries: The list as it came.
        read: Reads one entry, or raises ``ValueError``.
        what: What the list holds, for the warnings.

    Raises:
        ValueError: It is no list.
    """
    if not isinstance(entries, list):
        raise ValueError(f"The list of {what} entries is {json_type(entries)}, not array")
    found: list[T] = []
    faults = 0
    for index, entry in enumerate(entries):
        try:
            found.append(read(entry))
        except ValueError as error:  # noqa: PERF203 - each entry fails by itself
            faults += 1
            if faults <= _NAMED:
                LOGGER.warning("Skipped %s entry %d of the server's list: %s", what, index, error)
    if faults > _NAMED:
        LOGGER.warning("Skipped %d more %s entries of the server's list", faults - _NAMED, what)
    return found
