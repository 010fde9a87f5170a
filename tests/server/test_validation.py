from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.exceptions import ArgumentError, RegistrationError
from mcp_wsgi.server.validation import compile_validator

from .test_json_schema import JSON


def check(schema, value):
    return compile_validator(schema, what="schema")(value)


def refusal(schema, value):
    with pytest.raises(ArgumentError) as caught:
        check(schema, value)
    return caught.value.path, caught.value.reason


def test_what_conforms_passes():
    assert check({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1}) is None
    assert check(True, {"a": 1}) is None


@pytest.mark.parametrize(
    ("schema", "value", "path", "reason"),
    [
        (
            {"properties": {"a": {"items": {"type": "integer"}}}},
            {"a": [1, "x"]},
            "a[1]",
            "expected integer, got string",
        ),
        ({"type": ["integer", "null"]}, [], "", "expected integer or null, got array"),
        ({"required": ["a", "b"]}, {"a": 1}, "b", "missing required argument"),
        ({"properties": {"a": {"required": ["b"]}}}, {"a": {}}, "a.b", "missing required property"),
        ({"enum": ["x", 1]}, "y", "", "expected one of 'x', 1"),
        ({"minimum": 3}, 1, "", "expected a number >= 3"),
        ({"pattern": "^a$"}, "b", "", "expected a string matching '^a$'"),
        ({"additionalProperties": False}, {"a": 1}, "", "has properties that are not allowed"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "", "does not conform to 'dependentRequired'"),
        (False, 1, "", "no value is allowed here"),
    ],
)
def test_the_reason_says_what_was_wanted(schema, value, path, reason):
    assert refusal(schema, value) == (path, reason)


def test_the_reason_never_repeats_the_value():
    for schema in ({"type": "integer"}, {"maxLength": 3}, {"enum": ["x" * 5000]}, {"pattern": "y" * 5000}):
        _, reason = refusal({"properties": {"a": schema}}, {"a": "secret" * 1000})
        assert "secret" not in reason
        assert len(reason) <= 200


def test_formats_are_annotations():
    check({"format": "date-time"}, "tomorrow")


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("end", ["", "#"])
@pytest.mark.parametrize("dialect", ["draft-07", "draft-06", "draft-04", "draft/2019-09", "draft/2020-12"])
def test_each_declared_dialect_is_served(dialect, scheme, end):
    declared = {"$schema": f"{scheme}://json-schema.org/{dialect}/schema{end}"}
    check({**declared, "type": "integer"}, 1)
    assert refusal({**declared, "type": "integer"}, "1") == ("", "expected integer, got string")
    if dialect != "draft/2020-12":
        # Positional items are an array of schemas only before 2020-12.
        tuples = {**declared, "items": [{"type": "string"}]}
        check(tuples, ["a"])
        assert refusal(tuples, [1])[0] == "[0]"


def test_the_older_spelling_is_no_schema_by_default():
    with pytest.raises(RegistrationError, match=r"mine: not a valid schema at items"):
        compile_validator({"items": [{"type": "string"}]}, what="mine")


@pytest.mark.parametrize("dialect", ["https://example.com/d", "http://json-schema.org/draft-03/schema#", 7, None])
def test_an_unknown_dialect_is_refused_with_the_supported_ones(dialect):
    with pytest.raises(RegistrationError, match="2020-12, 2019-09, draft-07, draft-06, draft-04"):
        compile_validator({"$schema": dialect}, what="schema")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "int"}, "at type"),
        ({"properties": []}, "at properties"),
        ([], "is an object, not list"),
        ({"pattern": "("}, "pattern"),
        ({"patternProperties": {"(": {}}}, "pattern"),
        ({"$ref": "http://169.254.169.254/"}, "never fetched"),
        ({"anyOf": [{}] * 100_000}, "20,000"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_at_once(schema, message):
    with pytest.raises(RegistrationError, match="mine: .*" + message):
        compile_validator(schema, what="mine")


def test_endless_references_are_an_error_of_the_call():
    assert "refers to itself" in refusal({"$ref": "#"}, 1)[1]


def test_a_reference_into_an_embedded_resource_that_leads_nowhere():
    schema = {"$id": "https://example.com/a", "items": {"$ref": "b#/x"}, "$defs": {"B": {"$id": "b"}}}
    assert refusal(schema, [1]) == ("", "the schema has a reference that cannot be resolved")


def test_a_number_too_large_for_the_check_is_refused():
    assert refusal({"multipleOf": 0.5}, 10**400) == ("", "a number is too large")


def test_an_embedded_resource_is_found():
    schema = {"$id": "https://example.com/a", "items": {"$ref": "b"}, "$defs": {"B": {"$id": "b", "type": "null"}}}
    check(schema, [None])
    assert refusal(schema, [1]) == ("[0]", "expected null, got integer")


SCHEMAS = st.dictionaries(
    st.sampled_from(["type", "properties", "items", "$ref", "anyOf", "required", "enum", "$id", "pattern", "$schema"]),
    JSON | st.sampled_from(["object", "#", "#/items", {"a": {"$ref": "#"}}, [{"type": "string"}], ["a"]]),
    max_size=4,
)


@given(SCHEMAS | JSON, JSON)
def test_any_schema_is_refused_or_decides(schema, value):
    try:
        validate = compile_validator(schema, what="schema")
    except RegistrationError:
        return
    with contextlib.suppress(ArgumentError):
        validate(value)
