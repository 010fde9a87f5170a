"""Which tools a client can call, and whether their results are what they promised."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.client import schemas
from mcp_wsgi.client.results import CallResult, ToolInfo
from mcp_wsgi.client.schemas import output_checker, usable_tools
from mcp_wsgi.exceptions import RemoteProtocolError
from tests.client.examples import examples, load
from tests.client.mutations import mutated

MIRRORED = {
    "name": "query",
    "inputSchema": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "nested": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        },
    },
}
OUTPUT = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/item"}}, "total": {"type": "integer"}},
    "required": ["items"],
    "$defs": {"item": {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}},
}


def mirroring(name, **field):
    return {"name": name, "inputSchema": {"type": "object", "properties": {"a": field}}}


def a_tool(output, name="t"):
    return ToolInfo.from_wire({"name": name, "inputSchema": {"type": "object"}, "outputSchema": output})


def a_result(**members):
    return CallResult.from_wire({"content": [], **members})


@pytest.fixture(autouse=True)
def _nothing_compiled():
    schemas._compile.cache_clear()


# Which tools can be called

INVALID = [
    mirroring("empty", type="string", **{"x-mcp-header": ""}),
    mirroring("no_token", type="string", **{"x-mcp-header": "a b"}),
    mirroring("no_text", type="string", **{"x-mcp-header": 3}),
    mirroring("no_primitive", type="object", **{"x-mcp-header": "A"}),
    mirroring("number", type="number", **{"x-mcp-header": "A"}),
    mirroring("in_a_list", type="array", items={"type": "string", "x-mcp-header": "A"}),
    {
        "name": "twice",
        "inputSchema": {
            "properties": {
                "a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"},
            }
        },
    },
]


def test_tools_with_invalid_annotations_are_left_out_and_named_with_the_reason(caplog):
    assert [tool.name for tool in usable_tools([*INVALID, MIRRORED, {}], mirrored=True)] == ["query"]
    for entry, message in zip(INVALID, caplog.messages, strict=False):
        assert f"'{entry['name']}' cannot be called over HTTP: x-mcp-header" in message
    assert len(caplog.messages) == len(INVALID) + 1
    assert {record.name for record in caplog.records} == {"mcp_wsgi.client"}


def test_where_nothing_is_mirrored_annotations_do_not_matter(caplog):
    assert len(usable_tools([*INVALID, MIRRORED], mirrored=False)) == len(INVALID) + 1
    assert not caplog.messages


def test_the_warning_is_one_short_printable_line(caplog):
    usable_tools([mirroring("n\n" * 500, type="string", **{"x-mcp-header": "\x1b[31m\n" * 500})], mirrored=True)
    (message,) = caplog.messages
    assert message.isprintable()
    assert len(message) < 500


def test_what_is_no_list_is_refused():
    with pytest.raises(ValueError):
        usable_tools({}, mirrored=True)


@given(mutated(st.just([MIRRORED, *INVALID])), st.booleans())
def test_no_list_whatsoever_raises_anything_but_a_value_error(entries, mirrored):
    try:
        tools = usable_tools(entries, mirrored=mirrored)
    except ValueError:
        tools = None
    assert (tools is None) != isinstance(entries, list)


# Whether results are what was promised


def test_a_tool_without_an_output_schema_is_not_checked():
    assert output_checker(a_tool(None)) is None


def test_a_result_that_conforms_passes():
    check = output_checker(a_tool(OUTPUT))
    check(a_result(structuredContent={"items": [{"price": 1.5}], "total": 1}))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({}, "The tool 'shop' has an output schema, and its result no structured content"),
        ({"structuredContent": None}, "its output schema: expected object, got null"),
        ({"structuredContent": {}}, "at items: missing required property"),
        ({"structuredContent": {"items": [{"price": "x"}]}}, "at items[0].price: expected number, got string"),
        ({"structuredContent": {"items": [{}]}}, "at items[0].price: missing required property"),
    ],
)
def test_one_that_does_not_is_named_with_the_place_and_what_was_wanted(members, said):
    check = output_checker(a_tool(OUTPUT, "shop"))
    with pytest.raises(RemoteProtocolError) as caught:
        check(a_result(**members))
    assert "'shop'" in str(caught.value)
    assert str(caught.value).endswith(said)


def test_the_result_of_a_failed_call_is_not_checked():
    output_checker(a_tool(OUTPUT))(a_result(isError=True, structuredContent={"why": 1}))


def test_null_can_be_what_was_promised():
    output_checker(a_tool({"type": "null"}))(a_result(structuredContent=None))


def test_the_message_repeats_no_foreign_text_unprinted():
    check = output_checker(a_tool({"properties": {"a\n": {"type": "object"}}}, "t\n"))
    with pytest.raises(RemoteProtocolError) as caught:
        check(a_result(structuredContent={"a\n": 1}))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"$ref": "https://example.com/schema.json"}, "references are never fetched"),
        ({"$ref": "file:///etc/passwd"}, "references are never fetched"),
        ({"$schema": "https://example.com/dialect"}, "is not supported"),
        ({"type": "nothing"}, "not a valid schema"),
        ({"pattern": "("}, "cannot be used"),
        ({"enum": ["x" * 300_000]}, "too large"),
        ({"enum": [float("nan")]}, "too large"),
    ],
)
def test_a_schema_that_cannot_be_checked_against_is_warned_about_and_nothing_is_fetched(
    output, said, caplog, monkeypatch
):
    monkeypatch.setattr(socket, "socket", lambda *args, **options: pytest.fail("something was fetched"))
    assert output_checker(a_tool(output)) is None
    (message,) = caplog.messages
    assert message.startswith("The results of the tool 't' are not checked: ")
    assert said in message
    assert message.isprintable()


def test_a_schema_is_compiled_and_warned_about_once(caplog):
    bad = {"$ref": "https://example.com/schema.json"}
    assert output_checker(a_tool(bad)) is output_checker(a_tool(dict(bad))) is None
    assert len(caplog.messages) == 1
    output_checker(a_tool(OUTPUT))
    before = schemas._compile.cache_info()
    output_checker(a_tool(OUTPUT))
    assert schemas._compile.cache_info().hits == before.hits + 1


def test_few_compiled_schemas_are_kept():
    assert schemas._compile.cache_info().maxsize == 256


@examples("Tool")
def test_every_tool_of_the_specification_can_be_called_and_checked(path, caplog):
    (tool,) = usable_tools([load(path)], mirrored=True)
    assert (output_checker(tool) is None) == (tool.output_schema is None)
    assert not caplog.messages


@given(mutated(st.just(OUTPUT)), mutated(st.just({"items": [{"price": 1.5}], "total": 1})))
def test_no_schema_and_no_result_whatsoever_raise_anything_but_the_error_of_the_server(output, structured):
    check = output_checker(a_tool(output))
    said = ""
    if check is not None:
        try:
            check(a_result(structuredContent=structured))
        except RemoteProtocolError as error:
            said = str(error)
    assert said.isprintable()
