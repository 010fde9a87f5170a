"""Refuse JSON Schemas that are not safe to use: too deep, too large, or leading elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..exceptions import RegistrationError
from .subschemas import children, own_id

__all__ = ["REFERENCE_KEYWORDS", "check_references", "check_schema_bounds"]

#: The keywords that name another schema by its address.
REFERENCE_KEYWORDS = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor", "$id", "id")
_MAX_DEPTH = 64
_MAX_NODES = 20_000


def check_schema_bounds(schema: Any) -> None:
    """Refuse a schema that is too deep or too large to use (SEP-2106, composition keywords).

    Raises:
        RegistrationError: It is nested deeper than 64 levels, or has more than 20,000 values.
    """
    level, nodes, depth = [schema], 1, 0
    while level:
        depth += 1
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        nodes += len(below)
        if nodes > _MAX_NODES:
            raise RegistrationError(f"The schema has more than {_MAX_NODES:,} values; make it smaller")
        if depth > _MAX_DEPTH:
            raise RegistrationError(f"The schema is nested deeper than {_MAX_DEPTH} levels")
        level = [value for value in below if isinstance(value, (dict, list))]


def check_references(schema: Any) -> None:
    """Refuse a reference that leads out of the schema, or nowhere in it.

    SEP-2106: a ``$ref`` to anything but the same document must not be dereferenced, and a
    schema with one should be rejected. Nothing is ever fetched.

    Raises:
        RegistrationError: A ``$ref`` or ``$dynamicRef`` is not local; the message names it.
    """
    every = list(_with_bases(schema))
    identifiers = {base for _, base in every}
    embedded = len(identifiers) > 1
    anchors = {each[key] for each, _ in every for key in _ANCHORS if isinstance(each.get(key), str)}
    for each, base in every:
        for keyword in REFERENCE_KEYWORDS:
            reference = each.get(keyword)
            if not isinstance(reference, str):
                continue
            address, fragment = _join(base, reference)
            if not reference.startswith("#") and address not in identifiers:
                raise RegistrationError(
                    f"{keyword} {reference[:200]!r} leads out of the schema; "
                    "references are never fetched: copy what it names into $defs"
                )
            if not embedded and not _resolves(schema, fragment, anchors):
                raise RegistrationError(f"{keyword} {reference[:200]!r} leads nowhere in the schema")


def _with_bases(schema: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each schema with the base address that its references start from."""
    waiting = [(schema, "")] if isinstance(schema, dict) else []
    while waiting:
        current, base = waiting.pop()
        if own := own_id(current):
            base = _join(base, own)[0]
        yield current, base
        waiting.extend((inside, base) for inside in children(current))


def _join(base: str, reference: str) -> tuple[str, str]:
    """Resolve a reference into an address and a fragment."""
    from urllib.parse import urldefrag, urljoin

    try:
        address, fragment = urldefrag(urljoin(base, reference))
    except ValueError:
        return reference, ""
    return address, fragment


def _resolves(schema: Any, fragment: str, anchors: set[str]) -> bool:
    if not fragment.startswith("/"):
        return not fragment or fragment in anchors or f"#{fragment}" in anchors
    from urllib.parse import unquote

    current = schema
    for raw in unquote(fragment).split("/")[1:]:
        token = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(current, dict) and token in current:
            current = current[token]
        elif isinstance(current, list) and re.fullmatch("0|[1-9][0-9]{0,6}", token) and int(token) < len(current):
            current = current[int(token)]
        else:
            return False
    return True
