"""The form of an elicitation at the client: defaults filled in, content checked.

2026-07-28, client/elicitation, Requested Schema; SEP-1034 (defaults) and SEP-1330 (choices). A form is flat and of few
keywords, so it is checked here: a server's patterns and references are never run on its client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from ..exceptions import ArgumentError
from ..server.reasons import shown
from .wire import get_integer, get_list, get_mapping, get_number, get_text, json_type

__all__ = ["check_form", "fill_defaults"]

#: How many choices a message names.
_MOST = 10


def fill_defaults(schema: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the defaults of fields that were left out.

    A default that does not conform to its own field is left out as well: it would only be refused.

    Args:
        schema: The form's ``requestedSchema``.
        content: What was filled in.

    Returns:
        The content with defaults, a new mapping in the order of the form.
    """
    filled: dict[str, Any] = {}
    for name, field in _fields(schema):
        if name in content:
            filled[name] = content[name]
        elif "default" in field and _fault(field, field["default"]) is None:
            default = field["default"]
            filled[name] = list(default) if isinstance(default, list) else default
    return {**filled, **{name: value for name, value in content.items() if name not in filled}}


def check_form(schema: Mapping[str, Any], content: Mapping[str, Any]) -> None:
    """Check content against a form.

    Args:
        schema: The form's ``requestedSchema``. What in it is no part of forms is left to the server, which checks too.
        content: The content that is to be sent.

    Raises:
        ArgumentError: A ``ValueError`` that names the field and what was wanted.
    """
    fields = dict(_fields(schema))
    for name in get_list(schema, "required") or ():
        if isinstance(name, str) and name not in content:
            raise ArgumentError(_place(name), "missing required property")
    for name, value in content.items():
        if name not in fields and schema.get("additionalProperties") is False:
            raise ArgumentError(_place(name), "is no field of the form")
        if fault := _fault(fields.get(name, {}), value):
            raise ArgumentError(_place(name), fault)


def _place(name: str) -> str:
    return name if name.isprintable() and len(name) <= 80 else shown(name)


def _fields(schema: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in (get_mapping(schema, "properties") or {}).items():
        if isinstance(field, dict):
            yield name, field


def _fault(field: Mapping[str, Any], value: Any) -> str | None:
    """Say what is wrong with the value of a field, ``None`` where nothing is."""
    kind = get_text(field, "type")
    if isinstance(value, bool):
        return None if kind in ("boolean", None) else _wrong_type(kind, value)
    if isinstance(value, str):
        return _text_fault(field, value) if kind in ("string", None) else _wrong_type(kind, value)
    if isinstance(value, (int, float)):
        return _number_fault(field, value) if kind in ("number", "integer", None) else _wrong_type(kind, value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return _list_fault(field, value) if kind in ("array", None) else _wrong_type(kind, value)
    return "expected a string, number, boolean or list of strings"


def _wrong_type(kind: str | None, value: Any) -> str:
    known = kind if kind in ("string", "number", "integer", "boolean", "array") else "another type"
    return f"expected {known}, got {json_type(value)}"


def _text_fault(field: Mapping[str, Any], value: str) -> str | None:
    choices = _choices(field)
    if choices is not None and value not in choices:
        return f"expected one of {_named(choices)}"
    return _size_fault(field, len(value), "Length", "a string of length")


def _number_fault(field: Mapping[str, Any], value: float) -> str | None:
    # A large int has no float; every float is checked.
    if type(value) is float and not isfinite(value):
        return "expected a finite number"
    if field.get("type") == "integer" and not (type(value) is int or value == value // 1):
        return "expected integer, got number"
    least, most = get_number(field, "minimum"), get_number(field, "maximum")
    if least is not None and value < least:
        return f"expected a number >= {_digits(least)}"
    if most is not None and value > most:
        return f"expected a number <= {_digits(most)}"
    return None


def _list_fault(field: Mapping[str, Any], value: list[str] | tuple[str, ...]) -> str | None:
    choices = _choices(get_mapping(field, "items") or {})
    if choices is not None and not all(item in choices for item in value):
        return f"expected some of {_named(choices)}"
    return _size_fault(field, len(value), "Items", "a list of length")


def _size_fault(field: Mapping[str, Any], size: int, what: str, words: str) -> str | None:
    least, most = get_integer(field, f"min{what}"), get_integer(field, f"max{what}")
    if least is not None and size < least:
        return f"expected {words} >= {_digits(least)}"
    if most is not None and size > most:
        return f"expected {words} <= {_digits(most)}"
    return None


def _digits(number: float) -> str:
    return str(number)[:40]


def _choices(field: Mapping[str, Any]) -> list[Any] | None:
    """Give the values that a field may have: ``enum``, or the ``const`` of titled alternatives."""
    choices = get_list(field, "enum")
    if choices is not None:
        return choices
    # SEP-1330 writes "oneOf" for one choice and "anyOf" for several, and in places the other one.
    titled = get_list(field, "oneOf") or get_list(field, "anyOf")
    if titled is None or not all(isinstance(each, dict) and "const" in each for each in titled):
        return None
    return [each["const"] for each in titled]


def _named(choices: list[Any]) -> str:
    names = [shown(choice, 40) for choice in choices if isinstance(choice, str)]
    return ", ".join(names[:_MOST]) + (", ..." if len(names) > _MOST else "")
