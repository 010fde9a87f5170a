"""Where in a JSON Schema other schemas are: one table for everything that walks one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["ANNOTATIONS", "SCHEMA_MAPS", "children", "iter_schemas", "map_subschemas", "own_id"]

#: Keywords whose value maps names to schemas: the names are not keywords.
SCHEMA_MAPS = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"})
_SCHEMA_KEYWORDS = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "allOf",
        "anyOf",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "oneOf",
        "prefixItems",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_DATA_KEYWORDS = frozenset({"const", "default", "enum", "example", "examples"})

#: Keywords that describe and do not constrain, so that they may move beside others.
ANNOTATIONS = frozenset(
    {
        "$comment",
        "default",
        "deprecated",
        "description",
        "examples",
        "readOnly",
        "title",
        "writeOnly",
    }
)


def map_subschemas(schema: dict[str, Any], change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """Copy a schema with ``change`` applied to each schema directly inside it."""

    def apply(value: Any) -> Any:
        return change(value) if isinstance(value, dict) else value

    result: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in SCHEMA_MAPS and isinstance(value, dict):
            result[keyword] = {name: apply(item) for name, item in value.items()}
        elif keyword in _SCHEMA_KEYWORDS:
            result[keyword] = [apply(item) for item in value] if isinstance(value, list) else apply(value)
        else:
            result[keyword] = value
    return result


def children(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what lies directly below a schema and could be taken for a schema.

    Unknown keywords are entered too: a JSON pointer may lead into them.
    """
    for keyword, value in schema.items():
        if keyword in SCHEMA_MAPS and isinstance(value, dict):
            waiting = list(value.values())
        else:
            waiting = [] if keyword in _DATA_KEYWORDS else [value]
        while waiting:
            current = waiting.pop(0)
            if isinstance(current, dict):
                yield current
            elif isinstance(current, list):
                waiting[:0] = current


def iter_schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and everything below it that could be taken for one."""
    waiting = [schema] if isinstance(schema, dict) else []
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(children(current))


def own_id(schema: dict[str, Any]) -> str:
    """Give the address that a schema says it has, or nothing."""
    # draft-04 spelled it without the dollar sign.
    for key in ("$id", "id"):
        if isinstance(value := schema.get(key), str) and not value.startswith("#"):
            return value
    return ""
