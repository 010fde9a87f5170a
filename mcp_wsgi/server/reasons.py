"""Word what is wrong with a value so that a model can correct it: a path and a short reason."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["HALF_CHARACTER", "LONGEST", "admitted_types", "explain", "json_type", "shorten", "shown"]

#: A reason is never longer than this: it must not repeat the value it is about.
LONGEST = 200
#: What msgspec refuses to look at where text is not wanted.
HALF_CHARACTER = "text with half of a surrogate pair, which is no character"

_PLACE = re.compile(r"^(.*) - at (`key` in )?`\$(.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(.*)`$", re.DOTALL)
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*)`$", re.DOTALL)
_TOKEN = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_EVERY_TYPE = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_WORDS = {
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "str": "string",
    "bytes": "base64 string",
    "datetime": "date-time string",
    "date": "date string",
    "time": "time string",
    "duration": "duration string",
    "uuid": "UUID string",
    "decimal": "decimal string",
}


def shorten(text: str, limit: int = LONGEST) -> str:
    """Cut a text that is longer than the limit."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def shown(text: str, limit: int = 80) -> str:
    """Write foreign text so that it can stand in one line of a log or message: quoted, printable and short."""
    return ascii(shorten(text, limit))


def json_type(value: Any) -> str:
    """Name a value's JSON type."""
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (dict, "object"))
    if value is None:
        return "null"
    return next((name for kind, name in kinds if isinstance(value, kind)), "array")


def explain(message: str, schema: dict[str, Any]) -> tuple[str, str]:
    """Turn msgspec's message into a path and a reason in JSON's own words.

    Args:
        message: For example ``"Expected `int`, got `str` - at `$.items[2].price`"``.
        schema: The schema of the whole value; it knows the values an enumeration allows.

    Returns:
        For example ``("items[2].price", "expected integer, got string")``.
    """
    path, key = "", ""
    if place := _PLACE.match(message):
        message, key, path = place[1], place[2] or "", place[3].removeprefix(".")
    for pattern, kind in ((_MISSING, "missing required"), (_UNKNOWN, "unknown")):
        if found := pattern.match(message):
            path = f"{path}.{found[1]}" if path else found[1]
            return shorten(path), f"{kind} {'property' if place or kind == 'unknown' else 'argument'}"
    if message.startswith("Invalid ") and not key:
        reason = _allowed(schema, path) or re.sub(r"value .*", "value", message, flags=re.DOTALL)
    elif message.startswith("Expected"):
        reason = re.sub(r"`([^`]*)`", lambda match: _in_json_words(match[1]), message)
    else:
        reason = message
    reason = ("a key: " if key else "") + reason[:1].lower() + reason[1:]
    return shorten(path), shorten(reason)


def _in_json_words(kinds: str) -> str:
    return " or ".join(_WORDS.get(kind, kind) for kind in kinds.split(" | "))


def _allowed(schema: Any, path: str) -> str:
    found = [schema]
    for name, index in _TOKEN.findall(f".{path}" if path and not path.startswith("[") else path):
        found = [below for each in _alternatives(found, schema) for below in _below(each, name, index)]
    for each in _alternatives(found, schema):
        if isinstance(values := each.get("enum"), list):
            return f"expected one of {', '.join(map(repr, values))}"
    return ""


def _alternatives(schemas: list[Any], root: Any) -> list[dict[str, Any]]:
    """Follow references and unions to the schemas that say something themselves."""
    waiting, result, seen = list(schemas), [], set[str]()
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, dict):
            continue
        result.append(each)
        waiting.extend(each.get("anyOf", ()))
        reference = each.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            seen.add(reference)
            from urllib.parse import unquote

            name = unquote(reference.rpartition("/")[2]).replace("~1", "/").replace("~0", "~")
            waiting.append(root.get("$defs", {}).get(name))
    return result


def _below(schema: dict[str, Any], name: str, index: str) -> list[Any]:
    if name:
        return [schema.get("properties", {}).get(name)]
    prefix = schema.get("prefixItems", [])
    if index.isdigit() and int(index) < len(prefix):
        return [prefix[int(index)]]
    # msgspec writes [...] for a place in a mapping or a set.
    return [schema.get("items"), schema.get("additionalProperties")]


def admitted_types(schema: dict[str, Any], root: dict[str, Any]) -> frozenset[str]:
    """Name the JSON types that a schema may take: all of them where it does not say.

    Args:
        schema: A schema inside ``root``.
        root: The schema whose ``$defs`` references lead to.
    """
    kinds: set[str] = set()
    for each in _alternatives([schema], root):
        if "type" in each:
            named = each["type"]
            kinds.update(named if isinstance(named, list) else [named])
        elif "enum" in each:
            kinds.update(json_type(value) for value in each["enum"])
        elif "const" in each:
            kinds.add(json_type(each["const"]))
        elif not {"anyOf", "$ref"} & each.keys():
            return _EVERY_TYPE
    return frozenset(kinds)
