"""What handlers return, as results on the wire."""

from __future__ import annotations

import base64
import dataclasses
import decimal
import enum
import math
from collections import OrderedDict, namedtuple
from typing import Any

import msgspec
import pydantic
import pytest

from mcp_wsgi import (
    Annotations,
    Audio,
    EmbeddedResource,
    EncodeError,
    Image,
    Message,
    ResourceContents,
    ResourceLink,
    Server,
    Text,
    ToolResult,
)
from mcp_wsgi.server.results import error_result, json_text, prompt_messages, resource_contents, tool_result

from .wire import ERAS, call, error_of, result_of, text_of


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Item(msgspec.Struct):
    name: str


class Model(pydantic.BaseModel):
    price: float


Pair = namedtuple("Pair", "left right")


class SafeString(str):
    """As template engines have it."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"<safe {len(self)}>"


class Color(str, enum.Enum):
    RED = "red"


def serve(value: Any, **options: Any) -> Server:
    server = Server("s")
    server.tool(name="t", **options)(lambda: value)
    return server


@ERAS
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ("北京 \u2028 \ud800", "北京 \u2028 \ud800"),
        (SafeString("<b>"), "<b>"),
        (Color.RED, "red"),
    ],
)
def test_a_string_is_text_and_nothing_else(era: str, value: str, text: str) -> None:
    """B53: a lone surrogate or a line separator never costs the answer."""
    result = call(serve(value), "t", era=era)
    assert result["content"] == [{"type": "text", "text": text}]
    assert "structuredContent" not in result
    assert "isError" not in result


@ERAS
def test_nothing_is_empty_content(era: str) -> None:
    assert call(serve(None), "t", era=era)["content"] == []


@pytest.mark.parametrize(
    ("value", "structured", "text"),
    [
        ({"a": 1}, {"a": 1}, '{"a": 1}'),
        ({}, {}, "{}"),
        (Point(1, 2), {"x": 1, "y": 2}, '{"x": 1, "y": 2}'),
        (Item("é"), {"name": "é"}, '{"name": "é"}'),
        (Model(price=1.5), {"price": 1.5}, '{"price": 1.5}'),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}, '{"b": 1, "a": 2}'),
    ],
)
@ERAS
def test_an_object_is_structured_content_with_a_text_copy(era: str, value: Any, structured: Any, text: str) -> None:
    """2026-07-28, server/tools, Structured Content."""
    result = call(serve(value), "t", era=era)
    assert result["structuredContent"] == structured
    assert text_of(result) == text


@pytest.mark.parametrize(
    ("value", "structured", "text"),
    [
        (5, 5, "5"),
        (True, True, "true"),
        (0.5, 0.5, "0.5"),
        ([], [], "[]"),
        ([1, "a", None], [1, "a", None], '[1, "a", null]'),
        ((1, 2), [1, 2], "[1, 2]"),
        ({1}, [1], "[1]"),
        (Pair(1, 2), [1, 2], "[1, 2]"),
        (b"\xff\x00", "/wA=", "/wA="),
        (decimal.Decimal("1.10"), "1.10", "1.10"),
        (10**900, 10**900, str(10**900)),
        ([Point(1, 2)], [{"x": 1, "y": 2}], '[{"x": 1, "y": 2}]'),
    ],
)
def test_other_json_is_structured_content_for_modern_clients_only(value: Any, structured: Any, text: str) -> None:
    """SEP-2106: legacy structured content is an object."""
    modern, legacy = call(serve(value), "t"), call(serve(value), "t", era="legacy")
    assert modern["structuredContent"] == structured
    assert type(modern["structuredContent"]) is type(structured)
    assert "structuredContent" not in legacy
    assert text_of(modern) == text_of(legacy) == text


def cycle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def deep() -> Any:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    return value


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("hunter2")

    __str__ = __repr__


@ERAS
@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"m": math.nan}, "m"),
        ({"a": [1, {"b": math.inf}]}, "a[1].b"),
        ({"m": decimal.Decimal("NaN")}, "m"),
        ([-math.inf], "[0]"),
        pytest.param(10**5000, "too large", id="huge"),
        (cycle(), "itself"),
        (object(), "object"),
        ({"a": object()}, "a"),
        ({(1, 2): 3}, "key"),
        (Hostile(), "Hostile"),
        ({"x": lambda: 1}, "x"),
        ((each for each in (1, 2)), "generator"),
    ],
)
def test_what_is_no_json_is_an_error_that_names_the_place(era: str, value: Any, named: str) -> None:
    """B52: strict JSON out, or ``isError`` naming the path."""
    result = call(serve(value), "t", era=era)
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert named in text_of(result)
    assert "hunter2" not in text_of(result)


@ERAS
def test_nesting_without_end_is_an_error_and_no_crash(era: str) -> None:
    assert call(serve(deep()), "t", era=era)["isError"] is True


IMAGE = {"type": "image", "data": "/wA=", "mimeType": "image/png"}


@ERAS
@pytest.mark.parametrize(
    ("value", "content"),
    [
        (
            Text("a", annotations=Annotations(priority=1.0)),
            [{"type": "text", "text": "a", "annotations": {"priority": 1.0}}],
        ),
        (Image(b"\xff\x00"), [IMAGE]),
        (Audio(b"a", meta={"x": 1}), [{"type": "audio", "data": "YQ==", "mimeType": "audio/wav", "_meta": {"x": 1}}]),
        (ResourceLink("docs://a", "a", size=3), [{"type": "resource_link", "uri": "docs://a", "name": "a", "size": 3}]),
        (
            EmbeddedResource(ResourceContents("hi", "docs://a", "text/plain")),
            [{"type": "resource", "resource": {"uri": "docs://a", "mimeType": "text/plain", "text": "hi"}}],
        ),
        (
            EmbeddedResource(ResourceContents(b"hi", "docs://a")),
            [{"type": "resource", "resource": {"uri": "docs://a", "blob": "aGk="}}],
        ),
        (
            ["a", Image(b"\xff\x00"), {"b": 1}, 5],
            [{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": '{"b": 1}'}, {"type": "text", "text": "5"}],
        ),
        ((Image(b"\xff\x00"), Point(1, 2)), [IMAGE, {"type": "text", "text": '{"x": 1, "y": 2}'}]),
    ],
)
def test_content_and_lists_mixing_it_are_content(era: str, value: Any, content: Any) -> None:
    result = call(serve(value), "t", era=era)
    assert result["content"] == content
    assert "structuredContent" not in result


@pytest.mark.parametrize("size", [1, 3 * 2**20])
def test_bytes_are_in_the_standard_base64_alphabet_with_padding(size: int) -> None:
    """B128; python-sdk#342."""
    data = bytes([255, 254, 253]) * (size // 3) + b"\xff"
    image = call(serve(Image(data)), "t")["content"][0]
    assert base64.b64decode(image["data"], validate=True) == data
    assert image["data"].endswith("==")


@ERAS
@pytest.mark.parametrize(
    ("value", "named"),
    [
        (Text(5), "text"),  # type: ignore[arg-type]
        (Text(None), "text"),  # type: ignore[arg-type]
        (Image(b"", mime_type=b"image/png"), "mimeType"),  # type: ignore[arg-type]
        (ResourceLink("", "a"), "uri"),
        (ResourceLink("docs://a", 5), "name"),  # type: ignore[arg-type]
        (EmbeddedResource(ResourceContents("hi")), "uri"),
        (Text("a", meta={"x": object()}), "object"),
        (Text("a", annotations=Annotations(priority=math.nan)), "NaN"),
        (ToolResult(content=["a"], meta={"x": math.nan}), "NaN"),
        (ToolResult(content=["a"], meta={"x": object()}), "object"),
        (ToolResult(structured={"x": object()}), "x"),
        (ToolResult(content=[object()], is_error=True), "object"),  # type: ignore[list-item]
    ],
)
def test_content_that_cannot_go_on_the_wire_is_an_error_that_says_what(era: str, value: Any, named: str) -> None:
    result = call(serve(value), "t", era=era)
    assert result["isError"] is True
    assert named in text_of(result)


@pytest.mark.parametrize("value", [Image("text"), Image(None), ToolResult(content=5), [Text("a"), Image(5)]])  # type: ignore[arg-type]
def test_content_of_no_sense_at_all_fails_with_an_id(value: Any) -> None:
    result = call(serve(value), "t")
    assert result["isError"] is True
    assert " (id " in text_of(result)


# ToolResult


@ERAS
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ToolResult(), {"content": []}),
        (ToolResult(content=["a"]), {"content": [{"type": "text", "text": "a"}]}),
        (ToolResult(content="abc"), {"content": [{"type": "text", "text": "abc"}]}),
        (ToolResult(content=Text("abc")), {"content": [{"type": "text", "text": "abc"}]}),  # type: ignore[arg-type]
        (
            ToolResult(structured={"a": 1}),
            {"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}},
        ),
        (
            ToolResult(structured={"a": 1}, content=["one"]),
            {"content": [{"type": "text", "text": "one"}], "structuredContent": {"a": 1}},
        ),
        (ToolResult(structured={"a": 1}, content=[]), {"content": [], "structuredContent": {"a": 1}}),
        (ToolResult(is_error=True), {"content": [{"type": "text", "text": "The tool failed."}], "isError": True}),
        (
            ToolResult(is_error=True, content=["no"], structured={"a": 1}),
            {"content": [{"type": "text", "text": "no"}], "isError": True},
        ),
    ],
)
def test_a_tool_result_says_everything_itself(era: str, value: ToolResult, expected: dict[str, Any]) -> None:
    """B101: an error result carries no structured content."""
    result = call(serve(value), "t", era=era)
    assert {name: result[name] for name in result if name not in ("_meta", "resultType")} == expected


