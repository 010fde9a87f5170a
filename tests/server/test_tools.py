"""Tools from functions and from mappings; their listed form in both eras."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import Context, Icon, RegistrationError, Server
from mcp_wsgi.server.tools import Tool

from .wire import ERAS, call, result_of, text_of


def listed(server: Server, era: str = "modern") -> dict[str, Any]:
    tools = result_of(server, "tools/list", era=era)["tools"]
    assert len(tools) == 1
    tool: dict[str, Any] = tools[0]
    return tool


def test_a_function_gives_name_description_and_schemas() -> None:
    server = Server("s")

    @server.tool
    def count(status: str, limit: int = 10) -> int:
        """Count the orders.

        Args:
            status: Which ones.
        """
        return 0

    assert count("open") == 0
    assert listed(server) == {
        "name": "count",
        "description": "Count the orders.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "status": {"type": "string", "description": "Which ones."},
                "limit": {"type": "integer", "default": 10},
            },
            "required": ["status"],
        },
        "outputSchema": {"type": "integer"},
    }
    legacy = listed(server, "legacy")
    assert legacy["outputSchema"]["type"] == "object"
    assert legacy["outputSchema"]["properties"] == {"result": {"type": "integer"}}
    assert call(server, "count", {"status": "x"}, era="legacy")["structuredContent"] == {"result": 0}


@ERAS
def test_all_options_are_listed(era: str) -> None:
    server = Server("s")
    server.tool(
        name="t",
        title="T",
        description="Does it",
        icons=[Icon("https://example.com/i.png")],
        meta={"example.com/x": 1},
        read_only=True,
        destructive=False,
        idempotent=True,
        open_world=False,
        output_schema={"type": "object"},
    )(lambda: None)
    assert listed(server, era) == {
        "name": "t",
        "title": "T",
        "description": "Does it",
        "icons": [{"src": "https://example.com/i.png"}],
        "_meta": {"example.com/x": 1},
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "object"},
    }


def test_the_context_is_in_no_schema_and_gets_in() -> None:
    server = Server("s")

    @server.tool
    def who(greeting: str, ctx: Context) -> str:
        return f"{greeting} {ctx.principal}"

    assert list(listed(server)["inputSchema"]["properties"]) == ["greeting"]
    assert text_of(call(server, "who", {"greeting": "Hi"}, principal="ada")) == "Hi ada"


@ERAS
def test_structured_output_can_be_declined(era: str) -> None:
    server = Server("s")

    @server.tool(structured=False)
    def t() -> int:
        return 5

    assert "outputSchema" not in listed(server, era)
    assert text_of(call(server, "t", era=era)) == "5"


@ERAS
def test_an_explicit_output_schema_is_checked(era: str) -> None:
    server = Server("s")
    good = {"type": "object", "properties": {"a": {"type": "integer"}}}
    server.tool(name="good", output_schema=good)(lambda: {"a": 1})
    server.tool(name="bad", output_schema=good)(lambda: {"a": "x"})
    assert call(server, "good", era=era)["structuredContent"] == {"a": 1}
    result = call(server, "bad", era=era)
    assert result["isError"] is True
    assert "a: expected integer" in text_of(result)


@pytest.mark.parametrize("name", ["", "a" * 129, "a\nb", "\ud800", "\x00", 5, None])
def test_a_name_is_1_to_128_printable_characters(name: Any) -> None:
    with pytest.raises(RegistrationError, match="name of a tool"):
        Server("s").add_tool({"name": name, "handler": print})


@pytest.mark.parametrize("name", ["a", "a" * 128, "shop.orders/count-all_1", "北京", "with space"])
def test_other_names_are_kept_byte_for_byte(name: str) -> None:
    server = Server("s")
    server.tool(name=name)(lambda: "ok")
    assert listed(server)["name"] == name
    assert text_of(call(server, name)) == "ok"


def test_a_taken_name_is_refused() -> None:
    server = Server("s")
    server.tool(name="t")(lambda: 1)
    with pytest.raises(RegistrationError, match="already a tool 't'"):
        server.tool(name="t")(lambda: 2)


@pytest.mark.parametrize("function", ["add", 5, None, ["x"]])
def test_what_is_no_function_is_refused_with_the_way_to_write_it(function: Any) -> None:
    server = Server("s")
    with pytest.raises(RegistrationError, match="options go by name"):
        server.tool(name="x")(function)
    if function is not None:
        with pytest.raises(RegistrationError, match="options go by name"):
            server.tool(function)


def test_a_callable_without_a_name_needs_one() -> None:
    with pytest.raises(RegistrationError, match="pass name="):
        Server("s").tool(lambda: 1)


@pytest.mark.parametrize("visible", [True, "admin", 5])
def test_a_filter_is_a_function(visible: Any) -> None:
    with pytest.raises(RegistrationError, match="visible"):
        Server("s").tool(name="t", visible=visible)(lambda: 1)


def test_an_async_filter_is_refused_because_it_would_hide_nothing() -> None:
    async def visible(context: Context) -> bool:
        return False

    server = Server("s")
    with pytest.raises(RegistrationError, match="sync function"):
        server.tool(name="t", visible=visible)(lambda: 1)
    with pytest.raises(RegistrationError, match="sync function"):
        server.prompt(name="t", visible=visible)(lambda: 1)
    with pytest.raises(RegistrationError, match="sync function"):
        server.resource("r://t", name="t", visible=visible)(lambda: 1)
    with pytest.raises(RegistrationError, match="sync function"):
        server.add_tool({"name": "t", "handler": print, "visible": visible})


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"title": 5}, "title"),
        ({"description": b"x"}, "description"),
        ({"meta": {"x": object()}}, "object"),
        ({"icons": [{"src": "x"}]}, "icons"),
        ({"output_schema": {"type": "nope"}}, "output schema"),
    ],
)
def test_what_cannot_be_listed_is_refused_at_registration(options: dict[str, Any], named: str) -> None:
    with pytest.raises(RegistrationError, match=named):
        Server("s").tool(name="t", **options)(lambda: 1)


def test_header_parameters_are_checked_at_registration() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A B"}}}
    with pytest.raises(RegistrationError, match="The tool 't'"):
        Server("s").add_tool({"name": "t", "handler": print, "parameters": schema})


# Plain mappings


@ERAS
def test_a_mapping_is_a_tool(era: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    mapping = {
        "name": "t",
        "title": "T",
        "description": "Adds one",
        "parameters": schema,
        "output_schema": {"type": "integer"},
        "annotations": {"readOnlyHint": True},
        "icons": [{"src": "https://example.com/i.png"}],
        "_meta": {"example.com/x": 1},
        "handler": lambda arguments, ctx: arguments["a"] + 1,
    }
    server = Server("s", tools=[mapping])
    tool = listed(server, era)
    assert list(tool) == [
        "name",
        "title",
        "description",
        "annotations",
        "icons",
        "_meta",
        "inputSchema",
        "outputSchema",
    ]
    assert tool["inputSchema"] == schema
    assert text_of(call(server, "t", {"a": 1}, era=era)) == "2"
    assert "a: expected integer" in text_of(call(server, "t", {"a": "x"}, era=era))
    assert "missing required argument" in text_of(call(server, "t", {}, era=era))


def test_a_mapping_may_use_the_wire_s_names_and_leave_out_what_it_has_not() -> None:
    server = Server(
        "s", tools=[{"name": "t", "inputSchema": {}, "outputSchema": {"type": "object"}, "handler": lambda a, c: a}]
    )
    assert listed(server) == {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}
    assert call(server, "t", {"x": [1]})["structuredContent"] == {"x": [1]}
    assert listed(Server("s", tools=[{"name": "t", "handler": print}])) == {
        "name": "t",
        "inputSchema": {"type": "object"},
    }


def test_a_mapping_s_handler_gets_the_context_and_may_be_async() -> None:
    async def handler(arguments: dict[str, Any], ctx: Context) -> str:
        return f"{ctx.principal} {arguments}"

    server = Server("s", tools=[{"name": "t", "handler": handler}])
    assert text_of(call(server, "t", {"a": 1}, principal="ada")) == "ada {'a': 1}"


def test_a_mapping_may_hide_its_tool() -> None:
    server = Server("s", tools=[{"name": "t", "handler": print, "visible": lambda ctx: ctx.principal == "ada"}])
    assert result_of(server, "tools/list")["tools"] == []
    assert result_of(server, "tools/list", principal="ada")["tools"] != []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"handlr": print}, "handlr"),
        ({"handler": None}, "handler"),
        ({"handler": "x"}, "handler"),
        ({"parameters": []}, "parameters"),
        ({"inputSchema": "x"}, "parameters"),
        ({"output_schema": 5}, "output_schema"),
        ({"parameters": {"type": "array"}}, "object"),
        ({"parameters": {"type": "object", "properties": {"a": {"type": "nope"}}}}, "input schema"),
        ({"parameters": {"$ref": "http://169.254.169.254/"}}, "input schema"),
        ({"parameters": {"$schema": "http://json-schema.org/draft-03/schema#"}}, "draft-03"),
        ({"output_schema": {"$ref": "file:///etc/passwd"}}, "output schema"),
        ({"description": 5}, "description"),
        ({"icons": [Icon("x")]}, "Icon"),
    ],
)
def test_a_mapping_that_cannot_be_a_tool_is_refused_with_the_reason(change: dict[str, Any], named: str) -> None:
    with pytest.raises(RegistrationError, match=named):
        Server("s").add_tool({"name": "t", "handler": print, **change})


def test_a_mapping_whose_handler_checks_itself_gets_what_was_sent_and_gives_what_it_likes() -> None:
    mapping = {
        "name": "t",
        "parameters": {"$schema": "urn:unknown", "type": "object", "properties": {"a": {"type": "integer"}}},
        "output_schema": {"type": "object", "required": ["b"]},
        "handler": lambda arguments, ctx: {"got": arguments},
        "validate": False,
        "metadata": {"anything": object()},
    }
    server = Server("s", tools=[mapping])
    assert call(server, "t", {"a": "x"})["structuredContent"] == {"got": {"a": "x"}}
    assert listed(server) == {
        "name": "t",
        "inputSchema": mapping["parameters"],
        "outputSchema": mapping["output_schema"],
    }


def test_a_declared_dialect_is_honoured() -> None:
    """B106b: draft-07 reads ``items`` as a list of schemas."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}},
    }
    server = Server("s", tools=[{"name": "t", "parameters": schema, "handler": lambda arguments, ctx: "ok"}])
    assert text_of(call(server, "t", {"a": [1, "x"]})) == "ok"
    assert "a[1]" in text_of(call(server, "t", {"a": [1, 2]}))


