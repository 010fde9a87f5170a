from __future__ import annotations

import contextlib
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.exceptions import ArgumentError, RegistrationError
from mcp_wsgi.server.validation import compile_validator
from tests.cost import cpu_seconds

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


COSTLY = {
    "items that cannot be sorted": ({"uniqueItems": True}, [{"a": number} for number in range(5_000)]),
    "items of two kinds": ({"uniqueItems": True}, [[n] if n % 2 else n for n in range(5_000)]),
    "wrong items": ({"items": {"type": "integer"}}, ["x"] * 200_000),
    "wrong items of an alternative": ({"anyOf": [{"items": {"type": "integer"}}, {"type": "null"}]}, ["x"] * 200_000),
    "wrong items of one of": ({"oneOf": [{"items": {"type": "integer"}}, {"type": "null"}]}, ["x"] * 200_000),
    "behind a reference to the root": (
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "uniqueItems": True, "items": {"$ref": "#"}},
        [[{"a": number} for number in range(5_000)]],
    ),
}


@pytest.mark.parametrize(("schema", "value"), COSTLY.values(), ids=COSTLY)
def test_a_value_cannot_make_the_check_slow_or_large(schema, value):
    validate = compile_validator(schema, what="schema")

    def look() -> None:
        tracemalloc.start()
        try:
            with contextlib.suppress(ArgumentError):
                validate(value)
            assert tracemalloc.get_traced_memory()[1] < 30_000_000
        finally:
            tracemalloc.stop()

    assert cpu_seconds(look, 5) < 5


@pytest.mark.parametrize(
    ("value", "unique"),
    [
        ([1, 1.0], False),
        ([1, True], True),
        ([0, False, None, "", [], {}], True),
        ([{"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}], False),
        ([["1"], [1]], True),
        (["a", "a"], False),
        ([0.0, -0.0], False),
        ([], True),
    ],
)
def test_items_are_compared_as_json_values(value, unique):
    with contextlib.nullcontext() if unique else pytest.raises(ArgumentError, match="differ from each other"):
        check({"uniqueItems": True}, value)


def test_one_of_wants_exactly_one():
    schema = {"oneOf": [{"type": "integer"}, {"minimum": 3}, {"type": "string", "maxLength": 1}]}
    check(schema, 1)
    check(schema, 3.5)
    assert refusal(schema, 3) == ("", "does not fit exactly one of the alternatives")
    assert refusal({"uniqueItems": False, "oneOf": [{"type": "null"}]}, [1, 1])[1] == "expected null, got array"


TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "anyOf": [
                {"type": "array", "items": {"$ref": "#/$defs/node"}},
                {"type": "array", "prefixItems": [{"$ref": "#/$defs/node"}]},
                {"type": "integer"},
            ]
        }
    },
}
FILTER = {
    "$ref": "#/$defs/filter",
    "$defs": {
        "filter": {
            "oneOf": [
                {
                    "required": ["op", "of"],
                    "properties": {"of": {"items": {"$ref": "#/$defs/filter"}}, "op": {"const": op}},
                }
                for op in ("and", "or")
            ]
            + [{"required": ["field"]}]
        }
    },
}


def nested(depth, wrap, leaf):
    for _ in range(depth):
        leaf = wrap(leaf)
    return leaf


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (TREE, nested(50, lambda inside: [inside], 1)),
        (FILTER, nested(50, lambda inside: {"op": "or", "of": [inside]}, {"field": "x"})),
    ],
)
def test_alternatives_that_refer_to_the_whole_are_looked_at_once(schema, value):
    assert cpu_seconds(lambda: check(schema, value), 2) < 2


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (TREE, nested(50, lambda inside: [inside], "x")),
        (FILTER, nested(50, lambda inside: {"op": "or", "of": [inside]}, {"fields": "x"})),
    ],
)
def test_a_mistake_deep_in_alternatives_is_found_as_soon(schema, value):
    def refuse() -> None:
        with pytest.raises(ArgumentError):
            check(schema, value)

    assert cpu_seconds(refuse, 2) < 2


def test_alternatives_behind_a_dynamic_reference_are_decided_each_time():
    schema = {
        "$dynamicAnchor": "node",
        "anyOf": [{"type": "array", "items": {"$dynamicRef": "#node"}}, {"type": "integer"}],
    }
    check(schema, [[1], 2, []])
    with pytest.raises(ArgumentError):
        check(schema, [["x"]])


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"a": {"allOf": [{"$ref": "#/$defs/n"}] * 2}}}}},
        {"$dynamicAnchor": "n", "properties": {"a": {"allOf": [{"$dynamicRef": "#n"}] * 2}}},
        {
            "$ref": "#/$defs/d40",
            "$defs": {"d0": True, **{f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 2} for n in range(1, 41)}},
        },
    ],
    ids=["to the whole", "dynamic", "doubling"],
)
def test_references_that_double_the_work_at_each_level_end_the_check(schema):
    value: dict = {}
    for _ in range(60):
        value = {"a": value}
    with pytest.raises(ArgumentError, match="takes too long"):
        compile_validator(schema, what="x")(value)


def test_as_many_references_as_there_are_values_are_followed():
    validate = compile_validator({"items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}, what="x")
    validate([1] * 12_000)
