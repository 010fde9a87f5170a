"""Forms from Python types, and back (2026-07-28, client/elicitation, Requested Schema)."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from mcp_wsgi import ArgumentError, RegistrationError
from mcp_wsgi.server.forms import check_flat, convert_form, form_schema


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Order:
    name: Annotated[str, "Who orders"]
    count: int
    price: float = 1.5
    gift: bool = False
    size: Size = Size.SMALL
    color: Literal["red", "blue"] | None = None
    extras: list[Literal["nuts", "milk"]] | None = None


class StructForm(msgspec.Struct):
    name: str
    count: int = 1


class DictForm(TypedDict):
    name: str


class ModelForm(pydantic.BaseModel):
    name: str = pydantic.Field(description="Who orders", min_length=2)
    count: int = 1

    @pydantic.field_validator("name")
    @classmethod
    def check(cls, value: str) -> str:
        if value == "bad":
            raise ValueError("no such customer")
        return value


def test_a_dataclass_is_a_flat_form_with_its_descriptions() -> None:
    assert form_schema(Order) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Who orders"},
            "count": {"type": "integer"},
            "price": {"type": "number", "default": 1.5},
            "gift": {"type": "boolean", "default": False},
            "size": {"type": "string", "enum": ["s", "l"], "default": "s"},
            "color": {"type": "string", "enum": ["red", "blue"]},
            "extras": {"type": "array", "items": {"type": "string", "enum": ["nuts", "milk"]}},
        },
        "required": ["name", "count"],
    }


@pytest.mark.parametrize(
    ("kind", "content", "value"),
    [
        (Order, {"name": "Ada", "count": 2}, Order("Ada", 2)),
        (
            Order,
            {"name": "Ada", "count": 2.0, "size": "l", "color": "red", "extras": ["nuts"], "price": 2},
            Order("Ada", 2, 2.0, size=Size.LARGE, color="red", extras=["nuts"]),
        ),
        (StructForm, {"name": "Ada"}, StructForm("Ada", 1)),
        (DictForm, {"name": "Ada"}, {"name": "Ada"}),
        (ModelForm, {"name": "Ada", "count": 3.0}, ModelForm(name="Ada", count=3)),
    ],
)
def test_accepted_content_becomes_a_value_of_the_type(kind: Any, content: dict[str, Any], value: Any) -> None:
    assert form_schema(kind)["type"] == "object"
    assert convert_form(kind, content) == value


@dataclass
class Dated:
    day: dt.date


@pytest.mark.parametrize(
    ("kind", "content", "named"),
    [(Dated, {"day": "yesterday"}, "day"), (ModelForm, {"name": "bad"}, "no such customer")],
)
def test_what_only_the_type_knows_is_an_argument_error(kind: Any, content: dict[str, Any], named: str) -> None:
    with pytest.raises(ArgumentError, match=named):
        convert_form(kind, content)


@dataclass
class Nested:
    order: Order


@dataclass
class Numbers:
    numbers: list[int]


@dataclass
class Choice:
    level: Literal[1, 2]


@dataclass
class Anything:
    value: Any


@dataclass
class Strange:
    value: complex


@pytest.mark.parametrize(
    "kind", [Nested, Numbers, Choice, Anything, Strange, int, list[int], dict[str, str], int | str]
)
def test_what_is_no_flat_form_is_refused_by_its_name(kind: Any) -> None:
    with pytest.raises(RegistrationError, match="The form "):
        form_schema(kind)


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "format": "email", "minLength": 1},
        {"type": "integer", "minimum": 1},
        {"type": "number"},
        {"type": "boolean", "default": True},
        {"type": "string", "enum": ["a"], "enumNames": ["A"]},
        {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
        {"type": "array", "items": {"type": "string", "enum": ["a"]}},
        {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
    ],
)
def test_every_primitive_of_the_schema_is_a_field(field: dict[str, Any]) -> None:
    check_flat({"type": "object", "properties": {"x": field}}, "It")


@pytest.mark.parametrize(
    "field",
    [
        {},
        {"type": "object"},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"type": "strin"},
        {"type": "array"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "array", "items": True},
        {"enum": ["a"]},
        {"type": "string", "enum": [1]},
        {"$ref": "#/$defs/x"},
        True,
        "string",
    ],
)
def test_anything_else_is_not(field: Any) -> None:
    with pytest.raises(RegistrationError, match="It: 'x' must be"):
        check_flat({"type": "object", "properties": {"x": field}}, "It")


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "array", "properties": {}}, {"properties": {}}])
def test_a_form_is_an_object_with_properties(schema: dict[str, Any]) -> None:
    with pytest.raises(RegistrationError, match="It needs"):
        check_flat(schema, "It")