@ERAS
@pytest.mark.parametrize("value", [ToolResult(), ToolResult(content=["a"]), None, "text", Image(b"")])
def test_success_of_a_tool_with_an_output_schema_conforms_to_it(era: str, value: Any) -> None:
    """2026-07-28, server/tools, Output Schema: "Servers MUST provide structured results that conform" (B101)."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    result = call(serve(value, output_schema=schema), "t", era=era)
    assert result["isError"] is True
    assert "structuredContent" not in result


@ERAS
def test_an_error_needs_no_structured_content(era: str) -> None:
    schema = {"type": "object", "required": ["a"]}
    result = call(serve(ToolResult(is_error=True, content=["no"]), output_schema=schema), "t", era=era)
    assert text_of(result) == "no"


def test_other_output_is_wrapped_for_legacy_clients() -> None:
    """SEP-2106."""
    server = serve([1, 2], output_schema={"type": "array", "items": {"type": "integer"}})
    assert call(server, "t")["structuredContent"] == [1, 2]
    assert call(server, "t", era="legacy")["structuredContent"] == {"result": [1, 2]}
    full = serve(ToolResult(structured=[1], content=["one"]), output_schema={"type": "array"})
    assert call(full, "t", era="legacy")["structuredContent"] == {"result": [1]}


def test_an_error_result_is_never_empty() -> None:
    assert error_result("") == {"content": [{"type": "text", "text": "The tool failed."}], "isError": True}


def test_json_text_keeps_the_letters_of_a_language() -> None:
    assert json_text({"city": "北京"}) == '{"city": "北京"}'
    with pytest.raises(EncodeError):
        json_text(math.nan)


def test_a_result_with_a_schema_may_be_null() -> None:
    result = tool_result(None, lambda value: value, modern=True, wrap=False)
    assert result == {"content": [{"type": "text", "text": "null"}], "structuredContent": None}


# Resources


@pytest.mark.parametrize(
    ("value", "mime_type", "expected"),
    [
        ("hi", None, {"mimeType": "text/plain", "text": "hi"}),
        ("", None, {"mimeType": "text/plain", "text": ""}),
        ("hi", "text/html", {"mimeType": "text/html", "text": "hi"}),
        (b"\xff", None, {"mimeType": "application/octet-stream", "blob": "/w=="}),
        (bytearray(b"\xff"), "image/png", {"mimeType": "image/png", "blob": "/w=="}),
        (memoryview(b"\xff"), None, {"mimeType": "application/octet-stream", "blob": "/w=="}),
        ({"a": 1}, None, {"mimeType": "application/json", "text": '{"a": 1}'}),
        ([], None, {"mimeType": "application/json", "text": "[]"}),
        ([1], "application/x", {"mimeType": "application/x", "text": "[1]"}),
        (Point(1, 2), None, {"mimeType": "application/json", "text": '{"x": 1, "y": 2}'}),
        (5, None, {"mimeType": "application/json", "text": "5"}),
        (ResourceContents("hi"), None, {"text": "hi"}),
        (ResourceContents("hi", mime_type="text/css"), "text/html", {"mimeType": "text/css", "text": "hi"}),
        (ResourceContents(b"hi", meta={"x": 1}), None, {"blob": "aGk=", "_meta": {"x": 1}}),
    ],
)
def test_what_a_resource_gives_becomes_contents(value: Any, mime_type: str | None, expected: dict[str, Any]) -> None:
    assert resource_contents(value, "r://t", mime_type) == [{"uri": "r://t", **expected}]


def test_a_resource_may_give_several_contents_with_their_own_uris() -> None:
    contents = resource_contents([ResourceContents("a", "r://a"), ResourceContents("b")], "r://t", None)
    assert [each["uri"] for each in contents] == ["r://a", "r://t"]


@pytest.mark.parametrize(
    "value",
    [
        Image(b""),
        Text("a"),
        [ResourceContents("a"), "b"],
        ["b", Image(b"")],
        ToolResult(content=["a"]),
        Message("a"),
        ResourceContents("a", meta={"x": object()}),
        object(),
        math.nan,
    ],
)
def test_what_is_no_contents_is_refused_and_not_dumped(value: Any) -> None:
    with pytest.raises(EncodeError):
        resource_contents(value, "r://t", None)


# Prompts


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("hi", [("user", {"type": "text", "text": "hi"})]),
        (Message("hi", "assistant"), [("assistant", {"type": "text", "text": "hi"})]),
        (Image(b"\xff\x00"), [("user", IMAGE)]),
        (
            ["a", Message(Text("b"), "assistant")],
            [("user", {"type": "text", "text": "a"}), ("assistant", {"type": "text", "text": "b"})],
        ),
        ((), []),
    ],
)
def test_what_a_prompt_gives_becomes_messages(value: Any, expected: list[Any]) -> None:
    assert [(each["role"], each["content"]) for each in prompt_messages(value)] == expected


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        {"role": "user"},
        [None],
        Message("a", "system"),
        Message(Text(5)),
        Message(Text("a", meta={"x": object()})),
    ],  # type: ignore[arg-type]
)
def test_what_is_no_message_is_refused(value: Any) -> None:
    with pytest.raises(EncodeError):
        prompt_messages(value)


@ERAS
def test_a_prompt_repeats_its_description_beside_the_messages(era: str) -> None:
    server = Server("s")
    server.prompt(name="p", description="Greets")(lambda: "hi")
    server.prompt(name="q")(lambda: "hi")
    assert result_of(server, "prompts/get", {"name": "p"}, era=era)["description"] == "Greets"
    assert "description" not in result_of(server, "prompts/get", {"name": "q"}, era=era)
    server.prompt(name="bad")(lambda: Message(5))
    assert error_of(server, "prompts/get", {"name": "bad"}, era=era)["code"] == -32603
