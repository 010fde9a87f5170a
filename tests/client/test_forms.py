"""Forms at the client: SEP-1034 fills in defaults, SEP-1330 has five kinds of choices, and content is checked."""

from __future__ import annotations

import copy

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi import ArgumentError
from mcp_wsgi.client.forms import check_form, fill_defaults
from mcp_wsgi.protocol.codec import encode
from tests.client.examples import examples, load
from tests.client.mutations import mutated

COLOURS = ["#F00", "#0F0", "#00F"]
TITLED = [{"const": colour, "title": colour.lower()} for colour in COLOURS]
FIELDS = {
    "name": {"type": "string", "minLength": 2, "maxLength": 5, "default": "Ada"},
    "age": {"type": "integer", "minimum": 0, "maximum": 150, "default": 30},
    "score": {"type": "number", "minimum": 0.5, "default": 9.5},
    "agree": {"type": "boolean", "default": False},
    "untitled": {"type": "string", "enum": COLOURS, "default": "#F00"},
    "titled": {"type": "string", "oneOf": TITLED, "default": "#0F0"},
    "old": {"type": "string", "enum": COLOURS, "enumNames": ["r", "g", "b"], "default": "#00F"},
    "several": {"type": "array", "items": {"type": "string", "enum": COLOURS}, "maxItems": 2, "default": ["#F00"]},
    "several_titled": {"type": "array", "items": {"anyOf": TITLED}, "minItems": 1, "default": ["#0F0", "#00F"]},
    "proposed": {"type": "array", "items": {"oneOf": TITLED}},
    "plain": {"type": "string"},
}
FORM = {"type": "object", "properties": FIELDS, "required": ["name", "age"]}
DEFAULTS = {name: field["default"] for name, field in FIELDS.items() if "default" in field}


def form(**field):
    return {"type": "object", "properties": {"f": field}}


def test_every_kind_of_field_has_its_default_filled_in():
    assert fill_defaults(FORM, {}) == DEFAULTS
    check_form(FORM, DEFAULTS)


def test_what_was_filled_in_is_kept():
    content = {"extra": 1, "age": 5, "plain": "", "agree": True}
    filled = fill_defaults(FORM, content)
    assert filled == {**DEFAULTS, **content}
    assert list(filled)[:2] == ["name", "age"]
    assert content == {"extra": 1, "age": 5, "plain": "", "agree": True}


def test_a_default_that_is_a_list_is_a_copy():
    fill_defaults(FORM, {})["several"].append("spoilt")
    assert FIELDS["several"]["default"] == ["#F00"]


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "default": None},
        {"type": "string", "default": 1},
        {"type": "string", "enum": ["a"], "default": "b"},
        {"type": "integer", "default": 1.5},
        {"type": "array", "items": {"enum": ["a"]}, "default": ["b"]},
        {"type": "array", "default": [1]},
        {"type": "object", "default": {}},
    ],
)
def test_a_default_that_does_not_fit_its_own_field_is_not_filled_in(field):
    assert fill_defaults(form(**field), {}) == {}


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ({"type": "string"}, 1, "expected string, got number"),
        ({"type": "string"}, None, "expected a string, number, boolean or list of strings"),
        ({"type": "string"}, True, "expected string, got boolean"),
        ({"type": "string", "minLength": 2}, "a", "expected a string of length >= 2"),
        ({"type": "string", "maxLength": 2}, "abc", "expected a string of length <= 2"),
        ({"type": "string", "enum": ["a", "b"]}, "c", "expected one of 'a', 'b'"),
        ({"type": "string", "oneOf": TITLED}, "red", "expected one of '#F00', '#0F0', '#00F'"),
        ({"type": "number"}, "1", "expected number, got string"),
        ({"type": "number"}, float("nan"), "expected a finite number"),
        ({"type": "number", "minimum": 1}, 0.5, "expected a number >= 1"),
        ({"type": "number", "maximum": 1.5}, 2, "expected a number <= 1.5"),
        ({"type": "number", "maximum": 10**400}, 10**401, "expected a number <= 1" + "0" * 39),
        ({"type": "integer"}, 1.5, "expected integer, got number"),
        ({"type": "integer"}, False, "expected integer, got boolean"),
        ({"type": "boolean"}, "yes", "expected boolean, got string"),
        ({"type": "boolean"}, 1, "expected boolean, got number"),
        ({"type": "array"}, "a", "expected array, got string"),
        ({"type": "array", "items": {"enum": ["a"]}}, ["a", "b"], "expected some of 'a'"),
        ({"type": "array", "minItems": 1}, [], "expected a list of length >= 1"),
        ({"type": "array", "maxItems": 1}, ["a", "b"], "expected a list of length <= 1"),
        ({"type": "array"}, [1], "expected a string, number, boolean or list of strings"),
        ({"type": "string"}, ["a"], "expected string, got array"),
        ({"type": "object"}, "a", "expected another type, got string"),
        ({}, {}, "expected a string, number, boolean or list of strings"),
    ],
)
def test_what_does_not_conform_is_named_with_what_was_wanted(field, value, reason):
    with pytest.raises(ArgumentError) as caught:
        check_form(form(**field), {"f": value})
    assert (caught.value.path, caught.value.reason) == ("f", reason)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "integer"}, 2.0),
        ({"type": "integer"}, 10**400),
        ({"type": "string", "pattern": "(a+)+$", "format": "email"}, "a" * 200 + "!"),
        ({"type": "string", "minLength": "2", "maxLength": -0.5, "enum": "x"}, "a"),
        ({"type": ["string", "null"]}, "a"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "a"),
        ({"type": "array", "items": []}, ("a", "b")),
        ({"enum": ["a"]}, "a"),
        ({}, True),
        ({}, 1.5),
        ({}, ["a"]),
    ],
)
def test_what_conforms_or_is_not_for_a_client_to_check_passes(field, value):
    check_form(form(**field), {"f": value})


def test_required_fields_and_those_that_are_none():
    with pytest.raises(ArgumentError, match=r"^age: missing required property$"):
        check_form(FORM, {"name": "Ada"})
    check_form(form(type="string"), {"g": "x"})
    with pytest.raises(ArgumentError, match=r"^g: is no field of the form$"):
        check_form({**form(type="string"), "additionalProperties": False}, {"g": "x"})
    check_form({"required": [1, {}], "properties": []}, {})


def test_names_and_choices_of_the_server_are_shown_short_and_printable():
    with pytest.raises(ArgumentError) as caught:
        check_form({"required": ["a\n" + "b" * 100]}, {})
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 120
    with pytest.raises(ArgumentError) as caught:
        check_form(form(type="string", enum=["x" * 1000, *map(str, range(1000)), 1]), {"f": "no"})
    assert caught.value.reason.endswith("'8', ...")
    assert len(caught.value.reason) < 200


@examples("*Schema")
def test_the_default_of_every_field_of_the_specification_is_filled_in(path):
    field = load(path)
    filled = fill_defaults(form(**field), {})
    assert filled == ({"f": field["default"]} if "default" in field else {})
    jsonschema.validate(filled, form(**field))


@given(mutated(st.just(FORM)), mutated(st.just(DEFAULTS)))
def test_no_form_whatsoever_raises_anything_but_an_argument_error(schema, content):
    if not (isinstance(schema, dict) and isinstance(content, dict)):
        return
    before = copy.deepcopy(content)
    filled = fill_defaults(schema, content)
    assert content == before
    try:
        check_form(schema, filled)
    except ArgumentError as error:
        said = str(error)
    else:
        said = ""
        assert encode(filled)
    assert said.isprintable()
