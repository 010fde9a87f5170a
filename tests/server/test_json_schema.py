from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.exceptions import RegistrationError
from mcp_wsgi.server.json_schema import (
    check_references,
    check_schema_bounds,
    drop_null,
    hoist_definitions,
    is_object_schema,
    simplify,
    wrap_output,
)

MONEY = {"title": "Money", "type": "object", "properties": {"title": {"title": "Title", "type": "string"}}}
NODE = {"title": "Node", "type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}


def valid(schema, value):
    return jsonschema.Draft202012Validator(schema).is_valid(value)


# simplify


def test_titles_that_repeat_a_name_go_and_others_stay():
    schema = {
        "title": "Order",
        "type": "object",
        "properties": {
            "unit_price": {"title": "Unit Price", "type": "integer"},
            "vat": {"title": "Value added tax", "type": "integer"},
            "title": {"title": "Title", "type": "string"},
            "odd": {"title": 3},
        },
    }
    assert simplify(schema, for_input=True, name="Order") == {
        "type": "object",
        "properties": {
            "unit_price": {"type": "integer"},
            "vat": {"title": "Value added tax", "type": "integer"},
            "title": {"type": "string"},
            "odd": {"title": 3},
        },
    }


@pytest.mark.parametrize("key", ["Money", "shop__Money", "Money-Input", "Money-Output__1"])
def test_local_references_are_inlined_without_the_class_name(key):
    schema = {"$ref": f"#/$defs/{key}", "description": "A sum", "$defs": {key: MONEY, "Unused": {}}}
    assert simplify(schema, for_input=True) == {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "description": "A sum",
    }


def test_an_escaped_reference_is_inlined():
    schema = {"items": {"$ref": "#/$defs/a~1b%20c"}, "$defs": {"a/b c": {"type": "string"}}}
    assert simplify(schema, for_input=True) == {"items": {"type": "string"}}


def test_a_constraint_beside_a_reference_is_kept():
    schema = {"$ref": "#/$defs/A", "minimum": 3, "$defs": {"A": {"type": "integer", "minimum": 5}}}
    assert simplify(schema, for_input=True) == {
        "allOf": [{"type": "integer", "minimum": 5}],
        "minimum": 3,
    }
    schema = {"$ref": "#/$defs/A", "maximum": 3, "$defs": {"A": True}}
    assert simplify(schema, for_input=True) == {"allOf": [True], "maximum": 3}
    assert simplify({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": True}}, for_input=True) == {"items": True}


def test_recursive_definitions_stay_and_the_root_says_its_type():
    schema = {"$ref": "#/$defs/Node", "$defs": {"Node": NODE, "Money": MONEY}}
    slim = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert simplify(schema, for_input=False) == {**slim, "$defs": {"Node": slim}}


def test_mutual_recursion_keeps_both():
    schema = {
        "items": {"$ref": "#/$defs/A"},
        "$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {"items": {"$ref": "#/$defs/A"}}},
    }
    assert simplify(schema, for_input=True) == schema


def test_references_stay_where_inlining_would_explode():
    definitions = {"D0": {"type": "integer"}}
    for level in range(1, 20):
        reference = {"$ref": f"#/$defs/D{level - 1}"}
        definitions[f"D{level}"] = {"type": "object", "properties": {"a": reference, "b": reference}}
    schema = {"$ref": "#/$defs/D19", "$defs": definitions}
    result = simplify(schema, for_input=True)
    assert result["type"] == "object"
    assert set(result["$defs"]) == set(definitions) - {"D19"}


@pytest.mark.parametrize(
    "positional",
    [{"$ref": "#/properties/a"}, {"$id": "https://example.com/x"}, {"$anchor": "here"}, {"$dynamicRef": "#x"}],
)
def test_a_schema_that_is_addressed_by_position_keeps_its_shape(positional):
    schema = {
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": positional},
        "$defs": {"A": {"title": "A", "type": "string"}, "B": {}},
    }
    assert simplify(schema, for_input=True) == {**schema, "$defs": {"A": {"type": "string"}, "B": {}}}


def test_optional_input_is_simply_not_required():
    null = {"type": "null"}
    schema = {
        "type": "object",
        "properties": {
            "a": {"anyOf": [{"type": "string"}, null], "default": None},
            "b": {"anyOf": [{"type": "string"}, {"type": "integer"}, null], "default": None},
            "c": {"anyOf": [{"type": "string"}, null]},
            "d": {"anyOf": [{"type": "string"}, null], "default": "x"},
            "e": {"type": ["string", "null"], "default": None},
            "f": {"enum": ["x", None], "default": None},
            "g": {"type": "null", "default": None},
            "h": {"type": "object", "properties": {"i": {"oneOf": [{"type": "integer"}, null], "default": None}}},
            "j": {"type": ["string", "integer", "null"], "default": None},
            "k": {"anyOf": [null], "default": None},
            "l": {"anyOf": [{"properties": {}}, null], "properties": {"m": {}}, "default": None},
        },
        "required": [],
    }
    assert simplify(schema, for_input=True) == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "c": {"anyOf": [{"type": "string"}, null]},
            "d": {"anyOf": [{"type": "string"}, null], "default": "x"},
            "e": {"type": "string"},
            "f": {"enum": ["x"]},
            "g": {"type": "null"},
            "h": {"type": "object", "properties": {"i": {"type": "integer"}}},
            "j": {"type": ["string", "integer"]},
            "k": {"anyOf": [null]},
            "l": {"anyOf": [{"properties": {}}], "properties": {"m": {}}},
        },
    }


def test_output_keeps_its_nulls():
    schema = {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}}}
    assert simplify(schema, for_input=False) == schema