# Coercion (B98)


@pytest.mark.parametrize(
    ("arguments", "plain", "coerced"),
    [
        ({"numbers": "[1, 2]"}, None, "[1, 2]"),
        ({"numbers": [1, 2]}, "[1, 2]", "[1, 2]"),
        ({"numbers": "x"}, None, None),
        ({"numbers": '["x"]'}, None, None),
    ],
)
def test_json_in_strings_is_read_where_it_was_asked_for(arguments: Any, plain: str | None, coerced: str | None) -> None:
    def t(numbers: list[int]) -> str:
        return str(numbers)

    by_server, by_tool, neither = Server("s", coerce_json_strings=True), Server("s"), Server("s")
    by_server.tool(t)
    by_tool.tool(coerce_json_strings=True)(t)
    neither.add_tool(t)
    for server, expected in ((by_server, coerced), (by_tool, coerced), (neither, plain)):
        result = call(server, "t", arguments)
        if expected is None:
            assert result["isError"] is True
            assert text_of(result).startswith("Invalid arguments for tool 't': numbers")
        else:
            assert text_of(result) == expected


def test_strings_are_never_read_as_json() -> None:
    server = Server("s", coerce_json_strings=True)

    @server.tool
    def t(text: str) -> str:
        return text

    assert text_of(call(server, "t", {"text": "[1]"})) == "[1]"


def test_a_tool_can_be_made_first_and_added_later() -> None:
    tool = Tool.from_function(lambda: "ok", name="t")
    server = Server("s", tools=[tool])
    assert [each.name for each in server.registries["tools"].view] == ["t"]
    assert text_of(call(server, "t")) == "ok"
