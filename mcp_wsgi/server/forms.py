"""The form schema of a Python type: flat, primitives only.

2026-07-28, client/elicitation, Requested Schema: "Schemas are limited to flat objects with primitive
properties only."
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..exceptions import ArgumentError, EncodeError, RegistrationError
from .adapters import MsgspecAdapter, PydanticAdapter, adapt

__all__ = ["check_flat", "convert_form", "form_schema"]

_PRIMITIVES = frozenset({"string", "number", "integer", "boolean"})


def check_flat(schema: Mapping[str, Any], what: str) -> None:
    """Check that a JSON Schema is a form.

    Raises:
        RegistrationError: It is no object type with properties, or a property is neither a primitive, nor a choice
            of strings, nor a list of such choices; the message starts with ``what``.
    """
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, Mapping):
        raise RegistrationError(f'{what} needs "type": "object" and "properties"')
    for name, field in properties.items():
        if not (isinstance(field, Mapping) and _is_field(field)):
            raise RegistrationError(
                f"{what}: {name!r} must be a string, number, boolean, a choice of strings, or a list of such choices"
            )


def _is_field(field: Mapping[str, Any]) -> bool:
    kind = field.get("type")
    if "enum" in field and (kind != "string" or not all(isinstance(choice, str) for choice in field["enum"])):
        return False
    items = field.get("items")
    if kind == "array" and isinstance(items, Mapping):
        return "anyOf" in items or ("enum" in items and _is_field(items))
    return isinstance(kind, str) and kind in _PRIMITIVES


@lru_cache(maxsize=256)
def _compile(kind: Any) -> tuple[Mapping[str, Any], MsgspecAdapter | PydanticAdapter]:
    what = f"The form {getattr(kind, '__name__', kind)}"
    adapter = adapt(kind, what=what, for_input=True)
    schema = adapter.schema
    if isinstance(schema.get("properties"), dict):
        fields = {name: _typed(field) for name, field in schema["properties"].items()}
        schema = {**schema, "properties": fields}
    check_flat(schema, what)
    return {name: schema[name] for name in ("type", "properties", "required") if schema.get(name) is not None}, adapter


def _typed(field: Any) -> Any:
    """Write the type of a choice, which msgspec leaves out and the form needs."""
    if isinstance(field, dict) and isinstance(field.get("items"), dict):
        return {**field, "items": _typed(field["items"])}
    if isinstance(field, dict) and "enum" in field:
        return {"type": "string", **field}
    return field


def form_schema(kind: type) -> Mapping[str, Any]:
    """Make the ``requestedSchema`` of a dataclass, Struct, TypedDict or pydantic model.

    Raises:
        RegistrationError: A field is neither a primitive, nor a choice of strings, nor a list of such choices.
    """
    return _compile(kind)[0]


def convert_form(kind: type, content: Mapping[str, Any]) -> Any:
    """Make a value of the type from accepted content that conforms to its form schema.

    Raises:
        ArgumentError: The type demands more than its schema can say.
    """
    schema, adapter = _compile(kind)
    integers = {name for name, field in schema["properties"].items() if field["type"] == "integer"}
    # To JSON Schema 1.0 is an integer; the content has been checked against the schema.
    values = {name: int(value) if name in integers else value for name, value in content.items()}
    if isinstance(adapter, PydanticAdapter):
        return adapter.load(values, "")
    try:
        return adapter.check(values)
    except EncodeError as error:
        raise ArgumentError(error.path, error.reason) from None