def test_data_is_not_taken_for_schemas():
    schema = {"const": {"title": "x"}, "properties": {"a": {"default": {"$ref": "#/$defs/A"}}, "b": True}}
    assert simplify(schema, for_input=True) == schema


def test_an_enumeration_says_its_type_and_openapi_keywords_go():
    assert simplify({"enum": ["a"], "discriminator": {}}, for_input=True) == {"type": "string", "enum": ["a"]}
    assert simplify({"enum": [1, 2]}, for_input=True) == {"type": "integer", "enum": [1, 2]}
    assert simplify({"enum": [1, "a"]}, for_input=True) == {"enum": [1, "a"]}


def test_drop_null_keeps_the_definitions():
    schema = {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}], "$defs": {"N": NODE}}
    assert drop_null(schema) == {"$ref": "#/$defs/N", "$defs": {"N": NODE}}


def test_definitions_are_hoisted_under_names_that_do_not_clash():
    one = {"items": {"$ref": "#/$defs/N"}, "$defs": {"N": {"items": {"$ref": "#/$defs/N"}}}}
    other = {"not": {"$ref": "#/$defs/N"}, "$defs": {"N": {"type": "array", "items": {"$ref": "#/$defs/N"}}}}
    properties, definitions = hoist_definitions({"a": one, "b": other, "c": one})
    assert properties == {
        "a": {"items": {"$ref": "#/$defs/N"}},
        "b": {"not": {"$ref": "#/$defs/N_2"}},
        "c": {"items": {"$ref": "#/$defs/N"}},
    }
    assert definitions == {
        "N": {"items": {"$ref": "#/$defs/N"}},
        "N_2": {"type": "array", "items": {"$ref": "#/$defs/N_2"}},
    }


# wrap_output


def test_the_wrapper_is_an_object_with_a_required_result():
    assert wrap_output({"type": "integer"}) == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }


def test_references_follow_the_schema_into_the_wrapper():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/N"}, {"$ref": "#/prefixItems/0"}, {"$ref": "#a"}]},
        "prefixItems": [{"type": "string"}, {"$anchor": "a"}],
        "$defs": {"N": {"items": {"$ref": "#/items"}}},
    }
    assert wrap_output(schema) == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "result": {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"$ref": "#/properties/result"},
                        {"$ref": "#/$defs/N"},
                        {"$ref": "#/properties/result/prefixItems/0"},
                        {"$ref": "#a"},
                    ]
                },
                "prefixItems": [{"type": "string"}, {"$anchor": "a"}],
            }
        },
        "required": ["result"],
        "$defs": {"N": {"items": {"$ref": "#/properties/result/items"}}},
    }


def test_a_recursive_reference_becomes_an_ordinary_one():
    schema = {"type": "array", "items": {"$recursiveRef": "#"}}
    assert wrap_output(schema)["properties"]["result"]["items"] == {"$ref": "#/properties/result"}


