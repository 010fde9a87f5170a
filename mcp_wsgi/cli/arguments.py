"""Read the arguments of a tool from the command line: ``name=value``, ``name:=JSON``, ``{...}`` or ``-``."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..server.reasons import shorten
from .exits import CommandFailed, Exit
from .text import one_line

__all__ = ["needs_schema", "pairs", "read_arguments", "types_of"]

_PAIR = re.compile(r"(?P<name>[^=]+?)(?P<sign>:?=)(?P<value>.*)", re.DOTALL)
_MOST_REFERENCES = 10


def _wrong(message: str) -> CommandFailed:
    return CommandFailed(message, Exit.USAGE)


def _is_object(word: str) -> bool:
    return word.lstrip()[:1] == "{"


def needs_schema(words: Iterable[str]) -> bool:
    """Say whether how the words are read depends on the tool's schema."""
    return any(word != "-" and not _is_object(word) for word in words)


def read_arguments(words: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Read the words into arguments.

    Args:
        words: ``name=value``, whose type is the schema's; ``name:=JSON``; a JSON object; ``-`` for one on standard
            input.
        schema: The input schema of the tool.

    Raises:
        CommandFailed: A word cannot be read, or an argument occurs twice.
    """
    arguments: dict[str, Any] = {}
    for word in words:
        if word == "-":
            found = _object(sys.stdin.read())
        elif _is_object(word):
            found = _object(word)
        else:
            found = _pair(word, schema)
        twice = sorted(arguments.keys() & found.keys())
        if twice:
            raise _wrong(f"The argument {twice[0]!r} is given twice.")
        arguments |= found
    return arguments


def pairs(words: Sequence[str], what: str = "An argument") -> dict[str, str]:
    """Read ``name=value`` words whose values are all text.

    Raises:
        CommandFailed: A word is none, or a name occurs twice.
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise _wrong(f"{what} is written name=value, not {shorten(one_line(word), 60)!r}.")
        if name in found:
            raise _wrong(f"{name!r} is given twice.")
        found[name] = value
    return found


def _object(text: str) -> dict[str, Any]:
    found = _json(text, "The arguments")
    if not isinstance(found, dict):
        raise _wrong('The arguments are no JSON object, such as {"name": "value"}.')
    return found


def _json(text: str, what: str) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"{what} cannot be read as JSON: {one_line(str(error))}.") from None


def _pair(word: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    match = _PAIR.fullmatch(word)
    if match is None:
        raise _wrong(f"An argument is written name=value, name:=JSON or {{...}}, not {shorten(one_line(word), 60)!r}.")
    name, value = match["name"], match["value"]
    if match["sign"] == ":=":
        return {name: _json(value, f"The argument {name!r}")}
    properties = schema.get("properties")
    wanted = properties.get(name) if isinstance(properties, Mapping) else None
    return {name: _typed(name, value, types_of(wanted, schema))}


def types_of(wanted: Any, schema: Mapping[str, Any]) -> set[str]:
    """Collect the types that a value may have, as far as its part of a schema says; references are followed."""
    return _types(wanted, schema, _MOST_REFERENCES)


def _types(wanted: Any, schema: Mapping[str, Any], left: int) -> set[str]:
    if not isinstance(wanted, Mapping) or left == 0:
        return set()
    named = wanted.get("type")
    if isinstance(named, str):
        return {named}
    if isinstance(named, list):
        return {each for each in named if isinstance(each, str)}
    reference = wanted.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        return _types(_follow(schema, reference), schema, left - 1)
    choices = wanted.get("enum", [wanted["const"]] if "const" in wanted else None)
    if isinstance(choices, list):
        return {_type_of(each) for each in choices}
    found: set[str] = set()
    for word in ("anyOf", "oneOf", "allOf"):
        parts = wanted.get(word)
        for part in parts if isinstance(parts, list) else ():
            found |= _types(part, schema, left - 1)
    return found


def _follow(schema: Any, reference: str) -> Any:
    for part in reference[2:].split("/"):
        schema = schema.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(schema, Mapping) else None
    return schema


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}
    return names[type(value)]


def _typed(name: str, text: str, types: set[str]) -> Any:
    """Give the text as it is where text is allowed, or nothing else is known; else what it means as JSON."""
    if not types or "string" in types:
        return text
    wanted = " or ".join(sorted(types))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    kind = _type_of(value)
    if kind == "number" and "integer" in types and value.is_integer():
        return int(value)
    if kind in types or (kind == "integer" and "number" in types):
        return value
    raise _wrong(f"The argument {name!r} is of type {wanted}; {shorten(one_line(text), 60)!r} is none.")
