"""The form schema of a Python type: flat, primitives only.

2026-07-28, client/elicitation, Requested Schema: "Schemas are limited to flat objects with primitive
properties only."
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..exceptions import RegistrationError

__all__ = ["convert_form", "form_schema"]

_PRIMITIVES = frozenset({"string", "number", "integer", "boolean"})


def form_schema(kind: type) -> Mapping[str, Any]:
    """Make the ``requestedSchema`` of a dataclass, Struct, TypedDict or pydantic model.

    Raises:
        RegistrationError: A field is neither a primitive, nor a choice of strings, nor a list of such choices.
    """
    from .json_schema import simplify

    schema = simplify(_schema_of(kind), for_input=True)
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, dict):
        raise RegistrationError(f"{kind.__name__} is not an object type, so it cannot be a form")
    form: dict[str, Any] = {
        "type": "object",
        "properties": {name: _field(kind, name, field) for name, field in properties.items()},
    }
    if schema.get("required"):
        form["required"] = schema["required"]
    return form


def _schema_of(kind: type) -> dict[str, Any]:
    if hasattr(kind, "__pydantic_validator__"):
        from pydantic import TypeAdapter

        made: dict[str, Any] = TypeAdapter(kind).json_schema()
        return made
    import msgspec

    try:
        return msgspec.json.schema(kind)
    except TypeError as error:
        raise RegistrationError(f"{kind!r} cannot be a form: {error}") from None


def _field(kind: type, name: str, field: dict[str, Any]) -> dict[str, Any]:
    if "enum" in field:
        field = {"type": "string", **field}
        if not all(isinstance(choice, str) for choice in field["enum"]):
            raise RegistrationError(f"{kind.__name__}.{name}: the choices of a form are strings")
        return field
    if isinstance(field.get("type"), str) and field["type"] in _PRIMITIVES:
        return field
    items = field.get("items")
    if field.get("type") == "array" and isinstance(items, dict) and "enum" in items:
        return {**field, "items": {"type": "string", **items}}
    raise RegistrationError(
        f"{kind.__name__}.{name}: a form field is a string, number, boolean, a choice of strings, or a list "
        "of such choices"
    )


def convert_form(kind: type, content: Mapping[str, Any]) -> Any:
    """Make a value of the type from accepted content that conforms to its form schema."""
    if hasattr(kind, "__pydantic_validator__"):
        from pydantic import TypeAdapter

        return TypeAdapter(kind).validate_python(dict(content))
    import msgspec

    return msgspec.convert(dict(content), kind)
