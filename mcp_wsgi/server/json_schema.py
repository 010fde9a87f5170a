"""Make JSON Schemas small, and wrap them.

Everything here is pure: a schema goes in, a schema comes out, nothing is fetched.
"""

from __future__ import annotations

import re
from typing import Any

from .schema_checks import REFERENCE_KEYWORDS, check_references, check_schema_bounds
from .subschemas import ANNOTATIONS, iter_schemas, map_subschemas, own_id

__all__ = [
    "check_references",
    "check_schema_bounds",
    "drop_null",
    "hoist_definitions",
    "is_object_schema",
    "simplify",
    "wrap_output",
]

_MAX_INLINED_NODES = 10_000
_DEFS = "#/$defs/"
_POSITIONAL = ("$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor")
#: Assertions that look at the value alone, whatever stands beside them.
_PLAIN = frozenset(
    {
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "uniqueItems",
    }
)


def simplify(schema: dict[str, Any], *, for_input: bool, name: str = "") -> dict[str, Any]:
    """Reduce a generated schema to the smallest one that says the same.

    Automatic titles go, local references are inlined unless they are recursive, and in an
    input schema an optional property is simply not required: a default of null goes together
    with the null that was allowed for its sake.

    Args:
        schema: A schema as msgspec or pydantic generate it. It is not changed.
        for_input: The schema describes arguments rather than a result.
        name: The type's own name, which is no title at the root.
    """
    try:
        return _Simplifier(schema, for_input, inline=True).run(name)
    except _TooLargeError:
        return _Simplifier(schema, for_input, inline=False).run(name)


class _TooLargeError(Exception):
    pass


class _Simplifier:
    def __init__(self, schema: dict[str, Any], for_input: bool, *, inline: bool) -> None:
        definitions = schema.get("$defs")
        self.definitions: dict[str, Any] = definitions if isinstance(definitions, dict) else {}
        self.root = {key: value for key, value in schema.items() if key != "$defs"}
        # A schema that is addressed by position must keep its shape.
        self.movable = not any(_is_positional(each) for each in iter_schemas(schema))
        self.for_input = for_input
        self.inline = inline and self.movable
        self.recursive = _recursive_names(self.definitions) if self.inline else set(self.definitions)
        self.used: dict[str, None] = {}
        self.budget = _MAX_INLINED_NODES

    def run(self, name: str) -> dict[str, Any]:
        root = self.root
        target = _definition_name(root.get("$ref"))
        if target in self.recursive and self.movable:
            # One level is written out, so that the root says its own type.
            root = _merge(self.definitions[str(target)], _without(root, "$ref"))
            name = name or str(target)
        result: dict[str, Any] = self.visit(root, name)
        definitions: dict[str, Any] = {}
        if not self.inline:
            self.used.update(dict.fromkeys(self.definitions) if not self.movable else {})
        while missing := [key for key in self.used if key not in definitions]:
            for key in missing:
                definitions[key] = self.visit(self.definitions[key], key)
        if definitions:
            result["$defs"] = {key: definitions[key] for key in self.definitions if key in definitions}
        return result

    def visit(self, schema: Any, name: str = "") -> Any:
        if not isinstance(schema, dict):
            return schema
        self.budget -= 1
        if self.inline and self.budget < 0:
            raise _TooLargeError
        target = _definition_name(schema.get("$ref"))
        if target in self.definitions:
            if target in self.recursive:
                self.used[str(target)] = None
            else:
                outer = self.visit(_without(schema, "$ref"), name)
                return _merge(self.visit(self.definitions[str(target)], str(target)), outer)
        result = map_subschemas(schema, self.visit)
        result.pop("discriminator", None)  # OpenAPI's, and its mapping points at definitions
        if "title" in result and _is_automatic(result["title"], name):
            del result["title"]
        if isinstance(properties := schema.get("properties"), dict):
            required = schema.get("required", ())
            result["properties"] = {
                key: self.visit_property(key, value, key in required) for key, value in properties.items()
            }
        if result.get("required") == []:
            del result["required"]
        return _with_enum_type(result)

    def visit_property(self, key: str, schema: Any, required: bool) -> Any:
        result = self.visit(schema, key)
        optional = self.for_input and self.movable and not required
        if optional and isinstance(result, dict) and result.get("default", 0) is None:
            return drop_null(result)
        return result


def drop_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Take the null out of an optional property's schema, unless null is all it allows."""
    result = {key: value for key, value in schema.items() if key != "default" or value is not None}
    for keyword in ("anyOf", "oneOf"):
        branches = result.get(keyword)
        if isinstance(branches, list):
            kept = [branch for branch in branches if not _is_null(branch)]
            rest = _without(result, keyword)
            if len(kept) == 1 and isinstance(kept[0], dict) and _may_merge(kept[0], rest):
                return {**kept[0], **rest}
            if kept:
                result[keyword] = kept
    kinds = result.get("type")
    if isinstance(kinds, list) and (others := [kind for kind in kinds if kind != "null"]):
        result["type"] = others[0] if len(others) == 1 else others
    values = result.get("enum")
    if isinstance(values, list) and (left := [value for value in values if value is not None]):
        result["enum"] = left
    return result


