"""The shapes of tools that OpenAI's and Anthropic's interfaces take, and calls by the names that models use."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import ToolError
from mcp_wsgi.bridge import call_by_model_name, to_anthropic, to_openai

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def tool(name: str = "files.read", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "Read a file.",
        "parameters": SCHEMA,
        "handler": lambda arguments, ctx: (name, arguments),
        **more,
    }


def test_openai_s_chat_completions_take_a_function() -> None:
    assert to_openai([tool()]) == [
        {
            "type": "function",
            "function": {"name": "files_read", "description": "Read a file.", "parameters": SCHEMA},
        }
    ]


def test_openai_s_responses_take_it_flat_and_not_strict() -> None:
    assert to_openai([tool()], responses=True) == [
        {
            "type": "function",
            "name": "files_read",
            "description": "Read a file.",
            "parameters": SCHEMA,
            "strict": False,
        }
    ]


def test_anthropic_s_messages_take_an_input_schema() -> None:
    assert to_anthropic([tool()]) == [{"name": "files_read", "description": "Read a file.", "input_schema": SCHEMA}]


def test_a_schema_always_has_properties() -> None:
    empty = {"type": "object", "properties": {}}
    given = [{"name": "a", "handler": print}, {"name": "b", "handler": print, "parameters": {"type": "object"}}]
    assert [each["input_schema"] for each in to_anthropic(given)] == [empty, empty]
    assert [each["description"] for each in to_anthropic(given)] == ["", ""]


def test_what_only_an_interface_may_call_is_not_shown_to_a_model() -> None:
    given = [tool("a", metadata={"ui": {"visibility": ["app"]}}), tool("b", metadata={"ui": {"visibility": ["model"]}})]
    assert [each["name"] for each in to_anthropic(given)] == ["b"]
    with pytest.raises(ToolError, match="no tool 'a'"):
        call_by_model_name(given, "a")


@pytest.mark.parametrize(
    "arguments", [{"path": "x"}, '{"path": "x"}', ' {"path":"x"} '], ids=["mapping", "text", "spaces"]
)
def test_a_call_finds_the_tool_that_the_model_means(arguments: Any) -> None:
    given = [tool(), tool("files_write")]
    assert call_by_model_name(given, "files_read", arguments) == ("files.read", {"path": "x"})
    assert call_by_model_name(given, "files_write", arguments) == ("files_write", {"path": "x"})


def test_lists_can_be_put_together() -> None:
    given = [tool("search", description="A"), tool("search", description="B")]
    first, second = to_anthropic(given)
    assert (first["description"], second["description"]) == ("A", "B")
    assert first["name"] == "search" != second["name"]
    assert call_by_model_name(given, second["name"]) == ("search", {})


@pytest.mark.parametrize("arguments", [None, "", "  ", {}, "{}"])
def test_no_arguments_are_empty_ones(arguments: Any) -> None:
    assert call_by_model_name([tool()], "files_read", arguments) == ("files.read", {})


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("files.read", None, "no tool 'files.read'"),
        ("nothing", None, "no tool 'nothing'"),
        ("files_read", '{"path": ', "not JSON"),
        ("files_read", '{"path": "x", "path": "y"}', "not JSON"),
        ("files_read", '"\ud800"', "not JSON"),
        ("files_read", "[1]", "not a JSON object"),
        ("files_read", [1], "not a JSON object"),
    ],
)
def test_what_a_model_gets_wrong_is_told_in_words_for_it(name: str, arguments: Any, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        call_by_model_name([tool()], name, arguments)
