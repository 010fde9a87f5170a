"""From what a handler returns to the result that goes on the wire.

2026-07-28, server/tools, Tool Result; SEP-2106 (structured content may be any JSON value on modern).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..exceptions import EncodeError
from ..protocol.codec import encode_text
from ..protocol.types import (
    Audio,
    EmbeddedResource,
    Image,
    Message,
    ResourceContents,
    ResourceLink,
    Text,
    ToolResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CONTENT_TYPES",
    "UNSTRUCTURED",
    "error_result",
    "json_text",
    "prompt_messages",
    "resource_contents",
    "tool_result",
]

CONTENT_TYPES: tuple[type, ...] = (Text, Image, Audio, ResourceLink, EmbeddedResource)
#: What a return annotation may hold without asking for structured content.
UNSTRUCTURED: tuple[type, ...] = (*CONTENT_TYPES, ToolResult, Message, ResourceContents)

# The text copy is for a model: it keeps its letters, and the message around it is escaped anyway.
_TEXT_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(", ", ": "))


def json_text(value: Any) -> str:
    """Write a JSON-like value as text for a model.

    Raises:
        EncodeError: It is not JSON.
    """
    kind = type(value)
    if kind is int:
        return str(value)
    if kind is str:
        return str(value)
    try:
        return _TEXT_ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        raise EncodeError("", "the value is not JSON") from None


def _text(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def error_result(text: str) -> dict[str, Any]:
    """Build the result that tells the model what went wrong; it carries no structured content."""
    return {"content": _text(text or "The tool failed."), "isError": True}


def _is_mixed(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(item, CONTENT_TYPES) for item in value)


_STRINGS = ("text", "data", "blob", "mimeType", "uri", "name", "title", "description", "role")


def _checked(wire: dict[str, Any]) -> dict[str, Any]:
    """Give back an object that a handler filled in, if it can go on the wire.

    Raises:
        EncodeError: A member that is text in the schema is not, or some member is not JSON.
    """
    rest: dict[str, Any] = {}
    for name, value in wire.items():
        if name in _STRINGS:
            if not isinstance(value, str):
                raise EncodeError(name, f"must be text, not {type(value).__name__}")
            if name == "uri" and not value:
                raise EncodeError(name, "must not be empty")
        elif name in ("content", "resource"):
            _checked(value)
        elif name != "type":
            rest[name] = value
    if rest:
        encode_text(rest)
    return wire


def _content(content: Any) -> list[dict[str, Any]]:
    """Write the content of a full result; one item needs no list around it."""
    return _blocks([content] if isinstance(content, (str, *CONTENT_TYPES)) else content or ())


def _blocks(items: Iterable[Any]) -> list[dict[str, Any]]:
    from .returns import to_builtins

    blocks: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, CONTENT_TYPES):
            blocks.append(_checked(item.to_wire()))  # type: ignore[attr-defined]
        else:
            blocks += _text(item if isinstance(item, str) else json_text(to_builtins(item)))
    return blocks


def tool_result(value: Any, to_json: Callable[[Any], Any] | None, *, modern: bool, wrap: bool) -> dict[str, Any]:
    """Build the ``CallToolResult`` of what a tool returned.

    Args:
        value: What it returned.
        to_json: Makes JSON that conforms to the output schema; ``None`` where the tool has none.
        modern: Whether the result goes to a modern client, which takes any structured content.
        wrap: Whether legacy clients were shown a schema with the value under ``result``.

    Raises:
        EncodeError: The value does not conform to the output schema, or is not JSON.
    """
    if to_json is None:
        if isinstance(value, str):
            # A subclass (Django's SafeString, an enumeration) is the text that it holds.
            return {"content": [{"type": "text", "text": str.__str__(value)}]}
        if value is None:
            return {"content": []}
        if isinstance(value, CONTENT_TYPES) or _is_mixed(value):
            return {"content": _blocks(value if isinstance(value, (list, tuple)) else [value])}
    if isinstance(value, ToolResult):
        return _full_result(value, to_json, modern=modern, wrap=wrap)
    return _structured(value, to_json, modern=modern, wrap=wrap)


def _structured(value: Any, to_json: Callable[[Any], Any] | None, *, modern: bool, wrap: bool) -> dict[str, Any]:
    if to_json is None:
        from .returns import to_builtins

        value = to_builtins(value)
    else:
        value = to_json(value)
    result: dict[str, Any] = {"content": [{"type": "text", "text": json_text(value)}]}
    if modern:
        result["structuredContent"] = value
    elif wrap:
        result["structuredContent"] = {"result": value}
    elif type(value) is dict:
        result["structuredContent"] = value
    return result


def _full_result(
    value: ToolResult, to_json: Callable[[Any], Any] | None, *, modern: bool, wrap: bool
) -> dict[str, Any]:
    if value.is_error:
        content = _content(value.content)
        result = error_result("") if not content else {"content": content, "isError": True}
    elif value.structured is not None:
        result = _structured(value.structured, to_json, modern=modern, wrap=wrap)
        if value.content is not None:
            result["content"] = _content(value.content)
    elif to_json is not None:
        raise EncodeError("", "the tool has an output schema, so its result needs structured content")
    else:
        result = {"content": _content(value.content)}
    if value.meta is not None:
        result["_meta"] = dict(value.meta)
        encode_text(result["_meta"])
    return result


def resource_contents(value: Any, uri: str, mime_type: str | None) -> list[dict[str, Any]]:
    """Build the ``contents`` of what a resource handler returned.

    Args:
        value: ``str`` is text, ``bytes`` a blob, :class:`ResourceContents` itself, a list of these several
            contents; anything else is written as JSON.
        uri: The URI that was read.
        mime_type: The media type of the resource, where it has one.

    Raises:
        EncodeError: The value is not JSON.
    """
    if isinstance(value, str):
        return [ResourceContents(value).to_wire(uri, mime_type or "text/plain")]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return [ResourceContents(bytes(value)).to_wire(uri, mime_type or "application/octet-stream")]
    items = value if isinstance(value, (list, tuple)) else [value]
    if items and all(isinstance(item, ResourceContents) for item in items):
        return [_checked(item.to_wire(uri, mime_type)) for item in items]
    for item in items:
        if isinstance(item, UNSTRUCTURED):
            raise EncodeError("", f"a resource gives str, bytes, ResourceContents or data, not {type(item).__name__}")
    from .returns import to_builtins

    text = json_text(to_builtins(value))
    return [ResourceContents(text).to_wire(uri, mime_type or "application/json")]


def prompt_messages(value: Any) -> list[dict[str, Any]]:
    """Build the ``messages`` of what a prompt handler returned: a ``str``, content, a message, or a list.

    Raises:
        EncodeError: It returned something else.
    """
    items: Sequence[Any] = value if isinstance(value, (list, tuple)) else [value]
    messages: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, (str, Text, Image, Audio, ResourceLink, EmbeddedResource)):
            item = Message(item)
        if not isinstance(item, Message):
            raise EncodeError("", f"a prompt gives str, content or Message, not {type(item).__name__}")
        if item.role not in ("user", "assistant"):
            raise EncodeError("role", 'must be "user" or "assistant"')
        messages.append(_checked(item.to_wire()))
    return messages