@pytest.mark.parametrize("schema", [{"$id": "https://example.com/s"}, {}])
def test_an_embedded_resource_keeps_its_own_references(schema):
    inner = {"$id": "https://example.com/t", "items": {"$ref": "#"}}
    wrapped = wrap_output({**schema, "$schema": "https://json-schema.org/draft/2020-12/schema", "items": inner})
    assert wrapped["properties"]["result"] == {**schema, "items": inner}
    assert "$schema" in wrapped
    assert valid(wrapped, {"result": [[[]]]})


WRAPPABLE = [
    {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}},
    {"$ref": "#/$defs/N", "$defs": {"N": {"type": "array", "items": {"$ref": "#/$defs/N"}}}},
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/anyOf/0"}}]},
    {
        "$id": "https://example.com/s",
        "type": "array",
        "items": {"$ref": "#/$defs/I"},
        "$defs": {"I": {"type": "string"}},
    },
    {"type": ["integer", "null"], "minimum": 0},
    {"$anchor": "top", "type": "array", "items": {"anyOf": [{"$ref": "#top"}, {"type": "boolean"}]}},
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(WRAPPABLE), JSON)
def test_wrapping_changes_no_verdict(schema, value):
    assert valid(schema, value) == valid(wrap_output(schema), {"result": value})


# checks


def test_only_type_object_is_an_object_schema():
    assert is_object_schema({"type": "object"})
    assert not any(map(is_object_schema, [{"type": ["object"]}, {"properties": {}}, {}, True, None]))


def test_bounds_admit_what_is_usual():
    schema = {}
    for _ in range(31):
        schema = {"properties": {"a": schema}}
    check_schema_bounds(schema)
    check_schema_bounds({"anyOf": [{"const": index} for index in range(9000)]})


def test_bounds_refuse_depth_size_and_cycles():
    deep = {}
    for _ in range(70):
        deep = {"not": deep}
    with pytest.raises(RegistrationError, match="64 levels"):
        check_schema_bounds(deep)
    with pytest.raises(RegistrationError, match="20,000"):
        check_schema_bounds({"anyOf": [{}] * 100_000})
    cycle = {}
    cycle["not"] = cycle
    with pytest.raises(RegistrationError, match="64 levels"):
        check_schema_bounds(cycle)


@pytest.mark.parametrize(
    "reference",
    [
        "http://169.254.169.254/",
        "file:///etc/passwd",
        "other.json",
        "//host/x",
        "urn:x:y",
        "http://[",
        "http://[#x",
        "x#/$defs/A",
    ],
)
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_out_of_the_document_is_refused_by_name(keyword, reference):
    for place in ({keyword: reference}, {"x-unknown": [{"items": [{keyword: reference}]}]}):
        with pytest.raises(RegistrationError) as caught:
            check_references({"properties": {"a": place}})
        assert keyword in str(caught.value)
        assert reference in str(caught.value)


@pytest.mark.parametrize("reference", ["#/$defs/B", "#/$defs/A/1", "#nowhere", "#/$defs/A/x", "#/required/01"])
def test_a_reference_to_nowhere_is_refused(reference):
    with pytest.raises(RegistrationError, match="nowhere"):
        check_references({"$ref": reference, "required": ["a", "b"], "$defs": {"A": {"type": "string"}}})


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"items": {"$ref": "#"}},
        {"items": {"$ref": "#/$defs/a~1b%25"}, "$defs": {"a/b%": {}}},
        {"items": {"$ref": "#/prefixItems/1"}, "prefixItems": [{}, {}]},
        {"items": {"$ref": "#x"}, "$defs": {"A": {"$anchor": "x"}}},
        {"items": {"$ref": "#x"}, "definitions": {"A": {"$id": "#x"}}},
        {"items": {"$dynamicRef": "#x"}, "$defs": {"A": {"$dynamicAnchor": "x"}}},
        {"$id": "https://example.com/a/b", "items": {"$ref": "c#/x"}, "$defs": {"C": {"$id": "c"}}},
        {"id": "https://example.com/a", "items": {"$ref": "https://example.com/a#"}},
        {"properties": {"$ref": {"type": "string"}, "a": {"const": {"$ref": "http://example.com"}}}},
    ],
)
def test_local_references_are_fine(schema):
    check_references(schema)
