"""``x-mcp-header``: which arguments of a tool are mirrored into ``Mcp-Param-*`` headers.

2026-07-28, basic/transports/streamable-http, Custom Headers from Tool Parameters. The constraints are
checked when a tool is registered, so that a client never has to drop the tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["ANNOTATION", "ParamHeader", "ParamHeaderError", "collect_param_headers"]

ANNOTATION = "x-mcp-header"

#: 1*tchar of RFC 9110, section 5.6.2.
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
_PRIMITIVES = frozenset({"string", "integer", "boolean"})
_SCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
_SCHEMA_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SCHEMAS = (
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)


class ParamHeader(NamedTuple):
    """Name one mirrored argument: the header ``Mcp-Param-{name}`` and the path of the argument."""

    name: str
    path: tuple[str, ...]


class ParamHeaderError(ValueError):
    """Refuse a schema whose ``x-mcp-header`` annotations break a constraint of the specification."""


def collect_param_headers(schema: Mapping[str, Any]) -> tuple[ParamHeader, ...]:
    """Collect the mirrored arguments of an input schema, in schema order.

    Raises:
        ParamHeaderError: A name is empty, no HTTP token or used twice (case ignored), the property is not
            exactly of type string, integer or boolean, or the annotation stands where no argument path
            leads (inside ``items``, ``anyOf``, ``$defs`` and the like).
    """
    found = tuple(_reachable(schema, ()))
    names: set[str] = set()
    for header in found:
        if header.name.lower() in names:
            raise ParamHeaderError(f'{ANNOTATION} "{header.name}" is used twice (case is ignored)')
        names.add(header.name.lower())
    if _count_annotations(schema) != len(found):
        raise ParamHeaderError(
            f"{ANNOTATION} is only allowed on properties of the tool's arguments (nested objects included), "
            "not inside items, combinations, conditions or definitions"
        )
    return found


def _reachable(schema: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[ParamHeader]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name, child in properties.items():
        if not isinstance(child, Mapping):
            continue
        here = (*path, name)
        if ANNOTATION in child:
            yield ParamHeader(_check(child, here), here)
        yield from _reachable(child, here)


def _check(schema: Mapping[str, Any], path: tuple[str, ...]) -> str:
    name, kind = schema[ANNOTATION], schema.get("type")
    place = ".".join(path)
    if not isinstance(name, str) or not _TOKEN.match(name):
        raise ParamHeaderError(f"{ANNOTATION} of {place!r} must be a non-empty HTTP token, not {name!r}")
    if not isinstance(kind, str) or kind not in _PRIMITIVES:
        raise ParamHeaderError(f"{ANNOTATION} of {place!r} needs the type string, integer or boolean, not {kind!r}")
    return name


def _count_annotations(root: Mapping[str, Any]) -> int:
    count = 0
    pending: list[Any] = [root]
    while pending:
        schema = pending.pop()
        if not isinstance(schema, Mapping):
            continue
        count += ANNOTATION in schema
        for key in _SCHEMA_MAPS:
            if isinstance(schema.get(key), Mapping):
                pending.extend(schema[key].values())
        for key in _SCHEMA_LISTS:
            if isinstance(schema.get(key), list):
                pending.extend(schema[key])
        pending.extend(schema.get(key) for key in _SCHEMAS)
    return count