def hoist_definitions(properties: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Move the ``$defs`` of each property's schema to one place, under names that do not clash.

    Returns:
        The properties without their definitions, and the definitions.
    """
    result: dict[str, Any] = {}
    together: dict[str, Any] = {}
    for name, schema in properties.items():
        own = schema.get("$defs", {})
        names: dict[str, str] = {}
        for key in own:
            fresh, count = key, 1
            while fresh in together and together[fresh] != own[key]:
                count += 1
                fresh = f"{key}_{count}"
            names[key] = fresh
        for key in own:
            together[names[key]] = _rename(own[key], names)
        result[name] = _rename(_without(schema, "$defs"), names)
    return result, together


def _rename(schema: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    result = map_subschemas(schema, lambda inner: _rename(inner, names))
    target = _definition_name(result.get("$ref"))
    if target in names and names[target] != target:
        result["$ref"] = _DEFS + names[target]
    return result


def is_object_schema(schema: Any) -> bool:
    """Say whether a schema's root type is exactly ``object``."""
    return isinstance(schema, dict) and schema.get("type") == "object"


def wrap_output(schema: dict[str, Any]) -> dict[str, Any]:
    """Describe ``{"result": value}`` where ``schema`` describes the value.

    Revisions up to 2025-11-25 want an object there. Definitions move to the new root and
    references follow. A schema with an id of its own is a resource of its own and moves as it is.
    """
    root: dict[str, Any] = {"$schema": schema["$schema"]} if "$schema" in schema else {}
    inner = _without(schema, "$schema")
    hoisted: dict[str, Any] = {}
    if not own_id(schema):
        hoisted = {key: inner.pop(key) for key in ("$defs", "definitions") if key in inner}
        inner = _rebase(inner)
        hoisted = _rebase(hoisted)
    return root | {"type": "object", "properties": {"result": inner}, "required": ["result"]} | hoisted


def _rebase(schema: dict[str, Any]) -> dict[str, Any]:
    """Point the references of a schema that moved below ``/properties/result`` at their targets."""
    if own_id(schema):
        return schema
    result = map_subschemas(schema, _rebase)
    for keyword in REFERENCE_KEYWORDS:
        reference = result.get(keyword)
        if not isinstance(reference, str):
            continue
        if reference == "#" or (reference.startswith("#/") and not reference.startswith((_DEFS, "#/definitions/"))):
            # $recursiveRef can only name the root, which is another schema now.
            result["$ref" if keyword == "$recursiveRef" else keyword] = "#/properties/result" + reference[1:]
            if keyword == "$recursiveRef":
                del result[keyword]
    return result


def _without(schema: dict[str, Any], *keywords: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in keywords}


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and (
        schema.get("type") == "null" or schema.get("enum") == [None] or schema.get("const", 0) is None
    )


def _merge(inner: Any, outer: dict[str, Any]) -> Any:
    """Put what stood beside a reference and what it named into one schema."""
    if not isinstance(inner, dict):
        return {"allOf": [inner], **outer} if outer else inner
    if _may_merge(inner, outer):
        return {**inner, **outer}
    return {"allOf": [inner], **outer}


def _with_enum_type(schema: dict[str, Any]) -> dict[str, Any]:
    # Some hosts take an enumeration only together with its type.
    values = schema.get("enum")
    if isinstance(values, list) and "type" not in schema:
        for kind, name in ((str, "string"), (int, "integer")):
            if all(type(value) is kind for value in values):
                return {"type": name, **schema}
    return schema


def _may_merge(inner: dict[str, Any], outer: dict[str, Any]) -> bool:
    """Say whether two schemas that both count can be one: no keyword may mean something else there."""
    return all(
        key in ANNOTATIONS or key == "$defs" or key.startswith("x-") or (key in _PLAIN and key not in inner)
        for key in outer
    )


def _definition_name(reference: Any) -> str | None:
    if not isinstance(reference, str) or not reference.startswith(_DEFS):
        return None
    from urllib.parse import unquote

    token = unquote(reference[len(_DEFS) :])
    return None if "/" in token else token.replace("~1", "/").replace("~0", "~")


def _is_positional(schema: dict[str, Any]) -> bool:
    if any(key in schema for key in _POSITIONAL):
        return True
    reference = schema.get("$ref")
    return reference is not None and _definition_name(reference) is None


def _recursive_names(definitions: dict[str, Any]) -> set[str]:
    """Name the definitions that lead back to themselves."""
    reached = {
        name: {
            target
            for each in iter_schemas(body)
            if (target := _definition_name(each.get("$ref"))) in definitions and target is not None
        }
        for name, body in definitions.items()
    }
    recursive: set[str] = set()
    for name in definitions:
        waiting, seen = list(reached[name]), set(reached[name])
        while waiting:
            fresh = reached[waiting.pop()] - seen
            seen |= fresh
            waiting.extend(fresh)
        if name in seen:
            recursive.add(name)
    return recursive


def _is_automatic(title: Any, name: str) -> bool:
    """Say whether a title only repeats the name of the class or property it stands on."""
    if not isinstance(title, str):
        return False
    last = re.sub(r"-(?:Input|Output)(?:__\d+)?$", "", name)
    plain = [re.sub(r"[\W_]+", "", text).casefold() for text in (title, last, last.rpartition("__")[2])]
    return plain[0] in plain[1:]
