"""``x-mcp-header``: 2026-07-28, basic/transports/streamable-http, Custom Headers; the edge cases of SEP-2243."""

from __future__ import annotations

import pytest

from mcp_wsgi.protocol.param_headers import ParamHeader, ParamHeaderError, collect_param_headers


def text(name):
    return {"type": "string", "x-mcp-header": name}


def properties(**children):
    return {"type": "object", "properties": children}


def refused(schema):
    with pytest.raises(ParamHeaderError) as caught:
        collect_param_headers(schema)
    return str(caught.value)


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": None}, properties(a=True, b={})])
def test_a_schema_without_annotations_has_none(schema):
    assert collect_param_headers(schema) == ()


@pytest.mark.parametrize("kind", ["string", "integer", "boolean"])
def test_primitive_properties_may_be_mirrored(kind):
    assert collect_param_headers(properties(a={"type": kind, "x-mcp-header": "A"})) == (ParamHeader("A", ("a",)),)


def test_headers_are_in_schema_order_at_any_nesting_depth():
    """The final text allows nested properties, which SEP-2243's table still refuses."""
    schema = properties(z=text("Z"), o=properties(b=text("B"), p=properties(c=text("C"))), a=text("A"))
    assert collect_param_headers(schema) == (
        ("Z", ("z",)),
        ("B", ("o", "b")),
        ("C", ("o", "p", "c")),
        ("A", ("a",)),
    )


def test_the_name_of_a_standard_header_is_allowed():
    """SEP-2243: it makes Mcp-Param-Method, not Mcp-Method."""
    assert collect_param_headers(properties(a=text("Method")))[0].name == "Method"


@pytest.mark.parametrize("name", ["!#$%&'*+-.^_`|~", "0", "x-y_z.9"])
def test_every_token_character_is_allowed(name):
    """RFC 9110, section 5.6.2"""
    assert collect_param_headers(properties(a=text(name)))[0].name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "My Region",
        "Region:Primary",
        "Région",
        "Region\t1",
        "a\r\nb",
        "a\n",
        "a/b",
        "(a)",
        "a,b",
        '"a"',
        None,
        5,
        True,
    ],
)
def test_a_name_that_is_no_token_is_refused(name):
    """SEP-2243, Empty header name and Invalid x-mcp-header Values."""
    assert refused(properties(o=properties(a=text(name)))).startswith(
        "x-mcp-header of 'o.a' must be a non-empty HTTP token"
    )


@pytest.mark.parametrize("other", ["Region", "REGION", "region"])
def test_a_name_is_used_once_whatever_its_case(other):
    """SEP-2243, Duplicate header names."""
    assert "is used twice" in refused(properties(a=text("Region"), o=properties(b=text(other))))


@pytest.mark.parametrize("kind", ["array", "object", "null", "number", None, ["string", "null"], ["string"], 5])
def test_only_strings_integers_and_booleans_are_mirrored(kind):
    """SEP-2243, Type Restriction Violations; "parameters with type number are not permitted"."""
    assert "needs the type string, integer or boolean" in refused(properties(a={"type": kind, "x-mcp-header": "A"}))
    assert "needs the type" in refused(properties(a={"x-mcp-header": "A"}))


@pytest.mark.parametrize(
    "where",
    [
        lambda schema: {"x-mcp-header": "Root", "properties": {"b": schema}},
        lambda schema: properties(a={"type": "array", "items": schema}),
        lambda schema: properties(a={"items": [schema]}),
        lambda schema: properties(a={"prefixItems": [{}, schema]}),
        lambda schema: properties(a={"additionalItems": schema}),
        lambda schema: {"additionalProperties": schema},
        lambda schema: {"unevaluatedProperties": schema},
        lambda schema: {"patternProperties": {"^a": schema}},
        lambda schema: {"propertyNames": schema},
        lambda schema: {"anyOf": [properties(a=schema)]},
        lambda schema: {"oneOf": [properties(a=schema)]},
        lambda schema: {"allOf": [properties(a=schema)]},
        lambda schema: {"not": properties(a=schema)},
        lambda schema: {"if": properties(a=schema)},
        lambda schema: {"then": properties(a=schema)},
        lambda schema: {"else": properties(a=schema)},
        lambda schema: {"$defs": {"a": schema}},
        lambda schema: {"definitions": {"a": properties(a=schema)}},
        lambda schema: {"dependentSchemas": {"x": properties(a=schema)}},
        lambda schema: {"dependencies": {"x": properties(a=schema)}},
        lambda schema: properties(a={"contains": schema}),
        lambda schema: properties(a={"contentSchema": schema}),
        lambda schema: properties(a={"unevaluatedItems": schema}),
    ],
)
def test_an_annotation_where_no_argument_path_leads_is_refused(where):
    assert "only allowed on properties of the tool's arguments" in refused(where(text("A")))


def test_data_in_a_schema_is_no_annotation():
    schema = properties(a={"default": {"x-mcp-header": "A"}, "enum": [{"x-mcp-header": "B"}]})
    schema["examples"] = [{"x-mcp-header": "C"}]
    schema["dependencies"] = {"a": ["b"]}
    assert collect_param_headers(schema) == ()


def test_an_argument_may_itself_be_called_like_the_annotation():
    assert collect_param_headers(properties(**{"x-mcp-header": text("A")})) == (("A", ("x-mcp-header",)),)
