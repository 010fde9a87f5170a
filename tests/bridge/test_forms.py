"""What the result of a remote tool becomes."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import ToolError
from mcp_wsgi.bridge.forms import shaped, text_of, tool_result
from mcp_wsgi.client import CallResult
from mcp_wsgi.protocol.types import Image, Text
from mcp_wsgi.server.results import tool_result as to_wire


def result(*content: Any, **more: Any) -> CallResult:
    return CallResult.from_wire({"content": list(content), **more})


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (text("hello"), "hello"),
        ({"type": "image", "data": "AAEC", "mimeType": "image/png"}, "[image, image/png, 3 bytes]"),
        ({"type": "audio", "data": "AAEC", "mimeType": "audio/wav"}, "[audio, audio/wav, 3 bytes]"),
        ({"type": "resource_link", "uri": "f:///a", "name": "a"}, "[resource a: f:///a]"),
        ({"type": "resource_link", "uri": "f:///a", "name": "a", "title": "A"}, "[resource A: f:///a]"),
        ({"type": "resource", "resource": {"uri": "f:///a", "text": "inside"}}, "inside"),
        ({"type": "resource", "resource": {"uri": "f:///a", "blob": "AAEC"}}, "[f:///a, 3 bytes]"),
        (
            {"type": "resource", "resource": {"uri": "f:///a", "blob": "AAEC", "mimeType": "x/y"}},
            "[f:///a, x/y, 3 bytes]",
        ),
        ({"type": "hologram", "beam": 1}, "[content of type 'hologram' that cannot be read]"),
        ({"type": "image"}, "[content of type 'image' that cannot be read]"),
        ("x", "[content of type 'None' that cannot be read]"),
    ],
)
def test_content_is_text_or_says_what_it_is(block: Any, expected: str) -> None:
    assert text_of(result(block)) == expected
    assert text_of(result(text("first"), block)) == f"first\n{expected}"


def test_a_structured_value_is_written_where_there_is_no_content() -> None:
    assert text_of(result(structuredContent={"a": "é"})) == '{"a": "é"}'
    assert text_of(result(text("a is é"), structuredContent={"a": "é"})) == "a is é"
    assert text_of(result(structuredContent=None)) == "null"
    assert text_of(result()) == ""


def test_the_form_is_chosen() -> None:
    both = result(text("five"), structuredContent=5)
    assert shaped(both, "text") == "five"
    assert shaped(both, "structured") == 5
    assert shaped(both, "content") == [Text("five")]
    assert shaped(both, "result") is both


def test_without_a_structured_value_it_is_the_text() -> None:
    assert shaped(result(text("five")), "structured") == "five"
    assert shaped(result(text("none"), structuredContent=None), "structured") is None


@pytest.mark.parametrize("form", ["text", "structured", "content"])
def test_a_tool_that_failed_raises_what_it_said(form: Any) -> None:
    with pytest.raises(ToolError, match=r"^no such city$"):
        shaped(result(text("no such city"), isError=True), form)
    with pytest.raises(ToolError, match=r"^The tool failed\.$"):
        shaped(result(isError=True), form)


def test_the_whole_result_says_itself_that_the_tool_failed() -> None:
    assert shaped(result(text("no"), isError=True), "result").is_error


# For our own server


@pytest.mark.parametrize(
    "raw",
    [
        {"content": [text("hello")]},
        {"content": [{"type": "image", "data": "AAEC", "mimeType": "image/png", "annotations": {"priority": 0.5}}]},
        {"content": [{**text("a"), "_meta": {"x": 1}}], "structuredContent": {"a": [1, None]}},
        {"content": [text("a")], "structuredContent": {}, "_meta": {"example.com/kept": 1}},
        {"content": [], "structuredContent": [1]},
        {"content": [text("no")], "isError": True},
        {"content": [{"type": "resource_link", "uri": "f:///a", "name": "a", "size": 5}]},
        {"content": [{"type": "resource", "resource": {"uri": "f:///a", "text": "inside"}}]},
    ],
)
def test_a_result_goes_through_a_gateway_as_it_is(raw: dict[str, Any]) -> None:
    value = tool_result(CallResult.from_wire(raw), has_schema="structuredContent" in raw)
    to_json = (lambda value: value) if "structuredContent" in raw else None
    assert to_wire(value, to_json, modern=True, wrap=False) == raw


def test_a_structured_value_of_null_goes_through_too() -> None:
    value = tool_result(result(text("null"), structuredContent=None), has_schema=True)
    assert to_wire(value, lambda value: value, modern=True, wrap=False) == {
        "content": [text("null")],
        "structuredContent": None,
    }


def test_a_result_says_nothing_of_the_connection_behind_the_gateway() -> None:
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "inner", "version": "1"}}
    value = tool_result(result(text("a"), _meta=meta), has_schema=False)
    assert value is not None
    assert value.meta is None


def test_what_cannot_be_read_is_told_and_the_rest_goes_on() -> None:
    value = tool_result(
        result({"type": "hologram"}, text("a"), {"type": "image", "data": "AAEC", "mimeType": "x/y"}), has_schema=False
    )
    assert value is not None
    assert value.content == [
        "[content of type 'hologram' that cannot be read]",
        Text("a"),
        Image(b"\x00\x01\x02", "x/y"),
    ]
